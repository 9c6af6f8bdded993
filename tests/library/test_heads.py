"""Heads: how they are split, merged and shared, and attention in each of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_ref import (
    merge_heads,
    multi_head_attention,
    padding_mask,
    repeat_key_value_heads,
    split_heads,
)
from tests.support import digits
from tests.support.arrays import close, epsilon, normal, normals, some


class TestSplitHeads:
    def test_head_h_gets_the_columns_from_h_times_d_on(self):
        x = normal(2, 3, 5 * 7)
        heads = split_heads(x, num_heads=5)
        assert heads.shape == (2, 5, 3, 7)
        for b, h, t, c in np.ndindex(heads.shape):
            assert heads[b, h, t, c] == x[b, t, h * 7 + c]

    @given(st.lists(st.integers(0, 3), max_size=2), st.integers(0, 3), st.integers(1, 5), st.data())
    def test_merging_gives_back_what_was_split(self, leading, length, heads, data):
        x = normal(*leading, length, heads * data.draw(st.integers(0, 3)))
        split = split_heads(x, heads)
        assert split.shape == (*leading, heads, length, x.shape[-1] // heads)
        np.testing.assert_array_equal(merge_heads(split), x, strict=True)


class TestMergeHeads:
    def test_the_heads_of_a_position_stand_side_by_side(self):
        x = normal(2, 5, 3, 7)
        merged = merge_heads(x)
        assert merged.shape == (2, 3, 35)
        for b, h, t, c in np.ndindex(x.shape):
            assert merged[b, t, h * 7 + c] == x[b, h, t, c]

    def test_no_heads_leave_no_columns(self):
        assert merge_heads(np.ones((0, 3, 5))).shape == (3, 0)


class TestRepeatKeyValueHeads:
    @pytest.mark.parametrize("shared, heads", [(1, 1), (1, 5), (2, 6), (3, 6), (5, 5), (2, 4)])
    def test_query_head_h_reads_head_h_over_the_group_size(self, shared, heads):
        x = normal(2, shared, 3, 7)
        repeated = repeat_key_value_heads(x, num_heads=heads)
        assert repeated.shape == (2, heads, 3, 7)
        for h in range(heads):
            np.testing.assert_array_equal(repeated[:, h], x[:, h // (heads // shared)])


def layer(seed=0, *, Tq=5, Tk=7, heads=4, shared=2, dtype=np.float64):
    """Return two sequences and four projections, every axis of another size."""
    shapes = [(Tq, 11), (Tk, 13), (11, heads * 3), (13, shared * 3), (13, shared * 2)]
    return [a / 2 for a in normals(*shapes, (heads * 2, 17), seed=seed, dtype=dtype)]


def units(output, arrays, heads, shared, **per_head):
    """Return the error in units of ε (1 + max|score|) · the largest sum of absolute products."""
    sizes = [np.abs(a).astype(np.float64) for a in arrays]
    value = (sizes[1] @ sizes[4]).max()
    query, key = (sizes[0] @ sizes[2]).max(), (sizes[1] @ sizes[3]).max()
    score = query * key * np.sqrt(sizes[2].shape[1] // heads)
    unit = epsilon(output.dtype) * (1 + score) * value * sizes[5].sum(axis=0).max()
    return float(digits.error(output, digits.multi_head(arrays, heads, shared, **per_head)) / unit)


GROUPED = {"num_heads": 4, "num_key_value_heads": 2}


class TestMultiHeadAttention:
    """Within 4 ε (1 + max|score|) of 50 digits, relative to the sum of the absolute products."""

    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
    @pytest.mark.parametrize(
        "heads, shared", [(1, 1), (2, 2), (4, 2), (4, 1), (6, 3), (6, 2), (3, 3)]
    )
    def test_it_is_the_sum_over_the_heads(self, heads, shared, dtype):
        arrays = layer(heads=heads, shared=shared, dtype=dtype)
        output = multi_head_attention(*arrays, num_heads=heads, num_key_value_heads=shared)
        assert units(output, arrays, heads, shared) <= 4

    @pytest.mark.parametrize("sharpness", [0.0, 10.0, 100.0])
    def test_large_scores_stay_accurate(self, sharpness):
        arrays = layer()
        arrays[2] *= sharpness
        assert units(multi_head_attention(*arrays, **GROUPED), arrays, 4, 2) <= 4

    def test_mask_bias_and_scale_reach_every_head(self):
        arrays, bias, mask = layer(), normal(4, 5, 7, seed=1), some(4, 5, 7)
        options = {"mask": mask, "bias": bias}
        output = multi_head_attention(*arrays, **GROUPED, scale=-0.7, **options)
        per_head = {"mask": mask.__getitem__, "bias": bias.__getitem__, "scale": lambda h: -0.7}
        assert units(output, arrays, 4, 2, **per_head) <= 4

    def test_a_mask_for_each_sequence_has_an_axis_of_one_for_the_heads(self):
        x, *w = normals((3, 5, 7), *[(7, 6)] * 3, (6, 7))
        mask = padding_mask([[5], [2], [4]], 5)  # (3, 1, 1, 5)
        whole = multi_head_attention(x, x, *w, num_heads=2, mask=mask)
        for b, length in enumerate([5, 2, 4]):
            close(whole[b], multi_head_attention(x[b], x[b, :length], *w, num_heads=2), 1e-13)

    def test_a_nan_shows_only_where_it_may_be_seen(self):
        arrays = layer(Tq=5, Tk=5)
        arrays[1][3, 2] = np.nan
        output = multi_head_attention(*arrays, **GROUPED, causal=True)
        np.testing.assert_array_equal(np.isnan(output).all(axis=1), np.arange(5) >= 3)
        assert np.isfinite(output[:3]).all()

    def test_a_wide_bias_is_added_without_rounding_it(self):
        arrays, bias = layer(dtype=np.float32), np.full((5, 7), 1e8)
        bias[:, 3] += 1  # float32 cannot tell these apart
        output = multi_head_attention(*arrays, **GROUPED, bias=bias)
        assert output.dtype == np.float64
        assert units(output, arrays, 4, 2, bias=lambda h: bias - 1e8) <= 4e8
