"""The kernels in which cells are executed: `make test-project`."""

from jupyter_cache.base import ProjectNb
from jupyter_cache.executors.basic import ProcessData
from nbformat.v4 import new_code_cell, new_notebook

from press.seams import Worker
from tests.pages.sources import BOOK


def test_what_a_slow_cell_prints_comes_in_one_piece():
    code = (
        "import time\nfor wait in (0.3, 0.3, 0):\n    print(1, end=' ')\n"
        "    time.sleep(wait)\n    print(2)"
    )
    notebook = new_notebook(cells=[new_code_cell(code)])
    page = ProjectNb(1, BOOK / "page.md", notebook)
    Worker.execute(page, ProcessData(1, page.uri, None, 60, allow_errors=False))
    assert [piece["text"] for piece in notebook.cells[0].outputs] == ["1 2\n" * 3]
