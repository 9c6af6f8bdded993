"""What stands at the rows and columns of an array's tables: its data says what they are."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from selfattn_ref.worked_examples import Axis, load

# Axes whose entries, where they have no names, are called "query 0"; those of others, "0".
NUMBERED = {
    *("query", "key", "value", "head", "query head", "key/value head"),
    *("sentence", "sequence", "group", "round", "position", "block", "variant"),
}
ANY = {"any head", "any query", "any key"}  # one entry for all: called by the name alone


def heads(name: str, data: Mapping[str, Any]) -> list[list[str]]:
    """Return the heads along each axis of an array, first to last."""
    sizes = np.shape({**data["inputs"], **data["expected"]}[name]["value"])
    axes = load(data["id"]).axes[name]
    return [heads_of(axis, size) for axis, size in zip(axes, sizes, strict=True)]


def heads_of(axis: Axis, size: int) -> list[str]:
    """Return the heads along an axis: words as they are, numbers after the name of the axis."""
    if axis.name in ANY:
        return [axis.name] * size
    if axis.labels is None:
        before = f"{axis.name} " if axis.name in NUMBERED else ""
        return [f"{before}{index}" for index in range(size)]
    return [
        label if isinstance(label, str) else f"{axis.name} {label:g}".replace("-", "−")
        for label in axis.labels
    ]
