"""Faults take seconds each: they are tried beside each other, on as many cores as there are."""

import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.faults.miniature import Book

FOLDER = TemporaryDirectory()
POOL = ThreadPoolExecutor(max_workers=os.cpu_count())
BOOKS: dict[str, Future[Book]] = {}  # built from nothing: the one to break, and with each change
STARTED: dict[str, Future[tuple[str, float]]] = {}


def built(name: str, change: Callable[[Book], None]) -> Book:
    """Build a book from nothing."""
    book = Book.written(Path(FOLDER.name, "built", name))
    change(book)
    run = book.build()
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr
    return book


def tried(name: str, attempt: Callable[..., str]) -> tuple[str, float]:
    """Break a copy; return what was said, and after how many seconds."""
    book = BOOKS["nothing"].result().copied(Path(FOLDER.name, name, "book"))
    started = time.monotonic()
    said = attempt(name, book, lambda change: BOOKS[change].result().site())
    return said, time.monotonic() - started


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start with the books, then try every fault that was chosen."""
    items = [item for item in session.items if isinstance(item, pytest.Function)]
    if items and not session.config.option.collectonly:
        faults = items[0].module
        for name, change in faults.CHANGES.items():
            BOOKS[name] = POOL.submit(built, name, change)
        for item in items:
            name = item.callspec.params["name"]
            STARTED[name] = POOL.submit(tried, name, faults.attempt)


def pytest_sessionfinish() -> None:
    """Try no more, where the tests stop early."""
    POOL.shutdown(wait=False, cancel_futures=True)


@pytest.fixture
def outcome() -> Callable[[str], str]:
    """Return what gives the line that was said of a fault."""
    return lambda name: STARTED[name].result()[0]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table of the faults."""
    from tests.faults.test_faults import FAULTS

    for name, future in STARTED.items():
        if future.cancelled() or not future.done() or future.exception():
            must, said, seconds = "?", "NOT AS IT HAS TO BE: see above", 0.0
        else:
            said, seconds = future.result()
            fault = FAULTS[name]
            must = ", ".join(["fail"] * bool(fault.said) + ["survive"] * bool(fault.change))
        terminalreporter.write_line(
            f"{name.replace('_', ' '):<52} {must:<13} {seconds:4.0f} s  {said}"
        )
