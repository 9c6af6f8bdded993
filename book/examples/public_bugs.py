"""Attentions that make the mistakes of bugs that were reported in public: see public-bugs.yml.

Each is called as the function of the library that it stands in for, and goes wrong where the
project did: sizes of blocks and sentinels are those of the report. What a function leaves out of
its keywords it is not asked for; the six options of attention come through ``**keywords``.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from ml_dtypes import bfloat16
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]


# --- the right steps ------------------------------------------------------------------------------


def scores_of(
    query: Array, key: Array, *, bias: Any = 0.0, scale: Any = None, soft_cap: Any = None, **_: Any
) -> Array:
    """Return the scores before the mask."""
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if soft_cap is not None:
        scores = soft_cap * np.tanh(scores / soft_cap)
    return np.asarray(scores + bias)


def seen_by(
    Tq: int, Tk: int, *, mask: Any = True, causal: bool = False, offset: int = 0, **_: Any
) -> Array:
    """Return which key each query may attend to."""
    past = np.tri(Tq, Tk, offset, dtype=bool) if causal else np.ones((Tq, Tk), bool)
    return np.asarray(past & mask)


def masked_scores(query: Array, key: Array, **keywords: Any) -> Array:
    """Return the scores, −∞ where a key is hidden."""
    scores = scores_of(query, key, **keywords)
    return np.where(seen_by(*scores.shape[-2:], **keywords), scores, -np.inf)


def exponentials_of(scores: Array) -> Array:
    """Return the exponentials of the scores less the maximum of their row."""
    largest = scores.max(axis=-1, keepdims=True)
    return np.asarray(np.exp(scores - np.where(np.isinf(largest), 0.0, largest)))


def shares(exponentials: Array) -> Array:
    """Return what each is of the sum of its row; zeros if that is 0."""
    total = exponentials.sum(axis=-1, keepdims=True)
    return np.asarray(exponentials / np.where(total == 0, 1.0, total))


def softmax(scores: Array) -> Array:
    """Return the weights."""
    return shares(exponentials_of(scores))


def mix(weights: Array, value: Array) -> Array:
    """Return weighted sums of the values that have a weight."""
    finite = np.isfinite(value)
    if finite.all():
        return np.asarray(weights @ value)
    spoiled = (weights > 0).astype(float) @ (~finite).astype(float) > 0
    return np.where(spoiled, np.nan, weights @ np.where(finite, value, 0.0))


def attention(
    query: Array,
    key: Array,
    value: Array,
    weigh: Callable[[Array], Array] = softmax,
    **keywords: Any,
) -> Array:
    """Return attention, with something else in place of softmax if it is given."""
    return mix(weigh(masked_scores(query, key, **keywords)), value)


# --- axes, grouped heads --------------------------------------------------------------------------


def mask_for_the_first_sequence_only(
    query: Array, key: Array, value: Array, **keywords: Any
) -> Array:
    mask = np.asarray(keywords.get("mask", True))
    if query.ndim == 4 and (mask.ndim < 4 or len(mask) == 1):
        seen = np.broadcast_to(mask, (1, query.shape[1], query.shape[2], key.shape[2]))
        beyond = np.ones((len(query) - 1, *seen.shape[1:]), bool)
        keywords["mask"] = np.concatenate([seen, beyond])
    return attention(query, key, value, **keywords)


def mask_read_at_the_place_of_a_full_one(
    query: Array, key: Array, value: Array, **keywords: Any
) -> Array:
    mask = np.asarray(keywords.get("mask", True))
    if query.ndim == 4 and mask.ndim == 4:
        steps = np.cumprod([1, *mask.shape[:0:-1]])[::-1]
        indices = np.indices((*query.shape[:3], key.shape[2]))
        flat = np.tensordot(steps, indices, axes=1) % mask.size
        keywords["mask"] = mask.ravel()[flat]
    return attention(query, key, value, **keywords)


def shared_heads_tiled(x: Array, num_heads: int) -> Array:
    return np.concatenate([x] * (num_heads // x.shape[-3]), axis=-3)


def queries_of_a_group_added_up(
    query: Array, key: Array, value: Array, *, grouped_heads: bool = False, **keywords: Any
) -> Array:
    if grouped_heads:
        group = query.shape[-3] // key.shape[-3]
        split = query.reshape(*query.shape[:-3], -1, group, *query.shape[-2:])
        query = split.sum(axis=-3)
    return attention(query, key, value, **keywords)


# --- size -----------------------------------------------------------------------------------------


def last_block_of_32_read_to_its_end(
    query: Array, key: Array, value: Array, **keywords: Any
) -> Array:
    Tk = key.shape[-2]
    place = np.minimum(np.arange(-(-Tk // 32) * 32), Tk - 1)  # something lies behind the last key
    scores = masked_scores(query, key, **keywords)
    return mix(softmax(scores[..., place]), value[..., place, :])


def mask_of_512_keys(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    if "mask" in keywords:
        keywords["mask"] = keywords["mask"] | (np.arange(key.shape[-2]) >= 512)
    return attention(query, key, value, **keywords)


def heads_of_64_columns(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    keywords = {"scale": query.shape[-1] ** -0.5, **keywords}
    output = attention(query[..., :64], key[..., :64], value, **keywords)
    output[..., 64:] = 0.0  # not written
    return output


def tiles_of_128_queries_cut_short(
    query: Array, key: Array, value: Array, **keywords: Any
) -> Array:
    if keywords.get("causal"):
        first = np.arange(query.shape[-2])[:, np.newaxis] // 128 * 128
        end = first + 64 + keywords.get("offset", 0)
        keywords["mask"] = keywords.get("mask", True) & (np.arange(key.shape[-2]) < end)
    return attention(query, key, value, **keywords)


# --- windows --------------------------------------------------------------------------------------


def window_one_too_wide(Tq: int, Tk: int, left: int, right: int, *, offset: int = 0) -> Array:
    distance = np.arange(Tk) - np.arange(Tq)[:, np.newaxis] - offset
    return np.asarray((-left - 1 <= distance) & (distance <= right))


def window_dropped_without_a_mask(
    query: Array, key: Array, value: Array, *, window: Any = None, **keywords: Any
) -> Array:
    if window is not None and ("mask" in keywords or keywords.get("causal")):
        keywords["mask"] = keywords.get("mask", True) & _within(query, key, window, keywords)
    return attention(query, key, value, **keywords)


def window_open_at_its_first_tile(
    query: Array, key: Array, value: Array, *, window: Any = None, **keywords: Any
) -> Array:
    if window is not None:
        rows = np.arange(query.shape[-2]) // 4 * 4  # a block of queries sees what its first sees
        seen = _within(query, key, window, keywords)
        first = np.argmax(seen[rows], axis=-1)[:, np.newaxis] // 2 * 2
        keys = np.arange(key.shape[-2])
        early = (keys >= first) & (keys < np.argmax(seen, axis=-1)[:, np.newaxis])
        keywords["mask"] = keywords.get("mask", True) & (seen | early)
    return attention(query, key, value, **keywords)


def _within(query: Array, key: Array, window: Any, keywords: dict[str, Any]) -> Array:
    """Return the keys inside a window; None is no limit."""
    left, right = (np.inf if side is None else side for side in window)
    place = np.arange(query.shape[-2])[:, np.newaxis] + keywords.get("offset", 0)
    distance = np.arange(key.shape[-2]) - place
    return np.asarray((-left <= distance) & (distance <= right))


# --- values ---------------------------------------------------------------------------------------


def hidden_scores_of_minus_10000(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(
        query, key, value, lambda s: softmax(np.where(np.isneginf(s), -1e4, s)), **keywords
    )


def hidden_scores_of_minus_100000(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(
        query, key, value, lambda s: softmax(np.where(np.isneginf(s), -1e5, s)), **keywords
    )


def hidden_scores_not_shifted(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    scores, seen = scores_of(query, key, **keywords), masked_scores(query, key, **keywords)
    largest = seen.max(axis=-1, keepdims=True)
    exponentials = np.exp(scores - np.where(np.isinf(largest), 0.0, largest))
    return mix(shares(exponentials * np.isfinite(seen)), value)


def tiles_of_16_keys_that_are_all_hidden(
    query: Array, key: Array, value: Array, **keywords: Any
) -> Array:
    scores = masked_scores(query, key, **keywords)
    largest = np.full((*scores.shape[:-1], 1), -np.inf)
    total, mixed = np.zeros_like(largest), np.zeros((*scores.shape[:-1], value.shape[-1]))
    for start in range(0, scores.shape[-1], 16):
        tile = scores[..., start : start + 16]
        larger = np.maximum(largest, tile.max(axis=-1, keepdims=True))
        factor, weights = np.exp(largest - larger), np.exp(tile - larger)  # NaN for −∞ less −∞
        total = total * factor + weights.sum(axis=-1, keepdims=True)
        mixed = mixed * factor + mix(weights, value[..., start : start + 16, :])
        largest = larger
    return np.asarray(mixed / np.where(total == 0, 1.0, total))


# --- memory, precision ----------------------------------------------------------------------------


def values_read_in_the_order_of_memory(
    query: Array, key: Array, value: Array, **keywords: Any
) -> Array:
    return attention(query, key, value.ravel(order="K").reshape(value.shape), **keywords)


def sum_that_stops_at_256(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    def weigh(scores: Array) -> Array:
        exponentials = exponentials_of(scores)
        total = exponentials.astype(bfloat16).cumsum(axis=-1, dtype=bfloat16)[..., -1:]
        return np.asarray(exponentials / np.where(total == 0, 1.0, total.astype(float)))

    return attention(query, key, value, weigh, **keywords).astype(bfloat16)


# --- log-sum-exp, packed sequences ----------------------------------------------------------------


def log_sum_exp_with_base_2(
    query: Array, key: Array, value: Array, *, return_log_sum_exp: bool = False, **keywords: Any
) -> Any:
    scores = masked_scores(query, key, **keywords)
    if not return_log_sum_exp:
        return mix(softmax(scores), value)
    largest = scores.max(axis=-1)
    total = exponentials_of(scores).sum(axis=-1)
    natural = np.where(total > 0, largest + np.log(total), -np.inf)
    return mix(softmax(scores), value), natural / np.log(2.0)


def lengths_ignored(
    query: Array,
    key: Array,
    value: Array,
    *,
    query_lengths: Any = None,
    key_lengths: Any = None,
    **keywords: Any,
) -> Array:
    return attention(query, key, value, **keywords)


def lengths_after_the_first_ignored(
    query: Array,
    key: Array,
    value: Array,
    *,
    query_lengths: Any = None,
    key_lengths: Any = None,
    **keywords: Any,
) -> Array:
    if query_lengths is None:
        return attention(query, key, value, **keywords)
    ends = int(query_lengths[0]), int(key_lengths[0])
    parts = [
        attention(query[..., q, :], key[..., k, :], value[..., k, :], **keywords)
        for q, k in zip(_halves(ends[0]), _halves(ends[1]), strict=True)
    ]
    return np.concatenate(parts, axis=-2)


def _halves(end: int) -> tuple[slice, slice]:
    """Return what lies before and behind a place."""
    return slice(end), slice(end, None)


# --- backward -------------------------------------------------------------------------------------


def gradients(
    query: Array, key: Array, value: Array, d_output: Array, **keywords: Any
) -> tuple[Array, Array, Array, Array]:
    """Return weights, slopes of the scaled products, and the gradients of queries and values."""
    scale = keywords.get("scale")
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    weights = softmax(masked_scores(query, key, **keywords))
    d_weights = d_output @ value.mT
    d_scores = weights * (d_weights - (weights * d_weights).sum(axis=-1, keepdims=True))
    if keywords.get("soft_cap") is not None:
        d_scores = d_scores * (1 - np.tanh(scale * query @ key.mT / keywords["soft_cap"]) ** 2)
    d_value = added(weights.mT @ d_output, value)
    return weights, scale * d_scores, scale * d_scores @ key, d_value


def added(gradient: Array, array: Array) -> Array:
    """Return a gradient added up over the axes along which an array was broadcast."""
    gradient = gradient.sum(axis=tuple(range(gradient.ndim - array.ndim)))
    ones = tuple(axis for axis, size in enumerate(array.shape) if size == 1)
    return np.asarray(gradient.sum(axis=ones, keepdims=True))


def d_key_without_a_transpose(
    query: Array, key: Array, value: Array, d_output: Array, **keywords: Any
) -> tuple[Array, Array, Array]:
    _, slopes, d_query, d_value = gradients(query, key, value, d_output, **keywords)
    return d_query, added(slopes @ query, key), d_value


def values_as_wide_as_keys(
    query: Array, key: Array, value: Array, d_output: Array, **keywords: Any
) -> tuple[Array, Array, Array]:
    width = query.shape[-1]
    narrow = gradients(query, key, value[..., :width], d_output[..., :width], **keywords)
    _, slopes, _, d_value = gradients(query, key, value, d_output, **keywords)
    return narrow[2], added(slopes.mT @ query, key), d_value


def gradients_of_hidden_rows(
    query: Array, key: Array, value: Array, d_output: Array, **keywords: Any
) -> tuple[Array, Array, Array]:
    hidden = np.isneginf(masked_scores(query, key, **keywords)).all(axis=-1, keepdims=True)
    _, slopes, d_query, d_value = gradients(query, key, value, d_output, **keywords)
    return np.where(hidden, np.nan, d_query), added(slopes.mT @ query, key), d_value


def d_key_of_every_query_head(
    query: Array, key: Array, value: Array, d_output: Array, **keywords: Any
) -> tuple[Array, Array, Array]:
    _, slopes, d_query, d_value = gradients(query, key, value, d_output, **keywords)
    return d_query, slopes.mT @ query, d_value


def d_output_read_in_the_order_of_memory(
    query: Array, key: Array, value: Array, d_output: Array, **keywords: Any
) -> tuple[Array, Array, Array]:
    as_stored = d_output.ravel(order="K").reshape(d_output.shape)
    _, slopes, d_query, d_value = gradients(query, key, value, as_stored, **keywords)
    return d_query, added(slopes.mT @ query, key), d_value


# --- rotary ---------------------------------------------------------------------------------------


def rotated(x: Array, angles: Array, interleaved: bool) -> Array:
    """Return each pair of columns turned by its angle."""
    half = x.shape[-1] // 2
    first = slice(0, None, 2) if interleaved else slice(half)
    second = slice(1, None, 2) if interleaved else slice(half, None)
    turned = np.empty_like(x)
    turned[..., first] = x[..., first] * np.cos(angles) - x[..., second] * np.sin(angles)
    turned[..., second] = x[..., first] * np.sin(angles) + x[..., second] * np.cos(angles)
    return turned


def angles_of(x: Array, positions: Any, base: float) -> Array:
    """Return the angle of each pair at each position."""
    pairs = np.arange(x.shape[-1] // 2)
    return np.asarray(np.asarray(positions)[..., np.newaxis] * base ** (-2 * pairs / x.shape[-1]))


def halves_whatever_the_layout(
    x: Array, positions: Any, *, base: float = 10000.0, interleaved: bool = False
) -> Array:
    return rotated(x, angles_of(x, positions, base), interleaved=False)


def frequencies_of_the_other_layout(
    x: Array, positions: Any, *, base: float = 10000.0, interleaved: bool = False
) -> Array:
    if interleaved:
        return rotated(x, angles_of(x, positions, base), interleaved)
    angles = np.repeat(angles_of(x, positions, base), 2, axis=-1)
    half = x.shape[-1] // 2
    turned = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    return np.asarray(x * np.cos(angles) + turned * np.sin(angles))


def angles_kept_by_length_alone(
    x: Array,
    positions: Any,
    *,
    base: float = 10000.0,
    interleaved: bool = False,
) -> Array:
    kept = KEPT.setdefault((x.shape[-2:], base), angles_of(x, positions, base))
    return rotated(x, kept, interleaved)


KEPT: dict[Any, Array] = {}


def positions_from_zero(
    x: Array, positions: Any, *, base: float = 10000.0, interleaved: bool = False
) -> Array:
    return rotated(x, angles_of(x, np.arange(x.shape[-2]), base), interleaved)
