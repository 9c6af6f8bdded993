"""Attention as loops over lists, from queries, keys and values to weights and output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from derivations.algebra import (
    Matrix,
    at_most,
    divided_by_root,
    dot_products,
    product,
    softmax,
)

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


def roles(inputs: Any, words: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Return queries, keys and values of the words."""
    query, key, value = (product(words, inputs[f"w_{role}"]) for role in ("query", "key", "value"))
    return query, key, value
