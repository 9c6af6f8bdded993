"""Linear algebra over lists: exact for fractions, 50 digits once a root or exponential is taken."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from derivations.recording import NO_WORDS, Step, Words, because, chosen, step

DIGITS = 50
# From scores of this size on, exponentials are told beside that of the largest score: a reader's
# computer may not be able to check the others, and nobody wants to read them.
LARGE = 20

# A step, which records how it was made, or a number that nothing was computed for.
Real: TypeAlias = Any
Vector: TypeAlias = Sequence[Real]
Matrix: TypeAlias = Sequence[Vector]


def square_root(x: Real) -> Real:
    return step("root", x, 2)


def exponential(x: Real, words: Words = NO_WORDS) -> Real:
    return step("exp", x, words=words)


def logarithm(x: Real) -> Real:
    return step("log", x)


def total(terms: Iterable[Real], words: Words = NO_WORDS) -> Real:
    return step("sum", *terms, words=words)


def dot(x: Vector, y: Vector, words: Words = NO_WORDS) -> Real:
    return step("dot", *itertools.chain.from_iterable(zip(x, y, strict=True)), words=words)


def length(x: Vector) -> Real:
    words = Words(rule="length of each row of {0}")
    return step("root", total(entry**2 for entry in x), 2, words=words)


def largest(x: Iterable[Real], words: Words = NO_WORDS) -> Real:
    return step("max", *x, words=words)


def both(one: Real, other: Real) -> Real:
    return step("and", one, other)


def opposite(x: Real) -> Real:
    return step("not", x)


TRUE_HIDES = Words(note="the mask, where true hides")


def true_hides(mask: Sequence[Real]) -> Vector:
    """Read a row of a mask the other way: where it is true, the key is hidden."""
    return [step("not", may, words=TRUE_HIDES) for may in mask]


def at_most(x: Real, y: Real) -> Real:
    return step("at most", x, y)


IN_PLACE = "the scores, with {0} in place of what the mask hides"


def if_so(may: Real, x: Real, otherwise: Real, rule: str = IN_PLACE) -> Real:
    if may:
        return because(x, may)
    words = Words(says="a number in place of what the mask hides", rule=rule)
    return because(otherwise, may, words=words)


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
    return [[dot(a, b, Words("score")) for b in y] for a in x]


def cosine(x: Vector, y: Vector) -> Real:
    # One root of the exact product, so that the cosine of a vector with itself is exactly 1.
    squares = [dot(z, z, Words("squared length")) for z in (x, y)]
    words = Words(rule="cosine of every pair of rows of {0}")
    root = square_root(squares[0] * squares[1])
    return step("divide", dot(x, y, Words("dot product")), root, words=words)


def distance(x: Vector, y: Vector) -> Real:
    differences = [a - b for a, b in zip(x, y, strict=True)]
    squares = total([d**2 for d in differences], Words("sum of the squared differences"))
    return step("root", squares, 2, words=Words(rule="distance of every pair of rows of {0}"))


def divided_by_root(x: Matrix, width: int) -> Matrix:
    root, words = square_root(width), Words("scaled")
    return [[step("divide", entry, root, words=words) for entry in row] for row in x]


def times(x: Matrix, factor: Real) -> Matrix:
    return [[step("multiply", entry, factor, words=Words("scaled")) for entry in row] for row in x]


def at_largest(scores: Vector, values: Matrix) -> Vector:
    """Return the values of the first key that has the largest score."""
    words = Words(says="the value of the key with the largest score, the first of several")
    return [because(x, *scores, words=words) for x in values[scores.index(max(scores))]]


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
    turned = any(isinstance(may, Step) and may.words == TRUE_HIDES for may in allowed)
    hides = "the mask is true here" if turned else "the mask hides this key"
    lets = "the mask is false here" if turned else "the mask lets it through"
    nothing = Words(says=f"{hides}: the exponential is 0, and so is the share")
    hidden = [chosen(0, may, words=nothing) for may in allowed]
    if not any(allowed):
        return hidden
    kept = [
        because(score, may, words=Words(says=lets, rule="{0} under the mask"))
        for score, may in zip(scores, allowed, strict=True)
    ]
    seen = [score for score, may in zip(kept, allowed, strict=True) if may]
    if max(map(abs, seen)) > LARGE:
        masked = any(isinstance(may, Step) for may in allowed)
        among = "that the mask lets through" if masked else "of the row"
        highest = largest(seen, Words(note=f"the largest {among}"))
        kept = [score - highest if may else score for score, may in zip(kept, allowed, strict=True)]
    exponentials = [
        exponential(score, Words("exponential", leads=True)) if may else zero
        for score, may, zero in zip(kept, allowed, hidden, strict=True)
    ]
    everything = total(exponentials, Words(note="the sum of the exponentials of the row"))
    share = Words("share", leads=True)
    return [
        step("divide", entry, everything, words=share) if may else zero
        for entry, may, zero in zip(exponentials, allowed, hidden, strict=True)
    ]


def mean(x: Vector) -> Real:
    return step("divide", total(x), len(x), words=Words("mean"))


def population_variance(x: Matrix) -> Real:
    entries = [entry for row in x for entry in row]
    center = mean(entries)
    return mean([(entry - center) ** 2 for entry in entries])
