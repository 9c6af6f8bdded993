"""Gradients: against central differences and explicit Jacobians, both with 50 digits."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_ref import (
    padding_mask,
    scaled_dot_product_attention,
    scaled_dot_product_attention_vjp,
    self_attention_vjp,
    softmax,
    softmax_vjp,
)
from tests.support import digits
from tests.support.arrays import close, epsilon, normal, normals, some

EPS = 2.0**-52
SEEDS = st.integers(0, 10**6)


def within(gradients, expected, limits):
    """Require each gradient to differ from 50 digits by no more than its limit."""
    for got, want, limit in zip(gradients, expected, limits, strict=True):
        assert digits.error(got, want) <= limit


class TestSoftmaxVjp:
    """Within 4 ε of 50 digits, relative to the largest d_weights."""

    @given(
        st.integers(1, 7),
        st.sampled_from([0.0, 1.0, 30.0]),
        st.sampled_from([np.float32, np.float64, np.longdouble]),
        SEEDS,
    )
    def test_it_is_the_product_with_the_jacobian(self, n, sharpness, dtype, seed):
        scores, d_weights = normal(2, n, seed=seed, dtype=dtype)
        weights = softmax(dtype(sharpness) * scores)
        d_scores = softmax_vjp(weights, d_weights)
        expected = digits.softmax_jacobian_product(digits.exact(weights), digits.exact(d_weights))
        assert digits.error(d_scores, expected) <= 4 * epsilon(dtype) * np.abs(d_weights).max()

    def test_hand_computed(self):
        # p = (1/4, 3/4), d = (8, 4): the mean is 5, so (1/4)(3), (3/4)(−1).
        np.testing.assert_array_equal(softmax_vjp([0.25, 0.75], [8.0, 4.0]), [0.75, -0.75])

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_what_stands_at_a_weight_of_zero_changes_nothing(self, bad):
        weights = [[0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]
        d_scores = softmax_vjp(weights, [[1.0, bad, 3.0], [bad, bad, bad]])
        np.testing.assert_array_equal(d_scores, [[-0.5, 0.0, 0.5], [0.0, 0.0, 0.0]])

    def test_a_nan_elsewhere_shows_in_its_row_only(self):
        weights = [[0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]
        d_scores = softmax_vjp(weights, [[np.nan, 1.0, 1.0], [1.0, 2.0, 3.0]])
        np.testing.assert_array_equal(np.isnan(d_scores[0]), [True, False, True])
        np.testing.assert_array_equal(d_scores[1], [-0.25, 0.25, 0.0])


def inputs(seed=0, *lead, Tq=5, Tk=7, d_k=3, d_v=2):
    """Return query, key, value and d_output, every axis of another size."""
    shapes = [(Tq, d_k), (Tk, d_k), (Tk, d_v), (Tq, d_v)]
    return normals(*((*lead, *shape) for shape in shapes), seed=seed)


def scales(query, key, value, d_output, factor):
    """Return the size of each gradient if nothing canceled: the formula on absolute values.

    A row of weights adds up to one, so that the largest d_weights bounds d_scores.
    """
    d_weights = (np.abs(d_output) @ np.abs(value).T).max(initial=0)
    return (
        2 * factor * d_weights * np.abs(key).max(initial=0),
        2 * factor * d_weights * np.abs(query).max(initial=0) * len(query),
        np.abs(d_output).sum(axis=0).max(initial=0),
    )


def bad_rows(gradient):
    """Return which rows are not numbers, as a whole; the others have to be finite."""
    np.testing.assert_array_equal(np.isnan(gradient).any(axis=-1), ~np.isfinite(gradient).all(-1))
    return np.flatnonzero(np.isnan(gradient).all(axis=-1)).tolist()


class TestScaledDotProductAttentionVjp:
    """Within 4 ε (1 + max|score|) of 50 digits, relative to the same sums without canceling."""

    @given(
        *[st.integers(1, 5)] * 2,
        *[st.integers(1, 3)] * 2,
        st.sampled_from([1.0, 10.0, 100.0]),
        st.sampled_from([None, 0.0, -0.3, 1.0]),
        SEEDS,
    )
    def test_it_is_the_chain_rule_with_the_jacobian(self, Tq, Tk, d_k, d_v, size, scale, seed):
        arrays = inputs(seed, Tq=Tq, Tk=Tk, d_k=d_k, d_v=d_v)
        arrays[0] *= size
        options = {"mask": some(Tq, Tk, seed=seed), "bias": normal(Tq, Tk), "scale": scale}
        factor = 1 / np.sqrt(d_k) if scale is None else abs(scale)
        score = factor * np.abs(arrays[0] @ arrays[1].T).max() + np.abs(options["bias"]).max()
        limits = [4 * EPS * (1 + score) * size for size in scales(*arrays, factor)]
        expected = digits.attention_gradients(*arrays, **options)
        within(scaled_dot_product_attention_vjp(*arrays, **options), expected, limits)

    def test_a_cap_that_scores_have_reached_keeps_the_digits_of_its_slope(self):
        # The scores 20 and −20 are capped to ±tanh 20, which is ±1 in floats: 1 − tanh² would be 0.
        arrays = [[20.0]], [[1.0], [-1.0]], [[1.0], [0.0]], [[1.0]]
        found = scaled_dot_product_attention_vjp(*arrays, scale=1, soft_cap=1.0)
        mp = digits.mp50
        weight = 1 / (1 + mp.exp(-2 * mp.tanh(20)))
        d_score = weight * (1 - weight) / mp.cosh(20) ** 2
        expected = [2 * d_score], [20 * d_score, -20 * d_score]
        for got, want in zip(found[:2], expected, strict=True):
            np.testing.assert_allclose(got[:, 0], np.array(want, float), rtol=16 * EPS, atol=0)

    @pytest.mark.parametrize("masked", [False, True])
    @pytest.mark.parametrize("soft_cap", [None, 0.5, 3.0])
    def test_all_four_gradients_are_the_central_differences(self, soft_cap, masked):
        arrays, bias = inputs(Tq=3, Tk=4, d_k=2, d_v=3), normal(3, 4, seed=9)
        options = {"mask": np.tri(3, 4, dtype=bool) if masked else None, "soft_cap": soft_cap}
        expected = digits.central_differences(
            lambda *roles: digits.attention(*roles[:3], bias=roles[3], **options),
            [*arrays[:3], bias],
            arrays[3],
        )
        found = scaled_dot_product_attention_vjp(
            *arrays, bias=bias, soft_cap=soft_cap, causal=masked
        )
        within([*found, found.d_bias], expected, [1e-14] * 4)

    def test_hand_computed(self):
        # Weights 1/4 and 3/4; dA = (16, 0), its mean 4; dS = (3, −3).
        d_query, d_key, d_value = scaled_dot_product_attention_vjp(
            [[1.0]], [[0.0], [np.log(3)]], [[16.0], [0.0]], [[1.0]]
        )
        np.testing.assert_allclose(d_query, [[-3 * np.log(3)]], rtol=1e-15)
        np.testing.assert_allclose(d_key, [[3.0], [-3.0]], rtol=1e-15)
        np.testing.assert_allclose(d_value, [[0.25], [0.75]], rtol=1e-15)

    def test_longdouble_has_its_own_digits(self):
        arrays = [array.astype(np.longdouble) / 3 for array in inputs()]
        expected = digits.attention_gradients(*arrays)
        limits = [64 * epsilon(np.longdouble)] * 3
        within(scaled_dot_product_attention_vjp(*arrays), expected, limits)

    def test_a_mask_and_a_bias_with_leading_axes(self):
        arrays, bias = inputs(0, 3), normal(3, 5, 7, seed=9)
        mask = padding_mask([7, 3, 0], 7)  # (3, 1, 7)
        gradients = scaled_dot_product_attention_vjp(*arrays, mask=mask, bias=bias)
        for b in range(3):
            expected = digits.attention_gradients(
                *(a[b] for a in arrays), mask=mask[b], bias=bias[b]
            )
            within([gradient[b] for gradient in gradients], expected, [1e-14] * 3)

    @pytest.mark.parametrize("shape", [(), (7,), (5, 1), (1, 7), (2, 1, 1), (2, 5, 7)])
    def test_the_gradient_of_a_bias_has_its_shape(self, shape):
        arrays, bias = inputs(0, 2), normal(*shape, seed=9)
        full = scaled_dot_product_attention_vjp(
            *arrays, bias=np.broadcast_to(bias, (2, 5, 7)), causal=True
        ).d_bias
        kept = (1,) * (3 - len(shape)) + shape
        axes = tuple(axis for axis in range(3) if kept[axis] == 1)
        found = scaled_dot_product_attention_vjp(*arrays, bias=bias, causal=True).d_bias
        close(found, full.sum(axis=axes).reshape(shape), 1e-13)

    def test_a_row_of_minus_infinity_gets_zeros(self):
        bias = np.zeros((5, 7))
        bias[3] = -np.inf
        found = scaled_dot_product_attention_vjp(*inputs(), bias=bias)
        np.testing.assert_array_equal(found.d_query[3], np.zeros(3))
        assert all(np.isfinite(gradient).all() for gradient in found)

    @pytest.mark.parametrize(
        "which, place, spoiled",
        [
            # Under a causal mask, query i sees the keys up to i.
            (0, (2, 1), ([2], [0, 1, 2], [0, 1, 2])),
            (1, (3, 1), ([3, 4], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4])),
            (2, (3, 1), ([3, 4], [0, 1, 2, 3, 4], [])),
            (3, (1,), ([1], [0, 1], [0, 1])),
        ],
    )
    def test_a_nan_shows_where_it_may_be_seen_and_nowhere_else(self, which, place, spoiled):
        arrays = inputs(Tq=5, Tk=5)
        arrays[which][place] = np.nan
        gradients = scaled_dot_product_attention_vjp(*arrays, causal=True)
        assert tuple(bad_rows(gradient) for gradient in gradients) == spoiled

    def test_a_nan_shows_even_where_the_weight_rounds_to_zero(self):
        # As in the output: what is not masked is not hidden.
        arrays = [np.array([[1.0]]), np.array([[0.0], [-1e4]]), np.array([[1.0], [np.nan]])]
        assert np.isnan(scaled_dot_product_attention(*arrays)).all()
        found = scaled_dot_product_attention_vjp(*arrays, [[1.0]])
        assert np.isnan(found.d_query).all()
        assert np.isnan(found.d_key).all()

    def test_an_empty_batch_gives_zeros_to_what_was_broadcast(self):
        _, key, value, _ = inputs()
        gradients = scaled_dot_product_attention_vjp(
            np.ones((0, 5, 3)), key, value, np.ones((0, 5, 2))
        )
        assert [g.shape for g in gradients] == [(0, 5, 3), (7, 3), (7, 2)]
        np.testing.assert_array_equal(gradients[1], np.zeros((7, 3)))

    def test_results_have_names(self):
        gradients = scaled_dot_product_attention_vjp(*inputs())
        assert gradients._fields == ("d_query", "d_key", "d_value")
        assert gradients.d_bias is None
        assert gradients.d_key is gradients[1]
        found = self_attention_vjp(*sequence(), bias=np.zeros((5, 5)))
        assert found._fields == ("d_x", "d_w_query", "d_w_key", "d_w_value")
        copied = pickle.loads(pickle.dumps(found))
        np.testing.assert_array_equal(copied.d_bias, found.d_bias)


def sequence(*leading):
    """Return a sequence, its projections, and d_output."""
    return normals((*leading, 5, 3), (3, 2), (3, 2), (3, 4), (*leading, 5, 4))


def attend(x, w_query, w_key, w_value, **options):
    """Return self-attention with 50 digits."""
    return digits.attention(*(digits.product(x, w) for w in (w_query, w_key, w_value)), **options)


def limits_of(x, w_query, w_key, w_value, d_output, scale=None):
    """Return 4 ε (1 + the largest score) times the size of each gradient if nothing canceled."""
    x, w_query, w_key, w_value = (np.abs(array) for array in (x, w_query, w_key, w_value))
    factor = 1 / np.sqrt(2) if scale is None else abs(scale)
    query, key, value = x @ w_query, x @ w_key, x @ w_value
    roles = scales(query, key, value, d_output, factor)
    projections = zip(roles, (w_query, w_key, w_value), strict=True)
    d_x = sum(d * w.sum(axis=1).max() for d, w in projections)
    unit = 4 * EPS * (1 + factor * (query @ key.T).max())
    return [unit * size for size in (d_x, *(x.sum(axis=0).max() * d for d in roles))]


class TestSelfAttentionVjp:
    """Within 4 ε (1 + max|score|) of 50 digits, both relative to the sums without canceling."""

    @pytest.mark.parametrize("masked", [False, True])
    @pytest.mark.parametrize("scale", [None, 0.4])
    def test_it_is_the_central_difference(self, masked, scale):
        arrays, mask = sequence(), np.tri(5, dtype=bool) if masked else None
        expected = digits.central_differences(
            lambda *args: attend(*args, mask=mask, scale=scale), arrays[:4], arrays[4]
        )
        found = self_attention_vjp(*arrays, mask=mask, scale=scale)
        within(found, expected, limits_of(*arrays, scale=scale))

    @pytest.mark.parametrize("sharpness", [0.1, 1.0, 10.0, 100.0])
    def test_it_is_the_chain_rule_over_the_three_roles(self, sharpness):
        arrays = sequence()
        arrays[1] *= sharpness
        x, *projections, d_output = (digits.exact(array) for array in arrays)
        roles = [digits.product(x, w) for w in projections]
        d_roles = digits.attention_gradients(*roles, d_output)
        parts = zip(d_roles, projections, strict=True)
        one, two, three = (digits.product(d, digits.transpose(w)) for d, w in parts)
        d_x = digits.add(digits.add(one, two), three)
        expected = [d_x, *(digits.product(digits.transpose(x), d) for d in d_roles)]
        within(self_attention_vjp(*arrays), expected, limits_of(*arrays))

    @pytest.mark.parametrize("options", [{"soft_cap": 0.7}, {"causal": True, "offset": 1}])
    def test_it_goes_back_through_a_cap_a_bias_and_causality(self, options):
        arrays, bias = sequence(), normal(5, 5, seed=9)
        plain = {"mask": np.tri(5, 5, options.get("offset", 5), bool)}
        plain |= {"soft_cap": options.get("soft_cap")}
        expected = digits.central_differences(
            lambda *args: attend(*args[:4], bias=args[4], **plain), [*arrays[:4], bias], arrays[4]
        )
        found = self_attention_vjp(*arrays, bias=bias, **options)
        within([*found, found.d_bias], expected, [2e-14] * 5)

    def test_hand_computed(self):
        # A position alone attends to itself: the output is 2 · 3.
        found = self_attention_vjp([[2.0]], [[5.0]], [[7.0]], [[3.0]], [[1.0]])
        assert found == (3.0, 0.0, 0.0, 2.0)

    def test_a_position_that_only_asks_or_is_only_asked_still_counts(self):
        arrays, mask = sequence(), np.ones((5, 5), bool)
        mask[1] = False  # position 1 is only asked
        mask[:, 3] = False  # position 3 only asks
        expected = digits.central_differences(
            lambda *args: attend(*args, mask=mask), arrays[:4], arrays[4]
        )
        within(self_attention_vjp(*arrays, mask=mask), expected, [1e-13] * 4)
