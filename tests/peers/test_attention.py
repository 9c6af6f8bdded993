"""Attention beside every other library, forward and backward: what all can be asked alike.

What only one of them has is in the module of its name.
"""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import selfattn_ref as sa
from tests.peers import calls, peer
from tests.peers.agreement import agree, attention_agrees, epsilon, gradients_agree, highest_score
from tests.peers.problems import D_K, D_V, TK, TQ, B, H, inputs, normal, some_mask

WIDE = (np.float32, np.float64)
FLOATS = (np.float16, ml_dtypes.bfloat16, *WIDE)
SINGLE = epsilon(np.float32)

FULL = [(TQ, TK), (1, TQ, TK), (B, H, TQ, TK), (B, 1, TQ, TK)]
FOR_ALL_QUERIES = [(1, TK), (H, 1, TK), (B, 1, 1, TK), (1, H, 1, TK)]
TWO_AXES = [*FULL, *FOR_ALL_QUERIES, (TQ, 1), (H, 1, 1), (H, TQ, 1)]
EVERY = [*TWO_AXES, (), (1,), (TK,)]


class Peer(NamedTuple):
    """How a library is called, and what it takes."""

    attend: Callable[..., Any]
    dtypes: tuple[Any, ...]
    shapes: list[tuple[int, ...]]  # of masks and biases
    scales: tuple[float, ...] = (0.0, 1.0, -0.7, 3.0)
    coarsest: float = 0.0  # ε of its softmax, where that is not computed in the type
    square: bool = False  # values have to be as wide as keys

    def inputs(self, dtype, **sizes):
        if self.square:
            sizes["d_v"] = sizes.get("d_k", D_K)
        return inputs(dtype, **sizes)


PEERS = {
    "PyTorch": Peer(calls.torch_attention, FLOATS, TWO_AXES),
    # Its fast kernel, which is chosen above, fails at a mask of fewer than two axes.
    "PyTorch, MATH": Peer(partial(calls.torch_attention, backend="MATH"), FLOATS, EVERY),
    "JAX": Peer(calls.jax_attention, FLOATS, EVERY, coarsest=SINGLE, square=True),
    "Keras": Peer(calls.keras_attention, (np.float16, np.float32), EVERY, (1.0, -0.7, 3.0)),
    # These two take the square root of the scale.
    "ONNX": Peer(
        calls.onnx_attention, (np.float16, *WIDE), FULL + FOR_ALL_QUERIES, scales=(1.0, 3.0)
    ),
    "ONNX Runtime": Peer(
        calls.runtime_attention, (np.float16, *WIDE), FULL, scales=(1.0, 3.0), coarsest=SINGLE
    ),
}


def each(field):
    """Return every library with every value of a field."""
    return [(name, value) for name, one in PEERS.items() for value in getattr(one, field)]


def compare(library, arrays, ours=None, *, theirs=None, as_given=None, **options):
    """Require that a library agrees, or an output that it has given."""
    one = PEERS[library]
    if theirs is None:
        theirs = one.attend(*(as_given or arrays), **options)
    if ours is None:
        ours = sa.scaled_dot_product_attention(*arrays, **options)
    limits = {name: options.get(name) for name in ("scale", "bias")}
    eps = max(one.coarsest, epsilon(ours.dtype))
    attention_agrees(library, ours, theirs, arrays, eps=eps, **limits)


class TestForward:
    @pytest.mark.parametrize("library, dtype", each("dtypes"))
    @pytest.mark.parametrize(
        "queries, keys, d_k, d_v",
        [
            *[(TQ, TK, D_K, D_V), (1, 1, 1, 1), (1, 17, 2, 3), (17, 1, 3, 2)],
            *[(31, 2, 5, 1), (67, 41, 23, 19)],
        ],
    )
    def test_agrees_in_every_type_and_shape(self, library, dtype, queries, keys, d_k, d_v):
        sizes = {"queries": queries, "keys": keys, "d_k": d_k, "d_v": d_v}
        compare(library, PEERS[library].inputs(dtype, **sizes))

    @pytest.mark.parametrize(
        "library, lead", [("PyTorch", ()), ("PyTorch", (H,)), ("PyTorch", (2, B, H)), ("JAX", (H,))]
    )
    def test_agrees_with_other_leading_axes(self, library, lead):
        for dtype in FLOATS:
            compare(library, PEERS[library].inputs(dtype, lead=lead))

    @pytest.mark.parametrize("library, shape", each("shapes"))
    def test_masks_and_biases_of_every_broadcastable_shape(self, library, shape):
        for dtype in {*WIDE} & {*PEERS[library].dtypes}:
            arrays = PEERS[library].inputs(dtype)
            mask = np.asarray(some_mask(*shape, seed=3))
            bias = np.asarray(3 * normal(*shape, seed=9), dtype)
            for options in ({"mask": mask}, {"bias": bias}, {"mask": mask, "bias": bias}):
                compare(library, arrays, **options)

    @pytest.mark.parametrize("library", PEERS)
    @pytest.mark.parametrize("queries, keys", [(TK, TK), (TQ, TK), (TK, TQ), (1, TK), (TK, 1)])
    def test_causal_attention_starts_in_the_same_corner(self, library, queries, keys):
        arrays = PEERS[library].inputs(np.float32, queries=queries, keys=keys)
        compare(library, arrays, causal=True)
        streamed = sa.streaming_attention(*arrays, causal=True, block_size=2)
        compare(library, arrays, streamed, causal=True)

    @pytest.mark.parametrize("library, scale", each("scales"))
    def test_scales(self, library, scale):
        # ONNX's own takes the root of the scale in float32.
        for dtype in WIDE if library in ("PyTorch", "JAX") else [np.float32]:
            compare(library, PEERS[library].inputs(dtype), scale=scale)

    @pytest.mark.parametrize("library", ["PyTorch", "JAX", "ONNX", "ONNX Runtime"])
    def test_grouped_heads_share_the_same_keys(self, library):
        one = PEERS[library]
        query, key, value = (
            one.inputs(np.float64, lead=(B, 6))[0],
            *one.inputs(np.float64, lead=(B, 3), seed=4)[1:],
        )
        option = {"enable_gqa": True} if library == "PyTorch" else {}
        theirs = one.attend(query, key, value, **option)
        repeated = (sa.repeat_key_value_heads(x, 6) for x in (key, value))
        compare(library, (query, *repeated), theirs=theirs)

    @pytest.mark.parametrize("library", ["JAX", "ONNX"])
    @pytest.mark.parametrize("left, right", [(0, 0), (2, 0), (0, 3), (1, 2)])
    def test_its_window_is_a_window_mask(self, library, left, right):
        arrays = PEERS[library].inputs(np.float64, queries=TK)
        option = {"left_window_size": left, "right_window_size": right}
        if library == "JAX":
            option = {"local_window_size": (left, right)}
        theirs = PEERS[library].attend(*arrays, **option)
        compare(library, arrays, theirs=theirs, mask=sa.window_mask(TK, TK, left, right))

    @pytest.mark.parametrize("library", ["JAX", "ONNX", "ONNX Runtime"])
    def test_its_lengths_of_keys_are_a_padding_mask(self, library):
        arrays, lengths = PEERS[library].inputs(np.float32), np.array([TK - 2, 3])
        if library == "JAX":
            theirs = calls.jax_attention(*arrays, key_value_seq_lengths=lengths.astype(np.int32))
        else:
            run = calls.onnx_run if library == "ONNX" else calls.runtime_run
            (theirs,) = run("Attention", [*arrays, None, None, None, lengths])
        mask = sa.padding_mask(lengths[:, np.newaxis], TK)  # (B, 1, 1, Tk)
        compare(library, arrays, theirs=theirs, mask=mask)

    @pytest.mark.parametrize("library", ["PyTorch", "JAX"])
    @pytest.mark.parametrize("causal", [False, True])
    @pytest.mark.parametrize("dtype", FLOATS)
    def test_streaming_agrees_where_it_takes_many_blocks(self, library, causal, dtype):
        sizes = {"queries": 401, "keys": 701, "d_k": 31, "d_v": 29}
        arrays = PEERS[library].inputs(dtype, lead=(2,), **sizes)
        ours = sa.streaming_attention(*arrays, causal=causal, block_size=(127, 211))
        compare(library, arrays, ours, causal=causal)


def torch_derivatives(call, arrays, d_output):
    """Return the gradients of a function of tensors, by autograd."""
    leaves = [tensor.requires_grad_() for tensor in calls.tensors(*arrays)]
    (pulled,) = calls.tensors(d_output)
    found = peer("torch").autograd.grad(call(*leaves), leaves, pulled)
    return [gradient.numpy() for gradient in found]


def jax_derivatives(call, arrays, d_output):
    return peer("jax").vjp(call, *arrays)[1](np.asarray(d_output))


def torch_formula(query, key, value, bias=None, *, mask=None, scale=None, causal=False):
    torch = peer("torch")
    if mask is not None:
        (mask,) = calls.tensors(mask)
        bias = mask if bias is None else torch.where(mask, bias, -torch.inf)
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=bias, scale=scale, is_causal=causal
    )


def jax_formula(query, key, value, bias=None, *, mask=None, scale=None, causal=False):
    """Attention as it is written in a paper."""
    jax, jnp = peer("jax"), peer("jax.numpy")
    factor = query.shape[-1] ** -0.5 if scale is None else scale  # a float, not a float64
    scores = factor * jnp.einsum("...id,...jd->...ij", query, key)
    scores = scores if bias is None else scores + bias
    if causal:
        mask = np.tri(*scores.shape[-2:], dtype=bool)
    weights = jax.nn.softmax(scores, where=mask)
    return jnp.einsum("...ij,...jc->...ic", weights, value)


DERIVATIVES = {"PyTorch": (torch_derivatives, torch_formula), "JAX": (jax_derivatives, jax_formula)}
EACH = pytest.mark.parametrize("library", DERIVATIVES)
VJPS = [sa.scaled_dot_product_attention_vjp, sa.streaming_attention_vjp]


class TestGradients:
    def compare(self, library, vjp, arrays, *, bias=None, block_size=2, **options):
        derivatives, formula = DERIVATIVES[library]
        shape = np.broadcast_shapes(*(array.shape[:-2] for array in arrays))
        rows, width = arrays[0].shape[-2], arrays[2].shape[-1]
        d_output = normal(*shape, rows, width, seed=8, dtype=arrays[0].dtype)
        blocks = {"block_size": block_size} if vjp is sa.streaming_attention_vjp else {}
        found = vjp(*arrays, d_output, bias=bias, **options, **blocks)
        ours, given = [*found], [*arrays]
        if bias is not None:
            ours, given = [*ours, found.d_bias], [*given, bias]
        if options.get("mask") is not None:
            options["mask"] = np.broadcast_to(options["mask"], (*shape, rows, arrays[1].shape[-2]))
        theirs = derivatives(partial(formula, **options), given, d_output)
        reach = 1 + highest_score(*arrays[:2], scale=options.get("scale"), bias=bias)
        gradients_agree(library, ours, theirs, eps=epsilon(arrays[0].dtype), reach=reach)

    @EACH
    @pytest.mark.parametrize("vjp", VJPS)
    @pytest.mark.parametrize("dtype", WIDE)
    @pytest.mark.parametrize("d_v", [D_K, D_V])  # of the fast kernel and of the other
    def test_agree(self, library, vjp, dtype, d_v):
        self.compare(library, vjp, inputs(dtype, d_v=d_v))

    @EACH
    @pytest.mark.parametrize("vjp", VJPS)
    @pytest.mark.parametrize("dtype", WIDE)
    @pytest.mark.parametrize("shape", [(TQ, TK), (B, 1, 1, TK), (H, TQ, 1), (B, H, TQ, TK)])
    def test_agree_under_a_mask(self, library, vjp, dtype, shape):
        self.compare(library, vjp, inputs(dtype), mask=some_mask(*shape, seed=3))

    @EACH
    @pytest.mark.parametrize("vjp", VJPS)
    @pytest.mark.parametrize("dtype", WIDE)
    @pytest.mark.parametrize("mask", [None, some_mask(B, H, TQ, TK)])
    def test_agree_with_a_bias_and_a_scale(self, library, vjp, dtype, mask):
        bias = normal(H, TQ, TK, seed=9, dtype=dtype)
        self.compare(library, vjp, inputs(dtype), bias=bias, scale=-0.7, mask=mask)

    @EACH
    @pytest.mark.parametrize("vjp", VJPS)
    @pytest.mark.parametrize("dtype", WIDE)
    @pytest.mark.parametrize("queries, keys", [(TQ, TK), (TK, TQ)])
    def test_agree_if_causal(self, library, vjp, dtype, queries, keys):
        arrays = inputs(dtype, queries=queries, keys=keys, d_v=D_K)
        self.compare(library, vjp, arrays, causal=True)

    @pytest.mark.parametrize("vjp", VJPS)
    def test_agree_where_a_query_has_no_keys_and_a_key_no_queries(self, vjp):
        mask = some_mask(B, H, TQ, TK)
        mask[:, :, 2] = mask[..., 4] = False
        self.compare("PyTorch", vjp, inputs(), mask=mask)
        d_query, d_key, d_value = vjp(*inputs(), normal(B, H, TQ, D_V), mask=mask)
        assert not d_query[:, :, 2].any()
        assert not d_key[:, :, 4].any()
        assert not d_value[:, :, 4].any()

    @EACH
    @pytest.mark.parametrize("vjp", VJPS)
    def test_are_added_up_over_an_axis_that_was_broadcast(self, library, vjp):
        arrays = normal(B, H, TQ, D_K), normal(1, TK, D_K), normal(B, 1, TK, D_V)
        self.compare(library, vjp, arrays)

    @EACH
    @pytest.mark.parametrize("causal", [False, True])
    @pytest.mark.parametrize("dtype", WIDE)
    def test_agree_in_many_blocks(self, library, causal, dtype):
        arrays = inputs(dtype, lead=(2,), queries=211, keys=307, d_k=31, d_v=29)
        vjp = sa.streaming_attention_vjp
        self.compare(library, vjp, arrays, causal=causal, block_size=(41, 67))

    @EACH
    @pytest.mark.parametrize("causal", [False, True])
    @pytest.mark.parametrize("dtype", WIDE)
    def test_of_self_attention_reach_the_sequence_and_the_projections(self, library, causal, dtype):
        derivatives, formula = DERIVATIVES[library]
        x, d_output = normal(B, TQ, 17, dtype=dtype), normal(B, TQ, D_V, seed=8, dtype=dtype)
        matrices = (
            (normal(17, d, seed=s) / 4).astype(dtype) for s, d in ((1, 11), (2, 11), (3, D_V))
        )
        arrays = (x, *matrices)

        def attend(x, *matrices):
            return formula(*(x @ matrix for matrix in matrices), causal=causal)

        ours = sa.self_attention_vjp(*arrays, d_output, causal=causal)
        theirs = derivatives(attend, arrays, d_output)
        gradients_agree(library, ours, theirs, eps=epsilon(dtype), reach=5)

    @EACH
    @pytest.mark.parametrize("dtype", WIDE)
    def test_of_the_softmax(self, library, dtype):
        softmax = {"PyTorch": "torch", "JAX": "jax.nn"}[library]
        call = partial(peer(softmax).softmax, **{"PyTorch": {"dim": -1}}.get(library, {}))
        scores, d_weights = normal(B, TQ, TK, dtype=dtype), normal(B, TQ, TK, seed=1, dtype=dtype)
        ours = sa.softmax_vjp(sa.softmax(scores), d_weights)
        theirs = DERIVATIVES[library][0](call, [scores], d_weights)
        gradients_agree(library, [ours], theirs, eps=epsilon(dtype))


ONNX_NAMES = {"softmax": "Softmax", "log_softmax": "LogSoftmax"}
SOFTMAX = {
    "PyTorch": lambda what, x, axis: (
        getattr(peer("torch"), what)(*calls.tensors(x), axis).double().numpy()
    ),
    "JAX": lambda what, x, axis: getattr(peer("jax.nn"), what)(x, axis),
    "Keras": lambda what, x, axis: getattr(peer("keras").ops, what)(x, axis),
    "ONNX": lambda what, x, axis: calls.onnx_run(ONNX_NAMES[what], [x], axis=axis)[0],
    "ONNX Runtime": lambda what, x, axis: calls.runtime_run(ONNX_NAMES[what], [x], axis=axis)[0],
}


def torch_loss(logits, targets, mask):
    logits, wanted = calls.tensors(logits, np.where(mask, targets, -100))  # −100: not counted
    return peer("torch").nn.functional.cross_entropy(logits, wanted)


def jax_loss(logits, targets, mask):
    jax = peer("jax")
    chosen = jax.nn.one_hot(targets, logits.shape[-1]) * jax.nn.log_softmax(logits)
    return -chosen.sum(axis=-1).mean(where=mask)


def keras_loss(logits, targets, mask):
    keras = peer("keras")
    one = keras.ops.sparse_categorical_crossentropy(targets, logits, from_logits=True)
    return np.asarray(one).mean(where=mask)


def onnx_loss(run, logits, targets, mask):
    inputs = [logits, np.where(mask, targets, -1)]
    return run("SoftmaxCrossEntropyLoss", inputs, ignore_index=-1)[0]


LOSS = {
    "PyTorch": torch_loss,
    "JAX": jax_loss,
    "Keras": keras_loss,
    "ONNX": partial(onnx_loss, calls.onnx_run),
    "ONNX Runtime": partial(onnx_loss, calls.runtime_run),
}


class TestPieces:
    @pytest.mark.parametrize(
        "library, dtype",
        [*itertools.product(SOFTMAX, WIDE), *(("PyTorch", dtype) for dtype in FLOATS[:2])],
    )
    @pytest.mark.parametrize("axis", [0, 1, -1])
    def test_softmax_and_its_logarithm_along_every_axis(self, library, axis, dtype):
        x = (3 * normal(TQ, TK, D_K)).astype(dtype)
        for what, size in (("softmax", 1), ("log_softmax", 15)):
            ours, theirs = getattr(sa, what)(x, axis), SOFTMAX[library](what, x, axis)
            eps = max(epsilon(dtype), epsilon(np.asarray(theirs).dtype))
            agree(library, f"{what} {x.dtype}", ours, theirs, eps=eps, size=size)

    @pytest.mark.parametrize("library", LOSS)
    @pytest.mark.parametrize("dtype", WIDE)
    def test_cross_entropy_with_positions_left_out(self, library, dtype):
        logits = 3 * normal(B * TQ, 17, dtype=dtype)
        targets, mask = np.random.default_rng(1).integers(17, size=B * TQ), some_mask(B * TQ)
        eps = SINGLE if library == "Keras" else epsilon(dtype)
        for kept in (np.ones_like(mask), mask):
            theirs = LOSS[library](logits, targets, kept)
            ours = np.array(sa.cross_entropy(logits, targets, mask=kept))
            # Ours is computed in float64 whatever the logits.
            agree(library, "cross_entropy", ours, theirs, eps=eps, size=5)
