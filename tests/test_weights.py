"""Weights: softmax, its logarithm, and softmax over the allowed keys."""

import itertools
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from selfattn_ref import attention_weights, log_softmax, softmax
from tests import oracles
from tests.support.strategies import NUMBERS, matrices, scores_and_masks

INF, NAN = math.inf, math.nan
TINY = 2.0**-1022  # below it, numbers have a fixed step and no relative accuracy
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.longdouble]


def normal(*shape, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


both = pytest.mark.parametrize("function", [softmax, log_softmax], ids=lambda f: f.__name__)
all_three = pytest.mark.parametrize(
    "function", [softmax, log_softmax, attention_weights], ids=lambda f: f.__name__
)


@all_three
class TestEveryNormalization:
    """What softmax, log_softmax and attention_weights have in common."""

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_floating_types_are_kept(self, function, dtype):
        assert function(np.ones((3, 5), dtype)).dtype == dtype

    @pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64])
    def test_integers_and_booleans_become_float64(self, function, dtype):
        scores = np.eye(3, 5).astype(dtype)
        result = function(scores)
        assert result.dtype == np.float64
        assert oracles.same_bits(result, function(np.eye(3, 5)))

    @pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
    def test_16_bit_types_compute_in_float32(self, function, dtype):
        scores = normal(3, 257, dtype=dtype)
        expected = function(scores.astype(np.float32)).astype(dtype)
        assert oracles.same_bits(function(scores), expected)

    def test_scores_stay_as_they_are_and_are_not_shared(self, function):
        scores = normal(3, 5)
        before = scores.tobytes()
        scores.flags.writeable = False
        result = function(scores)
        assert scores.tobytes() == before
        assert not np.shares_memory(result, scores)
        assert result.flags.writeable

    def test_lists_and_strided_arrays_are_accepted(self, function):
        scores = normal(3, 5)
        expected = function(scores)
        np.testing.assert_array_equal(function(scores.tolist()), expected)
        np.testing.assert_array_equal(function(np.asfortranarray(scores)), expected)
        strided = np.repeat(scores, 2, axis=1)[:, ::2]
        np.testing.assert_allclose(function(strided), expected, rtol=1e-14)

    def test_two_calls_give_the_same_bits(self, function):
        scores = normal(31, 37)
        assert oracles.same_bits(function(scores), function(scores))

    def test_nothing_warns_even_where_numpy_would_raise(self, function):
        scores = [[1e308, -1e308, 0], [5e-324, -800, 0], [INF, NAN, -INF], [-INF, -INF, -INF]]
        with np.errstate(all="raise"):
            function(scores)
            function(np.array(scores, np.longdouble))

    def test_huge_scores_do_not_overflow(self, function):
        np.testing.assert_array_equal(function([[1e308, 0.0]]), function([[0.0, -1e308]]))

    @pytest.mark.parametrize("bad", [NAN, INF])
    def test_nan_and_infinity_spoil_their_own_row_only(self, function, bad):
        scores = normal(3, 5)
        clean = function(scores)
        scores[1, 2] = bad
        result = function(scores)
        assert np.isnan(result[1]).all()
        assert oracles.same_bits(result[[0, 2]], clean[[0, 2]])

    def test_nan_next_to_minus_infinities_is_nan(self, function):
        assert np.isnan(function([[NAN, -INF, -INF]])).all()
        assert np.isnan(function([[INF, -INF, -INF]])).all()

    @pytest.mark.parametrize("shape", [(3, 0), (0, 5), (0, 0), (2, 0, 5)])
    def test_empty_arrays_stay_empty(self, function, shape):
        result = function(np.ones(shape))
        assert result.shape == shape
        assert result.dtype == np.float64

    @pytest.mark.parametrize(
        "scores, message",
        [
            (np.ones((3, 5), complex), "{} must hold real numbers, got dtype complex128"),
            (np.ones((3, 5), object), "{} must hold real numbers, got dtype object"),
            ([["a"]], "{} must hold real numbers, got dtype <U1"),
            ([[b"a"]], "{} must hold real numbers, got dtype |S1"),
            (np.ones((3, 5), "M8[s]"), "{} must hold real numbers, got dtype datetime64[s]"),
            (np.ones((3, 5), "m8[s]"), "{} must hold real numbers, got dtype timedelta64[s]"),
            (
                np.ones((3, 5), ml_dtypes.float8_e5m2),
                "{} must hold real numbers, got dtype float8_e5m2",
            ),
            (None, "{} must hold real numbers, got dtype object"),
            (
                np.ma.array([[1.0, 2.0]], mask=[[True, False]]),
                "{0} is a masked array, whose mask would be lost: pass {0}.filled()",
            ),
        ],
    )
    def test_other_kinds_are_type_errors(self, function, scores, message):
        name = "scores" if function is attention_weights else "x"
        with pytest.raises(TypeError) as caught:
            function(scores)
        assert caught.type is TypeError
        assert str(caught.value) == message.format(name)

    def test_ragged_lists_are_refused(self, function):
        name = "scores" if function is attention_weights else "x"
        with pytest.raises(
            ValueError, match=rf"^{name} is ragged: its rows must all have the same"
        ):
            function([[1.0, 2.0], [3.0]])


@both
class TestAnyAxis:
    @pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3, np.int8(1)])
    def test_every_line_along_the_axis_is_by_itself(self, function, axis):
        x = normal(2, 3, 5) * 3
        of_list = {
            softmax: oracles.softmax_of_list,
            log_softmax: oracles.log_softmax_of_list,
        }[function]
        np.testing.assert_allclose(
            function(x, axis), oracles.along_axis(of_list, x, int(axis)), rtol=1e-14, atol=1e-14
        )

    def test_the_last_axis_is_the_default(self, function):
        x = normal(2, 3, 5)
        assert oracles.same_bits(function(x), function(x, axis=2))

    def test_a_vector_is_one_row(self, function):
        x = normal(5)
        assert oracles.same_bits(function(x), function(x[np.newaxis])[0])

    def test_special_rows_are_found_along_any_axis(self, function):
        x = np.array([[-INF, 0.0, NAN], [-INF, 0.0, 1.0]])
        np.testing.assert_array_equal(function(x, axis=0), function(x.T).T)

    @pytest.mark.parametrize(
        "x, axis, error, message",
        [
            (np.ones((3, 5)), 2, ValueError, "axis 2: x (3, 5) has no such axis"),
            (np.ones((3, 5)), -3, ValueError, "axis -3: x (3, 5) has no such axis"),
            (1.0, -1, ValueError, "axis -1: x () has no such axis"),
            (np.ones((3, 5)), 1.0, TypeError, "axis must be an integer, got float"),
            (np.ones((3, 5)), None, TypeError, "axis must be an integer, got NoneType"),
            (np.ones((3, 5)), (0, 1), TypeError, "axis must be an integer, got tuple"),
            (np.ones((3, 5)), True, TypeError, "axis must be an integer, got bool"),
        ],
    )
    def test_a_wrong_axis_is_named(self, function, x, axis, error, message):
        with pytest.raises(error) as caught:
            function(x, axis)
        assert caught.type is error
        assert str(caught.value) == message


class TestSoftmax:
    def test_scores_that_are_logarithms_give_their_shares(self):
        # 2 : 3 : 5 : 7 of 17.
        weights = softmax(np.log([2.0, 3.0, 5.0, 7.0]))
        expected = [float(Fraction(part, 17)) for part in (2, 3, 5, 7)]
        np.testing.assert_allclose(weights, expected, rtol=1e-15)

    def test_equal_scores_share_alike(self):
        np.testing.assert_array_equal(softmax(np.full((3, 4), 7.0)), np.full((3, 4), 0.25))

    def test_one_key_gets_everything(self):
        np.testing.assert_array_equal(softmax([[-1e308], [0.0], [1e308]]), np.ones((3, 1)))

    def test_a_row_of_minus_infinities_has_nothing_to_give(self):
        # PyTorch and JAX give NaN here.
        result = softmax([[-INF, -INF, -INF], [0.0, -INF, 0.0]])
        np.testing.assert_array_equal(result, [[0.0, 0.0, 0.0], [0.5, 0.0, 0.5]])

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_a_row_of_minus_infinities_is_zero_in_every_type(self, dtype):
        np.testing.assert_array_equal(
            softmax(np.full((3, 5), -INF).astype(dtype)), np.zeros((3, 5))
        )

    def test_float16_would_lose_the_sum(self):
        # 4096 equal scores: in float16 a running sum of ones stops at 2048. 1/4096 is exact.
        weights = softmax(np.zeros(4096, np.float16))
        np.testing.assert_array_equal(weights, np.full(4096, 2.0**-12))

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("size", [1e-30, 1.0, 30.0, 1e4])
    def test_agrees_with_50_digits(self, dtype, size):
        scores = normal(3, 17, dtype=dtype) * dtype(size)
        exact = [oracles.exact_softmax(row) for row in scores]
        bound = 4 * np.finfo(dtype).eps * (1 + np.abs(scores).max())
        assert oracles.largest_error(softmax(scores), exact) <= bound

    def test_float64_is_never_dropped(self):
        # Beside 1, e^−20 = 2.06e-9 is less than float32 resolves.
        weights = softmax([0.0, -20.0])
        exact = oracles.exact_softmax([0.0, -20.0])
        assert abs(1 - float(exact[0])) > 2e-9
        np.testing.assert_allclose(weights, [float(w) for w in exact], rtol=1e-15)

    def test_longdouble_is_more_precise_where_the_machine_has_more(self):
        x = np.array([0.0, 1.0], np.longdouble)
        total = softmax(x).sum()
        assert abs(total - 1) <= np.finfo(np.longdouble).eps
        error = abs(softmax(x)[1] / softmax(x)[0] - np.exp(np.longdouble(1)))
        assert error <= 8 * np.finfo(np.longdouble).eps

    @given(matrices())
    def test_weights_are_shares_of_one(self, scores):
        weights = softmax(scores)
        assert (weights >= 0).all()
        assert (weights <= 1).all()
        np.testing.assert_allclose(weights.sum(axis=-1), 1.0, rtol=1e-14)

    @given(matrices(numbers=st.integers(-1000, 1000)), st.integers(-(2**40), 2**40))
    def test_shifting_all_scores_changes_nothing(self, scores, shift):
        # Integers this small stay exact under the shift, so that not one bit may change.
        assert oracles.same_bits(softmax(scores + shift), softmax(scores))

    @given(matrices(), NUMBERS)
    def test_shifting_by_any_number_changes_no_more_than_its_rounding(self, scores, shift):
        bound = 4 * 2.0**-52 * (1 + np.abs(scores).max() + abs(shift))
        np.testing.assert_allclose(softmax(scores + shift), softmax(scores), rtol=0, atol=bound)

    @given(matrices())
    def test_keeps_the_order_of_the_scores(self, scores):
        weights = softmax(scores)
        for row, shares in zip(scores, weights, strict=True):
            assert (np.diff(shares[np.argsort(row)]) >= 0).all()
            for i, j in itertools.combinations(range(len(row)), 2):
                if row[i] == row[j]:
                    assert shares[i] == shares[j]

    @given(scores=matrices(), data=st.data())
    def test_permuting_the_scores_permutes_the_weights(self, scores, data):
        order = data.draw(st.permutations(range(scores.shape[1])))
        np.testing.assert_allclose(
            softmax(scores[:, order]), softmax(scores)[:, order], rtol=1e-14, atol=TINY
        )

    @given(scores=matrices(columns=st.integers(2, 7)), data=st.data())
    def test_a_higher_score_never_gets_less(self, scores, data):
        j = data.draw(st.integers(0, scores.shape[1] - 1))
        raised = scores.copy()
        raised[:, j] += data.draw(st.floats(0, 100))
        before, after = softmax(scores), softmax(raised)
        others = np.arange(scores.shape[1]) != j
        assert (after[:, j] >= before[:, j] - 4e-16).all()
        assert (after[:, others] <= before[:, others] + 4e-16).all()


class TestLogSoftmax:
    def test_scores_that_are_logarithms_give_their_shares(self):
        logarithms = log_softmax(np.log([2.0, 3.0, 5.0, 7.0]))
        expected = [math.log(Fraction(part, 17)) for part in (2, 3, 5, 7)]
        np.testing.assert_allclose(logarithms, expected, rtol=1e-14)

    def test_small_weights_do_not_round_to_zero(self):
        # e^−1000 is below the smallest float64; its logarithm is not.
        np.testing.assert_array_equal(log_softmax([0.0, -1000.0, -1e300]), [0.0, -1000.0, -1e300])

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("size", [1e-30, 1.0, 1e4])
    def test_agrees_with_50_digits_where_weights_underflow(self, dtype, size):
        scores = normal(3, 17, dtype=dtype) * dtype(size)
        if size == 1e4:
            assert (softmax(scores) == 0).any()
        exact = [oracles.exact_log_softmax(row) for row in scores]
        bound = 4 * np.finfo(dtype).eps * (1 + np.abs(scores).max())
        assert oracles.largest_error(log_softmax(scores), exact) <= bound

    def test_a_row_of_minus_infinities_stays_so(self):
        result = log_softmax([[-INF, -INF], [0.0, -INF]])
        np.testing.assert_array_equal(result, [[-INF, -INF], [0.0, -INF]])

    @given(matrices())
    def test_is_at_most_zero(self, scores):
        assert (log_softmax(scores) <= 0).all()

    @given(matrices())
    def test_its_exponential_is_the_softmax(self, scores):
        np.testing.assert_allclose(
            np.exp(log_softmax(scores)), softmax(scores), rtol=1e-12, atol=TINY
        )

    @given(matrices(numbers=st.integers(-1000, 1000)), st.integers(-(2**40), 2**40))
    def test_shifting_all_scores_changes_nothing(self, scores, shift):
        assert oracles.same_bits(log_softmax(scores + shift), log_softmax(scores))


class TestAttentionWeights:
    def test_without_a_mask_it_is_the_softmax_over_the_keys(self):
        scores = normal(2, 3, 5)
        assert oracles.same_bits(attention_weights(scores), softmax(scores, axis=-1))

    def test_masked_keys_get_nothing_and_the_others_share_it_all(self):
        # 2 : 3 : 5 : 7 without the 5, of 12.
        weights = attention_weights([np.log([2.0, 3, 5, 7])], mask=[[True, True, False, True]])
        np.testing.assert_allclose(weights, [[2 / 12, 3 / 12, 0.0, 7 / 12]], rtol=1e-15)

    @pytest.mark.parametrize(
        "shape",
        [
            *[(), (1,), (7,), (5, 1), (1, 7), (5, 7), (1, 5, 7), (3, 1, 1), (3, 5, 1)],
            *[(2, 3, 5, 7), (2, 1, 1, 7), (2, 1, 5, 7), (1, 1, 1, 1)],
        ],
    )
    def test_masks_of_every_broadcastable_shape_mean_their_elements(self, shape):
        scores = normal(2, 3, 5, 7)
        mask = np.random.default_rng(1).random(shape) < 0.6
        np.testing.assert_allclose(
            attention_weights(scores, mask=mask),
            oracles.attention_weights(scores, mask),
            rtol=1e-14,
            atol=TINY,
        )

    @given(scores_and_masks())
    def test_rows_add_up_to_one_or_to_zero(self, case):
        scores, mask = case
        weights = attention_weights(scores, mask=mask)
        assert (weights[~mask] == 0).all()
        np.testing.assert_allclose(weights.sum(axis=-1), mask.any(axis=-1) * 1.0, rtol=1e-14)
        np.testing.assert_allclose(
            weights, oracles.attention_weights(scores, mask), rtol=1e-13, atol=TINY
        )

    @given(scores_and_masks())
    def test_hiding_keys_is_leaving_them_out(self, case):
        scores, mask = case
        weights = attention_weights(scores, mask=mask)
        for row, seen, shares in zip(scores, mask, weights, strict=True):
            np.testing.assert_allclose(shares[seen], softmax(row[seen]), rtol=1e-14, atol=TINY)

    @pytest.mark.parametrize("hidden", [NAN, INF, -INF, 1e308, -1e308])
    @pytest.mark.parametrize("dtype", FLOATS)
    def test_what_is_masked_changes_no_bit(self, hidden, dtype):
        scores = normal(5, 7, dtype=dtype)
        mask = np.random.default_rng(1).random((5, 7)) < 0.6
        mask[3] = False
        with np.errstate(over="ignore"):
            spoiled = np.where(mask, scores, np.array(hidden).astype(dtype))
        clean = attention_weights(scores, mask=mask)
        assert oracles.same_bits(attention_weights(spoiled, mask=mask), clean)
        assert clean.dtype == dtype

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

    def test_allowed_minus_infinities_alone_give_zeros(self):
        weights = attention_weights([[-INF, 3.0], [-INF, 3.0]], mask=[[True, False], [True, True]])
        np.testing.assert_array_equal(weights, [[0.0, 0.0], [0.0, 1.0]])

    @pytest.mark.parametrize("bad", [NAN, INF])
    def test_an_allowed_nan_or_infinity_spoils_that_row_only(self, bad):
        scores = normal(3, 5)
        mask = np.array([[1, 1, 0, 1, 1], [1, 1, 1, 0, 1], [0, 1, 1, 1, 1]], dtype=bool)
        clean = attention_weights(scores, mask=mask)
        scores[:2, 2] = bad  # masked for query 0, allowed for query 1
        weights = attention_weights(scores, mask=mask)
        assert np.isnan(weights[1]).all()
        assert oracles.same_bits(weights[[0, 2]], clean[[0, 2]])

    def test_no_keys_and_no_queries_are_fine_with_a_mask(self):
        mask = np.ones((1, 1), bool)
        assert attention_weights(np.ones((3, 0)), mask=mask).shape == (3, 0)
        assert attention_weights(np.ones((0, 5)), mask=mask).shape == (0, 5)

    def test_the_mask_stays_as_it_is(self):
        mask = np.array([[True, False]])
        mask.flags.writeable = False
        weights = attention_weights([[1.0, 2.0]], mask=mask)
        np.testing.assert_array_equal(mask, [[True, False]])
        assert not np.shares_memory(weights, mask)

    @given(
        hnp.arrays(np.float64, (3, 4), elements=st.sampled_from([0.0, -INF, INF, NAN, 1e308, 1.0])),
        hnp.arrays(np.bool_, (3, 4)),
    )
    def test_every_mixture_of_special_scores_is_as_the_definition_says(self, scores, mask):
        np.testing.assert_array_equal(
            attention_weights(scores, mask=mask), oracles.attention_weights(scores, mask)
        )

    @pytest.mark.parametrize(
        "scores, mask, error, message",
        [
            (
                np.ones((3, 5)),
                np.ones((3, 5)),
                TypeError,
                "mask must be boolean (True = this query may attend to this key), got dtype "
                "float64; numbers to add to the scores are a bias",
            ),
            (
                np.ones((3, 5)),
                np.ones((3, 5), int),
                TypeError,
                "mask must be boolean (True = this query may attend to this key), got dtype "
                "int64; numbers to add to the scores are a bias",
            ),
            (
                np.ones((3, 5)),
                np.ma.array(np.ones((3, 5), bool), mask=False),
                TypeError,
                "mask is a masked array, whose mask would be lost: pass mask.filled()",
            ),
            (
                np.ones((3, 5)),
                [[True], [True, False]],
                ValueError,
                "mask is ragged: its rows must all have the same length",
            ),
            (
                np.ones((3, 5)),
                np.ones((3, 2), bool),
                ValueError,
                "mask (3, 2) and scores (3, 5): each axis of mask, counted from the last, must be "
                "equal to that of the scores, or 1",
            ),
            (
                np.ones((3, 5)),
                np.ones((5, 3), bool),
                ValueError,
                "mask (5, 3) and scores (3, 5): each axis of mask, counted from the last, must be "
                "equal to that of the scores, or 1",
            ),
            # The scores never broadcast to the mask: neither an axis more …
            (
                np.ones((3, 5)),
                np.ones((1, 3, 5), bool),
                ValueError,
                "mask (1, 3, 5) and scores (3, 5): each axis of mask, counted from the last, must "
                "be equal to that of the scores, or 1",
            ),
            # … nor a longer one.
            (
                np.ones((1, 5)),
                np.ones((3, 5), bool),
                ValueError,
                "mask (3, 5) and scores (1, 5): each axis of mask, counted from the last, must be "
                "equal to that of the scores, or 1",
            ),
            (np.ones(5), None, ValueError, "scores (5,): it must have the axes (..., Tq, Tk)"),
        ],
    )
    def test_a_wrong_argument_is_named(self, scores, mask, error, message):
        with pytest.raises(error) as caught:
            attention_weights(scores, mask=mask)
        assert caught.type is error
        assert str(caught.value) == message
