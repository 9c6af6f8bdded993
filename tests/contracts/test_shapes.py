"""Shapes are those of the table; leading indices do not see each other; axes may be empty."""

import numpy as np
import pytest

from tests.contracts.calls import CALLS
from tests.support.arrays import close, nothing

ARRAYS = [call for call in CALLS if call.results[0].name != "float"]


def names_of(axes):
    """Return the axes that have a name."""
    return {part for axis in axes or () for part in axis.split("·") if part.isidentifier()}


@pytest.mark.parametrize("call", ARRAYS, ids=str)
def test_results_have_the_axes_of_the_table(call):
    for lead in [(), (2,), (3, 2)]:
        assert [result.shape for result in call(**call.arguments(lead))] == call.shapes(lead)


@pytest.mark.parametrize("call", [c for c in ARRAYS if c.numbers], ids=str)
def test_each_leading_index_is_by_itself(call):
    arguments = call.arguments((3, 2))
    leads = {n for n, e in call.parameters.items() if e.axes and e.axes[0] == "..."}
    found = call(**arguments)
    total = [np.zeros(shape) for shape in call.shapes((3, 2))]
    for index in np.ndindex(3, 2):
        alone = call(**{n: a[index] if n in leads else a for n, a in arguments.items()})
        for whole, result, entry in zip(total, alone, call.results, strict=True):
            if call.axes(entry)[0] == "...":
                whole[index] = result
            else:
                whole += result  # the gradient of what all share
    for result, expected in zip(found, total, strict=True):
        close(result, expected)


@pytest.mark.parametrize("call", ARRAYS, ids=str)
def test_axes_may_be_empty(call):
    given = {name for name, entry in call.parameters.items() if entry.given}
    axes = set().union(*(names_of(e.axes) for e in call.parameters.values())) - given
    for axis in sorted(axes - {"h", "H", "Hkv"}):
        if (call.name, axis) == ("cosine_similarity", "d"):
            continue  # a vector without numbers has no direction
        with np.errstate(all="raise"):
            found = call(**call.arguments(**{axis: 0}))
        assert [result.shape for result in found] == call.shapes(**{axis: 0}), axis
        if axis in ("Tk", "T"):  # nobody to attend to: zeros, whose logarithm is −∞
            assert all(nothing(result) for result in found)
    if any(entry.axes and "..." in entry.axes for entry in call.parameters.values()):
        found = call(**call.arguments(lead=(0,)))
        assert [result.shape for result in found] == call.shapes(lead=(0,))
        assert not any(result.any() for result in found)
