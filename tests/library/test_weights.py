"""Weights: softmax, its logarithm, softmax over the allowed keys, the log-sum-exp."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from selfattn_ref import attention_weights, log_softmax, log_sum_exp, scaled_scores, softmax
from tests.support import digits, loops
from tests.support.arrays import FLOATS, close, epsilon, normal, normals, same_bits, some
from tests.support.strategies import matrices, scores_and_masks

INF, NAN = math.inf, math.nan
TINY = 2.0**-1022  # below it, numbers have a fixed step and no relative accuracy

BY_HAND = {
    softmax: loops.softmax_of_list,
    log_softmax: lambda scores: np.log(loops.softmax_of_list(scores)),
}


@pytest.mark.parametrize(
    "function", [softmax, log_softmax, attention_weights], ids=lambda f: f.__name__
)
class TestEveryNormalization:
    def test_huge_scores_do_not_overflow(self, function):
        np.testing.assert_array_equal(function([[1e308, 0.0]]), function([[0.0, -1e308]]))

    @pytest.mark.parametrize("bad", [NAN, INF])
    def test_nan_and_infinity_spoil_their_own_row_only(self, function, bad):
        scores = normal(3, 5)
        clean = function(scores)
        scores[1, 2] = bad
        result = function(scores)
        assert np.isnan(result[1]).all()
        assert same_bits(result[[0, 2]], clean[[0, 2]])
        assert np.isnan(function([[bad, -INF, -INF]])).all()


@pytest.mark.parametrize("function", BY_HAND, ids=lambda f: f.__name__)
class TestAnyAxis:
    @pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
    def test_every_line_along_the_axis_is_by_itself(self, function, axis):
        x = normal(2, 3, 5) * 3
        close(function(x, axis), np.apply_along_axis(BY_HAND[function], axis, x), 1e-14)

    def test_special_rows_are_found_along_any_axis(self, function):
        x = np.array([[-INF, 0.0, NAN], [-INF, 0.0, 1.0]])
        np.testing.assert_array_equal(function(x, axis=0), function(x.T).T)


class TestSoftmax:
    def test_scores_that_are_logarithms_give_their_shares(self):
        # 2 : 3 : 5 : 7 of 17.
        weights = softmax(np.log([2.0, 3.0, 5.0, 7.0]))
        expected = [float(Fraction(part, 17)) for part in (2, 3, 5, 7)]
        np.testing.assert_allclose(weights, expected, rtol=1e-15)

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_a_row_of_minus_infinities_has_nothing_to_give(self, dtype):
        # PyTorch and JAX give NaN here.
        result = softmax(np.array([[-INF, -INF, -INF], [0.0, -INF, 0.0]]).astype(dtype))
        np.testing.assert_array_equal(result, [[0.0, 0.0, 0.0], [0.5, 0.0, 0.5]])

    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
    @pytest.mark.parametrize("size", [1e-30, 1.0, 30.0, 1e4])
    def test_agrees_with_50_digits(self, dtype, size):
        scores = normal(3, 17, dtype=dtype) * dtype(size) / 3
        exact = [digits.softmax(row) for row in digits.exact(scores)]
        bound = 4 * epsilon(dtype) * (1 + np.abs(scores).max())
        assert digits.error(softmax(scores), exact) <= bound

    @given(matrices())
    def test_weights_are_shares_of_one(self, scores):
        weights = softmax(scores)
        assert (weights >= 0).all()
        assert (weights <= 1).all()
        np.testing.assert_allclose(weights.sum(axis=-1), 1.0, rtol=1e-14)

    @given(matrices(numbers=st.integers(-1000, 1000)), st.integers(-(2**40), 2**40))
    def test_shifting_all_scores_changes_nothing(self, scores, shift):
        # Integers this small stay exact under the shift, so that not one bit may change.
        same = same_bits(softmax(scores + shift), softmax(scores))
        assert same, "Adding the same number to all scores changes nothing"
        even = softmax(np.array([1.0, 1.0]) * shift)
        assert even.tolist() == [1 / 2, 1 / 2], "Large scores give shares of nearly 0 and 1"
        apart = softmax(np.array([shift, shift + 64.0]))
        np.testing.assert_allclose(apart, [0, 1], atol=1e-27)
        assert apart.max() > 1 - 1e-15, "Large differences between scores do"

    @given(matrices())
    def test_keeps_the_order_of_the_scores(self, scores):
        for row, shares in zip(scores, softmax(scores), strict=True):
            assert (np.diff(shares[np.argsort(row)]) >= 0).all()
            for i, j in itertools.combinations(range(len(row)), 2):
                assert shares[i] == shares[j] or row[i] != row[j]


class TestLogSoftmax:
    def test_scores_that_are_logarithms_give_their_shares(self):
        logarithms = log_softmax(np.log([2.0, 3.0, 5.0, 7.0]))
        expected = [math.log(Fraction(part, 17)) for part in (2, 3, 5, 7)]
        np.testing.assert_allclose(logarithms, expected, rtol=1e-14)

    def test_small_weights_do_not_round_to_zero(self):
        # e^−1000 is below the smallest float64; its logarithm is not.
        np.testing.assert_array_equal(log_softmax([0.0, -1000.0, -1e300]), [0.0, -1000.0, -1e300])

    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
    @pytest.mark.parametrize("size", [1e-30, 1.0, 3e4])
    def test_agrees_with_50_digits_where_weights_underflow(self, dtype, size):
        scores = normal(3, 17, dtype=dtype) * dtype(size) / 3
        if size == 3e4:
            assert (softmax(scores) == 0).any()
        rows = digits.exact(scores)
        exact = [[digits.mp50.log(weight) for weight in digits.softmax(row)] for row in rows]
        bound = 4 * epsilon(dtype) * (1 + np.abs(scores).max())
        assert digits.error(log_softmax(scores), exact) <= bound

    def test_a_row_of_minus_infinities_stays_so(self):
        result = log_softmax([[-INF, -INF], [0.0, -INF]])
        np.testing.assert_array_equal(result, [[-INF, -INF], [0.0, -INF]])

    @given(matrices())
    def test_its_exponential_is_the_softmax_and_it_is_at_most_zero(self, scores):
        logarithms = log_softmax(scores)
        assert (logarithms <= 0).all()
        np.testing.assert_allclose(np.exp(logarithms), softmax(scores), rtol=1e-12, atol=TINY)

    @given(matrices(numbers=st.integers(-1000, 1000)), st.integers(-(2**40), 2**40))
    def test_shifting_all_scores_changes_nothing(self, scores, shift):
        assert same_bits(log_softmax(scores + shift), log_softmax(scores))


class TestAttentionWeights:
    def test_a_large_number_added_to_every_score(self):
        scores, alike = np.array([[0.5, -1.25, 2.0, 0.75]]), [[1 / 4] * 4]

        def added(number, dtype):
            return attention_weights(scores.astype(dtype) + dtype(number))

        double, single = added(-1e9, np.float64), added(-1e9, np.float32)
        assert np.allclose(double, softmax(scores), rtol=1e-6), "−10⁹ cancels in double precision"
        assert not np.allclose(single, softmax(scores), rtol=0.1), "but not in single precision"
        assert single.tolist() == alike, "swallows the scores and the weights become equal"
        assert not np.allclose(single, double), "a large number cancels"
        drowned = [added(-1e17, dtype).tolist() for dtype in (np.float64, np.float32)]
        assert drowned == [alike, alike], "−10¹⁷ cancels in neither"

    def test_without_a_mask_it_is_the_softmax_over_the_keys(self):
        scores = normal(2, 3, 5)
        assert same_bits(attention_weights(scores), softmax(scores, axis=-1))

    def test_masked_keys_get_nothing_and_the_others_share_it_all(self):
        # 2 : 3 : 5 : 7 without the 5, of 12.
        weights = attention_weights([np.log([2.0, 3, 5, 7])], mask=[[True, True, False, True]])
        np.testing.assert_allclose(weights, [[2 / 12, 3 / 12, 0.0, 7 / 12]], rtol=1e-15)

    def test_masks_of_every_broadcastable_shape_mean_their_elements(self):
        scores = normal(2, 3, 5, 7)
        for shape in [
            *[(), (1,), (7,), (5, 1), (1, 7), (5, 7), (1, 5, 7), (3, 1, 1), (3, 5, 1)],
            *[(2, 3, 5, 7), (2, 1, 1, 7), (2, 1, 5, 7), (1, 1, 1, 1)],
        ]:
            mask = some(*shape, seed=1)
            expected = loops.attention_weights(scores, mask)
            close(attention_weights(scores, mask=mask), expected, 1e-14, shape)

    @given(scores_and_masks())
    def test_rows_add_up_to_one_or_to_zero(self, case):
        scores, mask = case
        weights = attention_weights(scores, mask=mask)
        assert (weights[~mask] == 0).all()
        np.testing.assert_allclose(weights.sum(axis=-1), mask.any(axis=-1) * 1.0, rtol=1e-14)
        np.testing.assert_allclose(
            weights, loops.attention_weights(scores, mask), rtol=1e-13, atol=TINY
        )

    def test_a_masked_score_does_not_take_part_in_the_maximum(self):
        # Subtracting 1e4 from the allowed scores would underflow all of them.
        weights = attention_weights([[1e4, 0.0, 0.0]], mask=[[False, True, True]])
        np.testing.assert_array_equal(weights, [[0.0, 0.5, 0.5]])

    def test_allowed_scores_far_below_any_finite_stand_in_still_count(self):
        # A mask that adds −1e9 or −1e30 would prefer the masked key.
        weights = attention_weights([[-1e300, -1e300, 0.0]], mask=[[True, True, False]])
        np.testing.assert_array_equal(weights, [[0.5, 0.5, 0.0]])

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_a_query_with_nobody_to_attend_to_gets_zeros(self, dtype):
        scores = np.full((2, 3), NAN).astype(dtype)
        scores[1] = 5
        weights = attention_weights(scores, mask=[[False] * 3, [True, False, False]])
        np.testing.assert_array_equal(weights, [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
        assert not np.signbit(weights).any()

    @given(
        hnp.arrays(np.float64, (3, 4), elements=st.sampled_from([0.0, -INF, INF, NAN, 1e308, 1.0])),
        hnp.arrays(np.bool_, (3, 4)),
    )
    def test_every_mixture_of_special_scores_is_as_the_definition_says(self, scores, mask):
        np.testing.assert_array_equal(
            attention_weights(scores, mask=mask), loops.attention_weights(scores, mask)
        )


class TestLogSumExp:
    def test_it_is_that_of_the_scores_that_are_allowed(self):
        query, key = normals((2, 5, 11), (2, 7, 11))
        mask = some(5, 7)
        mask[2] = False
        found = log_sum_exp(scaled_scores(query, key), mask=mask)
        scores = loops.scaled_scores(query, key)
        for b, i in np.ndindex(2, 5):
            total = math.fsum(math.exp(scores[b, i, j]) for j in range(7) if mask[i, j])
            expected = math.log(total) if total else -math.inf
            assert found[b, i] == pytest.approx(expected, rel=1e-13, abs=1e-14)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
    def test_agrees_with_50_digits(self, dtype):
        scores = normal(3, 17, dtype=dtype) * 10 / 3
        for found, row in zip(log_sum_exp(scores), digits.exact(scores), strict=True):
            exact = digits.mp50.log(digits.mp50.fsum(digits.mp50.exp(score) for score in row))
            assert digits.error(found, exact) <= 4 * epsilon(dtype) * (1 + np.abs(scores).max())

    def test_it_neither_overflows_nor_hides_what_is_wrong(self):
        scores = [[1e6, 1e6], [-1e6, -1e6], [NAN, 0.0], [INF, 0.0], [-INF, -INF]]
        expected = [1e6 + math.log(2), -1e6 + math.log(2), NAN, NAN, -INF]
        np.testing.assert_array_equal(log_sum_exp(scores), expected)
        np.testing.assert_array_equal(log_sum_exp(scores, mask=[[False, True]])[2:], [0, 0, -INF])
        assert log_sum_exp(np.zeros((2, 0))).tolist() == [-INF, -INF]
