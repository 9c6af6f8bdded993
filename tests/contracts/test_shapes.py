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


def leading(call):
    """Return the arrays that may have leading axes of their own, as d_output may not."""
    arrays = {name: entry.axes for name, entry in call.parameters.items() if entry.axes}
    return [name for name, axes in arrays.items() if axes[0] == "..." and name != "d_output"]


def added_up(array, shape):
    """Return an array, summed over the axes that another shape lacks or has stretched."""
    array = array.sum(axis=tuple(range(array.ndim - len(shape))))
    stretched = tuple(i for i, size in enumerate(shape) if size != array.shape[i])
    return array.sum(axis=stretched, keepdims=True)


# These want arrays of one shape, and positions those of the rows that are rotated.
ALIKE = {"softmax_vjp", "rotate_pairs", "bits_per_token", "cross_entropy", "perplexity"}


@pytest.mark.parametrize(
    "call", [c for c in CALLS if len(leading(c)) > 1 and c.name not in ALIKE], ids=str
)
def test_leading_axes_broadcast_and_gradients_of_what_was_broadcast_are_added_up(call):
    full = call.arguments((3, 2))
    for whole in leading(call):  # the others have fewer axes, or axes of length one
        others = [name for name in leading(call) if name != whole and name in full]
        for cuts in ([np.s_[:1], np.s_[0]], [np.s_[:, :1], np.s_[0, 0]], [np.s_[0], np.s_[:, :1]]):
            parts = {name: full[name][cuts[i % 2]] for i, name in enumerate(others)}
            wide = {name: np.broadcast_to(part, full[name].shape) for name, part in parts.items()}
            for result, expected in zip(call(**full | parts), call(**full | wide), strict=True):
                close(result, added_up(expected, result.shape), case=(whole, cuts))


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
