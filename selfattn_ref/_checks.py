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
        result = np.result_type(*dtypes)
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


def fits_scores(name: str, array: Array, scores: tuple[int, ...]) -> None:
    """Require that `array` broadcasts to the scores; the scores never broadcast to it."""
    pairs = zip(reversed(array.shape), reversed(scores), strict=False)
    if array.ndim > len(scores) or any(size not in (1, full) for size, full in pairs):
        raise ValueError(
            f"{name} {array.shape} and scores {scores}: each axis of {name}, counted from the "
            f"last, must be equal to that of the scores, or 1"
        )


def mask_array(mask: npt.ArrayLike, scores: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """Return a mask that broadcasts to the scores, and refuse one that is not boolean."""
    array = plain_array("mask", mask)
    if array.dtype != np.bool_:
        raise TypeError(
            f"mask must be boolean (True = this query may attend to this key), got dtype "
            f"{array.dtype}; numbers to add to the scores are a bias"
        )
    fits_scores("mask", array, scores)
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
    fits_scores("bias", array, scores)
    return array


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


def axis_of(name: str, array: Array, axis: SupportsIndex) -> int:
    """Return an axis that `array` has."""
    number = whole_number("axis", axis, least=None)
    if not -array.ndim <= number < array.ndim:
        raise ValueError(f"axis {number}: {name} {array.shape} has no such axis")
    return number


def lengths_array(
    name: str, lengths: npt.ArrayLike | Sequence[int], most: int, most_name: str
) -> npt.NDArray[np.intp]:
    """Return integers between 0 and `most`."""
    array = plain_array(name, lengths)
    if array.dtype.kind not in "iu" and array.size > 0:
        raise TypeError(f"{name} must hold integers, got dtype {array.dtype}")
    outside = np.argwhere((array < 0) | (array > most))
    if len(outside):  # not its size, which is 0 for a single number
        index = tuple(int(i) for i in outside[0])
        raise ValueError(
            f"{name} {array.shape}: each must lie between 0 and {most_name} = {most}, "
            f"got {array[index]} at {index}"
        )
    return array.astype(np.intp)
