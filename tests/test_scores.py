"""Scores: scaled dot products, and their cap."""

import fractions
import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_ref import scaled_scores, soft_cap
from tests import oracles
from tests.support.strategies import matrices


def normal(*shape, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


class TestScaledScores:
    def test_divides_the_dot_products_by_the_root_of_the_width_of_a_key(self):
        # By hand, d_k = 4: (1·2 + 2·3 + 3·5 + 4·7) / 2 = 51/2, (1 − 2 + 3 − 4) / 2 = −1.
        scores = scaled_scores([[1, 2, 3, 4]], [[2, 3, 5, 7], [1, -1, 1, -1]])
        np.testing.assert_array_equal(scores, [[25.5, -1.0]])

    @pytest.mark.parametrize(
        "lead_q, lead_k", [((), ()), ((2,), ()), ((), (2,)), ((11, 1), (2,)), ((11, 2), (11, 2))]
    )
    def test_compares_every_query_with_every_key(self, lead_q, lead_k):
        query, key = normal(*lead_q, 3, 5), normal(*lead_k, 7, 5, seed=1)
        expected = oracles.scaled_scores(query, key)
        scores = scaled_scores(query, key)
        assert scores.shape == (*np.broadcast_shapes(lead_q, lead_k), 3, 7)
        np.testing.assert_allclose(scores, expected, rtol=1e-13, atol=1e-14)

    @pytest.mark.parametrize("scale", [0, 1, -2.5, 1e-3, np.float32(0.5), fractions.Fraction(1, 4)])
    def test_a_scale_replaces_the_root(self, scale):
        query, key = normal(3, 5), normal(7, 5, seed=1)
        expected = oracles.scaled_scores(query, key, float(scale))
        np.testing.assert_allclose(
            scaled_scores(query, key, scale=scale), expected, rtol=1e-13, atol=1e-14
        )

    def test_a_scale_never_changes_the_dtype(self):
        ones = np.ones((3, 5), np.float32)
        assert scaled_scores(ones, ones, scale=np.float64(0.1)).dtype == np.float32

    def test_keys_without_numbers_need_a_scale(self):
        scores = scaled_scores(np.ones((3, 0)), np.ones((7, 0)), scale=1)
        np.testing.assert_array_equal(scores, np.zeros((3, 7)))
        with pytest.raises(ValueError, match="1/√d_k is undefined for d_k = 0; pass a scale"):
            scaled_scores(np.ones((3, 0)), np.ones((7, 0)))

    def test_no_queries_or_no_keys_give_no_scores(self):
        assert scaled_scores(np.ones((0, 5)), np.ones((7, 5))).shape == (0, 7)
        assert scaled_scores(np.ones((3, 5)), np.ones((0, 5))).shape == (3, 0)

    @pytest.mark.parametrize(
        "dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.longdouble]
    )
    def test_floating_types_are_kept(self, dtype):
        ones = np.ones((3, 5), dtype)
        assert scaled_scores(ones, ones).dtype == dtype

    @pytest.mark.parametrize("dtype", [np.bool_, np.int16, np.uint8])
    def test_integers_and_booleans_become_float64(self, dtype):
        ones = np.ones((3, 4), dtype)
        scores = scaled_scores(ones, ones)
        assert scores.dtype == np.float64
        np.testing.assert_array_equal(scores, np.full((3, 3), 2.0))  # 4 / √4

    def test_mixed_types_meet_in_their_common_type(self):
        ones = np.ones((3, 5))
        half, single = ones.astype(np.float16), ones.astype(np.float32)
        assert scaled_scores(half, single).dtype == np.float32
        assert scaled_scores(single, ones).dtype == np.float64
        assert scaled_scores(single, ones.astype(int)).dtype == np.float64

    def test_types_without_a_common_one_are_refused(self):
        half, brain = np.ones((3, 5), np.float16), np.ones((3, 5), ml_dtypes.bfloat16)
        with pytest.raises(TypeError) as caught:
            scaled_scores(half, brain)
        assert caught.type is TypeError
        assert str(caught.value) == (
            "query float16, key bfloat16: these dtypes have no common one; cast them to one"
        )

    def test_float16_is_multiplied_in_float32(self):
        # 257 products of 16·16 add up to 65792 > 65504, the largest float16; divided by √257,
        # 4104.0 is within range, and the nearest float16 is 4104.
        sixteens = np.full((1, 257), 16.0, np.float16)
        assert scaled_scores(sixteens, sixteens).item() == 4104.0

    def test_inputs_stay_as_they_are_and_are_not_shared(self):
        query, key = normal(3, 5), normal(7, 5, seed=1)
        before = query.tobytes(), key.tobytes()
        for array in (query, key):
            array.flags.writeable = False
        scores = scaled_scores(query, key)
        assert (query.tobytes(), key.tobytes()) == before
        assert not np.shares_memory(scores, query)
        assert not np.shares_memory(scores, key)
        assert scores.flags.writeable

    def test_two_calls_give_the_same_bits(self):
        query, key = normal(31, 17), normal(37, 17, seed=1)
        assert oracles.same_bits(scaled_scores(query, key), scaled_scores(query, key))

    def test_an_overflow_is_an_infinity_without_a_warning(self):
        with np.errstate(all="raise"):
            scores = scaled_scores([[1e200]], [[1e200], [-1e200], [np.nan]], scale=2)
        np.testing.assert_array_equal(scores, [[np.inf, -np.inf, np.nan]])

    @given(x=matrices())
    def test_swapping_queries_and_keys_transposes_the_scores(self, x):
        y = x[::-1] * 0.5 + 1
        np.testing.assert_allclose(
            scaled_scores(x, y), scaled_scores(y, x).T, rtol=1e-12, atol=1e-9
        )

    @pytest.mark.parametrize(
        "query, key, scale, error, message",
        [
            (
                np.ones((3, 5)),
                np.ones((7, 2)),
                None,
                ValueError,
                "query (3, 5) and key (7, 2): they must have the same width d_k, got 5 and 2",
            ),
            (
                np.ones((2, 3, 5)),
                np.ones((11, 7, 5)),
                None,
                ValueError,
                "query (2, 3, 5) and key (11, 7, 5): the axes before the last two must be equal, "
                "or 1, or absent",
            ),
            (
                np.ones(5),
                np.ones((7, 5)),
                None,
                ValueError,
                "query (5,): it must have the axes (..., Tq, d_k)",
            ),
            (
                np.ones((3, 5)),
                np.ones(5),
                None,
                ValueError,
                "key (5,): it must have the axes (..., Tk, d_k)",
            ),
            (
                np.ones((3, 5)),
                np.ones((7, 5)),
                math.inf,
                ValueError,
                "scale must be finite, got inf",
            ),
            (
                np.ones((3, 5)),
                np.ones((7, 5)),
                math.nan,
                ValueError,
                "scale must be finite, got nan",
            ),
            (
                np.ones((3, 5)),
                np.ones((7, 5)),
                -(10**400),
                ValueError,
                "scale must be finite, got -inf",
            ),
            (
                np.ones((3, 5)),
                np.ones((7, 5)),
                True,
                TypeError,
                "scale must be a real number, got bool",
            ),
            (
                np.ones((3, 5)),
                np.ones((7, 5)),
                "1",
                TypeError,
                "scale must be a real number, got str",
            ),
            (
                np.ones((3, 5)),
                np.ones((7, 5)),
                1j,
                TypeError,
                "scale must be a real number, got complex",
            ),
            (
                np.ones((3, 5)),
                np.ones((7, 5)),
                np.ones(1),
                TypeError,
                "scale must be a real number, got ndarray",
            ),
            (
                np.ones((3, 5), complex),
                np.ones((7, 5)),
                None,
                TypeError,
                "query must hold real numbers, got dtype complex128",
            ),
            (
                np.ones((3, 5)),
                np.ones((7, 5), object),
                None,
                TypeError,
                "key must hold real numbers, got dtype object",
            ),
        ],
    )
    def test_a_wrong_argument_is_named(self, query, key, scale, error, message):
        with pytest.raises(error) as caught:
            scaled_scores(query, key, scale=scale)
        assert caught.type is error
        assert str(caught.value) == message

    def test_16_bits_are_rounded_once(self):
        # The query would not be float16 any more after a third of it is taken.
        query = np.arange(1, 60, dtype=np.float16)[:, np.newaxis]
        key = np.arange(1, 30, dtype=np.float16)[:, np.newaxis]
        exact = np.multiply.outer(np.arange(1, 60), np.arange(1, 30)) / 3
        scores = scaled_scores(query, key, scale=1 / 3)
        np.testing.assert_array_equal(scores, exact.astype(np.float16))


class TestSoftCap:
    def test_bends_by_the_hyperbolic_tangent(self):
        scores = normal(3, 5) * 100
        capped = soft_cap(scores, 30)
        for index in oracles.indices((3, 5)):
            expected = 30 * math.tanh(scores[index].item() / 30)
            assert math.isclose(capped[index], expected, rel_tol=1e-15)

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
        result = soft_cap(np.ones(shape), 2.0)
        assert isinstance(result, np.ndarray)
        assert result.shape == shape

    @pytest.mark.parametrize(
        "given_dtype, result_dtype",
        [
            (np.float16, np.float16),
            (ml_dtypes.bfloat16, ml_dtypes.bfloat16),
            (np.float32, np.float32),
            (np.float64, np.float64),
            (np.longdouble, np.longdouble),
            (np.int64, np.float64),
            (np.bool_, np.float64),
        ],
    )
    def test_dtypes_follow_the_rule(self, given_dtype, result_dtype):
        assert soft_cap(np.ones(3, given_dtype), np.float64(2)).dtype == result_dtype

    def test_float16_is_bent_in_float32(self):
        # The cap is beyond float16. 1e5 tanh(0.6) = 53704.96, and float16 counts in steps of 32
        # there: 53696.
        assert soft_cap(np.array([60000.0], np.float16), 1e5).item() == 53696.0

    def test_scores_stay_as_they_are_and_are_not_shared(self):
        scores = normal(3, 5)
        before = scores.tobytes()
        scores.flags.writeable = False
        result = soft_cap(scores, 2.0)
        assert scores.tobytes() == before
        assert not np.shares_memory(result, scores)
        assert oracles.same_bits(result, soft_cap(scores, 2.0))

    def test_nothing_warns(self):
        with np.errstate(all="raise"):
            soft_cap([1e308, 5e-324, np.inf, np.nan], 1e-300)

    @pytest.mark.parametrize(
        "scores, cap, error, message",
        [
            ([1.0], 0, ValueError, "cap must be positive, got 0.0"),
            ([1.0], -2, ValueError, "cap must be positive, got -2.0"),
            ([1.0], math.inf, ValueError, "cap must be finite, got inf"),
            ([1.0], math.nan, ValueError, "cap must be finite, got nan"),
            ([1.0], True, TypeError, "cap must be a real number, got bool"),
            ([1.0], None, TypeError, "cap must be a real number, got NoneType"),
            # 1e300/1e300 would be NaN in float32, where both round to infinity.
            (
                np.ones(1, np.float32),
                1e300,
                ValueError,
                "cap must be positive and finite in float32, got 1e+300",
            ),
            (
                np.ones(1, np.float32),
                1e-50,
                ValueError,
                "cap must be positive and finite in float32, got 1e-50",
            ),
            (["a"], 1.0, TypeError, "scores must hold real numbers, got dtype <U1"),
        ],
    )
    def test_a_wrong_argument_is_named(self, scores, cap, error, message):
        with pytest.raises(error) as caught:
            soft_cap(scores, cap)
        assert caught.type is error
        assert str(caught.value) == message
