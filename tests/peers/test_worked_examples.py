"""The worked examples, answered by PyTorch and JAX: tensors are read as they come."""

import contextlib
import io
import re

import numpy as np
import pytest

import selfattn_ref
from press.example import snippets
from selfattn_ref.worked_examples import WorkedExampleMismatch, cases, ids, load
from tests.peers import peer
from tests.peers.calls import jax_attention

# The two know no cap and no offset, and PyTorch takes either a mask or is_causal.
CALLS = [
    call
    for _, call in cases()
    if call.expected is not None
    and not call.arguments.keys() & {"soft_cap", "offset"}
    and not call.arguments.keys() >= {"mask", "causal"}
]
EVERY_CALL = pytest.mark.parametrize("call", CALLS, ids=[f"{c.example}-{c.number}" for c in CALLS])


@EVERY_CALL
@pytest.mark.parametrize("name", ["float64", "float32", "float16", "bfloat16"])
def test_pytorch_agrees_in_every_dtype(call, name):
    torch = peer("torch")
    dtype = getattr(torch, name)

    def attention(query, key, value, *, mask=None, bias=None, causal=False, scale=None):
        arrays = [torch.tensor(np.array(x), dtype=dtype) for x in (query, key, value)]
        arrays = [x.reshape((1,) * (4 - x.ndim) + x.shape).requires_grad_() for x in arrays]
        given = None if mask is None else torch.tensor(np.array(mask))
        given = given if bias is None else torch.tensor(np.array(bias), dtype=dtype)
        attend = torch.nn.functional.scaled_dot_product_attention
        output = attend(*arrays, attn_mask=given, is_causal=causal, scale=scale)
        return output.reshape(call.expected.shape)

    agreement = call.check(attention(*call.args, **call.kwargs))
    assert agreement.convention in (None, "zeros", "upper-left", "true-attends")


@pytest.mark.parametrize(
    "call", [call for call in CALLS if call.args[0].shape[-1] == call.args[2].shape[-1]], ids=repr
)
def test_jax_agrees_in_float32(call):
    def attention(query, key, value, **options):
        arrays = (np.asarray(x, np.float32)[(None,) * (4 - x.ndim)] for x in (query, key, value))
        return jax_attention(*arrays, **options).reshape(call.expected.shape)

    agreement = call.check(attention(*call.args, **call.kwargs))
    assert agreement.convention in (None, "uniform", "upper-left", "true-attends")


GRADIENTS = pytest.mark.parametrize(
    "call", [call for _, call in cases("scaled_dot_product_attention_vjp")], ids=repr
)


@GRADIENTS
@pytest.mark.parametrize("by_the_book", [False, True])
def test_the_gradients_of_pytorch_agree(call, by_the_book):
    torch = peer("torch")

    def attend(query, key, value, mask):
        if not by_the_book:
            attention = torch.nn.functional.scaled_dot_product_attention
            return attention(query[None], key[None], value[None], attn_mask=mask)[0]
        scores = query @ key.T / key.shape[-1] ** 0.5
        scores = scores if mask is None else scores.masked_fill(~mask, -torch.inf)
        return scores.softmax(dim=-1) @ value

    def vjp(query, key, value, d_output, *, mask=None):
        leaves = [torch.tensor(np.array(x)).requires_grad_() for x in (query, key, value)]
        output = attend(*leaves, None if mask is None else torch.tensor(np.array(mask)))
        return torch.autograd.grad(output, leaves, torch.tensor(np.array(d_output)))

    assert call.test(vjp).convention in (None, "nan" if by_the_book else "zeros")


@GRADIENTS
def test_the_gradients_of_jax_agree(call):
    jax = peer("jax")

    def vjp(query, key, value, d_output, **options):
        def attend(*arrays):
            query, key, value = (x[None, :, None] for x in arrays)
            return jax.nn.dot_product_attention(query, key, value, **options)[0, :, 0]

        # Its softmax is one of float32 for float64, too.
        arrays = [np.asarray(x, np.float32) for x in (query, key, value, d_output)]
        return jax.vjp(attend, *arrays[:3])[1](arrays[3])

    assert call.test(vjp).convention in (None, "uniform")


@pytest.mark.parametrize("library", ["PyTorch", "JAX"])
@pytest.mark.parametrize("name", [name for name in ids() if load(name).calls])
def test_the_lines_on_the_page_of_an_example_run(name, library):
    peer("torch" if library == "PyTorch" else "jax")
    lines = snippets.snippets(name)[library]
    mine = re.search(r"my_\w+", lines)[0]

    def back(*args, **keywords):
        """Answer with the library; what comes in are arrays of the other one."""
        assert not any(isinstance(x, np.ndarray) for x in (*args, *keywords.values()))
        theirs = snippets.ATTENTION if mine == "my_attention" else mine.removeprefix("my_")
        given = {n: np.asarray(x) if hasattr(x, "shape") else x for n, x in keywords.items()}
        result = getattr(selfattn_ref, theirs)(*map(np.asarray, args), **given)
        return np.float32(result) if isinstance(result, float) else result  # as a tensor is

    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(lines, {mine: back})
    assert said.getvalue().startswith(f"{name} checked: ")


def test_five_lines_name_the_slip_of_a_function_in_pytorch():
    torch = peer("torch")

    def my_attention(query, key, value):
        assert query.dtype == torch.float32
        return (query @ key.T).softmax(dim=-1) @ value  # the root is forgotten

    lines = snippets.snippets("SA023")["PyTorch"]
    assert len([line for line in lines.splitlines() if line]) == 5
    with pytest.raises(WorkedExampleMismatch, match="the slip not-scaled: "):
        exec(lines, {"my_attention": my_attention})
