"""Write what depends on no page while Sphinx writes the pages: in a process beside, if one can be.

An extension connects what it writes with the event `apart`, which comes once in a whole build.
"""

import multiprocessing
from concurrent.futures import Future, ProcessPoolExecutor
from typing import Any

from incremental import is_partial
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.parallel import parallel_available

from tools.execute_pages import watch_parent

BUILD: dict[str, Any] = {}  # the application, and what runs beside it


def wanted(app: Sphinx) -> bool:
    """Tell whether the whole site is written."""
    return app.builder.format == "html" and not is_partial(app)


def write() -> None:
    """Have everything written."""
    BUILD["app"].emit("apart")


def begin(app: Sphinx, env: BuildEnvironment) -> None:
    """Begin when all pages are read: the cells have been executed, and a core is free."""
    BUILD.clear()
    BUILD["app"] = app
    if wanted(app) and parallel_available:
        pool = ProcessPoolExecutor(1, multiprocessing.get_context("fork"), watch_parent)
        BUILD["beside"] = pool.submit(write)
        pool.shutdown(wait=False)


def end(app: Sphinx, exception: Exception | None) -> None:
    """Wait until it is there; what went wrong there goes wrong here."""
    beside: Future[None] | None = BUILD.get("beside")
    if exception is None and wanted(app):
        beside.result() if beside else write()


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_event("apart")
    app.connect("env-updated", begin)
    app.connect("build-finished", end, priority=400)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
