"""Adapt functions with the calling conventions of other libraries to those of this one.

Each adapter takes a function and returns one to be tested: it is called with NumPy arrays ``(query,
key, value, *, mask, bias, scale, soft_cap, causal, offset, ...)`` and passes them to yours the way
that library's function takes them. Options that the library does not have are left out of the
signature of the adapter, so calls with them are not made. The library is imported when the adapter
is called.

>>> from selfattn_ref.worked_examples import adapters, calls
>>> def attend(q, k, v, attn_mask=None):  # a function of ours, with another's names
...     from selfattn_ref import scaled_dot_product_attention
...
...     return scaled_dot_product_attention(q, k, v, mask=attn_mask)
>>> mine = adapters.renamed(attend, mask="attn_mask")
>>> call = next(call for call in calls() if call.id == "SA016-1")
>>> call.test(mine)
SA016 checked: scaled_dot_product_attention(query, key, value, mask) agrees (32 numbers, ...)
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Any
from unittest import SkipTest

import numpy as np
from numpy.typing import NDArray

from selfattn_ref.worked_examples._claims import claimed

__all__ = [
    "LIKE",
    "having",
    "in_layout",
    "jax",
    "keras",
    "mlx",
    "onnx",
    "renamed",
    "torch",
    "with_arrays",
]

Function = Callable[..., Any]
Array = NDArray[Any]

_ARRAYS = ("query", "key", "value")


def _taking(function: Function, adapter: Function, names: Iterable[str], *notes: str) -> Function:
    """Return an adapter whose signature says which keywords it takes."""
    every = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in _ARRAYS]
    every += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    given: Any = functools.wraps(function, updated=())(adapter)
    given.__signature__ = inspect.Signature(every)
    given.notes = notes
    return adapter


def _has(function: Function, name: str) -> bool:
    """Return whether a function takes a keyword; what has no signature takes those of its like."""
    claims = claimed(function)
    return claims is None or name in claims


def _four(array: Array) -> Array:
    """Return an array with axes of length 1 before, so that there are four."""
    return array[(None,) * (4 - array.ndim)]


def _alike(*arrays: Array) -> list[Array]:
    """Return arrays in full along their leading axes, which these libraries want alike."""
    lead = np.broadcast_shapes(*(x.shape[:-2] for x in arrays))
    return [x if x.shape[:-2] == lead else np.broadcast_to(x, lead + x.shape[-2:]) for x in arrays]


def _widened(array: Array, width: int) -> Array:
    """Return vectors of a width, filled up with zeros."""
    return np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, width - array.shape[-1])])


def _like(result: Any, array: Array) -> Any:
    """Return a result without the axes of length 1 that an array was given before its own."""
    shape, more = tuple(result.shape), 4 - array.ndim
    return result.reshape(shape[more:]) if shape[:more] == (1,) * more else result


def _seen(query: Array, key: Array, causal: Any, offset: int, mask: Array | None) -> Array | None:
    """Return one mask that says what `mask`, `causal` and `offset` say."""
    if not causal:
        return mask
    lower = np.tri(query.shape[-2], key.shape[-2], offset, dtype=bool)
    return lower if mask is None else lower & mask


def _added(mask: Array | None, bias: Array | None) -> Array | None:
    """Return one array that says what a mask and a bias say: −∞ where a key is hidden."""
    if mask is None or bias is None:
        return mask if bias is None else bias
    return np.where(mask, bias, bias.dtype.type(-np.inf))


def _own(array: Array) -> Array:
    """Return memory that may be written to, with no negative strides: tensors know no other."""
    return array if array.flags.writeable and min(array.strides, default=0) >= 0 else array.copy()


# --- names, axes, arrays --------------------------------------------------------------------------


def renamed(function: Function, **names: str) -> Function:
    """Return a function with other keywords: ``renamed(function, mask="attn_mask")``."""
    own = claimed(function)

    @functools.wraps(function)
    def adapter(*args: Any, **keywords: Any) -> Any:
        return function(*args, **{names.get(name, name): x for name, x in keywords.items()})

    if own is None:
        return adapter
    missing = [other for other in names.values() if other not in own]
    if missing:
        raise TypeError(f"it takes no {', '.join(missing)}; it takes {', '.join(sorted(own))}")
    found = (own - {*names.values()} - {*_ARRAYS}) | {*names}
    return _taking(function, adapter, sorted(found), *getattr(function, "notes", ()))


def having(function: Function, *capabilities: str) -> Function:
    """Let a function take capabilities it has no keyword for: ``having(f, "grouped_heads")``."""
    own = claimed(function)

    @functools.wraps(function)
    def adapter(*args: Any, **keywords: Any) -> Any:
        valued = [n for n in capabilities if keywords.get(n) not in (None, True)]
        if valued:
            raise SkipTest(f"{', '.join(valued)} has a value, and needs a keyword")
        return function(*args, **{n: x for n, x in keywords.items() if n not in capabilities})

    found = ((own or frozenset()) - {*_ARRAYS}) | {*capabilities}
    return _taking(function, adapter, sorted(found), *getattr(function, "notes", ()))


def in_layout(function: Function, layout: str) -> Function:
    """Return a function that gets arrays with four axes, in the order ``"BTHD"`` or ``"BHTD"``."""
    if layout not in ("BHTD", "BTHD"):
        raise ValueError(f"the layout is BHTD or BTHD, got {layout!r}")
    turned = layout == "BTHD"

    def turn(array: Any) -> Any:
        # The arrays of every library have one of the two.
        swap = getattr(array, "swapaxes", None)
        return swap(1, 2) if swap else np.swapaxes(array, 1, 2)

    @functools.wraps(function)
    def adapter(query: Array, key: Array, value: Array, **keywords: Any) -> Any:
        arrays = [_four(x) for x in (query, key, value)]
        result = function(*map(turn, arrays) if turned else arrays, **keywords)
        several = isinstance(result, tuple)
        first = result[0] if several else result
        widest = max((query, key, value), key=np.ndim)  # queries may be shared by sequences
        first = _like(turn(first) if turned else first, widest)
        return (first, *result[1:]) if several else first

    notes = getattr(function, "notes", ())
    own = claimed(function)
    if own is None:
        return adapter
    return _taking(function, adapter, sorted(own - {*_ARRAYS}), *notes)


def with_arrays(function: Function, convert: Function, dtype: str = "float64") -> Function:
    """Return a function that gets NumPy's arrays as converted by `convert`."""

    def converted(x: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return x
        made = convert(_own(x))
        return _to_bfloat16(made) if dtype == "bfloat16" and x.dtype.kind == "f" else made

    @functools.wraps(function)
    def adapter(*args: Any, **keywords: Any) -> Any:
        return function(*map(converted, args), **{n: converted(x) for n, x in keywords.items()})

    return adapter


def _to_bfloat16(array: Any) -> Any:
    """Return the array of a library in its bfloat16."""
    module = type(array).__module__.partition(".")[0]
    if module == "torch":
        return array.to(sys.modules["torch"].bfloat16)
    if module == "mlx":
        return array.astype(sys.modules["mlx.core"].bfloat16)
    try:
        return array.astype("bfloat16")  # JAX; NumPy, if ml_dtypes is there
    except (AttributeError, TypeError):
        raise TypeError(
            f"{type(array).__name__} of {module} has no bfloat16 that is known"
        ) from None


# --- libraries ------------------------------------------------------------------------------------

_FOLDED = "causal with {} is given as {}: {} takes no both."


def torch(function: Function, dtype: str = "float64") -> Function:
    """Adapt a function that is called like PyTorch's scaled_dot_product_attention.

    ``function(query, key, value, attn_mask=..., is_causal=..., scale=..., enable_gqa=...)``, with
    tensors. A mask and a bias are passed together as one numeric attn_mask. If causal comes with
    one of them, or with an offset, it goes into attn_mask as well.
    """

    def adapter(
        query: Array,
        key: Array,
        value: Array,
        *,
        mask: Array | None = None,
        bias: Array | None = None,
        causal: bool = False,
        offset: int = 0,
        scale: float | None = None,
        grouped_heads: bool = False,
    ) -> Any:
        library = importlib.import_module("torch")

        def tensor(x: Array) -> Any:
            made = library.from_numpy(_own(x))  # the same memory, with the same strides
            narrow = dtype == "bfloat16" and x.dtype.kind == "f"
            return made.to(library.bfloat16) if narrow else made

        keywords: dict[str, Any] = {}
        if causal and mask is None and bias is None and not offset:
            keywords["is_causal"] = True
        else:
            mask = _seen(query, key, causal, offset, mask)
        given = _added(mask, bias)
        if given is not None:
            keywords["attn_mask"] = tensor(np.atleast_2d(given))  # PyTorch takes no row alone
        if scale is not None:
            keywords["scale"] = scale
        if grouped_heads:
            keywords["enable_gqa"] = True
        return function(tensor(query), tensor(key), tensor(value), **keywords)

    names = ["scale"] if _has(function, "scale") else []
    if _has(function, "attn_mask"):
        names += ["mask", "bias"]
    if _has(function, "is_causal"):
        names += ["causal", *(["offset"] if _has(function, "attn_mask") else [])]
    if _has(function, "enable_gqa"):
        names += ["grouped_heads"]
    note = _FOLDED.format("a mask, a bias or an offset", "attn_mask", "PyTorch")
    return _taking(function, adapter, names, note)


def _length_first(
    function: Function, array: Function, names: dict[str, str], note: str, *, is_jax: bool
) -> Function:
    """Return the adapter for JAX and Keras: (B, T, H, d), and nearly the same keywords.

    JAX takes one width, and fewer heads of keys; with Keras that depends on its backend.
    """

    def adapter(query: Array, key: Array, value: Array, **given: Any) -> Any:
        own = query, key, value
        if is_jax and value.shape[-1] != key.shape[-1]:
            given["scale"] = key.shape[-1] ** -0.5 if given.get("scale") is None else given["scale"]
            width = max(key.shape[-1], value.shape[-1])
            query, key, value = (_widened(x, width) for x in own)
        causal, offset = given.pop("causal", False), given.pop("offset", 0)
        if not given.pop("grouped_heads", False):  # the shapes say it
            query, key, value = _alike(query, key, value)
        lead = query
        if offset:
            given["mask"] = _seen(query, key, causal, offset, given.get("mask"))
        elif causal:
            given["causal"] = True
        for name in ("mask", "bias"):
            if given.get(name) is not None:
                given[name] = array(_four(given[name]))
        arrays = (array(_four(x).swapaxes(1, 2)) for x in (query, key, value))
        keywords = {names[name]: x for name, x in given.items()}
        output = function(*arrays, **keywords).swapaxes(1, 2)[..., : own[2].shape[-1]]
        return _like(output, lead)

    taken = {name for name, other in names.items() if _has(function, other)}
    if taken >= {"mask", "causal"}:
        taken.add("offset")
    return _taking(function, adapter, [*sorted(taken), *["grouped_heads"] * is_jax], note)


def jax(function: Function, dtype: str = "float64") -> Function:
    """Adapt a function that is called like jax.nn.dot_product_attention.

    ``function(query, key, value, bias=..., mask=..., scale=..., is_causal=...)``, with arrays (B,
    T, H, d). An offset is passed as a mask. Keys or values, whichever are narrower, are padded with
    zeros, since JAX takes only one width. Set ``JAX_ENABLE_X64=1`` for float64.
    """

    def array(x: Array) -> Any:
        made = importlib.import_module("jax.numpy").asarray(x)
        return made.astype("bfloat16") if dtype == "bfloat16" and x.dtype.kind == "f" else made

    names = {"mask": "mask", "bias": "bias", "scale": "scale", "causal": "is_causal"}
    note = (
        "An offset of causal is given as a mask, and what is narrower, keys or values, is filled "
        "up with zeros: JAX takes one width."
    )
    return _length_first(function, array, names, note, is_jax=True)


def keras(function: Function, dtype: str = "float64") -> Function:
    """Adapt a function that is called like keras.ops.dot_product_attention.

    ``function(query, key, value, bias=..., mask=..., scale=..., is_causal=...)``, with tensors (B,
    T, H, d). An offset is passed as a mask. The soft cap is not passed: those calls are not made.
    """

    def array(x: Array) -> Any:
        convert = importlib.import_module("keras").ops.convert_to_tensor
        return convert(x, dtype="bfloat16" if dtype == "bfloat16" and x.dtype.kind == "f" else None)

    names = {"mask": "mask", "bias": "bias", "scale": "scale", "causal": "is_causal"}
    note = "An offset of causal is given as a mask: Keras has no word for it."
    return _length_first(function, array, names, note, is_jax=False)


def onnx(function: Function, dtype: str = "float64") -> Function:
    """Adapt a function that takes the inputs and attributes of ONNX's Attention.

    ``function(Q, K, V, attn_mask=..., is_causal=..., scale=..., softcap=...)``, with NumPy arrays
    of four axes and flags of 0 and 1; it returns Y, or a list or tuple that starts with it. A mask
    and a bias are passed as one numeric attn_mask, an offset as a mask.
    """

    def adapter(query: Array, key: Array, value: Array, **given: Any) -> Any:
        if not given.pop("grouped_heads", False):  # the shapes say it
            query, key, value = _alike(query, key, value)
        own = query
        causal, mask, bias = (given.pop(n, None) for n in ("causal", "mask", "bias"))
        offset = given.pop("offset", 0)
        keywords: dict[str, Any] = {
            "softcap" if name == "soft_cap" else name: float(x)
            for name, x in given.items()
            if x is not None
        }
        if offset:
            mask = _seen(query, key, causal, offset, mask)
        elif causal:
            keywords["is_causal"] = 1
        added = _added(mask, bias)
        arrays = [_four(x) for x in (query, key, value)]
        if dtype == "bfloat16":
            arrays = [x.astype(importlib.import_module("ml_dtypes").bfloat16) for x in arrays]
        if added is not None:  # in full: ONNX hides the keys for which it has no column
            whole = np.broadcast_to(added, (*np.shape(added)[:-1], key.shape[-2]))
            keywords["attn_mask"] = np.ascontiguousarray(whole)
        result = function(*arrays, **keywords)
        result = result[0] if isinstance(result, list | tuple) else result
        return _like(result, own)

    other = {"mask": "attn_mask", "bias": "attn_mask", "scale": "scale", "soft_cap": "softcap",
             "causal": "is_causal"}  # fmt: skip
    names = [name for name, its in other.items() if _has(function, its)]
    if {"mask", "causal"} <= {*names}:
        names.append("offset")
    note = "An offset of causal is given as a mask, a mask beside a bias as numbers of attn_mask."
    return _taking(function, adapter, [*names, "grouped_heads"], note)


def mlx(function: Function, dtype: str = "float32") -> Function:
    """Adapt a function that is called like mlx.core.fast.scaled_dot_product_attention.

    ``function(q, k, v, scale=..., mask=...)``, with arrays of four axes. The mask is an array of
    booleans or of numbers to add, or the word "causal". MLX lets the last query see the last key,
    and the word says only that: a causal mask with another offset, with a mask or with a bias is
    passed as an array.
    """

    def array(x: Array) -> Any:
        library = importlib.import_module("mlx.core")
        narrow = dtype == "bfloat16" and x.dtype.kind == "f"
        made = library.array(_own(x))
        return made.astype(library.bfloat16) if narrow else made

    def adapter(
        query: Array,
        key: Array,
        value: Array,
        *,
        mask: Array | None = None,
        bias: Array | None = None,
        causal: bool = False,
        offset: int = 0,
        scale: float | None = None,
        grouped_heads: bool = False,
    ) -> Any:
        if not grouped_heads:  # the shapes say it
            query, key, value = _alike(query, key, value)
        arrays = [array(_four(x)) for x in (query, key, value)]
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        is_word = causal and mask is None and bias is None
        if is_word and offset == key.shape[-2] - query.shape[-2]:
            return _like(function(*arrays, scale=scale, mask="causal"), query)
        given = _added(_seen(query, key, causal, offset, mask), bias)
        masked = {} if given is None else {"mask": array(given)}
        return _like(function(*arrays, scale=scale, **masked), query)

    names = ["scale", "grouped_heads"]
    names += ["mask", "bias", "causal", "offset"] if _has(function, "mask") else []
    note = (
        "causal is given as an array, except where the last query sees the last key and there is "
        "no mask and no bias: only that is what MLX means by the word."
    )
    return _taking(function, adapter, names, note)


#: The adapters by the name of the library.
LIKE: dict[str, Function] = {"torch": torch, "jax": jax, "keras": keras, "onnx": onnx, "mlx": mlx}
