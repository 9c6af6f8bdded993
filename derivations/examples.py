"""The derivation of every worked example, a module for each part of the book and one for cases.

Each takes the inputs of the example and returns every expected value.
"""

from __future__ import annotations

from derivations import (
    analogies,
    beyond,
    broadcasting,
    cases,
    causal,
    concepts,
    options,
    scaling,
    structure,
)
from derivations.kinds import DERIVATIONS

__all__ = [
    "DERIVATIONS",
    "analogies",
    "beyond",
    "broadcasting",
    "cases",
    "causal",
    "concepts",
    "options",
    "scaling",
    "structure",
]
