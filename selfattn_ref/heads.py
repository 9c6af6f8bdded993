"""Heads: attend several times side by side, each head in a subspace of its own."""

from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from selfattn_ref import _boundary
from selfattn_ref._kernels import Array
from selfattn_ref.attention import scaled_dot_product_attention

__all__ = ["merge_heads", "multi_head_attention", "repeat_key_value_heads", "split_heads"]


@_boundary.public
def split_heads(x: npt.ArrayLike, num_heads: SupportsIndex) -> Array:
    r"""Cut each row into equal pieces, one for each head.

    .. math:: \text{head } i \text{ gets the columns } i\,d, \dots, (i + 1)\,d - 1

    Parameters
    ----------
    x : array_like, shape (..., T, h·d)
        One position per row, its heads side by side.
    num_heads : int
        Number of heads h, at least 1; must divide the width of `x`.

    Returns
    -------
    ndarray, shape (..., h, T, d)
        A copy of the same numbers, in the same dtype; integers become float64.

    Raises
    ------
    TypeError
        If `x` does not hold real numbers or `num_heads` is not an integer.
    ValueError
        If `x` has fewer than two axes, or `num_heads` is not positive or does not divide the
        width of `x`.

    See Also
    --------
    merge_heads : The inverse.
    multi_head_attention : Attention in each head.

    Notes
    -----
    Worked example SA026.

    Examples
    --------
    >>> from selfattn_ref import split_heads
    >>> split_heads([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]], 2)
    array([[[1., 2.],
            [5., 6.]],
    <BLANKLINE>
           [[3., 4.],
            [7., 8.]]])
    """
    x = _boundary.real_array("x", x, "(..., T, h·d)")
    heads = _boundary.whole_number("num_heads", num_heads, least=1)
    width = _boundary.multiple(f"x {x.shape}: its width", x.shape[-1], "num_heads", heads)
    return x.reshape(*x.shape[:-1], heads, width).swapaxes(-3, -2).copy()  # (..., h, T, d)


@_boundary.public
def merge_heads(x: npt.ArrayLike) -> Array:
    r"""Lay the heads of each position side by side in one row.

    .. math:: \text{the columns } i\,d, \dots, (i + 1)\,d - 1 \text{ come from head } i

    Parameters
    ----------
    x : array_like, shape (..., h, T, d)
        One matrix per head, one position per row.

    Returns
    -------
    ndarray, shape (..., T, h·d)
        A copy of the same numbers, in the same dtype; integers become float64.

    Raises
    ------
    TypeError
        If `x` does not hold real numbers.
    ValueError
        If `x` has fewer than three axes.

    See Also
    --------
    split_heads : The inverse.

    Examples
    --------
    >>> from selfattn_ref import merge_heads
    >>> merge_heads([[[1.0, 2.0], [5.0, 6.0]], [[3.0, 4.0], [7.0, 8.0]]])
    array([[1., 2., 3., 4.],
           [5., 6., 7., 8.]])
    """
    x = _boundary.real_array("x", x, "(..., h, T, d)")
    *leading, heads, length, width = x.shape
    return x.swapaxes(-3, -2).copy().reshape(*leading, length, heads * width)  # (..., T, h·d)


@_boundary.public
def repeat_key_value_heads(x: npt.ArrayLike, num_heads: SupportsIndex) -> Array:
    r"""Repeat each key or value head for the query heads that share it.

    Query head :math:`h` reads key/value head
    :math:`\lfloor h / (H / H_{kv}) \rfloor`: neighbors share.

    Parameters
    ----------
    x : array_like, shape (..., Hkv, T, d)
        Keys or values, one matrix for each of their heads.
    num_heads : int
        Number of query heads H, a multiple of Hkv.

    Returns
    -------
    ndarray, shape (..., H, T, d)
        A copy, in the same dtype; integers become float64.

    Raises
    ------
    TypeError
        If `x` does not hold real numbers or `num_heads` is not an integer.
    ValueError
        If `x` has fewer than three axes, or `num_heads` is not positive or not a multiple of
        the number of heads of `x`.

    See Also
    --------
    multi_head_attention : Does this for ``num_key_value_heads``.

    Notes
    -----
    Grouped-query attention [1]_; with a single key/value head, multi-query attention [2]_.
    Worked example SA027.

    References
    ----------
    .. [1] J. Ainslie et al., "GQA: Training Generalized Multi-Query Transformer Models from
       Multi-Head Checkpoints", 2023, arXiv:2305.13245.
    .. [2] N. Shazeer, "Fast Transformer Decoding: One Write-Head is All You Need", 2019,
       arXiv:1911.02150.

    Examples
    --------
    Four query heads read two key heads:

    >>> from selfattn_ref import repeat_key_value_heads
    >>> repeat_key_value_heads([[[1.0]], [[2.0]]], 4)[:, 0, 0]
    array([1., 1., 2., 2.])
    """
    x = _boundary.real_array("x", x, "(..., Hkv, T, d)")
    heads = _boundary.whole_number("num_heads", num_heads, least=1)
    group = _boundary.multiple(
        f"x {x.shape}: num_heads", heads, "the number of its heads", x.shape[-3]
    )
    return np.repeat(x, group, axis=-3)  # (..., H, T, d)


@_boundary.public
def multi_head_attention(
    x_query: npt.ArrayLike,
    x_key_value: npt.ArrayLike,
    w_query: npt.ArrayLike,
    w_key: npt.ArrayLike,
    w_value: npt.ArrayLike,
    w_output: npt.ArrayLike,
    *,
    num_heads: SupportsIndex,
    num_key_value_heads: SupportsIndex | None = None,
    mask: npt.ArrayLike | None = None,
    bias: npt.ArrayLike | None = None,
    scale: float | None = None,
    soft_cap: float | None = None,
    causal: bool = False,
    offset: SupportsIndex = 0,
) -> Array:
    r"""Attend in several subspaces at once, and add up what each finds.

    .. math::

       \operatorname{concat}(O_0, \dots, O_{H-1})\, W_O, \qquad
       O_h = \operatorname{attention}(X_q W_{Q,h},\; X_{kv} W_{K,g(h)},\; X_{kv} W_{V,g(h)})

    where :math:`W_{Q,h}` are the columns of head :math:`h` and
    :math:`g(h) = \lfloor h / (H / H_{kv}) \rfloor`.

    Parameters
    ----------
    x_query : array_like, shape (..., Tq, d_model)
        The sequence that asks, one embedding per row.
    x_key_value : array_like, shape (..., Tk, d_source)
        The sequence that is asked: `x_query` again for self-attention, another for cross-attention.
        The leading axes of the two broadcast.
    w_query : array_like, shape (d_model, H·d_k)
        Projection to the queries of all heads side by side; it multiplies from the right.
    w_key : array_like, shape (d_source, Hkv·d_k)
        Projection to the keys.
    w_value : array_like, shape (d_source, Hkv·d_v)
        Projection to the values.
    w_output : array_like, shape (H·d_v, d_output)
        Projection of the merged heads.
    num_heads : int
        Number of query heads H.
    num_key_value_heads : int, optional
        Number of key/value heads Hkv, which must divide H; by default H. Fewer than H is
        grouped-query attention, 1 is multi-query attention.
    mask : array_like of bool, optional
        True where query i may attend to key j; broadcasts to the scores (..., H, Tq, Tk). A
        separate mask for each sequence of a batch needs an axis of length 1 for the heads: (B, 1,
        Tq, Tk).
    bias : array_like of float, optional
        Added to the scaled scores before masking; broadcasts to them: (H, Tq, Tk) is one bias
        for each head.
    scale : float, optional
        Finite factor that multiplies the dot products; by default :math:`1/\sqrt{d_k}`, where `d_k`
        is the width of one head.
    soft_cap, causal, offset : optional
        As in `scaled_dot_product_attention`.

    Returns
    -------
    ndarray, shape (..., Tq, d_output)
        Row i is the output at position i of `x_query`. Edge cases and dtypes as in
        `scaled_dot_product_attention`.

    Raises
    ------
    TypeError
        If an argument is of the wrong kind, as in `scaled_dot_product_attention`, or a number of
        heads is not an integer.
    ValueError
        If a number of heads does not divide the width or the number of heads that it should, the
        shapes do not match, or `scale` is not finite. The message names the argument and both
        shapes.

    See Also
    --------
    split_heads, repeat_key_value_heads, merge_heads : The steps around the attention.
    self_attention : One head, without the output projection.

    Notes
    -----
    The output is the sum over the heads of :math:`O_h W_{O,h}`, with :math:`W_{O,h}` the rows
    of head :math:`h`: each head adds a map of rank at most `d_v`. Section 3.2.2 of [1]_.
    Worked examples SA026 and SA027.

    References
    ----------
    .. [1] A. Vaswani et al., "Attention Is All You Need", 2017, arXiv:1706.03762.

    Examples
    --------
    Keys of zero match every query equally well, so each head averages its own column:

    >>> import numpy as np
    >>> from selfattn_ref import multi_head_attention
    >>> x = np.array([[2.0, 0.0], [0.0, 4.0]])
    >>> eye, zeros = np.eye(2), np.zeros((2, 2))
    >>> multi_head_attention(x, x, eye, zeros, eye, eye, num_heads=2)
    array([[1., 2.],
           [1., 2.]])
    """
    x_query = _boundary.real_array("x_query", x_query, "(..., Tq, d_model)")
    x_key_value = _boundary.real_array("x_key_value", x_key_value, "(..., Tk, d_source)")
    w_query = _boundary.projection("w_query", w_query, x_query=x_query)
    w_key = _boundary.projection("w_key", w_key, x_key_value=x_key_value)
    w_value = _boundary.projection("w_value", w_value, x_key_value=x_key_value)
    w_output = _boundary.matrix("w_output", w_output, "(H·d_v, d_output)")
    heads, shared = _boundary.head_counts(num_heads, num_key_value_heads)
    _boundary.head_widths(w_query, w_key, w_value, w_output, heads, shared)
    leading = _boundary.leading_axes(x_query=x_query, x_key_value=x_key_value)
    scores = (*leading, heads, x_query.shape[-2], x_key_value.shape[-2])
    given = {
        "x_query": x_query,
        "x_key_value": x_key_value,
        "w_query": w_query,
        "w_key": w_key,
        "w_value": w_value,
        "w_output": w_output,
    }
    compute, result, bias = _boundary.with_bias(given, bias, scores)
    x_query, x_key_value, w_query, w_key, w_value, w_output = (
        _boundary.cast(array, compute) for array in given.values()
    )

    query = split_heads(x_query @ w_query, heads)  # (..., H, Tq, d_k)
    key = split_heads(x_key_value @ w_key, shared)  # (..., Hkv, Tk, d_k)
    value = split_heads(x_key_value @ w_value, shared)  # (..., Hkv, Tk, d_v)
    output = scaled_dot_product_attention(
        query,
        repeat_key_value_heads(key, heads),  # (..., H, Tk, d_k)
        repeat_key_value_heads(value, heads),  # (..., H, Tk, d_v)
        mask=mask,
        bias=bias,
        scale=scale,
        soft_cap=soft_cap,
        causal=causal,
        offset=offset,
    )
    return _boundary.cast(merge_heads(output) @ w_output, result)  # (..., Tq, d_output)
