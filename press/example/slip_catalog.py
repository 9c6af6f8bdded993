"""Which examples catch which slip: run against all examples in each build."""

import functools
import html
import re
from pathlib import Path

from selfattn_ref.worked_examples import Call, slips
from selfattn_ref.worked_examples.slips import Slip

SOURCES = [
    Path("selfattn_ref", "worked_examples", path.name)
    for path in sorted(Path(slips.__file__).parent.glob("*slip*.py"))
]


@functools.cache
def matrix() -> dict[str, tuple[Call, ...]]:
    """Return the calls that tell each slip from attention: run here, against every example."""
    return slips.matrix()


@functools.cache
def slips_of() -> dict[str, list[Slip]]:
    """Return the slips that each example catches."""
    found: dict[str, dict[str, None]] = {}
    for name, calls in matrix().items():
        for call in calls:
            found.setdefault(call.example, {})[name] = None
    return {example: [slips.SLIPS[name] for name in names] for example, names in found.items()}


def caught_by(name: str) -> list[str]:
    """Return the examples that catch a slip."""
    return list(dict.fromkeys(call.example for call in matrix()[name]))


def typeset(text: str) -> str:
    """Return a text as HTML, d_k with its index."""
    return re.sub(r"\b([A-Za-z])_([A-Za-z])\b", r"<i>\1</i><sub>\2</sub>", html.escape(text))
