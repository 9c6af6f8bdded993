"""Beside PyTorch: attention forward and backward, its heads, and what it is made of."""

import ml_dtypes
import numpy as np
import pytest

import selfattn_ref as sa
from tests.peers import calls, peer
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
from tests.peers.calls import tensors, torch_attention

torch = peer("torch")
functional = torch.nn.functional

WIDE = [np.float32, np.float64]
FLOATS = [np.float16, ml_dtypes.bfloat16, *WIDE]


def gradients(call, arrays, d_output):
    """Return the gradients of a function of tensors, by autograd."""
    leaves = [tensor.requires_grad_() for tensor in tensors(*arrays)]
    (pulled,) = tensors(d_output)
    found = torch.autograd.grad(call(*leaves), leaves, pulled)
    return [gradient.numpy() for gradient in found]


class TestScaledDotProductAttention:
    @pytest.mark.parametrize("dtype", FLOATS)
    @pytest.mark.parametrize("lead", [(), (H,), (B, H), (2, B, H)])
    def test_agrees_in_every_type_and_number_of_leading_axes(self, lead, dtype):
        arrays = inputs(dtype, lead=lead)
        ours = sa.scaled_dot_product_attention(*arrays)
        attention_agrees("PyTorch", ours, torch_attention(*arrays), arrays)

    @pytest.mark.parametrize("backend", ["MATH", "FLASH_ATTENTION"])
    @pytest.mark.parametrize("dtype", FLOATS)
    def test_agrees_with_both_of_its_backends(self, backend, dtype):
        arrays = inputs(dtype, d_v=D_K)
        ours = sa.scaled_dot_product_attention(*arrays)
        theirs = torch_attention(*arrays, backend=backend)
        attention_agrees("PyTorch", ours, theirs, arrays)

    @pytest.mark.parametrize(
        "queries, keys, d_k, d_v",
        [(1, 1, 1, 1), (1, 17, 2, 3), (17, 1, 3, 2), (31, 2, 5, 1), (67, 41, 23, 19)],
    )
    @pytest.mark.parametrize("dtype", WIDE)
    def test_agrees_in_other_shapes(self, queries, keys, d_k, d_v, dtype):
        arrays = inputs(dtype, queries=queries, keys=keys, d_k=d_k, d_v=d_v, seed=5)
        ours = sa.scaled_dot_product_attention(*arrays)
        attention_agrees("PyTorch", ours, torch_attention(*arrays), arrays)

    @pytest.mark.parametrize(
        "shape",
        [
            *[(), (1,), (TK,), (TQ, 1), (1, TK), (TQ, TK), (1, TQ, TK), (H, 1, 1), (H, TQ, 1)],
            *[(B, H, TQ, TK), (B, 1, 1, TK), (1, H, 1, TK), (B, 1, TQ, TK)],
        ],
    )
    @pytest.mark.parametrize("dtype", WIDE)
    def test_masks_of_every_broadcastable_shape(self, shape, dtype):
        arrays, mask = inputs(dtype), np.asarray(some_mask(*shape, seed=3))
        ours = sa.scaled_dot_product_attention(*arrays, mask=mask)
        # Its fast kernel fails at a mask of fewer than two axes.
        theirs = torch_attention(*arrays, mask=mask, backend="MATH")
        attention_agrees("PyTorch", ours, theirs, arrays)
        if mask.ndim > 1:
            attention_agrees("PyTorch", ours, torch_attention(*arrays, mask=mask), arrays)

    @pytest.mark.parametrize("shape", [(TQ, 1), (TQ, TK), (H, 1, 1), (H, TQ, TK), (B, 1, 1, TK)])
    @pytest.mark.parametrize("dtype", WIDE)
    def test_biases_of_every_broadcastable_shape(self, shape, dtype):
        arrays, bias = inputs(dtype), 3 * normal(*shape, seed=9, dtype=dtype)
        ours = sa.scaled_dot_product_attention(*arrays, bias=bias)
        theirs = torch_attention(*arrays, bias=bias)
        attention_agrees("PyTorch", ours, theirs, arrays, bias=bias)

    def test_a_mask_and_a_bias_together_are_its_bias_with_minus_infinity(self):
        arrays, mask, bias = inputs(), some_mask(H, TQ, TK), normal(TQ, TK, seed=9)
        ours = sa.scaled_dot_product_attention(*arrays, mask=mask, bias=bias)
        theirs = torch_attention(*arrays, mask=mask, bias=bias)
        attention_agrees("PyTorch", ours, theirs, arrays, bias=bias)

    def test_a_query_without_keys_gets_zeros_on_both_sides(self):
        arrays, mask = inputs(), some_mask(B, H, TQ, TK)
        mask[:, :, 2] = False
        ours, theirs = (f(*arrays, mask=mask) for f in (calls.here, torch_attention))
        assert not theirs[:, :, 2].any()
        attention_agrees("PyTorch", ours, theirs, arrays)

    @pytest.mark.parametrize("queries, keys", [(TK, TK), (TQ, TK), (TK, TQ), (1, TK), (TK, 1)])
    @pytest.mark.parametrize("dtype", WIDE)
    def test_causal_attention_starts_in_the_same_corner(self, queries, keys, dtype):
        arrays = inputs(dtype, queries=queries, keys=keys)
        mask = sa.causal_mask(queries, keys)
        ours = sa.scaled_dot_product_attention(*arrays, mask=mask)
        attention_agrees("PyTorch", ours, torch_attention(*arrays, causal=True), arrays)

    @pytest.mark.parametrize("offset", [-3, 2, TK - TQ])
    def test_an_offset_moves_the_diagonal_as_its_tril_does(self, offset):
        arrays = inputs()
        mask = torch.ones(TQ, TK, dtype=torch.bool).tril(diagonal=offset).numpy()
        np.testing.assert_array_equal(sa.causal_mask(TQ, TK, offset=offset), mask)
        ours = sa.streaming_attention(*arrays, causal=True, offset=offset, block_size=2)
        attention_agrees("PyTorch", ours, torch_attention(*arrays, mask=mask), arrays)

    def test_its_lower_right_mask_is_an_offset_of_the_keys_that_came_before(self):
        bias = peer("torch.nn.attention.bias").causal_lower_right(TQ, TK)
        arrays = inputs(d_v=D_K)
        theirs = functional.scaled_dot_product_attention(*tensors(*arrays), attn_mask=bias).numpy()
        mask = sa.causal_mask(TQ, TK, offset=TK - TQ)
        ours = sa.scaled_dot_product_attention(*arrays, mask=mask)
        attention_agrees("PyTorch", ours, theirs, arrays)

    @pytest.mark.parametrize("scale", [0.0, 1.0, -0.7, 3.0])
    @pytest.mark.parametrize("dtype", WIDE)
    def test_scales_of_either_sign(self, scale, dtype):
        arrays = inputs(dtype)
        ours = sa.scaled_dot_product_attention(*arrays, scale=scale)
        theirs = torch_attention(*arrays, scale=scale)
        attention_agrees("PyTorch", ours, theirs, arrays, scale=scale)

    @pytest.mark.parametrize("dtype", WIDE)
    def test_scores_in_the_thousands(self, dtype):
        query, key, value = inputs(dtype)
        arrays = 30 * query, 30 * key, value
        theirs = torch_attention(*arrays)
        ours = sa.scaled_dot_product_attention(*arrays)
        attention_agrees("PyTorch", ours, theirs, arrays)
        streamed = sa.streaming_attention(*arrays, block_size=1)
        attention_agrees("PyTorch", streamed, theirs, arrays)

    def test_grouped_heads_share_keys_as_with_enable_gqa(self):
        query, key, value = inputs(lead=(B, 6))[0], *inputs(lead=(B, 3), seed=4)[1:]
        ours = sa.scaled_dot_product_attention(
            query, sa.repeat_key_value_heads(key, 6), sa.repeat_key_value_heads(value, 6)
        )
        theirs = torch_attention(query, key, value, enable_gqa=True)
        attention_agrees("PyTorch", ours, theirs, (query, key.repeat(2, 1), value))


class TestStreamingAttention:
    @pytest.mark.parametrize("causal", [False, True])
    @pytest.mark.parametrize("dtype", FLOATS)
    def test_agrees_where_it_takes_many_blocks(self, causal, dtype):
        arrays = inputs(dtype, lead=(2,), queries=701, keys=1301, d_k=31, d_v=29)
        ours = sa.streaming_attention(*arrays, causal=causal, block_size=(127, 211))
        theirs = torch_attention(*arrays, causal=causal)
        attention_agrees("PyTorch", ours, theirs, arrays)

    @pytest.mark.parametrize("dtype", WIDE)
    def test_agrees_with_masks_and_biases(self, dtype):
        arrays = inputs(dtype, lead=(2,), queries=101, keys=211)
        mask, bias = some_mask(2, 101, 211), normal(101, 211, seed=9, dtype=dtype)
        ours = sa.streaming_attention(*arrays, mask=mask, bias=bias, block_size=31)
        theirs = torch_attention(*arrays, mask=mask, bias=bias)
        attention_agrees("PyTorch", ours, theirs, arrays, bias=bias)

    def test_its_log_sum_exp_is_that_of_the_scores(self):
        query, key, value = inputs()
        ours = sa.attention_state(query, key, value, block_size=2).log_sum_exp
        q, k = tensors(query, key)
        theirs = torch.logsumexp(q @ k.mT / D_K**0.5, dim=-1).numpy()
        agree("PyTorch", "log_sum_exp", ours, theirs, eps=epsilon(np.float64), size=5)

    def test_a_cache_gives_the_rows_of_the_causal_pass(self):
        arrays = inputs(queries=TK, d_v=D_K)
        cache = sa.KeyValueCache()
        steps = (slice(0, 3), slice(3, 4), slice(4, TK))
        rows = [cache.attend(*(array[..., step, :] for array in arrays)) for step in steps]
        ours = np.concatenate(rows, axis=-2)
        attention_agrees("PyTorch", ours, torch_attention(*arrays, causal=True), arrays)


def projections(dtype, *widths, seed=20):
    """Return matrices of these shapes, small enough that their products stay moderate."""
    return [
        (normal(*shape, seed=seed + i) / np.sqrt(shape[0])).astype(dtype)
        for i, shape in enumerate(widths)
    ]


class TestMultiHeadAttention:
    """Heads of width 5 in a model of width 15; keys of width 11, values of width 13."""

    MODEL, SOURCE = H * 5, 11

    def case(self, dtype, *, source=None):
        width = self.MODEL if source is None else source
        x_query = normal(B, TQ, self.MODEL, dtype=dtype)
        x_key_value = normal(B, TK, width, seed=1, dtype=dtype)
        weights = projections(
            dtype,
            (self.MODEL, self.MODEL),
            (width, self.MODEL),
            (width, self.MODEL),
            (self.MODEL, self.MODEL),
        )
        options = {} if source is None else {"kdim": width, "vdim": width}
        (like,) = tensors(x_query)
        layer = calls.torch_layer(
            self.MODEL, H, dtype=like.dtype, weights=weights, batch_first=True, **options
        )
        return (x_query, x_key_value, *weights), layer

    def compare(self, arrays, layer, *, mask=None, bias=None, **options):
        ours = sa.multi_head_attention(*arrays, num_heads=H, mask=mask, bias=bias)
        x_query, x_key_value = tensors(*arrays[:2])
        for need_weights in (True, False):
            with torch.no_grad():
                theirs, _ = layer(
                    x_query, x_key_value, x_key_value, need_weights=need_weights, **options
                )
            reach = np.abs(ours).max()
            agree(
                "PyTorch MultiheadAttention",
                f"forward {ours.dtype}",
                ours,
                theirs.numpy(),
                eps=epsilon(ours.dtype),
                size=reach,
                allowed=16,
            )

    @pytest.mark.parametrize("dtype", [np.float16, *WIDE])
    def test_agrees(self, dtype):
        self.compare(*self.case(dtype))

    @pytest.mark.parametrize("dtype", WIDE)
    def test_agrees_where_the_source_has_another_width(self, dtype):
        self.compare(*self.case(dtype, source=self.SOURCE))

    def test_its_padding_mask_is_ours_turned_around(self):
        mask = sa.padding_mask([[TK - 2], [3]], TK)  # (B, 1, 1, Tk)
        padding = torch.tensor(~mask[:, 0, 0])
        self.compare(*self.case(np.float64), mask=mask, key_padding_mask=padding)

    def test_its_mask_for_each_sequence_and_head_is_ours_turned_around(self):
        mask = some_mask(B, H, TQ, TK)
        turned = torch.tensor(~mask.reshape(B * H, TQ, TK))
        self.compare(*self.case(np.float64), mask=mask, attn_mask=turned)

    def test_its_floating_mask_is_our_bias(self):
        bias = normal(TQ, TK, seed=9)
        self.compare(*self.case(np.float64), bias=bias, attn_mask=torch.tensor(bias))

    def test_heads_are_the_same_columns_as_in_its_reshape(self):
        x = normal(B, TQ, H * 5)
        theirs = torch.tensor(x).reshape(B, TQ, H, 5).transpose(1, 2).numpy()
        np.testing.assert_array_equal(sa.split_heads(x, H), theirs)

    def test_fewer_key_value_heads_agree_with_enable_gqa(self):
        shapes = (self.MODEL, 6 * 5), (self.MODEL, 3 * 5), (self.MODEL, 3 * 7), (6 * 7, 17)
        weights = projections(np.float64, *shapes)
        x = normal(B, TQ, self.MODEL)
        ours = sa.multi_head_attention(x, x, *weights, num_heads=6, num_key_value_heads=3)
        (rows, *matrices) = tensors(x, *weights)
        query, key, value = (
            (rows @ w).reshape(B, TQ, heads, -1).transpose(1, 2)
            for w, heads in zip(matrices, (6, 3, 3), strict=False)
        )
        mixed = functional.scaled_dot_product_attention(query, key, value, enable_gqa=True)
        theirs = mixed.transpose(1, 2).reshape(B, TQ, -1) @ matrices[3]
        agree("PyTorch", "grouped heads", ours, theirs, eps=epsilon(np.float64), size=5)


VJPS = [sa.scaled_dot_product_attention_vjp, sa.streaming_attention_vjp]


class TestGradients:
    def compare(self, vjp, arrays, *, mask=None, bias=None, scale=None, causal=False):
        output = calls.here(*arrays, mask=mask, bias=bias, scale=scale, causal=causal)
        d_output = normal(*output.shape, seed=8, dtype=output.dtype)
        added = calls._attention_mask(mask, bias)
        (added,) = [None] if added is None else tensors(added)

        def attend(q, k, v):
            return functional.scaled_dot_product_attention(
                q, k, v, attn_mask=added, scale=scale, is_causal=causal
            )

        options = {"mask": mask, "bias": bias, "scale": scale}
        if vjp is sa.streaming_attention_vjp:
            options |= {"causal": causal, "block_size": 2}
        elif causal:
            options["mask"] = sa.causal_mask(arrays[0].shape[-2], arrays[1].shape[-2])
        ours = vjp(*arrays, d_output, **options)
        theirs = gradients(attend, arrays, d_output)
        reach = 1 + highest_score(*arrays[:2], scale=scale, bias=bias)
        gradients_agree("PyTorch", ours, theirs, eps=epsilon(output.dtype), reach=reach)

    @pytest.mark.parametrize("vjp", VJPS)
    @pytest.mark.parametrize("dtype", WIDE)
    @pytest.mark.parametrize("d_v", [D_K, D_V])  # of the fast kernel and of the other
    def test_agree_with_autograd(self, vjp, dtype, d_v):
        self.compare(vjp, inputs(dtype, d_v=d_v))

    @pytest.mark.parametrize("vjp", VJPS)
    @pytest.mark.parametrize("dtype", WIDE)
    @pytest.mark.parametrize("shape", [(TQ, TK), (B, 1, 1, TK), (H, TQ, 1), (B, H, TQ, TK)])
    def test_agree_under_a_mask(self, vjp, dtype, shape):
        self.compare(vjp, inputs(dtype), mask=some_mask(*shape, seed=3))

    @pytest.mark.parametrize("vjp", VJPS)
    def test_agree_where_a_query_has_no_keys_and_a_key_no_queries(self, vjp):
        mask = some_mask(B, H, TQ, TK)
        mask[:, :, 2] = mask[..., 4] = False
        self.compare(vjp, inputs(), mask=mask)
        d_query, d_key, d_value = vjp(*inputs(), normal(B, H, TQ, D_V), mask=mask)
        assert not d_query[:, :, 2].any()
        assert not d_key[:, :, 4].any()
        assert not d_value[:, :, 4].any()

    @pytest.mark.parametrize("vjp", VJPS)
    @pytest.mark.parametrize("dtype", WIDE)
    def test_agree_with_a_bias_and_a_scale(self, vjp, dtype):
        bias = normal(H, TQ, TK, seed=9, dtype=dtype)
        self.compare(vjp, inputs(dtype), bias=bias, scale=-0.7)

    @pytest.mark.parametrize("vjp", VJPS)
    @pytest.mark.parametrize("dtype", WIDE)
    @pytest.mark.parametrize("queries, keys", [(TQ, TK), (TK, TQ)])
    def test_agree_if_causal(self, vjp, dtype, queries, keys):
        self.compare(vjp, inputs(dtype, queries=queries, keys=keys, d_v=D_K), causal=True)

    @pytest.mark.parametrize("vjp", VJPS)
    def test_are_added_up_over_an_axis_that_was_broadcast(self, vjp):
        query, key, value = normal(B, H, TQ, D_K), normal(1, TK, D_K), normal(B, 1, TK, D_V)
        d_output = normal(B, H, TQ, D_V, seed=8)

        def attend(q, k, v):
            return torch.softmax(q @ k.mT / D_K**0.5, dim=-1) @ v

        ours = vjp(query, key, value, d_output)
        theirs = gradients(attend, (query, key, value), d_output)
        gradients_agree("PyTorch", ours, theirs, eps=epsilon(np.float64), reach=5)

    @pytest.mark.parametrize("causal", [False, True])
    @pytest.mark.parametrize("dtype", WIDE)
    def test_agree_in_many_blocks(self, causal, dtype):
        arrays = inputs(dtype, lead=(2,), queries=211, keys=307, d_k=31, d_v=29)
        d_output = normal(2, 211, 29, seed=8, dtype=dtype)

        def attend(q, k, v):
            return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

        ours = sa.streaming_attention_vjp(*arrays, d_output, causal=causal, block_size=(41, 67))
        theirs = gradients(attend, arrays, d_output)
        reach = 1 + highest_score(*arrays[:2])
        gradients_agree("PyTorch", ours, theirs, eps=epsilon(dtype), reach=reach)

    @pytest.mark.parametrize("causal", [False, True])
    @pytest.mark.parametrize("dtype", WIDE)
    def test_of_self_attention_reach_the_sequence_and_the_projections(self, causal, dtype):
        x = normal(B, TQ, 17, dtype=dtype)
        weights = projections(dtype, (17, D_K), (17, D_K), (17, D_V))
        d_output = normal(B, TQ, D_V, seed=8, dtype=dtype)
        mask = sa.causal_mask(TQ) if causal else None

        def attend(x, w_query, w_key, w_value):
            return functional.scaled_dot_product_attention(
                x @ w_query, x @ w_key, x @ w_value, is_causal=causal
            )

        ours = sa.self_attention_vjp(x, *weights, d_output, mask=mask)
        theirs = gradients(attend, (x, *weights), d_output)
        gradients_agree("PyTorch", ours, theirs, eps=epsilon(dtype), reach=5)

    @pytest.mark.parametrize("dtype", WIDE)
    def test_of_the_softmax(self, dtype):
        scores, d_weights = normal(B, TQ, TK, dtype=dtype), normal(B, TQ, TK, seed=1, dtype=dtype)
        ours = sa.softmax_vjp(sa.softmax(scores), d_weights)
        theirs = gradients(lambda s: torch.softmax(s, dim=-1), [scores], d_weights)
        gradients_agree("PyTorch", [ours], theirs, eps=epsilon(dtype))

    def test_of_a_bias_are_those_of_the_softmax(self):
        # As the docstring of scaled_dot_product_attention_vjp says.
        query, key, value = inputs()
        bias, d_output = normal(B, H, TQ, TK, seed=9), normal(B, H, TQ, D_V, seed=8)
        weights = sa.attention_weights(sa.scaled_scores(query, key) + bias)
        ours = sa.softmax_vjp(weights, d_output @ value.mT)
        q, k, v = tensors(query, key, value)

        def attend(added):
            return functional.scaled_dot_product_attention(q, k, v, attn_mask=added)

        theirs = gradients(attend, [bias], d_output)
        gradients_agree("PyTorch", [ours], theirs, eps=epsilon(np.float64), reach=5)


class TestPieces:
    @pytest.mark.parametrize("axis", [0, 1, -1])
    @pytest.mark.parametrize("dtype", FLOATS)
    def test_softmax_and_its_logarithm_along_every_axis(self, axis, dtype):
        x = (3 * normal(TQ, TK, D_K)).astype(dtype)
        (theirs,) = tensors(x)
        for what in ("softmax", "log_softmax"):
            agree(
                "PyTorch",
                f"{what} {x.dtype}",
                getattr(sa, what)(x, axis),
                getattr(torch, what)(theirs, axis).double().numpy(),
                eps=epsilon(dtype),
                size=1 if what == "softmax" else 15,
            )

    @pytest.mark.parametrize("dtype", WIDE)
    def test_cross_entropy_with_positions_left_out(self, dtype):
        logits = 3 * normal(B, TQ, 17, dtype=dtype)
        targets = np.random.default_rng(1).integers(17, size=(B, TQ))
        mask = some_mask(B, TQ)
        (rows,) = tensors(logits.reshape(-1, 17))
        for kept in (np.ones_like(mask), mask):
            wanted = torch.tensor(np.where(kept, targets, -100).ravel())  # −100: not counted
            theirs = functional.cross_entropy(rows, wanted)
            ours = sa.cross_entropy(logits, targets, mask=kept)
            # Ours is computed in float64 whatever the logits.
            agree("PyTorch", "cross_entropy", np.array(ours), theirs, eps=epsilon(dtype), size=5)
            perplexity = np.array(sa.perplexity(logits, targets, mask=kept))
            size = float(perplexity)
            exp = theirs.exp()
            agree("PyTorch", "perplexity", perplexity, exp, eps=epsilon(dtype), size=size)

    @pytest.mark.parametrize("dtype", WIDE)
    def test_cosine_similarity(self, dtype):
        x, y = normal(TQ, D_K, dtype=dtype), normal(TK, D_K, seed=1, dtype=dtype)
        a, b = tensors(x, y)
        theirs = functional.cosine_similarity(a[:, None], b[None], dim=-1)
        ours = sa.cosine_similarity(x, y)
        agree("PyTorch", "cosine_similarity", ours, theirs, eps=epsilon(dtype), size=1)

    @pytest.mark.parametrize("dtype", WIDE)
    def test_euclidean_distance(self, dtype):
        x, y = normal(TQ, D_K, dtype=dtype), normal(TK, D_K, seed=1, dtype=dtype)
        theirs = torch.cdist(*tensors(x, y), compute_mode="donot_use_mm_for_euclid_dist")
        ours = sa.euclidean_distance(x, y)
        agree("PyTorch", "euclidean_distance", ours, theirs, eps=epsilon(dtype), size=5)
