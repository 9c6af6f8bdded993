"""Beside JAX: its attention, and its derivatives of the formula.

Its attention computes the softmax in float32 even for float64, and is compared accordingly. Its
derivatives of the formula itself are exact to the last digits of float64.
"""

import numpy as np
import pytest

import selfattn_ref as sa
from tests.peers import peer
from tests.peers.agreement import agree, epsilon, gradients_agree, highest_score
from tests.peers.problems import D_K, TK, TQ, B, inputs, normal, some_mask

jax = peer("jax")
jnp = peer("jax.numpy")

WIDE = [np.float32, np.float64]
SINGLE = epsilon(np.float32)


def alike(dtype=np.float64, **sizes):
    """Return inputs that JAX takes: values as wide as keys."""
    return inputs(dtype, d_v=D_K, **sizes)


class TestScaledDotProductAttention:
    def test_its_residual_is_our_log_sum_exp(self):
        query, key, value = alike(np.float32)
        ours = sa.attention_state(query, key, value, block_size=2).log_sum_exp  # (B, H, Tq)
        turned = (array.swapaxes(1, 2) for array in (query, key, value))
        _, theirs = jax.nn.dot_product_attention(*turned, return_residual=True)  # (B, Tq, H)
        theirs = np.asarray(theirs).swapaxes(1, 2)
        agree("JAX", "log_sum_exp", ours, theirs, eps=SINGLE, size=5)


def gradients(call, arrays, d_output):
    return jax.vjp(call, *arrays)[1](jnp.asarray(d_output))


VJPS = [sa.scaled_dot_product_attention_vjp, sa.streaming_attention_vjp]


class TestGradients:
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


class TestPieces:
    @pytest.mark.parametrize("dtype", WIDE)
    def test_weights_under_a_mask_are_its_softmax_where_it_holds(self, dtype):
        scores, mask = normal(B, TQ, TK, dtype=dtype), some_mask(B, TQ, TK)
        theirs = jax.nn.softmax(scores, where=mask)
        ours = sa.attention_weights(scores, mask=mask)
        agree("JAX", f"weights {scores.dtype}", ours, theirs, eps=epsilon(dtype), size=1)
