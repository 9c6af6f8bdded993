"""A handout prints on one sheet of paper, and on a second one with the solution."""

import re
from pathlib import Path

from press.build.book import SITE

HANDOUTS = sorted(Path(SITE, "reference", "handouts").glob("*.html"))


def test_every_handout_takes_two_sheets_and_the_first_tells_no_answer(page):
    assert HANDOUTS
    for path in HANDOUTS:
        page.goto(path.as_uri())
        for paper in ("A4", "Letter"):
            sheets = len(re.findall(rb"/Type /Page\b(?!s)", page.pdf(format=paper)))
            assert sheets == 2, (path.name, paper)
        empty, solved = page.locator(".sheet").all()
        blanks = [cells.locator("td.blank").all_inner_texts() for cells in (empty, solved)]
        assert len(blanks[0]) == len(blanks[1]) > 0, path.name
        assert {text.strip() for text in blanks[0]} == {"to fill in"}
        assert "to fill in" not in blanks[1]
