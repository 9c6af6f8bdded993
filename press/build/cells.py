"""Execute the pages that are not in the cache, several at a time.

Sphinx, which would execute one after the other, reads meanwhile, waits for a page when it comes to
it, and then finds it there. A page that fails is executed again by Sphinx, which reports it.
"""

import logging
import multiprocessing
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

from jupyter_cache.cache.db import NbCacheRecord
from jupyter_cache.cache.main import JupyterCacheBase
from jupyter_cache.executors.basic import ExecutionWorkerLocalMProc, ProcessData
from jupyter_cache.executors.utils import ExecutionResult, single_nb_execution
from traitlets.config import Config

from press.build.fingerprint import cache_folder

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


class Cache(JupyterCacheBase):  # type: ignore[misc]
    """Keeps all results: what another worker enters just now would be taken for the oldest."""

    def truncate_caches(self) -> None:
        """Drop nothing; `press/build/execution.py` drops whole caches."""

    def missing(self, page: int) -> str | None:
        """Return the key under which the result of a page is not; drop one that was cut short."""
        _, key = self.create_hashed_notebook(self.get_project_notebook(page).nb)
        try:
            self.get_cache_bundle(NbCacheRecord.record_from_hashkey(key, self.db).pk)
        except (KeyError, ValueError):
            shutil.rmtree(self._get_notebook_path_cache(key).parent, ignore_errors=True)
            return f"{key}"
        return None


class Worker(ExecutionWorkerLocalMProc):  # type: ignore[misc]  # it has no types
    """Talks with a kernel through files: two that start at once may choose the same port."""

    @staticmethod
    def execute(project_nb: Any, data: ProcessData) -> ExecutionResult:
        """Execute one page."""
        with tempfile.TemporaryDirectory() as folder:
            through = {"transport": "ipc", "ip": f"{folder}/kernel"} if os.name == "posix" else {}
            try:
                return single_nb_execution(
                    project_nb.nb,
                    cwd=str(Path(project_nb.uri).parent),
                    timeout=data.timeout,
                    allow_errors=data.allow_errors,
                    coalesce_streams=True,  # they leave the kernel in pieces, at its leisure
                    config=Config(KernelManager=through),
                )
            except Exception as error:  # no cell raised it, so Sphinx could not tell the page
                page = Path(project_nb.uri).relative_to(ROOT).as_posix()
                print(f"{page}: ERROR: the kernel failed: {error!r}", flush=True)
                raise


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
