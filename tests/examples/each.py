"""One case for each example: a case for each of its calls takes longer to set up than to run."""

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from selfattn_ref.worked_examples import Call, ids, load

# What is withdrawn may be wrong: that it can still be cited is asked elsewhere.
IN_USE = [example_id for example_id in ids() if not load(example_id).withdrawn]


def arrays(answer: Any) -> list[Any]:
    """Return the arrays of an answer: the one it is, or all that it has by name."""
    return list(answer.values()) if isinstance(answer, Mapping) else [answer]


def each(calls: Iterable[Call], **loops: Iterable[Any]) -> Callable[[Any], Any]:
    """Let a test of one `call`, and of other arguments, run for all of them."""
    of_example: dict[str, list[Call]] = {}
    for call in calls:
        of_example.setdefault(call.example, []).append(call)

    def decorate(test: Any) -> Any:
        def case(self: Any, example_id: str) -> None:
            for call, *values in itertools.product(of_example[example_id], *loops.values()):
                test(self, call, **dict(zip(loops, values, strict=True)))

        case.__name__, case.__doc__ = test.__name__, test.__doc__
        return pytest.mark.parametrize("example_id", of_example)(case)

    return decorate
