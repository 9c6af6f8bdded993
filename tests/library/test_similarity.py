"""Similarity: dot products, cosines, distances."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfattn_ref import cosine_similarity, dot_similarity, euclidean_distance
from tests.support import digits
from tests.support.arrays import close, epsilon, normal
from tests.support.strategies import matrices


def hard(dtype, *, rows=13, width=17):
    """Return vectors of very different lengths."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(rows, width)) * 10.0 ** rng.uniform(-30, 30, size=(rows, 1))
    return x.astype(dtype)


class TestDotSimilarity:
    def test_multiplies_and_adds(self):
        # By hand: 2·7 + 3·11 = 47, 2·13 + 3·17 = 77, 5·7 + 1·11 = 46, 5·13 + 1·17 = 82.
        result = dot_similarity([[2, 3], [5, 1]], [[7, 11], [13, 17]])
        np.testing.assert_array_equal(result, [[47.0, 77.0], [46.0, 82.0]])

    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
    def test_agrees_with_50_digits(self, dtype):
        x = normal(3, 17, dtype=dtype) / 3  # in longdouble, numbers that float64 cannot hold
        rows = digits.exact(x)
        expected = digits.product(rows, digits.transpose(rows))
        assert digits.error(dot_similarity(x), expected) <= 8 * epsilon(dtype)

    def test_an_overflow_is_an_infinity(self):
        np.testing.assert_array_equal(dot_similarity([[1e200]], [[-1e200]]), [[-np.inf]])

    def test_vectors_without_numbers_have_the_product_zero(self):
        np.testing.assert_array_equal(dot_similarity(np.ones((2, 0))), np.zeros((2, 2)))


class TestCosineSimilarity:
    def test_knows_the_angles_of_the_plane(self):
        # 0°, 60°, 90°, 180° against the first axis.
        y = [[5.0, 0.0], [1.0, math.sqrt(3.0)], [0.0, 2.0], [-3.0, 0.0]]
        close(cosine_similarity([[7.0, 0.0]], y), [[1.0, 0.5, 0.0, -1.0]], 1e-15)

    @pytest.mark.parametrize(
        "dtype, sizes",
        [
            (np.float32, [1e-45, 1e-38, 1e-30, 1e30, 3e38]),
            (np.float64, [5e-324, 1e-310, 1e-300, 1e-160, 1e160, 1e300, 1.7e308]),
        ],
    )
    def test_tiny_and_huge_vectors_lose_no_accuracy(self, dtype, sizes):
        # (1, 1) · (1, 0) / √2, whatever the lengths, each row scaled by itself.
        x = np.array([[size, size] for size in sizes], dtype)
        y = np.array([[size, 0.0] for size in sizes], dtype)
        expected = np.full((len(x), len(x)), math.sqrt(0.5))
        np.testing.assert_allclose(cosine_similarity(x, y), expected, rtol=2 * epsilon(dtype))

    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
    def test_agrees_with_50_digits(self, dtype):
        x = hard(dtype) / 3
        rows = digits.exact(x)
        dots = digits.product(rows, digits.transpose(rows))
        lengths = [digits.mp50.sqrt(dots[i][i]) for i in range(13)]
        exact = [[dots[i][j] / lengths[i] / lengths[j] for j in range(13)] for i in range(13)]
        # The vectors have length one: the error of their product is absolute.
        assert digits.error(cosine_similarity(x), exact) <= 4 * epsilon(dtype)

    def test_never_exceeds_one(self):
        # Rounding alone takes some of these a unit beyond 1 before they are clipped.
        x = normal(500, 3)
        sizes = np.array([*3.0 ** np.arange(-2, 3), -3.0]).reshape(-1, 1, 1)
        assert np.abs(cosine_similarity(x, x * sizes)).max() == 1.0

    @given(x=matrices(columns=st.just(3), numbers=st.floats(-1e308, 1e308)))
    def test_lies_between_minus_one_and_one(self, x):
        cosines = cosine_similarity(x[x.any(axis=-1)])
        assert (np.abs(cosines) <= 1).all()
        np.testing.assert_allclose(np.diagonal(cosines), 1.0, rtol=4 * 2.0**-52)

    def test_a_vector_with_an_infinity_has_no_direction(self):
        result = cosine_similarity([[np.inf, 1.0], [3.0, 4.0]], [[0.0, 2.0], [1.0, 0.0]])
        close(result, [[np.nan, np.nan], [0.8, 0.6]], 1e-15)


class TestEuclideanDistance:
    def test_knows_the_right_triangles(self):
        # 3-4-5, 5-12-13, 8-15-17.
        points = [[3.0, 4.0], [5.0, -12.0], [-8.0, 15.0]]
        np.testing.assert_array_equal(euclidean_distance([[0.0, 0.0]], points), [[5.0, 13.0, 17.0]])

    def test_equal_points_have_distance_exactly_zero(self):
        distances = euclidean_distance(normal(31, 17) * 1e3)
        np.testing.assert_array_equal(distances == 0, np.eye(31, dtype=bool))

    def test_close_points_do_not_cancel(self):
        # The points differ by 2⁻³⁰ in one coordinate; x·x − 2 x·y + y·y would give 0 or noise.
        x = np.full((1, 3), 1e6)
        assert euclidean_distance(x, x + np.array([0.0, 2.0**-30, 0.0])).item() == 2.0**-30

    def test_tiny_and_huge_distances_neither_underflow_nor_overflow(self):
        # 3-4-5 again, in steps of very different sizes, each pair scaled by itself.
        sizes = np.array([5e-324, 1e-310, 1e-300, 1e-160, 1e160, 1e300, 3e307])
        y = np.stack([3 * sizes, 4 * sizes], axis=1)
        np.testing.assert_allclose(euclidean_distance([[0.0, 0.0]], y), [5 * sizes], rtol=4e-16)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.longdouble])
    def test_agrees_with_50_digits(self, dtype):
        x = hard(dtype) / 3
        y = x[:7] * dtype(1 + 1e-3)
        found = digits.exact(euclidean_distance(x, y))
        for i, a in enumerate(digits.exact(x)):
            for j, b in enumerate(digits.exact(y)):
                squares = ((p - q) ** 2 for p, q in zip(a, b, strict=True))
                expected = digits.mp50.sqrt(digits.mp50.fsum(squares))
                # Relative: squares and their sum have one sign.
                assert abs(found[i][j] / expected - 1) <= 4 * epsilon(dtype)

    def test_an_infinite_point_is_infinitely_far(self):
        result = euclidean_distance([[np.inf, 0.0]], [[1.0, 2.0], [-np.inf, 0.0]])
        np.testing.assert_array_equal(result, [[np.inf, np.inf]])

    def test_points_without_coordinates_coincide(self):
        np.testing.assert_array_equal(euclidean_distance(np.ones((2, 0))), np.zeros((2, 2)))
