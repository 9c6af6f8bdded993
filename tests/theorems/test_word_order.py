"""The theorems on word order, checked away from their page.

Rotations are written out as matrices or as complex numbers; weights are sums of exponentials.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_ref import (
    attention_weights,
    causal_mask,
    multi_head_attention,
    rotate_pairs,
    scaled_scores,
    self_attention,
    sinusoidal_encoding,
)
from tests.support.arrays import drawn

SEEDS = st.integers(0, 10**6)
CLOSE = {"rtol": 1e-9, "atol": 1e-10}


def stack(x, seed, mask=None, bias=None):
    """Two layers of two heads with residual sums, normalization and a small network of rows."""
    w, inside, outside = drawn(seed, 2, 4, 4, 4), drawn(seed + 1, 4, 6), drawn(seed + 2, 6, 4)
    for matrices in w:
        x = x + multi_head_attention(x, x, *matrices, num_heads=2, mask=mask, bias=bias)
        x = x + np.maximum(x @ inside, 0) @ outside
        x = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    return x


class TestMovesAlong:
    """thm-moves-along: what moves along with the words is not noticed."""

    @given(SEEDS, st.permutations(range(5)))
    def test_words_masks_and_biases_move_together(self, seed, order):
        x, mask = drawn(seed, 5, 4), drawn(seed + 1, 5, 5) > -0.5
        bias = drawn(seed + 2, 2, 5, 5)  # one for each head
        both = np.ix_(order, order)
        moved = stack(x[order], seed, mask[both], bias[:, *both])
        np.testing.assert_allclose(moved, stack(x, seed, mask, bias)[order], rtol=1e-6, atol=1e-7)

    @given(SEEDS, st.permutations(range(5)), st.integers(0, 4))
    def test_without_a_mask_and_with_padding(self, seed, order, padding):
        x, real = drawn(seed, 5, 4), np.arange(5) < 5 - padding
        for mask, with_it in ((None, None), (real[np.newaxis], real[np.newaxis, order])):
            moved = stack(x[order], seed, with_it)
            np.testing.assert_allclose(moved, stack(x, seed, mask)[order], rtol=1e-6, atol=1e-7)

    @pytest.mark.parametrize("stays", ["a causal mask", "padding", "a bias", "an encoding"])
    def test_what_stays_in_its_place_is_noticed(self, stays):
        x, order = drawn(0, 5, 4), [4, 0, 2, 1, 3]
        mask = {"a causal mask": causal_mask(5), "padding": np.arange(5)[np.newaxis] < 3}.get(stays)
        bias = -abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
        bias = bias if stays == "a bias" else None
        places = sinusoidal_encoding(5, 4) if stays == "an encoding" else 0
        moved = stack(x[order] + places, 0, mask, bias)
        assert not np.allclose(moved, stack(x + places, 0, mask, bias)[order])


class TestMaskAlone:
    """thm-mask-alone: equal words stay equal; a marked first word can be counted from."""

    @given(SEEDS, st.integers(1, 8))
    def test_equal_rows_stay_equal_through_a_stack(self, seed, T):
        x = np.tile(drawn(seed, 4), (T, 1))
        out = stack(x, seed, causal_mask(T))
        np.testing.assert_allclose(out, np.tile(out[0], (T, 1)), rtol=1e-6, atol=1e-7)

    @given(SEEDS, st.integers(1, 8))
    def test_with_rotations_and_biases_they_stay_equal_too(self, seed, T):
        x, (w_q, w_k, w_v) = np.tile(drawn(seed, 4), (T, 1)), drawn(seed + 1, 3, 4, 4)
        turned = [rotate_pairs(x @ w, np.arange(T), base=100) for w in (w_q, w_k)]
        bias = -np.subtract.outer(np.arange(T), np.arange(T)) / 2
        weights = attention_weights(scaled_scores(*turned) + bias, mask=causal_mask(T))
        np.testing.assert_allclose(weights @ (x @ w_v), x @ w_v, **CLOSE)

    def test_with_an_encoding_they_do_not(self):
        out = stack(np.tile(drawn(0, 4), (5, 1)) + sinusoidal_encoding(5, 4), 0, causal_mask(5))
        assert np.ptp(out, axis=0).max() > 0.1

    @given(SEEDS, st.integers(1, 9))
    def test_a_mark_is_divided_by_the_number_of_words(self, seed, T):
        x = np.zeros((T, 3))
        x[0] = drawn(seed, 3)
        zeros = np.zeros((3, 3))
        out = self_attention(x, zeros, zeros, np.eye(3), causal=True)
        np.testing.assert_allclose(out, x[0] / np.arange(1, T + 1)[:, np.newaxis], rtol=1e-12)


def block(angle):
    return np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])


class TestShiftIsRotation:
    """thm-shift-is-rotation: one matrix shifts every position, and products go by distance."""

    @given(st.integers(1, 5), st.integers(0, 60), st.integers(0, 60), st.integers(-30, 30))
    def test_one_orthogonal_matrix_for_all_positions(self, pairs, i, j, h):
        width = 2 * pairs
        P = sinusoidal_encoding(130, width)
        R = np.zeros((width, width))
        omega = [10000 ** (-2 * n / width) for n in range(pairs)]
        for n in range(pairs):
            R[2 * n : 2 * n + 2, 2 * n : 2 * n + 2] = block(h * omega[n])
        np.testing.assert_allclose(R @ R.T, np.eye(width), atol=1e-12)
        for at in (i, j):
            np.testing.assert_allclose(P[at + 30] @ R, P[at + 30 + h], atol=1e-9)
        by_distance = sum(math.cos((i - j) * w) for w in omega)
        assert P[i] @ P[j] == pytest.approx(by_distance, abs=1e-9)
        assert np.linalg.norm(P[i]) == pytest.approx(math.sqrt(pairs))

    @pytest.mark.parametrize("h", [-1, 0, 3])
    def test_a_shift_between_query_and_key_makes_each_position_look_that_far(self, h):
        P, omega = sinusoidal_encoding(60, 8), 10000.0 ** (-np.arange(4) / 4)
        R = np.zeros((8, 8))
        for n in range(4):
            R[2 * n : 2 * n + 2, 2 * n : 2 * n + 2] = block(h * omega[n])
        found = (P @ R @ P.T).argmax(axis=1)
        inside = slice(1, -3)
        np.testing.assert_array_equal(found[inside], np.arange(60)[inside] + h)

    def test_a_sine_without_its_cosine_cannot_be_shifted(self):
        sines = sinusoidal_encoding(8, 2)[:, :1]
        with np.errstate(divide="ignore"):
            assert np.ptp(sines[2:] / sines[1:-1]) > 1


class TestRotary:
    """thm-rotary: lengths stay, and a rotated score goes by the difference of positions, signed."""

    PLACES = st.integers(-50, 50)

    @given(SEEDS, st.integers(1, 4), PLACES, PLACES, st.booleans())
    def test_against_complex_numbers(self, seed, pairs, i, j, interleaved):
        q, k = drawn(seed, 2, 2 * pairs)
        turned = [rotate_pairs(x[np.newaxis], [p], interleaved=interleaved)[0]
                  for x, p in ((q, i), (k, j))]  # fmt: skip
        first = slice(0, None, 2) if interleaved else slice(0, pairs)
        second = slice(1, None, 2) if interleaved else slice(pairs, None)
        hand_q, hand_k = (x[first] + 1j * x[second] for x in (q, k))
        omega = 10000.0 ** (-np.arange(pairs) / pairs)
        phi = np.angle(hand_q) - np.angle(hand_k)
        waves = abs(hand_q) * abs(hand_k) * np.cos((i - j) * omega + phi)
        assert turned[0] @ turned[1] == pytest.approx(waves.sum(), abs=1e-9)
        by_difference = rotate_pairs(q[np.newaxis], [i - j], interleaved=interleaved)[0] @ k
        assert turned[0] @ turned[1] == pytest.approx(by_difference, abs=1e-9)
        for x, y in zip((q, k), turned, strict=True):
            assert np.linalg.norm(y) == pytest.approx(np.linalg.norm(x))

    def test_the_sign_of_the_difference_counts(self):
        q, k = drawn(0, 2, 4)
        ahead, behind = (
            rotate_pairs(q[np.newaxis], [i])[0] @ rotate_pairs(k[np.newaxis], [j])[0]
            for i, j in ((3, 0), (0, 3))
        )
        assert abs(ahead - behind) > 0.1

    def test_with_keys_turned_for_another_base_the_difference_is_not_enough(self):
        q, k = np.array([[1.0, 2, 0, 1]]), np.array([[2.0, 1, 1, 0]])
        one, other = (
            (rotate_pairs(q, [i], base=400) @ rotate_pairs(k, [i - 2], base=100).T).item()
            for i in (12, 42)
        )
        assert abs(one - other) > 1

    def test_to_turn_the_query_only_is_not_enough(self):
        q, k = drawn(0, 2, 4)
        near, far = (rotate_pairs(q[np.newaxis], [i])[0] @ k for i in (3, 8))
        assert abs(near - far) > 0.1


class TestTwoLayouts:
    """thm-two-layouts: neighbors and halves are a permutation of columns apart."""

    @given(SEEDS, st.integers(1, 5))
    def test_to_sort_and_to_rotate_commute(self, seed, pairs):
        x, places = drawn(seed, 4, 2 * pairs), np.arange(4)
        sort = np.r_[0 : 2 * pairs : 2, 1 : 2 * pairs : 2]
        np.testing.assert_allclose(
            rotate_pairs(x, places, interleaved=True)[:, sort],
            rotate_pairs(x[:, sort], places),
            **CLOSE,
        )

    @given(SEEDS)
    def test_scores_of_sorted_matrices_are_those_of_the_other_program(self, seed):
        x, places, w = drawn(seed, 5, 6), np.arange(5), drawn(seed + 1, 2, 6, 8)
        sort = [0, 2, 4, 6, 1, 3, 5, 7]
        trained = scaled_scores(*(rotate_pairs(x @ m, places, interleaved=True) for m in w))
        loaded = scaled_scores(*(rotate_pairs(x @ m[:, sort], places) for m in w))
        np.testing.assert_allclose(loaded, trained, **CLOSE)

    def test_unsorted_matrices_give_other_scores(self):
        x, places, w = drawn(0, 5, 6), np.arange(5), drawn(1, 2, 6, 8)
        trained, loaded = (
            scaled_scores(*(rotate_pairs(x @ m, places, interleaved=layout) for m in w))
            for layout in (True, False)
        )
        assert not np.allclose(loaded, trained)


class TestLinearBias:
    """thm-linear-bias: far keys together stay below a bound, however many they are."""

    SLOPES = st.sampled_from([2.0**-n for n in range(9)])

    @given(SEEDS, SLOPES, st.integers(0, 80), st.integers(1, 300), st.floats(0, 5))
    def test_the_bound(self, seed, m, D, T, spread):
        scores = np.random.default_rng(seed).uniform(0, spread, T)
        distance = np.arange(T)[::-1]
        weights = attention_weights([scores - m * distance])[0]
        bound = math.exp(spread - m * D) / (1 - math.exp(-m))
        assert weights[distance >= D].sum() <= bound * (1 + 1e-12)

    @given(SLOPES, st.integers(0, 80), st.integers(1, 300))
    def test_equal_scores(self, m, D, T):
        terms = [math.exp(-m * r) for r in range(T)]
        assert sum(terms[D:]) / sum(terms) <= math.exp(-m * D) * (1 + 1e-12)

    def test_without_a_bias_the_far_keys_get_nearly_everything(self):
        for T, least in ((128, 0.49), (8192, 0.99)):
            weights = attention_weights(np.zeros((1, T)))[0]
            assert weights[np.arange(T)[::-1] >= 64].sum() > least

    def test_a_score_that_differs_enough_defeats_the_bias(self):
        scores = np.zeros(200)
        scores[0] = 100.0
        weights = attention_weights([scores - np.arange(200)[::-1] / 8])[0]
        assert weights[0] > 0.99
