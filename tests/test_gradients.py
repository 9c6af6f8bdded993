"""Gradients against central differences and explicit Jacobians, both with 50 digits."""

import pickle
import re

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import selfattn_ref
from selfattn_ref import (
    attention_weights,
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
    scaled_dot_product_attention_vjp,
    self_attention,
    self_attention_vjp,
    softmax,
    softmax_vjp,
)
from tests import oracles_more as oracle
from tests.oracles_more import mp50

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
EPS = np.finfo(np.float64).eps


def says(message):
    return "^" + re.escape(message) + "$"


class TestSoftmaxVjp:
    """Within 4 ε of 50 digits, relative to the largest d_weights."""

    @oracle.modest
    @given(st.integers(1, 7), st.sampled_from([0.0, 1.0, 30.0]), st.integers(0, 10**6))
    def test_it_is_the_product_with_the_jacobian(self, n, sharpness, seed):
        scores, d_weights = oracle.numbers(seed, 2, n)
        weights = softmax(sharpness * scores)
        d_scores = oracle.politely(softmax_vjp, weights, d_weights)
        expected = oracle.softmax_jacobian_product(oracle.exact(weights), oracle.exact(d_weights))
        scale = max(np.abs(d_weights))
        assert oracle.error(d_scores, expected) <= 4 * EPS * scale

    @oracle.modest
    @given(st.integers(1, 5), st.integers(0, 10**6))
    def test_it_is_the_central_difference(self, n, seed):
        scores, d_weights = (oracle.exact(row) for row in oracle.numbers(seed, 2, 1, n))

        def shares(scores):
            powers = [mp50.exp(s) for s in scores[0]]
            return [[p / mp50.fsum(powers) for p in powers]]

        (expected,) = oracle.central_differences(shares, [scores], d_weights)
        weights = np.array([[float(p) for p in shares(scores)[0]]])
        d_scores = softmax_vjp(weights, np.array(d_weights, dtype=np.float64))
        assert oracle.error(d_scores, expected) <= 8 * EPS * oracle.largest(d_weights)

    def test_hand_computed(self):
        # p = (1/4, 3/4), d = (8, 4): the mean is 5, so (1/4)(3), (3/4)(−1).
        np.testing.assert_array_equal(softmax_vjp([0.25, 0.75], [8.0, 4.0]), [0.75, -0.75])

    def test_each_row_is_on_its_own_and_adds_up_to_zero(self):
        weights = softmax(oracle.numbers(0, 2, 3, 5))
        d_weights = oracle.numbers(1, 2, 3, 5)
        d_scores = softmax_vjp(weights, d_weights)
        np.testing.assert_allclose(d_scores.sum(axis=-1), np.zeros((2, 3)), atol=1e-15)
        for index in np.ndindex(2, 3):
            alone = softmax_vjp(weights[index], d_weights[index])
            np.testing.assert_allclose(d_scores[index], alone, rtol=1e-13, atol=1e-16)

    def test_adding_the_same_to_every_gradient_of_a_row_changes_nothing(self):
        weights, d_weights = softmax(oracle.numbers(2, 3, 5)), oracle.numbers(3, 3, 5)
        np.testing.assert_allclose(
            softmax_vjp(weights, d_weights + 7), softmax_vjp(weights, d_weights), atol=1e-14
        )

    def test_an_empty_row_gets_zeros(self):
        d_scores = oracle.politely(softmax_vjp, np.zeros((2, 3)), np.ones((2, 3)))
        np.testing.assert_array_equal(d_scores, np.zeros((2, 3)))

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_what_stands_at_a_weight_of_zero_changes_nothing(self, bad):
        weights = np.array([[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]])
        d_weights = np.array([[1.0, bad, 3.0], [bad, bad, bad]])
        d_scores = oracle.politely(softmax_vjp, weights, d_weights)
        np.testing.assert_array_equal(d_scores, [[-0.5, 0.0, 0.5], [0.0, 0.0, 0.0]])

    def test_a_nan_elsewhere_shows_in_its_row_only(self):
        weights = np.array([[0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])
        d_scores = softmax_vjp(weights, [[np.nan, 1.0, 1.0], [1.0, 2.0, 3.0]])
        np.testing.assert_array_equal(np.isnan(d_scores[0]), [True, False, True])
        np.testing.assert_array_equal(d_scores[1], [-0.25, 0.25, 0.0])

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_the_dtype_stays_and_16_bits_are_computed_in_32(self, dtype):
        weights, d_weights = np.full(3, 1 / 3, dtype), np.array([300, 301, 302], dtype)
        d_scores = softmax_vjp(weights, d_weights)
        assert d_scores.dtype == dtype
        exact = oracle.softmax_jacobian_product(oracle.exact(weights), oracle.exact(d_weights))
        eps = float(ml_dtypes.finfo(dtype).eps)
        limit = eps / 2 * oracle.largest(exact) + 4 * 302 * max(EPS, min(eps, 2.0**-23))
        assert oracle.error(d_scores.astype(np.float64), exact) <= limit

    def test_mixed_dtypes_follow_numpy(self):
        assert softmax_vjp(np.ones(1, np.float32), np.ones(1)).dtype == np.float64

    @pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
    def test_empty_axes_stay(self, shape):
        assert oracle.politely(softmax_vjp, np.ones(shape), np.ones(shape)).shape == shape

    @pytest.mark.parametrize(
        "weights, d_weights, kind, message",
        [
            (
                np.ones((2, 3)),
                np.ones((1, 3)),
                ValueError,
                "weights (2, 3) and d_weights (1, 3): they must have the same shape",
            ),
            (
                np.ones(3),
                np.ones((1, 3)),
                ValueError,
                "weights (3,) and d_weights (1, 3): they must have the same shape",
            ),
            (["a"], [1.0], TypeError, "weights must hold real numbers, got dtype <U1"),
            ([1.0], [1j], TypeError, "d_weights must hold real numbers, got dtype complex128"),
            (
                [[1.0], [1.0, 2.0]],
                [1.0],
                ValueError,
                "weights is ragged: its rows must all have the same length",
            ),
        ],
    )
    def test_misuse_is_named(self, weights, d_weights, kind, message):
        with pytest.raises(kind, match=says(message)) as caught:
            softmax_vjp(weights, d_weights)
        assert caught.type is kind


def inputs(seed, *, Tq=5, Tk=7, d_k=3, d_v=2):
    """Query, key, value and d_output, every axis of another size."""
    shapes = [(Tq, d_k), (Tk, d_k), (Tk, d_v), (Tq, d_v)]
    return [oracle.numbers(seed * 10 + i, *shape) for i, shape in enumerate(shapes)]


def scales(query, key, value, d_output, factor):
    """The size of each gradient if nothing canceled: the formula on absolute values.

    A row of weights adds up to one, so that the largest d_weights bounds d_scores.
    """
    d_weights = (np.abs(d_output) @ np.abs(value).T).max(initial=0)
    queries = np.abs(query).max(initial=0) * len(query)
    return (
        2 * factor * d_weights * np.abs(key).max(initial=0),
        2 * factor * d_weights * queries,
        np.abs(d_output).sum(axis=0).max(initial=0),
    )


class TestScaledDotProductAttentionVjp:
    """Within 4 ε (1 + max|score|) of 50 digits, relative to the same sums without canceling."""

    @oracle.modest
    @given(
        st.integers(1, 5),
        st.integers(1, 5),
        st.integers(1, 3),
        st.integers(1, 3),
        st.sampled_from([1.0, 10.0, 100.0]),
        st.sampled_from([None, 0.0, -0.3, 1.0]),
        st.integers(0, 10**6),
    )
    def test_it_is_the_chain_rule_with_the_jacobian(self, Tq, Tk, d_k, d_v, size, scale, seed):
        arrays = inputs(seed, Tq=Tq, Tk=Tk, d_k=d_k, d_v=d_v)
        arrays[0] *= size
        bias = oracle.numbers(seed + 1, Tq, Tk)
        allowed = np.random.default_rng(seed).random((Tq, Tk)) < 0.7
        gradients = oracle.politely(
            scaled_dot_product_attention_vjp, *arrays, mask=allowed, bias=bias, scale=scale
        )
        exact = [oracle.exact(array) for array in arrays]
        expected = oracle.attention_gradients(
            *exact, scale=scale, bias=oracle.exact(bias), allowed=lambda i, j: allowed[i, j]
        )
        score = oracle.largest_score(exact[0], exact[1], scale) + np.abs(bias).max()
        factor = 1 / np.sqrt(d_k) if scale is None else abs(scale)
        for got, want, scale_ in zip(gradients, expected, scales(*arrays, factor), strict=True):
            assert oracle.error(got, want) <= 4 * EPS * (1 + score) * scale_

    @pytest.mark.parametrize("masked", [False, True])
    def test_it_is_the_central_difference(self, masked):
        arrays = inputs(1, Tq=3, Tk=4, d_k=2, d_v=3)
        bias = oracle.exact(oracle.numbers(2, 3, 4))
        options = {"allowed": oracle.causal if masked else oracle.everything, "bias": bias}
        *given, d_output = (oracle.exact(array) for array in arrays)
        expected = oracle.central_differences(
            lambda *qkv: oracle.attention(*qkv, **options), given, d_output
        )
        gradients = scaled_dot_product_attention_vjp(
            *arrays,
            mask=causal_mask(3, 4) if masked else None,
            bias=np.array(bias, dtype=np.float64),
        )
        score = oracle.largest_score(*given[:2]) + float(oracle.largest(bias))
        for got, want, scale in zip(
            gradients, expected, scales(*arrays, 1 / np.sqrt(2)), strict=True
        ):
            assert oracle.error(got, want) <= 4 * EPS * (1 + score) * scale

    def test_the_two_independent_answers_agree(self):
        arrays = [oracle.exact(array) for array in inputs(3, Tq=3, Tk=2)]
        by_rule = oracle.attention_gradients(*arrays, allowed=oracle.causal)
        by_differences = oracle.central_differences(
            lambda *qkv: oracle.attention(*qkv, allowed=oracle.causal), arrays[:3], arrays[3]
        )
        for one, other in zip(by_rule, by_differences, strict=True):
            for row, other_row in zip(one, other, strict=True):
                for a, b in zip(row, other_row, strict=True):
                    assert abs(a - b) < mp50.mpf(10) ** -25

    def test_hand_computed(self):
        # Weights 1/4 and 3/4; dA = (16, 0), its mean 4; dS = (3, −3).
        d_query, d_key, d_value = scaled_dot_product_attention_vjp(
            [[1.0]], [[0.0], [np.log(3)]], [[16.0], [0.0]], [[1.0]]
        )
        np.testing.assert_allclose(d_query, [[-3 * np.log(3)]], rtol=1e-15)
        np.testing.assert_allclose(d_key, [[3.0], [-3.0]], rtol=1e-15)
        np.testing.assert_allclose(d_value, [[0.25], [0.75]], rtol=1e-15)

    def test_without_projections_the_softmax_step_is_softmax_vjp(self):
        query, key, value, d_output = inputs(4)
        mask = causal_mask(5, 7, offset=1)
        weights = attention_weights(query @ key.T, mask=mask)
        d_scores = softmax_vjp(weights, d_output @ value.T)
        d_query, d_key, d_value = scaled_dot_product_attention_vjp(
            query, key, value, d_output, mask=mask, scale=1
        )
        np.testing.assert_allclose(d_query, d_scores @ key, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(d_key, d_scores.T @ query, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(d_value, weights.T @ d_output, rtol=1e-13, atol=1e-14)

    @pytest.mark.parametrize(
        "leading",
        [
            [(2, 3), (2, 3), (2, 3)],
            [(2, 3), (3,), (1, 3)],
            [(), (2, 1), (3,)],
            [(1, 3), (2, 1), ()],
            [(2, 1), (), (2, 3)],
            [(1,), (1, 1), (2, 3)],
        ],
    )
    def test_gradients_of_what_was_broadcast_are_added_up(self, leading):
        shapes = [(5, 3), (7, 3), (7, 2)]
        arrays = [
            oracle.numbers(50 + i, *lead, *shape)
            for i, (lead, shape) in enumerate(zip(leading, shapes, strict=True))
        ]
        d_output = oracle.numbers(59, 2, 3, 5, 2)
        mask = np.random.default_rng(58).random((5, 7)) < 0.7
        gradients = oracle.politely(scaled_dot_product_attention_vjp, *arrays, d_output, mask=mask)
        expected = [np.zeros((2, 3, *shape)) for shape in shapes]
        wide = [
            np.broadcast_to(array, (2, 3, *shape))
            for array, shape in zip(arrays, shapes, strict=True)
        ]
        for index in np.ndindex(2, 3):
            one = oracle.attention_gradients(
                *(oracle.exact(array[index]) for array in (*wide, d_output)),
                allowed=lambda i, j: mask[i, j],
            )
            for total, gradient in zip(expected, one, strict=True):
                total[index] = [[float(a) for a in row] for row in gradient]
        for got, total, array, lead in zip(gradients, expected, arrays, leading, strict=True):
            assert got.shape == array.shape
            full = (1,) * (2 - len(lead)) + lead
            for axis in (0, 1):
                if full[axis] == 1:
                    total = total.sum(axis=axis, keepdims=True)
            np.testing.assert_allclose(got, total.reshape(array.shape), rtol=1e-12, atol=1e-13)

    def test_a_mask_and_a_bias_with_leading_axes(self):
        arrays = [np.stack([a, b, c]) for a, b, c in zip(*map(inputs, (6, 7, 8)), strict=True)]
        mask = padding_mask([7, 3, 0], 7)  # (3, 1, 7)
        bias = oracle.numbers(69, 3, 5, 7)
        gradients = scaled_dot_product_attention_vjp(*arrays, mask=mask, bias=bias)
        for b, length in enumerate([7, 3, 0]):
            expected = oracle.attention_gradients(
                *(oracle.exact(array[b]) for array in arrays),
                allowed=lambda i, j, length=length: j < length,
                bias=oracle.exact(bias[b]),
            )
            for got, want in zip(gradients, expected, strict=True):
                assert oracle.error(got[b], want) <= 1e-14

    def test_a_query_with_nobody_to_attend_to_gets_zeros_and_gives_none(self):
        arrays = inputs(9)
        mask = np.ones((5, 7), bool)
        mask[2] = False
        d_query, d_key, d_value = oracle.politely(
            scaled_dot_product_attention_vjp, *arrays, mask=mask
        )
        np.testing.assert_array_equal(d_query[2], np.zeros(3))
        rest = [np.delete(array, 2, 0) if len(array) == 5 else array for array in arrays]
        without = scaled_dot_product_attention_vjp(*rest)
        np.testing.assert_allclose(np.delete(d_query, 2, 0), without[0], rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(d_key, without[1], rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(d_value, without[2], rtol=1e-13, atol=1e-15)

    def test_a_row_of_minus_infinity_gets_zeros(self):
        arrays = inputs(10)
        bias = np.zeros((5, 7))
        bias[3] = -np.inf
        d_query, d_key, d_value = oracle.politely(
            scaled_dot_product_attention_vjp, *arrays, bias=bias
        )
        np.testing.assert_array_equal(d_query[3], np.zeros(3))
        assert np.isfinite(d_key).all()
        assert np.isfinite(d_value).all()

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_what_is_masked_changes_nothing(self, bad):
        arrays = inputs(11)
        mask = np.ones((5, 7), bool)
        mask[:, 4] = False  # nobody sees key 4
        mask[1] = False  # query 1 sees nobody
        clean = scaled_dot_product_attention_vjp(*arrays, mask=mask)
        query, key, value, d_output = arrays
        key[4, 1] = value[4] = query[1, 0] = d_output[1, 1] = bad
        bias = np.zeros((5, 7))
        bias[~mask] = bad
        dirty = oracle.politely(
            scaled_dot_product_attention_vjp, query, key, value, d_output, mask=mask, bias=bias
        )
        for got, want in zip(dirty, clean, strict=True):
            np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(dirty[0][1], np.zeros(3))
        np.testing.assert_array_equal(dirty[1][4], np.zeros(3))
        np.testing.assert_array_equal(dirty[2][4], np.zeros(2))

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_a_bad_query_shows_in_its_gradient_and_in_those_of_the_keys_it_sees(self, bad):
        arrays = inputs(12, Tq=5, Tk=5)
        arrays[0][2, 1] = bad
        d_query, d_key, d_value = oracle.politely(
            scaled_dot_product_attention_vjp, *arrays, mask=causal_mask(5)
        )
        assert np.isnan(d_query[2]).all()
        assert np.isfinite(np.delete(d_query, 2, 0)).all()
        for gradient in (d_key, d_value):
            assert np.isnan(gradient[:3]).all()
            assert np.isfinite(gradient[3:]).all()

    @pytest.mark.parametrize("which", [1, 2])
    def test_a_nan_in_a_key_or_value_shows_in_the_queries_that_see_it(self, which):
        arrays = inputs(13, Tq=5, Tk=5)
        arrays[which][3, 1] = np.nan
        d_query, d_key, d_value = oracle.politely(
            scaled_dot_product_attention_vjp, *arrays, mask=causal_mask(5)
        )
        assert np.isfinite(d_query[:3]).all()
        assert np.isnan(d_query[3:]).all()
        assert np.isnan(d_key).all()  # queries 3 and 4 see every key
        assert np.isnan(d_value).all() == (which == 1)

    def test_a_nan_in_d_output_shows_in_the_keys_that_its_query_sees(self):
        arrays = inputs(14, Tq=5, Tk=5)
        arrays[3][1] = np.nan
        d_query, d_key, d_value = oracle.politely(
            scaled_dot_product_attention_vjp, *arrays, mask=causal_mask(5)
        )
        assert np.isnan(d_query[1]).all()
        assert np.isfinite(np.delete(d_query, 1, 0)).all()
        for gradient in (d_key, d_value):
            assert np.isnan(gradient[:2]).all()
            assert np.isfinite(gradient[2:]).all()

    def test_a_nan_shows_even_where_the_weight_rounds_to_zero(self):
        # As in the output: what is not masked is not hidden.
        arrays = [np.array([[1.0]]), np.array([[0.0], [-1e4]]), np.array([[1.0], [np.nan]])]
        assert np.isnan(scaled_dot_product_attention(*arrays)).all()
        d_query, d_key, _ = scaled_dot_product_attention_vjp(*arrays, [[1.0]])
        assert np.isnan(d_query).all()
        assert np.isnan(d_key).all()

    @pytest.mark.parametrize("Tq, Tk, d_k, d_v", [(0, 7, 3, 2), (5, 0, 3, 2), (5, 7, 3, 0)])
    def test_empty_axes_give_zeros(self, Tq, Tk, d_k, d_v):
        arrays = inputs(15, Tq=Tq, Tk=Tk, d_k=d_k, d_v=d_v)
        gradients = oracle.politely(scaled_dot_product_attention_vjp, *arrays)
        for got, array in zip(gradients, arrays, strict=False):
            np.testing.assert_array_equal(got, np.zeros(array.shape), strict=True)

    def test_an_empty_batch_gives_zeros_to_what_was_broadcast(self):
        _, key, value, _ = inputs(16)
        gradients = scaled_dot_product_attention_vjp(
            np.ones((0, 5, 3)), key, value, np.ones((0, 5, 2))
        )
        assert [g.shape for g in gradients] == [(0, 5, 3), (7, 3), (7, 2)]
        np.testing.assert_array_equal(gradients[1], np.zeros((7, 3)))

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_the_dtype_stays_and_16_bits_are_computed_in_32(self, dtype):
        arrays = [array.astype(dtype) for array in inputs(17)]
        gradients = scaled_dot_product_attention_vjp(*arrays)
        exact = scaled_dot_product_attention_vjp(*(a.astype(np.float64) for a in arrays))
        eps = float(ml_dtypes.finfo(dtype).eps)
        for got, want in zip(gradients, exact, strict=True):
            assert got.dtype == dtype
            np.testing.assert_allclose(
                got.astype(np.float64), want, rtol=eps, atol=100 * max(EPS, min(eps, 2.0**-23))
            )

    @pytest.mark.parametrize("which", range(4))
    def test_the_widest_dtype_wins(self, which):
        arrays = [array.astype(np.float32) for array in inputs(18)]
        arrays[which] = arrays[which].astype(np.float64)
        narrow = scaled_dot_product_attention_vjp(*arrays)
        wide = scaled_dot_product_attention_vjp(*(a.astype(np.float64) for a in arrays))
        for got, want in zip(narrow, wide, strict=True):
            np.testing.assert_array_equal(got, want, strict=True)

    def test_a_wide_bias_makes_the_gradients_wide(self):
        arrays = [array.astype(np.float32) for array in inputs(19)]
        gradients = scaled_dot_product_attention_vjp(*arrays, bias=np.zeros((5, 7)))
        assert {gradient.dtype for gradient in gradients} == {np.dtype(np.float64)}

    @pytest.mark.parametrize(
        "change, options, kind, message",
        [
            (
                {3: (5, 3)},
                {},
                ValueError,
                "d_output (5, 3) and output (5, 2): they must have the same shape",
            ),
            (
                {0: (4, 5, 3)},
                {},
                ValueError,
                "d_output (5, 2) and output (4, 5, 2): they must have the same shape",
            ),
            (
                {3: (1, 5, 2)},
                {},
                ValueError,
                "d_output (1, 5, 2) and output (5, 2): they must have the same shape",
            ),
            ({3: (2,)}, {}, ValueError, "d_output (2,): it must have the axes (..., Tq, d_v)"),
            (
                {1: (7, 4)},
                {},
                ValueError,
                "query (5, 3) and key (7, 4): they must have the same width d_k, got 3 and 4",
            ),
            (
                {2: (6, 2)},
                {},
                ValueError,
                "key (7, 3) and value (6, 2): they must have the same length, got 7 and 6",
            ),
            (
                {},
                {"mask": np.ones((5, 7), int)},
                TypeError,
                "mask must be boolean (True = this query may attend to this key), got dtype "
                "int64; numbers to add to the scores are a bias",
            ),
            (
                {},
                {"bias": np.ones((5, 7), bool)},
                TypeError,
                "bias must be floating, got dtype bool; to say which key a query may attend to, "
                "pass a boolean mask",
            ),
            ({}, {"scale": np.nan}, ValueError, "scale must be finite, got nan"),
            ({}, {"scale": "1"}, TypeError, "scale must be a real number, got str"),
            (
                {0: (5, 0), 1: (7, 0)},
                {},
                ValueError,
                "scale: 1/√d_k is undefined for d_k = 0; pass a scale",
            ),
        ],
    )
    def test_misuse_is_named(self, change, options, kind, message):
        arrays = inputs(20)
        for i, shape in change.items():
            arrays[i] = np.ones(shape)
        with pytest.raises(kind, match=says(message)) as caught:
            scaled_dot_product_attention_vjp(*arrays, **options)
        assert caught.type is kind


def sequence(seed, *leading, T=5, d_model=3, d_k=2, d_v=4):
    """A sequence, its projections, and d_output."""
    shapes = [(*leading, T, d_model), (d_model, d_k), (d_model, d_k), (d_model, d_v)]
    shapes.append((*leading, T, d_v))
    return [oracle.numbers(seed * 10 + i, *shape) for i, shape in enumerate(shapes)]


def attend(x, w_query, w_key, w_value, **options):
    return oracle.attention(*(oracle.product(x, w) for w in (w_query, w_key, w_value)), **options)


def sizes(x, w_query, w_key, w_value, d_output, scale=None):
    """The largest score and the size of each gradient if nothing canceled."""
    x, w_query, w_key, w_value = (np.abs(array) for array in (x, w_query, w_key, w_value))
    factor = 1 / np.sqrt(w_query.shape[1]) if scale is None else abs(scale)
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    roles = scales(query, key, value, d_output, factor)
    d_x = sum(
        d * w.sum(axis=1).max() for d, w in zip(roles, (w_query, w_key, w_value), strict=True)
    )
    return factor * (query @ key.T).max(), (d_x, *(x.sum(axis=0).max() * d for d in roles))


class TestSelfAttentionVjp:
    """Within 4 ε (1 + max|score|) of 50 digits, both relative to the sums without canceling."""

    @pytest.mark.parametrize("allowed", [oracle.everything, oracle.causal])
    @pytest.mark.parametrize("scale", [None, 0.4])
    def test_it_is_the_central_difference(self, allowed, scale):
        arrays = sequence(1)
        mask = None if allowed is oracle.everything else causal_mask(5)
        gradients = oracle.politely(self_attention_vjp, *arrays, mask=mask, scale=scale)
        *given, d_output = (oracle.exact(array) for array in arrays)
        expected = oracle.central_differences(
            lambda *args: attend(*args, allowed=allowed, scale=scale), given, d_output
        )
        score, limits = sizes(*arrays, scale=scale)
        for got, want, limit in zip(gradients, expected, limits, strict=True):
            assert oracle.error(got, want) <= 4 * EPS * (1 + score) * limit

    @pytest.mark.parametrize("sharpness", [0.1, 1.0, 10.0, 100.0])
    def test_it_is_the_chain_rule_over_the_three_roles(self, sharpness):
        arrays = sequence(2)
        arrays[1] *= sharpness
        x, w_query, w_key, w_value, d_output = (oracle.exact(array) for array in arrays)
        roles = [oracle.product(x, w) for w in (w_query, w_key, w_value)]
        d_roles = oracle.attention_gradients(*roles, d_output)
        gradients = self_attention_vjp(*arrays)
        parts = [
            oracle.product(d, oracle.transpose(w))
            for d, w in zip(d_roles, (w_query, w_key, w_value), strict=True)
        ]
        d_x = oracle.add(oracle.add(parts[0], parts[1]), parts[2])
        expected = [d_x, *(oracle.product(oracle.transpose(x), d) for d in d_roles)]
        score, limits = sizes(*arrays)
        for got, want, limit in zip(gradients, expected, limits, strict=True):
            assert oracle.error(got, want) <= 4 * EPS * (1 + score) * limit

    def test_hand_computed(self):
        # A position alone attends to itself: the output is 2 · 3.
        d_x, d_w_query, d_w_key, d_w_value = self_attention_vjp(
            [[2.0]], [[5.0]], [[7.0]], [[3.0]], [[1.0]]
        )
        assert (d_x, d_w_query, d_w_key, d_w_value) == (3.0, 0.0, 0.0, 2.0)

    def test_it_predicts_how_the_output_moves(self):
        arrays = sequence(3)
        *given, d_output = arrays
        gradients = self_attention_vjp(*arrays)
        steps = [oracle.numbers(30 + i, *array.shape) for i, array in enumerate(given)]
        size = 2.0**-17
        above = self_attention(*(a + size * s for a, s in zip(given, steps, strict=True)))
        below = self_attention(*(a - size * s for a, s in zip(given, steps, strict=True)))
        moved = (d_output * (above - below)).sum() / (2 * size)
        predicted = sum((g * s).sum() for g, s in zip(gradients, steps, strict=True))
        assert abs(moved - predicted) < 1e-8 * max(1, abs(predicted))

    def test_projections_collect_from_every_sequence(self):
        arrays = sequence(4, 2, 3)
        gradients = oracle.politely(self_attention_vjp, *arrays, mask=causal_mask(5))
        total = [np.zeros(w.shape) for w in arrays[1:4]]
        for index in np.ndindex(2, 3):
            d_x, *d_w = self_attention_vjp(
                arrays[0][index], *arrays[1:4], arrays[4][index], mask=causal_mask(5)
            )
            np.testing.assert_allclose(gradients[0][index], d_x, rtol=1e-12, atol=1e-13)
            for sum_, one in zip(total, d_w, strict=True):
                sum_ += one
        for got, want in zip(gradients[1:], total, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)

    def test_a_mask_for_each_sequence(self):
        arrays = sequence(5, 2)
        mask = padding_mask([5, 3], 5)
        d_x, *_ = self_attention_vjp(*arrays, mask=mask)
        for b in range(2):
            alone, *_ = self_attention_vjp(arrays[0][b], *arrays[1:4], arrays[4][b], mask=mask[b])
            np.testing.assert_allclose(d_x[b], alone, rtol=1e-12, atol=1e-13)

    def test_a_position_that_takes_no_part_changes_nothing(self):
        arrays = sequence(6)
        mask = np.ones((5, 5), bool)
        mask[2] = mask[:, 2] = False
        without = [np.delete(a, 2, 0) if len(a) == 5 else a for a in arrays]
        expected = self_attention_vjp(*without)
        for bad in (1.0, np.nan, np.inf):
            arrays[0][2] = arrays[4][2] = bad
            d_x, *d_w = oracle.politely(self_attention_vjp, *arrays, mask=mask)
            np.testing.assert_array_equal(d_x[2], np.zeros(3))
            np.testing.assert_allclose(np.delete(d_x, 2, 0), expected[0], rtol=1e-12, atol=1e-13)
            for got, want in zip(d_w, expected[1:], strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)

    def test_a_position_that_only_asks_or_is_only_asked_still_counts(self):
        arrays = sequence(7)
        mask = np.ones((5, 5), bool)
        mask[1] = False  # position 1 is only asked
        mask[:, 3] = False  # position 3 only asks
        *given, d_output = (oracle.exact(array) for array in arrays)
        expected = oracle.central_differences(
            lambda *args: attend(*args, allowed=lambda i, j: mask[i, j]), given, d_output
        )
        for got, want in zip(self_attention_vjp(*arrays, mask=mask), expected, strict=True):
            assert oracle.error(got, want) <= 1e-13

    def test_nobody_to_attend_to_anywhere_gives_zeros(self):
        arrays = sequence(8)
        for gradient in oracle.politely(self_attention_vjp, *arrays, mask=np.zeros((5, 5), bool)):
            assert not gradient.any()

    def test_an_empty_sequence_gives_zeros(self):
        arrays = sequence(9, T=0)
        for got, array in zip(oracle.politely(self_attention_vjp, *arrays), arrays, strict=False):
            np.testing.assert_array_equal(got, np.zeros(array.shape), strict=True)

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_the_dtype_stays_and_16_bits_are_computed_in_32(self, dtype):
        arrays = [array.astype(dtype) for array in sequence(10)]
        gradients = self_attention_vjp(*arrays)
        exact = self_attention_vjp(*(a.astype(np.float64) for a in arrays))
        eps = float(ml_dtypes.finfo(dtype).eps)
        for got, want in zip(gradients, exact, strict=True):
            assert got.dtype == dtype
            np.testing.assert_allclose(
                got.astype(np.float64), want, rtol=eps, atol=100 * max(EPS, min(eps, 2.0**-23))
            )

    @pytest.mark.parametrize("which", range(5))
    def test_the_widest_dtype_wins(self, which):
        arrays = [array.astype(np.float32) for array in sequence(11)]
        arrays[which] = arrays[which].astype(np.float64)
        wide = self_attention_vjp(*(a.astype(np.float64) for a in arrays))
        for got, want in zip(self_attention_vjp(*arrays), wide, strict=True):
            np.testing.assert_array_equal(got, want, strict=True)

    @pytest.mark.parametrize(
        "change, options, kind, message",
        [
            (
                {1: (4, 2)},
                {},
                ValueError,
                "x (5, 3) and w_query (4, 2): they must have the same width d_model, got 3 and 4",
            ),
            (
                {2: (3, 3)},
                {},
                ValueError,
                "w_query (3, 2) and w_key (3, 3): they must have the same width d_k, got 2 and 3",
            ),
            (
                {3: (2, 3, 4)},
                {},
                ValueError,
                "w_value (2, 3, 4): it must be a matrix, (d_model, d)",
            ),
            (
                {4: (5, 3)},
                {},
                ValueError,
                "d_output (5, 3) and output (5, 4): they must have the same shape",
            ),
            ({4: (4,)}, {}, ValueError, "d_output (4,): it must have the axes (..., T, d_v)"),
            (
                {},
                {"mask": np.ones((4, 5), bool)},
                ValueError,
                "mask (4, 5) and scores (5, 5): each axis of mask, counted from the last, must be "
                "equal to that of the scores, or 1",
            ),
            (
                {},
                {"mask": np.ones((5, 5))},
                TypeError,
                "mask must be boolean (True = this query may attend to this key), got dtype "
                "float64; numbers to add to the scores are a bias",
            ),
            ({}, {"scale": np.inf}, ValueError, "scale must be finite, got inf"),
        ],
    )
    def test_misuse_is_named(self, change, options, kind, message):
        arrays = sequence(12)
        for i, shape in change.items():
            arrays[i] = np.ones(shape)
        with pytest.raises(kind, match=says(message)) as caught:
            self_attention_vjp(*arrays, **options)
        assert caught.type is kind

    def test_it_is_exported(self):
        names = {"softmax_vjp", "scaled_dot_product_attention_vjp", "self_attention_vjp"}
        assert names <= set(selfattn_ref.__all__)


class TestCapAndBias:
    @pytest.mark.parametrize("masked", [False, True])
    @pytest.mark.parametrize("soft_cap", [None, 0.5, 3.0])
    def test_all_four_gradients_are_the_central_differences(self, soft_cap, masked):
        arrays = inputs(1, Tq=3, Tk=4, d_k=2, d_v=3)
        bias = oracle.numbers(2, 3, 4)
        *given, d_output = (oracle.exact(array) for array in arrays)
        allowed = oracle.causal if masked else oracle.everything
        expected = oracle.central_differences(
            lambda query, key, value, bias: oracle.attention(
                query, key, value, bias=bias, allowed=allowed, soft_cap=soft_cap
            ),
            [*given, oracle.exact(bias)],
            d_output,
        )
        found = scaled_dot_product_attention_vjp(
            *arrays, bias=bias, soft_cap=soft_cap, causal=masked
        )
        for got, want in zip((*found, found.d_bias), expected, strict=True):
            assert oracle.error(got, want) <= 1e-14

    @pytest.mark.parametrize("shape", [(), (7,), (5, 1), (1, 7), (2, 1, 1), (2, 5, 7)])
    def test_the_gradient_of_a_bias_has_its_shape(self, shape):
        arrays = [np.stack([a, b]) for a, b in zip(inputs(1), inputs(2), strict=True)]
        bias = oracle.numbers(3, *shape)
        full = scaled_dot_product_attention_vjp(
            *arrays, bias=np.broadcast_to(bias, (2, 5, 7)), causal=True
        ).d_bias
        found = scaled_dot_product_attention_vjp(*arrays, bias=bias, causal=True).d_bias
        kept = (1,) * (3 - len(shape)) + shape
        axes = tuple(axis for axis in range(3) if kept[axis] == 1)
        expected = full.sum(axis=axes, keepdims=True).reshape(shape)
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)

    def test_results_have_names(self):
        arrays = inputs(4)
        gradients = scaled_dot_product_attention_vjp(*arrays)
        assert gradients._fields == ("d_query", "d_key", "d_value")
        assert gradients.d_bias is None
        assert gradients.d_key is gradients[1]
        x, *projections, d_output = sequence(1)
        found = self_attention_vjp(x, *projections, d_output, bias=np.zeros((5, 5)))
        assert found._fields == ("d_x", "d_w_query", "d_w_key", "d_w_value")
        assert found.d_bias.shape == (5, 5)
        copied = pickle.loads(pickle.dumps(found))
        np.testing.assert_array_equal(copied.d_bias, found.d_bias)

    def test_a_slope_that_is_not_a_number_stays_behind_the_mask(self):
        arrays = inputs(5)
        mask = np.ones((5, 7), bool)
        mask[:, 3] = False
        clean = scaled_dot_product_attention_vjp(*arrays, mask=mask, soft_cap=2)
        arrays[1][3] = np.nan
        found = scaled_dot_product_attention_vjp(*arrays, mask=mask, soft_cap=2)
        for got, want in zip(found, clean, strict=True):
            np.testing.assert_array_equal(got, want)

    @pytest.mark.parametrize("options", [{"soft_cap": 0.7}, {"causal": True, "offset": 1}])
    def test_self_attention_goes_back_through_them(self, options):
        x, w_query, w_key, w_value, d_output = sequence(2)
        bias = oracle.numbers(3, 5, 5)
        found = self_attention_vjp(x, w_query, w_key, w_value, d_output, bias=bias, **options)
        offset = options.get("offset", 5)
        expected = oracle.central_differences(
            lambda x, a, b, c, bias: oracle.attention(
                oracle.product(x, a),
                oracle.product(x, b),
                oracle.product(x, c),
                bias=bias,
                allowed=lambda i, j: j <= i + offset,
                soft_cap=options.get("soft_cap"),
            ),
            [oracle.exact(array) for array in (x, w_query, w_key, w_value, bias)],
            oracle.exact(d_output),
        )
        for got, want in zip((*found, found.d_bias), expected, strict=True):
            assert oracle.error(got, want) <= 2e-14
