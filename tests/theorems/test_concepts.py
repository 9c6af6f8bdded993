"""The theorems of the Concepts part. The docstring of a class begins with the theorem's label."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from selfattn_ref import attention_weights, dot_similarity, softmax

COORDINATES = st.floats(-100, 100)


class TestConvexHull:
    """thm-convex-hull: a context vector stays between the words, along every direction."""

    @given(
        words=hnp.arrays(np.float64, (5, 3), elements=COORDINATES),
        scores=hnp.arrays(np.float64, (2, 5), elements=st.floats(-30, 30)),
        direction=hnp.arrays(np.float64, 3, elements=st.floats(-1, 1)),
    )
    def test_no_direction_is_left(self, words, scores, direction):
        context = attention_weights(scores) @ words
        for row in context:
            along = math.fsum(row * direction)
            extremes = [math.fsum(word * direction) for word in words]
            assert min(extremes) - 1e-10 <= along <= max(extremes) + 1e-10

    def test_shares_that_do_not_add_up_to_one_leave_the_hull(self):
        # What the source does before it normalizes: 1 bat + cos 45° cave, with bat (3, 3).
        words = np.array([[3.0, 3.0], [4.0, 0.0]])
        mixture = np.array([1.0, math.sqrt(0.5)]) @ words
        assert mixture[0] > words[:, 0].max()


class TestAttentionHoldsOut:
    """thm-attention-holds-out: words of zeros weaken the average more than attention."""

    @staticmethod
    def heard(word, clue, others):
        words = np.array([word, clue, *others])
        weights = attention_weights(dot_similarity(words[:1], words))[0]
        return weights @ words, words.mean(axis=0)

    @given(word=hnp.arrays(np.float64, 3, elements=st.floats(-2, 2)), n=st.integers(0, 300))
    def test_attention_is_the_average_times_the_ratio(self, word, n):
        # A clue with the score of the word for itself: the word, and something across it.
        clue = word + np.cross(word, [1, 2, 3])
        attention, average = self.heard(word, clue, np.zeros((n, 3)))
        power = math.exp(math.fsum(word * word))
        ratio = power * (n + 2) / (2 * power + n)
        np.testing.assert_allclose(attention, ratio * average, rtol=1e-11, atol=1e-13)
        assert ratio <= power * (1 + 1e-15)

    def test_it_begins_at_one_grows_and_comes_close_to_the_power(self):
        ratios = []
        for n in (0, 1, 3, 10, 100, 1000, 100_000):
            attention, average = self.heard([1, 1], [0, 2], np.zeros((n, 2)))
            ratios.append(attention[1] / average[1])
        assert ratios[0] == pytest.approx(1, abs=1e-15)
        assert (np.diff(ratios) > 0).all()
        assert 0.999 < ratios[-1] / math.exp(2) < 1

    @pytest.mark.parametrize(
        "word, clue, others",
        [([1, 1], [0, 3], np.zeros((3, 2))), ([1, 1], [0, 2], [[0, 0], [0, 0], [1, 0]])],
        ids=["another score", "a word that speaks"],
    )
    def test_no_hypothesis_can_go(self, word, clue, others):
        attention, average = self.heard(word, clue, others)
        assert abs(np.linalg.det([attention, average])) > 0.01  # not even along the same line


class TestNoMutualPreference:
    """thm-no-mutual-preference: for any words, whose dot products are positive semidefinite."""

    @given(
        words=hnp.arrays(np.float64, (5, 3), elements=COORDINATES),
        amounts=hnp.arrays(np.float64, 5, elements=st.floats(-1, 1)),
    )
    def test_two_words_never_both_prefer_the_other(self, words, amounts):
        scores = dot_similarity(words)
        rounding = 1e-12 * (1 + scores.diagonal().max())
        assert amounts @ scores @ amounts >= -25 * rounding
        own = scores.diagonal()
        assert (scores <= (own[:, None] + own) / 2 + rounding).all()
        assert (scores <= np.maximum(own[:, None], own) + rounding).all()

    def test_a_matrix_between_the_words_breaks_it(self):
        swap = np.array([[0.0, 1.0], [1.0, 0.0]])
        scores = np.eye(2) @ swap @ np.eye(2).T
        assert scores[0, 1] > max(scores[0, 0], scores[1, 1])


class TestSoftmaxMaximizes:
    """thm-softmax-maximizes: softmax maximizes the mean score plus temperature times entropy."""

    @staticmethod
    def free_energy(shares, scores, temperature):
        mean = math.fsum(p * s for p, s in zip(shares, scores, strict=True))
        entropy = -math.fsum(p * math.log(p) for p in shares if p > 0)
        return mean + temperature * entropy

    @given(
        scores=st.lists(st.floats(-20, 20), min_size=1, max_size=6),
        temperature=st.floats(0.1, 10),
        data=st.data(),
    )
    def test_no_other_shares_do_better(self, scores, temperature, data):
        best = softmax(np.array(scores) / temperature).tolist()
        other = data.draw(
            st.lists(st.floats(0, 1), min_size=len(scores), max_size=len(scores)).filter(any)
        )
        total = math.fsum(other)
        other = [p / total for p in other]
        reached = self.free_energy(best, scores, temperature)
        assert self.free_energy(other, scores, temperature) <= reached + 1e-12

    @given(
        scores=st.lists(st.floats(-20, 20), min_size=1, max_size=6), temperature=st.floats(0.1, 10)
    )
    def test_the_maximum_is_the_temperature_times_the_log_of_the_sum(self, scores, temperature):
        best = softmax(np.array(scores) / temperature).tolist()
        highest = max(scores)
        log_sum = math.log(math.fsum(math.exp((s - highest) / temperature) for s in scores))
        expected = highest + temperature * log_sum
        assert math.isclose(
            self.free_energy(best, scores, temperature), expected, rel_tol=1e-12, abs_tol=1e-12
        )

    def test_moving_away_from_softmax_in_any_direction_is_worse(self):
        scores = [2.0, 1.0, 0.0]
        best = softmax(scores).tolist()
        reached = self.free_energy(best, scores, 1.0)
        for step in ([0.01, -0.01, 0], [-0.01, 0.01, 0], [0, 0.01, -0.01], [-0.01, 0, 0.01]):
            other = [p + d for p, d in zip(best, step, strict=True)]
            assert self.free_energy(other, scores, 1.0) < reached - 1e-5


class TestSoftmaxQuotient:
    """thm-softmax-quotient: of the quotients of positive numbers, only softmax ignores a shift."""

    @staticmethod
    def quotients(g, scores):
        return g(scores) / g(scores).sum()

    @given(
        scores=hnp.arrays(np.float64, 4, elements=st.floats(-5, 5)),
        shift=st.floats(-5, 5),
        temperature=st.floats(0.1, 10),
    )
    def test_exponentials_are_softmax_and_ignore_a_shift(self, scores, shift, temperature):
        made = self.quotients(lambda s: 3 * np.exp(s / temperature), scores)
        np.testing.assert_allclose(made, softmax(scores / temperature), rtol=1e-12)
        moved = self.quotients(lambda s: 3 * np.exp(s / temperature), scores + shift)
        np.testing.assert_allclose(made, moved, rtol=1e-11)

    @pytest.mark.parametrize(
        "g",
        [
            lambda s: np.log1p(np.exp(s)),
            lambda s: 1 / (1 + np.exp(-s)),
            lambda s: np.exp(s) + 1,
            lambda s: np.exp(s + np.sin(s) / 2),
        ],
        ids=["softplus", "sigmoid", "one more", "a ripple"],
    )
    def test_other_increasing_positive_functions_notice_it(self, g):
        scores = np.array([0.0, 1.0, 2.0])
        assert (np.diff(g(np.linspace(-5, 5, 101))) > 0).all()
        assert np.abs(self.quotients(g, scores) - self.quotients(g, scores + 1)).max() > 1e-3
