"""Beside ONNX: its own reference implementation, which is NumPy too, and ONNX Runtime."""

import numpy as np
import pytest

import selfattn_ref as sa
from tests.peers import calls, peer
from tests.peers.agreement import agree, attention_agrees, epsilon
from tests.peers.problems import TK, TQ, B, H, inputs, normal, some_mask

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
    # ONNX Runtime has no rotary embedding in float64.
    @pytest.mark.parametrize(
        "library, dtype", [("ONNX", np.float32), ("ONNX", np.float64), ("ONNX Runtime", np.float32)]
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
