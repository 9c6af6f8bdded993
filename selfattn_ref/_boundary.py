"""Boundary: arrays come in and results go out here, and nowhere else.

Shapes, dtypes, memory layout and messages are settled before any arithmetic. A message names the
argument, its shape, the rule it breaks, and what to do instead. ``TypeError`` says that the kind
of a thing is wrong, ``ValueError`` that its value or shape is.
"""

import functools
import inspect
import math
import operator
from collections.abc import Callable
from numbers import Rational, Real
from typing import Any, NamedTuple, ParamSpec, SupportsIndex, TypeVar

import numpy as np
import numpy.typing as npt

from selfattn_ref import _kernels, _keywords
from selfattn_ref._kernels import Array, Mask, Window

P = ParamSpec("P")
R = TypeVar("R")

_BOOLEAN = bool, np.bool_


def public(function: Callable[P, R]) -> Callable[P, R]:
    """Let what is not finite show in the result and not as a warning; translate foreign words."""
    names = inspect.signature(function).parameters
    parameters = [name for name in names if name not in ("self", "cls")]
    known = frozenset(parameters)  # asked at every call

    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        if not known.issuperset(kwargs):
            word = next(name for name in kwargs if name not in known)
            raise TypeError(_keywords.refusal(function.__name__, word, parameters))
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    return checked


# --- arrays -----------------------------------------------------------------------------------


def plain_array(name: str, value: npt.ArrayLike) -> Array:
    """Return `value` as an array of whatever it holds."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, whose mask would be lost: pass {name}.filled()")
    try:
        return np.asarray(value)
    except ValueError as error:
        if "inhomogeneous" in str(error):
            message = f"{name} is ragged: its rows must all have the same length"
            raise ValueError(message) from None
        raise ValueError(f"{name} does not become an array: {error}") from error


def real_array(name: str, value: npt.ArrayLike, axes: str = "(...)") -> Array:
    """Return `value` as a floating array whose last axes are those that `axes` names.

    Integers and booleans become float64; floating types stay what they are.
    """
    array = numbers(name, value, axes)
    return cast(array, floating(array))


def numbers(name: str, value: npt.ArrayLike, axes: str = "(...)") -> Array:
    """Do as `real_array` does, but leave the array as it is stored, to be cast in parts.

    Types of 8 bits, which other packages add to NumPy, are refused: a weight would keep one or
    two digits.
    """
    array = plain_array(name, value)
    kind, real = array.dtype.kind, issubclass(array.dtype.type, np.floating)
    if kind not in "iub" and not real and array.dtype.name != "bfloat16":
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}")
    if axes != "(...)" and array.ndim < axes.count(","):
        raise ValueError(f"{name} {array.shape}: it must have the axes {axes}")
    return array


def floating(array: Array) -> np.dtype[Any]:
    """Return the dtype that the numbers of an array have here."""
    if array.dtype.kind in "iub":
        return np.dtype(np.float64)
    return array.dtype if array.dtype.isnative else array.dtype.newbyteorder("=")


def dtypes(**arrays: Array) -> tuple[np.dtype[Any], np.dtype[Any]]:
    """Return the dtype to compute in and the dtype of the result.

    They differ for the 16-bit types only, whose exponentials and sums would be too coarse.
    """
    found = {name: floating(array) for name, array in arrays.items()}
    try:
        result = np.result_type(*found.values())
    except TypeError:
        named = ", ".join(f"{name} {dtype}" for name, dtype in found.items())
        raise TypeError(f"{named}: these dtypes have no common one; cast them to one") from None
    compute = np.dtype(np.float32) if result.itemsize == 2 else result
    return compute, result


def cast(array: Array, dtype: np.dtype[Any]) -> Array:
    """Return `array` in `dtype`; it is copied only if it has another or lies otherwise in memory.

    Each matrix lies row by row, and aligned: the last bits of a product and of a sum depend on
    it. Leading axes may lie anywhere, so that what is broadcast along them is not copied.
    """
    rows = array.flags.c_contiguous or (
        array.ndim > 1 and array.strides[-2:] == (array.shape[-1] * array.itemsize, array.itemsize)
    )
    if array.dtype == dtype and array.flags.aligned and rows:
        return array
    return fresh(array, dtype)


def fresh(array: Array, dtype: np.dtype[Any]) -> Array:
    """Return a copy to write on, row by row in memory."""
    return np.array(array, dtype, order="C")


# --- shapes -----------------------------------------------------------------------------------


def same_size(rule: str, **sized: tuple[Array, int]) -> None:
    """Require one size of an axis in two arrays, given as ``name=(array, axis)``."""
    (name, (array, axis)), (other_name, (other, other_axis)) = sized.items()
    if array.shape[axis] != other.shape[other_axis]:
        raise ValueError(
            f"{name} {array.shape} and {other_name} {other.shape}: they must have the same "
            f"{rule}, got {array.shape[axis]} and {other.shape[other_axis]}"
        )


def same_shape(**arrays: tuple[int, ...]) -> None:
    """Require two shapes, given as ``name=shape``, to be equal."""
    (name, shape), (other_name, other) = arrays.items()
    if shape != other:
        raise ValueError(f"{name} {shape} and {other_name} {other}: they must have the same shape")


def leading_axes(**arrays: Array) -> tuple[int, ...]:
    """Return the shape to which the leading axes (all but the last two) broadcast."""
    shapes = [array.shape[:-2] for array in arrays.values()]
    if shapes.count(shapes[0]) == len(shapes):
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        named = " and ".join(f"{name} {array.shape}" for name, array in arrays.items())
        message = f"{named}: the axes before the last two must be equal, or 1, or absent"
        heads = {shape[-1] for shape in shapes if shape} - {0, 1}
        if len(heads) == 2 and max(heads) % min(heads) == 0:
            message += "; heads that share keys and values: repeat_key_value_heads"
        raise ValueError(message) from None


def _broadcasts(shape: tuple[int, ...], full: tuple[int, ...]) -> bool:
    """Say whether the one broadcasts to the other, which does not broadcast to it."""
    pairs = zip(reversed(shape), reversed(full), strict=False)
    return len(shape) <= len(full) and all(size in (1, whole) for size, whole in pairs)


def fits(name: str, array: Array, other: str, shape: tuple[int, ...]) -> None:
    """Require that `array` broadcasts to `shape`, which never broadcasts to it."""
    if not _broadcasts(array.shape, shape):
        raise ValueError(
            f"{name} {array.shape} and {other} {shape}: each axis of {name}, counted from the "
            f"last, must be equal to that of the {other}, or 1"
        )


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


def axis_of(name: str, array: Array, axis: SupportsIndex) -> int:
    """Return an axis that `array` has."""
    number = whole_number("axis", axis, least=None)
    if not -array.ndim <= number < array.ndim:
        raise ValueError(f"axis {number}: {name} {array.shape} has no such axis")
    return number


def pairs(x: npt.ArrayLike, y: npt.ArrayLike | None) -> tuple[Array, Array, np.dtype[Any]]:
    """Return two sets of rows in the dtype to compute in, and the dtype of the result."""
    given = x
    x = real_array("x", given, "(..., n, d)")
    y = x if y is None or y is given else real_array("y", y, "(..., m, d)")
    if y is not x and np.may_share_memory(x, y):
        y = y.copy()  # NumPy would see a matrix times itself in one layout, and not in another
    same_size("width d", x=(x, -1), y=(y, -1))
    leading_axes(x=x, y=y)
    compute, result = dtypes(x=x, y=y)
    return cast(x, compute), cast(y, compute), result


# --- numbers ----------------------------------------------------------------------------------


def _scalar(value: Any) -> Any:
    """Take a number out of an array that has no axis."""
    if getattr(value, "shape", None) == () and not isinstance(value, np.generic):
        return np.asarray(value)[()]
    return value


def finite_number(name: str, value: Any, dtype: np.dtype[Any] | None = None) -> Any:
    """Return a finite real number as a Python float, which never changes an array's dtype.

    Where the arrays have more digits than that, `dtype` says so, and the number has them too.
    """
    number = _scalar(value)
    if isinstance(number, _BOOLEAN) or not isinstance(number, Real):
        raise TypeError(f"{name} must be a real number, got {type(value).__name__}")
    try:
        if dtype is None or dtype.itemsize <= 8:
            number = float(number)
        elif isinstance(number, Rational):
            number = dtype.type(number.numerator) / dtype.type(number.denominator)
        else:
            number = dtype.type(number)
    except (OverflowError, ValueError):  # an integer or a fraction beyond the largest float
        number = math.inf if number > 0 else -math.inf
    if not np.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}")
    return number


def positive_number(name: str, value: Any, dtype: np.dtype[Any] | None = None) -> Any:
    """Return a finite real number above 0, also when rounded to `dtype`."""
    number = finite_number(name, value, dtype)
    if number <= 0:
        raise ValueError(f"{name} must be positive, got {number}")
    if dtype is not None and not 0 < dtype.type(number) < np.inf:
        raise ValueError(f"{name} must be positive and finite in {dtype}, got {number}")
    return number


def scale_or_default(scale: Any, width: int, dtype: np.dtype[Any]) -> Any:
    """Return the scale of the scores: the given one, or 1/√d_k."""
    if scale is not None:
        return finite_number("scale", scale, dtype)
    if width == 0:
        raise ValueError("scale: 1/√d_k is undefined for d_k = 0; pass a scale")
    return 1.0 / math.sqrt(width) if dtype.itemsize <= 8 else 1 / np.sqrt(dtype.type(width))


def whole_number(name: str, value: Any, *, least: int | None = 0, instead: str = "") -> int:
    """Return an integer that is at least `least` (``None``: any integer)."""
    try:
        if isinstance(value, _BOOLEAN) or getattr(value, "dtype", None) == np.bool_:
            raise TypeError
        number = operator.index(value)
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"{name} must be an integer, got {kind}{instead}") from None
    if least is not None and number < least:
        raise ValueError(f"{name} must be at least {least}, got {number}{instead}")
    return number


def flag(name: str, value: Any) -> bool:
    """Return a boolean, and refuse what only counts as true or false."""
    found = _scalar(value)
    if not isinstance(found, _BOOLEAN):
        raise TypeError(f"{name} must be True or False, got {type(value).__name__}")
    return bool(found)


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


def integers(
    name: str, value: npt.ArrayLike, most: int | None = None, most_name: str = "", where: Any = True
) -> npt.NDArray[np.intp]:
    """Return integers, between 0 and `most` if that is given, at least `where` they count."""
    array = plain_array(name, value)
    if array.dtype.kind not in "iu" and array.size > 0:
        raise TypeError(f"{name} must hold integers, got dtype {array.dtype}")
    if most is not None:
        outside = np.argwhere(where & ((array < 0) | (array > most)))
        if len(outside):  # not its size, which is 0 for a single number
            index = tuple(int(i) for i in outside[0])
            raise ValueError(
                f"{name} {array.shape}: each must lie between 0 and {most_name} = {most}, "
                f"got {array[index]} at {index}"
            )
        array = np.where(where, array, 0)
    return array.astype(np.intp)


def segments(name: str, value: npt.ArrayLike) -> npt.NDArray[np.intp]:
    """Return the segment of each row, as a column."""
    array = integers(name, value)
    if array.ndim == 0:
        raise ValueError(f"{name} (): it must have the axes (..., T), a number for each row")
    return array[..., np.newaxis]


def window_limits(
    left: SupportsIndex | None, right: SupportsIndex | None, offset: SupportsIndex
) -> Window:
    """Return how far back and ahead a query sees, None for no limit, and where query 0 stands."""
    no_limit = "; None sets no limit"
    return Window(
        None if left is None else whole_number("left", left, instead=no_limit),
        None if right is None else whole_number("right", right, instead=no_limit),
        whole_number("offset", offset, least=None),
    )


# --- attention --------------------------------------------------------------------------------


class Given(NamedTuple):
    """What attention is computed from, checked: arrays as they are stored, to be cast in parts."""

    query: Array  # (..., Tq, d_k)
    key: Array  # (..., Tk, d_k)
    value: Array  # (..., Tk, d_v)
    mask: Mask | None
    bias: Array | None
    scale: Any
    soft_cap: Any
    window: Window | None  # what `causal`, `offset` and `window` say
    compute: np.dtype[Any]
    result: np.dtype[Any]

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of the output."""
        leading = leading_axes(query=self.query, key=self.key, value=self.value)
        return (*leading, self.query.shape[-2], self.value.shape[-1])

    def dense(self) -> tuple[Array, Array, Array, Mask | None]:
        """Return queries, keys and values in the dtype to compute in, and the whole mask."""
        query, key, value = (cast(array, self.compute) for array in self[:3])
        sizes = query.shape[-2], key.shape[-2]
        return query, key, value, _kernels.combined(self.mask, self.window, *sizes)

    def adjusted(self, scores: Array) -> Array:
        """Cap the scaled scores and add the bias, in place, where one is given."""
        return _kernels.adjusted(scores, self.soft_cap, self.bias)

    def slope(self, scaled: Array) -> Any:
        """Return how the capped scores follow the scaled ones: 1 if there is no cap."""
        return 1.0 if self.soft_cap is None else _kernels.cap_slope(scaled, self.soft_cap)

    def returned(self, array: Array) -> Array:
        """Return a result in the dtype of the caller."""
        return cast(array, self.result)


def attention(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    mask: npt.ArrayLike | None,
    bias: npt.ArrayLike | None,
    scale: Any,
    soft_cap: Any,
    causal: bool,
    offset: SupportsIndex,
    window: Any = None,
    **others: Array,
) -> Given:
    """Return what fits each other; `others` take part in choosing the dtype."""
    query = numbers("query", query, "(..., Tq, d_k)")
    key = numbers("key", key, "(..., Tk, d_k)")
    value = numbers("value", value, "(..., Tk, d_v)")
    same_size("width d_k", query=(query, -1), key=(key, -1))
    same_size("length", key=(key, -2), value=(value, -2))
    leading = leading_axes(query=query, key=key)
    leading_axes(query=query, key=key, value=value)
    shape = (*leading, query.shape[-2], key.shape[-2])
    arrays = {"query": query, "key": key, "value": value, **others}
    compute, result, added = with_bias(arrays, bias, shape)
    return Given(
        query,
        key,
        value,
        None if mask is None else mask_array(mask, shape),
        added,
        scale_or_default(scale, query.shape[-1], compute),
        None if soft_cap is None else positive_number("soft_cap", soft_cap, compute),
        attention_window(causal, offset, window),
        compute,
        result,
    )


def with_bias(
    arrays: dict[str, Array], bias: npt.ArrayLike | None, scores: tuple[int, ...]
) -> tuple[np.dtype[Any], np.dtype[Any], Array | None]:
    """Return the dtype to compute in, that of the result, and the bias as it is stored."""
    if bias is None:
        return *dtypes(**arrays), None
    added = bias_array(bias, scores)
    if isinstance(bias, float) and not isinstance(bias, np.generic):
        compute, result = dtypes(**arrays)  # a number of Python has no dtype to impose
        return compute, result, cast(added, compute)
    return *dtypes(**arrays, bias=added), added


def scores_and_values(
    scores: npt.ArrayLike, value: npt.ArrayLike, mask: npt.ArrayLike | None
) -> tuple[Array, Array, Mask | None]:
    """Return a copy of the scores to write on, the values, and the mask."""
    array = real_array("scores", scores, "(..., Tq, Tk)")
    value = real_array("value", value, "(..., Tk, d_v)")
    same_size("length", scores=(array, -1), value=(value, -2))
    leading = leading_axes(scores=array, value=value)
    allowed = None if mask is None else mask_array(mask, array.shape)
    compute, _ = dtypes(scores=array, value=value)
    wide = np.broadcast_to(array, (*leading, *array.shape[-2:]))
    return fresh(wide, compute), cast(value, compute), allowed


def whole_mask(
    mask: npt.ArrayLike | None, causal: bool, offset: SupportsIndex, scores: tuple[int, ...]
) -> Mask | None:
    """Return the mask together with what `causal` says, or None if neither hides anything."""
    allowed = None if mask is None else mask_array(mask, scores)
    return _kernels.combined(allowed, attention_window(causal, offset, None), *scores[-2:])


def queries_and_keys(
    query: npt.ArrayLike, key: npt.ArrayLike, scale: Any
) -> tuple[Array, Array, Any, np.dtype[Any]]:
    """Return queries and keys in one dtype, the scale, and the dtype of the result."""
    query = real_array("query", query, "(..., Tq, d_k)")
    key = real_array("key", key, "(..., Tk, d_k)")
    same_size("width d_k", query=(query, -1), key=(key, -1))
    leading_axes(query=query, key=key)
    compute, result = dtypes(query=query, key=key)
    factor = scale_or_default(scale, query.shape[-1], compute)
    return cast(query, compute), cast(key, compute), factor, result


def masked_scores(
    scores: npt.ArrayLike, mask: npt.ArrayLike | None
) -> tuple[Array, Mask | None, np.dtype[Any]]:
    """Return a copy of the scores to write on, the mask, and the dtype of the result."""
    array = real_array("scores", scores, "(..., Tq, Tk)")
    allowed = None if mask is None else mask_array(mask, array.shape)
    compute, result = dtypes(scores=array)
    return fresh(array, compute), allowed, result


def sequence(
    x: npt.ArrayLike,
    w_query: npt.ArrayLike,
    w_key: npt.ArrayLike,
    w_value: npt.ArrayLike,
    bias: npt.ArrayLike | None,
    **others: Array,
) -> tuple[Array, Array, Array, Array, Array | None, np.dtype[Any]]:
    """Return a sequence, its projections and the bias in one dtype, and that of the result."""
    x = real_array("x", x, "(..., T, d_model)")
    w_query = projection("w_query", w_query, x=x)
    w_key = projection("w_key", w_key, x=x)
    w_value = projection("w_value", w_value, x=x)
    same_size("width d_k", w_query=(w_query, -1), w_key=(w_key, -1))
    arrays = {"x": x, "w_query": w_query, "w_key": w_key, "w_value": w_value, **others}
    compute, result, added = with_bias(arrays, bias, (*x.shape[:-1], x.shape[-2]))
    x, w_query, w_key, w_value = (cast(array, compute) for array in (x, w_query, w_key, w_value))
    return x, w_query, w_key, w_value, added, result


def attention_back(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    d_output: npt.ArrayLike,
    *options: Any,
) -> tuple[Given, Array]:
    """Return what fits each other, and a gradient that has the shape of the output."""
    gradient = real_array("d_output", d_output, "(..., Tq, d_v)")
    given = attention(query, key, value, *options, d_output=gradient)
    same_shape(d_output=gradient.shape, output=given.output_shape)
    return given, fresh(gradient, given.compute)  # never the memory of `value`, as in `pairs`


def sequence_back(
    x: npt.ArrayLike,
    w_query: npt.ArrayLike,
    w_key: npt.ArrayLike,
    w_value: npt.ArrayLike,
    bias: npt.ArrayLike | None,
    d_output: npt.ArrayLike,
) -> tuple[Array, Array, Array, Array, Array | None, Array, np.dtype[Any]]:
    """Do as `sequence` does, with a gradient that takes part in choosing the dtype."""
    gradient = real_array("d_output", d_output, "(..., T, d_v)")
    *arrays, added, result = sequence(x, w_query, w_key, w_value, bias, d_output=gradient)
    x, w_query, w_key, w_value = arrays
    return x, w_query, w_key, w_value, added, cast(gradient, x.dtype), result


def weights_and_gradient(
    weights: npt.ArrayLike, d_weights: npt.ArrayLike
) -> tuple[Array, Array, np.dtype[Any]]:
    """Return weights, a copy of their gradient to write on, and the dtype of the result."""
    weights = real_array("weights", weights, "(..., n)")
    gradient = real_array("d_weights", d_weights, "(..., n)")
    same_shape(weights=weights.shape, d_weights=gradient.shape)
    compute, result = dtypes(weights=weights, d_weights=gradient)
    return cast(weights, compute), fresh(gradient, compute), result


def mask_array(mask: npt.ArrayLike, scores: tuple[int, ...]) -> Mask:
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
    array = numbers("bias", array)
    fits("bias", array, "scores", scores)
    return array


def attention_window(causal: bool, offset: SupportsIndex, window: Any) -> Window | None:
    """Return which keys a query may see by their position, or None for all."""
    left = right = None
    if window is not None:
        if not isinstance(window, tuple) or len(window) != 2:
            raise ValueError(f"window must be a pair (left, right) of integers or None: {window}")
        left, right = window
    limits = window_limits(left, right, offset)
    if flag("causal", causal):
        return limits._replace(right=0)  # the nearer limit: `right` is at least 0
    if limits.left is None and limits.right is None:
        if limits.offset != 0:
            raise ValueError(f"offset {limits.offset}: it has no meaning without causal=True")
        return None
    return limits


# --- for one module each ----------------------------------------------------------------------


def block_pair(value: Any) -> tuple[int, int] | None:
    """Return the numbers of queries and of keys in a block, given as a pair or as one number."""
    if value is None:
        return None
    pair = value if isinstance(value, tuple) else (value, value)
    if len(pair) != 2:
        raise ValueError(f"block_size must be an integer or a pair (queries, keys), got {value}")
    queries, keys = (whole_number("block_size", number, least=1) for number in pair)
    return queries, keys


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


def rows_at(
    x: npt.ArrayLike, positions: npt.ArrayLike
) -> tuple[Array, Array, np.dtype[Any], np.dtype[Any]]:
    """Return rows in the dtype to compute in, their positions, and the dtypes of angle and result.

    An angle has at least the digits of float64, or far positions would lose theirs.
    """
    x = real_array("x", x, "(..., T, d)")
    even_number(f"x {x.shape}: its width", x.shape[-1])
    places = real_array("positions", positions)
    if not _broadcasts(places.shape, x.shape[:-1]):
        raise ValueError(
            f"positions {places.shape} and x {x.shape}: each axis of positions, counted from the "
            f"last, must be equal to that of the rows {x.shape[:-1]} of x, or 1"
        )
    compute, result = dtypes(x=x)
    angle = np.result_type(compute, np.float64)
    return cast(x, compute), cast(places, angle), angle, result


def targets(
    logits: npt.ArrayLike, value: npt.ArrayLike, mask: npt.ArrayLike | None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]:
    """Return the rows of logits that are kept, in float64, and the target of each.

    What a target says that is not kept does not matter.
    """
    logits = real_array("logits", logits, "(..., V)")
    array = plain_array("targets", value)
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
    array = integers("targets", array, logits.shape[-1] - 1, "V − 1", kept)
    if not kept.any():
        raise ValueError(
            f"targets {array.shape}: no position is kept, and the mean of nothing is undefined"
        )
    return logits[kept].astype(np.float64), array[kept]


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


def kind(name: str, value: object, wanted: type) -> None:
    """Require an object of a class."""
    if not isinstance(value, wanted):
        raise TypeError(f"{name} must be an {wanted.__name__}, got {type(value).__name__}")


def weights_add_up(sums: Array, total: Array, reach: Any) -> None:
    """Require that the weights that a saved state gives are those of its queries.

    They add up to 1, up to rounding that grows with the scores, or to 0 for a query alone.
    """
    expected = total != 0
    slack = 16 * np.finfo(total.dtype).eps * (1 + reach) + 1e-4
    wrong = np.argwhere(np.abs(sums - expected) > slack)
    if len(wrong):
        got = sums[tuple(wrong[0])]
        raise ValueError(
            f"state {total.shape[:-1]}: it was made from other arguments, since with these the "
            f"weights of a query add up to {got:.4g}; pass what attention_state returns for them"
        )


def nonzero_rows(name: str, x: Array) -> None:
    """Require that no row is all zeros."""
    zero = np.argwhere(~x.any(axis=-1))
    if zero.size:
        row = ", ".join(str(index) for index in zero[0])
        raise ValueError(f"{name} {x.shape}: row {row} is a zero vector, which has no direction")
