"""Weights: turn the scores of a query into a share for each key."""

from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from selfattn_ref import _boundary
from selfattn_ref._kernels import Array, exponentials, largest, share, subtractable

__all__ = ["attention_weights", "log_softmax", "log_sum_exp", "softmax"]


@_boundary.public
def softmax(x: npt.ArrayLike, axis: SupportsIndex = -1) -> Array:
    r"""Turn numbers into nonnegative weights that add up to one.

    .. math:: p_i = \frac{e^{x_i - m}}{\sum_j e^{x_j - m}}, \qquad m = \max_j x_j

    Parameters
    ----------
    x : array_like, any shape with at least one axis
        Scores, without a unit.
    axis : int, optional
        The axis over which the weights add up to one; for attention, the axis of the keys.

    Returns
    -------
    ndarray, shape of x
        Weights in [0, 1]. A row that is empty or all :math:`-\infty` has no weight to give and
        becomes zeros. A row with a NaN or :math:`+\infty` is all NaN. The dtype is that of `x`;
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
    log_sum_exp : The logarithm of the sum that they are divided by.
    attention_weights : Softmax over the keys that a query may attend to.

    Notes
    -----
    Subtracting the largest number changes no weight and keeps every exponential at most 1; for the
    accuracy, see [1]_. Taught on the page "Why softmax"; worked example SA005.

    References
    ----------
    .. [1] P. Blanchard, D. J. Higham, N. J. Higham, "Accurately computing the log-sum-exp and
       softmax functions", IMA Journal of Numerical Analysis 41 (2021), pages 2311–2330,
       doi:10.1093/imanum/draa038.

    Examples
    --------
    Scores of 0 and ln 2 give weights in the ratio 1 to 2:

    >>> import numpy as np
    >>> from selfattn_ref import softmax
    >>> softmax([0.0, np.log(2.0)])
    array([0.33333333, 0.66666667])
    """
    x = _boundary.real_array("x", x)
    axis = _boundary.axis_of("x", x, axis)
    compute, result = _boundary.dtypes(x=x)

    weights = share(_boundary.fresh(x, compute), axis=axis)
    return _boundary.cast(weights, result)


@_boundary.public
def log_softmax(x: npt.ArrayLike, axis: SupportsIndex = -1) -> Array:
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
        Numbers that are at most 0, in nats. A row that is all :math:`-\infty` stays that way, as
        the logarithm of its zero weights. A row with a NaN or :math:`+\infty` is all NaN. Dtypes as
        in `softmax`.

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
    The logarithm of the result of `softmax` would be :math:`-\infty` wherever a weight underflows;
    here it is not.

    Examples
    --------
    >>> from selfattn_ref import log_softmax, softmax
    >>> softmax([0.0, 1000.0]), log_softmax([0.0, 1000.0])
    (array([0., 1.]), array([-1000.,     0.]))
    """
    x = _boundary.real_array("x", x)
    axis = _boundary.axis_of("x", x, axis)
    compute, result = _boundary.dtypes(x=x)

    shifted = _boundary.fresh(x, compute)
    shifted -= subtractable(largest(shifted, axis))
    total = np.exp(shifted).sum(axis=axis, keepdims=True)
    log_weights = shifted - np.where(total == 0, 0, np.log(total))
    return _boundary.cast(log_weights, result)


@_boundary.public
def log_sum_exp(scores: npt.ArrayLike, *, mask: npt.ArrayLike | None = None) -> Array:
    r"""Compute the logarithm of the sum that the softmax of each row divides by.

    .. math:: \log \sum_{j \text{ allowed}} e^{s_{ij}}

    Parameters
    ----------
    scores : array_like, shape (..., Tq, Tk)
        Entry (i, j) is the score of query i for key j.
    mask : array_like of bool, optional
        True where query i may attend to key j; broadcasts to the scores.

    Returns
    -------
    ndarray, shape (..., Tq)
        One number for each query, in nats; :math:`-\infty` for one with nobody to attend to. A NaN
        or :math:`+\infty` in an allowed position makes it NaN. Dtypes as in `softmax`.

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers, or `mask` is not boolean.
    ValueError
        If `scores` has fewer than two axes, or `mask` does not broadcast to it.

    See Also
    --------
    attention_weights : The weights that these sums normalize.
    attention_state : The same for long sequences, as ``attention_state(...).log_sum_exp``.

    Notes
    -----
    Kernels return it along with the output, so that the weights can be recomputed in the backward
    pass: :math:`A_{ij} = e^{s_{ij} - \text{log-sum-exp}_i}`. For attention, apply it to the scaled
    scores: ``log_sum_exp(scaled_scores(query, key), mask=mask)``.

    Examples
    --------
    >>> import numpy as np
    >>> from selfattn_ref import log_sum_exp
    >>> log_sum_exp([[0.0, np.log(2.0)], [1000.0, 1000.0]])
    array([   1.09861229, 1000.69314718])
    """
    scores, mask, result = _boundary.masked_scores(scores, mask)

    highest = exponentials(scores, mask)  # (..., Tq, 1)
    total = scores.sum(axis=-1, keepdims=True)
    return _boundary.cast((highest + np.log(total))[..., 0], result)


@_boundary.public
def attention_weights(scores: npt.ArrayLike, *, mask: npt.ArrayLike | None = None) -> Array:
    r"""Share each query's attention among the keys it may attend to.

    .. math::

       A_{ij} = \frac{e^{s_{ij}}}{\sum_{j' \text{ allowed}} e^{s_{ij'}}}
       \text{ for an allowed } j, \qquad 0 \text{ for any other}

    Parameters
    ----------
    scores : array_like, shape (..., Tq, Tk)
        Entry (i, j) is the score of query i for key j.
    mask : array_like of bool, optional
        True where query i may attend to key j. Broadcasts to the scores: each axis, counted from
        the last, must be equal or 1.

    Returns
    -------
    ndarray, shape (..., Tq, Tk)
        Each row adds up to one over the keys, unless the query has nobody to attend to; then its
        row is all zeros. A NaN or an infinity where the mask is False changes nothing; in an
        allowed position, a NaN or :math:`+\infty` makes that row NaN. Dtypes as in `softmax`.

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers, or `mask` is not boolean.
    ValueError
        If `scores` has fewer than two axes, or `mask` does not broadcast to it.

    See Also
    --------
    causal_mask, padding_mask, window_mask : Masks to pass, alone or combined with ``&``.
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
    scores, mask, result = _boundary.masked_scores(scores, mask)

    weights = share(scores, mask)
    return _boundary.cast(weights, result)
