"""Attention as kernels compute it: right in many ways, and wrong in its precision in a few.

A kernel takes `query` (Tq, d_k), `key` (Tk, d_k) and `value` (Tk, d_v) of the dtype to compute in,
or of 16 bits, for which it computes in float32. Nothing here imports the package under test.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

LOG2_E = 1 / math.log(2)


def truth(query, key, value, *, scale=1.0, soft_cap=None, bias=0.0, mask=True):
    """Return attention in float64 with sums that are rounded once.

    For inputs of 24 bits it is off by less than 2⁻⁵⁰ (1 + S) V, whatever the number of keys.
    """
    query, key, value = (np.asarray(x).astype(float) for x in (query, key, value))
    shape = len(query), len(key)
    bias, mask = np.broadcast_to(bias, shape), np.broadcast_to(mask, shape)
    output = np.zeros((len(query), value.shape[1]))
    for i, row in enumerate(query):
        products = key * row  # exact
        scores = products.sum(axis=1) if key.shape[1] <= 2 else [*map(math.fsum, products)]
        scores = scale * np.asarray(scores)
        if soft_cap is not None:
            scores = soft_cap * np.tanh(scores / soft_cap)
        scores = (scores + bias[i])[mask[i]]
        powers = np.exp(scores - scores.max(initial=-1e300))
        total = math.fsum(powers)
        for c in range(value.shape[1]):
            output[i, c] = math.fsum(powers * value[mask[i], c]) / (total or 1.0)
    return output


def true_gradients(query, key, value, d_output, *, scale, soft_cap, bias):
    """Return the gradients of queries, keys, values and bias in float64, likewise."""
    query, key, value, d_output = (
        np.asarray(x).astype(float) for x in (query, key, value, d_output)
    )
    output = truth(query, key, value, scale=scale, soft_cap=soft_cap, bias=bias)
    weights, d_scores, d_scaled = np.zeros((3, *bias.shape))
    for i, row in enumerate(query):
        scores, slope = scale * (key * row).sum(axis=1), scale
        if soft_cap is not None:
            slope = scale * np.cosh(scores / soft_cap) ** -2
            scores = soft_cap * np.tanh(scores / soft_cap)
        powers = np.exp(scores + bias[i] - (scores + bias[i]).max())
        weights[i] = powers / math.fsum(powers)
        d_scores[i] = weights[i] * ((value - output[i]) * d_output[i]).sum(axis=1)
        d_scaled[i] = d_scores[i] * slope
    d_query = [[math.fsum(d * column) for column in key.T] for d in d_scaled]
    return np.array(d_query), d_scaled.T @ query, weights.T @ d_output, d_scores


def one_by_one(terms):
    """Add the rows of an array one after the other."""
    return np.cumsum(terms, axis=0, dtype=terms.dtype)[-1]


def from_the_end(terms):
    """Add them one after the other, the last one first."""
    return one_by_one(terms[::-1])


def pairwise(terms):
    """Add halves."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return pairwise(terms[:middle]) + pairwise(terms[middle:])


ADDING = {"one by one": one_by_one, "from the end": from_the_end, "pairwise": pairwise}
FOLDING = ("scores", "query", "both")
MERGING = ("sums", "averages", "logarithms")


@dataclass(frozen=True)
class Kernel:
    """What may differ between two right kernels, and `stored`, to which weights are rounded."""

    adding: str | Callable = "one by one"
    folding: str = "scores"  # what is multiplied by the scale
    powers_of_two: bool = False
    merging: str = "sums"
    tile: int = 10**9  # keys
    tree: bool = False  # merges of neighbors, and not of one tile after the other
    normalized: bool = False  # weights are divided before the sum
    stored: Callable | None = None
    epsilon: float = 0.0  # added to the denominator
    exp: Callable | None = None
    factors: Callable | None = None  # to what the factors of a product are rounded

    def __call__(self, query, key, value, *, scale=1.0, soft_cap=None, bias=None, mask=None):
        """Compute attention."""
        own = query.dtype
        working = np.float64 if own == np.float64 else np.float32
        query, key, value = (x.astype(working) for x in (query, key, value))
        factor = working(scale)
        # A cap is in natural units; what comes after it may be in powers of two.
        unit = working(LOG2_E) if self.powers_of_two else working(1)
        early = factor * unit if soft_cap is None else factor
        if self.folding == "query":
            query = query * early
        elif self.folding == "both":
            root = np.sqrt(early)
            query, key = query * root, key * root
        if bias is not None:
            bias = np.broadcast_to(bias, (len(query), len(key))).astype(working)
        rows = [
            self.row(
                q, key, value, None if mask is None else mask[i],
                early if self.folding == "scores" else None,
                unit, soft_cap, None if bias is None else bias[i],
            )
            for i, q in enumerate(query)
        ]  # fmt: skip
        return np.stack(rows).astype(own)

    def row(self, query, key, value, seen, factor, unit, soft_cap, bias):
        """Compute the output of one query."""
        scores = self.add((self.product(key) * self.product(query)).T)
        scores = scores if factor is None else scores * factor
        if soft_cap is not None:
            cap = scores.dtype.type(soft_cap)
            scores = np.tanh(scores / cap) * (cap * unit)
        scores = scores if bias is None else scores + bias * unit
        states = []
        for start in range(0, len(key), self.tile):
            here = slice(start, start + self.tile)
            allowed = slice(None) if seen is None else seen[here]
            if seen is None or allowed.any():
                states.append(self.state(scores[here][allowed], value[here][allowed], unit))
        if not states:
            return np.zeros(value.shape[1], value.dtype)
        merge = functools.partial(self.merge, unit=unit)
        if self.tree:
            while len(states) > 1:
                pairs = zip(states[::2], states[1::2], strict=False)
                states = [merge(*pair) for pair in pairs] + states[len(states) & ~1 :]
        _, total, output = functools.reduce(merge, states)
        return output / total if self.merging == "sums" else output

    def add(self, terms):
        return self.adding(terms) if callable(self.adding) else ADDING[self.adding](terms)

    def product(self, factor):
        return factor if self.factors is None else self.factors(factor)

    def power(self, x, unit):
        if self.exp is not None:
            return self.exp(x / unit).astype(x.dtype)
        return np.exp(x) if unit == 1 else np.exp2(x)

    def logarithm(self, total, unit):
        return np.log(total) if unit == 1 else np.log2(total)

    def state(self, scores, value, unit):
        """Return the shift, the sum and what `merging` keeps of the output, of one tile."""
        shift = scores.max()
        powers = self.power(scores - shift, unit)
        total = self.add(powers) + powers.dtype.type(self.epsilon)
        if self.normalized and self.merging != "sums":
            powers = powers / total
        weights = powers if self.stored is None else self.stored(powers)
        output = self.add(self.product(weights)[:, None] * self.product(value))
        if self.merging != "sums" and not self.normalized:
            output = output / total
        if self.merging == "logarithms":
            return shift + self.logarithm(total, unit), total, output
        return shift, total, output

    def merge(self, one, other, unit):
        """Return the state of the keys of both."""
        shift = max(one[0], other[0])
        a, b = (self.power(state[0] - shift, unit) for state in (one, other))
        if self.merging == "logarithms":
            whole = shift + self.logarithm(a + b, unit)
            a, b = (self.power(state[0] - whole, unit) for state in (one, other))
            return whole, one[1], a * one[2] + b * other[2]
        if self.merging == "sums":
            return shift, a * one[1] + b * other[1], a * one[2] + b * other[2]
        a, b = a * one[1], b * other[1]
        return shift, a + b, a / (a + b) * one[2] + b / (a + b) * other[2]
