"""The theorems of the part "Scaling", by exact enumeration or against 40 digits."""

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_ref import softmax, softmax_vjp

small = st.integers(-4, 4).map(Fraction)
value_lists = st.lists(small, min_size=2, max_size=3)


def dot(q, k):
    return sum((a * b for a, b in zip(q, k, strict=True)), Fraction(0))


def mean(values):
    listed = list(values)
    return sum(listed, Fraction(0)) / len(listed)


def variance(values):
    listed = list(values)
    middle = mean(listed)
    return mean((value - middle) ** 2 for value in listed)


def centered(values):
    return [value - mean(values) for value in values]


def all_vectors(values, width):
    """Return all vectors with these entries: equally likely if the entries are independent."""
    return list(itertools.product(values, repeat=width))


def rotations_and_signs(vector):
    """Return vectors whose entries have mean 0 and one variance, however related they are."""
    n = len(vector)
    turned = [tuple(vector[(i + shift) % n] for i in range(n)) for shift in range(n)]
    return turned + [tuple(-x for x in v) for v in turned]


SIGNS = [Fraction(-1), Fraction(1)]


class TestVarianceOfADotProduct:
    """thm-dot-product-variance: the variance is d_k times the product of the variances."""

    @given(value_lists, value_lists, st.integers(1, 3))
    def test_it_holds_for_independent_entries(self, first, second, width):
        first, second = centered(first), centered(second)
        pairs = itertools.product(all_vectors(first, width), all_vectors(second, width))
        products = [dot(q, k) for q, k in pairs]
        assert mean(products) == 0
        assert variance(products) == width * variance(first) * variance(second)

    @given(value_lists, st.lists(small, min_size=2, max_size=4))
    def test_the_entries_of_one_side_may_be_related_in_any_way(self, values, vector):
        values, width = centered(values), len(vector)
        keys = rotations_and_signs(vector)
        products = [dot(q, k) for q in all_vectors(values, width) for k in keys]
        assert mean(products) == 0
        assert variance(products) == width * variance(values) * variance(k[0] for k in keys)

    def test_uncorrelated_entries_that_are_not_independent_suffice_within(self):
        # One entry is ±2 and the others are 0: uncorrelated, and far from independent.
        queries = [
            tuple(s * 2 * Fraction(i == j) for i in range(3)) for j in range(3) for s in SIGNS
        ]
        products = [dot(q, k) for q in queries for k in all_vectors(SIGNS, 3)]
        assert variance(products) == 3 * Fraction(4, 3)

    def test_it_fails_if_both_sides_are_correlated_within(self):
        equal = [(s,) * 4 for s in SIGNS]
        assert variance(dot(q, k) for q in equal for k in equal) == 16

    def test_it_fails_though_all_entries_are_independent_in_pairs(self):
        cases = [(q, tuple(t * x for x in q)) for q in all_vectors(SIGNS, 3) for t in SIGNS]
        entries = [q + k for q, k in cases]
        for i, j in itertools.combinations(range(6), 2):
            counts = [sum(e[i] == a and e[j] == b for e in entries) for a in SIGNS for b in SIGNS]
            assert counts == [4, 4, 4, 4]
        assert variance(dot(q, k) for q, k in cases) == 9


class TestMeansThatAreNotZero:
    """thm-dot-product-means: the mean and the variance for independent entries with any means."""

    @given(value_lists, value_lists, st.integers(1, 3))
    def test_it_holds_for_any_values(self, first, second, width):
        pairs = itertools.product(all_vectors(first, width), all_vectors(second, width))
        products = [dot(q, k) for q, k in pairs]
        (m, v), (n, w) = ((mean(x), variance(x)) for x in (first, second))
        assert mean(products) == width * m * n
        assert variance(products) == width * (v * w + v * n**2 + m**2 * w)

    @given(value_lists, value_lists, st.integers(1, 3))
    def test_it_splits_into_a_part_within_rows_and_one_between_them(self, first, second, width):
        keys = all_vectors(second, width)
        rows = [[dot(q, k) for k in keys] for q in all_vectors(first, width)]
        (m, v), (n, w) = ((mean(x), variance(x)) for x in (first, second))
        assert mean(variance(row) for row in rows) == width * w * (v + m**2)
        assert variance(mean(row) for row in rows) == width * v * n**2


class TestRowsShareAQuery:
    """thm-rows-share-a-query: uncorrelated scores whose squares are correlated."""

    @given(st.lists(st.lists(small, min_size=2, max_size=2), min_size=1, max_size=4), value_lists)
    def test_it_holds_for_any_queries(self, queries, values):
        keys = all_vectors(centered(values), 2)
        sigma = variance(values)
        lengths = [dot(q, q) for q in queries]
        for q, length in zip(queries, lengths, strict=True):
            assert variance(dot(q, k) for k in keys) == sigma * length
        rows = [(dot(q, k), dot(q, other)) for q in queries for k in keys for other in keys]
        assert mean(a * b for a, b in rows) == 0 == mean(a for a, _ in rows)
        together = mean(a**2 * b**2 for a, b in rows)
        alone = mean(a**2 for a, _ in rows) * mean(b**2 for _, b in rows)
        assert together - alone == sigma**2 * variance(lengths)

    def test_independence_of_any_two_of_the_three_is_not_enough(self):
        cases = [(q, k, k if q == 2 else -k) for q in (1, 2) for k in (-1, 1)]
        for i, j in itertools.combinations(range(3), 2):
            assert len({(case[i], case[j]) for case in cases}) == 4
        assert mean(Fraction(q * k * q * other) for q, k, other in cases) == Fraction(3, 2)

    @pytest.mark.parametrize("width", [1, 2, 3, 4])
    def test_scores_of_queries_of_one_length_may_be_independent(self, width):
        signs = all_vectors(SIGNS, width)
        products = [[dot(q, k) for k in signs] for q in signs]
        shares = [{v: Fraction(row.count(v), len(row)) for v in row} for row in products]
        assert all(share == shares[0] for share in shares)  # the query tells nothing of its row

    def test_without_different_lengths_signs_may_be_tied_and_sizes_not(self):
        keys = [Fraction(2), Fraction(-1), Fraction(-1)]  # of mean 0
        rows = [(q * k, q * other) for q in SIGNS for k in keys for other in keys]
        positive = mean(Fraction(a > 0) for a, _ in rows)
        assert positive == Fraction(1, 2)
        assert mean(Fraction(a > 0 and b > 0) for a, b in rows) == Fraction(5, 18)
        large = mean(Fraction(abs(a) == 2) for a, _ in rows)
        assert mean(Fraction(abs(a) == 2 == abs(b)) for a, b in rows) == large**2

    def test_scores_of_unequal_queries_are_not_independent(self):
        keys = all_vectors(SIGNS, 1)
        rows = [(q * k[0], q * other[0]) for q in (1, 3) for k in keys for other in keys]
        loud = [abs(a) == 3 for a, _ in rows]
        both = [abs(a) == 3 == abs(b) for a, b in rows]
        assert sum(both) / len(rows) != (sum(loud) / len(rows)) ** 2


class TestScoresOfFreshWeights:
    """thm-scores-of-fresh-weights: fixed words, random matrices."""

    @given(st.tuples(small, small), st.tuples(small, small))
    def test_it_holds_over_all_matrices_of_two_values(self, x, y):
        width = 2
        columns = all_vectors([2 * s for s in SIGNS], 2)  # of matrices with two rows
        matrices = list(itertools.product(columns, repeat=width))
        queries = [tuple(dot(x, column) for column in matrix) for matrix in matrices]
        keys = [tuple(dot(y, column) for column in matrix) for matrix in matrices]
        products = [dot(q, k) for q in queries for k in keys]
        assert mean(products) == 0
        assert variance(products) / width == 2**4 * dot(x, x) * dot(y, y)


scores = st.lists(st.floats(-30, 30), min_size=2, max_size=7)


def jacobian(p):
    return np.diag(p) - np.outer(p, p)


class TestSoftmaxJacobian:
    """thm-softmax-jacobian: diag(p) - p pᵀ, against derivatives with 40 digits."""

    @given(st.lists(st.floats(-8, 8), min_size=2, max_size=4))
    def test_it_is_the_table_of_derivatives(self, s):
        with mpmath.workdps(40):

            def share(i, *moved):
                powers = [mpmath.exp(x) for x in moved]
                return powers[i] / mpmath.fsum(powers)

            expected = [
                [
                    float(
                        mpmath.diff(
                            lambda *m, i=i: share(i, *m),
                            tuple(s),
                            tuple(int(j == o) for o in range(len(s))),
                        )
                    )
                    for j in range(len(s))
                ]
                for i in range(len(s))
            ]
        np.testing.assert_allclose(jacobian(softmax(s)), expected, atol=1e-14)

    @given(scores)
    def test_rows_add_up_to_zero_and_the_library_multiplies_by_it(self, s):
        p = softmax(s)
        np.testing.assert_allclose(jacobian(p).sum(axis=-1), 0, atol=1e-15)
        gradient = np.cos(np.arange(len(s)))
        np.testing.assert_allclose(softmax_vjp(p, gradient), jacobian(p) @ gradient, atol=1e-15)


class TestBoundsOnTheJacobian:
    """thm-softmax-jacobian-norm: between max p(1 - p) and twice that, at most one half."""

    @given(scores)
    def test_every_entry_and_the_norm_are_within_the_bounds(self, s):
        p = softmax(s)
        largest = (p * (1 - p)).max()
        norm = np.linalg.norm(jacobian(p), 2)
        assert np.abs(jacobian(p)).max() <= largest + 1e-15
        assert largest - 1e-15 <= norm <= min(2 * largest, 0.5) + 1e-15

    def test_both_ends_are_reached_or_nearly_so(self):
        assert np.linalg.norm(jacobian(np.array([0.5, 0.5, 0.0])), 2) == pytest.approx(0.5)
        n = 1000
        equal = np.full(n, 1 / n)  # the exact norm is 1/n, the exact maximum (1 - 1/n)/n
        assert np.linalg.eigvalsh(jacobian(equal)).max() * n == pytest.approx(1)
        assert 1 / n / ((1 - 1 / n) / n) < 1.002


class TestSaturation:
    """thm-saturation: what is left to the others bounds the whole Jacobian."""

    @given(scores)
    def test_the_norm_is_at_most_twice_what_the_winner_leaves(self, s):
        p = softmax(s)
        left = np.delete(p, p.argmax()).sum()
        assert np.linalg.norm(jacobian(p), 2) <= 2 * left + 1e-15
        lead = max(s) - sorted(s)[-2]
        assert left <= (len(s) - 1) * np.exp(-lead) * (1 + 1e-12)

    @given(scores)
    def test_the_winners_own_entry_is_the_largest_where_it_has_most(self, s):
        p = softmax(s)
        if p.max() >= 0.5:
            own = p.max() * np.delete(p, p.argmax()).sum()
            assert np.abs(jacobian(p)).max() <= own + 1e-15

    @given(st.permutations([0.0, 1.0, 2.5]))
    def test_it_vanishes_as_scores_grow_unless_two_are_tied(self, s):
        norms = [np.abs(jacobian(softmax(c * np.array(s)))).max() for c in (1, 4, 16, 64)]
        assert norms == sorted(norms, reverse=True)
        assert norms[-1] < 1e-15 < norms[2]
        tied = jacobian(softmax(64 * np.array([*s, 2.5])))
        assert np.abs(tied).max() == pytest.approx(0.25)


class TestUnscaledGradient:
    """thm-unscaled-gradient: two effects cancel, so that the mean of the derivative stays."""

    @staticmethod
    def norms(d, keys, scale, draws=200_000):
        """Draw norms of J K without drawing K: in axes along the query, only K Kᵀ counts."""
        rng = np.random.default_rng(keys)
        length, z = np.sqrt(rng.chisquare(d, draws)), rng.standard_normal((draws, keys))
        root = np.tril(rng.standard_normal((draws, keys, keys)), -1)  # by Bartlett
        diagonal = np.arange(keys)
        root[:, diagonal, diagonal] = np.sqrt(rng.chisquare(d - 1 - diagonal, (draws, keys)))
        p = softmax(scale * length[:, np.newaxis] * z)
        jacobians = p[:, :, np.newaxis] * (np.eye(keys) - p[:, np.newaxis])
        keys_turned = np.concatenate([z[:, :, np.newaxis], root], axis=-1)
        return scale * np.linalg.norm(jacobians @ keys_turned, axis=(-2, -1))

    def test_the_short_cut_draws_what_whole_keys_give(self):
        rng = np.random.default_rng(0)
        q, k = rng.standard_normal((20_000, 1, 16)), rng.standard_normal((20_000, 3, 16))
        p = softmax((q @ k.swapaxes(-1, -2))[:, 0])
        direct = np.linalg.norm(
            (p[:, :, np.newaxis] * (np.eye(3) - p[:, np.newaxis])) @ k, axis=(-2, -1)
        )
        short = self.norms(16, 3, 1.0)
        for moment in (1, 2):
            error = (direct**moment).std() / np.sqrt(len(direct))
            assert abs((direct**moment).mean() - (short**moment).mean()) < 4 * error

    @pytest.mark.parametrize("keys", [2, 3, 5])
    def test_the_mean_tends_to_that_of_the_largest_normal_number(self, keys):
        largest = float(
            mpmath.quad(
                lambda x: x * keys * mpmath.npdf(x) * mpmath.ncdf(x) ** (keys - 1),
                [-12, -3, 0, 3, 12],
            )
        )
        found = self.norms(16_384, keys, 1.0)
        error = found.std() / np.sqrt(len(found))
        assert abs(found.mean() - largest) < 4 * error + 0.01
        assert 4 * error + 0.01 < 0.09  # and the limits are further apart

    def test_the_typical_one_vanishes(self):
        above = [(self.norms(4**i, 5, 1.0, 50_000) > 1e-3).mean() for i in (4, 6, 8, 10)]
        assert above == sorted(above, reverse=True)
        assert above[-1] < 0.05

    def test_with_the_root_the_mean_tends_to_that_at_normal_scores(self):
        p = softmax(np.random.default_rng(0).standard_normal((200_000, 5)))
        jacobians = p[:, :, np.newaxis] * (np.eye(5) - p[:, np.newaxis])
        limit = np.linalg.norm(jacobians, axis=(-2, -1)).mean()
        assert self.norms(16_384, 5, 1 / 128).mean() == pytest.approx(limit, abs=0.002)


class TestSampleVarianceOfScores:
    """thm-sample-variance-of-scores: its mean is (1 - 1/n) times the variance."""

    @pytest.mark.parametrize("width", [1, 2])
    def test_it_holds_over_all_notebooks_of_signs(self, width):
        vectors = all_vectors(SIGNS, width)
        found = []
        for first, second in itertools.product(itertools.product(vectors, repeat=2), repeat=2):
            found.append(variance(dot(q, k) for q in first for k in second))
        assert mean(found) == Fraction(3, 4) * width

    def test_it_fails_for_correlated_scores(self):
        assert mean(variance([s, s]) for s in SIGNS) == 0


class TestAlignedScores:
    """thm-aligned-scores: signal and noise of a dot product, and Chebyshev's bound."""

    @given(
        st.lists(st.tuples(small, small), min_size=2, max_size=4),
        st.integers(1, 4),
        st.fractions(Fraction(1, 4), 4),
    )
    def test_it_holds_for_any_pairs(self, pairs, width, delta):
        terms = [q * k for q, k in pairs]
        rho, v = mean(terms), variance(terms)
        products = [sum(case, Fraction(0)) for case in itertools.product(terms, repeat=width)]
        assert mean(products) == rho * width
        assert variance(products) == v * width
        off = mean(Fraction(abs(product / width - rho) >= delta) for product in products)
        assert off <= v / (width * delta**2)


class TestVarianceOfACosine:
    """thm-variance-of-a-cosine: the mean square of a cosine is one over the width."""

    @given(
        st.lists(st.integers(1, 5).map(Fraction), min_size=1, max_size=2),
        st.lists(small, min_size=2, max_size=3).filter(any),
    )
    def test_it_holds_for_symmetric_queries_and_any_key(self, sizes, k):
        queries = all_vectors([sign * size for size in sizes for sign in SIGNS], len(k))
        squares = [dot(q, k) ** 2 / (dot(q, q) * dot(k, k)) for q in queries]
        assert mean(squares) == Fraction(1, len(k))
        cosines = [float(dot(q, k)) / float(dot(q, q) * dot(k, k)) ** 0.5 for q in queries]
        assert abs(sum(cosines)) < 1e-12 * len(cosines)

    def test_it_is_not_the_variance_where_the_mean_direction_is_not_zero(self):
        queries = [(Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))]
        key = (Fraction(1), Fraction(1))
        assert [dot(q, key) ** 2 / (dot(q, q) * dot(key, key)) for q in queries] == [
            Fraction(1, 2)
        ] * 2
        assert len({dot(q, key) for q in queries}) == 1  # one cosine: its variance is 0

    def test_it_fails_for_queries_that_are_not_symmetric(self):
        queries = all_vectors([Fraction(1), Fraction(2)], 2)
        key = (Fraction(1), Fraction(1))
        squares = [dot(q, key) ** 2 / (dot(q, q) * dot(key, key)) for q in queries]
        assert mean(squares) > Fraction(1, 2)
