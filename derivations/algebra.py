"""Linear algebra over lists: exact for fractions, 50 digits once a root or exponential is taken."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import mpmath

DIGITS = 50

# A Fraction, or an mpmath number, which has no types of its own.
Real: TypeAlias = Any
Vector: TypeAlias = Sequence[Real]
Matrix: TypeAlias = Sequence[Vector]


def real(x: Real) -> Real:
    """Return x with 50 digits; mpmath rounds the one division of a fraction."""
    if isinstance(x, Fraction):
        return mpmath.mpf(x.numerator) / mpmath.mpf(x.denominator)
    return mpmath.mpf(x)


def square_root(x: Real) -> Real:
    return mpmath.sqrt(real(x))


def exponential(x: Real) -> Real:
    return mpmath.exp(real(x))


def logarithm(x: Real) -> Real:
    return mpmath.log(real(x))


def dot(x: Vector, y: Vector) -> Real:
    total: Real = Fraction(0)
    for a, b in zip(x, y, strict=True):
        # A fraction times an mpmath number is not defined; bring both to the same kind.
        if not (isinstance(a, Fraction) and isinstance(b, Fraction)):
            a, b = real(a), real(b)
        term = a * b
        total = total + term if isinstance(term, Fraction) else real(total) + term
    return total


def rows(x: Matrix, indices: Vector) -> Matrix:
    return [x[int(i)] for i in indices]


def transpose(x: Matrix) -> Matrix:
    return [list(column) for column in zip(*x, strict=True)]


def product(x: Matrix, y: Matrix) -> Matrix:
    columns = transpose(y)
    return [[dot(row, column) for column in columns] for row in x]


def matrix_sum(*terms: Matrix) -> Matrix:
    # Bring all entries to the same kind: a fraction and an mpmath number do not add up.
    return [
        [mpmath.fsum(real(entry) for entry in entries) for entries in zip(*same_row, strict=True)]
        for same_row in zip(*terms, strict=True)
    ]


def dot_products(x: Matrix, y: Matrix) -> Matrix:
    return [[dot(a, b) for b in y] for a in x]


def cosine(x: Vector, y: Vector) -> Real:
    # One root of the exact product, so that the cosine of a vector with itself is exactly 1.
    return real(dot(x, y)) / square_root(dot(x, x) * dot(y, y))


def distance(x: Vector, y: Vector) -> Real:
    difference = [a - b for a, b in zip(x, y, strict=True)]
    return square_root(dot(difference, difference))


def divided_by_root(x: Matrix, width: int) -> Matrix:
    return [[real(entry) / square_root(width) for entry in row] for row in x]


def softmax(scores: Vector, allowed: Sequence[bool] | None = None) -> Vector:
    """Return the weights of one row; a masked entry is left out of the sum and gets exactly 0.

    Where every entry is masked there is nothing to share out: all are 0.
    """
    if allowed is None:
        allowed = [True] * len(scores)
    if not any(allowed):
        return [mpmath.mpf(0) for _ in scores]
    exponentials = [
        exponential(score) if may else mpmath.mpf(0)
        for score, may in zip(scores, allowed, strict=True)
    ]
    total = mpmath.fsum(exponentials)
    return [entry / total for entry in exponentials]


def mean(x: Vector) -> Real:
    return sum(x) / len(x)


def population_variance(x: Matrix) -> Real:
    entries = [entry for row in x for entry in row]
    center = mean(entries)
    return mean([(entry - center) ** 2 for entry in entries])
