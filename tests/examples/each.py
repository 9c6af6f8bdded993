"""One case for each example: a case for each of its calls takes longer to set up than to run."""

import itertools
from collections.abc import Mapping

import pytest

from selfattn_ref.worked_examples import ids, load

# What is withdrawn may be wrong: that it can still be cited is asked elsewhere.
IN_USE = [example_id for example_id in ids() if not load(example_id).withdrawn]
CALLS = [call for example_id in IN_USE for call in load(example_id).calls]
# As a function without capabilities is asked, such as those of the library: windows are masks.
PLAIN = [call.without_capabilities() for call in CALLS]


def arrays(answer):
    """Return the arrays of an answer: the one it is, or all that it has by name."""
    return list(answer.values()) if isinstance(answer, Mapping) else [answer]


def each(calls, **loops):
    """Let a test of one `call`, and of other arguments, run for all of them."""
    of_example = {}
    for call in calls:
        of_example.setdefault(call.example, []).append(call)

    def decorate(test):
        def case(self, example_id):
            for call, *values in itertools.product(of_example[example_id], *loops.values()):
                test(self, call, **dict(zip(loops, values, strict=True)))

        case.__name__, case.__doc__ = test.__name__, test.__doc__
        return pytest.mark.parametrize("example_id", of_example)(case)

    return decorate
