"""Derivations for the part "Causal masking"."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import mpmath

from derivations.algebra import (
    Matrix,
    Real,
    Vector,
    at_most,
    both,
    divided_by_root,
    dot_products,
    exponential,
    if_so,
    logarithm,
    mean,
    opposite,
    product,
    require,
    softmax,
    total,
    transpose,
    true_hides,
)
from derivations.attention import Mask, attend, causal, roles, weights_of
from derivations.gradients import attention_gradients
from derivations.kinds import Expected, Inputs, derivation
from derivations.recording import because, step


@derivation
def causal_attention(inputs: Inputs) -> Expected:
    query, key, value = inputs["query"], inputs["key"], inputs["value"]
    mask = causal(len(key))
    scaled_scores = divided_by_root(dot_products(query, key), len(key[0]))
    weights = weights_of(scaled_scores, mask)
    return {
        "mask": mask,
        "scaled_scores": scaled_scores,
        "weights": weights,
        "output": product(weights, value),
    }


def filled(scores: Vector, mask: Vector, sentinel: Real) -> Vector:
    return [if_so(may, score, sentinel) for score, may in zip(scores, mask, strict=True)]


def added(scores: Vector, mask: Vector, sentinel: Real) -> Vector:
    return [
        if_so(may, score, score + sentinel, "{0}") for score, may in zip(scores, mask, strict=True)
    ]


@derivation
def four_wrong_masks(inputs: Inputs) -> Expected:
    scores, mask, nobody = inputs["scores"], inputs["mask"], inputs["mask_nobody"]
    low_scores, sentinel = inputs["low_scores"], inputs["sentinel"]
    multiplied = [score * may for score, may in zip(scores, mask, strict=True)]
    with_infinity = [
        float(score) * bool(may) + (not may) * -math.inf
        for score, may in zip(scores, mask, strict=True)
    ]
    exponentials = [math.exp(score) for score in with_infinity]
    return {
        "weights": softmax(scores, mask),
        "weights_multiplied": softmax(multiplied),
        "nan_in_scores": [
            because(math.isnan(score), may) for score, may in zip(with_infinity, mask, strict=True)
        ],
        "nan_in_weights": [
            because(math.isnan(entry / sum(exponentials)), *mask) for entry in exponentials
        ],
        "weights_low": softmax(low_scores, mask),
        "weights_low_filled": softmax(filled(low_scores, mask, sentinel)),
        "weights_nobody": softmax(scores, nobody),
        "weights_nobody_filled": softmax(filled(scores, nobody, sentinel)),
        "weights_nobody_added": softmax(added(scores, nobody, sentinel)),
        "weights_inverted": softmax(scores, true_hides(mask)),
    }


def nan_by_the_book(inputs: Inputs) -> tuple[list[list[bool]], list[list[bool]]]:
    """Return where the textbook formula has NaN in the output and in the gradient of the values.

    Computed in Python's own floats, with −∞ at the masked scores and no special case.
    """
    query, key, value, d_output = (
        [[float(entry) for entry in row] for row in inputs[name]]
        for name in ("query", "key", "value", "d_output")
    )
    root = math.sqrt(len(key[0]))
    weights = []
    for q, allowed in zip(query, inputs["mask"], strict=True):
        scores = [sum(a * b for a, b in zip(q, k, strict=True)) / root for k in key]
        masked = [s if may else -math.inf for s, may in zip(scores, allowed, strict=True)]
        # −∞ − (−∞) is NaN.
        highest = max(masked)
        exponentials = [math.exp(s - highest) for s in masked]
        weights.append([entry / sum(exponentials) for entry in exponentials])

    def is_nan(x: list[list[float]], y: list[list[float]]) -> list[list[bool]]:
        columns = list(zip(*y, strict=True))
        return [
            [math.isnan(sum(a * b for a, b in zip(row, c, strict=True))) for c in columns]
            for row in x
        ]

    return is_nan(weights, value), is_nan([list(c) for c in zip(*weights, strict=True)], d_output)


@derivation
def a_query_with_nobody_to_attend_to(inputs: Inputs) -> Expected:
    query, key, value, mask = (inputs[name] for name in ("query", "key", "value", "mask"))
    weights, output = attend(query, key, value, mask)
    gradients = attention_gradients(query, key, value, inputs["d_output"], mask)
    (empty,) = (i for i, allowed in enumerate(mask) if not any(allowed))
    nan_in_output, nan_in_d_value = nan_by_the_book(inputs)
    uniform = [
        [because(p if any(allowed) else Fraction(1, len(key)), *allowed) for p in row]
        for row, allowed in zip(weights, mask, strict=True)
    ]
    visible = [may for allowed in mask for may in allowed]
    unmasked = attend([query[empty]], key, value).output[0]
    return {
        "weights": weights,
        "output": output,
        "d_query": gradients.d_query,
        "d_key": gradients.d_key,
        "d_value": gradients.d_value,
        "output_uniform": [mean(column) for column in transpose(value)],
        "d_value_uniform": product(transpose(uniform), inputs["d_output"]),
        "output_unmasked": [because(x, *visible) for x in unmasked],
        "nan_in_output": [
            [because(x, *allowed) for x in row]
            for row, allowed in zip(nan_in_output, mask, strict=True)
        ],
        "nan_in_d_value": [[because(x, *visible) for x in row] for row in nan_in_d_value],
    }


@derivation
def two_layers_with_and_without_a_mask(inputs: Inputs) -> Expected:
    expected: Expected = {}
    for kind, mask in (("full", None), ("causal", causal(len(inputs["embeddings"])))):
        words = inputs["embeddings"]
        for layer in ("first", "second"):
            expected[f"{layer}_weights_{kind}"], words = attend(words, words, words, mask)
            expected[f"{layer}_output_{kind}"] = words
    return expected


@derivation
def one_more_token(inputs: Inputs) -> Expected:
    projected = roles(inputs, inputs["embeddings"])
    expected: Expected = dict(zip(("query", "key", "value"), projected, strict=True))
    for number, length in (("five", 5), ("six", 6)):
        query, key, value = roles(inputs, inputs["embeddings"][:length])
        weights, output = attend(query, key, value, causal(length))
        expected[f"weights_causal_{number}"] = weights
        expected[f"output_causal_{number}"] = output
        expected[f"output_full_{number}"] = attend(query, key, value).output
    return expected


@derivation
def one_token_at_a_time(inputs: Inputs) -> Expected:
    queries: list[Vector] = []
    key: list[Vector] = []
    value: list[Vector] = []
    output = []
    with_cache = []
    without_cache = []
    for word in inputs["embeddings"]:
        # The new token alone is projected; what the earlier ones left in the cache stays.
        query, new_key, new_value = (rows[0] for rows in roles(inputs, [word]))
        queries.append(query)
        key.append(new_key)
        value.append(new_value)
        output.append(attend([query], key, value).output[0])
        with_cache.append(Fraction(len(key)))
        without_cache.append(Fraction(len(key) ** 2))
    return {
        "query": queries,
        "key": key,
        "value": value,
        "output": output,
        "scores_with_cache": with_cache,
        "scores_without_cache": without_cache,
    }


def either(one: Real, other: Real) -> Real:
    return opposite(both(opposite(one), opposite(other)))


def listening(words: Matrix, masks: Mapping[str, Mask]) -> Expected:
    """Return the scores of words, and what each hears under every mask."""
    scores = dot_products(words, words)
    expected: Expected = {"scores": scores}
    for name, mask in masks.items():
        weights = weights_of(scores, mask)
        expected |= {f"weights_{name}": weights, f"context_{name}": product(weights, words)}
    return expected


@derivation
def a_window_and_the_first_word(inputs: Inputs) -> Expected:
    words, left = inputs["embeddings"], inputs["left"]
    places = range(len(words))
    window = [[both(at_most(i - left, j), at_most(j, i)) for j in places] for i in places]
    first = [[either(at_most(j, 0), seen) for j, seen in enumerate(row)] for row in window]
    expected = listening(
        words, {"causal": causal(len(words)), "window": window, "window_first": first}
    )
    for name, mask in (("window", window), ("window_first", first)):
        alike = weights_of([[0] * len(words)] * len(words), mask)
        one = alike[-1:]  # of bank, the last word
        two = product(one, alike)
        shares = [*one, *two, *product(two, alike)]
        expected |= {f"mask_{name}": mask, f"shares_{name}": shares}
    return expected


@derivation
def a_prefix_that_is_read_both_ways(inputs: Inputs) -> Expected:
    words, last = inputs["embeddings"], inputs["prefix"] - 1
    places = range(len(words))
    mask = [[either(at_most(j, last), at_most(j, i)) for j in places] for i in places]
    masks = {"causal": causal(len(words)), "prefix": mask}
    return {"mask_prefix": mask} | listening(words, masks)


@derivation
def perplexity_of_four_tokens(inputs: Inputs) -> Expected:
    probabilities = inputs["probabilities"]
    for row in probabilities:
        require(total(row) == 1, "the probabilities of a position do not add up to one")
    targets = inputs["targets"]
    chosen = [because(row[int(i)], i) for row, i in zip(probabilities, targets, strict=True)]
    surprise = [-logarithm(p) for p in chosen]
    cross_entropy = mean(surprise)
    # As the exponential of a mean, and as a root of a product: once in logarithms, once not.
    reciprocals = Fraction(1)
    for p in chosen:
        reciprocals /= p
    perplexity = step("root", reciprocals, len(chosen))
    off, limit = exponential(cross_entropy) - perplexity, mpmath.mpf(10) ** (5 - mpmath.mp.dps)
    require(abs(off) < limit, "the two ways to the perplexity disagree")
    vocabulary = len(probabilities[0])
    return {
        "log_probabilities": [[logarithm(p) for p in row] for row in probabilities],
        "target_probabilities": chosen,
        "surprise": surprise,
        "cross_entropy": cross_entropy,
        "perplexity": perplexity,
        "bits_per_token": cross_entropy / logarithm(2),
        "geometric_mean_probability": 1 / perplexity,
        "arithmetic_mean_reciprocal": mean([1 / p for p in chosen]),
        "uniform_cross_entropy": logarithm(vocabulary),
        "uniform_perplexity": Fraction(vocabulary),
    }
