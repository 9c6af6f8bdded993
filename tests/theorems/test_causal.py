"""The theorems of the part on causal masking. The docstring of a class begins with its label.

Expected values come from exact fractions, counting, or attention in plain NumPy.
"""

import itertools
import math
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_ref import (
    KeyValueCache,
    causal_mask,
    perplexity,
    rotate_pairs,
    scaled_dot_product_attention,
    self_attention,
    self_attention_vjp,
    softmax,
    window_mask,
)
from tests.support.arrays import drawn
from tests.support.counting import Number, numbers, strassen
from tests.theorems.statement import DRAWS, Case, Hypothesis, Statement

SEEDS = st.integers(0, 10**6)
CLOSE = {"rtol": 1e-9, "atol": 1e-10}
DEEP = {"rtol": 1e-7, "atol": 1e-8}  # after several layers


def matrices(seed, width, value_width=None):
    """Return W_Q, W_K and W_V of width `width`."""
    rng = np.random.default_rng(seed)
    widths = (width, width, value_width or width)
    return [rng.normal(size=(width, columns)) for columns in widths]


def causal(x, w):
    return self_attention(x, *w, mask=causal_mask(len(x)))


def heard(query, key, value, *, mask=True, bias=None):
    """Attend in plain NumPy: exponentials of the scores over their sum, and 0 for an empty row."""
    scores = query @ key.T / math.sqrt(query.shape[1])
    scores = np.where(mask, scores + (0 if bias is None else bias), -np.inf)
    highest = scores.max(axis=1, keepdims=True, initial=-np.inf)
    powers = np.exp(scores - np.where(np.isfinite(highest), highest, 0))
    totals = powers.sum(axis=1, keepdims=True)
    return powers / np.where(totals, totals, 1) @ value


def heard_by(x, w, **how):
    """Let the rows of `x` attend to each other in plain NumPy."""
    return heard(*(x @ matrix for matrix in w), **how)


def apart(one, other):
    return np.abs(one - other).max() > 1e-12


def hiding(allowed=(True, False), powers=None, stand_in=1.0, shift=0.0, falls=0.5, follows=0.0):
    """Return a case whose scores are logarithms of integers, so that every share is a fraction."""
    return Case(
        allowed=np.array(allowed, bool),
        powers=np.ones(len(allowed)) if powers is None else np.array(powers, float),
        stand_in=stand_in,
        shift=shift,  # of all scores
        falls=np.broadcast_to(falls, len(allowed)),  # how fast each score falls
        follows=follows,  # how fast the number in place of the hidden scores falls
    )


class TestHiddenKeys(Statement):
    """thm-hidden-keys: −∞ leaves a key out; a finite number gives it a share that is known."""

    concludes = (
        "each hidden key gets 0, and the allowed keys get the softmax of their own scores alone",
        r"\frac{h\, e^{c}}{\sum_{j \in J} e^{s_j} + h\, e^{c}}",
        "this is positive, and it tends to one",
    )
    kind = "limit"
    hypotheses = {
        "finite scores": Hypothesis(
            lambda c: np.isfinite(c.powers).all(), without=hiding(powers=[np.inf, 1])
        ),
        "a nonempty set of allowed keys": Hypothesis(
            # With no allowed key the softmax is 0/0, and no shares add up to one.
            lambda c: c.allowed.any(),
            without=hiding([False, False]),
        ),
        "finite $c$": Hypothesis(lambda c: 0 < c.stand_in < np.inf, without=hiding(stand_in=0.0)),
        r"$h \ge 1$": Hypothesis(lambda c: not c.allowed.all(), without=hiding([True, True])),
        "$c$ is fixed": Hypothesis(lambda c: c.follows == 0, without=hiding(follows=0.5)),
        r"all allowed scores tend to $-\infty$": Hypothesis(
            lambda c: (c.falls[c.allowed] > 0).all(),
            without=hiding([True, True, False], falls=[1.0, 0.0, 1.0]),
        ),
    }
    neighbors = {
        r"$-10^4$ in place of $-\infty$": {"hidden": -1e4},
        r"$0.95\,h$ in place of $h$": {"each": 0.95},
        "the share tends to 0.99": {"limit": 0.99},
        "an allowed key gets 1.05 of its share among the allowed": {"own": 1.05},
        "the share of the hidden keys is more than 0.01": {"least": 0.01},
    }
    hard = (
        hiding(),
        hiding([1, 1, 1, 0], [1, 50, 1, 1], stand_in=50.0),
        hiding([1, 1, 0, 0], [1, 50, 1, 1], stand_in=2**-40),
        hiding([1, 0, 0], [2, 1, 1], shift=-1e4),
    )

    def draw(self, rng):
        n = rng.integers(2, 9)
        allowed = rng.random(n) < 0.6
        allowed[rng.permutation(n)[:2]] = True, False
        powers, stand_in = rng.integers(1, 51, n), float(rng.integers(1, 51))
        return hiding(allowed, powers, stand_in, rng.uniform(-5, 5), rng.uniform(0.5, 2, n))

    def holds(self, c, hidden=-np.inf, each=1.0, limit=1.0, own=1.0, least=0.0):
        def shares(stand_in, fall=0.0):
            return softmax(np.where(c.allowed, scores - fall * c.falls, stand_in))

        with np.errstate(divide="ignore"):
            scores, stand_in = np.log(c.powers) + c.shift, np.log(c.stand_in) + c.shift
        total, h = c.powers[c.allowed].sum(), np.sum(~c.allowed)
        left_out = shares(hidden)
        leaks = [shares(stand_in - t * c.follows, t)[~c.allowed].sum() for t in (0, 40, 80, 120)]
        return (
            math.isclose(left_out.sum(), 1, rel_tol=1e-14)
            and (left_out[~c.allowed] == 0).all()
            and np.allclose(left_out[c.allowed], own * c.powers[c.allowed] / total, 1e-11, 0)
            and math.isclose(
                leaks[0], each * h * c.stand_in / (total + each * h * c.stand_in), rel_tol=1e-11
            )
            and leaks[0] > least
            and leaks == sorted(leaks)
            and math.isclose(leaks[-1], limit, rel_tol=1e-9)
        )


def by_position(at, x):
    """Some map of each row that depends on its position and is nothing special."""
    return np.tanh(x * (1 + at[:, np.newaxis] / 8)) + np.sort(x)[:, ::-1]


def centered(at, x):
    return x - x.mean(axis=0)


def by_length(at, x):
    return x / len(x)


def turned(heads):
    """Put heads side by side, the second one upside down."""
    return np.hstack([heads[0], heads[1][::-1]])


def layers(seed, depth):
    """Return, for each layer, the matrices of two heads of width 2, which read rows of width 4."""
    return [
        [[m / 2 for m in matrices((seed, level, head), 4, 2)] for head in (0, 1)]
        for level in range(depth)
    ]


def placed(x, w, at):
    """Return queries and keys rotated by their position, and values made larger by it."""
    query, key, value = (x @ matrix for matrix in w)
    return rotate_pairs(query, at), rotate_pairs(key, at), value * (1 + at[:, np.newaxis])


def stack(x, at, layers, attend, rows=by_position, join=np.hstack):
    """Run layers of two heads, side by side, with sums and maps of rows."""
    for level, heads in enumerate(layers):
        mixed = [attend((level, head), *placed(x, w, at)) for head, w in enumerate(heads)]
        x = rows(at, x + join(mixed))
    return x


def unscaled(at, T):
    return 1.0


def scaled_by_position(at, T):
    return np.log(at + 2)[:, np.newaxis]


def cut_after(seed=0, T=5, n=3, depth=2, **other):
    """Return a case of which the first `n` rows are kept; a bias of `i` and `j` alone."""
    usual = {"x": drawn(seed, T, 4), "n": n, "layers": layers(seed, depth), "causal": True}
    usual |= {"bias": drawn(seed + 1, T, T), "rows": by_position, "join": np.hstack}
    return Case(**({"factor": unscaled} | usual | other))


class TestPrefix(Statement):
    """thm-prefix: cutting first and computing first give the same, through any depth."""

    concludes = ("These have the prefix property",)
    hypotheses = {
        "Causal self-attention": Hypothesis(lambda c: c.causal, without=cut_after(causal=False)),
        "none of this depends on the length $T$": Hypothesis(
            lambda c: np.array_equal(c.factor(np.arange(2), 2), c.factor(np.arange(2), 3)),
            without=cut_after(factor=lambda at, T: math.log(T)),
        ),
        "row by row": Hypothesis(
            lambda c: c.rows is not centered, without=cut_after(rows=centered)
        ),
        "not on the length $T$": Hypothesis(
            lambda c: c.rows is not by_length, without=cut_after(rows=by_length)
        ),
        "one applied after another, their outputs added, or their outputs put side by side": (
            Hypothesis(lambda c: c.join is np.hstack, without=cut_after(join=turned))
        ),
    }
    neighbors = {
        r"$-10^4$ added to a score in place of the mask": {"added": -1e4},
        r"scores may be multiplied by $\ln T$ where $T > 8$": {"short": 8},
    }
    hard = (
        *(cut_after(T=12, n=n) for n in (1, 8, 9, 11, 12)),
        # A later word that matches everyone very well.
        cut_after(
            n=1,
            x=np.array([[1.0] * 4, [1e5] * 4]),
            layers=[[[np.eye(4), np.eye(4), np.eye(4, 2)]] * 2],
        ),
    )
    draws = DRAWS // 2

    def draw(self, rng):
        T = rng.integers(1, 9)
        n, depth = rng.integers(1, (T + 1, 5))
        factor = (unscaled, scaled_by_position)[rng.integers(2)]
        return cut_after(rng.integers(10**6), T, n, depth, factor=factor)

    def holds(self, c, added=0, short=math.inf):
        def through(x, attention):
            T = len(x)
            at = np.arange(T)
            mask = causal_mask(T) | (not c.causal) | bool(added)
            bias = c.bias[:T, :T] + added * ~causal_mask(T)
            factor = c.factor(at, T) * (math.log(T) if short < T else 1)

            def attend(_, query, key, value):
                return attention(query * factor, key, value, mask=mask, bias=bias)

            return stack(x, at, c.layers, attend, c.rows, c.join)

        whole, cut = through(c.x, scaled_dot_product_attention), through(c.x[: c.n], heard)
        return np.allclose(whole[: c.n], cut, **DEEP)

    def test_scores_times_a_logarithm(self):
        longer = cut_after(factor=lambda at, T: math.log(T))
        assert longer.causal is True, "Under a causal mask"
        assert not self.holds(longer), "Multiply the scores by the logarithm of the length"
        assert not self.holds(longer), "that changes earlier rows when a word joins"
        of_the_row = cut_after(factor=lambda at, T: np.log(at + 1)[:, np.newaxis])
        assert self.holds(of_the_row), "Multiply the scores of row i by the logarithm of i + 1"

    def test_networks_that_take_a_limited_number_of_words_break_it(self):
        def routed(x, limit):  # each word chooses one of two networks; these take words in order
            taken, rows = [0, 0], []
            for row in x:
                chosen = int(row[0] > 0)
                taken[chosen] += 1
                rows.append(row * (2 + chosen) if taken[chosen] <= limit(len(x)) else row)
            return np.array(rows)

        x = np.ones((4, 1))
        for limit, keeps in ((lambda T: T, True), (lambda T: T // 2, False)):
            same = [np.array_equal(routed(x, limit)[:n], routed(x[:n], limit)) for n in range(1, 5)]
            assert all(same) == keeps

    @given(SEEDS, st.integers(2, 6))
    def test_later_rows_get_no_gradient(self, seed, T):
        x, w = drawn(seed, T, 3), matrices(seed + 1, 3)
        for row in range(T):
            d_output = np.zeros((T, 3))
            d_output[row] = drawn(seed + 2, 3)
            d_x = self_attention_vjp(x, *w, d_output, mask=causal_mask(T))[0]
            np.testing.assert_array_equal(d_x[row + 1 :], 0)
            assert np.abs(d_x[row]).max() > 0


class TestLastRow(Statement):
    """thm-last-row: a query that sees all keys is not masked, in one layer on the same inputs."""

    concludes = (
        "then row $i$ is the same in both outputs",
        "Under the causal mask this holds for the last row",
    )

    @staticmethod
    def in_a_second_layer():
        x = np.array([[1.0, 0.0], [0.0, 2.0], [2.0, 1.0], [1.0, -1.0]])
        return Case(
            masked=[heard(x, x, x, mask=causal_mask(4))] * 3,
            free=[heard(x, x, x)] * 3,
            mask=causal_mask(4),
            i=3,
        )

    @staticmethod
    def one_layer(seed, mask, i, value=None):
        Tq, Tk = mask.shape
        qkv = [drawn((seed, k), *shape) for k, shape in enumerate(((Tq, 3), (Tk, 3), (Tk, 2)))]
        if value is not None:
            qkv[2] = value
        return Case(masked=qkv, free=qkv, mask=mask, i=i)

    hypotheses = {
        "the same queries, keys and values": Hypothesis(
            lambda c: all(map(np.array_equal, c.masked, c.free)), without=in_a_second_layer()
        ),
        "the mask lets query $i$ listen to every key": Hypothesis(
            lambda c: c.mask[c.i].all(), without=one_layer(0, causal_mask(4), 2)
        ),
    }
    neighbors = {"no other row is the same": {"no_other": True}}
    hard = (
        one_layer(0, causal_mask(1), 0),
        one_layer(1, causal_mask(6), 5),
        one_layer(2, causal_mask(3, 5, offset=2), 2),
        one_layer(3, causal_mask(4), 3, value=np.ones((4, 2))),  # all values are equal
    )

    def draw(self, rng):
        Tq, Tk = rng.integers(1, 7, size=2)
        i = rng.integers(Tq)
        mask = rng.random((Tq, Tk)) < 0.7
        mask[i] = True
        if rng.random() < 0.5:
            mask, i = causal_mask(Tk), Tk - 1
        return self.one_layer(rng.integers(10**6), mask, i)

    def holds(self, c, no_other=False):
        masked, free = scaled_dot_product_attention(*c.masked, mask=c.mask), heard(*c.free)
        same = np.isclose(masked, free, **CLOSE).all(axis=1)
        return same[c.i] and not (no_other and same[~c.mask.all(axis=1)].any())


class TestUnmaskedEquivariant(Statement):
    """thm-unmasked-equivariant: without a mask, shuffled words give shuffled outputs."""

    concludes = ("$f(PX) = P f(X)$ for every $X$ and every permutation matrix",)

    @staticmethod
    def shuffled(order, seed=0, mask=True):
        order = np.array(order)
        x, w = drawn(seed, len(order), 3), matrices(seed + 1, 3, 2)
        return Case(x=x, w=w, P=np.eye(len(order))[order], mask=mask)

    hypotheses = {
        "Self-attention without a mask": Hypothesis(
            lambda c: np.all(c.mask), without=shuffled([1, 0, 2], mask=causal_mask(3))
        ),
        "permutation matrix $P$": Hypothesis(
            lambda c: (c.P.sum(axis=0) == 1).all(), without=shuffled([0, 0, 2])
        ),
    }
    neighbors = {
        r"$f(PX) = P^\top f(X)$": {"back": True},
        "words up to 8 places apart hear each other": {"window": 8},
    }
    hard = (
        *map(shuffled, itertools.permutations(range(4))),
        shuffled(np.roll(range(12), 1)),
        shuffled([11, *range(1, 11), 0]),
    )

    def draw(self, rng):
        order = np.arange(rng.integers(1, 9))
        i, j = rng.integers(len(order), size=2)
        order[[i, j]] = order[[j, i]]
        if rng.random() < 0.05:
            rng.shuffle(order)
        return self.shuffled(order, rng.integers(10**6))

    def holds(self, c, back=False, window=None):
        mask = c.mask if window is None else window_mask(len(c.x), len(c.x), window, window)
        mask = np.broadcast_to(mask, c.P.shape)
        expected = (c.P.T if back else c.P) @ heard_by(c.x, c.w, mask=mask)
        return np.allclose(self_attention(c.P @ c.x, *c.w, mask=mask), expected, **CLOSE)

    def test_it_is_not_invariance(self):
        for case in self.hard[1:24]:
            output = self_attention(case.x, *case.w)
            assert not np.allclose(self_attention(case.P @ case.x, *case.w), output)


def shuffle(order, x, w_value, P=None, masked=True, step=1e-3):
    """Return a case in which words trade places."""
    P = np.eye(len(x))[list(order)] if P is None else P
    w = [*matrices(1, x.shape[1])[:2], w_value]
    return Case(x=x, w=[matrix / 2 for matrix in w], P=P, masked=masked, step=step)


class TestNoSymmetry(Statement):
    """thm-no-symmetry: for almost every X the identity is the only permutation that is left."""

    concludes = ("for almost every $X$, neither $f(PX) = P f(X)$ nor $f(PX) = f(X)$ holds",)
    # Volume zero: whatever X is, after a small random step it is no exception.
    kind = "existence"
    hypotheses = {
        "causal self-attention": Hypothesis(
            lambda c: c.masked, without=shuffle([1, 0, 2], drawn(0, 3, 2), np.eye(2), masked=False)
        ),
        r"$W_V \neq 0$": Hypothesis(
            lambda c: c.w[2].any(), without=shuffle([1, 0, 2], drawn(0, 3, 2), np.zeros((2, 2)))
        ),
        "a permutation matrix": Hypothesis(
            lambda c: (c.P.sum(axis=0) == 1).all() and np.isin(c.P, (0, 1)).all(),
            # One word: twice the word gives twice the output.
            without=shuffle([0], np.ones((1, 2)), np.eye(2), P=np.array([[2.0]])),
        ),
        "other than $I$": Hypothesis(
            lambda c: not np.array_equal(c.P, np.eye(len(c.P))),
            without=shuffle([0, 1, 2], drawn(0, 3, 2), np.eye(2)),
        ),
        "almost every $X$": Hypothesis(
            lambda c: c.step > 0, without=shuffle([1, 0, 2], np.ones((3, 2)), np.eye(2), step=0.0)
        ),
    }
    neighbors = {
        "for every $X$": {"every": True},
        "for every $X$ with different rows": {"different": True},
        "$f(PX)$ and $f(X)$ differ by at least $0.001$ somewhere": {"by": 1e-3},
    }
    hard = (
        shuffle([1, 0, 2], np.ones((3, 2)), np.eye(2)),
        shuffle([2, 0, 1], np.zeros((3, 2)), np.eye(2)),
        # Different words with the same value.
        shuffle([1, 0], np.array([[1.0, 2.0], [1.0, 3.0]]), np.array([[1.0], [0.0]])),
    )

    def draw(self, rng):
        T, width = rng.integers(2, 6), rng.integers(1, 4)
        order = rng.permutation(T)
        if (order == np.arange(T)).all():
            order = order[::-1]
        return shuffle(order, rng.normal(size=(T, width)) / 2, rng.normal(size=(width, width)))

    def holds(self, c, every=False, different=False, by=1e-12):
        stays = every or (different and len(np.unique(c.x, axis=0)) == len(c.x))
        x = c.x + (0 if stays else c.step) * drawn(7, *c.x.shape)
        output = heard_by(x, c.w, mask=causal_mask(len(x)) | (not c.masked))
        moved = self_attention(c.P @ x, *c.w, causal=c.masked)
        return apart(moved, c.P @ output) and np.abs(moved - output).max() > by

    @pytest.mark.parametrize("T", [2, 3, 4])
    def test_the_input_of_the_proof_separates_all_three_rows(self, T):
        w = matrices(T, 2)
        for order in list(itertools.permutations(range(T)))[1:]:
            first = int(np.flatnonzero(order != np.arange(T))[0])
            assert order[first] > first
            x = np.zeros((T, 2))
            x[first] = 1
            output = causal(x, w)
            np.testing.assert_array_equal(causal(x[list(order)], w)[first], 0)
            assert np.abs(output[order[first]]).max() > 1e-3
            assert np.abs(output[first]).max() > 1e-3


def with_distance(T, steps=1):
    """Return a bias that falls by 1 with every so many places of distance."""
    return -(np.abs(np.subtract.outer(np.arange(T), np.arange(T))) // steps * 1.0)


def reordered(order, i, seed=0, **other):
    """Return a case in which rows trade places and row `i` is looked at."""
    usual = {"layers": 1, "left": None, "slope": 0.0, "growth": 0.0}
    x, w = drawn(seed, len(order), 3), matrices(seed + 1, 3)
    return Case(x=x, w=w, order=np.array(order), i=i, **(usual | other))


class TestOrderOfThePast(Statement):
    """thm-order-of-the-past: one causal layer forgets the order of what came before a row."""

    concludes = ("does not change when the rows before it",)
    hypotheses = {
        "one layer": Hypothesis(
            lambda c: c.layers == 1, without=reordered([1, 0, 2, 3], 3, layers=2)
        ),
        "causal self-attention": Hypothesis(
            lambda c: c.left is None, without=reordered([2, 0, 1, 3], 3, left=1)
        ),
        "the score of two words depends on these words only": Hypothesis(
            lambda c: c.slope == 0, without=reordered([1, 0, 2, 3], 3, slope=1.0)
        ),
        "the value of a word on this word only": Hypothesis(
            lambda c: c.growth == 0, without=reordered([1, 0, 2, 3], 3, growth=1.0)
        ),
        "the rows before it": Hypothesis(
            lambda c: sorted(c.order[: c.i]) == list(range(c.i)) and c.order[c.i] == c.i,
            without=reordered([0, 3, 2, 1], 2),
        ),
    }
    neighbors = {
        "scores may fall with every 8 places of distance": {"steps": 8},
        "a word hears at most 8 before it": {"left": 8},
    }
    hard = (
        *(reordered([*order, 4, 5], 4) for order in itertools.permutations(range(4))),
        reordered([*np.roll(range(11), 1), 11], 11),
    )

    def draw(self, rng):
        i = rng.integers(0, 8)
        return reordered([*rng.permutation(i), i], i, rng.integers(10**6))

    def holds(self, c, steps=None, left=None):
        T = len(c.x)
        bias = with_distance(T) * c.slope if steps is None else with_distance(T, steps)
        left = c.left if left is None else left
        mask = window_mask(T, T, left, 0)
        growth = 1 + c.growth * np.arange(T)[:, np.newaxis]

        def row(x, attention):
            for _ in range(c.layers):
                query, key, value = (x @ matrix for matrix in c.w)
                x = attention(query, key, growth * value, mask=mask, bias=bias)
            return x[c.i]

        expected = row(c.x, heard)
        return np.allclose(row(c.x[c.order], scaled_dot_product_attention), expected, **CLOSE)


def through_two(order, x, w, masked=True, step=1e-3):
    """Return a case of two layers."""
    return Case(order=np.array(order), x=x, w=w, masked=masked, step=step)


class TestTwoLayersOrder(Statement):
    """thm-two-layers-order: the last row of two causal layers depends on the order of the words."""

    concludes = ("have different last rows",)

    # As in TestNoSymmetry, a choice is no exception after a small random step.
    @staticmethod
    def pair(seed, width):
        return [[matrix / 2 for matrix in matrices((seed, k), width)] for k in (0, 1)]

    kind = "existence"
    hypotheses = {
        "layers of causal self-attention": Hypothesis(
            lambda c: c.masked,
            without=through_two([1, 0, 2], drawn(0, 3, 2), pair(0, 2), masked=False),
        ),
        "values of width $d$": Hypothesis(
            lambda c: all(w[2].shape[1] == c.x.shape[1] for w in c.w),
            sufficient=r"with another width, any $W_V$ that keep $u$ from 0 do in place of $I$",
        ),
        r"$P \ne I$": Hypothesis(
            lambda c: (c.order != np.arange(len(c.order))).any(),
            without=through_two([0, 1, 2], drawn(0, 3, 2), pair(0, 2)),
        ),
        "almost every choice of $X$ and of the matrices of both layers": Hypothesis(
            lambda c: c.step > 0,
            without=through_two([1, 0, 2], np.ones((3, 2)), pair(0, 2), step=0.0),
        ),
    }
    neighbors = {
        "for every choice": {"every": True},
        "for every choice with different words": {"different": True},
    }
    hard = (
        through_two([1, 0, 2], np.ones((3, 2)), pair(0, 2)),
        through_two([2, 1, 0], np.zeros((3, 1)), pair(1, 1)),
        through_two([1, 0, 2], drawn(0, 3, 2), [[np.zeros((2, 2))] * 3] * 2),
        # Different words with the same value.
        through_two(
            [1, 0],
            np.array([[1.0, 0.0], [1.0, 1.0]]),
            [[np.zeros((2, 2))] * 2 + [np.diag([1.0, 0])]] * 2,
        ),
    )

    def draw(self, rng):
        T, width = rng.integers(2, 6), rng.integers(1, 4)
        order = np.arange(T)
        while (order == np.arange(T)).all():
            order = rng.permutation(T)
            if T > 2 and rng.random() < 0.5:  # one that leaves the last word in its place
                order = np.array([*rng.permutation(T - 1), T - 1])
        return through_two(
            order, rng.normal(size=(T, width)) / 2, self.pair(rng.integers(10**6), width)
        )

    def holds(self, c, every=False, different=False):
        stays = every or (different and len(np.unique(c.x, axis=0)) == len(c.x))
        step = 0 if stays else c.step
        x = c.x + step * drawn(7, *c.x.shape)
        first, second = (
            [m + step * drawn((8, level, k), *m.shape) for k, m in enumerate(w)]
            for level, w in enumerate(c.w)
        )
        mask = causal_mask(len(x)) | (not c.masked)
        last = heard_by(heard_by(x, first, mask=mask), second, mask=mask)[-1]
        moved = self_attention(x[c.order], *first, causal=c.masked)
        return apart(self_attention(moved, *second, causal=c.masked)[-1], last)

    @pytest.mark.parametrize("T", [1, 2, 3, 6])
    def test_two_layers_of_averages_weigh_early_words_more(self, T):
        def averages(rows):
            return [[sum(c) / (i + 1) for c in zip(*rows[: i + 1], strict=True)] for i in range(T)]

        unit = [[Fraction(i == j) for j in range(T)] for i in range(T)]
        shares = averages(averages(unit))[-1]
        assert shares == [sum(Fraction(1, i + 1) for i in range(j, T)) / T for j in range(T)]
        assert all(first > second for first, second in itertools.pairwise(shares))
        alike = [np.zeros((T, 1)), np.zeros((T, 1)), np.eye(T)]
        twice = causal(causal(np.eye(T), alike), alike)
        np.testing.assert_allclose(twice[-1], [float(share) for share in shares], **CLOSE)


def nowhere(T):
    return np.zeros(T)


def steady(T):
    return 1.0


def padded_with(real=(0, 1, 1, 0, 1), depth=2, seed=0, padding=1.0, **other):
    """Return a case of words, where `real` says so, and padding."""
    real, T = np.array(real, bool), len(real)
    masks = np.random.default_rng(seed).random((depth, T, T)) < 0.7
    masks = masks & ~np.outer(real, ~real) | np.eye(T, dtype=bool)
    usual = {"masks": masks, "at": nowhere, "rows": by_position, "lost": real, "louder": steady}
    other_x = np.where(real[:, np.newaxis], drawn(seed, T, 4), padding * drawn(seed + 1, T, 4))
    return Case(
        x=drawn(seed, T, 4), other=other_x, real=real, layers=layers(seed, depth), **(usual | other)
    )


class TestPadding(Statement):
    """thm-padding: what stands in the padding changes no real row and gets no gradient."""

    concludes = (
        "do not depend on what is in the rows outside $R$",
        "the gradient with respect to every row outside $R$ is zero",
        "are the same as for the real words alone",
    )
    hypotheses = {
        "maps that work row by row": Hypothesis(
            lambda c: c.rows is not centered, without=padded_with(rows=centered)
        ),
        "the mask of every attention layer be False for every query in $R$ and every key outside"
        " $R$": Hypothesis(
            lambda c: not (c.masks & np.outer(c.real, ~c.real)).any(),
            # It is so in the first layer only.
            without=padded_with(masks=np.array([np.eye(5), np.ones((5, 5))], bool)),
        ),
        "a loss made from rows in $R$ only": Hypothesis(
            lambda c: not (c.lost & ~c.real).any(), without=padded_with(lost=np.ones(5, bool))
        ),
        "no map depends on the places of rows in the array": Hypothesis(
            lambda c: c.at is nowhere, without=padded_with(at=np.arange)
        ),
        "or on the length": Hypothesis(
            lambda c: c.rows is not by_length, without=padded_with(rows=by_length)
        ),
        "attention depends on them through its mask alone": Hypothesis(
            lambda c: c.louder is steady, without=padded_with(louder=np.log)
        ),
    }
    neighbors = {
        r"in part 1, $-10^4$ added to a score in place of False": {"first": -1e4},
        r"in parts 2 and 3, $-10^4$ added to a score in place of False": {"added": -1e4},
        "the first 8 places are treated alike": {"alike": 8},
    }
    hard = (
        padded_with(padding=1e6),
        padded_with(masks=np.zeros((2, 5, 5), bool)),  # nobody hears anyone
        padded_with([0, 0, 0, 0, 0, 0, 1, 1, 1, 1], depth=4),
        padded_with([1, 0, 1, 0, 1, 0, 1, 0, 1, 0]),
        padded_with([0, 0, 0]),
        padded_with([1, 1, 1]),
    )
    draws = DRAWS // 2

    def draw(self, rng):
        real = rng.random(rng.integers(1, 8)) < 0.6
        return padded_with(real, rng.integers(1, 5), rng.integers(10**6), rng.choice([0, 1, 7]))

    def holds(self, c, first=0, added=0, alike=math.inf):
        def through(x, at, masks, attention, bias=None):
            def attend(place, query, key, value):
                louder = c.louder(len(x))  # with the length of the text
                return attention(louder * query, key, value, mask=masks[place[0]], bias=bias)

            return stack(x, at, c.layers, attend, c.rows)

        T = len(c.real)
        barred = np.outer(c.real, ~c.real)
        at, places = c.at(T) + (np.arange(T) >= alike), np.arange(T)

        def padded(x, at=places, added=added):
            masks = c.masks | (barred & bool(added))
            return through(x, at, masks, scaled_dot_product_attention, 1.0 * added * barred)

        def change(row):  # of the loss, as row `row` is nudged this way and that
            nudge = 1e-4 * np.eye(T)[:, row : row + 1]
            return (padded(c.x + nudge)[c.lost] - padded(c.x - nudge)[c.lost]).sum()

        alone = np.ix_(range(len(c.layers)), c.real, c.real)
        few = through(c.x[c.real], c.at(c.real.sum()), c.masks[alone], heard)
        one, other = (padded(x, added=first)[c.real] for x in (c.x, c.other))
        return (
            np.allclose(one, other, **DEEP)
            and np.abs([change(row) for row in np.flatnonzero(~c.real)]).max(initial=0) < 1e-13
            and np.allclose(padded(c.x, at)[c.real], few, **DEEP)
        )

    def test_a_loss_that_drops_padded_targets_does_not_hide_padded_keys(self):
        x, w = drawn(0, 4, 3), matrices(1, 3)
        other = x.copy()
        other[0] += 1  # padding on the left
        assert np.abs(causal(x, w)[1:] - causal(other, w)[1:]).max() > 1e-3
        x[3] += 1  # padding on the right comes after every word
        np.testing.assert_array_equal(causal(x, w)[:3], causal(drawn(0, 4, 3), w)[:3])


def as_fed(start):
    return start


def in_pieces(sizes=(2, 3, 1), depth=1, seed=0, **other):
    """Return a case of which so many rows are fed at a time."""
    usual = {"causal": True, "rows": by_position, "first": as_fed, "offset": as_fed, "kept": 10**6}
    x = drawn(seed, sum(sizes), 4)
    return Case(x=x, sizes=sizes, layers=layers(seed + 1, depth), **(usual | other))


class TestCache(Statement):
    """thm-cache: each layer with a cache of its own, in pieces of any size, gives the full pass."""

    concludes = ("what comes out for row $t$ is row $t$ of $F(X)$",)
    hypotheses = {
        "causal self-attention layers": Hypothesis(
            lambda c: c.causal, without=in_pieces(causal=False)
        ),
        "maps that work row by row": Hypothesis(
            lambda c: c.rows is not centered, without=in_pieces(rows=centered)
        ),
        "every map be told the positions of the rows that it gets": Hypothesis(
            lambda c: c.first is as_fed, without=in_pieces(first=lambda start: 0)
        ),
        "the keys and values of the rows that it has seen": Hypothesis(
            lambda c: c.kept >= len(c.x), without=in_pieces(kept=2)
        ),
        "attend to those at the positions up to $t$ and to no others": Hypothesis(
            # Rows hear the later ones of their piece.
            lambda c: c.offset is as_fed,
            without=in_pieces(offset=lambda before: before + 9),
        ),
    }
    neighbors = {
        "a store of the last 8 rows": {"kept": 8},
        "positions that are counted anew after 8 rows": {"period": 8},
    }
    hard = (
        *(in_pieces(sizes) for sizes in ((1,) * 12, (12,), (8, 1, 1), (7, 2), (1, 8, 3))),
        *(in_pieces((1, 2, 1), depth) for depth in (2, 3, 4)),
    )
    draws = DRAWS // 4

    def draw(self, rng):
        T = rng.integers(1, 9)
        ends = np.flatnonzero(rng.random(T - 1) < 0.6) + 1
        sizes = np.diff([0, *ends, T])
        return in_pieces(sizes, rng.integers(1, 4), rng.integers(10**6))

    def fed(self, c, attend, period=math.inf):
        """Return what comes out for the pieces, one after another."""
        outputs, start = [], 0
        for size in c.sizes:
            at = (c.first(start) + np.arange(size)) % period
            outputs.append(stack(c.x[start : start + size], at, c.layers, attend, c.rows))
            start += size
        return np.vstack(outputs)

    def full(self, c):
        def attend(_, query, key, value):
            return scaled_dot_product_attention(query, key, value, causal=c.causal)

        return stack(c.x, np.arange(len(c.x)), c.layers, attend, c.rows)

    def holds(self, c, kept=None, period=math.inf):
        kept, stores = kept or c.kept, {}

        def attend(place, query, key, value):
            keys, values = stores.get(place, (key[:0], value[:0]))
            keys, values = np.vstack([keys[-kept:], key]), np.vstack([values[-kept:], value])
            stores[place] = keys, values
            mask = np.tri(len(query), len(keys), c.offset(len(keys) - len(key)), dtype=bool)
            return heard(query, keys, values, mask=mask)

        return np.allclose(self.fed(c, attend, period), self.full(c), **DEEP)

    def test_the_cache_of_the_library_fed_in_pieces(self):
        for case in self.searched():
            caches = {}

            def attend(place, *qkv, caches=caches):
                return caches.setdefault(place, KeyValueCache()).attend(*qkv)

            np.testing.assert_allclose(self.fed(case, attend), self.full(case), **DEEP)

    def test_not_if_the_mask_begins_in_the_upper_left_corner(self):
        assert not self.holds(in_pieces(offset=lambda before: 0))

    def test_it_needs_positions_and_a_mask(self):
        assert self.holds(in_pieces())
        untold, unmasked = in_pieces(first=lambda _: 0), in_pieces(offset=lambda before: before + 9)
        assert not self.holds(untold), "It does if every map is told the positions of its rows"
        assert not self.holds(untold), "equals the row of the full pass, whatever acts on the rows"
        assert not self.holds(unmasked), "and if the mask also applies among the new rows"

    def test_without_a_mask_every_row_of_the_first_layer_and_keys_of_the_second_change(self):
        x, w = drawn(0, 4, 3), matrices(1, 3)
        before, after = self_attention(x[:3], *w), self_attention(x, *w)[:3]
        assert (np.abs(before - after).max(axis=1) > 1e-3).all()
        assert (np.abs(before @ w[1] - after @ w[1]).max(axis=1) > 1e-3).all()


def generating(n, d_model, d_k, d_v, start=1, product=np.matmul, again=True):
    """Return a case in which a text grows by `n` words."""
    return Case(n=n, d_model=d_model, d_k=d_k, d_v=d_v, start=start, product=product, again=again)


class TestGenerationCost(Statement):
    """thm-generation-cost: one step and a whole text, counted while both programs attend."""

    concludes = (
        r"costs $p + a\,t$ with a cache, and $t\,(p + a\,t)$ if all",
        r"n p + a\,\frac{n(n+1)}{2}",
        r"p\,\frac{n(n+1)}{2} + a\,\frac{n(n+1)(2n+1)}{6}",
    )
    hypotheses = {
        "entry by entry": Hypothesis(
            lambda c: c.product is np.matmul, without=generating(2, 2, 2, 2, product=strassen)
        ),
        "all $t$ rows and all $t^2$ scores are computed again": Hypothesis(
            lambda c: c.again, without=generating(3, 2, 2, 2, again=False)
        ),
        "beginning with one word": Hypothesis(
            lambda c: c.start == 1, without=generating(3, 2, 2, 2, start=2)
        ),
    }
    neighbors = {
        r"$n(n + 0.95)$ in place of $n(n + 1)$": {"one": 0.95},
        r"$2.1\,n + 1$ in place of $2 n + 1$": {"twice": 2.1},
        r"$p = d_{\text{model}}(1.9\,d_k + d_v)$": {"both": 1.9},
        r"$a = d_k + 1.05\,d_v$": {"values": 1.05},
    }
    hard = (generating(1, 1, 1, 1), generating(5, 2, 3, 5), generating(6, 1, 1, 1))
    draws = DRAWS // 5

    def draw(self, rng):
        return generating(*map(int, rng.integers(1, 5, size=4)))

    def holds(self, c, one=1, twice=2, both=2, values=1):
        def attend(query, keys, values, offset):
            scores = c.product(query, keys.T).astype(float) / math.sqrt(c.d_k)
            shares = np.exp(scores) * np.tri(*scores.shape, offset)
            return c.product(numbers(shares / shares.sum(axis=1, keepdims=True)), values)

        def projected(rows):
            return [c.product(rows, matrix) for matrix in w]

        last = c.start + c.n - 1
        x = drawn(c.n, last, c.d_model)
        w = [drawn(k, c.d_model, width) for k, width in enumerate((c.d_k, c.d_k, c.d_v))]
        expected = causal(x, w)
        x, w = numbers(x), [numbers(matrix) for matrix in w]
        store = projected(x[: c.start - 1])
        with_cache, from_scratch, right = [], [], []
        for t in range(c.start, last + 1):
            Number.products = 0
            new = projected(x[t - 1 : t])
            store = [np.vstack(both) for both in zip(store, new, strict=True)]
            row = attend(new[0], store[1], store[2], t - 1)
            with_cache.append(Number.products)
            Number.products = 0
            query, *rest = projected(x[:t])
            rows = attend(query, *rest, 0) if c.again else attend(query[-1:], *rest, t - 1)
            from_scratch.append(Number.products)
            right += [np.allclose(row.astype(float), expected[t - 1], **CLOSE)]
            right += [np.allclose(rows.astype(float), expected[t - len(rows) : t], **CLOSE)]
        p, a, n = c.d_model * (both * c.d_k + c.d_v), c.d_k + values * c.d_v, c.n
        steps = n * (n + one) / 2
        return (
            all(right)
            and with_cache == [p + a * t for t in range(c.start, last + 1)]
            and from_scratch == [t * (p + a * t) for t in range(c.start, last + 1)]
            and math.isclose(sum(with_cache), n * p + a * steps)
            and math.isclose(sum(from_scratch), p * steps + a * n * (n + one) * (twice * n + 1) / 6)
        )


def from_table(V, seed, total=1):
    """Return guesses for each beginning, from counts: exact fractions that add up to `total`."""

    @cache
    def guess(beginning):
        rng = np.random.default_rng([seed, *beginning])
        counts = [int(count) for count in rng.integers(0, 9, V)]
        counts[rng.integers(V)] += 1
        return [total * Fraction(count, sum(counts)) for count in counts]

    return lambda text: [guess(text[: t + 1]) for t in range(len(text) - 1)]


def from_attention(V, seed, causal=True):
    """Return the guesses of one layer of attention, and a matrix that makes logits."""
    E, w, w_out = drawn(seed, V, 3), matrices(seed + 1, 3), drawn(seed + 2, 3, V)

    @cache
    def guesses(text):
        return softmax(self_attention(E[list(text)], *w, causal=causal) @ w_out)[:-1]

    return guesses


def every_text(c):
    return [(c.first, *rest) for rest in itertools.product(range(c.V), repeat=c.n)]


class TestTextProbability(Statement):
    """thm-text-probability: honest guesses add up to one over all texts."""

    concludes = (r"\prod_{t=0}^{n-1} p(w_{t+1} \mid w_0 \dots w_t) = 1",)
    hypotheses = {
        "at least 0": Hypothesis(
            lambda c: all(np.min(row) >= 0 for text in every_text(c) for row in c.guesses(text)),
            sufficient="the proof does not use it: it only makes the products probabilities",
        ),
        "add up to one": Hypothesis(
            lambda c: all(
                math.isclose(sum(row), 1) for text in every_text(c) for row in c.guesses(text)
            ),
            without=Case(V=2, n=2, first=0, guesses=from_table(2, 0, Fraction(9, 10))),
        ),
        "depend on nothing but the beginning": Hypothesis(
            lambda c: all(
                np.allclose(list(map(float, row)), list(map(float, other)), rtol=1e-12)
                for text in every_text(c)
                for t, row in enumerate(c.guesses(text))
                for other in [c.guesses(text[: t + 1] + (0,) * (c.n - t))[t]]
            ),
            without=Case(V=3, n=3, first=0, guesses=from_attention(3, 0, causal=False)),
        ),
    }
    neighbors = {
        "a guess may know the word three after the one that it guesses": {"ahead": 4},
    }
    hard = (
        Case(V=1, n=5, first=0, guesses=from_table(1, 0)),
        Case(V=3, n=0, first=2, guesses=from_table(3, 0)),
        Case(V=2, n=6, first=1, guesses=from_table(2, 1)),
        Case(V=3, n=4, first=0, guesses=from_table(3, 2)),
        Case(V=2, n=5, first=0, guesses=from_attention(2, 3)),
    )
    draws = DRAWS // 2

    def draw(self, rng):
        V, n, seed = (int(rng.integers(*ends)) for ends in ((1, 5), (0, 4), (0, 10**6)))
        made_by = from_attention if rng.random() < 0.2 else from_table
        return Case(V=V, n=n, first=int(rng.integers(V)), guesses=made_by(V, seed))

    def holds(self, c, ahead=math.inf):
        def probability(text):
            factors = []
            for t, row in enumerate(c.guesses(text)):
                later = text[t + ahead] if t + ahead <= c.n else 0
                factors.append(row[(text[t + 1] + later) % c.V])
            return math.prod(factors)

        return math.isclose(sum(map(probability, every_text(c))), 1, rel_tol=1e-12)

    @given(SEEDS, st.integers(1, 6))
    def test_a_text_has_the_probability_of_its_perplexity(self, seed, n):
        logits = drawn(seed, n, 4)
        targets = np.random.default_rng(seed).integers(0, 4, n)
        p = math.prod(
            math.exp(row[target]) / sum(math.exp(z) for z in row)
            for row, target in zip(logits, targets, strict=True)
        )
        assert perplexity(logits, targets) ** -n == pytest.approx(p, rel=1e-10, abs=0)


def spelled(model, text, so_far=()):
    """Yield the sequences that spell a text, with their probabilities; of at most 8 tokens."""
    rest = text.removeprefix("".join(so_far))
    if not rest:
        yield so_far, probability(model, so_far)
    for token in model[so_far[-1] if so_far else None]:
        if rest.startswith(token) and len(so_far) < 8:
            yield from spelled(model, text, (*so_far, token))


def probability(model, sequence):
    return math.prod(
        (model[before][token] for before, token in itertools.pairwise((None, *sequence))),
        start=Fraction(1),
    )


def written(model, text, last=None):
    """Return how probable it is that what comes after a token is, after some token, a text."""
    if not text:
        return Fraction(1)
    return sum(
        p * written(model, text.removeprefix(token), token)
        for token, p in model[last].items()
        if text.startswith(token)
    )


def always(**shares):
    """Return a model that chooses each token alike, whatever came before."""
    alike = {token: Fraction(p) for token, p in shares.items()}
    return dict.fromkeys((None, *shares), alike)


class TestOneCut(Statement):
    """thm-one-cut: the bits of one cut of a text are at least the bits of the text."""

    concludes = (
        r"-\log_2 p_c \;\ge\; -\log_2 p",
        "with equality exactly when every other sequence that spells the text has probability zero",
    )
    # A model gives, for each token that came last and for the beginning, the shares of the next.
    kind = "bound"
    hypotheses = {
        "tokens of at least one letter each": Hypothesis(
            lambda c: all(token != "" for shares in c.model.values() for token in shares),
            # Letter a, then nothing: both sequences spell a, and are certain.
            without=Case(
                model={None: {"a": Fraction(1)}, "a": {"": Fraction(1)}, "": {"a": Fraction(1)}},
                text="a",
                cut=("a",),
            ),
        ),
        "$p_c > 0$": Hypothesis(
            lambda c: probability(c.model, c.cut) > 0,
            sufficient="0 has no logarithm; a cut of probability 0 has infinitely many bits",
        ),
        "one sequence of tokens that spells the text": Hypothesis(
            lambda c: "".join(c.cut) == c.text,
            without=Case(model=always(a="1/4", b="3/4"), text="a", cut=("b",)),
        ),
    }
    neighbors = {
        r"$-\log_2 p_c \ge -1.05\,\log_2 p$": {"times": 1.05},
        "with equality exactly when no other sequence spells the text": {"possible": True},
    }
    hard = (
        Case(model=always(a="1/4", b="1/4", ab="1/2"), text="ab", cut=("a", "b")),
        Case(model=always(a="1/4", b="1/4", ab="1/2"), text="ab", cut=("ab",)),
        Case(model=always(a="1/2", b="1/2"), text="abba", cut=tuple("abba")),
        Case(model=always(a="1/2", b="1/2", ab="0"), text="ab", cut=("a", "b")),
        Case(model=always(a="1"), text="aa", cut=("a", "a")),
    )

    def draw(self, rng):
        names = ("a", "b", "ab", "ba", "aba")
        model = {}
        for last in (None, *names):
            counts = [int(count) for count in rng.integers(0, 9, 5)]
            counts[rng.integers(5)] += 1
            model[last] = {t: Fraction(k, sum(counts)) for t, k in zip(names, counts, strict=True)}
        cut = ()
        for _ in range(rng.integers(1, 5)):
            shares = model[cut[-1] if cut else None]
            cut += (str(rng.choice(names, p=[float(p) for p in shares.values()])),)
        return Case(model=model, text="".join(cut), cut=cut)

    def holds(self, c, times=1.0, possible=False):
        p_c, p = probability(c.model, c.cut), written(c.model, c.text)
        others = [q for cut, q in spelled(c.model, c.text) if cut != c.cut and (q or possible)]
        return (
            p_c <= p
            and -math.log2(p_c) >= times * -math.log2(p) - 1e-12
            and (p_c == p) == (not others)
        )

    def ratio(self, c):
        p_c, p = probability(c.model, c.cut), written(c.model, c.text)
        return math.log2(p) / math.log2(p_c) if p_c < 1 else 1.0

    def test_bits_of_the_page(self):
        case = self.hard[0]
        bits = [-math.log2(p) for _, p in spelled(case.model, case.text)]
        assert sorted(bits) == [1, 4], "do not depend on how it is cut into tokens"
        text = written(case.model, case.text)
        assert text == Fraction(9, 16)
        assert all(p <= text for _, p in spelled(case.model, case.text)), (
            "A single way of cutting the text gives at most the probability of the text"
        )
        assert min(bits) >= -math.log2(text), "the bits of one cut are an upper bound"


def of_probabilities(p):
    """Perplexity by the library, for a vocabulary of two words of which the first came."""
    p = np.array([float(q) for q in p])
    with np.errstate(divide="ignore"):
        logits = np.log(np.stack([p, 1 - p], axis=-1))
    return perplexity(logits, np.zeros(len(p), int))


class TestPerplexityBounds(Statement):
    """thm-perplexity-bounds: 1 ≤ 1/mean(p) ≤ PPL ≤ mean(1/p), and when they are equal."""

    concludes = (
        r"1 \;\le\; \frac{1}{\mu} \;\le\; \operatorname{PPL} \;\le\; R",
        "The first is an equality exactly when all $p_t$ are 1;",
        "the second and the third, each exactly when all $p_t$ are equal",
        "the perplexity is $V$",
        "a single one near 0 makes it as large as you like",
    )
    kind = "bound"
    hypotheses = {
        "$p_t > 0$": Hypothesis(
            lambda c: min(c.p) > 0,
            # Perplexity and mean are infinite, so equal, though the probabilities are not.
            without=Case(p=[Fraction(0), Fraction(1)]),
        ),
        r"$p_t \le 1$": Hypothesis(lambda c: max(c.p) <= 1, without=Case(p=[Fraction(2)] * 2)),
    }
    neighbors = {
        r"$1.05 \le 1/\mu$": {"least": 1.05},
        r"$1.05/\mu \le \operatorname{PPL}$": {"second": 1.05},
        r"$\operatorname{PPL} \le 0.95\,R$": {"third": 0.95},
        "the first is an equality exactly when all $p_t$ are equal": {"first": True},
        "the second is an equality exactly when all $p_t$ are 1": {"certain": True},
        r"$\operatorname{PPL} < R$": {"strict": True},
        r"one that is $10^{-6n}$ makes it more than $1.05 \cdot 10^6$": {"reach": 1.05},
    }
    hard = (
        *(Case(p=[Fraction(1, V)] * n) for V in (1, 2, 50) for n in (1, 3)),
        Case(p=[Fraction(1), Fraction(1, 10**9)]),
        Case(p=[Fraction(1, 10**9)] * 7 + [Fraction(1)]),
        Case(p=[Fraction(1, 2), Fraction(1, 2) + Fraction(1, 10**9)]),
    )

    def draw(self, rng):
        parts = rng.integers((1, 0), 61, size=(rng.integers(2, 9), 2))
        return Case(p=[Fraction(int(a), int(a + b)) for a, b in parts])

    def holds(
        self, c, least=1, second=1, third=1, reach=1, first=False, certain=False, strict=False
    ):
        n = len(c.p)
        lower, inverse = n / sum(c.p), [1 / q if q else math.inf for q in c.p]
        upper, power = sum(inverse) / n, math.prod(inverse)  # PPL to the power n, a fraction
        equal, ones = len(set(c.p)) == 1, set(c.p) == {1}
        return (
            lower >= least
            and (second * lower) ** n <= power <= (third * upper) ** n
            and not (strict and power == upper**n)
            and (lower == 1) == (equal if first else ones)
            and (lower**n == power) == (ones if certain else equal)
            and (power == upper**n) == equal
            and math.isclose(of_probabilities(c.p), nth_root(power, n), rel_tol=1e-12)
            # One that is nearly 0 makes it as large as you like.
            and of_probabilities([Fraction(1, 10**6) ** n, *c.p[1:]]) > reach * 0.999_999e6
        )

    def ratio(self, c):
        return len(c.p) / float(sum(c.p)) / nth_root(math.prod(1 / q for q in c.p), len(c.p))


def nth_root(power, n):
    with mpmath.workdps(50):
        return float(mpmath.root(mpmath.mpf(power.numerator) / power.denominator, n))
