"""The theorems of the page on long sequences, checked away from it.

Expected values come from exact fractions, plain loops or counting; a class bears the label of its
theorem. Every hypothesis that can be dropped is dropped once.
"""

import functools
import itertools
import math
import operator
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_ref import (
    AttentionState,
    KeyValueCache,
    attention_state,
    causal_mask,
    repeat_key_value_heads,
    scaled_dot_product_attention,
    streaming_attention,
)
from selfattn_ref.worked_examples import Tolerance
from selfattn_ref.worked_examples._tolerance import by_call
from tests.support.arrays import drawn
from tests.support.kernels import ADDING, FOLDING, Kernel, truth

SEEDS = st.integers(0, 10**6)


# Scores are powers of two times ln 2, so that every exponential is a power of two and a state is a
# triple of exact numbers: (exponent m or None, sum, row). Sums of these are fractions.
EMPTY = (None, Fraction(0), (Fraction(0), Fraction(0)))


def state_of(keys):
    """Return the state of some keys (exponent, value), by its definition."""
    if not keys:
        return EMPTY
    m = max(exponent for exponent, _ in keys)
    powers = [Fraction(2) ** (exponent - m) for exponent, _ in keys]
    row = tuple(
        sum(p * value[c] for p, (_, value) in zip(powers, keys, strict=True)) / sum(powers)
        for c in (0, 1)
    )
    return m, sum(powers), row


def merged(one, other):
    """Merge by equation eq-merge, in fractions."""
    exponents = [state[0] for state in (one, other) if state[0] is not None]
    if not exponents:
        return EMPTY
    m = max(exponents)
    a, b = (
        Fraction(0) if state[0] is None else state[1] * Fraction(2) ** (state[0] - m)
        for state in (one, other)
    )
    row = tuple((a * x + b * y) / (a + b) for x, y in zip(one[2], other[2], strict=True))
    return m, a + b, row


SMALL = st.integers(-8, 8)
FRACTIONS = st.fractions(-9, 9, max_denominator=9)
KEYS = st.lists(st.tuples(SMALL, st.tuples(FRACTIONS, FRACTIONS)), max_size=7)
STATES = st.one_of(
    st.just(EMPTY),
    st.tuples(
        SMALL, st.fractions(Fraction(1, 9), 9, max_denominator=9), st.tuples(FRACTIONS, FRACTIONS)
    ),
)


def in_floats(state):
    """Return an exact state as one of the library."""
    m, total, row = state
    shift = -math.inf if m is None else m * math.log(2)
    return AttentionState([[shift]], [[float(total)]], [[float(x) for x in row]])


def same(one, other):
    for name in ("shift", "total", "output"):
        mine, yours = getattr(one, name), getattr(other, name)
        np.testing.assert_allclose(mine, yours, rtol=1e-12, atol=1e-12)


class TestStateOfAUnion:
    """thm-state-of-a-union: states of disjoint sets of keys merge into that of their union."""

    @given(KEYS, KEYS)
    def test_in_fractions(self, early, late):
        assert merged(state_of(early), state_of(late)) == state_of(early + late)

    @given(KEYS, KEYS)
    def test_the_library_merges_likewise(self, early, late):
        def of(keys):
            scores = np.array([[exponent * math.log(2) for exponent, _ in keys]])
            rows = [[float(x) for x in value] for _, value in keys]
            return AttentionState.of(scores.reshape(1, len(keys)), np.reshape(rows, (len(keys), 2)))

        same(of(early).merge(of(late)), in_floats(state_of(early + late)))

    @given(SEEDS, st.integers(1, 5), st.integers(1, 9), st.data())
    def test_any_blocks_give_the_output_of_attention(self, seed, Tq, Tk, data):
        query, key, value = drawn(seed, Tq, 3), drawn(seed + 1, Tk, 3), drawn(seed + 2, Tk, 2)
        block = np.array(data.draw(st.lists(st.integers(0, 3), min_size=Tk, max_size=Tk)))
        states = [attention_state(query, key[block == n], value[block == n]) for n in range(4)]
        whole = functools.reduce(AttentionState.merge, states)
        powers = np.exp(np.einsum("ic,jc->ij", query, key) / math.sqrt(3))
        expected = np.einsum("ij,jc->ic", powers, value) / powers.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(whole.output, expected, rtol=1e-10, atol=1e-12)

    def test_a_key_that_is_in_both_sets_counts_twice(self):
        keys = [(0, (Fraction(0), Fraction(0))), (0, (Fraction(6), Fraction(0)))]
        twice = merged(state_of(keys), state_of(keys[1:]))
        assert twice[2][0] == 4
        assert state_of(keys)[2][0] == 3


class TestMerge:
    """thm-merge: merging is commutative and associative, and the empty state changes nothing."""

    @given(STATES, STATES, STATES)
    def test_in_fractions(self, a, b, c):
        assert merged(a, b) == merged(b, a)
        assert merged(merged(a, b), c) == merged(a, merged(b, c))
        assert merged(a, EMPTY) == merged(EMPTY, a) == a

    @given(STATES, STATES, STATES)
    def test_in_the_library_up_to_rounding(self, a, b, c):
        a, b, c = map(in_floats, (a, b, c))
        same(a.merge(b).merge(c), a.merge(b.merge(c)))
        same(a.merge(in_floats(EMPTY)), a)
        for name in ("shift", "total", "output"):
            np.testing.assert_array_equal(getattr(a.merge(b), name), getattr(b.merge(a), name))

    @given(st.lists(STATES, min_size=2, max_size=4))
    def test_every_order_and_grouping_of_a_few_states(self, states):
        def groupings(line):
            if len(line) == 1:
                yield line[0]
            for cut in range(1, len(line)):
                for one, other in itertools.product(groupings(line[:cut]), groupings(line[cut:])):
                    yield merged(one, other)

        results = {
            result for order in itertools.permutations(states) for result in groupings(order)
        }
        assert len(results) == 1

    def test_a_mean_of_the_outputs_would_depend_on_the_grouping(self):
        def mean(x, y):
            return (x + y) / 2

        assert mean(mean(1, 2), 6) != mean(1, mean(2, 6))


EPSILONS = {
    "float64": (2.0**-52, 0.0),
    "float32": (2.0**-23, 0.0),
    "float16": (2.0**-23, 2.0**-10),
    "bfloat16": (2.0**-23, 2.0**-7),
}
FLOATS = {"float64": np.float64, "float32": np.float32, "float16": np.float16}
FLOATS["bfloat16"] = ml_dtypes.bfloat16
each_dtype = pytest.mark.parametrize("dtype", EPSILONS)


def bound(dtype, query, key, value, *, merges=0, logarithms=False, cap=None, scale=1.0, bias=0.0):
    """Return the bound of thm-rounding for each query, of weights and results stored in `dtype`."""
    epsilon, stored = EPSILONS[dtype]
    query, key, value = (np.abs(np.asarray(x).astype(float)) for x in (query, key, value))
    n, d = key.shape
    S = scale * (query @ key.T).max(axis=1, keepdims=True)
    T, B, V = (S if cap is None else np.minimum(S, cap)), np.abs(bias).max(), value.max()
    R = 2 * merges
    if logarithms:
        R = merges * (6 + (T + B + math.log(n)) / 2) + 11 * math.log(n)
    steps = n + 2 + 4 * min(merges + 1, n - 1) + (d / 2 + 5) * S + 5 * T + 6 * B + R
    E = epsilon * (steps + (0 if cap is None else 7 * T))
    E = E + stored / 2 + (n * 2.0**-25 if dtype == "float16" else 0)
    error = np.expm1(E) * V
    return error + stored / 2 * (V + error)


def adversaries(n, dtype):
    """Yield queries, keys and values that are hard to add up, of at most 24 bits."""
    rng = np.random.default_rng(n)
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


class TestRounding:
    """thm-rounding: how far rounding takes an entry, by keys, terms, merges and scores."""

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
    @pytest.mark.parametrize("merging", ["sums", "averages", "logarithms"])
    def test_so_do_other_orders_and_merges(self, dtype, merging):
        for arrays in adversaries(300, dtype):
            expected = truth(*arrays)
            for adding, tile, tree in itertools.product(ADDING, (1, 16, 300), (False, True)):
                output = Kernel(adding=adding, merging=merging, tile=tile, tree=tree)(*arrays)
                limits = bound(
                    dtype,
                    *arrays,
                    merges=-(-300 // tile) - 1,
                    logarithms=merging == "logarithms",
                )
                assert (np.abs(output.astype(float) - expected) <= limits).all()

    @each_dtype
    @given(SEEDS, st.sampled_from([0.25, 1.0, 30.0]), st.sampled_from([0.5, 7.0]))
    def test_scales_caps_and_biases(self, dtype, seed, scale, cap):
        rng = np.random.default_rng(seed)
        arrays = [drawn(seed + m, m, 8).astype(np.float32).astype(FLOATS[dtype]) for m in (3, 30)]
        arrays.append(drawn(seed, 30, 2).astype(np.float32).astype(FLOATS[dtype]))
        options = {"scale": scale, "soft_cap": cap, "bias": rng.normal(size=30).astype(np.float32)}
        limits = bound(dtype, *arrays, scale=scale, cap=cap, bias=options["bias"])
        for folding, powers_of_two in itertools.product(FOLDING, (False, True)):
            kernel = Kernel(folding=folding, powers_of_two=powers_of_two)
            error = np.abs(kernel(*arrays, **options).astype(float) - truth(*arrays, **options))
            assert (error <= limits).all()

    def test_without_the_number_of_keys_it_is_false(self):
        zeros, value = np.zeros((1000, 1), np.float32), np.full((1000, 1), 0.1, np.float32)
        off = np.abs(Kernel()(zeros[:1], zeros, value) - truth(zeros[:1], zeros, value))
        assert off > 4 * 2.0**-23 * 0.1
        assert off <= bound("float32", zeros[:1], zeros, value)

    def test_without_the_number_of_terms_it_is_false(self):
        query, key = np.full((1, 4000), 0.1, np.float32), np.full((2, 4000), 0.1, np.float32)
        key[1] *= -1
        arrays = query, key, np.array([[1], [-1]], np.float32)
        off = np.abs(Kernel(adding="one by one")(*arrays, scale=0.02) - truth(*arrays, scale=0.02))
        S = 0.02 * 4000 * 0.01
        assert off > 2.0**-23 * (2 + 2 + 4 + 10 * S)
        assert off <= bound("float32", *arrays, scale=0.02)

    def test_without_the_size_of_the_scores_merging_logarithms_breaks_it(self):
        # From key 1000 on, a key adds less to the logarithm, 30000, than half its spacing.
        query, key = np.float32([[1.0]]), np.full((3000, 1), 30000, np.float32)
        value = np.ones_like(key)
        kernel = Kernel(merging="logarithms", tile=1)
        off = np.abs(kernel(query, key, value) - 1)
        assert off > bound("float32", query, key, value, merges=2999)
        assert off <= bound("float32", query, key, value, merges=2999, logarithms=True)

    @pytest.mark.parametrize(
        "dtype, wrong",
        [
            ("float32", {"stored": lambda x: x.astype(np.float16).astype(np.float32)}),
            ("float64", {"stored": lambda x: x.astype(np.float32).astype(np.float64)}),
            ("float32", {"exp": lambda x: np.exp(x) * (1 + 1e-4 * np.sin(x))}),
            ("float64", {"exp": lambda x: np.exp(x) * (1 + 1e-6 * np.sin(x))}),
        ],
    )
    def test_narrow_weights_and_rough_exponentials_are_beyond_it(self, dtype, wrong):
        query, key = np.float32([[1.0]]), np.float32([[0.0], [0.5], [1.0]])
        arrays = [x.astype(FLOATS[dtype]) for x in (query, key, np.float32([[1], [1], [-1]]))]
        limits = bound(dtype, *arrays, merges=2, logarithms=True)
        off = np.abs(Kernel(**wrong)(*arrays) - truth(*arrays))
        assert off > limits
        assert np.abs(Kernel()(*arrays) - truth(*arrays)) <= limits

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


class Number(float):
    """A number that counts how often it is multiplied, and is added up like any other."""

    uses = 0

    def __mul__(self, other):
        for number in (self, other):
            number.uses += 1
        return Number(float.__mul__(self, other))

    def __add__(self, other):
        return Number(float.__add__(self, other))


def numbers(*shape):
    return np.vectorize(Number, otypes=[object])(drawn(0, *shape))


def multiplied(*arrays):
    """Return how often the numbers of some arrays have been multiplied, added up."""
    return sum(number.uses for array in arrays for number in array.flat)


def dense(query, key, value):
    """Compute attention with products that are counted, and a softmax that is not."""
    scores = np.asarray(query @ key.swapaxes(-1, -2), float)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = powers / powers.sum(axis=-1, keepdims=True)
    return np.vectorize(Number, otypes=[object])(weights) @ value


SIZES = st.integers(1, 4)


class TestAttentionCost:
    """thm-attention-cost: multiplications, uses of each number, and the size of a cache."""

    @given(SIZES, SIZES, SIZES, SIZES, SIZES, SIZES)
    def test_without_a_mask(self, groups, g, Tq, Tk, d_k, d_v):
        h = groups * g
        query, key, value = numbers(h, Tq, d_k), numbers(groups, Tk, d_k), numbers(groups, Tk, d_v)
        reads = [head // g for head in range(h)]
        dense(query, key[reads], value[reads])
        assert multiplied(query) == h * Tq * Tk * d_k  # one number of each product for a score
        assert multiplied(value) == h * Tq * Tk * d_v
        assert {number.uses for array in (key, value) for number in array.flat} == {Tq * g}

    @given(SIZES, SIZES, SIZES, SIZES)
    def test_under_the_causal_mask(self, g, T, d_k, d_v):
        query, key, value = numbers(g, T, d_k), numbers(1, T, d_k), numbers(1, T, d_v)
        for t in range(T):  # with a cache: the last step is one new token
            before = multiplied(query, value)
            dense(query[:, t : t + 1], key[[0] * g, : t + 1], value[[0] * g, : t + 1])
            assert multiplied(query, value) - before == g * (t + 1) * (d_k + d_v)
        assert causal_mask(T).sum() == T * (T + 1) // 2
        assert multiplied(query, value) == g * T * (T + 1) // 2 * (d_k + d_v)
        for j in range(T):
            assert {number.uses for number in key[0, j]} == {(T - j) * g}

    @given(SIZES, SIZES, SIZES, SIZES, SIZES, SIZES)
    def test_the_four_matrices(self, groups, g, tokens, width, d_k, d_v):
        h = groups * g
        rows, mixed = numbers(tokens, width), numbers(tokens, h * d_v)
        for columns in (h * d_k, groups * d_k, groups * d_v):
            rows @ numbers(width, columns)
        mixed @ numbers(h * d_v, width)
        assert multiplied(rows, mixed) == tokens * width * (h + groups) * (d_k + d_v)

    @given(SIZES, SIZES, SIZES)
    def test_the_usual_form(self, heads, T, d):
        width = heads * d
        query, key, value = (numbers(heads, T, d) for _ in range(3))
        dense(query, key, value)
        assert 2 * multiplied(query, value) == 4 * T**2 * width
        rows = numbers(T, width)
        for _ in range(4):
            rows @ numbers(width, width)
        assert 2 * multiplied(rows) == 8 * T * width**2

    @given(SIZES, SIZES, SIZES, SIZES, SIZES)
    def test_the_cache(self, layers, groups, T, d_k, d_v):
        kept = 0
        for _ in range(layers):
            cache = KeyValueCache()
            for _ in range(T):
                cache.attend(*(np.zeros((groups, 1, d), np.float16) for d in (d_k, d_k, d_v)))
            kept += cache.keys.nbytes + cache.values.nbytes
        assert kept == 2 * layers * groups * T * (d_k + d_v)

    def test_heads_that_share_read_what_the_library_repeats(self):
        heads = repeat_key_value_heads(np.arange(3)[:, None, None], 6).ravel()
        assert heads.tolist() == [head // 2 for head in range(6)]

    def test_the_causal_half_is_not_exactly_half(self):
        assert causal_mask(4).sum() == 10
        assert causal_mask(4).size / 2 == 8


class TestIntensity:
    """thm-intensity: 2rn/(r + n) operations for each number that is fetched or written."""

    @given(SIZES, SIZES, SIZES, SIZES)
    def test_counted(self, r, n, d_k, d_v):
        query, key, value = numbers(r, d_k), numbers(n, d_k), numbers(n, d_v)
        output = dense(query, key, value)
        operations = 2 * multiplied(query, value)
        touched = sum(number.uses > 0 for array in (query, key, value) for number in array.flat)
        found = Fraction(operations, touched + output.size)
        assert found == Fraction(2 * r * n, r + n)
        assert found < 2 * min(r, n)

    @given(SIZES, SIZES, SIZES)
    def test_heads_that_share_count_as_more_queries(self, g, r, n):
        query, key, value = numbers(g, r, 3), numbers(1, n, 3), numbers(1, n, 2)
        output = dense(query, key[[0] * g], value[[0] * g])
        moved = sum(map(operator.attrgetter("size"), (query, key, value, output)))
        assert Fraction(2 * multiplied(query, value), moved) == Fraction(2 * g * r * n, g * r + n)

    def test_it_tends_to_twice_the_number_of_queries(self):
        quotients = [Fraction(2 * 3 * n, 3 + n) for n in (1, 10, 1000)]
        assert quotients == sorted(quotients)
        assert 6 - quotients[-1] < Fraction(1, 50)
