"""Read and write example files digit by digit, and keep the ledger of released examples."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import mpmath

from derivations.algebra import DIGITS
from derivations.examples import DERIVATIONS
from derivations.recording import given, plain

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "selfattn_ref" / "worked_examples" / "data"
LEDGER = Path(__file__).with_name("released.json")

Document: TypeAlias = dict[str, Any]
# Hash of the numbers, or None for an id that is planned and may not be given to anything else.
Ledger: TypeAlias = dict[str, str | None]

EXAMPLE_ID = re.compile(r"SA\d{3}")
# What people write of an expected value; the rest is derived.
WRITTEN = ("description", "axes", "labels", "role")
# Numbers that JSON does not have are strings in a file.
NOT_FINITE = ("NaN", "Infinity", "-Infinity")
# What is short in an array or in a call.
IN_ONE_LINE = ("labels", "arguments", "options", "result", "conventions")


class Number(str):
    """A JSON number as it is written: reading it as a double would lose the decimal."""

    __slots__ = ()


def _no_such_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _no_repeated_key(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    repeated = sorted({key for key in keys if keys.count(key) > 1})
    if repeated:
        raise ValueError(f"repeated key: {', '.join(repeated)}")
    return dict(pairs)


def parse(text: str) -> Document:
    """Parse strict JSON, numbers as `Number`. NaN, Infinity and repeated keys are errors."""
    document: Document = json.loads(
        text,
        parse_float=Number,
        parse_int=Number,
        parse_constant=_no_such_constant,
        object_pairs_hook=_no_repeated_key,
    )
    return document


def read(path: Path) -> Document:
    try:
        return parse(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None


def example_files(data: Path = DATA) -> dict[str, Path]:
    return {
        path.stem: path for path in sorted(data.glob("*.json")) if EXAMPLE_ID.fullmatch(path.stem)
    }


def render(value: Any, indent: str = "") -> str:
    """Return JSON for people: one key a line, one matrix row a line, one line for `IN_ONE_LINE`."""
    inner = indent + "  "
    if isinstance(value, dict):
        lines = []
        for key, item in value.items():
            text = _line(item) if key in IN_ONE_LINE else render(item, inner)
            lines.append(f"{inner}{json.dumps(key)}: {text}")
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if isinstance(value, list):
        if any(isinstance(item, list | dict) for item in value):
            lines = [inner + render(item, inner) for item in value]
            return "[\n" + ",\n".join(lines) + f"\n{indent}]"
        return "[" + ", ".join(render(item) for item in value) + "]"
    if isinstance(value, Number):
        return str(value)
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _line(value: Any) -> str:
    if not isinstance(value, dict):
        return render(value)
    return "{" + ", ".join(f"{json.dumps(k)}: {_line(v)}" for k, v in value.items()) + "}"


def exact(value: Any) -> Any:
    """Return the value with every number as the fraction its decimal stands for."""
    if isinstance(value, list):
        return [exact(item) for item in value]
    if value in NOT_FINITE:
        return float(value)
    return Fraction(value) if isinstance(value, Number) else value


def nearest_double(value: Any) -> Any:
    """Round every number once, to the nearest double, written in its shortest unambiguous form."""
    if isinstance(value, list):
        return [nearest_double(item) for item in value]
    value = plain(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return written_in_words(value)
    if isinstance(value, mpmath.mpf):
        value = Fraction(*value.as_integer_ratio())
    # Python rounds the quotient of two integers correctly, however long they are.
    return Number(repr(float(value)))


def written_in_words(value: float) -> str:
    """Return how a file writes a number that is not finite."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def shape(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list):
        return ()
    inner = {shape(item) for item in value}
    if len(inner) != 1:
        raise ValueError("the rows have different lengths")
    return (len(value), *inner.pop())


def inputs_of(document: Document) -> dict[str, Any]:
    """Return the inputs of an example, exact, as steps."""
    return {name: given(exact(entry["value"])) for name, entry in document["inputs"].items()}


def derive(document: Document) -> dict[str, Any]:
    """Return the expected values of an example, rounded to doubles, in the order of its file."""
    function = DERIVATIONS[document["derivation"]["function"]]
    with mpmath.workdps(DIGITS):
        derived = function(inputs_of(document))
        values = {name: nearest_double(value) for name, value in derived.items()}
    if values.keys() != document["expected"].keys():
        raise ValueError(
            f"{document['id']} expects {', '.join(document['expected'])}, "
            f"but {function.__name__} derives {', '.join(values)}"
        )
    return {name: values[name] for name in document["expected"]}


def with_derived_values(document: Document) -> Document:
    """Return the document with shape and value of every expected entry filled in."""
    expected = {
        name: {
            **{key: part for key, part in document["expected"][name].items() if key in WRITTEN},
            "shape": str(shape(value)),
            "value": value,
        }
        for name, value in derive(document).items()
    }
    return {**document, "expected": expected}


def file_text(document: Document) -> str:
    return render(document) + "\n"


def fingerprint(document: Document) -> str:
    """Return the SHA-256 of what an example says: inputs, expected values, calls and tolerance.

    Prose and layout may improve after a release, so they are left out; 0.5 and 0.50 are the same
    number. `selfattn_ref.worked_examples` computes the same digest on its own.
    """

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(item) for name, item in value.items()}
        if isinstance(value, list):
            return [plain(item) for item in value]
        return {"number": str(Fraction(value))} if isinstance(value, Number) else value

    def values(entries: Mapping[str, Any]) -> dict[str, Any]:
        return {name: plain(entry["value"]) for name, entry in entries.items()}

    content = {
        "inputs": values(document["inputs"]),
        "expected": values(document["expected"]),
        "calls": [
            {key: plain(part) for key, part in call.items() if key != "because"}
            for call in document["calls"]
        ],
        "tolerance": plain(document["tolerance"]),
    }
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def read_ledger(path: Path = LEDGER) -> Ledger:
    try:
        ledger: Ledger = json.loads(
            path.read_text(encoding="utf-8"), object_pairs_hook=_no_repeated_key
        )
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None
    return ledger


def problems(ledger: Ledger, files: Mapping[str, Document]) -> list[str]:
    """Return what is wrong between the ledger and the examples, each with what to do about it."""
    found = []
    planned = [f"SA{number:03d}" for number in range(1, len(ledger) + 1)]
    if list(ledger) != planned:
        lost = sorted(set(planned) - set(ledger))
        found.append(
            f"released.json must list every id from SA001 on, in order; missing: {lost}. "
            "An id is never removed, even when its example is superseded."
        )
    for example_id, document in files.items():
        if ledger.get(example_id) is None:
            found.append(
                f"{example_id} has a file but is not released: "
                f"run `python -m derivations --release {example_id}`."
            )
        elif ledger[example_id] != fingerprint(document):
            found.append(
                f"{example_id} is released and its numbers or calls have changed. A released "
                "example never changes: restore it, give the correction a new id, and name "
                f'{example_id} there as "supersedes".'
            )
    for example_id, document in files.items():
        wrong = document["supersedes"]
        if wrong in files and files[wrong].get("withdrawn", {}).get("see") != example_id:
            found.append(
                f"{example_id} supersedes {wrong}, which has to be withdrawn: say there on which "
                f'day, because of what, and "see": "{example_id}".'
            )
    found += [
        f"{example_id} is released but its file is gone: restore it, it may be cited."
        for example_id, released in ledger.items()
        if released is not None and example_id not in files
    ]
    return found


def forgotten(before: Ledger, now: Ledger) -> list[str]:
    """Return the ids of an earlier ledger that a later one has lost or given other numbers."""
    return [
        example_id
        for example_id, released in before.items()
        if example_id not in now or (released is not None and now[example_id] != released)
    ]
