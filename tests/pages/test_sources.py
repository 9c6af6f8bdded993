"""Of each row of what the sources say and what holds, an assertion quotes words."""

import re

from tests.pages.sources import BOOK
from tests.pages.test_quotes import not_held, plain, quotes_of

TEXT = (BOOK / "reference" / "sources-and-corrections.md").read_text("utf-8")


def rows(text):
    """Return the rows of the tables of a page, without their heads."""
    found = re.findall(r"^\| (.*) \|\n(?!\|--)", text, re.M)
    return [plain(row) for row in found]


def test_of_each_row_an_assertion_quotes_words():
    assert len(rows(TEXT)) == len(re.findall(r"^\|", TEXT, re.M)) - 2 * TEXT.count("\n|---|")
    assert not not_held(rows(TEXT), quotes_of(TEXT))


def test_a_row_that_changed_is_found():
    changed = TEXT.replace(r"$n$ terms: $i = 0, \dots, n-1$ (", r"$n$ terms: $i = 1, \dots, n-1$ (")
    (found,) = not_held(rows(changed), quotes_of(changed))
    assert "i = 1" in found
