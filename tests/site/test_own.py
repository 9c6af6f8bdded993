"""A sentence of the reader's own, on the front page."""

import re

import numpy as np
import pytest

from press.build.book import SITE
from selfattn_ref import scaled_dot_product_attention

FRONT = SITE / "index.html"
PLAIN = re.compile(r'<p class="says">(“bank”.*?)</p>')


@pytest.fixture
def own(visit):
    return visit(FRONT).locator(".own")


def shown(own):
    """Return the words, their numbers and scores and weights as the table shows them."""
    read = (
        "(row) => [...row.cells].map((c) => (c.querySelector('input') || c).value ?? c.innerText)"
    )
    rows = own.locator("tbody tr").evaluate_all(f"(rows) => rows.map({read})")
    return [row[0] for row in rows], np.array([row[1:] for row in rows], float)


def test_the_script_says_first_what_the_page_says_without_it(own):
    assert own.locator(".says").inner_text() == PLAIN.search(FRONT.read_text("utf-8")).group(1)


@pytest.mark.parametrize(
    ("sentence", "numbers", "asking"),
    [
        ("The bank by the river raised its rates", {}, 1),
        ("time flies", {"time": (2, -1), "flies": (3, 1)}, 0),
        ("red red wine", {"red": (1, 2)}, 2),
    ],
)
def test_it_is_what_the_library_computes(own, sentence, numbers, asking):
    own.locator("label input").fill(sentence)
    words = sentence.split()
    for word, pair in numbers.items():
        row = own.locator("tbody tr").nth(words.index(word))
        for j, value in enumerate(pair):
            row.locator("input").nth(j).fill(str(value))
    own.locator("tbody button").nth(asking).click()
    names, table = shown(own)
    assert names == words
    for word, pair in numbers.items():  # a word that comes twice has its numbers twice
        assert all(tuple(table[i, :2]) == pair for i, name in enumerate(words) if name == word)
    X = table[:, :2]
    weights = scaled_dot_product_attention(X[[asking]], X, np.eye(len(X)), scale=1.0)[0]
    assert np.abs(table[:, 2] - X @ X[asking]).max() <= 0.005
    assert np.abs(table[:, 3] - weights).max() <= 0.00501
    heard, average = weights @ X, X.mean(axis=0)
    said = own.locator(".says").inner_text().replace("−", "-")
    found = [float(x) for x in re.findall(r"-?\d+\.\d\d", said)]
    leans = [abs(at[0] - at[1]) for at in (heard, average) if abs(at[0] - at[1]) >= 0.005]
    assert np.allclose(found, [weights.max(), *heard, *leans], atol=0.00501)


def test_what_is_no_word_is_left_out_and_so_is_what_is_too_long(own):
    field, said = own.locator("label input"), own.locator(".says")
    field.fill("<b>one</b> & two")
    assert shown(own)[0] == ["b", "one", "b", "two"]
    field.fill(" … ")
    assert said.inner_text() == "Write a few words."
    field.fill(" ".join(["word"] * 13))
    assert len(shown(own)[0]) == 12
    assert said.inner_text().endswith("Only the first 12 words count.")
    assert "listens to all words alike, 0.08 each" in said.inner_text()


def test_a_number_out_of_range_or_none_at_all_does_no_harm(own):
    first = own.locator("tbody tr").first
    for text, kept in (("99", "3"), ("", "0")):
        first.locator("input").first.fill(text)
        first.locator("button").click()
        assert first.locator("input").first.input_value() == kept


def test_on_paper_it_is_a_table_of_words_and_numbers(own):
    own.locator("tbody input").first.fill("3")
    own.page.emulate_media(media="print")
    assert own.locator("input:visible, button:visible").count() == 0
    text = "(cell) => getComputedStyle(cell, '::before').content"
    read = f"(rows) => rows.map((row) => [...row.cells].slice(0, 3).map({text}))"
    said = own.locator("tbody tr").evaluate_all(read)
    assert said[0][1] == '"3"'
    assert all(one != "none" for row in said for one in row)
