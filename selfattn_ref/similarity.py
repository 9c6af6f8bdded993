"""Similarity: three ways to compare vectors, each for all pairs of rows at once."""

import numpy as np
import numpy.typing as npt

from selfattn_ref import _boundary
from selfattn_ref._kernels import Array

__all__ = ["cosine_similarity", "dot_similarity", "euclidean_distance"]


@_boundary.public
def dot_similarity(x: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Array:
    r"""Compare rows by their dot products.

    .. math:: x \cdot y = \sum_i x_i y_i

    Parameters
    ----------
    x : array_like, shape (..., n, d)
        One vector per row.
    y : array_like, shape (..., m, d), optional
        The vectors to compare with; by default those of `x`.

    Returns
    -------
    ndarray, shape (..., n, m)
        Entry (i, j) compares row i of `x` with row j of `y`; its unit is the product of their
        units. The dtype is the common dtype of the inputs; 16-bit inputs are multiplied in float32.

    Raises
    ------
    TypeError
        If an array does not hold real numbers.
    ValueError
        If the widths differ or the leading axes do not broadcast.

    See Also
    --------
    cosine_similarity : Ignores the lengths of the vectors.
    scaled_scores : The dot product divided by the root of the width.

    Notes
    -----
    Taught on the page "Similarity: dot product, cosine, distance"; worked examples SA001 and SA004.

    Examples
    --------
    >>> from selfattn_ref import dot_similarity
    >>> dot_similarity([[3.0, 3.0], [4.0, 0.0]])
    array([[18., 12.],
           [12., 16.]])
    """
    x, y, result = _boundary.pairs(x, y)
    return _boundary.cast(x @ y.mT, result)


@_boundary.public
def cosine_similarity(x: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Array:
    r"""Compare rows by the cosine of the angle between them.

    .. math:: \cos(x, y) = \frac{x \cdot y}{\lVert x \rVert \, \lVert y \rVert}

    Parameters
    ----------
    x : array_like, shape (..., n, d)
        One vector per row, none of them zero.
    y : array_like, shape (..., m, d), optional
        The vectors to compare with; by default those of `x`.

    Returns
    -------
    ndarray, shape (..., n, m)
        Numbers in [−1, 1], without a unit. Very long and very short vectors lose no accuracy.
        A vector with a NaN or an infinity has no direction: its row or column is NaN.

    Raises
    ------
    TypeError
        If an array does not hold real numbers.
    ValueError
        If a vector is zero and so has no direction (the message names its row), the widths differ,
        or the leading axes do not broadcast.

    See Also
    --------
    dot_similarity : The same for vectors of length one.

    Notes
    -----
    Taught on the page "Similarity: dot product, cosine, distance"; worked example SA001. Such
    measures are used in [1]_ to compare documents as vectors of term weights.

    References
    ----------
    .. [1] G. Salton, A. Wong, C. S. Yang, "A vector space model for automatic indexing",
       Communications of the ACM 18 (1975), pages 613–620, doi:10.1145/361219.361220.

    Examples
    --------
    >>> from selfattn_ref import cosine_similarity
    >>> cosine_similarity([[2.0, 0.0], [0.0, 5.0]], [[1.0, 0.0]])
    array([[1.],
           [0.]])
    """
    same = y is None
    x, y, result = _boundary.pairs(x, y)
    _boundary.nonzero_rows("x", x)
    _boundary.nonzero_rows("y", y)

    directions = _directions(x)
    others = directions if same else _directions(y)
    cosines = np.clip(directions @ others.mT, -1, 1)  # rounding may pass 1 by an ulp
    return _boundary.cast(cosines, result)


@_boundary.public
def euclidean_distance(x: npt.ArrayLike, y: npt.ArrayLike | None = None) -> Array:
    r"""Compare rows by the length of the line between them.

    .. math:: \lVert x - y \rVert = \sqrt{\sum_i (x_i - y_i)^2}

    Parameters
    ----------
    x : array_like, shape (..., n, d)
        One point per row.
    y : array_like, shape (..., m, d), optional
        The points to compare with; by default those of `x`.

    Returns
    -------
    ndarray, shape (..., n, m)
        Nonnegative numbers, in the units of the inputs; small means similar. Equal
        finite points have distance exactly 0.

    Raises
    ------
    TypeError
        If an array does not hold real numbers.
    ValueError
        If the widths differ or the leading axes do not broadcast.

    See Also
    --------
    cosine_similarity : For vectors of length one, the order is the same.

    Notes
    -----
    The differences are computed one by one (memory n·m·d), because the faster formula with dot
    products loses half the digits when two points are close. Taught on the page "Similarity: dot
    product, cosine, distance"; worked example SA001.

    Examples
    --------
    >>> from selfattn_ref import euclidean_distance
    >>> euclidean_distance([[0.0, 0.0]], [[3.0, 4.0], [0.0, 1.0]])
    array([[5., 1.]])
    """
    x, y, result = _boundary.pairs(x, y)
    difference = x[..., :, np.newaxis, :] - y[..., np.newaxis, :, :]  # (..., n, m, d)
    scaled, exponent = _scaled(difference)
    distance = np.ldexp(np.sqrt((scaled**2).sum(axis=-1)), exponent[..., 0])
    return _boundary.cast(np.asarray(distance), result)


def _scaled(x: Array) -> tuple[Array, npt.NDArray[np.intc]]:
    """Split each row into one with entries up to 1 and a power of two, so that squares are safe.

    A power of two rounds nothing.
    """
    largest = np.abs(x).max(axis=-1, keepdims=True, initial=0)
    _, exponent = np.frexp(largest)
    exponent = np.where(np.isfinite(largest), exponent, 0)
    return np.ldexp(x, -exponent), exponent


def _directions(x: Array) -> Array:
    """Return each row divided by its length."""
    scaled, _ = _scaled(x)
    return np.asarray(scaled / np.sqrt((scaled**2).sum(axis=-1, keepdims=True)))
