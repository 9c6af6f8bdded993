"""The theorems of the part on causal masking, checked away from their pages.

Expected values come from exact fractions, plain loops, counting by hand, or 50 digits; a class
bears the label of its theorem. Every hypothesis of a theorem that can be dropped is dropped once,
so that a check that cannot fail would be noticed.
"""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from selfattn_ref import (
    KeyValueCache,
    attention_weights,
    causal_mask,
    log_softmax,
    perplexity,
    rotate_pairs,
    scaled_dot_product_attention,
    self_attention,
    self_attention_vjp,
    softmax,
)
from tests.support.arrays import drawn

SEEDS = st.integers(0, 10**6)
CLOSE = {"rtol": 1e-9, "atol": 1e-10}


def matrices(seed, width, value_width=None):
    """Return W_Q, W_K and W_V of width `width`."""
    rng = np.random.default_rng(seed)
    widths = (width, width, value_width or width)
    return [rng.normal(size=(width, columns)) for columns in widths]


def causal(x, w):
    return self_attention(x, *w, mask=causal_mask(len(x)))


def permutations(T):
    return [np.array(order) for order in itertools.permutations(range(T))]


class TestHiddenKeys:
    """thm-hidden-keys: −∞ leaves a key out; a finite number gives it a share that is known."""

    # Scores are logarithms of integers, so that every share is a fraction.
    POWERS = st.lists(st.integers(1, 50), min_size=1, max_size=6)

    @given(st.data(), POWERS)
    def test_minus_infinity_gives_the_softmax_of_the_allowed_scores(self, data, powers):
        allowed = data.draw(hnp.arrays(np.bool_, len(powers)))
        assume(allowed.any())
        total = sum(power for power, kept in zip(powers, allowed, strict=True) if kept)
        expected = [
            float(Fraction(power, total)) if kept else 0.0
            for power, kept in zip(powers, allowed, strict=True)
        ]
        scores = np.log(powers)
        masked = softmax(np.where(allowed, scores, -np.inf))
        np.testing.assert_allclose(masked, expected, rtol=1e-13)
        np.testing.assert_array_equal(
            masked, attention_weights(scores[np.newaxis], mask=allowed)[0]
        )

    @given(POWERS, st.integers(1, 5), st.integers(1, 50))
    def test_a_finite_number_leaks_what_the_theorem_says(self, powers, hidden, stand_in):
        exact = Fraction(hidden * stand_in, sum(powers) + hidden * stand_in)
        scores = np.log([*powers, *[stand_in] * hidden])
        leaked = softmax(scores)[len(powers) :].sum()
        assert leaked == pytest.approx(float(exact), rel=1e-12)
        assert leaked > 0

    @given(POWERS, st.integers(1, 5))
    def test_the_leak_tends_to_everything_as_the_allowed_scores_fall(self, powers, hidden):
        stand_in = -5.0
        leaks = []
        for fall in (0.0, 20.0, 40.0):
            scores = np.log(powers) - fall
            leaks.append(softmax([*scores, *[stand_in] * hidden])[len(powers) :].sum())
        assert leaks == sorted(leaks)
        assert leaks[-1] == pytest.approx(1, abs=1e-9)


def row_by_row(i, x):
    """Some map of one row that depends on its position and is nothing special."""
    return np.tanh(x * (1 + i)) + np.sort(x)[::-1]


def position_wise(x):
    return np.array([row_by_row(i, row) for i, row in enumerate(x)]).reshape(x.shape)


def placed(x, w, at):
    """Return queries and keys rotated by their position, and values made larger by it."""
    query, key, value = (x @ matrix for matrix in w)
    at = np.asarray(at)
    return rotate_pairs(query, at), rotate_pairs(key, at), value * (1 + at[:, np.newaxis])


def deep(x, seed, width, depth, attend=causal):
    """Stack attention with two heads, residual sums, and maps that work row by row."""
    for level in range(depth):
        heads = [
            attend(x, matrices(seed + 10 * level + head, width, value_width=head + 1))
            for head in range(2)
        ]
        side_by_side = np.concatenate(heads, axis=-1)
        x = x + side_by_side @ drawn(seed + level, side_by_side.shape[-1], width)
        x = position_wise(x)
    return x


class TestPrefix:
    """thm-prefix: cutting first and computing first give the same, through any depth."""

    @given(SEEDS, st.integers(1, 6), st.integers(2, 4), st.integers(1, 4))
    def test_stacks_of_heads_sums_and_row_maps(self, seed, T, width, depth):
        x = drawn(seed, T, width)
        whole = deep(x, seed, width, depth)
        for n in range(1, T + 1):
            np.testing.assert_allclose(
                whole[:n], deep(x[:n], seed, width, depth), rtol=1e-7, atol=1e-8
            )

    @given(SEEDS, st.integers(1, 6))
    def test_queries_keys_and_values_may_go_by_position_and_scores_have_a_bias(self, seed, T):
        x, w, bias = drawn(seed, T, 4), matrices(seed + 1, 4), drawn(seed + 2, T, T)

        def attend(x):
            b = bias[: len(x), : len(x)]  # a number of i and j alone
            return scaled_dot_product_attention(*placed(x, w, range(len(x))), bias=b, causal=True)

        for n in range(1, T + 1):
            np.testing.assert_allclose(attend(x)[:n], attend(x[:n]), **CLOSE)

    def test_positions_counted_from_the_end_break_it(self):
        x, w = drawn(0, 5, 4), matrices(1, 4)

        def attend(x):
            return scaled_dot_product_attention(*placed(x, w, range(len(x))[::-1]), causal=True)

        assert not np.allclose(attend(x)[:4], attend(x[:4]))

    def test_a_bias_that_depends_on_the_length_breaks_it(self):
        x = drawn(0, 5, 4)

        def attend(x):
            b = -((len(x) - 1.0 - np.arange(len(x))) ** 2)
            return scaled_dot_product_attention(x, x, x, bias=b, causal=True)

        assert not np.allclose(attend(x)[:4], attend(x[:4]))

    def test_without_the_mask_it_fails(self):
        x, w = drawn(0, 5, 3), matrices(1, 3)
        assert not np.allclose(self_attention(x, *w)[:4], self_attention(x[:4], *w))
        whole = deep(x, 0, 3, 2, attend=lambda x, w: self_attention(x, *w))
        part = deep(x[:4], 0, 3, 2, attend=lambda x, w: self_attention(x, *w))
        assert not np.allclose(whole[:4], part)

    def test_networks_that_take_a_limited_number_of_words_break_it(self):
        def routed(x, limit):  # each word chooses one of two networks; these take words in order
            taken, rows = [0, 0], []
            for row in x:
                chosen = int(row[0] > 0)
                taken[chosen] += 1
                rows.append(row * (2 + chosen) if taken[chosen] <= limit(len(x)) else row)
            return np.array(rows)

        x = np.ones((4, 1))
        for limit, keeps in ((lambda T: T, True), (lambda T: T // 2, False)):
            same = [np.array_equal(routed(x, limit)[:n], routed(x[:n], limit)) for n in range(1, 5)]
            assert all(same) == keeps

    def test_a_map_that_mixes_positions_breaks_it(self):
        x, w = drawn(0, 5, 3), matrices(1, 3)
        cut_last = causal(x - x.mean(axis=0), w)[:4]
        assert not np.allclose(cut_last, causal(x[:4] - x[:4].mean(axis=0), w))

    @given(SEEDS, st.integers(2, 6))
    def test_later_rows_get_no_gradient(self, seed, T):
        x, w = drawn(seed, T, 3), matrices(seed + 1, 3)
        for row in range(T):
            d_output = np.zeros((T, 3))
            d_output[row] = drawn(seed + 2, 3)
            d_x = self_attention_vjp(x, *w, d_output, mask=causal_mask(T))[0]
            np.testing.assert_array_equal(d_x[row + 1 :], 0)
            assert np.abs(d_x[row]).max() > 0


class TestLastRow:
    """thm-last-row: a query that sees all keys is not masked, in one layer on the same inputs."""

    @given(SEEDS, st.integers(1, 6), st.integers(1, 6), st.data())
    def test_rows_that_see_every_key_agree(self, seed, Tq, Tk, data):
        query, key, value = drawn(seed, Tq, 3), drawn(seed + 1, Tk, 3), drawn(seed + 2, Tk, 2)
        mask = data.draw(hnp.arrays(np.bool_, (Tq, Tk)))
        mask[data.draw(st.integers(0, Tq - 1))] = True
        masked = scaled_dot_product_attention(query, key, value, mask=mask)
        full = scaled_dot_product_attention(query, key, value)
        open_rows = mask.all(axis=-1)
        np.testing.assert_allclose(masked[open_rows], full[open_rows], **CLOSE)

    @given(SEEDS, st.integers(2, 6))
    def test_under_the_causal_mask_that_is_the_last_row_and_no_other(self, seed, T):
        x, w = drawn(seed, T, 4) / 2, matrices(seed + 1, 4)  # halved: no share rounds to 0
        full, masked = self_attention(x, *w), causal(x, w)
        np.testing.assert_allclose(masked[-1], full[-1], **CLOSE)
        assert (np.abs(masked - full)[:-1].max(axis=-1) > 1e-12).all()

    def test_not_in_a_second_layer(self):
        # Layer 1 by plain loops; then the last row of layer 2 from it, with and without a mask.
        x = [[1.0, 0.0], [0.0, 2.0], [2.0, 1.0], [1.0, -1.0]]

        def row(rows, i, seen):
            powers = []
            for j in seen:
                dot = sum(a * b for a, b in zip(rows[i], rows[j], strict=True))
                powers.append(math.exp(dot / math.sqrt(2)))
            mixed = [sum(p * rows[j][c] for p, j in zip(powers, seen, strict=True)) for c in (0, 1)]
            return [entry / sum(powers) for entry in mixed]

        full = [row(x, i, range(4)) for i in range(4)]
        masked = [row(x, i, range(i + 1)) for i in range(4)]
        assert full[3] == masked[3]
        assert abs(row(full, 3, range(4))[0] - row(masked, 3, range(4))[0]) > 0.05


class TestUnmaskedEquivariant:
    """thm-unmasked-equivariant: without a mask, shuffled words give shuffled outputs."""

    @given(SEEDS, st.integers(1, 4))
    def test_for_every_permutation(self, seed, T):
        x, w = drawn(seed, T, 3), matrices(seed + 1, 3, 2)
        for order in permutations(T):
            np.testing.assert_allclose(
                self_attention(x[order], *w), self_attention(x, *w)[order], **CLOSE
            )

    def test_it_is_not_invariance(self):
        x, w = drawn(0, 3, 3), matrices(1, 3)
        moved = [order for order in permutations(3) if (order != np.arange(3)).any()]
        for order in moved:
            assert not np.allclose(self_attention(x[order], *w), self_attention(x, *w))


class TestNoSymmetry:
    """thm-no-symmetry: for almost every X the identity is the only permutation that is left."""

    @given(SEEDS, st.integers(2, 4), st.integers(1, 3))
    def test_no_permutation_but_the_identity_for_inputs_drawn_at_random(self, seed, T, width):
        x, w = drawn(seed, T, width) / 2, matrices(seed + 1, width)
        output = causal(x, w)
        for order in permutations(T):
            shuffled = causal(x[order], w)
            identity = (order == np.arange(T)).all()
            assert (np.abs(shuffled - output[order]).max() < 1e-12) == identity
            assert (np.abs(shuffled - output).max() < 1e-12) == identity

    @pytest.mark.parametrize("T", [2, 3, 4])
    def test_the_input_of_the_proof_separates_all_three_rows(self, T):
        w = matrices(T, 2)
        for order in permutations(T)[1:]:
            first = int(np.flatnonzero(order != np.arange(T))[0])
            assert order[first] > first
            x = np.zeros((T, 2))
            x[first] = 1
            output = causal(x, w)
            np.testing.assert_array_equal(causal(x[order], w)[first], 0)
            assert np.abs(output[order[first]]).max() > 1e-3
            assert np.abs(output[first]).max() > 1e-3

    def test_some_inputs_are_symmetric_and_without_values_all_are(self):
        w = matrices(0, 2)
        equal_rows = np.ones((3, 2))
        no_values = [w[0], w[1], np.zeros((2, 2))]
        for order in permutations(3):
            np.testing.assert_allclose(causal(equal_rows[order], w), causal(equal_rows, w)[order])
            x = drawn(1, 3, 2)
            np.testing.assert_array_equal(causal(x[order], no_values), causal(x, no_values)[order])


class TestOrderOfThePast:
    """thm-order-of-the-past: one causal layer forgets the order of what came before a row."""

    @given(SEEDS, st.integers(1, 4))
    def test_permuting_the_rows_before_a_row_leaves_it(self, seed, T):
        x, w = drawn(seed, T + 1, 3), matrices(seed + 1, 3)
        for order in permutations(T):
            shuffled = causal(x[[*order, T]], w)
            np.testing.assert_allclose(shuffled[T], causal(x, w)[T], **CLOSE)

    def test_scores_that_depend_on_positions_notice_it(self):
        x, w = drawn(0, 4, 3), matrices(1, 3)
        distance = np.subtract.outer(np.arange(4.0), np.arange(4.0))
        one, other = (
            self_attention(y, *w, causal=True, bias=-distance)[3] for y in (x, x[[1, 0, 2, 3]])
        )
        assert not np.allclose(one, other, atol=1e-3)


class TestTwoLayersOrder:
    """thm-two-layers-order: the last row of two causal layers depends on the order of the words."""

    @pytest.mark.parametrize("T", [1, 2, 3, 6])
    def test_two_layers_of_averages_weigh_early_words_more(self, T):
        def averages(rows):
            return [[sum(c) / (i + 1) for c in zip(*rows[: i + 1], strict=True)] for i in range(T)]

        unit = [[Fraction(i == j) for j in range(T)] for i in range(T)]
        shares = averages(averages(unit))[-1]
        assert shares == [sum(Fraction(1, i + 1) for i in range(j, T)) / T for j in range(T)]
        assert all(first > second for first, second in itertools.pairwise(shares))
        alike = [np.zeros((T, 1)), np.zeros((T, 1)), np.eye(T)]
        twice = causal(causal(np.eye(T), alike), alike)
        np.testing.assert_allclose(twice[-1], [float(share) for share in shares], **CLOSE)

    @given(SEEDS, st.integers(3, 4), st.integers(1, 3))
    def test_for_inputs_and_matrices_drawn_at_random(self, seed, T, width):
        # Halved: weights of large scores round to 0 or 1, and a difference goes with them.
        x, w = drawn(seed, T, width) / 2, [np.array(matrices(seed + k, width)) / 2 for k in (1, 2)]
        last = causal(causal(x, w[0]), w[1])[-1]
        for order in permutations(T):
            if (order != np.arange(T)).any():
                assert np.abs(causal(causal(x[order], w[0]), w[1])[-1] - last).max() > 1e-12

    def test_equal_words_are_an_exception(self):
        x, w = np.ones((3, 2)), matrices(0, 2)
        twice = [causal(causal(x[order], w), w)[-1] for order in ([0, 1, 2], [1, 0, 2])]
        np.testing.assert_array_equal(*twice)


class TestPadding:
    """thm-padding: what stands in the padding changes no real row and gets no gradient."""

    @staticmethod
    def stack(x, mask, seed):
        for level in range(3):
            heads = [
                self_attention(x, *matrices(seed + 9 * level + width, 3, width), mask=mask)
                for width in (1, 2)
            ]
            x = np.tanh(x + np.hstack(heads))
        return x

    @given(SEEDS, st.lists(st.booleans(), min_size=1, max_size=6), st.data())
    def test_a_stack_gives_what_the_words_get_alone(self, seed, real, data):
        real, T = np.array(real), len(real)
        mask = data.draw(hnp.arrays(np.bool_, (T, T)))
        mask[np.ix_(real, ~real)] = False
        x = drawn(seed, T, 3)
        alone = self.stack(x[real], mask[np.ix_(real, real)], seed)
        np.testing.assert_allclose(self.stack(x, mask, seed)[real], alone, **CLOSE)

    def test_not_if_a_map_goes_by_the_length_of_the_array(self):
        x, w = drawn(0, 4, 3), matrices(1, 3)
        real = np.array([True, True, True, False])
        padded = self_attention(x * np.log(4), *w, mask=causal_mask(4) & real)
        alone = causal(x[real] * np.log(3), w)
        assert np.abs(padded[real] - alone).max() > 1e-3

    def test_not_if_a_map_goes_by_the_place_in_the_array(self):
        x, w = drawn(0, 4, 3), matrices(1, 3)
        real = np.array([False, True, True, True])
        padded = self_attention(x + np.arange(4.0)[:, None], *w, mask=causal_mask(4) & real)
        alone = causal(x[real] + np.arange(3.0)[:, None], w)
        assert np.abs(padded[real] - alone).max() > 1e-3

    @given(SEEDS, st.lists(st.booleans(), min_size=2, max_size=6))
    def test_padding_gets_no_gradient_from_a_loss_over_words(self, seed, real):
        real, T = np.array(real), len(real)
        x, w = drawn(seed, T, 3), matrices(seed + 1, 3)
        d_output = np.where(real[:, np.newaxis], drawn(seed + 2, T, 3), 0)
        d_x = self_attention_vjp(x, *w, d_output, mask=causal_mask(T) & real)[0]
        np.testing.assert_array_equal(d_x[~real], 0)

    def test_a_loss_that_drops_padded_targets_does_not_hide_padded_keys(self):
        x, w = drawn(0, 4, 3), matrices(1, 3)
        other = x.copy()
        other[0] += 1  # padding on the left
        assert np.abs(causal(x, w)[1:] - causal(other, w)[1:]).max() > 1e-3
        x[3] += 1  # padding on the right comes after every word
        np.testing.assert_array_equal(causal(x, w)[:3], causal(drawn(0, 4, 3), w)[:3])


class TestCache:
    """thm-cache: each layer with a cache of its own, in pieces of any size, gives the full pass."""

    @staticmethod
    def stack(x, at, layers, attend):
        """Run layers of two heads, side by side, with sums and a map that goes by position."""
        for level, heads in enumerate(layers):
            mixed = [attend(level, head, *placed(x, w, at)) for head, w in enumerate(heads)]
            x = x + np.hstack(mixed)
            x = np.array([row_by_row(i / 8, row) for i, row in zip(at, x, strict=True)])
        return x

    @staticmethod
    def layers(seed, depth):
        return [
            [matrices(seed + 2 * level + head, 4, 2) for head in (0, 1)] for level in range(depth)
        ]

    def full(self, x, layers):
        def attend(level, head, query, key, value):
            return scaled_dot_product_attention(query, key, value, causal=True)

        return self.stack(x, range(len(x)), layers, attend)

    def fed(self, x, sizes, layers, first=lambda start: start, offset=lambda before: before):
        """Feed pieces to a store of plain arrays; `first` and `offset` may be told wrong."""
        stores = {}

        def attend(level, head, query, key, value):
            keys, values = stores.get((level, head), (key[:0], value[:0]))
            keys, values = np.vstack([keys, key]), np.vstack([values, value])
            stores[level, head] = keys, values
            mask = np.tri(len(query), len(keys), offset(len(keys) - len(key)), dtype=bool)
            return scaled_dot_product_attention(query, keys, values, mask=mask)

        outputs, start = [], 0
        for size in sizes:
            at = range(first(start), first(start) + size)
            outputs.append(self.stack(x[start : start + size], at, layers, attend))
            start += size
        return np.vstack(outputs)

    SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=5)

    @given(SEEDS, SIZES, st.integers(1, 3))
    def test_stacks_fed_in_pieces(self, seed, sizes, depth):
        x, layers = drawn(seed, sum(sizes), 4), self.layers(seed + 1, depth)
        full = self.full(x, layers)
        np.testing.assert_allclose(self.fed(x, sizes, layers), full, rtol=1e-7, atol=1e-8)

    @given(SEEDS, SIZES, st.integers(1, 3))
    def test_the_cache_of_the_library_fed_in_pieces(self, seed, sizes, depth):
        x, layers = drawn(seed, sum(sizes), 4), self.layers(seed + 1, depth)
        caches = [[KeyValueCache() for _ in heads] for heads in layers]
        outputs, start = [], 0
        for size in sizes:
            at = range(start, start + size)
            piece = self.stack(
                x[at], at, layers, lambda level, head, *qkv: caches[level][head].attend(*qkv)
            )
            outputs.append(piece)
            start += size
        full = self.full(x, layers)
        np.testing.assert_allclose(np.vstack(outputs), full, rtol=1e-7, atol=1e-8)

    @pytest.mark.parametrize(
        "told",
        [
            {"first": lambda start: 0},  # every piece is taken for the beginning
            {"offset": lambda before: 0},  # the mask begins in the upper left corner
            {"offset": lambda before: before + 9},  # rows hear the later ones of their piece
        ],
    )
    def test_not_without_positions_or_with_another_mask(self, told):
        x, layers = drawn(0, 6, 4), self.layers(1, 1)
        full = self.full(x, layers)
        np.testing.assert_allclose(self.fed(x, [2, 3, 1], layers), full, **CLOSE)
        assert np.abs(self.fed(x, [2, 3, 1], layers, **told) - full).max() > 1e-3

    def test_without_a_mask_every_row_of_the_first_layer_and_keys_of_the_second_change(self):
        x, w = drawn(0, 4, 3), matrices(1, 3)
        before, after = self_attention(x[:3], *w), self_attention(x, *w)[:3]
        assert (np.abs(before - after).max(axis=1) > 1e-3).all()
        assert (np.abs(before @ w[1] - after @ w[1]).max(axis=1) > 1e-3).all()


class Counted:
    """A number that counts how often numbers of its kind are multiplied."""

    count = 0

    def __init__(self, value):
        self.value = value

    def __mul__(self, other):
        Counted.count += 1
        return Counted(self.value * other.value)

    def __add__(self, other):
        return Counted(self.value + other.value)


counted = np.frompyfunc(Counted, 1, 1)


def plain(array):
    return np.frompyfunc(lambda entry: entry.value, 1, 1)(array).astype(float)


class TestGenerationCost:
    """thm-generation-cost: one step and a whole text, counted while both programs attend."""

    @staticmethod
    def attend(query, keys, values, offset):
        """Attend with counted numbers: the rows of the query come after `offset` keys."""
        scores = plain(query @ keys.T) / math.sqrt(query.shape[1])
        shares = np.exp(scores) * np.tri(*scores.shape, offset)
        return counted(shares / shares.sum(axis=1, keepdims=True)) @ values

    @pytest.mark.parametrize("n", [1, 2, 5])
    @pytest.mark.parametrize("d_model, d_k, d_v", [(2, 3, 5), (1, 1, 1), (4, 2, 3)])
    def test_counts(self, n, d_model, d_k, d_v):
        x = drawn(n, n, d_model)
        w = [drawn(seed, d_model, width) for seed, width in enumerate((d_k, d_k, d_v))]
        expected = causal(x, w)
        x, w = counted(x), [counted(matrix) for matrix in w]
        keys, values = np.empty((0, d_k), object), np.empty((0, d_v), object)
        with_cache, from_scratch = [], []
        for t in range(1, n + 1):
            before = Counted.count
            query, key, value = (x[t - 1 : t] @ matrix for matrix in w)
            keys, values = np.vstack([keys, key]), np.vstack([values, value])
            row = self.attend(query, keys, values, t - 1)
            with_cache.append(Counted.count - before)
            before = Counted.count
            rows = self.attend(*(x[:t] @ matrix for matrix in w), 0)
            from_scratch.append(Counted.count - before)
            np.testing.assert_allclose(plain(row)[0], expected[t - 1], **CLOSE)
            np.testing.assert_allclose(plain(rows), expected[:t], **CLOSE)
        p, a = d_model * (2 * d_k + d_v), d_k + d_v
        assert with_cache == [p + a * t for t in range(1, n + 1)]
        assert from_scratch == [t * (p + a * t) for t in range(1, n + 1)]
        assert sum(with_cache) == n * p + a * n * (n + 1) // 2
        sums = p * n * (n + 1) // 2 + a * n * (n + 1) * (2 * n + 1) // 6
        assert sum(from_scratch) == sums


def sum_over_texts(E, w, w_out, n, mask):
    """Add up the products of the guesses over all texts of n words after word 0."""
    V = len(E)
    total = 0.0
    for rest in itertools.product(range(V), repeat=n):
        text = [0, *rest]
        log_p = log_softmax(self_attention(E[text], *w, mask=mask) @ w_out)
        total += math.exp(sum(log_p[t, text[t + 1]] for t in range(n)))
    return total


class TestTextProbability:
    """thm-text-probability: honest guesses add up to one over all texts."""

    @given(SEEDS, st.integers(2, 3), st.integers(1, 3))
    def test_with_causal_attention(self, seed, V, n):
        E, w, w_out = drawn(seed, V, 3), matrices(seed + 1, 3), drawn(seed + 2, 3, V)
        total = sum_over_texts(E, w, w_out, n, causal_mask(n + 1))
        assert total == pytest.approx(1, rel=1e-10)

    def test_with_a_table_of_fractions_it_is_exact(self):
        def share(beginning):
            counts = [int(c) for c in np.random.default_rng([*beginning]).integers(1, 9, 3)]
            return [Fraction(c, sum(counts)) for c in counts]

        total = Fraction(0)
        for rest in itertools.product(range(3), repeat=4):
            text = (0, *rest)
            total += math.prod(share(text[: t + 1])[text[t + 1]] for t in range(4))
        assert total == 1

    def test_guesses_that_look_ahead_do_not(self):
        E, w, w_out = drawn(0, 3, 3), matrices(1, 3), drawn(2, 3, 3)
        assert abs(sum_over_texts(E, w, w_out, 3, None) - 1) > 0.01

    @given(SEEDS, st.integers(1, 6))
    def test_a_text_has_the_probability_of_its_perplexity(self, seed, n):
        logits = drawn(seed, n, 4)
        targets = np.random.default_rng(seed).integers(0, 4, n)
        p = math.prod(
            math.exp(row[target]) / sum(math.exp(z) for z in row)
            for row, target in zip(logits, targets, strict=True)
        )
        assert perplexity(logits, targets) ** -n == pytest.approx(p, rel=1e-10)


def cuts(text, tokens):
    """Yield the probability of every way to cut a text into tokens."""
    if not text:
        yield Fraction(1)
    for token, p in tokens.items():
        if text.startswith(token):
            yield from (p * rest for rest in cuts(text.removeprefix(token), tokens))


class TestOneCut:
    """thm-one-cut: the bits of one cut of a text are at least the bits of the text."""

    @given(
        st.lists(st.integers(0, 9), min_size=5, max_size=5), st.text("ab", min_size=1, max_size=7)
    )
    def test_for_every_cut_of_a_text(self, counts, text):
        assume(sum(counts))
        names = ("a", "b", "ab", "ba", "aba")
        tokens = {t: Fraction(c, sum(counts)) for t, c in zip(names, counts, strict=True)}
        p = [Fraction(1)]  # that the tokens spell the first letters, from the last token on
        for end in range(1, len(text) + 1):
            last = [t for t in tokens if text[:end].endswith(t)]
            p.append(sum((tokens[t] * p[end - len(t)] for t in last), Fraction(0)))
        found = [p_c for p_c in cuts(text, tokens) if p_c]
        for p_c in found:
            assert -math.log2(p_c) >= -math.log2(p[-1])
            assert (p_c == p[-1]) == (len(found) == 1)

    def test_bits_of_the_page(self):
        tokens = {"a": Fraction(1, 4), "b": Fraction(1, 4), "ab": Fraction(1, 2)}
        assert sorted(-math.log2(p_c) for p_c in cuts("ab", tokens)) == [1, 4]
        assert sum(cuts("ab", tokens)) == Fraction(9, 16)


def of_probabilities(p):
    """Perplexity by the library, for a vocabulary of two words of which the first came."""
    p = np.asarray(p, dtype=float)
    with np.errstate(divide="ignore"):
        logits = np.log(np.stack([p, 1 - p], axis=-1))
    return perplexity(logits, np.zeros(len(p), int))


class TestPerplexityBounds:
    """thm-perplexity-bounds: 1 ≤ 1/mean(p) ≤ PPL ≤ mean(1/p), and when they are equal."""

    PARTS = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 60)), min_size=1, max_size=8)

    @given(PARTS)
    def test_the_chain_exactly(self, parts):
        p = [Fraction(a, a + b) for a, b in parts]
        n = len(p)
        lower, upper = n / sum(p), sum(1 / q for q in p) / n
        power = 1 / math.prod(p)  # PPL to the power n, a fraction: no rounding
        assert lower >= 1
        assert lower**n <= power <= upper**n
        all_equal = len(set(p)) == 1
        assert (lower**n == power) == all_equal
        assert (power == upper**n) == all_equal
        assert (lower == 1) == all(q == 1 for q in p)

    @given(PARTS)
    def test_the_library_gives_the_geometric_mean_of_the_reciprocals(self, parts):
        p = [Fraction(a, a + b) for a, b in parts]
        power = 1 / math.prod(p)
        with mpmath.workdps(50):
            root = mpmath.root(mpmath.mpf(power.numerator) / power.denominator, len(p))
        assert of_probabilities([float(q) for q in p]) == pytest.approx(float(root), rel=1e-12)

    @given(st.integers(1, 50), st.integers(1, 6))
    def test_a_blind_choice_among_V_words_has_perplexity_V(self, V, n):
        assert perplexity(np.zeros((n, V)), np.zeros(n, int)) == pytest.approx(V, rel=1e-13)

    @given(st.integers(1, 5), st.floats(1, 1e6))
    def test_it_has_no_upper_bound(self, n, bound):
        p = np.ones(n)
        p[0] = (2 * bound) ** -float(n)
        assert of_probabilities(p) > bound
