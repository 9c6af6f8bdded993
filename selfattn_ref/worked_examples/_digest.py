"""The digest of what an example says, by which a citation can be verified; the id of its file."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any


def digest(text: str) -> str:
    """Return the SHA-256 of inputs, expected values, calls and tolerance of an example file.

    What is hashed is JSON in ASCII with sorted keys and without spaces: an object with `inputs` and
    `expected` (values by name), `calls` (as in the file, without `because`) and `tolerance`, in
    which each number is ``{"number": "p/q"}``, the fraction in lowest terms that its decimal
    stands for (``"p"`` if it is whole). So prose and layout may improve, and 0.50 is 0.5.
    """
    content = said(text, lambda decimal: {"number": str(Fraction(decimal))})
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def said(text: str, number: Callable[[str], Any]) -> dict[str, Any]:
    """Return what the digest covers of an example file, each number made of its decimal."""

    def values(entries: dict[str, Any]) -> dict[str, Any]:
        return {name: entry["value"] for name, entry in entries.items()}

    document = parsed(text, number)
    return {
        "inputs": values(document["inputs"]),
        "expected": values(document["expected"]),
        "calls": [
            {key: part for key, part in call.items() if key != "because"}
            for call in document["calls"]
        ],
        "tolerance": document["tolerance"],
    }


def parsed(text: str | bytes, number: Callable[[str], Any] | None = None) -> Any:
    """Return what JSON says, each number made of its decimal; a name that stands twice is an error.

    Of two values with one name, some programs take the first and some the last.
    """

    def once(members: list[tuple[str, Any]]) -> dict[str, Any]:
        if (name := twice([name for name, _ in members])) is not None:
            raise ValueError(f"{name!r} stands twice in an object")
        return dict(members)

    return json.loads(text, object_pairs_hook=once, parse_float=number, parse_int=number)


def twice(names: Sequence[str]) -> str | None:
    """Return the first name that stands twice, if there is one."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def digest_of_cases(text: str) -> str:
    """Return the SHA-256 of the file of the generated cases, but for their purposes."""
    cases = parsed(text)["cases"]
    rest = [{key: part for key, part in case.items() if key != "purpose"} for case in cases]
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def content_id(content: bytes) -> str:
    """Return the id that Software Heritage gives to a file: Git's, the SHA-1 of its bytes."""
    blob = b"blob %d\0" % len(content) + content
    return f"swh:1:cnt:{hashlib.sha1(blob, usedforsecurity=False).hexdigest()}"
