"""The theorems of the page on the backward pass, checked away from it.

Expected values come from exact fractions, or from differences in 50 digits, which know nothing of
the chain rule; a class bears the label of its theorem.
"""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from selfattn_ref import (
    attention_state,
    scaled_dot_product_attention_vjp,
    self_attention_vjp,
    softmax_vjp,
    streaming_attention_vjp,
)
from tests.support import digits
from tests.support.arrays import normals, some

SEEDS = st.integers(0, 10**6)
SIZES = st.integers(1, 4)


def within(found, expected, limit=1e-12):
    for got, want in zip(found, expected, strict=True):
        assert digits.error(got, want) < limit


def weights_of(query, key, mask):
    shares = digits.weights(query, key, mask=mask)
    return np.array([[float(a) for a in row] for row in shares]).reshape(mask.shape)


def by_the_rule(query, key, value, d_output, mask):
    """Return dQ, dK and dV as the page writes them."""
    a, root = weights_of(query, key, mask), np.sqrt(query.shape[1])
    d_a = d_output @ value.T
    d_s = a * (d_a - (a * d_a).sum(axis=1, keepdims=True))
    return d_s @ key / root, d_s.T @ query / root, a.T @ d_output


def through_projections(mask):
    """Return self-attention as a function of words and matrices, in 50 digits."""

    def attended(x, *matrices):
        return digits.attention(*(digits.product(x, w) for w in matrices), mask=mask)

    return attended


class TestAttentionBackward:
    """thm-attention-backward: the rule gives the slopes that differences find."""

    @given(SIZES, SIZES, st.integers(1, 3), st.integers(1, 3), SEEDS)
    def test_queries_keys_and_values(self, Tq, Tk, d_k, d_v, seed):
        arrays = normals((Tq, d_k), (Tk, d_k), (Tk, d_v), (Tq, d_v), seed=seed)
        mask = some(Tq, Tk, seed=seed)  # some rows and columns are empty
        expected = digits.central_differences(
            lambda *roles: digits.attention(*roles, mask=mask), arrays[:3], arrays[3]
        )
        found = by_the_rule(*arrays, mask)
        within(found, expected)
        within(scaled_dot_product_attention_vjp(*arrays, mask=mask), expected)
        for gradient, heard in ((found[0], mask.any(axis=1)), (found[1], mask.any(axis=0))):
            assert not gradient[~heard].any()
        assert not found[2][~mask.any(axis=0)].any()

    @given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 2), st.integers(1, 2), SEEDS)
    def test_words_and_matrices(self, T, d, d_k, d_v, seed):
        x, w_query, w_key, w_value, d_output = normals(
            (T, d), (d, d_k), (d, d_k), (d, d_v), (T, d_v), seed=seed
        )
        mask, matrices = some(T, T, seed=seed), (w_query, w_key, w_value)
        expected = digits.central_differences(through_projections(mask), (x, *matrices), d_output)
        back = by_the_rule(*(x @ w for w in matrices), d_output, mask)
        d_x = sum(d @ w.T for d, w in zip(back, matrices, strict=True))
        within((d_x, *(x.T @ d for d in back)), expected)
        within(self_attention_vjp(x, *matrices, d_output, mask=mask), expected)

    def test_it_needs_a_loss_that_reads_the_words_through_the_output_only(self):
        # A layer that adds its input to its output, as transformers do.
        x, w, d_output = normals((2, 2), (2, 2), (2, 2))
        attended = through_projections(np.ones((2, 2), bool))
        expected = digits.central_differences(
            lambda y: digits.add(y, attended(y, w, w, w)), [x], d_output
        )[0]
        without = self_attention_vjp(x, w, w, w, d_output).d_x
        assert digits.error(without, expected) > 0.1
        within([without + d_output], [expected])


powers = st.lists(st.integers(0, 9), min_size=1, max_size=5)  # exponentials; 0 for a hidden key
vectors = st.tuples(*[st.integers(-9, 9)] * 2)


def shares_of(row):
    total = sum(row)
    return [Fraction(power, total) if total else Fraction(0) for power in row]


def by_the_jacobian(shares, d_weights):
    """Return the slopes of the scores from diag(p) − p pᵀ, entry by entry."""
    n = range(len(shares))
    return [
        sum(d_weights[j] * (shares[j] * (j == k) - shares[j] * shares[k]) for j in n) for k in n
    ]


def dot(x, y):
    return sum(a * b for a, b in zip(x, y, strict=True))


class TestWhatCancels:
    """thm-attention-gradients-cancel: slopes of scores and keys add up to 0, of values to dC."""

    @given(powers, st.data())
    def test_a_row_of_slopes_adds_up_to_nothing(self, row, data):
        d_weights = data.draw(st.tuples(*[st.integers(-9, 9)] * len(row)))
        d_scores = by_the_jacobian(shares_of(row), d_weights)
        assert sum(d_scores) == 0
        p = [float(share) for share in shares_of(row)]
        np.testing.assert_allclose(
            softmax_vjp(p, np.array(d_weights, float)), [float(d) for d in d_scores], atol=1e-14
        )

    def test_it_does_not_if_the_shares_leave_something_over(self):
        # With one more exponential in the sum, which nobody gets, shifts of a row are felt.
        shares = [Fraction(1, 4), Fraction(2, 4)]
        assert sum(by_the_jacobian(shares, (1, 1))) != 0

    @given(st.integers(1, 4), st.integers(1, 4), SEEDS)
    def test_so_do_keys_and_values(self, Tq, Tk, seed):
        arrays = normals((Tq, 2), (Tk, 2), (Tk, 3), (Tq, 3), seed=seed)
        mask = some(Tq, Tk, seed=seed)
        _, d_key, d_value = digits.attention_gradients(*arrays, mask=mask)
        within([np.zeros(2)], [[sum(column) for column in digits.transpose(d_key)]])
        kept = arrays[3][mask.any(axis=1)].sum(axis=0)
        within([kept], [[sum(column) for column in digits.transpose(d_value)]])

    @given(SEEDS)
    def test_keys_moved_together_change_nothing(self, seed):
        query, key, value, move = normals((3, 2), (4, 2), (4, 2), (1, 2), seed=seed)
        output = digits.attention(query, key, value)
        keys = digits.add(digits.exact(key), digits.exact(move) * 4)
        within(digits.attention(query, keys, value), output)


class TestOutputIsEnough:
    """thm-output-is-enough: the average of a row of dA is a product of two rows of width d_v."""

    @given(powers, vectors, st.data())
    def test_the_slopes_of_a_row(self, row, d_c, data):
        values = data.draw(st.tuples(*[vectors] * len(row)))
        shares = shares_of(row)
        c = [sum(a * v[axis] for a, v in zip(shares, values, strict=True)) for axis in (0, 1)]
        d_weights = [dot(d_c, v) for v in values]
        assert dot(shares, d_weights) == dot(d_c, c)
        toward = [[x - y for x, y in zip(v, c, strict=True)] for v in values]
        assert by_the_jacobian(shares, d_weights) == [
            a * dot(d_c, move) for a, move in zip(shares, toward, strict=True)
        ]

    @given(st.integers(1, 3), st.integers(1, 5), st.integers(1, 3), SEEDS)
    def test_blocks_of_keys_with_what_is_kept(self, Tq, Tk, size, seed):
        query, key, value, d_output = normals((Tq, 2), (Tk, 2), (Tk, 3), (Tq, 3), seed=seed)
        expected = digits.attention_gradients(query, key, value, d_output)
        scores = query @ key.T / np.sqrt(2)
        ell = np.log(np.exp(scores).sum(axis=1, keepdims=True))
        average = (np.exp(scores - ell) @ value * d_output).sum(axis=1, keepdims=True)
        d_query, d_key, d_value = np.zeros_like(query), np.zeros_like(key), np.zeros_like(value)
        for start in range(0, Tk, size):
            block = slice(start, start + size)
            a = np.exp(query @ key[block].T / np.sqrt(2) - ell)
            d_s = a * (d_output @ value[block].T - average)
            d_query += d_s @ key[block] / np.sqrt(2)
            d_key[block], d_value[block] = d_s.T @ query / np.sqrt(2), a.T @ d_output
        within((d_query, d_key, d_value), expected)
        state = attention_state(query, key, value, block_size=size)
        within(streaming_attention_vjp(query, key, value, d_output, state=state), expected)


class TestCentralDifference:
    """thm-central-difference: M h²/6 + η/h, which is least at the cube root of 3η/M."""

    FRACTIONS = st.fractions(min_value=Fraction(1, 50), max_value=3, max_denominator=50)

    @given(FRACTIONS, FRACTIONS, FRACTIONS)
    def test_a_cubic_with_the_worst_rounding_reaches_the_bound(self, M, eta, h):
        def computed(x, off):
            return M * x**3 / 6 + off

        difference = (computed(1 + h, eta) - computed(1 - h, -eta)) / (2 * h)
        assert difference - M / 2 == M * h**2 / 6 + eta / h

    @given(st.lists(st.integers(-9, 9), min_size=1, max_size=7), FRACTIONS, FRACTIONS)
    def test_no_polynomial_exceeds_it(self, coefficients, x, h):
        def f(x):
            return sum(c * x**n for n, c in enumerate(coefficients))

        slope = sum(n * c * x ** (n - 1) for n, c in enumerate(coefficients) if n)
        far = x + h  # the largest size between x − h and x + h
        M = sum(n * (n - 1) * (n - 2) * abs(c) * far ** (n - 3)
                for n, c in enumerate(coefficients) if n > 2)  # fmt: skip
        assert abs((f(x + h) - f(x - h)) / (2 * h) - slope) <= M * h**2 / 6

    @given(FRACTIONS, FRACTIONS, FRACTIONS)
    def test_the_best_step(self, M, best, other):
        assume(other != best)
        eta = M * best**3 / 3  # so that the cube root is a fraction

        def bound(h):
            return M * h**2 / 6 + eta / h

        assert bound(best) < bound(other)
        assert (2 * bound(best)) ** 3 == 9 * M * eta**2

    def test_it_needs_an_exact_subtraction(self):
        # A straight line, M = 0, whose two values are floats, eta = 0: the bound is 0.
        high, low, h = 1.0, 2.0**-60, 0.5
        slope = (Fraction(high) - Fraction(low)) / Fraction(2 * h)
        bound = 0 * Fraction(h) ** 2 / 6 + 0 / Fraction(h)
        assert abs((Fraction(high) - Fraction(low)) / Fraction(2 * h) - slope) <= bound
        rounded = Fraction(high - low)  # a float cannot hold the difference; 2h is 1
        assert abs(rounded / Fraction(2 * h) - slope) > bound

    def test_it_needs_three_derivatives(self):
        x, h = Fraction(1, 4), Fraction(1)
        assert (abs(x + h) - abs(x - h)) / (2 * h) == pytest.approx(0.25)  # the slope is 1
