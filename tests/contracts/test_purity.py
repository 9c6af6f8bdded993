"""Arguments stay as they are, results are new, calls repeat to the last bit, nothing warns."""

import math

import numpy as np
import pytest

from tests.contracts.calls import CALLS
from tests.support.arrays import FLOATS, require_same_bits

ONES = dict.fromkeys(["n", "m", "d", "V", "T", "Tq", "Tk", "d_k", "d_v", "d_model", "h"], 1)


def arrays(arguments):
    """Return the arguments that are arrays."""
    return [value for value in arguments.values() if isinstance(value, np.ndarray)]


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_arguments_are_neither_changed_nor_shared_and_calls_repeat(call):
    for dtype in FLOATS:
        arguments = call.arguments(dtype=dtype)
        before = [array.tobytes() for array in arrays(arguments)]
        for array in arrays(arguments):
            array.flags.writeable = False
        with np.errstate(all="raise"):
            first, second = call(**arguments), call(**arguments)
        assert [array.tobytes() for array in arrays(arguments)] == before, dtype
        require_same_bits(first, second, dtype)
        for result, again in zip(first, second, strict=True):
            if isinstance(result, np.ndarray):
                assert result.flags.writeable, dtype
                assert not np.shares_memory(result, again), dtype
                assert not any(np.shares_memory(result, a) for a in arrays(arguments)), dtype


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_axes_of_length_one_are_no_reason_to_share(call):
    sizes = ONES if "rotate" not in call.name else ONES | {"d": 2}
    arguments = call.arguments(lead=(1,), **sizes)
    counts = {"num_heads": 1, "num_key_value_heads": 1}
    if "num_heads" in arguments:
        sizes = sizes | {"H": 1, "Hkv": 1, "d_source": 1, "d_output": 1}
        arguments = call.arguments(lead=(1,), **sizes)
        arguments |= {name: one for name, one in counts.items() if name in arguments}
    for result in call(**arguments):
        assert not any(np.shares_memory(result, a) for a in arrays(arguments))


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_lists_are_as_good_as_arrays(call):
    arguments = call.arguments()
    lists = {n: a.tolist() if isinstance(a, np.ndarray) else a for n, a in arguments.items()}
    require_same_bits(call(**lists), call(**arguments))


@pytest.mark.parametrize("call", [call for call in CALLS if call.numbers], ids=str)
def test_nothing_warns_even_where_numpy_would_raise(call):
    for dtype in FLOATS:
        limits = np.finfo(dtype) if dtype not in FLOATS[:2] else np.finfo(np.float16)
        numbers = [limits.max, -limits.max, limits.smallest_subnormal, math.inf, math.nan, 1.0]
        arguments = call.arguments(dtype=dtype)
        for seed, name in enumerate(call.numbers):
            rng = np.random.default_rng(seed)
            arguments[name] = rng.choice(np.array(numbers), arguments[name].shape).astype(dtype)
        with np.errstate(all="raise"):
            call(**arguments)
            if "mask" in arguments:
                call(**arguments | {"mask": True})
