"""The digest of what an example says, by which a citation can be verified; the id of its file."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from typing import Any


class _Number(str):
    """A JSON number as it is written: reading it as a double would lose the decimal."""

    __slots__ = ()


def digest(text: str) -> str:
    """Return the SHA-256 of inputs, expected values, calls and tolerance of an example file.

    What is hashed is JSON in UTF-8 with sorted keys and without spaces: an object with `inputs` and
    `expected` (values by name), `calls` (as in the file, without `because`) and `tolerance`, in
    which each number is ``{"number": "p/q"}``, the fraction in lowest terms that its decimal
    stands for (``"p"`` if it is whole). So prose and layout may improve, and 0.50 is 0.5.
    """
    document = json.loads(text, parse_float=_Number, parse_int=_Number)

    def values(entries: dict[str, Any]) -> dict[str, Any]:
        return {name: _plain(entry["value"]) for name, entry in entries.items()}

    content = {
        "inputs": values(document["inputs"]),
        "expected": values(document["expected"]),
        "calls": [
            {key: _plain(part) for key, part in call.items() if key != "because"}
            for call in document["calls"]
        ],
        "tolerance": _plain(document["tolerance"]),
    }
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def content_id(content: bytes) -> str:
    """Return the id that Software Heritage gives to a file: Git's, the SHA-1 of its bytes."""
    blob = b"blob %d\0" % len(content) + content
    return f"swh:1:cnt:{hashlib.sha1(blob, usedforsecurity=False).hexdigest()}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return {"number": str(Fraction(value))} if isinstance(value, _Number) else value
