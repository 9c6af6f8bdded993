"""The front page of the worked examples: its lines run, and it is right about what is not seen."""

import re
import subprocess
import sys

import pytest

from derivations.documents import ROOT
from press.example import public_bugs, unseen
from selfattn_ref.worked_examples import calls, generated

PAGE = (ROOT / "book" / "examples" / "index.md").read_text("utf-8")
(LINES,) = re.findall(r"^```python\n(import pytest\n.*?)^```$", PAGE, re.M | re.S)
RIGHT = """
from selfattn_ref import scaled_dot_product_attention

def my_attention(query, key, value, *, mask=None, causal=False):
    return scaled_dot_product_attention(query, key, value, mask=mask, causal=causal)
"""
WRONG = RIGHT.replace("causal=causal", "causal=False")


def run(folder, *command):
    """Run Python in a folder, where the library can be imported."""
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("text, code, verdict", [(RIGHT, 0, "PASSED"), (WRONG, 1, "FAILED")])
def test_the_lines_for_pytest_run(tmp_path, text, code, verdict):
    (tmp_path / "mymodule.py").write_text(text, "utf-8")
    (tmp_path / "test_mine.py").write_text(LINES, "utf-8")
    done = run(tmp_path, "pytest", "-p", "no:cacheprovider", "-rA", "--tb=short")
    assert done.returncode == code, done.stdout
    assert "PASSED test_mine.py::test_attention[SA016-1]" in done.stdout
    assert f"{verdict} test_mine.py::test_attention[SA016-2]" in done.stdout
    plain = [call.without_capabilities().kwargs.keys() for call in calls()]
    assert f" {sum(bool(taken - {'mask', 'causal'}) for taken in plain)} skipped" in done.stdout
    assert "my_attention takes no bias" in done.stdout


def test_there_are_five_beside_the_import_of_the_function():
    own = [line for line in LINES.splitlines() if line and "mymodule" not in line]
    assert len(own) == 5
    assert max(map(len, LINES.splitlines())) <= 76


def test_the_largest_sizes_are_asked_and_no_larger_ones():
    for every, said in (
        (calls(), unseen.largest(calls())),
        (generated.calls(), unseen.largest_generated()),
    ):
        shapes = [tuple(x.shape for x in call.args) for call in every]
        assert said.queries == max(shape[0][-2] for shape in shapes)
        assert said.keys == max(shape[1][-2] for shape in shapes)
        assert said.key_width == max(shape[0][-1] for shape in shapes)
        assert said.value_width == max(shape[2][-1] for shape in shapes)


def test_the_options_are_those_of_the_calls():
    asked = {name for every in (calls(), generated.calls()) for c in every for name in c.kwargs}
    assert unseen.options() == asked


def test_each_bug_is_caught_or_listed_with_its_reason():
    found = public_bugs.bugs(ROOT)
    missed, impossible = unseen.not_caught(found)
    listed = unseen.fold(missed, impossible)
    caught = public_bugs.first_catches(found)
    anchors = re.findall(r'public-bugs.html#([^"]+)"', listed)
    assert sorted([*anchors, *caught]) == sorted(bug["id"] for bug in found)
    assert listed.count("No call catches it yet.") == len(missed)
