"""Let the pages import the package, and execute those that are not in the cache, several at a time.

Sphinx, which would execute one after the other, reads meanwhile, waits for a page when it comes to
it, and then finds it there. A page that fails is executed again by Sphinx, which reports it.
"""

import logging
import multiprocessing
import os
import shutil
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path

from jupyter_cache.executors.basic import ProcessData
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

from press import seams
from press.build.fingerprint import cache_folder
from press.site.scope import is_partial

ROOT = Path(__file__).resolve().parents[2]
KEPT_CACHES = 4
TIMEOUT = 120  # seconds a cell may take
# What this process may use: a container has fewer than the machine.
CORES = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
WORKERS = CORES + 1  # a kernel waits for a moment while it starts and ends
# What a kernel has in its environment. Products of matrices take one thread: the pages share the
# cores, and no digit depends on how many there are.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
# A page that imports one of these reads what the fingerprint does not cover, the code of the
# project or another page: it is executed in every build.
READS_MORE = ("from book.figures.imports import", "from book.figures.trained import")
READER = {"type": "plugin", "name": "myst_nb_md"}

RUNNING: dict[Path, Future[None]] = {}


def execute(chosen: Iterable[Path] | None = None) -> None:
    """Begin to execute what is missing of some pages or of all; the worker says where it is."""
    set_environment()
    multiprocessing.log_to_stderr(logging.INFO + 1)
    cache = seams.Cache(cache_folder(ROOT))
    paths = sorted((ROOT / "book").rglob("*.md")) if chosen is None else chosen
    pool: ProcessPoolExecutor | None = None
    begun: dict[str, Future[None]] = {}  # two pages may have their cells in common
    for path in filter(has_cells, paths):
        page = cache.add_nb_to_project(str(path), read_data=READER)
        text = path.read_text("utf-8")
        if key := cache.missing(page.pk, anew=any(one in text for one in READS_MORE)):
            if key not in begun:
                pool = pool or ProcessPoolExecutor(WORKERS, initializer=watch_parent)
                data = ProcessData(page.pk, page.uri, cache, TIMEOUT, False)
                begun[key] = pool.submit(seams.Worker(), data)
            RUNNING[Path(page.uri)] = begun[key]
    if pool:
        pool.shutdown(wait=False)


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
    os.environ |= dict.fromkeys(THREADS, "1")


def has_cells(page: Path) -> bool:
    """Tell whether a page is one that MyST-NB executes."""
    try:
        return page.read_text(encoding="utf-8").startswith("---\nfile_format: mystnb\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{page.relative_to(ROOT)} is not UTF-8: {error}") from None


# --- While Sphinx runs ----------------------------------------------------------------------------


def prepare(app: Sphinx, config: Config) -> None:
    """Point the kernels at the package and the cache at a folder of its own per fingerprint.

    A cell has as much time in the kernels of Sphinx as in those that run beside it.
    """
    root = Path(app.srcdir)
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))  # for autodoc

    set_environment()
    cache = cache_folder(root)
    os.utime(cache)
    oldest_first = sorted(cache.parent.iterdir(), key=lambda path: path.stat().st_mtime)
    for old in oldest_first[:-KEPT_CACHES]:
        shutil.rmtree(old)
    config.nb_execution_cache_path = str(cache)
    config.nb_execution_timeout = TIMEOUT


def changed(app: Sphinx, env: BuildEnvironment, *_: set[str]) -> list[str]:
    """Read again the pages that are to be previewed, whatever the times of the files say."""
    if is_partial(app):
        seams.keep_numbers(app)
        seams.disconnect(app, {"sphinx"}, "html-collect-pages")  # the sources of the library
    pages: list[str] = app.config.reread
    return pages


def wait(app: Sphinx, page: str, source: list[str]) -> None:
    """Wait for the results of the page that is read next, if it is executed."""
    path = Path(app.env.doc2path(page))
    if path in RUNNING:
        RUNNING.pop(path).result()


def wait_for_all(app: Sphinx, env: BuildEnvironment) -> None:
    """Wait for pages that nobody reads."""
    while RUNNING:
        RUNNING.popitem()[1].result()


def write_on_all_cores(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Let others write what this process has read: not every extension can put reading together."""
    if is_partial(app):
        seams.restore_numbers(app)
    else:
        seams.write_in_parallel(app, CORES)
    return []
