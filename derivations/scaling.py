"""Derivations for the part "Scaling"."""

from __future__ import annotations

import itertools
from collections import Counter

from derivations.algebra import Matrix, Real, Vector, dot, largest, softmax, square_root, total
from derivations.kinds import Expected, Inputs, derivation
from derivations.recording import Words, because, step


def dot_products_of_all_vectors(values: Vector, width: int) -> Counter[Real]:
    """Return how often each dot product occurs among all pairs of vectors with these entries."""
    vectors = list(itertools.product(values, repeat=width))
    return Counter(dot(q, k) for q in vectors for k in vectors)


def mean_and_variance(counts: Counter[Real]) -> tuple[Real, Real]:
    everything = total(value * count for value, count in counts.items())
    mean = step("divide", everything, counts.total(), words=Words("mean"))
    squares = total((value - mean) ** 2 * count for value, count in counts.items())
    return mean, squares / counts.total()


@derivation
def dot_products_of_signs(inputs: Inputs) -> Expected:
    expected: Expected = {"mean": [], "variance": [], "variance_scaled": []}
    for width, word in zip(inputs["widths"], ("one", "two", "four"), strict=True):
        counts = dot_products_of_all_vectors(inputs["entries"], int(width))
        counted = (*inputs["entries"], width)
        mean, variance = mean_and_variance(counts)
        expected["mean"].append(because(mean, width))
        expected["variance"].append(because(variance, width))
        expected["variance_scaled"].append(variance / width)
        expected[f"values_{word}"] = [because(value, *counted) for value in sorted(counts)]
        expected[f"counts_{word}"] = [because(counts[value], *counted) for value in sorted(counts)]
    return expected


@derivation
def moments_of_dot_products(inputs: Inputs) -> Expected:
    entry_mean, entry_variance = mean_and_variance(Counter(inputs["entries"]))
    widths = inputs["widths"]
    moments = [
        mean_and_variance(dot_products_of_all_vectors(inputs["entries"], int(width)))
        for width in widths
    ]
    return {
        "entry_mean": entry_mean,
        "entry_variance": entry_variance,
        "mean": [because(mean, width) for (mean, _), width in zip(moments, widths, strict=True)],
        "variance": [
            because(variance, width) for (_, variance), width in zip(moments, widths, strict=True)
        ],
        "mean_scaled": [
            mean / square_root(width) for (mean, _), width in zip(moments, widths, strict=True)
        ],
        "variance_scaled": [
            variance / width for (_, variance), width in zip(moments, widths, strict=True)
        ],
    }


def softmax_jacobian(weights: Vector) -> Matrix:
    n = range(len(weights))
    return [[weights[i] * ((i == j) - weights[j]) for j in n] for i in n]


def spectral_norm(symmetric: Matrix) -> Real:
    return step("norm", *itertools.chain.from_iterable(symmetric))


@derivation
def saturated_and_scaled_softmax(inputs: Inputs) -> Expected:
    root = square_root(inputs["width"])
    scaled_scores = [score / root for score in inputs["scores"]]
    expected: Expected = {"scaled_scores": scaled_scores}
    jacobians = {}
    for suffix, scores in (("", inputs["scores"]), ("_scaled", scaled_scores)):
        weights = softmax(scores)
        jacobian = softmax_jacobian(weights)
        jacobians[suffix] = jacobian
        expected[f"weights{suffix}"] = weights
        expected[f"jacobian{suffix}"] = jacobian
        expected[f"largest{suffix}"] = largest(abs(entry) for row in jacobian for entry in row)
        expected[f"norm{suffix}"] = spectral_norm(jacobian)
    # Chain rule: the scaled scores change by 1/√d_k of what the scores do.
    expected["jacobian_through_scale"] = [
        [entry / root for entry in row] for row in jacobians["_scaled"]
    ]
    return expected
