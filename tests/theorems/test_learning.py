"""The theorem of the page on training. The docstring of a class begins with its label."""

from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np

from selfattn_ref import attention_weights, dot_similarity
from tests.theorems.statement import Case, Hypothesis, Statement

USUAL = {"inside": (0, 1), "asks": 2, "senses": (1, -1), "reads_all": False}


def pair(rows=((3, 1), (-2, 4), (5, 5)), twin=None, powers=(2, 2, 1), others=None, **changed):
    """Return a corpus of one pair of twins, whose first two words trade places."""
    twin = twin or (rows[1], rows[0], *rows[2:])
    sentences = [(np.array(rows), powers), (np.array(twin), others or powers)]
    return Case(pairs=[sentences], **{"matrix": np.eye(2, dtype=int), **USUAL, **changed})


def rows_of(c):
    """Yield the rows of both sentences of each pair."""
    return ((one, two) for (one, _), (two, _) in c.pairs)


def powers_of(c):
    """Yield the exponentials of the scores of both."""
    return ((one, two) for (_, one), (_, two) in c.pairs)


def inside(c, of):
    return [x for t, x in enumerate(of) if t in c.inside]


def outside(c, of):
    return [x for t, x in enumerate(of) if t not in c.inside]


class TestTwins(Statement):
    """thm-twins: equal weights cannot tell twins apart."""

    concludes = (
        r"$\sum_t a_t x_t W$ and $\sum_t a_t x'_t W$ are equal",
        "right on at most one of the two",
        "right on at most half",
    )
    hypotheses = {
        "of the same length": Hypothesis(
            lambda c: all(len(x) == len(y) for x, y in rows_of(c)),
            sufficient="otherwise a position in one sentence need not exist in the other",
        ),
        "$x_t = x'_t$ for all $t$ outside $D$": Hypothesis(
            lambda c: all(np.array_equal(outside(c, x), outside(c, y)) for x, y in rows_of(c)),
            without=pair(
                rows=((3, 1), (-2, 4), (5, 5), (1, 0)),
                twin=((-2, 4), (3, 1), (5, 5), (0, 1)),
                powers=(2, 2, 1, 1),
            ),
        ),
        r"$\sum_{t \in D} x_t = \sum_{t \in D} x'_t$": Hypothesis(
            lambda c: all(
                np.array_equal(sum(inside(c, x)), sum(inside(c, y))) for x, y in rows_of(c)
            ),
            without=pair(twin=((-2, 4), (3, 2), (5, 5))),
        ),
        "the same row in both sentences": Hypothesis(
            lambda c: all(np.array_equal(x[c.asks], y[c.asks]) for x, y in rows_of(c)),
            # A word in D knows from its own row which twin it is in.
            without=pair(asks=0),
        ),
        "its scores outside $D$ be the same in both sentences": Hypothesis(
            lambda c: all(outside(c, a) == outside(c, b) for a, b in powers_of(c)),
            without=pair(others=(2, 2, 3)),
        ),
        "all its scores inside $D$, in both sentences, be the same number": Hypothesis(
            lambda c: all(len({*inside(c, a), *inside(c, b)}) == 1 for a, b in powers_of(c)),
            without=pair(powers=(2, 3, 1)),
        ),
        "opposite senses": Hypothesis(lambda c: sum(c.senses) == 0, without=pair(senses=(1, 1))),
        "from this output and from the row of the word itself": Hypothesis(
            lambda c: not c.reads_all, without=pair(reads_all=True)
        ),
    }
    neighbors = {
        "scores inside $D$ that differ by up to $0.01$": {"tilt": 1.01},
        "it is right on at most 49%": {"most": 0.49},
    }
    hard = (
        pair(rows=((0, 0), (0, 0), (0, 0))),  # the twins are one sentence
        pair(powers=(10**9, 10**9, 1)),
        pair(powers=(1, 1, 10**9)),
        pair(matrix=np.zeros((2, 2), dtype=int)),
        pair(twin=((100, -7), (-99, 12), (5, 5))),  # no permutation, but the same sum
    )

    def draw(self, rng):
        T, pairs = rng.integers(3, 7), []
        places = rng.permutation(T - 1)[: rng.integers(2, T)]
        for _ in range(rng.integers(1, 4)):
            rows = rng.integers(-9, 10, size=(T, 2))
            twin, moved = rows.copy(), rng.integers(-9, 10, size=2)
            twin[places] = rows[rng.permutation(places)]
            twin[places[0]] += moved  # any rows with the same sum
            twin[places[1]] -= moved
            powers = rng.integers(1, 100, size=T)
            powers[places] = powers[places[0]]
            pairs.append([(rows, powers.tolist()), (twin, powers.tolist())])
        usual = {**USUAL, "inside": places.tolist(), "asks": T - 1}
        return Case(pairs=pairs, matrix=rng.integers(-9, 10, size=(2, 2)), **usual)

    def holds(self, c, tilt=1, most=0.5):
        answers = defaultdict(Counter)
        for sentences in c.pairs:
            outputs = []
            for (rows, powers), sense in zip(sentences, c.senses, strict=True):
                # The score ln w has the exponential w: outputs are fractions.
                parts = [Fraction(power) for power in powers]
                parts[c.inside[0]] *= Fraction(tilt)
                values = (rows @ c.matrix).tolist()
                output = [
                    sum(part * x for part, x in zip(parts, column, strict=True)) / sum(parts)
                    for column in zip(*values, strict=True)
                ]
                weights = attention_weights(np.log(np.array([parts], float)))
                expected = np.array([output], float)
                if not np.allclose(weights @ rows @ c.matrix, expected, rtol=1e-9, atol=1e-9):
                    return False
                outputs.append(output)
                known = (*output, *rows[c.asks], *(rows.ravel() if c.reads_all else ()))
                answers[known][sense] += 1
            if outputs[0] != outputs[1]:
                return False
        # The best rule answers, to everything that it can be told, what is right most often.
        right = sum(max(counted.values()) for counted in answers.values())
        return right <= most * 2 * len(c.pairs)

    def test_one_hot_words_with_their_neighbor_listen_to_the_clues_alike(self):
        # Words 0 to 5: bank, with, no, stop and two clues; then the same for the word before.
        axes = np.vstack([np.eye(6), np.zeros((1, 6))])  # the last: no word before

        def sentence(one, other):
            words = np.array([0, 1, one, 2, other, 3])
            return np.hstack([axes[words], axes[np.r_[6, words[:-1]]]])

        rows, twin = sentence(4, 5), sentence(5, 4)
        assert not np.array_equal(rows, twin)
        for scale in (0.0, 1.0, 12**-0.5):  # the average, dot products, with the root
            heard, by_twin = (
                attention_weights(scale * dot_similarity(x[:1], x)) @ x for x in (rows, twin)
            )
            np.testing.assert_allclose(heard, by_twin, rtol=0, atol=1e-15)
