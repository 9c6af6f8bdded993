"""The theorems of the Concepts part. The docstring of a class begins with the theorem's label."""

import math

import numpy as np

from selfattn_ref import attention_weights, dot_similarity, softmax
from tests.theorems.statement import Case, Hypothesis, Statement


class TestConvexHull(Statement):
    """thm-convex-hull: a context vector stays between the words, along every direction."""

    concludes = (
        "every coordinate of $c$ lies between the smallest and the largest value",
        r"\min_j u \cdot x_j \le u \cdot c \le \max_j u \cdot x_j",
    )
    kind = "bound"
    hypotheses = {
        r"$a_0, \dots, a_{T-1} \ge 0$": Hypothesis(
            lambda c: c.shares.min() >= 0,
            without=Case(
                shares=np.array([2.0, -1.0]), words=np.array([[1.0], [0.0]]), u=np.array([1.0])
            ),
        ),
        r"$a_0 + \dots + a_{T-1} = 1$": Hypothesis(
            lambda c: math.isclose(math.fsum(c.shares), 1, rel_tol=1e-14),
            # What a source does before it normalizes: 1 bat + cos 45° cave.
            without=Case(
                shares=np.array([1.0, math.sqrt(0.5)]),
                words=np.array([[3.0, 3.0], [4.0, 0.0]]),
                u=np.array([1.0, 0.0]),
            ),
        ),
    }
    neighbors = {
        r"$\min_j u \cdot x_j < u \cdot c < \max_j u \cdot x_j$": {"strict": True},
        "the hull is 5 % narrower": {"width": 0.95},
    }
    hard = (
        Case(shares=np.array([0.0, 1.0]), words=np.array([[1.0], [2.0]]), u=np.array([1.0])),
        Case(shares=np.full(3, 1 / 3), words=np.full((3, 2), 7.0), u=np.array([0.6, 0.8])),
        Case(shares=np.array([1.0]), words=np.array([[1e300]]), u=np.array([-1.0])),
    )

    def draw(self, rng):
        n, d = rng.integers(2, 8), rng.integers(1, 5)
        scores = rng.normal(scale=rng.choice([0.1, 1, 5]), size=(1, n))
        u = rng.normal(size=d)
        return Case(shares=attention_weights(scores)[0], words=rng.normal(size=(n, d)), u=u)

    def holds(self, c, strict=False, width=1.0):
        along = [math.fsum(word * c.u) for word in c.words]
        heard = math.fsum(
            math.fsum(c.shares * column) * u for column, u in zip(c.words.T, c.u, strict=True)
        )
        middle, half = (max(along) + min(along)) / 2, width * (max(along) - min(along)) / 2
        if strict:
            return abs(heard - middle) < half
        return abs(heard - middle) <= half + 1e-14 * np.abs(along).max()

    def ratio(self, c):
        along = [math.fsum(word * c.u) for word in c.words]
        return math.fsum(c.shares * along) / max(along) if max(along) > 0 else 0.0


class TestAttentionHoldsOut(Statement):
    """thm-attention-holds-out: words of zeros weaken the average more than attention."""

    concludes = (
        r"r_n = \frac{e^s\,(n + 2)}{2e^s + n}",
        "this ratio is 1 for $n = 0$, grows with $n$, stays below $e^s$, and tends to $e^s$",
    )
    kind = "bound"
    hypotheses = {
        r"$x \cdot x = x \cdot y = s$": Hypothesis(
            lambda c: math.isclose(c.x @ c.x, c.x @ c.y, rel_tol=1e-12, abs_tol=1e-12),
            without=Case(x=np.array([1.0, 1.0]), y=np.array([0.0, 3.0]), others=np.zeros((3, 2))),
        ),
        "the other $n$ words of the sentence be zero vectors": Hypothesis(
            lambda c: not c.others.any(),
            without=Case(x=np.ones(2), y=np.array([0.0, 2.0]), others=np.eye(2)[:1]),
        ),
        "$s > 0$": Hypothesis(
            lambda c: c.x.any(),
            without=Case(x=np.zeros(2), y=np.ones(2), others=np.zeros((3, 2))),
        ),
    }
    neighbors = {
        "$0.95\\,s$ in place of $s$": {"rate": 0.95},
        "$n + 1.9$ in place of $n + 2$": {"words": 1.9},
        "stays below $0.98\\,e^s$": {"ceiling": 0.98},
        "is 1.05 for $n = 0$": {"start": 1.05},
        "tends to $1.05\\,e^s$": {"end": 1.05},
    }
    hard = tuple(
        Case(x=np.ones(2), y=np.array([0.0, 2.0]), others=np.zeros((n, 2)))
        for n in (0, 1, 1000, 100_000)
    )

    def draw(self, rng):
        x = rng.uniform(-2, 2, size=3)
        y = x + np.cross(x, rng.normal(size=3))  # x, and something across it
        return Case(x=x, y=y, others=np.zeros((rng.integers(0, 300), 3)))

    def holds(self, c, rate=1.0, words=2.0, ceiling=1.0, start=1.0, end=1.0):
        rows = np.array([c.x, c.y, *c.others])
        heard = attention_weights(dot_similarity(rows[:1], rows))[0] @ rows
        power, n = math.exp(rate * math.fsum(c.x * c.x)), len(c.others)

        def r(n):
            return power * (n + words) / (2 * power + n)

        return (
            np.allclose(heard, r(n) * rows.mean(axis=0), rtol=1e-11, atol=1e-13)
            and r(0) == start
            and r(n) < r(n + 1) < ceiling * power
            and math.isclose(r(1e14 * power), end * power, rel_tol=1e-12)
        )

    def ratio(self, c):
        power, n = math.exp(c.x @ c.x), len(c.others)
        return (n + 2) / (2 * power + n)


class TestNoMutualPreference(Statement):
    """thm-no-mutual-preference: two words never both prefer the other to themselves."""

    concludes = (r"s_{ij} \le \tfrac12 (s_{ii} + s_{jj}) \le \max(s_{ii}, s_{jj})",)
    kind = "bound"
    hypotheses = {
        r"$S = X X^\top$ for any real matrix $X$": Hypothesis(
            lambda c: np.array_equal(c.scores, dot_similarity(c.words)),
            # A matrix between the words swaps their coordinates.
            without=Case(words=np.eye(2), scores=np.array([[0.0, 1.0], [1.0, 0.0]])),
        )
    }
    neighbors = {
        r"$s_{ij} < \tfrac12 (s_{ii} + s_{jj})$ for $i \ne j$": {"strict": True},
        r"$s_{ij} \le 0.49\,(s_{ii} + s_{jj})$": {"half": 0.49},
    }

    def draw(self, rng):
        words = rng.normal(size=(rng.integers(2, 7), rng.integers(1, 5)))
        words *= rng.choice([1e-3, 1.0, 1e3], size=(len(words), 1))
        return Case(words=words, scores=dot_similarity(words))

    hard = tuple(
        Case(words=words, scores=dot_similarity(words))
        for words in (
            np.ones((2, 3)),
            np.zeros((3, 2)),
            np.array([[1.0, 2.0], [1.0, 2.0 + 2**-20]]),
        )
    )

    def holds(self, c, strict=False, half=0.5):
        own = c.scores.diagonal()
        apart = ~np.eye(len(own), dtype=bool)
        bound = half * (own[:, None] + own)
        if strict:
            return (c.scores < bound)[apart].all()
        rounding = 1e-14 * own.max()
        return (c.scores <= bound + rounding).all() and (
            bound <= np.maximum(own[:, None], own) + rounding
        ).all()

    def ratio(self, c):
        own = c.scores.diagonal()
        apart = ~np.eye(len(own), dtype=bool)
        sums = (own[:, None] + own)[apart]
        return float((2 * c.scores[apart] / np.where(sums, sums, 1)).max())

    def test_dot_products_of_any_embeddings(self):
        found = [*map(self.holds, self.searched())]
        assert all(found), "cannot make two words prefer each other to themselves"
        assert all(found), "No embeddings can, trained ones included"
        other = self.hypotheses[r"$S = X X^\top$ for any real matrix $X$"].without
        assert not self.holds(other), "as long as the scores are their dot products"


class TestSoftmaxMaximizes(Statement):
    """thm-softmax-maximizes: softmax maximizes the mean score plus temperature times entropy."""

    concludes = (
        "exactly one maximum",
        r"p^*_i = \frac{e^{s_i / \tau}}{Z}",
        r"its value there is $\tau \ln Z$",
    )
    hypotheses = {
        "finite real numbers": Hypothesis(
            lambda c: np.isfinite(c.scores).all(),
            sufficient="a score of −∞ hides a key, and the same holds for the keys that are left",
        ),
        r"$\tau > 0$": Hypothesis(
            lambda c: c.temperature > 0,
            without=Case(scores=np.zeros(2), temperature=-1.0, other=np.array([1.0, 0.0])),
        ),
        r"$p_i \ge 0$": Hypothesis(
            lambda c: (c.other >= 0).all(),
            sufficient="the entropy of negative shares is not defined",
        ),
        r"$\sum_i p_i = 1$": Hypothesis(
            lambda c: math.isclose(math.fsum(c.other), 1, rel_tol=1e-14),
            without=Case(scores=np.full(2, 5.0), temperature=1.0, other=np.ones(2)),
        ),
    }
    neighbors = {
        r"the maximum at $1.05\,\tau$": {"at": 1.05},
        r"the value $1.05\,\tau \ln Z$": {"value": 1.05},
    }
    hard = (
        Case(scores=np.zeros(4), temperature=1.0, other=np.eye(4)[0]),
        Case(scores=np.array([0.0]), temperature=0.1, other=np.ones(1)),
        Case(scores=np.array([2.0, 1.0, 0.0]), temperature=1.0, other=np.array([0.66, 0.25, 0.09])),
        Case(scores=np.array([700.0, -700.0]), temperature=0.5, other=np.array([0.5, 0.5])),
    )

    def draw(self, rng):
        n = rng.integers(1, 7)
        other = rng.dirichlet(np.full(n, rng.choice([0.1, 1, 10])))
        scores = rng.uniform(-20, 20, size=n)
        if rng.random() < 0.5:  # near the best
            other = 0.99 * softmax(scores) + 0.01 * other
        return Case(scores=scores, temperature=rng.uniform(0.1, 10), other=other / math.fsum(other))

    def holds(self, c, at=1.0, value=1.0):
        def free_energy(p):
            entropy = -math.fsum(share * math.log(share) for share in p if share > 0)
            return math.fsum(p * c.scores) + c.temperature * entropy

        best = softmax(c.scores / (at * c.temperature))
        highest = c.scores.max()
        log_sum = math.log(math.fsum(np.exp((c.scores - highest) / c.temperature)))
        expected = value * (highest + c.temperature * log_sum)
        reached, rounding = free_energy(best), 1e-12 * (1 + np.abs(c.scores).max())
        # Pinsker's inequality: shares that differ do worse, by so much at least.
        worse = c.temperature * np.abs(c.other - best).sum() ** 2 / 2
        return (
            math.isclose(reached, expected, rel_tol=1e-12, abs_tol=rounding)
            and free_energy(c.other) <= reached - worse + rounding
        )


GRID = np.linspace(-5, 5, 101)


class TestSoftmaxQuotient(Statement):
    """thm-softmax-quotient: of the quotients of positive numbers, only softmax ignores a shift."""

    concludes = (
        r"g(s) = g(0)\, e^{s/\tau}",
        r"p = \operatorname{softmax}(s / \tau)",
    )
    kind = "existence"
    hypotheses = {
        "a positive function on the real numbers": Hypothesis(
            lambda c: (c.g(GRID) > 0).all(),
            sufficient=r"where no weight is 0, a shift by $s/2$ makes $g(s)\, g(0)$ a square",
        ),
        "any two or more scores": Hypothesis(
            lambda c: c.n >= 2, without=Case(g=lambda s: np.log1p(np.exp(s)), n=1)
        ),
        "larger scores get larger weights": Hypothesis(
            lambda c: c.n < 2 or (np.diff(c.g(GRID)) > 0).all(),
            without=Case(g=lambda s: np.exp(-s), n=2),
        ),
        "adding one number to all scores never changes the weights": Hypothesis(
            lambda c: all(
                np.allclose(quotients(c, shift), quotients(c, 0), rtol=1e-9)
                for shift in (-1, 0.3, 2)
            ),
            without=Case(g=lambda s: np.log1p(np.exp(s)), n=2),
        ),
    }
    neighbors = {
        r"$g(s) = g(0)\, e^{1.05 s/\tau}$": {"rate": 1.05},
        r"$p = \operatorname{softmax}(1.05 s/\tau)$": {"sharper": 1.05},
    }

    def draw(self, rng):
        factor, temperature = rng.uniform(0.1, 10, size=2)
        n = rng.integers(2, 6)
        return Case(g=lambda s: factor * np.exp(s / temperature), n=n)

    def holds(self, c, rate=1.0, sharper=1.0):
        one = math.log(c.g(1.0) / c.g(0.0))
        made = c.g(0.0) * np.exp(rate * one * GRID)
        scores = GRID[: c.n]
        return (
            one > 0
            and np.allclose(c.g(GRID), made, rtol=1e-10)
            and np.allclose(quotients(c, 0), softmax(scores * sharper * one), rtol=1e-10)
        )

    def test_other_increasing_positive_functions_notice_a_shift(self):
        shift = self.hypotheses["adding one number to all scores never changes the weights"]
        for g in (
            lambda s: np.log1p(np.exp(s)),
            lambda s: 1 / (1 + np.exp(-s)),
            lambda s: np.exp(s) + 1,
            lambda s: np.exp(s + np.sin(s) / 2),
        ):
            assert (np.diff(g(GRID)) > 0).all()
            assert not shift.met(Case(g=g, n=3))


def quotients(c, shift):
    weights = c.g(GRID[: c.n] + shift)
    return weights / weights.sum()
