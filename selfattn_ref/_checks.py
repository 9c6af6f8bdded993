"""Check every argument, in one place, so that every message has one form.

A message names the argument, its shape and the rule it breaks. ``TypeError`` says that the
kind of a thing is wrong, ``ValueError`` that its value or shape is.
"""

import math
import operator
from collections.abc import Sequence
from numbers import Real
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def plain_array(name: str, value: npt.ArrayLike) -> Array:
    """Return `value` as an array of whatever it holds."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, whose mask would be lost: pass {name}.filled()")
    try:
        return np.asarray(value)
    except ValueError:
        raise ValueError(f"{name} is ragged: its rows must all have the same length") from None


def real_array(name: str, value: npt.ArrayLike, axes: str = "(...)") -> Array:
    """Return `value` as a floating array whose last axes are those that `axes` names.

    Integers and booleans become float64; floating types stay what they are. Types of 8 bits,
    which other packages add to NumPy, are refused: a weight would keep one or two digits.
    """
    array = plain_array(name, value)
    if array.dtype.kind in "iub":
        array = array.astype(np.float64)
    elif not np.issubdtype(array.dtype, np.floating) and array.dtype.name != "bfloat16":
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}")
    if axes != "(...)" and array.ndim < axes.count(","):
        raise ValueError(f"{name} {array.shape}: it must have the axes {axes}")
    return array


def working_dtype(*arrays: Array) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Return the dtype to compute in and the dtype of the result.

    They differ for the 16-bit types only, whose exponentials and sums would be too coarse.
    """
    dtypes = [array.dtype for array in arrays]
    try:
        result = np.result_type(*set(dtypes))  # one dtype is quicker to agree than three
    except TypeError:
        named = ", ".join(str(dtype) for dtype in dtypes)
        raise TypeError(f"the dtypes {named} have no common one: cast the inputs to one") from None
    compute = np.dtype(np.float32) if result.itemsize == 2 else result
    return compute, result


def cast(array: Array, dtype: np.dtype[Any]) -> Array:
    """Return `array` in `dtype`; it is copied only if it has another."""
    return array.astype(dtype, copy=False)


def same_size(rule: str, **sized: tuple[Array, int]) -> None:
    """Require one size of an axis in two arrays, given as ``name=(array, axis)``."""
    (name, (array, axis)), (other_name, (other, other_axis)) = sized.items()
    if array.shape[axis] != other.shape[other_axis]:
        raise ValueError(
            f"{name} {array.shape} and {other_name} {other.shape}: they must have the same "
            f"{rule}, got {array.shape[axis]} and {other.shape[other_axis]}"
        )


def leading_axes(**arrays: Array) -> tuple[int, ...]:
    """Return the shape to which the leading axes (all but the last two) broadcast."""
    shapes = [array.shape[:-2] for array in arrays.values()]
    if shapes.count(shapes[0]) == len(shapes):
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        named = " and ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(
            f"{named}: the axes before the last two must be equal, or 1, or absent"
        ) from None


def matrix(name: str, w: npt.ArrayLike, axes: str) -> Array:
    """Return an array that has the two axes that `axes` names, and no other."""
    array = real_array(name, w, axes)
    if array.ndim != 2:
        raise ValueError(f"{name} {array.shape}: it must be a matrix, {axes}")
    return array


def projection(name: str, w: npt.ArrayLike, **source: Array) -> Array:
    """Return a matrix that multiplies rows, given as ``name=array``, from the right."""
    array = matrix(name, w, "(d_model, d)")
    ((source_name, rows),) = source.items()
    same_size("width d_model", **{source_name: (rows, -1), name: (array, -2)})
    return array


def head_counts(
    num_heads: SupportsIndex, num_key_value_heads: SupportsIndex | None
) -> tuple[int, int]:
    """Return the numbers of query heads and of key/value heads; by default as many."""
    heads = whole_number("num_heads", num_heads, least=1)
    if num_key_value_heads is None:
        return heads, heads
    shared = whole_number("num_key_value_heads", num_key_value_heads, least=1)
    multiple("num_heads", heads, "num_key_value_heads", shared)
    return heads, shared


def head_widths(
    w_query: Array, w_key: Array, w_value: Array, w_output: Array, heads: int, shared: int
) -> None:
    """Require that the projections hold whole heads, of one d_k and one d_v."""
    query, key, value = (
        multiple(f"{name} {w.shape}: its width", w.shape[-1], of, number)
        for name, w, of, number in (
            ("w_query", w_query, "num_heads", heads),
            ("w_key", w_key, "num_key_value_heads", shared),
            ("w_value", w_value, "num_key_value_heads", shared),
        )
    )
    if query != key:
        raise ValueError(
            f"w_query {w_query.shape} and w_key {w_key.shape}: they must have the same width d_k "
            f"of a head, got {query} and {key}"
        )
    if w_output.shape[-2] != heads * value:
        raise ValueError(
            f"w_value {w_value.shape} and w_output {w_output.shape}: w_output must have "
            f"num_heads · d_v = {heads} · {value} = {heads * value} rows, got {w_output.shape[-2]}"
        )


def fits(name: str, array: Array, other: str, shape: tuple[int, ...]) -> None:
    """Require that `array` broadcasts to `shape`, which never broadcasts to it."""
    pairs = zip(reversed(array.shape), reversed(shape), strict=False)
    if array.ndim > len(shape) or any(size not in (1, full) for size, full in pairs):
        raise ValueError(
            f"{name} {array.shape} and {other} {shape}: each axis of {name}, counted from the "
            f"last, must be equal to that of the {other}, or 1"
        )


def mask_array(mask: npt.ArrayLike, scores: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """Return a mask that broadcasts to the scores, and refuse one that is not boolean."""
    array = plain_array("mask", mask)
    if array.dtype != np.bool_:
        raise TypeError(
            f"mask must be boolean (True = this query may attend to this key), got dtype "
            f"{array.dtype}; numbers to add to the scores are a bias"
        )
    fits("mask", array, "scores", scores)
    return array


def bias_array(bias: npt.ArrayLike, scores: tuple[int, ...]) -> Array:
    """Return a bias that broadcasts to the scores, and refuse one that is not floating."""
    array = plain_array("bias", bias)
    if array.dtype.kind in "biu":
        raise TypeError(
            f"bias must be floating, got dtype {array.dtype}; to say which key a query may "
            f"attend to, pass a boolean mask"
        )
    array = real_array("bias", array)
    fits("bias", array, "scores", scores)
    return array


def attention_inputs(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    mask: npt.ArrayLike | None,
    bias: npt.ArrayLike | None,
) -> tuple[Array, Array, Array, npt.NDArray[np.bool_] | None, Array | None]:
    """Return queries, keys, values, mask and bias that fit each other."""
    query = real_array("query", query, "(..., Tq, d_k)")
    key = real_array("key", key, "(..., Tk, d_k)")
    value = real_array("value", value, "(..., Tk, d_v)")
    same_size("width d_k", query=(query, -1), key=(key, -1))
    same_size("length", key=(key, -2), value=(value, -2))
    leading = leading_axes(query=query, key=key)
    leading_axes(query=query, key=key, value=value)
    shape = (*leading, query.shape[-2], key.shape[-2])
    allowed = None if mask is None else mask_array(mask, shape)
    added = None if bias is None else bias_array(bias, shape)
    return query, key, value, allowed, added


def finite_number(name: str, value: float) -> float:
    """Return a finite real number as a Python float, which never changes an array's dtype."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a real number, got {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:  # an integer or a fraction beyond the largest float
        number = math.inf if value > 0 else -math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}")
    return number


def positive_number(name: str, value: float) -> float:
    """Return a finite real number above 0."""
    number = finite_number(name, value)
    if number <= 0:
        raise ValueError(f"{name} must be positive, got {number}")
    return number


def scale_or_default(scale: float | None, width: int) -> float:
    """Return the scale of the scores: the given one, or 1/√d_k."""
    if scale is not None:
        return finite_number("scale", scale)
    if width == 0:
        raise ValueError("scale: 1/√d_k is undefined for d_k = 0; pass a scale")
    return 1.0 / math.sqrt(width)


def whole_number(name: str, value: SupportsIndex, *, least: int | None = 0) -> int:
    """Return an integer that is at least `least` (``None``: any integer)."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}") from None
    if least is not None and number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}")
    return number


def flag(name: str, value: bool) -> bool:
    """Return a boolean, and refuse what only counts as true or false."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {type(value).__name__}")
    return bool(value)


def multiple(what: str, size: int, of: str, number: int) -> int:
    """Return how many times `number` goes into `size`, which must be whole."""
    if number == 0 or size % number:
        raise ValueError(f"{what} must be a multiple of {of}, got {size} and {number}")
    return size // number


def even_number(what: str, number: int) -> int:
    """Return a number that splits into pairs."""
    if number % 2:
        raise ValueError(f"{what} must be even, got {number}")
    return number


def causal_offset(causal: bool, offset: SupportsIndex) -> int | None:
    """Return the position of the first query, or None if attention is not causal."""
    first = whole_number("offset", offset, least=None)
    if flag("causal", causal):
        return first
    if first != 0:
        raise ValueError(f"offset {first}: it has no meaning without causal=True")
    return None


def block_pair(name: str, value: Any) -> tuple[int, int] | None:
    """Return the numbers of queries and of keys in a block, given as a pair or as one number."""
    if value is None:
        return None
    pair = value if isinstance(value, tuple) else (value, value)
    if len(pair) != 2:
        raise ValueError(f"{name} must be an integer or a pair (queries, keys), got {value}")
    queries, keys = (whole_number(name, number, least=1) for number in pair)
    return queries, keys


def axis_of(name: str, array: Array, axis: SupportsIndex) -> int:
    """Return an axis that `array` has."""
    number = whole_number("axis", axis, least=None)
    if not -array.ndim <= number < array.ndim:
        raise ValueError(f"axis {number}: {name} {array.shape} has no such axis")
    return number


def from_zero_to(
    name: str, array: Array, most: int, most_name: str, where: npt.NDArray[np.bool_] | bool = True
) -> None:
    """Require integers between 0 and `most`, at least in the places `where` they count."""
    if array.dtype.kind not in "iu" and array.size > 0:
        raise TypeError(f"{name} must hold integers, got dtype {array.dtype}")
    outside = np.argwhere(where & ((array < 0) | (array > most)))
    if len(outside):  # not its size, which is 0 for a single number
        index = tuple(int(i) for i in outside[0])
        raise ValueError(
            f"{name} {array.shape}: each must lie between 0 and {most_name} = {most}, "
            f"got {array[index]} at {index}"
        )


def lengths_array(
    name: str, lengths: npt.ArrayLike | Sequence[int], most: int, most_name: str
) -> npt.NDArray[np.intp]:
    """Return integers between 0 and `most`."""
    array = plain_array(name, lengths)
    from_zero_to(name, array, most, most_name)
    return array.astype(np.intp)


def targets_array(
    targets: npt.ArrayLike, logits: Array, mask: npt.ArrayLike | None
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Return a target for each row of the logits, and which of them to keep.

    What a target says that is not kept does not matter.
    """
    array = plain_array("targets", targets)
    if array.shape != logits.shape[:-1]:
        raise ValueError(
            f"logits {logits.shape} and targets {array.shape}: targets must have the axes of "
            f"logits without the last"
        )
    kept = plain_array("mask", True if mask is None else mask)
    if kept.dtype != np.bool_:
        raise TypeError(
            f"mask must be boolean (True = this position counts), got dtype {kept.dtype}"
        )
    fits("mask", kept, "targets", array.shape)
    kept = np.broadcast_to(kept, array.shape)
    from_zero_to("targets", array, logits.shape[-1] - 1, "V − 1", kept)
    if not kept.any():
        raise ValueError(
            f"targets {array.shape}: no position is kept, and the mean of nothing is undefined"
        )
    return np.where(kept, array, 0).astype(np.intp), kept


def like_cached(name: str, array: Array, cached: Array) -> None:
    """Require that `array` can follow the rows that `cached` already holds."""
    if array.dtype != cached.dtype:
        raise TypeError(
            f"{name} has dtype {array.dtype}, and the cached {name} {cached.dtype}: they must "
            f"be the same"
        )
    if (*array.shape[:-2], array.shape[-1]) != (*cached.shape[:-2], cached.shape[-1]):
        raise ValueError(
            f"{name} {array.shape} and cached {name} {cached.shape}: only their lengths, the "
            f"axis before the last, may differ"
        )


def same_shape(**arrays: tuple[int, ...]) -> None:
    """Require two shapes, given as ``name=shape``, to be equal."""
    (name, shape), (other_name, other) = arrays.items()
    if shape != other:
        raise ValueError(f"{name} {shape} and {other_name} {other}: they must have the same shape")
