"""Execute the pages that are not in the cache, several at a time.

Sphinx, which would execute one after the other, reads meanwhile, waits for a page when it comes to
it, and then finds it there. A page that fails is executed again by Sphinx, which reports it.
"""

import logging
import multiprocessing
import os
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path

from jupyter_cache.executors.basic import ProcessData

from press.build.fingerprint import cache_folder
from press.seams import Cache, Worker

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 120  # seconds a cell may take, as in _config.yml
# What this process may use: a container has fewer than the machine.
CORES = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
WORKERS = CORES + 1  # a kernel waits for a moment while it starts and ends
# What a kernel has in its environment. Products of matrices take one thread: the pages share the
# cores, and no digit depends on how many there are.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
KERNELS = dict.fromkeys(THREADS, "1")
READER = {"type": "plugin", "name": "myst_nb_md"}


RUNNING: dict[Path, Future[None]] = {}


def wait_for(page: Path) -> None:
    """Wait until a page has been executed, if it is to be."""
    if page in RUNNING:
        RUNNING.pop(page).result()


def execute(chosen: Iterable[Path] | None = None) -> None:
    """Begin to execute what is missing of some pages or of all; the worker says where it is."""
    set_environment()
    cache = Cache(cache_folder(ROOT))
    paths = sorted((ROOT / "book").rglob("*.md")) if chosen is None else chosen
    pool: ProcessPoolExecutor | None = None
    begun: dict[str, Future[None]] = {}  # two pages may have their cells in common
    for path in filter(has_cells, paths):
        page = cache.add_nb_to_project(str(path), read_data=READER)
        if key := cache.missing(page.pk):
            if key not in begun:
                pool = pool or workers()
                data = ProcessData(page.pk, page.uri, cache, TIMEOUT, False)
                begun[key] = pool.submit(Worker(), data)
            RUNNING[Path(page.uri)] = begun[key]
    if pool:
        pool.shutdown(wait=False)


def workers() -> ProcessPoolExecutor:
    """Start the processes that execute pages."""
    multiprocessing.log_to_stderr(logging.INFO + 1)
    return ProcessPoolExecutor(WORKERS, initializer=watch_parent)


def watch_parent() -> None:
    """Have this process end when the one that started it does: nobody would take what it makes."""
    parent = multiprocessing.parent_process()

    def end() -> None:
        if parent:
            parent.join()
            os._exit(1)

    threading.Thread(target=end, daemon=True).start()


def set_environment() -> None:
    """Let the kernels import the package."""
    inherited = os.environ.get("PYTHONPATH", "")
    if f"{ROOT}" not in inherited.split(os.pathsep):
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [f"{ROOT}", inherited]))
    os.environ |= KERNELS


def has_cells(page: Path) -> bool:
    """Tell whether a page is one that MyST-NB executes."""
    try:
        return page.read_text(encoding="utf-8").startswith("---\nfile_format: mystnb\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{page.relative_to(ROOT)} is not UTF-8: {error}") from None
