"""Beside Keras on NumPy, which computes the softmax of its attention in float32."""

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
    inputs,
    normal,
    some_mask,
)
from tests.peers.calls import keras_attention

keras = peer("keras")

SINGLE = epsilon(np.float32)


def compare(arrays, **options):
    ours = sa.scaled_dot_product_attention(*arrays, **options)
    bias, scale = options.get("bias"), options.get("scale")
    theirs = keras_attention(*arrays, **options)
    attention_agrees("Keras", ours, theirs, arrays, bias=bias, scale=scale)


class TestScaledDotProductAttention:
    @pytest.mark.parametrize(
        "queries, keys, d_k, d_v",
        [(TQ, TK, D_K, D_V), (1, 1, 1, 1), (1, 17, 2, 3), (17, 1, 3, 2), (67, 41, 23, 19)],
    )
    @pytest.mark.parametrize("dtype", [np.float16, np.float32])
    def test_agrees(self, queries, keys, d_k, d_v, dtype):
        compare(inputs(dtype, queries=queries, keys=keys, d_k=d_k, d_v=d_v))

    @pytest.mark.parametrize(
        "shape",
        [
            *[(), (1,), (TK,), (TQ, 1), (1, TK), (TQ, TK), (1, TQ, TK), (H, 1, 1), (H, TQ, 1)],
            *[(B, H, TQ, TK), (B, 1, 1, TK), (1, H, 1, TK), (B, 1, TQ, TK)],
        ],
    )
    def test_masks_and_biases_of_every_broadcastable_shape(self, shape):
        arrays = inputs(np.float32)
        mask = np.asarray(some_mask(*shape, seed=3))
        bias = np.asarray(3 * normal(*shape, seed=9), np.float32)
        compare(arrays, mask=mask)
        compare(arrays, bias=bias)
        compare(arrays, mask=mask, bias=bias)

    @pytest.mark.parametrize("scale", [1.0, -0.7, 3.0])
    def test_scales_of_either_sign(self, scale):
        compare(inputs(np.float32), scale=scale)

    @pytest.mark.parametrize("queries, keys", [(TK, TK), (TQ, TK), (TK, TQ)])
    def test_causal_attention_starts_in_the_same_corner(self, queries, keys):
        arrays = inputs(np.float32, queries=queries, keys=keys)
        theirs = keras_attention(*arrays, causal=True)
        mask = sa.causal_mask(queries, keys)
        ours = sa.scaled_dot_product_attention(*arrays, mask=mask)
        attention_agrees("Keras", ours, theirs, arrays)
        streamed = sa.streaming_attention(*arrays, causal=True, block_size=2)
        attention_agrees("Keras", streamed, theirs, arrays)


class TestMultiHeadAttention:
    MODEL, SOURCE, OUT = 17, 19, 23

    @pytest.mark.parametrize("shared", [6, 3, 1])
    def test_its_layers_agree_with_every_number_of_key_value_heads(self, shared):
        model, out = self.MODEL, self.OUT
        if shared == 6:
            layer = keras.layers.MultiHeadAttention(
                6, D_K, value_dim=D_V, output_shape=out, use_bias=False
            )
            d_v = D_V
        else:  # of the same width in and out, and of one width of heads
            layer = keras.layers.GroupQueryAttention(D_K, 6, shared, use_bias=False)
            d_v, out = D_K, model
        x = normal(B, TQ, model, dtype=np.float32)
        source = normal(B, TK, self.SOURCE, seed=1, dtype=np.float32)
        mask = some_mask(B, TQ, TK)
        layer.build(query_shape=x.shape, value_shape=source.shape, key_shape=source.shape)
        shapes = (
            (model, 6 * D_K),
            (self.SOURCE, shared * D_K),
            (self.SOURCE, shared * d_v),
            (6 * d_v, out),
        )
        weights = [
            (normal(*shape, seed=i) / np.sqrt(shape[0])).astype(np.float32)
            for i, shape in enumerate(shapes)
        ]
        # Its weights have an axis for the heads: (d_model, H, d) and (H, d, d_output).
        own = {weight.path.split("/")[-2]: weight for weight in layer.weights}
        for name, weight in zip(
            ("query", "key", "value", "attention_output"), weights, strict=True
        ):
            own[name].assign(weight.reshape(own[name].shape))
        theirs = np.asarray(layer(x, source, attention_mask=mask))
        ours = sa.multi_head_attention(
            x,
            source,
            *weights,
            num_heads=6,
            num_key_value_heads=shared,
            mask=mask[:, np.newaxis],
        )
        what, size = "heads float32", np.abs(ours).max()
        agree("Keras", what, ours, theirs, eps=SINGLE, size=size, allowed=16)


class TestPieces:
    @pytest.mark.parametrize("axis", [0, 1, -1])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_softmax_and_its_logarithm_along_every_axis(self, axis, dtype):
        x = 3 * normal(TQ, TK, D_K, dtype=dtype)
        for what, size in (("softmax", 1), ("log_softmax", 15)):
            ours, theirs = getattr(sa, what)(x, axis), getattr(keras.ops, what)(x, axis)
            eps = epsilon(np.asarray(theirs).dtype)
            agree("Keras", f"{what} {x.dtype}", ours, theirs, eps=eps, size=size)

    def test_cross_entropy(self):
        logits = 3 * normal(B, TQ, 17, dtype=np.float32)
        targets = np.random.default_rng(1).integers(17, size=(B, TQ))
        each = keras.ops.sparse_categorical_crossentropy(targets, logits, from_logits=True)
        ours = np.array(sa.cross_entropy(logits, targets))
        theirs = np.asarray(each).mean()
        agree("Keras", "cross_entropy", ours, theirs, eps=SINGLE, size=5)
