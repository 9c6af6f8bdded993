"""Cache: keep the keys and values of the positions so far, and attend one step at a time."""

import copy
from typing import Self

import numpy as np
import numpy.typing as npt

from selfattn_ref import _boundary
from selfattn_ref._kernels import Array
from selfattn_ref.streaming import streaming_attention

__all__ = ["KeyValueCache"]


class KeyValueCache:
    """Remember keys and values, so that a new query costs one row of scores, not all of them.

    Attending step by step, in chunks of any size, gives the same rows as one causal pass over the
    whole sequence. ``len(cache)`` is the number of positions remembered, which is also the position
    of the next one.

    See Also
    --------
    causal_mask : The cache passes ``len(cache)`` as its `offset`.
    rotate_pairs : Rotates queries and keys before they are passed here; start at ``len(cache)``.

    Notes
    -----
    The storage grows by doubling: when a chunk no longer fits, keys and values move to new arrays
    of twice the capacity, or of the length needed if that is more. Over n positions this copies
    fewer than 2 n rows, and at most about half of the storage is unused. In exact arithmetic the
    result equals the full pass; in floating point it does so up to rounding, because sums over
    different numbers of keys may be added up in a different order. Taught on the page "Generation
    and the key/value cache"; worked example SA025.

    Examples
    --------
    Keys of zero all match equally well, so each output is the mean of the values so far:

    >>> from selfattn_ref import KeyValueCache
    >>> cache = KeyValueCache()
    >>> cache.attend([[0.0], [0.0]], [[0.0], [0.0]], [[2.0], [4.0]])
    array([[2.],
           [3.]])
    >>> cache.attend([[0.0]], [[0.0]], [[9.0]])
    array([[5.]])
    >>> cache
    KeyValueCache(3 positions, d_k = 1, d_v = 1, float64)
    >>> cache.values
    array([[2.],
           [4.],
           [9.]])
    """

    def __init__(self) -> None:
        self._length = 0
        self._keys: Array | None = None  # (..., capacity, d_k)
        self._values: Array | None = None  # (..., capacity, d_v)

    def __len__(self) -> int:
        return self._length

    def __copy__(self) -> Self:
        # Two continuations of one text must not write to the same storage.
        return copy.deepcopy(self)

    def __repr__(self) -> str:
        if self._keys is None or self._values is None:
            return "KeyValueCache(empty)"
        widths = f"d_k = {self._keys.shape[-1]}, d_v = {self._values.shape[-1]}"
        lead = f", leading axes {self._keys.shape[:-2]}" if self._keys.ndim > 2 else ""
        return f"KeyValueCache({len(self)} positions, {widths}{lead}, {self._keys.dtype})"

    @property
    def keys(self) -> Array | None:
        """The keys so far, shape (..., T, d_k), read-only; None before the first call."""
        return _to_read(self._keys, self._length)

    @property
    def values(self) -> Array | None:
        """The values so far, shape (..., T, d_v), read-only; None before the first call."""
        return _to_read(self._values, self._length)

    @_boundary.public
    def attend(
        self,
        query: npt.ArrayLike,
        key: npt.ArrayLike,
        value: npt.ArrayLike,
        *,
        mask: npt.ArrayLike | None = None,
        bias: npt.ArrayLike | None = None,
        scale: float | None = None,
        soft_cap: float | None = None,
        causal: bool = True,
    ) -> Array:
        """Append keys and values, and let each new query attend to all positions up to its own.

        Parameters
        ----------
        query : array_like, shape (..., T, d_k)
            Queries of the new positions. The leading axes broadcast with those of the keys and
            values; any dtype is allowed that has a common one with theirs.
        key : array_like, shape (..., T, d_k)
            Keys of the new positions, as many keys as queries; T may be 0. The first call fixes
            their leading axes, width and dtype.
        value : array_like, shape (..., T, d_v)
            Values of the new positions; the first call fixes the same for them.
        mask : array_like of bool, optional
            True where a new query may attend to a key, remembered or new; broadcasts to (..., T,
            ``len(cache)`` + T). So does `bias`.
        bias, scale, soft_cap : optional
            As in `scaled_dot_product_attention`.
        causal : bool, optional
            If True (the default), a new position does not see the new positions after it; the
            offset is ``len(cache)``.

        Returns
        -------
        ndarray, shape (..., T, d_v)
            Row i is the output for new query i, which sees all earlier positions and its own. Edge
            cases and dtypes as in `scaled_dot_product_attention`. The cache keeps copies, so the
            inputs may be changed afterward.

        Raises
        ------
        TypeError
            If an argument is of the wrong kind, or the keys or values do not have the dtype of the
            cached ones.
        ValueError
            If the shapes do not match each other or those of the cached keys and values. After any
            error the cache is unchanged.

        See Also
        --------
        scaled_dot_product_attention : The same for a whole sequence, with `causal_mask`.
        """
        query = _boundary.real_array("query", query, "(..., T, d_k)")
        key = _boundary.real_array("key", key, "(..., T, d_k)")
        value = _boundary.real_array("value", value, "(..., T, d_v)")
        _boundary.same_size("length", query=(query, -2), key=(key, -2))
        _boundary.same_size("length", key=(key, -2), value=(value, -2))
        _boundary.same_size("width d_k", query=(query, -1), key=(key, -1))
        _boundary.leading_axes(query=query, key=key, value=value)
        if self._keys is not None and self._values is not None:
            _boundary.like_cached("key", key, self._keys[..., : self._length, :])
            _boundary.like_cached("value", value, self._values[..., : self._length, :])
        length = self._length + key.shape[-2]
        keys = _appended(self._keys, key, self._length)
        values = _appended(self._values, value, self._length)
        # In blocks, so that nothing of the size of the cache is copied or cast.
        output = streaming_attention(
            query,
            keys[..., :length, :],
            values[..., :length, :],
            mask=mask,
            bias=bias,
            scale=scale,
            soft_cap=soft_cap,
            causal=causal,
            offset=self._length if causal else 0,
        )
        # Until here the cache counts none of the new rows: an error above leaves it as it was.
        self._keys, self._values, self._length = keys, values, length
        return output


def _to_read(stored: Array | None, length: int) -> Array | None:
    """Return the rows that count, which cannot be written on."""
    if stored is None:
        return None
    rows = stored[..., :length, :]
    rows.flags.writeable = False
    return rows


def _appended(stored: Array | None, new: Array, length: int) -> Array:
    """Return storage whose first `length` rows are those of `stored`, followed by `new`."""
    needed = length + new.shape[-2]
    if stored is None:
        return new.copy()
    if needed > stored.shape[-2]:
        capacity = max(needed, 2 * stored.shape[-2])
        grown = np.empty((*stored.shape[:-2], capacity, stored.shape[-1]), stored.dtype)
        grown[..., :length, :] = stored[..., :length, :]
        stored = grown
    stored[..., length:needed, :] = new
    return stored
