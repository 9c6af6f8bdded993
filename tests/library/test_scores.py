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
        "lead_q, lead_k", [((), ()), ((2,), ()), ((), (2,)), ((11, 1), (2,)), ((11, 2), (11, 2))]
    )
    def test_compares_every_query_with_every_key(self, lead_q, lead_k):
        query, key = normals((*lead_q, 3, 5), (*lead_k, 7, 5))
        close(scaled_scores(query, key), loops.scaled_scores(query, key), 1e-13)

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

    def test_float16_is_multiplied_in_float32(self):
        # 257 products of 16·16 add up to 65792 > 65504, the largest float16; divided by √257,
        # 4104.0 is within range, and the nearest float16 is 4104.
        sixteens = np.full((1, 257), 16.0, np.float16)
        assert scaled_scores(sixteens, sixteens).item() == 4104.0

    def test_16_bits_are_rounded_once(self):
        # The query would not be float16 any more after a third of it is taken.
        query = np.arange(1, 60, dtype=np.float16)[:, np.newaxis]
        key = np.arange(1, 30, dtype=np.float16)[:, np.newaxis]
        exact = np.multiply.outer(np.arange(1, 60), np.arange(1, 30)) / 3
        scores = scaled_scores(query, key, scale=1 / 3)
        np.testing.assert_array_equal(scores, exact.astype(np.float16))

    def test_an_overflow_is_an_infinity(self):
        scores = scaled_scores([[1e200]], [[1e200], [-1e200], [np.nan]], scale=2)
        np.testing.assert_array_equal(scores, [[np.inf, -np.inf, np.nan]])

    @given(x=matrices())
    def test_swapping_queries_and_keys_transposes_the_scores(self, x):
        y = x[::-1] * 0.5 + 1
        np.testing.assert_allclose(
            scaled_scores(x, y), scaled_scores(y, x).T, rtol=1e-12, atol=1e-9
        )


class TestSoftCap:
    def test_bends_by_the_hyperbolic_tangent(self):
        scores = normal(3, 5) * 100
        expected = loops.along_axis(lambda row: [30 * math.tanh(x / 30) for x in row], scores, -1)
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

    def test_scores_much_smaller_than_the_cap_hardly_change(self):
        # tanh(x) = x − x³/3 + …: for x = 1e-4 the relative change is 3.3e-9.
        assert 1 - soft_cap([0.01], 100.0).item() / 0.01 == pytest.approx(1e-8 / 3, rel=1e-6)

    @pytest.mark.parametrize("shape", [(), (5,), (2, 3, 5), (0, 3)])
    def test_the_shape_stays(self, shape):
        assert soft_cap(np.ones(shape), 2.0).shape == shape

    def test_float16_is_bent_in_float32(self):
        # The cap is beyond float16. 1e5 tanh(0.6) = 53704.96, and float16 counts in steps of 32
        # there: 53696.
        assert soft_cap(np.array([60000.0], np.float16), 1e5).item() == 53696.0
