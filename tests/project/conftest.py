"""Small books take seconds each: they are built beside the tests that come before theirs."""

import subprocess
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.project.small_books import build

Built = subprocess.CompletedProcess[str]
FOLDER = TemporaryDirectory()
POOL = ThreadPoolExecutor(max_workers=1)
STARTED: dict[str, Future[Built]] = {}


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start to build the `BOOKS` of every module that will be tested."""
    for module in dict.fromkeys(item.getparent(pytest.Module) for item in session.items):
        for name, pages in getattr(getattr(module, "obj", None), "BOOKS", {}).items():
            STARTED[name] = POOL.submit(build, Path(FOLDER.name, name), pages)


def pytest_sessionfinish() -> None:
    """Build no more, where the tests stop early."""
    POOL.shutdown(wait=False, cancel_futures=True)


@pytest.fixture(scope="session")
def small_book() -> Callable[[str], tuple[Path, Built]]:
    """Return what gives the folder of a small book, and what its build said."""
    return lambda name: (Path(FOLDER.name, name), STARTED[name].result())
