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
    times,
    transpose,
)
from derivations.attention import Mask, Options, attend, attend_with
from derivations.recording import Words, plain, step


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


def gradients_with(
    query: Matrix, key: Matrix, value: Matrix, d_output: Matrix, options: Options
) -> dict[str, Matrix]:
    """Return the gradients by query, key, value and bias of attention under options."""
    weights = attend_with(query, key, value, options).weights
    slopes_of_scores, d_bias = [], []
    for i, (p, d_o) in enumerate(zip(weights, d_output, strict=True)):
        d_p = [dot(d_o, v, Words("slope of the weight")) for v in value]
        average = dot(p, d_p, Words("mean"))
        row = [a * (d - average) for a, d in zip(p, d_p, strict=True)]
        d_bias.append(row)
        if options.soft_cap is not None:
            uncapped = Options(scale=options.scale)
            scaled = [uncapped.score(query[i], k, None) for k in key]
            tangents = [step("tanh", s / options.soft_cap) for s in scaled]
            slopes = [1 - t * t for t in tangents]
            row = [d * slope for d, slope in zip(row, slopes, strict=True)]
        slopes_of_scores.append(row)
    d_scores = (
        divided_by_root(slopes_of_scores, len(key[0]))
        if options.scale is None
        else times(slopes_of_scores, options.scale)
    )
    return {
        "query": product(d_scores, key),
        "key": product(transpose(d_scores), query),
        "value": product(transpose(weights), d_output),
        "bias": d_bias,
    }


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
