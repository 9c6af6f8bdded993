"""The lines for PyTorch on the front page of the worked examples."""

import re
import shlex

from tests.examples.test_front_page import PAGE, run
from tests.peers import peer


def test_the_three_lines_run(tmp_path):
    peer("torch")
    (lines,) = re.findall(r"^```python\n(from torch.*?)^```$", PAGE, re.M | re.S)
    assert len([line for line in lines.splitlines() if line]) == 3
    (tmp_path / "three.py").write_text(lines, "utf-8")
    done = run(tmp_path, "three")
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"^numbers: \d+ calls of \d+ examples: \d+ right, \d+ not asked$", done.stdout, re.M
    )


def test_the_command_runs(tmp_path):
    peer("torch")
    (lines,) = re.findall(r"^```bash\n(.*?)^```$", PAGE, re.M | re.S)
    command = shlex.split(lines.replace("\\\n", " "), comments=True)
    start = len(command) - command[::-1].index("python")
    done = run(tmp_path, *command[start + 1 :])  # after python -m
    assert done.returncode == 0, done.stdout
    assert re.search(r"^numbers: \d+ calls of \d+ examples: \d+ right", done.stdout, re.M)
