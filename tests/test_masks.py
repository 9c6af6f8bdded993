"""Masks: who may attend to whom."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_ref import (
    attention_weights,
    causal_mask,
    padding_mask,
    segment_mask,
    window_mask,
)
from tests import oracles

SIZES = st.integers(0, 7)
OFFSETS = st.integers(-9, 9)
SIDES = st.none() | st.integers(0, 9)


def by_definition(queries, keys, left, right, offset):
    rows = [
        [oracles.visible(i, j, left, right, offset) for j in range(keys)] for i in range(queries)
    ]
    return np.array(rows, dtype=bool).reshape(queries, keys)


class TestCausalMask:
    def test_each_position_sees_itself_and_those_before(self):
        expected = [
            [1, 0, 0],
            [1, 1, 0],
            [1, 1, 1],
        ]
        np.testing.assert_array_equal(causal_mask(3), np.array(expected, dtype=bool))

    def test_starts_at_the_upper_left_when_there_are_more_keys(self):
        expected = [
            [1, 0, 0, 0, 0],
            [1, 1, 0, 0, 0],
        ]
        np.testing.assert_array_equal(causal_mask(2, 5), np.array(expected, dtype=bool))

    def test_starts_at_the_upper_left_when_there_are_more_queries(self):
        expected = [[1, 0], [1, 1], [1, 1], [1, 1]]
        np.testing.assert_array_equal(causal_mask(4, 2), np.array(expected, dtype=bool))

    def test_an_offset_counts_the_keys_before_the_first_query(self):
        expected = [
            [1, 1, 1, 1, 0],
            [1, 1, 1, 1, 1],
        ]
        np.testing.assert_array_equal(causal_mask(2, 5, offset=3), np.array(expected, dtype=bool))

    def test_a_negative_offset_leaves_the_first_queries_with_no_key(self):
        expected = [[0, 0, 0], [0, 0, 0], [1, 0, 0], [1, 1, 0]]
        np.testing.assert_array_equal(causal_mask(4, 3, offset=-2), np.array(expected, dtype=bool))

    @given(queries=SIZES, keys=SIZES, offset=OFFSETS)
    def test_is_its_definition(self, queries, keys, offset):
        mask = causal_mask(queries, keys, offset=offset)
        np.testing.assert_array_equal(mask, by_definition(queries, keys, None, 0, offset))

    @given(cached=SIZES, new=SIZES)
    def test_the_offset_of_a_cache_cuts_the_last_rows_out_of_the_square(self, cached, new):
        whole = causal_mask(cached + new)
        np.testing.assert_array_equal(causal_mask(new, cached + new, offset=cached), whole[cached:])

    @pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
    def test_sizes_may_be_zero(self, shape):
        mask = causal_mask(*shape)
        assert mask.shape == shape
        assert mask.dtype == np.bool_

    def test_integers_of_numpy_are_accepted(self):
        mask = causal_mask(np.int64(2), np.array(5), offset=np.uint8(3))
        np.testing.assert_array_equal(mask, causal_mask(2, 5, offset=3))

    @pytest.mark.parametrize("offset", [2**63 - 1, 2**63, 10**30])
    def test_an_offset_beyond_all_keys_hides_none_and_never_wraps_around(self, offset):
        assert causal_mask(2, 3, offset=offset).all()
        assert not causal_mask(2, 3, offset=-offset).any()

    @pytest.mark.parametrize(
        "arguments, error, message",
        [
            (((2.0,), {}), TypeError, "Tq must be an integer, got float"),
            (((True,), {}), TypeError, "Tq must be an integer, got bool"),
            (((2, "3"), {}), TypeError, "Tk must be an integer, got str"),
            (((2, np.True_), {}), TypeError, "Tk must be an integer, got bool"),
            (((-1,), {}), ValueError, "Tq must be at least 0, got -1"),
            (((1, -2), {}), ValueError, "Tk must be at least 0, got -2"),
            (((2, 3), {"offset": 1.0}), TypeError, "offset must be an integer, got float"),
            (((2, 3), {"offset": None}), TypeError, "offset must be an integer, got NoneType"),
            (((2, 3), {"offset": False}), TypeError, "offset must be an integer, got bool"),
        ],
    )
    def test_a_wrong_argument_is_named(self, arguments, error, message):
        positional, named = arguments
        with pytest.raises(error) as caught:
            causal_mask(*positional, **named)
        assert caught.type is error
        assert str(caught.value) == message


class TestWindowMask:
    def test_sees_left_before_and_right_after(self):
        expected = [
            [1, 1, 0, 0, 0],
            [1, 1, 1, 0, 0],
            [1, 1, 1, 1, 0],
            [0, 1, 1, 1, 1],
        ]
        np.testing.assert_array_equal(window_mask(4, 5, 2, 1), np.array(expected, dtype=bool))

    def test_none_sets_no_limit_on_that_side(self):
        assert window_mask(3, 5, None, None).all()
        np.testing.assert_array_equal(
            window_mask(3, 5, None, 1),
            np.array([[1, 1, 0, 0, 0], [1] * 3 + [0] * 2, [1] * 4 + [0]]),
        )
        np.testing.assert_array_equal(
            window_mask(3, 5, 0, None), np.array([[1] * 5, [0] + [1] * 4, [0, 0, 1, 1, 1]])
        )

    def test_a_window_of_nothing_but_oneself_is_the_diagonal(self):
        np.testing.assert_array_equal(window_mask(5, 5, 0, 0), np.eye(5, dtype=bool))

    @given(queries=SIZES, keys=SIZES, left=SIDES, right=SIDES, offset=OFFSETS)
    def test_is_its_definition(self, queries, keys, left, right, offset):
        mask = window_mask(queries, keys, left, right, offset=offset)
        assert mask.dtype == np.bool_
        np.testing.assert_array_equal(mask, by_definition(queries, keys, left, right, offset))

    @given(queries=SIZES, keys=SIZES, left=SIDES, offset=OFFSETS)
    def test_a_causal_window_is_a_window_and_a_causal_mask(self, queries, keys, left, offset):
        both = window_mask(queries, keys, left, None, offset=offset) & causal_mask(
            queries, keys, offset=offset
        )
        np.testing.assert_array_equal(window_mask(queries, keys, left, 0, offset=offset), both)

    def test_huge_sides_and_offsets_are_exact(self):
        far = 10**30
        assert window_mask(2, 3, far, 0, offset=far - 1).all()
        # Query i stands at far + i and sees back to key i.
        expected = [[1, 1, 1], [0, 1, 1]]
        np.testing.assert_array_equal(
            window_mask(2, 3, far, 0, offset=far), np.array(expected, dtype=bool)
        )

    @pytest.mark.parametrize(
        "arguments, error, message",
        [
            ((2.0, 3, 1, 1), TypeError, "Tq must be an integer, got float"),
            ((2, None, 1, 1), TypeError, "Tk must be an integer, got NoneType"),
            ((-2, 3, 1, 1), ValueError, "Tq must be at least 0, got -2"),
            ((2, -3, 1, 1), ValueError, "Tk must be at least 0, got -3"),
            ((2, 3, -1, 1), ValueError, "left must be at least 0, got -1; None sets no limit"),
            ((2, 3, 1, -1), ValueError, "right must be at least 0, got -1; None sets no limit"),
            (
                (2, 3, math.inf, 1),
                TypeError,
                "left must be an integer, got float; None sets no limit",
            ),
            ((2, 3, 1, True), TypeError, "right must be an integer, got bool; None sets no limit"),
        ],
    )
    def test_a_wrong_argument_is_named(self, arguments, error, message):
        with pytest.raises(error) as caught:
            window_mask(*arguments)
        assert caught.type is error
        assert str(caught.value) == message

    def test_a_wrong_offset_is_named(self):
        with pytest.raises(TypeError, match=r"^offset must be an integer, got float$"):
            window_mask(2, 3, 1, 1, offset=0.0)


class TestPaddingMask:
    def test_keeps_the_first_keys_of_each_sequence(self):
        expected = [[[0, 0, 0]], [[1, 0, 0]], [[1, 1, 1]]]
        np.testing.assert_array_equal(padding_mask([0, 1, 3], 3), np.array(expected, dtype=bool))

    @pytest.mark.parametrize("shape", [(), (2,), (2, 1), (2, 3, 5)])
    def test_has_one_row_for_all_queries_of_a_sequence(self, shape):
        lengths = np.random.default_rng(0).integers(0, 8, size=shape)
        mask = padding_mask(lengths, 7)
        assert mask.shape == (*shape, 1, 7)
        assert mask.dtype == np.bool_
        for *sequence, row, j in oracles.indices(mask.shape):
            assert mask[(*sequence, row, j)] == (j < lengths[tuple(sequence)])

    def test_a_batch_of_lengths_fits_the_scores_of_a_batch(self):
        weights = attention_weights(np.zeros((2, 3, 5)), mask=padding_mask([1, 4], 5))
        np.testing.assert_array_equal(weights[0], [[1.0, 0, 0, 0, 0]] * 3)
        np.testing.assert_array_equal(weights[1], [[0.25, 0.25, 0.25, 0.25, 0]] * 3)

    def test_a_column_of_lengths_fits_the_scores_of_heads(self):
        weights = attention_weights(np.zeros((2, 7, 3, 5)), mask=padding_mask([[1], [2]], 5))
        np.testing.assert_array_equal(weights[0], np.full((7, 3, 5), [1.0, 0, 0, 0, 0]))
        np.testing.assert_array_equal(weights[1], np.full((7, 3, 5), [0.5, 0.5, 0, 0, 0]))

    def test_no_sequences_and_no_keys_are_fine(self):
        assert padding_mask([], 3).shape == (0, 1, 3)
        assert padding_mask([0, 0], 0).shape == (2, 1, 0)

    @pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.int64])
    def test_integers_of_every_width_are_accepted(self, dtype):
        lengths = np.array([1, 3], dtype)
        np.testing.assert_array_equal(padding_mask(lengths, 3), padding_mask([1, 3], 3))

    def test_more_keys_than_a_narrow_type_of_lengths_can_count(self):
        # 127 is the largest int8: comparing with 300 keys must not wrap around.
        assert padding_mask(np.array([127], np.int8), 300).sum() == 127

    @pytest.mark.parametrize(
        "lengths, keys, error, message",
        [
            (
                [1, 4],
                3,
                ValueError,
                "lengths (2,): each must lie between 0 and Tk = 3, got 4 at (1,)",
            ),
            (
                [[1, 2], [3, -1]],
                3,
                ValueError,
                "lengths (2, 2): each must lie between 0 and Tk = 3, got -1 at (1, 1)",
            ),
            (5, 3, ValueError, "lengths (): each must lie between 0 and Tk = 3, got 5 at ()"),
            ([1.0, 2.0], 3, TypeError, "lengths must hold integers, got dtype float64"),
            ([True, False], 3, TypeError, "lengths must hold integers, got dtype bool"),
            (["1"], 3, TypeError, "lengths must hold integers, got dtype <U1"),
            ([10**30], 3, TypeError, "lengths must hold integers, got dtype object"),
            (
                [[1], [1, 2]],
                3,
                ValueError,
                "lengths is ragged: its rows must all have the same length",
            ),
            (
                np.ma.array([1, 2], mask=[True, False]),
                3,
                TypeError,
                "lengths is a masked array, whose mask would be lost: pass lengths.filled()",
            ),
            ([1], -3, ValueError, "Tk must be at least 0, got -3"),
            ([1], 3.0, TypeError, "Tk must be an integer, got float"),
        ],
    )
    def test_a_wrong_argument_is_named(self, lengths, keys, error, message):
        with pytest.raises(error) as caught:
            padding_mask(lengths, keys)
        assert caught.type is error
        assert str(caught.value) == message


class TestMasksCombine:
    def test_and_keeps_what_both_allow(self):
        both = padding_mask([2, 3], 3) & causal_mask(3)
        expected = [
            [[1, 0, 0], [1, 1, 0], [1, 1, 0]],
            [[1, 0, 0], [1, 1, 0], [1, 1, 1]],
        ]
        np.testing.assert_array_equal(both, np.array(expected, dtype=bool))

    def test_every_call_gives_a_new_writable_mask(self):
        for build in (
            lambda: causal_mask(3),
            lambda: window_mask(3, 5, 1, 1),
            lambda: padding_mask([1, 2], 3),
        ):
            first, second = build(), build()
            first[...] = False
            assert second.any()
            assert not np.shares_memory(first, second)


class TestSegmentMask:
    def test_packed_sequences_do_not_see_each_other(self):
        segments = [4, 4, -1, 4, 0]
        expected = [[a == b for b in segments] for a in segments]
        np.testing.assert_array_equal(segment_mask(segments), expected)

    def test_queries_and_keys_may_differ_and_broadcast(self):
        queries, keys = np.array([[0, 1, 1], [2, 2, 0]]), np.array([[[1, 0]], [[2, 1]]])
        mask = segment_mask(queries, keys)
        assert mask.shape == (2, 2, 3, 2)
        for a, b, i, j in np.ndindex(mask.shape):
            assert mask[a, b, i, j] == (queries[b, i] == keys[a, 0, j])

    def test_attention_in_a_packed_row_is_attention_in_each_sequence(self):
        rng = np.random.default_rng(0)
        query, key, value = rng.normal(size=(3, 7, 4))
        mask = segment_mask([0] * 3 + [1] * 4) & causal_mask(7)
        weights = attention_weights(query @ key.T, mask=mask)
        for part in (slice(0, 3), slice(3, 7)):
            alone = attention_weights(
                query[part] @ key[part].T, mask=causal_mask(part.stop - part.start)
            )
            np.testing.assert_allclose((weights @ value)[part], alone @ value[part], rtol=1e-12)

    @pytest.mark.parametrize(
        "arguments, error, message",
        [
            (([0.0, 1.0],), TypeError, "segments must hold integers, got dtype float64"),
            (([0], [True]), TypeError, "key_segments must hold integers, got dtype bool"),
            ((3,), ValueError, "segments (): it must have the axes (..., T), a number for each"),
        ],
    )
    def test_a_wrong_argument_is_named(self, arguments, error, message):
        with pytest.raises(error) as caught:
            segment_mask(*arguments)
        assert str(caught.value).startswith(message)


class TestMemory:
    def test_a_mask_takes_little_more_than_itself(self):
        causal_mask(2)
        tracemalloc.start()
        causal_mask(4096)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 20e6  # the mask has 16.8 million entries
