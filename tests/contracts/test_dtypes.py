"""Float types stay, 16 bits are computed in 32, integers become float64, mixtures meet."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tests.contracts.calls import CALLS
from tests.support.arrays import FLOATS, require_same_bits, same_bits

HALVES = [np.float16, ml_dtypes.bfloat16]
OF_NUMBERS = [call for call in CALLS if call.numbers]


def result_dtype(entry, dtype):
    """Return the dtype of a result, given that of the arguments."""
    if entry.name in ("bool", "float", "float64"):
        return {"bool": np.bool_}.get(entry.name, np.float64)
    if entry.name == "sums" and np.dtype(dtype).itemsize == 2:
        return np.float32  # sums of 16-bit numbers, which go on growing
    return dtype


def cast(call, arguments, dtype, names=None):
    """Return the arguments with some arrays of numbers, or all, in another dtype."""
    names = call.numbers if names is None else names
    return {n: a.astype(dtype) if n in names else a for n, a in arguments.items()}


def whole_numbers(call):
    """Return arguments whose arrays hold 1, 2 or 3, and no bias, which is never an integer."""
    arguments = {n: a for n, a in call.arguments().items() if n != "bias"}
    return {
        n: np.clip(np.rint(np.abs(a)), 1, 3) if n in call.numbers else a
        for n, a in arguments.items()
    }


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_results_have_the_dtype_of_the_arguments(call):
    for dtype in FLOATS:
        entries = [e for e in call.results if e.name != "bias" or "bias" in call.parameters]
        found = call(**call.arguments(dtype=dtype))
        for result, entry in zip(found, entries, strict=True):
            assert np.asarray(result).dtype == result_dtype(entry, dtype), dtype
            assert type(result) is (float if entry.name == "float" else np.ndarray), dtype


@pytest.mark.parametrize("call", OF_NUMBERS, ids=str)
def test_16_bits_are_computed_in_32_and_rounded_once(call):
    for dtype in HALVES:
        half = call.arguments(dtype=dtype)
        wide = cast(call, half, np.float32)
        for result, single, entry in zip(call(**half), call(**wide), call.results, strict=True):
            expected = np.asarray(single).astype(result_dtype(entry, dtype))
            assert same_bits(np.asarray(result), expected), (dtype, entry.name)


@pytest.mark.parametrize("call", [c for c in CALLS if c.results[0].name == "float"], ids=str)
def test_a_single_number_is_computed_in_float64(call):
    for dtype in (*HALVES, np.float32):
        given = call.arguments(dtype=dtype)
        assert call(**given) == call(**cast(call, given, np.float64)), dtype


@pytest.mark.parametrize("call", OF_NUMBERS, ids=str)
def test_integers_and_booleans_become_float64(call):
    arguments = whole_numbers(call)
    names = [name for name in call.numbers if name in arguments]
    for dtype in (np.bool_, np.int8, np.uint64):
        given = cast(call, arguments, dtype, names)
        expected = call(**cast(call, given, np.float64, names))
        require_same_bits(call(**given), expected, dtype)


@pytest.mark.parametrize("call", [c for c in CALLS if len(c.numbers) > 1], ids=str)
def test_mixed_types_meet_in_their_common_one(call):
    for others, one, common in [
        (np.float32, np.float64, np.float64),
        (np.float32, np.int8, np.float64),
        (np.float16, np.float32, np.float32),
        (ml_dtypes.bfloat16, np.float32, np.float32),
        (np.float64, np.longdouble, np.longdouble),
    ]:
        arguments = whole_numbers(call)
        if one is not np.int8 and "bias" in call.numbers:
            arguments["bias"] = call.arguments()["bias"]
        names = [name for name in call.numbers if name in arguments]
        arguments = cast(call, arguments, others, names)
        for name in names:
            mixed = cast(call, arguments, one, [name])
            expected = call(**cast(call, mixed, common, names))
            require_same_bits(call(**mixed), expected, (others, one, name))


@pytest.mark.parametrize("call", [c for c in CALLS if len(c.numbers) > 1], ids=str)
def test_types_without_a_common_one_are_named(call):
    arguments = call.arguments(dtype=np.float16)
    for name in call.numbers:
        given = cast(call, arguments, ml_dtypes.bfloat16, [name])
        with pytest.raises(TypeError, match="these dtypes have no common one; cast them") as caught:
            call(**given)
        for other in call.numbers:
            if other in str(caught.value):
                assert f"{other} {given[other].dtype}" in str(caught.value)
        assert f"{name} bfloat16" in str(caught.value)


@pytest.mark.parametrize("call", [c for c in CALLS if "scale" in c.parameters], ids=str)
def test_a_number_that_stands_beside_the_arrays_changes_no_dtype(call):
    for dtype in FLOATS:
        options = {"scale": np.float64(0.1)}
        if "bias" in call.parameters:
            options["bias"] = 0.5  # of Python; one of NumPy has a dtype of its own
        found = call(**call.arguments(dtype=dtype) | options)
        for result, entry in zip(found, call.results, strict=True):
            assert result.dtype == result_dtype(entry, dtype), (dtype, entry.name)
    if "bias" in call.parameters:
        wide = call(**call.arguments(dtype=np.float32) | {"bias": np.float64(0.5)})
        assert wide[0].dtype == np.float64


@pytest.mark.parametrize("call", OF_NUMBERS, ids=str)
def test_numbers_of_the_other_byte_order_come_back_in_the_native_one(call):
    arguments = call.arguments()
    swapped = np.dtype(np.float64).newbyteorder()
    found = call(**cast(call, arguments, swapped))
    assert all(np.asarray(result).dtype.isnative for result in found)
    require_same_bits(found, call(**arguments))


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_a_number_beside_the_arrays_may_be_of_any_kind(call):
    arguments = call.arguments()
    expected = call(**arguments)
    for kind in (np.int8, np.int16, np.array, np.float32, np.float64, np.longdouble, Fraction):
        given = {
            name: kind(value)
            for name, value in arguments.items()
            if (isinstance(value, float) and kind not in (np.int8, np.int16))
            or (type(value) is int and kind in (np.int8, np.int16, np.array))
        } | {
            name: np.array(value)
            for name, value in arguments.items()
            if isinstance(value, bool) and kind is np.array
        }
        require_same_bits(call(**arguments | given), expected, (kind, given))
