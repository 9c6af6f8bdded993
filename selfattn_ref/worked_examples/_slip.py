"""What a slip is, and the right steps from which the wrong attentions of the catalog are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from selfattn_ref.worked_examples._tolerance import visible

Array: TypeAlias = NDArray[Any]
WrongAttention: TypeAlias = Callable[..., Array]


@dataclass(frozen=True, repr=False, eq=False)
class Slip:
    """A wrong attention function; call it like the correct one.

    Attributes
    ----------
    id : str
        A short name, such as ``"keys-as-values"``.
    effect : str
        What the result looks like.
    note : str
        How it happens.
    seen : str or None
        The address of a public bug report, if one is known.
    function : callable
        The wrong function itself.
    """

    id: str
    effect: str
    note: str
    seen: str | None
    function: WrongAttention

    def __repr__(self) -> str:
        return f"{self.id}: {self.effect}"

    def __call__(self, query: Any, key: Any, value: Any, **keywords: Any) -> Array:
        """Return what this slip makes of the arguments, without warnings."""
        arrays = (np.asarray(x, float) for x in (query, key, value))
        with np.errstate(all="ignore"):
            return np.asarray(self.function(*arrays, **keywords))


def catalog_of(
    catalog: list[Slip],
) -> Callable[..., Callable[[WrongAttention], WrongAttention]]:
    """Return a decorator that enters functions into a catalog, under their names."""

    def slip(
        effect: str, note: str, seen: str | None = None
    ) -> Callable[[WrongAttention], WrongAttention]:
        """Say what a wrong attention does and how it happens; `seen` is a place on GitHub."""

        def enter(function: WrongAttention) -> WrongAttention:
            name = function.__name__.strip("_").replace("_", "-")
            address = f"https://github.com/{seen}" if seen else None
            catalog.append(Slip(name, effect, note, address, function))
            return function

        return enter

    return slip


# --- the right steps, by the book: −∞ where a key is hidden ---------------------------------------


def dot(query: Array, key: Array) -> Array:
    return np.asarray(query @ np.swapaxes(key, -1, -2))


def root(query: Array) -> float:
    return float(query.shape[-1] ** -0.5)


def scale_of(query: Array, keywords: dict[str, Any]) -> float:
    scale = keywords.get("scale")
    return root(query) if scale is None else float(scale)


def tanh_cap(scores: Array, cap: float) -> Array:
    return np.asarray(cap * np.tanh(scores / cap))


def raw_scores(
    query: Array, key: Array, cap: Callable[[Array, float], Array] = tanh_cap, **keywords: Any
) -> Array:
    scores = dot(query, key) * scale_of(query, keywords)
    if keywords.get("soft_cap") is not None:
        scores = cap(scores, keywords["soft_cap"])
    return np.asarray(scores + keywords.get("bias", 0.0))


def masked_scores(query: Array, key: Array, **keywords: Any) -> Array:
    scores = raw_scores(query, key, **keywords)
    return np.where(visible(scores.shape, keywords), scores, -np.inf)


def softmax(scores: Array, axis: Any = -1) -> Array:
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=axis, keepdims=True))


def mix(weights: Array, value: Array) -> Array:
    """Return weighted sums of values; what has no weight may be NaN."""
    finite = np.isfinite(value)
    if finite.all():
        return np.asarray(weights @ value)
    spoiled = (weights != 0).astype(float) @ (~finite).astype(float) > 0
    return np.where(spoiled, np.nan, weights @ np.where(finite, value, 0.0))


def attention(
    query: Array,
    key: Array,
    value: Array,
    weigh: Callable[[Array], Array] = softmax,
    **keywords: Any,
) -> Array:
    return mix(weigh(masked_scores(query, key, **keywords)), value)
