"""Positions: against sines, cosines and complex exponentials with 50 digits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_ref import rotate_pairs, sinusoidal_encoding
from tests.support.arrays import FLOATS, close, epsilon, normal
from tests.support.digits import error, exact, mp50

EPS = 2.0**-52
SEEDS = st.integers(0, 10**6)
LAYOUTS = pytest.mark.parametrize("interleaved", [False, True])


def frequency(i, width, base=10000):
    """Return the angle by which pair i turns from one position to the next."""
    return mp50.mpf(base) ** (-mp50.mpf(2 * i) / width)


def pairs(width, interleaved):
    """Return the columns of each pair, written out."""
    half = width // 2
    return [(2 * i, 2 * i + 1) if interleaved else (i, i + half) for i in range(half)]


def rotated(row, position, *, base=10000, interleaved=False):
    """Return a row whose pairs are complex numbers, times exp(i t ω)."""
    row, turned = exact(row), [None] * len(row)
    for i, (a, b) in enumerate(pairs(len(row), interleaved)):
        angle = exact(position) * frequency(i, len(row), base)
        z = mp50.mpc(row[a], row[b]) * mp50.expj(angle)
        turned[a], turned[b] = z.real, z.imag
    return turned


class TestSinusoidalEncoding:
    """Within 4 ε (1 + t) of 50 digits."""

    @pytest.mark.parametrize("width, base", [(2, 10000), (10, 10000), (64, 10000), (6, 7.5)])
    def test_sines_stand_at_even_columns_and_cosines_at_odd_ones(self, width, base):
        encoding = sinusoidal_encoding(13, width, base=base)
        for t, i in np.ndindex(13, width // 2):
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
            turn = mp50.expj(shift * frequency(i, 10))
            points = encoding[:, 2 * i + 1] + 1j * encoding[:, 2 * i]
            wrong = np.abs(points[shift:] - points[:-shift] * complex(turn))
            assert (wrong <= 8 * EPS * (1 + np.arange(shift, 71))).all()

    def test_every_row_has_the_length_of_the_root_of_the_number_of_pairs(self):
        lengths = (sinusoidal_encoding(101, 14) ** 2).sum(axis=1)
        np.testing.assert_allclose(lengths, 7, rtol=4 * EPS)

    def test_base_one_turns_every_pair_alike(self):
        encoding = sinusoidal_encoding(7, 6, base=1)
        np.testing.assert_array_equal(encoding[:, 2:], np.tile(encoding[:, :2], 2))

    @pytest.mark.parametrize("T, d_model", [(0, 4), (3, 0), (0, 0)])
    def test_empty_sizes_give_empty_encodings(self, T, d_model):
        assert sinusoidal_encoding(T, d_model).shape == (T, d_model)

    def test_frequencies_that_underflow_do_not_warn(self):
        with np.errstate(all="raise"):
            encoding = sinusoidal_encoding(2, 1000, base=1e308)
        np.testing.assert_allclose(encoding[1, -2:], [0, 1], atol=1e-300)


class TestRotatePairs:
    """Within 4 ε (1 + |t|) of 50 digits in float64, relative to the length of the pair."""

    @LAYOUTS
    @pytest.mark.parametrize("width, base", [(2, 10000), (6, 10000), (10, 500.0)])
    def test_each_pair_turns_like_a_complex_number(self, width, base, interleaved):
        x = normal(2, 5, width)
        positions = [0, 1, 7, 31, 1009]
        turned = rotate_pairs(x, positions, base=base, interleaved=interleaved)
        for b, t in np.ndindex(2, 5):
            expected = rotated(x[b, t], positions[t], base=base, interleaved=interleaved)
            for pair in pairs(width, interleaved):
                length = np.hypot(*x[b, t, list(pair)])
                for c in pair:
                    wrong = abs(turned[b, t, c] - expected[c])
                    assert wrong <= 4 * EPS * (1 + positions[t]) * length

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_far_positions_stay_accurate_in_every_dtype(self, dtype):
        x = normal(3, 6, dtype=dtype)
        positions = [999_983, 16_777_217, -33_554_467]  # the last two are not float32 numbers
        turned = rotate_pairs(x, positions)
        fine = min(EPS, epsilon(dtype))  # of the angle
        for t, position in enumerate(positions):
            length = np.sqrt((x[t].astype(np.float64) ** 2).sum())
            limit = 4 * (epsilon(dtype) + fine * abs(position)) * length
            assert error(turned[t], rotated(x[t], position)) <= limit

    @pytest.mark.parametrize("dtype", FLOATS[:2])
    def test_16_bits_are_rotated_in_32_and_rounded_once(self, dtype):
        x = normal(5, 6, dtype=dtype)
        turned = rotate_pairs(x, range(5)).astype(np.float64)
        for t, c in np.ndindex(5, 6):
            expected = rotated(x[t], t)[c]
            assert abs(turned[t, c] - expected) <= epsilon(dtype) / 2 * abs(expected) + 1e-6

    def test_longdouble_turns_by_its_own_base(self):
        x = normal(2, 4, dtype=np.longdouble) / 3
        turned = rotate_pairs(x, [1, 7], base=np.longdouble(10) / 3)
        base = exact(np.longdouble(10) / 3)
        for row, vector, t in zip(turned, x, (1, 7), strict=True):
            limit = 32 * epsilon(np.longdouble) * (1 + t)
            assert error(row, rotated(vector, t, base=base)) <= limit

    @given(SEEDS, *[st.integers(-500, 500)] * 3, st.booleans())
    def test_scores_depend_on_the_distance_only(self, seed, t, u, shift, interleaved):
        query, key = normal(2, 1, 10, seed=seed)

        def score(t, u):
            a, b = (
                rotate_pairs(x, [at], interleaved=interleaved) for x, at in ((query, t), (key, u))
            )
            return (a @ b.T).item()

        limit = 8 * EPS * (1 + 1000) * np.linalg.norm(query) * np.linalg.norm(key)
        assert abs(score(t, u) - score(t + shift, u + shift)) <= limit

    def test_scores_do_depend_on_the_distance(self):
        x = rotate_pairs(np.ones((2, 4)), [0, 1])
        scores = x @ x.T
        assert scores[0, 1] < scores[0, 0] - 0.4

    @given(SEEDS, st.floats(-1e4, 1e4), st.booleans())
    def test_each_row_keeps_its_length(self, seed, position, interleaved):
        x = normal(3, 14, seed=seed)
        turned = rotate_pairs(x, position, interleaved=interleaved)
        np.testing.assert_allclose(
            np.linalg.norm(turned, axis=-1), np.linalg.norm(x, axis=-1), rtol=8 * EPS
        )

    def test_position_zero_changes_nothing(self):
        x = normal(3, 6)
        np.testing.assert_array_equal(rotate_pairs(x, [0, 0, 0]), x)

    @LAYOUTS
    def test_rotations_add_up_and_the_opposite_one_undoes(self, interleaved):
        x, options = normal(5, 6), {"interleaved": interleaved}
        twice = rotate_pairs(rotate_pairs(x, 3, **options), 4, **options)
        close(twice, rotate_pairs(x, 7, **options), 1e-14)
        close(rotate_pairs(rotate_pairs(x, 3.5, **options), -3.5, **options), x, 1e-14)

    def test_the_two_layouts_differ_by_the_order_of_the_columns(self):
        x, positions = normal(5, 10), np.arange(5)
        neighbors = [0, 5, 1, 6, 2, 7, 3, 8, 4, 9]  # where column 2i, 2i + 1 comes from
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
        close(rotate_pairs([[1.0, 0.0]], np.pi / 2), [[0.0, 1.0]], 1e-15)

    @pytest.mark.parametrize("shape", [(), (1,), (5,), (1, 5), (2, 1, 5), (2, 3, 1), (2, 3, 5)])
    def test_positions_broadcast_to_the_rows(self, shape):
        x = normal(2, 3, 5, 4)
        positions = np.random.default_rng(6).integers(0, 100, shape)
        turned = rotate_pairs(x, positions)
        each = np.broadcast_to(positions, (2, 3, 5))
        for index in np.ndindex(2, 3, 5):
            alone = rotate_pairs(x[index][np.newaxis], [each[index]])[0]
            np.testing.assert_array_equal(turned[index], alone)

    def test_positions_of_every_dtype_leave_that_of_the_result(self):
        x = normal(3, 4, dtype=np.float32)
        for dtype in (np.int8, np.uint8, np.int32, np.uint64, np.float16, np.float32, np.float64):
            turned = rotate_pairs(x, np.array([1, 2, 100], dtype))
            np.testing.assert_array_equal(turned, rotate_pairs(x, [1, 2, 100]), strict=True)

    def test_a_nan_stays_in_its_pair_and_a_nan_position_in_its_row(self):
        x = normal(3, 6)
        x[1, 1] = np.nan
        expected = np.zeros((3, 6), bool)
        expected[1, [1, 4]] = True
        expected[2] = True
        np.testing.assert_array_equal(np.isnan(rotate_pairs(x, [1.0, 2.0, np.nan])), expected)
