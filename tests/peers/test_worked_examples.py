"""The worked examples, answered by PyTorch and JAX: tensors are read as they come."""

import contextlib
import importlib
import io
import re

import numpy as np
import pytest

import selfattn_ref
from press.example import snippets
from selfattn_ref.worked_examples import WorkedExampleMismatch, adapters, calls, ids, load
from selfattn_ref.worked_examples._capabilities import CAPABILITIES, plain
from tests.peers import peer

ROLES = ("query", "key", "value")
# JAX knows no cap, no window and no sums as the examples ask for them, and takes four axes at most.
UNKNOWN = {"soft_cap", *CAPABILITIES}
CALLS = [c for c in calls() if not UNKNOWN & {*c.kwargs} and max(x.ndim for x in c.args) <= 4]


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_jax_agrees_in_float32(call):
    peer("jax")
    attend = adapters.jax(importlib.import_module("jax.nn").dot_product_attention)
    answer = attend(*(np.asarray(x, np.float32) for x in call.args), **call.kwargs)
    agreement = call.check(answer)
    assert agreement.convention in (
        *(None, "uniform", "upper-left", "true-attends", "select-score", "nan-value"),
    )


BACK = calls("scaled_dot_product_attention_vjp")
# What attention of the two takes as it stands: no axes of sequences or heads, and a mask at most.
PLAIN = [c for c in BACK if c.kwargs.keys() <= {"mask"} and max(x.ndim for x in c.args) == 2]


@pytest.mark.parametrize("call", BACK, ids=str)
def test_the_gradients_of_pytorch_by_the_book_agree(call):
    torch = peer("torch")

    def vjp(query, key, value, d_output, *, bias=None, **options):
        given = (query, key, value) if bias is None else (query, key, value, bias)
        leaves = [torch.tensor(np.array(x)).requires_grad_() for x in given]
        output = by_the_book(torch, *leaves, **options)
        found = torch.autograd.grad(output, leaves, torch.tensor(np.array(d_output)))
        return dict(zip(("d_query", "d_key", "d_value", "d_bias"), found, strict=False))

    assert call.test(vjp).convention in (None, "nan")


def by_the_book(
    torch, query, key, value, bias=0.0, *, mask=None, scale=None, soft_cap=None, **causal
):
    """Return attention in the operations of PyTorch."""
    scores = query @ key.mT * (key.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if soft_cap is None else soft_cap * torch.tanh(scores / soft_cap)
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool)
    seen = seen if mask is None else seen & torch.tensor(np.array(mask))
    seen = seen.tril(causal.get("offset", 0)) if causal.get("causal") else seen
    return (scores + bias).masked_fill(~seen, -torch.inf).softmax(dim=-1) @ value


@pytest.mark.parametrize("call", PLAIN, ids=str)
def test_the_gradients_of_pytorch_agree(call):
    torch = peer("torch")

    def vjp(query, key, value, d_output, *, mask=None):
        leaves = [torch.tensor(np.array(x)).requires_grad_() for x in (query, key, value)]
        seen = None if mask is None else torch.tensor(np.array(mask))
        attend = torch.nn.functional.scaled_dot_product_attention
        output = attend(*(x[None] for x in leaves), attn_mask=seen)[0]
        return torch.autograd.grad(output, leaves, torch.tensor(np.array(d_output)))

    assert call.test(vjp).convention in (None, "zeros")


@pytest.mark.parametrize(
    "call", [c for c in PLAIN if c.args[0].shape[-1] == c.args[2].shape[-1]], ids=str
)
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
        if {*given} & {*CAPABILITIES}:  # the library has none
            given = plain(dict(zip(ROLES, map(np.asarray, args), strict=True)) | given)
            args = ()
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
