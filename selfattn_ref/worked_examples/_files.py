"""Find the example files inside the package and turn them into arrays."""

from __future__ import annotations

import copyreg
import difflib
import json
import re
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

import numpy as np

from selfattn_ref.worked_examples import generated
from selfattn_ref.worked_examples._calls import ABOVE, Call, find, read_call, read_only
from selfattn_ref.worked_examples._comparison import Tolerance
from selfattn_ref.worked_examples._digest import content_id, digest
from selfattn_ref.worked_examples._example import (
    Axis,
    Derivation,
    Provenance,
    Withdrawn,
    WorkedExample,
)

_DATA = resources.files("selfattn_ref.worked_examples") / "data"
_FILE_NAME = re.compile(r"(SA\d{3})\.json")


def ids(function: str | None = None) -> tuple[str, ...]:
    """Return the id of every worked example, in order.

    Parameters
    ----------
    function : str, optional
        The name of a function of this package. If given, only examples with a call of it are
        returned, and none that is withdrawn.

    Returns
    -------
    tuple of str
        Ids such as ``"SA001"``. An id is never reused, so numbers may be missing.

    Raises
    ------
    ValueError
        If no example calls the function. The message names those that are called.

    See Also
    --------
    load : The example with a given id.
    cases : The calls themselves.

    Examples
    --------
    >>> ids()[:3]
    ('SA001', 'SA002', 'SA003')
    >>> ids(function="euclidean_distance")
    ('SA001',)
    """
    if function is None:
        return _ids()
    return tuple(dict.fromkeys(example.id for example, _ in cases(function)))


def cases(function: str = "scaled_dot_product_attention") -> tuple[tuple[WorkedExample, Call], ...]:
    """Return every call of a function with a known result, in order.

    Parameters
    ----------
    function : str, optional
        The name of a function of this package.

    Returns
    -------
    tuple of (WorkedExample, Call)
        Each call with its example; those of an example that is withdrawn are left out.

    Raises
    ------
    ValueError
        If no example calls the function. The message names those that are called.

    See Also
    --------
    Call.test : Call a function of your own in its place.
    Call.check : Compare a result of your own.

    Examples
    --------
    >>> example, call = cases("scaled_dot_product_attention")[0]
    >>> example
    SA006: Attention without parameters, complete
    >>> call
    SA006: scaled_dot_product_attention(query, key, value, scale=1.0)
    >>> call.arguments["query"].shape
    (5, 3)
    """
    every = _cases()
    if function not in every:
        near = difflib.get_close_matches(str(function), every, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise ValueError(
            f"no worked example calls {function!r}; {hint}those that are called: {', '.join(every)}"
        )
    return every[function]


@cache
def _cases() -> dict[str, tuple[tuple[WorkedExample, Call], ...]]:
    found: dict[str, list[tuple[WorkedExample, Call]]] = {}
    for example in map(_read, _ids()):
        for call in () if example.withdrawn else example.calls:
            found.setdefault(call.function, []).append((example, call))
    return {function: tuple(found[function]) for function in sorted(found)}


@cache
def _ids() -> tuple[str, ...]:
    names = (_FILE_NAME.fullmatch(entry.name) for entry in _DATA.iterdir())
    return tuple(sorted(name[1] for name in names if name))


def load(example_id: str) -> WorkedExample:
    """Return the worked example with this id.

    Parameters
    ----------
    example_id : str
        An id such as ``"SA005"``; `ids` lists them.

    Returns
    -------
    WorkedExample
        Read-only; every call with the same id returns the same object. One that is withdrawn
        says so in its repr, and why in `withdrawn`.

    Raises
    ------
    TypeError
        If `example_id` is not a string.
    ValueError
        If there is no such example. The message names the nearest ids that exist.

    See Also
    --------
    ids : Every id there is.

    Examples
    --------
    >>> load("SA001")
    SA001: Three words, three similarities
    >>> load("sa1")
    Traceback (most recent call last):
    ...
    ValueError: no worked example has the id 'sa1'; the nearest are SA001, SA002, SA003
    """
    if not isinstance(example_id, str):
        raise TypeError(f"an example id is a string such as 'SA001', got {example_id!r}")
    # Only listed ids reach the file system, so an id cannot point outside the data directory.
    if example_id not in ids():
        raise ValueError(
            f"no worked example has the id {example_id!r}; "
            f"the nearest are {', '.join(_nearest(example_id))}"
        )
    return _read(example_id)


# A copy, also in another process, is the example itself: it cannot be changed.
copyreg.pickle(WorkedExample, lambda example: (load, (example.id,)))
copyreg.pickle(Call, lambda call: (_call, (call.example, call.number)))


ABOVE["calls of an example"] = lambda example_id: load(example_id).calls


def _call(example_id: str, number: int) -> Call:
    if example_id in generated.names():
        return generated.load(example_id).call
    return load(example_id).calls[number]


def _nearest(unknown: str, count: int = 3) -> list[str]:
    """Return the known ids nearest by number, or by spelling when there is no number."""
    digits = re.search(r"\d+", unknown)
    if digits:
        number = int(digits[0])
        return sorted(sorted(ids(), key=lambda known: abs(int(known[2:]) - number))[:count])
    return difflib.get_close_matches(unknown.upper(), ids(), n=count, cutoff=0.0)


@cache
def _read(example_id: str) -> WorkedExample:
    content = file_content(example_id)
    try:
        return _understood(example_id, content)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        told = f"{type(error).__name__}: {error}"
        raise ValueError(f"the file {example_id}.json is damaged: {told}") from error


def _understood(example_id: str, content: bytes) -> WorkedExample:
    document = json.loads(content)
    withdrawn = document.get("withdrawn")
    entries = {**document["inputs"], **document["expected"]}
    values = {name: _value(entry) for name, entry in entries.items()}
    tolerance = Tolerance(**document["tolerance"])
    return WorkedExample(
        id=document["id"],
        title=document["title"],
        why=document["why"],
        page=document["page"],
        topics=tuple(document["topics"]),
        released=document["released"],
        since=document["since"],
        supersedes=document["supersedes"],
        withdrawn=Withdrawn(**withdrawn) if withdrawn else None,
        provenance=Provenance(**document["provenance"]),
        inputs=MappingProxyType({name: values[name] for name in document["inputs"]}),
        expected=MappingProxyType({name: values[name] for name in document["expected"]}),
        calls=tuple(
            read_call(example_id, number, call, values, tolerance)
            for number, call in enumerate(document["calls"])
        ),
        descriptions=MappingProxyType({n: e["description"] for n, e in entries.items()}),
        axes=MappingProxyType({n: _axes(e, values) for n, e in entries.items()}),
        derivation=Derivation(**document["derivation"]),
        tolerance=tolerance,
        digest=digest(content.decode()),
        swhid=content_id(content),
    )


def file_content(name: str) -> bytes:
    """Return the bytes of a file of the examples, or of their schema."""
    return (_DATA / f"{name}.json").read_bytes()


def _value(entry: dict[str, Any]) -> Any:
    value = _numbers(entry["value"])
    if isinstance(value, list) and isinstance(value[0], str):
        return tuple(value)
    if "integers" in entry and isinstance(value, int):
        return value
    array = np.asarray(value)
    if "indices_of" in entry or "integers" in entry:
        return read_only(array.astype(np.intp))
    # A file may write 3 for 3.0: only what counts or is true or false is anything but float64.
    return read_only(array if array.dtype == np.bool_ else array.astype(np.float64))


def _numbers(value: Any) -> Any:
    """Return a value with the numbers that JSON does not have, which a file has as strings."""
    if isinstance(value, list):
        return [_numbers(part) for part in value]
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else value


def _axes(entry: dict[str, Any], values: dict[str, Any]) -> tuple[Axis, ...]:
    labels = entry.get("labels", {})
    return tuple(Axis(name, _labels(labels.get(name), values)) for name in entry.get("axes", ()))


def _labels(
    given: str | list[str | float] | None, values: dict[str, Any]
) -> tuple[str | float, ...] | None:
    if isinstance(given, str):  # a reference
        arrays = {name: np.asarray(value) for name, value in values.items()}
        return tuple(find(given, arrays).tolist())
    return None if given is None else tuple(given)
