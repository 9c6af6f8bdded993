"""Gradients: how a small change of each input changes a loss, given how the output does.

A vector-Jacobian product (vjp) takes ``d_output``, the gradient of some loss with respect to
the output, and returns the gradients of that loss with respect to the inputs.
"""

import numpy as np
import numpy.typing as npt

from selfattn_ref import _checks
from selfattn_ref.attention import _select_values
from selfattn_ref.scores import scaled_scores
from selfattn_ref.weights import attention_weights

__all__ = ["scaled_dot_product_attention_vjp", "self_attention_vjp", "softmax_vjp"]

Mask = npt.NDArray[np.bool_]


@np.errstate(all="ignore")  # a NaN or an infinity shows in its row of the result
def softmax_vjp(weights: npt.ArrayLike, d_weights: npt.ArrayLike) -> _checks.Array:
    r"""Carry a gradient back from the weights to the scores they were made from.

    .. math:: dS_{ij} = A_{ij} \Bigl(dA_{ij} - \sum_k A_{ik}\, dA_{ik}\Bigr)

    Parameters
    ----------
    weights : array_like, shape (..., n)
        Weights :math:`A`, as `softmax` or `attention_weights` returns them: they add up to one
        over the last axis, or are all zero.
    d_weights : array_like, shape of weights
        Gradient with respect to the weights.

    Returns
    -------
    ndarray, shape of weights
        Gradient with respect to the scores; each row adds up to zero. Where a weight is
        exactly 0, as for a masked key, the gradient is 0, and what stands there in `d_weights`
        changes nothing, a NaN or an infinity included. The dtype is the common one; 16-bit
        inputs are computed in float32.

    Raises
    ------
    TypeError
        If an array does not hold real numbers.
    ValueError
        If there is no axis, or the shapes differ.

    See Also
    --------
    softmax, attention_weights : The step that this one goes back.

    Notes
    -----
    The Jacobian of the softmax is :math:`\operatorname{diag}(p) - p p^\top`, symmetric.
    Worked examples SA020 and SA031; the page "Watch a softmax saturate" derives it.

    Examples
    --------
    Of equal weights, the first gains what the second loses:

    >>> from selfattn_ref import softmax_vjp
    >>> softmax_vjp([0.5, 0.5], [1.0, 0.0])
    array([ 0.25, -0.25])
    """
    weights = _checks.real_array("weights", weights, "(..., n)")
    d_weights = _checks.real_array("d_weights", d_weights, "(..., n)")
    _checks.same_shape(weights=weights.shape, d_weights=d_weights.shape)
    compute, result = _checks.working_dtype(weights, d_weights)
    weights, d_weights = (_checks.cast(array, compute) for array in (weights, d_weights))
    d_scores = _d_scores(weights, d_weights, weights != 0)
    return _checks.cast(d_scores, result)


@np.errstate(all="ignore")
def scaled_dot_product_attention_vjp(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    d_output: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
    bias: npt.ArrayLike | None = None,
    scale: float | None = None,
) -> tuple[_checks.Array, _checks.Array, _checks.Array]:
    r"""Carry a gradient back from the output of attention to queries, keys and values.

    .. math::

       dV = A^\top dO, \qquad dA = dO\, V^\top, \qquad
       dQ = \frac{dS\, K}{\sqrt{d_k}}, \qquad dK = \frac{dS^\top Q}{\sqrt{d_k}}

    with :math:`A` the weights and :math:`dS` the gradient of the scores, from `softmax_vjp`.

    Parameters
    ----------
    query : array_like, shape (..., Tq, d_k)
        One query a row.
    key : array_like, shape (..., Tk, d_k)
        One key a row.
    value : array_like, shape (..., Tk, d_v)
        One value a row. The leading axes of all three broadcast.
    d_output : array_like, shape (..., Tq, d_v)
        Gradient with respect to the output, in exactly its shape.
    mask : array_like of bool, optional
        True where query i may attend to key j; broadcasts to the scores (..., Tq, Tk).
    bias : array_like of float, optional
        Added to the scaled scores before masking; broadcasts to them.
    scale : float, optional
        Factor of the dot products, finite; by default :math:`1/\sqrt{d_k}`.

    Returns
    -------
    d_query : ndarray, shape of query
        Gradient with respect to the queries. A query with nobody to attend to gets zeros.
    d_key : ndarray, shape of key
        Gradient with respect to the keys. A key that nobody may attend to gets zeros.
    d_value : ndarray, shape of value
        Gradient with respect to the values; zeros likewise.

    Raises
    ------
    TypeError
        If an array does not hold real numbers, `mask` is not boolean, or `bias` not floating.
    ValueError
        If the shapes do not match, or `scale` is not finite. The message names the argument and
        both shapes.

    See Also
    --------
    scaled_dot_product_attention : The pass that this one goes back.
    self_attention_vjp : Back to one sequence and its projections.

    Notes
    -----
    Over an axis along which an input was broadcast, its gradients are added up. What stands in
    a masked place changes nothing, a NaN or an infinity included; in an allowed place it shows
    in the gradients that depend on it, and in no other. The dtype is the common one of all
    arrays; 16-bit inputs are computed in float32.

    The weights are computed again, not remembered. The gradient with respect to `bias` is
    :math:`dS`: ``softmax_vjp(weights, d_output @ value.mT)``. Worked example SA031.

    Examples
    --------
    The weights are 1/4 and 3/4. The output moves toward the first value by 3/16 for each unit
    that the first score gains:

    >>> import numpy as np
    >>> from selfattn_ref import scaled_dot_product_attention_vjp
    >>> d_query, d_key, d_value = scaled_dot_product_attention_vjp(
    ...     [[1.0]], [[0.0], [np.log(3)]], [[16.0], [0.0]], [[1.0]]
    ... )
    >>> d_key
    array([[ 3.],
           [-3.]])
    >>> d_value
    array([[0.25],
           [0.75]])
    """
    d_output = _checks.real_array("d_output", d_output, "(..., Tq, d_v)")
    query, key, value, allowed, added = _checks.attention_inputs(query, key, value, mask, bias)
    leading = _checks.leading_axes(query=query, key=key, value=value)
    output = (*leading, query.shape[-2], value.shape[-1])
    _checks.same_shape(d_output=d_output.shape, output=output)
    factor = _checks.scale_or_default(scale, query.shape[-1])
    given = (query, key, value, d_output)
    compute, result = _checks.working_dtype(*given, *(() if added is None else (added,)))
    query, key, value, d_output = (  # one layout: the bits of a product depend on it
        np.ascontiguousarray(_checks.cast(array, compute)) for array in given
    )

    scores = scaled_scores(query, key, scale=factor)  # (..., Tq, Tk)
    if added is not None:
        scores += _checks.cast(added, compute)
    visible = np.broadcast_to(True if allowed is None else allowed, scores.shape)
    weights = np.where(visible, attention_weights(scores, mask=visible), 0)  # (..., Tq, Tk)
    d_value = _product(weights.mT, d_output, visible.mT)  # (..., Tk, d_v)
    d_weights = d_output @ value.mT  # (..., Tq, Tk)
    d_scores = factor * _d_scores(weights, d_weights, visible)  # (..., Tq, Tk)
    d_query = _product(d_scores, key, visible)  # (..., Tq, d_k)
    d_key = _product(d_scores.mT, query, visible.mT)  # (..., Tk, d_k)
    return (
        _checks.cast(_summed(d_query, query.shape), result),
        _checks.cast(_summed(d_key, key.shape), result),
        _checks.cast(_summed(d_value, value.shape), result),
    )


@np.errstate(all="ignore")
def self_attention_vjp(
    x: npt.ArrayLike,
    w_query: npt.ArrayLike,
    w_key: npt.ArrayLike,
    w_value: npt.ArrayLike,
    d_output: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
    scale: float | None = None,
) -> tuple[_checks.Array, _checks.Array, _checks.Array, _checks.Array]:
    r"""Carry a gradient back from the output of self-attention to the sequence and projections.

    .. math::

       dX = dQ\, W_Q^\top + dK\, W_K^\top + dV\, W_V^\top, \qquad
       dW_Q = X^\top dQ, \quad dW_K = X^\top dK, \quad dW_V = X^\top dV

    Parameters
    ----------
    x : array_like, shape (..., T, d_model)
        One embedding a row.
    w_query, w_key : array_like, shape (d_model, d_k)
        Projections to queries and to keys; they multiply from the right.
    w_value : array_like, shape (d_model, d_v)
        Projection to values.
    d_output : array_like, shape (..., T, d_v)
        Gradient with respect to the output, in exactly its shape.
    mask : array_like of bool, optional
        True where position i may attend to position j; broadcasts to (..., T, T).
    scale : float, optional
        Factor of the dot products, finite; by default :math:`1/\sqrt{d_k}`.

    Returns
    -------
    d_x : ndarray, shape of x
        Gradient with respect to the sequence. A position that neither attends nor is attended
        to gets zeros, and adds nothing to the other gradients, whatever stands there.
    d_w_query : ndarray, shape of w_query
        Gradient with respect to that projection, added up over all sequences.
    d_w_key : ndarray, shape of w_key
        Likewise.
    d_w_value : ndarray, shape of w_value
        Likewise. Edge cases and dtypes as in `scaled_dot_product_attention_vjp`.

    Raises
    ------
    TypeError
        If an array does not hold real numbers, or `mask` is not boolean.
    ValueError
        If the shapes do not match. The message names the argument and both shapes.

    See Also
    --------
    self_attention : The pass that this one goes back.
    scaled_dot_product_attention_vjp : The part after the projections.

    Notes
    -----
    One sequence plays three roles, so that three gradients reach it. Worked example SA031.

    Examples
    --------
    A sequence of one attends to itself alone: only the values carry a gradient.

    >>> from selfattn_ref import self_attention_vjp
    >>> d_x, d_w_query, d_w_key, d_w_value = self_attention_vjp(
    ...     [[2.0]], [[5.0]], [[7.0]], [[3.0]], [[1.0]]
    ... )
    >>> d_x, d_w_value
    (array([[3.]]), array([[2.]]))
    >>> d_w_query, d_w_key
    (array([[0.]]), array([[0.]]))
    """
    x = _checks.real_array("x", x, "(..., T, d_model)")
    w_query = _checks.projection("w_query", w_query, x=x)
    w_key = _checks.projection("w_key", w_key, x=x)
    w_value = _checks.projection("w_value", w_value, x=x)
    _checks.same_size("width d_k", w_query=(w_query, -1), w_key=(w_key, -1))
    d_output = _checks.real_array("d_output", d_output, "(..., T, d_v)")
    scores = (*x.shape[:-1], x.shape[-2])
    allowed = _checks.mask_array(True if mask is None else mask, scores)
    compute, result = _checks.working_dtype(x, w_query, w_key, w_value, d_output)
    x, w_query, w_key, w_value = (
        _checks.cast(array, compute) for array in (x, w_query, w_key, w_value)
    )

    d_query, d_key, d_value = scaled_dot_product_attention_vjp(
        x @ w_query, x @ w_key, x @ w_value, d_output, mask=allowed, scale=scale
    )
    d_x = d_query @ w_query.mT + d_key @ w_key.mT + d_value @ w_value.mT  # (..., T, d_model)
    visible = np.broadcast_to(allowed, scores)  # (..., T, T)
    asking = np.where(visible.any(axis=-1, keepdims=True), x, 0)  # (..., T, d_model)
    asked = np.where(visible.any(axis=-2, keepdims=True).mT, x, 0)  # (..., T, d_model)
    return (
        _checks.cast(d_x, result),
        _checks.cast(_summed(asking.mT @ d_query, w_query.shape), result),
        _checks.cast(_summed(asked.mT @ d_key, w_key.shape), result),
        _checks.cast(_summed(asked.mT @ d_value, w_value.shape), result),
    )


def _d_scores(weights: _checks.Array, d_weights: _checks.Array, visible: Mask) -> _checks.Array:
    """Apply the Jacobian of the softmax in the places that are visible."""
    d_weights = np.where(visible, d_weights, 0)
    mean = (weights * d_weights).sum(axis=-1, keepdims=True)
    return np.where(visible, weights * (d_weights - mean), 0)


def _product(left: _checks.Array, right: _checks.Array, visible: Mask) -> _checks.Array:
    """Multiply `left`, which is 0 where not visible, so that what it hides in `right` stays so."""
    product: _checks.Array = left @ right
    return product if np.isfinite(product).all() else _select_values(left, right, visible)


def _summed(gradient: _checks.Array, shape: tuple[int, ...]) -> _checks.Array:
    """Add a gradient up over the axes along which an input of `shape` was broadcast."""
    added = gradient.ndim - len(shape)
    wide = (i for i, size in enumerate(shape) if size != gradient.shape[added + i])
    axes = (*range(added), *(added + i for i in wide))
    return np.asarray(gradient.sum(axis=axes, keepdims=True)).reshape(shape)
