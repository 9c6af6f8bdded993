"""Attention as loops over lists, from queries, keys and values to weights and output."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from derivations.algebra import (
    Matrix,
    Real,
    Vector,
    at_most,
    both,
    divided_by_root,
    dot,
    dot_products,
    product,
    softmax,
    square_root,
)
from derivations.recording import Words, because, plain, step

Mask: TypeAlias = Sequence[Sequence[Any]]  # of truth values, plain or recorded


class Attention(NamedTuple):
    weights: Matrix
    output: Matrix


def causal(length: int) -> Mask:
    return [[at_most(j, i) for j in range(length)] for i in range(length)]


def weights_of(scores: Matrix, mask: Mask | None = None) -> Matrix:
    if mask is None:
        return [softmax(row) for row in scores]
    return [softmax(row, allowed) for row, allowed in zip(scores, mask, strict=True)]


def attend(query: Matrix, key: Matrix, value: Matrix, mask: Mask | None = None) -> Attention:
    """Return the weights and output of scaled dot-product attention."""
    weights = weights_of(divided_by_root(dot_products(query, key), len(key[0])), mask)
    return Attention(weights, product(weights, value))


class Options(NamedTuple):
    """What a call may say beside queries, keys and values; `offset` makes it causal."""

    mask: Mask | None = None
    bias: Matrix | None = None
    scale: Real | None = None
    soft_cap: Real | None = None
    offset: Real | None = None

    def allows(self, i: int, j: int) -> Any:
        """Return whether query i may attend to key j; a bias of −∞ hides as a mask does."""
        may: Any = True
        if self.mask is not None:
            may = self.mask[i][j]
        if self.offset is not None:
            before = at_most(j, i + self.offset)
            may = before if may is True else both(may, before)
        if self.bias is not None and any(plain(b) == -math.inf for row in self.bias for b in row):
            finite = because(plain(self.bias[i][j]) != -math.inf, self.bias[i][j])
            may = finite if may is True else both(may, finite)
        return may

    def score(self, query: Vector, key: Vector, bias: Real) -> Real:
        """Return the score of a key that is not hidden: scaled, capped, with its bias."""
        score, words = dot(query, key, Words("score")), Words("scaled")
        if self.scale is None:
            score = step("divide", score, square_root(len(key)), words=words)
        else:
            score = step("multiply", score, self.scale, words=words)
        if self.soft_cap is not None:
            score = self.soft_cap * step("tanh", score / self.soft_cap)
        if bias is not None:
            score = step("sum", score, bias, words=Words("score with its bias"))
        return score


NOBODY = Words(says="every key is hidden: there is nothing to mix")


def attend_with(query: Matrix, key: Matrix, value: Matrix, options: Options) -> Attention:
    """Return weights and output under options. Nothing is computed with what is hidden."""
    weights, output = [], []
    for i, q in enumerate(query):
        allowed = [options.allows(i, j) for j in range(len(key))]
        seen = [j for j, may in enumerate(allowed) if may]
        bias = [None] * len(key) if options.bias is None else options.bias[i]
        scores = [options.score(q, k, bias[j]) if j in seen else 0 for j, k in enumerate(key)]
        weights.append(softmax(scores, allowed))
        mixed = [weights[-1][j] for j in seen]
        output.append(
            [
                dot(mixed, [value[j][c] for j in seen])
                if seen
                else because(0, *allowed, words=NOBODY)
                for c in range(len(value[0]))
            ]
        )
    return Attention(weights, output)


def roles(inputs: Any, words: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Return queries, keys and values of the words."""
    query, key, value = (product(words, inputs[f"w_{role}"]) for role in ("query", "key", "value"))
    return query, key, value
