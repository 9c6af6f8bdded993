"""The same bits whatever the memory layout of the arguments."""

import tracemalloc

import numpy as np
import pytest

import selfattn_ref
from tests.contracts.calls import CALLS
from tests.support.arrays import require_same_bits

# At these sizes NumPy multiplies and adds by other loops where an array is strided.
LARGE = {"n": 65, "m": 67, "V": 65, "T": 67, "Tq": 65, "Tk": 67}


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


LAYOUTS = {
    "Fortran": np.asfortranarray,
    "every second": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: a[..., ::-1].copy()[..., ::-1],
    "rows apart": lambda a: np.repeat(a, 3, axis=0)[::3],
    "axes of another order": moved,
    "read-only": frozen,
}


@pytest.mark.parametrize("call", [c for c in CALLS if c.arguments()], ids=str)
def test_the_layout_changes_no_bit(call):
    for dtype in (np.float16, np.float32, np.float64):
        arguments = call.arguments(dtype=dtype, **LARGE)
        if "block_size" in arguments:
            arguments["block_size"] = 33
        expected = call(**arguments)
        for name, layout in LAYOUTS.items():
            changed = {n: layout(a) for n, a in arguments.items() if np.ndim(a) and n != "window"}
            found = call(**arguments | changed)
            require_same_bits(found, expected, (name, dtype))


def test_what_is_broadcast_along_leading_axes_is_not_copied():
    # The keys of one sequence, for a thousand: copied, they would take 400 MB.
    query, key = np.ones((1000, 1, 64)), np.broadcast_to(np.ones((800, 64)), (1000, 800, 64))
    tracemalloc.start()
    selfattn_ref.streaming_attention(query, key, key, block_size=(1, 800))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2e7
