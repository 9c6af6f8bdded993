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
