"""A handout prints on one sheet of paper, and on a second one with the solution."""

import re
from pathlib import Path

import pytest

from tools.serve_book import SITE
from tools.site.visit import launched

HANDOUTS = sorted(Path(SITE, "reference", "handouts").glob("*.html"))


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_every_handout_takes_two_sheets(paper: str) -> None:
    assert HANDOUTS
    with launched() as browser:
        page = browser.new_page()
        for path in HANDOUTS:
            page.goto(path.as_uri())
            sheets = len(re.findall(rb"/Type /Page\b(?!s)", page.pdf(format=paper)))
            assert sheets == 2, path.name


def test_the_first_sheet_tells_no_answer() -> None:
    with launched() as browser:
        page = browser.new_page()
        for path in HANDOUTS:
            page.goto(path.as_uri())
            empty, solved = page.locator(".sheet").all()
            blanks = [cells.locator("td.blank").all_inner_texts() for cells in (empty, solved)]
            assert len(blanks[0]) == len(blanks[1]) > 0, path.name
            assert {text.strip() for text in blanks[0]} == {"to fill in"}
            assert "to fill in" not in blanks[1]
