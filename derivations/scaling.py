"""Derivations for the part "Scaling"."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import mpmath

from derivations.algebra import Matrix, Real, Vector, dot, real, softmax, square_root
from derivations.kinds import Expected, Inputs, derivation


def dot_products_of_all_vectors(values: Vector, width: int) -> Counter[Fraction]:
    """Return how often each dot product occurs among all pairs of vectors with these entries."""
    vectors = list(itertools.product(values, repeat=width))
    return Counter(dot(q, k) for q in vectors for k in vectors)


def mean_and_variance(counts: Counter[Fraction]) -> tuple[Fraction, Fraction]:
    total = counts.total()
    mean = sum((value * count for value, count in counts.items()), Fraction(0)) / total
    squares = sum((count * (value - mean) ** 2 for value, count in counts.items()), Fraction(0))
    return mean, squares / total


@derivation
def dot_products_of_signs(inputs: Inputs) -> Expected:
    expected: Expected = {"mean": [], "variance": [], "variance_scaled": []}
    for width, word in zip(map(int, inputs["widths"]), ("one", "two", "four"), strict=True):
        counts = dot_products_of_all_vectors(inputs["entries"], width)
        mean, variance = mean_and_variance(counts)
        expected["mean"].append(mean)
        expected["variance"].append(variance)
        expected["variance_scaled"].append(variance / width)
        expected[f"values_{word}"] = [Fraction(value) for value in sorted(counts)]
        expected[f"counts_{word}"] = [Fraction(counts[value]) for value in sorted(counts)]
    return expected


@derivation
def moments_of_dot_products(inputs: Inputs) -> Expected:
    entry_mean, entry_variance = mean_and_variance(Counter(inputs["entries"]))
    widths = [int(width) for width in inputs["widths"]]
    moments = [
        mean_and_variance(dot_products_of_all_vectors(inputs["entries"], width)) for width in widths
    ]
    return {
        "entry_mean": entry_mean,
        "entry_variance": entry_variance,
        "mean": [mean for mean, _ in moments],
        "variance": [variance for _, variance in moments],
        "mean_scaled": [
            real(mean) / square_root(width)
            for (mean, _), width in zip(moments, widths, strict=True)
        ],
        "variance_scaled": [
            variance / width for (_, variance), width in zip(moments, widths, strict=True)
        ],
    }


def softmax_jacobian(weights: Vector) -> Matrix:
    n = range(len(weights))
    return [[weights[i] * ((i == j) - weights[j]) for j in n] for i in n]


def spectral_norm(symmetric: Matrix) -> Real:
    eigenvalues = mpmath.eigsy(mpmath.matrix(symmetric), eigvals_only=True)
    return max(abs(value) for value in eigenvalues)


@derivation
def saturated_and_scaled_softmax(inputs: Inputs) -> Expected:
    root = square_root(inputs["width"])
    scaled_scores = [real(score) / root for score in inputs["scores"]]
    expected: Expected = {"scaled_scores": scaled_scores}
    jacobians = {}
    for suffix, scores in (("", inputs["scores"]), ("_scaled", scaled_scores)):
        weights = softmax(scores)
        jacobian = softmax_jacobian(weights)
        jacobians[suffix] = jacobian
        expected[f"weights{suffix}"] = weights
        expected[f"jacobian{suffix}"] = jacobian
        expected[f"largest{suffix}"] = max(abs(entry) for row in jacobian for entry in row)
        expected[f"norm{suffix}"] = spectral_norm(jacobian)
    # Chain rule: the scaled scores change by 1/√d_k of what the scores do.
    expected["jacobian_through_scale"] = [
        [entry / root for entry in row] for row in jacobians["_scaled"]
    ]
    return expected
