"""The data of the worked examples, read once in a build."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path("selfattn_ref", "worked_examples", "data")


@cache
def documents(root: Path) -> dict[str, dict[str, Any]]:
    """Return the data of every example, by id."""
    paths = sorted((root / DATA).glob("SA*.json"))
    return {path.stem: read(path) for path in paths}


def read(path: Path) -> dict[str, Any]:
    """Return the data of an example; what a file writes as a string, such as "NaN", is a number."""
    data: dict[str, Any] = json.loads(path.read_text("utf-8"))
    for group in ("inputs", "expected"):
        for entry in data[group].values():
            entry["value"] = _numbers(entry["value"])
    return data


def _numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_numbers(part) for part in value]
    return float(value) if value in ("NaN", "Infinity", "-Infinity") else value


def flat(value: Any) -> Iterator[Any]:
    """Yield the entries of an array in order."""
    if isinstance(value, list):
        for part in value:
            yield from flat(part)
    else:
        yield value
