"""Keywords that other functions of attention take and `scaled_dot_product_attention` does not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: What each capability says, by its keyword. A function is asked about one only if its signature
#: has the keyword.
CAPABILITIES = {
    "grouped_heads": "key and value have fewer heads than query: query head h reads head "
    "h // (H // H_kv)",
    "window": "(left, right): query i, at p = i + offset, may attend to key j if "
    "p − left ≤ j ≤ p + right; None: no limit on that side",
    "query_lengths": "with key_lengths: sequences one after another on the axes of positions; a "
    "query attends within its own, where causal, window and offset count from its start",
    "key_lengths": "see query_lengths",
    "return_log_sum_exp": "the result is (output, log_sum_exp): the natural logarithm of the sum "
    "of the exponentials of the visible scores, of shape (..., Tq); −∞ for a query without any",
}


def rest(needed: Collection[str], claims: Collection[str]) -> set[str] | None:
    """Return the capabilities of a call that a function is asked about; the others go.

    None: the function cannot be asked.

    Where packed sequences go, so does a window, which counts within each. A window beside packed
    sequences cannot go: a mask would be in its place, which has no agreed form there.
    """
    capable = {*needed} & {*CAPABILITIES}
    kept = capable & {*claims}
    packed = {"query_lengths", "key_lengths"}
    if capable & packed and not packed <= kept:
        kept -= packed | {"window"}
    elif capable & packed and "window" in capable - kept:
        return None
    return kept


def plain(arguments: Mapping[str, Any], keep: Collection[str] = ()) -> dict[str, Any]:
    """Return arguments that ask for the same output without capabilities, or without some.

    Parameters
    ----------
    arguments : mapping
        Those of a call, by keyword.
    keep : collection of str, optional
        Capabilities that stay; see `rest`.

    Returns
    -------
    dict
        Heads are repeated; a window and packed sequences become part of the mask.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.zeros((3, 2))
    >>> plain({"query": x, "key": x, "value": x, "window": (0, 1)})["mask"]
    array([[ True,  True, False],
           [False,  True,  True],
           [False, False,  True]])
    """
    found = {name: x for name, x in arguments.items() if name in keep or name not in CAPABILITIES}
    if arguments.get("grouped_heads", False) and "grouped_heads" not in keep:
        times = found["query"].shape[-3] // found["key"].shape[-3]
        for name in ("key", "value"):
            found[name] = np.repeat(found[name], times, axis=-3)
    masks = {"query_lengths", "window"} - {*keep}
    if all(arguments.get(name) is None for name in masks):
        return found
    packed = arguments.get("query_lengths") is not None
    given = arguments if packed else {**arguments, "causal": False}
    seen = _seen(given, found["query"].shape[-2], found["key"].shape[-2])
    mask = found.get("mask")
    found["mask"] = seen if mask is None else seen & mask
    if packed or not arguments.get("causal", False):
        found.pop("offset", None)
    if packed:
        found.pop("causal", None)  # it counts within each sequence: it is in the mask
    return found


def reduced(call: Any, claims: Collection[str]) -> Any:
    """Return a call without the capabilities that a function lacks."""
    kept = rest(call.kwargs, claims)
    if kept is None or kept == {*call.kwargs} & {*CAPABILITIES}:
        return call
    less = replace(call, arguments=plain(call.arguments, kept))
    if "return_log_sum_exp" in kept or "return_log_sum_exp" not in call.kwargs:
        return less

    def output(of: Any) -> Any:
        return of["output"] if isinstance(of, Mapping) else of

    conventions = {name: output(answer) for name, answer in call.conventions.items()}
    parts = {name: output(getattr(call, name)) for name in ("expected", "entries", "shape")}
    if len({*map(id, conventions.values())}) == 1:  # they differ in the sums alone
        return replace(less, kind="value", conventions={}, because={}, **parts)
    return replace(less, conventions=conventions, **parts)


def _seen(arguments: Mapping[str, Any], queries: int, keys: int) -> NDArray[np.bool_]:
    """Return which key each query sees by sequences, window and causal."""
    query_lengths = np.asarray(arguments.get("query_lengths", [queries]))
    key_lengths = np.asarray(arguments.get("key_lengths", [keys]))
    # For each position its sequence, and its place in it.
    of_query, of_key = (np.repeat(np.arange(len(n)), n) for n in (query_lengths, key_lengths))
    places = np.arange(queries) - (np.cumsum(query_lengths) - query_lengths)[of_query]
    places = (places + arguments.get("offset", 0))[:, None]
    others = np.arange(keys) - (np.cumsum(key_lengths) - key_lengths)[of_key]
    left, right = arguments.get("window") or (None, None)
    seen = of_query[:, None] == of_key
    if arguments.get("causal", False):
        seen = seen & (others <= places)
    if left is not None:
        seen = seen & (others >= places - left)
    if right is not None:
        seen = seen & (others <= places + right)
    return np.asarray(seen)
