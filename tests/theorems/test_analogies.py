"""The theorems of the part "Analogies", on numbers that no page has seen.

Where it can be, the expected side is exact: fractions and plain loops, no NumPy.
"""

import itertools
import math
from fractions import Fraction

import numpy as np

from selfattn_ref import dot_similarity, scaled_dot_product_attention, softmax
from selfattn_ref.worked_examples import load
from tests.support.digits import mp50, transpose
from tests.theorems.statement import Case, Hypothesis, Statement


def table(rng, rows, columns, most=9):
    """Draw a list of rows of integers."""
    return rng.integers(-most, most + 1, size=(rows, columns)).tolist()


def eighths(rng, *shape):
    """Draw eighths: exact in floats, and ties are frequent."""
    return rng.integers(-24, 25, size=shape) / 8


def product(a, b):
    """Multiply two matrices of exact numbers by loops."""
    columns = list(zip(*b, strict=True))
    return [[sum(x * y for x, y in zip(row, c, strict=True)) for c in columns] for row in a]


def reduced(matrix):
    """Return the reduced echelon form of a matrix, in fractions, and its pivot columns."""
    rows = [[Fraction(entry) for entry in row] for row in matrix]
    pivots = []
    for column in range(len(rows[0])):
        done = len(pivots)
        found = next((i for i in range(done, len(rows)) if rows[i][column]), None)
        if found is None:
            continue
        rows[done], rows[found] = rows[found], rows[done]
        rows[done] = [entry / rows[done][column] for entry in rows[done]]
        for i in range(len(rows)):
            if i != done:
                factor = rows[i][column]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[done], strict=True)]
        pivots.append(column)
    return rows, pivots


def rank(matrix):
    return len(reduced(matrix)[1])


class TestSoftLookupLimit(Statement):
    """thm-soft-lookup-limit: a soft look-up tends to the mean of the best entries, at a rate."""

    concludes = (
        r"a_j \to \frac{1}{|J|} \text{ for } j \in J, \qquad",
        r"a_j \to 0 \text{ for } j \notin J, \qquad o_\beta \to \bar v",
        r"\lVert o_\beta - \bar v \rVert \le \frac{n - |J|}{|J|}\,",
        r"e^{-\beta g} \max_{j \notin J} \lVert v_j - \bar v \rVert",
    )
    kind = "bound"
    hypotheses = {
        r"$n \ge 1$": Hypothesis(
            lambda c: len(c.scores) >= 1, sufficient="without scores, none is the largest"
        ),
        "finite real numbers": Hypothesis(
            lambda c: np.isfinite(c.scores).all(),
            without=Case(scores=[math.inf, 0.0], values=[[0.0], [1.0]], beta=1.0),
        ),
        r"$\beta \ge 0$": Hypothesis(
            lambda c: c.beta >= 0,
            without=Case(
                scores=[0.0] * 10 + [-1e-3, -100.0], values=[[0.0]] * 11 + [[1.0]], beta=-1.0
            ),
        ),
    }
    neighbors = {
        r"$e^{-1.02\, \beta g}$ in place of $e^{-\beta g}$": {"rate": 1.02},
        r"$0.95\,(n - |J|)/|J|$ in place of $(n - |J|)/|J|$": {"factor": 0.95},
        r"$<$ in place of $\le$": {"strict": True},
        r"$a_j \to 1$ for the first $j \in J$": {"first": True},
    }
    hard = (
        # Two entries, 0 and 1, with gap 1/4: the distance is exactly 1 / (1 + e**(beta/4)).
        *(Case(scores=[0.25, 0], values=[[0.0], [1.0]], beta=b) for b in (0.0, 1.0, 7.0, 64.0)),
        Case(scores=[1.0, 0, 1, 0, 0], values=[[0.0], [1], [0], [1], [1]], beta=15.0),
        Case(scores=[1.0, 1, 0], values=[[0.0, 2], [0, -2], [0, 0]], beta=2.0),
        Case(scores=[2.0, 2, 2], values=[[1.0], [2], [6]], beta=3.0),
        Case(scores=[-5.0], values=[[7.0]], beta=60.0),
    )

    def draw(self, rng):
        n = rng.integers(1, 7)
        scores = eighths(rng, n).tolist()
        beta = rng.uniform(0, 15) / (
            max(scores) - max((s for s in scores if s < max(scores)), default=-4)
        )
        return Case(scores=scores, values=eighths(rng, n, 2).tolist(), beta=beta)

    def parts(self, c):
        """Return the best entries and their mean, the difference from it, the gap, the bound."""
        best = [j for j, s in enumerate(c.scores) if s == max(c.scores)]
        others = [j for j in range(len(c.scores)) if j not in best]
        mean = [
            math.fsum(c.values[j][i] for j in best) / len(best) for i in range(len(c.values[0]))
        ]
        if not others:
            return best, mean, [0.0] * len(mean), 1.0, (0.0, 0.0)
        behind = {j: max(c.scores) - c.scores[j] for j in others}
        parts = {j: math.exp(-c.beta * behind[j]) for j in others}
        whole = len(best) + math.fsum(parts.values())
        away = [
            math.fsum(parts[j] / whole * (c.values[j][i] - mean[i]) for j in others)
            for i in range(len(mean))
        ]
        far = max(math.dist(c.values[j], mean) for j in others)
        return best, mean, away, min(behind.values()), (len(others) / len(best), far)

    def holds(self, c, rate=1.0, factor=1.0, strict=False, first=False):
        best, mean, away, gap, (others, far) = self.parts(c)
        keys = [[s] for s in c.scores]
        (output,) = scaled_dot_product_attention([[1.0]], keys, c.values, scale=c.beta)
        if not np.allclose(output, np.add(mean, away), rtol=1e-12, atol=1e-13):
            return False
        distance, bound = math.hypot(*away), factor * others * math.exp(-rate * c.beta * gap) * far
        limit = np.zeros(len(keys))
        limit[best[:1] if first else best] = 1 if first else 1 / len(best)
        late = softmax(np.multiply(c.scores, 50 / gap))  # of the others, n e**-50 is left at most
        below = distance < bound if strict else distance <= bound * (1 + 1e-12)
        return (below or len(best) == len(keys)) and np.allclose(
            late, limit, rtol=1e-14, atol=1e-20
        )

    def ratio(self, c):
        *_, away, gap, (others, far) = self.parts(c)
        bound = others * math.exp(-c.beta * gap) * far
        return math.hypot(*away) / bound if bound else 0.0


class TestKernelRegression(Statement):
    """thm-kernel-regression: shares are bells of the distance, times what length adds."""

    concludes = (
        r"a_j = \frac{w_j\, e^{-\beta \lVert q - k_j \rVert^2 / 2}}",
        r"w_j = e^{\beta \lVert k_j \rVert^2 / 2}",
        "the $w_j$ cancel",
    )
    hypotheses = {
        "of one width": Hypothesis(
            lambda c: len({len(c.q), *map(len, c.keys), *map(len, c.round)}) == 1,
            sufficient="otherwise there is no dot product and no distance",
        ),
        r"$\beta \ge 0$": Hypothesis(
            lambda c: c.beta >= 0, sufficient=r"the proof holds for every real $\beta$"
        ),
        "all keys have the same length": Hypothesis(
            lambda c: len({round(math.hypot(*k), 12) for k in c.round}) == 1,
            # The query stands on the first key, and the second, farther away and longer, wins.
            without=Case(q=[1.0], keys=[[1.0], [3.0]], round=[[1.0], [3.0]], beta=1.0),
        ),
    }
    neighbors = {
        r"$w_j = e^{1.05\, \beta \lVert k_j \rVert^2 / 2}$": {"longer": 1.05},
        r"$e^{-1.05\, \beta \lVert q - k_j \rVert^2 / 2}$": {"bell": 1.05},
        "only the distances count if the lengths of the keys are within 1%": {"stretch": 1.01},
    }
    hard = tuple(
        Case(
            q=[1.0, 0.0],
            keys=[[0.0, 0], [2, 0], [1, 1]],  # all at distance 1
            round=[[3.0, 4], [5, 0], [0, -5], [-4, 3]],
            beta=beta,
        )
        for beta in (0.0, 0.5, 3.0)
    )

    def draw(self, rng):
        n, width = rng.integers(1, 6), rng.integers(1, 4)
        ways = rng.normal(size=(n, width))
        ways *= rng.uniform(0.5, 3) / np.linalg.norm(ways, axis=1, keepdims=True)
        return Case(
            q=eighths(rng, width).tolist(),
            keys=eighths(rng, n, width).tolist(),
            round=ways.tolist(),  # their ends lie on a circle or a sphere
            beta=rng.uniform(0, 2),
        )

    def holds(self, c, longer=1.0, bell=1.0, stretch=1.0):
        def near(keys, length):
            exponents = [
                c.beta / 2 * (length * math.hypot(*k) ** 2 - bell * math.dist(c.q, k) ** 2)
                for k in keys
            ]
            parts = [math.exp(e - max(exponents)) for e in exponents]
            (shares,) = scaled_dot_product_attention([c.q], keys, np.eye(len(keys)), scale=c.beta)
            expected = [part / math.fsum(parts) for part in parts]
            return np.allclose(shares, expected, rtol=1e-9, atol=1e-12)

        first, *others = c.round
        return near(c.keys, longer) and near([[stretch * x for x in first], *others], 0)

    def test_a_longer_key_that_points_away_counts_for_less(self):
        q = np.array([[1.0, 0]])
        before, after = (
            softmax(dot_similarity(q, np.array([[-length, 0], [0, 1]])))[0] for length in (1, 2)
        )
        assert after[0] < before[0]


class TestHopfieldEnergy(Statement):
    """thm-hopfield-energy: a look-up of keys by keys lowers the energy by half its step squared."""

    concludes = (
        r"$E(q') \le E(q) - \tfrac12 \lVert q' - q \rVert^2$",
        "tend to 0",
    )
    kind = "bound"
    hypotheses = {
        r"$n \ge 1$": Hypothesis(
            lambda c: len(c.keys) >= 1, sufficient="without keys there are no shares"
        ),
        r"$\beta > 0$": Hypothesis(
            lambda c: c.beta > 0,
            without=Case(q=[1.0], keys=[[1.0], [-1.0]], values=[[1.0], [-1.0]], beta=-1.0),
        ),
        r"$q' = \sum_j a_j k_j$": Hypothesis(
            lambda c: c.values == c.keys,
            without=Case(q=[0.0], keys=[[1.0], [-1.0]], values=[[3.0], [3.0]], beta=0.5),
        ),
    }
    neighbors = {
        r"$E(q') \le E(q) - 0.51\, \lVert q' - q \rVert^2$": {"half": 0.51},
        r"$E(q') < E(q)$, whatever $q$ is": {"strict": True},
        "$0.51$ times the squares of all steps are at most what is above the lowest energy": {
            "path": 0.51
        },
        r"$\tfrac{1.05}{\beta} \ln \sum_j e^{\beta\, q \cdot k_j}$ in the energy": {"log": 1.05},
        "no step is longer than the one before": {"shorter": True},
    }
    hard = tuple(
        Case(q=q, keys=keys, values=keys, beta=beta)
        for q, keys, beta in (
            ([3.0], [[1.0]], 2.0),  # one key: the bound is reached
            ([0.0], [[1.0], [-1.0]], 4.0),  # at rest on a ridge
            ([1e-2], [[1.0], [-1.0]], 4.0),  # beside it: the steps grow
            ([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]], 1e-3),
            ([2.0, -2.0], [[3.0, 3.0], [-3.0, -3.0], [3.0, -2.0]], 50.0),
        )
    )

    def draw(self, rng):
        keys = eighths(rng, rng.integers(1, 6), 2).tolist()
        beta = rng.choice([0.01, 0.1, 1, 5, 20]) * rng.uniform(0.5, 1)
        return Case(q=eighths(rng, 2).tolist(), keys=keys, values=keys, beta=beta)

    def step(self, c, log=1.0):
        """Return the next q, the loss of energy and the square of the step, in 50 digits."""

        beta = mp50.mpf(float(c.beta))

        def powers_of(q):
            return [mp50.exp(beta * mp50.fdot(q, key)) for key in c.keys]

        def energy(q):
            return mp50.fdot(q, q) / 2 - log * mp50.log(mp50.fsum(powers_of(q))) / beta

        q, powers = [mp50.mpf(x) for x in c.q], powers_of(c.q)
        after = [
            mp50.fdot(powers, column) / mp50.fsum(powers) for column in zip(*c.values, strict=True)
        ]
        square = mp50.fsum((x - y) ** 2 for x, y in zip(q, after, strict=True))
        return after, energy(q) - energy(after), square

    def holds(self, c, half=0.5, path=0.5, log=1.0, strict=False, shorter=False):
        after, lost, square = self.step(c, log)
        q, steps = c.q, []
        for _ in range(10):
            (new,) = scaled_dot_product_attention([q], c.keys, c.values, scale=c.beta).tolist()
            if not steps and not np.allclose(new, [float(x) for x in after], rtol=0, atol=1e-12):
                return False
            steps.append(math.dist(q, new))
            q = new
        # The squares of all steps have a finite sum, so the steps tend to 0.
        longest = max(math.hypot(*k) for k in c.keys)
        floor = -(longest**2) / 2 - math.log(len(c.keys)) / c.beta
        powers = [c.beta * math.fsum(np.multiply(c.q, k)) for k in c.keys]
        log_sum = max(powers) + math.log(math.fsum(math.exp(p - max(powers)) for p in powers))
        energy = math.hypot(*c.q) ** 2 / 2 - log_sum / c.beta
        return (
            lost >= half * square - mp50.mpf(10) ** -40
            and (not strict or lost > 0)
            and path * math.fsum(s * s for s in steps) <= (energy - floor) * (1 + 1e-12) + 1e-12
            and (not shorter or all(b <= a + 1e-12 for a, b in itertools.pairwise(steps)))
        )

    def ratio(self, c):
        _, lost, square = self.step(c)
        return float(square / 2 / lost) if lost else 0.0


class TestNewGuest(Statement):
    """thm-new-guest: a new key takes the same part from the share of every other key."""

    concludes = (
        r"$a'_j = (1 - a'_n)\, a_j$",
        r"$c' = (1 - a'_n)\, c + a'_n\, v_n$",
    )
    hypotheses = {
        "finite scores": Hypothesis(
            lambda c: all(0 < w < math.inf for w in (*c.before, *c.after)),
            sufficient=r"a score of $-\infty$ hides a key, and the same holds for the others; "
            r"with a score of $\infty$ there are no shares",
        ),
        "$a'$ the softmax of all $n + 1$": Hypothesis(
            lambda c: c.before == c.after[:-1],
            # The newcomer changes another score.
            without=Case(before=[1, 1, 2], after=[1, 3, 2, 2], values=[[1], [2], [3], [4]]),
        ),
        r"$n \ge 1$": Hypothesis(
            lambda c: len(c.before) >= 1,
            sufficient="without earlier keys, the first claim is about none, and $c' = v_0$",
        ),
    }
    neighbors = {
        "$a'_j = (1 - 1.05\\,a'_n)\\,a_j$": {"paid": 1.05},
        "$c' = (1 - a'_n)\\,c + 1.05\\,a'_n\\,v_n$": {"told": 1.05},
        "$c' = 0.95\\,(1 - a'_n)\\,c + a'_n\\,v_n$": {"kept": 0.95},
    }
    hard = (
        Case(before=[1], after=[1, 1], values=[[1], [-1]]),
        Case(before=[1, 3], after=[1, 3, 10**12], values=[[1, 0], [0, 1], [2, 2]]),
        Case(before=[1, 10**12], after=[1, 10**12, 1], values=[[0], [0], [0]]),
    )

    def draw(self, rng):
        n = rng.integers(1, 7)
        after = rng.integers(1, 51, size=n + 1).tolist()
        return Case(before=after[:-1], after=after, values=table(rng, n + 1, 2))

    def holds(self, c, paid=1, told=1, kept=1):
        # The score ln w has the exponential w: shares are fractions.
        before = [Fraction(w, sum(c.before)) for w in c.before]
        part = Fraction(c.after[-1], sum(c.after))
        after = [(1 - Fraction(paid) * part) * share for share in before] + [part]
        (context,) = product([before], c.values[:-1])
        moved = [
            Fraction(kept) * (1 - part) * old + Fraction(told) * part * new
            for old, new in zip(context, c.values[-1], strict=True)
        ]
        scores = np.log([float(w) for w in c.after])
        (output,) = scaled_dot_product_attention([[1.0]], scores[:, None], c.values, scale=1.0)
        return (
            np.allclose(softmax(np.log(c.before)), [float(a) for a in before], rtol=1e-12, atol=0)
            and np.allclose(softmax(scores), [float(a) for a in after], rtol=1e-12, atol=0)
            and np.allclose(output, [float(x) for x in moved], rtol=0, atol=1e-12)
        )


class TestContextHidesShares(Statement):
    """thm-context-hides-shares: with d_v + 2 values or more, other shares give the context."""

    concludes = (r"$\sum_j a'_j v_j = c$ and $a'_j = 0 < a_j$ for at least one $j$",)
    kind = "existence"
    hypotheses = {
        r"$T \ge d_v + 2$": Hypothesis(
            lambda c: len(c.values) >= len(c.values[0]) + 2,
            # The context is the second share.
            without=Case(values=[[0], [1]], shares=[Fraction(1, 3), Fraction(2, 3)]),
        ),
        "$a_j > 0$": Hypothesis(
            lambda c: min(c.shares) > 0,
            # The corner of a triangle.
            without=Case(
                values=[[0, 0], [3, 0], [0, 3], [1, 1]], shares=[Fraction(s) for s in (1, 0, 0, 0)]
            ),
        ),
        r"$\sum_j a_j = 1$": Hypothesis(
            lambda c: sum(c.shares) == 1, without=Case(values=[[1]] * 3, shares=[Fraction(1)] * 3)
        ),
    }
    neighbors = {"for at least two $j$": {"zeros": 2}}
    hard = (
        Case(values=[[0], [2], [3]], shares=[Fraction(1, 3)] * 3),
        Case(values=[[2]] * 3, shares=[Fraction(1, 3)] * 3),
        Case(values=[[0], [0], [1], [10**9]], shares=[Fraction(1, 4)] * 4),
        Case(values=[[0, 0], [0, 1], [0, 2], [0, 3]], shares=[Fraction(1, 4)] * 4),
    )

    def draw(self, rng):
        width = rng.integers(1, 4)
        size = width + rng.choice([2, 3, 4, 5], p=[0.04, 0.32, 0.32, 0.32])
        parts = rng.integers(1, 21, size=size).tolist()
        return Case(
            values=table(rng, size, width, most=4),
            shares=[Fraction(part, sum(parts)) for part in parts],
        )

    def holds(self, c, zeros=1):
        context, others = product([c.shares], c.values), list(c.shares)
        while sum(new == 0 < old for new, old in zip(others, c.shares, strict=True)) < zeros:
            heard = [j for j, share in enumerate(others) if share]
            rows, pivots = reduced(transpose([[*c.values[j], 1] for j in heard]))
            free = next((k for k in range(len(heard)) if k not in pivots), None)
            if free is None:
                return False
            n = {heard[free]: Fraction(1)}
            n |= {heard[p]: -row[free] for p, row in zip(pivots, rows, strict=False)}
            t = min(others[j] / -step for j, step in n.items() if step < 0)
            others = [share + t * n.get(j, 0) for j, share in enumerate(others)]
        # Softmax can make the shares half way, which are positive.
        half_way = np.array([(a + b) / 2 for a, b in zip(c.shares, others, strict=True)], float)
        heard = softmax(np.log(half_way)) @ np.array(c.values, float)
        return (
            min(others) == 0
            and sum(others) == 1
            and product([others], c.values) == context
            and np.allclose(heard, np.array(context[0], float), rtol=1e-12, atol=1e-12)
        )

    def test_a_corner_has_no_other_shares_in_twelfths(self):
        positive = [min(c.shares) > 0 and self.holds(c) for c in self.searched()]
        assert all(positive), "They do if all shares are positive"
        values = self.hypotheses["$a_j > 0$"].without.values
        assert len(values) >= len(values[0]) + 2, "With d_v + 2 values or more"
        twelfths = [p for p in itertools.product(range(13), repeat=4) if sum(p) == 12]
        alike = [p for p in twelfths if product([p], values) == [[0, 0]]]
        assert alike == [(12, 0, 0, 0)], "other shares give the same output"


class TestScoreRank(Statement):
    """thm-score-rank: a score is x M yᵀ, with M of rank at most d_k, and any such M will do."""

    concludes = (
        r"(x W_Q) \cdot (y W_K) = x M y^\top",
        "at most $d_k$ and at most $d$",
        r"$X M Y^\top$ has rank at most $d_k$",
        "Every matrix of shape $(d, d)$ and rank at most $d_k$ is",
    )
    hypotheses = {
        "shape $(d, d_k)$": Hypothesis(
            lambda c: {len(w[0]) for w in (c.w_query, c.w_key)} == {c.d_k},
            sufficient="queries and keys of two widths have no dot product",
        ),
        "rank at most $d_k$": Hypothesis(
            lambda c: rank(c.form) <= c.d_k,
            without=Case(
                w_query=[[1], [0]],
                w_key=[[0], [1]],
                x=[[1, 2]],
                y=[[3, 4]],
                form=[[1, 0], [0, 1]],
                d_k=1,
            ),
        ),
    }
    neighbors = {
        r"$(x W_Q) \cdot (y W_K) = 1.05\, x M y^\top$": {"factor": 1.05},
        r"the rank of $M$ is at most $0.95\,d_k$ and $0.95\,d$": {"most": 0.95},
        "the rank of $M$ is $d_k$ or $d$, whichever is less": {"exactly": True},
        r"the matrix of scores has rank at most $0.95\,d_k$": {"table": 0.95},
        r"$W_Q W_K^\top$ is $1.05\,M$ in part 3": {"made": 1.05},
    }

    def draw(self, rng):
        d, d_k, words = rng.integers(1, 5, size=3)
        w_query, w_key = table(rng, d, d_k, most=99), table(rng, d, d_k, most=99)
        r = rng.integers(0, min(d, d_k) + 1)
        form = product(table(rng, d, r), table(rng, r, d)) if r else [[0] * d] * d
        x, y = table(rng, words, d), table(rng, words + 1, d)
        return Case(w_query=w_query, w_key=w_key, x=x, y=y, form=form, d_k=d_k)

    hard = (
        Case(w_query=[[0]], w_key=[[5]], x=[[1]], y=[[2]], form=[[0]], d_k=1),
        Case(
            w_query=[[1, 2], [2, 4], [3, 6]],
            w_key=[[1, 0], [0, 1], [1, 1]],
            x=np.eye(3, dtype=int).tolist(),
            y=np.eye(3, dtype=int).tolist(),
            form=[[0, 0, 1], [0, 0, 0], [0, 1, 0]],
            d_k=2,
        ),
    )

    def holds(self, c, factor=1, most=1, exactly=False, table=1, made=1):
        form = product(c.w_query, transpose(c.w_key))
        scores = product(product(c.x, form), transpose(c.y))
        got = dot_similarity(np.array(c.x) @ np.array(c.w_query), np.array(c.y) @ np.array(c.w_key))
        least = min(len(form), c.d_k)
        # A basis of columns, and the coefficients, which are the rows of the echelon form.
        rows, pivots = reduced(c.form)
        room = [0] * (c.d_k - len(pivots))
        w_query = [[row[p] for p in pivots] + room for row in c.form]
        w_key = [[row[j] for row in rows[: len(pivots)]] + room for j in range(len(form))]
        return (
            np.array_equal(got, factor * np.array(scores))
            and rank(form) <= most * least
            and rank(scores) <= table * c.d_k
            and (not exactly or rank(form) == least)
            and {len(row) for row in (*w_query, *w_key)} == {c.d_k}
            and np.array_equal(product(w_query, transpose(w_key)), made * np.array(c.form))
        )


class TestOneMatrix(Statement):
    """thm-one-matrix: one matrix makes the semidefinite M of small rank, and no other."""

    concludes = (
        "if and only if $M$ is symmetric,",
        r"positive semidefinite ($u M u^\top \ge 0$ for every row $u$), and of rank at most $d_k$",
    )
    hypotheses = {
        "a real matrix": Hypothesis(
            lambda c: np.isrealobj(np.array(c.form)),
            sufficient=r"a symmetric $M$ with real $u M u^\top$ for every row $u$ is real",
        ),
        "symmetric": Hypothesis(
            lambda c: c.form == transpose(c.form),
            without=Case(form=[[1, 1], [0, 1]], w=[[1, 0], [0, 1]], x=[[1, 1]]),
        ),
        "positive semidefinite": Hypothesis(
            lambda c: np.linalg.eigvalsh(np.add(c.form, transpose(c.form))).min() > -1e-9,
            without=Case(form=[[0, 1], [1, 0]], w=[[1, 0], [0, 1]], x=[[1, -1]]),
        ),
        "of rank at most $d_k$": Hypothesis(
            lambda c: rank(c.form) <= len(c.w[0]),
            # Two words at a right angle, of length 1: numbers a, b with a² = b² = 1 have a b ≠ 0.
            without=Case(form=[[1, 0], [0, 1]], w=[[1], [1]], x=[[1, 0]]),
        ),
    }
    neighbors = {
        r"$(x W) \cdot (y W) = 1.05\, x M y^\top$": {"factor": 1.05},
        r"$u M u^\top > 0$ for every $u \ne 0$": {"strict": True},
        r"of rank at most $0.95\,d_k$": {"most": 0.95},
    }
    hard = (
        Case(form=[[0]], w=[[0]], x=[[3]]),
        Case(form=[[1, -1], [-1, 1]], w=[[1], [-1]], x=[[2, 2], [1, -1]]),
        Case(form=[[4, 2], [2, 1]], w=[[1, 1, 0], [1, 1, 0]], x=[[1, -1]]),
    )

    def draw(self, rng):
        # The Laplacian of a graph is semidefinite because u L u' is a sum of squares, one for each
        # edge; no factor of it is given. Its rank is the number of nodes less that of components.
        nodes = rng.integers(2, 6)
        form = np.zeros((nodes, nodes), dtype=int)
        for i, j in itertools.combinations(range(nodes), 2):
            weight = rng.integers(0, 4)
            form[[i, j], [i, j]] += weight
            form[[i, j], [j, i]] -= weight
        d_k = max(1, rank(form.tolist())) + rng.integers(0, 2)
        words = rng.normal(size=(3, nodes)).tolist()
        return Case(form=form.tolist(), w=table(rng, nodes, d_k), x=words)

    def holds(self, c, factor=1, strict=False, most=1):
        # If there is a W, its M has the three properties.
        made, d_k = product(c.w, transpose(c.w)), len(c.w[0])
        scores = dot_similarity(np.array(c.x) @ np.array(c.w))
        by_form = np.array(product(product(c.x, made), transpose(c.x)))
        only_if = (
            np.allclose(scores, factor * by_form, rtol=1e-9, atol=1e-9)
            and made == transpose(made)
            and (np.diag(by_form) > 0 if strict else np.diag(by_form) >= -1e-9).all()
            and rank(made) <= most * d_k
        )
        # If M has the three properties, there is a W.
        factors, directions = np.linalg.eigh(np.array(c.form, float))
        positive = factors > 1e-9
        w = directions[:, positive] * np.sqrt(factors[positive])
        return only_if and w.shape[1] <= d_k and np.allclose(dot_similarity(w), c.form, atol=1e-9)

    def test_two_matrices_may_give_scores_that_one_cannot(self):
        scores = load("SA012").expected["scores"]
        assert scores[0, 1] != scores[1, 0]

    def test_semidefinite_and_nothing_else(self):
        rng = np.random.default_rng(0)
        other = self.hypotheses["positive semidefinite"].without
        assert other.form == transpose(other.form), "makes the score symmetric"
        assert not self.holds(other)
        least = [np.linalg.eigvalsh(w @ w.T).min() for w in rng.normal(size=(20, 4, 2))]
        assert min(least) > -1e-12, "It also makes the score positive semidefinite"
        made = map(self.holds, self.searched())
        assert all(made), "every such score of that rank comes from a single matrix"
