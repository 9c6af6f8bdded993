"""Slips of the mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from selfattn_ref.worked_examples._slip import (
    Array,
    Slip,
    attention,
    catalog_of,
    raw_scores,
    softmax,
)
from selfattn_ref.worked_examples._tolerance import visible

CATALOG: list[Slip] = []
_slip = catalog_of(CATALOG)


# --- masks ----------------------------------------------------------------------------------------


@_slip("every key is seen", "The mask never reaches the function that applies it.")
def _mask_ignored(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, **{**keywords, "mask": np.True_})


@_slip(
    "what should be hidden is seen, and the rest is not",
    "True means hidden in one function and visible in another.",
    "rasbt/LLMs-from-scratch/issues/1061",
)
def _mask_inverted(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    mask = ~np.asarray(keywords["mask"]) if "mask" in keywords else np.True_
    return attention(query, key, value, **{**keywords, "mask": mask})


@_slip(
    "the mask hides queries instead of keys",
    "Its axes are swapped.",
    "hyunwoongko/transformer/pull/40",
)
def _mask_transposed(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    mask = np.swapaxes(np.atleast_2d(keywords.get("mask", np.True_)), -1, -2)
    return attention(query, key, value, **{**keywords, "mask": mask})


@_slip("all sequences of a batch use the mask of the first", "The batch axis of the mask is lost.")
def _mask_of_the_first_sequence(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    mask = np.asarray(keywords.get("mask", np.True_))
    mask = mask[0] if mask.ndim > 2 else mask
    return attention(query, key, value, **{**keywords, "mask": mask})


@_slip(
    "a head uses the mask of another sequence",
    "In one flattened axis heads come before sequences, in the other after them.",
    "lsdefine/attention-is-all-you-need-keras/issues/36",
)
def _mask_of_another_sequence(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    mask = np.asarray(keywords.get("mask", np.True_))
    if query.ndim == 4 and mask.ndim == 4 and mask.shape[1] == 1:
        batch, heads = query.shape[:2]
        place = (np.arange(heads) * batch + np.arange(batch)[:, np.newaxis]) // heads
        keywords["mask"] = mask[place % len(mask), 0]
    return attention(query, key, value, **keywords)


@_slip(
    "a hidden key has the score 0 and takes part",
    "The scores are multiplied by the mask, or filled with 1e-9 where −1e9 was meant.",
    "awslabs/gluonts/pull/1401",
)
def _hidden_scores_are_zero(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    scores = raw_scores(query, key, **keywords)
    return softmax(np.where(visible(scores.shape, keywords), scores, 0.0)) @ value


@_slip(
    "a visible key gains 1, and no key is hidden",
    "A mask of True and False is added to the scores as 1 and 0.",
    "huggingface/diffusers/issues/14342",
)
def _mask_added(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    scores = raw_scores(query, key, **keywords)
    return softmax(scores + visible(scores.shape, keywords)) @ value


@_slip(
    "the weights of a row add up to less than 1",
    "The mask multiplies the weights after the softmax, and nothing is divided again.",
    "huggingface/pytorch-image-models/pull/2236",
)
def _mask_after_softmax(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    scores = raw_scores(query, key, **keywords)
    return (softmax(scores) * visible(scores.shape, keywords)) @ value


@_slip(
    "where all scores are low, hidden keys win",
    "Hidden scores are −100 instead of −∞; in the report they were −10,000.",
    "ohdearquant/lattice/issues/361",
)
def _sentinel_too_small(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    scores = raw_scores(query, key, **keywords)
    return softmax(np.where(visible(scores.shape, keywords), scores, -100.0)) @ value


@_slip(
    "every query sees the keys after it",
    "One of the ways to ask for a causal mask is ignored.",
    "keras-team/keras/issues/23038",
)
def _causal_ignored(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, **{**keywords, "causal": False})


@_slip(
    "a query does not see its own key, and the first sees none",
    "The triangle leaves out its diagonal.",
)
def _causal_strict(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    offset = keywords.get("offset", 0) - 1
    return attention(query, key, value, **{**keywords, "offset": offset})


@_slip("every query sees one key ahead", "The triangle has one diagonal too many.")
def _causal_one_ahead(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    offset = keywords.get("offset", 0) + 1
    return attention(query, key, value, **{**keywords, "offset": offset})


@_slip("every query sees the future, not the past", "The upper triangle is taken for the lower.")
def _causal_upside_down(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    if keywords.get("causal"):
        before = np.tri(query.shape[-2], key.shape[-2], keywords.get("offset", 0) - 1, dtype=bool)
        keywords |= {"causal": False, "mask": ~before & keywords.get("mask", np.True_)}
    return attention(query, key, value, **keywords)


@_slip(
    "under a causal mask, every earlier key is seen",
    "The causal path does not read the other mask.",
    "AI-Hypercomputer/maxtext/issues/878",
)
def _mask_dropped_under_causal(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    if keywords.get("causal"):
        keywords["mask"] = np.True_
    return attention(query, key, value, **keywords)


@_slip(
    "with a mask, every query sees the keys after it",
    "The code path for a mask does not check whether attention is causal.",
    "keras-team/keras/pull/23040",
)
def _causal_dropped_under_mask(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    if "mask" in keywords:
        keywords["causal"] = False
    return attention(query, key, value, **keywords)


@_slip(
    "a key is seen where either the mask or the triangle shows it",
    "The two masks are joined with “or” instead of “and”.",
)
def _mask_or_causal(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    if keywords.get("causal") and "mask" in keywords:
        shape = (query.shape[-2], key.shape[-2])
        past = np.tri(*shape, keywords.get("offset", 0), dtype=bool)
        keywords |= {"causal": False, "mask": keywords["mask"] | past}
    return attention(query, key, value, **keywords)


@_slip(
    "every second query does not see its own key",
    "A tile of two queries reads keys only up to the diagonal of its first query.",
    "jax-ml/jax/pull/17314",
)
def _diagonal_tile_cut_short(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _by_tiles(query, key, value, 0, keywords)


@_slip(
    "every second query sees one key ahead",
    "A tile of two queries and two keys is entirely visible if it touches the diagonal.",
)
def _diagonal_tile_not_masked(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _by_tiles(query, key, value, 1, keywords)


def _by_tiles(query: Array, key: Array, value: Array, row: int, keywords: dict[str, Any]) -> Array:
    """Let two queries at a time see what is causal for one of them."""
    if keywords.get("causal"):
        rows = np.arange(query.shape[-2]) // 2 * 2 + row + keywords.get("offset", 0)
        seen = np.arange(key.shape[-2]) <= rows[:, np.newaxis]
        keywords |= {"causal": False, "mask": seen & keywords.get("mask", np.True_)}
    return attention(query, key, value, **keywords)


@_slip(
    "a new query sees only the first keys of the cache",
    "The length of the cache does not reach the causal mask.",
    "onnx/onnx/issues/8054",
)
def _offset_ignored(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, **{**keywords, "offset": 0})


@_slip(
    "the last query sees the last key, whatever the offset",
    "The causal mask is aligned with the lower right corner of the table.",
    "pytorch/executorch/issues/22426",
)
def _aligned_with_the_last_key(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, **{**keywords, "offset": key.shape[-2] - query.shape[-2]})


@_slip("a new query does not see its own key", "The cache is counted before the key is in it.")
def _cache_off_by_one(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    offset = max(keywords.get("offset", 0) - 1, 0)
    return attention(query, key, value, **{**keywords, "offset": offset})
