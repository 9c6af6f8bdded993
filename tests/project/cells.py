"""The visible cells of a lesson run alone, and print what goes in: `make test-project`."""

import contextlib
import io
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from selfattn_ref import worked_examples
from selfattn_ref.worked_examples import WorkedExample, load
from tests.pages.sources import ROOT, cells, lessons, relative

EVERY_LESSON = pytest.mark.parametrize("page", lessons(), ids=relative)
PRINTING = {"precision": 4, "suppress": True, "linewidth": 76}  # as the front page says
NUMBER = re.compile(r"[-−]?\d+\.?\d*(?:e[-+]?\d+)?")
# Why an input need not be printed where it is used.
ELSEWHERE = {
    ("concepts/attention-equation", "SA037"): "starts from queries, keys and values, which are",
}


class Inputs(dict[str, object]):
    """The inputs of an example, which remember who has been used."""

    def __init__(self, given: Mapping[str, object], used: set[str]) -> None:
        super().__init__(given)
        self.used = used

    def __getitem__(self, name: str) -> object:
        self.used.add(name)
        return super().__getitem__(name)


@cache
def run(page: Path) -> tuple[str, dict[str, set[str]]]:
    """Run the visible cells of a page alone; return what they print and the inputs they use."""
    said = io.StringIO()
    used: dict[str, set[str]] = defaultdict(set)

    def noted(example_id: str) -> WorkedExample:
        example = load(example_id)
        return replace(example, inputs=Inputs(example.inputs, used[example_id]))

    names: dict[str, object] = {"__name__": "__main__"}
    with pytest.MonkeyPatch.context() as patch, np.printoptions(**PRINTING):
        patch.setattr(worked_examples, "load", noted)
        with contextlib.redirect_stdout(said):
            for number, cell in enumerate(cells(page.read_text(encoding="utf-8")), start=1):
                if cell.visible:
                    exec(compile(cell.code, f"{relative(page)}, cell {number}", "exec"), names)
    return said.getvalue(), used


def is_printed(array: np.ndarray, text: str) -> bool:
    """Tell whether a text has every number of a vector, and every row of a matrix in order."""
    printed = np.array([float(n.replace("−", "-")) for n in NUMBER.findall(text)])
    rows = np.round(array, 4).reshape(-1, array.shape[-1] if array.ndim > 1 else 1)
    if printed.size < rows.shape[-1]:
        return False
    windows = np.lib.stride_tricks.sliding_window_view(printed, rows.shape[-1])
    return all((np.abs(windows - row) < 1e-9).all(axis=-1).any() for row in rows)


def hidden_inputs(example: WorkedExample, used: set[str], text: str) -> list[str]:
    """Name the arrays of numbers that a page uses and does not print."""
    return [
        name
        for name, value in example.inputs.items()
        if name in used
        and isinstance(value, np.ndarray)
        and value.dtype == float
        and not is_printed(value, text)
    ]


class TestCells:
    @EVERY_LESSON
    def test_visible_cells_run_alone(self, page: Path) -> None:
        run(page)

    @EVERY_LESSON
    def test_what_goes_in_is_printed(self, page: Path) -> None:
        text, used = run(page)
        hidden = {
            example_id: found
            for example_id, names in used.items()
            if (relative(page), example_id) not in ELSEWHERE
            and (found := hidden_inputs(load(example_id), names, text))
        }
        assert not hidden, f"{relative(page)}: print these before what follows from them"

    def test_a_hidden_input_is_noticed(self) -> None:
        example, used = load("SA036"), {"words", "embeddings"}
        text = "money [2. 0.], bank [1. 1.], grows [1. 0.], river [0. 2.], flows [0. 1.]"
        assert hidden_inputs(example, used, text) == []
        assert hidden_inputs(example, set(), "") == []
        assert hidden_inputs(example, used, text.replace("river [0. 2.]", "")) == ["embeddings"]

    def test_what_a_slow_cell_prints_comes_in_one_piece(self) -> None:
        codes = (
            "from book._lib import page",
            "import time\nfor wait in (0.3, 0.3, 0):\n    print(1, end=' ')\n"
            "    time.sleep(wait)\n    print(2)",
        )
        notebook = new_notebook(cells=[new_code_cell(code) for code in codes])
        NotebookClient(notebook, kernel_name="python3").execute(cwd=str(ROOT))
        assert [piece["text"] for piece in notebook.cells[1].outputs] == ["1 2\n" * 3]
