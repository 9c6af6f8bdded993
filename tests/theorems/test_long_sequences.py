"""The theorems of the page on long sequences, checked away from it.

Expected values come from exact fractions, plain loops or counting; a class bears the label of its
theorem.
"""

import functools
import itertools
import math
import re
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from selfattn_ref import (
    AttentionState,
    KeyValueCache,
    attention_state,
    repeat_key_value_heads,
    scaled_dot_product_attention,
    streaming_attention,
)
from selfattn_ref.worked_examples import Tolerance
from selfattn_ref.worked_examples._tolerance import by_call
from tests.support.arrays import drawn
from tests.support.counting import Number, numbers, strassen
from tests.support.kernels import ADDING, FOLDING, MERGING, Kernel, truth
from tests.theorems.statement import Case, Hypothesis, Statement

# Scores are powers of two times ln 2, so that every exponential is a power of two and a state is a
# triple of exact numbers: (exponent m or −∞, sum, row). Sums of these are fractions.
EMPTY = (-math.inf, Fraction(0), (Fraction(0), Fraction(0)))


def power(exponent):
    """Return a power of two, or 0 for −∞."""
    if exponent == -math.inf:
        return Fraction(0)
    return Fraction(2) ** int(exponent) if exponent % 1 == 0 else Fraction(2.0**exponent)


def state_of(keys, lowest=-math.inf):
    """Return the state of some keys (exponent, value), by its definition."""
    if not keys:
        return lowest, *EMPTY[1:]
    m = max(exponent for exponent, _ in keys)
    powers = [power(exponent - m) for exponent, _ in keys]
    row = tuple(
        sum(p * value[c] for p, (_, value) in zip(powers, keys, strict=True)) / sum(powers)
        for c in (0, 1)
    )
    return m, sum(powers), row


def merged(one, other, late=1.0, rate=1.0):
    """Merge by equation eq-merge, in fractions."""
    m = max(one[0], other[0])
    if m == -math.inf:
        return EMPTY
    a, b = (state[1] * power(rate * (state[0] - m)) for state in (one, other))
    b *= Fraction(late)
    if not one[1] or not other[1]:  # o is 0 of an empty state
        return m, a + b, one[2] if one[1] else other[2]
    return m, a + b, tuple((a * x + b * y) / (a + b) for x, y in zip(one[2], other[2], strict=True))


def in_floats(state):
    """Return an exact state as one of the library."""
    m, total, row = state
    return AttentionState([[m * math.log(2)]], [[float(total)]], [[float(x) for x in row]])


def same(one, other):
    return all(
        np.allclose(getattr(one, name), getattr(other, name), rtol=1e-12, atol=1e-12)
        for name in ("shift", "total", "output")
    )


def fractions(rng, *shape):
    return np.vectorize(Fraction, otypes=[object])(rng.integers(-30, 31, size=shape), 7)


def in_places(*places, queries=None, keys=(3, -2, 5, 0, -8), seed=0):
    """Return a case: which keys a query has seen in each place."""
    value = fractions(np.random.default_rng(seed), len(keys), 2)
    queries = (1,) * len(places) if queries is None else queries
    return Case(places=places, queries=queries, keys=keys, value=value)


class TestStateOfAUnion(Statement):
    """thm-state-of-a-union: states of disjoint sets of keys merge into that of their union."""

    concludes = (
        r"into the state of $J_1 \cup J_2$",
        r"\ell &= a_1 + a_2",
        r"m &= \max(m_1, m_2)",
        r"\context{o} &= \weight{\frac{a_1}{\ell}}\,",
        r"\context{o_1} + \weight{\frac{a_2}{\ell}}\, \context{o_2}",
    )
    hypotheses = {
        "$J_1$ and $J_2$ have no key in common": Hypothesis(
            lambda c: len(set(sum(c.places, ()))) == sum(map(len, c.places)),
            without=in_places((0, 1), (1, 2)),
        ),
        "one query": Hypothesis(
            lambda c: len(set(c.queries)) == 1, without=in_places((0, 1), (2, 3), queries=(1, 2))
        ),
    }
    neighbors = {
        "$1.05\\, a_2$ in place of $a_2$": {"late": 1.05},
        r"$e^{0.95\, (m_i - m)}$ in place of $e^{m_i - m}$": {"rate": 0.95},
        "a set without keys has $m = -1000$": {"lowest": -1000},
    }
    hard = (
        in_places((), ()),
        in_places((), (0, 1)),
        in_places((0,), (), (1, 2), ()),
        in_places((), keys=()),
        in_places((0, 1), (2,), (), keys=(-1001, -1001, -1002)),  # all exponentials are 0 in floats
        in_places((4, 0), (2, 1, 3), keys=(7,) * 5),
        in_places((0, 1, 2), keys=(900, -900, 0)),
    )
    draws = Statement.draws // 2

    def draw(self, rng):
        keys = tuple(map(int, rng.integers(-8, 9, size=rng.integers(1, 8))))
        place, query = rng.integers(0, rng.integers(1, 4), size=len(keys)), int(rng.integers(-2, 3))
        order = [tuple(map(int, np.flatnonzero(place == n))) for n in rng.permutation(4)]
        return in_places(*order, queries=(query,) * 4, keys=keys, seed=rng.integers(10**6))

    def holds(self, c, late=1.0, rate=1.0, lowest=-math.inf):
        def exact(places, query):
            return state_of([(query * c.keys[j], c.value[j]) for j in places], lowest)

        def computed(places, query):
            key = np.reshape([c.keys[j] * math.log(2) for j in places], (-1, 1))
            value = np.reshape([c.value[j] for j in places], (-1, 2)).astype(float)
            return attention_state([[float(query)]], key, value, scale=1.0)

        seen = list(zip(c.places, c.queries, strict=True))
        merge = functools.partial(merged, late=late, rate=rate)
        whole = functools.reduce(merge, itertools.starmap(exact, seen))
        library = functools.reduce(AttentionState.merge, itertools.starmap(computed, seen))
        expected = exact(sorted(set(sum(c.places, ()))), c.queries[0])
        return whole == expected and same(library, in_floats(expected))


class TestMerge(Statement):
    """thm-merge: merging is commutative and associative, and the empty state changes nothing."""

    concludes = ("merging is commutative and associative, and the empty state changes nothing",)
    hypotheses = {
        "real $m$": Hypothesis(
            lambda c: all(state == EMPTY or math.isfinite(state[0]) for state in c.states),
            without=Case(states=[(-math.inf, Fraction(1), (Fraction(6), Fraction(0))), EMPTY]),
        ),
        r"$\ell > 0$": Hypothesis(
            lambda c: all(state == EMPTY or state[1] > 0 for state in c.states),
            # Two that cancel leave nothing to divide by; in another order all goes well.
            without=Case(states=[(0, Fraction(n), (Fraction(n), Fraction(2))) for n in (1, -1, 1)]),
        ),
        "a row $o$ of real numbers": Hypothesis(
            lambda c: np.isfinite(np.array([state[2] for state in c.states], float)).all(),
            sufficient=r"the average of $\infty$ and $-\infty$ is not defined",
        ),
    }
    neighbors = {
        "$1.05\\, a_2$ in place of $a_2$": {"late": 1.05},
        r"$e^{0.95\, (m_i - m)}$ in place of $e^{m_i - m}$": {"rate": 0.95},
        "$(-1000, 0, 0)$ in place of the empty state": {"lowest": -1000},
    }
    hard = (
        Case(states=[EMPTY, EMPTY]),
        Case(states=[(2, Fraction(1, 9), (Fraction(1), Fraction(2)))] * 3),
        Case(states=[(-2000, Fraction(5), (Fraction(1), Fraction(2))), EMPTY]),
        Case(states=[(m, Fraction(1), (Fraction(m), Fraction(1))) for m in (-60, 60, 0, 1)]),
    )
    draws = Statement.draws // 2

    def draw(self, rng):
        states = []
        for _ in range(rng.integers(2, 4)):
            m, total = int(rng.integers(-8, 9)), Fraction(int(rng.integers(1, 82)), 9)
            empty = rng.random() < 0.2
            states.append(EMPTY if empty else (m, total, tuple(fractions(rng, 2))))
        return Case(states=states)

    def holds(self, c, late=1.0, rate=1.0, lowest=-math.inf):
        merge = functools.partial(merged, late=late, rate=rate)

        def groupings(line, merge):
            if len(line) == 1:
                yield line[0]
            for cut in range(1, len(line)):
                parts = groupings(line[:cut], merge), groupings(line[cut:], merge)
                yield from itertools.starmap(merge, itertools.product(*map(list, parts)))

        nothing, filled = (lowest, *EMPTY[1:]), [s for s in c.states if s != EMPTY]
        try:
            results = {
                result
                for order in itertools.permutations(c.states)
                for result in groupings(order, merge)
            }
        except ZeroDivisionError:
            return False
        neutral = all(merge(s, nothing) == merge(nothing, s) == s for s in (*filled, nothing))
        if len(results) > 1 or not neutral:
            return False
        (whole,), states = results, [in_floats(state) for state in c.states]
        swapped = [one.merge(other) for one, other in itertools.permutations(states[:2])]
        return all(same(x, in_floats(whole)) for x in groupings(states, AttentionState.merge)) and (
            np.array_equal(swapped[0].output, swapped[1].output)
        )


EPSILONS = {
    "float64": (2.0**-52, 0.0),
    "float32": (2.0**-23, 0.0),
    "float16": (2.0**-23, 2.0**-10),
    "bfloat16": (2.0**-23, 2.0**-7),
}
FLOATS = {"float64": np.float64, "float32": np.float32, "float16": np.float16}
FLOATS["bfloat16"] = ml_dtypes.bfloat16
each_dtype = pytest.mark.parametrize("dtype", EPSILONS)
EPSILON = 2.0**-23


def bound(
    dtype, query, key, value, *, merges=0, logarithms=False, cap=None, scale=1.0, bias=0.0,
    keys=1.0, terms=0.5, scores=5.0, biases=6.0,
):  # fmt: skip
    """Return the bound of thm-rounding for each query, of weights and results stored in `dtype`."""
    epsilon, stored = EPSILONS[dtype]
    query, key, value = (np.abs(np.asarray(x).astype(float)) for x in (query, key, value))
    n, d = key.shape
    S = scale * (query @ key.T).max(axis=1, keepdims=True)
    T, B, V = (S if cap is None else np.minimum(S, cap)), np.abs(bias).max(), value.max()
    R = 2 * merges
    if logarithms:
        R = merges * (6 + (T + B + math.log(n)) / 2) + 11 * math.log(n)
    steps = keys * n + 2 + 4 * min(merges + 1, n - 1) + R
    steps = steps + (d * terms + scores) * S + scores * T + biases * B
    E = epsilon * (steps + (0 if cap is None else 7 * T))
    E = E + stored / 2 + (n * 2.0**-25 if dtype == "float16" else 0)
    error = np.expm1(E) * V
    return error + stored / 2 * (V + error)


def adversaries(n, dtype="float32", seed=None):
    """Yield queries, keys and values that are hard to add up, of at most 24 bits."""
    rng = np.random.default_rng(n if seed is None else seed)
    query, key, value = (rng.normal(size=(m, 2)) for m in (2, n, n))
    steps = np.linspace(0, 20, n)[:, None]
    signs = np.where(np.arange(n) % 2, 1.0, -1.0)[:, None]
    for arrays in (
        (query, key, value),
        (query, np.repeat(key[:1], n, axis=0), value),  # equal scores
        (0 * query, key, 0 * value + 0.1),
        (0 * query + 1, np.hstack([steps, key[:, 1:]]), value),  # every key the largest so far
        (300 * query, key, value),
        (query * [[100, -100]], key[:, :1] + key / 64, value),  # products that cancel
        (query, key, signs * (1 + value / 1000)),  # values that do
    ):
        yield [array.astype(np.float32).astype(FLOATS[dtype]) for array in arrays]


def run(query, key, value, kernel=None, *, soft_cap=None, **options):
    """Return a case: what a kernel is given, in float32."""
    arrays = [np.asarray(x, np.float32) for x in (query, key, value)]
    options = {name: np.asarray(x, np.float32) for name, x in options.items()}
    return Case(arrays=arrays, kernel=kernel or Kernel(), options=options | {"soft_cap": soft_cap})


def many_keys(n):
    """Return a case in which all roundings of both sums go the wrong way, one for each key."""
    key, value = np.full((n, 1), -16.63542), np.full((n, 1), 1 - 2.0**-10)
    key[0], value[0] = 0, 1  # the others weigh a little more than half of its spacing
    return run([[1.0]], key, value)


def many_terms(d, scale):
    """Return a case in which all roundings of two dot products go the wrong way."""
    key = np.full((2, d), 2.0**-24 * (1 + 2.0**-10))
    key[:, 0] = 1
    key[1] *= -1
    # The biases make the weights equal, which moves the output most.
    return run(np.ones((1, d)), key, [[1], [-1]], scale=scale, bias=scale * np.array([-1, 1]))


def rough(size, rate=1000):
    """Return an exponential that is off by a factor of up to 1 + size, and not at 0."""
    return lambda x: np.exp(x.astype(float)) * (1 + size * np.sin(rate * x.astype(float)))


class FarShift(Kernel):
    """A kernel that does not subtract the largest score."""

    def state(self, scores, value, unit):
        powers = np.exp(scores + np.float32(80))
        return np.float32(-80), self.add(powers), self.add(powers[:, None] * value)


FEW = [[1.0]], [[0.0], [0.5], [1.0]], [[1], [1], [-1]]
IN_TWO, IN_LOGARITHMS = Kernel(powers_of_two=True, tile=1), Kernel(merging="logarithms", tile=1)
GRID = np.linspace(-20, 0, 10001, dtype=np.float32)


class TestRounding(Statement):
    """thm-rounding: how far rounding takes an entry, by keys, terms, merges and scores."""

    concludes = (
        r"is within $(e^E - 1)\, V$ of the true one",
        r"n + 2 + 4 \min(M + 1,\; n - 1)",
        r"\bigl(\tfrac d2 + 5\bigr) S + 5\, T + 6\, B + R",
        "have $R = 2 M$",
        r"have $R = M \bigl( 6 + \tfrac12 (T + B + \ln n) \bigr) + 11 \ln n$",
        r"A soft cap adds $7\,T$ to $R$",
    )
    kind = "bound"
    hypotheses = {
        "every sum, product, quotient and root is rounded to the nearest number": Hypothesis(
            lambda c: c.kernel.stored is None,
            # Weights of 16 bits.
            without=run(*FEW, Kernel(stored=lambda x: x.astype(np.float16).astype(np.float32))),
        ),
        "none overflows": Hypothesis(
            lambda c: len(c.arrays[1]) * np.abs(c.arrays[2]).max().astype(float) < 2.0**128,
            without=run(np.zeros((1, 1)), np.zeros((4, 1)), np.full((4, 1), 3e38)),
        ),
        "or underflows": Hypothesis(
            lambda c: np.abs(c.arrays[2]).max() > 2.0**-100,
            without=run(np.zeros((1, 1)), np.zeros((3, 1)), [[1e-45], [1e-45], [3e-45]]),
        ),
        r"exponentials, powers of two, logarithms and $\tanh$ are right up to a factor "
        r"between $e^{-4\varepsilon}$ and $e^{4\varepsilon}$": Hypothesis(
            lambda c: (
                c.kernel.exp is None
                or np.abs(c.kernel.exp(GRID) / np.exp(GRID.astype(float)) - 1).max() < 4 * EPSILON
            ),
            without=run(*FEW, Kernel(exp=rough(1e-4, rate=1))),
        ),
        "$e^0$ is 1": Hypothesis(
            lambda c: c.kernel.exp is None or c.kernel.exp(GRID[-1:]) == 1,
            sufficient=(
                "otherwise the proof has $M + 1$ in place of the minimum, "
                "which is the same for $M < n - 1$"
            ),
        ),
        "each block subtracts its largest score": Hypothesis(
            lambda c: type(c.kernel) is Kernel,
            without=run([[1.0]], [[0.09], [-0.09]], [[1], [-1]], FarShift()),
        ),
        r"$E \le 1$": Hypothesis(
            lambda c: (limits(c) <= math.expm1(1) * np.abs(c.arrays[2]).max().astype(float)).all(),
            sufficient=(
                r"not needed with $m$ and $\ell$: rounded to the nearest, $|\delta| \le u/(1 + u)$ "
                r"with $u = \tfrac12 \varepsilon$, so that $e^{-u} \le 1 + \delta \le e^u$"
            ),
        ),
        r"$d^2 \varepsilon \le 5$": Hypothesis(
            lambda c: c.arrays[0].shape[1] ** 2 * EPSILON <= 5,
            sufficient=(
                r"the error of a dot product is at most "
                r"$\tfrac d2\, \varepsilon \sum_c |q_c k_{jc}|$ for every $d$, "
                "see Rump, Bünger and Jeannerod, BIT 56 (2016)"
            ),
        ),
        r"$\varepsilon \le 2^{-7}$": Hypothesis(
            lambda _: EPSILON <= 2**-7,
            sufficient="with it the rounding of the scale is bounded; bfloat16 reaches it",
        ),
    }
    neighbors = {
        "$0.98\\, n$ in place of $n$": {"keys": 0.98},
        r"$0.49\, d\, S$ in place of $\tfrac d2 S$": {"terms": 0.49},
        r"without $5\, S + 5\, T$": {"scores": 0.0},
        r"without $6\, B$": {"biases": 0.0},
        "$R = 2 M$ for states with $L$, too": {"logarithms": False},
    }
    hard = (
        many_keys(3),
        many_keys(20000),
        many_terms(6400, 1.0),
        many_terms(6000, 4.0),
        # Each merge rounds a logarithm near 16500.
        run([[1.0]], np.full((500, 1), 16500), np.ones((500, 1)), IN_LOGARITHMS),
        run([[1.0]], [[0.3], [0.0]], [[1], [-1]], IN_TWO, bias=[700.1, 700.4]),
        run([[1.0]], [[0.3], [0.0]], [[1], [-1]], IN_TWO, bias=[901.3, 901.6]),
        run([[1.1030877]], [[-970.70593], [-970.5735]], [[1], [-1]], IN_TWO, scale=1.4762236),
        run([[1.0]], [[5.0]], [[7.0]]),
    )

    def draw(self, rng):
        n, tile = int(rng.integers(1, 60)), int(rng.choice([1, 4, 16, 100]))
        of = {"adding": list(ADDING), "folding": FOLDING, "merging": MERGING, "tree": (False, True)}
        chosen = {name: values[rng.integers(len(values))] for name, values in of.items()}
        how = [{}, {"powers_of_two": True}, {"exp": rough(3 * EPSILON)}][rng.integers(3)]
        arrays = list(adversaries(n, seed=rng.integers(10**6)))[rng.integers(7)]
        options = {
            "scale": rng.choice([0.25, 1, 1.3]),
            "bias": rng.normal(size=n) * rng.choice([0, 1, 9]),
        }
        cap = rng.choice([None, None, 0.5, 7.0])
        return run(*arrays, Kernel(tile=tile, **chosen, **how), soft_cap=cap, **options)

    def holds(self, c, **changed):  # as they are named in `bound`
        return (off(c) <= limits(c, **changed)).all()

    def ratio(self, c):
        limit = limits(c)
        return float((off(c) / np.where(limit, limit, 1)).max())

    @pytest.mark.parametrize("cap", [None, math.inf])
    def test_the_docstring_of_the_function_says_the_same(self, cap):
        says = " ".join(scaled_dot_product_attention.__doc__.split())
        (E,) = re.findall(r"E = \\varepsilon\\,\((.*?)\)`", says)
        E = E.replace("\\,", "*").replace("d_k", "d").replace("6B", "6 * B")
        (more,) = re.findall(r"A `soft_cap` adds :math:`(\d) \\varepsilon S` to :math:`E`", says)
        for query, key, value in adversaries(9, "float64"):
            S = np.abs(query) @ np.abs(key).T
            for i in range(len(query)):
                known = {"n": 9, "d": key.shape[1], "S": S[i].max(), "B": 3}
                total = eval(E, known) + (0 if cap is None else int(more) * known["S"])
                limit = math.expm1(2.0**-52 * total) * np.abs(value).max()
                known = bound("float64", query, key, value, bias=3, cap=cap)[i].max()
                assert limit == pytest.approx(known, rel=1e-12, abs=0)

    @each_dtype
    @pytest.mark.parametrize("n, block", [(1, 1), (3, 1), (1000, 7), (10**5, 512)])
    def test_dense_and_streaming_stay_within_it(self, dtype, n, block):
        for arrays in adversaries(n, dtype):
            expected = truth(*arrays)
            dense = scaled_dot_product_attention(*arrays, scale=1.0)
            assert (np.abs(dense - expected) <= bound(dtype, *arrays)).all()
            streamed = streaming_attention(*arrays, scale=1.0, block_size=block)
            limits = bound(dtype, *arrays, merges=-(-n // block) - 1)
            assert (np.abs(streamed - expected) <= limits).all()

    @each_dtype
    @pytest.mark.parametrize("n", [1, 2, 700])
    @pytest.mark.parametrize("cap", [None, 0.5])
    def test_check_allows_it_with_a_merge_for_each_key_but_one(self, dtype, n, cap):
        rng = np.random.default_rng(n)
        sizes = (3, 8), (n, 8), (n, 2), (n,)
        *arrays, bias = (rng.integers(-8, 9, size) / 8 for size in sizes)  # exact in 16 bits
        given = dict(zip(("query", "key", "value"), arrays, strict=True))
        given |= {"bias": bias, "soft_cap": cap, "scale": 0.5}
        allowed = by_call("streaming_attention", given, Tolerance(0, 0), np.zeros((3, 2)))(dtype)
        options = {"merges": n - 1, "logarithms": True, "bias": bias, "cap": cap, "scale": 0.5}
        expected = bound(dtype, arrays[0], arrays[1], arrays[2], **options)
        smallest = 2.0**-24 if dtype == "float16" else 0
        np.testing.assert_allclose(allowed[:, :1] - smallest, expected, rtol=1e-9)


def off(c):
    """Return how far a kernel is off."""
    with np.errstate(over="ignore"):
        output = c.kernel(*c.arrays, **c.options)
    return np.abs(output.astype(float) - truth(*c.arrays, **c.options))


def limits(c, logarithms=True, **changed):
    """Return how far it may be."""
    options = {"scale": c.options.get("scale", 1.0), "bias": c.options.get("bias", 0.0)}
    return bound(
        "float32", *c.arrays, **options, **changed,
        cap=c.options["soft_cap"],
        merges=-(-len(c.arrays[1]) // c.kernel.tile) - 1,
        logarithms=logarithms and c.kernel.merging == "logarithms",
    )  # fmt: skip


def dense(query, key, value, times=np.matmul):
    """Compute attention with products that are counted, and a softmax that is not."""
    scores = np.asarray(times(query, key.swapaxes(-1, -2)), float)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = powers / powers.sum(axis=-1, keepdims=True)
    return numbers(weights) @ value


def layer(mask, kind="", h=2, g=1, **changed):
    """Return a case: which keys the queries of each head see, and the sizes of a layer."""
    mask = np.array(mask, bool)
    usual = {"d_k": 2, "d_v": 1, "d_model": 3, "L": 2, "own": True, "shares": True}
    return Case(mask=mask, kind=kind, h=h, g=g, **({"times": np.matmul} | usual | changed))


class TestAttentionCost(Statement):
    """thm-attention-cost: multiplications, uses of each number, and the size of a cache."""

    concludes = (
        "take $h P (d_k + d_v)$ multiplications, and twice as many operations",
        "$P = T_q T_k$",
        r"$P = \tfrac{T(T+1)}{2}$",
        "has $P = T_k$",
        r"$d_{\text{model}}\, (h + \tfrac hg)(d_k + d_v)$ multiplications",
        r"$L \tfrac hg\, T\, (d_k + d_v)$ numbers after",
    )
    hypotheses = {
        "the products be computed entry by entry": Hypothesis(
            lambda c: c.times is np.matmul,
            without=layer(np.ones((2, 2)), "whole", h=1, times=strassen),
        ),
        "Groups of $g$ heads share their keys and values": Hypothesis(
            lambda c: c.shares, without=layer(np.ones((2, 3)), g=2, shares=False)
        ),
        "$g$ divides $h$": Hypothesis(
            lambda c: c.h % c.g == 0, without=layer(np.ones((2, 3)), h=3, g=2)
        ),
        "Without a mask": Hypothesis(
            lambda c: c.kind != "whole" or c.mask.all(), without=layer([[1, 0], [1, 1]], "whole")
        ),
        "for one text of length $T$": Hypothesis(
            lambda c: c.kind != "causal" or (c.mask == np.tri(len(c.mask))).all(),
            without=layer(np.kron(np.eye(2), np.tri(2)), "causal"),  # two, one after the other
        ),
        "its own included": Hypothesis(
            lambda c: c.own, without=layer([[1] * 4], "cached", own=False)
        ),
    }
    neighbors = {
        r"$0.95\, h P (d_k + d_v)$ multiplications": {"pairs": 0.95},
        r"$P = \tfrac{T^2}{2}$, rounded up, under the causal mask": {"half": True},
        r"$1.05\, g$ heads use each number": {"heads": 1.05},
        r"$d_{\text{model}}\, (h + 1.05\, \tfrac hg)(d_k + d_v)$": {"groups": 1.05},
        r"$0.95\, L \tfrac hg\, T\, (d_k + d_v)$": {"kept": 0.95},
    }
    hard = (
        layer([[1]], "causal", h=1, d_k=1),
        layer([[1]], "cached", h=1, d_k=1),
        layer(np.tri(4), "causal", h=4, g=4),
        layer([[1, 1, 1]], "cached", h=6, g=3),
        layer([[0, 0], [1, 0]], h=2, g=2),
    )
    draws = Statement.draws // 4

    def draw(self, rng):
        kind = rng.choice(["", "whole", "causal", "cached"], p=[0.3, 0.5, 0.07, 0.13])
        Tq, Tk, groups, g, d_k, d_v, d_model, L = map(int, rng.integers(1, 4, size=8))
        masks = {"whole": np.ones((Tq, Tk)), "causal": np.tri(Tk), "cached": np.ones((1, Tk))}
        mask = masks.get(kind, rng.random((Tq, Tk)) < 0.6)
        return layer(mask, kind, groups * g, g, d_k=d_k, d_v=d_v, d_model=d_model, L=L)

    def holds(self, c, pairs=1.0, half=False, heads=1.0, groups=1.0, kept=1.0):
        (Tq, Tk), widths, share = c.mask.shape, c.d_k + c.d_v, c.h / c.g
        key_heads = math.ceil(share) if c.shares else c.h
        reads = np.arange(c.h) // (c.g if c.shares else 1)
        query, before = numbers(drawn(0, c.h, Tq, c.d_k)), Number.products
        key, value = (numbers(drawn(0, key_heads, Tk, d)) for d in (c.d_k, c.d_v))
        if c.mask.all():
            dense(query, key[reads], value[reads], c.times)
        else:
            for i in np.flatnonzero(c.mask.any(axis=1)):
                seen = c.mask[i]
                dense(query[:, [i]], key[reads][:, seen], value[reads][:, seen])
        multiplied, before = Number.products - before, Number.products
        for columns in (c.h * c.d_k, key_heads * c.d_k, key_heads * c.d_v):
            numbers(drawn(0, 1, c.d_model)) @ numbers(drawn(0, c.d_model, columns))
        numbers(drawn(0, 1, c.h * c.d_v)) @ numbers(drawn(0, c.h * c.d_v, c.d_model))
        projected, stored, P = Number.products - before, 0, c.mask.sum()
        for cache in [KeyValueCache() for _ in range(c.L)]:
            for _ in range(Tk):
                new = (np.zeros((key_heads, 1, d), np.float16) for d in (c.d_k, c.d_k, c.d_v))
                cache.attend(*new)
            stored += cache.keys.size + cache.values.size
        causal = math.ceil(Tk**2 / 2) if half else Tk * (Tk + 1) // 2
        return (
            multiplied == pairs * c.h * P * widths
            and {"whole": Tq * Tk, "causal": causal, "cached": Tk - (not c.own)}.get(c.kind, P) == P
            and all(
                number.uses == heads * c.g * times
                for array in (key, value)
                for times, column in zip(c.mask.sum(axis=0), array.swapaxes(0, 1), strict=True)
                for number in column.flat
            )
            and projected == c.d_model * (c.h + groups * share) * widths
            and stored == kept * c.L * share * Tk * widths
        )

    def test_heads_that_share_read_what_the_library_repeats(self):
        heads = repeat_key_value_heads(np.arange(3)[:, None, None], 6).ravel()
        assert heads.tolist() == [head // 2 for head in range(6)]


def meeting(rows, n, d_k=2, d_v=1, heads=1, **changed):
    """Return a case: rows of queries in each of some heads, which share n keys and values."""
    usual = {"r": rows * heads, "seen": np.ones((rows, n), bool), "tile": rows, "block": n}
    sizes = {"rows": rows, "n": n, "d_k": d_k, "d_v": d_v, "heads": heads}
    return Case(**(sizes | usual | changed))


class TestIntensity(Statement):
    """thm-intensity: 2rn/(r + n) operations for each number that is fetched or written."""

    concludes = (
        r"\frac{2 r n}{r + n}",
        "less than $2r$, less than $2n$, and approaches $2r$",
    )
    hypotheses = {
        "each of $r$ queries see all of the same $n$ keys and values": Hypothesis(
            lambda c: c.seen.all(), without=meeting(3, 3, seen=np.tri(3, dtype=bool))
        ),
        "$r$ counts the queries of all of them": Hypothesis(
            lambda c: c.r == c.rows * c.heads, without=meeting(2, 3, heads=2, r=2)
        ),
        "each number of the queries, keys and values be fetched once": Hypothesis(
            lambda c: c.tile >= c.rows, without=meeting(4, 3, tile=2)
        ),
        "each number of the output be written once": Hypothesis(
            lambda c: c.block >= c.n, without=meeting(2, 4, block=2)
        ),
    }
    neighbors = {
        r"$\frac{2 r n}{r + 0.95\, n}$": {"keys": 0.95},
        "always less than $1.95\\, r$": {"queries": 1.95},
        "always less than $1.95\\, n$": {"fewest": 1.95},
        "approaches $1.95\\, r$ as $n$ grows": {"limit": 1.95},
    }
    hard = (
        meeting(1, 1, 1, 1),
        meeting(1, 1000, 1, 1),
        meeting(3, 400, 1, 1),
        meeting(1000, 1, 1, 1),
        meeting(2, 300, 1, 1, heads=3),
    )

    def draw(self, rng):
        return meeting(*map(int, rng.integers(1, 5, size=5)))

    def holds(self, c, keys=1.0, queries=2.0, fewest=2.0, limit=2.0):
        query = numbers(drawn(0, c.heads, c.rows, c.d_k))
        key, value = numbers(drawn(0, 1, c.n, c.d_k)), numbers(drawn(0, 1, c.n, c.d_v))
        moved, before, every = 0, Number.products, [0] * c.heads
        for start in range(0, c.rows, c.tile):
            q, seen = query[:, start : start + c.tile], c.seen[start : start + c.tile]
            # A tile of queries fetches itself and all keys; each block of keys leaves an output.
            moved += q.size + key.size + value.size
            moved += math.ceil(c.n / c.block) * q.shape[0] * q.shape[1] * c.d_v
            if seen.all():
                dense(q, key[every], value[every])
            else:
                for i, row in enumerate(seen):
                    dense(q[:, [i]], key[every][:, row], value[every][:, row])
        found = Fraction(2 * (Number.products - before), moved)
        return (
            found == Fraction(2 * c.r * c.n) / (c.r + Fraction(keys) * c.n)
            and found < queries * c.r
            and found < fewest * c.n
            and abs(limit * c.r - found) <= Fraction(2 * c.r**2, c.n)
        )
