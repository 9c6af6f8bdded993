"""The theorems on several heads, checked away from their page.

Heads are computed one at a time with plain loops; nothing is split or merged by the library.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_ref import multi_head_attention, scaled_dot_product_attention, softmax
from tests.support.arrays import drawn

SEEDS = st.integers(0, 10**6)
CLOSE = {"rtol": 1e-9, "atol": 1e-10}


def head_by_head(x, w, heads):
    """Return weights, columns of W_V and rows of W_O of each head, cut by hand."""
    w_query, w_key, w_value, w_output = w
    d_k, d_v = w_query.shape[1] // heads, w_value.shape[1] // heads
    for h in range(heads):
        of_k, of_v = slice(h * d_k, (h + 1) * d_k), slice(h * d_v, (h + 1) * d_v)
        scores = (x @ w_query[:, of_k]) @ (x @ w_key[:, of_k]).T / np.sqrt(d_k)
        yield softmax(scores), w_value[:, of_v], w_output[of_v]


def random_heads(seed, heads, d_k, d_v, d_model=6, d_output=6):
    rng = np.random.default_rng(seed)
    shapes = [(d_model, heads * d_k)] * 2 + [(d_model, heads * d_v), (heads * d_v, d_output)]
    return [rng.normal(size=shape) for shape in shapes]


class TestOneMixture:
    """thm-one-mixture: one row of weights is one mixture; two rows reach more."""

    @given(SEEDS, st.integers(2, 6), st.integers(1, 3), st.integers(1, 3))
    def test_one_head_stays_below_and_two_heads_come_near(self, seed, T, d_u, d_w):
        rng = np.random.default_rng(seed)
        u, w = rng.normal(size=(T, d_u)), rng.normal(size=(T, d_w))
        f, g = rng.normal(size=d_u), rng.normal(size=d_w)
        m, n = (u @ f).argmax(), (w @ g).argmax()
        if m == n:
            w = np.roll(w, 1, axis=0)
            n = (w @ g).argmax()
        c, top = (u @ f + w @ g).max(), (u @ f)[m] + (w @ g)[n]
        assert c < top
        shares = softmax(5 * rng.normal(size=(200, T)))
        mixtures = shares @ np.hstack([u, w])
        assert (mixtures @ np.concatenate([f, g])).max() <= c + 1e-12
        # Two heads, with scores that leave the others behind.
        steep = [1e4 * np.eye(T)[word] for word in (m, n)]
        apart = softmax(steep[0]) @ u @ f + softmax(steep[1]) @ w @ g
        assert apart == pytest.approx(top, abs=1e-9)

    def test_where_one_word_has_the_best_of_both_one_head_is_enough(self):
        u, w = np.array([[2.0], [0.0]]), np.array([[3.0], [1.0]])  # m = n
        sharp = softmax([1e4, 0.0])
        np.testing.assert_allclose(sharp @ np.hstack([u, w]), [2, 3])

    @given(st.floats(-100, 100))
    def test_a_narrow_head_cannot_choose_its_weights_freely(self, query):
        # With one column, the word with the middle key never gets more than a third.
        assert softmax(query * np.array([0.0, 1.0, 2.0]))[1] <= 1 / 3 + 1e-12

    @given(SEEDS, st.integers(1, 5))
    def test_two_heads_with_the_same_weights_are_one(self, seed, T):
        value, shares = drawn(seed, T, 4), softmax(drawn(seed + 1, T))
        halves = [shares @ value[:, :2], shares @ value[:, 2:]]
        np.testing.assert_allclose(np.concatenate(halves), shares @ value, **CLOSE)


class TestSumOverHeads:
    """thm-sum-over-heads: a sum of maps of small rank, in any order."""

    @given(SEEDS, st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.integers(1, 5))
    def test_the_output_is_the_sum_of_what_the_heads_add(self, seed, heads, d_k, d_v, T):
        x, w = drawn(seed, T, 6), random_heads(seed + 1, heads, d_k, d_v)
        added = [a @ x @ v @ o for a, v, o in head_by_head(x, w, heads)]
        output = multi_head_attention(x, x, *w, num_heads=heads)
        np.testing.assert_allclose(output, sum(added), **CLOSE)
        assert all(np.linalg.matrix_rank(part) <= d_v for part in added)

    @pytest.mark.parametrize("heads, d_v", [(1, 2), (2, 2), (3, 2), (4, 2), (2, 4)])
    def test_a_head_has_rank_d_v_and_together_they_fill_the_width(self, heads, d_v):
        *_, w_value, w_output = random_heads(0, heads, 2, d_v)
        each = [
            w_value[:, h * d_v : (h + 1) * d_v] @ w_output[h * d_v : (h + 1) * d_v]
            for h in range(heads)
        ]
        assert {int(np.linalg.matrix_rank(m)) for m in each} == {d_v}
        assert np.linalg.matrix_rank(sum(each)) == min(heads * d_v, 6)
        np.testing.assert_allclose(sum(each), w_value @ w_output, **CLOSE)

    @pytest.mark.parametrize("heads, d_v", [(2, 2), (3, 2), (2, 4)])
    def test_any_rank_up_to_that_is_reached(self, heads, d_v):
        for r in range(min(heads * d_v, 6) + 1):
            w_value = np.eye(6, heads * d_v) * (np.arange(heads * d_v) < r)
            assert np.linalg.matrix_rank(w_value @ np.eye(heads * d_v, 6)) == r

    @given(SEEDS)
    def test_the_heads_may_stand_in_any_order(self, seed):
        x, w = drawn(seed, 4, 6), random_heads(seed + 1, 3, 2, 2)
        output = multi_head_attention(x, x, *w, num_heads=3)
        for order in itertools.permutations(range(3)):
            columns = [2 * h + i for h in order for i in range(2)]
            moved = [m[:, columns] for m in w[:3]] + [w[3][columns]]
            np.testing.assert_allclose(
                multi_head_attention(x, x, *moved, num_heads=3), output, **CLOSE
            )

    def test_without_the_rows_of_the_output_matrix_the_order_matters(self):
        x, w = drawn(0, 4, 6), random_heads(1, 3, 2, 2)
        columns = [2, 3, 0, 1, 4, 5]
        moved = [m[:, columns] for m in w[:3]] + [w[3]]
        one, other = (multi_head_attention(x, x, *m, num_heads=3) for m in (w, moved))
        assert not np.allclose(one, other)


class Counted:
    """A matrix whose products are counted, entry by entry."""

    def __init__(self, entries, count):
        self.entries, self.count = np.asarray(entries), count

    def __matmul__(self, other):
        terms = self.entries[:, :, np.newaxis] * other.entries[np.newaxis]
        self.count["multiplications"] += terms.size
        return Counted(terms.sum(axis=1), self.count)


class TestHeadCost:
    """thm-head-cost: the multiplications do not depend on the number of heads; the scores do."""

    @pytest.mark.parametrize("T, d_model", [(1, 8), (5, 8), (12, 16)])
    @pytest.mark.parametrize("heads", [1, 2, 4, 8])
    def test_every_multiplication_and_every_score_is_counted(self, T, d_model, heads):
        count, width = {"multiplications": 0, "scores": 0}, d_model // heads
        x, w = drawn(0, T, d_model), drawn(1, 4, d_model, d_model)
        of = Counted(x, count)
        query, key, value = ((of @ Counted(matrix, count)).entries for matrix in w[:3])
        outputs = []
        for h in range(heads):
            at = slice(h * width, (h + 1) * width)
            scores = Counted(query[:, at], count) @ Counted(key[:, at].T, count)
            count["scores"] += scores.entries.size
            weights = Counted(softmax(scores.entries / np.sqrt(width)), count)
            outputs.append((weights @ Counted(value[:, at], count)).entries)
        output = Counted(np.concatenate(outputs, axis=1), count) @ Counted(w[3], count)
        assert count["multiplications"] == 4 * T * d_model**2 + 2 * T**2 * d_model
        assert count["scores"] == heads * T**2
        np.testing.assert_allclose(
            output.entries, multi_head_attention(x, x, *w, num_heads=heads), **CLOSE
        )

    def test_one_head_is_plain_attention_and_a_product(self):
        x, w = drawn(0, 5, 8), drawn(1, 4, 8, 8)
        plain = scaled_dot_product_attention(x @ w[0], x @ w[1], x @ w[2]) @ w[3]
        np.testing.assert_allclose(multi_head_attention(x, x, *w, num_heads=1), plain, **CLOSE)
