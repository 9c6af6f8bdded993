"""Kernels: arithmetic on checked arrays that several modules share.

Arrays called `scores` are written on where it says so; no other argument is.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]


class Window(NamedTuple):
    """How many keys a query sees before and after its own position, which is i + offset."""

    left: int | None
    right: int | None
    offset: int


def adjusted(scores: Array, soft_cap: Any, bias: Array | None) -> Array:
    """Cap the scores and add the bias, in place."""
    if soft_cap is not None:
        scores /= soft_cap
        np.tanh(scores, out=scores)
        scores *= soft_cap
    if bias is not None:
        np.add(scores, bias, out=scores, dtype=scores.dtype, casting="same_kind")
    return scores


def largest(scores: Array, axis: int = -1) -> Array:
    """Return the largest score of each row; −∞ if there is none."""
    highest: Array = scores.max(axis=axis, keepdims=True, initial=-np.inf)
    return highest


def subtractable(highest: Array) -> Array:
    """Return what to subtract from the scores; where all are −∞, the lowest finite number.

    −∞ less that stays −∞; less −∞ it would be NaN.
    """
    lowest: Array = np.maximum(highest, np.finfo(highest.dtype).min)
    return lowest


def exponentials(scores: Array, mask: Mask | None = None, axis: int = -1) -> Array:
    """Turn scores into exponentials relative to the largest, in place; return the largest."""
    if mask is not None:
        np.copyto(scores, -np.inf, where=~mask)
    highest = largest(scores, axis)
    scores -= subtractable(highest)
    np.exp(scores, out=scores)
    return highest


def share(scores: Array, mask: Mask | None = None, axis: int = -1) -> Array:
    """Turn scores into weights over the keys that the mask allows, in place."""
    exponentials(scores, mask, axis)
    total = scores.sum(axis=axis, keepdims=True)  # at least 1, the exponential of the largest
    scores /= np.maximum(total, 1)  # a row with no weight to give stays zero
    return scores


def hide(array: Array, mask: Mask | None) -> Array:
    """Write zeros where the mask does not allow, in place."""
    if mask is not None:
        np.copyto(array, 0, where=~mask)
    return array


def flipped(mask: Mask | None) -> Mask | None:
    """Return the mask of the keys, seen from which query."""
    return None if mask is None else mask.mT


def mix(weights: Array, value: Array, mask: Mask | None) -> Array:
    """Return the sums of the values, weighted; what is masked adds nothing, not even a NaN.

    A product with a weight of 0 would not do for a value that is not finite: 0 times NaN is NaN.
    Such a value is added by itself, where it may be attended to.
    """
    output: Array = weights @ value
    if mask is None or np.isfinite(output).all():
        return output
    finite = np.asarray(np.isfinite(value).all(axis=-1, keepdims=True))  # (..., Tk, 1)
    output = weights @ np.where(finite, value, 0)
    visible = np.broadcast_to(mask, weights.shape)
    broken = ~finite.reshape(-1, finite.shape[-2]).all(axis=0)  # (Tk,)
    for j in np.flatnonzero(broken):
        here = slice(j, j + 1)
        term = weights[..., :, here] * np.where(finite[..., here, :], 0, value[..., here, :])
        output += np.where(visible[..., :, here], term, 0)
    return output


def d_softmax(weights: Array, d_weights: Array, mask: Mask | None) -> Array:
    """Apply the Jacobian of the softmax to a gradient, in place; what is masked gets zeros."""
    hide(d_weights, mask)
    d_weights -= (weights * d_weights).sum(axis=-1, keepdims=True)
    d_weights *= weights
    return hide(d_weights, mask)


def cap_slope(scaled_scores: Array, soft_cap: Any) -> Array:
    """Return the derivative of the cap, 1 / cosh², which keeps its digits where tanh is 1."""
    slope: Array = np.cosh(scaled_scores / soft_cap)
    slope *= slope
    return np.divide(1, slope, out=slope)


def summed(gradient: Array, shape: tuple[int, ...]) -> Array:
    """Add a gradient up over the axes along which an input of `shape` was broadcast."""
    if gradient.shape == shape:
        return gradient
    added = gradient.ndim - len(shape)
    wide = (i for i, size in enumerate(shape) if size != gradient.shape[added + i])
    axes = (*range(added), *(added + i for i in wide))
    return np.asarray(gradient.sum(axis=axes, keepdims=True)).reshape(shape)


def visible(rows: slice, columns: slice, window: Window) -> Mask:
    """Return which of some keys each of some queries sees, by their positions."""
    size = rows.stop - rows.start, columns.stop - columns.start

    def up_to(reach: int) -> Mask:
        last = rows.start + window.offset + reach - columns.start  # for the first query
        return np.tri(*size, max(-size[0], min(size[1], last)), np.bool_)  # no offset overflows

    seen = np.ones(size, np.bool_) if window.right is None else up_to(window.right)
    if window.left is not None:
        seen &= ~up_to(-window.left - 1)
    return seen


def seeing(rows: slice, columns: slice, window: Window) -> slice:
    """Return which of some queries see any of some keys, by their positions."""
    start, stop = rows.start, rows.stop
    if window.right is not None:
        start = max(start, columns.start - window.offset - window.right)
    if window.left is not None:
        stop = min(stop, columns.stop - window.offset + window.left)
    return slice(start, stop)


def combined(mask: Mask | None, window: Window | None, Tq: int, Tk: int) -> Mask | None:
    """Return what both allow, with an axis for queries and one for keys; None for everything."""
    if window is None:
        return None if mask is None else np.atleast_2d(mask)
    near = visible(slice(0, Tq), slice(0, Tk), window)
    return near if mask is None else near & mask
