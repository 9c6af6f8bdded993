"""Beside Keras on NumPy, which computes the softmax of its attention in float32."""

import numpy as np
import pytest

import selfattn_ref as sa
from tests.peers import peer
from tests.peers.agreement import agree, epsilon
from tests.peers.problems import D_K, D_V, TK, TQ, B, normal, some_mask

keras = peer("keras")

SINGLE = epsilon(np.float32)


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
            x, source, *weights, num_heads=6, num_key_value_heads=shared, mask=mask[:, np.newaxis]
        )
        what, size = "heads float32", np.abs(ours).max()
        agree("Keras", what, ours, theirs, eps=SINGLE, size=size, allowed=16)
