"""Weights: turn the scores of a query into a share for each key."""

from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from selfattn_ref import _checks

__all__ = ["attention_weights", "log_softmax", "softmax"]


@np.errstate(all="ignore")  # a NaN or +∞ shows in its row of the result, not as a warning
def softmax(x: npt.ArrayLike, axis: SupportsIndex = -1) -> _checks.Array:
    r"""Turn numbers into positive weights that add up to one.

    .. math:: p_i = \frac{e^{x_i - m}}{\sum_j e^{x_j - m}}, \qquad m = \max_j x_j

    Parameters
    ----------
    x : array_like, any shape with at least one axis
        Scores, without a unit.
    axis : int, optional
        The axis over which the weights add up to one: for attention, that of the keys.

    Returns
    -------
    ndarray, shape of x
        Weights in [0, 1]. A row that is all :math:`-\infty`, or empty, has no weight to give:
        zeros. A row with a NaN or :math:`+\infty` is all NaN. The dtype is that of `x`;
        16-bit inputs are computed in float32, integers in float64.

    Raises
    ------
    TypeError
        If `x` does not hold real numbers or `axis` is not an integer.
    ValueError
        If `x` has no such axis.

    See Also
    --------
    log_softmax : The logarithm of these weights.
    attention_weights : Softmax over the keys that a query may attend to.

    Notes
    -----
    Subtracting the largest number changes no weight and keeps every exponential at most 1; on
    how accurate that is, see [1]_. Taught on the page "Ask why it is softmax";
    worked example SA005.

    References
    ----------
    .. [1] P. Blanchard, D. J. Higham, N. J. Higham, "Accurately computing the log-sum-exp and
       softmax functions", IMA Journal of Numerical Analysis 41 (2021), pages 2311–2330,
       doi:10.1093/imanum/draa038.

    Examples
    --------
    Scores 0 and ln 2 stand in the ratio 1 to 2:

    >>> import numpy as np
    >>> from selfattn_ref import softmax
    >>> softmax([0.0, np.log(2.0)])
    array([0.33333333, 0.66666667])
    """
    x = _checks.real_array("x", x)
    axis = _checks.axis_of("x", x, axis)
    compute, result = _checks.working_dtype(x)

    weights = x.astype(compute)
    _turn_into_weights(weights, axis)
    return _checks.cast(weights, result)


@np.errstate(all="ignore")
def log_softmax(x: npt.ArrayLike, axis: SupportsIndex = -1) -> _checks.Array:
    r"""Compute the logarithm of the softmax, without rounding small weights to zero.

    .. math:: \log p_i = x_i - m - \log \sum_j e^{x_j - m}, \qquad m = \max_j x_j

    Parameters
    ----------
    x : array_like, any shape with at least one axis
        Scores, without a unit.
    axis : int, optional
        The axis over which the weights add up to one.

    Returns
    -------
    ndarray, shape of x
        Numbers that are at most 0, in nats. A row that is all :math:`-\infty` stays so: the
        logarithm of its zero weights. A row with a NaN or :math:`+\infty` is all NaN. Dtypes
        as in `softmax`.

    Raises
    ------
    TypeError
        If `x` does not hold real numbers or `axis` is not an integer.
    ValueError
        If `x` has no such axis.

    See Also
    --------
    softmax : The weights themselves.

    Notes
    -----
    The logarithm of `softmax` would be :math:`-\infty` wherever a weight underflows; this is
    not.

    Examples
    --------
    >>> from selfattn_ref import log_softmax, softmax
    >>> softmax([0.0, 1000.0]), log_softmax([0.0, 1000.0])
    (array([0., 1.]), array([-1000.,     0.]))
    """
    x = _checks.real_array("x", x)
    axis = _checks.axis_of("x", x, axis)
    compute, result = _checks.working_dtype(x)

    shifted = x.astype(compute)
    shifted -= _shift(shifted, axis)
    total = np.exp(shifted).sum(axis=axis, keepdims=True)
    total[total == 0] = 1
    shifted -= np.log(total)
    return _checks.cast(shifted, result)


@np.errstate(all="ignore")
def attention_weights(scores: npt.ArrayLike, *, mask: npt.ArrayLike | None = None) -> _checks.Array:
    r"""Share each query's attention among the keys it may attend to.

    .. math::

       A_{ij} = \frac{e^{s_{ij}}}{\sum_{j' \text{ allowed}} e^{s_{ij'}}}
       \text{ for an allowed } j, \qquad 0 \text{ for any other}

    Parameters
    ----------
    scores : array_like, shape (..., Tq, Tk)
        Entry (i, j) is the score of query i for key j.
    mask : array_like of bool, optional
        True where query i may attend to key j. It broadcasts to the scores: each axis, counted
        from the last, is equal or 1.

    Returns
    -------
    ndarray, shape (..., Tq, Tk)
        Each row adds up to one over the keys, unless the query has nobody to attend to: then
        its row is zeros. A NaN or an infinity where the mask is False changes nothing; in an
        allowed place, a NaN or :math:`+\infty` makes that row NaN. Dtypes as in `softmax`.

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers, or `mask` is not boolean.
    ValueError
        If `scores` has fewer than two axes, or `mask` does not broadcast to it.

    See Also
    --------
    causal_mask, padding_mask, window_mask : Masks to pass, also combined with ``&``.
    softmax : The same without a mask.

    Notes
    -----
    Masking selects; it neither multiplies nor adds, since 0 times infinity is not a number.
    Worked examples SA006 (no mask) and SA016 (causal).

    Examples
    --------
    >>> from selfattn_ref import attention_weights
    >>> attention_weights([[5.0, 5.0, 7.0]], mask=[[True, True, False]])
    array([[0.5, 0.5, 0. ]])
    """
    scores = _checks.real_array("scores", scores, "(..., Tq, Tk)")
    if mask is None:
        return softmax(scores)
    allowed = _checks.mask_array(mask, scores.shape)
    compute, result = _checks.working_dtype(scores)

    weights = scores.astype(compute)
    _turn_into_weights(weights, -1, allowed)
    return _checks.cast(weights, result)


def _turn_into_weights(
    scores: _checks.Array, axis: int, allowed: npt.NDArray[np.bool_] | None = None
) -> None:
    """Turn scores into weights where they stand, without another array of their size."""
    if allowed is not None:
        np.copyto(scores, -np.inf, where=~allowed)
    scores -= _shift(scores, axis)
    np.exp(scores, out=scores)
    total = scores.sum(axis=axis, keepdims=True)
    total[total == 0] = 1  # a row with no weight to give stays zero
    scores /= total


def _shift(x: _checks.Array, axis: int) -> _checks.Array:
    """Return the largest number of each row; for one with none above −∞, the lowest finite."""
    highest: _checks.Array = x.max(axis=axis, keepdims=True, initial=np.finfo(x.dtype).min)
    return highest
