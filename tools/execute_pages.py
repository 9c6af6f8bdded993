"""Execute the pages that are not in the cache, several at a time.

Sphinx, which would execute one after the other, reads meanwhile, waits for a page when it comes to
it, and then finds it there. A page that fails is executed again by Sphinx, which reports it.
"""

import logging
import multiprocessing
import os
import tempfile
from collections.abc import Iterable
from multiprocessing.pool import AsyncResult
from pathlib import Path
from typing import Any

from jupyter_cache import get_cache
from jupyter_cache.executors.basic import ExecutionWorkerLocalMProc, ProcessData
from jupyter_cache.executors.utils import ExecutionResult, single_nb_execution
from traitlets.config import Config

from tools.fingerprint import cache_folder

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT = 120  # seconds a cell may take
# One more than there are cores: a kernel waits a second while it starts and ends.
WORKERS = (os.cpu_count() or 1) + 1
# What a kernel has in its environment. Products of matrices take one thread: the pages share the
# cores, and no digit depends on how many there are.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
KERNELS = dict.fromkeys(THREADS, "1")


class Worker(ExecutionWorkerLocalMProc):  # type: ignore[misc]  # it has no types
    """Talks with a kernel through files: two that start at once may choose the same port."""

    @staticmethod
    def execute(project_nb: Any, data: ProcessData) -> ExecutionResult:
        """Execute one page."""
        # It lists what to keep, then what is not on the list: that of another page, just then.
        data.cache.truncate_caches = lambda: None
        with tempfile.TemporaryDirectory() as folder:
            through = {"transport": "ipc", "ip": f"{folder}/kernel"} if os.name == "posix" else {}
            return single_nb_execution(
                project_nb.nb,
                cwd=str(Path(project_nb.uri).parent),
                timeout=data.timeout,
                allow_errors=data.allow_errors,
                coalesce_streams=True,  # they leave the kernel in pieces, at its leisure
                config=Config(KernelManager=through),
            )


RUNNING: dict[Path, AsyncResult[None]] = {}


def wait_for(page: Path) -> None:
    """Wait until a page has been executed, if it is to be."""
    if page in RUNNING:
        RUNNING.pop(page).get()


def execute(chosen: Iterable[Path] | None = None) -> None:
    """Begin to execute what is missing of some pages or of all; the worker says where it is."""
    cache = get_cache(cache_folder(ROOT))
    paths = sorted((ROOT / "book").rglob("*.md")) if chosen is None else chosen
    pages = [str(path) for path in paths if has_cells(path)]
    missing = []
    for page in pages:
        one = cache.add_nb_to_project(page, read_data={"type": "plugin", "name": "myst_nb_md"})
        if cache.get_cached_project_nb(one.pk) is None:
            missing.append(ProcessData(one.pk, one.uri, cache, TIMEOUT, False))
    os.environ |= {"PYTHONPATH": str(ROOT), **KERNELS}
    if not missing:
        return
    multiprocessing.log_to_stderr(logging.INFO + 1)
    pool = multiprocessing.Pool(WORKERS)
    for one in missing:
        RUNNING[Path(one.uri)] = pool.apply_async(Worker(), (one,))
    pool.close()


def has_cells(page: Path) -> bool:
    """Tell whether a page is one that MyST-NB executes."""
    return page.read_text(encoding="utf-8").startswith("---\nfile_format: mystnb\n")
