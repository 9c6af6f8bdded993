"""Positions against sines, cosines and complex exponentials with 50 digits."""

import re

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import selfattn_ref
from selfattn_ref import rotate_pairs, sinusoidal_encoding
from tests import oracles_more as oracle
from tests.oracles_more import mp50

EPS = np.finfo(np.float64).eps
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def says(message):
    return "^" + re.escape(message) + "$"


def frequency(i, width, base=10000):
    return mp50.mpf(base) ** (-mp50.mpf(2 * i) / width)


def pairs(width, interleaved):
    """The columns of each pair, written out."""
    half = width // 2
    return [(2 * i, 2 * i + 1) if interleaved else (i, i + half) for i in range(half)]


def rotated(row, position, *, base=10000, interleaved=False):
    """A row whose pairs are complex numbers, times exp(i t ω)."""
    turned = [None] * len(row)
    for i, (a, b) in enumerate(pairs(len(row), interleaved)):
        angle = mp50.mpf(float(position)) * frequency(i, len(row), base)
        z = mp50.mpc(float(row[a]), float(row[b])) * mp50.expj(angle)
        turned[a], turned[b] = z.real, z.imag
    return turned


class TestSinusoidalEncoding:
    """Within 4 ε (1 + t) of 50 digits."""

    @pytest.mark.parametrize("width, base", [(2, 10000), (10, 10000), (64, 10000), (6, 7.5)])
    def test_sines_stand_at_even_columns_and_cosines_at_odd_ones(self, width, base):
        encoding = sinusoidal_encoding(13, width, base=base)
        assert encoding.shape == (13, width)
        assert encoding.dtype == np.float64
        for t in range(13):
            for i in range(width // 2):
                angle = t * frequency(i, width, base)
                assert abs(encoding[t, 2 * i] - mp50.sin(angle)) <= 4 * EPS * (1 + t)
                assert abs(encoding[t, 2 * i + 1] - mp50.cos(angle)) <= 4 * EPS * (1 + t)

    def test_far_positions_stay_accurate(self):
        encoding = sinusoidal_encoding(100_003, 6)
        for t in (1009, 10_007, 100_002):
            for i in range(3):
                angle = t * frequency(i, 6)
                assert abs(encoding[t, 2 * i] - mp50.sin(angle)) <= 4 * EPS * (1 + t)
                assert abs(encoding[t, 2 * i + 1] - mp50.cos(angle)) <= 4 * EPS * (1 + t)

    def test_position_zero_is_zeros_and_ones(self):
        np.testing.assert_array_equal(sinusoidal_encoding(1, 6), [[0, 1, 0, 1, 0, 1]])

    @pytest.mark.parametrize("shift", [1, 5, 31])
    def test_a_shift_is_a_rotation_that_is_the_same_everywhere(self, shift):
        encoding = sinusoidal_encoding(71, 10)
        for i in range(5):
            angle = shift * frequency(i, 10)
            cos, sin = float(mp50.cos(angle)), float(mp50.sin(angle))
            s, c = encoding[:, 2 * i], encoding[:, 2 * i + 1]
            limit = 8 * EPS * (1 + np.arange(shift, 71))
            later_s, later_c = s[shift:], c[shift:]
            s, c = s[:-shift], c[:-shift]
            assert (np.abs(later_s - (s * cos + c * sin)) <= limit).all()
            assert (np.abs(later_c - (c * cos - s * sin)) <= limit).all()

    def test_every_row_has_the_length_of_the_root_of_the_number_of_pairs(self):
        lengths = (sinusoidal_encoding(101, 14) ** 2).sum(axis=1)
        np.testing.assert_allclose(lengths, 7, rtol=4 * EPS)

    def test_base_one_turns_every_pair_alike(self):
        encoding = sinusoidal_encoding(7, 6, base=1)
        np.testing.assert_array_equal(encoding[:, 2:], np.tile(encoding[:, :2], 2))

    @pytest.mark.parametrize("T, d_model", [(0, 4), (3, 0), (0, 0)])
    def test_empty_sizes_give_empty_encodings(self, T, d_model):
        with np.errstate(all="raise"):
            assert sinusoidal_encoding(T, d_model).shape == (T, d_model)

    def test_frequencies_that_underflow_do_not_warn(self):
        with np.errstate(all="raise"):
            encoding = sinusoidal_encoding(2, 1000, base=1e308)
        np.testing.assert_allclose(encoding[1, -2:], [0, 1], atol=1e-300)

    def test_two_calls_share_no_memory(self):
        first = sinusoidal_encoding(3, 4)
        first[...] = 7
        assert sinusoidal_encoding(3, 4)[0, 0] == 0

    @pytest.mark.parametrize(
        "arguments, options, kind, message",
        [
            ((3, 5), {}, ValueError, "d_model must be even, got 5"),
            ((-1, 4), {}, ValueError, "T must be at least 0, got -1"),
            ((3, -2), {}, ValueError, "d_model must be at least 0, got -2"),
            ((3.0, 4), {}, TypeError, "T must be an integer, got float"),
            ((3, "4"), {}, TypeError, "d_model must be an integer, got str"),
            ((3, 4), {"base": 0}, ValueError, "base must be positive, got 0.0"),
            ((3, 4), {"base": -2.0}, ValueError, "base must be positive, got -2.0"),
            ((3, 4), {"base": np.inf}, ValueError, "base must be finite, got inf"),
            ((3, 4), {"base": "e"}, TypeError, "base must be a real number, got str"),
        ],
    )
    def test_misuse_is_named(self, arguments, options, kind, message):
        with pytest.raises(kind, match=says(message)) as caught:
            sinusoidal_encoding(*arguments, **options)
        assert caught.type is kind


class TestRotatePairs:
    """Within 4 ε (1 + |t|) of 50 digits in float64, relative to the length of the pair."""

    @pytest.mark.parametrize("interleaved", [False, True])
    @pytest.mark.parametrize("width, base", [(2, 10000), (6, 10000), (10, 500.0)])
    def test_each_pair_turns_like_a_complex_number(self, width, base, interleaved):
        x = oracle.numbers(0, 2, 5, width)
        positions = [0, 1, 7, 31, 1009]
        turned = oracle.politely(
            rotate_pairs, x, np.array(positions), base=base, interleaved=interleaved
        )
        assert turned.shape == x.shape
        for b in range(2):
            for t, position in enumerate(positions):
                expected = rotated(x[b, t], position, base=base, interleaved=interleaved)
                for pair in pairs(width, interleaved):
                    length = np.hypot(*x[b, t, list(pair)])
                    for c in pair:
                        wrong = abs(turned[b, t, c] - expected[c])
                        assert wrong <= 4 * EPS * (1 + position) * length

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_far_positions_stay_accurate_in_every_dtype(self, dtype):
        x = oracle.numbers(1, 3, 6).astype(dtype)
        positions = [999_983, 16_777_217, -33_554_467]  # the last two are not float32 numbers
        turned = rotate_pairs(x, positions)
        assert turned.dtype == dtype
        eps = float(ml_dtypes.finfo(dtype).eps)
        for t, position in enumerate(positions):
            expected = rotated(x[t], position)
            length = np.sqrt((x[t].astype(np.float64) ** 2).sum())
            for c in range(6):
                limit = 4 * (eps + EPS * abs(position)) * length
                assert abs(float(turned[t, c]) - expected[c]) <= limit

    @pytest.mark.parametrize("dtype", FLOATS[:2])
    def test_16_bits_are_rotated_in_32_and_rounded_once(self, dtype):
        x = oracle.numbers(9, 5, 6).astype(dtype)
        turned = rotate_pairs(x, range(5)).astype(np.float64)
        for t in range(5):
            for c, expected in enumerate(rotated(x[t], t)):
                limit = ml_dtypes.finfo(dtype).eps / 2 * abs(expected) + 1e-6
                assert abs(turned[t, c] - expected) <= limit

    @oracle.modest
    @given(
        st.integers(0, 10**6),
        st.integers(-500, 500),
        st.integers(-500, 500),
        st.integers(-500, 500),
        st.booleans(),
    )
    def test_scores_depend_on_the_distance_only(self, seed, t, u, shift, interleaved):
        query, key = oracle.numbers(seed, 2, 1, 10)

        def score(t, u):
            options = {"interleaved": interleaved}
            return (rotate_pairs(query, [t], **options) @ rotate_pairs(key, [u], **options).T)[0, 0]

        limit = 8 * EPS * (1 + 1000) * np.linalg.norm(query) * np.linalg.norm(key)
        assert abs(score(t, u) - score(t + shift, u + shift)) <= limit

    def test_scores_do_depend_on_the_distance(self):
        x = np.ones((2, 4))
        scores = rotate_pairs(x, [0, 1]) @ rotate_pairs(x, [0, 1]).T
        assert scores[0, 1] < scores[0, 0] - 0.4

    @oracle.modest
    @given(st.integers(0, 10**6), st.floats(-1e4, 1e4), st.booleans())
    def test_each_row_keeps_its_length(self, seed, position, interleaved):
        x = oracle.numbers(seed, 3, 14)
        turned = rotate_pairs(x, position, interleaved=interleaved)
        np.testing.assert_allclose(
            np.linalg.norm(turned, axis=-1), np.linalg.norm(x, axis=-1), rtol=8 * EPS
        )

    def test_position_zero_changes_nothing(self):
        x = oracle.numbers(2, 3, 6)
        turned = rotate_pairs(x, [0, 0, 0])
        np.testing.assert_array_equal(turned, x)
        assert not np.shares_memory(turned, x)

    @pytest.mark.parametrize("interleaved", [False, True])
    def test_rotations_add_up_and_the_opposite_one_undoes(self, interleaved):
        x = oracle.numbers(3, 5, 6)
        options = {"interleaved": interleaved}
        twice = rotate_pairs(rotate_pairs(x, 3, **options), 4, **options)
        np.testing.assert_allclose(twice, rotate_pairs(x, 7, **options), atol=1e-14)
        undone = rotate_pairs(rotate_pairs(x, 3.5, **options), -3.5, **options)
        np.testing.assert_allclose(undone, x, atol=1e-14)

    def test_the_two_layouts_differ_by_the_order_of_the_columns(self):
        x = oracle.numbers(4, 5, 10)
        neighbors = [0, 5, 1, 6, 2, 7, 3, 8, 4, 9]  # where column 2i, 2i + 1 comes from
        positions = np.arange(5)
        np.testing.assert_array_equal(
            rotate_pairs(x[:, neighbors], positions, interleaved=True),
            rotate_pairs(x, positions)[:, neighbors],
        )

    def test_the_layouts_are_not_the_same(self):
        x = [[1.0, 0.0, 0.0, 0.0]]
        halves, neighbors = rotate_pairs(x, 1), rotate_pairs(x, 1, interleaved=True)
        assert halves[0, 2] == neighbors[0, 1] == np.sin(1.0)
        assert halves[0, 1] == neighbors[0, 2] == 0

    def test_a_quarter_turn_takes_the_first_axis_to_the_second(self):
        turned = rotate_pairs([[1.0, 0.0]], np.pi / 2)
        np.testing.assert_allclose(turned, [[0.0, 1.0]], atol=1e-15)

    @pytest.mark.parametrize("shape", [(), (1,), (5,), (1, 5), (2, 1, 5), (2, 3, 1), (2, 3, 5)])
    def test_positions_broadcast_to_the_rows(self, shape):
        x = oracle.numbers(5, 2, 3, 5, 4)
        positions = np.random.default_rng(6).integers(0, 100, shape)
        turned = oracle.politely(rotate_pairs, x, positions)
        each = np.broadcast_to(positions, (2, 3, 5))
        for index in np.ndindex(2, 3, 5):
            np.testing.assert_array_equal(
                turned[index], rotate_pairs(x[index][np.newaxis], [each[index]])[0]
            )

    @pytest.mark.parametrize(
        "dtype", [np.int8, np.uint8, np.int32, np.uint64, np.float16, np.float32]
    )
    def test_positions_of_every_dtype_leave_that_of_the_result(self, dtype):
        x = oracle.numbers(7, 3, 4, dtype=np.float32)
        turned = rotate_pairs(x, np.array([1, 2, 100], dtype))
        np.testing.assert_array_equal(turned, rotate_pairs(x, [1, 2, 100]), strict=True)

    def test_integers_become_float64(self):
        turned = rotate_pairs([[1, 0]], [1])
        assert turned.dtype == np.float64
        assert turned[0, 1] == np.sin(1.0)

    def test_a_nan_stays_in_its_pair_and_a_nan_position_in_its_row(self):
        x = oracle.numbers(8, 3, 6)
        x[1, 1] = np.nan
        turned = oracle.politely(rotate_pairs, x, np.array([1.0, 2.0, np.nan]))
        expected = np.zeros((3, 6), bool)
        expected[1, [1, 4]] = True
        expected[2] = True
        np.testing.assert_array_equal(np.isnan(turned), expected)

    @pytest.mark.parametrize("shape", [(0, 4), (3, 0), (0, 3, 4)])
    def test_empty_axes_stay(self, shape):
        positions = np.zeros(shape[:-1])
        assert oracle.politely(rotate_pairs, np.ones(shape), positions).shape == shape

    @pytest.mark.parametrize(
        "x, positions, options, kind, message",
        [
            (np.ones((2, 5)), [0, 1], {}, ValueError, "x (2, 5): its width must be even, got 5"),
            (np.ones(4), 0, {}, ValueError, "x (4,): it must have the axes (..., T, d)"),
            (
                np.ones((2, 3, 4)),
                [0, 1],
                {},
                ValueError,
                "positions (2,) and x (2, 3, 4): each axis of positions, counted from the last, "
                "must be equal to that of the rows (2, 3) of x, or 1",
            ),
            (
                np.ones((3, 4)),
                np.ones((2, 3)),
                {},
                ValueError,
                "positions (2, 3) and x (3, 4): each axis of positions, counted from the last, "
                "must be equal to that of the rows (3,) of x, or 1",
            ),
            (
                np.ones((1, 4)),
                ["a"],
                {},
                TypeError,
                "positions must hold real numbers, got dtype <U1",
            ),
            (np.ones((1, 4)), [0], {"base": 0.0}, ValueError, "base must be positive, got 0.0"),
            (np.ones((1, 4)), [0], {"base": np.nan}, ValueError, "base must be finite, got nan"),
            (
                np.ones((1, 4)),
                [0],
                {"interleaved": "no"},
                TypeError,
                "interleaved must be True or False, got str",
            ),
            (
                np.ones((1, 4)),
                [0],
                {"interleaved": 1},
                TypeError,
                "interleaved must be True or False, got int",
            ),
            (
                np.ma.masked_array(np.ones((1, 4))),
                [0],
                {},
                TypeError,
                "x is a masked array, whose mask would be lost: pass x.filled()",
            ),
        ],
    )
    def test_misuse_is_named(self, x, positions, options, kind, message):
        with pytest.raises(kind, match=says(message)) as caught:
            rotate_pairs(x, positions, **options)
        assert caught.type is kind

    def test_it_is_exported(self):
        assert {"rotate_pairs", "sinusoidal_encoding"} <= set(selfattn_ref.__all__)
