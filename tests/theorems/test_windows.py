"""Windows and sinks: how far layers of windows see, and what a prefix mask keeps."""

import math

import numpy as np

from selfattn_ref import causal_mask, scaled_dot_product_attention, self_attention, window_mask
from tests.theorems.statement import Case, Hypothesis, Statement


def matrices(seed):
    """Return W_Q, W_K and W_V of width 3."""
    return list(np.random.default_rng(seed).normal(size=(3, 3, 3)))


def in_windows(windows, words=10, **changed):
    """Return a case: what happens if every layer keeps to its window, unless `changed` says so."""
    usual = {"first": False, "everyone": False, "ahead": 0, "mixes": False, "lean": 0.0, "seed": 0}
    x = np.random.default_rng(words).normal(size=(words, 3))
    return Case(windows=windows, x=x, **(usual | changed))


class TestWindowsReach(Statement):
    """thm-windows-reach: layers see back the sum of their windows, and word 0 if it is kept."""

    concludes = (
        r"depends only on the words $i - r, \dots, i$",
        "depends only on these words and word 0",
        "is $(w + 1)^{-L}$",
    )
    hypotheses = {
        r"word $i$ attends only to words $j$ with $i - w_\ell \le j \le i$": Hypothesis(
            lambda c: c.ahead == 0 and not c.everyone, without=in_windows((2, 1), ahead=1)
        ),
        "everything else in the layers works row by row": Hypothesis(
            lambda c: not c.mixes, without=in_windows((2, 1), mixes=True)
        ),
        "all layers have the same window $w$": Hypothesis(
            lambda c: True,  # the search tries others, too
            sufficient=r"in general one path is left, too, with $\prod_\ell (w_\ell + 1)^{-1}$",
        ),
        "each word listens equally to everything it sees": Hypothesis(
            lambda c: c.lean == 0, without=in_windows((2, 2), lean=0.5)
        ),
        r"$i \ge Lw$": Hypothesis(
            lambda c: sum(c.windows) < len(c.x),
            sufficient="before that there is no word $i - Lw$",
        ),
    }
    neighbors = {
        "$0.95\\,r$ in place of $r$": {"reach": 0.95},
        "part 2 without word 0": {"kept": False},
        "part 2 with word 1 in place of word 0": {"word": 1},
        "the share $(w + 1)^{-0.95 L}$": {"power": 0.95},
    }
    hard = (
        in_windows((0,)),
        in_windows((0, 3, 0)),
        in_windows((9,)),
        in_windows((3, 3, 3)),
        in_windows((1,) * 9),
        in_windows((2, 1), first=True),
        in_windows((1, 1, 1), first=True),
    )
    draws = Statement.draws // 4

    def draw(self, rng):
        windows = rng.integers(0, 3, size=rng.integers(1, 5))
        if rng.random() < 0.5:
            windows[:] = windows[0]
        first, seed = rng.random() < 0.08, rng.integers(10**6)
        return in_windows(tuple(map(int, windows)), first=first, seed=seed)

    def stack(self, c, x, word):
        """Return x through a layer per window, each with row maps, sums and two heads."""
        for n, left in enumerate(c.windows):
            mask = self.mask(c, left, word)
            heads = [self_attention(x, *matrices((c.seed, n, h)), mask=mask) for h in (0, 1)]
            x = np.tanh(x + heads[0] - heads[1])
            x = x - x.mean(axis=0) if c.mixes else x
        return x

    def mask(self, c, left, word):
        mask = window_mask(len(c.x), len(c.x), left, c.ahead)
        mask[word:, word] |= c.first
        mask[0] |= c.everyone
        return mask

    def holds(self, c, reach=1.0, kept=True, word=0, power=1.0):
        T, r = len(c.x), sum(c.windows)
        allowed = window_mask(T, T, math.floor(reach * r), 0)
        allowed[word:, word] |= c.first and kept
        before, moved = self.stack(c, c.x, word), np.zeros((T, T), bool)
        for j in range(T):
            x = c.x.copy()
            x[j] += 1
            moved[:, j] = (self.stack(c, x, word) != before).any(axis=1)
        if (moved & ~allowed).any():
            return False
        if c.first:
            return True
        shares, query = np.eye(T), np.ones((T, 1))
        key = c.lean * np.arange(T)[:, np.newaxis]
        for left in c.windows:
            shares = scaled_dot_product_attention(query, key, shares, mask=self.mask(c, left, 0))
        expected = math.prod(w + 1 for w in c.windows) ** -power
        return np.allclose(shares.diagonal(-r), expected, rtol=1e-12, atol=0)

    def test_a_first_word_that_sees_everyone_breaks_part_2(self):
        assert self.holds(in_windows((2, 1), first=True))
        assert not self.holds(in_windows((2, 1), first=True, everyone=True))


def of_a_prefix(p, n, words=7, **changed):
    """Return a case: three layers with a prefix of `p` words, cut after `n` words."""
    usual = {"masked": True, "by_length": False, "mixes": False, "seed": 0}
    x = np.random.default_rng(words).normal(size=(words, 3))
    return Case(p=p, n=n, **({"x": x} | usual | changed))


class TestPrefixMask(Statement):
    """thm-prefix-mask: after the prefix, cutting first and computing first give the same."""

    concludes = (
        "$F(X)_{<n} = F(X_{<n})$",
        "For $n < p$ this fails in general",
    )
    hypotheses = {
        "a prefix mask of $p$ words": Hypothesis(
            lambda c: c.masked, without=of_a_prefix(3, 5, masked=False)
        ),
        "maps that work row by row": Hypothesis(
            lambda c: not c.mixes, without=of_a_prefix(3, 5, mixes=True)
        ),
        "nothing that depends on the length of the text": Hypothesis(
            lambda c: not c.by_length, without=of_a_prefix(3, 5, by_length=True)
        ),
        r"$n \ge p$": Hypothesis(lambda c: c.n >= c.p, without=of_a_prefix(3, 2)),
    }
    neighbors = {
        r"for every $n \ge 0.95\,p$": {"least": 0.95},
        "for $n < p$ this fails always": {"always": True},
    }
    hard = (
        of_a_prefix(4, 4),
        of_a_prefix(7, 7),
        of_a_prefix(0, 3),
        of_a_prefix(20, 20, words=22),
        of_a_prefix(5, 6, x=np.ones((7, 3))),  # words that are all alike
    )
    draws = Statement.draws // 2

    def draw(self, rng):
        T = rng.integers(2, 9)
        p = rng.integers(1, T + 1)
        n, seed = rng.integers(p, T + 1), rng.integers(10**6)
        return of_a_prefix(p, n, x=rng.normal(size=(T, 3)), seed=seed)

    def deep(self, c, x):
        T = len(x)
        mask = causal_mask(T) | (np.arange(T) < c.p) | (not c.masked)
        for layer in range(3):
            w = matrices((c.seed, layer))
            w[0] = w[0] * (np.log(T) if c.by_length else 1.0)
            x = np.tanh(x + self_attention(x, *w, mask=mask))
            x = x - x.mean(axis=0) if c.mixes else x
        return x

    def holds(self, c, least=1.0, always=False):
        whole = self.deep(c, c.x)

        def alike(n):
            return np.allclose(whole[:n], self.deep(c, c.x[:n]), rtol=1e-9, atol=1e-10)

        within = range(1, c.p)
        return (
            alike(c.n)
            and all(alike(n) for n in within if n >= least * c.p)
            and not (always and any(map(alike, within)))
        )
