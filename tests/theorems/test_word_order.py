"""The theorems on word order, checked away from their page.

Rotations are written out as matrices or as complex numbers; weights are sums of exponentials.
"""

import math

import numpy as np

from selfattn_ref import (
    attention_weights,
    causal_mask,
    multi_head_attention,
    rotate_pairs,
    scaled_scores,
    sinusoidal_encoding,
)
from tests.support.arrays import drawn
from tests.theorems.statement import DRAWS, Case, Hypothesis, Statement


def close(result, expected):
    return np.allclose(result, expected, rtol=1e-6, atol=1e-7)


def stack(x, seed, mask=None, bias=None, rows=1.0):
    """Two layers of two heads with residual sums, normalization and a small network of rows.

    `rows` multiplies what the network makes of each row.
    """
    w, inside, outside = drawn(seed, 2, 4, 4, 4), drawn(seed + 1, 4, 6), drawn(seed + 2, 6, 4)
    for matrices in w:
        x = x + multi_head_attention(x, x, *matrices, num_heads=2, mask=mask, bias=bias)
        x = x + rows * (np.maximum(x @ inside, 0) @ outside)
        x = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    return x


def unlike(rows):
    """Return a factor of each row that tells the rows apart."""
    return np.arange(1.0, rows + 1)[:, np.newaxis]


def moved(seed, order, mask, bias, **other):
    """Return a case whose mask and bias move along with the words, but for what is `other`."""
    both = np.ix_(order, order)
    case = {"seed": seed, "order": np.array(order), "mask": mask, "bias": bias, "rows": 1.0}
    case |= {"moved_mask": mask[both], "moved_bias": bias[:, *both], "padding": False}
    return Case(**case | other)


HERE = causal_mask(5)
PADDED = np.tile(np.arange(5) < 3, (5, 1))
FREE, LEVEL = np.ones((5, 5), dtype=bool), np.zeros((2, 5, 5))
NEAR = -abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))[np.newaxis].repeat(2, axis=0)
CYCLE, MIXED = [1, 2, 0, 3, 4], [4, 0, 2, 1, 3]


class TestMovesAlong(Statement):
    """thm-moves-along: what moves along with the words is not noticed."""

    concludes = (
        r"F_{\Pi M \Pi^\top,\, \Pi B \Pi^\top}(\Pi X) = \Pi\, F_{M, B}(X)",
        r"$F(\Pi X) = \Pi F(X)$ without mask and bias",
    )
    hypotheses = {
        "maps that treat every row alike": Hypothesis(
            lambda c: np.ndim(c.rows) == 0,
            without=moved(0, MIXED, FREE, LEVEL, rows=unlike(5)),
        ),
        r"permutation matrix $\Pi$": Hypothesis(
            lambda c: np.array_equal(np.sort(c.order), np.arange(5)),
            without=moved(0, [0, 0, 2, 3, 4], FREE, LEVEL),  # one word twice, and one not at all
        ),
        # Padding has a sentence of its own.
        "the mask moves along with the words": Hypothesis(
            lambda c: c.padding or np.array_equal(c.moved_mask, c.mask[np.ix_(c.order, c.order)]),
            without=moved(0, MIXED, HERE, LEVEL, moved_mask=HERE),
        ),
        "the bias moves along": Hypothesis(
            lambda c: np.array_equal(c.moved_bias, c.bias[:, *np.ix_(c.order, c.order)]),
            without=moved(0, MIXED, FREE, NEAR, moved_bias=NEAR),
        ),
        "the same words stay hidden": Hypothesis(
            lambda c: not c.padding or np.array_equal(c.moved_mask[0], c.mask[0, c.order]),
            without=moved(0, MIXED, PADDED, LEVEL, moved_mask=PADDED, padding=True),
        ),
    }
    neighbors = {
        r"the bias $1.01\, \Pi B \Pi^\top$": {"strength": 1.01},
        "one entry of the mask need not move": {"stays": True},
        r"$\Pi^\top F_{M, B}(X)$ on the right": {"back": True},
    }
    hard = (
        moved(1, CYCLE, HERE, NEAR),
        moved(2, CYCLE, np.eye(5) > 0, LEVEL),  # every word alone
        moved(3, MIXED, np.zeros((5, 5)) > 0, NEAR),  # nobody to attend to
        moved(4, CYCLE, PADDED, NEAR, padding=True),
        moved(5, MIXED, FREE, 1e4 * NEAR),
    )
    draws = DRAWS // 2

    def draw(self, rng):
        order = np.arange(5)
        if rng.random() < 0.05:
            order = rng.permutation(5)
        else:  # two words change places, which is its own inverse
            i, j = rng.choice(5, size=2, replace=False)
            order[[i, j]] = j, i
        seed, bias = rng.integers(10**6), rng.normal(size=(2, 5, 5))  # one for each head
        if padding := rng.random() < 0.3:
            return moved(seed, order, np.tile(rng.random(5) < 0.9, (5, 1)), bias, padding=padding)
        return moved(seed, order, rng.random((5, 5)) < rng.choice([0.95, 1]), bias)

    def holds(self, c, strength=1.0, stays=False, back=False):
        x, mask = drawn(c.seed, 5, 4), c.moved_mask.copy()
        if stays:
            mask[0, 1] = c.mask[0, 1]
        result = stack(x[c.order], c.seed, mask, strength * c.moved_bias, c.rows)
        order = np.argsort(c.order) if back else c.order
        return close(result, stack(x, c.seed, c.mask, c.bias, c.rows)[order])


def marked(length, **other):
    """Return a case of equal rows, and of one value among zeros, but for what is `other`."""
    values = np.zeros((length, 2))
    values[0] = 3, -1
    case = {"seed": length, "words": np.tile(drawn(length, 4), (length, 1)), "values": values}
    case |= {"places": 0.0, "mask": causal_mask(length), "scores": 0.0, "rows": 1.0}
    return Case(**case | other)


class TestMaskAlone(Statement):
    """thm-mask-alone: equal words stay equal; a marked first word can be counted from."""

    concludes = (
        "then all rows of the output are equal",
        "row $t$ of the output is $u / (t + 1)$",
    )
    hypotheses = {
        "causal self-attention": Hypothesis(
            lambda c: np.array_equal(c.mask, causal_mask(len(c.words))),
            without=marked(5, mask=np.ones((5, 5), dtype=bool)),
        ),
        "no vectors are added for the positions": Hypothesis(
            lambda c: not np.any(c.places), without=marked(5, places=sinusoidal_encoding(5, 4))
        ),
        "all rows of the input are equal": Hypothesis(
            lambda c: not np.ptp(c.words, axis=0).any(), without=marked(5, words=drawn(0, 5, 4))
        ),
        "maps that treat every row alike": Hypothesis(
            lambda c: np.ndim(c.rows) == 0, without=marked(5, rows=unlike(5))
        ),
        "all scores are equal": Hypothesis(
            lambda c: np.ndim(c.scores) == 0, without=marked(5, scores=np.arange(5.0))
        ),
        "all other values are zero": Hypothesis(
            lambda c: not c.values[1:].any(), without=marked(5, values=np.ones((5, 2)))
        ),
    }
    neighbors = {
        "$u / (t + 1.02)$": {"first": 1.02},
        "$u / (t + 1)^{1.02}$": {"power": 1.02},
        "rows of the output equal if those of the input are within 1 % of each other": {
            "apart": 1.01
        },
    }
    hard = (marked(1), marked(2), marked(100), marked(9, scores=-1e4))
    draws = DRAWS // 4

    def draw(self, rng):
        length = rng.integers(1, 9)
        return marked(length, seed=rng.integers(10**6), scores=rng.normal(scale=10))

    def holds(self, c, first=1.0, power=1.0, apart=1.0):
        length = len(c.words)
        x = c.words * np.linspace(1, apart, length)[:, np.newaxis] + c.places
        back = np.subtract.outer(np.arange(length), np.arange(length))
        deep = stack(x, c.seed, c.mask, -back / 2, c.rows)
        w_q, w_k, w_v = drawn(c.seed, 3, 4, 4)
        turned = (rotate_pairs(x @ w, np.arange(length), base=100) for w in (w_q, w_k))
        weights = attention_weights(scaled_scores(*turned) - back / 2, mask=c.mask)
        counted = attention_weights(np.zeros((length, length)) + c.scores, mask=c.mask) @ c.values
        return (
            close(deep, deep[:1])
            and close(weights @ (x @ w_v), x[:1] @ w_v)
            and close(counted, c.values[0] / (np.arange(length)[:, None] + first) ** power)
        )


def turn(angles):
    """Return a matrix that turns each pair of neighbors in a row by its angle, clockwise."""
    blocks = np.zeros((2 * len(angles), 2 * len(angles)))
    for n, angle in enumerate(angles):
        blocks[2 * n : 2 * n + 2, 2 * n : 2 * n + 2] = [
            [math.cos(angle), -math.sin(angle)],
            [math.sin(angle), math.cos(angle)],
        ]
    return blocks


def frequencies(pairs, base=10000.0):
    return float(base) ** (-np.arange(pairs) / pairs)


class TestShiftIsRotation(Statement):
    """thm-shift-is-rotation: one matrix shifts every position, and products go by distance."""

    concludes = (
        r"p_{t+h} = p_t\, U_h",
        r"by the angle $h \omega_n$ (clockwise",
        "is orthogonal",
        r"p_i \cdot p_j = \sum_n \cos\bigl((i - j)\, \omega_n\bigr)",
        r"is $\sqrt{d_{\text{model}} / 2}$",
    )
    neighbors = {
        r"turns pair $n$ by the angle $1.01\, h\, \omega_n$": {"angle": 1.01},
        r"$p_i \cdot p_j = \sum_n \cos\bigl(1.01\, (i - j)\, \omega_n\bigr)$": {"apart": 1.01},
        r"the length $\sqrt{d_{\text{model}} / 1.98}$": {"length": 1.98},
        r"$U_h U_h^\top = 1.05\, I$": {"stretch": 1.05},
    }
    hard = (
        Case(pairs=3, at=(0, 0), h=0),
        Case(pairs=1, at=(7, 3), h=-1),
        Case(pairs=4, at=(2000, 30), h=-30),
        Case(pairs=32, at=(30, 2000), h=99),
    )
    draws = DRAWS // 4

    def draw(self, rng):
        return Case(pairs=rng.integers(1, 6), at=rng.integers(30, 90, 2), h=rng.integers(-30, 31))

    def holds(self, c, angle=1.0, apart=1.0, length=2.0, stretch=1.0):
        P, omega = sinusoidal_encoding(2100, 2 * c.pairs), frequencies(c.pairs)
        U = turn(angle * c.h * omega)
        i, j = c.at
        products = sum(math.cos(apart * (int(i) - int(j)) * w) for w in omega)
        return (
            all(np.allclose(P[t] @ U, P[t + c.h], atol=1e-9) for t in c.at if t + c.h >= 0)
            and math.isclose(P[i] @ P[j], products, abs_tol=1e-9)
            and np.allclose(U @ U.T, stretch * np.eye(2 * c.pairs), atol=1e-12)
            and math.isclose(np.linalg.norm(P[i]), math.sqrt(2 * c.pairs / length))
        )

    def test_a_shift_between_query_and_key_makes_each_position_look_that_far(self):
        P = sinusoidal_encoding(60, 8)
        for h in (-1, 0, 3):
            found = (P @ turn(h * frequencies(4)) @ P.T).argmax(axis=1)
            assert (found[1:-3] == np.arange(60)[1:-3] + h).all()

    def test_a_sine_without_its_cosine_cannot_be_shifted(self):
        sines = sinusoidal_encoding(8, 2)[1:, 0]
        assert np.ptp(sines[1:] / sines[:-1]) > 1


def rotated(q, k, at, omega, *, key_omega=None, interleaved=False):
    """Return a case of frequencies, with others for the key where they are given."""
    key_omega = omega if key_omega is None else key_omega
    rows = {"q": np.array(q, dtype=float), "k": np.array(k, dtype=float)}
    return Case(**rows, at=at, omega=omega, key_omega=key_omega, interleaved=interleaved)


class TestRotary(Statement):
    """thm-rotary: lengths stay, and a rotated score goes by the difference of positions, signed."""

    concludes = (
        r"\lVert q R_i \rVert = \lVert q \rVert",
        r"(q R_i) \cdot (k R_j) = (q R_{i - j}) \cdot k",
        r"(q R_i) \cdot (k R_j) = \sum_n \lVert q_n \rVert \lVert k_n \rVert \cos\bigl((i -",
        r"j)\, \omega_n + \varphi_n\bigr)",
    )
    hypotheses = {
        r"$R_t$ turn pair $n$ of the columns by the angle $t\,\omega_n$": Hypothesis(
            lambda c: np.array_equal(c.omega, c.key_omega),
            without=rotated(  # a key in a cache, turned for another base
                [1, 2, 0, 1], [2, 1, 1, 0], (42, 40), frequencies(2, 400),
                key_omega=frequencies(2, 100),
            ),
        ),
    }  # fmt: skip
    neighbors = {
        r"$\lVert q R_i \rVert = 1.01\, \lVert q \rVert$": {"length": 1.01},
        r"$(q R_{\lvert i - j \rvert}) \cdot k$": {"distance": True},
        r"$(q R_{1.01 (i - j)}) \cdot k$": {"speed": 1.01},
        r"$\cos\bigl((i - j)\, \omega_n + 1.01\, \varphi_n\bigr)$": {"phase": 1.01},
    }
    hard = (
        rotated([1, 0], [0, 1], (0, 3), frequencies(1)),  # the query comes first
        rotated([1, 2, 3, 4], [1, 2, 3, 4], (5, 5), frequencies(2), interleaved=True),
        rotated([0, 0], [1, 1], (-7, 2.5), np.array([-math.pi])),
        rotated([1, 2, 0, 1], [2, 1, 1, 0], (10_000, 10_001), np.array([0.0, 2.5])),
    )

    def draw(self, rng):
        pairs, at = rng.integers(1, 5), np.sort(rng.integers(-50, 50, size=2))
        at = at if rng.random() < 0.04 else at[::-1]  # as under a causal mask
        omega = frequencies(pairs) if rng.random() < 0.7 else rng.normal(size=pairs)
        q, k = rng.normal(size=(2, 2 * pairs))
        return rotated(q, k, at, omega, interleaved=bool(rng.integers(2)))

    def holds(self, c, length=1.0, distance=False, speed=1.0, phase=1.0):
        (i, j), half = map(float, c.at), len(c.omega)
        pairs = [slice(0, half), slice(half, None)]
        if c.interleaved:
            pairs = [slice(0, None, 2), slice(1, None, 2)]
        q, k = (x[pairs[0]] + 1j * x[pairs[1]] for x in (c.q, c.k))
        turned_q, turned_k = q * np.exp(1j * i * c.omega), k * np.exp(1j * j * c.key_omega)
        score = (turned_q * turned_k.conj()).real.sum()
        apart = speed * (abs(i - j) if distance else i - j)
        by_difference = (q * np.exp(1j * apart * c.omega) * k.conj()).real.sum()
        waves = np.cos((i - j) * c.omega + phase * (np.angle(q) - np.angle(k)))
        if np.array_equal(c.omega, frequencies(half)):
            turned_q, turned_k = (
                rotate_pairs([x], [p], interleaved=c.interleaved)[0]
                for x, p in ((c.q, i), (c.k, j))
            )
        return (
            math.isclose(np.linalg.norm(turned_q), length * np.linalg.norm(c.q), abs_tol=1e-12)
            and math.isclose(np.vdot(turned_q, turned_k).real, score, abs_tol=1e-9)
            and math.isclose(score, by_difference, abs_tol=1e-9)
            and math.isclose(score, abs(q) * abs(k) @ waves, abs_tol=1e-9)
        )


def sorted_columns(width):
    return np.r_[0:width:2, 1:width:2]


def layouts(seed, pairs, **other):
    """Return a case of two heads, loaded as the theorem says but for what is `other`."""
    case = {"seed": seed, "sort": sorted_columns(2 * pairs), "base": 100.0, "other_base": 100.0}
    case |= {"at": np.arange(4.0), "load": "sorted in each head"}
    return Case(**case | other)


class TestTwoLayouts(Statement):
    """thm-two-layouts: neighbors and halves are a permutation of columns apart."""

    concludes = (
        r"R_t\, \Pi = \Pi\, R'_t",
        r"with $W_Q \Pi$ and $W_K \Pi$ in each head, has the scores",
    )
    hypotheses = {
        "the even columns of $x$ first and the odd ones after them": Hypothesis(
            lambda c: np.array_equal(c.sort, sorted_columns(len(c.sort))),
            without=layouts(0, 2, sort=np.array([1, 3, 0, 2])),
        ),
        "the same frequencies in the same order": Hypothesis(
            lambda c: c.base == c.other_base, without=layouts(0, 2, other_base=10000.0)
        ),
        r"$W_Q \Pi$ and $W_K \Pi$": Hypothesis(
            lambda c: c.load != "as they are", without=layouts(0, 2, load="as they are")
        ),
        "in each head": Hypothesis(
            lambda c: c.load != "sorted as a whole",
            without=layouts(0, 2, load="sorted as a whole"),
        ),
    }
    neighbors = {
        r"$R_t\, \Pi = \Pi\, R'_{1.01\, t}$": {"speed": 1.01},
        r"$R_t\, \Pi^\top = \Pi^\top R'_t$": {"back": True},
        "the base of the halves is 1 % larger": {"base": 1.01},
        r"$R_{t + 1}\, \Pi = \Pi\, R'_{t + 1.01}$": {"first": 1.01},
    }
    hard = (
        layouts(0, 3),
        layouts(1, 4, at=np.array([-3.5, 0.0, 0.0, 1000.0])),
        layouts(2, 1),
    )

    def draw(self, rng):
        # A sort of two or of four columns is its own inverse.
        pairs = rng.integers(1, 3) if rng.random() < 0.95 else rng.integers(3, 6)
        base, at = rng.uniform(2, 1e5), rng.integers(-50, 50, size=4)
        return layouts(rng.integers(10**6), pairs, base=base, other_base=base, at=at)

    def holds(self, c, speed=1.0, back=False, base=1.0, first=1.0):
        width, sort = len(c.sort), np.argsort(c.sort) if back else c.sort
        x, w = drawn(c.seed, 4, 6), drawn(c.seed + 1, 2, 6, 2 * width)
        columns = {
            "sorted in each head": np.r_[sort, width + sort],
            "sorted as a whole": sorted_columns(2 * width),
            "as they are": np.arange(2 * width),
        }[c.load]

        def neighbors(y):
            return rotate_pairs(y, 1 + c.at, base=c.base, interleaved=True)

        def halves(y):
            return rotate_pairs(y, first + speed * c.at, base=base * c.other_base)

        def scores(w, rotate):
            heads = (slice(0, width), slice(width, None))
            return [scaled_scores(*(rotate((x @ m)[:, head]) for m in w)) for head in heads]

        y = (x @ w[0])[:, :width]
        return np.allclose(
            neighbors(y)[:, sort], halves(y[:, sort]), rtol=1e-9, atol=1e-10
        ) and np.allclose(
            scores(w, neighbors), scores(w[:, :, columns], halves), rtol=1e-9, atol=1e-10
        )


def far_away(far, *, m, D, T, near=0.0, **other):
    """Return a case of one score for all keys at distance D or more, and one for the others."""
    back = np.arange(T)[::-1]
    case = {"scores": np.where(back >= D, far, near), "back": back, "m": m, "D": D}
    case |= {"cost": m, "spread": abs(far - near)}
    return Case(**case | other)


class TestLinearBias(Statement):
    """thm-linear-bias: far keys together stay below a bound, however many they are."""

    concludes = (
        r"together a weight of at most $e^{\Delta - mD}$",
        "it is at most $e^{-mD}$",
    )
    kind = "bound"
    hypotheses = {
        "$m > 0$": Hypothesis(
            lambda c: c.m > 0, sufficient=r"for $m \le 0$ the bounds are not below 1"
        ),
        r"the keys $j \le i$": Hypothesis(
            lambda c: (c.back >= 0).all(),
            without=far_away(0.0, m=1.0, D=3, T=9, back=np.arange(9) - 4),
        ),
        r"the scores $s_{ij} - m\,(i - j)$": Hypothesis(
            lambda c: c.cost == c.m, without=far_away(0.0, m=1.0, D=3, T=9, cost=0.0)
        ),
        r"differ by at most $\Delta$": Hypothesis(
            lambda c: np.ptp(c.scores) <= c.spread,
            without=far_away(100.0, m=1.0, D=3, T=9, spread=1.0),
        ),
    }
    neighbors = {
        r"$e^{0.95 \Delta - mD}$": {"scores": 0.95},
        r"$e^{\Delta - 1.01 mD}$": {"bias": 1.01},
        r"$0.99\, e^{\Delta - mD}$": {"factor": 0.99},
        r"below $e^{\Delta - mD}$": {"strict": True},
    }
    hard = (
        far_away(0.0, m=0.5, D=0, T=9),
        far_away(0.0, m=0.5, D=8, T=200),
        far_away(5.0, m=8.0, D=2, T=40),
        far_away(-5.0, m=0.1, D=20, T=500),
        far_away(3.0, m=1e-3, D=9000, T=30_000),
        far_away(1.0, m=2.0, D=50, T=9),
    )

    def draw(self, rng):
        T, spread = rng.integers(1, 300), rng.uniform(0, 5)
        drawn = {"scores": rng.uniform(0, spread, size=T), "spread": spread}
        m = 2.0 ** -rng.integers(0, 9)
        return far_away(0.0, m=m, D=rng.integers(0, 80), T=T, **drawn)

    def share(self, c):
        weights = attention_weights([c.scores - c.cost * c.back])[0]
        return math.fsum(weights[abs(c.back) >= c.D])

    def holds(self, c, scores=1.0, bias=1.0, factor=1.0, strict=False):
        bound = factor * math.exp(scores * c.spread - bias * c.m * c.D)
        share = self.share(c)
        return share < bound * (1 - 1e-12) if strict else share <= bound * (1 + 1e-12)

    def ratio(self, c):
        return self.share(c) / math.exp(c.spread - c.m * c.D)
