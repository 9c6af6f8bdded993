"""Similarity: dot products, cosines, distances."""

import math
import re

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_ref import cosine_similarity, dot_similarity, euclidean_distance
from tests import oracles
from tests.support.strategies import matrices

FUNCTIONS = [dot_similarity, cosine_similarity, euclidean_distance]
ORACLES = {
    dot_similarity: oracles.dot,
    cosine_similarity: oracles.cosine,
    euclidean_distance: oracles.distance,
}

everywhere = pytest.mark.parametrize("similarity", FUNCTIONS, ids=lambda f: f.__name__)


def normal(*shape, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


@everywhere
class TestEverySimilarity:
    """What the three functions have in common."""

    def test_compares_every_row_with_every_row(self, similarity):
        x, y = normal(3, 5), normal(7, 5, seed=1)
        expected = oracles.pairwise(ORACLES[similarity], x, y)
        assert expected.shape == (3, 7)
        np.testing.assert_allclose(similarity(x, y), expected, rtol=1e-13, atol=1e-14)

    def test_without_y_compares_the_rows_of_x_with_each_other(self, similarity):
        x = normal(3, 5)
        expected = oracles.pairwise(ORACLES[similarity], x, x)
        np.testing.assert_allclose(similarity(x), expected, rtol=1e-13, atol=1e-14)

    @pytest.mark.parametrize("lead_x, lead_y", [((2,), ()), ((), (2,)), ((11, 1), (2,))])
    def test_leading_axes_broadcast(self, similarity, lead_x, lead_y):
        x, y = normal(*lead_x, 3, 5), normal(*lead_y, 7, 5, seed=1)
        expected = oracles.pairwise(ORACLES[similarity], x, y)
        result = similarity(x, y)
        assert result.shape == (*np.broadcast_shapes(lead_x, lead_y), 3, 7)
        np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-14)

    def test_sets_of_no_vectors_give_an_empty_table(self, similarity):
        assert similarity(np.ones((0, 5)), np.ones((7, 5))).shape == (0, 7)
        assert similarity(np.ones((3, 5)), np.ones((0, 5))).shape == (3, 0)

    @pytest.mark.parametrize(
        "dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.longdouble]
    )
    def test_floating_types_are_kept(self, similarity, dtype):
        assert similarity(np.ones((3, 5), dtype)).dtype == dtype

    @pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint64])
    def test_integers_and_booleans_become_float64(self, similarity, dtype):
        x = np.ones((3, 5), dtype)
        result = similarity(x)
        assert result.dtype == np.float64
        assert oracles.same_bits(result, similarity(x.astype(np.float64)))

    def test_mixed_types_meet_in_their_common_type(self, similarity):
        x32, x64 = np.ones((3, 5), np.float32), np.ones((7, 5))
        assert similarity(x32, x64).dtype == np.float64
        assert similarity(x32, x32.astype(np.float16)).dtype == np.float32
        assert similarity(x32, np.ones((7, 5), np.int64)).dtype == np.float64

    @pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
    def test_16_bit_types_compute_in_float32(self, similarity, dtype):
        x, y = normal(3, 257, dtype=dtype), normal(7, 257, seed=1, dtype=dtype)
        expected = similarity(x.astype(np.float32), y.astype(np.float32)).astype(dtype)
        assert oracles.same_bits(similarity(x, y), expected)

    def test_inputs_stay_as_they_are_and_are_not_shared(self, similarity):
        x, y = normal(3, 5), normal(7, 5, seed=1)
        before = x.tobytes(), y.tobytes()
        result = similarity(x, y)
        assert (x.tobytes(), y.tobytes()) == before
        assert not np.shares_memory(result, x)
        assert not np.shares_memory(result, y)

    def test_lists_read_only_and_strided_arrays_are_accepted(self, similarity):
        x, y = normal(3, 5), normal(7, 5, seed=1)
        expected = similarity(x, y)
        np.testing.assert_allclose(similarity(x.tolist(), y.tolist()), expected, rtol=1e-14)
        strided = np.repeat(x, 2, axis=1)[:, ::2]
        strided.flags.writeable = False
        np.testing.assert_allclose(similarity(strided, y[::-1])[:, ::-1], expected, rtol=1e-13)

    def test_two_calls_give_the_same_bits(self, similarity):
        x = normal(31, 17)
        assert oracles.same_bits(similarity(x), similarity(x))

    def test_nothing_warns_even_where_numpy_would_raise(self, similarity):
        x = np.array([[1e300, -1e300], [1e-300, 5e-324], [np.inf, np.nan], [1.0, 2.0]])
        with np.errstate(all="raise"):
            similarity(x)
            similarity(x, -x)

    def test_a_nan_shows_in_its_own_row_only(self, similarity):
        x, y = normal(3, 5), normal(7, 5, seed=1)
        clean = similarity(x, y)
        x[1, 2] = np.nan
        result = similarity(x, y)
        assert np.isnan(result[1]).all()
        np.testing.assert_array_equal(result[[0, 2]], clean[[0, 2]])

    @pytest.mark.parametrize(
        "x, y, error, message",
        [
            (
                np.ones((3, 5)),
                np.ones((7, 2)),
                ValueError,
                "x (3, 5) and y (7, 2): they must have the same width d, got 5 and 2",
            ),
            (
                np.ones((2, 3, 5)),
                np.ones((11, 7, 5)),
                ValueError,
                "x (2, 3, 5) and y (11, 7, 5): the axes before the last two must be equal, or 1, "
                "or absent",
            ),
            (np.ones(5), None, ValueError, "x (5,): it must have the axes (..., n, d)"),
            (np.ones((3, 5)), 1.0, ValueError, "y (): it must have the axes (..., m, d)"),
            (
                np.ones((3, 5), complex),
                None,
                TypeError,
                "x must hold real numbers, got dtype complex128",
            ),
            (
                np.ones((3, 5)),
                [["a"] * 5],
                TypeError,
                "y must hold real numbers, got dtype <U1",
            ),
        ],
    )
    def test_a_wrong_argument_is_named(self, similarity, x, y, error, message):
        with pytest.raises(error) as caught:
            similarity(x, y)
        assert caught.type is error
        assert str(caught.value) == message


class TestDotSimilarity:
    def test_multiplies_and_adds(self):
        # By hand: 2·7 + 3·11 = 47, 2·13 + 3·17 = 77, 5·7 + 1·11 = 46, 5·13 + 1·17 = 82.
        result = dot_similarity([[2, 3], [5, 1]], [[7, 11], [13, 17]])
        np.testing.assert_array_equal(result, [[47.0, 77.0], [46.0, 82.0]])

    def test_float16_does_not_overflow_on_the_way(self):
        # 300² = 90000 exceeds 65504, the largest float16; the sum, 0, does not.
        x = np.array([[300.0, 300.0]], np.float16)
        y = np.array([[300.0, -300.0]], np.float16)
        np.testing.assert_array_equal(dot_similarity(x, y), [[0.0]])

    def test_an_overflow_is_an_infinity(self):
        np.testing.assert_array_equal(dot_similarity([[1e200]], [[-1e200]]), [[-np.inf]])

    def test_vectors_without_numbers_have_the_product_zero(self):
        np.testing.assert_array_equal(dot_similarity(np.ones((2, 0))), np.zeros((2, 2)))


class TestCosineSimilarity:
    def test_knows_the_angles_of_the_plane(self):
        # 0°, 60°, 90°, 180° against the first axis.
        y = [[5.0, 0.0], [1.0, math.sqrt(3.0)], [0.0, 2.0], [-3.0, 0.0]]
        np.testing.assert_allclose(
            cosine_similarity([[7.0, 0.0]], y), [[1.0, 0.5, 0.0, -1.0]], rtol=1e-15, atol=1e-16
        )

    @pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-300, 1e-160, 1e160, 1e300, 1.7e308])
    def test_tiny_and_huge_vectors_lose_no_accuracy(self, size):
        # (1, 1) · (1, 0) / √2, whatever the lengths.
        x, y = [[size, size]], [[size, 0.0]]
        expected = math.sqrt(0.5)
        np.testing.assert_allclose(cosine_similarity(x, y), [[expected]], rtol=4e-16)

    @pytest.mark.parametrize("size", [1e-45, 1e-38, 1e-30, 1e30, 3e38])
    def test_tiny_and_huge_vectors_lose_no_accuracy_in_float32(self, size):
        x = np.array([[size, size]], np.float32)
        y = np.array([[size, 0.0]], np.float32)
        np.testing.assert_allclose(cosine_similarity(x, y), [[math.sqrt(0.5)]], rtol=2e-7)

    def test_each_row_is_scaled_by_itself(self):
        x = [[1e300, 1e300], [1e-300, 1e-300]]
        np.testing.assert_allclose(cosine_similarity(x), np.ones((2, 2)), rtol=4e-16)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_agrees_with_50_digits(self, dtype):
        rng = np.random.default_rng(2)
        sizes = 10.0 ** rng.uniform(-30, 30, size=(13, 1))
        x = (rng.normal(size=(13, 17)) * sizes).astype(dtype)
        exact = [[oracles.exact_cosine(a, b) for b in x] for a in x]
        # The vectors have length one: the error of their product is absolute.
        assert oracles.largest_error(cosine_similarity(x), exact) <= 4 * np.finfo(dtype).eps

    def test_near_parallel_vectors_agree_with_50_digits(self):
        x, y = [1.0, 1.0, 1.0], [1.0, 1.0, 1.0 + 1e-7]
        exact = oracles.exact_cosine(x, y)
        assert oracles.largest_error(cosine_similarity([x], [y]), [[exact]]) <= 4 * 2.0**-52

    def test_never_exceeds_one(self):
        # Rounding alone takes some of these a unit beyond 1 before they are clipped.
        x = normal(500, 3)
        sizes = 3.0 ** np.arange(-2, 3).reshape(-1, 1, 1)
        cosines = np.concatenate(
            [cosine_similarity(x, x * sizes), cosine_similarity(x, -x * 3)[None]]
        )
        assert np.abs(cosines).max() == 1.0

    @given(x=matrices(columns=st.just(3), numbers=st.floats(-1e308, 1e308)))
    def test_lies_between_minus_one_and_one(self, x):
        x = x[x.any(axis=-1)]
        cosines = cosine_similarity(x)
        assert (np.abs(cosines) <= 1).all()
        np.testing.assert_allclose(np.diagonal(cosines), 1.0, rtol=4 * 2.0**-52)

    def test_a_vector_with_an_infinity_has_no_direction(self):
        result = cosine_similarity([[np.inf, 1.0], [3.0, 4.0]], [[0.0, 2.0], [1.0, 0.0]])
        np.testing.assert_allclose(result, [[np.nan, np.nan], [0.8, 0.6]], rtol=1e-15)

    @pytest.mark.parametrize(
        "x, y, message",
        [
            (
                [[1.0, 2.0], [0.0, -0.0]],
                None,
                "x (2, 2): row 1 is a zero vector, which has no direction",
            ),
            (
                [[1.0, 2.0]],
                [[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [0.0, 0.0]]],
                "y (2, 2, 2): row 1, 1 is a zero vector, which has no direction",
            ),
            (
                np.ones((3, 0)),
                None,
                "x (3, 0): row 0 is a zero vector, which has no direction",
            ),
        ],
    )
    def test_a_zero_vector_is_an_error_that_names_the_row(self, x, y, message):
        with pytest.raises(ValueError, match=re.escape(message)) as caught:
            cosine_similarity(x, y)
        assert str(caught.value) == message


class TestEuclideanDistance:
    def test_knows_the_right_triangles(self):
        # 3-4-5, 5-12-13, 8-15-17.
        points = [[3.0, 4.0], [5.0, -12.0], [-8.0, 15.0]]
        np.testing.assert_array_equal(euclidean_distance([[0.0, 0.0]], points), [[5.0, 13.0, 17.0]])

    def test_equal_points_have_distance_exactly_zero(self):
        x = normal(31, 17) * 1e3
        distances = euclidean_distance(x)
        np.testing.assert_array_equal(np.diagonal(distances), 0.0)
        assert (distances[~np.eye(31, dtype=bool)] > 0).all()

    def test_close_points_do_not_cancel(self):
        # The points differ by 2⁻³⁰ in one coordinate; x·x − 2 x·y + y·y would give 0 or noise.
        x = np.full((1, 3), 1e6)
        y = x + np.array([[0.0, 2.0**-30, 0.0]])
        assert euclidean_distance(x, y).item() == 2.0**-30

    @pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-300, 1e-160, 1e160, 1e300, 3e307])
    def test_tiny_and_huge_distances_neither_underflow_nor_overflow(self, size):
        # 3-4-5 again, in steps of `size`.
        result = euclidean_distance([[0.0, 0.0]], [[3 * size, 4 * size]])
        np.testing.assert_allclose(result, [[5 * size]], rtol=4e-16)

    def test_each_pair_is_scaled_by_itself(self):
        result = euclidean_distance([[0.0, 0.0]], [[3e300, 4e300], [3e-300, 4e-300]])
        np.testing.assert_allclose(result, [[5e300, 5e-300]], rtol=4e-16)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_agrees_with_50_digits(self, dtype):
        rng = np.random.default_rng(2)
        x = (rng.normal(size=(13, 17)) * 10.0 ** rng.uniform(-30, 30, size=(13, 1))).astype(dtype)
        y = x[:7] * dtype(1 + 1e-3)
        exact = [[oracles.exact_distance(a, b) for b in y] for a in x]
        ratio = euclidean_distance(x, y).astype(np.float64) / np.array(exact, dtype=np.float64)
        # Relative: squares and their sum have one sign.
        assert np.abs(ratio - 1).max() <= 4 * np.finfo(dtype).eps

    def test_an_infinite_point_is_infinitely_far(self):
        result = euclidean_distance([[np.inf, 0.0]], [[1.0, 2.0], [-np.inf, 0.0]])
        np.testing.assert_array_equal(result, [[np.inf, np.inf]])

    @given(x=matrices(columns=st.just(3)))
    def test_is_symmetric_and_never_shortens_a_detour(self, x):
        distances = euclidean_distance(x)
        np.testing.assert_array_equal(distances, distances.T)
        detours = (distances[:, :, None] + distances[None, :, :]).min(axis=1)
        assert (distances <= detours * (1 + 1e-14)).all()

    @given(x=matrices(columns=st.just(3)), shift=st.integers(-8, 8))
    def test_powers_of_two_scale_it_exactly(self, x, shift):
        scaled = euclidean_distance(np.ldexp(x, shift))
        np.testing.assert_array_equal(scaled, np.ldexp(euclidean_distance(x), shift))

    def test_points_without_coordinates_coincide(self):
        np.testing.assert_array_equal(euclidean_distance(np.ones((2, 0))), np.zeros((2, 2)))
