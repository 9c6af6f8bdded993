"""Beside ONNX: its own reference implementation, which is NumPy too, and ONNX Runtime."""

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
    inputs,
    normal,
    some_mask,
)

peer("onnx.reference")
peer("onnxruntime")

RUNS = {"ONNX": calls.onnx_run, "ONNX Runtime": calls.runtime_run}
ATTENTION = {"ONNX": calls.onnx_attention, "ONNX Runtime": calls.runtime_attention}
SINGLE = epsilon(np.float32)
FLOAT = 1  # the number of float32 among ONNX's types

both = pytest.mark.parametrize("library", RUNS)


def precision(library, dtype):
    """Return ε; ONNX Runtime computes float64 in float32."""
    return max(epsilon(dtype), SINGLE) if library == "ONNX Runtime" else epsilon(dtype)


def compare(library, arrays, ours, theirs, **options):
    eps = precision(library, ours.dtype)
    attention_agrees(library, ours, theirs, arrays, eps=eps, **options)


class TestScaledDotProductAttention:
    @both
    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    @pytest.mark.parametrize(
        "queries, keys, d_k, d_v",
        [(TQ, TK, D_K, D_V), (1, 1, 1, 1), (1, 17, 2, 3), (17, 1, 3, 2), (67, 41, 23, 19)],
    )
    def test_agrees(self, library, queries, keys, d_k, d_v, dtype):
        arrays = inputs(dtype, queries=queries, keys=keys, d_k=d_k, d_v=d_v)
        ours = sa.scaled_dot_product_attention(*arrays)
        compare(library, arrays, ours, ATTENTION[library](*arrays))

    @both
    @pytest.mark.parametrize("shape", [(TQ, TK), (1, TQ, TK), (B, H, TQ, TK), (B, 1, TQ, TK)])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_masks_and_biases_agree(self, library, shape, dtype):
        arrays, mask = inputs(dtype), some_mask(*shape, seed=3)
        bias = 3 * normal(*shape, seed=9, dtype=dtype)
        for options in ({"mask": mask}, {"bias": bias}, {"mask": mask, "bias": bias}):
            ours = sa.scaled_dot_product_attention(*arrays, **options)
            theirs = ATTENTION[library](*arrays, **options)
            compare(library, arrays, ours, theirs, bias=options.get("bias"))

    @pytest.mark.parametrize("shape", [(TK,), (1, TK), (H, 1, TK), (B, 1, 1, TK), (1, H, 1, TK)])
    def test_masks_for_all_queries_broadcast_in_the_reference(self, shape):
        arrays, mask = inputs(), some_mask(*shape, seed=3)
        ours = sa.scaled_dot_product_attention(*arrays, mask=mask)
        compare("ONNX", arrays, ours, calls.onnx_attention(*arrays, mask=mask))

    @both
    @pytest.mark.parametrize("queries, keys", [(TK, TK), (TQ, TK), (TK, TQ)])
    def test_causal_attention_starts_in_the_same_corner(self, library, queries, keys):
        arrays = inputs(queries=queries, keys=keys)
        theirs = ATTENTION[library](*arrays, causal=True)
        mask = sa.causal_mask(queries, keys)
        compare(library, arrays, sa.scaled_dot_product_attention(*arrays, mask=mask), theirs)
        streamed = sa.streaming_attention(*arrays, causal=True, block_size=2)
        compare(library, arrays, streamed, theirs)

    @both
    @pytest.mark.parametrize("scale", [1.0, 3.0])  # it takes the square root of the scale
    def test_scales(self, library, scale):
        arrays = inputs(np.float32)
        ours = sa.scaled_dot_product_attention(*arrays, scale=scale)
        compare(library, arrays, ours, ATTENTION[library](*arrays, scale=scale), scale=scale)

    @both
    def test_grouped_heads_share_the_same_keys(self, library):
        query, key, value = inputs(lead=(B, 6))[0], *inputs(lead=(B, 3), seed=4)[1:]
        ours = sa.scaled_dot_product_attention(
            query, sa.repeat_key_value_heads(key, 6), sa.repeat_key_value_heads(value, 6)
        )
        theirs = ATTENTION[library](query, key, value)
        compare(library, (query, key.repeat(2, 1), value), ours, theirs)

    @both
    def test_heads_side_by_side_are_our_merged_heads(self, library):
        arrays = inputs(np.float32)
        merged = [sa.merge_heads(array) for array in arrays]
        (theirs,) = RUNS[library]("Attention", merged, q_num_heads=H, kv_num_heads=H)
        ours = sa.scaled_dot_product_attention(*arrays)
        compare(library, arrays, ours, sa.split_heads(theirs, H))

    def test_the_reference_is_nearer_in_float16_if_told_to_widen_its_softmax(self):
        # Ours computes everything in float32. On average, over enough keys to tell.
        arrays = inputs(np.float16, keys=307)
        exact = sa.scaled_dot_product_attention(*(a.astype(np.float64) for a in arrays))
        errors = [
            np.abs(output - exact).mean()
            for output in (
                calls.onnx_attention(*arrays),
                calls.onnx_attention(*arrays, softmax_precision=FLOAT),
                sa.scaled_dot_product_attention(*arrays),
            )
        ]
        assert errors[0] > errors[1] > errors[2]


class TestMasks:
    """What other libraries have as options are masks here."""

    @both
    def test_its_count_of_valid_keys_is_a_padding_mask(self, library):
        arrays, lengths = inputs(np.float32), np.array([TK - 2, 3])
        (theirs,) = RUNS[library]("Attention", [*arrays, None, None, None, lengths])
        mask = sa.padding_mask(lengths[:, np.newaxis], TK)  # (B, 1, 1, Tk)
        ours = sa.scaled_dot_product_attention(*arrays, mask=mask)
        compare(library, arrays, ours, theirs)

    @pytest.mark.parametrize("left, right", [(0, 0), (2, 0), (0, 3), (1, 2)])
    def test_its_window_is_a_window_mask(self, left, right):
        arrays = inputs(queries=TK)
        options = {"left_window_size": left, "right_window_size": right}
        theirs = calls.onnx_attention(*arrays, **options)
        ours = sa.scaled_dot_product_attention(*arrays, mask=sa.window_mask(TK, TK, left, right))
        compare("ONNX", arrays, ours, theirs)

    @both
    def test_its_cache_gives_the_steps_of_ours(self, library):
        first = inputs(np.float32, queries=3, keys=3)
        then = inputs(np.float32, queries=2, keys=2, seed=7)
        cache = sa.KeyValueCache()
        cache.attend(*first)
        ours = cache.attend(*then)
        past = [*then, None, first[1], first[2]]
        theirs, keys, _ = RUNS[library]("Attention", past, 3, is_causal=1)
        assert keys.shape[-2] == len(cache) == 5
        together = tuple(np.concatenate(pair, axis=-2) for pair in zip(first, then, strict=True))
        compare(library, together, ours, theirs)

    @both
    def test_its_softcap_is_our_soft_cap_before_the_mask(self, library):
        query, key, value = arrays = inputs(np.float32)
        query *= 5
        mask = some_mask(TQ, TK)
        capped = sa.soft_cap(sa.scaled_scores(query, key), 2.0)
        ours = sa.attention_weights(capped, mask=mask) @ value
        theirs = ATTENTION[library](*arrays, mask=mask, softcap=2.0)
        compare(library, arrays, ours, theirs)


class TestPieces:
    @both
    @pytest.mark.parametrize("axis", [0, 1, -1])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_softmax_and_its_logarithm_along_every_axis(self, library, axis, dtype):
        x = 3 * normal(TQ, TK, D_K, dtype=dtype)
        for what, operator, size in (("softmax", "Softmax", 1), ("log_softmax", "LogSoftmax", 15)):
            ours = getattr(sa, what)(x, axis)
            (theirs,) = RUNS[library](operator, [x], axis=axis)
            agree(library, f"{what} {x.dtype}", ours, theirs, eps=epsilon(dtype), size=size)

    # ONNX Runtime has no rotary embedding in float64.
    @pytest.mark.parametrize(
        "library, dtype",
        [("ONNX", np.float32), ("ONNX", np.float64), ("ONNX Runtime", np.float32)],
    )
    @pytest.mark.parametrize("interleaved", [False, True])
    def test_rotations_of_neighbors_and_of_halves(self, library, interleaved, dtype):
        width, positions = 2 * TQ, np.array([0, 1, 5, 100, 4000])
        x = normal(B, H, len(positions), width, dtype=dtype)
        # The table of angles is the caller's there: equation 15 of the paper, θ = 10000^(−2i/d).
        angles = positions[:, np.newaxis] * 10000.0 ** (-2 * np.arange(TQ) / width)
        cos, sin = (
            np.broadcast_to(table.astype(dtype), (B, *angles.shape)).copy()
            for table in (np.cos(angles), np.sin(angles))
        )
        (theirs,) = RUNS[library]("RotaryEmbedding", [x, cos, sin], interleaved=int(interleaved))
        ours = sa.rotate_pairs(x, positions, interleaved=interleaved)
        agree(library, f"rotate {x.dtype}", ours, theirs, eps=epsilon(dtype), size=4)

    @both
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_cross_entropy_with_positions_left_out(self, library, dtype):
        logits = 3 * normal(B * TQ, 17, dtype=dtype)
        targets = np.random.default_rng(1).integers(17, size=B * TQ)
        mask = some_mask(B * TQ)
        wanted = np.where(mask, targets, -1)
        (theirs,) = RUNS[library]("SoftmaxCrossEntropyLoss", [logits, wanted], ignore_index=-1)
        ours = np.array(sa.cross_entropy(logits, targets, mask=mask))
        agree(library, "cross_entropy", ours, theirs, eps=epsilon(dtype), size=5)
