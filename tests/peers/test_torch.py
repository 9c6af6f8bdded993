"""Beside PyTorch: attention forward and backward, its heads, and what it is made of."""

import itertools

import ml_dtypes
import numpy as np
import pytest

import selfattn_ref as sa
from selfattn_ref.worked_examples import Tolerance
from selfattn_ref.worked_examples._tolerance import by_call
from tests.peers import calls, peer
from tests.peers.agreement import agree, attention_agrees, epsilon
from tests.peers.calls import tensors, torch_attention
from tests.peers.problems import D_K, TK, TQ, B, H, inputs, normal, some_mask
from tests.support.kernels import truth

torch = peer("torch")
functional = torch.nn.functional

WIDE = [np.float32, np.float64]
FLOATS = [np.float16, ml_dtypes.bfloat16, *WIDE]


class TestScaledDotProductAttention:
    @pytest.mark.parametrize("backend", ["MATH", "FLASH_ATTENTION"])
    @pytest.mark.parametrize("dtype", FLOATS)
    def test_agrees_with_both_of_its_backends(self, backend, dtype):
        arrays = inputs(dtype, d_v=D_K)
        ours = sa.scaled_dot_product_attention(*arrays)
        theirs = torch_attention(*arrays, backend=backend)
        attention_agrees("PyTorch", ours, theirs, arrays)

    @pytest.mark.parametrize("backend", ["MATH", "FLASH_ATTENTION"])
    @pytest.mark.parametrize("dtype", FLOATS)
    def test_both_stay_within_what_check_allows(self, backend, dtype):
        name = np.dtype(dtype).name
        for n, stretch in itertools.product((1, 2, 7, 64, 1000, 10**5), (0, 1, 20)):
            query, key, value = normal(4, 8), normal(n, 8, seed=1), normal(n, 8, seed=2)
            value = value if stretch else 0 * value + 0.1
            arrays = [x.astype(np.float32).astype(dtype) for x in (stretch * query, key, value)]
            expected = truth(*arrays, scale=8**-0.5)
            given = dict(zip(("query", "key", "value"), arrays, strict=True))
            function = "scaled_dot_product_attention"
            limits = by_call(function, given, Tolerance(0, 0), expected)(name)
            four_axes = [x[np.newaxis, np.newaxis] for x in arrays]
            found = torch_attention(*four_axes, backend=backend)[0, 0].astype(float)
            assert (np.abs(found - expected) <= limits).all()

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

    @pytest.mark.parametrize("dtype", WIDE)
    def test_scores_in_the_thousands(self, dtype):
        query, key, value = inputs(dtype)
        arrays = 30 * query, 30 * key, value
        theirs = torch_attention(*arrays)
        ours = sa.scaled_dot_product_attention(*arrays)
        attention_agrees("PyTorch", ours, theirs, arrays)
        streamed = sa.streaming_attention(*arrays, block_size=1)
        attention_agrees("PyTorch", streamed, theirs, arrays)


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


class TestPieces:
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
