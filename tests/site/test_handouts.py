"""A handout prints on a sheet of paper, and on a second one with the solution; a poster on one."""

import re
from pathlib import Path

import pytest

from press.build.book import SITE
from selfattn_ref.worked_examples import load

FOLDER = Path(SITE, "reference", "handouts")
POSTER = FOLDER / "poster.html"
HANDOUTS = sorted({*FOLDER.glob("*.html")} - {POSTER})
# Of the rows of the marked word: where each stands, and where its numbers end.
BAND = """() => [...document.querySelectorAll("tr.me")].map((row) => {
    const box = row.getBoundingClientRect();
    const points = parseFloat(getComputedStyle(row).fontSize) * .75;
    return { top: box.top, right: box.right, points };
})"""


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


@pytest.mark.parametrize("paper, millimeters", [("A4", 297), ("Letter", 279.4)])
def test_the_poster_takes_one_sheet_that_lies_with_the_word_in_one_line(page, paper, millimeters):
    page.goto(POSTER.as_uri())
    boxes = re.findall(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", page.pdf(format=paper))
    assert len(boxes) == 1
    assert float(boxes[0][0]) > float(boxes[0][1])
    page.emulate_media(media="print")
    inside = round((millimeters - 24) / 25.4 * 96)  # pixels within the margins
    page.set_viewport_size({"width": inside, "height": 700})
    band = page.evaluate(BAND)
    assert len(band) == 7  # X, Q, K, V, scores, weights, output
    assert len({row["top"] for row in band}) == 1
    assert inside - 5 < max(row["right"] for row in band) <= inside
    assert min(row["points"] for row in band) > 13


def test_the_numbers_of_the_poster_and_its_answer_are_those_of_the_example(page):
    page.goto(POSTER.as_uri())
    expected = load("SA037").expected
    for name, array in (("weights", "weights_money"), ("output", "output_money")):
        shown = page.locator(f'td[data-array="{name}"]').all_inner_texts()
        assert shown == [f"{value:.2f}" for value in expected[array].flat]
    answer = page.locator(".answered p").last.inner_text()
    assert answer.endswith(f" = {expected['weights_money'][1, 0]:.2f}")
    assert load("SA037").citation in page.locator(".note").inner_text()
