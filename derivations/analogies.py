"""Derivations for the part "Analogies"."""

from __future__ import annotations

from derivations.algebra import (
    Matrix,
    at_largest,
    cosine,
    dot_products,
    length,
    product,
    require,
    times,
    transpose,
)
from derivations.attention import weights_of
from derivations.kinds import Expected, Inputs, derivation


def cosines(vectors: Matrix) -> Matrix:
    return [[cosine(x, y) for y in vectors] for x in vectors]


def stretched(inputs: Inputs) -> Matrix:
    # A matrix times a column; here the vectors are rows, and the matrix is transposed.
    return product(inputs["vectors"], transpose(inputs["stretch"]))


@derivation
def a_stretch_of_two_axes(inputs: Inputs) -> Expected:
    before, after = inputs["vectors"], stretched(inputs)
    return {
        "stretched": after,
        "norms": [length(x) for x in before],
        "stretched_norms": [length(x) for x in after],
        "cosine": cosines(before),
        "stretched_cosine": cosines(after),
    }


@derivation
def a_stretch_of_two_vectors(inputs: Inputs) -> Expected:
    before, after = cosines(inputs["vectors"]), cosines(stretched(inputs))
    return {
        "stretched": stretched(inputs),
        "cosine": before,
        "weights": weights_of(before),
        "stretched_cosine": after,
        "stretched_weights": weights_of(after),
    }


@derivation
def scores_in_both_directions(inputs: Inputs) -> Expected:
    vectors, w_query, w_key = (inputs[name] for name in ("vectors", "w_query", "w_key"))
    query, key = product(vectors, w_query), product(vectors, w_key)
    bilinear = product(w_query, transpose(w_key))
    scores = dot_products(query, key)
    other = dot_products(product(vectors, bilinear), vectors)
    require(scores == other, "the two ways to the scores disagree")
    return {
        "dot": dot_products(vectors, vectors),
        "query": query,
        "key": key,
        "bilinear": bilinear,
        "scores": scores,
        "scores_one_matrix": dot_products(query, query),
    }


@derivation
def lookup_in_a_dictionary(inputs: Inputs) -> Expected:
    value = inputs["value"]
    scores = dot_products(inputs["query"], inputs["key"])
    weights = [weights_of(times(scores, scale)) for scale in inputs["scales"]]
    return {
        "scores": scores,
        "weights": weights,
        "output": [product(each, value) for each in weights],
        "nearest": [at_largest(row, value) for row in scores],
    }
