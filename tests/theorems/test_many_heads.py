"""The theorems on several heads, checked away from their page.

Heads are computed one at a time with plain loops; nothing is split or merged by the library.
"""

import math

import numpy as np

from selfattn_ref import multi_head_attention, softmax
from tests.support.arrays import normals
from tests.support.counting import Number, numbers, strassen
from tests.theorems.statement import Case, Hypothesis, Statement

CLOSE = {"rtol": 1e-9, "atol": 1e-10}


def sharp(word, words):
    """Return weights that leave the other words behind."""
    return softmax(1e4 * np.eye(words)[word])


def in_one_column(word, words):
    """Return the weights of a query and keys 0, 1, 2, … of one column, best for a word."""
    queries = np.linspace(-50, 50, 101)[:, np.newaxis]
    return max(softmax(queries * np.arange(words)), key=lambda weights: weights[word])


def first(piece):
    return piece[0]


def two_pieces(u, w, a, f=first, g=first, choose=sharp):
    """Return a case for pieces of one column."""
    u, w = (np.array(piece, float)[:, np.newaxis] for piece in (u, w))
    return Case(u=u, w=w, a=np.array(a, float), f=f, g=g, choose=choose)


def linear(f, pieces):
    return math.isclose(f(pieces[0] + 2 * pieces[1]), f(pieces[0]) + 2 * f(pieces[1]))


def best(f, pieces):
    """Return the words for which a function is largest."""
    found = [f(piece) for piece in pieces]
    return [j for j, value in enumerate(found) if value == max(found)]


class TestOneMixture(Statement):
    """thm-one-mixture: one row of weights is one mixture; two rows reach more."""

    concludes = (
        "Whatever one head can return, two can",
        r"c = \max_j\, \bigl( f(u_j) + g(w_j) \bigr) \;<\; f(u_m) + g(w_n)",
        "as close to $f(u_m) + g(w_n)$ as we like",
    )
    kind = "bound"
    hypotheses = {
        r"$a_j \ge 0$": Hypothesis(
            lambda c: c.a.min() >= 0, without=two_pieces([1, 0], [0, 0.5], [2, -1])
        ),
        r"$\sum_j a_j = 1$": Hypothesis(
            lambda c: math.isclose(math.fsum(c.a), 1),
            without=two_pieces([1, 0], [0, 0.5], [1, 1]),
        ),
        "we may choose freely": Hypothesis(
            lambda c: c.choose is sharp,
            # In one column, the word with the middle key never gets more than a third.
            without=two_pieces([0, 1, 0.5], [1, 0, 0], [0, 1, 0], choose=in_one_column),
        ),
        "linear functions": Hypothesis(
            lambda c: linear(c.f, c.u) and linear(c.g, c.w),
            without=two_pieces(
                [0, 1], [1, 0.9], [0.4, 0.6], f=lambda piece: 1 - (piece[0] - 0.6) ** 2
            ),
        ),
        "$f(u_j)$ is largest for word $m$ alone": Hypothesis(
            lambda c: len(best(c.f, c.u)) == 1, without=two_pieces([1, 1], [0, 1], [0, 1])
        ),
        "$g(w_j)$ is largest for word $n$ alone": Hypothesis(
            lambda c: len(best(c.g, c.w)) == 1, without=two_pieces([0, 1], [1, 1], [0, 1])
        ),
        r"$m \ne n$": Hypothesis(
            lambda c: best(c.f, c.u)[0] != best(c.g, c.w)[0],
            without=two_pieces([2, 0], [3, 1], [0, 1]),
        ),
    }
    neighbors = {
        "one head stays below $c$": {"strict": True},
        r"one head is at most $0.98\,c$": {"most": 0.98},
        r"$c < 0.98\,(f(u_m) + g(w_n))$": {"top": 0.98},
    }
    hard = (
        two_pieces([1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]),  # c is reached
        two_pieces([1, 0], [0, 1], [0.3, 0.7]),  # by every mixture
        two_pieces([1, 0], [1 - 2**-20, 1], [1, 0]),
        two_pieces([-3, -1], [-1, -3], [0.5, 0.5]),
    )

    def draw(self, rng):
        T, d_u, d_w = rng.integers(2, 7), *rng.integers(1, 4, size=2)
        u, w = rng.normal(size=(T, d_u)), rng.normal(size=(T, d_w))
        f, g = rng.normal(size=d_u), rng.normal(size=d_w)
        if (u @ f).argmax() == (w @ g).argmax():
            w = np.roll(w, 1, axis=0)
        a = softmax(rng.choice([1, 5, 50]) * rng.normal(size=T))
        return Case(
            u=u, w=w, a=a, f=lambda piece: piece @ f, g=lambda piece: piece @ g, choose=sharp
        )

    def mixed(self, weights, pieces):
        return np.array([math.fsum(weights * column) for column in pieces.T])

    def sides(self, c):
        """Return f + g for the one head, and its bound."""
        both = zip(c.u, c.w, strict=True)
        return c.f(self.mixed(c.a, c.u)) + c.g(self.mixed(c.a, c.w)), max(
            c.f(u) + c.g(w) for u, w in both
        )

    def holds(self, c, most=1.0, top=1.0, strict=False):
        one, bound = self.sides(c)
        T = len(c.a)
        apart = [self.mixed(c.choose(best(*of)[0], T), of[1]) for of in ((c.f, c.u), (c.g, c.w))]
        highest = max(map(c.f, c.u)) + max(map(c.g, c.w))
        alike = np.concatenate([c.a @ c.u, c.a @ c.w])  # two heads with the same weights
        return (
            np.allclose(alike, c.a @ np.hstack([c.u, c.w]), **CLOSE)
            and (one < bound if strict else one <= most * bound + 1e-12)
            and bound < top * highest
            and math.isclose(c.f(apart[0]) + c.g(apart[1]), highest, rel_tol=1e-9)
        )

    def ratio(self, c):
        one, bound = self.sides(c)
        return one / bound if bound > 0 else 0.0


def columns(order, width):
    """Return the columns of heads of a width, in an order."""
    return [width * h + i for h in order for i in range(width)]


class TestSumOverHeads(Statement):
    """thm-sum-over-heads: the output is a sum of maps of small rank, in any order."""

    concludes = (
        r"\sum_{h} O_h W_{O,h} = \sum_{h} A_h\, X\, W_{V,h} W_{O,h}",
        "has rank at most $d_v$",
        r"any rank up to $\min(H d_v, d_{\text{model}})$",
        "the output stays what it was",
    )
    hypotheses = {
        "the heads change places in $W_Q$, $W_K$ and $W_V$": Hypothesis(
            lambda c: c.orders[0] == c.orders[1] == c.orders[2],
            without=Case(
                seed=0, T=4, d_k=2, d_v=2, orders=[(0, 1, 2), (1, 0, 2), (1, 0, 2), (1, 0, 2)], r=6
            ),
        ),
        "their rows in $W_O$ change places in the same way": Hypothesis(
            lambda c: c.orders[2] == c.orders[3],
            without=Case(seed=0, T=4, d_k=2, d_v=2, orders=[(1, 0, 2)] * 3 + [(0, 1, 2)], r=6),
        ),
    }
    neighbors = {
        r"$1.02\,A_h X W_{V,h} W_{O,h}$": {"factor": 1.02},
        r"rank at most $0.95\,d_v$": {"most": 0.95},
        r"$W_V W_O$ has the rank $\min(H d_v, d_{\text{model}})$": {"full": True},
    }
    hard = tuple(
        Case(seed=1, T=T, d_k=1, d_v=d_v, orders=[order] * 4, r=r)
        for T, d_v, order, r in (
            (1, 1, (0,), 0),  # the values are 0
            *((9, 2, (1, 2, 3, 0), r) for r in range(7)),  # more columns than the width
            (9, 7, (1, 0), 3),
        )
    )

    def draw(self, rng):
        heads, d_k, d_v = rng.integers(1, 5), *rng.integers(1, 4, size=2)
        order = tuple(rng.permutation(heads).tolist())
        seed, T, r = rng.integers(10**6), rng.integers(1, 6), min(heads * d_v, 6)
        return Case(seed=seed, T=T, d_k=d_k, d_v=d_v, orders=[order] * 4, r=r)

    def holds(self, c, factor=1.0, most=1.0, full=False):
        d_model, heads, widths = 6, len(c.orders[0]), (c.d_k, c.d_k, c.d_v)
        shapes = [(d_model, heads * width) for width in widths]
        x, *w, w_output = normals((c.T, d_model), *shapes, shapes[2][::-1], seed=c.seed)
        w[2][:, c.r :] = 0  # as many directions as the case asks for
        maps, added = [], []
        for h in range(heads):
            query, key, value = (
                m[:, columns([h], width)] for m, width in zip(w, widths, strict=True)
            )
            maps.append(value @ w_output[columns([h], c.d_v)])
            added.append(softmax((x @ query) @ (x @ key).T / np.sqrt(c.d_k)) @ x @ maps[-1])
        moved = [
            *(m[:, columns(o, n)] for m, o, n in zip(w, c.orders, widths, strict=False)),
            w_output[columns(c.orders[3], c.d_v)],
        ]
        output, other = (
            multi_head_attention(x, x, *m, num_heads=heads) for m in ([*w, w_output], moved)
        )

        def rank(matrix):
            return np.linalg.matrix_rank(matrix, rtol=1e-10)

        return (
            np.allclose(output, factor * sum(added), **CLOSE)
            and max(map(rank, (*maps, *added))) <= most * c.d_v
            and np.allclose(sum(maps), w[2] @ w_output, **CLOSE)
            and rank(sum(maps)) == (min(heads * c.d_v, d_model) if full else c.r)
            and np.allclose(other, output, **CLOSE)
        )


def square(T, heads, width, **changed):
    """Return a case of square matrices."""
    d = heads * width
    usual = {"d_model": d, "d_k": width, "d_v": width, "d_output": d, "product": np.matmul}
    return Case(T=T, heads=heads, **(usual | changed))


class TestHeadCost(Statement):
    """thm-head-cost: the multiplications do not depend on the number of heads; the scores do."""

    concludes = (
        r"4\, T d_{\text{model}}^2 + 2\, T^2 d_{\text{model}}",
        r"have $H\, T^2$ entries",
    )
    hypotheses = {
        r"$d_k = d_v = d_{\text{model}} / H$": Hypothesis(
            lambda c: c.d_k == c.d_v == c.d_model / c.heads,
            sufficient="it follows: square matrices have $H d_k = H d_v$ columns or rows",
        ),
        "all four matrices be square": Hypothesis(
            lambda c: {c.heads * c.d_k, c.heads * c.d_v, c.d_output} == {c.d_model},
            without=square(3, 2, 2, d_output=8),
        ),
        "computed entry by entry": Hypothesis(
            lambda c: c.product is np.matmul, without=square(2, 1, 2, product=strassen)
        ),
    }
    neighbors = {
        r"$4.01\,T d_{\text{model}}^2$": {"projected": 4.01},
        r"$2.01\,T^2 d_{\text{model}}$": {"attended": 2.01},
        r"$1.01\,H T^2$ scores": {"scored": 1.01},
    }
    hard = tuple(square(T, d, 1) for T, d in ((1, 1), (12, 1), (1, 12), (9, 8)))

    def draw(self, rng):
        return square(*rng.integers(1, [9, 6, 4]).tolist())

    def holds(self, c, projected=4, attended=2, scored=1):
        before, scored_entries = Number.products, 0
        widths = [c.heads * width for width in (c.d_k, c.d_k, c.d_v)]
        shapes = [(c.d_model, width) for width in widths]
        x, *w = map(numbers, normals((c.T, c.d_model), *shapes, (widths[2], c.d_output)))
        query, key, value = (c.product(x, m) for m in w[:3])
        outputs = []
        for h in range(c.heads):
            of_key, of_value = (columns([h], width) for width in (c.d_k, c.d_v))
            scores = c.product(query[:, of_key], key[:, of_key].T)
            scored_entries += scores.size
            weights = numbers(softmax(scores.astype(float) / np.sqrt(c.d_k)))
            outputs.append(c.product(weights, value[:, of_value]))
        output = c.product(np.concatenate(outputs, axis=1), w[3]).astype(float)
        cost = projected * c.T * c.d_model**2 + attended * c.T**2 * c.d_model
        x, *w = (array.astype(float) for array in (x, *w))
        return (
            np.allclose(output, multi_head_attention(x, x, *w, num_heads=c.heads), **CLOSE)
            and Number.products - before == cost
            and scored_entries == scored * c.heads * c.T**2
        )
