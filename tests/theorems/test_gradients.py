"""The theorems of the page on the backward pass, checked away from it.

Expected values come from exact fractions, or from differences of the loss, which know nothing of
the chain rule; a class bears the label of its theorem.
"""

import math
from fractions import Fraction

import numpy as np

from selfattn_ref import (
    attention_state,
    scaled_dot_product_attention_vjp,
    self_attention_vjp,
    softmax_vjp,
    streaming_attention_vjp,
)
from tests.theorems.statement import Case, Hypothesis, Statement


def masked_softmax(scores, mask, empty=0.0, over=0.0):
    """Return weights; rows without keys get `empty` of it, and `over` is left to nobody."""
    highest = np.where(mask, scores, -1e300).max(axis=1, keepdims=True)
    powers = np.where(mask, np.exp(np.minimum(scores - highest, 0)), 0)
    total = powers.sum(axis=1, keepdims=True) + over
    nobody = total == 0
    return np.where(nobody, empty / scores.shape[1], powers / np.where(nobody, 1, total))


def differences(loss, arrays, h=3e-4):
    """Return the slopes of a loss along each number, from four values each: to about 1e-11."""
    arrays = [np.array(x, float) for x in arrays]
    found = []
    for x in arrays:
        slopes = np.zeros_like(x)
        for place in np.ndindex(x.shape):
            middle = x[place]
            for step, weight in ((-2, 1), (-1, -8), (1, 8), (2, -1)):
                x[place] = middle + step * h
                slopes[place] += weight * loss(*arrays) / (12 * h)
            x[place] = middle
        found.append(slopes)
    return found


def close(found, expected, limit=1e-8):
    return all(
        np.allclose(got, want, rtol=limit, atol=limit * max(1, np.abs(want).max(initial=0)))
        for got, want in zip(found, expected, strict=True)
    )


def linear(output, d_output):
    return np.sum(output * d_output), d_output


def curved(output, d_output):
    return np.sum(np.sin(output) * d_output), np.cos(output) * d_output


def heard(mask, *given, seed=0, **changed):
    """Return a case: queries, keys and values, or words and three matrices, or their shapes."""
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(size=x) if isinstance(x, tuple) else x for x in given]
    back = rng.normal(size=(len(mask), arrays[-1].shape[1]))
    usual = {"d_output": back, "mask_of": None, "loss": linear, "skip": False}
    usual |= {"empty": 0.0, "over": 0.0}
    return Case(arrays=arrays, mask=np.array(mask, bool), **(usual | changed))


def roles_of(arrays):
    """Return queries, keys and values."""
    return arrays if len(arrays) == 3 else [arrays[0] @ w for w in arrays[1:]]


def forward(c, *arrays):
    """Return the output and the weights."""
    query, key, value = roles_of(arrays)
    scores = query @ key.T / np.sqrt(query.shape[1])
    mask = c.mask if c.mask_of is None else c.mask_of(scores)
    weights = masked_softmax(scores, mask, c.empty)
    spoken = np.where(mask.any(axis=0)[:, np.newaxis] | (c.empty > 0), value, 0)
    return weights @ spoken + (arrays[0] if c.skip else 0), weights


NANS = np.array([[1.0], [np.nan]])  # the second is hidden from everybody
SHAPES = (2, 2), (2, 2), (2, 1)


class TestAttentionBackward(Statement):
    """thm-attention-backward: the rule gives the slopes that differences find."""

    concludes = (
        r"\value{dV} &= A^\top\, \context{dC}",
        r"\weight{dA} &= \context{dC}\; V^\top",
        r"\score{dS}_{ij} &= a_{ij} \Big( \weight{dA}_{ij} -",
        r"\sum_l a_{il}\, \weight{dA}_{il} \Big)",
        r"\query{dQ} &= \tfrac{1}{\sqrt{d_k}}\, \score{dS}\; K",
        r"\key{dK} &= \tfrac{1}{\sqrt{d_k}}\, \score{dS}^\top Q",
        r"dW_Q = X^\top \query{dQ}, \quad dW_K = X^\top \key{dK}, \quad dW_V = X^\top \value{dV}",
        r"dX = \query{dQ}\, W_Q^\top + \key{dK}\, W_K^\top + \value{dV}\, W_V^\top",
        "has a zero row in $dQ$",
        "has zero rows in $dK$ and $dV$",
    )
    hypotheses = {
        "all numbers be finite": Hypothesis(
            lambda c: all(np.isfinite(x).all() for x in c.arrays),
            without=heard([[1, 0], [1, 0]], np.eye(2), np.eye(2), NANS, d_output=np.eye(2)[:, :1]),
        ),
        "a fixed mask": Hypothesis(
            lambda c: c.mask_of is None,
            # Each query hears the key with the highest score only, and here is a tie.
            without=heard(
                np.eye(2),
                np.eye(2),
                np.ones((2, 2)),
                np.eye(2)[:, :1],
                mask_of=lambda scores: scores == scores.max(axis=1, keepdims=True),
            ),
        ),
        "a row without allowed keys is all 0": Hypothesis(
            lambda c: c.empty == 0, without=heard([[0, 0], [1, 1]], *SHAPES, empty=1.0)
        ),
        "a differentiable function of $C$": Hypothesis(
            lambda c: True, sufficient="where it has no slopes, there is no $dC$"
        ),
        "the loss depends on $X$ and the matrices through $C$ only": Hypothesis(
            lambda c: not c.skip,
            # A layer that adds its input to its output, as transformers do.
            without=heard(np.ones((2, 2)), *[(2, 2)] * 4, skip=True),
        ),
    }
    neighbors = {
        r"$d_k^{-0.48}$ in place of $1/\sqrt{d_k}$": {"root": 0.48},
        r"$0.95$ of the average in $dS_{ij}$": {"average": 0.95},
        r"$0.95\, dK\, W_K^\top$ in $dX$": {"through_keys": 0.95},
        "only a query with nobody to listen to has a zero row in $dQ$": {"only": True},
    }
    hard = (
        heard(np.ones((1, 1)), (1, 1), (1, 1), (1, 1)),
        heard(np.zeros((2, 3)), (2, 2), (3, 2), (3, 1)),
        heard([[1, 1, 0], [0, 0, 0], [1, 0, 0]], (3, 2), (3, 2), (3, 2), loss=curved),
        heard(np.ones((2, 2)), 100 * np.eye(2), 100 * np.eye(2), np.ones((2, 1))),
        heard(np.ones((3, 3)), np.zeros((3, 4)), np.eye(3, 4), np.eye(3)),
        heard(np.tri(3), (3, 2), (2, 4), (2, 4), (2, 2), loss=curved),
    )
    draws = Statement.draws // 2

    def draw(self, rng):
        Tq, Tk, d_k, d_v = rng.integers((1, 3, 1, 1), (4, 6, 3, 3))
        seed, loss = rng.integers(10**6), (linear, curved)[rng.integers(2)]
        if rng.random() < 0.5:
            words = (Tk, 2), (2, d_k), (2, d_k), (2, d_v)
            return heard(mostly(rng, Tk, Tk), *words, seed=seed, loss=loss)
        roles = (Tq, d_k), (Tk, d_k), (Tk, d_v)
        return heard(mostly(rng, Tq, Tk), *roles, seed=seed, loss=loss)

    def holds(self, c, root=0.5, average=1.0, through_keys=1.0, only=False):
        query, key, value = roles_of(c.arrays)
        expected = differences(lambda *arrays: loss_of(c, *arrays), c.arrays)
        (output, a), mask = forward(c, *c.arrays), c.mask
        d_c = c.loss(output, c.d_output)[1]
        d_a = d_c @ value.T
        d_s = a * (d_a - average * (a * d_a).sum(axis=1, keepdims=True))
        scale = query.shape[1] ** -root
        d_query, d_key, d_value = back = scale * d_s @ key, scale * d_s.T @ query, a.T @ d_c
        silent = d_query[~mask.any(axis=1)], d_key[~mask.any(axis=0)], d_value[~mask.any(axis=0)]
        if only and (np.abs(d_query[mask.any(axis=1)]).max(axis=1) < 1e-14).any():
            return False
        found, vjp = back, scaled_dot_product_attention_vjp
        if len(c.arrays) == 4:
            x, *w = c.arrays
            d_x = sum(f * d @ m.T for f, d, m in zip((1, through_keys, 1), back, w, strict=True))
            found, vjp = (d_x, *(x.T @ d for d in back)), self_attention_vjp
        library = vjp(*c.arrays, d_c, mask=mask)
        return (
            close(found, expected)
            and close(library, expected)
            and not any(rows.any() for rows in silent)
        )


def mostly(rng, *shape):
    """Return a mask that allows most, with empty rows and columns now and then."""
    rows, columns = (rng.random(n) < 0.85 for n in shape)
    return (rng.random(shape) < 0.95) & rows[:, np.newaxis] & columns


def loss_of(c, *arrays):
    return c.loss(forward(c, *arrays)[0], c.d_output)[0]


class TestWhatCancels(Statement):
    """thm-attention-gradients-cancel: slopes of scores and keys add up to 0, of values to dC."""

    concludes = (
        "each row of $dS$ adds up to 0",
        "the rows of $dK$ add up to the zero row",
        "add up to the same vector as the rows of $dC$, leaving out queries that have nobody",
    )
    hypotheses = {
        "the weights of a row add up to 1 or are all 0": Hypothesis(
            lambda c: c.over == 0,
            # One more exponential in the sum, which nobody gets: then shifts of a row are felt.
            without=heard(np.ones((2, 2)), *SHAPES, over=1.0),
        )
    }
    neighbors = {
        "a row of $dS$ adds up to 0 with $0.95$ times the entry of the last key": {"entry": 0.95},
        "the rows of $dK$ add up to 0 with $0.95$ times that of the last key": {"last": 0.95},
        "the rows of $dV$ add up to those of $dC$, with no query left out": {"everyone": True},
        "the rows of $dV$ add up to $0.95$ times as much": {"share": 0.95},
    }
    hard = (
        heard(np.ones((1, 1)), (1, 1), (1, 1), (1, 1)),
        heard([[1, 1, 0], [0, 0, 0]], (2, 2), (3, 2), (3, 1)),
        heard(np.zeros((2, 2)), *SHAPES),
    )
    draws = Statement.draws // 2

    def draw(self, rng):
        Tq, Tk, d_k, d_v = rng.integers((1, 2, 1, 1), (4, 5, 3, 3))
        mask, seed = mostly(rng, Tq, Tk), rng.integers(10**6)
        if rng.random() < 0.8:
            mask[:, 0] = True
        return heard(mask, (Tq, d_k), (Tk, d_k), (Tk, d_v), seed=seed)

    def holds(self, c, entry=1.0, last=1.0, everyone=False, share=1.0):
        query, key, value = c.arrays
        entries, rows = (np.append(np.ones(len(key) - 1), one) for one in (entry, last))

        def loss(scores, value):
            return np.sum(masked_softmax(scores, c.mask, over=c.over) @ value * c.d_output)

        def loss_of_keys(key):
            return loss(query @ key.T / math.sqrt(query.shape[1]), value)

        scores = query @ key.T / math.sqrt(query.shape[1])
        d_scores, d_value = differences(loss, (scores, value))
        (d_key) = differences(loss_of_keys, [key])
        weights = masked_softmax(scores, c.mask, over=c.over)
        library = softmax_vjp(weights, c.d_output @ value.T)
        kept = c.d_output[c.mask.any(axis=1) | everyone].sum(axis=0)
        return (
            np.allclose(d_scores @ entries, 0, atol=1e-9)
            and np.allclose(library.sum(axis=1), 0, atol=1e-13)
            and np.allclose(rows @ d_key, 0, atol=1e-9)
            and np.allclose(d_value.sum(axis=0), share * kept, atol=1e-9)
        )


exactly = np.vectorize(Fraction, otypes=[object])


class TestOutputIsEnough(Statement):
    """thm-output-is-enough: the average of a row of dA is a product of two rows of width d_v."""

    concludes = (
        r"\sum_l a_{il}\, dA_{il} = dc_i \cdot c_i",
        r"dS_{ij} = a_{ij}\; dc_i \cdot (v_j - c_i)",
        r"a_{ij} = e^{s_{ij} - \ln z_i}",
    )
    hypotheses = {
        "the sum of $e^{s_{il}}$ over the allowed keys": Hypothesis(
            lambda c: (c.summed == c.mask).all(),
            without=heard(
                [[1, 1, 0]], (1, 2), (3, 2), (3, 1), summed=np.ones((1, 3), bool), size=2
            ),
        )
    }
    neighbors = {
        r"$0.95\, c_i$ in place of $c_i$": {"output": 0.95},
        r"$e^{s_{ij} - 1.05 \ln z_i}$": {"power": 1.05},
    }
    hard = (
        heard(np.ones((1, 1)), (1, 1), (1, 1), (1, 1), summed=np.ones((1, 1)), size=1),
        heard(np.eye(3), (3, 2), (3, 2), (3, 2), summed=np.eye(3), size=2),
    )
    draws = Statement.draws // 2

    def draw(self, rng):
        Tq, Tk, size = rng.integers(1, 4), rng.integers(1, 6), rng.integers(1, 4)
        mask = mostly(rng, Tq, Tk)
        mask[~mask.any(axis=1), 0] = True
        shapes, seed = ((Tq, 2), (Tk, 2), (Tk, 3)), rng.integers(10**6)
        return heard(mask, *shapes, seed=seed, summed=mask, size=size)

    def holds(self, c, output=1.0, power=1.0):
        query, key, value = c.arrays
        context, weights = forward(c, *c.arrays)
        a, v, d_c = map(exactly, (weights, value, c.d_output))
        if ((a * (d_c @ v.T)).sum(axis=1) != (d_c * (a @ v)).sum(axis=1)).any():
            return False
        scores = query @ key.T / math.sqrt(2)
        expected = differences(lambda *arrays: loss_of(c, *arrays), c.arrays)
        kept = np.log((np.exp(scores) * c.summed).sum(axis=1, keepdims=True))
        average = (output * context * c.d_output).sum(axis=1, keepdims=True)
        d_query, d_key, d_value = found = [np.zeros_like(array) for array in c.arrays]
        for start in range(0, len(key), c.size):
            block = slice(start, start + c.size)
            s = query @ key[block].T / math.sqrt(2)
            a = np.where(c.mask[:, block], np.exp(s - power * kept), 0)
            d_s = a * (c.d_output @ value[block].T - average)
            d_query += d_s @ key[block] / math.sqrt(2)
            d_key[block], d_value[block] = d_s.T @ query / math.sqrt(2), a.T @ c.d_output
        state = attention_state(query, key, value, mask=c.mask, block_size=c.size)
        library = streaming_attention_vjp(*c.arrays, c.d_output, state=state, mask=c.mask)
        return close(found, expected) and close(library, expected)


def polynomial(*coefficients):
    """Return a polynomial and its derivative, in fractions."""

    def f(x):
        return sum(c * x**n for n, c in enumerate(coefficients))

    def slope(x):
        return sum(n * c * x ** (n - 1) for n, c in enumerate(coefficients) if n)

    return f, slope


def difference(coefficients, x, h, eta=0, **changed):
    """Return a case: a polynomial of degree 4 at most, and two values that are off."""
    f, slope = polynomial(*coefficients)
    third = [n * (n - 1) * (n - 2) * c for n, c in enumerate(coefficients)][3:]
    ends = [abs(polynomial(*third)[0](end)) for end in (x - h, x + h)]  # it is a straight line
    usual = {"f": f, "slope": slope, "M": max(ends), "eta": eta, "off": (eta, -eta), "rounds": ""}
    usual["largest"] = usual["M"]
    return Case(x=Fraction(x), h=Fraction(h), **(usual | changed))


CUBIC = (0, 0, 0, Fraction(1, 6))


class TestCentralDifference(Statement):
    """thm-central-difference: M h²/6 + η/h, which is least at the cube root of 3η/M."""

    concludes = (
        r"\frac{M h^2}{6} + \frac{\eta}{h}",
        r"least at $h = \sqrt[3]{3\eta / M}$, where it is $\tfrac12 \sqrt[3]{9 M \eta^2}$",
    )
    kind = "bound"
    hypotheses = {
        "$h > 0$": Hypothesis(lambda c: c.h > 0, without=difference(CUBIC, 1, -1, eta=1)),
        "three derivatives": Hypothesis(
            lambda c: c.f is not abs,
            without=difference((), Fraction(1, 4), 1, f=abs, slope=lambda x: 1),
        ),
        r"$|f^{(3)}| \le M$": Hypothesis(
            lambda c: c.largest <= c.M, without=difference(CUBIC, 1, 1, M=Fraction(1, 2))
        ),
        r"each be off by at most $\eta$": Hypothesis(
            lambda c: max(map(abs, c.off)) <= c.eta,
            without=difference((1, 2), 1, 1, eta=1, off=(2, -2)),
        ),
        "an exact subtraction": Hypothesis(
            # A straight line through two floats, whose difference no float can hold.
            lambda c: c.rounds != "subtraction",
            without=difference(
                ((1 + Fraction(2**-60)) / 2, 1 - Fraction(2**-60)),
                0,
                Fraction(1, 2),
                rounds="subtraction",
            ),
        ),
        "an exact division": Hypothesis(
            lambda c: c.rounds != "division",
            without=difference((0, Fraction(1, 3)), 0, Fraction(3, 2), rounds="division"),
        ),
        r"$M, \eta > 0$": Hypothesis(
            lambda c: True, sufficient="the cube root of 0 or of infinity is no step"
        ),
    }
    neighbors = {
        r"$\frac{M h^2}{6.3} + \frac{\eta}{h}$": {"sixth": 6.3},
        r"$\frac{M h^2}{6} + 0.95\,\frac{\eta}{h}$": {"noise": 0.95},
        "always less than this": {"strict": True},
        r"least at $1.05\,\sqrt[3]{3\eta/M}$": {"at": 1.05},
        r"least at $0.95\,\sqrt[3]{3\eta/M}$": {"at": 0.95},
        r"its least value is $\tfrac12 \sqrt[3]{9.5\,M \eta^2}$": {"value": 9.5},
    }
    hard = (
        difference(CUBIC, 1, Fraction(1, 7), eta=Fraction(1, 100)),
        difference(CUBIC, 0, 2, eta=Fraction(8, 3)),
        difference((3, -2, 5), Fraction(1, 3), 1, eta=1),
        difference((3, -2, 5), Fraction(1, 3), 1),
        difference((0, 0, 0, 0, 1), 0, 1),
        difference((0, 0, 0, 0, 1), 3, Fraction(1, 1000)),
        difference((0, 0, 0, 2, 1), -1, 3, eta=Fraction(1, 10**9)),
    )

    def draw(self, rng):
        numbers = [Fraction(int(n), 9) for n in rng.integers(-30, 30, size=5)]
        h, eta = Fraction(int(rng.integers(1, 60)), 20), Fraction(int(rng.integers(100)), 10)
        off = tuple(eta * int(n) / 100 for n in rng.integers(-100, 101, size=2))
        return difference(numbers, Fraction(int(rng.integers(-30, 30)), 9), h, eta, off=off)

    def error(self, c):
        """Return how far the difference of the computed values is off."""
        high, low = c.f(c.x + c.h) + c.off[0], c.f(c.x - c.h) + c.off[1]
        over = high - low
        if c.rounds == "subtraction":
            assert all(Fraction(float(value)) == value for value in (high, low))
            over = Fraction(float(high) - float(low))
        quotient = over / (2 * c.h)
        if c.rounds == "division":
            quotient = Fraction(float(over) / float(2 * c.h))
        return abs(quotient - c.slope(c.x))

    def holds(self, c, sixth=6.0, noise=1.0, strict=False, at=1.0, value=9.0):
        def bound(h):
            return c.M * h**2 / Fraction(sixth) + Fraction(noise) * c.eta / h

        error = self.error(c)
        if error > bound(c.h) or (strict and error == bound(c.h)):
            return False
        if not (c.M > 0 and c.eta > 0):
            return True
        c = Case(M=float(c.M), eta=float(c.eta))
        best = at * math.cbrt(3 * c.eta / c.M)

        def of(h):
            return c.M * h**2 / 6 + c.eta / h

        return all(
            of(best) < of(best * factor) for factor in (1e-3, 0.5, 0.97, 1.03, 2, 1e3)
        ) and math.isclose(of(best), math.cbrt(value * c.M * c.eta**2) / 2, rel_tol=1e-12)

    def ratio(self, c):
        bound = c.M * c.h**2 / 6 + c.eta / c.h
        return float(self.error(c) / bound) if bound else 0.0

    def test_the_subtraction_has_to_be_exact(self):
        case = self.hypotheses["an exact subtraction"].without
        assert self.holds(Case(**vars(case) | {"rounds": ""}))
        assert not self.holds(case), "The subtraction has to be exact, too"
        assert not self.holds(case), "off by at most Mh²/6 and the error of the two values over h"
