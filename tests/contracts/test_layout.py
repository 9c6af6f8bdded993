"""The same bits whatever the memory layout of the arguments."""

import tracemalloc

import numpy as np
import pytest

import selfattn_ref
from tests.contracts.calls import CALLS
from tests.support.arrays import normal, require_same_bits

# At these sizes NumPy multiplies and adds by other loops where an array is strided or unaligned.
LARGE = {"n": 65, "m": 67, "V": 65, "T": 67, "Tq": 65, "Tk": 67, "d": 34, "d_k": 33, "d_v": 35}


def frozen(array):
    """Return the array, read-only."""
    array = array.copy()
    array.flags.writeable = False
    return array


def moved(array):
    """Return the array as (T, B, d) in memory."""
    if array.ndim < 3:
        return array.copy().T.copy().T
    return np.ascontiguousarray(array.swapaxes(0, -2)).swapaxes(0, -2)


def at_byte(first):
    """Return a layout that begins at this byte of a buffer."""

    def shifted(array):
        buffer = np.empty(first + array.nbytes, np.uint8)
        found = buffer[first:].view(array.dtype).reshape(array.shape)
        found[...] = array
        return found

    return shifted


LAYOUTS = {
    "unaligned": at_byte(1),
    "elsewhere": at_byte(16),
    "bytes in the other order": lambda a: a.astype(a.dtype.newbyteorder()),
    "Fortran": np.asfortranarray,
    "every second": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: a[..., ::-1].copy()[..., ::-1],
    "backwards": lambda a: np.flip(np.flip(a).copy()),
    "rows apart": lambda a: np.repeat(a, 3, axis=0)[::3],
    "axes of another order": moved,
    "read-only": frozen,
}


def each(layout, arguments):
    """Return the arrays among the arguments in another layout."""
    return {n: layout(a) for n, a in arguments.items() if isinstance(a, np.ndarray) and a.ndim}


def stretched(array, axis):
    """Return an array that is stored once along an axis."""
    if array.ndim < -axis:
        return array
    return np.broadcast_to(array.take([0], axis), array.shape)


@pytest.mark.parametrize("call", [c for c in CALLS if c.arguments()], ids=str)
def test_the_layout_changes_no_bit(call):
    for dtype in (np.float16, np.float32, np.float64):
        arguments = call.arguments(dtype=dtype, **LARGE)
        if "block_size" in arguments:
            arguments["block_size"] = 33
        expected = call(**arguments)
        for name, layout in LAYOUTS.items():
            found = call(**arguments | each(layout, arguments))
            require_same_bits(found, expected, (name, dtype))


@pytest.mark.parametrize("call", [c for c in CALLS if c.arguments()], ids=str)
def test_what_is_stretched_has_the_bits_of_a_copy(call):
    for axis in (-2, -1):
        arguments = call.arguments(**LARGE)
        whole = each(lambda a, axis=axis: stretched(a, axis), arguments)
        copied = each(np.copy, whole)
        require_same_bits(call(**arguments | whole), call(**arguments | copied), axis)


def test_an_array_that_is_given_twice_has_the_same_bits_in_every_layout():
    # NumPy multiplies a matrix by itself in another way, if it sees that it is the same.
    x = normal(65, 33)
    for twice in (
        lambda x: [selfattn_ref.dot_similarity(x, x), selfattn_ref.dot_similarity(x)],
        lambda x: [selfattn_ref.dot_similarity(x, x[:])],
        lambda x: selfattn_ref.scaled_dot_product_attention_vjp(x, x, x, x),
        lambda x: selfattn_ref.streaming_attention_vjp(x, x, x, x),
    ):
        for name, layout in LAYOUTS.items():
            require_same_bits(twice(layout(x)), twice(x), name)


def test_what_is_broadcast_along_leading_axes_is_not_copied():
    # The keys of one sequence, for a thousand: copied, they would take 400 MB.
    query, key = np.ones((1000, 1, 64)), np.broadcast_to(np.ones((800, 64)), (1000, 800, 64))
    tracemalloc.start()
    selfattn_ref.streaming_attention(query, key, key, block_size=(1, 800))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2e7
