"""What an entry of a matrix is made of, as a formula: of the matrices by name and the place."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from press.example.arithmetic import (
    Number,
    dot,
    exponential,
    function,
    largest,
    length,
    number,
    power,
    root,
    square,
    total,
)

Known = Mapping[str, Any]  # matrices, by name
Formula = Callable[[Known, int, int], Number]
Place = tuple[str, int, int]
Spread = tuple[list[Place], list[Place], Place | None]  # scores, what they weigh, their maximum


def at(known: Known, name: str, i: int, j: int) -> Number:
    """Return an entry of a matrix."""
    return number(known[name].values[i, j], (name, i, j))


def row(known: Known, name: str, i: int) -> list[Number]:
    """Return a row of a matrix."""
    return [at(known, name, i, j) for j in range(known[name].values.shape[1])]


def elementwise(of: Callable[..., Number], *names: str) -> Formula:
    """Return the formula of a function of entries at the same place."""
    return lambda known, i, j: of(*(at(known, name, i, j) for name in names))


def of_rows(of: Callable[[list[Number]], Number], name: str) -> Formula:
    """Return the formula of a list of one number for each row."""
    return lambda known, i, j: of(row(known, name, j))


def log_sum(every: Sequence[Number]) -> Number:
    """Return the logarithm of a sum of exponentials."""
    most = largest(every).step("the largest score")
    return most + function("log", total(exponential(x - most) for x in every).step("sum"))


def cosine(name: str, rows: Sequence[int]) -> Formula:
    """Return the formula of the cosine of two rows."""

    def formula(known: Known, i: int, j: int) -> Number:
        x, y = (row(known, name, rows[k]) for k in (i, j))
        product = dot(x, y).step("dot product")
        one, other = (length(z).step(f"length of row {rows[k]}") for z, k in ((x, i), (y, j)))
        return product / (one * other)

    return formula


def distance(name: str) -> Formula:
    """Return the formula of the distance of two rows."""

    def formula(known: Known, i: int, j: int) -> Number:
        pairs = zip(row(known, name, i), row(known, name, j), strict=True)
        squares = [square(x - y) for x, y in pairs]
        return root(total(squares).step("sum of the squared differences"))

    return formula


def jacobian(weights: str) -> Formula:
    """Return the formula of the Jacobian of a softmax: diag(p) − p pᵀ."""

    def formula(known: Known, i: int, j: int) -> Number:
        p, q = at(known, weights, 0, i), at(known, weights, 0, j)
        return p * (number(1) - p) if i == j else -(p * q)

    return formula


def uniform(weights: str, empty: Sequence[int]) -> Formula:
    """Return the formula of weights, equal where there are none."""

    def formula(known: Known, i: int, j: int) -> Number:
        one = number(1) / number(known[weights].values.shape[1])
        return one if i in empty else at(known, weights, i, j)

    return formula


def read(source: str, by: str) -> Formula:
    """Return the formula of a product."""

    def formula(known: Known, i: int, j: int) -> Number:
        column = [at(known, by, k, j) for k in range(len(known[by].values))]
        return dot(row(known, source, i), column)

    return formula


def divided(source: str, by: str) -> Formula:
    """Return the formula of one row divided by several numbers, one after the other."""
    return lambda known, i, j: at(known, source, 0, j) / at(known, by, 0, i)


def divided_rows(source: str, by: str) -> Formula:
    """Return the formula of rows divided by a number each."""
    return lambda known, i, j: at(known, source, i, j) / at(known, by, 0, i)


def masked(source: str, mask: npt.NDArray[Any], how: str, filler: float) -> Formula:
    """Return the formula of scores with a mask that is not taken for −∞."""

    def formula(known: Known, i: int, j: int) -> Number:
        score, lets = at(known, source, i, j), bool(mask[i, j])
        if how == "multiplied":
            return score * number(lets)
        if lets:
            return score
        if how == "added":
            return score + number(filler)
        line = f"{number(filler).text} stands for what the mask hides"
        return replace(number(filler), lines=(line,))

    return formula


def chosen(source: str, rows: Sequence[int], plus: str = "") -> Formula:
    """Return the formula of chosen rows, with something added."""

    def formula(known: Known, i: int, j: int) -> Number:
        entry = at(known, source, rows[i], j)
        return entry + at(known, plus, i, j) if plus else entry

    return formula


def best(scores: str, value: str) -> Formula:
    """Return the formula of a value whose key has the largest score, the first of several."""

    def formula(known: Known, i: int, j: int) -> Number:
        every = row(known, scores, i)
        most = largest(every).step("the largest score")
        key = next(k for k, score in enumerate(every) if score.value == most.value)
        taken = at(known, value, key, j)
        lines = (*most.lines, f"the first key that has it is key {key}; its value is {taken.text}")
        return replace(taken, places=taken.places | most.places, lines=lines)

    return formula


def rotated(source: str, angles: tuple[str, str], pairs: Sequence[tuple[int, int]]) -> Formula:
    """Return the formula of a vector whose pairs of coordinates turn with the position."""

    def formula(known: Known, i: int, j: int) -> Number:
        pair = next(pair for pair in pairs if j in pair)
        a, b = (at(known, source, 0, k) for k in pair)
        position, frequency = (
            at(known, name, 0, k) for name, k in zip(angles, (i, pairs.index(pair)), strict=True)
        )
        angle = (position * frequency).step("angle")
        cos, sin = function("cos", angle), function("sin", angle)
        return a * cos - b * sin if j == pair[0] else a * sin + b * cos

    return formula


def encoded(base: float, width: int) -> Formula:
    """Return the formula of the sinusoidal encoding."""

    def formula(known: Known, i: int, j: int) -> Number:
        share = power(number(base), number(j - j % 2) / number(width)).step("divisor")
        angle = (number(i) / share).step("angle")
        return function("cos" if j % 2 else "sin", angle)

    return formula


def frequency(base: float, width: int) -> Formula:
    """Return the formula of the angles per position."""
    return lambda known, i, j: power(number(base), number(-2 * j) / number(width))


def placed(tokens: Sequence[int], words: int) -> Formula:
    """Return the formula of tokens as they enter: one-hot, the powers of the position, nothing."""

    def formula(known: Known, i: int, j: int) -> Number:
        if j < words:
            here = tokens[i] == j
            line = f"position {i} holds {'this word' if here else 'another word'}: {here:d}"
            return replace(number(here), lines=(line,))
        if j > words + 2:
            return replace(number(0), lines=("nothing stands here yet: 0",))
        if j == words + 2:
            return square(number(i))
        value, line = ((1, "1 at every position"), (i, f"the position: {i}"))[j - words]
        return replace(number(value), lines=(line,))

    return formula


def rescaled(spread: Callable[[int, int], Spread]) -> Formula:
    """Return the formula of a maximum, or of exponentials below a maximum, weighted or not."""

    def formula(known: Known, i: int, j: int) -> Number:
        scores, weights, most = spread(i, j)
        every = [at(known, *place) for place in scores]
        if most is None:
            return largest(every)
        shares = [exponential(score - at(known, *most)) for score in every]
        if weights:
            shares = [
                at(known, *place) * share for place, share in zip(weights, shares, strict=True)
            ]
        return total(shares)

    return formula


def table(formula: Formula, known: Known, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return the values of a formula."""
    return np.array(
        [[formula(known, i, j).value for j in range(shape[1])] for i in range(shape[0])]
    )
