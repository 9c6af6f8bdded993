"""Language measures against logarithms with 50 digits and counts made by hand."""

import math
import re

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import selfattn_ref
from selfattn_ref import bits_per_token, cross_entropy, perplexity
from tests import oracles_more as oracle
from tests.oracles_more import mp50

EPS = np.finfo(np.float64).eps
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
MEASURES = [cross_entropy, perplexity, bits_per_token]


def says(message):
    return "^" + re.escape(message) + "$"


def surprise(logits, target):
    """Minus the logarithm of the probability of one target, in nats."""
    row = oracle.exact(logits)
    return mp50.log(mp50.fsum(mp50.exp(z) for z in row)) - row[target]


def mean_surprise(logits, targets, kept=None):
    found = [
        surprise(logits[index], targets[index])
        for index in np.ndindex(targets.shape)
        if kept is None or kept[index]
    ]
    return mp50.fsum(found) / len(found)


class TestCrossEntropy:
    """Within 4 ε (1 + max|logit|) nats of 50 digits."""

    @oracle.modest
    @given(
        st.lists(st.integers(1, 3), max_size=3),
        st.integers(1, 7),
        st.sampled_from([1e-3, 1.0, 30.0, 1e4]),
        st.integers(0, 10**6),
    )
    def test_it_is_the_mean_of_the_surprises(self, shape, V, size, seed):
        logits = size * oracle.numbers(seed, *shape, V)
        targets = np.random.default_rng(seed).integers(0, V, shape)
        loss = cross_entropy(logits, targets)
        expected = mean_surprise(logits, np.asarray(targets))
        assert abs(loss - expected) <= 4 * EPS * (1 + np.abs(logits).max())

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

    @oracle.modest
    @given(st.floats(-1e6, 1e6), st.integers(0, 10**6))
    def test_adding_the_same_to_every_logit_changes_nothing(self, shift, seed):
        logits = oracle.numbers(seed, 3, 5)
        targets = [4, 0, 2]
        wrong = abs(cross_entropy(logits + shift, targets) - cross_entropy(logits, targets))
        assert wrong <= 8 * EPS * (5 + abs(shift))

    @pytest.mark.parametrize(
        "logits, target, expected",
        [
            ([1e308, 0.0], 0, 0.0),
            ([1e308, 0.0], 1, 1e308),
            ([-1e308, 0.0], 0, 1e308),
            ([1e308, 1e308], 0, math.log(2)),
            ([-1e308, -1e308], 1, math.log(2)),
            ([0.0, 800.0], 0, 800.0),
            ([0.0, -800.0], 0, 0.0),
            ([-np.inf, 0.0], 1, 0.0),
            ([-np.inf, 0.0], 0, np.inf),
            ([-np.inf, -np.inf], 0, np.inf),
        ],
    )
    def test_logits_of_any_size_are_safe(self, logits, target, expected):
        with np.errstate(all="raise"):
            assert cross_entropy([logits], [target]) == pytest.approx(expected, rel=4 * EPS)

    def test_a_mean_of_large_losses_does_not_overflow(self):
        assert cross_entropy([[0.0, 1.5e308]] * 3, [0, 0, 0]) == pytest.approx(1.5e308)

    def test_certainty_costs_zero_and_not_minus_zero(self):
        assert math.copysign(1, cross_entropy([[5.0]], [0])) == 1

    @pytest.mark.parametrize(
        "mask", [[[True, False, True], [False, True, True]], [[True], [False]], [False, True, True]]
    )
    def test_positions_that_are_not_kept_do_not_count(self, mask):
        logits, targets = oracle.numbers(0, 2, 3, 5), np.array([[0, 1, 2], [3, 4, 0]])
        kept = np.broadcast_to(mask, (2, 3))
        expected = mean_surprise(logits, targets, kept)
        assert abs(cross_entropy(logits, targets, mask=mask) - expected) <= 8 * EPS

    def test_a_mask_of_all_true_changes_nothing(self):
        logits, targets = oracle.numbers(1, 2, 3, 5), [[0, 1, 2], [3, 4, 0]]
        assert cross_entropy(logits, targets, mask=True) == cross_entropy(logits, targets)

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_what_stands_at_a_position_that_is_not_kept_changes_nothing(self, bad):
        logits = oracle.numbers(2, 3, 5)
        clean = cross_entropy(logits[[0, 2]], [1, 3])
        logits[1] = bad
        for ignored in (-100, -1, 5, 10**9):
            loss = cross_entropy(logits, [1, ignored, 3], mask=[True, False, True])
            assert loss == clean

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_a_bad_logit_that_is_kept_shows(self, bad):
        logits = np.zeros((2, 3))
        logits[1, 2] = bad
        with np.errstate(all="raise"):
            assert math.isnan(cross_entropy(logits, [0, 0]))

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_every_dtype_is_computed_in_float64(self, dtype):
        logits = (10 * oracle.numbers(3, 3, 5)).astype(dtype)
        loss = cross_entropy(logits, [0, 4, 2])
        assert type(loss) is float
        assert loss == cross_entropy(logits.astype(np.float64), [0, 4, 2])

    def test_integer_logits_are_accepted(self):
        assert cross_entropy([[0, 0]], [1]) == math.log(2)

    @pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
    def test_targets_of_every_integer_dtype(self, dtype):
        logits = oracle.numbers(4, 3, 5)
        expected = cross_entropy(logits, [0, 4, 2])
        assert cross_entropy(logits, np.array([0, 4, 2], dtype)) == expected

    def test_more_tokens_than_an_int8_can_count(self):
        logits = np.zeros((2, 300))
        assert cross_entropy(logits, np.array([0, 127], np.int8)) == pytest.approx(math.log(300))

    @pytest.mark.parametrize("measure", MEASURES)
    def test_inputs_are_left_alone(self, measure):
        logits, targets = oracle.numbers(5, 2, 3, 5), np.array([[0, 1, 2], [3, 4, 0]])

        def measured(logits, targets):
            return np.float64(measure(logits, targets, mask=targets != 3))

        oracle.politely(measured, logits, targets)


class TestPerplexity:
    """Within 4 ε (1 + max|logit|) of 50 digits, relative to itself."""

    @oracle.modest
    @given(st.integers(1, 5), st.integers(1, 7), st.integers(0, 10**6))
    def test_it_is_the_geometric_mean_of_the_reciprocal_probabilities(self, n, V, seed):
        logits = 3 * oracle.numbers(seed, n, V)
        targets = np.random.default_rng(seed).integers(0, V, n)
        powers = [[mp50.exp(z) for z in row] for row in oracle.exact(logits)]
        reciprocals = mp50.mpf(1)
        for row, target in zip(powers, targets, strict=True):
            reciprocals *= mp50.fsum(row) / row[target]
        expected = mp50.root(reciprocals, n)
        wrong = abs(perplexity(logits, targets) - expected) / expected
        assert wrong <= 4 * EPS * (1 + np.abs(logits).max())

    @pytest.mark.parametrize("V", [1, 2, 3, 8, 50_257])
    def test_guessing_among_v_tokens_gives_v(self, V):
        assert perplexity(np.zeros((3, V)), [0, V // 2, V - 1]) == pytest.approx(V, rel=1e-14)

    def test_it_is_not_the_geometric_mean_of_the_probabilities(self):
        # Probabilities 1/2 and 1/8: the reciprocals 2 and 8 have the geometric mean 4.
        logits = np.log([[0.5, 0.5], [0.125, 0.875]])
        assert perplexity(logits, [0, 0]) == pytest.approx(4, rel=1e-14)

    def test_the_mask_reaches_it(self):
        logits = np.log([[0.5, 0.5], [0.125, 0.875]])
        assert perplexity(logits, [0, 0], mask=[False, True]) == pytest.approx(8, rel=1e-14)

    def test_beyond_the_range_it_is_infinite(self):
        with np.errstate(all="raise"):
            assert perplexity([[0.0, 1000.0]], [0]) == np.inf
            assert perplexity([[-np.inf, 0.0]], [0]) == np.inf
            assert type(perplexity([[0.0, 1000.0]], [1])) is float
        assert perplexity([[0.0, 1000.0]], [1]) == 1.0


class TestBitsPerToken:
    """Within 4 ε (1 + max|logit|) / ln 2 bits of 50 digits."""

    @oracle.modest
    @given(st.integers(1, 5), st.integers(1, 7), st.integers(0, 10**6))
    def test_it_is_the_mean_binary_logarithm(self, n, V, seed):
        logits = 3 * oracle.numbers(seed, n, V)
        targets = np.random.default_rng(seed).integers(0, V, n)
        expected = mean_surprise(logits, targets) / mp50.log(2)
        wrong = abs(bits_per_token(logits, targets) - expected)
        assert wrong <= 4 * EPS * (1 + np.abs(logits).max()) / math.log(2)

    def test_one_of_eight_tokens_takes_three_bits(self):
        bits = bits_per_token(np.zeros((3, 8)), [0, 5, 7])
        assert type(bits) is float
        assert bits == pytest.approx(3, rel=1e-15)

    def test_the_mask_reaches_it(self):
        logits = np.log([[0.5, 0.5], [0.125, 0.875]])
        assert bits_per_token(logits, [0, 0], mask=[False, True]) == pytest.approx(3, rel=1e-14)

    def test_probability_zero_takes_infinitely_many(self):
        assert bits_per_token([[-np.inf, 0.0]], [0]) == np.inf


@pytest.mark.parametrize("measure", MEASURES)
class TestMisuse:
    @pytest.mark.parametrize(
        "logits, targets, options, kind, message",
        [
            (
                np.ones((2, 3, 5)),
                np.zeros((2, 4), int),
                {},
                ValueError,
                "logits (2, 3, 5) and targets (2, 4): targets must have the axes of logits "
                "without the last",
            ),
            (
                np.ones((3, 5)),
                np.zeros((3, 5), int),
                {},
                ValueError,
                "logits (3, 5) and targets (3, 5): targets must have the axes of logits without "
                "the last",
            ),
            (
                np.ones((3, 5)),
                0,
                {},
                ValueError,
                "logits (3, 5) and targets (): targets must have the axes of logits without the "
                "last",
            ),
            (
                np.ones((2, 3, 5)),
                [[0, 1, 2], [3, 5, 4]],
                {},
                ValueError,
                "targets (2, 3): each must lie between 0 and V − 1 = 4, got 5 at (1, 1)",
            ),
            (
                np.ones((3, 5)),
                [0, -1, 2],
                {},
                ValueError,
                "targets (3,): each must lie between 0 and V − 1 = 4, got -1 at (1,)",
            ),
            (
                np.ones((3, 5)),
                [-1, 9, 2],
                {"mask": [False, True, True]},
                ValueError,
                "targets (3,): each must lie between 0 and V − 1 = 4, got 9 at (1,)",
            ),
            (
                np.ones(5),
                7,
                {},
                ValueError,
                "targets (): each must lie between 0 and V − 1 = 4, got 7 at ()",
            ),
            (
                np.ones((1, 0)),
                [0],
                {},
                ValueError,
                "targets (1,): each must lie between 0 and V − 1 = -1, got 0 at (0,)",
            ),
            (
                np.ones((2, 5)),
                np.array([2**64 - 1, 0], np.uint64),
                {},
                ValueError,
                "targets (2,): each must lie between 0 and V − 1 = 4, got 18446744073709551615 "
                "at (0,)",
            ),
            (
                np.ones((3, 5)),
                [0, 1, 2],
                {"mask": [False] * 3},
                ValueError,
                "targets (3,): no position is kept, and the mean of nothing is undefined",
            ),
            (
                np.ones((0, 5)),
                [],
                {},
                ValueError,
                "targets (0,): no position is kept, and the mean of nothing is undefined",
            ),
            (
                np.ones((3, 5)),
                [0, 1, 2],
                {"mask": [True, False]},
                ValueError,
                "mask (2,) and targets (3,): each axis of mask, counted from the last, must be "
                "equal to that of the targets, or 1",
            ),
            (
                np.ones((3, 5)),
                [0, 1, 2],
                {"mask": np.ones((1, 3), bool)},
                ValueError,
                "mask (1, 3) and targets (3,): each axis of mask, counted from the last, must be "
                "equal to that of the targets, or 1",
            ),
            (
                np.ones((3, 5)),
                [0, 1, 2],
                {"mask": [1, 1, 0]},
                TypeError,
                "mask must be boolean (True = this position counts), got dtype int64",
            ),
            (
                np.ones((3, 5)),
                [0.0, 1.0, 2.0],
                {},
                TypeError,
                "targets must hold integers, got dtype float64",
            ),
            (
                np.ones((2, 5)),
                [True, False],
                {},
                TypeError,
                "targets must hold integers, got dtype bool",
            ),
            (5.0, 0, {}, ValueError, "logits (): it must have the axes (..., V)"),
            (
                np.ones((1, 2)) * 1j,
                [0],
                {},
                TypeError,
                "logits must hold real numbers, got dtype complex128",
            ),
        ],
    )
    def test_misuse_is_named(self, measure, logits, targets, options, kind, message):
        with pytest.raises(kind, match=says(message)) as caught:
            measure(logits, targets, **options)
        assert caught.type is kind

    def test_it_is_exported(self, measure):
        assert measure.__name__ in selfattn_ref.__all__
