"""Stamps: matrices so small that only their pattern is seen, and how far a wrong one is off."""

import html
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from press.example.arithmetic import rounded
from selfattn_ref import scaled_dot_product_attention
from selfattn_ref.worked_examples.slips import Slip

Array = NDArray[Any]
CELL, GAP = 10, 8  # units of a drawing: a cell, and between two matrices
TINTS = 8  # steps between no color and all of it
NOTHING = 1e-9  # what two orders of summation may differ by


@dataclass(frozen=True)
class Difference:
    """Where a wrong array is off by most: the place, and the right and the wrong number."""

    place: tuple[int, ...]
    right: float
    wrong: float
    count: int  # of the entries that differ

    @property
    def size(self) -> float:
        """How far it is off; NaN is as far as anything can be."""
        off = abs(self.right - self.wrong)
        return float("inf") if np.isnan(off) else rounded(off, 9)


def difference(right: Array, wrong: Array) -> Difference | None:
    """Return where two arrays of one shape differ by most, or None if they do not."""
    off = np.abs(wrong - right)
    off = np.where(np.isnan(off) & ~(np.isnan(wrong) & np.isnan(right)), np.inf, np.nan_to_num(off))
    if not (off > NOTHING).any():
        return None
    first = int(np.argmax(off >= off.max() * (1 - 1e-9)))  # of those that are equally far
    place = tuple(int(i) for i in np.unravel_index(first, off.shape))
    return Difference(place, float(right[place]), float(wrong[place]), int((off > NOTHING).sum()))


def apart(right: float, wrong: float) -> tuple[str, str]:
    """Write two numbers with as many digits as tell them apart, three at least."""
    for digits in range(3, 18):
        one, other = written(right, digits), written(wrong, digits)
        if one != other:
            break
    return one, other


def written(value: float, digits: int = 3) -> str:
    """Write a number with few digits."""
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else "∞" if value > 0 else "−∞"
    text = f"{rounded(value, digits):.{digits}g}"
    if "e" in text:
        mantissa, _, exponent = text.partition("e")
        text = f"{mantissa}×10<sup>{int(exponent)}</sup>"
    return text.replace("-", "−")


def weights_of(function: Any, query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    """Return the weights by which a function mixes: what it makes of the columns of the identity.

    They come in pieces as wide as the values, on whose width a function may depend.
    """
    keys, width = value.shape[-2:]
    pieces = np.eye(keys, -(-keys // width) * width)
    found = [
        function(
            query,
            key,
            np.broadcast_to(pieces[:, start : start + width], value.shape).copy(),
            **keywords,
        )
        for start in range(0, pieces.shape[1], width)
    ]
    return np.concatenate(found, axis=-1)[..., :keys]


def of_slip(
    slip: Slip, query: Array, key: Array, value: Array, **keywords: Any
) -> tuple[str, Array, Array]:
    """Return what shows a slip, right and wrong: the weights if they explain the output, or it."""
    value = np.where(np.isfinite(value), value, 0.0)  # 0 times NaN would be NaN
    right = scaled_dot_product_attention(query, key, value, **keywords)
    wrong = slip(query, key, value, **keywords)
    given = query, key, value
    weights = weights_of(scaled_dot_product_attention, *given, **keywords)
    with np.errstate(all="ignore"):
        other = weights_of(slip, *given, **keywords)
        mixed = other @ value if other.shape == weights.shape else np.nan
    explains = np.shape(mixed) == wrong.shape and np.allclose(mixed, wrong, equal_nan=True)
    if explains and difference(weights, other):
        return "weights", weights, other
    return "output", right, wrong


def of_one(right: Array, wrong: Array) -> tuple[Array, Array]:
    """Return the matrices of the head or sequence that differ by most."""
    if right.ndim < 3 or right.shape != wrong.shape:
        return right, wrong
    found = difference(right, wrong)
    place = found.place[:-2] if found else (0,) * (right.ndim - 2)
    return right[place], wrong[place]


def drawn(*matrices: Array, role: str, says: str = "") -> str:
    """Draw one matrix, or a right one beside a wrong one in which what differs has a frame.

    What says nothing stands beside words that say all.
    """
    matrices = tuple(np.atleast_2d(one) for one in matrices)
    largest = 1.0
    if role != "weight":
        sizes = np.concatenate([np.abs(one[np.isfinite(one)]) for one in matrices])
        largest = float(sizes.max(initial=0)) or 1.0
    parts: dict[str, list[str]] = defaultdict(list)
    first, left = matrices[0], 0
    for one in matrices:
        alike = one.shape == first.shape
        off = ~np.isclose(one, first, 0, NOTHING, equal_nan=True) if alike else np.ones(one.shape)
        for (i, j), value in np.ndenumerate(one):
            x, y = left + j * CELL, i * CELL
            if np.isnan(value):
                parts["nan"].append(f"M{x + 3} {y + 3}l4 4m0-4l-4 4")
            elif value == 0:
                parts["none"].append(f"M{x + 5} {y + 5}h0")
            else:
                tint = max(1, round(TINTS * min(1.0, abs(value) / largest)))
                parts[f"t{tint}"].append(f"M{x} {y + 5}h9")
                if value < 0:
                    parts["less"].append(f"M{x} {y + 9}l9-9")
            if off[i, j]:
                parts["off"].append(f"M{x} {y}h9v9h-9z")
        left += one.shape[1] * CELL + GAP
    high = max(one.shape[0] for one in matrices) * CELL - 1
    wide = left - GAP - 1
    pixels = 64 / max(max(one.shape) for one in matrices) / CELL  # of a unit
    pixels = min(pixels, 1.6)
    paths = "".join(f'<path class="{name}" d="{"".join(d)}"/>' for name, d in sorted(parts.items()))
    spoken = f'role="img" aria-label="{html.escape(says)}"' if says else 'aria-hidden="true"'
    return (
        f'<svg class="stamp {role}" {spoken}'
        f' viewBox="-1 -1 {wide + 2} {high + 2}" width="{(wide + 2) * pixels:.0f}"'
        f' height="{(high + 2) * pixels:.0f}">{paths}</svg>'
    )
