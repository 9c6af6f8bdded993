"""The visible cells of a lesson run alone, and print what goes in: `make test-project`."""

import contextlib
import io
import os
import re
import subprocess
import sys
import time
from ast import literal_eval
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from jupyter_cache.base import ProjectNb
from jupyter_cache.executors.basic import ProcessData
from nbformat.v4 import new_code_cell, new_notebook

from selfattn_ref import worked_examples
from selfattn_ref.worked_examples import WorkedExample, load
from tests.pages.sources import BOOK, cells, lessons, relative
from tools.execute_pages import Worker

EVERY_LESSON = pytest.mark.parametrize("page", lessons(), ids=relative)
PRINTING = {"precision": 4, "suppress": True, "linewidth": 76}  # as the front page says
NUMBER = re.compile(r"[-−]?\d+\.?\d*(?:e[-+]?\d+)?")
# Why an input need not be printed where it is used.
ELSEWHERE = {
    ("concepts/attention-equation", "SA037"): "starts from queries, keys and values, which are",
    ("beyond/many-heads", "SA026"): "an exercise that starts from queries, keys and values, too",
}


class Inputs(dict[str, object]):
    """The inputs of an example, which remember what has been used."""

    def __init__(self, example: WorkedExample, used: set[tuple[str, str]]) -> None:
        super().__init__(example.inputs)
        self.example, self.used = example, used

    def __getitem__(self, name: str) -> object:
        self.used.add((self.example.id, name))
        return super().__getitem__(name)


class Step(NamedTuple):
    """What a page has printed by the end of a visible cell, and what that cell is first to use."""

    text: str
    used: set[tuple[str, str]]  # an example, the name of an input


@cache
def run(page: Path) -> list[Step]:
    """Run the visible cells of a page alone."""
    said, used = io.StringIO(), set[tuple[str, str]]()
    steps = []

    def noted(example_id: str) -> WorkedExample:
        example = load(example_id)
        return replace(example, inputs=Inputs(example, used))

    names: dict[str, object] = {"__name__": "__main__"}
    with pytest.MonkeyPatch.context() as patch, np.printoptions(**PRINTING):
        patch.setattr(worked_examples, "load", noted)
        with contextlib.redirect_stdout(said):
            for number, cell in enumerate(cells(page.read_text(encoding="utf-8")), start=1):
                if cell.visible:
                    before = set(used)
                    exec(compile(cell.code, f"{relative(page)}, cell {number}", "exec"), names)
                    steps.append(Step(said.getvalue(), used - before))
    return steps


def printed_rows(array: np.ndarray, text: str) -> list[bool]:
    """Tell of each row of a matrix, or each number of a vector, whether a text has it."""
    printed = np.array([float(n.replace("−", "-")) for n in NUMBER.findall(text)])
    rows = np.round(array, 4).reshape(-1, array.shape[-1] if array.ndim > 1 else 1)
    if printed.size < rows.shape[-1]:
        return [False] * len(rows)
    windows = np.lib.stride_tricks.sliding_window_view(printed, rows.shape[-1])
    return [bool((np.abs(windows - row) < 1e-9).all(axis=-1).any()) for row in rows]


def hidden_inputs(steps: list[Step]) -> list[tuple[str, str]]:
    """Name the arrays of numbers that are not printed, or only after something else.

    A page may use, and print, some rows of a matrix first and the others later.
    """
    hidden = []
    for number, (text, used) in enumerate(steps):
        before = steps[number - 1].text if number else ""
        text = next((step.text for step in steps[number:] if step.text != before), text)
        for example_id, name in sorted(used):
            array = load(example_id).inputs[name]
            if isinstance(array, np.ndarray) and array.dtype == float:
                at_first, at_last = printed_rows(array, text), printed_rows(array, steps[-1].text)
                enough = any(at_first) if array.ndim > 1 else all(at_first)
                if not (enough and all(at_last)):
                    hidden.append((example_id, name))
    return hidden


class TestCells:
    @EVERY_LESSON
    def test_visible_cells_run_alone(self, page: Path) -> None:
        run(page)

    @EVERY_LESSON
    def test_what_goes_in_is_printed_before_what_comes_out(self, page: Path) -> None:
        hidden = [
            (example_id, name)
            for example_id, name in hidden_inputs(run(page))
            if (relative(page), example_id) not in ELSEWHERE
        ]
        assert not hidden, f"{relative(page)}: print these before anything that follows from them"

    def test_a_hidden_input_is_noticed(self) -> None:
        used = {("SA036", "words"), ("SA036", "embeddings")}
        text = "money [2. 0.], bank [1. 1.], grows [1. 0.], river [0. 2.], flows [0. 1.]"
        assert hidden_inputs([Step(text, used)]) == []
        assert hidden_inputs([Step("", set()), Step(text, used)]) == []
        less = text.replace("river [0. 2.]", "")
        assert hidden_inputs([Step(less, used), Step(text, set())]) == []
        hidden = [("SA036", "embeddings")]
        assert hidden_inputs([Step(less, used)]) == hidden
        assert hidden_inputs([Step("", used), Step(text, set())]) == []
        assert hidden_inputs([Step("7", used), Step(text, set())]) == hidden

    def test_what_a_slow_cell_prints_comes_in_one_piece(self) -> None:
        code = (
            "import time\nfor wait in (0.3, 0.3, 0):\n    print(1, end=' ')\n"
            "    time.sleep(wait)\n    print(2)"
        )
        notebook = new_notebook(cells=[new_code_cell(code)])
        page = ProjectNb(1, BOOK / "page.md", notebook)
        Worker.execute(page, ProcessData(1, page.uri, None, 60, allow_errors=False))
        assert [piece["text"] for piece in notebook.cells[0].outputs] == ["1 2\n" * 3]


COPIES = """
import os, signal
from jupyter_cache.base import ProjectNb
from jupyter_cache.executors.basic import ProcessData
from nbformat.v4 import new_code_cell, new_notebook
from tests.pages.sources import BOOK
from tools import kernels
from tools.execute_pages import Worker

LOOK = (
    "import numpy, os, subprocess, sys\\n"
    "ended = subprocess.run(['false']).returncode\\n"
    "print([os.getpid(), os.getppid(), os.getcwd(), sys.path, ended, 'left' in vars(numpy)])\\n"
    "numpy.left = 1"
)

def execute(code):
    notebook = new_notebook(cells=[new_code_cell(code)])
    page = ProjectNb(1, BOOK / "causal" / "page.md", notebook)
    try:
        Worker.execute(page, ProcessData(1, page.uri, None, 60, allow_errors=False))
        return notebook.cells[0].outputs[0].text.strip()
    except Exception as error:
        return [type(error).__name__]

print(execute(LOOK))
kernels.start()
print(execute(LOOK))
print(copy := execute(LOOK))
print(execute("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"))
if END:
    os.kill(eval(copy)[1], signal.SIGKILL)
    print(execute(LOOK))
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="kernels are copied on Linux only")
@pytest.mark.parametrize("end", [False, True], ids=["", "which-is-gone"])
def test_a_copied_kernel_is_one_like_any_other(end: bool) -> None:
    program = COPIES.replace("END", f"{end}")
    done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True)
    # What a kernel says when it ends on a busy machine is not of this.
    assert not re.search(r"kernels\.py|[Dd]ebugger", done.stderr)
    first, second, third, told, killed, *last = done.stdout.splitlines()
    (_, _, *usual), (one, copied, *facts), (another, still, *again) = (
        literal_eval(line) for line in (first, second, third)
    )
    assert usual == facts == again
    assert facts[-2:] == [1, False]
    assert one != another
    assert copied == still
    assert told.startswith("book/causal/page.md: ERROR: the kernel failed: DeadKernelError")
    assert killed == "['DeadKernelError']"
    for line in last:  # then each is started by itself
        (_, parent, *facts) = literal_eval(line)
        assert parent != copied
        assert facts == usual
    assert len(last) == end
    for _ in range(50):  # it ends with whom it served
        if not Path(f"/proc/{copied}").exists():
            return
        time.sleep(0.1)
    pytest.fail("the process that is copied outlives the build")
