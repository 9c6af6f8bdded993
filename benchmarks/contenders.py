"""Who takes part: the library, the textbook form, the limit, and other libraries if installed.

Each function returns a call without arguments, its inputs converted beforehand, so that only
the arithmetic is timed.
"""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

import selfattn_ref as sa

Array = npt.NDArray[Any]
Call = Callable[[], Any]


def textbook(query: Array, key: Array, value: Array) -> Array:
    """Attention as it is written in most tutorials: a fresh array at each step."""
    scores = query @ key.mT / np.sqrt(query.shape[-1]).astype(query.dtype)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True) @ value)


def arithmetic(query: Array, key: Array, value: Array) -> Array:
    """Attention in as few steps as NumPy allows, without a check: not a usable function."""
    scores = (query * 0.125) @ key.mT
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return np.asarray(scores @ value)


def limit(query: Array, key: Array, value: Array, causal: bool) -> None:
    """Two products and one exponential for each block of scores, and nothing else.

    The result is not attention. No NumPy form that computes all scores can be faster than the
    fastest size of blocks.
    """
    length, width = query.shape[-2:]
    rows, columns = min(512, length), min(256, length)
    scores = np.empty((rows, columns), query.dtype)
    mixed = np.empty((rows, width), query.dtype)
    for head in np.ndindex(query.shape[:-2]):
        for i in range(0, length, rows):
            for j in range(0, i + rows if causal else length, columns):
                np.matmul(query[head][i : i + rows], key[head][j : j + columns].T, out=scores)
                np.exp(scores, out=scores)
                np.matmul(scores, value[head][j : j + columns], out=mixed)


def forward(query: Array, key: Array, value: Array, causal: bool) -> Iterator[tuple[str, Call]]:
    """Yield the name and the call of each contender for the forward pass."""
    mask = np.tri(query.shape[-2], dtype=bool) if causal else None
    eighth = query / np.asarray(8, query.dtype)  # so that the exponentials stay in range
    yield "streaming", lambda: sa.streaming_attention(query, key, value, causal=causal)
    yield "limit", lambda: limit(eighth, key, value, causal)
    scores = query.nbytes // query.shape[-1] * key.shape[-2]
    if scores <= 2**29:  # the textbook holds three of them
        yield "direct", lambda: sa.scaled_dot_product_attention(query, key, value, mask=mask)
        if not causal:
            yield "textbook", lambda: textbook(query, key, value)
    if query.dtype == np.float32:
        half = [array.astype(np.float16) for array in (query, key, value)]
        yield "streaming float16", lambda: sa.streaming_attention(*half, causal=causal)
        # Scores of standard deviation 10: the shift of a query changes on the way.
        wide = 10 * query
        yield "streaming wide", lambda: sa.streaming_attention(wide, key, value, causal=causal)
    yield from _torch_forward(query, key, value, causal)
    yield from _jax_forward(query, key, value, causal)
    yield from _onnxruntime_forward(query, key, value, causal)


def backward(
    query: Array, key: Array, value: Array, d_output: Array, causal: bool
) -> Iterator[tuple[str, Call]]:
    """Yield the name and the call of each contender for one pass forward and one back."""
    yield (
        "streaming",
        lambda: sa.streaming_attention_vjp(query, key, value, d_output, causal=causal),
    )
    if find_spec("torch"):
        import torch

        inputs = [torch.from_numpy(array).requires_grad_() for array in (query, key, value)]
        gradient = torch.from_numpy(d_output)
        attend = torch.nn.functional.scaled_dot_product_attention
        yield (
            "PyTorch",
            lambda: torch.autograd.grad(attend(*inputs, is_causal=causal), inputs, gradient),
        )
    if find_spec("jax"):
        import jax

        jax.config.update("jax_enable_x64", True)

        def pull_back(q: Any, k: Any, v: Any, g: Any) -> Any:
            def attend(q: Any, k: Any, v: Any) -> Any:
                return jax.nn.dot_product_attention(q, k, v, is_causal=causal)

            return jax.vjp(attend, q, k, v)[1](g)

        compiled = jax.jit(pull_back)
        arrays = [jax.numpy.asarray(_length_first(a)) for a in (query, key, value, d_output)]
        yield "JAX", lambda: jax.block_until_ready(compiled(*arrays))


def decoding(query: Array, key: Array, value: Array) -> Iterator[tuple[str, Call]]:
    """Yield the name and the call of each contender for few queries or few keys."""
    yield "streaming", lambda: sa.streaming_attention(query, key, value)
    yield "direct", lambda: sa.scaled_dot_product_attention(query, key, value)
    yield "textbook", lambda: textbook(query, key, value)
    yield "arithmetic", lambda: arithmetic(query, key, value)
    yield from _torch_forward(query, key, value, causal=False)
    yield from _jax_forward(query, key, value, causal=False)
    yield from _onnxruntime_forward(query, key, value, causal=False)


def _length_first(array: Array) -> Array:
    return np.swapaxes(array, -3, -2)


def _torch_forward(
    query: Array, key: Array, value: Array, causal: bool
) -> Iterator[tuple[str, Call]]:
    if not find_spec("torch"):
        return
    import torch

    tensors = [torch.from_numpy(array) for array in (query, key, value)]
    attend = torch.nn.functional.scaled_dot_product_attention
    yield "PyTorch", lambda: attend(*tensors, is_causal=causal)


def _jax_forward(
    query: Array, key: Array, value: Array, causal: bool
) -> Iterator[tuple[str, Call]]:
    # XLA on a CPU holds all scores.
    if not find_spec("jax") or query.shape[-2] * key.shape[-2] > 2**24:
        return
    import jax

    jax.config.update("jax_enable_x64", True)
    arrays = [jax.numpy.asarray(_length_first(array)) for array in (query, key, value)]
    attend = jax.jit(lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=causal))
    yield "JAX", lambda: jax.block_until_ready(attend(*arrays))


def _onnxruntime_forward(
    query: Array, key: Array, value: Array, causal: bool
) -> Iterator[tuple[str, Call]]:
    if not (find_spec("onnxruntime") and find_spec("onnx")) or query.dtype != np.float32:
        return
    if query.shape[-2] * key.shape[-2] > 2**24:  # it holds all scores
        return
    import onnx
    import onnxruntime

    inputs = dict(zip("QKV", (query, key, value), strict=True))
    node = onnx.helper.make_node("Attention", [*inputs], ["Y"], is_causal=int(causal))
    typed = {
        name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, array.shape)
        for name, array in (*inputs.items(), ("Y", query))
    }
    graph = onnx.helper.make_graph([node], "attention", [typed[n] for n in inputs], [typed["Y"]])
    opset = onnx.helper.make_opsetid("", 23)
    model = onnx.helper.make_model(graph, opset_imports=[opset], ir_version=10)
    options = onnxruntime.SessionOptions()
    # Its threads would otherwise spin while the others are timed.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    yield "onnxruntime", lambda: session.run(None, inputs)
