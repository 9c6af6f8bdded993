"""The build fails, and says where and why, for every kind of defect that a page can have.

Each defect stands on a page of its own, in a small book with the settings, the extensions and the
build command of the real one. One build serves the defects that leave the cells running, another
those that do not.
"""

from collections.abc import Callable
from typing import Any

import pytest

from tests.project.small_books import HEADER


def cell(code: str, title: str) -> str:
    return f"{HEADER}# {title}\n\n```{{code-cell}} python\n{code}\n```\n"


# page: (source, what the report must say of it)
DEFECTS = {
    "reference": ("# A\n\nSee {ref}`nowhere`.\n", "undefined label: 'nowhere'"),
    "python_name": ("# B\n\n{func}`selfattn_ref.nothing`\n", "selfattn_ref.nothing"),
    "citation": ("# C\n\n{cite:p}`nobody2099nothing`\n", "nobody2099nothing"),
    "equation": ("# D\n\nEquation {eq}`eq-none`.\n", "eq-none"),
    "tex": ("# E\n\n$\\frac{1$\n", "math"),
    "anchor": ("# F\n\n[text](#not-there)\n", "not-there"),
    "picture": ("# G\n\n![](dot.svg)\n", "image without a caption"),
    "warning": (cell("import warnings\nwarnings.warn('beware')", "H"), "UserWarning: beware"),
    "drawing": (
        cell("from book.figures import charts\ncharts.bars(['a'], [('b', [1], 'key')], x_label='y',"
             " alt='One bar of height 1, drawn in the color of keys.')", "I"),
        "image without a caption",
    ),
}  # fmt: skip
WRONG_NUMBER = cell(
    "from selfattn_ref.worked_examples import load\nload('SA005').check(total=6.5351)", "J"
)


BOOKS = {
    "defects": DEFECTS,
    "cells": {"number": (WRONG_NUMBER, ""), "error": (cell("1 / 0", "K"), "")},
}


@pytest.fixture
def report(small_book: Callable[[str], Any]) -> str:
    """Return what the build says of a book in which every page has a defect."""
    _, result = small_book("defects")
    assert result.returncode == 1
    return str(result.stderr)


class TestStrictBuild:
    @pytest.mark.parametrize("name", DEFECTS)
    def test_a_defect_is_reported_with_its_page_and_cause(self, report: str, name: str) -> None:
        cause = DEFECTS[name][1]
        lines = [line for line in report.splitlines() if f"book/{name}.md" in line]
        assert any(cause in line for line in lines), f"{cause!r} not in {lines}"

    def test_every_line_of_the_report_names_a_page(self, report: str) -> None:
        _, *lines = report.strip().splitlines()
        assert all("book/" in line for line in lines), report

    def test_failing_cells_are_all_reported_with_their_pages_and_causes(
        self, small_book: Callable[[str], Any]
    ) -> None:
        _, result = small_book("cells")
        assert result.returncode == 1
        assert "book/number.md: a cell failed: WorkedExampleMismatch: SA005" in result.stderr
        assert "total: got 6.5351, expected 6.53493" in result.stderr
        assert "book/error.md: a cell failed: ZeroDivisionError" in result.stderr
