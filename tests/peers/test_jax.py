"""Beside JAX: its attention, and its derivatives of the formula.

Its attention computes the softmax in float32 even for float64, and is compared accordingly. Its
derivatives of the formula itself are exact to the last digits of float64.
"""

import ml_dtypes
import numpy as np
import pytest

import selfattn_ref as sa
from tests.peers import peer
from tests.peers.agreement import (
    D_K,
    D_V,
    TK,
    TQ,
    B,
    H,
    agree,
    attention_agrees,
    epsilon,
    gradients_agree,
    highest_score,
    inputs,
    normal,
    some_mask,
)
from tests.peers.calls import jax_attention

jax = peer("jax")
jnp = peer("jax.numpy")

WIDE = [np.float32, np.float64]
FLOATS = [np.float16, ml_dtypes.bfloat16, *WIDE]
SINGLE = epsilon(np.float32)


def compare(ours, theirs, arrays, **options):
    eps = max(SINGLE, epsilon(ours.dtype))
    attention_agrees("JAX", ours, theirs, arrays, eps=eps, **options)


def alike(dtype=np.float64, **sizes):
    """Return inputs that JAX takes: values as wide as keys."""
    return inputs(dtype, d_v=D_K, **sizes)


class TestScaledDotProductAttention:
    @pytest.mark.parametrize("dtype", FLOATS)
    @pytest.mark.parametrize("lead", [(H,), (B, H)])
    def test_agrees_in_every_type(self, lead, dtype):
        arrays = alike(dtype, lead=lead)
        compare(sa.scaled_dot_product_attention(*arrays), jax_attention(*arrays), arrays)

    @pytest.mark.parametrize(
        "queries, keys, width", [(1, 1, 1), (1, 17, 2), (17, 1, 3), (67, 41, 23)]
    )
    def test_agrees_in_other_shapes(self, queries, keys, width):
        arrays = inputs(np.float32, queries=queries, keys=keys, d_k=width, d_v=width, seed=5)
        compare(sa.scaled_dot_product_attention(*arrays), jax_attention(*arrays), arrays)

    @pytest.mark.parametrize(
        "shape",
        [
            *[(), (1,), (TK,), (TQ, 1), (1, TK), (TQ, TK), (1, TQ, TK), (H, 1, 1), (H, TQ, 1)],
            *[(B, H, TQ, TK), (B, 1, 1, TK), (1, H, 1, TK), (B, 1, TQ, TK)],
        ],
    )
    def test_masks_and_biases_of_every_broadcastable_shape(self, shape):
        arrays = alike(np.float32)
        mask = np.asarray(some_mask(*shape, seed=3))
        bias = np.asarray(3 * normal(*shape, seed=9), np.float32)
        for options in ({"mask": mask}, {"bias": bias}, {"mask": mask, "bias": bias}):
            ours = sa.scaled_dot_product_attention(*arrays, **options)
            compare(ours, jax_attention(*arrays, **options), arrays, bias=options.get("bias"))

    @pytest.mark.parametrize("queries, keys", [(TK, TK), (TQ, TK), (TK, TQ)])
    def test_causal_attention_starts_in_the_same_corner(self, queries, keys):
        arrays = alike(queries=queries, keys=keys)
        theirs = jax_attention(*arrays, causal=True)
        mask = sa.causal_mask(queries, keys)
        compare(sa.scaled_dot_product_attention(*arrays, mask=mask), theirs, arrays)
        compare(sa.streaming_attention(*arrays, causal=True, block_size=2), theirs, arrays)

    @pytest.mark.parametrize("scale", [0.0, 1.0, -0.7, 3.0])
    def test_scales_of_either_sign(self, scale):
        arrays = alike(np.float32)
        ours = sa.scaled_dot_product_attention(*arrays, scale=scale)
        compare(ours, jax_attention(*arrays, scale=scale), arrays, scale=scale)

    @pytest.mark.parametrize("left, right", [(0, 0), (2, 0), (0, 3), (1, 2)])
    def test_its_local_window_is_a_window_mask(self, left, right):
        arrays = alike(queries=TK)
        ours = sa.scaled_dot_product_attention(*arrays, mask=sa.window_mask(TK, TK, left, right))
        compare(ours, jax_attention(*arrays, local_window_size=(left, right)), arrays)

    def test_its_lengths_of_keys_are_a_padding_mask(self):
        arrays, lengths = alike(), np.array([TK - 2, 3], np.int32)
        mask = sa.padding_mask(lengths[:, np.newaxis], TK)  # (B, 1, 1, Tk)
        ours = sa.scaled_dot_product_attention(*arrays, mask=mask)
        compare(ours, jax_attention(*arrays, key_value_seq_lengths=lengths), arrays)

    def test_grouped_heads_share_the_same_keys(self):
        query, key, value = alike(lead=(B, 6))[0], *alike(lead=(B, 3), seed=4)[1:]
        ours = sa.scaled_dot_product_attention(
            query, sa.repeat_key_value_heads(key, 6), sa.repeat_key_value_heads(value, 6)
        )
        compare(ours, jax_attention(query, key, value), (query, key.repeat(2, 1), value))

    @pytest.mark.parametrize("causal", [False, True])
    @pytest.mark.parametrize("dtype", FLOATS)
    def test_streaming_agrees_where_it_takes_many_blocks(self, causal, dtype):
        arrays = inputs(dtype, lead=(2,), queries=401, keys=701, d_k=31, d_v=31)
        ours = sa.streaming_attention(*arrays, causal=causal, block_size=(127, 211))
        compare(ours, jax_attention(*arrays, causal=causal), arrays)

    def test_its_residual_is_our_log_sum_exp(self):
        query, key, value = alike(np.float32)
        ours = sa.attention_state(query, key, value, block_size=2).log_sum_exp  # (B, H, Tq)
        turned = (array.swapaxes(1, 2) for array in (query, key, value))
        _, theirs = jax.nn.dot_product_attention(*turned, return_residual=True)  # (B, Tq, H)
        theirs = np.asarray(theirs).swapaxes(1, 2)
        agree("JAX", "log_sum_exp", ours, theirs, eps=SINGLE, size=5)


def formula(mask=None, bias=None, scale=None):
    """Return attention as it is written in a paper, for JAX to differentiate."""

    def attend(query, key, value):
        factor = query.shape[-1] ** -0.5 if scale is None else scale  # a float, not a float64
        scores = factor * jnp.einsum("...id,...jd->...ij", query, key)
        scores = scores if bias is None else scores + bias
        weights = jax.nn.softmax(scores, where=mask)
        return jnp.einsum("...ij,...jc->...ic", weights, value)

    return attend


def gradients(call, arrays, d_output):
    return jax.vjp(call, *arrays)[1](jnp.asarray(d_output))


VJPS = [sa.scaled_dot_product_attention_vjp, sa.streaming_attention_vjp]


class TestGradients:
    def compare(self, vjp, arrays, **options):
        d_output = normal(B, H, arrays[0].shape[-2], D_V, seed=8, dtype=arrays[0].dtype)
        blocks = {"block_size": 2} if vjp is sa.streaming_attention_vjp else {}
        ours = vjp(*arrays, d_output, **options, **blocks)
        theirs = gradients(formula(**options), arrays, d_output)
        reach = 1 + highest_score(*arrays[:2], scale=options.get("scale"), bias=options.get("bias"))
        gradients_agree("JAX", ours, theirs, eps=epsilon(arrays[0].dtype), reach=reach)

    @pytest.mark.parametrize("vjp", VJPS)
    @pytest.mark.parametrize("dtype", WIDE)
    def test_agree_with_its_derivative_of_the_formula(self, vjp, dtype):
        self.compare(vjp, inputs(dtype))

    @pytest.mark.parametrize("vjp", VJPS)
    @pytest.mark.parametrize("dtype", WIDE)
    @pytest.mark.parametrize("shape", [(TQ, TK), (B, 1, 1, TK), (H, TQ, 1), (B, H, TQ, TK)])
    def test_agree_under_a_mask(self, vjp, dtype, shape):
        mask = np.broadcast_to(some_mask(*shape, seed=3), (B, H, TQ, TK))
        self.compare(vjp, inputs(dtype), mask=mask)

    @pytest.mark.parametrize("vjp", VJPS)
    @pytest.mark.parametrize("dtype", WIDE)
    def test_agree_with_a_bias_and_a_scale(self, vjp, dtype):
        self.compare(vjp, inputs(dtype), bias=normal(H, TQ, TK, seed=9, dtype=dtype), scale=-0.7)

    @pytest.mark.parametrize("vjp", VJPS)
    @pytest.mark.parametrize("causal", [False, True])
    def test_agree_with_the_derivative_of_its_attention(self, vjp, causal):
        query, key, _ = arrays = alike(queries=TK)
        d_output = normal(*query.shape, seed=8)

        def attend(q, k, v):
            q, k, v = (array.swapaxes(1, 2) for array in (q, k, v))
            return jax.nn.dot_product_attention(q, k, v, is_causal=causal).swapaxes(1, 2)

        ours = vjp(*arrays, d_output, mask=sa.causal_mask(TK) if causal else None)
        theirs = gradients(attend, arrays, d_output)
        reach = 1 + highest_score(query, key)
        # Its softmax is one of float32 here, too.
        gradients_agree("JAX", ours, theirs, eps=SINGLE, reach=reach)

    @pytest.mark.parametrize("causal", [False, True])
    def test_of_self_attention_reach_the_sequence_and_the_projections(self, causal):
        x = normal(B, TQ, 17)
        weights = [normal(17, d, seed=s) / 4 for s, d in enumerate((D_K, D_K, D_V), start=20)]
        d_output, mask = normal(B, TQ, D_V, seed=8), np.tri(TQ, dtype=bool) if causal else None

        def attend(x, w_query, w_key, w_value):
            return formula(mask)(x @ w_query, x @ w_key, x @ w_value)

        ours = sa.self_attention_vjp(x, *weights, d_output, mask=mask)
        theirs = gradients(attend, (x, *weights), d_output)
        gradients_agree("JAX", ours, theirs, eps=epsilon(np.float64), reach=5)

    @pytest.mark.parametrize("dtype", WIDE)
    def test_of_the_softmax(self, dtype):
        scores, d_weights = normal(B, TQ, TK, dtype=dtype), normal(B, TQ, TK, seed=1, dtype=dtype)
        ours = sa.softmax_vjp(sa.softmax(scores), d_weights)
        theirs = gradients(jax.nn.softmax, [scores], d_weights)
        gradients_agree("JAX", [ours], theirs, eps=epsilon(dtype))


class TestPieces:
    @pytest.mark.parametrize("axis", [0, 1, -1])
    @pytest.mark.parametrize("dtype", WIDE)
    def test_softmax_and_its_logarithm_along_every_axis(self, axis, dtype):
        x = 3 * normal(TQ, TK, D_K, dtype=dtype)
        for what, size in (("softmax", 1), ("log_softmax", 15)):
            ours, theirs = getattr(sa, what)(x, axis), getattr(jax.nn, what)(x, axis)
            agree("JAX", f"{what} {x.dtype}", ours, theirs, eps=epsilon(dtype), size=size)

    @pytest.mark.parametrize("dtype", WIDE)
    def test_weights_under_a_mask_are_its_softmax_where_it_holds(self, dtype):
        scores, mask = normal(B, TQ, TK, dtype=dtype), some_mask(B, TQ, TK)
        theirs = jax.nn.softmax(scores, where=mask)
        ours = sa.attention_weights(scores, mask=mask)
        agree("JAX", f"weights {scores.dtype}", ours, theirs, eps=epsilon(dtype), size=1)

    @pytest.mark.parametrize("dtype", WIDE)
    def test_cross_entropy(self, dtype):
        logits = 3 * normal(B, TQ, 17, dtype=dtype)
        targets = np.random.default_rng(1).integers(17, size=(B, TQ))
        chosen = jax.nn.one_hot(targets, 17) * jax.nn.log_softmax(logits)
        theirs = -chosen.sum(axis=-1).mean()
        ours = np.array(sa.cross_entropy(logits, targets))
        agree("JAX", "cross_entropy", ours, theirs, eps=epsilon(dtype), size=5)
