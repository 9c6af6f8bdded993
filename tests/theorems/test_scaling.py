"""The theorems of the part "Scaling", by exact enumeration or against 60 digits.

A random vector is an array of equally likely rows of whole numbers. Vectors in one case have
their rows in common: row by row, they are what happens together.
"""

import itertools
import math
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest

from selfattn_ref import softmax
from tests.theorems.statement import Case, Hypothesis, Statement


def mean(values):
    return Fraction(int(np.sum(values)), len(values))


def covariance(x, y):
    return mean(x * y) - mean(x) * mean(y)


def variance(values):
    return covariance(values, values)


def means(v):
    return [mean(entry) for entry in v.T]


def variances(v):
    return [variance(entry) for entry in v.T]


def average(numbers):
    return sum(numbers) / len(numbers)


def uncorrelated(v):
    return all(covariance(x, y) == 0 for x, y in itertools.combinations(v.T, 2))


def independent(*parts):
    """Return whether every combination of rows is as frequent as the rows alone make it."""
    rows = [np.unique(part, axis=0, return_inverse=True)[1].ravel() for part in parts]
    sizes = [row.max() + 1 for row in rows]
    together = np.bincount(np.ravel_multi_index(rows, sizes), minlength=math.prod(sizes))
    alone = np.ones(1)
    for row in rows:
        alone = np.outer(alone, np.bincount(row) / len(row)).ravel()
    return np.allclose(together / len(rows[0]), alone, rtol=1e-9, atol=0)


def every(values, width):
    """Return all vectors with these entries: equally likely if the entries are independent."""
    return np.array(list(itertools.product(values, repeat=width)))


def together(*parts):
    """Return every row of each part with every row of the others: what makes them independent."""
    rows = np.indices([len(part) for part in parts]).reshape(len(parts), -1)
    return [np.asarray(part)[row] for part, row in zip(parts, rows, strict=True)]


def meet(queries, keys, **more):
    """Return a case of independent vectors."""
    q, k = together(queries, keys)
    return Case(q=q, k=k, **more)


def centered(values):
    """Return a multiple of the values less their mean, in whole numbers."""
    return len(values) * values - values.sum()


def turned(vector):
    """Return vectors whose entries have mean 0 and one variance, however related they are."""
    rolled = [np.roll(vector, shift) for shift in range(len(vector))]
    return np.array([*rolled, *np.negative(rolled)])


def some(rng):
    return rng.integers(-4, 5, size=rng.integers(2, 4))


COIN = np.array([-1, 1])
EQUAL = np.array([[-1, -1], [1, 1]])
ONE_OF = turned(np.array([2, 0, 0]))  # uncorrelated, and far from independent


class TestVarianceOfADotProduct(Statement):
    """thm-dot-product-variance: the variance is d_k times the product of the variances."""

    concludes = (
        r"$\mathbb{E}[q \cdot k] = 0$",
        r"\operatorname{Var}(\query{q} \cdot \key{k}) = d_k\, \sigma_q^2\, \sigma_k^2",
    )
    hypotheses = {
        "A (between)": Hypothesis(
            lambda c: independent(c.q, c.k),
            without=Case(  # the key is the query or its opposite, by a coin
                q=np.tile(every(COIN, 3), (2, 1)), k=np.kron(COIN[:, None], every(COIN, 3))
            ),
        ),
        "B (means)": Hypothesis(
            lambda c: not any(means(c.q) + means(c.k)),
            without=Case(q=np.array([[0], [0], [2], [2]]), k=np.array([[-1], [1], [-1], [1]])),
        ),
        "C (variances)": Hypothesis(
            lambda c: len(set(variances(c.q))) == len(set(variances(c.k))) == 1,
            without=meet(*[every(COIN, 2) * [1, 2]] * 2),
        ),
        "D (within one)": Hypothesis(
            lambda c: uncorrelated(c.q) or uncorrelated(c.k), without=meet(EQUAL, EQUAL)
        ),
    }
    neighbors = {
        r"$1.05\, d_k\, \sigma_q^2\, \sigma_k^2$": {"factor": 1.05},
        r"divided by $d_k^{0.51}$ in place of $\sqrt{d_k}$": {"power": 0.51},
    }
    hard = (
        meet(EQUAL, every(COIN, 2)),
        meet(ONE_OF, np.repeat(COIN[:, None], 3, axis=1)),
        meet(every(COIN, 1), every(COIN, 1)),
        meet(every(COIN, 2), [[0, 0]]),
    )

    def draw(self, rng):
        width = rng.integers(1, 4)
        free = every(centered(some(rng)), width)
        if rng.random() < 0.3:
            free = turned(np.eye(width, dtype=int)[0] * rng.integers(1, 5))
        sides = [free, turned(rng.integers(-4, 5, size=width))]
        if rng.random() < 0.3:
            sides[1] = every(centered(some(rng)), width)
        return meet(*(sides if rng.random() < 0.5 else sides[::-1]))

    def holds(self, c, factor=1, power=0.5):
        products, width = (c.q * c.k).sum(axis=1), c.q.shape[1]
        both = average(variances(c.q)) * average(variances(c.k))
        scaled = variance(products) / width ** (2 * power)
        return (
            mean(products) == 0
            and variance(products) == factor * width * both
            and math.isclose(scaled, both, rel_tol=1e-12)
        )

    def test_any_two_entries_of_a_key_that_is_plus_or_minus_the_query_are_independent(self):
        case = self.hypotheses["A (between)"].without
        entries = np.concatenate([case.q, case.k], axis=1).T[:, :, np.newaxis]
        assert all(independent(*pair) for pair in itertools.combinations(entries, 2))


class TestMeansThatAreNotZero(Statement):
    """thm-dot-product-means: the mean and the variance for independent entries with any means."""

    concludes = (
        r"\mathbb{E}[q \cdot k] = d_k\, \mu_q\, \mu_k",
        r"d_k\, \sigma_k^2 \left(\sigma_q^2 + \mu_q^2\right)",
        r"d_k\, \sigma_q^2\, \mu_k^2",
    )
    # Every query meets every key.
    hypotheses = {
        "independent": Hypothesis(
            lambda c: independent(*c.q.T) and independent(*c.k.T), without=Case(q=EQUAL, k=EQUAL)
        ),
        r"mean $\mu_q$ and variance $\sigma_q^2$": Hypothesis(
            lambda c: len(set(means(c.q))) == len(set(variances(c.q))) == 1,
            without=Case(q=np.array([[1, 3]]), k=every([0, 2], 2)),
        ),
        r"mean $\mu_k$ and variance $\sigma_k^2$": Hypothesis(
            lambda c: len(set(means(c.k))) == len(set(variances(c.k))) == 1,
            without=Case(q=every([0, 2], 2), k=np.array([[1, 3]])),
        ),
        "all finite": Hypothesis(
            lambda c: np.isfinite(c.q).all() and np.isfinite(c.k).all(),
            sufficient="with an infinite mean or variance, the right sides are not numbers",
        ),
    }
    neighbors = {
        r"$1.05\, \sigma_q^2$ within a row": {"own": 1.05},
        r"$1.05\, \mu_q^2$ within a row": {"within": 1.05},
        r"$1.05\, \mu_k^2$ between rows": {"between": 1.05},
        r"a mean of $1.05\, d_k\, \mu_q\, \mu_k$": {"middle": 1.05},
    }
    hard = (
        Case(q=every([0, 2], 2), k=every([1], 2)),
        Case(q=every([3], 2), k=every([-1, 1, 6], 2)),
        Case(q=every(COIN, 3), k=every(COIN, 3)),
    )

    def draw(self, rng):
        width = rng.integers(1, 4)
        return Case(q=every(some(rng), width), k=every(some(rng), width))

    def holds(self, c, own=1, within=1, between=1, middle=1):
        rows, width = c.q @ c.k.T, c.q.shape[1]
        (m, v), (n, w) = ((average(means(x)), average(variances(x))) for x in (c.q, c.k))
        inside, across = width * w * (own * v + within * m**2), width * v * between * n**2
        squares = (rows**2).sum(axis=1) * len(c.k) - rows.sum(axis=1) ** 2
        return (
            mean(rows.ravel()) == middle * width * m * n
            and variance(rows.ravel()) == inside + across
            and mean(squares) / len(c.k) ** 2 == inside
            and variance(rows.sum(axis=1)) / len(c.k) ** 2 == across
        )


def row(queries, keys):
    """Return a case of independent queries and two keys."""
    return Case(**dict(zip(("q", "k0", "k1"), together(queries, keys, keys), strict=True)))


class TestRowsShareAQuery(Statement):
    """thm-rows-share-a-query: uncorrelated scores whose squares are correlated."""

    concludes = (
        r"\operatorname{Var}(s_j \mid q) = \sigma_k^2\, \lVert q \rVert^2",
        r"\operatorname{Cov}(s_0, s_1) = 0",
        r"\operatorname{Cov}(s_0^2, s_1^2) =",
        r"\sigma_k^4 \operatorname{Var}\!\left(\lVert q \rVert^2\right)",
    )
    hypotheses = {
        "all three together independent": Hypothesis(
            lambda c: independent(c.q, c.k0, c.k1),
            without=Case(  # any two of the three are independent
                q=np.array([[1], [1], [2], [2]]),
                k0=np.array([[-1], [1], [-1], [1]]),
                k1=np.array([[1], [-1], [-1], [1]]),
            ),
        ),
        "uncorrelated entries": Hypothesis(
            lambda c: uncorrelated(c.k0) and uncorrelated(c.k1), without=row([[1, 1]], EQUAL)
        ),
        "mean 0": Hypothesis(
            lambda c: not any(means(c.k0) + means(c.k1)),
            without=row([[1], [2]], np.array([[0], [2]])),
        ),
        r"finite variance $\sigma_k^2$": Hypothesis(
            lambda c: len({*variances(c.k0), *variances(c.k1)}) == 1,
            without=row([[1, 0]], every(COIN, 2) * [1, 2]),
        ),
        r"$\mathbb{E}\lVert q \rVert^4$ be finite": Hypothesis(
            lambda c: np.isfinite(c.q).all(),
            sufficient="otherwise the last right side is infinite",
        ),
    }
    neighbors = {
        r"$\operatorname{Var}(s_j \mid q) = 1.05\, \sigma_k^2\, \lVert q \rVert^2$": {"own": 1.05},
        r"$\lVert q \rVert^{2.1}$ in place of $\lVert q \rVert^2$": {"power": 2.1},
        r"$1.05\, \sigma_k^4$ in place of $\sigma_k^4$": {"squares": 1.05},
    }
    hard = (
        row(every(COIN, 2), every(COIN, 2)),
        row([[1], [1000]], every(COIN, 1)),
        row([[0, 0], [3, 4]], turned(np.array([2, 0]))),
        row([[1, 2]], every([0], 2)),
    )

    def draw(self, rng):
        width = rng.integers(1, 3)
        queries = rng.integers(-4, 5, size=(rng.integers(1, 5), width))
        keys = [every(centered(some(rng)), width), turned(np.eye(width, dtype=int)[0])]
        return row(queries, keys[rng.integers(2)])

    def holds(self, c, own=1, power=2, squares=1):
        scores = [(c.q * k).sum(axis=1) for k in (c.k0, c.k1)]
        sigma, lengths = average(variances(c.k0) + variances(c.k1)), (c.q**2).sum(axis=1)
        return (
            all(
                math.isclose(
                    variance(s[(c.q == q).all(axis=1)]),
                    own * sigma * float(q @ q) ** (power / 2),
                    rel_tol=1e-12,
                )
                for q in np.unique(c.q, axis=0)
                for s in scores
            )
            and covariance(*scores) == 0
            and covariance(scores[0] ** 2, scores[1] ** 2) == squares * sigma**2 * variance(lengths)
        )

    def test_without_different_lengths_signs_may_be_tied_and_sizes_not(self):
        case = row([[-1], [1]], np.array([[2], [-1], [-1]]))
        s0, s1 = ((case.q * k).sum(axis=1) for k in (case.k0, case.k1))
        assert mean(s0 > 0) == Fraction(1, 2)
        assert mean((s0 > 0) & (s1 > 0)) == Fraction(5, 18)
        assert independent(abs(s0), abs(s1))


def fresh(x, y, w_q, w_k):
    """Return a case of matrices of one shape, whose entries are in the rows given."""
    w_q, w_k = np.asarray(w_q), np.asarray(w_k)
    entries, shape = np.concatenate([w_q, w_k], axis=1), (len(w_q), len(x), -1)
    words = {"x": np.array(x), "y": np.array(y)}
    return Case(**words, w_q=w_q.reshape(shape), w_k=w_k.reshape(shape), entries=entries)


class TestScoresOfFreshWeights(Statement):
    """thm-scores-of-fresh-weights: fixed words, random matrices."""

    concludes = (
        r"$\sigma_q^2 = \sigma_W^2 \lVert x \rVert^2$ and $\sigma_k^2 =",
        r"\sigma_W^2 \lVert y \rVert^2$",
        r"= \sigma_W^4\, \lVert x \rVert^2\, \lVert y \rVert^2",
    )
    hypotheses = {
        "independent": Hypothesis(
            lambda c: independent(*c.entries.T),
            without=fresh([1], [1], every(COIN, 1), every(COIN, 1)),  # one matrix for both
        ),
        "mean 0": Hypothesis(
            lambda c: not any(means(c.entries)),
            without=fresh([1], [1], *together(every([0, 2], 1), every(COIN, 1))),
        ),
        r"finite variance $\sigma_W^2$": Hypothesis(
            lambda c: len(set(variances(c.entries))) == 1,
            without=fresh([1, 0], [1, 1], *together(*[every(COIN, 2) * [1, 2]] * 2)),
        ),
    }
    neighbors = {
        r"$\sigma_q^2 = 1.05\, \sigma_W^2 \lVert x \rVert^2$": {"query": 1.05},
        r"$\sigma_k^2 = 0.95\, \sigma_W^2 \lVert y \rVert^2$": {"key": 0.95},
        r"$1.05\, \sigma_W^4$ in place of $\sigma_W^4$": {"scaled": 1.05},
    }
    hard = (
        fresh([0, 0], [1, 2], *together(*[every(COIN, 4)] * 2)),
        fresh([1, 2], [1, 2], *together(*[every(COIN, 4)] * 2)),  # a word and itself
        fresh([3], [-3], *together(*[every(COIN, 2)] * 2)),
    )

    def draw(self, rng):
        words, width = ((2, 2), (2, 1), (1, 2), (1, 1))[rng.integers(4)]
        values = centered(some(rng)) if words * width < 4 else COIN * rng.integers(1, 5)
        x, y = rng.integers(-4, 5, size=(2, words))
        return fresh(x, y, *together(*[every(values, words * width)] * 2))

    def holds(self, c, query=1, key=1, scaled=1):
        q, k = (np.einsum("m,nmi->ni", x, w) for x, w in ((c.x, c.w_q), (c.y, c.w_k)))
        sigma = average(variances(c.entries))
        x2, y2 = int(c.x @ c.x), int(c.y @ c.y)
        return (
            independent(q, k)
            and not any(means(q) + means(k))
            and all(v == query * sigma * x2 for v in variances(q))
            and all(v == key * sigma * y2 for v in variances(k))
            and uncorrelated(q)
            and uncorrelated(k)
            and variance((q * k).sum(axis=1)) / q.shape[1] == scaled * sigma**2 * x2 * y2
        )

    def test_independence_in_pairs_is_not_enough(self):
        w_q, w_k, coin = every(COIN, 3).T
        for x, enough in (((3 + coin) // 2, True), ((3 + w_q * w_k) // 2, False)):  # 1 or 2
            assert independent(x, w_q), "independent of the word"
            assert independent(x, w_k)
            assert independent(w_q, w_k), "and of each other"
            fits = variance(x * w_q * x * w_k) == mean(x**4)
            if independent(x, w_q, w_k):
                assert fits, "The word and the two matrices must be independent all together"
            else:
                assert not fits, "Independence in pairs is not enough"
            assert fits == enough


def jacobian(p):
    return np.diag(p) - np.outer(p, p)


class TestSoftmaxJacobian(Statement):
    """thm-softmax-jacobian: diag(p) - p pᵀ, against differences with 60 digits."""

    concludes = (
        r"J_{ij} = \frac{\partial p_i}{\partial s_j} = p_i\, (\delta_{ij} - p_j)",
        r"J = \operatorname{diag}(p) - p\, p^\top",
        "$J$ is symmetric, and each of its rows and columns adds up to 0",
    )
    hypotheses = {
        "finite scores": Hypothesis(
            lambda c: np.isfinite(c.scores).all(),
            sufficient=r"at an infinite score there is no derivative; one of $-\infty$ hides a key",
        )
    }
    neighbors = {
        r"$p_i\, (\delta_{ij} - 1.05\, p_j)$": {"other": 1.05},
        r"$p_i\, (0.95\, \delta_{ij} - p_j)$": {"own": 0.95},
    }
    hard = tuple(
        Case(scores=np.array(s)) for s in ([3.0], [0.0, 0.0], [0.0, 40.0], [-700.0, 0.0, 700.0])
    )

    def draw(self, rng):
        return Case(scores=rng.uniform(-8, 8, size=rng.integers(2, 6)))

    def holds(self, c, other=1.0, own=1.0):
        with mpmath.workdps(60):
            step, n = mpmath.mpf(10) ** -20, len(c.scores)

            def shares(at, move):
                powers = [mpmath.exp(s + move * (j == at)) for j, s in enumerate(c.scores)]
                return [power / mpmath.fsum(powers) for power in powers]

            columns = [
                [(up - down) / (2 * step) for up, down in zip(*both, strict=True)]
                for both in ((shares(j, step), shares(j, -step)) for j in range(n))
            ]
            found = np.array(columns, dtype=float).T
        p = softmax(c.scores)
        expected = own * np.diag(p) - other * np.outer(p, p)
        return (
            np.allclose(found, expected, rtol=0, atol=1e-14)
            and np.allclose(found, found.T, rtol=0, atol=1e-16)
            and np.allclose(found.sum(axis=1), 0, rtol=0, atol=1e-16)
        )


class TestBoundsOnTheJacobian(Statement):
    """thm-softmax-jacobian-norm: between max p(1 - p) and twice that, at most one half."""

    concludes = (
        "every entry of $J$ is at most $m$ in size",
        r"m \le \lVert J \rVert_2 \le 2m \le \tfrac12",
    )
    kind = "bound"
    hypotheses = {
        r"$p_0, \dots, p_{n-1} \ge 0$": Hypothesis(
            lambda c: (c.p >= 0).all(), without=Case(p=np.array([2.0, -1.0]))
        ),
        r"$\sum_i p_i = 1$": Hypothesis(
            lambda c: math.isclose(math.fsum(c.p), 1, rel_tol=1e-14), without=Case(p=np.ones(2))
        ),
    }
    neighbors = {
        r"every entry of $J$ is at most $0.98\, m$ in size": {"entry": 0.98},
        r"$1.01\, m \le \lVert J \rVert_2$": {"low": 1.01},
        r"$\lVert J \rVert_2 \le 1.99\, m$": {"high": 1.99},
        r"$2m \le 0.499$": {"half": 0.499},
        r"$m < \lVert J \rVert_2$": {"above": True},
        r"$\lVert J \rVert_2 < 2m$": {"below": True},
    }
    hard = (
        Case(p=np.array([0.5, 0.5, 0.0])),
        Case(p=np.array([0.0, 1.0, 0.0])),
        Case(p=np.full(128, 1 / 128)),
        Case(p=np.array([1 - 2**-20, 2**-20])),
    )

    def draw(self, rng):
        n = rng.integers(3, 8)
        p = softmax(rng.normal(scale=rng.choice([0.1, 1, 5, 20]), size=n))
        return Case(p=p / math.fsum(p))

    def holds(self, c, entry=1, low=1, high=2, half=0.5, above=False, below=False):
        J, m = jacobian(c.p), (c.p * (1 - c.p)).max()
        norm = np.linalg.norm(J, 2)
        return (
            np.abs(J).max() <= entry * m + 1e-15
            and low * m - 1e-15 <= norm <= high * m + 1e-15
            and 2 * m <= half + 1e-15
            and (not above or m + 1e-15 < norm)
            and (not below or norm < 2 * m - 1e-15)
        )

    def ratio(self, c):
        m = (c.p * (1 - c.p)).max()
        return float(np.linalg.norm(jacobian(c.p), 2) / (2 * m)) if m > 1e-12 else 0.0


class TestSaturation(Statement):
    """thm-saturation: what is left to the others bounds the whole Jacobian."""

    concludes = (
        r"\lVert J \rVert_2 \le 2 \varepsilon",
        r"J_{ww} = \varepsilon (1 - \varepsilon)",
        r"\varepsilon \le (n - 1)\, e^{-g}",
        r"tends to 0 as $c \to \infty$",
    )
    kind = "bound"
    hypotheses = {
        "finite scores": Hypothesis(
            lambda c: np.isfinite(c.scores).all(),
            sufficient=r"a score of $-\infty$ hides a word, and the same holds for the others",
        ),
        r"$n \ge 2$": Hypothesis(
            lambda c: len(c.scores) >= 2, sufficient="with one word, all that is bounded is 0"
        ),
        "$w$ a word with the largest score": Hypothesis(
            lambda c: c.scores[c.word] == c.scores.max(),
            without=Case(scores=np.array([0.0, 10.0]), word=0, lead=10.0, alone=True),
        ),
        r"leads every other by at least $g \ge 0$": Hypothesis(
            lambda c: np.sort(c.scores)[-2:] @ [-1, 1] >= c.lead >= 0,
            without=Case(scores=np.array([0.0, 1.0]), word=1, lead=2.0, alone=True),
        ),
        # Part 3 is asked of the cases with `alone`.
        "only one word has the largest score": Hypothesis(
            lambda c: not c.alone or (c.scores == c.scores.max()).sum() == 1,
            without=Case(scores=np.array([3.0, 3.0, 1.0]), word=0, lead=0.0, alone=True),
        ),
    }
    neighbors = {
        r"$\lVert J \rVert_2 \le 1.99\, \varepsilon$": {"norm": 1.99},
        r"$\varepsilon \le 0.98\, (n - 1)\, e^{-g}$": {"left": 0.98},
        r"$\varepsilon \le (n - 1)\, e^{-1.02 g}$": {"rate": 1.02},
        r"$J_{ww} = 1.01\, \varepsilon (1 - \varepsilon)$": {"own": 1.01},
        "no other entry of $J$ is as large in size as $J_{ww}$": {"strict": True},
    }
    hard = (
        Case(scores=np.array([0.0, -12.0]), word=0, lead=12.0, alone=True),
        Case(scores=np.array([9.0, 0.0, 0.0, 0.0]), word=0, lead=9.0, alone=True),
        Case(scores=np.zeros(50), word=7, lead=0.0, alone=False),
        Case(scores=np.array([1.0, 1.0, 0.0]), word=1, lead=0.0, alone=False),
        Case(scores=np.array([0.2, 0.1, 0.1]), word=0, lead=0.05, alone=True),
    )

    def draw(self, rng):
        scores = rng.choice([0.1, 1, 5]) * rng.normal(size=rng.integers(2, 30)).round(3)
        word = int(scores.argmax())
        if alone := rng.random() < 0.95:
            scores[word] += 0.01
        else:
            scores[rng.integers(len(scores))] = scores[word]
        lead = np.sort(scores)[-2:] @ [-1, 1] * rng.choice([0, 0.5, 1])
        return Case(scores=scores, word=word, lead=lead, alone=alone)

    def holds(self, c, norm=2, left=1, rate=1, own=1, strict=False):
        p = softmax(c.scores)
        J, w = jacobian(p), c.word
        eps = math.fsum(np.delete(p, w))
        others = np.abs(np.delete(J.ravel(), w * len(p) + w)).max(initial=0)
        late = np.abs(jacobian(softmax(c.scores * 1e5)))
        return (
            np.linalg.norm(J, 2) <= norm * eps + 1e-15
            and abs(J[w, w] - own * eps * (1 - eps)) < 1e-15
            and (others < J[w, w] - 1e-15 if strict else others <= J[w, w] + 1e-15)
            and eps <= left * (len(p) - 1) * math.exp(-rate * c.lead) * (1 + 1e-12)
            and (not c.alone or late.max() < 1e-100)
        )

    def ratio(self, c):
        p = softmax(c.scores)
        return float(np.linalg.norm(jacobian(p), 2) / (2 * np.delete(p, c.word).sum()))


@cache
def mean_of_the_largest(n):
    """Return the mean of the largest of standard normal numbers."""
    return float(
        mpmath.quad(
            lambda x: x * n * mpmath.npdf(x) * mpmath.ncdf(x) ** (n - 1), [-12, -3, 0, 3, 12]
        )
    )


def jacobians(scores):
    p = softmax(scores)
    return p[:, :, np.newaxis] * (np.eye(p.shape[1]) - p[:, np.newaxis])


def norms(table):
    return np.linalg.norm(table, axis=(-2, -1))


@cache
def gradients(d, n, spread, own, power, near, draws=20_000):
    """Draw norms of J K, and those of J(z), without drawing K; say what each draw counts.

    In axes along the query, only the first column of K and the products of the rest count. `near`
    draws scores of which two nearly tie; a draw counts the less, the more frequent that makes it.
    """
    rng = np.random.default_rng(n)
    length = spread * np.sqrt(rng.chisquare(d, draws))
    z, counts = rng.standard_normal((draws, n)), np.ones(draws)
    if near:  # one key wins, by little, over the best of the others
        gap = rng.exponential(2.0, draws)
        z[:, 0] = z[:, 1:].max(axis=1) + gap / length
        density = np.exp(-(z[:, 0] ** 2) / 2) / math.sqrt(2 * math.pi)
        counts = n * density / length / (np.exp(-gap / 2) / 2)
    if own:  # the query is key 0
        z[:, 0] = length
    root = np.tril(rng.standard_normal((draws, n, n)), -1)  # by Bartlett
    diagonal = np.arange(n)
    root[:, diagonal, diagonal] = np.sqrt(rng.chisquare(d - 1 - diagonal, (draws, n)))
    keys, scale = np.concatenate([z[:, :, np.newaxis], root], axis=-1), float(d) ** -power
    whole = scale * norms(jacobians(scale * length[:, np.newaxis] * z) @ keys)
    return whole, norms(jacobians(z)), counts


class TestUnscaledGradient(Statement):
    """thm-unscaled-gradient: two effects cancel, so that the mean of the derivative stays."""

    concludes = (
        r"the probability of $D > \delta$ tends to 0",
        r"$\mathbb{E}[D]$ tends to $\mathbb{E}[\max_j z_j]$",
        r"$\mathbb{E}[D']$ tends to $\mathbb{E}\lVert J(z) \rVert_F$",
    )
    kind = "limit"
    hypotheses = {
        r"$n \ge 2$": Hypothesis(
            lambda c: c.n >= 2, sufficient="with one key, $D$, $D'$ and both limits are 0"
        ),
        "independent": Hypothesis(
            lambda c: not c.own, without=Case(d=10**6, n=3, spread=1.0, own=True)
        ),
        "standard normal numbers": Hypothesis(
            lambda c: c.spread == 1, without=Case(d=10**6, n=3, spread=2.0, own=False)
        ),
    }
    neighbors = {
        r"$\mathbb{E}[D]$ tends to $1.04\, \mathbb{E}[\max_j z_j]$": {"largest": 1.04},
        r"$\mathbb{E}[D']$ tends to $0.98\, \mathbb{E}\lVert J(z) \rVert_F$": {"flat": 0.98},
        r"$\mathbb{E}[D']$ tends to $1.02\, \mathbb{E}\lVert J(z) \rVert_F$": {"flat": 1.02},
        r"scores divided by $d^{0.49}$ in place of $\sqrt d$": {"power": 0.49},
    }
    hard = tuple(Case(d=d, n=n, spread=1.0, own=False) for n in (2, 8) for d in (10**4, 10**8))
    draws = 4

    def draw(self, rng):
        return Case(d=int(10 ** rng.uniform(4, 8)), n=rng.integers(2, 7), spread=1.0, own=False)

    def holds(self, c, largest=1.0, flat=1.0, power=0.5):
        place = c.d, c.n, c.spread, c.own
        unscaled, _, counts = gradients(*place, power=0, near=not c.own)
        scaled, at_z, _ = gradients(*place, power=power, near=False)
        limit, away = mean_of_the_largest(c.n), 1 / math.sqrt(c.d)
        error = 4 * (counts * unscaled).std() / math.sqrt(len(counts))
        return (
            (counts * (unscaled > 1e-3)).mean() <= 20 * limit * away
            and abs((counts * unscaled).mean() - largest * limit) < error + away
            and abs((scaled - flat * at_z).mean()) < away
        )

    @pytest.mark.parametrize("near", [False, True])
    def test_the_short_cuts_draw_what_whole_keys_give(self, near):
        rng = np.random.default_rng(0)
        q, k = rng.standard_normal((20_000, 1, 16)), rng.standard_normal((20_000, 3, 16))
        direct = norms(jacobians((q @ k.swapaxes(-1, -2))[:, 0]) @ k)
        short, _, counts = gradients(16, 3, 1.0, own=False, power=0, near=near)
        for moment in (1, 2):
            error = (direct**moment).std() / math.sqrt(len(direct))
            assert abs((direct**moment).mean() - (counts * short**moment).mean()) < 4 * error

    def test_it_tends_to_the_mean_of_the_largest(self):
        for c in self.hard:
            unscaled, _, counts = gradients(c.d, c.n, 1.0, own=False, power=0, near=True)
            off = (counts * unscaled).mean() / mean_of_the_largest(c.n) - 1
            assert abs(off) < 0.1, (
                "With respect to the query, "
                "it tends to the mean of the largest of n standard normal numbers"
            )
            assert not 1.6 < mean_of_the_largest(c.n) < 1.8, "tends to about 1.7 times"


class TestSampleVarianceOfScores(Statement):
    """thm-sample-variance-of-scores: its mean is (1 - 1/n) times the variance."""

    concludes = (r"has the mean $\left(1 - \frac1n\right) v$",)
    hypotheses = {
        "the same mean": Hypothesis(
            lambda c: len(set(means(c.scores))) == 1, without=Case(scores=np.array([[0, 2]]))
        ),
        "the same finite variance $v$": Hypothesis(
            lambda c: len(set(variances(c.scores))) == 1,
            sufficient="by the same proof, the claim holds of the mean of different variances",
        ),
        "uncorrelated": Hypothesis(lambda c: uncorrelated(c.scores), without=Case(scores=EQUAL)),
    }
    neighbors = {
        r"$\left(1 - \frac{1.05}{n}\right) v$": {"less": 1.05},
        r"$\left(1 - \frac{1}{1.05\, n}\right) v$": {"number": 1.05},
        r"$1.01 \left(1 - \frac1n\right) v$": {"factor": 1.01},
    }
    hard = (
        Case(scores=every(COIN, 1)),
        Case(scores=ONE_OF + 1),
        *(
            # All notebooks of signs with two queries and two keys: scores that share vectors.
            Case(scores=np.einsum("nid,njd->nij", *both).reshape(-1, 4))
            for width in (1, 2)
            for both in [np.split(every(COIN, 4 * width).reshape(-1, 4, width), 2, axis=1)]
        ),
    )

    def draw(self, rng):
        n = rng.integers(1, 5)
        scores = every(some(rng), n)
        if rng.random() < 0.3:
            scores = turned(np.eye(n, dtype=int)[0] * rng.integers(1, 5)) + rng.integers(-4, 5)
        return Case(scores=scores)

    def holds(self, c, less=1, number=1, factor=1):
        n = c.scores.shape[1]
        squares = n * (c.scores**2).sum(axis=1) - c.scores.sum(axis=1) ** 2
        expected = factor * (1 - less / (number * Fraction(n))) * average(variances(c.scores))
        return math.isclose(mean(squares) / n**2, expected, rel_tol=1e-12)


class TestAlignedScores(Statement):
    """thm-aligned-scores: signal and noise of a dot product, and Chebyshev's bound."""

    concludes = (
        r"\mathbb{E}[\query{q} \cdot \key{k}] = \rho\, d_k, \qquad",
        r"\sqrt{\operatorname{Var}(\query{q} \cdot \key{k})} = \sqrt{v\, d_k}",
        r"has the mean $\rho$ and the variance $v / d_k$",
        r"a probability of at most $v / (d_k\, \delta^2)$",
        r"has the mean $\rho \sqrt{d_k}$ and the variance $v$",
    )
    kind = "bound"
    hypotheses = {
        "independent of each other": Hypothesis(
            lambda c: independent(*np.stack([c.q, c.k], axis=-1).swapaxes(0, 1)),
            without=Case(q=EQUAL, k=np.ones((2, 2), dtype=int), delta=Fraction(2)),
        ),
        r"the mean $\rho$": Hypothesis(
            lambda c: len(set(means(c.q * c.k))) == 1,
            sufficient="by the same proof, all holds of the average of different means",
        ),
        "the finite variance $v$": Hypothesis(
            lambda c: len(set(variances(c.q * c.k))) == 1,
            sufficient="by the same proof, all holds of the average of different variances",
        ),
        r"$\delta > 0$": Hypothesis(
            lambda c: c.delta > 0,
            without=Case(q=every(COIN, 1), k=np.ones((2, 1), dtype=int), delta=Fraction(-10)),
        ),
    }
    neighbors = {
        r"the mean $1.05\, \rho\, d_k$": {"signal": 1.05},
        r"the variance $1.05\, v\, d_k$": {"noise": 1.05},
        r"the variance $v / d_k^{1.05}$ of part 1": {"power": 1.05},
        r"a probability of at most $0.98\, v / (d_k\, \delta^2)$": {"chebyshev": 0.98},
        r"differs from $\rho$ by $0.99\, \delta$ or more": {"far": 0.99},
        "a probability below the bound": {"strict": True},
    }
    hard = (
        Case(q=every(COIN, 1), k=np.ones((2, 1), dtype=int), delta=Fraction(1)),
        Case(q=every(COIN, 1), k=np.ones((2, 1), dtype=int), delta=Fraction(1001, 1000)),
        Case(q=every([0, 2], 2), k=np.full((4, 2), 3), delta=Fraction(3)),
        Case(q=every([-1, 1, 1, 1], 3), k=np.ones((64, 3), dtype=int), delta=Fraction(1, 2)),
        Case(q=every([-2, 0, 0, 2], 1), k=np.ones((4, 1), dtype=int), delta=Fraction(2)),
    )

    def draw(self, rng):
        pairs, width = rng.integers(-4, 5, size=(rng.integers(2, 5), 2)), rng.integers(1, 4)
        pairs[0] = 1, 5  # so that the mean of the products is seldom 0
        pick = every(range(len(pairs)), width)
        return Case(q=pairs[pick, 0], k=pairs[pick, 1], delta=Fraction(int(rng.integers(1, 30)), 4))

    def sides(self, c, far=1):
        """Return the probability of part 1 and the bound on it."""
        terms, width = c.q * c.k, c.q.shape[1]
        off = terms.sum(axis=1) * len(terms) - terms.sum()
        away = abs(off) * c.delta.denominator >= far * c.delta.numerator * width * len(terms)
        return mean(away), average(variances(terms)) / (width * c.delta**2)

    def holds(self, c, signal=1, noise=1, power=1, chebyshev=1, far=1, strict=False):
        terms, width = c.q * c.k, c.q.shape[1]
        rho, v, products = average(means(terms)), average(variances(terms)), terms.sum(axis=1)
        share, bound = self.sides(c, far)
        return (
            mean(products) == signal * rho * width
            and variance(products) == noise * v * width
            and math.isclose(variance(products) / width**2, v / width**power, rel_tol=1e-12)
            and (share < bound if strict else share <= chebyshev * bound)
        )

    def ratio(self, c):
        share, bound = self.sides(c)
        return float(share / bound) if bound else 0.0


def directions(v):
    return v / np.linalg.norm(v, axis=1, keepdims=True)


def products(v):
    """Return the mean products of two entries of the direction."""
    return directions(v).T @ directions(v) / len(v)


class TestVarianceOfACosine(Statement):
    """thm-variance-of-a-cosine: the mean square of a cosine is one over the width."""

    concludes = (
        r"$\mathbb{E}[\cos^2(q, k)] = 1 / d_k$",
        "the cosine has mean 0, and $1/d_k$ is its variance",
        "All three conditions on $u$ hold if",
    )
    hypotheses = {
        "$q$ and $k$ be independent": Hypothesis(
            lambda c: independent(c.q, c.k),
            without=Case(q=turned(np.array([1, 0])), k=turned(np.array([1, 0])), entries=False),
        ),
        "never zero": Hypothesis(
            lambda c: c.q.any(axis=1).all() and c.k.any(axis=1).all(),
            sufficient="the cosine with a zero vector is not defined",
        ),
        # Cases with `entries` are for the last sentence, which claims the conditions on u.
        r"$\mathbb{E}[u_i u_j] = 0$ for $i \ne j$": Hypothesis(
            lambda c: c.entries or np.allclose((u := products(c.q)), np.diag(u.diagonal())),
            without=meet(EQUAL, [[1, 1]], entries=False),
        ),
        r"$\mathbb{E}[u_i^2] = 1/d_k$ for all $i$": Hypothesis(
            lambda c: c.entries or np.allclose(products(c.q).diagonal(), 1 / c.q.shape[1]),
            without=meet([[-1, 0], [1, 0]], [[1, 0]], entries=False),
        ),
        r"$\mathbb{E}[u_i] = 0$ for all $i$": Hypothesis(
            lambda c: c.entries or np.allclose(directions(c.q).mean(axis=0), 0),
            without=meet([[1, 0], [0, 1]], [[1, 1]], entries=False),
        ),
        "the entries of $q$ are independent": Hypothesis(
            lambda c: not c.entries or independent(*c.q.T),
            without=meet(EQUAL, [[1, 1]], entries=True),
        ),
        "one and the same distribution": Hypothesis(
            lambda c: not c.entries or not np.ptp(np.sort(c.q, axis=0), axis=1).any(),
            without=meet(every(COIN, 2) * [1, 2], [[1, 0]], entries=True),
        ),
        "symmetric around 0": Hypothesis(
            lambda c: not c.entries or np.array_equal(np.sort(c.q, axis=0), np.sort(-c.q, axis=0)),
            without=meet(every([1, 2], 2), [[1, 1]], entries=True),
        ),
    }
    neighbors = {
        r"$\mathbb{E}[\cos^2(q, k)] = 1.05 / d_k$": {"square": 1.05},
        r"$\mathbb{E}[\cos^2(q, k)] = 1 / d_k^{1.05}$": {"power": 1.05},
        r"$0.95 / d_k$ is its variance": {"spread": 0.95},
        r"in the last sentence, $\mathbb{E}[u_i^2] = 1.05 / d_k$": {"entry": 1.05},
    }
    hard = (
        meet(ONE_OF, [[3, 0, 0]], entries=False),
        meet(every([-1000, -1, 1, 1000], 2), [[1, 1000]], entries=True),
        meet(every(COIN, 1), [[5]], entries=True),
        meet(every(COIN, 3), every(COIN, 3), entries=True),
    )

    def draw(self, rng):
        width = rng.integers(1, 4)
        keys = rng.integers(1, 5, size=(rng.integers(1, 3), width)) * rng.choice(COIN, size=width)
        if rng.random() < 0.2:
            return meet(turned(np.eye(width, dtype=int)[0]), keys, entries=False)
        sizes = rng.integers(1, 6, size=rng.integers(1, 3))
        return meet(every([*sizes, *-sizes], width), keys, entries=True)

    def holds(self, c, square=1.0, power=1.0, spread=1.0, entry=1.0):
        width = c.q.shape[1]
        cosines = (directions(c.q) * directions(c.k)).sum(axis=1)
        return (
            math.isclose((cosines**2).mean(), square / width**power, rel_tol=1e-12)
            and abs(cosines.mean()) < 1e-12
            and math.isclose(cosines.var(), spread / width, rel_tol=1e-12)
            and (
                not c.entries
                or (
                    np.allclose(products(c.q), entry * np.eye(width) / width, rtol=1e-12)
                    and np.allclose(directions(c.q).mean(axis=0), 0, atol=1e-12)
                )
            )
        )

    def test_the_mean_square_needs_no_mean_direction_of_zero(self):
        case = self.hypotheses[r"$\mathbb{E}[u_i] = 0$ for all $i$"].without
        cosines = (directions(case.q) * directions(case.k)).sum(axis=1)
        u = products(case.q)
        assert math.isclose((cosines**2).mean(), 1 / 2), "1/d is the mean square"
        assert math.isclose(u[0, 0], 1 / 2), "the squares of one direction's entries have mean 1/d"
        assert math.isclose(u[0, 1], 0), "the products of two different entries have mean 0"
        assert not math.isclose(cosines.var(), 1 / 2), "The variance of the cosine"
        both_ways = Case(q=np.vstack([case.q, -case.q]), k=np.vstack([case.k] * 2), entries=False)
        assert not directions(both_ways.q).sum(axis=0).any(), "if the entries have mean 0, too"
        assert self.holds(both_ways), "It is also the variance"
