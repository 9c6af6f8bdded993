"""The card that other sites show for a link says what is so, and can be read at a quarter."""

import itertools

import pytest

from press.example.card import EXAMPLE, SIZE, WORD, draw, sentence
from press.example.sheets import of_example
from selfattn_ref.worked_examples import load

SHEET = of_example(EXAMPLE)[0]
WEIGHTS = load(EXAMPLE).expected["weights_money"]  # derived without the library


@pytest.fixture(scope="module")
def card():
    figure = draw(SHEET, WORD, "Self-attention, computed")
    figure.canvas.draw()
    return {text: text.get_window_extent() for text in figure.axes[0].texts}


def test_its_numbers_are_the_weights_and_its_sentence_names_the_largest(card):
    said = [text.get_text() for text in card]
    assert [one for one in said if one.startswith("0.")] == [f"{w:.2f}" for w in WEIGHTS.flat]
    money, *others = WEIGHTS[1]
    assert money > max(others)
    end = f"bank listens to money with a weight of {money:.2f}."
    assert sentence(SHEET, "bank") == f"In “money bank grows”, {end}"
    assert sentence(SHEET, "bank") in " ".join(said)


def test_nothing_lies_on_something_else_or_reaches_out(card):
    for box in card.values():
        assert box.x0 > 40 < box.y0
        assert box.x1 < SIZE[0] - 40
        assert box.y1 < SIZE[1] - 40
    for (one, a), (other, b) in itertools.combinations(card.items(), 2):
        assert not a.overlaps(b), (one.get_text(), other.get_text())


def test_letters_have_nine_pixels_and_numbers_twelve_in_a_chat(card):
    chat = 320 / SIZE[0]
    for text in card:
        pixels = text.get_fontsize() / 0.72 * chat
        assert pixels >= (12 if text.get_text().startswith("0.") else 9)
