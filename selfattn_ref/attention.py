"""Attention: mix the values by the weights."""

from typing import SupportsIndex

import numpy.typing as npt

from selfattn_ref import _boundary
from selfattn_ref._kernels import Array, mix, share

__all__ = ["scaled_dot_product_attention", "self_attention"]


@_boundary.public
def scaled_dot_product_attention(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
    bias: npt.ArrayLike | None = None,
    scale: float | None = None,
    soft_cap: float | None = None,
    causal: bool = False,
    offset: SupportsIndex = 0,
) -> Array:
    r"""Give each query the average of the values, weighted by how well their keys match it.

    .. math:: \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}} + B\right) V

    Parameters
    ----------
    query : array_like, shape (..., Tq, d_k)
        One query per row.
    key : array_like, shape (..., Tk, d_k)
        One key per row.
    value : array_like, shape (..., Tk, d_v)
        One value per row, as many values as keys. `d_v` may differ from `d_k`. The leading axes of
        all three arrays broadcast.
    mask : array_like of bool, optional
        True where query i may attend to key j; broadcasts to the scores (..., Tq, Tk).
    bias : array_like of float, optional
        Added to the scaled scores before masking; broadcasts to them.
    scale : float, optional
        Finite factor that multiplies the dot products; by default :math:`1/\sqrt{d_k}`.
    soft_cap : float, optional
        A bound that the scaled scores approach, as `soft_cap` says; positive and finite. By
        default there is none.
    causal : bool, optional
        If True, key j is visible to query i only if :math:`j \le i + \text{offset}`, as with
        `causal_mask`. A `mask` applies as well.
    offset : int, optional
        Position of the first query relative to key 0; allowed only with `causal`.

    Returns
    -------
    ndarray, shape (..., Tq, d_v)
        Row i is the output for query i, in the unit of the values. A query with nobody to
        attend to gets zeros. What stands in a masked place changes nothing, a NaN or an
        infinity included. In an allowed place it shows in the rows that may attend to it, and
        in no other; a score of :math:`-\infty` gives its key the weight 0, but a NaN or infinite
        value there still shows. With `soft_cap`, a score of :math:`\pm\infty` becomes the cap,
        as any large score does. The dtype is the common one of the inputs; 16-bit inputs are
        computed in float32.

    Raises
    ------
    TypeError
        If an argument is of the wrong kind: an array does not hold real numbers, `mask` is not
        boolean, `bias` is not floating-point, or `causal` is not a bool. For a keyword of another
        library, such as ``attn_mask``, the message names the equivalent here.
    ValueError
        If widths, lengths or leading axes do not match, `mask` or `bias` does not broadcast to
        the scores, `scale` is not finite, `soft_cap` not positive, or an `offset` is given
        without `causal`. The message names the argument and both shapes.

    See Also
    --------
    scaled_scores, attention_weights : The two steps before the weighted sum.
    log_sum_exp : The logarithm of the sum that the softmax divides by, from the same scores.
    self_attention : Queries, keys and values from one sequence.

    Notes
    -----
    Equivalent to ``attention_weights(scaled_scores(query, key), mask=mask) @ value``. A `soft_cap`
    is applied after the scale, a `bias` after the cap, and the mask last. Equation 1 of [1]_.
    Taught on the page "Scaled dot-product attention"; worked examples SA009, SA016.

    An entry is off by at most :math:`(e^E - 1)\,V` with
    :math:`E = \varepsilon\,(n + 6 + (d_k / 2 + 10)\,S + 6B)`, if that is at most 1,
    :math:`d_k^2 \varepsilon` at most 5, and nothing overflows or underflows. Here :math:`n` is the
    number of keys that the query may attend to and, among those, :math:`V` is the largest value,
    :math:`B` the largest bias and :math:`S` the largest
    :math:`|\text{scale}| \sum_k |q_{ik} k_{jk}|`, all in size; :math:`\varepsilon` is the spacing
    of the numbers after 1. A `soft_cap` adds :math:`7 \varepsilon S` to :math:`E`. A 16-bit result
    is rounded once more. This is the theorem "Rounding in attention" in the chapter on long
    sequences, which also says how little weights add that underflow; typical errors are much
    smaller.

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

    A score beyond the range of the dtype is :math:`-\infty` or :math:`+\infty`, and counts as
    such: hidden, or NaN. So is one with a step beyond it, of which `scale` times `query` is the
    first. In float32, :math:`-10^{60}` hides the only key:

    >>> f = np.float32
    >>> scaled_dot_product_attention(f([[1e30]]), f([[-1e30]]), f([[7.0]]))
    array([[0.]], dtype=float32)
    """
    given = _boundary.attention(query, key, value, mask, bias, scale, soft_cap, causal, offset)
    query, key, value, mask = given.dense()

    scores = given.adjusted(given.scale * query @ key.mT)  # (..., Tq, Tk)
    weights = share(scores, mask)  # (..., Tq, Tk), the softmax over the keys that the mask allows
    output = mix(weights, value, mask)  # (..., Tq, d_v)
    return given.returned(output)


@_boundary.public
def self_attention(
    x: npt.ArrayLike,
    w_query: npt.ArrayLike,
    w_key: npt.ArrayLike,
    w_value: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
    bias: npt.ArrayLike | None = None,
    scale: float | None = None,
    soft_cap: float | None = None,
    causal: bool = False,
    offset: SupportsIndex = 0,
) -> Array:
    r"""Let the positions of one sequence attend to each other.

    .. math:: Q = X W_Q, \qquad K = X W_K, \qquad V = X W_V

    followed by scaled dot-product attention.

    Parameters
    ----------
    x : array_like, shape (..., T, d_model)
        One embedding per row.
    w_query, w_key : array_like, shape (d_model, d_k)
        Projections to queries and to keys; they multiply from the right.
    w_value : array_like, shape (d_model, d_v)
        Projection to values.
    mask : array_like of bool, optional
        True where position i may attend to position j; broadcasts to (..., T, T).
    bias, scale, soft_cap, causal, offset : optional
        As in `scaled_dot_product_attention`.

    Returns
    -------
    ndarray, shape (..., T, d_v)
        Row i is the output at position i. Edge cases and dtypes as in
        `scaled_dot_product_attention`.

    Raises
    ------
    TypeError
        If an argument is of the wrong kind, as in `scaled_dot_product_attention`.
    ValueError
        If the shapes do not match. The message names the argument and both shapes.

    See Also
    --------
    scaled_dot_product_attention : The same from queries, keys and values.

    Notes
    -----
    Taught on the page "Queries, keys and values"; worked example SA009.

    Examples
    --------
    Two positions that match each other as well as themselves share equally:

    >>> import numpy as np
    >>> from selfattn_ref import self_attention
    >>> x, zeros = [[2.0, 0.0], [0.0, 4.0]], np.zeros((2, 1))
    >>> self_attention(x, zeros, zeros, np.eye(2))
    array([[1., 2.],
           [1., 2.]])
    """
    x, w_query, w_key, w_value, bias, result = _boundary.sequence(x, w_query, w_key, w_value, bias)

    output = scaled_dot_product_attention(
        x @ w_query,  # (..., T, d_k)
        x @ w_key,  # (..., T, d_k)
        x @ w_value,  # (..., T, d_v)
        mask=mask,
        bias=bias,
        scale=scale,
        soft_cap=soft_cap,
        causal=causal,
        offset=offset,
    )
    return _boundary.cast(output, result)
