"""A mask selects: what stands in a hidden place changes nothing; what is seen is not hidden."""

import math

import numpy as np
import pytest

from tests.contracts.calls import CALLS
from tests.support.arrays import FLOATS, close, nothing, require_same_bits

MASKED = [call for call in CALLS if "mask" in call.parameters]
FORWARD = [c for c in CALLS if "vjp" not in c.name and c.results[0].axes]
GARBAGE = [math.nan, math.inf, -math.inf, 60000.0]


def spoiled(call, arguments, axis, place, bad):
    """Return the arguments with garbage at one place of an axis, wherever it occurs."""
    found = {}
    for name, value in arguments.items():
        axes = call.parameters[name].axes or ()
        found[name] = value
        for i, other in enumerate(axes):
            if other == axis and name != "mask":
                found[name] = found[name].copy()
                garbage = -100 if name == "targets" else bad
                np.moveaxis(found[name], i - len(axes), 0)[place] = garbage
    return found


@pytest.mark.parametrize("call", MASKED, ids=str)
def test_what_is_hidden_changes_no_bit_and_gets_nothing(call):
    axes = call.parameters["mask"].axes
    for axis in {*axes} - {"H"}:
        for dtype in FLOATS:
            lead = (7,) if axis == "..." else (2,)
            arguments = call.arguments(lead, dtype)
            mask = arguments["mask"]
            for i, other in enumerate(axes):
                if other == axis:
                    np.moveaxis(mask, i - len(axes), 0)[2] = False
            clean = call(**arguments)
            for bad in GARBAGE:
                dirty = call(**spoiled(call, arguments, axis, 2, bad))
                require_same_bits(dirty, clean, (axis, dtype, bad))
                for result, entry in zip(dirty, call.results, strict=True):
                    case = (axis, dtype, bad, entry.name)
                    assert not np.isnan(result).any(), case
                    own = call.axes(entry)
                    if axis in own and axis != "...":
                        assert nothing(np.take(result, 2, own.index(axis) - len(own))), case


@pytest.mark.parametrize("call", [c for c in MASKED if "Tq" in str(c.parameters)], ids=str)
def test_a_mask_of_all_true_is_none_and_one_of_all_false_leaves_zeros(call):
    arguments = call.arguments()
    without = call(**arguments | {"mask": None})
    require_same_bits(call(**arguments | {"mask": True}), without)
    for result in call(**arguments | {"mask": False}):
        assert nothing(result)


def spoils(call):
    """Yield each array and axis that a row of the result comes from, and from nothing else."""
    arrays = {n: call.parameters[n].axes for n in call.numbers if n not in ("bias", "weights")}
    mask = call.parameters.get("mask")
    both = [mask.axes] if mask and mask.axes[0] == mask.axes[-1] else []  # queries that are keys
    for name, axes in arrays.items():
        for axis in axes[:-1]:
            named = sum(axis in other for other in [*arrays.values(), *both])
            if axis != "..." and named == 1 and all(axis in call.axes(e) for e in call.results):
                yield name, axis


@pytest.mark.parametrize("call", [c for c in FORWARD if list(spoils(c))], ids=str)
def test_what_is_not_a_number_shows_in_its_own_rows_and_in_no_other(call):
    arguments = {n: a for n, a in call.arguments().items() if n != "mask"}
    clean = call(**arguments)
    for name, axis in spoils(call):
        axes, values = call.parameters[name].axes, arguments[name].copy()
        np.moveaxis(values, axes.index(axis) - len(axes), 0)[1] = math.nan
        for result, expected, entry in zip(
            call(**arguments | {name: values}), clean, call.results, strict=True
        ):
            own = call.axes(entry)
            place = own.index(axis) - len(own)
            assert np.isnan(np.take(result, 1, place)).all(), (name, axis)
            result, expected = (np.delete(array, 1, place) for array in (result, expected))
            close(result, expected, case=(name, axis))
