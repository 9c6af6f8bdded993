"""Slips behind the mask: from scores to weights, heads and blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from selfattn_ref.worked_examples._slip import (
    Array,
    Slip,
    attention,
    catalog_of,
    masked_scores,
    mix,
    raw_scores,
    softmax,
)
from selfattn_ref.worked_examples._tolerance import rounded, visible

CATALOG: list[Slip] = []
_slip = catalog_of(CATALOG)


# --- from scores to weights -----------------------------------------------------------------------


def _finite(scores: Array) -> Array:
    return np.where(np.isinf(scores), 0.0, scores)


def _share(weights: Array) -> Array:
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _with_more(scores: Array, more: Array | float) -> Array:
    """Return the softmax with something more in its denominator."""
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / (exponentials.sum(axis=-1, keepdims=True) + more))


@_slip("the scores themselves are the weights", "The softmax is left out.")
def _softmax_left_out(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, _finite, **keywords)


@_slip("each score is divided by the sum of the scores", "The exponential is left out.")
def _exponential_left_out(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, lambda s: _share(_finite(s)), **keywords)


@_slip("the weights are not divided by their sum", "Half of the softmax is left out.")
def _sum_left_out(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    def weigh(scores: Array) -> Array:
        return np.asarray(np.exp(scores - scores.max(axis=-1, keepdims=True)))

    return attention(query, key, value, weigh, **keywords)


@_slip(
    "the weights of a key are divided by the sum of another row",
    "Without keepdims, the sums of the rows are broadcast, and divide the columns.",
)
def _sum_without_keepdims(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    def weigh(scores: Array) -> Array:
        exponentials = np.exp(scores)
        return np.asarray(exponentials / exponentials.sum(axis=-1))

    return attention(query, key, value, weigh, **keywords)


@_slip(
    "large scores give NaN",
    "Exponentials are taken of the raw scores, and overflow.",
    "pyg-team/pytorch_geometric/issues/53",
)
def _maximum_not_subtracted(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, lambda s: _share(np.exp(s)), **keywords)


@_slip("NaN where all scores are far below 0", "The running maximum starts at 0, not at −∞.")
def _maximum_starts_at_zero(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    def weigh(scores: Array) -> Array:
        return _share(np.exp(scores - scores.max(axis=-1, keepdims=True).clip(0.0)))

    return attention(query, key, value, weigh, **keywords)


@_slip(
    "zeros where all scores are below −50,000",
    "The running maximum starts at a finite number instead of −∞.",
    "flashinfer-ai/flashinfer/issues/4267",
)
def _maximum_clamped(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    def weigh(scores: Array) -> Array:
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True).clip(-5e4))
        total = exponentials.sum(axis=-1, keepdims=True)
        return np.asarray(exponentials / np.where(total == 0, 1.0, total))

    return attention(query, key, value, weigh, **keywords)


@_slip(
    "next to a large hidden score, all others vanish",
    "The maximum includes hidden scores, and the mask comes after the exponentials.",
    "allenai/allennlp/pull/437",
)
def _hidden_keys_in_the_maximum(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    scores = raw_scores(query, key, **keywords)
    return mix(_share(softmax(scores) * visible(scores.shape, keywords)), value)


@_slip(
    "the weights of a row add up to a little less than 1",
    "A small number, here 10⁻⁶, is added to the denominator.",
    "OpenNMT/CTranslate2/pull/1468",
)
def _epsilon_in_the_denominator(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, lambda s: _with_more(s, 1e-6), **keywords)


@_slip("each row keeps a share for nobody", "The denominator has one extra exponential, that of 0.")
def _one_more_in_the_sum(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    def weigh(scores: Array) -> Array:
        return _with_more(scores, np.exp(-scores.max(axis=-1, keepdims=True)))

    return attention(query, key, value, weigh, **keywords)


@_slip("weights keep eight bits", "They are rounded to bfloat16 before the values are mixed.")
def _weights_in_bfloat16(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, lambda s: rounded(softmax(s), "bfloat16"), **keywords)


@_slip(
    "the sum of a row is rounded at every step",
    "Exponentials are added up in float16.",
    "sonos/tract/pull/2586",
)
def _sum_in_float16(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    def weigh(scores: Array) -> Array:
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        sums = exponentials.astype(np.float16).cumsum(axis=-1, dtype=np.float16)
        return np.asarray(exponentials / sums[..., -1:].astype(float))

    return attention(query, key, value, weigh, **keywords)


@_slip("scores that are close become equal", "The scores are kept in bfloat16 before the softmax.")
def _scores_in_bfloat16(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, lambda s: softmax(rounded(s, "bfloat16")), **keywords)


@_slip("the weights are powers of 2, not of e", "A kernel that uses exp2 lost the factor log₂ e.")
def _powers_of_two(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, lambda s: softmax(s * np.log(2.0)), **keywords)


@_slip("only the best key counts", "The largest score is picked instead of a softmax.")
def _argmax_for_softmax(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, lambda s: np.eye(s.shape[-1])[s.argmax(-1)], **keywords)


@_slip(
    "the weights of a key add up to 1, not the weights of a query",
    "The softmax runs over the queries.",
    "labmlai/annotated_deep_learning_paper_implementations/issues/146",
)
def _softmax_over_queries(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, lambda s: softmax(s, -2), **keywords)


@_slip(
    "the weights of all sequences or heads together add up to 1",
    "The softmax runs over the first axis.",
    "PetrochukM/PyTorch-NLP/issues/2",
)
def _softmax_over_the_first_axis(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    first = 0 if query.ndim > 2 else -1
    return attention(query, key, value, lambda s: softmax(s, first), **keywords)


@_slip(
    "the weights of all heads together add up to 1",
    "Heads and keys are flattened to one axis before the softmax.",
    "facebookresearch/detr/issues/247",
)
def _softmax_over_heads_too(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    axes = (-3, -1) if query.ndim > 2 else -1
    return attention(query, key, value, lambda s: softmax(s, axes), **keywords)


@_slip("all weights together add up to 1", "The softmax has no axis and covers the whole matrix.")
def _softmax_over_everything(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, lambda s: softmax(s, (-2, -1)), **keywords)


@_slip("the entries of each output add up to 1", "The mixed values are divided by their own sum.")
def _normalized_after_mixing(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _share(attention(query, key, value, **keywords))


# --- heads and blocks -----------------------------------------------------------------------------


def _expanded(*arrays: Array) -> list[Array]:
    """Return arrays with all their leading axes."""
    lead = np.broadcast_shapes(*(x.shape[:-2] for x in arrays))
    return [np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in arrays]


@_slip(
    "a query head reads the keys and values of another group",
    "Shared heads are laid out 0 1 0 1 instead of 0 0 1 1.",
    "ekzhang/jax-js/pull/180",
)
def _tile_for_repeat(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    if key.ndim > 2:
        key, value = _expanded(key, value)
        heads = key.shape[-3]
        size = max(n for n in range(1, heads + 1) if heads % n == 0 and _in_groups_of(n, key))
        order = np.tile(np.arange(0, heads, size), size)
        key, value = key[..., order, :, :], value[..., order, :, :]
    return attention(query, key, value, **keywords)


def _in_groups_of(size: int, key: Array) -> bool:
    return np.array_equal(np.repeat(key[..., ::size, :, :], size, axis=-3), key)


@_slip(
    "a head gets pieces of several tokens",
    "Heads are split by a reshape without a transpose.",
    "reczoo/FuxiCTR/issues/30",
)
def _reshape_for_transpose(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    if query.ndim > 2:
        arrays = _expanded(query, key, value)
        query, key, value = (np.swapaxes(x, -2, -3).reshape(x.shape) for x in arrays)
    return attention(query, key, value, **keywords)


@_slip(
    "every head gives the result of the first",
    "The offset of a head is computed from the wrong stride, and is 0.",
    "BobMcDear/attorch/issues/14",
)
def _every_head_reads_the_first(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    if query.ndim > 2:
        arrays = _expanded(query, key, value)
        query, key, value = (np.broadcast_to(x[..., :1, :, :], x.shape) for x in arrays)
    return attention(query, key, value, **keywords)


@_slip(
    "a row of the output has pieces of several tokens",
    "Heads are joined by a reshape without a transpose.",
    "meta-pytorch/opacus/pull/825",
)
def _output_reshaped(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    output = attention(query, key, value, **keywords)
    return np.swapaxes(output, -2, -3).reshape(output.shape) if output.ndim > 2 else output


def in_blocks(scores: Array, value: Array, *, rescale_sum: bool, rescale_mix: bool) -> Array:
    """Take two keys at a time; rescale what was summed whenever the maximum grows, or do not."""
    maximum = np.full((*scores.shape[:-1], 1), -np.inf)
    total, mixed = np.zeros_like(maximum), np.zeros((*scores.shape[:-1], value.shape[-1]))
    for keys in (slice(start, start + 2) for start in range(0, scores.shape[-1], 2)):
        larger = np.maximum(maximum, scores[..., keys].max(axis=-1, keepdims=True))
        shift = np.where(np.isinf(larger), 0.0, larger)
        factor, weights = np.exp(maximum - shift), np.exp(scores[..., keys] - shift)
        total = total * (factor if rescale_sum else 1) + weights.sum(axis=-1, keepdims=True)
        mixed = mixed * (factor if rescale_mix else 1) + mix(weights, value[..., keys, :])
        maximum = larger
    return np.asarray(mixed / total)


@_slip("early keys weigh too much", "When the maximum grows, what is mixed so far is not rescaled.")
def _mix_not_rescaled(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    scores = masked_scores(query, key, **keywords)
    return in_blocks(scores, value, rescale_sum=True, rescale_mix=False)


@_slip("the output is too small", "When the maximum grows, the sum so far is not rescaled.")
def _sum_not_rescaled(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    scores = masked_scores(query, key, **keywords)
    return in_blocks(scores, value, rescale_sum=False, rescale_mix=True)


@_slip(
    "keys that do not exist take part with a score of 0",
    "The last block is padded with zeros that are not masked.",
    "flashinfer-ai/flashinfer/pull/5090",
)
def _block_not_masked(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    scores = masked_scores(query, key, **keywords)
    more = np.zeros((*scores.shape[:-1], -scores.shape[-1] % 4))
    return softmax(np.concatenate([scores, more], axis=-1))[..., : scores.shape[-1]] @ value


@_slip("the last keys are not read", "The loop over blocks drops a last block that is not full.")
def _last_block_dropped(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    whole = key.shape[-2] // 2 * 2
    scores = masked_scores(query, key, **keywords)
    return softmax(scores[..., :whole]) @ value[..., :whole, :]


@_slip("all parts of the keys weigh the same", "Two halves are averaged, ignoring their sums.")
def _halves_averaged(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _merged(masked_scores(query, key, **keywords), value, lambda total: 0 * total)


@_slip(
    "the part of the keys with the larger sum weighs too much",
    "Two halves are merged in base e, but the logarithms of their sums are in base 2.",
    "flashinfer-ai/flashinfer/pull/4547",
)
def _halves_merged_with_another_base(
    query: Array, key: Array, value: Array, **keywords: Any
) -> Array:
    return _merged(masked_scores(query, key, **keywords), value, lambda total: total / np.log(2.0))


def _merged(scores: Array, value: Array, distort: Callable[[Array], Array]) -> Array:
    """Mix the halves of the keys apart, and merge them by their distorted log-sum-exp."""
    half = (scores.shape[-1] + 1) // 2
    outputs, totals = [], []
    for keys in (slice(half), slice(half, None)) if half < scores.shape[-1] else (slice(None),):
        maximum = scores[..., keys].max(axis=-1, keepdims=True)
        shift = np.where(np.isinf(maximum), 0.0, maximum)
        exponentials = np.exp(scores[..., keys] - shift)
        total = exponentials.sum(axis=-1, keepdims=True)
        outputs.append(mix(exponentials, value[..., keys, :]) / np.where(total == 0, 1.0, total))
        totals.append(np.where(total == 0, -np.inf, distort(shift + np.log(total))))
    weights = softmax(np.concatenate(totals, axis=-1))
    return np.asarray(sum(weights[..., i : i + 1] * one for i, one in enumerate(outputs)))
