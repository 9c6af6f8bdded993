"""Blocks: the passes over blocks of keys, forward and back."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from selfattn_ref import _boundary, _kernels
from selfattn_ref._boundary import Given
from selfattn_ref._kernels import Array, Mask, hide, largest, mix, subtractable
from selfattn_ref.gradients import AttentionGradients
from selfattn_ref.streaming.state import AttentionState, nonzero

__all__ = ["attention_state", "streaming_attention", "streaming_attention_vjp"]

BlockSize = SupportsIndex | tuple[SupportsIndex, SupportsIndex]
WindowSize = tuple[SupportsIndex | None, SupportsIndex | None]

_BLOCK_QUERIES = 512  # a block of scores and what it is made of should stay in the cache
_BLOCK_KEYS = 4096  # for few queries only; for many, the next line leaves 256
_BLOCK_SCORES = 2**17
_LEAST = 2.0**-12  # of sums of exponentials that need no shift


@_boundary.public
def streaming_attention(
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
    window: WindowSize | None = None,
    block_size: BlockSize | None = None,
) -> Array:
    r"""Compute scaled dot-product attention without ever holding all the scores.

    .. math:: \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}} + B\right) V

    Parameters
    ----------
    query : array_like, shape (..., Tq, d_k)
        One query per row.
    key : array_like, shape (..., Tk, d_k)
        One key per row.
    value : array_like, shape (..., Tk, d_v)
        One value per row, as many values as keys. The leading axes of all three arrays broadcast.
    mask : array_like of bool, optional
        True where query i may attend to key j; broadcasts to the scores (..., Tq, Tk). A block
        that it hides as a whole is skipped.
    bias : array_like of float, optional
        Added to the scaled scores before masking; broadcasts to them.
    scale : float, optional
        Finite factor that multiplies the dot products; by default :math:`1/\sqrt{d_k}`.
    soft_cap : float, optional
        A positive, finite bound that the scaled scores approach, as in `soft_cap`.
    causal : bool, optional
        If True, key j is visible to query i only if :math:`j \le i + \text{offset}`, as with
        `causal_mask` but without building that mask. A `mask` applies as well.
    offset : int, optional
        Position of the first query relative to key 0; allowed only with `causal` or `window`.
    window : pair of int or None, optional
        How many keys before and after its own position a query sees; None means no limit on that
        side. The same as `window_mask`, but without building that mask.
    block_size : int or pair of int, optional
        Number of queries and number of keys in a block; by default, as many as should fit the
        processor's cache.

    Returns
    -------
    ndarray, shape (..., Tq, d_v)
        What `scaled_dot_product_attention` returns, up to rounding, edge cases and dtypes
        included. Where products of a query and a key overflow to both signs, a score may be NaN in
        one and infinite in the other.

    Raises
    ------
    TypeError
        If an argument is of the wrong kind, as in `scaled_dot_product_attention`, or `window` or
        `block_size` is not made of integers.
    ValueError
        If widths, lengths or leading axes do not match, `mask` or `bias` does not broadcast to
        the scores, a number is out of range, a block is empty, or an `offset` is given without
        `causal` or `window`. The message names the argument and both shapes.

    See Also
    --------
    scaled_dot_product_attention : The same, written as the formula.
    attention_state : The state behind this output, to be merged with more keys.
    streaming_attention_vjp : Its gradients.

    Notes
    -----
    Beyond the output, memory is one block of scores and its inputs, whatever the lengths: an
    array of another dtype or layout is converted block by block, and one that
    `numpy.broadcast_to` has stretched is not copied as a whole. Only what is no array, such as a
    list, becomes one first. The method is that of [1]_ and [2]_. Blocks that `causal`, `window`
    or `mask` hide as a whole are not visited. The logarithm of the sums is `attention_state`'s
    ``log_sum_exp``.

    The error has the same bound as in `scaled_dot_product_attention`, with :math:`6 M` added inside
    the parentheses of :math:`E` for :math:`M + 1` blocks of keys; see the theorem "Rounding in
    attention" in the chapter on long sequences.

    References
    ----------
    .. [1] M. N. Rabe, C. Staats, "Self-attention Does Not Need O(n²) Memory", 2021,
       arXiv:2112.05682.
    .. [2] T. Dao, D. Y. Fu, S. Ermon, A. Rudra, C. Ré, "FlashAttention: Fast and
       Memory-Efficient Exact Attention with IO-Awareness", 2022, arXiv:2205.14135.

    Examples
    --------
    The scores are 0 and ln 2, the weights 1/3 and 2/3, also in blocks of a single key:

    >>> import numpy as np
    >>> from selfattn_ref import streaming_attention
    >>> query, key = [[1.0]], [[0.0], [np.log(2)]]
    >>> value = [[3.0, 0.0], [0.0, 3.0]]
    >>> streaming_attention(query, key, value, block_size=1)
    array([[1., 2.]])
    """
    given = _boundary.attention(
        query, key, value, mask, bias, scale, soft_cap, causal, offset, window
    )
    plan = _Plan.of(given, block_size)
    output = np.zeros(given.output_shape, given.result)
    for here in plan.query_blocks():
        output[here] = plan.seen(here)[2]
    return output


@_boundary.public
def attention_state(
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
    window: WindowSize | None = None,
    block_size: BlockSize | None = None,
) -> AttentionState:
    r"""Let queries see keys, and return the state that more keys can be merged into.

    For each query, with the scores :math:`s_j` and :math:`m` the largest of them,

    .. math::

       \ell = \sum_j e^{s_j - m}, \qquad o = \frac{1}{\ell} \sum_j e^{s_j - m} v_j

    Parameters
    ----------
    query, key, value : array_like, shapes (..., Tq, d_k), (..., Tk, d_k), (..., Tk, d_v)
        As in `streaming_attention`.
    mask, bias, scale, soft_cap, causal, offset, window, block_size : optional
        As in `streaming_attention`. For keys that come after `n` others, reduce the `offset` by
        `n`.

    Returns
    -------
    AttentionState
        Its arrays have the common dtype of the inputs, or float32 if that has 16 bits.

    Raises
    ------
    TypeError
        If an argument is of the wrong kind, as in `scaled_dot_product_attention`, or `window` or
        `block_size` is not made of integers.
    ValueError
        As in `streaming_attention`. The message names the argument and both shapes.

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
    A query of 0 matches every key equally well. The average is 1 over the first key and 2 over all
    three:

    >>> from selfattn_ref import attention_state
    >>> first = attention_state([[0.0]], [[5.0]], [[1.0]])
    >>> rest = attention_state([[0.0]], [[6.0], [7.0]], [[2.0], [3.0]])
    >>> first.output, first.merge(rest).output
    (array([[1.]]), array([[2.]]))
    """
    given = _boundary.attention(
        query, key, value, mask, bias, scale, soft_cap, causal, offset, window
    )
    plan = _Plan.of(given, block_size)
    output = np.zeros(given.output_shape, given.compute)
    total = np.zeros((*output.shape[:-1], 1), given.compute)
    shift = np.full_like(total, -np.inf)
    for here in plan.query_blocks():
        shift[here], total[here], output[here] = plan.seen(here, true_shift=True)
    return AttentionState(shift, total, output)


@_boundary.public
def streaming_attention_vjp(
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
    window: WindowSize | None = None,
    block_size: BlockSize | None = None,
    state: AttentionState | None = None,
) -> AttentionGradients:
    r"""Pull a gradient back through attention, block by block.

    With :math:`S` the scaled scores, :math:`A` the weights, :math:`O` the output and :math:`dX` the
    gradient with respect to :math:`X`,

    .. math::

       dV = A^\top dO, \qquad
       dS_{ij} = A_{ij} \, dO_i \cdot (V_j - O_i), \qquad
       dQ = \tfrac{1}{\sqrt{d_k}} \, dS \, K, \qquad
       dK = \tfrac{1}{\sqrt{d_k}} \, dS^\top Q

    Parameters
    ----------
    query, key, value : array_like, shapes (..., Tq, d_k), (..., Tk, d_k), (..., Tk, d_v)
        As in `streaming_attention`.
    d_output : array_like, shape (..., Tq, d_v)
        Gradient with respect to the output, with the shape of the output.
    mask, bias, scale, soft_cap, causal, offset, window, block_size : optional
        As in `streaming_attention`.
    state : AttentionState, optional
        What `attention_state` returns for the same arguments; computed if not given.

    Returns
    -------
    d_query : ndarray, shape of query
        Gradient with respect to the queries. A query with nobody to attend to gets zeros, and
        adds nothing to the other gradients.
    d_key : ndarray, shape of key
        Gradient with respect to the keys. A key that nobody may attend to gets zeros.
    d_value : ndarray, shape of value
        Gradient with respect to the values; zeros likewise. All gradients are summed over axes that
        were broadcast. The dtype is the common dtype of all inputs; 16-bit inputs are computed in
        float32.
    d_bias : ndarray, shape of bias
        Gradient with respect to the bias; None if there is no bias. It is an attribute of the
        result, an `AttentionGradients`, which is a tuple of the other three.

    Raises
    ------
    TypeError
        If an argument is of the wrong kind, as in `scaled_dot_product_attention`, or `window` or
        `block_size` is not made of integers.
    ValueError
        As in `streaming_attention`; also if `d_output` or `state` does not have the shape of the
        output, or if the weights that follow from `state` do not add up to 1 for some query, which
        means that it was made from other arguments. The message names the argument and the shapes.

    See Also
    --------
    attention_state : What to save on the way forward.

    Notes
    -----
    The weights are recomputed from the largest score and the total of each query, as in [1]_,
    section 3.1 and algorithm 4; nothing of size Tq × Tk is held but the gradient of a bias that
    has this size.

    References
    ----------
    .. [1] T. Dao, D. Y. Fu, S. Ermon, A. Rudra, C. Ré, "FlashAttention: Fast and
       Memory-Efficient Exact Attention with IO-Awareness", 2022, arXiv:2205.14135.

    Examples
    --------
    A query of 0 gives each of the values 3 and 1 the weight 1/2. Raising the query favors the first
    value, at a rate of half the distance between them:

    >>> from selfattn_ref import streaming_attention_vjp
    >>> d_query, d_key, d_value = streaming_attention_vjp(
    ...     [[0.0]], [[1.0], [-1.0]], [[3.0], [1.0]], [[1.0]]
    ... )
    >>> d_query, d_value
    (array([[1.]]), array([[0.5],
           [0.5]]))
    """
    given, d_output = _boundary.attention_back(
        query, key, value, d_output, mask, bias, scale, soft_cap, causal, offset, window
    )
    if state is not None:
        _boundary.kind("state", state, AttentionState)
        _boundary.same_shape(state=state.output.shape, output=given.output_shape)
    plan = _Plan.of(given, block_size)
    d_query, d_key, d_value = (np.zeros(array.shape, given.compute) for array in given[:3])
    d_bias = None if given.bias is None else np.zeros(given.bias.shape, given.compute)

    for here in plan.query_blocks():
        shift, total, output = plan.seen(here) if state is None else _part(state, here)
        mean = (d_output[here] * output).sum(axis=-1, keepdims=True)  # (..., queries, 1)
        every = shift, total, mean, d_output[here], plan.scaled_query(here)
        sums, reach = np.zeros_like(total), total.dtype.type(0)
        for seeing, there, visible in plan.key_blocks(here):
            near = _within(here, seeing)
            shift, total, mean, d_rows, rows = (array[near] for array in every)
            seen_by = None if visible is None else visible.mT  # (..., keys, queries)
            keys, values = plan.part(given.key, there), plan.part(given.value, there)
            scaled = rows @ keys.mT  # (..., queries, keys)
            slope = given.slope(scaled)
            weights = plan.adjusted(scaled, seeing, there)
            weights -= subtractable(shift)
            if state is not None:  # other blocks round otherwise, for large scores by more than 1
                np.minimum(weights, 0, out=weights)
            np.exp(weights, out=weights)
            weights /= nonzero(total)
            hide(weights, visible)
            if state is not None:
                sums[near] += weights.sum(axis=-1, keepdims=True)
                reach = np.maximum(reach, plan.reach(rows, keys, seeing, there))
            d_scores = d_rows @ values.mT
            d_scores -= mean
            d_scores *= weights
            hide(d_scores, visible)
            plan.add(d_value, there, mix(weights.mT, d_rows, seen_by))
            if d_bias is not None:
                plan.add(d_bias, (*seeing[:-1], there[-2]), d_scores)
            if given.soft_cap is not None:
                d_scores *= slope
                hide(d_scores, visible)
            plan.add(d_query, seeing, given.scale * mix(d_scores, keys, visible))
            plan.add(d_key, there, mix(d_scores.mT, rows, seen_by))
        if state is not None:
            _boundary.weights_add_up(sums, every[1], reach)
    return AttentionGradients.of(given, d_query, d_key, d_value, d_bias)


Index = tuple[Any, ...]  # of the leading axes, an ellipsis, a slice of rows, one of columns
Seen = tuple[Array, Array, Array]  # the three fields of a state
_ALL = slice(None)


@dataclass(frozen=True, eq=False)
class _Plan:
    """The checked arguments of one call, and how they are cut into blocks."""

    given: Given
    leading: tuple[int, ...]
    outer: int  # how many of the leading axes are looped over; the rest is batched
    queries: int  # in a block
    keys: int

    @classmethod
    def of(cls, given: Given, block_size: Any) -> "_Plan":
        """Choose the blocks."""
        *leading, length, _ = given.output_shape
        queries, keys = _boundary.block_pair(block_size) or (_BLOCK_QUERIES, _BLOCK_KEYS)
        casts = any(_boundary.floating(array) != given.compute for array in given[1:3])
        queries = min(queries, max(length, 1))
        # For few queries, keys and values that have to be cast are larger than the scores.
        rows = max(queries, given.key.shape[-1] + given.value.shape[-1] if casts else 0)
        if block_size is None:
            keys = max(1, min(keys, _BLOCK_SCORES // rows))
        # Blocks that are small share a step: the innermost leading axes while they fit.
        outer, size = len(leading), rows * min(keys, given.key.shape[-2])
        while outer and size * leading[outer - 1] <= _BLOCK_SCORES:
            outer -= 1
            size *= leading[outer]
        return cls(given, tuple(leading), outer, queries, keys)

    def query_blocks(self) -> Iterator[Index]:
        """Yield the index of each block of queries."""
        length = self.given.query.shape[-2]
        if 0 in (*self.leading, length, self.given.key.shape[-2]):
            return
        for part in np.ndindex(self.leading[: self.outer]):
            for rows in _slices(0, length, self.queries):
                yield (*part, ..., rows, _ALL)

    def key_blocks(self, here: Index) -> Iterator[tuple[Index, Index, Mask | None]]:
        """Yield those of the queries `here` that see any of a block of keys, and the block.

        With them comes which of the keys each of the queries sees, or None for all.
        """
        *part, rows, _ = here
        start, stop = 0, self.given.key.shape[-2]
        window = self.given.window
        # The queries see every key from `first` to `last`, and some before and after.
        first, last = start, stop
        if window is not None and window.left is not None:
            start = max(start, rows.start + window.offset - window.left)
            first = rows.stop - 1 + window.offset - window.left
        if window is not None and window.right is not None:
            stop = min(stop, rows.stop + window.offset + window.right)
            last = rows.start + window.offset + window.right + 1
        for columns in _slices(start, stop, self.keys):
            seeing, visible = rows, None
            if window is not None and (columns.start < first or columns.stop > last):
                seeing = _kernels.seeing(rows, columns, window)
                visible = _kernels.visible(seeing, columns, window)
            if self.given.mask is not None:
                allowed = np.atleast_2d(self.at(self.given.mask, (*part, seeing, columns)))
                visible = allowed if visible is None else visible & allowed
                if not visible.any():
                    continue
                if visible.all():
                    visible = None
            yield (*part, seeing, _ALL), (*part, columns, _ALL), visible

    def part(self, array: Array, index: Index) -> Array:
        """Return a block in the dtype to compute in."""
        return _boundary.cast(self.at(array, index), self.given.compute)

    def at(self, array: Array, index: Index) -> Array:
        """Return a block of an array, whose axes may be 1 or absent where it was broadcast."""
        *part, _, rows, columns = index
        absent = len(self.leading) + 2 - array.ndim
        front = (
            0 if array.shape[axis - absent] == 1 else part[axis]
            for axis in range(absent, len(part))
        )
        last = (
            place if size != 1 else _ALL
            for place, size in zip((rows, columns)[-array.ndim :], array.shape[-2:], strict=False)
        )
        block: Array = array[(*front, ..., *last)]
        return block

    def add(self, total: Array, index: Index, block: Array) -> None:
        """Add a block of a gradient where it belongs, over the axes that were broadcast."""
        place = self.at(total, index)
        place += _kernels.summed(block, place.shape)

    def scaled_query(self, here: Index) -> Array:
        """Return a block of queries, times the scale: cheaper than to scale the scores.

        It has all leading axes, and so have the scores: values may have some of their own.
        """
        rows = self.given.scale * self.part(self.given.query, here)
        return np.broadcast_to(rows, (*self.leading[self.outer :], *rows.shape[-2:]))

    def adjusted(self, scaled: Array, here: Index, there: Index) -> Array:
        """Cap a block of scaled scores and add its bias, in place."""
        return _kernels.adjusted(scaled, self.given.soft_cap, self.bias(here, there))

    def bias(self, here: Index, there: Index) -> Array | None:
        """Return the bias of a block of scores, as it is stored."""
        bias = self.given.bias
        return None if bias is None else self.at(bias, (*here[:-1], there[-2]))

    def reach(self, rows: Array, keys: Array, here: Index, there: Index) -> Any:
        """Return a bound of the scores of a block, the rounding of which it bounds too."""
        lengths = (np.sqrt((array * array).sum(axis=-1)) for array in (rows, keys))
        bias = self.bias(here, there)
        added = 0 if bias is None else np.abs(bias).max(initial=0)
        return math.prod(length.max(initial=0) for length in lengths) + added

    def seen(self, here: Index, *, true_shift: bool = False) -> Seen:
        """Return the state of a block of queries after all keys.

        Only if `true_shift` says so, what is subtracted from the scores is their maximum.
        """
        quick = None if true_shift else self._quick(here)
        if quick is not None:
            return quick
        found = self._fold(here, 1.0)
        if np.isfinite(found[2]).all():
            return found
        # Sums of large values overflow where their average does not. A power of two rounds
        # nothing, and this one leaves room for all the keys.
        room = 2.0 ** -(self.given.key.shape[-2].bit_length() + 1)
        return self._fold(here, room)

    def _quick(self, here: Index) -> Seen | None:
        """Return the state relative to 0 in place of the maximum, or None where that would not do.

        It spares two of five passes over the scores, if their exponentials and the values are of
        usual size.
        """
        total, weighted = self._zeros(here, 1), self._zeros(here, self.given.value.shape[-1])
        for near, scores, values, visible in self._scores(here):
            hide(np.exp(scores, out=scores), visible)
            total[near] += _sums(scores)
            if not total.max() < np.inf:  # nor if it is NaN
                return None
            weighted[near] += mix(scores, values, visible)
            del scores  # before the next block is there
        output = np.divide(weighted, total, out=weighted)
        size = np.abs(output).max(initial=0)
        limits = np.finfo(self.given.compute)
        if total.min() >= _LEAST and limits.tiny / limits.eps**2 < size < np.inf:
            return np.zeros_like(total), total, output
        return None

    def _fold(self, here: Index, room: float) -> Seen:
        """Do as `AttentionState.of` and `merge` do over the blocks of keys, in place."""
        total, weighted = self._zeros(here, 1), self._zeros(here, self.given.value.shape[-1])
        shift = np.log(total)  # −∞: no key has been seen
        for near, scores, values, visible in self._scores(here):
            if visible is not None:
                np.copyto(scores, -np.inf, where=~visible)
            risen = np.maximum(shift[near], largest(scores))  # (..., queries, 1)
            scores -= subtractable(risen)
            np.exp(scores, out=scores)
            factor = np.exp(shift[near] - subtractable(risen))
            if room != 1:
                values = values * room
            total[near] = total[near] * factor + _sums(scores)
            weighted[near] = weighted[near] * factor + mix(scores, values, visible)
            shift[near] = risen
            del scores
        return shift, total, weighted / nonzero(total) / room

    def _zeros(self, here: Index, width: int) -> Array:
        """Return a row of zeros for each of the queries."""
        rows = here[-2]
        shape = (*self.leading[self.outer :], rows.stop - rows.start, width)
        return np.zeros(shape, self.given.compute)

    def _scores(self, here: Index) -> Iterator[tuple[Index, Array, Array, Mask | None]]:
        """Yield the scores of each block of keys, the values, and who sees which of them.

        Before them comes which of the queries they belong to.
        """
        given, rows = self.given, self.scaled_query(here)
        every = (*here[:-2], _ALL, _ALL)
        keys, values = self.at(given.key, every), self.at(given.value, every)
        for seeing, there, visible in self.key_blocks(here):
            near = _within(here, seeing)
            block = _boundary.cast(keys[..., there[-2], :], given.compute)
            scores = self.adjusted(rows[near] @ block.mT, seeing, there)  # (..., queries, keys)
            yield near, scores, _boundary.cast(values[..., there[-2], :], given.compute), visible
            del scores


def _sums(exponentials: Array) -> Array:
    """Return the sums of the rows; a product with ones is the quickest."""
    ones = np.ones((exponentials.shape[-1], 1), exponentials.dtype)
    return np.asarray(exponentials @ ones)


def _within(here: Index, seeing: Index) -> Index:
    """Return where some of the queries `here` stand among them."""
    start = here[-2].start
    return (..., slice(seeing[-2].start - start, seeing[-2].stop - start), _ALL)


def _part(state: AttentionState, here: Index) -> Seen:
    return state.shift[here], state.total[here], state.output[here]


def _slices(start: int, stop: int, size: int) -> Iterator[slice]:
    for begin in range(start, stop, size):
        yield slice(begin, min(begin + size, stop))
