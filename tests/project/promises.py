"""Break each promise of book/reference/promises.yml: the test that keeps it has to notice."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from press.site.sources import promises
from tests.pages.sources import ROOT


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy what is under version control."""
    to = tmp_path_factory.mktemp("copy")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True)
    for name in listed.stdout.decode().splitlines():
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, to / name)
    return to


def outcome(copy: Path, test: str) -> int:
    """Return the exit code of a test in the copy, which imports nothing from here."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test]
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=copy, env=environment, capture_output=True).returncode


@pytest.mark.parametrize("promise", promises(ROOT), ids=lambda promise: promise["kept"])
def test_a_promise_that_is_broken_is_noticed(copy: Path, promise: dict[str, Any]) -> None:
    test, broken = promise["kept"], promise["broken"]
    file = copy / broken["in"]
    text = file.read_text("utf-8")
    assert text.count(broken["old"]) == 1
    assert outcome(copy, test) == 0
    file.write_text(text.replace(broken["old"], broken["new"]), encoding="utf-8")
    try:
        assert outcome(copy, test) == 1
    finally:
        file.write_text(text, encoding="utf-8")
