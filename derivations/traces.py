"""How every expected value of an example was made, as data: SA016.trace.json and the like.

The page "Data format" says what a trace holds, and trace.schema.json what it looks like.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import mpmath

from derivations import generated
from derivations.algebra import DIGITS
from derivations.documents import (
    DATA,
    Document,
    example_files,
    fingerprint,
    inputs_of,
    read,
    written_in_words,
)
from derivations.examples import DERIVATIONS
from derivations.recording import Step, recorded

EXAMPLES = DATA / "digests.json"  # the digest of every example, and of the generated cases
TRACES = DATA / "traces.json"  # the digest of the trace of every example


class Recording(NamedTuple):
    """The arrays of an example, made of steps: the same number made in the same way is one step."""

    inputs: dict[str, Any]
    expected: dict[str, Any]
    steps: list[Step]  # operands before what is made of them


def record(document: Document) -> Recording:
    """Derive an example and return how each of its numbers was made."""
    inputs = inputs_of(document)
    with mpmath.workdps(DIGITS):
        derived = DERIVATIONS[document["derivation"]["function"]](inputs)
    known: dict[tuple[Any, ...], Step] = {}
    seen: dict[int, Step] = {}

    def unified(x: Any) -> Any:
        if isinstance(x, list | tuple):
            return [unified(item) for item in x]
        if isinstance(x, str):
            return x
        if id(x) in seen:
            return seen[id(x)]
        one = recorded(x)
        operands, conditions = (
            tuple(map(unified, each)) for each in (one.operands, one.conditions)
        )
        leaf = (type(one.value), one.value) if one.operation == "constant" else id(one)
        made_of = (*map(id, operands), None, *map(id, conditions)) if operands else (leaf,)
        key = (one.operation, one.words, *made_of)
        if key not in known:
            known[key] = Step(one.operation, one.value, operands, conditions, one.words)
        if isinstance(x, Step):
            seen[id(x)] = known[key]
        return known[key]

    given = {name: unified(value) for name, value in inputs.items()}
    expected = {name: unified(derived[name]) for name in document["expected"]}
    return Recording(given, expected, [*known.values()])


@cache
def recording_of(example_id: str) -> Recording:
    """Return how each number of an example was made; the site needs it in several places."""
    return record(read(DATA / f"{example_id}.json"))


def written(value: Any) -> str | float | bool:
    """Return a value as a trace has it: p/q if it is exact, else the nearest double."""
    if isinstance(value, bool):
        return value
    if isinstance(value, float):  # NaN or an infinity, which no step computes with
        return written_in_words(value)
    if isinstance(value, Fraction):
        return str(value)
    exact = Fraction(*value.as_integer_ratio())
    return exact.numerator / exact.denominator


def trace_text(example_id: str) -> str:
    """Return the trace of an example as JSON, a step a line."""
    document, recording = read(DATA / f"{example_id}.json"), recording_of(example_id)
    place = {id(one): number for number, one in enumerate(recording.steps)}

    def places(value: Any) -> Any:
        if isinstance(value, list):
            return [places(item) for item in value]
        return place[id(value)] if isinstance(value, Step) else value

    def line(one: Step) -> str:
        said: dict[str, Any] = {"operation": one.operation}
        said |= {"operands": places([*one.operands])} if one.operands else {}
        said |= {"conditions": places([*one.conditions])} if one.conditions else {}
        return compact(said | {"value": written(one.value)})

    head = {"$schema": "trace.schema.json", "id": document["id"], "digest": fingerprint(document)}
    for group in ("inputs", "expected"):
        head[group] = {name: places(value) for name, value in getattr(recording, group).items()}
    steps = ",\n".join(map(line, recording.steps))
    members = [f"{compact(name)}:{compact(value)}" for name, value in head.items()]
    return "{" + ",\n".join([*members, f'"steps":[\n{steps}\n]']) + "}\n"


def write_traces(folder: Path) -> list[Path]:
    """Write the trace of every example into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for example_id in example_files():
        written.append(folder / f"{example_id}.trace.json")
        written[-1].write_text(trace_text(example_id), encoding="utf-8")
    return written


def write_digests() -> None:
    """Enter the digest of every example, and that of its trace, in the files of the package."""
    traces = {one: hashlib.sha256(trace_text(one).encode()).hexdigest() for one in example_files()}
    examples = {one: fingerprint(read(path)) for one, path in example_files().items()}
    examples["generated"] = generated.digest(generated.read())
    for path, digests in ((EXAMPLES, examples), (TRACES, traces)):
        path.write_text(json.dumps(digests, indent=2) + "\n", encoding="utf-8")


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
