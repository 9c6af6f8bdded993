"""Scores: how well each query matches each key."""

import numpy as np
import numpy.typing as npt

from selfattn_ref import _checks

__all__ = ["scaled_scores", "soft_cap"]


@np.errstate(all="ignore")  # an overflow shows as an infinity in the result, not as a warning
def scaled_scores(
    query: npt.ArrayLike, key: npt.ArrayLike, *, scale: float | None = None
) -> _checks.Array:
    r"""Compare every query with every key by a scaled dot product.

    .. math:: S = \frac{Q K^\top}{\sqrt{d_k}}

    Parameters
    ----------
    query : array_like, shape (..., Tq, d_k)
        One query a row.
    key : array_like, shape (..., Tk, d_k)
        One key a row. The leading axes broadcast with those of `query`.
    scale : float, optional
        Factor of the dot products, finite; by default :math:`1/\sqrt{d_k}`, with `d_k` the
        width of one key (of one head), not that of the embedding.

    Returns
    -------
    ndarray, shape (..., Tq, Tk)
        Entry (i, j) is the score of query i for key j, without a unit. The dtype is the common
        one of the inputs; 16-bit inputs are multiplied in float32.

    Raises
    ------
    TypeError
        If an array does not hold real numbers, or `scale` is not one.
    ValueError
        If the widths differ, the leading axes do not broadcast, `scale` is not finite, or
        d_k = 0 without a `scale`.

    See Also
    --------
    attention_weights : Turn the scores into weights.
    dot_similarity : The same comparison without the scale.

    Notes
    -----
    Equation 1 of [1]_. Taught on the page "Read the attention equation"; worked example SA015.

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
    query = _checks.real_array("query", query, "(..., Tq, d_k)")
    key = _checks.real_array("key", key, "(..., Tk, d_k)")
    _checks.same_size("width d_k", query=(query, -1), key=(key, -1))
    _checks.leading_axes(query=query, key=key)
    factor = _checks.scale_or_default(scale, query.shape[-1])
    compute, result = _checks.working_dtype(query, key)

    scaled_query = factor * _checks.cast(query, compute)  # cheaper than to scale the scores
    scores = scaled_query @ _checks.cast(key, compute).mT  # (..., Tq, Tk)
    return _checks.cast(scores, result)


@np.errstate(all="ignore")
def soft_cap(scores: npt.ArrayLike, cap: float) -> _checks.Array:
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
        Scores in [−cap, cap], in the same order as before; those much smaller than the cap
        hardly change.

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers or `cap` is not one.
    ValueError
        If `cap` is not positive and finite, also when rounded to the dtype of the scores.

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
    scores = _checks.real_array("scores", scores)
    compute, result = _checks.working_dtype(scores)
    bound = _checks.finite_number("cap", cap)
    if not 0 < compute.type(bound) < np.inf:
        raise ValueError(f"cap must be positive and finite in {compute}, got {bound}")
    capped = bound * np.tanh(_checks.cast(scores, compute) / bound)
    return _checks.cast(np.asarray(capped), result)
