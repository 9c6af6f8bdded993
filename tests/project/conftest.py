"""Small books take seconds each: one is built when a test of its module first asks for it."""

import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.project.small_books import build

Built = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def small_book(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[Path, Built]]:
    """Return what gives the folder of one of the module's `BOOKS`, and what its build said."""

    @cache
    def built(name: str) -> tuple[Path, Built]:
        folder = tmp_path_factory.mktemp("books") / name
        return folder, build(folder, request.module.BOOKS[name])

    return built
