"""Streaming attention: blocks and states, against 50 digits and the direct form."""

import itertools
import math
import time
import tracemalloc
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_ref import (
    AttentionState,
    attention_state,
    padding_mask,
    scaled_dot_product_attention,
    scaled_dot_product_attention_vjp,
    streaming_attention,
    streaming_attention_vjp,
    window_mask,
)
from tests.support import digits, loops
from tests.support.arrays import close, normal, normals, some

TQ, TK, DK, DV = 7, 11, 3, 5  # distinct primes: a swapped axis cannot pass
SIZES = [1, 2, 3, 7, 11, 100, (1, 11), (7, 1), (3, 4), (100, 2), (2, 100), None]
FEW = [1, (3, 4), None]
STORED = {
    "integers": lambda a: a.astype(np.int8),
    "float16": lambda a: a.astype(np.float16),
    "by columns": lambda a: np.asfortranarray(a, np.float64),
    "bytes in the other order": lambda a: a.astype(np.dtype(np.float64).newbyteorder()),
}
SHAPES = [(), (1,), (TK,), (1, TK), (TQ, 1), (TQ, TK), (2, 1, 1), (1, 1, TK), (2, TQ, TK)]
SEEDS = st.integers(0, 10**6)


def inputs(*lead, seed=0, dtype=np.float64):
    """Return query, key, value and d_output."""
    shapes = [(TQ, DK), (TK, DK), (TK, DV), (TQ, DV)]
    return normals(*((*lead, *shape) for shape in shapes), seed=seed, dtype=dtype)


def attend(*arrays, **options):
    """Return the output with 50 digits, rounded."""
    return np.array(digits.attention(*arrays, **options), np.float64)


def pull_back(*arrays, **options):
    """Return the gradients with 50 digits, rounded."""
    found = digits.attention_gradients(*arrays, **options)
    return [np.array(gradient, np.float64) for gradient in found]


def all_close(found, expected, tolerance=1e-12, case=""):
    """Require every gradient to agree."""
    for gradient, by_hand in zip(found, expected, strict=True):
        close(gradient, by_hand, tolerance, case)


class TestStreamingAttention:
    @pytest.mark.parametrize("offset", [None, -20, -8, -1, 0, 2, 4, 9, 20])
    def test_every_block_size_gives_the_50_digits(self, offset):
        *qkv, d_output = inputs()
        mask = None if offset is None else np.tri(TQ, TK, offset, bool)
        options = {} if offset is None else {"causal": True, "offset": offset}
        output, gradients = attend(*qkv, mask=mask), pull_back(*qkv, d_output, mask=mask)
        for block_size in SIZES:
            blocks = options | {"block_size": block_size}
            close(streaming_attention(*qkv, **blocks), output, case=block_size)
            found = streaming_attention_vjp(*qkv, d_output, **blocks)
            all_close(found, gradients, case=block_size)

    @pytest.mark.parametrize("shape", SHAPES)
    def test_masks_of_every_shape_and_causal_combine(self, shape):
        query, key, value, _ = inputs(2)
        mask = some(*shape, seed=1)
        for causal, block_size in itertools.product([False, True], FEW):
            offset = 3 if causal else 0
            full = mask & (np.tri(TQ, TK, 3, bool) | (not causal))
            output = streaming_attention(
                query, key, value, mask=mask, causal=causal, offset=offset, block_size=block_size
            )
            expected = loops.attention(query, key, value, full)
            close(output, expected, case=(causal, block_size))

    @pytest.mark.parametrize("shape", SHAPES)
    def test_bias_cap_and_scale_are_those_of_the_direct_form(self, shape):
        # The direct form is held against 50 digits in test_attention and test_gradients.
        *qkv, d_output = inputs(2)
        bias = np.asarray(2 * normal(*shape, seed=9))
        options = {"bias": bias, "soft_cap": 1.5, "causal": True, "offset": 3, "scale": -0.7}
        direct = scaled_dot_product_attention(*qkv, **options)
        expected = scaled_dot_product_attention_vjp(*qkv, d_output, **options)
        for block_size in FEW:
            blocks = options | {"block_size": block_size}
            close(streaming_attention(*qkv, **blocks), direct)
            found = streaming_attention_vjp(*qkv, d_output, **blocks)
            all_close([*found, found.d_bias], [*expected, expected.d_bias], case=block_size)

    @pytest.mark.parametrize(
        "shapes", [[(3, 2, 400, 2), (3, 2, 300, 2)], [(5, 90, 1, 2), (5, 90, 300, 2)]]
    )
    def test_more_heads_than_one_block_holds_are_all_computed(self, shapes):
        query, key, value = normals(*shapes, shapes[1])
        direct = scaled_dot_product_attention(query, key, value)
        close(streaming_attention(query, key, value), direct)

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    def test_long_sequences_agree_with_the_direct_form(self, dtype):
        arrays = normals((2, 700, 8), (2, 600, 8), (2, 600, 6), (2, 700, 6), dtype=dtype)
        mask = padding_mask([300, 600], 600) & window_mask(700, 600, 200, None)
        options = {"mask": mask, "causal": True, "offset": 50}
        tolerance = {np.float16: 1e-3, np.float32: 1e-5, np.float64: 1e-12}[dtype]
        direct = scaled_dot_product_attention(*arrays[:3], **options)
        close(streaming_attention(*arrays[:3], **options), direct, tolerance)
        if dtype != np.float16:
            expected = scaled_dot_product_attention_vjp(*arrays, **options)
            found = streaming_attention_vjp(*arrays, **options)
            all_close(found, expected, 10 * tolerance)


class TestAccuracy:
    """Here at most 4 ε (1 + max |score|) of max |value|, against 50 digits: less than promised."""

    @pytest.mark.parametrize("order", [1, -1])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("base", [-10000.0, -20.0, 0.0, 20.0, 9000.0])
    def test_scores_that_climb_or_fall_by_thousands(self, order, dtype, base):
        steps = np.array([0, 1, 7, 9, 15, 17, 33, 100, 101, 400, 1000])[::order]
        key = (base + steps).astype(dtype)[:, np.newaxis]
        query, value = np.array([[1.0], [0.5], [0.0]], dtype), np.eye(11, dtype=dtype)
        for block_size in [(2, 1), (1, 4), None]:
            output = streaming_attention(query, key, value, scale=1, block_size=block_size)
            assert digits.attention_error(output, query, key, value, scale=1) <= 4, block_size

    @given(
        SEEDS,
        st.sampled_from([np.float32, np.float64]),
        st.sampled_from([1.0, 1e3, 1e8]),
        st.integers(-36, 36),
        st.sampled_from([1, 3, (2, 5), None]),
    )
    def test_over_the_whole_range_of_scores_and_values(
        self, seed, dtype, spread, power, block_size
    ):
        query, key, value = normals((3, 4), (9, 4), (9, 2), seed=seed)
        query, key = (spread * query).astype(dtype), key.astype(dtype)
        value = (value * 10.0**power).astype(dtype)
        output = streaming_attention(query, key, value, block_size=block_size)
        assert digits.attention_error(output, query, key, value, products_cancel=True) <= 4

    # A score, the next that differs by more than a logarithm can, and that one again: 0, ½, ½.
    @pytest.mark.parametrize("block_size", [1, (1, 2), None])
    @pytest.mark.parametrize(
        "dtype, score, step",
        [
            *[(np.float32, 2.0**30, 2.0**7), (np.float32, -(2.0**40), 2.0**17)],
            *[(np.float32, 2.0**126, 2.0**103), (np.float64, 2.0**70, 2.0**18)],
            *[(np.float64, -(2.0**1000), 2.0**950), (np.float16, 2.0**15, 2.0**5)],
        ],
    )
    def test_scores_whose_spacing_exceeds_sixteen(self, dtype, score, step, block_size):
        query = np.array([[2.0**15 if dtype == np.float16 else 1.0]], dtype)
        key = np.array([[score], [score + step], [score + step]], dtype)
        value = np.array([[0], [1], [3]], dtype)
        options = {"scale": 1, "block_size": block_size}
        np.testing.assert_array_equal(streaming_attention(query, key, value, **options), [[2]])
        state = attention_state(query, key, value, **options)
        parts = [attention_state(query, key[[i]], value[[i]], **options) for i in (1, 0, 2)]
        for found in (state, parts[0].merge(parts[1]).merge(parts[2])):
            np.testing.assert_array_equal(found.output, [[2]])
            np.testing.assert_array_equal(found.total, [[2]])
            assert found.shift == float(query.item()) * float(key[1].item())
        if dtype == np.float16:
            return  # the gradients of keys overflow
        # dA = (0, 1, 3), its mean 2: dS = (0, −½, ½).
        saved = attention_state(query, key, value, scale=1, block_size=2)
        for state in (None, saved):
            d_query, d_key, d_value = streaming_attention_vjp(
                query, key, value, np.ones((1, 1), dtype), state=state, **options
            )
            np.testing.assert_array_equal(d_value, [[0], [0.5], [0.5]])
            np.testing.assert_array_equal(d_key, [[0], [-0.5], [0.5]])
            np.testing.assert_array_equal(d_query, [[0]])

    def test_a_bias_that_is_large_for_all_changes_nothing(self):
        zeros, value = np.zeros((3, 1), np.float32), np.array([[1], [2], [6]], np.float32)
        bias = np.full((1, 1), 1e9, np.float32)
        output = streaming_attention(zeros, zeros, value, bias=bias, block_size=2)
        np.testing.assert_array_equal(output, [[3]] * 3)

    @pytest.mark.parametrize("scores", [[88.5, 88.5, 88.5], [-100, -101, -102]])
    def test_exponentials_that_leave_the_range_beside_usual_ones(self, scores):
        query, key = np.array([[1], [0]], np.float32), np.array([scores], np.float32).T
        value = np.array([[0.25], [0.5], [0.125]], np.float32)  # weighted sums stay finite
        for block_size in [1, None]:
            output = streaming_attention(query, key, value, block_size=block_size)
            close(output, attend(query, key, value), 1e-6)

    @pytest.mark.parametrize("score", [-90.0, -15.0, -7.0, 0.0, 7.0, 80.0])
    @pytest.mark.parametrize(
        "dtype, numbers",
        [
            *[(np.float32, [1e33, 1e33]), (np.float32, [1e38] * 10), (np.float32, [1e-40] * 10)],
            *[(np.float32, [3.4e38, -3.4e38, 3.4e38]), (np.float32, [1e-38, 3e-38, 2e-45])],
            *[(np.float64, [1.7e308] * 7), (np.float64, [1e-310, 3e-310])],
            *[(np.float16, [65504.0] * 5), (ml_dtypes.bfloat16, [3e38] * 9)],
        ],
    )
    def test_large_and_tiny_values_are_averaged(self, dtype, numbers, score):
        value = np.array(numbers, dtype)[:, np.newaxis]
        key, query = np.full((len(value), 1), score, dtype), np.ones((2, 1), dtype)
        exact = [Fraction(float(x)) for x in value[:, 0]]
        limits = ml_dtypes.finfo(dtype)
        bound = 4 * Fraction(float(limits.eps)) * max(abs(x) for x in exact)
        bound += len(exact) * Fraction(float(limits.smallest_subnormal))
        half = len(value) // 2
        for block_size in [1, 3, None]:
            blocks = {"block_size": block_size}
            one, other = (
                attention_state(query, key[part], value[part], **blocks)
                for part in (slice(half), slice(half, None))
            )
            for output in (
                streaming_attention(query, key, value, **blocks),
                attention_state(query, key, value, **blocks).output,
                one.merge(other).output,
                AttentionState.of(np.full((2, len(value)), dtype(score)), value).output,
            ):
                for number in output[:, 0]:
                    assert abs(Fraction(float(number)) - sum(exact) / len(exact)) <= bound

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("keys", [1, 2, 3, 5, 7, 10, 33, 100])
    def test_scores_fill_the_range_and_values_half_of_it(self, dtype, keys):
        largest = np.finfo(dtype).max
        key = np.array([[largest]] * keys + [[-largest]], dtype)
        value = np.array([[largest / 2]] * keys + [[-largest / 2]], dtype)
        query = np.ones((1, 1), dtype)
        for function in (scaled_dot_product_attention, streaming_attention):
            output = function(query, key, value, scale=1)
            np.testing.assert_allclose(output, value[:1], rtol=8 * np.finfo(dtype).eps)

    @pytest.mark.parametrize("up, down", [(1e30, 1e-38), (1e-38, 1e30), (1e20, 1e-30)])
    def test_the_gradients_of_large_and_tiny_numbers(self, up, down):
        query, key, value, d_output = inputs()
        arrays = [a.astype(np.float32) for a in (query, key, value * up, d_output * down)]
        expected = digits.attention_gradients(*arrays)
        for gradients in (
            scaled_dot_product_attention_vjp(*arrays),
            streaming_attention_vjp(*arrays),
            streaming_attention_vjp(*arrays, block_size=2),
        ):
            for got, want in zip(gradients, expected, strict=True):
                room = 100 * 2.0**-149  # where all is denormal, steps do not shrink
                assert digits.error(got, want) <= 2e-5 * digits.largest(want) + room


class TestMasking:
    @pytest.mark.parametrize("block_size", [1, (2, 1), (2, 2), (2, 3), 4])
    def test_a_query_whose_first_keys_are_hidden_still_finds_very_low_scores(self, block_size):
        mask = np.array([[False, False, True, True], [True, True, True, True]])
        key, value = [[0.0], [0.0], [-5000.0], [-5000.0]], [[7.0], [7.0], [1.0], [3.0]]
        for hidden in ({"mask": mask}, {"bias": np.where(mask, 0.0, -np.inf)}):
            output = streaming_attention(
                [[1.0], [1.0]], key, value, block_size=block_size, **hidden
            )
            close(output, [[2.0], [7.0]])

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("where", ["key", "value", "both"])
    def test_what_stands_beyond_the_causal_limit_changes_nothing(self, bad, where):
        query, key, value, _ = inputs()
        expected = attend(query, key, value, mask=np.tri(TQ, TK, 2, bool))
        if where != "value":
            key[6:] = bad
        if where != "key":
            value[6:] = bad
        for block_size in SIZES:
            options = {"causal": True, "offset": 2, "block_size": block_size}
            output = streaming_attention(query, key, value, **options)
            close(output[:4], expected[:4], case=block_size)  # query 3 sees keys up to 5
            assert np.isnan(output[6]).all() or where == "value" or bad == -np.inf

    def test_large_values_beside_ones_that_are_not_finite(self):
        value = np.full((10, 3), 1e38, np.float32)
        value[4, 1], value[7, 2] = np.inf, np.nan
        output = streaming_attention(np.ones((1, 1)), np.zeros((10, 1)), value)
        np.testing.assert_allclose(output[0], [1e38, np.inf, np.nan], rtol=1e-6)

    @pytest.mark.parametrize("block_size", [1, (4, 2), None])
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_a_bad_allowed_score_makes_its_row_nan_and_no_other(self, bad, block_size):
        query, key, value, _ = inputs()
        bias = np.zeros((TQ, TK))
        bias[4, 1:] = 600.0  # the row beside it needs its shift all the same
        expected = attend(query, key, value, bias=bias)
        bias[3, 5] = bad
        output = streaming_attention(query, key, value, bias=bias, block_size=block_size)
        assert np.isnan(output[3]).all()
        others = [0, 1, 2, 4, 5, 6]
        close(output[others], expected[others], 1e-11)

    def test_a_nan_row_does_not_keep_another_row_from_its_shift(self):
        query = np.array([[np.nan], [1.0]], np.float32)
        key, value = np.array([[0.0], [3000.0]], np.float32), np.eye(2, dtype=np.float32)
        output = streaming_attention(query, key, value, block_size=(2, 1))
        np.testing.assert_array_equal(output, [[np.nan, np.nan], [0, 1]])

    @pytest.mark.parametrize("block_size", FEW)
    def test_a_row_of_minus_infinity_gets_and_gives_zeros(self, block_size):
        *qkv, d_output = inputs()
        mask = np.ones((TQ, TK), bool)
        mask[[2, 5]] = False
        options = {"bias": np.where(mask, 0.0, -np.inf), "block_size": block_size}
        close(streaming_attention(*qkv, **options), attend(*qkv, mask=mask))
        gradients = streaming_attention_vjp(*qkv, d_output, **options)
        all_close(gradients, pull_back(*qkv, d_output, mask=mask))

    @pytest.mark.parametrize("block_size", FEW)
    def test_a_bad_query_shows_only_at_the_keys_it_sees(self, block_size):
        query, *others = inputs()
        query[3] = np.nan
        d_query, d_key, d_value = streaming_attention_vjp(
            query, *others, causal=True, block_size=block_size
        )
        np.testing.assert_array_equal(np.isnan(d_query).any(axis=1), np.arange(TQ) == 3)
        for gradient in (d_key, d_value):
            np.testing.assert_array_equal(np.isnan(gradient).any(axis=1), np.arange(TK) <= 3)
        assert np.isnan(d_key[:4]).all()


class TestWindow:
    @pytest.mark.parametrize("window", [(2, 3), (None, 1), (3, None), (0, 0), (100, 100)])
    @pytest.mark.parametrize("offset", [-9, 0, 3, 30])
    def test_it_is_the_mask_of_the_window(self, window, offset):
        *qkv, d_output = inputs()
        for causal in (False, True):
            left, right = window
            if causal:
                right = 0 if right is None else min(right, 0)
            mask = np.zeros((TQ, TK), bool)
            for i, j in np.ndindex(TQ, TK):
                mask[i, j] = loops.visible(i, j, left, right, offset)
            output, gradients = attend(*qkv, mask=mask), pull_back(*qkv, d_output, mask=mask)
            options = {"window": window, "causal": causal, "offset": offset}
            for block_size in [1, 3, (2, 5), None]:
                blocks, case = options | {"block_size": block_size}, (causal, block_size)
                close(streaming_attention(*qkv, **blocks), output, case=case)
                close(attention_state(*qkv, **blocks).output, output, case=case)
                all_close(streaming_attention_vjp(*qkv, d_output, **blocks), gradients, case=case)


def peak_memory(call):
    """Return what a second call takes at most, in bytes."""
    call()
    tracemalloc.start()
    call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


class TestCost:
    @pytest.mark.parametrize("dtype", [np.float16, np.float32])
    def test_memory_beyond_the_output_does_not_grow_with_the_length(self, dtype):
        extra = {}
        for length in (1024, 2048):
            x = normals(*3 * [(length, 4)], dtype=dtype)
            extra[length] = peak_memory(lambda x=x: streaming_attention(*x)) - x[0].nbytes
        assert extra[2048] < 1.2 * extra[1024]
        assert extra[2048] < 1.25e6  # two blocks of scores, in float32, are 2²⁰ bytes

    @pytest.mark.parametrize("store", STORED.values(), ids=STORED)
    def test_what_is_stored_in_another_way_is_converted_block_by_block(self, store):
        x = store(np.arange(2048 * 64).reshape(2048, 64) % 7 - 3)
        row = store(np.arange(2048)[np.newaxis] % 5)
        row = row if row.dtype.kind == "f" else row / 2.0
        bias, mask = (np.broadcast_to(a, (2048, 2048)) for a in (row, row > 0))
        output = streaming_attention(x, x, x)
        peak = peak_memory(lambda: streaming_attention(x, x, x, bias=bias, mask=mask))
        assert peak - output.nbytes < 2.5e6  # two blocks of scores are 2²¹ bytes

    @pytest.mark.parametrize("shape, window", [((64, 128, 4), None), ((4096, 4), (64, 64))])
    def test_many_heads_or_a_window_take_no_more_memory(self, shape, window):
        x = normals(*3 * [shape], dtype=np.float32)
        peak = peak_memory(lambda: streaming_attention(*x, window=window))
        assert peak - x[0].nbytes < 1.25e6

    def test_the_backward_pass_is_linear_too(self):
        peaks = []
        for length in (1024, 2048):
            x = normals(*4 * [(length, 4)], dtype=np.float32)
            peak = peak_memory(lambda x=x: streaming_attention_vjp(*x, causal=True))
            peaks.append(peak - 3 * x[0].nbytes)
        assert peaks[1] < 1.2 * peaks[0] < 4e6

    def test_the_backward_pass_copies_no_bias_that_is_stretched(self):
        x, bias = normal(1024, 64), np.broadcast_to(normal(1, 1024), (1024, 1024))
        state = attention_state(x, x, x, bias=bias)
        for options in ({"bias": bias}, {"bias": bias, "state": state}):
            peak = peak_memory(lambda o=options: streaming_attention_vjp(x, x, x, x, **o))
            assert peak - bias.nbytes - 3 * x.nbytes < 6e6  # d_bias has the size of 8e6

    @pytest.mark.parametrize(
        "options",
        [{"mask": np.arange(1024) < 64}, {"causal": True, "offset": -960}, {"window": (32, 31)}],
        ids=["mask", "causal", "window"],
    )
    def test_blocks_that_are_hidden_as_a_whole_cost_nothing(self, options):
        x = normals(*3 * [(1024, 64)])

        def seconds(**options):
            start = time.process_time()
            streaming_attention(*x, block_size=64, **options)
            return time.process_time() - start

        # A sixteenth of the blocks, or two. In turn, as the machine may be busy for a while.
        some, every = zip(*((seconds(**options), seconds()) for _ in range(9)), strict=True)
        assert min(some) < min(every) / 2


@st.composite
def states(draw, count):
    """Draw scores and values of `count` blocks of keys that the same two queries see."""
    number = st.floats(-300, 300, width=32)
    blocks = []
    for _ in range(count):
        Tk = draw(st.integers(0, 3))
        scores = draw(st.lists(number | st.just(-math.inf), min_size=2 * Tk, max_size=2 * Tk))
        value = draw(st.lists(st.floats(-8, 8, width=16), min_size=3 * Tk, max_size=3 * Tk))
        blocks.append((np.reshape(scores, (2, Tk)), np.reshape(value, (Tk, 3))))
    return blocks


class TestAttentionState:
    @given(blocks=states(4), order=st.permutations(range(4)), split=st.integers(1, 3))
    def test_blocks_merge_in_any_order_and_grouping(self, blocks, order, split):
        scores = np.concatenate([s for s, _ in blocks], axis=1).astype(float)
        value = np.concatenate([v for _, v in blocks]).astype(float)
        parts = [AttentionState.of(*blocks[i]) for i in order]
        chain = parts[0].merge(parts[1]).merge(parts[2]).merge(parts[3])
        left, right = (self.fold_from_the_right(half) for half in (parts[:split], parts[split:]))
        expected, logs = np.zeros((2, 3)), np.full(2, -np.inf)
        for i in range(2):
            exponentials = [digits.mp50.exp(score) for score in digits.exact(scores[i])]
            if total := digits.mp50.fsum(exponentials):
                logs[i] = digits.mp50.log(total)
                for c, column in enumerate(digits.exact(value.T)):
                    expected[i, c] = digits.dot(exponentials, column) / total
        for merged in (chain, left.merge(right)):
            close(merged.output, expected)
            close(merged.log_sum_exp, logs)

    def fold_from_the_right(self, parts):
        result = parts[-1]
        for part in reversed(parts[:-1]):
            result = part.merge(result)
        return result

    @pytest.mark.parametrize("score", [-1e4, -1000.0, 0.0, 1e4])
    def test_a_state_that_has_seen_no_key_changes_nothing(self, score):
        nothing = attention_state([[1.0]], np.zeros((0, 1)), np.zeros((0, 1)))
        state = AttentionState.of([[score, score]], [[1.0], [4.0]])
        for merged in (nothing.merge(state), state.merge(nothing)):
            close(merged.output, [[2.5]])
            close(merged.log_sum_exp, [score + math.log(2)])
        for empty in (nothing, nothing.merge(nothing)):
            assert empty.output == [[0.0]]
            assert empty.log_sum_exp == [-np.inf]

    def test_the_weighted_sum_is_the_output_before_it_is_divided(self):
        # Scores 0 and ln 2, relative to the larger: ½ and 1, of values 4 and 1.
        state = AttentionState.of([[0.0, math.log(2)]], [[4.0], [1.0]])
        close(state.weighted, [[3.0]])
        close(state.output, [[2.0]])

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_a_bad_score_stays_in_its_row_through_a_merge(self, bad):
        one = AttentionState.of([[bad], [0.0]], [[1.0]])
        other = AttentionState.of([[0.0], [0.0]], [[3.0]])
        np.testing.assert_array_equal(one.merge(other).output, [[np.nan], [2.0]])
        np.testing.assert_array_equal(other.merge(one).output, [[np.nan], [2.0]])

    @pytest.mark.parametrize("cut", [0, 1, 4, 10, 11])
    def test_keys_that_are_split_merge_to_the_whole(self, cut):
        query, key, value, _ = inputs()
        query = 4 * query
        expected = attend(query, key, value, mask=np.tri(TQ, TK, 4, bool))
        for block_size in FEW:
            options = {"causal": True, "block_size": block_size}
            old = attention_state(query, key[:cut], value[:cut], offset=4, **options)
            new = attention_state(query, key[cut:], value[cut:], offset=4 - cut, **options)
            close(old.merge(new).output, expected, 1e-11)
            close(new.merge(old).output, expected, 1e-11)

    @pytest.mark.parametrize("score", [-1e4, -50.0, 3.0, 50.0, 1e4])
    @pytest.mark.parametrize("block_size", [1, 2, None])
    def test_the_shift_is_the_largest_score(self, score, block_size):
        key = np.array([[0.2], [1.0], [0.4]]) * score
        state = attention_state([[1.0]], key, np.eye(3), block_size=block_size)
        assert state.shift.item() == key.max()

    def test_only_states_of_the_same_queries_merge(self):
        one = AttentionState.of([[0.0]], [[1.0]])
        message = r"^state \(1, 1\) and other \(2, 1\): they must have the same shape$"
        with pytest.raises(ValueError, match=message):
            one.merge(AttentionState.of([[0.0], [0.0]], [[1.0]]))
        with pytest.raises(TypeError, match=r"^other must be an AttentionState, got int$"):
            one.merge(3)

    @pytest.mark.parametrize(
        "shapes, message",
        [
            ([(3, 1), (2, 1), (3, 5)], "shift (3, 1) and total (2, 1): they must have the same "),
            ([(3, 1), (3, 1), (2, 5)], "shift (3, 1) and one for each row of output (2, 1): they"),
            ([(3, 2), (3, 2), (3, 5)], "shift (3, 2) and one for each row of output (3, 1): they"),
        ],
    )
    def test_the_three_fields_belong_to_the_same_queries(self, shapes, message):
        with pytest.raises(ValueError, match="shift") as caught:
            AttentionState(*(np.ones(shape) for shape in shapes))
        assert str(caught.value).startswith(message)


class TestStreamingAttentionVjp:
    @pytest.mark.parametrize("spread", [1.0, 30.0])
    def test_a_saved_state_gives_the_same_gradients_merged_or_not(self, spread):
        query, key, value, d_output = inputs()
        key *= spread
        expected = pull_back(query, key, value, d_output)
        one, other = (
            attention_state(query, key[part], value[part]) for part in (slice(4), slice(4, None))
        )
        for state in (None, attention_state(query, key, value, block_size=3), one.merge(other)):
            found = streaming_attention_vjp(
                query, key, value, d_output, state=state, block_size=(2, 5)
            )
            all_close(found, expected, 1e-11)

    def test_a_saved_state_is_used_and_not_modified(self):
        *qkv, d_output = inputs()
        state = attention_state(*qkv)
        shifted = AttentionState(state.shift, state.total, state.output + 1)
        before = state.total.copy(), state.output.copy()
        whole = streaming_attention_vjp(*qkv, d_output, state=state)
        other = streaming_attention_vjp(*qkv, d_output, state=shifted)
        close(other.d_value, whole.d_value)
        assert not np.allclose(other.d_query, whole.d_query)  # the mean is taken from the state
        np.testing.assert_array_equal(state.total, before[0])
        np.testing.assert_array_equal(state.output, before[1])

    @pytest.mark.parametrize(
        "made, used",
        [
            ({"causal": True}, {}),
            ({}, {"causal": True}),
            ({"causal": True}, {"causal": True, "offset": 1}),
            ({"scale": 0.5}, {"scale": 0.7}),
            ({"mask": np.zeros((TQ, 1), bool)}, {}),
        ],
    )
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_a_state_that_was_made_from_other_arguments_is_refused(self, made, used, dtype):
        *qkv, d_output = inputs(dtype=dtype)
        state = attention_state(*qkv, **made)
        with pytest.raises(ValueError, match=r"^state \(7,\): it was made from other arguments"):
            streaming_attention_vjp(*qkv, d_output, state=state, **used)
        streaming_attention_vjp(*qkv, d_output, state=state, **made)

    @pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
    def test_a_state_that_only_rounds_otherwise_is_accepted(self, offset):
        shapes = (64, 16), (300, 16), (300, 4), (64, 4)
        query, key, value, d_output = normals(*shapes, dtype=np.float32)
        key = key + np.float32(offset)
        mask = np.ones((64, 300), bool)
        mask[5] = False
        state = attention_state(query, key, value, mask=mask, block_size=(1, 7))
        gradients = streaming_attention_vjp(query, key, value, d_output, mask=mask, state=state)
        assert all(np.isfinite(gradient).all() for gradient in gradients)

    def test_a_state_of_other_blocks_gives_no_weight_beyond_one(self):
        # The scores, some 10¹¹, are rounded to multiples of thousands, in other blocks otherwise.
        shapes = (40, 64), (300, 64), (300, 4), (40, 4)
        query, key, value, d_output = normals(*shapes, dtype=np.float32)
        query, key = 1e5 * query, 1e5 * key
        state = attention_state(query, key, value, block_size=1)
        gradients = streaming_attention_vjp(query, key, value, d_output, state=state)
        assert all(np.isfinite(gradient).all() for gradient in gradients)
        assert np.abs(gradients.d_value).max() <= np.abs(d_output).sum(axis=0).max()
