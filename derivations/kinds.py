"""What a derivation takes and gives, and the list of them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

# By name: arrays as nested lists of exact fractions, words as strings, indices as fractions.
Inputs: TypeAlias = Mapping[str, Any]
Expected: TypeAlias = dict[str, Any]
Derivation: TypeAlias = Callable[[Inputs], Expected]

DERIVATIONS: dict[str, Derivation] = {}


def derivation(function: Derivation) -> Derivation:
    """Enter a function in the list, by the name that the file of its example gives."""
    assert function.__name__ not in DERIVATIONS, function.__name__
    DERIVATIONS[function.__name__] = function
    return function
