"""Each lesson of the first reading has a question for the room, whose answers are computed."""

import ast
import re
from math import e, exp, log, log2, sqrt

import numpy as np
import pytest

import book.figures.room as room
from tests.pages.sources import cells, lessons, relative

FIRST = [
    page for page in lessons() if re.search(r"^paths:.* first\b", page.read_text("utf-8"), re.M)
]
EVERY_FIRST = pytest.mark.parametrize("page", FIRST, ids=relative)
BLOCK = re.compile(
    r"^::::\{admonition\} Ask the room\n:class: room\n:name: (\S+)-room\n(.*?)^::::$", re.M | re.S
)
GLUE = re.compile(r"\{glue:text\}`(room_\w+)`")

root = 4 / sqrt(2)  # a score of 4, scaled for keys of two numbers
first = 1 / (1 + exp(-2))  # the weight of reeds after a step, for the keys 1 and −1
steep = -1 / (1 + exp(2 * first - 1))  # the slope of the loss along the answer there


def loss(last):
    """Return the loss of SA062 where the last entry of M is this, the others as in the identity."""
    unclear, clue = exp(2 + last), e**2  # the other words: three zeros, or two and "raised" with 1
    return -log(clue / (unclear + clue + 3)) - log(clue / (unclear + clue + 2 + e))


# By hand: the answer that is right, and what each slip makes of the question.
ANSWERS = {
    "concepts/embeddings": {
        "right": 3 / 5 - -2 / 5,
        "moves_one_sentence": 3 / 5 + 3 / 5,
        "both_grow": 3 / 5 + 4 / 5,
        "not_divided": 2 / 5 + 1 + 3 / 5,
    },
    "concepts/similarity": {
        "right": 1 / sqrt(2),
        "old_length": 4 / 2 / sqrt(2),
        "old_product": 2 / 4 / sqrt(2),
        "bank_alone": 4 / sqrt(2),
    },
    "concepts/mixing-words": {
        "right": 1 / (2 * e**2 + 1),
        "exponential_left_out": 0,
        "powers_of_two": 1 / 9,
        "plain_average": 1 / 3,
    },
    "concepts/all-at-once": {
        "right": 1 / (1 + e**2),
        "weights_transposed": e / (1 + e),
        "exponential_left_out": 2 / 6,
        "plain_average": 1 / 2,
    },
    "concepts/why-parameters": {
        "right": loss(1) - loss(0),
        "straight_line": 100 * (loss(1) - loss(0.99)),
        "all_of_it": loss(1),
    },
    "concepts/queries-keys-values": {
        "right": (4 * exp(root) + 1) / (exp(root) + 4),
        "one_vector_for_both": (4 * exp(2 * root) + 1) / (exp(2 * root) + 4),
        "keys_as_values": 2 * exp(root) / (exp(root) + 4),
        # the query (2, 2) meets the values (1, 1) and (0, 4), with scores of 4 and 8
        "keys_and_values_swapped": 2 * exp(2 * root) / (exp(2 * root) + exp(root) + 3),
    },
    "concepts/attention-equation": {
        "right": exp(4) / (exp(4) + 4),
        "root_cancels": exp(root) / (exp(root) + 4),
        "root_left_out": exp(2) / (exp(2) + 4),
        "not_scaled": exp(8) / (exp(8) + 4),
    },
    "causal/masking": {
        "right": e / (1 + 2 * e),
        "mask_after_softmax": e / (2 + 2 * e + e**2),
        "hidden_scores_are_zero": e / (3 + 2 * e),
        "exponential_left_out": 1 / 2,
    },
    "causal/generating": {
        "right": 7,
        "only_the_new_key": 1,
        "row_and_column": 13,
        "from_scratch": 49,
    },
    "causal/perplexity": {
        "right": 4,
        "bits_for_perplexity": (log2(2) + log2(8)) / 2,
        "mean_of_the_probabilities": 2 / (1 / 2 + 1 / 8),
        "mean_of_the_reciprocals": (2 + 8) / 2,
    },
    "beyond/many-heads": {
        "right": exp(root) / (exp(root) + 2),
        "not_scaled": exp(4) / (exp(4) + 2),
        "root_of_model_width": exp(2) / (exp(2) + 2),
        "softmax_over_heads_too": exp(root) / (2 * exp(root) + 4),
    },
    "beyond/learning": {
        "right": 1 - 4 * steep * 2 * first * (1 - first),
        "right_already": 1,
        "step_of_one_length": 2,
        "weight_still_level": 1 - 4 * steep * 2 / 4,
    },
}


@EVERY_FIRST
def test_each_answer_is_what_its_way_leads_to(page, monkeypatch, capsys):
    """Run the page up to its question."""
    known, names = {}, {}
    monkeypatch.setattr(room, "say", lambda digits, **said: known.update(said))
    for cell in cells(page.read_text("utf-8")):
        if "raises-exception" not in cell.tags:
            exec(cell.code, names)
        if known:
            break
    letters = {text: letter for letter, text in known.items() if re.fullmatch("room_[a-d]", letter)}
    expected = ANSWERS[relative(page)]
    assert {f"room_{way}" for way in expected} == known.keys() - {*letters.values()}
    for way, value in expected.items():
        shown = known[f"room_{known[f'room_{way}'].lower()}"]
        digits = len(shown.partition(".")[2])
        assert shown == f"{value:.{digits}f}", way
    assert np.all(np.diff([float(known[name]) for name in sorted(letters.values())]) > 0)


@EVERY_FIRST
def test_the_page_shows_every_answer_and_explains_every_way(page):
    ((name, text),) = BLOCK.findall(page.read_text("utf-8"))
    assert name == page.stem
    ways = ANSWERS[relative(page)]
    letters = [f"room_{letter}" for letter in "abcd"[: len(ways)]]
    shown = GLUE.findall(text)
    assert shown[: len(ways)] == letters
    assert sorted(shown[len(ways) :]) == sorted(f"room_{way}" for way in ways)


@EVERY_FIRST
def test_the_question_leaves_the_names_of_its_page_alone(page):
    found = cells(page.read_text("utf-8"))
    (own,) = (cell for cell in found if "import ask" in cell.code)

    def names(nodes):
        every = (one for node in nodes for one in ast.walk(node))
        return {one.id for one in every if isinstance(one, ast.Name)}

    lines = ast.parse(own.code).body
    given = names(one for line in lines if isinstance(line, ast.Assign) for one in line.targets)
    for cell in found:
        assert cell is own or not given & names([ast.parse(cell.code)])


def test_a_question_without_a_choice_is_refused():
    two = {"one": lambda: 1.001, "other": lambda: 1}
    with pytest.raises(ValueError, match="three or four different"):
        room.ask(lambda way: way(), lambda: 2, **two)
