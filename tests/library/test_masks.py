"""Masks: who may attend to whom."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_ref import attention_weights, causal_mask, padding_mask, segment_mask, window_mask
from tests.support import loops

SIZES = st.integers(0, 7)
OFFSETS = st.integers(-9, 9)
SIDES = st.none() | st.integers(0, 9)


def by_definition(queries, keys, left, right, offset):
    """Return the mask of a window, each place by itself."""
    rows = [[loops.visible(i, j, left, right, offset) for j in range(keys)] for i in range(queries)]
    return np.array(rows, dtype=bool).reshape(queries, keys)


def shows(mask, *rows):
    """Require a mask to be the one that is drawn, a character for each key."""
    np.testing.assert_array_equal(mask, [[mark == "x" for mark in row] for row in rows])


class TestCausalMask:
    def test_each_position_sees_itself_and_those_before(self):
        shows(causal_mask(3), "x..", "xx.", "xxx")

    def test_starts_at_the_upper_left_when_lengths_differ(self):
        shows(causal_mask(2, 5), "x....", "xx...")
        shows(causal_mask(4, 2), "x.", "xx", "xx", "xx")

    def test_an_offset_counts_the_keys_before_the_first_query(self):
        shows(causal_mask(2, 5, offset=3), "xxxx.", "xxxxx")

    def test_a_negative_offset_leaves_the_first_queries_with_no_key(self):
        shows(causal_mask(4, 3, offset=-2), "...", "...", "x..", "xx.")

    @given(queries=SIZES, keys=SIZES, offset=OFFSETS)
    def test_is_its_definition(self, queries, keys, offset):
        mask = causal_mask(queries, keys, offset=offset)
        np.testing.assert_array_equal(mask, by_definition(queries, keys, None, 0, offset))

    @pytest.mark.parametrize("offset", [2**63 - 1, 2**63, 10**30])
    def test_an_offset_beyond_all_keys_hides_none_and_never_wraps_around(self, offset):
        assert causal_mask(2, 3, offset=offset).all()
        assert not causal_mask(2, 3, offset=-offset).any()

    def test_takes_little_more_memory_than_itself(self):
        causal_mask(2)
        tracemalloc.start()
        causal_mask(4096)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 20e6  # the mask has 16.8 million entries


class TestWindowMask:
    def test_sees_left_before_and_right_after(self):
        shows(window_mask(4, 5, 2, 1), "xx...", "xxx..", "xxxx.", ".xxxx")

    def test_none_sets_no_limit_on_that_side(self):
        assert window_mask(3, 5, None, None).all()
        shows(window_mask(3, 5, None, 1), "xx...", "xxx..", "xxxx.")
        shows(window_mask(3, 5, 0, None), "xxxxx", ".xxxx", "..xxx")

    @given(queries=SIZES, keys=SIZES, left=SIDES, right=SIDES, offset=OFFSETS)
    def test_is_its_definition(self, queries, keys, left, right, offset):
        mask = window_mask(queries, keys, left, right, offset=offset)
        np.testing.assert_array_equal(mask, by_definition(queries, keys, left, right, offset))

    def test_huge_sides_and_offsets_are_exact(self):
        far = 10**30
        assert window_mask(2, 3, far, 0, offset=far - 1).all()
        assert not window_mask(2, 3, 2, 2, offset=far).any()
        # Query i stands at far + i and sees back to key i.
        shows(window_mask(2, 3, far, 0, offset=far), "xxx", ".xx")


class TestPaddingMask:
    def test_keeps_the_first_keys_of_each_sequence(self):
        np.testing.assert_array_equal(
            padding_mask([0, 1, 3], 3), np.array([[[0, 0, 0]], [[1, 0, 0]], [[1, 1, 1]]], bool)
        )

    @pytest.mark.parametrize("shape", [(), (2,), (2, 1), (2, 3, 5)])
    def test_has_one_row_for_all_queries_of_a_sequence(self, shape):
        lengths = np.random.default_rng(0).integers(0, 8, size=shape)
        mask = padding_mask(lengths, 7)
        assert mask.shape == (*shape, 1, 7)
        for *sequence, row, j in loops.indices(mask.shape):
            assert mask[(*sequence, row, j)] == (j < lengths[tuple(sequence)])

    def test_a_column_of_lengths_fits_the_scores_of_heads(self):
        weights = attention_weights(np.zeros((2, 7, 3, 5)), mask=padding_mask([[1], [2]], 5))
        np.testing.assert_array_equal(weights[0], np.full((7, 3, 5), [1.0, 0, 0, 0, 0]))
        np.testing.assert_array_equal(weights[1], np.full((7, 3, 5), [0.5, 0.5, 0, 0, 0]))

    def test_no_sequences_and_no_keys_are_fine(self):
        assert padding_mask([], 3).shape == (0, 1, 3)
        assert padding_mask([0, 0], 0).shape == (2, 1, 0)

    @pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.int64])
    def test_lengths_may_be_integers_of_every_width(self, dtype):
        # 127 is the largest int8: comparing with 300 keys must not wrap around.
        assert padding_mask(np.array([1, 127], dtype), 300).sum() == 128


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
