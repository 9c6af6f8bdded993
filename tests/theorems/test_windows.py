"""Windows and sinks: how far layers of windows see, and what a prefix mask keeps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_ref import causal_mask, scaled_dot_product_attention, self_attention, window_mask
from tests.support.arrays import drawn
from tests.theorems.test_causal import CLOSE, SEEDS, matrices


class TestWindowsReach:
    """thm-windows-reach: layers see back the sum of their windows, and word 0 if it is kept."""

    @staticmethod
    def stack(x, seed, windows, first=False, everyone=False):
        """Return x through a layer per window, each with row maps, sums and two heads."""
        T, width = x.shape
        for n, left in enumerate(windows):
            mask = window_mask(T, T, left, 0)
            mask[:, 0] |= first
            mask[0] |= everyone
            heads = [self_attention(x, *matrices((seed, n, h), width), mask=mask) for h in (0, 1)]
            x = np.tanh(x + heads[0] - heads[1])
        return x

    @classmethod
    def changed(cls, seed, T, windows, **how):
        """Return which rows of the result change with which word: (T, T)."""
        x = drawn(seed, T, 3)
        base, moved = cls.stack(x, seed, windows, **how), np.zeros((T, T), bool)
        for j in range(T):
            other = x.copy()
            other[j] += 1
            moved[:, j] = (cls.stack(other, seed, windows, **how) != base).any(axis=1)
        return moved

    @given(SEEDS, st.lists(st.integers(0, 3), min_size=1, max_size=4), st.booleans())
    def test_no_row_depends_on_another_word(self, seed, windows, first):
        T = 12
        allowed = window_mask(T, T, sum(windows), 0) | (first & (np.arange(T) == 0))
        moved = self.changed(seed, T, windows, first=first)
        assert not (moved & ~allowed).any()
        assert moved.diagonal().all()

    @pytest.mark.parametrize("first", [False, True])
    def test_rows_depend_on_every_word_within_reach(self, first):
        moved = self.changed(1, 12, (2, 3, 1), first=first)
        expected = window_mask(12, 12, 6, 0) | (first & (np.arange(12) == 0))
        np.testing.assert_array_equal(moved, expected)

    @given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 3))
    def test_with_equal_weights_the_farthest_word_has_one_path(self, w, L, more):
        T = L * w + 1 + more
        x, nothing = np.eye(T), np.zeros((T, 1))
        for _ in range(L):
            x = scaled_dot_product_attention(nothing, nothing, x, mask=window_mask(T, T, w, 0))
        for i in range(L * w, T):
            assert x[i, i - L * w] == pytest.approx((w + 1.0) ** -L, rel=1e-12)
            assert (x[i, : i - L * w] == 0).all()

    def test_a_first_word_that_sees_everyone_breaks_it(self):
        moved = self.changed(0, 12, (2, 2), first=True, everyone=True)
        assert moved.all()

    def test_a_map_that_mixes_rows_breaks_it(self):
        x = drawn(0, 12, 3)
        other = x.copy()
        other[0] += 1
        centered = [self.stack(one - one.mean(axis=0), 0, (2, 2))[11] for one in (x, other)]
        assert not np.allclose(*centered)


class TestPrefixMask:
    """thm-prefix-mask: after the prefix, cutting first and computing first give the same."""

    @staticmethod
    def deep(x, seed, p, layers=3):
        T, width = x.shape
        mask = causal_mask(T) | (np.arange(T) < p)
        for n in range(layers):
            x = np.tanh(x + self_attention(x, *matrices((seed, n), width), mask=mask))
        return x

    @given(SEEDS, st.integers(1, 7), st.integers(1, 7))
    def test_it_holds_from_the_end_of_the_prefix_on(self, seed, T, p):
        x = drawn(seed, T, 3)
        for n in range(min(p, T), T + 1):
            np.testing.assert_allclose(
                self.deep(x, seed, p)[:n], self.deep(x[:n], seed, p), **CLOSE
            )

    def test_within_the_prefix_it_fails(self):
        x = drawn(0, 6, 3)
        for n in range(1, 4):
            assert not np.allclose(self.deep(x, 0, 4)[:n], self.deep(x[:n], 0, 4))

    def test_a_prefix_that_grows_with_the_text_breaks_it(self):
        x = drawn(0, 6, 3)
        assert not np.allclose(self.deep(x, 0, 3)[:4], self.deep(x[:4], 0, 2))
