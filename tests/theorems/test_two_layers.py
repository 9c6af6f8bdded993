"""The theorems of the page on two layers, checked away from it.

Expected values come from 50 digits, exact fractions, or counting; a class bears the label of its
theorem.
"""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np

from selfattn_ref import multi_head_attention
from tests.support import digits
from tests.support.arrays import normals
from tests.support.digits import mp50
from tests.theorems.statement import DRAWS, Case, Hypothesis, Statement


@cache
def votes(text, scale):
    """Return the votes of the last position after two layers, in 50 digits."""
    tokens = [[mp50.mpf(n == token) for n in range(max(text) + 1)] for token in text]
    mask = np.tri(len(text), dtype=bool)
    query = [[mp50.mpf(2 * (p - 1)), mp50.mpf(-1)] for p in range(len(text))]
    key = [[mp50.mpf(p), mp50.mpf(p * p)] for p in range(len(text))]
    before = digits.product(digits.weights(query, key, mask=mask, scale=scale), tokens)
    return digits.attention(tokens[-1:], before, tokens, scale=scale)[0]


def followers(text):
    """Return which tokens followed the last one earlier, as often as they did."""
    return [after for token, after in itertools.pairwise(text) if token == text[-1]]


class TestInductionHeadCopies(Statement):
    """thm-induction-head-copies: followers of the last token get nearly all votes."""

    concludes = (
        r"at least $1 - (T - 1)\, e^{-g (1 - 6 e^{-g})}$ of the votes",
        "tend to the fraction of the earlier $a$ that this token followed",
    )
    kind = "bound"
    hypotheses = {
        "start, which occurs nowhere else": Hypothesis(
            lambda c: c.text[0] not in c.text[1:],
            # It heard itself, and so it seems to have been followed by itself.
            without=Case(text=(0, 1, 0), scale=10),
        ),
        "last token $a$ have occurred before": Hypothesis(
            lambda c: c.text[-1] in c.text[:-1], without=Case(text=(0, 1, 2), scale=10)
        ),
        r"the scale $g$ be at least $\ln 2$": Hypothesis(
            lambda c: c.scale >= math.log(2), without=Case(text=(0, 1, 2, 1), scale=-1)
        ),
    }
    neighbors = {
        r"$0.98\,(T - 1)$ in place of $T - 1$": {"factor": 0.98},
        r"$e^{-1.02\,g (1 - 6 e^{-g})}$": {"rate": 1.02},
        "each token that ever followed gets the same number of votes": {"alike": True},
    }
    hard = (
        *(
            Case(text=text, scale=scale)
            for text in ((0, 1, 1), (0, 1, 2, 1), (0, 1, *[2] * 9, 1), (0, 2, 2, 2, 2, 1, 3, 1))
            for scale in (math.log(2), 1.79, 2, 2.5, 3, 4, 6, 20)
        ),
        *(Case(text=text, scale=5) for text in ((0, 1, 2, 1, 2, 1, 3, 1), (0, 1, 1, 1, 2, 1))),
    )
    draws = DRAWS // 4

    def draw(self, rng):
        text = rng.integers(1, 7, size=rng.integers(2, 8)).tolist()
        text[-1] = text[rng.integers(len(text) - 1)]
        return Case(text=(0, *text), scale=float(rng.choice([0.7, 1, 2, 3, 5, 10])))

    def leak(self, c):
        """Return what the others get, and the bound on it without its parts T - 1 and 1."""
        after = set(followers(c.text))
        others = (vote for token, vote in enumerate(votes(c.text, c.scale)) if token not in after)
        g = mp50.mpf(c.scale)
        return mp50.fsum(others), g * (1 - 6 * mp50.exp(-g))

    def holds(self, c, factor=1.0, rate=1.0, alike=False):
        after, (lost, exponent) = followers(c.text), self.leak(c)
        ever = sorted(set(after)) if alike else after
        return lost <= factor * (len(c.text) - 1) * mp50.exp(-rate * exponent) and all(
            ever and abs(vote - mp50.mpf(ever.count(token)) / len(ever)) < 1e-15
            for token, vote in enumerate(votes(c.text, 50))
        )

    def ratio(self, c):
        lost, exponent = self.leak(c)
        return float(lost * mp50.exp(exponent) / (len(c.text) - 1))

    def test_a_token_that_is_new_is_followed_by_everything(self):
        for text in ((0, 1), (0, 2, 2, 1), (0, 1, 2, 3, 1, 2, 4)):
            for token, vote in enumerate(votes(text, 50)):
                assert abs(vote - mp50.mpf(text.count(token)) / len(text)) < 1e-15


def last(rows):
    return rows[-1]


def text_of_five(order=(2, 0, 3, 1, 4), **changed):
    """Return a case: five of six words, and five of them in another order."""
    usual = {"heads": 2, "seed": 0, "layers": 1, "causal": True, "place": 0.0, "bias": 0.0}
    return Case(**{"order": list(order), "T": 5, "read": last, **usual, **changed})


class TestOneLayerWithoutPositions(Statement):
    """thm-one-layer-no-positions: the same words before the same last word give the same row."""

    concludes = (
        "the result is the same",
        "wrong for at least one of",
    )
    hypotheses = {
        "one layer": Hypothesis(lambda c: c.layers == 1, without=text_of_five(layers=2)),
        "causal": Hypothesis(
            lambda c: c.causal, sufficient="the last row may listen to every word anyway"
        ),
        "any map of the last row": Hypothesis(
            lambda c: c.read is last, without=text_of_five(read=lambda rows: rows.mean(axis=0))
        ),
        "inputs and scores depend on the words and not on their positions": Hypothesis(
            lambda c: not c.place, without=text_of_five(place=1.0)
        ),
        "no rotation, no bias": Hypothesis(lambda c: not c.bias, without=text_of_five(bias=1.0)),
        "end in the same word": Hypothesis(
            lambda c: c.order[-1] == c.T - 1, without=text_of_five(order=(0, 1, 2, 3, 5))
        ),
        "have the same words before it": Hypothesis(
            lambda c: sorted(c.order[:-1]) == list(range(c.T - 1)),
            without=text_of_five(order=(0, 0, 2, 3, 4)),
        ),
    }
    neighbors = {"also if the first position is 1 % louder": {"loud": 1.01}}
    hard = (text_of_five(order=(0, 1, 2, 3, 4)), text_of_five(order=(3, 2, 1, 0, 4), heads=4))

    def draw(self, rng):
        T = rng.integers(2, 8)
        order = [*rng.permutation(T - 1).tolist(), T - 1]
        heads, seed = int(rng.choice([1, 2, 4])), rng.integers(10**6)
        return text_of_five(order=order, T=T, heads=heads, seed=seed)

    def holds(self, c, loud=1.0):
        x, place, bias, *matrices = normals(
            (c.T + 1, 4), (c.T, 4), (c.T, c.T), *[(4, 4)] * 4, seed=c.seed
        )
        bias = c.bias * bias
        bias[:, 0] += math.log(loud)
        results = []
        for rows in (x[: c.T], x[c.order]):
            rows = rows + c.place * place
            for _ in range(c.layers):
                rows = multi_head_attention(
                    rows, rows, *matrices, num_heads=c.heads, causal=c.causal, bias=bias
                )
            results.append(c.read(rows))
        return np.allclose(*results, rtol=1e-10, atol=1e-12)

    def test_scores_with_positions_may_get_both_texts_right(self):
        # What is near is heard more, and whoever is heard loses votes.
        for text, answer in (("abxca", "b"), ("acxba", "c")):
            loud = [math.exp(-0.5 * (4 - j)) for j in range(5)]
            loss = {word: loud[text.index(word)] / sum(loud) for word in "bc"}
            assert min(loss, key=loss.__getitem__) == answer


FOUR = ("abxca", "xbaca", "acxba", "xcaba")


def one_head(exponentials, values, rest=0, seen=range(5)):
    """Return a head: the votes for b minus those for c, by tables for each position and word."""

    def lead(text):
        at = [(j, "abcx".index(text[j])) for j in seen]
        total = sum(exponentials[j][w] for j, w in at)
        return rest + Fraction(sum(exponentials[j][w] * values[j][w] for j, w in at), total)

    return lead


def usual(lead, **changed):
    """Return a case with the hypotheses, unless they are changed."""
    meets = {"words": "abcx", "layers": 1, "heads": 1, "alone": True, "linear": True, "rest": True}
    return Case(lead=lead, **{**meets, **changed})


def several_heads(text):
    """Let head p hear position p + 1, unless p drowns it: p is loud where it is not a."""
    total = Fraction(0)
    for p in range(3):
        exponentials = [[Fraction(1, 10**6)] * 4 for _ in range(5)]
        exponentials[p] = [Fraction(1, 10**3), *[Fraction(10**3)] * 3]
        exponentials[p + 1] = [Fraction(1)] * 4
        values = [[0] * 4 for _ in range(5)]
        values[p + 1] = [0, 1, -1, 0]
        total += one_head(exponentials, values)(text)
    return total


def network(text):
    """Average unit vectors of (position, word) in the head; then find a, and what follows."""
    row = {(p, w): Fraction(text[p] == w, 5) for p in range(5) for w in "abcx"}
    found = [
        sum(max(Fraction(0), 5 * row[p, "a"] + 5 * row[p + 1, w] - 1) for p in range(4))
        for w in "bc"
    ]
    return found[0] - found[1]


def two_layers(text):
    found = votes(tuple("abcx".index(word) for word in text), 10)
    return found["abcx".index("b")] - found["abcx".index("c")]


def worth(word):
    return (word == "b") - (word == "c")


def after_a(text):
    """Hear only what comes after an a: a score that depends on the word before."""
    return Fraction(sum(worth(w) for v, w in itertools.pairwise(text) if v == "a"))


ALIKE = [[1] * 4] * 5
# Where a stands third, nothing else is heard; otherwise the second word.
THREE = [[1] * 4, [100] * 4, [10**6, 1, 1, 1], [1] * 4, [1] * 4]
SIGNS = [[0, 9, -9, 0], [0, 9, -9, 0], [-1, 9, -9, 0], [0, 9, -9, 0], [0, 9, -9, 0]]


class TestOneHeadOneLayer(Statement):
    """thm-one-head-one-layer: no head is right on all of four texts."""

    concludes = (
        "in at least one of the four texts, the right one",
        "does not get more votes than the other",
    )
    kind = "existence"
    hypotheses = {
        "four different words": Hypothesis(
            lambda c: len({*c.words}) == 4,
            without=usual(one_head(ALIKE, SIGNS, seen=[1]), words="abca"),
        ),
        "One layer of attention": Hypothesis(
            lambda c: c.layers == 1, without=usual(two_layers, layers=2)
        ),
        "one head": Hypothesis(lambda c: c.heads == 1, without=usual(several_heads, heads=3)),
        "on no other word": Hypothesis(lambda c: c.alone, without=usual(after_a, alone=False)),
        "a linear function": Hypothesis(lambda c: c.linear, without=usual(network, linear=False)),
        "depends on the last word and its position": Hypothesis(
            lambda c: c.rest,
            without=usual(lambda text: worth(text[text.index("a") + 1]), rest=False),
        ),
    }
    neighbors = {
        "in at least one of the first three": {"texts": FOUR[:3]},
        "in at least two of the four": {"wrong": 2},
        "in at least one of the four, the wrong one gets more votes": {"strict": True},
    }
    hard = (
        usual(one_head(ALIKE, [[0] * 4] * 5)),  # no votes at all
        usual(one_head(ALIKE, SIGNS, seen=[1])),
        usual(one_head(THREE, SIGNS)),  # right on three
    )

    def draw(self, rng):
        exponentials = [[round(math.exp(s)) for s in row] for row in rng.uniform(0, 12, (5, 4))]
        values, rest = rng.integers(-99, 100, (5, 4)).tolist(), int(rng.integers(-99, 100))
        seen = np.flatnonzero(rng.random(5) < 0.8).tolist() or [4]
        return usual(one_head(exponentials, values, rest, seen))

    def holds(self, c, texts=FOUR, wrong=1, strict=False):
        signs = []
        for text in texts:
            read = "".join(c.words["abcx".index(word)] for word in text)
            signs.append(c.lead(read) * worth(read[read.index("a") + 1]))
        return sum(sign < 0 if strict else sign <= 0 for sign in signs) >= wrong

    def test_one_head_is_right_on_three_words(self):
        four = [len({*c.words}) == 4 and self.holds(c) for c in self.searched()]
        assert all(four), "It holds for four different words"
        three = self.hypotheses["four different words"].without
        assert len(three.words) == 4, "Take four words x, a, y and b"
        assert three.words[3] == three.words[0], "If x is the same as a"  # of abcx
        assert not self.holds(three), "one head is enough"
        assert not self.holds(three), "No single head in one layer is right on all four texts"
