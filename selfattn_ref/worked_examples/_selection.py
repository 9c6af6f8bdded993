"""Which calls are asked: those of the worked examples, and the generated ones."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Iterator
from typing import Any

from selfattn_ref.worked_examples._calls import Call
from selfattn_ref.worked_examples._files import cases, ids, load

ATTENTION = "scaled_dot_product_attention"
GENERATED = (ATTENTION, f"{ATTENTION}_vjp", "rotate_pairs")  # which the generated cases call

generated: Any
try:
    generated = importlib.import_module("selfattn_ref.worked_examples.generated")
except ModuleNotFoundError:
    generated = None


def calls(function: str = ATTENTION, *, refusals: bool = False) -> tuple[Call, ...]:
    """Return the calls of the worked examples; `str` gives the id of each.

    Parameters
    ----------
    function : str, optional
        The name of a function of this package.
    refusals : bool, optional
        Whether to include calls that have to fail.

    Returns
    -------
    tuple of Call
        The calls that `cases` returns, without their examples.

    Raises
    ------
    ValueError
        If no example calls the function. The message names those that are called.

    See Also
    --------
    Call.test : Call a function of your own.
    report : Make all calls, and sum up the outcomes.

    Examples
    --------
    In pytest, each call is a test of its own; what a function does not take is skipped:

    >>> import pytest
    >>> from selfattn_ref import scaled_dot_product_attention, worked_examples
    >>> @pytest.mark.parametrize("call", worked_examples.calls(), ids=str)
    ... def test_attention(call):
    ...     call.test(scaled_dot_product_attention)
    >>> str(worked_examples.calls()[0])
    'SA006-1'
    """
    return tuple(call for _, call in cases(function) if refusals or not call.raises)


def selected(what: str, function: str, *, refusals: bool = False) -> Iterator[Call]:
    """Return the calls that are asked, one generated case in memory at a time.

    `what` is ``"all"``, ``"examples"``, ``"generated"``, or the id of an example, of one of its
    calls or of a generated case.
    """
    if what in ("all", "examples"):
        own = calls(function, refusals=refusals)
        more = what == "all" and generated and function in GENERATED
        return _after(own, generated.calls(function) if more else ())
    if what == "generated" or what.startswith("G"):
        if generated is None or function not in GENERATED:
            raise ValueError(f"there are no generated cases of {function}")
        return iter(
            generated.calls(function)
            if what == "generated"
            else [generated.load(what, function).call]
        )
    return (call for call in _of_one(what, function) if refusals or not call.raises)


def _after(own: tuple[Call, ...], more: Iterable[Call]) -> Iterator[Call]:
    yield from own
    yield from more


def _of_one(what: str, function: str) -> list[Call]:
    """Return the calls of an example, or the call with this id."""
    cases(function)  # an unknown function is said first
    name, _, number = what.partition("-")
    example = load(name)
    if example.withdrawn:
        raise ValueError(f"{example.id} was {example.withdrawn}")
    every = [call for call in example.calls if call.function == function]
    if not every:
        others = ", ".join(dict.fromkeys(call.function for call in example.calls))
        hint = f"choose one with --function: {others}" if others else "it calls no function"
        raise ValueError(f"{name} has no call of {function}; {hint}")
    found = [call for call in every if not number or call.id == what]
    if not found:
        raise ValueError(f"there is no call {what}; there are {', '.join(map(str, every))}")
    return found


def are_known(names: set[str]) -> None:
    """Raise an error if an id does not exist: what is misspelled would be asked after all."""
    if not names:
        return
    every = {call.id for example_id in ids() for call in load(example_id).calls}
    every |= {*ids()} | {*(generated.names() if generated else ())}
    for name in sorted(names - every):
        near = difflib.get_close_matches(name, every, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(f"there is no example, call or case {name!r}{hint}")
