"""How sharp each call is: what it allows in each dtype, and the smallest slip it meets."""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from press.example import slip_catalog
from selfattn_ref.worked_examples import Call, cases
from selfattn_ref.worked_examples.slips import SLIPS

DTYPES = "float64", "float32", "float16", "bfloat16"
POWERS = 12, 9, 6, 5, 4, 3, 2


class Precision(SphinxDirective):
    """``{precision}``: how many calls see an error of each size, and what each call sees."""

    def run(self) -> list[nodes.Node]:
        """Return two tables."""
        for path in slip_catalog.SOURCES:
            self.env.note_dependency(str(Path(self.env.srcdir, path)))
        return self.parse_text_to_nodes("\n".join([*by_size(), "", *by_call()]))


class Sharpness(NamedTuple):
    """What a call allows, and what slips it meets; errors are relative to its largest value."""

    call: Call
    allowed: dict[str, float]  # the most, by dtype
    seen: dict[str, float]  # the smallest error of a result that differs, by dtype
    slips: dict[str, float]  # the largest error of each slip that differs


@functools.cache
def sharpness() -> list[Sharpness]:
    """Return what each call of attention allows and meets: computed here, for every one."""
    found = []
    for _, given in cases():
        if given.expected is None:
            continue
        call = given.without_capabilities()
        size, numbers = largest(call), np.isfinite(call.known["result"])
        limits = {
            dtype: np.broadcast_to(call.allowed(dtype)["result"], numbers.shape)[numbers]
            for dtype in DTYPES
        }
        slips = {
            name: error(call, name) / size
            for name, calls in slip_catalog.matrix().items()
            if call in calls
        }
        found.append(
            Sharpness(
                call,
                {dtype: float(limit.max()) for dtype, limit in limits.items()},
                {dtype: float(limit.min()) / size for dtype, limit in limits.items()},
                {name: off for name, off in slips.items() if np.isfinite(off)},
            )
        )
    return found


def largest(call: Call) -> float:
    """Return the size of the largest value that is a number."""
    value = call.args[2]
    return float(np.abs(value[np.isfinite(value)]).max())


def error(call: Call, slip: str) -> float:
    """Return the largest error of a slip; infinite if its result is of another shape."""
    result, expected = SLIPS[slip](*call.args, **call.kwargs), np.asarray(call.expected)
    return float(np.abs(result - expected).max()) if result.shape == expected.shape else np.inf


def by_size() -> Iterator[str]:
    """Yield a table: how many calls see an error of a size."""
    rows = sharpness()
    yield from head(f"error|{'|'.join(DTYPES)}")
    for power in POWERS:
        seen = (sum(row.seen[dtype] < 10.0**-power for row in rows) for dtype in DTYPES)
        yield f"| $10^{{-{power}}}$ | {' | '.join(f'{count} of {len(rows)}' for count in seen)} |"


def by_call() -> Iterator[str]:
    """Yield a table: what each call allows and sees in each dtype, and its smallest slip."""
    yield from head(f"call|{'|'.join(DTYPES)}|smallest slip")
    for call, allowed, seen, slips in sharpness():
        cells = [f"{allowed[dtype]:.1e} ({seen[dtype]:.1e})" for dtype in DTYPES]
        smallest = min(slips, key=slips.__getitem__, default="")
        cells.append(f"{slips[smallest]:.1e} `{smallest}`" if smallest else "none")
        yield f"| {call.id} | {' | '.join(cells)} |"


def head(names: str) -> Iterator[str]:
    """Yield the head of a table."""
    yield f"| {names.replace('|', ' | ')} |"
    yield "|---" * len(names.split("|")) + "|"
