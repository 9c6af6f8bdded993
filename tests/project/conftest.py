"""Small books take seconds each: one is built when a test of its module first asks for it."""

import subprocess
from functools import cache

import pytest

from tests.project.small_books import build

Built = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def small_book(request, tmp_path_factory):
    """Return what gives the folder of one of the module's `BOOKS`, and what its build said."""

    @cache
    def built(name):
        folder = tmp_path_factory.mktemp("books") / name
        return folder, build(folder, request.module.BOOKS[name])

    return built
