"""Each lesson of the first reading has a question for the room, whose answers are computed."""

import ast
import re
from math import e, exp, log, log2, sqrt
from typing import Any

import numpy as np
import pytest

import book.figures.room as room
from tests.pages.sources import BOOK, cells, lessons, relative

FIRST = [
    page for page in lessons() if re.search(r"^paths:.* first\b", page.read_text("utf-8"), re.M)
]
EVERY_FIRST = pytest.mark.parametrize("page", FIRST, ids=relative)
BLOCK = re.compile(
    r"^::::\{admonition\} Ask the room\n:class: room\n:name: (\S+)-room\n(.*?)^::::$", re.M | re.S
)
GLUE = re.compile(r"\{glue:text\}`(room_\w+)`")

grown = exp(4 / sqrt(2))  # the power of a score of 4, scaled for keys of two numbers
first = 1 / (1 + exp(-2))  # the weight of reeds after a step, for the keys 1 and −1
steep = -1 / (1 + exp(2 * first - 1))  # the slope of the loss along the answer there


def loss(last):
    """Return the loss of SA062 where the last entry of M is this, the others as in the identity."""
    unclear, clue = exp(2 + last), e**2  # the other words: three zeros, or two and "raised" with 1
    return -log(clue / (unclear + clue + 3)) - log(clue / (unclear + clue + 2 + e))


# What the question gives. By hand: the answer that is right, and what each slip makes of the
# question, each with what its formula is in the words of the fold.
ANSWERS: dict[str, Any] = {
    "concepts/embeddings": {
        "asked": "one more water, so that it is at (1, 2)",
        "right": (3 / 5 - -2 / 5, "one word of five in both sentences, so both averages move"),
        "moves_one_sentence": (3 / 5 + 3 / 5, "moves the first sentence and forgets the second"),
        "both_grow": (3 / 5 + 4 / 5, "lets both leans grow"),
        "not_divided": (2 / 5 + 1 + 3 / 5, "only the first sentence, and by the whole step"),
    },
    "concepts/similarity": {
        "asked": "*bank* $(1, 1)$ and *river* $(0, 2)$ is {glue:text}`was`. Make *river* twice as "
        "long, $(0, 4)$",
        "right": (1 / sqrt(2), "the dot product doubles, and so does the length it is divided by"),
        "old_length": (4 / 2 / sqrt(2), "doubles the dot product and divides by the old length"),
        "old_product": (2 / 4 / sqrt(2), "divides the old dot product by the new length"),
        "bank_alone": (4 / sqrt(2), "divides by the length of *bank* only"),
    },
    "concepts/mixing-words": {
        "asked": "has a score of 2 for itself and for *river*, and a score of 0 for *of*",
        "right": (1 / (2 * e**2 + 1), "the power is $e^0 = 1$, divided by $2e^2 + 1$"),
        "exponential_left_out": (0, "divides the scores themselves by their sum"),
        "itself_left_out": (1 / (e**2 + 1), "itself, too, and divides by $e^2 + 1$"),
        "plain_average": (1 / 3, "is the plain average, in which no score counts"),
    },
    "concepts/all-at-once": {
        "asked": "*raised* $(1, 0)$ and *rates* $(2, 0)$. Their score is 2",
        "right": (1 / (1 + e**2), "its own row, and *rates* has a score of 4 for itself"),
        "weights_transposed": (e / (1 + e), "reads a column instead of a row"),
        "exponential_left_out": (2 / 6, "divides the scores 2 and 4 by their sum"),
        "plain_average": (1 / 2, "splits evenly: one word of two"),
    },
    "concepts/why-parameters": {
        "asked": "from 1 to 0.99, and the loss falls by {glue:text}`nudge_gains`. Lower it a "
        "hundred times as far, from 1 to 0",
        "right": (loss(1) - loss(0), "is right"),
        "straight_line": (100 * (loss(1) - loss(0.99)), "as if the slope stayed the same"),
        "all_of_it": (loss(1), "is the whole loss"),
    },
    "concepts/queries-keys-values": {
        "asked": "double its value, and leave its key as it is",
        "right": ((4 * grown + 1) / (grown + 4), "the little that *bank* gives itself does not"),
        "one_vector_for_both": ((4 * grown**2 + 1) / (grown**2 + 4), "doubles the key as well"),
        "keys_as_values": (2 * grown / (grown + 4), "mixes the keys instead of the values"),
        "all_of_it_doubles": (2 * (2 * grown + 1) / (grown + 4), "is twice what *bank* heard"),
    },
    "concepts/attention-equation": {
        "asked": r"so that each is four numbers wide. The equation now divides by $\sqrt 4$",
        "right": (exp(4) / (exp(4) + 4), r"the root grows only by a factor of $\sqrt 2$"),
        "root_cancels": (grown / (grown + 4), "trusts the root to undo any width"),
        "root_left_out": (exp(2) / (exp(2) + 4), "divides by $d_k$, without the root"),
        "not_scaled": (exp(8) / (exp(8) + 4), "does not divide at all"),
    },
    "causal/masking": {
        "asked": "*raised* has a score of 1 for *bank* and for itself, 0 for *the* and *its*, and "
        "2 for *rates*",
        "right": (e / (1 + 2 * e), "$e$ divided by $1 + 2e$, the powers of the three words"),
        "mask_after_softmax": (e / (2 + 2 * e + e**2), "weights are crossed out after softmax"),
        "hidden_scores_are_zero": (e / (3 + 2 * e), "hidden words a score of 0. But $e^0 = 1$"),
        "exponential_left_out": (1 / 2, "divides the scores 0, 1 and 1 by their sum"),
    },
    "causal/generating": {
        "asked": "of six words, and the seventh arrives",
        "right": (7, "meets every key, its own included"),
        "only_the_new_key": (1, "counts the one key that is new"),
        "row_and_column": (13, "adds a column, in which the earlier words listen to the new one"),
        "from_scratch": (49, "computes all rows again"),
    },
    "causal/perplexity": {
        "asked": r"had the probabilities $\tfrac12$ and $\tfrac18$",
        "right": (4, r"the root of $2 \cdot 8$"),
        "bits_for_perplexity": ((log2(2) + log2(8)) / 2, "bits, one and three, on average two"),
        "mean_of_the_probabilities": (2 / (1 / 2 + 1 / 8), "mean of the two probabilities first"),
        "mean_of_the_reciprocals": ((2 + 8) / 2, "is the mean of 2 and 8, which adds"),
    },
    "beyond/many-heads": {
        "asked": "queries and keys of two numbers. In head 0 a word has the scores 4, 0 and 0 "
        "for three words, in head 1 the scores 0, 0 and 4",
        "right": (grown / (grown + 2), r"own width, $\sqrt 2$, and has a whole 1 to give"),
        "not_scaled": (exp(4) / (exp(4) + 2), "does not divide"),
        "root_of_model_width": (exp(2) / (exp(2) + 2), r"$\sqrt 4$, as if both heads were one key"),
        "softmax_over_heads_too": (grown / (2 * grown + 4), "makes the two heads share it"),
    },
    "beyond/learning": {
        "asked": "the key of *reeds* from 0 to 1 and the key of *coins* from 0 to −1. The learning "
        "rate is still 4",
        "right": (1 - 4 * steep * 2 * first * (1 - first), "two of its three factors have shrunk"),
        "right_already": (1, "stops, because the answer is right"),
        "step_of_one_length": (2, "takes the rate for the length of a step"),
        "weight_still_level": (1 - 4 * steep * 2 / 4, "too: $a(1 - a)$ is no longer a quarter"),
    },
}
ASKED = {page: ways.pop("asked") for page, ways in ANSWERS.items()}


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
    for way, (value, _) in expected.items():
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


@pytest.mark.parametrize("page", ANSWERS)
def test_the_page_says_what_each_way_computes(page):
    ((_, block),) = BLOCK.findall((BOOK / f"{page}.md").read_text("utf-8"))
    question, fold = block.split("\n1. ", 1)
    parts = GLUE.split(fold)
    beside = {"room_asked": question} | dict(zip(parts[1::2], parts[2::2], strict=True))
    words = {"asked": ASKED[page]} | {way: said for way, (_, said) in ANSWERS[page].items()}
    assert not [way for way, said in words.items() if said not in beside[f"room_{way}"]]


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
    teachers = (BOOK / "reference" / "for-teachers.md").read_text("utf-8")
    assert "one each, for a quiz, with three or four answers" in teachers
    two = {"one": lambda: 1.001, "other": lambda: 1}
    with pytest.raises(ValueError, match="three or four different"):
        room.ask(lambda way: way(), lambda: 2, **two)
