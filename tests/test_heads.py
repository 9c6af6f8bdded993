"""Heads against plain loops with 50 digits."""

import re

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import selfattn_ref
from selfattn_ref import (
    causal_mask,
    merge_heads,
    multi_head_attention,
    padding_mask,
    repeat_key_value_heads,
    self_attention,
    split_heads,
)
from tests import oracles_more as oracle

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def says(message):
    return "^" + re.escape(message) + "$"


class TestSplitHeads:
    def test_head_h_gets_the_columns_from_h_times_d_on(self):
        x = oracle.numbers(0, 2, 3, 5 * 7)
        heads = oracle.politely(split_heads, x, num_heads=5)
        assert heads.shape == (2, 5, 3, 7)
        for b in range(2):
            for h in range(5):
                for t in range(3):
                    for c in range(7):
                        assert heads[b, h, t, c] == x[b, t, h * 7 + c]

    @oracle.modest
    @given(st.lists(st.integers(0, 3), max_size=2), st.integers(0, 3), st.integers(1, 5), st.data())
    def test_merging_gives_back_what_was_split(self, leading, length, heads, data):
        width = heads * data.draw(st.integers(0, 3))
        x = oracle.numbers(1, *leading, length, width)
        split = split_heads(x, heads)
        assert split.shape == (*leading, heads, length, width // heads)
        np.testing.assert_array_equal(merge_heads(split), x, strict=True)

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_the_dtype_stays(self, dtype):
        assert split_heads(np.ones((2, 4), dtype), 2).dtype == dtype

    def test_integers_become_float64(self):
        np.testing.assert_array_equal(
            split_heads([[1, 2], [3, 4]], 2),
            np.array([[[1.0], [3.0]], [[2.0], [4.0]]]),
            strict=True,
        )

    def test_one_head_is_a_copy(self):
        x = oracle.numbers(2, 3, 5)
        split = split_heads(x, 1)
        np.testing.assert_array_equal(split, x[np.newaxis], strict=True)
        assert not np.shares_memory(split, x)

    @pytest.mark.parametrize(
        "x, num_heads, kind, message",
        [
            (
                np.ones((2, 3, 7)),
                2,
                ValueError,
                "x (2, 3, 7): its width must be a multiple of num_heads, got 7 and 2",
            ),
            (np.ones((3, 4)), 0, ValueError, "num_heads must be at least 1, got 0"),
            (np.ones((3, 4)), 2.0, TypeError, "num_heads must be an integer, got float"),
            (np.ones((3, 4)), True, TypeError, "num_heads must be an integer, got bool"),
            (np.ones(4), 2, ValueError, "x (4,): it must have the axes (..., T, h·d)"),
            (["a"], 1, TypeError, "x must hold real numbers, got dtype <U1"),
        ],
    )
    def test_misuse_is_named(self, x, num_heads, kind, message):
        with pytest.raises(kind, match=says(message)) as caught:
            split_heads(x, num_heads)
        assert caught.type is kind


class TestMergeHeads:
    def test_the_heads_of_a_position_stand_side_by_side(self):
        x = oracle.numbers(3, 2, 5, 3, 7)
        merged = oracle.politely(merge_heads, x)
        assert merged.shape == (2, 3, 35)
        for b in range(2):
            for h in range(5):
                for t in range(3):
                    for c in range(7):
                        assert merged[b, t, h * 7 + c] == x[b, h, t, c]

    @oracle.modest
    @given(st.integers(1, 5), st.integers(0, 3), st.integers(0, 3))
    def test_splitting_gives_back_what_was_merged(self, heads, length, width):
        x = oracle.numbers(4, 2, heads, length, width)
        np.testing.assert_array_equal(split_heads(merge_heads(x), heads), x, strict=True)

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_the_dtype_stays(self, dtype):
        assert merge_heads(np.ones((2, 3, 4), dtype)).dtype == dtype

    def test_one_head_is_a_copy(self):
        x = oracle.numbers(5, 1, 3, 5)
        assert not np.shares_memory(merge_heads(x), x)

    def test_no_heads_leave_no_columns(self):
        assert merge_heads(np.ones((0, 3, 5))).shape == (3, 0)

    @pytest.mark.parametrize(
        "x, kind, message",
        [
            (np.ones((3, 4)), ValueError, "x (3, 4): it must have the axes (..., h, T, d)"),
            (np.ones((1, 1, 1)) * 1j, TypeError, "x must hold real numbers, got dtype complex128"),
        ],
    )
    def test_misuse_is_named(self, x, kind, message):
        with pytest.raises(kind, match=says(message)) as caught:
            merge_heads(x)
        assert caught.type is kind


class TestRepeatKeyValueHeads:
    @pytest.mark.parametrize("shared, heads", [(1, 1), (1, 5), (2, 6), (3, 6), (5, 5), (2, 4)])
    def test_query_head_h_reads_head_h_over_the_group_size(self, shared, heads):
        x = oracle.numbers(6, 2, shared, 3, 7)
        repeated = oracle.politely(repeat_key_value_heads, x, num_heads=heads)
        assert repeated.shape == (2, heads, 3, 7)
        for h in range(heads):
            np.testing.assert_array_equal(repeated[:, h], x[:, h // (heads // shared)])

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_the_dtype_stays(self, dtype):
        assert repeat_key_value_heads(np.ones((1, 2, 3), dtype), 4).dtype == dtype

    def test_integers_become_float64(self):
        assert repeat_key_value_heads([[[1]]], 2).dtype == np.float64

    @pytest.mark.parametrize(
        "shape, num_heads, kind, message",
        [
            (
                (2, 3, 5, 4),
                7,
                ValueError,
                "x (2, 3, 5, 4): num_heads must be a multiple of the number of its heads, "
                "got 7 and 3",
            ),
            (
                (3, 5, 4),
                1,
                ValueError,
                "x (3, 5, 4): num_heads must be a multiple of the number of its heads, got 1 and 3",
            ),
            (
                (0, 5, 4),
                2,
                ValueError,
                "x (0, 5, 4): num_heads must be a multiple of the number of its heads, got 2 and 0",
            ),
            ((3, 5, 4), 0, ValueError, "num_heads must be at least 1, got 0"),
            ((3, 5, 4), "3", TypeError, "num_heads must be an integer, got str"),
            ((5, 4), 1, ValueError, "x (5, 4): it must have the axes (..., Hkv, T, d)"),
        ],
    )
    def test_misuse_is_named(self, shape, num_heads, kind, message):
        with pytest.raises(kind, match=says(message)) as caught:
            repeat_key_value_heads(np.ones(shape), num_heads)
        assert caught.type is kind


def layer(seed, *, Tq=5, Tk=7, d_model=11, d_source=13, heads=4, shared=2, d_k=3, d_v=2, d_out=17):
    """Two sequences and four projections, every axis of another size."""
    shapes = [
        (Tq, d_model),
        (Tk, d_source),
        (d_model, heads * d_k),
        (d_source, shared * d_k),
        (d_source, shared * d_v),
        (heads * d_v, d_out),
    ]
    return [oracle.numbers(seed * 10 + i, *shape) / 2 for i, shape in enumerate(shapes)]


def units(actual, arrays, heads, shared, **per_head):
    """The error in units of ε (1 + max|score|) · the largest sum of absolute products."""
    x_query, x_source, w_query, w_key, w_value, w_output = (oracle.exact(a) for a in arrays)
    expected = oracle.multi_head(
        x_query, x_source, w_query, w_key, w_value, w_output, heads, shared, **per_head
    )
    sizes = [oracle.exact(np.abs(a)) for a in arrays]
    value = oracle.largest(oracle.product(sizes[1], sizes[4]))
    scale = value * max(sum(column) for column in oracle.transpose(sizes[5]))
    d_k = len(w_query[0]) // heads
    query, key = oracle.product(sizes[0], sizes[2]), oracle.product(sizes[1], sizes[3])
    score = oracle.largest(query) * oracle.largest(key) * oracle.mp50.sqrt(d_k)
    return oracle.in_units(actual, expected, score=float(score), scale=scale)


class TestMultiHeadAttention:
    """Within 4 ε (1 + max|score|) of 50 digits, relative to the sum of the absolute products."""

    @pytest.mark.parametrize(
        "heads, shared", [(1, 1), (2, 2), (4, 2), (4, 1), (6, 3), (6, 2), (3, 3)]
    )
    def test_it_is_the_sum_over_the_heads(self, heads, shared):
        arrays = layer(heads, heads=heads, shared=shared)
        output = oracle.politely(
            multi_head_attention, *arrays, num_heads=heads, num_key_value_heads=shared
        )
        assert output.shape == (5, 17)
        assert units(output, arrays, heads, shared) <= 4

    @pytest.mark.parametrize("sharpness", [0.0, 1.0, 10.0, 100.0])
    def test_large_scores_stay_accurate(self, sharpness):
        arrays = layer(20)
        arrays[2] *= sharpness
        output = multi_head_attention(*arrays, num_heads=4, num_key_value_heads=2)
        assert units(output, arrays, 4, 2) <= 4

    def test_a_head_adds_a_map_whose_rank_is_at_most_the_width_of_its_values(self):
        arrays = layer(30, Tq=13, Tk=13, shared=4)
        whole = multi_head_attention(*arrays, num_heads=4)
        total = np.zeros_like(whole)
        for h in range(4):
            w_output = np.zeros_like(arrays[5])
            w_output[2 * h : 2 * h + 2] = arrays[5][2 * h : 2 * h + 2]
            part = multi_head_attention(*arrays[:5], w_output, num_heads=4)
            assert np.linalg.matrix_rank(part, tol=1e-12) == 2
            total += part
        np.testing.assert_allclose(total, whole, rtol=1e-13, atol=1e-14)

    def test_self_attention_is_the_case_of_one_head_and_no_output_projection(self):
        x = oracle.numbers(40, 2, 5, 7)
        w_query, w_key, w_value = (oracle.numbers(41 + i, 7, 3) for i in range(3))
        output = multi_head_attention(x, x, w_query, w_key, w_value, np.eye(3), num_heads=1)
        np.testing.assert_allclose(
            output, self_attention(x, w_query, w_key, w_value), rtol=1e-14, atol=1e-15
        )

    def test_the_order_of_the_heads_does_not_matter(self):
        arrays = layer(50, heads=3, shared=3)
        order = [2, 0, 1]

        def reordered(w, axis):
            return np.concatenate([np.split(w, 3, axis)[h] for h in order], axis)

        shuffled = [*arrays[:2], *(reordered(w, 1) for w in arrays[2:5]), reordered(arrays[5], 0)]
        np.testing.assert_allclose(
            multi_head_attention(*shuffled, num_heads=3),
            multi_head_attention(*arrays, num_heads=3),
            rtol=1e-13,
            atol=1e-14,
        )

    def test_sharing_heads_is_repeating_their_projections(self):
        arrays = layer(60, heads=6, shared=2)
        many = list(arrays)
        for i in (3, 4):
            blocks = np.split(arrays[i], 2, axis=1)
            many[i] = np.concatenate([blocks[h // 3] for h in range(6)], axis=1)
        np.testing.assert_allclose(
            multi_head_attention(*arrays, num_heads=6, num_key_value_heads=2),
            multi_head_attention(*many, num_heads=6),
            rtol=1e-13,
            atol=1e-14,
        )

    def test_mask_bias_and_scale_reach_every_head(self):
        arrays = layer(70, Tq=5, Tk=7)
        bias = oracle.numbers(71, 4, 5, 7)
        mask = np.random.default_rng(72).random((4, 5, 7)) < 0.6
        output = multi_head_attention(
            *arrays, num_heads=4, num_key_value_heads=2, mask=mask, bias=bias, scale=-0.7
        )
        exact_bias = oracle.exact(bias)
        wrong = units(
            output,
            arrays,
            4,
            2,
            allowed=lambda h: lambda i, j: mask[h, i, j],
            bias=lambda h: exact_bias[h],
            scale=lambda h: -0.7,
        )
        assert wrong <= 4

    def test_a_mask_for_each_sequence_has_an_axis_of_one_for_the_heads(self):
        x = oracle.numbers(80, 3, 5, 7)
        w = [oracle.numbers(81 + i, 7, 6) for i in range(3)]
        w_output = oracle.numbers(85, 6, 7)
        mask = padding_mask([[5], [2], [4]], 5)  # (3, 1, 1, 5)
        whole = multi_head_attention(x, x, *w, w_output, num_heads=2, mask=mask)
        for b, length in enumerate([5, 2, 4]):
            alone = multi_head_attention(x[b], x[b, :length], *w, w_output, num_heads=2)
            np.testing.assert_allclose(whole[b], alone, rtol=1e-13, atol=1e-14)

    def test_leading_axes_broadcast(self):
        x_query, x_source = oracle.numbers(90, 2, 1, 5, 11), oracle.numbers(91, 3, 7, 13)
        w = layer(92)[2:]
        output = multi_head_attention(x_query, x_source, *w, num_heads=4, num_key_value_heads=2)
        assert output.shape == (2, 3, 5, 17)
        for a in range(2):
            for b in range(3):
                one = multi_head_attention(
                    x_query[a, 0], x_source[b], *w, num_heads=4, num_key_value_heads=2
                )
                np.testing.assert_allclose(output[a, b], one, rtol=1e-13, atol=1e-14)

    def test_what_is_masked_changes_nothing(self):
        arrays = layer(100)
        mask = np.ones((5, 7), bool)
        mask[:, 4] = False
        clean = multi_head_attention(*arrays, num_heads=4, num_key_value_heads=2, mask=mask)
        for bad in (np.nan, np.inf, -np.inf):
            arrays[1][4] = bad
            dirty = oracle.politely(
                multi_head_attention, *arrays, num_heads=4, num_key_value_heads=2, mask=mask
            )
            np.testing.assert_array_equal(dirty, clean)

    def test_a_nan_shows_only_where_it_may_be_seen(self):
        arrays = layer(110, Tq=5, Tk=5)
        arrays[1][3, 2] = np.nan
        output = oracle.politely(
            multi_head_attention, *arrays, num_heads=4, num_key_value_heads=2, mask=causal_mask(5)
        )
        assert np.isfinite(output[:3]).all()
        assert np.isnan(output[3:]).all()

    def test_a_query_with_nobody_to_attend_to_gets_zeros(self):
        arrays = layer(120)
        mask = np.ones((5, 7), bool)
        mask[2] = False
        output = multi_head_attention(*arrays, num_heads=4, num_key_value_heads=2, mask=mask)
        np.testing.assert_array_equal(output[2], np.zeros(17))
        assert output[[0, 1, 3, 4]].all()

    @pytest.mark.parametrize("Tq, Tk", [(0, 7), (5, 0), (0, 0)])
    def test_empty_sequences_give_zeros(self, Tq, Tk):
        arrays = layer(130, Tq=Tq, Tk=Tk)
        output = oracle.politely(multi_head_attention, *arrays, num_heads=4, num_key_value_heads=2)
        np.testing.assert_array_equal(output, np.zeros((Tq, 17)), strict=True)

    @pytest.mark.parametrize("dtype", FLOATS)
    def test_the_dtype_stays_and_16_bits_are_computed_in_32(self, dtype):
        arrays = [a.astype(dtype) for a in layer(140)]
        output = oracle.politely(multi_head_attention, *arrays, num_heads=4, num_key_value_heads=2)
        assert output.dtype == dtype
        wide = [a.astype(np.float64) for a in arrays]
        exact = multi_head_attention(*wide, num_heads=4, num_key_value_heads=2)
        eps = float(ml_dtypes.finfo(dtype).eps)
        # One rounding to the result, and what the products lost before it.
        limit = eps * np.abs(exact) / 2 + 60 * max(np.finfo(np.float32).eps * (eps > 1e-9), 1e-15)
        assert (np.abs(output.astype(np.float64) - exact) <= limit).all()

    def test_mixed_dtypes_follow_numpy(self):
        arrays = [a.astype(np.float32) for a in layer(150)]
        options = {"num_heads": 4, "num_key_value_heads": 2}
        bias = np.zeros((5, 7))
        assert multi_head_attention(*arrays, **options).dtype == np.float32
        assert multi_head_attention(*arrays, bias=bias, **options).dtype == np.float64
        assert (
            multi_head_attention(*arrays, bias=bias.astype(np.float16), **options).dtype
            == np.float32
        )
        arrays[5] = arrays[5].astype(np.float64)
        assert multi_head_attention(*arrays, **options).dtype == np.float64

    def test_a_wide_bias_is_added_without_rounding_it(self):
        arrays = [a.astype(np.float32) for a in layer(155)]
        bias = np.full((5, 7), 1e8)
        bias[:, 3] += 1  # float32 cannot tell these apart
        output = multi_head_attention(*arrays, num_heads=4, num_key_value_heads=2, bias=bias)
        exact_bias = oracle.exact(bias - 1e8)
        assert units(output, arrays, 4, 2, bias=lambda h: exact_bias) <= 4e8

    def test_lists_of_integers_are_accepted(self):
        output = multi_head_attention(
            [[2, 0]], [[1, 3]], [[1], [0]], [[1], [0]], [[0], [1]], [[5]], num_heads=1
        )
        np.testing.assert_array_equal(output, np.array([[15.0]]), strict=True)

    @pytest.mark.parametrize(
        "change, options, kind, message",
        [
            (
                {2: (11, 13)},
                {},
                ValueError,
                "w_query (11, 13): its width must be a multiple of num_heads, got 13 and 4",
            ),
            (
                {3: (13, 7)},
                {},
                ValueError,
                "w_key (13, 7): its width must be a multiple of num_key_value_heads, got 7 and 2",
            ),
            (
                {4: (13, 5)},
                {},
                ValueError,
                "w_value (13, 5): its width must be a multiple of num_key_value_heads, got 5 and 2",
            ),
            (
                {3: (13, 4)},
                {},
                ValueError,
                "w_query (11, 12) and w_key (13, 4): they must have the same width d_k of a head, "
                "got 3 and 2",
            ),
            (
                {5: (7, 17)},
                {},
                ValueError,
                "w_value (13, 4) and w_output (7, 17): w_output must have num_heads · d_v = "
                "4 · 2 = 8 rows, got 7",
            ),
            (
                {5: (8,)},
                {},
                ValueError,
                "w_output (8,): it must be a matrix, (H·d_v, d_output)",
            ),
            (
                {2: (2, 11, 12)},
                {},
                ValueError,
                "w_query (2, 11, 12): it must be a matrix, (d_model, d)",
            ),
            (
                {2: (10, 12)},
                {},
                ValueError,
                "x_query (5, 11) and w_query (10, 12): they must have the same width d_model, "
                "got 11 and 10",
            ),
            (
                {4: (11, 4)},
                {},
                ValueError,
                "x_key_value (7, 13) and w_value (11, 4): they must have the same width d_model, "
                "got 13 and 11",
            ),
            (
                {},
                {"num_key_value_heads": 3},
                ValueError,
                "num_heads must be a multiple of num_key_value_heads, got 4 and 3",
            ),
            (
                {},
                {"num_key_value_heads": 8},
                ValueError,
                "num_heads must be a multiple of num_key_value_heads, got 4 and 8",
            ),
            (
                {},
                {"num_key_value_heads": 0},
                ValueError,
                "num_key_value_heads must be at least 1, got 0",
            ),
            ({}, {"num_heads": 0}, ValueError, "num_heads must be at least 1, got 0"),
            ({}, {"num_heads": 4.0}, TypeError, "num_heads must be an integer, got float"),
            (
                {0: (2, 5, 11), 1: (3, 7, 13)},
                {},
                ValueError,
                "x_query (2, 5, 11) and x_key_value (3, 7, 13): the axes before the last two must "
                "be equal, or 1, or absent",
            ),
            (
                {},
                {"mask": np.ones((3, 5, 7), bool)},
                ValueError,
                "mask (3, 5, 7) and scores (4, 5, 7): each axis of mask, counted from the last, "
                "must be equal to that of the scores, or 1",
            ),
            (
                {},
                {"bias": np.ones((5, 6))},
                ValueError,
                "bias (5, 6) and scores (4, 5, 7): each axis of bias, counted from the last, must "
                "be equal to that of the scores, or 1",
            ),
            (
                {},
                {"mask": np.ones((5, 7))},
                TypeError,
                "mask must be boolean (True = this query may attend to this key), got dtype "
                "float64; numbers to add to the scores are a bias",
            ),
            ({}, {"scale": np.inf}, ValueError, "scale must be finite, got inf"),
            (
                {2: (11, 0), 3: (13, 0)},
                {},
                ValueError,
                "scale: 1/√d_k is undefined for d_k = 0; pass a scale",
            ),
        ],
    )
    def test_misuse_is_named(self, change, options, kind, message):
        arrays = layer(160)
        for i, shape in change.items():
            arrays[i] = np.ones(shape)
        with pytest.raises(kind, match=says(message)) as caught:
            multi_head_attention(*arrays, **{"num_heads": 4, "num_key_value_heads": 2, **options})
        assert caught.type is kind

    def test_it_is_exported(self):
        for name in ("split_heads", "merge_heads", "repeat_key_value_heads"):
            assert name in selfattn_ref.__all__
        assert "multi_head_attention" in selfattn_ref.__all__
