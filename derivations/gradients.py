"""The chain rule through attention, entry by entry, and a numerical check of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import mpmath

from derivations.algebra import (
    Matrix,
    Real,
    divided_by_root,
    dot,
    product,
    require,
    transpose,
)
from derivations.attention import Mask, attend
from derivations.recording import Words, plain


class Gradients(NamedTuple):
    d_weights: Matrix
    d_scaled_scores: Matrix
    d_scores: Matrix
    d_query: Matrix
    d_key: Matrix
    d_value: Matrix


def attention_gradients(
    query: Matrix, key: Matrix, value: Matrix, d_output: Matrix, mask: Mask | None = None
) -> Gradients:
    """Return how Σ output · d_output changes with each number on the way.

    The weight of a masked key is 0, and so is everything that goes back through it.
    """
    weights = attend(query, key, value, mask).weights
    d_weights = product(d_output, transpose(value))
    d_scaled_scores = []
    for p, d_p in zip(weights, d_weights, strict=True):
        average = dot(p, d_p, Words("mean"))
        d_scaled_scores.append([a * (d - average) for a, d in zip(p, d_p, strict=True)])
    d_scores = divided_by_root(d_scaled_scores, len(key[0]))
    return Gradients(
        d_weights=d_weights,
        d_scaled_scores=d_scaled_scores,
        d_scores=d_scores,
        d_query=product(d_scores, key),
        d_key=product(transpose(d_scores), query),
        d_value=product(transpose(weights), d_output),
    )


def central_differences(function: Callable[[Matrix], Real], x: Matrix) -> Matrix:
    """Differentiate a function of a matrix numerically, with twice the digits."""
    with mpmath.workdps(2 * mpmath.mp.dps):
        step = mpmath.mpf(10) ** (-mpmath.mp.dps // 4)

        def moved(i: int, j: int, by: Real) -> Matrix:
            return [
                [entry + by if (r, c) == (i, j) else entry for c, entry in enumerate(row)]
                for r, row in enumerate(x)
            ]

        return [
            [
                (function(moved(i, j, step)) - function(moved(i, j, -step))) / (2 * step)
                for j in range(len(x[0]))
            ]
            for i in range(len(x))
        ]


def require_agreement(name: str, exact: Matrix, numerical: Matrix) -> None:
    # The error of a central difference is of the order of the squared step, here 1e-50.
    pairs = zip(exact, numerical, strict=True)
    off = max(abs(a - b) for rows in pairs for a, b in zip(*rows, strict=True))
    told = mpmath.nstr(plain(off), 3)
    require(off < mpmath.mpf(10) ** -40, f"{name} is off by {told} from central differences")
