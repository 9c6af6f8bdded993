"""Scores: how well each query matches each key."""

import numpy.typing as npt

from selfattn_ref import _boundary, _kernels
from selfattn_ref._kernels import Array

__all__ = ["scaled_scores", "soft_cap"]


@_boundary.public
def scaled_scores(query: npt.ArrayLike, key: npt.ArrayLike, *, scale: float | None = None) -> Array:
    r"""Compare every query with every key by a scaled dot product.

    .. math:: S = \frac{Q K^\top}{\sqrt{d_k}}

    Parameters
    ----------
    query : array_like, shape (..., Tq, d_k)
        One query per row.
    key : array_like, shape (..., Tk, d_k)
        One key per row. The leading axes broadcast with those of `query`.
    scale : float, optional
        Finite factor that multiplies the dot products; by default :math:`1/\sqrt{d_k}`, where `d_k`
        is the width of a key in one head, not the width of the embedding.

    Returns
    -------
    ndarray, shape (..., Tq, Tk)
        Entry (i, j) is the score of query i for key j, without a unit. The dtype is the common
        one of the inputs; 16-bit inputs are multiplied in float32.

    Raises
    ------
    TypeError
        If an array does not hold real numbers, or `scale` is not a real number.
    ValueError
        If the widths differ, the leading axes do not broadcast, `scale` is not finite, or
        d_k = 0 without a `scale`.

    See Also
    --------
    attention_weights : Turn the scores into weights.
    dot_similarity : The same comparison without the scale.

    Notes
    -----
    Equation 1 of [1]_. Taught on the page "Scaled dot-product attention"; worked example SA015.

    References
    ----------
    .. [1] A. Vaswani et al., "Attention Is All You Need", 2017, arXiv:1706.03762.

    Examples
    --------
    With d_k = 4 the dot products are halved:

    >>> from selfattn_ref import scaled_scores
    >>> scaled_scores([[1.0, 1, 1, 1]], [[1.0, 1, 1, 1], [1, 1, -1, -1]])
    array([[2., 0.]])
    """
    query, key, factor, result = _boundary.queries_and_keys(query, key, scale)

    scores = factor * query @ key.mT  # (..., Tq, Tk); cheaper than to scale the scores
    return _boundary.cast(scores, result)


@_boundary.public
def soft_cap(scores: npt.ArrayLike, cap: float) -> Array:
    r"""Bend the scores so that none exceeds a cap.

    .. math:: s \mapsto c \tanh(s / c)

    Parameters
    ----------
    scores : array_like, any shape
        Scores before masking: the cap would turn a masked :math:`-\infty` into :math:`-c`.
    cap : float
        The bound :math:`c`, positive and finite, in the unit of the scores.

    Returns
    -------
    ndarray, shape of scores
        Scores in [−cap, cap], with the cap rounded to their dtype, in the same order as before
        up to rounding; those much smaller than the cap hardly change.

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers, or `cap` is not a real number.
    ValueError
        If `cap` is not positive and finite, before or after rounding to the dtype of the scores,
        or to float32 if they have 16 bits.

    See Also
    --------
    scaled_scores : The scores to cap.

    Notes
    -----
    Used in [1]_, section 2.

    References
    ----------
    .. [1] Gemma Team, "Gemma 2: Improving Open Language Models at a Practical Size", 2024,
       arXiv:2408.00118.

    Examples
    --------
    >>> import numpy as np
    >>> from selfattn_ref import soft_cap
    >>> np.round(soft_cap([0.0, 1.0, 50.0, 1000.0], 50.0), 3)
    array([ 0.  ,  1.  , 38.08, 50.  ])
    """
    scores = _boundary.real_array("scores", scores)
    compute, result = _boundary.dtypes(scores=scores)
    bound = _boundary.positive_number("cap", cap, compute)

    capped = _kernels.adjusted(_boundary.fresh(scores, compute), bound, None)
    return _boundary.cast(capped, result)
