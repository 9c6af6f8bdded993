"""The theorems of the part "Analogies", on numbers that no page has seen.

Where it can be, the expected side is exact: fractions and plain loops, no NumPy.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_ref import dot_similarity, scaled_dot_product_attention, softmax
from selfattn_ref.worked_examples import load

EIGHTHS = st.integers(-24, 24).map(lambda n: n / 8)  # exact in floats; ties are frequent
INTEGERS = st.integers(-4, 4)


def tables(rows, columns, entries=INTEGERS):
    """Draw a list of rows."""
    row = st.lists(entries, min_size=columns, max_size=columns)
    return st.lists(row, min_size=rows, max_size=rows)


def product(a, b):
    """Multiply two matrices of exact numbers by loops."""
    columns = list(zip(*b, strict=True))
    return [[sum(x * y for x, y in zip(row, c, strict=True)) for c in columns] for row in a]


def transposed(a):
    return [list(column) for column in zip(*a, strict=True)]


def reduced(matrix):
    """Return the reduced echelon form of a matrix, in fractions, and its pivot columns."""
    rows = [[Fraction(entry) for entry in row] for row in matrix]
    pivots = []
    for column in range(len(rows[0])):
        done = len(pivots)
        found = next((i for i in range(done, len(rows)) if rows[i][column]), None)
        if found is None:
            continue
        rows[done], rows[found] = rows[found], rows[done]
        rows[done] = [entry / rows[done][column] for entry in rows[done]]
        for i in range(len(rows)):
            if i != done:
                factor = rows[i][column]
                rows[i] = [x - factor * y for x, y in zip(rows[i], rows[done], strict=True)]
        pivots.append(column)
    return rows, pivots


def rank(matrix):
    return len(reduced(matrix)[1])


class TestSoftLookupLimit:
    """thm-soft-lookup-limit: a soft look-up tends to the mean of the best entries, at a rate."""

    @given(st.data())
    def test_the_distance_to_the_limit_is_within_the_bound(self, data):
        n = data.draw(st.integers(1, 6))
        scores = data.draw(st.lists(EIGHTHS, min_size=n, max_size=n))
        values = data.draw(tables(n, 2, EIGHTHS))
        beta = data.draw(st.floats(0, 60))
        best = [j for j in range(n) if scores[j] == max(scores)]
        mean = [math.fsum(values[j][c] for j in best) / len(best) for c in (0, 1)]
        bound = 0.0
        if len(best) < n:
            gap = max(scores) - max(s for s in scores if s < max(scores))
            far = max(math.dist(values[j], mean) for j in range(n) if j not in best)
            bound = (n - len(best)) / len(best) * math.exp(-beta * gap) * far
        keys = [[s] for s in scores]
        (output,) = scaled_dot_product_attention([[1.0]], keys, values, scale=beta)
        assert math.dist(output, mean) <= bound + 1e-13

    @given(st.lists(EIGHTHS, min_size=1, max_size=6))
    def test_the_best_scores_share_alike_and_the_others_get_nothing_in_the_limit(self, scores):
        best = [s == max(scores) for s in scores]
        shares = softmax(400 * np.array(scores))  # the smallest gap is 1/8: e**-50 is left
        np.testing.assert_allclose(shares, np.array(best) / sum(best), rtol=0, atol=1e-20)

    @pytest.mark.parametrize("beta", [0.0, 1.0, 7.0, 30.0])
    def test_the_rate_is_that_of_the_gap_and_no_better(self, beta):
        # Two entries, 0 and 1, with gap 1/4: the distance is exactly 1 / (1 + e**(beta/4)).
        (output,) = scaled_dot_product_attention([[1.0]], [[0.25], [0]], [[0.0], [1]], scale=beta)
        assert output[0] == pytest.approx(1 / (1 + math.exp(beta / 4)), rel=1e-14)
        assert output[0] >= math.exp(-beta / 4) / 2

    def test_an_infinite_score_has_no_limit_as_stated(self):
        assert np.isnan(softmax([math.inf, 0.0])).all()


class TestKernelRegression:
    """thm-kernel-regression: shares are bells of the distance, times what length adds."""

    @given(st.data())
    def test_the_shares_are_bells_times_lengths(self, data):
        n, width = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 3))
        q = data.draw(st.lists(EIGHTHS, min_size=width, max_size=width))
        keys = data.draw(tables(n, width, EIGHTHS))
        beta = data.draw(st.floats(0, 2))
        bells = [math.exp(-beta / 2 * math.dist(q, k) ** 2) for k in keys]
        parts = [
            b * math.exp(beta / 2 * math.hypot(*k) ** 2) for b, k in zip(bells, keys, strict=True)
        ]
        (shares,) = scaled_dot_product_attention([q], keys, np.eye(n), scale=beta)
        expected = [part / math.fsum(parts) for part in parts]
        np.testing.assert_allclose(shares, expected, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("beta", [0.0, 0.5, 3.0])
    def test_keys_of_one_length_count_by_distance_alone(self, beta):
        keys, q = [[3.0, 4], [5, 0], [0, -5], [-4, 3]], [0.25, 1.5]
        bells = [math.exp(-beta / 2 * math.dist(q, k) ** 2) for k in keys]
        (shares,) = scaled_dot_product_attention([q], keys, np.eye(4), scale=beta)
        np.testing.assert_allclose(shares, np.array(bells) / math.fsum(bells), rtol=1e-11)

    @pytest.mark.parametrize("beta", [0.5, 3.0])
    def test_of_two_keys_equally_far_away_the_longer_counts_for_more(self, beta):
        # From (1, 0) both (0, 0) and (2, 0) are at distance 1; the quotient is that of the w.
        keys = [[0.0, 0], [2, 0]]
        (shares,) = scaled_dot_product_attention([[1.0, 0]], keys, np.eye(2), scale=beta)
        assert shares[1] / shares[0] == pytest.approx(math.exp(beta * 4 / 2), rel=1e-12)

    def test_a_longer_key_that_points_away_counts_for_less(self):
        q = np.array([[1.0, 0]])
        before, after = (
            softmax(dot_similarity(q, np.array([[-length, 0], [0, 1]])))[0] for length in (1, 2)
        )
        assert after[0] < before[0]

    def test_keys_of_two_lengths_do_not(self):
        # The query stands on the first key, and the second, farther away and longer, wins.
        shares = softmax(dot_similarity(np.array([[1.0]]), np.array([[1.0], [3]])))[0]
        assert shares[1] > shares[0]


class TestHopfieldEnergy:
    """thm-hopfield-energy: a look-up of keys by keys lowers the energy by half its step squared."""

    @staticmethod
    def energy(q, keys, beta):
        scores = [beta * math.fsum(x * y for x, y in zip(q, k, strict=True)) for k in keys]
        most = max(scores)
        total = most + math.log(math.fsum(math.exp(s - most) for s in scores))
        return math.hypot(*q) ** 2 / 2 - total / beta

    @given(st.data())
    def test_every_step_lowers_the_energy(self, data):
        keys = data.draw(tables(data.draw(st.integers(1, 5)), 2, EIGHTHS))
        q = data.draw(st.lists(EIGHTHS, min_size=2, max_size=2))
        beta = data.draw(st.floats(0.01, 20))
        (after,) = scaled_dot_product_attention([q], keys, keys, scale=beta).tolist()
        least = self.energy(q, keys, beta) - math.dist(q, after) ** 2 / 2
        assert self.energy(after, keys, beta) <= least + 1e-9

    @given(tables(4, 2, EIGHTHS), st.floats(0.1, 20))
    def test_the_steps_tend_to_0(self, keys, beta):
        q = [0.5, -1.0]
        longest = max(math.hypot(*k) for k in keys)
        floor = -(longest**2) / 2 - math.log(len(keys)) / beta
        budget = 2 * (self.energy(q, keys, beta) - floor)
        spent = 0.0
        for _ in range(50):
            (after,) = scaled_dot_product_attention([q], keys, keys, scale=beta).tolist()
            spent += math.dist(q, after) ** 2
            q = after
        assert spent <= budget + 1e-9

    def test_with_other_values_than_the_keys_it_may_rise(self):
        keys = [[1.0], [-1]]
        (after,) = scaled_dot_product_attention([[0.0]], keys, [[3.0], [3]], scale=0.5).tolist()
        assert self.energy(after, keys, 0.5) > self.energy([0.0], keys, 0.5)


class TestNewGuest:
    """thm-new-guest: a new key takes the same part from the share of every other key."""

    @given(st.lists(st.integers(1, 50), min_size=1, max_size=6), st.integers(1, 50), st.data())
    def test_everyone_keeps_the_same_part_and_the_context_moves_to_the_newcomer(
        self, weights, newcomer, data
    ):
        # The score ln w has the exponential w: shares are fractions.
        values = data.draw(tables(len(weights) + 1, 2))
        total = sum(weights)
        before = [Fraction(w, total) for w in weights]
        paid = Fraction(newcomer, total + newcomer)
        after = [(1 - paid) * share for share in before] + [paid]
        np.testing.assert_allclose(
            softmax(np.log([*weights, newcomer])), [float(share) for share in after], rtol=1e-14
        )
        context = product([before], values[:-1])[0]
        moved = [(1 - paid) * c + paid * v for c, v in zip(context, values[-1], strict=True)]
        keys = [[math.log(w)] for w in [*weights, newcomer]]
        (output,) = scaled_dot_product_attention([[1.0]], keys, values, scale=1.0)
        np.testing.assert_allclose(output, [float(c) for c in moved], rtol=0, atol=1e-13)

    def test_a_newcomer_who_changes_another_score_takes_unequal_parts(self):
        before, after = softmax(np.log([1.0, 1, 2])), softmax(np.log([1.0, 3, 2, 2]))
        kept = after[:3] / before
        assert kept.max() / kept.min() == pytest.approx(3)


class TestContextHidesShares:
    """thm-context-hides-shares: with d_v + 2 values or more, other shares give the context."""

    @given(st.data())
    def test_other_shares_with_a_zero_among_them_give_the_same_context(self, data):
        width = data.draw(st.integers(1, 3))
        size = data.draw(st.integers(width + 2, width + 4))
        values = data.draw(tables(size, width))
        parts = data.draw(st.lists(st.integers(1, 20), min_size=size, max_size=size))
        shares = [Fraction(part, sum(parts)) for part in parts]

        rows, pivots = reduced(transposed([[*value, 1] for value in values]))
        free = next(j for j in range(size) if j not in pivots)  # there is one: size > width + 1
        n = [Fraction(0)] * size
        n[free] = Fraction(1)
        for row, pivot in zip(rows, pivots, strict=False):
            n[pivot] = -row[free]
        t = min(share / -step for share, step in zip(shares, n, strict=True) if step < 0)
        others = [share + t * step for share, step in zip(shares, n, strict=True)]

        assert t > 0
        assert min(others) == 0
        assert sum(others) == 1
        assert product([others], values) == product([shares], values)
        half_way = [share + t / 2 * step for share, step in zip(shares, n, strict=True)]
        assert min(half_way) > 0  # softmax can make these
        assert half_way != shares
        assert product([half_way], values) == product([shares], values)
        context = softmax(np.log(parts)) @ np.array(values)
        np.testing.assert_allclose(np.array(others, float) @ values, context, atol=1e-13)

    def test_with_one_value_fewer_the_context_may_tell_the_shares(self):
        # Width 1, values 0 and 1: the context is the second share.
        _, pivots = reduced([[0, 1], [1, 1]])
        assert len(pivots) == 2  # no way to move the shares and keep sum and context

    def test_without_positive_shares_there_may_be_no_others(self):
        # The corner of a triangle: of all shares in twelfths, only (1, 0, 0, 0) gives it.
        values = [[0, 0], [3, 0], [0, 3], [1, 1]]
        twelfths = [p for p in itertools.product(range(13), repeat=4) if sum(p) == 12]
        assert [p for p in twelfths if product([p], values) == [[0, 0]]] == [(12, 0, 0, 0)]


class TestScoreRank:
    """thm-score-rank: a score is x M yᵀ, with M of rank at most d_k, and any such M will do."""

    @given(st.data())
    def test_the_score_is_the_bilinear_form_and_its_rank_is_bounded(self, data):
        width, d_k, words = (data.draw(st.integers(1, 4)) for _ in range(3))
        w_query, w_key = (data.draw(tables(width, d_k)) for _ in range(2))
        x, y = data.draw(tables(words, width)), data.draw(tables(words + 1, width))
        form = product(w_query, transposed(w_key))
        scores = product(product(x, form), transposed(y))
        got = dot_similarity(np.array(x) @ np.array(w_query), np.array(y) @ np.array(w_key))
        assert got.tolist() == scores
        assert rank(form) <= min(width, d_k)
        assert rank(scores) <= d_k

    @given(st.data())
    def test_every_matrix_of_that_rank_is_a_product(self, data):
        width, d_k = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
        form = data.draw(tables(width, width))
        rows, pivots = reduced(form)
        if len(pivots) > d_k:  # leave out what is too much: keep the rows of d_k pivots
            rows, pivots = rows[:d_k], pivots[:d_k]
            form = product([[row[p] for p in pivots] for row in form], rows)
        r = rank(form)
        assert r <= d_k
        # The proof: a basis of columns, and the coefficients, which are the rows of the echelon.
        basis, (rows, pivots) = form, reduced(form)
        w_query = [[row[p] for p in pivots] + [0] * (d_k - r) for row in basis]
        w_key = [[rows[k][j] for k in range(r)] + [0] * (d_k - r) for j in range(width)]
        assert product(w_query, transposed(w_key)) == form


class TestOneMatrix:
    """thm-one-matrix: one matrix makes the semidefinite M of small rank, and no other."""

    @given(tables(4, 2), tables(3, 4))
    def test_one_matrix_makes_such_a_form(self, w, x):
        scores = dot_similarity(np.array(x) @ np.array(w))
        form = product(w, transposed(w))
        assert scores.tolist() == product(product(x, form), transposed(x))
        assert form == transposed(form)
        assert rank(form) <= 2
        assert (np.diag(scores) >= 0).all()

    @given(st.data())
    def test_every_such_form_is_made_by_one_matrix(self, data):
        # The Laplacian of a graph is semidefinite because u L u' is a sum of squares, one for each
        # edge; no factor of it is given. Its rank is the number of nodes less that of components.
        nodes = data.draw(st.integers(2, 5))
        edges = {
            (i, j): data.draw(st.integers(0, 3)) for i, j in itertools.combinations(range(nodes), 2)
        }
        form = np.zeros((nodes, nodes))
        for (i, j), weight in edges.items():
            form[[i, j], [i, j]] += weight
            form[[i, j], [j, i]] -= weight
        d_k = rank(form.astype(int).tolist())
        assert d_k < nodes
        factors, directions = np.linalg.eigh(form)
        kept = slice(nodes - d_k, nodes)  # eigh sorts: the last are positive
        w = directions[:, kept] * np.sqrt(factors[kept])
        x = np.array(data.draw(tables(3, nodes)))
        np.testing.assert_allclose(dot_similarity(x @ w), x @ form @ x.T, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("form", [[[0, 1], [1, 0]], [[1, 2], [2, 1]]])
    def test_a_symmetric_form_that_is_not_semidefinite_scores_a_word_negatively(self, form):
        assert product(product([[1, -1]], form), [[1], [-1]]) == [[-2]]

    def test_the_rank_cannot_be_exceeded(self):
        # Two words at a right angle, of length 1: numbers a, b with a² = b² = 1 have a b ≠ 0.
        for a, b in itertools.product((-1, 1), repeat=2):
            assert dot_similarity(np.array([[a], [b]])).tolist() != [[1, 0], [0, 1]]

    def test_two_matrices_may_give_scores_that_one_cannot(self):
        scores = load("SA012").expected["scores"]
        assert scores[0, 1] != scores[1, 0]
