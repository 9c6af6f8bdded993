"""Gradients: how a small change of each input changes a loss, given how the output changes it.

A vector-Jacobian product (vjp) takes ``d_output``, the gradient of some loss with respect to
the output, and returns the gradients of that loss with respect to the inputs.
"""

from typing import Any, NamedTuple, Self, SupportsIndex

import numpy as np
import numpy.typing as npt

from selfattn_ref import _boundary
from selfattn_ref._boundary import Given
from selfattn_ref._kernels import Array, Mask, d_softmax, flipped, hide, mix, share, summed

__all__ = [
    "AttentionGradients",
    "SelfAttentionGradients",
    "scaled_dot_product_attention_vjp",
    "self_attention_vjp",
    "softmax_vjp",
]


class _OfAttention(NamedTuple):
    d_query: Array
    d_key: Array
    d_value: Array


class AttentionGradients(_OfAttention):
    """The gradients of attention, as a named tuple of three.

    Parameters
    ----------
    d_query, d_key, d_value : ndarray
        Gradients with respect to queries, keys and values, each with the shape of its input.

    Attributes
    ----------
    d_bias : ndarray or None
        Gradient with respect to the bias, with its shape; None if there was no bias. It is not an
        element of the tuple.

    See Also
    --------
    scaled_dot_product_attention_vjp, streaming_attention_vjp : Return it.
    """

    d_bias: Array | None = None

    @classmethod
    def of(
        cls, given: Given, d_query: Array, d_key: Array, d_value: Array, d_bias: Array | None
    ) -> Self:
        """Return gradients in the shapes and the dtype of the caller."""
        arrays = zip((d_query, d_key, d_value), given[:3], strict=True)
        gradients = cls(*(given.returned(summed(d, array.shape)) for d, array in arrays))
        if d_bias is not None and given.bias is not None:
            gradients.d_bias = given.returned(summed(d_bias, given.bias.shape))
        return gradients


class _OfSelfAttention(NamedTuple):
    d_x: Array
    d_w_query: Array
    d_w_key: Array
    d_w_value: Array


class SelfAttentionGradients(_OfSelfAttention):
    """The gradients of self-attention, as a named tuple of four.

    Parameters
    ----------
    d_x : ndarray
        Gradient with respect to the sequence, with its shape.
    d_w_query, d_w_key, d_w_value : ndarray
        Gradients with respect to the projections, each with the shape of its input.

    Attributes
    ----------
    d_bias : ndarray or None
        Gradient with respect to the bias, with its shape; None if there was no bias. It is not an
        element of the tuple.

    See Also
    --------
    self_attention_vjp : Returns it.
    """

    d_bias: Array | None = None

    @classmethod
    def of(
        cls, result: np.dtype[Any], d_x: Array, products: tuple[Array, ...], d_bias: Array | None
    ) -> Self:
        """Return gradients in the dtype of the caller, those of projections added up."""
        added = (summed(product, product.shape[-2:]) for product in products)
        gradients = cls(*(_boundary.cast(array, result) for array in (d_x, *added)))
        gradients.d_bias = None if d_bias is None else _boundary.cast(d_bias, result)
        return gradients


@_boundary.public
def softmax_vjp(weights: npt.ArrayLike, d_weights: npt.ArrayLike) -> Array:
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
        Gradient with respect to the scores; each row adds up to zero. Where a weight is exactly 0,
        as for a masked key, the gradient is 0 whatever `d_weights` holds there, even a NaN or an
        infinity. The dtype is the common dtype of the inputs; 16-bit inputs are computed in
        float32.

    Raises
    ------
    TypeError
        If an array does not hold real numbers.
    ValueError
        If there is no axis, or the shapes differ.

    See Also
    --------
    softmax, attention_weights : The forward step.

    Notes
    -----
    The Jacobian of the softmax is :math:`\operatorname{diag}(p) - p p^\top`, symmetric.
    Worked examples SA020 and SA031; the page "Saturation of the softmax" derives it.

    Examples
    --------
    With equal weights, the first score gains what the second loses:

    >>> from selfattn_ref import softmax_vjp
    >>> softmax_vjp([0.5, 0.5], [1.0, 0.0])
    array([ 0.25, -0.25])
    """
    weights, d_weights, result = _boundary.weights_and_gradient(weights, d_weights)

    d_scores = d_softmax(weights, d_weights, weights != 0)
    return _boundary.cast(d_scores, result)


@_boundary.public
def scaled_dot_product_attention_vjp(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    d_output: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
    bias: npt.ArrayLike | None = None,
    scale: float | None = None,
    soft_cap: float | None = None,
    causal: bool = False,
    offset: SupportsIndex = 0,
) -> AttentionGradients:
    r"""Carry a gradient back from the output of attention to queries, keys and values.

    .. math::

       dV = A^\top dO, \qquad dA = dO\, V^\top, \qquad
       dQ = \frac{dS\, K}{\sqrt{d_k}}, \qquad dK = \frac{dS^\top Q}{\sqrt{d_k}}

    with :math:`A` the weights and :math:`dS` the gradient of the scores, from `softmax_vjp`.

    Parameters
    ----------
    query : array_like, shape (..., Tq, d_k)
        One query per row.
    key : array_like, shape (..., Tk, d_k)
        One key per row.
    value : array_like, shape (..., Tk, d_v)
        One value per row. The leading axes of all three arrays broadcast.
    d_output : array_like, shape (..., Tq, d_v)
        Gradient with respect to the output, with exactly the shape of the output.
    mask, bias, scale, soft_cap, causal, offset : optional
        As in `scaled_dot_product_attention`.

    Returns
    -------
    d_query : ndarray, shape of query
        Gradient with respect to the queries. A query with nobody to attend to gets zeros.
    d_key : ndarray, shape of key
        Gradient with respect to the keys. A key that nobody may attend to gets zeros.
    d_value : ndarray, shape of value
        Gradient with respect to the values. A value that nobody may attend to gets zeros.
    d_bias : ndarray, shape of bias
        Gradient with respect to the bias; None if there is no bias. It is an attribute of the
        result, an `AttentionGradients`, which is a tuple of the other three.

    Raises
    ------
    TypeError
        If an argument is of the wrong kind, as in `scaled_dot_product_attention`.
    ValueError
        If the shapes do not match, or a number is out of range. The message names the argument
        and both shapes.

    See Also
    --------
    scaled_dot_product_attention : The forward pass.
    self_attention_vjp : Back to one sequence and its projections.

    Notes
    -----
    If an input was broadcast along an axis, its gradients are added up over that axis. Nothing in a
    masked position changes the result, not even a NaN or an infinity; in an allowed position, these
    show in the gradients that depend on them, and in no others. The dtype is the common dtype of
    all arrays; 16-bit inputs are computed in float32.

    The weights are recomputed, not stored. With a `soft_cap`, the gradients of queries and keys
    include its slope. A bound on the rounding error of a gradient follows from the bound stated in
    `scaled_dot_product_attention`; the `check` method of a call of a worked example computes it.
    Worked example SA031.

    Examples
    --------
    The weights are 1/4 and 3/4. For each unit that the first score gains, the output moves toward
    the first value at a rate of 3/16 of the distance between the values:

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
    given, d_output = _boundary.attention_back(
        query, key, value, d_output, mask, bias, scale, soft_cap, causal, offset
    )
    query, key, value, mask = given.dense()

    scaled = given.scale * query @ key.mT  # (..., Tq, Tk)
    slope = given.slope(scaled)  # 1 without a cap
    weights = hide(share(given.adjusted(scaled), mask), mask)  # (..., Tq, Tk)
    d_scores = d_softmax(weights, d_output @ value.mT, mask)  # (..., Tq, Tk)
    d_scaled = hide(given.scale * slope * d_scores, mask)  # (..., Tq, Tk)
    return AttentionGradients.of(
        given,
        mix(d_scaled, key, mask),  # (..., Tq, d_k)
        mix(d_scaled.mT, query, flipped(mask)),  # (..., Tk, d_k)
        mix(weights.mT, d_output, flipped(mask)),  # (..., Tk, d_v)
        d_scores,
    )


@_boundary.public
def self_attention_vjp(
    x: npt.ArrayLike,
    w_query: npt.ArrayLike,
    w_key: npt.ArrayLike,
    w_value: npt.ArrayLike,
    d_output: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
    bias: npt.ArrayLike | None = None,
    scale: float | None = None,
    soft_cap: float | None = None,
    causal: bool = False,
    offset: SupportsIndex = 0,
) -> SelfAttentionGradients:
    r"""Carry a gradient back from the output of self-attention to the sequence and projections.

    .. math::

       dX = dQ\, W_Q^\top + dK\, W_K^\top + dV\, W_V^\top, \qquad
       dW_Q = X^\top dQ, \quad dW_K = X^\top dK, \quad dW_V = X^\top dV

    Parameters
    ----------
    x : array_like, shape (..., T, d_model)
        One embedding per row.
    w_query, w_key : array_like, shape (d_model, d_k)
        Projections to queries and to keys; they multiply from the right.
    w_value : array_like, shape (d_model, d_v)
        Projection to values.
    d_output : array_like, shape (..., T, d_v)
        Gradient with respect to the output, with exactly the shape of the output.
    mask, bias, scale, soft_cap, causal, offset : optional
        As in `self_attention`.

    Returns
    -------
    d_x : ndarray, shape of x
        Gradient with respect to the sequence. A position that neither attends nor is attended to
        gets zeros if the projections are finite, and adds nothing to the other gradients,
        whatever it holds.
    d_w_query : ndarray, shape of w_query
        Gradient with respect to that projection, added up over all sequences.
    d_w_key : ndarray, shape of w_key
        Likewise.
    d_w_value : ndarray, shape of w_value
        Likewise. Edge cases and dtypes as in `scaled_dot_product_attention_vjp`.
    d_bias : ndarray, shape of bias
        Gradient with respect to the bias; None if there is no bias. It is an attribute of the
        result, a `SelfAttentionGradients`, which is a tuple of the other four.

    Raises
    ------
    TypeError
        If an argument is of the wrong kind, as in `scaled_dot_product_attention`.
    ValueError
        If the shapes do not match. The message names the argument and both shapes.

    See Also
    --------
    self_attention : The forward pass.
    scaled_dot_product_attention_vjp : The part after the projections.

    Notes
    -----
    One sequence plays three roles, so it receives three gradients. Worked example SA031.

    Examples
    --------
    A sequence of length one attends only to itself, so only the values carry a gradient.

    >>> from selfattn_ref import self_attention_vjp
    >>> d_x, d_w_query, d_w_key, d_w_value = self_attention_vjp(
    ...     [[2.0]], [[5.0]], [[7.0]], [[3.0]], [[1.0]]
    ... )
    >>> d_x, d_w_value
    (array([[3.]]), array([[2.]]))
    >>> d_w_query, d_w_key
    (array([[0.]]), array([[0.]]))
    """
    x, w_query, w_key, w_value, bias, d_output, result = _boundary.sequence_back(
        x, w_query, w_key, w_value, bias, d_output
    )
    mask = _boundary.whole_mask(mask, causal, offset, (*x.shape[:-1], x.shape[-2]))
    asking, asked = _taking_part(x, mask)  # (..., T, d_model)

    back = scaled_dot_product_attention_vjp(
        x @ w_query,  # (..., T, d_k)
        x @ w_key,  # (..., T, d_k)
        x @ w_value,  # (..., T, d_v)
        d_output,
        mask=mask,
        bias=bias,
        scale=scale,
        soft_cap=soft_cap,
    )
    d_x = back.d_query @ w_query.mT + back.d_key @ w_key.mT + back.d_value @ w_value.mT
    products = asking.mT @ back.d_query, asked.mT @ back.d_key, asked.mT @ back.d_value
    return SelfAttentionGradients.of(result, d_x, products, back.d_bias)


def _taking_part(x: Array, mask: Mask | None) -> tuple[Array, Array]:
    """Return the positions that may attend to any, and those that any may attend to.

    The others become zeros: 0 times NaN would be NaN.
    """
    if mask is None:
        return x, x
    visible = np.broadcast_to(mask, (*mask.shape[:-2], x.shape[-2], x.shape[-2]))
    return (
        np.where(visible.any(axis=-1, keepdims=True), x, 0),
        np.where(visible.any(axis=-2, keepdims=True).mT, x, 0),
    )
