"""The kernels in which cells are executed: `make test-project`."""

import os
import re
import subprocess
import sys
import time
from ast import literal_eval
from pathlib import Path

import pytest
from jupyter_cache.base import ProjectNb
from jupyter_cache.executors.basic import ProcessData
from nbformat.v4 import new_code_cell, new_notebook

from tests.pages.sources import BOOK
from tools.execute_pages import Worker


def test_what_a_slow_cell_prints_comes_in_one_piece() -> None:
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
