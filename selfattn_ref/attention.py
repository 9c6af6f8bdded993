"""Attention: mix the values by the weights."""

import numpy as np
import numpy.typing as npt

from selfattn_ref import _checks
from selfattn_ref.scores import scaled_scores
from selfattn_ref.weights import _turn_into_weights

__all__ = ["scaled_dot_product_attention", "self_attention"]


@np.errstate(all="ignore")  # a NaN or an infinity shows in its row of the result
def scaled_dot_product_attention(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
    bias: npt.ArrayLike | None = None,
    scale: float | None = None,
) -> _checks.Array:
    r"""Give each query the average of the values, weighted by how well their keys match it.

    .. math:: \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}} + B\right) V

    Parameters
    ----------
    query : array_like, shape (..., Tq, d_k)
        One query a row.
    key : array_like, shape (..., Tk, d_k)
        One key a row.
    value : array_like, shape (..., Tk, d_v)
        One value a row, as many as keys. `d_v` may differ from `d_k`. The leading axes of all
        three broadcast.
    mask : array_like of bool, optional
        True where query i may attend to key j; broadcasts to the scores (..., Tq, Tk).
    bias : array_like of float, optional
        Added to the scaled scores before masking; broadcasts to them.
    scale : float, optional
        Factor of the dot products, finite; by default :math:`1/\sqrt{d_k}`.

    Returns
    -------
    ndarray, shape (..., Tq, d_v)
        Row i is the output for query i, in the unit of the values. A query with nobody to
        attend to gets zeros. What stands in a masked place changes nothing, a NaN or an
        infinity included; in an allowed place it shows in the rows that may attend to it, and
        in no other. The dtype is the common one of the inputs; 16-bit inputs are computed in
        float32.

    Raises
    ------
    TypeError
        If an array does not hold real numbers, `mask` is not boolean, or `bias` not floating.
    ValueError
        If widths, lengths or leading axes do not match, `mask` or `bias` does not broadcast to
        the scores, or `scale` is not finite. The message names the argument and both shapes.

    See Also
    --------
    scaled_scores, attention_weights : The two steps before the weighted sum.
    self_attention : Queries, keys and values from one sequence.

    Notes
    -----
    Equation 1 of [1]_. Taught on the page "Read the attention equation"; worked examples
    SA009, SA016.

    References
    ----------
    .. [1] A. Vaswani et al., "Attention Is All You Need", 2017, arXiv:1706.03762.

    Examples
    --------
    The scores are 0 and ln 2, the weights 1/3 and 2/3:

    >>> import numpy as np
    >>> from selfattn_ref import scaled_dot_product_attention
    >>> value = [[3.0, 0.0], [0.0, 3.0]]
    >>> scaled_dot_product_attention([[1.0]], [[0.0], [np.log(2)]], value)
    array([[1., 2.]])
    """
    query, key, value, allowed, added = _checks.attention_inputs(query, key, value, mask, bias)
    given = (query, key, value) if added is None else (query, key, value, added)
    compute, result = _checks.working_dtype(*given)
    query, key, value = (_checks.cast(array, compute) for array in (query, key, value))
    value = np.ascontiguousarray(value)  # one layout: the bits of a product depend on it

    scores = scaled_scores(query, key, scale=scale)  # (..., Tq, Tk)
    if added is not None:
        scores += _checks.cast(added, compute)
    _turn_into_weights(scores, -1, allowed)  # as attention_weights does, in place
    weights = scores  # (..., Tq, Tk)
    output: _checks.Array = weights @ value  # (..., Tq, d_v)
    if allowed is not None and not np.isfinite(output).all():
        output = _select_values(weights, value, allowed)
    return _checks.cast(output, result)


@np.errstate(all="ignore")
def self_attention(
    x: npt.ArrayLike,
    w_query: npt.ArrayLike,
    w_key: npt.ArrayLike,
    w_value: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
    scale: float | None = None,
) -> _checks.Array:
    r"""Let the positions of one sequence attend to each other.

    .. math:: Q = X W_Q, \qquad K = X W_K, \qquad V = X W_V

    followed by scaled dot-product attention.

    Parameters
    ----------
    x : array_like, shape (..., T, d_model)
        One embedding a row.
    w_query, w_key : array_like, shape (d_model, d_k)
        Projections to queries and to keys; they multiply from the right.
    w_value : array_like, shape (d_model, d_v)
        Projection to values.
    mask : array_like of bool, optional
        True where position i may attend to position j; broadcasts to (..., T, T).
    scale : float, optional
        Factor of the dot products, finite; by default :math:`1/\sqrt{d_k}`.

    Returns
    -------
    ndarray, shape (..., T, d_v)
        Row i is the output at position i. Edge cases and dtypes as in
        `scaled_dot_product_attention`.

    Raises
    ------
    TypeError
        If an array does not hold real numbers, or `mask` is not boolean.
    ValueError
        If the shapes do not match. The message names the argument and both shapes.

    See Also
    --------
    scaled_dot_product_attention : The same from queries, keys and values.

    Notes
    -----
    Taught on the page "Give each word a query, a key and a value"; worked example SA009.

    Examples
    --------
    Two positions that match themselves no better than each other share alike:

    >>> import numpy as np
    >>> from selfattn_ref import self_attention
    >>> x, zeros = [[2.0, 0.0], [0.0, 4.0]], np.zeros((2, 1))
    >>> self_attention(x, zeros, zeros, np.eye(2))
    array([[1., 2.],
           [1., 2.]])
    """
    x = _checks.real_array("x", x, "(..., T, d_model)")
    w_query = _checks.projection("w_query", w_query, x=x)
    w_key = _checks.projection("w_key", w_key, x=x)
    w_value = _checks.projection("w_value", w_value, x=x)
    _checks.same_size("width d_k", w_query=(w_query, -1), w_key=(w_key, -1))
    compute, result = _checks.working_dtype(x, w_query, w_key, w_value)
    x = _checks.cast(x, compute)

    query = x @ _checks.cast(w_query, compute)  # (..., T, d_k)
    key = x @ _checks.cast(w_key, compute)  # (..., T, d_k)
    value = x @ _checks.cast(w_value, compute)  # (..., T, d_v)
    output = scaled_dot_product_attention(query, key, value, mask=mask, scale=scale)
    return _checks.cast(output, result)


def _select_values(
    weights: _checks.Array, value: _checks.Array, allowed: npt.NDArray[np.bool_]
) -> _checks.Array:
    """Mix values some of which are not finite: add those only where they may be attended to.

    A product with a weight of 0 would not do: 0 times NaN is NaN.
    """
    finite = np.asarray(np.isfinite(value).all(axis=-1, keepdims=True))  # (..., Tk, 1)
    output = weights @ np.where(finite, value, 0)
    visible = np.broadcast_to(allowed, weights.shape)
    broken = ~finite.reshape(-1, finite.shape[-2]).all(axis=0)  # (Tk,)
    for j in np.flatnonzero(broken):
        here = slice(j, j + 1)
        term = weights[..., :, here] * np.where(finite[..., here, :], 0, value[..., here, :])
        output += np.where(visible[..., :, here], term, 0)
    return output
