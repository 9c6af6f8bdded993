"""Streaming: attention in one pass over blocks of keys, its memory linear in their number.

The scores are never held as a whole. Each block of them adds to an `AttentionState`; states
merge in any order, and the last one holds the output.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self, SupportsIndex

import numpy as np
import numpy.typing as npt

from selfattn_ref import _checks
from selfattn_ref.gradients import _product, _summed
from selfattn_ref.masks import Mask
from selfattn_ref.weights import _shift

__all__ = ["AttentionState", "attention_state", "streaming_attention", "streaming_attention_vjp"]

BlockSize = SupportsIndex | tuple[SupportsIndex, SupportsIndex]

_BLOCK_QUERIES = 512  # a block of scores and what it is made of should stay in the cache
_BLOCK_KEYS = 4096  # for few queries only; for many, the next line leaves 256
_BLOCK_SCORES = 2**17
_SLACK = 16.0  # how far a score may exceed the shift: e¹⁶ is harmless


@dataclass(frozen=True, eq=False)
class AttentionState:
    r"""Hold what a query needs to know of the keys it has seen: three sums over them.

    .. math::

       m \approx \max_j s_j, \qquad \ell = \sum_j e^{s_j - m}, \qquad
       w = \sum_j e^{s_j - m} v_j

    Two states of the same queries over different keys merge into the state over all of them,
    in any order and grouping; the output is :math:`w / \ell`.

    Parameters
    ----------
    shift : ndarray, shape (..., Tq, 1)
        The number :math:`m` that is subtracted from every score, at most 16 from the largest of
        them. It does not change the output; it keeps the exponentials in range.
    total : ndarray, shape (..., Tq, 1)
        The sum :math:`\ell` of the exponentials; 0 for a query that has seen no key.
    weighted : ndarray, shape (..., Tq, d_v)
        The sum :math:`w` of the values, weighted by the exponentials.

    See Also
    --------
    attention_state : The state after all keys.
    streaming_attention : The output alone.

    Notes
    -----
    The recurrence for :math:`m` and :math:`\ell` is that of [1]_; [2]_ and [3]_ carry
    :math:`w` along. The logarithm of :math:`\ell` is not stored: its rounding error would grow
    with the scores, that of :math:`\ell` does not. Sums of the values are up to e¹⁶ times the
    number of keys larger than the values, and overflow before an average of them would.

    References
    ----------
    .. [1] M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018,
       arXiv:1805.02867.
    .. [2] M. N. Rabe, C. Staats, "Self-attention Does Not Need O(n²) Memory", 2021,
       arXiv:2112.05682.
    .. [3] T. Dao, D. Y. Fu, S. Ermon, A. Rudra, C. Ré, "FlashAttention: Fast and
       Memory-Efficient Exact Attention with IO-Awareness", 2022, arXiv:2205.14135.

    Examples
    --------
    One key with score 0 and one with score ln 2, seen apart: the weights are 1/3 and 2/3.

    >>> import numpy as np
    >>> from selfattn_ref import AttentionState
    >>> one = AttentionState.of([[0.0]], [[3.0, 0.0]])
    >>> other = AttentionState.of([[np.log(2.0)]], [[0.0, 3.0]])
    >>> one.merge(other).output
    array([[1., 2.]])
    """

    shift: _checks.Array
    total: _checks.Array
    weighted: _checks.Array

    @classmethod
    @np.errstate(all="ignore")  # a NaN or an infinity shows in its row of the result
    def of(
        cls, scores: npt.ArrayLike, value: npt.ArrayLike, *, mask: npt.ArrayLike | None = None
    ) -> Self:
        r"""Return the state of queries that have seen one block of keys.

        Parameters
        ----------
        scores : array_like, shape (..., Tq, Tk)
            Entry (i, j) is the score of query i for key j of the block.
        value : array_like, shape (..., Tk, d_v)
            The values of the block. The leading axes broadcast with those of the scores.
        mask : array_like of bool, optional
            True where query i may attend to key j; broadcasts to the scores.

        Returns
        -------
        AttentionState
            Its arrays are float64 or float32: 16-bit inputs are summed in float32.

        Raises
        ------
        TypeError
            If an array does not hold real numbers, or `mask` is not boolean.
        ValueError
            If the lengths or leading axes do not match, or `mask` does not broadcast.

        Examples
        --------
        Equal scores of 7: the shift is 7, each exponential 1.

        >>> from selfattn_ref import AttentionState
        >>> state = AttentionState.of([[7.0, 7.0]], [[1.0], [2.0]])
        >>> state.shift, state.total, state.weighted
        (array([[7.]]), array([[2.]]), array([[3.]]))
        """
        scores = _checks.real_array("scores", scores, "(..., Tq, Tk)")
        value = _checks.real_array("value", value, "(..., Tk, d_v)")
        _checks.same_size("length", scores=(scores, -1), value=(value, -2))
        leading = _checks.leading_axes(scores=scores, value=value)
        visible = None if mask is None else _checks.mask_array(mask, scores.shape)
        compute, _ = _checks.working_dtype(scores, value)
        scores = np.broadcast_to(scores, (*leading, *scores.shape[-2:])).astype(compute)
        value = _checks.cast(value, compute)
        if visible is not None:
            np.copyto(scores, -np.inf, where=~visible)

        shift = _shift(scores, -1)  # (..., Tq, 1)
        scores -= shift
        np.exp(scores, out=scores)
        total = scores.sum(axis=-1, keepdims=True)  # (..., Tq, 1)
        return cls(shift, total, _mix(scores, value, visible))

    @np.errstate(all="ignore")
    def merge(self, other: Self) -> Self:
        """Return the state of the same queries over the keys of both.

        Parameters
        ----------
        other : AttentionState
            The state over other keys.

        Returns
        -------
        AttentionState
            ``a.merge(b)`` and ``b.merge(a)`` are equal to the last bit; another grouping of
            three states differs by rounding only. A state that has seen no key changes nothing.

        Raises
        ------
        ValueError
            If the two differ in their queries or in the width of their values.

        Examples
        --------
        Scores 0 and ln 2: relative to the larger, the exponentials are 1/2 and 1.

        >>> import numpy as np
        >>> from selfattn_ref import AttentionState
        >>> one = AttentionState.of([[0.0]], [[4.0]])
        >>> one.merge(AttentionState.of([[np.log(2.0)]], [[1.0]])).weighted
        array([[3.]])
        """
        _checks.same_shape(state=self.weighted.shape, other=other.weighted.shape)
        # A query that has seen no key has no largest score, whatever its shift.
        mine = np.where(self.total == 0, self.shift.dtype.type(-np.inf), self.shift)
        yours = np.where(other.total == 0, other.shift.dtype.type(-np.inf), other.shift)
        shift = np.maximum(mine, yours)
        shift[shift == -np.inf] = 0
        mine, yours = np.exp(mine - shift), np.exp(yours - shift)
        return type(self)(
            shift,
            self.total * mine + other.total * yours,
            self.weighted * mine + other.weighted * yours,
        )

    @property
    @np.errstate(all="ignore")
    def output(self) -> _checks.Array:
        """The average of the values seen so far, shape (..., Tq, d_v); zeros before any key."""
        average: _checks.Array = self.weighted / np.where(self.total == 0, 1, self.total)
        return _checks.cast(average, self.weighted.dtype)

    @property
    @np.errstate(all="ignore")
    def log_sum_exp(self) -> _checks.Array:
        r"""The number :math:`\log \sum_j e^{s_j}`, shape (..., Tq); −∞ before any key."""
        return np.asarray((self.shift + np.log(self.total))[..., 0])


@np.errstate(all="ignore")
def streaming_attention(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
    bias: npt.ArrayLike | None = None,
    causal: bool = False,
    offset: SupportsIndex = 0,
    scale: float | None = None,
    block_size: BlockSize | None = None,
) -> _checks.Array:
    r"""Compute scaled dot-product attention without ever holding all the scores.

    .. math:: \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}} + B\right) V

    Parameters
    ----------
    query : array_like, shape (..., Tq, d_k)
        One query a row.
    key : array_like, shape (..., Tk, d_k)
        One key a row.
    value : array_like, shape (..., Tk, d_v)
        One value a row, as many as keys. The leading axes of all three broadcast.
    mask : array_like of bool, optional
        True where query i may attend to key j; broadcasts to the scores (..., Tq, Tk). A block
        that it hides as a whole costs nothing.
    bias : array_like of float, optional
        Added to the scaled scores before masking; broadcasts to them.
    causal : bool, optional
        Whether key j is visible to query i only if :math:`j \le i + \text{offset}`, in addition
        to `mask`: the mask of `causal_mask`, without building it.
    offset : int, optional
        Position of the first query, counted in keys; for `causal` only.
    scale : float, optional
        Factor of the dot products, finite; by default :math:`1/\sqrt{d_k}`.
    block_size : int or pair of int, optional
        How many queries and how many keys a block has; by default, as many as fit the cache.

    Returns
    -------
    ndarray, shape (..., Tq, d_v)
        What `scaled_dot_product_attention` returns, up to rounding, edge cases and dtypes
        included.

    Raises
    ------
    TypeError
        If an array does not hold real numbers, `mask` is not boolean, `bias` not floating,
        `causal` not a bool, or `offset` or `block_size` not made of integers.
    ValueError
        If widths, lengths or leading axes do not match, `mask` or `bias` does not broadcast to
        the scores, `scale` is not finite, a block is empty, or an `offset` is given without
        `causal`. The message names the argument and both shapes.

    See Also
    --------
    scaled_dot_product_attention : The same, written as the formula.
    attention_state : The same before the division.
    streaming_attention_vjp : Its gradients.

    Notes
    -----
    Beyond the output, memory is one block of scores and its inputs, whatever the lengths. The
    method is that of [1]_ and [2]_. Causal attention visits no block above the diagonal.

    References
    ----------
    .. [1] M. N. Rabe, C. Staats, "Self-attention Does Not Need O(n²) Memory", 2021,
       arXiv:2112.05682.
    .. [2] T. Dao, D. Y. Fu, S. Ermon, A. Rudra, C. Ré, "FlashAttention: Fast and
       Memory-Efficient Exact Attention with IO-Awareness", 2022, arXiv:2205.14135.

    Examples
    --------
    The scores are 0 and ln 2, the weights 1/3 and 2/3, in blocks of one key as in one:

    >>> import numpy as np
    >>> from selfattn_ref import streaming_attention
    >>> query, key = [[1.0]], [[0.0], [np.log(2)]]
    >>> value = [[3.0, 0.0], [0.0, 3.0]]
    >>> streaming_attention(query, key, value, block_size=1)
    array([[1., 2.]])
    """
    plan = _plan(query, key, value, mask, bias, causal, offset, scale, block_size)
    output = np.zeros(plan.output_shape, plan.result)
    for here in plan.query_blocks():
        output[here] = _fold(plan, here).output
    return output


@np.errstate(all="ignore")
def attention_state(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
    bias: npt.ArrayLike | None = None,
    causal: bool = False,
    offset: SupportsIndex = 0,
    scale: float | None = None,
    block_size: BlockSize | None = None,
) -> AttentionState:
    r"""Let queries see keys, and return the state that more keys can be merged into.

    For each query, with the scores :math:`s_j` and a shift :math:`m` near the largest of them,

    .. math:: \ell = \sum_j e^{s_j - m}, \qquad w = \sum_j e^{s_j - m} v_j

    Parameters
    ----------
    query, key, value : array_like, shapes (..., Tq, d_k), (..., Tk, d_k), (..., Tk, d_v)
        As in `streaming_attention`.
    mask, bias, causal, offset, scale, block_size : optional
        As in `streaming_attention`. For keys that come after `n` others, an `offset` is smaller
        by `n`.

    Returns
    -------
    AttentionState
        Its arrays are float64 or float32: 16-bit inputs are summed in float32.

    Raises
    ------
    TypeError
        If an array does not hold real numbers, `mask` is not boolean, `bias` not floating,
        `causal` not a bool, or `offset` or `block_size` not made of integers.
    ValueError
        As `streaming_attention` does. The message names the argument and both shapes.

    See Also
    --------
    streaming_attention : The output of this state.
    streaming_attention_vjp : Takes the state, so as not to compute it twice.

    Notes
    -----
    Keys can be split among machines, or between a cache and what is new, and the states merged
    as in [1]_, section 3.

    References
    ----------
    .. [1] H. Liu, M. Zaharia, P. Abbeel, "Ring Attention with Blockwise Transformers for
       Near-Infinite Context", 2023, arXiv:2310.01889.

    Examples
    --------
    A query of 0 matches every key alike. Over the first key the average is 1, over all three 2:

    >>> from selfattn_ref import attention_state
    >>> first = attention_state([[0.0]], [[5.0]], [[1.0]])
    >>> rest = attention_state([[0.0]], [[6.0], [7.0]], [[2.0], [3.0]])
    >>> first.output, first.merge(rest).output
    (array([[1.]]), array([[2.]]))
    """
    plan = _plan(query, key, value, mask, bias, causal, offset, scale, block_size)
    sums = np.zeros((*plan.output_shape[:-1], 1), plan.compute)
    state = AttentionState(sums, sums.copy(), np.zeros(plan.output_shape, plan.compute))
    for here in plan.query_blocks():
        part = _fold(plan, here)
        state.shift[here], state.total[here] = part.shift, part.total
        state.weighted[here] = part.weighted
    return state


@np.errstate(all="ignore")
def streaming_attention_vjp(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    d_output: npt.ArrayLike,
    *,
    mask: npt.ArrayLike | None = None,
    bias: npt.ArrayLike | None = None,
    causal: bool = False,
    offset: SupportsIndex = 0,
    scale: float | None = None,
    block_size: BlockSize | None = None,
    state: AttentionState | None = None,
) -> tuple[_checks.Array, _checks.Array, _checks.Array]:
    r"""Pull a gradient back through attention, block by block.

    With :math:`A` the weights and :math:`O` the output,

    .. math::

       \bar V = A^\top \bar O, \qquad
       \bar S_{ij} = A_{ij} \, \bar O_i \cdot (V_j - O_i), \qquad
       \bar Q = \tfrac{1}{\sqrt{d_k}} \bar S K, \qquad
       \bar K = \tfrac{1}{\sqrt{d_k}} \bar S^\top Q

    Parameters
    ----------
    query, key, value : array_like, shapes (..., Tq, d_k), (..., Tk, d_k), (..., Tk, d_v)
        As in `streaming_attention`.
    d_output : array_like, shape (..., Tq, d_v)
        Gradient with respect to the output, of its shape.
    mask, bias, causal, offset, scale, block_size : optional
        As in `streaming_attention`.
    state : AttentionState, optional
        What `attention_state` returns for the same arguments; it is computed if not given.

    Returns
    -------
    d_query : ndarray, shape of query
        Gradient with respect to the queries. A query with nobody to attend to gets zeros, and
        adds nothing to the other gradients.
    d_key : ndarray, shape of key
        Gradient with respect to the keys. A key that nobody may attend to gets zeros.
    d_value : ndarray, shape of value
        Likewise. An axis that was broadcast is summed over. The dtype is the common one of all
        inputs; 16-bit inputs are computed in float32.

    Raises
    ------
    TypeError
        If an array does not hold real numbers, `mask` is not boolean, `bias` not floating,
        `causal` not a bool, or `offset` or `block_size` not made of integers.
    ValueError
        As `streaming_attention` does; also if `d_output` or `state` does not have the shape of
        the output. The message names the argument and both shapes.

    See Also
    --------
    attention_state : What to save on the way forward.

    Notes
    -----
    The weights are recomputed from the shift and the total of each query, as in [1]_, section
    3.1 and algorithm 4; nothing of size Tq × Tk is held.

    References
    ----------
    .. [1] T. Dao, D. Y. Fu, S. Ermon, A. Rudra, C. Ré, "FlashAttention: Fast and
       Memory-Efficient Exact Attention with IO-Awareness", 2022, arXiv:2205.14135.

    Examples
    --------
    A query of 0 gives the values 3 and 1 the weights 1/2. Raising it favors the first, by half
    the distance of the values:

    >>> from selfattn_ref import streaming_attention_vjp
    >>> d_query, d_key, d_value = streaming_attention_vjp(
    ...     [[0.0]], [[1.0], [-1.0]], [[3.0], [1.0]], [[1.0]]
    ... )
    >>> d_query, d_value
    (array([[1.]]), array([[0.5],
           [0.5]]))
    """
    d_output = _checks.real_array("d_output", d_output, "(..., Tq, d_v)")
    plan = _plan(query, key, value, mask, bias, causal, offset, scale, block_size, d_output)
    _checks.same_shape(d_output=d_output.shape, output=plan.output_shape)
    if state is not None:
        _checks.same_shape(state=state.weighted.shape, output=plan.output_shape)
    arrays = (plan.query, plan.key, plan.value)
    d_query, d_key, d_value = (np.zeros(array.shape, plan.compute) for array in arrays)

    for here in plan.query_blocks():
        seen = _fold(plan, here) if state is None else _part(state, here)
        shift = np.where(seen.total == 0, 0, seen.shift)  # (..., queries, 1)
        # Dividing the gradient by the total spares dividing the weights.
        d_seen = _checks.cast(d_output[here], plan.compute) / seen.total
        np.copyto(d_seen, 0, where=seen.total == 0)  # (..., queries, d_v)
        mean = (d_seen * seen.output).sum(axis=-1, keepdims=True)
        rows = plan.scaled_query(here)  # (..., queries, d_k)
        for there, visible in plan.key_blocks(here):
            keys = _checks.cast(plan.key[there], plan.compute)
            values = _checks.cast(plan.value[there], plan.compute)
            weights = plan.scores(rows, keys, here, there)  # (..., queries, keys)
            weights -= shift
            np.exp(weights, out=weights)
            d_scores = d_seen @ values.mT
            d_scores -= mean
            d_scores *= weights
            if visible is not None:
                np.copyto(weights, 0, where=~visible)
                np.copyto(d_scores, 0, where=~visible)
            seen_by = None if visible is None else visible.mT  # (..., keys, queries)
            d_query[here] += _mix(d_scores, keys, visible)
            d_key[there] += _mix(d_scores.mT, rows, seen_by)
            d_value[there] += _mix(weights.mT, d_seen, seen_by)
        d_query[here] *= plan.scale
    return (
        _checks.cast(_summed(d_query, plan.query_shape), plan.result),
        _checks.cast(_summed(d_key, plan.key_shape), plan.result),
        _checks.cast(_summed(d_value, plan.value_shape), plan.result),
    )


Index = tuple[Any, ...]  # of the leading axes, an ellipsis, a slice of rows, all columns


@dataclass(frozen=True, eq=False)
class _Plan:
    """The checked arguments of one call, and how they are cut into blocks.

    The arrays are views, broadcast along the leading axes; the dtype is that of the caller.
    """

    query: _checks.Array  # (..., Tq, d_k)
    key: _checks.Array  # (..., Tk, d_k)
    value: _checks.Array  # (..., Tk, d_v)
    mask: Mask | None  # (..., Tq or 1, Tk or 1)
    bias: _checks.Array | None  # (..., Tq or 1, Tk or 1)
    first_end: int | None  # query 0 sees the keys before it; each next query sees one more
    scale: float
    compute: np.dtype[Any]
    result: np.dtype[Any]
    query_shape: tuple[int, ...]  # as given
    key_shape: tuple[int, ...]
    value_shape: tuple[int, ...]
    outer: tuple[int, ...]  # the leading axes that are looped over, not batched
    queries: int  # in a block
    keys: int

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (*self.query.shape[:-1], self.value.shape[-1])

    def query_blocks(self) -> Iterator[Index]:
        """Yield the index of each block of queries."""
        if 0 in (*self.query.shape[:-1], self.key.shape[-2]):
            return
        for part in np.ndindex(self.outer):
            for rows in _slices(self.query.shape[-2], self.queries):
                yield (*part, ..., rows, slice(None))

    def key_blocks(self, here: Index) -> Iterator[tuple[Index, Mask | None]]:
        """Yield the index of each block of keys that the queries `here` see any of.

        With it comes which of them each query sees, or None for all.
        """
        *part, rows, _ = here
        length = self.key.shape[-2]
        if self.first_end is not None:
            length = min(length, rows.stop - 1 + self.first_end)
        for columns in _slices(length, self.keys):
            visible = None
            if self.mask is not None:
                visible = self.mask[_where(self.mask, here, columns)]
            if self.first_end is not None and columns.stop > rows.start + self.first_end:
                end = np.arange(rows.start, rows.stop)[:, np.newaxis] + self.first_end
                earlier = np.arange(columns.start, columns.stop) < end  # (queries, keys)
                visible = earlier if visible is None else visible & earlier
            if visible is not None:
                if not visible.any():
                    continue
                if visible.all():
                    visible = None
            yield (*part, columns, slice(None)), visible

    def scaled_query(self, here: Index) -> _checks.Array:
        """Return a block of queries, times the scale: cheaper than to scale the scores."""
        return np.multiply(_checks.cast(self.query[here], self.compute), self.scale)

    def scores(
        self, rows: _checks.Array, keys: _checks.Array, here: Index, there: Index
    ) -> _checks.Array:
        """Return the scores of scaled queries for keys, before masking."""
        scores: _checks.Array = rows @ keys.mT  # (..., queries, keys)
        if self.bias is not None:
            scores += _checks.cast(self.bias[_where(self.bias, here, there[-2])], self.compute)
        return scores


def _plan(
    query: npt.ArrayLike,
    key: npt.ArrayLike,
    value: npt.ArrayLike,
    mask: npt.ArrayLike | None,
    bias: npt.ArrayLike | None,
    causal: bool,
    offset: SupportsIndex,
    scale: float | None,
    block_size: BlockSize | None,
    *others: _checks.Array,
) -> _Plan:
    """Check the arguments; `others` take part in choosing the dtype."""
    query, key, value, allowed, added = _checks.attention_inputs(query, key, value, mask, bias)
    leading = _checks.leading_axes(query=query, key=key, value=value)
    given = (query, key, value, *others) if added is None else (query, key, value, *others, added)
    compute, result = _checks.working_dtype(*given)
    first = _checks.causal_offset(causal, offset)
    queries, keys = _checks.block_pair("block_size", block_size) or (_BLOCK_QUERIES, _BLOCK_KEYS)
    queries = min(queries, max(query.shape[-2], 1))
    if block_size is None:
        keys = min(keys, _BLOCK_SCORES // queries)

    # Blocks that are small share a step: the innermost leading axes are batched while they fit.
    outer, size = leading, queries * min(keys, key.shape[-2])
    while outer and size * outer[-1] <= _BLOCK_SCORES:
        size *= outer[-1]
        outer = outer[:-1]
    return _Plan(
        _spread(query, leading),
        _spread(key, leading),
        _spread(value, leading),
        None if allowed is None else _spread(allowed, leading),
        None if added is None else _spread(added, leading),
        None if first is None else first + 1,
        _checks.scale_or_default(scale, query.shape[-1]),
        compute,
        result,
        query.shape,
        key.shape,
        value.shape,
        outer,
        queries,
        keys,
    )


def _fold(plan: _Plan, here: Index) -> AttentionState:
    """Return the state of a block of queries after all keys.

    This is `AttentionState.of` and `merge` over the blocks of keys, in place. Three passes over
    the scores are spared: they are shifted only when one leaves [−16, 16], the largest of each
    query is sought only then, and the exponentials are summed by a product.
    """
    rows = plan.scaled_query(here)  # (..., queries, d_k)
    shift = np.zeros((*rows.shape[:-1], 1), plan.compute)
    total = np.zeros_like(shift)
    weighted = np.zeros((*rows.shape[:-1], plan.value.shape[-1]), plan.compute)
    shifted, complete = False, False  # complete: every query has seen a key
    for there, visible in plan.key_blocks(here):
        keys = _checks.cast(plan.key[there], plan.compute)
        values = _checks.cast(plan.value[there], plan.compute)
        scores = plan.scores(rows, keys, here, there)  # (..., queries, keys)
        if visible is not None:
            np.copyto(scores, -np.inf, where=~visible)
        if shifted:
            scores -= shift
        # A NaN hides how large the other scores are, so it must not pass for small.
        if not complete or not scores.max() <= _SLACK:
            rise = _rise(scores, total)
            if rise.any():
                scores -= rise
                shift += rise
                # A query that has seen no key may sink; there is nothing to rescale.
                factor = np.exp(-np.maximum(rise, 0))
                total *= factor
                weighted *= factor
                shifted = True
        np.exp(scores, out=scores)
        total += scores @ np.ones((scores.shape[-1], 1), plan.compute)
        weighted += _mix(scores, values, visible)
        complete = complete or bool(total.all())
    return AttentionState(shift, total, weighted)


def _rise(scores: _checks.Array, total: _checks.Array) -> _checks.Array:
    """Return by how much the shift of each query changes, given scores relative to it.

    If the largest score is out of range (above it, or, for a query that has seen no key, below
    it), the shift goes to the far side of that score, so that the next one has room to grow.
    """
    highest = scores.max(axis=-1, keepdims=True)
    sinks = (total == 0) & (highest < -_SLACK) & (highest > -np.inf)
    moves = (highest > _SLACK) | sinks
    rise: _checks.Array = np.where(moves, highest + _SLACK, scores.dtype.type(0))
    return rise


def _mix(weights: _checks.Array, rows: _checks.Array, visible: Mask | None) -> _checks.Array:
    """Add up rows by their weights; what is not visible adds nothing, not even a NaN."""
    mixed: _checks.Array = weights @ rows if visible is None else _product(weights, rows, visible)
    return mixed


def _slices(length: int, size: int) -> Iterator[slice]:
    for start in range(0, length, size):
        yield slice(start, min(start + size, length))


def _spread(array: _checks.Array, leading: tuple[int, ...]) -> _checks.Array:
    """Broadcast the axes before the last two."""
    array = np.atleast_2d(array)
    return np.broadcast_to(array, (*leading, *array.shape[-2:]))


def _where(array: _checks.Array, here: Index, columns: slice) -> Index:
    """Return the index of a block in an array whose last two axes may have length 1."""
    *part, rows, _ = here
    all_of = slice(None)
    return (
        *part,
        all_of if array.shape[-2] == 1 else rows,
        all_of if array.shape[-1] == 1 else columns,
    )


def _part(state: AttentionState, here: Index) -> AttentionState:
    return AttentionState(state.shift[here], state.total[here], state.weighted[here])
