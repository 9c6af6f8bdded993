"""The numbers of a handout are computed: no digit in its words is typed."""

import ast
import re

import pytest

from tests.pages.sources import BOOK, cells

SHEETS = sorted((BOOK / "reference" / "handouts").glob("*.md"))
# A size that is asked for, whatever the numbers are.
TYPED = "so that its mean square is 1 for every <i>d</i>?"


def typed(text):
    """Return the words of sheets with typed digits, those of examples and TYPED aside."""
    found = []
    for cell in cells(text):
        for call in ast.walk(ast.parse(cell.code)):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") in {"Handout", "Poster"}:
                nodes = [*ast.walk(call)]
                formats = [one.format_spec for one in nodes if isinstance(one, ast.FormattedValue)]
                asides = {id(part) for one in formats if one for part in ast.walk(one)}
                found += [
                    one.value
                    for one in nodes
                    if isinstance(one, ast.Constant)
                    and isinstance(one.value, str)
                    and id(one) not in asides
                ]
    plain = [re.sub(r"\bSA\d{3}\b", "", one.replace(TYPED, "")) for one in found]
    return [one for one in plain if re.search(r"[\d²³¹⁰-⁹₀-₉]", one)]


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.stem)
def test_the_digits_are_computed(sheet):
    assert not typed(sheet.read_text("utf-8"))


def test_what_may_be_typed_is_there():
    assert any(TYPED in sheet.read_text("utf-8") for sheet in SHEETS)


@pytest.mark.parametrize("words", ['"divide by 15"', 'f"divide by 15, {n:.2f}"', '"e² = ", "x"'])
def test_a_typed_digit_is_found(words):
    cell = "```{code-cell} python\nHandout('A', Step(WORDS, [f'{x:.2f}'], 'SA036'))\n```\n"
    assert typed(cell.replace("WORDS", words))
    assert not typed(cell.replace("WORDS", 'f"divide by {n:.2f}"'))
