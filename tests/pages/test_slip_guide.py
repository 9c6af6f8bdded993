"""The cards of the slips say what happens: their numbers, claims and links."""

import re

import numpy as np
import pytest
import yaml
from bs4 import BeautifulSoup

from press.example import sheets, slip_guide, snippets, stamps
from press.example.slip_catalog import matrix, slips_of
from selfattn_ref.worked_examples import load
from selfattn_ref.worked_examples.slips import SLIPS
from tests.pages.sources import BOOK

RIGHT = np.array([[0.25, 0.75], [1.0, 0.0]])


@pytest.mark.parametrize(
    "wrong, count, place",
    [
        ([[0.25, 0.75], [1.0, 1e-6]], 1, (1, 1)),
        ([[0.5, 0.75], [np.nan, 0.0]], 2, (1, 0)),
        ([[0.25, 0.75 + 1e-12], [1.0, 0.0]], 0, None),
        ([[0.5, 0.5], [1.25, 0.25 + 1e-15]], 4, (0, 0)),
    ],
)
def test_a_difference_is_the_first_of_the_largest_and_nan_is_larger(wrong, count, place):
    found = stamps.difference(RIGHT, np.array(wrong))
    assert (found.count if found else 0, found and found.place) == (count, place)


def test_two_numbers_have_the_digits_that_tell_them_apart():
    assert stamps.apart(1.0, 1.0004) == ("1", "1.0004")
    assert stamps.apart(-0.5, float("nan")) == ("−0.5", "NaN")
    assert stamps.written(0.5125 - 2**-53) == stamps.written(0.5125 + 2**-52)
    assert stamps.written(1e-7) == "1×10<sup>−7</sup>"


def test_a_stamp_frames_what_differs_and_marks_what_is_nothing():
    drawn = stamps.drawn(RIGHT, np.array([[0.25, 0.5], [np.nan, 0.0]]), role="weight", says="It")
    paths = dict(re.findall(r'class="(\w+)" d="([^"]+)"', drawn))
    assert paths["off"] == "M38 0h9v9h-9zM28 10h9v9h-9z"
    assert paths["none"] == "M15 15h0M43 15h0"
    assert paths["nan"].startswith("M31 13")
    assert "M0 5h9" in paths["t2"]
    assert "M0 15h9" in paths["t8"]


@pytest.mark.parametrize("name", SLIPS)
def test_a_card_shows_a_change_where_the_slip_makes_one(name):
    example, _, right, wrong = slip_guide.shown_at(name)
    if right.shape == wrong.shape:
        assert stamps.difference(right, wrong)
        assert not np.isnan(wrong[~right.any(axis=-1)]).any()  # where others expect it, too
    on_sheets = sheets.broken_by(name)
    assert example in (on_sheets or {call.example for call in matrix()[name]})
    assert slip_guide.still_right(name)


def test_what_still_looks_right_is_computed():
    said = {name: " ".join(slip_guide.still_right(name)) for name in SLIPS}
    for name, call in (("mask-after-softmax", 1), ("softmax-over-queries", 0)):
        call = load("SA016").calls[call]
        weights = stamps.weights_of(SLIPS[name], *call.args, **call.kwargs)
        assert not np.allclose(weights.sum(axis=1), 1)
        assert "adds up to 1" not in said[name]
    assert "adds up to 1" in said["not-scaled"]
    assert "adds up to 1" not in said["epsilon-in-the-denominator"]
    assert (
        "Nothing changes unless the call has a mask and a bias." in said["bias-dropped-under-mask"]
    )
    assert "Nothing changes" not in said["not-scaled"]


def test_every_report_of_a_slip_is_linked():
    bugs = yaml.safe_load((BOOK / "examples" / "public-bugs.yml").read_text("utf-8"))
    linked = slip_guide.reports()
    for bug in bugs:
        if (name := bug.get("reproduced_by")) in SLIPS:
            assert linked[name][bug["link"]] == bug["project"]
    for name, slip in SLIPS.items():
        assert not slip.seen or slip.seen in linked[name]


def test_an_example_says_by_how_much_a_slip_is_off():
    for slip in slips_of()["SA027"]:
        row = BeautifulSoup(f"<table>{snippets.off_by('SA027', slip)}</table>", "lxml")
        name, place, *said = (cell.text for cell in row("td"))
        (call,) = (one for one in load("SA027").calls if one.id == name)
        wrong = slip(*call.args, **call.kwargs)
        if place != "shape":
            at = tuple(map(int, re.findall(r"\d+", place)))
            numbers = [float(one.replace("−", "-")) for one in said if "×" not in one]
            if len(numbers) == 2:
                np.testing.assert_allclose(numbers, [call.expected[at], wrong[at]], rtol=6e-3)
