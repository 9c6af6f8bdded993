"""Positions: against sines, cosines and complex exponentials with 50 digits."""

import numpy as np
import pytest
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

    def test_longdouble_turns_by_its_own_base(self):
        x = normal(2, 4, dtype=np.longdouble) / 3
        turned = rotate_pairs(x, [1, 7], base=np.longdouble(10) / 3)
        base = exact(np.longdouble(10) / 3)
        for row, vector, t in zip(turned, x, (1, 7), strict=True):
            limit = 32 * epsilon(np.longdouble) * (1 + t)
            assert error(row, rotated(vector, t, base=base)) <= limit

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
