"""State: what queries have seen so far, one block of keys after another."""

from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import numpy.typing as npt

from selfattn_ref import _boundary
from selfattn_ref._kernels import Array, exponentials, mix, subtractable

__all__ = ["AttentionState"]


@dataclass(frozen=True, eq=False)
class AttentionState:
    r"""Hold what a query needs to know about the keys it has seen: a maximum, a sum and an average.

    .. math::

       m = \max_j s_j, \qquad \ell = \sum_j e^{s_j - m}, \qquad
       o = \frac{1}{\ell} \sum_j e^{s_j - m} v_j

    Two states of the same queries over different keys merge into the state over all of them,
    in any order and grouping.

    Parameters
    ----------
    shift : array_like, shape (..., Tq, 1)
        The largest score :math:`m`; :math:`-\infty` for a query that has seen no key. It is
        subtracted from every score, which keeps the exponentials at most 1.
    total : array_like, shape (..., Tq, 1)
        The sum :math:`\ell` of the exponentials; 0 for a query that has seen no key.
    output : array_like, shape (..., Tq, d_v)
        The average :math:`o` of the values seen so far; zeros before any key. Arrays are kept,
        not copied, where they need not be converted.

    Raises
    ------
    TypeError
        If an array does not hold real numbers.
    ValueError
        If the three do not belong to the same queries.

    See Also
    --------
    attention_state : The state after all keys.
    streaming_attention : The output alone.
    log_sum_exp : From scores, without values.

    Notes
    -----
    The recurrence for :math:`m` and :math:`\ell` is that of [1]_; [2]_ and [3]_ carry the values
    along. The log-sum-exp :math:`m + \log \ell` is not stored in their place, because its rounding
    error grows with the scores and that of :math:`\ell` does not. The average is stored and not the
    sum, because a sum of large values can overflow where their average does not.

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
    One key with score 0 and one with score ln 2, seen separately: the weights are 1/3 and 2/3.

    >>> import numpy as np
    >>> from selfattn_ref import AttentionState
    >>> one = AttentionState.of([[0.0]], [[3.0, 0.0]])
    >>> other = AttentionState.of([[np.log(2.0)]], [[0.0, 3.0]])
    >>> one.merge(other).output
    array([[1., 2.]])
    """

    shift: Array
    total: Array
    output: Array

    def __post_init__(self) -> None:
        for field in fields(self):
            array = _boundary.real_array(field.name, getattr(self, field.name), "(..., Tq, 1)")
            object.__setattr__(self, field.name, array)
        one = (*self.output.shape[:-1], 1)
        _boundary.same_shape(shift=self.shift.shape, total=self.total.shape)
        _boundary.same_shape(**{"shift": self.shift.shape, "one for each row of output": one})

    @classmethod
    @_boundary.public
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
            Its arrays have the common dtype of the inputs, or float32 if that has 16 bits.

        Raises
        ------
        TypeError
            If an array does not hold real numbers, or `mask` is not boolean.
        ValueError
            If the lengths or leading axes do not match, or `mask` does not broadcast.

        Examples
        --------
        Two scores of 7: the largest is 7, and each exponential relative to it is 1.

        >>> from selfattn_ref import AttentionState
        >>> state = AttentionState.of([[7.0, 7.0]], [[1.0], [2.0]])
        >>> state.shift, state.total, state.output
        (array([[7.]]), array([[2.]]), array([[1.5]]))
        """
        scores, value, mask = _boundary.scores_and_values(scores, value, mask)

        shift = exponentials(scores, mask)  # (..., Tq, 1)
        total = scores.sum(axis=-1, keepdims=True)  # (..., Tq, 1)
        weights = np.divide(scores, nonzero(total), out=scores)  # (..., Tq, Tk)
        return cls(shift, total, mix(weights, value, mask))

    @_boundary.public
    def merge(self, other: Self) -> Self:
        """Return the state of the same queries over the keys of both.

        Parameters
        ----------
        other : AttentionState
            The state over other keys.

        Returns
        -------
        AttentionState
            ``a.merge(b)`` and ``b.merge(a)`` are equal, without any rounding between them;
            another grouping of three states differs by rounding. A state that has seen no key
            changes nothing.

        Raises
        ------
        TypeError
            If `other` is not an `AttentionState`.
        ValueError
            If the two differ in their queries or in the width of their values.

        Examples
        --------
        Scores of 0 and ln 2: relative to the larger, the exponentials are 1/2 and 1, and their sum
        is 3/2.

        >>> import numpy as np
        >>> from selfattn_ref import AttentionState
        >>> one = AttentionState.of([[0.0]], [[4.0]])
        >>> one.merge(AttentionState.of([[np.log(2.0)]], [[1.0]])).output
        array([[2.]])
        """
        _boundary.kind("other", other, AttentionState)
        _boundary.same_shape(state=self.output.shape, other=other.output.shape)

        shift = np.maximum(self.shift, other.shift)
        mine = self.total * np.exp(self.shift - subtractable(shift))
        yours = other.total * np.exp(other.shift - subtractable(shift))
        total = mine + yours
        # Two averages are averaged: never beyond the values, however many there are.
        output = self.output * (mine / nonzero(total)) + other.output * (yours / nonzero(total))
        return type(self)(shift, total, output)

    @property
    @_boundary.public
    def weighted(self) -> Array:
        r"""The sum :math:`\ell\,o` of the values, each times its exponential; shape of `output`."""
        return self.output * self.total

    @property
    @_boundary.public
    def log_sum_exp(self) -> Array:
        r"""The number :math:`\log \sum_j e^{s_j}`, shape (..., Tq); −∞ before any key."""
        return np.asarray((self.shift + np.log(self.total))[..., 0])


def nonzero(total: Array) -> Array:
    """Return what to divide by: 1 for a query that has seen no key."""
    return np.where(total == 0, total.dtype.type(1), total)
