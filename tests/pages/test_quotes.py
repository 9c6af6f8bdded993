"""An assertion of a page quotes the words that it holds: `assert top == 2, "the third"`.

If the numbers change, the assertion fails; if the words change, the quote is not found. A test
cannot tell whether a condition is what its words say: whoever writes them has to.
"""

import ast
import re
from collections.abc import Iterator

import pytest

from tests.pages.sources import CELL, cells, pages, relative
from tests.pages.test_captions import figure_of, figures

# Sentences of captions that say how to read a figure, and nothing about its numbers.
HOW_TO_READ = {
    "(An arrow is cut at all positions at once.)",
    "A dot is a hidden score.",
    "Each line of the grid is ten times the one before.",
    "From words to the next word.",
    "Read the lines as in the figure above.",
}


def plain(text: str) -> str:
    return " ".join(text.replace("*", "").split())


def words_of(text: str) -> str:
    """Return what a page says, its captions included."""
    captions = [cell.options.get("mystnb", {}).get("figure", {}) for cell in cells(text)]
    return plain(" ".join([CELL.sub("", text), *(one.get("caption", "") for one in captions)]))


def quotes(lines: list[ast.stmt]) -> list[str]:
    nodes = [node for line in lines for node in ast.walk(line) if isinstance(node, ast.Assert)]
    return [plain(node.msg.value) for node in nodes if isinstance(node.msg, ast.Constant)]


def quotes_of(text: str) -> list[str]:
    """Return what the assertions of a page quote."""
    return [quote for cell in cells(text) for quote in quotes(ast.parse(cell.code).body)]


def not_found(text: str) -> list[str]:
    words = words_of(text)
    return [quote for quote in quotes_of(text) if quote not in words]


def sentences(text: str) -> list[str]:
    """Return the sentences of a text; a label or a colon begins none."""
    return re.split(r"(?<=[.?!])\)? (?=[A-Z({\[\d])", plain(text))


def not_held(parts: list[str], quoted: list[str]) -> list[str]:
    """Return the sentences, or other parts, that share no words with a quote."""
    return [one for one in parts if not any(quote in one or one in quote for quote in quoted)]


def without_quote(text: str) -> Iterator[tuple[str, str]]:
    """Yield the sentences of captions of which no assertion beside the figure quotes anything."""
    captions = {
        figure_of(cell): cell.options["mystnb"]["figure"]["caption"]
        for cell in cells(text)
        if figure_of(cell)
    }
    for figure in figures(text):
        for sentence in not_held(sentences(captions[figure.name]), quotes(figure.lines)):
            yield figure.name, sentence


@pytest.mark.parametrize("page", pages(), ids=relative)
def test_what_an_assertion_quotes_is_said(page):
    assert not not_found(page.read_text("utf-8"))


def test_of_each_sentence_of_a_caption_an_assertion_quotes_words():
    found = [pair for page in pages() for pair in without_quote(page.read_text("utf-8"))]
    assert not [pair for pair in found if pair[1] not in HOW_TO_READ]
    assert {sentence for _, sentence in found} == HOW_TO_READ


PAGE = """
It rises, twice as fast as *before*.

```{code-cell} python
---
mystnb:
  figure:
    name: fig-rise
    caption: |
      It ends at
      the top. It begins below.
---
rise = [1, 3]
assert rise[1] > rise[0], "It ends at the top"
assert rise[0] < 2, "It begins below"
draw(rise)
```

```{code-cell} python
assert rise[1] > 2 * rise[0], "twice as fast as before"
```
"""


def test_a_quote_is_found():
    assert not not_found(PAGE)
    assert not [*without_quote(PAGE)]


@pytest.mark.parametrize("old, new", [("twice as fast", "thrice as fast"), ("the top", "the end")])
def test_words_that_changed_are_found(old, new):
    assert len(not_found(PAGE.replace(old, new, 1))) == 1
