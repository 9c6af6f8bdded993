"""Scores: scaled dot products, and their cap."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_ref import scaled_scores, soft_cap
from tests.support import digits, loops
from tests.support.arrays import close, epsilon, normal, normals
from tests.support.strategies import matrices


class TestScaledScores:
    def test_divides_the_dot_products_by_the_root_of_the_width_of_a_key(self):
        # By hand, d_k = 4: (1·2 + 2·3 + 3·5 + 4·7) / 2 = 51/2, (1 − 2 + 3 − 4) / 2 = −1.
        scores = scaled_scores([[1, 2, 3, 4]], [[2, 3, 5, 7], [1, -1, 1, -1]])
        np.testing.assert_array_equal(scores, [[25.5, -1.0]])

    @pytest.mark.parametrize(
        "scale", [0, 1, -2.5, 1e-3, np.float32(0.5), np.array(0.5), Fraction(1, 4)]
    )
    def test_a_scale_replaces_the_root(self, scale):
        query, key = normals((3, 5), (7, 5))
        expected = loops.scaled_scores(query, key, float(scale))
        close(scaled_scores(query, key, scale=scale), expected, 1e-13)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
    @pytest.mark.parametrize("scale", [None, 1 / np.longdouble(3), Fraction(1, 3), 2])
    def test_agrees_with_50_digits(self, scale, dtype):
        query, key = (array / 3 for array in normals((2, 3), (5, 3), dtype=dtype))
        factor = {None: 1 / digits.mp50.sqrt(3), 2: 2}.get(scale, digits.mp50.mpf(1) / 3)
        products = digits.product(query, digits.transpose(digits.exact(key)))
        expected = [[factor * product for product in row] for row in products]
        assert digits.error(scaled_scores(query, key, scale=scale), expected) <= 2 * epsilon(dtype)

    def test_keys_without_numbers_have_the_score_zero(self):
        scores = scaled_scores(np.ones((3, 0)), np.ones((7, 0)), scale=1)
        np.testing.assert_array_equal(scores, np.zeros((3, 7)))

    def test_an_overflow_is_an_infinity(self):
        scores = scaled_scores([[1e200]], [[1e200], [-1e200], [np.nan]], scale=2)
        np.testing.assert_array_equal(scores, [[np.inf, -np.inf, np.nan]])


class TestSoftCap:
    def test_bends_by_the_hyperbolic_tangent(self):
        scores = normal(3, 5) * 100
        expected = [[30 * math.tanh(score / 30) for score in row] for row in scores]
        np.testing.assert_allclose(soft_cap(scores, 30), expected, rtol=1e-15)

    def test_infinities_land_on_the_cap(self):
        np.testing.assert_array_equal(
            soft_cap([-np.inf, 0.0, np.inf, np.nan], 2.5), [-2.5, 0.0, 2.5, np.nan]
        )

    @given(scores=matrices(), cap=st.floats(0.125, 1e3, width=16))
    def test_no_score_exceeds_the_cap_and_the_order_stays(self, scores, cap):
        capped = soft_cap(scores, cap)
        assert (np.abs(capped) <= cap).all()
        assert (np.abs(capped) <= np.abs(scores) * (1 + 1e-15)).all()
        assert (np.diff(capped.ravel()[np.argsort(scores, axis=None)]) >= 0).all()
