"""The theorems of the page on two layers, checked away from it.

Expected values come from 50 digits, exact fractions, or counting; a class bears the label of its
theorem. Hypotheses are dropped once, so that a check that cannot fail would be noticed.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from selfattn_ref import multi_head_attention
from tests.support import digits
from tests.support.arrays import normals
from tests.support.digits import mp50

SEEDS = st.integers(0, 10**6)
A, B, C, X = range(4)
TEXTS = st.lists(st.integers(1, 3), min_size=2, max_size=7).map(lambda words: [0, *words])


def votes(text, scale):
    """Return the votes of the last position after two layers, in 50 digits."""
    tokens = [[mp50.mpf(n == token) for n in range(4)] for token in text]
    mask = np.tri(len(text), dtype=bool)
    query = [[2 * (p - 1), -1] for p in range(len(text))]
    key = [[p, p * p] for p in range(len(text))]
    place = [[mp50.mpf(x) for x in row] for row in query], [list(map(mp50.mpf, k)) for k in key]
    before = digits.product(digits.weights(*place, mask=mask, scale=scale), tokens)
    return digits.attention(tokens, before, tokens, mask=mask, scale=scale)[-1]


def followers(text):
    """Return which tokens followed the last one earlier, as often as they did."""
    return [after for token, after in itertools.pairwise(text) if token == text[-1]]


class TestInductionHeadCopies:
    """thm-induction-head-copies: followers of the last token get nearly all votes."""

    @given(TEXTS, st.sampled_from([0.7, 1, 2, 3, 5, 10]))
    def test_the_bound(self, text, scale):
        after = followers(text)
        assume(after)
        g = mp50.mpf(scale)
        bound = 1 - (len(text) - 1) * mp50.exp(-g * (1 - 6 * mp50.exp(-g)))
        assert sum(votes(text, scale)[token] for token in set(after)) >= bound

    @given(TEXTS)
    def test_large_scales_count_pairs(self, text):
        after = followers(text)
        assume(after)
        for token, vote in enumerate(votes(text, 50)):
            assert abs(vote - mp50.mpf(after.count(token)) / len(after)) < 1e-15

    @given(TEXTS)
    def test_a_token_that_is_new_is_followed_by_everything(self, text):
        text = [token for token in text if token != text[-1]] + [text[-1]]
        for token, vote in enumerate(votes(text, 50)):
            assert abs(vote - mp50.mpf(text.count(token)) / len(text)) < 1e-15

    def test_the_first_token_must_not_come_back(self):
        # It heard itself, and so it seems to have been followed by itself.
        assert abs(votes([0, 1, 0], 50)[1] - 0.5) < 1e-15


class TestOneLayerWithoutPositions:
    """thm-one-layer-no-positions: the same words before the same last word give the same row."""

    @given(st.permutations(range(4)), st.sampled_from([1, 2, 4]), SEEDS)
    def test_the_last_row(self, order, heads, seed):
        x, *matrices = normals((5, 4), *[(4, 4)] * 4, seed=seed)
        rows = [
            multi_head_attention(y, y, *matrices, num_heads=heads, causal=True)[-1]
            for y in (x, x[[*order, 4]])
        ]
        np.testing.assert_allclose(*rows, rtol=1e-10, atol=1e-12)

    def test_it_needs_inputs_without_positions(self):
        x, place, *matrices = normals((5, 4), (5, 4), *[(4, 4)] * 4)
        one, other = (
            multi_head_attention(y + place, y + place, *matrices, num_heads=2, causal=True)[-1]
            for y in (x, x[[1, 0, 2, 3, 4]])
        )
        assert not np.allclose(one, other, atol=1e-3)

    def test_it_needs_scores_without_positions(self):
        # What is near is heard more, and whoever is heard loses votes: both texts come out right.
        for text, answer in (((A, B, X, C, A), B), ((A, C, X, B, A), C)):
            loud = [math.exp(-0.5 * (4 - j)) for j in range(5)]
            loss = {word: loud[text.index(word)] / sum(loud) for word in (B, C)}
            assert min(loss, key=loss.__getitem__) == answer


FOUR = ((A, B, X, C, A), (X, B, A, C, A), (A, C, X, B, A), (X, C, A, B, A))
ANSWERS = (1, -1, -1, 1)  # what followed a: b, c, c, b


def table(values):
    """Draw a number for every position and word."""
    return st.lists(st.lists(values, min_size=4, max_size=4), min_size=5, max_size=5)


def difference(text, exponentials, values, rest):
    """Return the votes for b minus those for c, and the denominator of the softmax."""
    total = sum(exponentials[j][w] for j, w in enumerate(text))
    heard = sum(exponentials[j][w] * values[j][w] for j, w in enumerate(text))
    return rest + Fraction(heard, total), total


class TestOneHeadOneLayer:
    """thm-one-head-one-layer: no head is right on all of four texts."""

    @given(table(st.integers(1, 10**4)), table(st.integers(-99, 99)), st.integers(-99, 99))
    def test_no_head_is_right_on_all_four(self, exponentials, values, rest):
        found = [difference(text, exponentials, values, rest) for text in FOUR]
        one, two, three, four = (f * total for f, total in found)
        assert one + four == two + three
        assert not all(f * answer > 0 for (f, _), answer in zip(found, ANSWERS, strict=True))

    def test_three_of_four_are_possible(self):
        exponentials = [[1] * 4, [100] * 4, [1] * 4, [1, 1, 1, 1], [1] * 4]
        exponentials[2][A] = 10**6  # where a stands third, nothing else is heard
        values = [[0, 9, -9, 0] for _ in range(5)]
        values[2][A] = -1
        right = [
            difference(text, exponentials, values, 0)[0] * answer > 0
            for text, answer in zip(FOUR, ANSWERS, strict=True)
        ]
        assert sum(right) == 3

    def test_a_network_after_the_head_can(self):
        # The head averages unit vectors of (position, word); the network finds a, and what follows.
        for text, answer in zip(FOUR, ANSWERS, strict=True):
            row = {(p, w): Fraction(text[p] == w, 5) for p in range(5) for w in range(4)}
            votes = [
                sum(max(Fraction(0), 5 * row[p, A] + 5 * row[p + 1, w] - 1) for p in range(4))
                for w in (B, C)
            ]
            assert votes[0] - votes[1] == answer

    def test_several_heads_can(self):
        # Head p hears position p + 1, unless p drowns it: p is loud where it is not a.
        for text, answer in zip(FOUR, ANSWERS, strict=True):
            total = Fraction(0)
            for p in range(3):
                exponentials = [[Fraction(1, 10**6)] * 4 for _ in range(5)]
                exponentials[p] = [Fraction(10**3)] * 4
                exponentials[p][A] = Fraction(1, 10**3)
                exponentials[p + 1] = [Fraction(1)] * 4
                values = [[0] * 4 for _ in range(5)]
                values[p + 1] = [0, 1, -1, 0]
                weights = sum(exponentials[j][w] for j, w in enumerate(text))
                heard = sum(exponentials[j][w] * values[j][w] for j, w in enumerate(text))
                total += heard / weights
            assert total * answer > Fraction(9, 10)
