r"""How far a computed entry may be from the expected one, by the dtype in which it was computed.

Attention. Let :math:`S` be the largest
:math:`|\text{scale}| \sum_k |q_{ik} k_{jk}|` among the keys that the query of a row may attend to,
:math:`B` the largest of their biases and :math:`V` the largest of their values, all in size, and
:math:`\varepsilon` the spacing of the numbers of a dtype after 1.

- Arithmetic may be off by :math:`4 \varepsilon (1 + S + B) V` and the smallest subnormal number:
  the bound that `scaled_dot_product_attention` promises. A float16 or bfloat16 result is computed
  in float32; then its weights and its entries are each rounded once, which adds
  :math:`\varepsilon V` with the :math:`\varepsilon` of its own.
- Inputs that the dtype cannot hold are rounded before anything is computed. If that moves a
  score by :math:`\delta` at most and a value by :math:`\rho`, it moves the output by
  :math:`\delta (V + \rho) + \rho`: softmax moves its weights, added up, by no more than
  :math:`\delta`. Both are computed from the inputs, and are 0 where they are exact.

Softmax. The same with :math:`V = 1` and the scores as they are given.

Anything else. :math:`8\,\varepsilon \max(1, \max |\text{expected}|)`.

To each the tolerance of the example is added, which covers the rounding of decimals to doubles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from selfattn_ref.worked_examples._comparison import Allowed, Tolerance

_DOUBLE = 2.0**-52
_EPSILON = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
_SUBNORMAL = {"float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}


def by_dtype(
    tolerance: Tolerance, expected: NDArray[Any], within: Tolerance | None = None
) -> Allowed:
    """Return what is allowed where nothing is known but the expected values."""

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
    if within is not None or function not in _PROBLEMS:
        return by_dtype(tolerance, expected, within)

    def allowed(dtype: str) -> NDArray[Any]:
        bound = _bound(_PROBLEMS[function](arguments, dtype), dtype)
        return np.asarray(tolerance.allowed(expected) + bound)

    return allowed


class _Problem(NamedTuple):
    """What the bound needs, each of shape (..., Tq, 1), or broadcast to it."""

    scores: NDArray[Any]  # 1 + S + B
    values: Any  # V
    moved_scores: NDArray[Any]  # δ
    moved_values: Any  # ρ


def _bound(problem: _Problem, dtype: str) -> NDArray[Any]:
    epsilon = _EPSILON.get(dtype, _DOUBLE)
    working = min(epsilon, _EPSILON["float32"])
    scores, values, delta, rho = problem
    error = (4 * working * (scores + delta) + delta) * (values + rho) + rho
    if working < epsilon:
        error = error + epsilon * (values + rho + error)
    return np.asarray(error + _SUBNORMAL.get(dtype, 0.0))


def _attention(arguments: Mapping[str, Any], dtype: str) -> _Problem:
    query, key, value = (np.asarray(arguments[name], float) for name in ("query", "key", "value"))
    bias = np.asarray(arguments.get("bias", 0.0), float)
    scale = arguments.get("scale")
    scale = abs(query.shape[-1] ** -0.5 if scale is None else scale)
    query, key, value, bias = (np.abs(x) for x in (query, key, value, bias))
    d_query, d_key, d_value, d_bias = (_moved(x, dtype) for x in (query, key, value, bias))
    transposed, d_transposed = np.swapaxes(key, -1, -2), np.swapaxes(d_key, -1, -2)
    size = scale * (query @ transposed) + bias
    moved = d_query @ (transposed + d_transposed) + query @ d_transposed
    seen = visible(size.shape, arguments)
    seen = seen | ~seen.any(axis=-1, keepdims=True)  # nobody: conventions may mix all values

    return _Problem(
        scores=1 + _largest(size, seen),
        values=_largest(value.max(axis=-1)[..., None, :], seen),
        moved_scores=_largest(scale * moved + d_bias, seen),
        moved_values=_largest(d_value.max(axis=-1)[..., None, :], seen),
    )


def _softmax(arguments: Mapping[str, Any], dtype: str) -> _Problem:
    scores = np.abs(arguments["x"] if "x" in arguments else arguments["scores"])
    mask = np.asarray(arguments.get("mask", np.True_))
    moved = _largest(_moved(scores, dtype), mask)
    return _Problem(1 + _largest(scores, mask), 1.0, moved, 0.0)


_PROBLEMS = {
    "scaled_dot_product_attention": _attention,
    "streaming_attention": _attention,
    "softmax": _softmax,
    "attention_weights": _softmax,
}


def _largest(x: NDArray[Any], seen: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the largest entry of each row among those that are seen."""
    shape = np.broadcast_shapes(x.shape, seen.shape)
    x, seen = np.broadcast_to(x, shape), np.broadcast_to(seen, shape)
    return np.asarray(np.max(x, axis=-1, keepdims=True, where=seen, initial=0.0))


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


def _moved(x: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Return how far each number moves if it is rounded to a dtype; 0 if that cannot hold it."""
    if dtype not in _EPSILON:
        return np.zeros_like(x)
    nearest = rounded(x, dtype)
    return np.where(np.isfinite(nearest), np.abs(nearest - x), 0.0)
