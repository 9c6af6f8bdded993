"""The numbers of tests that the book prints are those that there are: `make test-project`."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_record_counts_the_tests_that_there_are():
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = Counter()
    for folder, cases in re.findall(r"^tests/(\w+)/\S+: (\d+)$", run.stdout, re.M):
        found[folder] += int(cases)
    del found["project"]  # what the repository says of itself
    written = json.dumps(dict(sorted(found.items())))
    assert json.loads((ROOT / "tests" / "record.json").read_text("utf-8")) == dict(found), (
        f"tests/record.json has to be {written}"
    )
