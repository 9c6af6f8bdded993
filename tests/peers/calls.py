"""Attention as each library computes it, called as this library is called.

Every function takes NumPy arrays (B, H, T, d), a boolean mask in which True means "may attend",
or a bias, and returns a NumPy array. What has to be turned around for that is what the table
in `book/reference/other_libraries.py` tells; the `native` forms turn nothing around.
"""

import contextlib
import functools

import numpy as np

import selfattn_ref as sa
from tests.peers import peer

here = sa.scaled_dot_product_attention
here_streaming = functools.partial(sa.streaming_attention, block_size=2)


# --- PyTorch ----------------------------------------------------------------------------------


def tensors(*arrays):
    """Return copies as tensors. PyTorch does not know the bfloat16 of NumPy."""
    torch = peer("torch")

    def tensor(array):
        if array.dtype.name == "bfloat16":
            return torch.tensor(array.astype(np.float32)).to(torch.bfloat16)
        return torch.tensor(array)

    return [tensor(np.asarray(array)) for array in arrays]


def _attention_mask(mask, bias):
    """Return the one argument that serves as mask and as bias."""
    if mask is None or bias is None:
        return mask if bias is None else bias
    return np.where(mask, bias, bias.dtype.type(-np.inf))


def torch_attention(
    query, key, value, *, mask=None, bias=None, causal=False, scale=None, backend=None, **options
):
    """Attention by PyTorch, with the backend that it chooses, or a given one."""
    torch = peer("torch")
    backends = peer("torch.nn.attention")
    arrays = tensors(query, key, value)
    given = _attention_mask(mask, bias)
    (given,) = [None] if given is None else tensors(given)
    chosen = backend and backends.sdpa_kernel(getattr(backends.SDPBackend, backend))
    with chosen or contextlib.nullcontext():
        output = torch.nn.functional.scaled_dot_product_attention(
            *arrays, attn_mask=given, is_causal=causal, scale=scale, **options
        )
    return (output.float() if output.dtype == torch.bfloat16 else output).numpy()


def torch_layer(width, heads, *, dtype, weights=None, **options):
    """Return a MultiheadAttention without biases: its projections are given, or change nothing.

    `weights` are ours, (w_query, w_key, w_value, w_output): they multiply from the right.
    """
    torch = peer("torch")
    layer = torch.nn.MultiheadAttention(width, heads, bias=False, dtype=dtype, **options)
    own = [layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight]
    with torch.no_grad():
        if own[0] is None:  # one width for all: the three are stacked
            own = layer.in_proj_weight.chunk(3)
        own = [*own, layer.out_proj.weight]
        given = [torch.eye(*w.shape) for w in own] if weights is None else tensors(*weights)
        for target, weight in zip(own, given, strict=True):
            target.copy_(weight if weights is None else weight.mT)
    return layer


def torch_heads(query, key, value, *, mask=None, bias=None, causal=False, need_weights):
    """Attention by PyTorch's MultiheadAttention, whose projections change nothing."""
    torch = peer("torch")
    heads, width = query.shape[-3], query.shape[-3] * query.shape[-1]
    value_width = heads * value.shape[-1]
    arrays = tensors(*(sa.merge_heads(array) for array in (query, key, value)))
    kinds = {} if value_width == width else {"kdim": width, "vdim": value_width}
    layer = torch_layer(width, heads, dtype=arrays[0].dtype, batch_first=True, **kinds)
    given = _attention_mask(None if mask is None else ~mask, bias)
    if given is not None:
        lead, own = query.shape[:-2], given.shape[-2:]
        (given,) = tensors(np.broadcast_to(given, lead + own).reshape(-1, *own))
    with torch.no_grad():
        output, _ = layer(*arrays, need_weights=need_weights, attn_mask=given, is_causal=causal)
    return sa.split_heads(output.numpy(), heads)


# --- JAX and Keras ----------------------------------------------------------------------------


def _length_first(array):
    return np.asarray(array).swapaxes(-3, -2)


def jax_native(query, key, value, **options):
    """Attention by JAX, in its own layout."""
    return np.asarray(peer("jax").nn.dot_product_attention(query, key, value, **options))


def jax_attention(query, key, value, *, causal=False, **options):
    """Attention by JAX."""
    arrays = (_length_first(array) for array in (query, key, value))
    return _length_first(jax_native(*arrays, is_causal=causal, **options))


def keras_native(query, key, value, **options):
    """Attention by Keras on NumPy, in its own layout."""
    return np.asarray(peer("keras").ops.dot_product_attention(query, key, value, **options))


def keras_attention(query, key, value, *, causal=False, **options):
    """Attention by Keras on NumPy."""
    arrays = (_length_first(array) for array in (query, key, value))
    return _length_first(keras_native(*arrays, is_causal=causal, **options))


# --- ONNX -------------------------------------------------------------------------------------

OPSET = 25  # the newest that has another Attention than the one before


def onnx_model(operator, inputs, outputs=1, *, opset=OPSET, **attributes):
    """Return a model of one operator; an input that is None is left out."""
    onnx = peer("onnx")
    helper = onnx.helper
    names = [f"in{i}" if array is not None else "" for i, array in enumerate(inputs)]
    results = [f"out{i}" for i in range(outputs)]
    node = helper.make_node(operator, names, results, **attributes)
    given = {name: array for name, array in zip(names, inputs, strict=True) if name}
    kinds = {n: helper.np_dtype_to_tensor_dtype(array.dtype) for n, array in given.items()}
    graph = helper.make_graph(
        [node],
        operator,
        [helper.make_tensor_value_info(n, kinds[n], array.shape) for n, array in given.items()],
        [helper.make_tensor_value_info(n, kinds[names[0]], None) for n in results],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=11)
    return model, given


def onnx_run(operator, inputs, outputs=1, **attributes):
    """Run one operator by ONNX's own reference implementation."""
    model, given = onnx_model(operator, inputs, outputs, **attributes)
    return peer("onnx.reference").ReferenceEvaluator(model).run(None, given)


def runtime_run(operator, inputs, outputs=1, **attributes):
    """Run one operator by ONNX Runtime."""
    runtime = peer("onnxruntime")
    model, given = onnx_model(operator, inputs, outputs, **attributes)
    options = runtime.SessionOptions()
    options.log_severity_level = 4  # an error is raised; it need not be printed as well
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, given)


def _onnx_attention(run, query, key, value, mask, bias, causal, scale, attributes):
    if scale is not None:
        attributes["scale"] = float(scale)
    arrays = [query, key, value, _attention_mask(mask, bias)]
    return run("Attention", arrays, is_causal=int(causal), **attributes)[0]


def onnx_attention(
    query, key, value, *, mask=None, bias=None, causal=False, scale=None, **attributes
):
    """Attention by ONNX's own reference implementation."""
    return _onnx_attention(onnx_run, query, key, value, mask, bias, causal, scale, attributes)


def runtime_attention(
    query, key, value, *, mask=None, bias=None, causal=False, scale=None, **attributes
):
    """Attention by ONNX Runtime."""
    return _onnx_attention(runtime_run, query, key, value, mask, bias, causal, scale, attributes)
