"""Linear algebra over lists: exact for fractions, 50 digits once a root or exponential is taken."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from derivations.recording import because, chosen, step

DIGITS = 50

# A step, which records how it was made, or a number that nothing was computed for.
Real: TypeAlias = Any
Vector: TypeAlias = Sequence[Real]
Matrix: TypeAlias = Sequence[Vector]


def square_root(x: Real) -> Real:
    return step("root", x, 2)


def exponential(x: Real) -> Real:
    return step("exp", x)


def logarithm(x: Real) -> Real:
    return step("log", x)


def total(terms: Iterable[Real]) -> Real:
    return step("sum", *terms)


def dot(x: Vector, y: Vector) -> Real:
    return step("dot", *itertools.chain.from_iterable(zip(x, y, strict=True)))


def largest(x: Iterable[Real]) -> Real:
    return step("max", *x)


def both(one: Real, other: Real) -> Real:
    return step("and", one, other)


def opposite(x: Real) -> Real:
    return step("not", x)


def at_most(x: Real, y: Real) -> Real:
    return step("at most", x, y)


def if_so(may: Real, x: Real, otherwise: Real) -> Real:
    return because(x if may else otherwise, may)


def rows(x: Matrix, indices: Vector) -> Matrix:
    return [[because(entry, i) for entry in x[int(i)]] for i in indices]


def transpose(x: Matrix) -> Matrix:
    return [list(column) for column in zip(*x, strict=True)]


def product(x: Matrix, y: Matrix) -> Matrix:
    columns = transpose(y)
    return [[dot(row, column) for column in columns] for row in x]


def matrix_sum(*terms: Matrix) -> Matrix:
    return [
        [total(entries) for entries in zip(*same_row, strict=True)]
        for same_row in zip(*terms, strict=True)
    ]


def dot_products(x: Matrix, y: Matrix) -> Matrix:
    return [[dot(a, b) for b in y] for a in x]


def cosine(x: Vector, y: Vector) -> Real:
    # One root of the exact product, so that the cosine of a vector with itself is exactly 1.
    return dot(x, y) / square_root(dot(x, x) * dot(y, y))


def distance(x: Vector, y: Vector) -> Real:
    difference = [a - b for a, b in zip(x, y, strict=True)]
    return square_root(dot(difference, difference))


def divided_by_root(x: Matrix, width: int) -> Matrix:
    return [[entry / square_root(width) for entry in row] for row in x]


def first_of_largest(x: Vector) -> int:
    return x.index(max(x))


def require(holds: bool, otherwise: str) -> None:
    """Raise an error unless two routes to the same numbers, or what an example needs, agree."""
    if not holds:
        raise ArithmeticError(otherwise)


def softmax(scores: Vector, allowed: Sequence[Real] | None = None) -> Vector:
    """Return the weights of one row; a masked entry is left out of the sum and gets exactly 0.

    Where every entry is masked there is nothing to share out: all are 0.
    """
    if allowed is None:
        allowed = [True] * len(scores)
    hidden = [chosen(0, may) for may in allowed]
    if not any(allowed):
        return hidden
    kept = [because(score, may) for score, may in zip(scores, allowed, strict=True)]
    # Without the largest score, no exponential is too large for a computer to check.
    highest = largest(score for score, may in zip(kept, allowed, strict=True) if may)
    exponentials = [
        exponential(score - highest) if may else zero
        for score, may, zero in zip(kept, allowed, hidden, strict=True)
    ]
    everything = total(exponentials)
    return [
        entry / everything if may else zero
        for entry, may, zero in zip(exponentials, allowed, hidden, strict=True)
    ]


def mean(x: Vector) -> Real:
    return total(x) / len(x)


def population_variance(x: Matrix) -> Real:
    entries = [entry for row in x for entry in row]
    center = mean(entries)
    return mean([(entry - center) ** 2 for entry in entries])
