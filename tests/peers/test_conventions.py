"""The worked examples, asked of every library: the table "The worked examples" of the page."""

import functools

import numpy as np
import pytest

from book.reference.other_libraries import EXAMPLES
from selfattn_ref.worked_examples import WorkedExampleMismatch, cases
from tests.peers import calls
from tests.peers.test_differences import refusals


def of_one_width(attend):
    """Let a library that wants d_v = d_k answer: zeros are added to the narrower ones."""

    @functools.wraps(attend)
    def padded(*arrays, scale=None, **options):
        if arrays[0].shape[-1] != arrays[1].shape[-1]:
            return attend(*arrays, scale=scale, **options)  # which is wrong, and stays so
        width, own = max(x.shape[-1] for x in arrays), arrays[2].shape[-1]
        scale = arrays[0].shape[-1] ** -0.5 if scale is None else scale
        wide = [np.pad(x, [(0, 0)] * 3 + [(0, width - x.shape[-1])]) for x in arrays]
        return attend(*wide, scale=scale, **options)[..., :own]

    return padded


# Library: what it computes attention with, and what it calls the options that it has.
PLAIN = {"mask": "mask", "bias": "bias", "scale": "scale", "causal": "causal"}
ASKED = {
    "ONNX": (calls.onnx_attention, PLAIN | {"soft_cap": "softcap"}),
    "ONNX Runtime": (calls.runtime_attention, PLAIN | {"soft_cap": "softcap"}),
    "PyTorch SDPA": (calls.torch_attention, PLAIN),
    "JAX": (of_one_width(calls.jax_attention), PLAIN),
    "Keras": (calls.keras_attention, PLAIN),
}


def answered(attend, names, call):
    """Return what a library makes of a call, in float32 and with four axes."""

    def single(x):
        real = isinstance(x, np.ndarray) and x.dtype.kind == "f"
        return np.array(x, np.float32 if real else None) if isinstance(x, np.ndarray) else x

    def attention(query, *others, **options):
        arrays = [single(x)[(None,) * (4 - x.ndim)] for x in (query, *others)]
        given = {names[name]: single(value) for name, value in options.items()}
        with np.errstate(invalid="ignore"):  # where a padded value is NaN
            output = attend(*arrays, **given)
        return output.reshape(output.shape[4 - query.ndim :])

    try:
        return call.test(attention).convention or "agrees"
    except WorkedExampleMismatch:
        return "answers" if call.raises else "differs"
    except refusals():
        return "refuses"


@pytest.mark.parametrize("library", ASKED)
def test_what_a_library_makes_of_the_examples_is_what_the_table_says(library):
    attend, names = ASKED[library]
    plain = [call.without_capabilities() for _, call in cases()]
    four = [call for call in plain if max(x.ndim for x in call.args) <= 4]
    asked = [call for call in four if call.kwargs.keys() <= names.keys()]
    found = {call.id: answered(attend, names, call) for call in asked}
    words = ("agrees", "answers", "differs", "refuses")
    measured = {
        "lacks": {n for call in plain for n in call.kwargs if n not in names},
        "follows": {what for what in found.values() if what not in words},
        **{word: {name for name, what in found.items() if what == word} for word in words[1:]},
    }
    assert measured == {what: set(said) for what, said in EXAMPLES[library].items()}
    assert "agrees" in found.values()


def test_the_table_has_every_library_that_is_asked():
    assert EXAMPLES.keys() == ASKED.keys()
