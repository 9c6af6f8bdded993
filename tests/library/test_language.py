"""Language measures: against logarithms with 50 digits and counts made by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_ref import bits_per_token, cross_entropy, perplexity
from tests.support.arrays import normal
from tests.support.digits import exact, mp50

EPS = 2.0**-52
SEEDS = st.integers(0, 10**6)
HALF_AND_EIGHTH = np.log([[0.5, 0.5], [0.125, 0.875]])  # of the first token


def mean_surprise(logits, targets, kept=None):
    """Return the mean over the positions of −log of the probability of the target, in nats."""
    found = []
    for index in np.ndindex(np.shape(targets)):
        if kept is None or kept[index]:
            row = exact(logits[index])
            total = mp50.fsum(mp50.exp(z) for z in row)
            found.append(mp50.log(total) - row[np.asarray(targets)[index]])
    return mp50.fsum(found) / len(found)


@st.composite
def texts(draw):
    """Draw logits of some positions and the target of each."""
    shape = draw(st.lists(st.integers(1, 3), max_size=3))
    size, tokens, seed = (
        draw(st.sampled_from([1e-3, 1.0, 30.0])),
        draw(st.integers(1, 7)),
        draw(SEEDS),
    )
    targets = np.random.default_rng(seed).integers(0, tokens, shape)
    return size * normal(*shape, tokens, seed=seed), targets


class TestCrossEntropy:
    """Within 4 ε (1 + ln V + max|logit|) nats of 50 digits."""

    @given(texts(), st.sampled_from([1.0, 300.0]))
    def test_it_is_the_mean_of_the_surprises(self, text, size):
        logits, targets = size * text[0], text[1]
        wrong = abs(cross_entropy(logits, targets) - mean_surprise(logits, targets))
        assert wrong <= 4 * EPS * (1 + np.log(logits.shape[-1]) + np.abs(logits).max())

    @pytest.mark.parametrize("size", [0.01, 10.0])
    def test_a_large_vocabulary_costs_little(self, size):
        logits = np.random.default_rng(0).uniform(-size, size, (1, 20_000))
        wrong = abs(cross_entropy(logits, [7]) - mean_surprise(logits, np.array([7])))
        assert wrong <= 4 * EPS * (1 + np.log(20_000) + size)

    @pytest.mark.parametrize(
        "logits, targets, expected",
        [
            ([[0.0, 0.0]], [0], math.log(2)),
            ([[0.0, math.log(3)]], [0], math.log(4)),
            ([[0.0, math.log(3)]], [1], math.log(4 / 3)),
            ([[0.0, math.log(3)], [0.0, 0.0]], [0, 1], (math.log(4) + math.log(2)) / 2),
            ([0.0, 0.0, 0.0, 0.0, 0.0], 2, math.log(5)),
            ([[7.0]], [0], 0.0),
        ],
    )
    def test_hand_computed(self, logits, targets, expected):
        assert cross_entropy(logits, targets) == pytest.approx(expected, rel=4 * EPS, abs=1e-16)

    @pytest.mark.parametrize(
        "logits, target, expected",
        [
            *[([1e308, 0.0], 0, 0.0), ([1e308, 0.0], 1, 1e308), ([-1e308, 0.0], 0, 1e308)],
            *[([1e308, 1e308], 0, math.log(2)), ([-1e308, -1e308], 1, math.log(2))],
            *[([0.0, 800.0], 0, 800.0), ([0.0, -800.0], 0, 0.0), ([-np.inf, 0.0], 1, 0.0)],
            *[([-np.inf, 0.0], 0, np.inf), ([-np.inf, -np.inf], 0, np.inf)],
        ],
    )
    def test_logits_of_any_size_are_safe(self, logits, target, expected):
        assert cross_entropy([logits], [target]) == pytest.approx(expected, rel=4 * EPS, abs=0)

    def test_a_mean_of_large_losses_does_not_overflow(self):
        assert cross_entropy([[0.0, 1.5e308]] * 3, [0, 0, 0]) == pytest.approx(1.5e308)

    def test_certainty_costs_zero_and_not_minus_zero(self):
        assert math.copysign(1, cross_entropy([[5.0]], [0])) == 1

    @pytest.mark.parametrize(
        "mask", [[[True, False, True], [False, True, True]], [[True], [False]], [False, True, True]]
    )
    def test_positions_that_are_not_kept_do_not_count(self, mask):
        logits, targets = normal(2, 3, 5), np.array([[0, 1, 2], [3, 4, 0]])
        expected = mean_surprise(logits, targets, np.broadcast_to(mask, (2, 3)))
        assert abs(cross_entropy(logits, targets, mask=mask) - expected) <= 8 * EPS

    def test_a_mask_of_all_true_changes_nothing(self):
        logits, targets = normal(2, 3, 5), [[0, 1, 2], [3, 4, 0]]
        assert cross_entropy(logits, targets, mask=True) == cross_entropy(logits, targets)

    @pytest.mark.parametrize("ignored", [-100, -1, 5, 10**9])
    def test_what_stands_at_a_position_that_is_not_kept_changes_nothing(self, ignored):
        logits = normal(3, 5)
        clean = cross_entropy(logits[[0, 2]], [1, 3])
        logits[1] = np.nan
        assert cross_entropy(logits, [1, ignored, 3], mask=[True, False, True]) == clean

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_a_bad_logit_that_is_kept_shows(self, bad):
        assert math.isnan(cross_entropy([[0.0, 0.0, 0.0], [0.0, 0.0, bad]], [0, 0]))

    def test_targets_of_every_integer_dtype(self):
        logits = normal(3, 300)
        for dtype in (np.int8, np.uint8, np.int32, np.uint64):  # 300 tokens are beyond an int8
            targets = np.array([0, 127, 2], dtype)
            assert cross_entropy(logits, targets) == cross_entropy(logits, [0, 127, 2])


class TestPerplexity:
    """Within 4 ε (1 + max|logit|) of 50 digits, relative to itself."""

    @given(texts())
    def test_it_is_the_geometric_mean_of_the_reciprocal_probabilities(self, text):
        logits, targets = text
        rows = exact(logits.reshape(-1, logits.shape[-1]))
        reciprocals = mp50.mpf(1)
        for row, target in zip(rows, targets.ravel(), strict=True):
            reciprocals *= mp50.fsum(mp50.exp(z - row[target]) for z in row)
        expected = mp50.root(reciprocals, len(rows))
        wrong = abs(perplexity(logits, targets) - expected) / expected
        assert wrong <= 4 * EPS * (1 + np.log(logits.shape[-1]) + np.abs(logits).max())

    def test_it_is_not_the_geometric_mean_of_the_probabilities(self):
        # The reciprocals of ½ and ⅛ are 2 and 8, their geometric mean 4.
        assert perplexity(HALF_AND_EIGHTH, [0, 0]) == pytest.approx(4, rel=1e-14, abs=0)

    def test_the_mask_reaches_it(self):
        found = perplexity(HALF_AND_EIGHTH, [0, 0], mask=[False, True])
        assert found == pytest.approx(8, rel=1e-14, abs=0)

    def test_beyond_the_range_it_is_infinite(self):
        assert perplexity([[0.0, 1000.0]], [0]) == np.inf
        assert perplexity([[-np.inf, 0.0]], [0]) == np.inf
        assert perplexity([[0.0, 1000.0]], [1]) == 1.0


@pytest.mark.parametrize("n, size", [(31, 43.0), (127, 50.0), (127, 2150.0), (9999, 0.3)])
def test_the_error_does_not_grow_with_the_number_of_positions(n, size):
    logits, targets = np.tile([size, -size], (n, 1)), np.ones(n, int)
    bound = 4 * EPS * (1 + math.log(2) + size)
    assert abs(cross_entropy(logits, targets) - mean_surprise(logits[:1], targets[:1])) <= bound


class TestBitsPerToken:
    """Within 4 ε (1 + max|logit|) / ln 2 bits of 50 digits."""

    @given(texts())
    def test_it_is_the_mean_binary_logarithm(self, text):
        expected = mean_surprise(*text) / mp50.log(2)
        size = 1 + np.log(text[0].shape[-1]) + np.abs(text[0]).max()
        bound = 4 * EPS * size / math.log(2)
        assert abs(bits_per_token(*text) - expected) <= bound

    def test_one_of_eight_tokens_takes_three_bits(self):
        assert bits_per_token(np.zeros((3, 8)), [0, 5, 7]) == pytest.approx(3, rel=1e-15, abs=0)

    def test_the_mask_reaches_it(self):
        found = bits_per_token(HALF_AND_EIGHTH, [0, 0], mask=[False, True])
        assert found == pytest.approx(3, rel=1e-14, abs=0)

    def test_probability_zero_takes_infinitely_many(self):
        assert bits_per_token([[-np.inf, 0.0]], [0]) == np.inf
