"""Arrays to compute with, and how to compare them."""

import ml_dtypes
import numpy as np

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.longdouble]


def normal(*shape, seed=0, dtype=np.float64):
    """Return numbers around 0 of size about 1."""
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def normals(*shapes, seed=0, dtype=np.float64):
    """Return an array of each shape."""
    return [normal(*shape, seed=(seed, i), dtype=dtype) for i, shape in enumerate(shapes)]


def drawn(seed, *shape):
    """Return normal numbers for a seed that comes first, as hypothesis draws it."""
    return normal(*shape, seed=seed)


def some(*shape, seed=0):
    """Return a mask that allows about six in ten."""
    return np.random.default_rng(seed).random(shape) < 0.6


def epsilon(dtype):
    """Return the spacing of the numbers of a type at 1."""
    return float(ml_dtypes.finfo(dtype).eps)


def same_bits(result, expected):
    """Say whether two arrays agree in dtype, shape and every bit."""
    if (result.dtype, result.shape) != (expected.dtype, expected.shape):
        return False
    if result.dtype == np.longdouble:  # some of its bytes are padding, with anything in them
        equal = np.array_equal(result, expected, equal_nan=True)
        return equal and np.array_equal(np.signbit(result), np.signbit(expected))
    return result.tobytes() == expected.tobytes()


def require_same_bits(results, expected, case=""):
    """Require several results, arrays or numbers, to agree in dtype, shape and every bit."""
    for result, other in zip(results, expected, strict=True):
        assert same_bits(np.asarray(result), np.asarray(other)), case


def close(result, expected, tolerance=1e-12, case=""):
    """Require two arrays to agree in shape and, up to rounding, in every number."""
    assert np.shape(result) == np.shape(expected), case
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance, err_msg=str(case))


def nothing(result):
    """Say whether a result is what a query with nobody to attend to gets: 0, or log 0."""
    return bool(((result == 0) | (result == -np.inf)).all())
