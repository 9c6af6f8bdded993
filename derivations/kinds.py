"""What a derivation takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

# By name: arrays as nested lists of exact fractions, words as strings, indices as fractions.
Inputs: TypeAlias = Mapping[str, Any]
Expected: TypeAlias = dict[str, Any]
Derivation: TypeAlias = Callable[[Inputs], Expected]
