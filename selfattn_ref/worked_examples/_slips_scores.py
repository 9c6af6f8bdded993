"""Slips before the mask: which array goes where, scale, cap, bias."""

from __future__ import annotations

from typing import Any

import numpy as np

from selfattn_ref.worked_examples._slip import (
    Array,
    Slip,
    attention,
    catalog_of,
    root,
    scale_of,
    softmax,
    tanh_cap,
)

CATALOG: list[Slip] = []
_slip = catalog_of(CATALOG)


# --- which array goes where -----------------------------------------------------------------------


@_slip("the keys are mixed instead of the values", "A name is mistyped in the second product.")
def _keys_as_values(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, key, **keywords)


@_slip("queries are compared with values", "Keys and values are passed in the wrong order.")
def _keys_and_values_swapped(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, value, key, **keywords)


@_slip("each key looks for queries", "The product is taken as K Qᵀ: the scores are transposed.")
def _queries_and_keys_swapped(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(key, query, value, **keywords)


@_slip("row i mixes by column i of the weights", "The last product sums over the wrong index.")
def _weights_transposed(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, lambda s: np.swapaxes(softmax(s), -1, -2), **keywords)


# --- scale, cap, bias -----------------------------------------------------------------------------


@_slip(
    "the scores are not scaled",
    "The division by √d_k is left out.",
    "Project-MONAI/GenerativeModels/issues/146",
)
def _not_scaled(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, **{"scale": 1.0, **keywords})


@_slip("the scores are divided by d_k", "The root is left out.", "delzac/cntkx/issues/10")
def _root_left_out(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, **{"scale": root(query) ** 2, **keywords})


@_slip(
    "the scores are multiplied by √d_k",
    "It multiplies where it should divide.",
    "AI-Hypercomputer/maxtext/issues/1370",
)
def _root_multiplied(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, **{"scale": 1 / root(query), **keywords})


@_slip(
    "the scores of all heads are divided by √(heads · d_k)",
    "The width of the model is taken for the width of a head.",
    "lucidrains/vit-pytorch/issues/65",
)
def _root_of_model_width(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    heads = query.shape[-3] if query.ndim > 2 else 1
    return attention(query, key, value, **{"scale": root(query) * heads**-0.5, **keywords})


@_slip("the scores are divided by the root of the number of keys", "T is taken for d_k.")
def _root_of_length(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, **{"scale": key.shape[-2] ** -0.5, **keywords})


@_slip(
    "the scores are divided by the root of the width of the values",
    "The width d_v is taken for d_k.",
)
def _root_of_value_width(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, **{"scale": root(value), **keywords})


@_slip(
    "without a scale all keys weigh the same",
    "The default of 0, which means 1/√d_k, is used as the scale.",
    "SKaiNET-developers/SKaiNET/pull/880",
)
def _default_scale_is_zero(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, **{"scale": 0.0, **keywords})


@_slip("the scale is applied twice", "The queries are scaled first, and the scores again.")
def _scaled_twice(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, **{**keywords, "scale": scale_of(query, keywords) ** 2})


@_slip(
    "the scale that is given is not used",
    "The factor 1/√d_k is built in.",
    "huggingface/transformers/pull/44397",
)
def _scale_ignored(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, **{**keywords, "scale": None})


@_slip("with a cap, the scale that is given is not used", "The path for a cap has 1/√d_k built in.")
def _scale_ignored_under_cap(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    if keywords.get("soft_cap") is not None:
        keywords["scale"] = None
    return attention(query, key, value, **keywords)


@_slip(
    "the scores are not capped",
    "One of several code paths forgets the cap.",
    "vllm-project/vllm-metal/pull/666",
)
def _cap_ignored(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, **{**keywords, "soft_cap": None})


@_slip("the cap bounds the products, not the scaled scores", "It comes one line too early.")
def _cap_before_scale(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    scale = scale_of(query, keywords)
    keywords["cap"] = lambda scores, cap: scale * tanh_cap(scores / scale, cap)
    return attention(query, key, value, **keywords)


@_slip("scores are cut off at the cap", "A clip stands in for the hyperbolic tangent.")
def _cap_clipped(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    keywords["cap"] = lambda scores, cap: scores.clip(-cap, cap)
    return attention(query, key, value, **keywords)


@_slip("every score is between −1 and 1", "The hyperbolic tangent is not multiplied by the cap.")
def _cap_not_multiplied_back(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    keywords["cap"] = lambda scores, cap: np.tanh(scores / cap)
    return attention(query, key, value, **keywords)


@_slip(
    "no score is negative, and large ones have no bound",
    "The hyperbolic tangent is multiplied by the score instead of the cap.",
    "Dao-AILab/flash-attention/pull/2402",
)
def _cap_multiplies_the_score(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    keywords["cap"] = lambda scores, cap: scores * np.tanh(scores / cap)
    return attention(query, key, value, **keywords)


@_slip(
    "with a cap, hidden keys have the score −cap and take part",
    "The cap comes after the mask, and turns −∞ into −cap.",
    "onnx/onnx/issues/7865",
)
def _cap_after_mask(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    cap = keywords.pop("soft_cap", None)
    bias = keywords.pop("bias", 0.0)

    def weigh(scores: Array) -> Array:
        return softmax((scores if cap is None else tanh_cap(scores, cap)) + bias)

    return attention(query, key, value, weigh, **keywords)


@_slip("the bias is not added", "The fast path ignores it.")
def _bias_ignored(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return attention(query, key, value, **{**keywords, "bias": 0.0})


@_slip(
    "a bias that should weaken a key strengthens it",
    "The distance is taken with the wrong sign.",
    "meta-pytorch/attention-gym/pull/86",
)
def _bias_subtracted(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    bias = -np.asarray(keywords.get("bias", 0.0))
    return attention(query, key, value, **{**keywords, "bias": bias})


@_slip(
    "the bias is scaled, too",
    "It is added to the products before they are scaled.",
    "NVIDIA/TransformerEngine/pull/103",
)
def _bias_before_scale(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    bias = np.asarray(keywords.get("bias", 0.0)) * scale_of(query, keywords)
    return attention(query, key, value, **{**keywords, "bias": bias})


@_slip("under a causal mask, the bias is not added", "The causal path ignores it.")
def _bias_dropped_under_causal(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    if keywords.get("causal"):
        keywords["bias"] = 0.0
    return attention(query, key, value, **keywords)


@_slip("with a mask, the bias is not added", "The two share one slot, and the mask wins.")
def _bias_dropped_under_mask(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    if "mask" in keywords:
        keywords["bias"] = 0.0
    return attention(query, key, value, **keywords)


@_slip("with a bias, the mask hides no key", "The two share one slot, and the bias wins.")
def _mask_dropped_under_bias(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    if "bias" in keywords:
        keywords["mask"] = np.True_
    return attention(query, key, value, **keywords)


@_slip("all heads use the bias of the first", "The bias is read without its axis of heads.")
def _bias_of_the_first_head(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    bias = np.asarray(keywords.get("bias", 0.0))
    keywords["bias"] = bias[..., :1, :, :] if bias.ndim > 2 else bias
    return attention(query, key, value, **keywords)
