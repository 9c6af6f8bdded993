"""The table "Where the libraries differ", cell by cell: measured, then compared with the data.

A probe poses a problem to one library and says in a word what came out. The words are decided
by plain NumPy or by hand, never by the library asked. A cell tells one word for all modes of a
library, or one for each.
"""

import datetime
import functools
import importlib.metadata
import pathlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import selfattn_ref as sa
from book.reference.other_libraries import (
    LIBRARIES,
    MEASURED,
    MEASURED_TABLE,
    ROWS,
    TABLE,
    VERSIONS,
    fingerprint,
)
from tests.peers import calls, peer
from tests.peers.problems import D_K, TK, TQ, B, H, inputs, normal

partial = functools.partial

# Library: {mode: attention, in our layout and with our meaning of a mask}.
ATTENTION = {
    "here": {"direct": calls.here, "streaming": calls.here_streaming},
    "ONNX": {
        "default": calls.onnx_attention,
        "softmax_precision=FLOAT": partial(calls.onnx_attention, softmax_precision=1),
    },
    "ONNX Runtime": {
        "default": calls.runtime_attention,
        "softmax_precision=FLOAT": partial(calls.runtime_attention, softmax_precision=1),
    },
    "PyTorch SDPA": {
        "default": calls.torch_attention,
        "FLASH_ATTENTION": partial(calls.torch_attention, backend="FLASH_ATTENTION"),
        "MATH": partial(calls.torch_attention, backend="MATH"),
    },
    "PyTorch MultiheadAttention": {
        "need_weights=True": partial(calls.torch_heads, need_weights=True),
        "need_weights=False": partial(calls.torch_heads, need_weights=False),
    },
    "JAX": {"default": calls.jax_attention},
    "Keras": {"default": calls.keras_attention},
}

SOFTMAX = {
    "here": sa.softmax,
    "ONNX": lambda x: calls.onnx_run("Softmax", [x], axis=-1)[0],
    "ONNX Runtime": lambda x: calls.runtime_run("Softmax", [x], axis=-1)[0],
    "PyTorch SDPA": lambda x: peer("torch").softmax(*calls.tensors(x), dim=-1).numpy(),
    "JAX": lambda x: np.asarray(peer("jax").nn.softmax(x)),
    "Keras": lambda x: np.asarray(peer("keras").ops.softmax(x)),
}

REFUSALS = (ValueError, TypeError, RuntimeError, IndexError, AssertionError)


def refusals():
    """Return what the libraries raise; ONNX Runtime has exceptions of its own."""
    try:
        import onnxruntime.capi.onnxruntime_pybind11_state as own
    except ImportError:
        return REFUSALS
    return (*REFUSALS, own.Fail, own.InvalidArgument)


def plain(query, key, value, mask=None):
    """Attention by the formula, in NumPy: no library is asked what it should answer."""
    scores = np.einsum("bhid,bhjd->bhij", query, key) / np.sqrt(query.shape[-1])
    powers = np.exp(scores) * (1 if mask is None else mask)
    return np.einsum("bhij,bhjd->bhid", powers / powers.sum(axis=-1, keepdims=True), value)


def near(a, b):
    return a.shape == b.shape and np.allclose(a, b, rtol=0, atol=1e-5)


def square(dtype=np.float32, **sizes):
    """Return queries, keys and values that every library takes: d_v = d_k."""
    return inputs(dtype, d_v=D_K, **sizes)


def everything_but(*hidden):
    """Return a mask that hides an index of the scores (B, H, Tq, Tk)."""
    mask = np.ones((B, H, TQ, TK), bool)
    mask[hidden] = False
    return mask


def as_bias(mask, dtype=np.float32):
    return np.where(mask, 0, -np.inf).astype(dtype)


# --- the probes: one for each row -------------------------------------------------------------


def width_of_values(attend):
    arrays = inputs(np.float32)
    try:
        output = attend(*arrays)
    except refusals():
        return "no"
    return "yes" if near(output, plain(*arrays)) else "no"


def corner(attend):
    words = set()
    for queries, keys in ((TQ, TK), (TK, TQ)):
        arrays = square(queries=queries, keys=keys)
        try:
            output = attend(*arrays, causal=True)
        except refusals():
            return "needs a mask"
        for word, shift in (("upper left", 0), ("lower right", keys - queries)):
            mask = np.arange(keys) <= np.arange(queries)[:, np.newaxis] + shift
            seen = mask.any(axis=-1)  # from the lower right, some queries may see no key
            if near(
                output[..., seen, :], plain(*arrays, mask | ~seen[:, np.newaxis])[..., seen, :]
            ):
                words.add(word)
    return words.pop() if len(words) == 1 else words


def mask_with_causal(attend):
    arrays = square(queries=TK)
    below = np.tri(TK, dtype=bool)
    mask = np.random.default_rng(1).random((B, H, TK, TK)) < 0.6
    mask[..., np.arange(TK), np.arange(TK)] = True  # no query is left alone
    try:
        output = attend(*arrays, mask=mask, causal=True)
    except refusals():
        return "error"
    for word, allowed in (("both", mask & below), ("mask alone", mask), ("causal alone", below)):
        if near(output, plain(*arrays, allowed)):
            return word
    return "neither"


def short_mask(attend, columns):
    arrays = square()
    mask = np.ones((B, H, TQ, columns), bool)
    try:
        output = attend(*arrays, mask=mask)
    except refusals():
        return "error"
    if near(output, plain(*arrays)):
        return "broadcast"
    rest = near(output, plain(*arrays, np.arange(TK) < columns))
    return "the other keys are masked" if rest else "something else"


def nan_or_zero(output):
    if np.isnan(output).all():
        return "NaN"
    return "0" if (output == 0).all() else "something else"


def lonely_query(attend, *, by_bias=False, dtype=np.float32):
    arrays = square(dtype)
    mask = everything_but(slice(None), slice(None), 2)
    output = attend(*arrays, bias=as_bias(mask, dtype)) if by_bias else attend(*arrays, mask=mask)
    others = [0, 1, 3, 4]
    assert near(output[:, :, others], plain(*arrays)[:, :, others])
    row = output[:, :, 2]
    return "mean of all values" if near(row, arrays[2].mean(axis=-2)) else nan_or_zero(row)


def no_keys(attend):
    try:
        output = attend(*square(keys=0))
    except refusals():
        return "error"
    assert output.shape == (B, H, TQ, D_K)
    return nan_or_zero(output)


def nan_where_masked(attend, place):
    arrays = square()
    mask = everything_but(..., 3)
    clean = attend(*arrays, mask=mask)
    arrays[place][:, :, 3] = np.nan
    output = attend(*arrays, mask=mask)
    if np.array_equal(output, clean):
        return "no effect"
    return "NaN" if np.isnan(output).all() else "something else"


def double(attend):
    arrays = square(np.float64)
    output = attend(*arrays)
    if output.dtype != np.float64:
        return str(output.dtype)
    error = np.abs(output - plain(*arrays)).max()
    # An error between those of the two types would be neither.
    assert error < 1e-14 or 1e-9 < error < 1e-5, error
    return "kept" if error < 1e-14 else "kept, precision of float32"


def half(attend, size):
    # The query is the first key and the opposite of the second: all of the weight is on the
    # first value, which is 1. The dot products are ±64 size², the scores an eighth of that.
    query = np.full((1, 1, 1, 64), size, np.float16)
    key = np.concatenate([query, -query], axis=-2)
    value = np.concatenate([np.ones_like(query), 2 * np.ones_like(query)], axis=-2)
    output = attend(query, key, value)
    assert output.dtype == np.float16
    return "right" if (output == 1).all() else "NaN" if np.isnan(output).all() else "something else"


PROBES = {
    "d_v ≠ d_k": width_of_values,
    "causal, Tq ≠ Tk": corner,
    "mask with causal": mask_with_causal,
    "mask of one column": partial(short_mask, columns=1),
    "mask shorter than the keys": partial(short_mask, columns=TK - 2),
    "fully masked row, boolean": lonely_query,
    "fully masked row, −∞ bias": partial(lonely_query, by_bias=True),
    "no keys": no_keys,
    "NaN in a masked key": partial(nan_where_masked, place=1),
    "NaN in a masked value": partial(nan_where_masked, place=2),
    "float64": double,
    "float16, products above 65504": partial(half, size=40),  # 102400, and 12800 scaled
    "float16, scores above 65504": partial(half, size=256),  # 524288 scaled
}


# --- rows and cells that need a way of their own ----------------------------------------------


def layout(native):
    """Say where a function of three equal arrays (2, 3, 5, 7) finds its positions."""
    array = normal(2, 3, 5, 7)
    output = native(array, array, array)
    if near(output, plain(array, array, array)):
        try:
            for lead in ((), (2,), (1, 2, 3)):  # any number of leading axes
                more = normal(*lead, 5, 7)
                assert native(more, more, more).shape == more.shape
        except refusals():
            return "BHTd"
        return "(…, T, d)"
    turned = array.swapaxes(1, 2)
    return "BTHd" if near(output, plain(turned, turned, turned).swapaxes(1, 2)) else "unknown"


def layout_of_layer(batch_first):
    """Say which of the first two axes of (3, 5, 7) a layer takes for positions."""
    torch = peer("torch")
    x = normal(3, 5, 7)
    layer = calls.torch_layer(7, 1, dtype=torch.float64, batch_first=batch_first)
    output = layer(*calls.tensors(x, x, x))[0].detach().numpy()
    turned = x.swapaxes(0, 1)
    if near(output, plain(*3 * [x[:, np.newaxis]])[:, 0]):
        return "BTE"
    expected = plain(*3 * [turned[:, np.newaxis]])[:, 0].swapaxes(0, 1)
    return "TBE" if near(output, expected) else "unknown"


def meaning_of_true(native):
    """Say what True does in a mask that the library is given as it is."""
    x = normal(1, 1, TQ, D_K)
    mask = np.random.default_rng(2).random((TQ, TQ)) < 0.5
    mask[:, 0], mask[:, 1] = True, False  # something is left either way
    output = native(x, mask)
    if near(output, plain(x, x, x, mask)):
        return "attend"
    return "ignore" if near(output, plain(x, x, x, ~mask)) else "unknown"


def jax_double(x64):
    config = peer("jax").config
    config.update("jax_enable_x64", x64)
    try:
        return double(calls.jax_attention)
    finally:
        config.update("jax_enable_x64", True)


def layer_with_its_own_mask(x, mask):
    torch = peer("torch")
    layer = calls.torch_layer(D_K, 1, dtype=torch.float64, batch_first=True)
    output, _ = layer(*calls.tensors(x[0], x[0], x[0]), attn_mask=torch.tensor(mask))
    return output.detach().numpy()[np.newaxis]


def length_first(native):
    """Return a call of x (1, 1, T, d) for a library that wants (1, T, 1, d)."""

    def call(x, mask):
        turned = x.swapaxes(1, 2)
        return native(turned, turned, turned, mask=mask[np.newaxis, np.newaxis]).swapaxes(1, 2)

    return call


NATIVE_MASKS = {
    "here": lambda x, mask: sa.scaled_dot_product_attention(x, x, x, mask=mask),
    "ONNX": lambda x, mask: calls.onnx_run("Attention", [x, x, x, mask])[0],
    "ONNX Runtime": lambda x, mask: calls.runtime_run("Attention", [x, x, x, mask])[0],
    "PyTorch SDPA": lambda x, mask: calls.torch_attention(x, x, x, mask=mask),  # as it is
    "PyTorch MultiheadAttention": layer_with_its_own_mask,
    "JAX": length_first(calls.jax_native),
    "Keras": length_first(calls.keras_native),
}

NATIVE_LAYOUTS: dict[str, Callable[..., Any]] = {
    "here": sa.scaled_dot_product_attention,
    "ONNX": calls.onnx_attention,
    "ONNX Runtime": calls.runtime_attention,
    "PyTorch SDPA": calls.torch_attention,
    "JAX": calls.jax_native,
    "Keras": calls.keras_native,
}


def modes(library, row):
    """Return a call for each mode in which a cell is measured: {mode: word of what happens}."""
    if row == "softmax of −∞ alone":
        return {"default": lambda: nan_or_zero(SOFTMAX[library](np.full((2, 3), -np.inf)))}
    if row == "True means":
        return {"default": lambda: meaning_of_true(NATIVE_MASKS[library])}
    if row == "layout" and library == "PyTorch MultiheadAttention":
        return {f"batch_first={b}": partial(layout_of_layer, b) for b in (False, True)}
    if row == "layout":
        return {"default": lambda: layout(NATIVE_LAYOUTS[library])}
    if row == "float64" and library == "JAX":
        return {"default": partial(jax_double, False), "jax_enable_x64": partial(jax_double, True)}
    attentions = ATTENTION[library]
    if "softmax_precision=FLOAT" in attentions and row != "float16, scores above 65504":
        attentions = {"default": attentions["default"]}
    if library == "ONNX Runtime" and row.startswith("fully masked row"):
        return {
            str(np.dtype(dtype)): partial(PROBES[row], attentions["default"], dtype=dtype)
            for dtype in (np.float32, np.float64)
        }
    return {mode: partial(PROBES[row], attend) for mode, attend in attentions.items()}


CELLS = [(library, row) for library, column in TABLE.items() for row in column]


@pytest.mark.filterwarnings("ignore")  # some warn before they answer; the answer is asked for
@pytest.mark.parametrize("library, row", CELLS, ids=[f"{row}-{name}" for name, row in CELLS])
def test_the_cell_tells_what_the_library_does(library, row):
    cell = TABLE[library][row]
    measured = {mode: probe() for mode, probe in modes(library, row).items()}
    expected = cell if isinstance(cell, dict) else dict.fromkeys(measured, cell)
    assert measured == expected


class TestTable:
    def test_every_column_says_something_of_every_row_or_has_no_way_to(self):
        nothing_to_say = {
            ("PyTorch MultiheadAttention", "softmax of −∞ alone")  # it is not a softmax
        }
        every = {(library, row) for library in LIBRARIES for row in ROWS}
        assert every - set(CELLS) == nothing_to_say
        assert set(CELLS) <= every

    def test_it_is_the_table_that_was_measured_on_the_day_it_names(self):
        assert datetime.date.fromisoformat(MEASURED) <= datetime.date.today()
        assert fingerprint() == MEASURED_TABLE, (
            "the table or a version has changed: when all cells pass, enter this day and "
            f"fingerprint in other_libraries.py: {datetime.date.today()}, {fingerprint()}"
        )

    @pytest.mark.parametrize("package", VERSIONS)
    def test_the_versions_are_those_installed(self, package):
        peer(package)
        installed = importlib.metadata.version(package).partition("+")[0]  # 2.13.0+cpu
        assert installed == VERSIONS[package]

    def test_the_versions_are_those_that_are_pinned(self):
        root = pathlib.Path(__file__).parents[2]
        text = (root / "requirements-peers.txt").read_text("utf-8")
        pins = dict(re.findall(r"^([a-z]+)==(\S+)$", text, flags=re.MULTILINE))
        assert {name: pins[name] for name in VERSIONS} == VERSIONS

    def test_the_numpy_is_that_of_the_library(self):
        root = pathlib.Path(__file__).parents[2]
        pinned = re.search(
            r"^numpy==(\S+)", (root / "requirements.txt").read_text("utf-8"), re.MULTILINE
        )
        assert np.__version__ == pinned[1]
