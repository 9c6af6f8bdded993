"""The same numbers in other memory: what a function that reads strides has to read rightly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from selfattn_ref.worked_examples._capabilities import CAPABILITIES

if TYPE_CHECKING:
    from selfattn_ref.worked_examples._calls import Call

Arrays = dict[str, NDArray[Any]]

ATTENTION = ("scaled_dot_product_attention", "streaming_attention")


def contiguous(call: Call, dtype: str = "float64") -> Arrays:
    """Return fresh arrays of what is given: contiguous, writable, real numbers in a dtype.

    Positions are places, not numbers to compute with: they keep their dtype.
    """
    with np.errstate(over="ignore"):
        return {
            name: np.array(x, dtype if x.dtype.kind == "f" and name != "positions" else x.dtype)
            for name, x in call.arguments.items()
            if isinstance(x, np.ndarray)
        }


def in_layouts(call: Call, arrays: Arrays) -> Iterator[tuple[str, Arrays]]:
    """Yield the arrays in other memory, each time with the name of the layout."""
    # Each has a step of its own, so that the strides of one do not do for another.
    yield "strided", {name: _sliced(x, i) for i, (name, x) in enumerate(arrays.items())}
    yield "every other entry", {name: _stepped(x, -1) for name, x in arrays.items()}
    if any(x.ndim > 2 for x in arrays.values()):
        stepped = {name: _stepped(x, 0) if x.ndim > 2 else x for name, x in arrays.items()}
        yield "every other sequence", stepped
    turned = {name: np.ascontiguousarray(x.T).T for name, x in arrays.items()}
    yield "transposed", turned
    if "value" in arrays:  # who reads values by the strides of the keys is found out
        yield "partly transposed", {**arrays, "value": turned["value"]}
    packed = _one_buffer(arrays)
    if packed:
        yield "one buffer", packed
    yield "reversed", {name: _reversed(x) for name, x in arrays.items()}
    shared = _two_sequences(call, arrays) or _expanded(call, arrays) or _shared(arrays)
    if shared:
        yield "broadcast", shared
    same = _same_array(arrays)
    if same:
        yield "identical", same
    kept = {name: x.copy() for name, x in arrays.items()}
    for x in kept.values():
        x.setflags(write=False)
    yield "read-only", kept


def _sliced(x: NDArray[Any], more: int) -> NDArray[Any]:
    """Return part of a larger buffer, in which heads come after tokens, as in (B, T, H, d)."""
    if x.ndim == 0:
        return x
    order = [*range(x.ndim)]
    if x.ndim > 2:
        order[-3], order[-2] = order[-2], order[-3]
    moved = x.transpose(order)
    # What lies between is read by who forgets the strides; NaN is seen in every sum.
    between = np.nan if x.dtype.kind == "f" else 1
    shape = (*moved.shape[:-1], 1 + moved.shape[-1] + more)
    view = np.full(shape, between, x.dtype)[..., 1 : 1 + moved.shape[-1]]
    view[...] = moved
    return view.transpose(order)  # the order is its own inverse


def _stepped(x: NDArray[Any], axis: int) -> NDArray[Any]:
    """Return every other entry of an array twice as long along an axis."""
    if x.ndim == 0:
        return x
    wide = np.moveaxis(np.repeat(x, 2, axis), axis, 0)
    wide[1::2] = np.nan if x.dtype.kind == "f" else ~wide[1::2]
    return np.moveaxis(wide[::2], 0, axis)


def _one_buffer(arrays: Arrays) -> Arrays:
    """Return values, queries and keys as one projection gives them; {} if their shapes differ.

    They stand in another order than the arguments, so an address does not tell a role.
    """
    roles = [n for n in ("value", "query", "key") if n in arrays]
    fit = [n for n in roles if arrays[n].shape == arrays[roles[-1]].shape]
    if len(fit) < 2:
        return {}
    buffer = np.stack([arrays[n] for n in fit], axis=-2)
    return arrays | {n: buffer[..., i, :] for i, n in enumerate(fit)}


def _reversed(x: NDArray[Any]) -> NDArray[Any]:
    """Return a view with negative strides along every axis."""
    turn = (slice(None, None, -1),) * x.ndim
    return np.ascontiguousarray(x[turn])[turn]


def _two_sequences(call: Call, arrays: Arrays) -> Arrays:
    """Return heads (H, T, d) as two sequences that share queries and keys; {} if they are not.

    The values of the second are those of the first with the other sign, and so is its output.
    """
    capable = {*call.arguments} & {*CAPABILITIES}
    if call.function not in ATTENTION or capable or arrays["query"].ndim != 3:
        return {}
    shared = {name: np.broadcast_to(arrays[name], (2, *arrays[name].shape))
              for name in ("query", "key")}  # fmt: skip
    return arrays | shared | {"value": np.stack([arrays["value"], -arrays["value"]])}


def _expanded(call: Call, arrays: Arrays) -> Arrays:
    """Return every array with all leading axes, at a stride of 0; {} if each has them."""
    roles = ("query", "key", "value")
    if call.function not in ATTENTION or call.arguments.get("grouped_heads", False):
        return {}
    lead = np.broadcast_shapes(*(arrays[name].shape[:-2] for name in roles))
    found = {name: np.broadcast_to(arrays[name], lead + arrays[name].shape[-2:]) for name in roles}
    scores = (*lead, arrays["query"].shape[-2], arrays["key"].shape[-2])
    found |= {n: np.broadcast_to(arrays[n], scores) for n in ("mask", "bias") if n in arrays}
    return arrays | found if any(x.shape != arrays[name].shape for name, x in found.items()) else {}


def _same_array(arrays: Arrays) -> Arrays:
    """Return one object for arrays that are equal, as in self-attention; {} if none are."""
    found: Arrays = {}
    for name, x in arrays.items():
        equal = (y for y in found.values() if y.shape == x.shape and np.array_equal(y, x))
        found[name] = next(equal, x)
    return found if len({*map(id, found.values())}) < len(found) else {}


def _shared(arrays: Arrays) -> Arrays:
    """Return arrays with a stride of 0 where they say the same along an axis; {} if none does."""
    found = {name: _constant_axes(x) for name, x in arrays.items()}
    return found if any(x is not arrays[name] for name, x in found.items()) else {}


def _constant_axes(x: NDArray[Any]) -> NDArray[Any]:
    """Return the array with a stride of 0 along the leading axes on which it is constant."""
    small = x
    for axis in range(x.ndim - 1):
        first = small[(slice(None),) * axis + (slice(1),)]
        if small.shape[axis] > 1 and np.array_equal(np.broadcast_to(first, small.shape), small):
            small = first
    return x if small is x else np.broadcast_to(small, x.shape)
