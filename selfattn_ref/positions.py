"""Positions: tell attention where in the sequence each row is."""

from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from selfattn_ref import _boundary
from selfattn_ref._kernels import Array

__all__ = ["rotate_pairs", "sinusoidal_encoding"]


@_boundary.public
def sinusoidal_encoding(
    T: SupportsIndex, d_model: SupportsIndex, *, base: float = 10000.0
) -> Array:
    r"""Give each position a vector of sines and cosines, to be added to its embedding.

    .. math::

       P_{t,\,2i} = \sin(t\,\omega_i), \qquad P_{t,\,2i+1} = \cos(t\,\omega_i), \qquad
       \omega_i = \text{base}^{-2i/d_{\text{model}}}

    Parameters
    ----------
    T : int
        Number of positions, at least 0; they are counted from 0.
    d_model : int
        Width of the embedding; must be even, because a sine without its cosine cannot be shifted.
    base : float, optional
        Base of the powers that give the frequencies; positive and finite.

    Returns
    -------
    ndarray of float64, shape (T, d_model)
        Row t encodes position t: sines at even columns, cosines at odd ones. With a base
        of 1 or more, the error is at most 4 ε (1 + t), the error of an angle in float64.

    Raises
    ------
    TypeError
        If a size is not an integer or `base` is not a number.
    ValueError
        If a size is negative, `d_model` is odd, or `base` is not positive and finite.

    See Also
    --------
    rotate_pairs : Rotates queries and keys instead of adding to embeddings.

    Notes
    -----
    Row t + k is row t with each pair rotated by the angle :math:`k\,\omega_i`, the same for
    all t. Section 3.5 of [1]_. Worked example SA028.

    References
    ----------
    .. [1] A. Vaswani et al., "Attention Is All You Need", 2017, arXiv:1706.03762.

    Examples
    --------
    The first pair turns by one radian per position; the second, with base 100, by a tenth of a
    radian:

    >>> import numpy as np
    >>> from selfattn_ref import sinusoidal_encoding
    >>> np.round(sinusoidal_encoding(2, 4, base=100.0), 3)
    array([[0.   , 1.   , 0.   , 1.   ],
           [0.841, 0.54 , 0.1  , 0.995]])
    """
    length = _boundary.whole_number("T", T)
    width = _boundary.even_number("d_model", _boundary.whole_number("d_model", d_model))
    frequencies = _frequencies(width, _boundary.positive_number("base", base))

    angles = np.arange(length)[:, np.newaxis] * frequencies  # (T, d_model / 2)
    pairs = np.stack([np.sin(angles), np.cos(angles)], axis=-1)  # (T, d_model / 2, 2)
    return pairs.reshape(length, width)


@_boundary.public
def rotate_pairs(
    x: npt.ArrayLike,
    positions: npt.ArrayLike,
    *,
    base: float = 10000.0,
    interleaved: bool = False,
) -> Array:
    r"""Rotate each pair of columns by an angle that grows with the position.

    .. math::

       \begin{pmatrix} a \\ b \end{pmatrix} \mapsto
       \begin{pmatrix} \cos t\omega_i & -\sin t\omega_i \\
                       \sin t\omega_i & \cos t\omega_i \end{pmatrix}
       \begin{pmatrix} a \\ b \end{pmatrix}, \qquad \omega_i = \text{base}^{-2i/d}

    Parameters
    ----------
    x : array_like, shape (..., T, d)
        Queries or keys, one per row; `d` must be even.
    positions : array_like, shape (T,) or (..., T)
        Position t of each row, counted from any origin; fractions and negative numbers are allowed.
        Broadcasts to (..., T): each axis, counted from the last, must be equal or 1.
    base : float, optional
        Base of the powers that give the frequencies; positive and finite.
    interleaved : bool, optional
        Which columns make pair i: the halves (i, i + d/2) by default, the neighbors
        (2i, 2i + 1) if True.

    Returns
    -------
    ndarray, shape of x
        Each row keeps its length, and the dot product of a rotated query with a rotated key depends
        only on the difference of their positions. The dtype is that of `x`; 16-bit inputs are
        rotated in float32. The angle is computed in float64 whatever the dtype, so that distant
        positions stay accurate.

    Raises
    ------
    TypeError
        If an array does not hold real numbers, `base` is not a number, or `interleaved` is not
        a boolean.
    ValueError
        If `x` has fewer than two axes, its width is odd, `positions` does not broadcast to its
        rows, or `base` is not positive and finite.

    See Also
    --------
    sinusoidal_encoding : The same angles, added to the embeddings.

    Notes
    -----
    Rotary position embedding [1]_. Both layouts are in use, and they give the same scores only if
    the columns of the projections are permuted to match. The paper and its code pair neighbors, as
    do GPT-J and the code and weights of LLaMA from Meta. GPT-NeoX pairs halves, as does LLaMA in
    Hugging Face Transformers, whose conversion permutes the weights [2]_. Worked example SA029.

    References
    ----------
    .. [1] J. Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021,
       section 3.4.2, arXiv:2104.09864.
    .. [2] "Rotary positional embedding differs with official implementation", 2023,
       https://github.com/huggingface/transformers/issues/25199.

    Examples
    --------
    A quarter turn and a half turn:

    >>> import numpy as np
    >>> from selfattn_ref import rotate_pairs
    >>> np.round(rotate_pairs([[2.0, 1.0], [2.0, 1.0]], [np.pi / 2, np.pi]), 12)
    array([[-1.,  2.],
           [-2., -1.]])
    """
    x, positions, angle, result = _boundary.rows_at(x, positions)
    first, second = _halves(x.shape[-1], _boundary.flag("interleaved", interleaved))
    frequencies = _frequencies(x.shape[-1], _boundary.positive_number("base", base, angle))

    cos, sin = _cos_and_sin(positions[..., np.newaxis] * frequencies, x.dtype)  # (..., T, d / 2)
    a, b = x[..., first], x[..., second]  # (..., T, d / 2)
    rotated = np.empty_like(x)
    rotated[..., first], rotated[..., second] = a * cos - b * sin, a * sin + b * cos
    return _boundary.cast(rotated, result)


def _cos_and_sin(angles: Array, dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """Return both in the dtype of the rows; the angles have more digits."""
    return _boundary.cast(np.cos(angles), dtype), _boundary.cast(np.sin(angles), dtype)


def _frequencies(width: int, base: Any) -> Array:
    """Return the angle by which each pair turns from one position to the next."""
    pairs = np.arange(width // 2)
    return np.asarray(np.power(base, -2 * pairs / np.asarray(base).dtype.type(max(width, 1))))


def _halves(width: int, neighbors: bool) -> tuple[slice, slice]:
    """Return where the first and the second of each pair of columns stand."""
    half = width // 2
    if neighbors:
        return slice(0, None, 2), slice(1, None, 2)
    return slice(0, half), slice(half, None)
