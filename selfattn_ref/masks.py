"""Masks: which query may attend to which key.

A mask is boolean and True means *may attend*. Masks combine with ``&``.
"""

from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from selfattn_ref import _boundary, _kernels
from selfattn_ref._kernels import Mask

__all__ = ["causal_mask", "padding_mask", "segment_mask", "window_mask"]


@_boundary.public
def causal_mask(
    Tq: SupportsIndex, Tk: SupportsIndex | None = None, *, offset: SupportsIndex = 0
) -> Mask:
    r"""Let each query attend to its own position and to those before it.

    Key :math:`j` is visible to query :math:`i` if and only if :math:`j \le i + \text{offset}`.

    Parameters
    ----------
    Tq : int
        Number of queries, at least 0.
    Tk : int, optional
        Number of keys; by default `Tq`.
    offset : int, optional
        Position of the first query relative to key 0. 0 aligns query 0 with key 0, even if `Tq` and
        `Tk` differ. After `n` cached keys, pass `n`.

    Returns
    -------
    ndarray of bool, shape (Tq, Tk)
        True where the query may attend to the key. A negative `offset` leaves the first
        queries with no key.

    Raises
    ------
    TypeError
        If a size or the offset is not an integer.
    ValueError
        If a size is negative.

    See Also
    --------
    window_mask : Limit how far back, and how far ahead, a query sees.
    padding_mask : Hide the keys past the end of each sequence.

    Notes
    -----
    The mask of the decoder of [1]_, section 3.1. Worked example SA016 builds it step by step.

    References
    ----------
    .. [1] A. Vaswani et al., "Attention Is All You Need", 2017, arXiv:1706.03762.

    Examples
    --------
    >>> from selfattn_ref import causal_mask
    >>> causal_mask(3)
    array([[ True, False, False],
           [ True,  True, False],
           [ True,  True,  True]])

    Two new queries after three cached keys:

    >>> causal_mask(2, 5, offset=3)
    array([[ True,  True,  True,  True, False],
           [ True,  True,  True,  True,  True]])
    """
    return window_mask(Tq, Tq if Tk is None else Tk, None, 0, offset=offset)


@_boundary.public
def padding_mask(lengths: npt.ArrayLike, Tk: SupportsIndex) -> Mask:
    r"""Hide the keys past the end of each sequence.

    Key :math:`j` of sequence :math:`b` is visible, to every query, if and only if :math:`j <
    \text{lengths}_b`.

    Parameters
    ----------
    lengths : int or array_like of int, shape (...)
        Number of keys to keep, between 0 and `Tk`.
    Tk : int
        Number of keys, padding included.

    Returns
    -------
    ndarray of bool, shape (..., 1, Tk)
        The second-to-last axis, of length 1, is for the queries. Lengths of shape (B,) give a mask
        for scores (B, Tq, Tk); lengths of shape (B, 1) give one for scores (B, H, Tq, Tk). Length 0
        leaves every query of that sequence with no key.

    Raises
    ------
    TypeError
        If `lengths` does not hold integers or `Tk` is not an integer.
    ValueError
        If a length is negative or exceeds `Tk`; the message says which.

    See Also
    --------
    causal_mask : Hide the keys after each query.

    Examples
    --------
    >>> from selfattn_ref import padding_mask
    >>> padding_mask([1, 3], 3)
    array([[[ True, False, False]],
    <BLANKLINE>
           [[ True,  True,  True]]])
    """
    keys = _boundary.whole_number("Tk", Tk)
    kept = _boundary.integers("lengths", lengths, keys, "Tk")
    return np.arange(keys) < kept[..., np.newaxis, np.newaxis]


@_boundary.public
def segment_mask(segments: npt.ArrayLike, key_segments: npt.ArrayLike | None = None) -> Mask:
    r"""Let each query attend to the keys of its own segment.

    Key :math:`j` is visible to query :math:`i` if and only if :math:`\text{segments}_i =
    \text{key\_segments}_j`. So several short sequences that are packed into one row do not see each
    other.

    Parameters
    ----------
    segments : array_like of int, shape (..., Tq)
        The number of the segment in which each query stands; any that int64 holds.
    key_segments : array_like of int, shape (..., Tk), optional
        The segment number of each key; by default `segments`. Leading axes broadcast.

    Returns
    -------
    ndarray of bool, shape (..., Tq, Tk)
        True where the query may attend to the key. Give padding a segment number of its own.

    Raises
    ------
    TypeError
        If the segments are not integers.
    ValueError
        If there is no axis, or the leading axes do not broadcast.

    See Also
    --------
    causal_mask : Within a segment, also hide what comes later: combine with ``&``.

    Notes
    -----
    If positions restart with each segment, the caller has to count them; masks go by the position
    in the row.

    Examples
    --------
    A sequence of two and a sequence of one, packed into a row of three:

    >>> from selfattn_ref import segment_mask
    >>> segment_mask([0, 0, 1])
    array([[ True,  True, False],
           [ True,  True, False],
           [False, False,  True]])
    """
    asking = _boundary.segments("segments", segments)  # (..., Tq, 1)
    asked = asking if key_segments is None else _boundary.segments("key_segments", key_segments)
    _boundary.leading_axes(segments=asking, key_segments=asked)
    return np.asarray(asking == asked.mT)  # (..., Tq, Tk)


@_boundary.public
def window_mask(
    Tq: SupportsIndex,
    Tk: SupportsIndex,
    left: SupportsIndex | None,
    right: SupportsIndex | None,
    *,
    offset: SupportsIndex = 0,
) -> Mask:
    r"""Let each query attend to the keys at most `left` before and `right` after it.

    Key :math:`j` is visible to query :math:`i` if and only if
    :math:`-\text{left} \le j - (i + \text{offset}) \le \text{right}`.

    Parameters
    ----------
    Tq, Tk : int
        Numbers of queries and keys, at least 0.
    left, right : int or None
        How many keys before and after its own position a query sees, at least 0; None sets
        no limit on that side.
    offset : int, optional
        Position of the first query relative to key 0.

    Returns
    -------
    ndarray of bool, shape (Tq, Tk)
        True where the query may attend to the key.

    Raises
    ------
    TypeError
        If an argument is not an integer.
    ValueError
        If a size, `left` or `right` is negative.

    See Also
    --------
    causal_mask : The case ``left=None, right=0``.

    Notes
    -----
    Attention in a sliding window is described in [1]_, section 3.1.

    References
    ----------
    .. [1] I. Beltagy, M. E. Peters, A. Cohan, "Longformer: The Long-Document Transformer",
       2020, arXiv:2004.05150.

    Examples
    --------
    >>> from selfattn_ref import window_mask
    >>> window_mask(4, 4, 1, 0)
    array([[ True, False, False, False],
           [ True,  True, False, False],
           [False,  True,  True, False],
           [False, False,  True,  True]])
    """
    rows = slice(0, _boundary.whole_number("Tq", Tq))
    columns = slice(0, _boundary.whole_number("Tk", Tk))
    return _kernels.visible(rows, columns, _boundary.window_limits(left, right, offset))
