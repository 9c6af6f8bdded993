"""Calls of functions whose result a worked example knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

_REFERENCE = re.compile(r"(?P<row>\[)?(?P<name>[a-z_]+)(\[(?P<index>\w+)\])?\]?")


@dataclass(frozen=True, repr=False, eq=False)
class Call:
    """A function, what to give it, and what has to come out.

    Obtain them from `WorkedExample.calls`, or with `cases`. All arrays are read-only.

    Attributes
    ----------
    example : str
        The id of the example it belongs to.
    function : str
        The name of a public function of this package.
    arguments : mapping
        Everything to give it, by keyword.
    kind : str
        ``"value"`` if one result is right, ``"must_raise"`` if the call has to fail,
        ``"convention"`` if good libraries differ.
    expected : numpy.ndarray or None
        What this package returns; None if the call has to fail.
    raises : type or None
        The error that the call has to raise, or None.
    conventions : mapping of str to numpy.ndarray
        The result under each convention; empty unless good libraries differ.
    because : mapping of str to str
        Why, for each convention; for a call that has to fail, under ``"raises"``.
    """

    example: str
    function: str
    # Any: arrays, integers and options. A union would make every use of one a type error.
    arguments: Mapping[str, Any]
    kind: str
    expected: NDArray[Any] | None
    raises: type[Exception] | None
    conventions: Mapping[str, NDArray[Any]]
    because: Mapping[str, str]

    def __repr__(self) -> str:
        return f"{self.example}: {self.function}({', '.join(self.arguments)})"


_ERRORS = {"TypeError": TypeError, "ValueError": ValueError}


def read_call(example: str, document: Mapping[str, Any], values: Mapping[str, Any]) -> Call:
    """Return the call that a file describes, its references replaced by the values they name."""
    given = {name: _given(_find(text, values)) for name, text in document["arguments"].items()}
    result = document.get("result")
    expected = None if result is None else _find(result, values)
    because = document.get("because", {})
    return Call(
        example=example,
        function=document["function"],
        arguments=MappingProxyType(given | document.get("options", {})),
        kind=document["kind"],
        expected=expected,
        raises=_ERRORS.get(document.get("raises", "")),
        conventions=MappingProxyType(_conventions(document, expected, values)),
        because=MappingProxyType(because if isinstance(because, dict) else {"raises": because}),
    )


def _conventions(
    document: Mapping[str, Any], expected: Any, values: Mapping[str, Any]
) -> dict[str, NDArray[Any]]:
    """Return a whole result for each convention; what tells only a part is filled up."""
    marked = _find(document["where"], values) if "where" in document else np.True_
    found = {}
    for name, text in document.get("conventions", {}).items():
        answer: NDArray[Any] = np.asarray(np.nan) if text is None else _find(text, values)
        if answer.shape != expected.shape:
            answer = read_only(np.where(marked, answer, expected))
        found[name] = answer
    return found


def _find(reference: str, values: Mapping[str, Any]) -> Any:
    """Return what a reference names: a, a[b], a[2] or [a]; see schema.json."""
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        raise ValueError(f"{reference!r} is not a reference")
    value, index = values[match["name"]], match["index"]
    if match["row"]:
        return read_only(value[None])
    if index is None:
        return value
    return read_only(value[int(index) if index.isdigit() else values[index].astype(np.intp)])


def _given(value: Any) -> Any:
    # A single number is given as one, not as an array without axes.
    return value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy that cannot be changed."""
    # The memory belongs to a bytes object, so not even `setflags(write=True)` can change it.
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)
