"""Streaming attention, against loops and 50-digit arithmetic that share no code with it."""

import itertools
import math
import time
import tracemalloc
from fractions import Fraction

import ml_dtypes
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from selfattn_ref import (
    AttentionState,
    attention_state,
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
    scaled_dot_product_attention_vjp,
    streaming_attention,
    streaming_attention_vjp,
    window_mask,
)
from tests import oracles, oracles_more

TQ, TK, DK, DV = 7, 11, 3, 5  # distinct primes: a swapped axis cannot pass
SIZES = [1, 2, 3, 7, 11, 100, (1, 11), (7, 1), (3, 4), (100, 2), (2, 100), None]
MASKS = [(), (1,), (TK,), (1, TK), (TQ, 1), (TQ, TK), (2, 1, 1), (1, 1, TK), (2, TQ, TK)]


def arrays(seed, *shapes, dtype=np.float64, spread=1.0):
    rng = np.random.default_rng(seed)
    return [(spread * rng.standard_normal(shape)).astype(dtype) for shape in shapes]


def qkv(seed=0, leading=(), **options):
    return arrays(seed, (*leading, TQ, DK), (*leading, TK, DK), (*leading, TK, DV), **options)


def some_mask(shape, seed=5):
    mask = np.random.default_rng(seed).random(shape) < 0.6
    return mask if mask.any() else ~mask


def attend(query, key, value, visible, bias=None, scale=None):
    """Attention of one head in 50-digit arithmetic, one query and one key at a time."""
    with mpmath.workdps(50):
        scale = 1 / mpmath.sqrt(query.shape[1]) if scale is None else mpmath.mpf(scale)
        output = np.zeros((query.shape[0], value.shape[1]))
        largest = 0.0
        for i, q in enumerate(query.tolist()):
            scores = {}
            for j, k in enumerate(key.tolist()):
                if visible is None or visible[i, j]:
                    scores[j] = scale * mpmath.fdot(q, k) + (0 if bias is None else bias[i, j])
            if not scores:
                continue
            exponentials = {j: mpmath.exp(s) for j, s in scores.items()}
            total = mpmath.fsum(exponentials.values())
            largest = max(largest, *(abs(float(s)) for s in scores.values()))
            for c in range(value.shape[1]):
                terms = (e * mpmath.mpf(float(value[j, c])) for j, e in exponentials.items())
                output[i, c] = mpmath.fsum(terms) / total
        return output, largest


def pull_back(query, key, value, d_output, visible, scale):
    """Gradients of one head by the Jacobian of each softmax, written out, in plain floats."""
    d_query, d_key, d_value = np.zeros_like(query), np.zeros_like(key), np.zeros_like(value)
    for i in range(query.shape[0]):
        seen = [j for j in range(key.shape[0]) if visible is None or visible[i, j]]
        if not seen:
            continue
        scores = [
            scale * math.fsum(a * b for a, b in zip(query[i], key[j], strict=True)) for j in seen
        ]
        highest = max(scores)
        exponentials = [math.exp(s - highest) for s in scores]
        weights = [e / math.fsum(exponentials) for e in exponentials]
        d_weights = [
            math.fsum(g * v for g, v in zip(d_output[i], value[j], strict=True)) for j in seen
        ]
        for a, j in enumerate(seen):
            d_value[j] += weights[a] * d_output[i]
            # The Jacobian of softmax: ∂p_b/∂s_a = p_b (δ_ab − p_a).
            d_score = math.fsum(
                d_weights[b] * weights[b] * ((a == b) - weights[a]) for b in range(len(seen))
            )
            d_query[i] += scale * d_score * key[j]
            d_key[j] += scale * d_score * query[i]
    return d_query, d_key, d_value


def assert_close(actual, expected, tolerance=1e-12):
    assert actual.shape == np.shape(expected)
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


class TestStreamingAttention:
    @pytest.mark.parametrize("block_size", SIZES)
    def test_every_block_size_gives_the_50_digit_output(self, block_size):
        query, key, value = qkv()
        expected, _ = attend(query, key, value, None)
        assert_close(streaming_attention(query, key, value, block_size=block_size), expected)

    @pytest.mark.parametrize("block_size", SIZES)
    @pytest.mark.parametrize("offset", [-20, -8, -1, 0, 2, 4, 9, 20])
    def test_causal_hides_the_keys_past_each_query(self, block_size, offset):
        query, key, value = qkv()
        visible = [[j <= i + offset for j in range(TK)] for i in range(TQ)]
        expected, _ = attend(query, key, value, np.array(visible))
        output = streaming_attention(
            query, key, value, causal=True, offset=offset, block_size=block_size
        )
        assert_close(output, expected)

    @pytest.mark.parametrize("causal", [False, True])
    @pytest.mark.parametrize("block_size", [1, (3, 4), None])
    @pytest.mark.parametrize("shape", MASKS)
    def test_masks_of_every_shape_and_causal_combine(self, shape, block_size, causal):
        query, key, value = qkv(leading=(2,))
        mask = some_mask(shape)
        full = np.broadcast_to(mask, (2, TQ, TK)) & (np.tri(TQ, TK, 3, bool) | (not causal))
        expected = [attend(*head)[0] for head in zip(query, key, value, full, strict=True)]
        offset = 3 if causal else 0
        output = streaming_attention(
            query, key, value, mask=mask, causal=causal, offset=offset, block_size=block_size
        )
        assert_close(output, np.array(expected))

    @pytest.mark.parametrize("block_size", [1, (3, 4), None])
    @pytest.mark.parametrize("shape", MASKS)
    def test_a_bias_of_every_shape_is_added_after_the_scale(self, shape, block_size):
        query, key, value = qkv(leading=(2,))
        (bias,) = arrays(3, shape, spread=3)
        full = np.broadcast_to(bias, (2, TQ, TK))
        expected = [
            attend(query[b], key[b], value[b], None, full[b], scale=-0.7)[0] for b in range(2)
        ]
        output = streaming_attention(
            query, key, value, bias=bias, scale=-0.7, block_size=block_size
        )
        assert_close(output, np.array(expected))

    @pytest.mark.parametrize("block_size", SIZES)
    def test_leading_axes_broadcast(self, block_size):
        query, key, value = arrays(1, (2, 1, TQ, DK), (3, TK, DK), (2, 1, TK, DV))
        output = streaming_attention(query, key, value, block_size=block_size)
        assert output.shape == (2, 3, TQ, DV)
        for b, h in itertools.product(range(2), range(3)):
            assert_close(output[b, h], attend(query[b, 0], key[h], value[b, 0], None)[0])

    def test_more_heads_than_one_block_holds_are_all_computed(self):
        query, key, value = arrays(1, (3, 2, 400, 2), (3, 2, 300, 2), (3, 2, 300, 2))
        output = streaming_attention(query, key, value)
        direct = scaled_dot_product_attention(query, key, value)
        assert_close(output, direct)
        one_step = arrays(1, (5, 90, 1, 2), (5, 90, 300, 2), (5, 90, 300, 2))
        assert_close(streaming_attention(*one_step), scaled_dot_product_attention(*one_step))

    @pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
    @pytest.mark.parametrize("block_size", [(2, 3), None])
    def test_the_dtype_stays_and_16_bits_are_computed_in_32(self, dtype, block_size):
        query, key, value = qkv(dtype=dtype)
        before = [array.copy() for array in (query, key, value)]
        output = streaming_attention(query, key, value, block_size=block_size)
        exact, _ = attend(*(array.astype(float) for array in before), None)
        assert output.dtype == dtype
        if np.dtype(dtype).itemsize == 2:  # one rounding, at the end
            rounding = float(ml_dtypes.finfo(dtype).eps) / 2 + 1e-6
        else:
            rounding = 20 * np.finfo(dtype).eps
        error = np.abs(output.astype(float) - exact)
        assert (error <= rounding * (np.abs(exact) + 1e-2)).all()
        for array, copy in zip((query, key, value), before, strict=True):
            np.testing.assert_array_equal(array, copy)

    def test_half_precision_does_not_overflow_in_the_sums(self):
        ones = np.ones((1, 1), np.float16)
        value = np.full((5000, 1), 60000, np.float16)
        output = streaming_attention(ones, np.zeros((5000, 1), np.float16), value)
        np.testing.assert_array_equal(output, [[np.float16(60000)]])

    def test_integers_and_lists_become_float64_and_mixed_inputs_widen(self):
        output = streaming_attention([[0]], [[1], [2]], [[1], [2]])
        assert output.dtype == np.float64
        assert_close(output, [[1.5]])
        query, key, value = qkv(dtype=np.float32)
        assert streaming_attention(query, key, value.astype(np.float64)).dtype == np.float64
        bias = np.zeros(TK)
        assert streaming_attention(query, key, value, bias=bias).dtype == np.float64

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("spread", [0.1, 1.0, 10.0, 100.0])
    @pytest.mark.parametrize("block_size", [(5, 1), (3, 8), None])
    def test_the_error_is_at_most_what_the_scores_make_unavoidable(self, dtype, spread, block_size):
        query, key, value = arrays(8, (17, 4), (53, 4), (53, 3), dtype=dtype)
        query, key = query * dtype(spread), key * dtype(spread)  # scores up to some 10⁴
        exact, largest = attend(query, key, value, None)
        output = streaming_attention(query, key, value, block_size=block_size)
        bound = 4 * np.finfo(dtype).eps * (1 + largest) * np.abs(value).max()
        assert np.abs(output - exact).max() <= bound

    @pytest.mark.parametrize("order", [1, -1])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("base", [-10000.0, -20.0, 0.0, 20.0, 9000.0])
    @pytest.mark.parametrize("block_size", [(2, 1), (1, 4), None])
    def test_scores_that_climb_or_fall_by_thousands(self, order, dtype, base, block_size):
        steps = np.array([0, 1, 7, 9, 15, 17, 33, 100, 101, 400, 1000])[::order]
        key = (base + steps).astype(dtype)[:, np.newaxis]
        value = np.eye(11, dtype=dtype)
        query = np.array([[1.0], [0.5], [0.0]], dtype)
        exact, largest = attend(query, key, value, None, scale=1)
        output = streaming_attention(query, key, value, scale=1, block_size=block_size)
        assert np.abs(output - exact).max() <= 4 * np.finfo(dtype).eps * (1 + largest)

    @pytest.mark.parametrize("block_size", [1, (2, 1), (2, 2), (2, 3), 4])
    def test_a_query_whose_first_keys_are_hidden_still_finds_very_low_scores(self, block_size):
        mask = np.array([[False, False, True, True], [True, True, True, True]])
        key = [[0.0], [0.0], [-5000.0], [-5000.0]]
        value = [[7.0], [7.0], [1.0], [3.0]]
        query = [[1.0], [1.0]]
        output = streaming_attention(query, key, value, mask=mask, block_size=block_size)
        assert_close(output, [[2.0], [7.0]])
        bias = np.where(mask, 0.0, -np.inf)
        output = streaming_attention(query, key, value, bias=bias, block_size=block_size)
        assert_close(output, [[2.0], [7.0]])

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("where", ["key", "value", "both"])
    @pytest.mark.parametrize("block_size", [*SIZES])
    def test_what_stands_in_a_hidden_place_changes_nothing(self, bad, where, block_size):
        query, key, value = qkv()
        expected, _ = attend(query, key, value, np.tri(TQ, TK, 2, bool))
        if where != "value":
            key[6:] = bad
        if where != "key":
            value[6:] = bad
        output = streaming_attention(
            query, key, value, causal=True, offset=2, block_size=block_size
        )
        assert_close(output[:4], expected[:4])  # query 3 sees keys up to 5
        assert np.isnan(output[6]).all() or where == "value" or bad == -np.inf
        hidden = np.arange(TK) < 6
        output = streaming_attention(query, key, value, mask=hidden, block_size=block_size)
        assert_close(output, attend(query, key[:6], value[:6], None)[0])

    @pytest.mark.parametrize("block_size", [1, 4, None])
    def test_a_value_that_is_seen_shows_in_its_column_only(self, block_size):
        query, key, value = qkv()
        value[2, 1], value[4, 3] = np.nan, np.inf
        output = streaming_attention(query, key, value, causal=True, block_size=block_size)
        direct = scaled_dot_product_attention(query, key, value, mask=causal_mask(TQ, TK))
        assert_close(output, direct)
        assert np.isnan(output[2:, 1]).all()
        assert np.isinf(output[4:, 3]).all()
        assert np.isfinite(output[:2]).all()

    @pytest.mark.parametrize("block_size", [1, (4, 2), None])
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_a_bad_allowed_score_makes_its_row_nan_and_no_other(self, bad, block_size):
        query, key, value = qkv()
        bias = np.zeros((TQ, TK))
        bias[3, 5] = bad
        bias[4, 1:] = 600.0  # the row beside it needs its shift all the same
        output = streaming_attention(query, key, value, bias=bias, block_size=block_size)
        assert np.isnan(output[3]).all()
        bias[3, 5] = 0
        expected, _ = attend(query, key, value, None, bias)
        others = [0, 1, 2, 4, 5, 6]
        assert_close(output[others], expected[others], 1e-11)

    def test_a_nan_row_does_not_keep_another_row_from_its_shift(self):
        query = np.array([[np.nan], [1.0]], np.float32)
        key = np.array([[0.0], [3000.0]], np.float32)
        output = streaming_attention(query, key, np.eye(2, dtype=np.float32), block_size=(2, 1))
        np.testing.assert_array_equal(output, [[np.nan, np.nan], [0, 1]])

    @pytest.mark.parametrize("block_size", [1, (2, 3), None])
    def test_a_query_with_nobody_to_attend_to_gets_zeros(self, block_size):
        query, key, value = qkv()
        query[2] = np.nan
        mask = np.ones((TQ, TK), bool)
        mask[2] = mask[5] = False
        output = streaming_attention(query, key, value, mask=mask, block_size=block_size)
        assert (output[[2, 5]] == 0).all()
        query[2] = 0
        bias = np.where(mask, 0.0, -np.inf)
        by_bias = streaming_attention(query, key, value, bias=bias, block_size=block_size)
        assert (by_bias[[2, 5]] == 0).all()
        expected, _ = attend(query, key, value, mask)
        assert_close(by_bias, expected)

    @pytest.mark.parametrize("block_size", [1, (2, 3), None])
    @pytest.mark.parametrize(
        ("leading", "Tq", "Tk", "d_v"),
        [((), 0, 3, 2), ((), 3, 0, 2), ((), 3, 3, 0), ((0,), 3, 3, 2), ((2, 0), 1, 1, 1)],
    )
    def test_empty_axes(self, leading, Tq, Tk, d_v, block_size):
        query, key, value = (np.ones((*leading, *shape)) for shape in ((Tq, 4), (Tk, 4), (Tk, d_v)))
        output = streaming_attention(query, key, value, block_size=block_size)
        np.testing.assert_array_equal(output, np.zeros((*leading, Tq, d_v)))
        gradients = streaming_attention_vjp(query, key, value, output, block_size=block_size)
        for gradient, array in zip(gradients, (query, key, value), strict=True):
            np.testing.assert_array_equal(gradient, np.zeros(array.shape))

    def test_no_width_needs_a_scale(self):
        empty = np.ones((2, 0))
        assert_close(streaming_attention(empty, empty, [[1.0], [2.0]], scale=1), [[1.5], [1.5]])

    def test_two_calls_give_the_same_bits_and_no_view(self):
        query, key, value = qkv()
        first = streaming_attention(query, key, value, block_size=2)
        np.testing.assert_array_equal(first, streaming_attention(query, key, value, block_size=2))
        assert not any(np.shares_memory(first, array) for array in (query, key, value))
        assert first.flags.writeable

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    def test_long_sequences_agree_with_the_direct_form(self, dtype):
        query, key, value = arrays(0, (2, 700, 8), (2, 900, 8), (2, 900, 6), dtype=dtype, spread=2)
        mask = padding_mask([300, 900], 900) & window_mask(700, 900, 400, None)
        direct = scaled_dot_product_attention(
            query, key, value, mask=mask & causal_mask(700, 900, offset=150)
        )
        output = streaming_attention(query, key, value, mask=mask, causal=True, offset=150)
        assert_close(
            output,
            direct,
            1e-3
            if dtype == np.float16
            else 1e-4 * np.finfo(dtype).eps ** 0.5 + 50 * np.finfo(dtype).eps,
        )


class TestMemory:
    @staticmethod
    def peak(call):
        call()
        tracemalloc.start()
        call()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    @pytest.mark.parametrize("dtype", [np.float16, np.float32])
    def test_memory_beyond_the_output_does_not_grow_with_the_length(self, dtype):
        extra = {}
        for length in (1024, 2048):
            query, key, value = arrays(0, *3 * [(length, 4)], dtype=dtype)
            peak = self.peak(lambda x=(query, key, value): streaming_attention(*x))
            extra[length] = peak - query.nbytes
        assert extra[2048] < 1.2 * extra[1024]
        assert extra[2048] < 1.25e6  # two blocks of scores, in float32, are 2²⁰ bytes

    def test_many_heads_take_no_more_memory_than_one(self):
        query, key, value = arrays(0, *3 * [(64, 128, 4)], dtype=np.float32)
        peak = self.peak(lambda: streaming_attention(query, key, value))
        assert peak - query.nbytes < 1.25e6

    def test_the_backward_pass_is_linear_too(self):
        peaks = []
        for length in (1024, 2048):
            query, key, value, gradient = arrays(0, *4 * [(length, 4)], dtype=np.float32)
            x = (query, key, value, gradient)
            peak = self.peak(lambda x=x: streaming_attention_vjp(*x, causal=True))
            peaks.append(peak - 3 * query.nbytes)
        assert peaks[1] < 1.2 * peaks[0] < 4e6

    @pytest.mark.parametrize(
        "options",
        [
            {"mask": np.arange(1024) < 64},
            {"causal": True, "offset": -960},
            {"window": (32, 31)},
        ],
        ids=["mask", "causal", "window"],
    )
    def test_blocks_that_are_hidden_as_a_whole_cost_nothing(self, options):
        query, key, value = arrays(0, *3 * [(1024, 64)])

        def seconds(**options):
            times = []
            for _ in range(3):
                start = time.process_time()
                streaming_attention(query, key, value, block_size=64, **options)
                times.append(time.process_time() - start)
            return min(times)

        assert seconds(**options) < seconds() / 2  # a sixteenth of the blocks, or two


@st.composite
def states(draw, count):
    """States of the same two queries over `count` blocks, and all blocks joined."""
    number = st.floats(-300, 300, width=32)
    blocks = []
    for _ in range(count):
        Tk = draw(st.integers(0, 3))
        scores = draw(st.lists(number | st.just(-math.inf), min_size=2 * Tk, max_size=2 * Tk))
        value = draw(st.lists(st.floats(-8, 8, width=16), min_size=3 * Tk, max_size=3 * Tk))
        blocks.append((np.reshape(scores, (2, Tk)), np.reshape(value, (Tk, 3))))
    return blocks


class TestAttentionState:
    @settings(max_examples=150, deadline=None, derandomize=True)
    @given(blocks=states(4), order=st.permutations(range(4)), split=st.integers(1, 3))
    def test_blocks_merge_in_any_order_and_grouping(self, blocks, order, split):
        scores = np.concatenate([s for s, _ in blocks], axis=1).astype(float)
        value = np.concatenate([v for _, v in blocks]).astype(float)
        parts = [AttentionState.of(*blocks[i]) for i in order]
        chain = parts[0].merge(parts[1]).merge(parts[2]).merge(parts[3])
        halves = parts[:split], parts[split:]
        left, right = (self.fold_from_the_right(half) for half in halves)
        expected = np.zeros((2, 3))
        logs = np.full(2, -np.inf)
        for i in range(2):
            exponentials = [mpmath.exp(s) if s > -math.inf else 0 for s in scores[i].tolist()]
            total = mpmath.fsum(exponentials)
            if total:
                logs[i] = mpmath.log(total)
                for c in range(3):
                    expected[i, c] = mpmath.fdot(exponentials, value[:, c].tolist()) / total
        for merged in (chain, left.merge(right)):
            assert_close(merged.output, expected)
            assert_close(merged.log_sum_exp, logs)

    def fold_from_the_right(self, parts):
        result = parts[-1]
        for part in reversed(parts[:-1]):
            result = part.merge(result)
        return result

    @settings(max_examples=50, deadline=None, derandomize=True)
    @given(blocks=states(2))
    def test_merge_commutes_to_the_last_bit(self, blocks):
        a, b = (AttentionState.of(*block) for block in blocks)
        for field in ("shift", "total", "output"):
            np.testing.assert_array_equal(getattr(a.merge(b), field), getattr(b.merge(a), field))

    @pytest.mark.parametrize("score", [-1e4, -1000.0, 0.0, 1e4])
    def test_a_state_that_has_seen_no_key_changes_nothing(self, score):
        nothing = attention_state([[1.0]], np.zeros((0, 1)), np.zeros((0, 1)))
        state = AttentionState.of([[score, score]], [[1.0], [4.0]])
        for merged in (nothing.merge(state), state.merge(nothing)):
            assert_close(merged.output, [[2.5]])
            assert_close(merged.log_sum_exp, [score + math.log(2)])
        assert nothing.output == [[0.0]]
        assert nothing.merge(nothing).output == [[0.0]]
        assert nothing.merge(nothing).log_sum_exp == [-np.inf]

    def test_a_mask_selects(self):
        mask = [[True, False, True]]
        state = AttentionState.of([[0.0, np.nan, 0.0]], [[1.0], [np.nan], [5.0]], mask=mask)
        assert_close(state.output, [[3.0]])
        state = AttentionState.of([[0.0, np.inf]], [[1.0], [np.inf]], mask=[[False, False]])
        assert_close(state.output, [[0.0]])

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_a_bad_score_stays_in_its_row_through_a_merge(self, bad):
        one = AttentionState.of([[bad], [0.0]], [[1.0]])
        other = AttentionState.of([[0.0], [0.0]], [[3.0]])
        np.testing.assert_array_equal(one.merge(other).output, [[np.nan], [2.0]])
        np.testing.assert_array_equal(other.merge(one).output, [[np.nan], [2.0]])

    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    def test_sixteen_bits_are_summed_in_float32(self, dtype):
        state = AttentionState.of(np.zeros((1, 2), dtype), np.ones((2, 1), dtype))
        expected = np.float64 if dtype == np.float64 else np.float32
        assert {state.shift.dtype, state.total.dtype} == {np.dtype(expected)}
        assert state.output.dtype == state.log_sum_exp.dtype == expected
        assert state.merge(state).output.dtype == expected

    def test_scores_are_not_modified_and_leading_axes_broadcast(self):
        scores, value = arrays(0, (2, 4), (3, 4, 1))
        before = scores.copy()
        state = AttentionState.of(scores, value)
        np.testing.assert_array_equal(scores, before)
        assert state.total.shape == state.output.shape == (3, 2, 1)

    def test_the_fields_cannot_be_replaced(self):
        state = AttentionState.of([[0.0]], [[1.0]])
        with pytest.raises(AttributeError):
            state.total = 1


class TestAttentionStateOfKeys:
    @pytest.mark.parametrize("block_size", [1, (3, 2), None])
    @pytest.mark.parametrize("cut", [0, 1, 4, 10, 11])
    def test_keys_that_are_split_merge_to_the_whole(self, cut, block_size):
        query, key, value = qkv(spread=4)
        options = {"causal": True, "block_size": block_size}
        old = attention_state(query, key[:cut], value[:cut], offset=4, **options)
        new = attention_state(query, key[cut:], value[cut:], offset=4 - cut, **options)
        expected, _ = attend(query, key, value, np.tri(TQ, TK, 4, bool))
        assert_close(old.merge(new).output, expected, 1e-11)
        assert_close(new.merge(old).output, expected, 1e-11)

    def test_the_log_sum_exp_is_that_of_the_scores(self):
        state = attention_state([[1.0], [2.0]], [[0.0], [math.log(2)]], [[1.0], [1.0]])
        assert_close(state.log_sum_exp, [math.log(3), math.log(5)])

    @pytest.mark.parametrize("score", [-1e4, -50.0, 3.0, 50.0, 1e4])
    @pytest.mark.parametrize("block_size", [1, 2, None])
    def test_the_shift_is_the_largest_score(self, score, block_size):
        key = np.array([[0.2], [1.0], [0.4]]) * score
        state = attention_state([[1.0]], key, np.eye(3), block_size=block_size)
        assert state.shift.item() == key.max()

    def test_leading_axes_broadcast(self):
        shape = (2, 3, TQ, DV)
        state = attention_state(np.ones((3, TQ, 1)), np.ones((2, 1, TK, 1)), np.ones((TK, DV)))
        assert state.output.shape == shape
        assert state.shift.shape == state.total.shape == (2, 3, TQ, 1)


class TestStreamingAttentionVjp:
    @pytest.mark.parametrize("block_size", SIZES)
    @pytest.mark.parametrize("offset", [None, -3, 0, 2, 20])
    def test_the_gradients_are_those_of_the_explicit_jacobian(self, block_size, offset):
        query, key, value = qkv()
        (d_output,) = arrays(9, (TQ, DV))
        visible = None if offset is None else np.tri(TQ, TK, offset, bool)
        expected = pull_back(query, key, value, d_output, visible, 1 / math.sqrt(DK))
        gradients = streaming_attention_vjp(
            query,
            key,
            value,
            d_output,
            causal=offset is not None,
            offset=offset or 0,
            block_size=block_size,
        )
        for gradient, by_hand in zip(gradients, expected, strict=True):
            assert_close(gradient, by_hand)

    @pytest.mark.parametrize("argument", [0, 1, 2])
    def test_the_gradients_are_the_central_differences(self, argument):
        inputs = qkv(spread=2)
        (d_output, bias) = arrays(9, (TQ, DV), (TK,))
        mask = some_mask((TQ, TK))
        options = {"mask": mask, "bias": bias, "scale": 0.4}
        gradient = streaming_attention_vjp(*inputs, d_output, block_size=3, **options)[argument]
        step = 1e-5
        for index in np.ndindex(inputs[argument].shape):
            ends = []
            for sign in (1, -1):
                moved = [array.copy() for array in inputs]
                moved[argument][index] += sign * step
                full = np.broadcast_to(bias, (TQ, TK))
                weights = np.where(mask, np.exp(0.4 * moved[0] @ moved[1].T + full), 0)
                ends.append((weights / weights.sum(1, keepdims=True) @ moved[2] * d_output).sum())
            assert abs(gradient[index] - (ends[0] - ends[1]) / (2 * step)) < 1e-8

    @pytest.mark.parametrize("block_size", [1, (3, 4), None])
    @pytest.mark.parametrize("shape", MASKS)
    def test_broadcast_axes_are_summed_over(self, shape, block_size):
        query, key, value, d_output = arrays(
            2, (2, 1, TQ, DK), (3, 1, 1, TK, DK), (TK, DV), (3, 2, 2, TQ, DV)
        )
        mask = some_mask(shape)
        gradients = streaming_attention_vjp(
            np.broadcast_to(query, (2, 2, TQ, DK)),
            key,
            value,
            d_output,
            mask=mask,
            block_size=block_size,
        )
        full = np.broadcast_to(mask, (3, 2, 2, TQ, TK))
        sums = np.zeros((2, 2, TQ, DK)), np.zeros_like(key), np.zeros_like(value)
        for a, b, c in itertools.product(range(3), range(2), range(2)):
            parts = pull_back(
                query[b, 0], key[a, 0, 0], value, d_output[a, b, c], full[a, b, c], 3**-0.5
            )
            sums[0][b, c] += parts[0]
            sums[1][a, 0, 0] += parts[1]
            sums[2][...] += parts[2]
        for gradient, expected in zip(gradients, sums, strict=True):
            assert_close(gradient, expected)

    @pytest.mark.parametrize("block_size", [1, (3, 4), None])
    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_what_is_hidden_neither_gets_nor_gives_a_gradient(self, bad, block_size):
        query, key, value = qkv()
        (d_output,) = arrays(9, (TQ, DV))
        mask = some_mask((TQ, TK))
        mask[:, 8] = mask[2, :] = False
        expected = pull_back(query, key, value, d_output, mask, 3**-0.5)
        key[8] = value[8] = bad
        query[2] = d_output[2] = bad
        options = {"mask": mask, "block_size": block_size}
        gradients = streaming_attention_vjp(query, key, value, d_output, **options)
        for gradient, by_hand in zip(gradients, expected, strict=True):
            assert_close(gradient, by_hand)
        assert (gradients[0][2] == 0).all()
        assert (gradients[1][8] == 0).all()
        assert (gradients[2][8] == 0).all()

    @pytest.mark.parametrize("block_size", [1, (3, 4), None])
    def test_a_bad_query_shows_only_at_the_keys_it_sees(self, block_size):
        query, key, value = qkv()
        (d_output,) = arrays(9, (TQ, DV))
        query[3] = np.nan
        d_query, d_key, d_value = streaming_attention_vjp(
            query, key, value, d_output, causal=True, block_size=block_size
        )
        bad = np.arange(TK) <= 3
        np.testing.assert_array_equal(np.isnan(d_key).all(axis=1), bad)
        np.testing.assert_array_equal(np.isnan(d_key).any(axis=1), bad)
        np.testing.assert_array_equal(np.isnan(d_value).any(axis=1), bad)
        np.testing.assert_array_equal(np.isnan(d_query).any(axis=1), np.arange(TQ) == 3)

    @pytest.mark.parametrize("block_size", [1, (3, 4), None])
    def test_a_row_of_minus_infinity_gets_and_gives_zeros(self, block_size):
        query, key, value = qkv()
        (d_output,) = arrays(9, (TQ, DV))
        bias = np.zeros((TQ, 1))
        bias[4] = -np.inf
        mask = np.broadcast_to(np.isfinite(bias), (TQ, TK))
        expected = pull_back(query, key, value, d_output, mask, 3**-0.5)
        gradients = streaming_attention_vjp(
            query, key, value, d_output, bias=bias, block_size=block_size
        )
        for gradient, by_hand in zip(gradients, expected, strict=True):
            assert_close(gradient, by_hand)

    @pytest.mark.parametrize("spread", [1.0, 30.0])
    def test_a_saved_state_gives_the_same_gradients_merged_or_not(self, spread):
        query, key, value = qkv(leading=(2,))
        key *= spread
        (d_output,) = arrays(9, (2, TQ, DV))
        expected = [
            pull_back(*head, None, 3**-0.5)
            for head in zip(query, key, value, d_output, strict=True)
        ]
        saved = attention_state(query, key, value, block_size=3)
        parts = [attention_state(query, key[:, s], value[:, s]) for s in (slice(4), slice(4, None))]
        for state in (None, saved, parts[0].merge(parts[1])):
            gradients = streaming_attention_vjp(
                query, key, value, d_output, state=state, block_size=(2, 5)
            )
            for gradient, by_hand in zip(gradients, zip(*expected, strict=True), strict=True):
                assert_close(gradient, np.array(by_hand), 1e-11)

    def test_a_saved_state_is_used_and_not_modified(self):
        query, key, value = qkv()
        state = attention_state(query, key, value)
        shifted = AttentionState(state.shift, state.total, state.output + 1)
        before = state.total.copy(), state.output.copy()
        (d_output,) = arrays(9, (TQ, DV))
        whole = streaming_attention_vjp(query, key, value, d_output, state=state)
        other = streaming_attention_vjp(query, key, value, d_output, state=shifted)
        assert_close(other[2], whole[2])
        assert not np.allclose(other[0], whole[0])  # the mean is taken from the state
        np.testing.assert_array_equal(state.total, before[0])
        np.testing.assert_array_equal(state.output, before[1])

    @pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
    def test_dtypes_as_forward(self, dtype):
        query, key, value = qkv(dtype=dtype)
        (d_output,) = arrays(9, (TQ, DV), dtype=dtype)
        exact = pull_back(*(a.astype(float) for a in (query, key, value, d_output)), None, 3**-0.5)
        gradients = streaming_attention_vjp(query, key, value, d_output, block_size=4)
        for gradient, by_hand in zip(gradients, exact, strict=True):
            assert gradient.dtype == dtype
            error = np.abs(gradient.astype(float) - by_hand).max()
            assert error <= 4 * float(ml_dtypes.finfo(dtype).eps) * np.abs(by_hand).max()

    @pytest.mark.parametrize("scale", [0, -0.5, 2.0])
    def test_any_finite_scale(self, scale):
        query, key, value = qkv()
        (d_output,) = arrays(9, (TQ, DV))
        gradients = streaming_attention_vjp(query, key, value, d_output, scale=scale, block_size=2)
        for gradient, by_hand in zip(
            gradients, pull_back(query, key, value, d_output, None, scale), strict=True
        ):
            assert_close(gradient, by_hand)

    def test_it_agrees_with_the_direct_form(self):
        query, key, value, d_output = arrays(0, (2, 700, 8), (2, 600, 8), (2, 600, 6), (2, 700, 6))
        mask = window_mask(700, 600, 100, 0)
        direct = scaled_dot_product_attention_vjp(query, key, value, d_output, mask=mask)
        streamed = streaming_attention_vjp(
            query, key, value, d_output, mask=window_mask(700, 600, 100, None), causal=True
        )
        for gradient, expected in zip(streamed, direct, strict=True):
            assert_close(gradient, expected)


Q, K, V = np.zeros((2, TQ, DK)), np.zeros((2, TK, DK)), np.zeros((2, TK, DV))
ERRORS = [
    ({"query": "a"}, TypeError, "query must hold real numbers, got dtype <U1"),
    ({"query": np.zeros(3)}, ValueError, "query (3,): it must have the axes (..., Tq, d_k)"),
    (
        {"key": np.zeros((2, TK, 4))},
        ValueError,
        "query (2, 7, 3) and key (2, 11, 4): they must have the same width d_k, got 3 and 4",
    ),
    (
        {"value": np.zeros((2, 5, DV))},
        ValueError,
        "key (2, 11, 3) and value (2, 5, 5): they must have the same length, got 11 and 5",
    ),
    (
        {"key": np.zeros((3, TK, DK))},
        ValueError,
        "query (2, 7, 3) and key (3, 11, 3): the axes before the last two must be equal, or 1, "
        "or absent",
    ),
    (
        {"value": np.zeros((3, TK, DV))},
        ValueError,
        "query (2, 7, 3) and key (2, 11, 3) and value (3, 11, 5): the axes before the last two "
        "must be equal, or 1, or absent",
    ),
    (
        {"mask": np.ones(TK)},
        TypeError,
        "mask must be boolean (True = this query may attend to this key), got dtype float64; "
        "numbers to add to the scores are a bias",
    ),
    (
        {"mask": np.ones(4, bool)},
        ValueError,
        "mask (4,) and scores (2, 7, 11): each axis of mask, counted from the last, must be equal "
        "to that of the scores, or 1",
    ),
    (
        {"bias": np.ones(TK, int)},
        TypeError,
        "bias must be floating, got dtype int64; to say which key a query may attend to, pass a "
        "boolean mask",
    ),
    (
        {"bias": np.ones((5, 1, 1))},
        ValueError,
        "bias (5, 1, 1) and scores (2, 7, 11): each axis of bias, counted from the last, must be "
        "equal to that of the scores, or 1",
    ),
    ({"scale": math.inf}, ValueError, "scale must be finite, got inf"),
    ({"scale": "1"}, TypeError, "scale must be a real number, got str"),
    ({"causal": 1}, TypeError, "causal must be True or False, got int"),
    ({"causal": True, "offset": 1.0}, TypeError, "offset must be an integer, got float"),
    ({"offset": 3}, ValueError, "offset 3: it has no meaning without causal=True"),
    ({"block_size": 0}, ValueError, "block_size must be at least 1, got 0"),
    ({"block_size": (4, -1)}, ValueError, "block_size must be at least 1, got -1"),
    ({"block_size": 2.0}, TypeError, "block_size must be an integer, got float"),
    ({"block_size": (1, True)}, TypeError, "block_size must be an integer, got bool"),
    (
        {"block_size": (1, 2, 3)},
        ValueError,
        "block_size must be an integer or a pair (queries, keys), got (1, 2, 3)",
    ),
]


class TestErrors:
    @pytest.mark.parametrize("function", [streaming_attention, attention_state, "vjp"])
    @pytest.mark.parametrize(("wrong", "kind", "message"), ERRORS)
    def test_the_message_names_the_argument_and_the_rule(self, function, wrong, kind, message):
        arguments = {"query": Q, "key": K, "value": V, **wrong}
        if function == "vjp":
            function = streaming_attention_vjp
            arguments["d_output"] = np.zeros((2, TQ, DV))
        with pytest.raises(kind) as caught:
            function(**arguments)
        assert type(caught.value) is kind
        assert str(caught.value) == message

    def test_no_width_has_no_default_scale(self):
        with pytest.raises(ValueError, match="1/√d_k is undefined for d_k = 0"):
            streaming_attention(np.ones((2, 0)), np.ones((2, 0)), np.ones((2, 1)))

    def test_d_output_and_state_must_have_the_shape_of_the_output(self):
        with pytest.raises(ValueError, match="d_output") as caught:
            streaming_attention_vjp(Q, K, V, np.zeros((TQ, DV)))
        assert str(caught.value) == (
            "d_output (7, 5) and output (2, 7, 5): they must have the same shape"
        )
        state = attention_state(Q[0], K[0], V[0])
        with pytest.raises(ValueError, match="state") as caught:
            streaming_attention_vjp(Q, K, V, np.zeros((2, TQ, DV)), state=state)
        assert str(caught.value) == (
            "state (7, 5) and output (2, 7, 5): they must have the same shape"
        )
        with pytest.raises(TypeError, match="d_output must hold real numbers, got dtype <U1"):
            streaming_attention_vjp(Q, K, V, "a")

    def test_states_of_other_queries_do_not_merge(self):
        one = AttentionState.of([[0.0]], [[1.0]])
        other = AttentionState.of([[0.0], [0.0]], [[1.0]])
        with pytest.raises(ValueError, match="state") as caught:
            one.merge(other)
        assert str(caught.value) == "state (1, 1) and other (2, 1): they must have the same shape"

    @pytest.mark.parametrize(
        ("scores", "value", "mask", "kind", "message"),
        [
            ([0.0], [[1.0]], None, ValueError, "scores (1,): it must have the axes (..., Tq, Tk)"),
            (
                [[0.0]],
                [[1.0], [2.0]],
                None,
                ValueError,
                "scores (1, 1) and value (2, 1): they must have the same length, got 1 and 2",
            ),
            (
                [[0.0]],
                [[1.0]],
                [[1]],
                TypeError,
                "mask must be boolean (True = this query may attend to this key), got dtype int64; "
                "numbers to add to the scores are a bias",
            ),
            (
                [[0j]],
                [[1.0]],
                None,
                TypeError,
                "scores must hold real numbers, got dtype complex128",
            ),
        ],
    )
    def test_the_state_of_a_block_checks_its_arguments(self, scores, value, mask, kind, message):
        with pytest.raises(kind) as caught:
            AttentionState.of(scores, value, mask=mask)
        assert str(caught.value) == message


class TestWholeRange:
    """Exact, or within the stated error, for every number that the dtype can hold."""

    # A score, the next that differs by more than a logarithm can, and that one again: 0, ½, ½.
    @pytest.mark.parametrize("block_size", [1, (1, 2), None])
    @pytest.mark.parametrize(
        ("dtype", "score", "step"),
        [
            (np.float32, 2.0**30, 2.0**7),
            (np.float32, -(2.0**40), 2.0**17),
            (np.float32, 2.0**126, 2.0**103),
            (np.float64, 2.0**70, 2.0**18),
            (np.float64, -(2.0**1000), 2.0**950),
            (np.float16, 2.0**15, 2.0**5),
        ],
    )
    def test_scores_whose_spacing_exceeds_sixteen(self, dtype, score, step, block_size):
        query = np.array([[1.0]], dtype)
        key = np.array([[score], [score + step], [score + step]], dtype)
        if dtype == np.float16:
            query *= dtype(2.0**15)
        value = np.array([[0], [1], [3]], dtype)
        options = {"scale": 1, "block_size": block_size}
        np.testing.assert_array_equal(streaming_attention(query, key, value, **options), [[2]])
        state = attention_state(query, key, value, **options)
        parts = [attention_state(query, key[[i]], value[[i]], **options) for i in (1, 0, 2)]
        for found in (state, parts[0].merge(parts[1]).merge(parts[2])):
            np.testing.assert_array_equal(found.output, [[2]])
            np.testing.assert_array_equal(found.total, [[2]])
            assert found.shift == float(query.item()) * float(key[1].item())
        # dA = (0, 1, 3), its mean 2: dS = (0, −½, ½).
        if dtype == np.float16:
            return
        d_output = np.ones((1, 1), dtype)
        d_query, d_key, d_value = streaming_attention_vjp(query, key, value, d_output, **options)
        np.testing.assert_array_equal(d_value, [[0], [0.5], [0.5]])
        np.testing.assert_array_equal(d_key, [[0], [-0.5], [0.5]])
        np.testing.assert_array_equal(d_query, [[0]])
        saved = attention_state(query, key, value, scale=1, block_size=2)
        again = streaming_attention_vjp(query, key, value, d_output, state=saved, **options)
        np.testing.assert_array_equal(again.d_key, d_key)

    def test_a_bias_that_is_large_for_all_changes_nothing(self):
        query, key, value = (np.zeros((3, 1), np.float32) for _ in range(3))
        value[:, 0] = 1, 2, 6
        bias = np.full((1, 1), 1e9, np.float32)
        output = streaming_attention(query, key, value, bias=bias, block_size=2)
        np.testing.assert_array_equal(output, [[3]] * 3)

    @pytest.mark.parametrize("block_size", [1, 3, None])
    @pytest.mark.parametrize("score", [-90.0, -15.0, -7.0, 0.0, 7.0, 80.0])
    @pytest.mark.parametrize(
        ("dtype", "numbers"),
        [
            (np.float32, [1e33, 1e33]),
            (np.float32, [1e38] * 10),
            (np.float32, [3.4e38, -3.4e38, 3.4e38]),
            (np.float32, [1e-40] * 10),
            (np.float32, [1e-38, 3e-38, 2e-45]),
            (np.float64, [1.7e308] * 7),
            (np.float64, [1e-310, 3e-310]),
            (np.float16, [65504.0] * 5),
            (ml_dtypes.bfloat16, [3e38] * 9),
        ],
    )
    def test_large_and_tiny_values_are_averaged(self, dtype, numbers, score, block_size):
        value = np.array(numbers, dtype)[:, np.newaxis]
        key = np.full((len(value), 1), score, dtype)
        query = np.ones((2, 1), dtype)
        exact = sum(Fraction(float(x)) for x in value[:, 0]) / len(value)
        limits = ml_dtypes.finfo(dtype)
        largest = max(abs(Fraction(float(x))) for x in value[:, 0])
        bound = 4 * Fraction(float(limits.eps)) * largest + len(value) * Fraction(
            float(limits.smallest_subnormal)
        )
        state = attention_state(query, key, value, block_size=block_size)
        half = len(value) // 2
        parts = (slice(half), slice(half, None))
        merged, other = (attention_state(query, key[s], value[s]) for s in parts)
        for output in (
            streaming_attention(query, key, value, block_size=block_size),
            state.output,
            merged.merge(other).output,
            AttentionState.of(np.full((2, len(value)), dtype(score)), value).output,
        ):
            for number in output[:, 0]:
                assert abs(Fraction(float(number)) - exact) <= bound

    def test_large_values_beside_ones_that_are_not_finite(self):
        value = np.full((10, 3), 1e38, np.float32)
        value[4, 1], value[7, 2] = np.inf, np.nan
        output = streaming_attention(np.ones((1, 1)), np.zeros((10, 1)), value.astype(np.float32))
        np.testing.assert_allclose(output[0, 0], 1e38, rtol=1e-6)
        assert output[0, 1] == np.inf
        assert np.isnan(output[0, 2])

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(
        st.integers(0, 10**6),
        st.sampled_from([np.float32, np.float64]),
        st.sampled_from([1.0, 1e3, 1e8]),
        st.integers(-36, 36),
        st.sampled_from([1, 3, (2, 5), None]),
    )
    def test_the_error_stays_within_the_bound(self, seed, dtype, spread, power, block_size):
        query, key, value = arrays(seed, (3, 4), (9, 4), (9, 2))
        query, key = (spread * query).astype(dtype), key.astype(dtype)
        value = (value * 10.0**power).astype(dtype)
        output = streaming_attention(query, key, value, block_size=block_size)
        error = oracles.attention_error(output, query, key, value, products_cancel=True)
        assert error <= 4

    @pytest.mark.parametrize("block_size", [2, None])
    @pytest.mark.parametrize(
        "function", [streaming_attention_vjp, scaled_dot_product_attention_vjp]
    )
    @pytest.mark.parametrize(("up", "down"), [(1e30, 1e-38), (1e-38, 1e30), (1e20, 1e-30)])
    def test_the_gradients_of_large_and_tiny_numbers(self, function, up, down, block_size):
        query, key = arrays(3, (5, 3), (7, 3), dtype=np.float32)
        value, d_output = arrays(4, (7, 2), (5, 2))
        value = (value * up).astype(np.float32)
        d_output = (d_output * down).astype(np.float32)
        exact = [oracles_more.exact(x) for x in (query, key, value, d_output)]
        expected = oracles_more.attention_gradients(*exact)
        options = {} if function is scaled_dot_product_attention_vjp else {"block_size": block_size}
        gradients = function(query, key, value, d_output, **options)
        for got, want in zip(gradients, expected, strict=True):
            room = 100 * 2.0**-149  # where all is denormal, steps do not shrink
            assert oracles_more.error(got, want) <= 2e-5 * oracles_more.largest(want) + room


class TestWindow:
    @pytest.mark.parametrize("block_size", [1, 3, (2, 5), None])
    @pytest.mark.parametrize("window", [(2, 3), (None, 1), (3, None), (0, 0), (100, 100)])
    @pytest.mark.parametrize("causal", [False, True])
    @pytest.mark.parametrize("offset", [-9, 0, 3, 30])
    def test_it_is_the_mask_of_the_window(self, window, causal, offset, block_size):
        query, key, value = qkv()
        (d_output,) = arrays(9, (TQ, DV))
        left, right = window
        visible = np.zeros((TQ, TK), bool)
        for i, j in np.ndindex(TQ, TK):
            after = left is None or j >= i + offset - left
            before = right is None or j <= i + offset + right
            visible[i, j] = after and before and (not causal or j <= i + offset)
        options = {"window": window, "causal": causal, "offset": offset, "block_size": block_size}
        output = streaming_attention(query, key, value, **options)
        assert_close(output, attend(query, key, value, visible)[0])
        assert_close(attention_state(query, key, value, **options).output, output)
        gradients = streaming_attention_vjp(query, key, value, d_output, **options)
        expected = pull_back(query, key, value, d_output, visible, 3**-0.5)
        for gradient, by_hand in zip(gradients, expected, strict=True):
            assert_close(gradient, by_hand)

    def test_its_memory_is_linear_too(self):
        query, key, value = arrays(0, *3 * [(8192, 4)], dtype=np.float32)
        peak = TestMemory.peak(lambda: streaming_attention(query, key, value, window=(64, 64)))
        assert peak - query.nbytes < 1.25e6

    @pytest.mark.parametrize(
        ("window", "kind", "message"),
        [
            (3, ValueError, "window must be a pair (left, right) of integers or None: 3"),
            ((1, 2, 3), ValueError, "window must be a pair (left, right) of integers or None: "),
            ((-1, 2), ValueError, "left must be at least 0, got -1; None sets no limit"),
            ((1, 2.0), TypeError, "right must be an integer, got float; None sets no limit"),
        ],
    )
    def test_misuse_is_named(self, window, kind, message):
        with pytest.raises(kind) as caught:
            streaming_attention(Q, K, V, window=window)
        assert str(caught.value).startswith(message)


class TestSoftCapAndBias:
    @pytest.mark.parametrize("block_size", [1, (3, 4), None])
    @pytest.mark.parametrize("shape", [(), (TK,), (TQ, 1), (TQ, TK), (2, 1, 1), (2, TQ, TK)])
    def test_forward_and_back_are_those_of_the_direct_form(self, shape, block_size):
        # The direct form is held against 50 digits in test_attention and test_gradients.
        query, key, value = qkv(leading=(2,), spread=3)
        d_output, bias = arrays(9, (2, TQ, DV), shape, spread=2)
        options = {"bias": bias, "soft_cap": 1.5, "causal": True, "offset": 3, "scale": 0.7}
        streamed = {**options, "block_size": block_size}
        direct = scaled_dot_product_attention(query, key, value, **options)
        assert_close(streaming_attention(query, key, value, **streamed), direct)
        found = streaming_attention_vjp(query, key, value, d_output, **streamed)
        expected = scaled_dot_product_attention_vjp(query, key, value, d_output, **options)
        assert found.d_bias.shape == np.shape(bias)
        for got, want in zip((*found, found.d_bias), (*expected, expected.d_bias), strict=True):
            assert_close(got, want)

    def test_without_a_bias_there_is_no_gradient_of_it(self):
        query, key, value = qkv()
        assert streaming_attention_vjp(query, key, value, value[:TQ]).d_bias is None


class TestStatesAreChecked:
    def test_only_a_state_merges(self):
        state = AttentionState.of([[0.0]], [[1.0]])
        with pytest.raises(TypeError, match=r"^other must be an AttentionState, got int$"):
            state.merge(3)

    def test_only_a_state_is_a_state(self):
        with pytest.raises(TypeError, match=r"^state must be an AttentionState, got tuple$"):
            streaming_attention_vjp(Q, K, V, np.zeros((2, TQ, DV)), state=(1, 2, 3))

    @pytest.mark.parametrize(
        ("made", "used"),
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
        query, key, value = qkv(dtype=dtype)
        (d_output,) = arrays(9, (TQ, DV), dtype=dtype)
        state = attention_state(query, key, value, **made)
        with pytest.raises(ValueError, match=r"^state \(7,\): it was made from other arguments"):
            streaming_attention_vjp(query, key, value, d_output, state=state, **used)
        streaming_attention_vjp(query, key, value, d_output, state=state, **made)

    @pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
    def test_a_state_that_only_rounds_otherwise_is_accepted(self, offset):
        query, key, value, d_output = arrays(
            0, (64, 16), (300, 16), (300, 4), (64, 4), dtype=np.float32
        )
        key = key + np.float32(offset)
        mask = np.ones((64, 300), bool)
        mask[5] = False
        state = attention_state(query, key, value, mask=mask, block_size=(1, 7))
        gradients = streaming_attention_vjp(query, key, value, d_output, mask=mask, state=state)
        assert all(np.isfinite(gradient).all() for gradient in gradients)

    def test_a_state_of_other_blocks_gives_no_weight_beyond_one(self):
        # The scores, some 10¹¹, are rounded to multiples of thousands, in other blocks otherwise.
        query, key, value, d_output = arrays(
            0, (40, 64), (300, 64), (300, 4), (40, 4), dtype=np.float32
        )
        query, key = 1e5 * query, 1e5 * key
        state = attention_state(query, key, value, block_size=1)
        gradients = streaming_attention_vjp(query, key, value, d_output, state=state)
        assert all(np.isfinite(gradient).all() for gradient in gradients)
        assert np.abs(gradients.d_value).max() <= np.abs(d_output).sum(axis=0).max()

    @pytest.mark.parametrize(
        ("shapes", "message"),
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
