"""Attention: from queries, keys and values, and among the positions of one sequence."""

import math
import re

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_ref import (
    KeyValueCache,
    attention_weights,
    causal_mask,
    log_sum_exp,
    multi_head_attention,
    padding_mask,
    scaled_dot_product_attention,
    scaled_scores,
    self_attention,
    soft_cap,
    streaming_attention,
    window_mask,
)
from tests import oracles
from tests import oracles_more as exact
from tests.support.strategies import problems

INF, NAN = math.inf, math.nan
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.longdouble]

# Every size another prime, so that no two axes can be swapped unnoticed.
B, H, TQ, TK, D_K, D_V = 2, 3, 5, 7, 11, 13


def normal(*shape, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def inputs(dtype=np.float64, *, seed=0, lead=()):
    """Return queries, keys and values."""
    shapes = (*lead, TQ, D_K), (*lead, TK, D_K), (*lead, TK, D_V)
    return tuple(normal(*shape, seed=seed + i, dtype=dtype) for i, shape in enumerate(shapes))


def some_mask(*shape, seed=0):
    """Return a mask that allows about six in ten."""
    return np.random.default_rng(seed).random(shape) < 0.6


class TestScaledDotProductAttention:
    def test_mixes_the_values_by_the_weights(self):
        # d_k = 4: the scores are 2 ln 2 / 2, 2 ln 3 / 2, 0, so the weights are 2, 3, 1 of 6:
        # (2·6 + 3·12 + 1·30) / 6 = 13 and (2·60 + 3·0 + 1·6) / 6 = 21.
        query = [[1.0, 1.0, 1.0, 1.0]]
        key = [[2 * math.log(2), 0, 0, 0], [0, 0, 2 * math.log(3), 0], [0, 0, 0, 0]]
        output = scaled_dot_product_attention(query, key, [[6, 60], [12, 0], [30, 6]])
        np.testing.assert_allclose(output, [[13.0, 21.0]], rtol=1e-15)

    def test_agrees_with_plain_loops(self):
        arrays = inputs(lead=(B, H))
        output = scaled_dot_product_attention(*arrays)
        assert output.shape == (B, H, TQ, D_V)
        np.testing.assert_allclose(output, oracles.attention(*arrays), rtol=1e-12, atol=1e-14)

    @pytest.mark.parametrize(
        "leads",
        [
            [(2,), (), ()],
            [(), (2,), ()],
            [(), (), (2,)],
            [(2, 3), (3,), (1, 1)],
            [(1, 3), (2, 1), ()],
            [(3,), (1,), (2, 1)],
            [(0,), (1,), ()],
        ],
    )
    def test_leading_axes_broadcast(self, leads):
        query, key, value = (
            normal(*lead, *array.shape, seed=seed)
            for seed, (lead, array) in enumerate(zip(leads, inputs(), strict=True))
        )
        output = scaled_dot_product_attention(query, key, value)
        expected = oracles.attention(query, key, value)
        assert output.shape == (*oracles.common_shape(*leads), TQ, D_V)
        np.testing.assert_allclose(output, expected, rtol=1e-12, atol=1e-14)

    def test_values_with_leading_axes_of_their_own_share_a_mask(self):
        query, key, _ = inputs()
        value = normal(B, TK, D_V, seed=5)
        value[1, 2] = NAN
        mask = some_mask(TQ, TK)
        output = scaled_dot_product_attention(query, key, value, mask=mask)
        expected = oracles.attention(query, key, value, mask)
        np.testing.assert_allclose(output, expected, rtol=1e-12, atol=1e-14)
        assert np.isnan(output[1, mask[:, 2]]).all()

    @pytest.mark.parametrize(
        "shape",
        [
            *[(), (1,), (TK,), (TQ, 1), (1, TK), (TQ, TK), (1, TQ, TK), (H, 1, 1), (H, TQ, 1)],
            *[(B, H, TQ, TK), (B, 1, 1, TK), (1, H, 1, TK), (B, 1, TQ, TK)],
        ],
    )
    def test_masks_of_every_broadcastable_shape_mean_their_elements(self, shape):
        arrays, mask = inputs(lead=(B, H)), some_mask(*shape, seed=3)
        output = scaled_dot_product_attention(*arrays, mask=mask)
        np.testing.assert_allclose(output, oracles.attention(*arrays, mask), rtol=1e-12, atol=1e-14)

    @pytest.mark.parametrize(
        "shape", [(), (TK,), (TQ, 1), (TQ, TK), (H, 1, 1), (H, TQ, TK), (B, 1, 1, TK)]
    )
    def test_biases_of_every_broadcastable_shape_mean_their_elements(self, shape):
        arrays, bias = inputs(lead=(B, H)), normal(*shape, seed=9) * 3
        output = scaled_dot_product_attention(*arrays, bias=np.asarray(bias))
        expected = oracles.attention(*arrays, bias=np.asarray(bias))
        np.testing.assert_allclose(output, expected, rtol=1e-12, atol=1e-14)

    def test_a_mask_may_be_any_combination_of_masks(self):
        arrays = inputs(lead=(B, H))
        mask = (
            causal_mask(TQ, TK, offset=2)
            & padding_mask([[7], [4]], TK)
            & window_mask(TQ, TK, 3, None)
        )
        output = scaled_dot_product_attention(*arrays, mask=mask)
        np.testing.assert_allclose(output, oracles.attention(*arrays, mask), rtol=1e-12, atol=1e-14)

    @pytest.mark.parametrize("scale", [None, 0, -1.5, 0.25])
    def test_is_the_composition_of_its_parts(self, scale):
        query, key, value = inputs(lead=(B, H))
        mask, bias = some_mask(B, 1, TQ, TK), normal(H, TQ, TK, seed=9)
        weights = attention_weights(scaled_scores(query, key, scale=scale) + bias, mask=mask)
        output = scaled_dot_product_attention(query, key, value, mask=mask, bias=bias, scale=scale)
        assert oracles.same_bits(output, weights @ value)

    def test_a_score_cap_goes_between_its_parts(self):
        query, key, value = inputs()
        capped = soft_cap(scaled_scores(query, key), 0.5)
        expected = np.empty((TQ, TK))
        for index in oracles.indices((TQ, TK)):
            score = oracles.scaled_scores(query, key)[index].item()
            expected[index] = 0.5 * math.tanh(score / 0.5)
        weights = oracles.attention_weights(expected)
        output = attention_weights(capped) @ value
        np.testing.assert_allclose(output, oracles.matmul(weights, value), rtol=1e-13, atol=1e-14)

    def test_a_scale_of_zero_takes_the_mean_of_the_values(self):
        query, key, value = inputs()
        output = scaled_dot_product_attention(query, key, value, scale=0)
        mean = [math.fsum(value[:, c].tolist()) / TK for c in range(D_V)]
        np.testing.assert_allclose(output, [mean] * TQ, rtol=1e-14, atol=1e-15)

    def test_a_negative_scale_is_that_of_negated_keys(self):
        query, key, value = inputs()
        assert oracles.same_bits(
            scaled_dot_product_attention(query, key, value, scale=-0.5),
            scaled_dot_product_attention(query, -key, value, scale=0.5),
        )

    def test_the_default_scale_takes_the_width_of_the_keys_not_of_the_values(self):
        # Width 4 and d_v = 1: the scores are ±2 ln 3 / 2 … the weights 3 and 1/3, of 10/3.
        query = [[math.log(3.0), 0.0, 0.0, 0.0]]
        key = [[2.0, 0, 0, 0], [-2.0, 0, 0, 0]]
        output = scaled_dot_product_attention(query, key, [[1.0], [0.0]])
        np.testing.assert_allclose(output, [[0.9]], rtol=1e-15)


class TestMasking:
    """A mask selects: what is not allowed is as if it were not there."""

    @pytest.mark.parametrize("hidden", [NAN, INF, -INF, 1e300])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
    @pytest.mark.parametrize("which", ["key", "value", "bias", "all"])
    def test_what_nobody_may_attend_to_changes_no_bit(self, hidden, dtype, which):
        query, key, value = inputs(dtype, lead=(B,))
        bias = normal(TQ, TK, seed=9, dtype=dtype)
        mask = some_mask(TQ, TK)
        mask[:, [2, 5]] = False
        clean = scaled_dot_product_attention(query, key, value, mask=mask, bias=bias)
        with np.errstate(over="ignore"):
            hidden = np.array(hidden).astype(dtype)
        if which in ("key", "all"):
            key[:, [2, 5]] = hidden
        if which in ("value", "all"):
            value[0, 2], value[1, 5, 3] = hidden, hidden
        if which in ("bias", "all"):
            bias[~mask] = hidden
        spoiled = scaled_dot_product_attention(query, key, value, mask=mask, bias=bias)
        assert np.isfinite(clean).all()
        assert oracles.same_bits(spoiled, clean)

    @pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
    def test_what_nobody_may_attend_to_changes_no_bit_of_16(self, dtype):
        query, key, value = inputs(dtype)
        mask = some_mask(TQ, TK)
        mask[:, 2] = False
        clean = scaled_dot_product_attention(query, key, value, mask=mask)
        key[2], value[2] = NAN, INF
        assert oracles.same_bits(scaled_dot_product_attention(query, key, value, mask=mask), clean)

    @pytest.mark.parametrize("queries", [1, 2, 65])
    @pytest.mark.parametrize(
        "layout",
        [
            np.ascontiguousarray,
            np.asfortranarray,
            lambda a: np.repeat(a, 2, axis=1)[:, ::2],
            lambda a: np.stack([a, a, a], axis=1)[:, 1],
            lambda a: a[::-1].copy()[::-1],
        ],
        ids=["C", "Fortran", "every-second", "middle", "reversed"],
    )
    def test_it_changes_no_bit_in_any_layout_of_the_values(self, layout, queries):
        # NumPy multiplies by another loop where an array is strided, with other last bits.
        query, key, value = normal(queries, 3), normal(53, 3, seed=1), normal(53, D_V, seed=2)
        mask = some_mask(queries, 53)
        mask[:, 3] = False
        spoiled = value.copy()
        spoiled[3] = NAN
        assert oracles.same_bits(
            scaled_dot_product_attention(query, key, layout(spoiled), mask=mask),
            scaled_dot_product_attention(query, key, layout(value), mask=mask),
        )

    @pytest.mark.parametrize("bad", [NAN, INF, -INF])
    def test_a_value_shows_in_the_rows_that_may_attend_to_it_and_in_no_other(self, bad):
        query, key, value = inputs()
        mask = np.ones((TQ, TK), bool)
        mask[:, 2] = [True, False, False, True, False]
        mask[1] = False
        clean = scaled_dot_product_attention(query, key, value, mask=mask)
        value[2, 4] = bad
        output = scaled_dot_product_attention(query, key, value, mask=mask)
        assert oracles.same_bits(output[[1, 2, 4]], clean[[1, 2, 4]])
        np.testing.assert_array_equal(output[[0, 3], 4], [bad, bad])
        others = np.arange(D_V) != 4
        np.testing.assert_allclose(output[:, others], clean[:, others], rtol=1e-13, atol=1e-15)

    def test_infinite_values_add_up_as_infinities_do(self):
        value = [[INF, INF, -INF], [INF, -INF, 5.0], [1.0, 2.0, 3.0]]
        zeros = np.zeros((3, 1))
        mask = [[True, True, True], [True, False, True], [False, False, True]]
        output = scaled_dot_product_attention(zeros, zeros, value, mask=mask)
        np.testing.assert_array_equal(output, [[INF, NAN, -INF], [INF, INF, -INF], [1.0, 2.0, 3.0]])

    @pytest.mark.parametrize("shape", [(TQ, TK), (1, TK), (TQ, 1), ()])
    def test_broken_values_under_every_shape_of_mask(self, shape):
        query, key, value = inputs(lead=(B,))
        value[0, 2, 4], value[1, 3], value[:, 6, 0] = NAN, INF, -INF
        mask = some_mask(*shape, seed=4)
        np.testing.assert_allclose(
            scaled_dot_product_attention(query, key, value, mask=mask),
            oracles.attention(query, key, value, mask),
            rtol=1e-12,
            atol=1e-14,
        )

    def test_a_mask_of_all_true_is_no_mask(self):
        arrays = inputs(lead=(B,))
        assert oracles.same_bits(
            scaled_dot_product_attention(*arrays, mask=True), scaled_dot_product_attention(*arrays)
        )

    @pytest.mark.parametrize("bad", [NAN, INF])
    def test_a_bad_key_spoils_the_rows_that_may_attend_to_it_and_no_other(self, bad):
        query, key, value = np.abs(inputs()[0]), *inputs()[1:]
        mask = np.ones((TQ, TK), bool)
        mask[:, 2] = [True, False, False, True, False]
        clean = scaled_dot_product_attention(query, key, value, mask=mask)
        key[2] = bad
        output = scaled_dot_product_attention(query, key, value, mask=mask)
        assert np.isnan(output[[0, 3]]).all()
        assert oracles.same_bits(output[[1, 2, 4]], clean[[1, 2, 4]])

    def test_a_nan_query_spoils_its_own_row_and_not_even_that_when_nobody_is_there(self):
        query, key, value = inputs()
        mask = np.ones((TQ, TK), bool)
        mask[3] = False
        clean = scaled_dot_product_attention(query, key, value, mask=mask)
        query[[1, 3]] = NAN
        output = scaled_dot_product_attention(query, key, value, mask=mask)
        assert np.isnan(output[1]).all()
        assert oracles.same_bits(output[[0, 2, 3, 4]], clean[[0, 2, 3, 4]])

    def test_a_bias_is_added_before_the_mask(self):
        # Added afterwards, +∞ would turn the masked weight, or its score of −∞, into NaN.
        query, key, value = inputs()
        mask = np.ones((TQ, TK), bool)
        mask[:, 2] = False
        bias = np.zeros((TQ, TK))
        bias[:, 2] = INF
        np.testing.assert_allclose(
            scaled_dot_product_attention(query, key, value, mask=mask, bias=bias),
            oracles.attention(query, key, value, mask),
            rtol=1e-12,
            atol=1e-14,
        )

    def test_a_bias_is_added_after_the_scale(self):
        # Zero keys: the scores are the bias alone, and ln 3 gives 3 of 4 only if unscaled.
        output = scaled_dot_product_attention(
            np.ones((1, 4)), np.zeros((2, 4)), [[1.0], [0.0]], bias=[[math.log(3.0), 0.0]]
        )
        np.testing.assert_allclose(output, [[0.75]], rtol=1e-15)

    def test_a_bias_of_minus_infinity_hides_a_key_as_a_mask_does(self):
        query, key, value = inputs()
        mask = some_mask(TQ, TK)
        mask[1] = False
        assert oracles.same_bits(
            scaled_dot_product_attention(query, key, value, bias=np.where(mask, 0.0, -INF)),
            scaled_dot_product_attention(query, key, value, mask=mask),
        )


class TestNobodyToAttendTo:
    """Zeros: no NaN, no warning."""

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_a_fully_masked_row_is_zeros(self, dtype):
        query, key, value = inputs(dtype, lead=(B,))
        mask = np.ones((B, TQ, TK), bool)
        mask[1, 3] = False
        output = scaled_dot_product_attention(query, key, value, mask=mask)
        np.testing.assert_array_equal(output[1, 3], np.zeros(D_V))
        assert (output[0] != 0).all()
        assert (output[1, [0, 1, 2, 4]] != 0).all()

    def test_a_mask_of_all_false_is_zeros_whatever_the_values(self):
        query, key, value = inputs()
        value[:] = NAN
        output = scaled_dot_product_attention(query, key, value, mask=False)
        assert oracles.same_bits(output, np.zeros((TQ, D_V)))

    def test_scores_that_are_all_minus_infinity_give_zeros(self):
        bias = np.zeros((TQ, TK))
        bias[2] = -INF
        output = scaled_dot_product_attention(*inputs(), bias=bias)
        np.testing.assert_array_equal(output[2], np.zeros(D_V))
        assert (output[[0, 1, 3, 4]] != 0).all()

    @pytest.mark.parametrize("mask", [None, True, False, np.ones((TQ, 0), bool)])
    def test_no_keys_give_zeros(self, mask):
        output = scaled_dot_product_attention(
            np.ones((B, TQ, D_K)), np.ones((B, 0, D_K)), np.ones((B, 0, D_V)), mask=mask
        )
        assert oracles.same_bits(output, np.zeros((B, TQ, D_V)))

    @pytest.mark.parametrize("mask", [None, True, np.ones((0, TK), bool)])
    def test_no_queries_give_an_empty_result(self, mask):
        _, key, value = inputs()
        output = scaled_dot_product_attention(np.ones((0, D_K)), key, value, mask=mask)
        assert oracles.same_bits(output, np.zeros((0, D_V)))

    def test_values_without_numbers_give_an_empty_result(self):
        query, key, _ = inputs()
        output = scaled_dot_product_attention(query, key, np.ones((TK, 0)), mask=True)
        assert oracles.same_bits(output, np.zeros((TQ, 0)))


class TestDtypes:
    @pytest.mark.parametrize("dtype", FLOATS)
    def test_floating_types_are_kept(self, dtype):
        assert scaled_dot_product_attention(*inputs(dtype)).dtype == dtype

    @pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64])
    def test_integers_and_booleans_become_float64(self, dtype):
        arrays = tuple((np.abs(array) > 0.5).astype(dtype) for array in inputs())
        output = scaled_dot_product_attention(*arrays)
        expected = scaled_dot_product_attention(*(array.astype(float) for array in arrays))
        assert oracles.same_bits(output, expected)

    @pytest.mark.parametrize("position", [0, 1, 2])
    @pytest.mark.parametrize(
        "others, one, expected",
        [
            (np.float32, np.float64, np.float64),
            (np.float16, np.float32, np.float32),
            (np.float16, np.float64, np.float64),
            (ml_dtypes.bfloat16, np.float32, np.float32),
            (np.float32, np.int8, np.float64),
            (np.float64, np.longdouble, np.longdouble),
        ],
    )
    def test_mixed_types_meet_in_their_common_type(self, position, others, one, expected):
        arrays = [np.rint(array * 3).astype(others) for array in inputs()]
        arrays[position] = arrays[position].astype(one)
        output = scaled_dot_product_attention(*arrays)
        assert oracles.same_bits(
            output, scaled_dot_product_attention(*(array.astype(expected) for array in arrays))
        )

    def test_a_bias_takes_part_in_the_common_type(self):
        half = inputs(np.float16)
        for dtype in (np.float16, np.float32, np.float64):
            output = scaled_dot_product_attention(*half, bias=np.zeros((TQ, TK), dtype))
            assert output.dtype == dtype

    def test_a_scale_does_not(self):
        for scale in (0.1, np.float64(0.1), 2):
            output = scaled_dot_product_attention(*inputs(np.float32), scale=scale)
            assert output.dtype == np.float32

    @pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
    @pytest.mark.parametrize("masked", [False, True])
    def test_16_bit_types_compute_in_float32(self, dtype, masked):
        arrays, bias = inputs(dtype, lead=(B,)), normal(TQ, TK, seed=9, dtype=dtype)
        mask = some_mask(TQ, TK) if masked else None
        single = (array.astype(np.float32) for array in arrays)
        expected = scaled_dot_product_attention(*single, mask=mask, bias=bias.astype(np.float32))
        output = scaled_dot_product_attention(*arrays, mask=mask, bias=bias)
        assert oracles.same_bits(output, expected.astype(dtype))

    def test_float16_scores_beyond_its_range_do_not_overflow(self):
        # 64·64·64 / √64 = 32768 and twice that, 65536 > 65504. In float16 the second is +∞.
        query = np.full((1, 64), 64.0, np.float16)
        key = np.stack([query[0], query[0] * 2])
        value = np.array([[1.0], [3.0]], np.float16)
        np.testing.assert_array_equal(scaled_dot_product_attention(query, key, value), [[3.0]])

    def test_float16_sums_of_many_values_are_not_coarse(self):
        # The mean of 4096 ones and 4096 threes is 2; float16 sums stop growing on the way.
        value = np.tile(np.array([[1.0], [3.0]], np.float16), (4096, 1))
        zeros = np.zeros((1, 1), np.float16)
        output = scaled_dot_product_attention(zeros, np.zeros((8192, 1), np.float16), value)
        np.testing.assert_array_equal(output, [[2.0]])

    def test_float64_is_never_dropped(self):
        # Equal weights of 1 and 1 + 2⁻⁴⁰, which float32 cannot tell apart.
        output = scaled_dot_product_attention([[0.0]], [[1.0], [1.0]], [[1.0], [1.0 + 2.0**-40]])
        assert output.item() == 1.0 + 2.0**-41


class TestPurity:
    @pytest.mark.parametrize("dtype", FLOATS)
    def test_inputs_stay_as_they_are_and_are_not_shared(self, dtype):
        arrays = inputs(dtype)
        options = {"mask": some_mask(TQ, TK), "bias": normal(TQ, TK, dtype=dtype)}
        everything = (*arrays, *options.values())
        before = [array.tobytes() for array in everything]
        for array in everything:
            array.flags.writeable = False
        output = scaled_dot_product_attention(*arrays, **options)
        assert [array.tobytes() for array in everything] == before
        assert not any(np.shares_memory(output, array) for array in everything)
        assert output.flags.writeable

    def test_one_key_still_gives_a_copy_of_its_value(self):
        value = np.array([[1.0, 2.0]])
        output = scaled_dot_product_attention([[1.0]], [[1.0]], value, mask=True)
        np.testing.assert_array_equal(output, value)
        assert not np.shares_memory(output, value)

    def test_lists_are_accepted(self):
        arrays, mask, bias = inputs(), some_mask(TQ, TK), normal(TQ, TK)
        lists = (array.tolist() for array in arrays)
        assert oracles.same_bits(
            scaled_dot_product_attention(*lists, mask=mask.tolist(), bias=bias.tolist()),
            scaled_dot_product_attention(*arrays, mask=mask, bias=bias),
        )

    def test_arrays_of_any_layout_are_accepted(self):
        arrays, mask = inputs(lead=(B, H)), some_mask(TQ, TK)
        expected = oracles.attention(*arrays, mask)
        # As an application with another order of the axes would pass them: (B, T, H, d).
        strided = [np.ascontiguousarray(array.swapaxes(1, 2)).swapaxes(1, 2) for array in arrays]
        assert not any(array.flags.c_contiguous for array in strided)
        stretched = np.broadcast_to(mask, (B, H, TQ, TK))
        output = scaled_dot_product_attention(*strided, mask=stretched)
        np.testing.assert_allclose(output, expected, rtol=1e-12, atol=1e-14)

    def test_two_calls_give_the_same_bits(self):
        arrays, mask = inputs(lead=(B, H)), some_mask(TQ, TK)
        first, second = (scaled_dot_product_attention(*arrays, mask=mask) for _ in range(2))
        assert oracles.same_bits(first, second)

    def test_nothing_warns_even_where_numpy_would_raise(self):
        query = np.array([[1e200], [NAN], [5e-324], [INF], [0.0]])
        value = np.array([[1e308], [-1e308], [INF], [NAN], [5e-324]])
        with np.errstate(all="raise"):
            scaled_dot_product_attention(query, query, value)
            for mask in (causal_mask(5), np.eye(5, dtype=bool), False):
                scaled_dot_product_attention(query, -query, value, mask=mask, bias=query, scale=1e9)
                self_attention(query, [[1e300]], [[1e300]], [[1e300]], mask=mask)
            # The largest float64 does not fit into float16.
            half = np.array([[60000.0]], np.float16)
            self_attention(half, half, half, half)


# What makes each case hard; queries and values in units of the smallest normal number.
ACCURACY_CASES = {
    "plain": {},
    "wide keys": {"width": 257},
    "many keys": {"keys": 1009},
    "scores to 1e4": {"stretch": 4e3},
    "keys offset by 1e3": {"offset": 1e3},
    "a causal mask": {"causal": True},
    "a bias": {"bias": 30},
    "denormal queries": {"query": 2.0**-4},
    "denormal values": {"value": 2.0**-4},
}


class TestAccuracy:
    """At most 4 ε (1 + max |score|) of max |value|, against 50 digits."""

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("name", ACCURACY_CASES)
    def test_stays_within_the_bound(self, dtype, name):
        case = ACCURACY_CASES[name]
        width, keys = case.get("width", 7), case.get("keys", 13)
        query = normal(5, width) * case.get("stretch", 1)
        key = normal(keys, width, seed=1) + case.get("offset", 0)
        value = normal(keys, 3, seed=2)
        if "query" in case:
            query *= case["query"] * np.finfo(dtype).tiny
        if "value" in case:
            value *= case["value"] * np.finfo(dtype).tiny
        arrays = tuple(array.astype(dtype) for array in (query, key, value))
        options = {}
        if case.get("causal"):
            options["mask"] = causal_mask(5, keys, offset=3)
        if "bias" in case:
            options["bias"] = (normal(5, keys, seed=9) * case["bias"]).astype(dtype)
        output = scaled_dot_product_attention(*arrays, **options)
        assert output.dtype == dtype
        assert oracles.attention_error(output, *arrays, **options) <= 4

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("size", [1.0, 1e2, 1e4])
    def test_stays_within_the_bound_where_large_scores_nearly_tie(self, dtype, size):
        # The hard case: scores of size `size` that differ by about 1, so that their rounding
        # errors, of size · ε, reach the weights.
        for seed in range(5):
            query = normal(1, 64, seed=seed)
            length = np.linalg.norm(query)
            key = 8 * (size * query / length**2 + normal(5, 64, seed=seed + 100) / length)
            value = np.sign(normal(5, 2, seed=seed + 200))
            arrays = tuple(array.astype(dtype) for array in (query, key, value))
            output = scaled_dot_product_attention(*arrays)
            assert oracles.attention_error(output, *arrays) <= 4

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_counts_the_products_where_they_cancel(self, dtype):
        # The query is orthogonal to the offset of the keys: products of 1e3 add up to about 1.
        for seed in range(5):
            query = normal(1, 64, seed=seed)
            query = query - query.mean()
            key, value = normal(5, 64, seed=seed + 100) + 1e3, normal(5, 2, seed=seed + 200)
            arrays = tuple(array.astype(dtype) for array in (query, key, value))
            output = scaled_dot_product_attention(*arrays)
            assert oracles.attention_error(output, *arrays, products_cancel=True) <= 4


class TestTheorems:
    @given(problems())
    def test_the_definition_holds_for_every_problem(self, problem):
        output = scaled_dot_product_attention(*problem.arrays, mask=problem.mask)
        expected = oracles.attention(*problem.arrays, problem.mask)
        np.testing.assert_allclose(output, expected, rtol=0, atol=1e-9)

    @given(problems())
    def test_the_output_stays_within_the_values_it_may_attend_to(self, problem):
        output = scaled_dot_product_attention(*problem.arrays, mask=problem.mask)
        slack = 1e-13 * (1 + np.abs(problem.value).max())
        for row, seen in zip(output, problem.mask, strict=True):
            if seen.any():
                allowed = problem.value[seen]
                assert (row >= allowed.min(axis=0) - slack).all()
                assert (row <= allowed.max(axis=0) + slack).all()
            else:
                assert (row == 0).all()

    @given(problem=problems(), data=st.data())
    def test_the_order_of_the_keys_does_not_matter(self, problem, data):
        order = data.draw(st.permutations(range(len(problem.key))))
        permuted = scaled_dot_product_attention(
            problem.query, problem.key[order], problem.value[order], mask=problem.mask[:, order]
        )
        output = scaled_dot_product_attention(*problem.arrays, mask=problem.mask)
        np.testing.assert_allclose(permuted, output, rtol=0, atol=1e-11)

    @given(problem=problems(), data=st.data())
    def test_each_query_is_answered_by_itself(self, problem, data):
        order = data.draw(st.permutations(range(len(problem.query))))
        permuted = scaled_dot_product_attention(
            problem.query[order], problem.key, problem.value, mask=problem.mask[order]
        )
        output = scaled_dot_product_attention(*problem.arrays, mask=problem.mask)
        np.testing.assert_allclose(permuted, output[order], rtol=0, atol=1e-11)

    @given(problems(square=True))
    def test_under_a_causal_mask_a_prefix_knows_nothing_of_the_rest(self, problem):
        query, key, value = problem.arrays
        whole = scaled_dot_product_attention(query, key, value, mask=causal_mask(len(query)))
        for t in range(1, len(query)):
            prefix = scaled_dot_product_attention(
                query[:t], key[:t], value[:t], mask=causal_mask(t)
            )
            np.testing.assert_allclose(prefix, whole[:t], rtol=0, atol=1e-11)

    @given(problems(square=True))
    def test_under_a_causal_mask_the_last_query_sees_everything(self, problem):
        query, key, value = problem.arrays
        last = scaled_dot_product_attention(query, key, value, mask=causal_mask(len(query)))[-1:]
        full = scaled_dot_product_attention(query[-1:], key, value)
        np.testing.assert_allclose(last, full, rtol=0, atol=1e-11)

    @given(problems(), st.integers(-(2**20), 2**20))
    def test_a_bias_that_is_the_same_for_all_keys_changes_nothing(self, problem, shift):
        output = scaled_dot_product_attention(*problem.arrays)
        shifted = scaled_dot_product_attention(*problem.arrays, bias=np.full((1, 1), float(shift)))
        # Scores up to 6e3 + 2²⁰ are rounded once more: 2e6 · 2⁻⁵² · 30, twice.
        np.testing.assert_allclose(shifted, output, rtol=0, atol=1e-7)

    @given(problems())
    def test_doubling_the_values_doubles_the_output(self, problem):
        query, key, value = problem.arrays
        doubled = scaled_dot_product_attention(query, key, value * -2)
        expected = scaled_dot_product_attention(*problem.arrays) * -2
        # A power of two rounds nothing, except where a weight makes a product denormal.
        np.testing.assert_allclose(doubled, expected, rtol=0, atol=2.0**-1022)


class TestSelfAttention:
    T, D_MODEL = 5, 7

    def projections(self, dtype=np.float64):
        shapes = (self.D_MODEL, D_K), (self.D_MODEL, D_K), (self.D_MODEL, D_V)
        return tuple(normal(*shape, seed=20 + i, dtype=dtype) for i, shape in enumerate(shapes))

    def sentence(self, *lead, dtype=np.float64):
        return normal(*lead, self.T, self.D_MODEL, dtype=dtype)

    @pytest.mark.parametrize("lead", [(), (B,), (B, H)])
    @pytest.mark.parametrize("options", [{}, {"mask": True}, {"scale": -0.3}])
    def test_agrees_with_plain_loops(self, lead, options):
        x = self.sentence(*lead)
        if "mask" in options:
            options = {"mask": some_mask(*lead[:1], *(1,) * len(lead[1:]), self.T, self.T)}
        output = self_attention(x, *self.projections(), **options)
        assert output.shape == (*lead, self.T, D_V)
        expected = oracles.self_attention(x, *self.projections(), **options)
        np.testing.assert_allclose(output, expected, rtol=1e-11, atol=1e-13)

    def test_is_attention_of_the_three_projections(self):
        x, (w_query, w_key, w_value) = self.sentence(B), self.projections()
        mask = causal_mask(self.T)
        assert oracles.same_bits(
            self_attention(x, w_query, w_key, w_value, mask=mask, scale=0.5),
            scaled_dot_product_attention(x @ w_query, x @ w_key, x @ w_value, mask=mask, scale=0.5),
        )

    def test_projections_multiply_from_the_right(self):
        # Columns of w_value pick coordinates 1 and 0: (2, 1) and (4, 3), averaged.
        x, zeros = [[1.0, 2.0], [3.0, 4.0]], np.zeros((2, 1))
        output = self_attention(x, zeros, zeros, [[0, 1, 0], [1, 0, 0]])
        np.testing.assert_array_equal(output, [[3.0, 2.0, 0.0]] * 2)

    def test_queries_come_from_w_query_and_keys_from_w_key(self):
        # q = (0, 1), k = (ln 2, ln 4): row 1 weighs 2 : 4, row 0 alike.
        x = np.eye(2)
        w_query, w_key = [[0.0], [1.0]], [[math.log(2)], [math.log(4)]]
        output = self_attention(x, w_query, w_key, [[0.0], [3.0]])
        np.testing.assert_allclose(output, [[1.5], [2.0]], rtol=1e-15)

    def test_the_default_scale_takes_the_width_of_a_key_not_of_the_embedding(self):
        # d_model = 4, d_k = 1: the scale is 1, the scores 0 and ln 3, the weights 1 : 3.
        x = [[1.0, 0, 0, 0], [0, 1.0, 0, 0]]
        w_query = [[1.0], [1.0], [0], [0]]
        w_key = [[0.0], [math.log(3)], [0], [0]]
        output = self_attention(x, w_query, w_key, [[0.0], [4.0], [0], [0]])
        np.testing.assert_allclose(output, [[3.0], [3.0]], rtol=1e-15)

    def test_what_stands_in_masked_positions_changes_no_bit(self):
        x, mask = self.sentence(), np.ones((self.T, self.T), bool)
        mask[:, 3] = False
        clean = self_attention(x, *self.projections(), mask=mask)
        x[3] = NAN  # position 3 still asks: its own row is not a number, and no other
        output = self_attention(x, *self.projections(), mask=mask)
        assert np.isnan(output[3]).all()
        assert oracles.same_bits(output[[0, 1, 2, 4]], clean[[0, 1, 2, 4]])

    def test_a_position_with_nobody_to_attend_to_gets_zeros(self):
        mask = causal_mask(self.T, offset=-1)
        output = self_attention(self.sentence(), *self.projections(), mask=mask)
        np.testing.assert_array_equal(output[0], np.zeros(D_V))
        assert (output[1:] != 0).all()

    def test_an_empty_sequence_gives_an_empty_result(self):
        output = self_attention(np.ones((B, 0, self.D_MODEL)), *self.projections())
        assert oracles.same_bits(output, np.zeros((B, 0, D_V)))

    @given(data=st.data())
    def test_permuting_the_positions_permutes_the_outputs(self, data):
        order = data.draw(st.permutations(range(self.T)))
        x = self.sentence()
        output = self_attention(x, *self.projections())
        permuted = self_attention(x[order], *self.projections())
        np.testing.assert_allclose(permuted, output[order], rtol=1e-12, atol=1e-13)

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_floating_types_are_kept(self, dtype):
        output = self_attention(self.sentence(dtype=dtype), *self.projections(dtype))
        assert output.dtype == dtype

    @pytest.mark.parametrize("position", [0, 1, 2, 3])
    def test_mixed_types_meet_in_their_common_type(self, position):
        arrays = [self.sentence(dtype=np.float16), *self.projections(np.float16)]
        arrays[position] = arrays[position].astype(np.float64)
        expected = self_attention(*(array.astype(np.float64) for array in arrays))
        assert oracles.same_bits(self_attention(*arrays), expected)

    def test_integers_and_booleans_become_float64(self):
        ones = np.ones((3, 2), bool)
        output = self_attention(ones, np.eye(2, dtype=int), np.eye(2, dtype=bool), [[2, 0], [0, 3]])
        assert oracles.same_bits(output, np.array([[2.0, 3.0]] * 3))

    @pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
    def test_16_bit_types_stay_in_float32_from_end_to_end(self, dtype):
        arrays = self.sentence(dtype=dtype), *self.projections(dtype)
        expected = self_attention(*(array.astype(np.float32) for array in arrays))
        assert oracles.same_bits(self_attention(*arrays), expected.astype(dtype))

    def test_inputs_stay_as_they_are_and_are_not_shared(self):
        arrays = self.sentence(), *self.projections()
        before = [array.tobytes() for array in arrays]
        for array in arrays:
            array.flags.writeable = False
        first, second = self_attention(*arrays), self_attention(*arrays)
        assert [array.tobytes() for array in arrays] == before
        assert not any(np.shares_memory(first, array) for array in arrays)
        assert oracles.same_bits(first, second)

    def test_lists_are_accepted(self):
        arrays = self.sentence(), *self.projections()
        assert oracles.same_bits(
            self_attention(*(array.tolist() for array in arrays)), self_attention(*arrays)
        )

    @pytest.mark.parametrize(
        "change, error, message",
        [
            (
                {"x": np.ones(7)},
                ValueError,
                "x (7,): it must have the axes (..., T, d_model)",
            ),
            (
                {"w_query": np.ones((2, 7, 11))},
                ValueError,
                "w_query (2, 7, 11): it must be a matrix, (d_model, d)",
            ),
            ({"w_key": np.ones(7)}, ValueError, "w_key (7,): it must be a matrix, (d_model, d)"),
            ({"w_key": 1.0}, ValueError, "w_key (): it must have the axes (d_model, d)"),
            (
                {"w_query": np.ones((11, 7))},
                ValueError,
                "x (5, 7) and w_query (11, 7): they must have the same width d_model, got 7 and 11",
            ),
            (
                {"w_key": np.ones((2, 11))},
                ValueError,
                "x (5, 7) and w_key (2, 11): they must have the same width d_model, got 7 and 2",
            ),
            (
                {"w_value": np.ones((13, 7))},
                ValueError,
                "x (5, 7) and w_value (13, 7): they must have the same width d_model, got 7 and 13",
            ),
            (
                {"w_key": np.ones((7, 2))},
                ValueError,
                "w_query (7, 11) and w_key (7, 2): they must have the same width d_k, got 11 and 2",
            ),
            (
                {"x": np.ones((5, 7), complex)},
                TypeError,
                "x must hold real numbers, got dtype complex128",
            ),
            (
                {"w_value": np.ones((7, 13), object)},
                TypeError,
                "w_value must hold real numbers, got dtype object",
            ),
            (
                {"mask": np.ones((5, 5))},
                TypeError,
                "mask must be boolean (True = this query may attend to this key), got dtype "
                "float64; numbers to add to the scores are a bias",
            ),
            (
                {"mask": np.ones((5, 7), bool)},
                ValueError,
                "mask (5, 7) and scores (5, 5): each axis of mask, counted from the last, must be "
                "equal to that of the scores, or 1",
            ),
            ({"scale": INF}, ValueError, "scale must be finite, got inf"),
        ],
    )
    def test_a_wrong_argument_is_named(self, change, error, message):
        w_query, w_key, w_value = self.projections()
        arguments = {"x": self.sentence(), "w_query": w_query, "w_key": w_key, "w_value": w_value}
        with pytest.raises(error) as caught:
            self_attention(**(arguments | change))
        assert caught.type is error
        assert str(caught.value) == message


class TestErrors:
    """A wrong argument of scaled_dot_product_attention is named, with the shapes and the rule."""

    @pytest.mark.parametrize(
        "change, error, message",
        [
            (
                {"key": np.ones((7, 2))},
                ValueError,
                "query (5, 11) and key (7, 2): they must have the same width d_k, got 11 and 2",
            ),
            (
                {"value": np.ones((2, 13))},
                ValueError,
                "key (7, 11) and value (2, 13): they must have the same length, got 7 and 2",
            ),
            (
                {"query": np.ones((2, 5, 11)), "key": np.ones((3, 7, 11))},
                ValueError,
                "query (2, 5, 11) and key (3, 7, 11): the axes before the last two must be equal, "
                "or 1, or absent",
            ),
            (
                {"query": np.ones((2, 5, 11)), "value": np.ones((3, 7, 13))},
                ValueError,
                "query (2, 5, 11) and key (7, 11) and value (3, 7, 13): the axes before the last "
                "two must be equal, or 1, or absent",
            ),
            (
                {"query": np.ones(11)},
                ValueError,
                "query (11,): it must have the axes (..., Tq, d_k)",
            ),
            ({"key": np.ones(11)}, ValueError, "key (11,): it must have the axes (..., Tk, d_k)"),
            (
                {"value": np.ones(7)},
                ValueError,
                "value (7,): it must have the axes (..., Tk, d_v)",
            ),
            (
                {"query": np.ones((5, 11), complex)},
                TypeError,
                "query must hold real numbers, got dtype complex128",
            ),
            (
                {"key": np.ones((7, 11), object)},
                TypeError,
                "key must hold real numbers, got dtype object",
            ),
            (
                {"value": np.full((7, 13), "a")},
                TypeError,
                "value must hold real numbers, got dtype <U1",
            ),
            (
                {"value": [[1.0], [2.0, 3.0]]},
                ValueError,
                "value is ragged: its rows must all have the same length",
            ),
            (
                {"key": np.ma.ones((7, 11))},
                TypeError,
                "key is a masked array, whose mask would be lost: pass key.filled()",
            ),
            (
                {"query": np.ones((5, 11), np.float16), "value": np.ones((7, 13), "bfloat16")},
                TypeError,
                "query float16, key float64, value bfloat16: these dtypes have no common one; cast "
                "them to one",
            ),
            (
                {"mask": np.ones((5, 7), np.int8)},
                TypeError,
                "mask must be boolean (True = this query may attend to this key), got dtype int8; "
                "numbers to add to the scores are a bias",
            ),
            # A mask for the first of the keys only: no guess about the others.
            (
                {"mask": np.ones((5, 3), bool)},
                ValueError,
                "mask (5, 3) and scores (5, 7): each axis of mask, counted from the last, must be "
                "equal to that of the scores, or 1",
            ),
            (
                {"mask": np.ones((2, 5, 7), bool)},
                ValueError,
                "mask (2, 5, 7) and scores (5, 7): each axis of mask, counted from the last, must "
                "be equal to that of the scores, or 1",
            ),
            # The mask broadcasts to the scores, which the axes of the values do not stretch.
            (
                {"value": np.ones((2, 7, 13)), "mask": np.ones((2, 5, 7), bool)},
                ValueError,
                "mask (2, 5, 7) and scores (5, 7): each axis of mask, counted from the last, must "
                "be equal to that of the scores, or 1",
            ),
            (
                {"query": np.ones((1, 11)), "mask": np.ones((5, 7), bool)},
                ValueError,
                "mask (5, 7) and scores (1, 7): each axis of mask, counted from the last, must be "
                "equal to that of the scores, or 1",
            ),
            (
                {"bias": np.ones((5, 7), bool)},
                TypeError,
                "bias must be floating, got dtype bool; to say which key a query may attend to, "
                "pass a boolean mask",
            ),
            (
                {"bias": np.ones((5, 7), int)},
                TypeError,
                "bias must be floating, got dtype int64; to say which key a query may attend to, "
                "pass a boolean mask",
            ),
            (
                {"bias": np.ones((5, 7), complex)},
                TypeError,
                "bias must hold real numbers, got dtype complex128",
            ),
            (
                {"bias": np.ma.ones((5, 7))},
                TypeError,
                "bias is a masked array, whose mask would be lost: pass bias.filled()",
            ),
            (
                {"bias": [[1.0], [1.0, 2.0]]},
                ValueError,
                "bias is ragged: its rows must all have the same length",
            ),
            (
                {"bias": np.ones((7, 5))},
                ValueError,
                "bias (7, 5) and scores (5, 7): each axis of bias, counted from the last, must be "
                "equal to that of the scores, or 1",
            ),
            (
                {"bias": np.ones((3, 5, 7))},
                ValueError,
                "bias (3, 5, 7) and scores (5, 7): each axis of bias, counted from the last, must "
                "be equal to that of the scores, or 1",
            ),
            ({"scale": NAN}, ValueError, "scale must be finite, got nan"),
            ({"scale": "1"}, TypeError, "scale must be a real number, got str"),
            (
                {"query": np.ones((5, 0)), "key": np.ones((7, 0))},
                ValueError,
                "scale: 1/√d_k is undefined for d_k = 0; pass a scale",
            ),
        ],
    )
    def test_a_wrong_argument_is_named(self, change, error, message):
        query, key, value = inputs()
        with pytest.raises(error) as caught:
            scaled_dot_product_attention(**({"query": query, "key": key, "value": value} | change))
        assert caught.type is error
        assert str(caught.value) == message

    def test_options_cannot_be_passed_by_position(self):
        with pytest.raises(TypeError, match=re.escape("takes 3 positional arguments")):
            scaled_dot_product_attention(*inputs(), None)


OPTIONS = [
    {"soft_cap": 0.8},
    {"causal": True},
    {"causal": True, "offset": 3},
    {"causal": True, "offset": -2},
    {"soft_cap": 2.0, "bias": True, "causal": True, "offset": 1, "scale": -0.7, "mask": True},
]


class TestTheSameWordsEverywhere:
    """mask, bias, scale, soft_cap, causal, offset: dense, streamed, cached, in heads, in self."""

    @staticmethod
    def filled(options, *shape):
        """Put a mask and a bias of this shape where the options want one."""
        mask = {"mask": some_mask(*shape)} if "mask" in options else {}
        bias = {"bias": normal(*shape, seed=9)} if "bias" in options else {}
        return options | mask | bias

    @pytest.mark.parametrize("options", OPTIONS)
    def test_they_are_the_composition_of_the_parts(self, options):
        query, key, value = inputs()
        options = self.filled(options, TQ, TK)
        scores = scaled_scores(query, key, scale=options.get("scale"))
        if "soft_cap" in options:
            scores = soft_cap(scores, options["soft_cap"])
        mask = np.asarray(options.get("mask", True))
        if options.get("causal"):
            mask = mask & causal_mask(TQ, TK, offset=options.get("offset", 0))
        weights = attention_weights(scores + options.get("bias", 0), mask=mask)
        output = scaled_dot_product_attention(query, key, value, **options)
        assert oracles.same_bits(output, weights @ value)
        streamed = streaming_attention(query, key, value, block_size=3, **options)
        np.testing.assert_allclose(streamed, output, rtol=1e-12, atol=1e-13)

    @pytest.mark.parametrize("options", OPTIONS)
    def test_they_are_those_of_50_digits(self, options):
        query, key, value = inputs()
        options = self.filled(options, TQ, TK)
        offset = options.get("offset", 0) if "causal" in options else TK
        mask = options.get("mask", np.ones((TQ, TK), bool))
        expected = exact.attention(
            *(exact.exact(array) for array in (query, key, value)),
            allowed=lambda i, j: mask[i, j] and j <= i + offset,
            bias=exact.exact(options["bias"]) if "bias" in options else None,
            scale=options.get("scale"),
            soft_cap=options.get("soft_cap"),
        )
        output = scaled_dot_product_attention(query, key, value, **options)
        assert exact.in_units(output, expected, score=9.0, scale=4.0) <= 4

    @pytest.mark.parametrize("options", OPTIONS)
    def test_one_sequence_and_one_head_take_them_along(self, options):
        x, w = normal(TK, 6), [normal(6, 6, seed=20 + i) for i in range(4)]
        options = self.filled(options, TK, TK)
        expected = scaled_dot_product_attention(x @ w[0], x @ w[1], x @ w[2], **options)
        assert oracles.same_bits(self_attention(x, *w[:3], **options), expected)
        heads = multi_head_attention(x, x, *w, num_heads=1, **options)
        np.testing.assert_allclose(heads, expected @ w[3], rtol=1e-13, atol=1e-13)

    @pytest.mark.parametrize("causal", [True, False])
    def test_the_cache_takes_them_along(self, causal):
        query, key, value = inputs()
        query, mask, bias = query[:4], some_mask(4, TK), normal(4, TK, seed=9)
        options = {"bias": bias, "mask": mask, "scale": 0.4, "soft_cap": 1.3}
        cache = KeyValueCache()
        cache.attend(np.zeros((3, D_K)), key[:3], value[:3])
        output = cache.attend(query, key[3:], value[3:], causal=causal, **options)
        offset = {"offset": 3} if causal else {}
        whole = scaled_dot_product_attention(query, key, value, causal=causal, **offset, **options)
        np.testing.assert_allclose(output, whole, rtol=1e-12, atol=1e-13)

    def test_a_cap_inside_keeps_16_bits_accurate(self):
        # Scores of 300 and 301 under a cap of 1000: float16 rounds the capped scores to 291.2
        # and 292.2, in steps of a quarter, and their difference with them.
        query, key = np.ones((1, 1), np.float16), np.array([[300], [301]], np.float16)
        value = np.array([[0], [1]], np.float16)
        output = scaled_dot_product_attention(query, key, value, soft_cap=1000)
        difference = 1000 * (math.tanh(0.301) - math.tanh(0.3))
        share = 1 / (1 + math.exp(-difference))
        assert abs(output.item() - share) <= 2**-11
        scores = soft_cap(scaled_scores(query, key), 1000)
        assert abs((attention_weights(scores) @ value).item() - share) > 2**-7

    def test_the_log_sum_exp_is_that_of_the_scores_that_are_allowed(self):
        query, key, _ = inputs(lead=(B,))
        mask = some_mask(TQ, TK)
        mask[2] = False
        found = log_sum_exp(scaled_scores(query, key), mask=mask)
        assert found.shape == (B, TQ)
        scores = oracles.scaled_scores(query, key)
        for b, i in np.ndindex(B, TQ):
            total = math.fsum(math.exp(scores[b, i, j]) for j in range(TK) if mask[i, j])
            expected = math.log(total) if total else -math.inf
            assert found[b, i] == pytest.approx(expected, rel=1e-13, abs=1e-14)

    def test_the_log_sum_exp_neither_overflows_nor_hides_what_is_wrong(self):
        scores = [[1e6, 1e6], [-1e6, -1e6], [NAN, 0.0], [INF, 0.0], [-INF, -INF]]
        expected = [1e6 + math.log(2), -1e6 + math.log(2), NAN, NAN, -INF]
        np.testing.assert_array_equal(log_sum_exp(scores), expected)
        np.testing.assert_array_equal(log_sum_exp(scores, mask=[[False, True]])[2:], [0, 0, -INF])
        assert log_sum_exp(np.zeros((2, 0))).tolist() == [-INF, -INF]

    def test_a_score_beyond_the_range_counts_as_an_infinity(self):
        single = np.float32
        for sign, expected in ((-1, 0), (1, NAN)):
            query, key, value = single([[1e30]]), single([[sign * 1e30]]), single([[7]])
            for function in (scaled_dot_product_attention, streaming_attention):
                np.testing.assert_array_equal(function(query, key, value), [[expected]])
