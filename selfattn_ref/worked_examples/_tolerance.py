r"""How far a computed entry may be from the expected one, by the dtype in which it was computed.

Attention. The bound is the theorem "Rounding in attention" in the chapter on long sequences:
:math:`(e^E - 1)\,V`, where :math:`V` is the largest value in size that the query of a row may
attend to and :math:`E` adds up what each step may lose; see `exponent`. It holds for any order of
summation, any tiles, and as many merges as there are keys less one.

- A float16 or bfloat16 result is computed in float32; then its weights and its entries are each
  rounded once, to the nearest.
- Inputs that the dtype cannot hold are rounded before anything is computed. If that moves a
  score by :math:`\delta` at most and a value by :math:`\rho`, it moves the output by
  :math:`\delta (V + \rho) + \rho`: softmax moves its weights, added up, by no more than
  :math:`\delta`. Both are computed from the inputs, and are 0 where they are exact.

Softmax. The same with :math:`V = 1` and the scores as they are given. Its logarithms are off by
:math:`E` and their own rounding.

Gradients. The same :math:`E`, carried on through the backward pass; see `_gradients`.

Anything else. :math:`8\,\varepsilon \max(1, \max |\text{expected}|)`.

To each the tolerance of the example is added, which covers the rounding of decimals to doubles.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfattn_ref.worked_examples._capabilities import plain
from selfattn_ref.worked_examples._comparison import Allowed, Tolerance

_DOUBLE = 2.0**-52
_EPSILON = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
_SUBNORMAL = {"float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}
_NORMAL = {_DOUBLE: 2.0**-1022, _EPSILON["float32"]: 2.0**-126}


def by_dtype(
    tolerance: Tolerance, expected: NDArray[Any], within: Tolerance | None = None
) -> Allowed:
    """Return what is allowed where nothing is known but the expected values."""
    expected = np.where(np.isfinite(expected), expected, 0)

    def allowed(dtype: str) -> NDArray[Any]:
        if within is not None:
            return within.allowed(expected)
        size = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
        return np.asarray(tolerance.allowed(expected) + 8 * _EPSILON.get(dtype, 0.0) * size)

    return allowed


def by_call(
    function: str,
    arguments: Mapping[str, Any],
    tolerance: Tolerance,
    expected: NDArray[Any],
    within: Tolerance | None = None,
) -> Allowed:
    """Return what is allowed for the result of a function, by what it was given."""
    if within is not None or function not in _BOUNDS:
        return by_dtype(tolerance, expected, within)
    finite, arguments = np.where(np.isfinite(expected), expected, 0), plain(arguments)

    def allowed(dtype: str) -> NDArray[Any]:
        with np.errstate(over="ignore", invalid="ignore"):
            bound = _BOUNDS[function](arguments, _Floats.of(dtype), expected.shape)
        return np.asarray(tolerance.allowed(finite) + bound)

    return allowed


def exponent(
    epsilon: float,
    *,
    keys: Any,
    width: int,
    products: Any,
    scores: Any,
    biases: Any = 0.0,
    capped: bool = False,
    merges: Any = None,
) -> Any:
    r"""Return E, by which the logarithm of each weight and each term of a sum may be off.

    Parameters
    ----------
    epsilon : float
        Spacing of the numbers after 1 in the dtype of the arithmetic.
    keys : int or array
        How many keys the query may attend to.
    width : int
        How many terms a dot product has.
    products, scores, biases : float or array
        The largest :math:`|\text{scale}| \sum_k |q_k k_k|`, the same or the cap if that is
        smaller, and the largest bias, all in size.
    capped : bool, optional
        Whether there is a cap.
    merges : int or array, optional
        How many merges there are of states that keep a largest score and a sum. By default, one
        less than keys, of states that keep the logarithm of the sum.
    """
    keys = np.maximum(keys, 1)
    sums = keys + 2
    of_scores = (width / 2 + 5) * products + (12 if capped else 5) * scores + 6 * biases
    if merges is None:
        merges, by_logarithm = keys - 1, np.log(keys)
        each = 6 + (scores + biases + by_logarithm) / 2
        merged = each * merges + 11 * by_logarithm
    else:
        merged = 2 * merges
    exponentials = 4 * np.minimum(merges + 1, keys - 1)
    return epsilon * (sums + exponentials + of_scores + merged)


class _Floats(NamedTuple):
    """The dtype of a result, and what its arithmetic is done in."""

    dtype: str
    working: float  # ε of the arithmetic
    stored: float  # ε of weights and results if they are stored in 16 bits, else 0
    smallest: float  # subnormal number of the result

    @classmethod
    def of(cls, dtype: str) -> _Floats:
        epsilon = _EPSILON.get(dtype, _DOUBLE)
        working = min(epsilon, _EPSILON["float32"])
        stored = epsilon if working < epsilon else 0.0
        return cls(dtype, working, stored, _SUBNORMAL.get(dtype, 0.0))

    def moved(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return how far each number moves if it is rounded to it; 0 if that cannot hold it."""
        if self.dtype not in _EPSILON:
            return np.zeros_like(x)
        nearest = rounded(x, self.dtype)
        return np.where(np.isfinite(nearest), np.abs(nearest - x), 0.0)

    def kept(self, size: Any, error: Any) -> Any:
        """Return the error of a number of some size after it has been stored."""
        return error + self.stored / 2 * (size + error) + self.smallest


class _Rows(NamedTuple):
    """What the bound needs, each of shape (..., Tq, 1), or broadcast to it."""

    exponent: Any  # E
    keys: Any  # n
    scores: Any  # the largest, in size
    values: Any  # V
    moved_scores: Any  # δ
    moved_values: Any  # ρ

    def error(self, floats: _Floats) -> Any:
        """Return how far the mean of the values may be off."""
        _, keys, _, values, delta, rho = self
        error = (np.expm1(self.exponent) + delta) * (values + rho) + rho
        underflow = 4 * keys * _NORMAL[floats.working]
        return floats.kept(values + rho, error + underflow)


def _output(arguments: Mapping[str, Any], floats: _Floats, _: tuple[int, ...]) -> NDArray[Any]:
    return np.asarray(_attention(arguments, floats)[0].error(floats))


def _attention(
    arguments: Mapping[str, Any], floats: _Floats
) -> tuple[_Rows, NDArray[np.bool_], float]:
    """Return what the bound needs, which keys each query may attend to, and the scale."""
    # What is not finite stays so in the result, which is compared as it is.
    given = (np.asarray(arguments[name], float) for name in ("query", "key", "value"))
    query, key, value = (np.where(np.isfinite(x), x, 0.0) for x in given)
    bias, cap = np.asarray(arguments.get("bias", 0.0), float), arguments.get("soft_cap")
    scale = arguments.get("scale")
    scale = abs(query.shape[-1] ** -0.5 if scale is None else scale)
    d_query, d_key, d_value, d_bias = (floats.moved(x) for x in (query, key, value, bias))
    query, key, value, bias = (np.abs(x) for x in (query, key, value, bias))
    products = scale * (query @ key.mT)
    moved = scale * (d_query @ (key + d_key).mT + query @ d_key.mT) + d_bias
    seen = visible(np.broadcast_shapes(products.shape, bias.shape), arguments)
    seen = seen & np.isfinite(products) & np.isfinite(bias)  # the others are hidden, or give NaN
    seen = seen | ~seen.any(axis=-1, keepdims=True)  # nobody: conventions may mix all values

    delta, largest = _largest(moved, seen), _largest(products, seen)
    return (
        _rows(
            floats,
            seen,
            width=query.shape[-1],
            products=largest + delta,
            scores=np.minimum(largest, np.inf if cap is None else cap) + delta,
            biases=_largest(bias, seen),
            capped=cap is not None,
            values=_largest(value.max(axis=-1, initial=0.0)[..., None, :], seen),
            moved=(delta, _largest(d_value.max(axis=-1, initial=0.0)[..., None, :], seen)),
        ),
        seen,
        scale,
    )


def _rows(
    floats: _Floats,
    seen: NDArray[np.bool_],
    *,
    values: Any,
    moved: tuple[Any, Any],
    axis: int = -1,
    **sizes: Any,
) -> _Rows:
    keys = np.count_nonzero(seen, axis=axis, keepdims=True)
    total = exponent(floats.working, keys=keys, **sizes)
    # Weights of 16 bits: their rounding, and that of those below the normal numbers.
    total = total + floats.stored / 2 + (keys * floats.smallest / 2 if floats.stored else 0)
    return _Rows(total, keys, sizes["scores"] + sizes.get("biases", 0.0), values, *moved)


def _softmax_rows(arguments: Mapping[str, Any], floats: _Floats) -> _Rows:
    scores = np.asarray(arguments["x"] if "x" in arguments else arguments["scores"], float)
    axis = arguments.get("axis", -1)
    seen = np.isfinite(scores) & np.asarray(arguments.get("mask", np.True_))
    delta = _largest(floats.moved(scores), seen, axis)
    sizes = {"width": 0, "products": 0.0, "scores": _largest(np.abs(scores), seen, axis) + delta}
    return _rows(floats, seen, values=1.0, moved=(delta, 0.0), axis=axis, **sizes)


def _softmax(arguments: Mapping[str, Any], floats: _Floats, _: tuple[int, ...]) -> NDArray[Any]:
    return np.asarray(_softmax_rows(arguments, floats).error(floats))


def _logarithm(
    arguments: Mapping[str, Any], floats: _Floats, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Return how far log-sum-exp, or a score less that, may be off."""
    rows = _softmax_rows(arguments, floats)
    size = 2 * rows.scores + np.log(np.maximum(rows.keys, 1))
    error = rows.exponent + rows.moved_scores + 2 * floats.working * size
    limits = np.asarray(floats.kept(size, error))
    return limits if "x" in arguments else _by_row(limits.reshape(shape))


def _gradients(
    arguments: Mapping[str, Any], floats: _Floats, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Return how far the gradients of a shape may be off; of several, the largest bound holds."""
    rows, seen, scale = _attention(arguments, floats)
    query, key, value, back = (
        np.where(np.isfinite(x), x, 0)
        for x in (np.asarray(arguments[n], float) for n in ("query", "key", "value", "d_output"))
    )
    d_query, d_key, d_back = (floats.moved(x) for x in (query, key, back))
    weights = _weights(query, key, seen, arguments)
    slopes, off = _slopes(weights, value, back, d_back, rows, floats)
    query, key, back = np.abs(query), np.abs(key), np.abs(back)
    lost, cap = rows.exponent + rows.moved_scores, arguments.get("soft_cap")
    of_cap = 0.0 if cap is None else 12 * floats.working + lost / cap  # its slope is at most 1

    limits = np.zeros(shape)
    for name in ("query", "key", "value", "bias"):
        if arguments.get(name) is None or np.shape(arguments[name]) != shape:
            continue
        terms = weights.size // max(1, math.prod(shape if name == "bias" else shape[:-1]))
        sums = floats.working / 2 * (terms + 8) + floats.stored / 2
        error = off + (slopes + off) * np.expm1(sums + of_cap) + seen * floats.smallest
        if name == "query":
            error, size = _product(scale * error, scale * slopes, key, d_key)
        elif name == "key":
            error, size = _product(scale * error.mT, scale * slopes.mT, query, d_query)
        elif name == "value":
            error = weights * np.expm1(2 * lost + floats.stored / 2 + sums) + seen * floats.smallest
            error, size = _product(error.mT, weights.mT, back, d_back)
        else:
            size = slopes
        limits = np.maximum(limits, floats.kept(_summed(size, shape), _summed(error, shape)))
    return _by_row(limits)


def _summed(values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Add up what an input of `shape` was broadcast to, apart from the library that is judged."""
    added = values.ndim - len(shape)
    axes = [axis for axis in range(values.ndim) if axis < added or shape[axis - added] == 1]
    return np.asarray(values.sum(axis=tuple(axes))).reshape(shape)


def _slopes(
    weights: NDArray[Any],
    value: NDArray[Any],
    back: NDArray[Any],
    d_back: NDArray[Any],
    rows: _Rows,
    floats: _Floats,
) -> tuple[NDArray[Any], NDArray[Any]]:
    r"""Return the slopes of the scores in size, and how far each may be off.

    A slope is :math:`A_{ij}\,(P_{ij} - D_i)` with :math:`P_{ij} = \bar O_i \cdot V_j`, at most
    :math:`H_i = V \sum_c |\bar O_{ic}|`, and :math:`D_i` the mean of them. A weight may be off by
    a factor of :math:`e^{2E}`; a mean of numbers up to :math:`H_i` by :math:`(e^E - 1)\,H_i`.
    """
    lost, values = rows.exponent + rows.moved_scores, rows.values + rows.moved_values
    products = back @ value.mT
    gap = np.abs(products - (weights * products).sum(axis=-1, keepdims=True))
    heights = values * (np.abs(back) + d_back).sum(axis=-1, keepdims=True)
    moved = rows.moved_values * np.abs(back).sum(axis=-1, keepdims=True)
    moved = moved + values * d_back.sum(axis=-1, keepdims=True)
    of_weight = 2 * lost + floats.stored / 2
    of_product = floats.working / 2 * (value.shape[-1] + 2) + floats.stored / 2
    of_both = np.expm1(of_product) + np.expm1(lost + of_product)
    off = gap * np.expm1(of_weight) + np.exp(of_weight) * (heights * of_both + 2 * moved)
    return weights * gap, weights * off


def _product(
    error: NDArray[Any], size: NDArray[Any], array: NDArray[Any], moved: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return how far a product with an array may be off, if both may, and how large it may be."""
    return error @ array + (size + error) @ moved, size @ (array + moved)


def _by_row(limits: NDArray[Any]) -> NDArray[Any]:
    """Return the largest limit of each row: the checker of the book knows no columns."""
    return np.asarray(limits.max(axis=-1, keepdims=True, initial=0.0))


def _weights(
    query: NDArray[Any], key: NDArray[Any], seen: NDArray[np.bool_], arguments: Mapping[str, Any]
) -> NDArray[Any]:
    """Return the weights, by the formula."""
    scale, cap = arguments.get("scale"), arguments.get("soft_cap")
    scores = (query.shape[-1] ** -0.5 if scale is None else scale) * (query @ key.mT)
    scores = scores if cap is None else cap * np.tanh(scores / cap)
    scores = np.where(seen, scores + arguments.get("bias", 0.0), -np.inf)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.finfo(float).max))
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


_BOUNDS = {
    "scaled_dot_product_attention": _output,
    "streaming_attention": _output,
    "softmax": _softmax,
    "attention_weights": _softmax,
    "log_softmax": _logarithm,
    "log_sum_exp": _logarithm,
    "scaled_dot_product_attention_vjp": _gradients,
    "streaming_attention_vjp": _gradients,
}


def _largest(x: NDArray[Any], seen: NDArray[np.bool_], axis: int = -1) -> NDArray[Any]:
    """Return the largest entry of each row among those that are seen."""
    shape = np.broadcast_shapes(x.shape, seen.shape)
    x, seen = np.broadcast_to(x, shape), np.broadcast_to(seen, shape)
    return np.asarray(np.max(x, axis=axis, keepdims=True, where=seen, initial=0.0))


def visible(shape: tuple[int, ...], arguments: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Return which key each query may attend to, from `mask`, `causal` and `offset`."""
    seen = np.broadcast_to(np.True_, shape) & arguments.get("mask", np.True_)
    if arguments.get("causal", False):
        seen = seen & np.tri(shape[-2], shape[-1], arguments.get("offset", 0), dtype=bool)
    return np.asarray(seen)


def rounded(x: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Return the numbers rounded to a dtype narrower than float64, as float64."""
    if dtype != "bfloat16":
        with np.errstate(over="ignore"):
            return x.astype(dtype).astype(float)
    bits = x.astype(np.float32).view(np.uint32)  # bfloat16 is its upper half, rounded to even
    upper = (bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return np.asarray(upper, np.uint32).view(np.float32).astype(float)
