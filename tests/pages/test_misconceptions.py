"""Each misconception comes with an assertion that quotes what is true instead."""

import ast
import re

import pytest

from tests.pages.sources import BOOK, CELL, cells
from tests.pages.test_quotes import plain, quotes

TEXT = (BOOK / "reference" / "misconceptions.md").read_text("utf-8")
SECTIONS = {
    (kind, name): text
    for kind, name, text in re.findall(
        r"^\((misconception|question)-(.+)\)=\n###.+\n((?:(?!\(.+\)=\n|## ).*\n)*)", TEXT, re.M
    )
}


def held(text):
    """Return the words of a section that an assertion of it quotes."""
    words = plain(CELL.sub("", text))
    every = [quote for cell in cells(text) for quote in quotes(ast.parse(cell.code).body)]
    return [quote for quote in every if quote in words]


@pytest.mark.parametrize("text", SECTIONS.values(), ids=[name for _, name in SECTIONS])
def test_an_assertion_quotes_what_is_true(text):
    assert held(text)


def test_there_are_as_many_as_it_says():
    kinds = [kind for kind, _ in SECTIONS]
    assert (kinds.count("misconception"), kinds.count("question")) == (20, 4)
    assert "\nTwenty sentences about attention" in TEXT
    assert "\n## Four questions\n" in TEXT
    lessons = (BOOK / "reference" / "for-teachers.md").read_text("utf-8")
    assert "[twenty misconceptions](#" in lessons


def test_a_section_that_holds_only_the_mistake_is_found():
    text = "A mask selects.\n\n```{code-cell} python\nassert 1, 'A mask adds'\n```\n"
    assert not held(text)
    assert held(text.replace("adds", "selects"))
