"""Wrong attentions that happen: what each does, and which worked examples catch it.

Each is called as `scaled_dot_product_attention` is, ``slip(query, key, value, **keywords)``, and is
wrong in one step. A function that makes the same mistake is told so by `Call.check`.

>>> from selfattn_ref.worked_examples import load, slips
>>> slip = slips.SLIPS["causal-strict"]
>>> slip
causal-strict: a query does not see its own key, and the first sees none
>>> load("SA016").calls[1].test(slip)
Traceback (most recent call last):
...
selfattn_ref.worked_examples.WorkedExampleMismatch: SA016: ...
  it is what the slip causal-strict gives: a query does not see its own key, ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from selfattn_ref.worked_examples._calls import SLIPS_LIKE, Call
from selfattn_ref.worked_examples._comparison import off_by
from selfattn_ref.worked_examples._files import cases
from selfattn_ref.worked_examples._tolerance import rounded, visible

__all__ = ["SLIPS", "Slip", "like", "matrix", "wrong"]

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, repr=False, eq=False)
class Slip:
    """A wrong attention; call it as the right one.

    Attributes
    ----------
    id : str
        A short name, such as ``"keys-as-values"``.
    effect : str
        What comes out.
    note : str
        How it happens.
    seen : str or None
        The address of a public report of it, where one is known.
    function : callable
        The wrong attention itself.
    """

    id: str
    effect: str
    note: str
    seen: str | None
    function: Callable[..., Array]

    def __repr__(self) -> str:
        return f"{self.id}: {self.effect}"

    def __call__(self, query: Any, key: Any, value: Any, **keywords: Any) -> Array:
        """Return what this slip makes of the arguments, without warnings."""
        arrays = (np.asarray(x, float) for x in (query, key, value))
        with np.errstate(all="ignore"):
            return np.asarray(self.function(*arrays, **keywords))


#: Every slip, by its id.
SLIPS: dict[str, Slip] = {}


def matrix() -> dict[str, tuple[Call, ...]]:
    """Return, for each slip, the calls of the worked examples that tell it from attention.

    Returns
    -------
    dict of str to tuple of Call
        The calls of `scaled_dot_product_attention` with another result than the slip. One that
        has to fail is not among them, nor one at which the slip fails by itself.

    See Also
    --------
    selfattn_ref.worked_examples.cases : The calls of a function.

    Examples
    --------
    >>> [call.example for call in matrix()["root-of-model-width"]][:2]
    ['SA026', 'SA027']
    """
    calls = [call for _, call in cases("scaled_dot_product_attention")]
    return {
        name: tuple(call for call in calls if slip in wrong(call)) for name, slip in SLIPS.items()
    }


@cache
def wrong(call: Call) -> dict[Slip, Array]:
    """Return the slips that are wrong at a call, each with what it gives."""
    return {
        slip: slip(*call.args, **call.kwargs) for slip in SLIPS.values() if call.differs_from(slip)
    }


def like(call: Call, got: Array, limits: Array) -> list[Slip]:
    """Return the slips that are wrong at a call and give what a function gave.

    Where a slip leaves a query nobody and gives NaN, the function may do otherwise, provided
    that some number is wrong in the same way.
    """
    found = []
    for slip, output in wrong(call).items():
        if output.shape != got.shape:
            continue
        number = ~np.isnan(output)
        limit, off = limits.max(), number
        if output.shape == limits.shape:
            limit, off = limits, ~(off_by(output, np.asarray(call.expected)) <= limits)
        same = off_by(got.astype(float), output) <= limit  # False for NaN
        if same[number].all() and off.any() and (same.all() or off[number].any()):
            found.append(slip)
    return found


SLIPS_LIKE.append(like)


def _slip(effect: str, note: str, seen: str | None = None) -> Callable[..., Callable[..., Array]]:
    """Enter a function into the catalog, under its name; `seen` is a place on GitHub."""

    def enter(function: Callable[..., Array]) -> Callable[..., Array]:
        name = function.__name__.strip("_").replace("_", "-")
        address = f"https://github.com/{seen}" if seen else None
        SLIPS[name] = Slip(name, effect, note, address, function)
        return function

    return enter


# --- the right steps, by the book: −∞ where a key is hidden ---------------------------------------


def _dot(query: Array, key: Array) -> Array:
    return np.asarray(query @ np.swapaxes(key, -1, -2))


def _root(query: Array) -> float:
    return float(query.shape[-1] ** -0.5)


def _scale(query: Array, keywords: dict[str, Any]) -> float:
    scale = keywords.get("scale")
    return _root(query) if scale is None else float(scale)


def _tanh_cap(scores: Array, cap: float) -> Array:
    return np.asarray(cap * np.tanh(scores / cap))


def _scores(
    query: Array, key: Array, cap: Callable[[Array, float], Array] = _tanh_cap, **keywords: Any
) -> Array:
    scores = _dot(query, key) * _scale(query, keywords)
    if keywords.get("soft_cap") is not None:
        scores = cap(scores, keywords["soft_cap"])
    return np.asarray(scores + keywords.get("bias", 0.0))


def _masked_scores(query: Array, key: Array, **keywords: Any) -> Array:
    scores = _scores(query, key, **keywords)
    return np.where(visible(scores.shape, keywords), scores, -np.inf)


def _softmax(scores: Array, axis: Any = -1) -> Array:
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=axis, keepdims=True))


def _attention(
    query: Array,
    key: Array,
    value: Array,
    weigh: Callable[[Array], Array] = _softmax,
    **keywords: Any,
) -> Array:
    return np.asarray(weigh(_masked_scores(query, key, **keywords)) @ value)


# --- which array goes where -----------------------------------------------------------------------


@_slip("the keys are mixed in place of the values", "A name is mistyped in the second product.")
def _keys_as_values(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, key, **keywords)


@_slip("queries are compared with values", "Keys and values come in the wrong order.")
def _keys_and_values_swapped(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, value, key, **keywords)


@_slip("each key looks for queries", "The product is taken as K Qᵀ: the scores are transposed.")
def _queries_and_keys_swapped(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(key, query, value, **keywords)


@_slip("row i mixes by column i of the weights", "The last product sums over the wrong index.")
def _weights_transposed(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, value, lambda s: np.swapaxes(_softmax(s), -1, -2), **keywords)


# --- scale, cap, bias -----------------------------------------------------------------------------


@_slip("the scores are not scaled", "The division by √d_k is left out.")
def _not_scaled(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, value, **{"scale": 1.0, **keywords})


@_slip("the scores are divided by d_k", "The root is left out.", "delzac/cntkx/issues/10")
def _root_left_out(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, value, **{"scale": _root(query) ** 2, **keywords})


@_slip("the scores are multiplied by √d_k", "A product stands where a division should.")
def _root_multiplied(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, value, **{"scale": 1 / _root(query), **keywords})


@_slip(
    "the scores of all heads are divided by √(heads · d_k)",
    "The width of the model is taken for the width of a head.",
    "lucidrains/vit-pytorch/issues/65",
)
def _root_of_model_width(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    heads = query.shape[-3] if query.ndim > 2 else 1
    return _attention(query, key, value, **{"scale": _root(query) * heads**-0.5, **keywords})


@_slip("the scores are divided by the root of the number of keys", "T is taken for d_k.")
def _root_of_length(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, value, **{"scale": key.shape[-2] ** -0.5, **keywords})


@_slip("the scale is applied twice", "The queries are scaled before, and the scores again.")
def _scaled_twice(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, value, **{**keywords, "scale": _scale(query, keywords) ** 2})


@_slip("the scale that is given is not used", "The factor 1/√d_k is built in.")
def _scale_ignored(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, value, **{**keywords, "scale": None})


@_slip(
    "the scores are not capped",
    "One of several paths forgets the cap.",
    "vllm-project/vllm-metal/pull/666",
)
def _cap_ignored(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, value, **{**keywords, "soft_cap": None})


@_slip("the cap bounds the products, not the scaled scores", "It comes one line too early.")
def _cap_before_scale(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    scale = _scale(query, keywords)
    keywords["cap"] = lambda scores, cap: scale * _tanh_cap(scores / scale, cap)
    return _attention(query, key, value, **keywords)


@_slip("scores are cut off at the cap", "A clip stands in for the hyperbolic tangent.")
def _cap_clipped(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    keywords["cap"] = lambda scores, cap: scores.clip(-cap, cap)
    return _attention(query, key, value, **keywords)


@_slip("every score is between −1 and 1", "The tangent is not multiplied by the cap.")
def _cap_not_multiplied_back(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    keywords["cap"] = lambda scores, cap: np.tanh(scores / cap)
    return _attention(query, key, value, **keywords)


@_slip(
    "no score is negative, and large ones have no bound",
    "The tangent is multiplied by the score in place of the cap; the report is of output logits.",
    "unslothai/unsloth-zoo/pull/593",
)
def _cap_multiplies_the_score(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    keywords["cap"] = lambda scores, cap: scores * np.tanh(scores / cap)
    return _attention(query, key, value, **keywords)


@_slip("the bias is not added", "The fast path does not know it.")
def _bias_ignored(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, value, **{**keywords, "bias": 0.0})


@_slip(
    "a bias that should hold a key back draws it near",
    "The distance is taken with the wrong sign.",
    "meta-pytorch/attention-gym/pull/86",
)
def _bias_subtracted(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    bias = -np.asarray(keywords.get("bias", 0.0))
    return _attention(query, key, value, **{**keywords, "bias": bias})


@_slip("the bias is scaled, too", "It is added to the products before they are scaled.")
def _bias_before_scale(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    bias = np.asarray(keywords.get("bias", 0.0)) * _scale(query, keywords)
    return _attention(query, key, value, **{**keywords, "bias": bias})


# --- masks ----------------------------------------------------------------------------------------


@_slip("every key is seen", "The mask does not reach the function that masks.")
def _mask_ignored(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, value, **{**keywords, "mask": np.True_})


@_slip(
    "what should be hidden is seen, and the rest is not",
    "True means hidden in one place and visible in another.",
    "rasbt/LLMs-from-scratch/issues/1061",
)
def _mask_inverted(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    mask = ~np.asarray(keywords["mask"]) if "mask" in keywords else np.True_
    return _attention(query, key, value, **{**keywords, "mask": mask})


@_slip(
    "the mask hides queries in place of keys",
    "Its axes are swapped: a padded query is hidden from all, a padded key from none.",
    "hyunwoongko/transformer/pull/40",
)
def _mask_transposed(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    mask = np.swapaxes(np.atleast_2d(keywords.get("mask", np.True_)), -1, -2)
    return _attention(query, key, value, **{**keywords, "mask": mask})


@_slip("all sequences of a batch have the mask of the first", "The batch axis of the mask is lost.")
def _mask_of_the_first_sequence(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    mask = np.asarray(keywords.get("mask", np.True_))
    mask = mask[0] if mask.ndim > 2 else mask
    return _attention(query, key, value, **{**keywords, "mask": mask})


@_slip(
    "a hidden key has the score 0 and takes part",
    "The scores are multiplied by the mask, or filled with 1e-9 where −1e9 was meant.",
    "awslabs/gluonts/pull/1401",
)
def _hidden_scores_are_zero(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    scores = _scores(query, key, **keywords)
    return _softmax(scores * visible(scores.shape, keywords)) @ value


@_slip(
    "a visible key gains 1, and no key is hidden",
    "A mask of True and False is added to the scores as 1 and 0.",
    "huggingface/diffusers/issues/14342",
)
def _mask_added(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    scores = _scores(query, key, **keywords)
    return _softmax(scores + visible(scores.shape, keywords)) @ value


@_slip(
    "the weights of a row add up to less than 1",
    "The mask multiplies the weights after the softmax, and nothing is divided again.",
    "huggingface/pytorch-image-models/pull/2236",
)
def _mask_after_softmax(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    scores = _scores(query, key, **keywords)
    return (_softmax(scores) * visible(scores.shape, keywords)) @ value


@_slip("where all scores are low, hidden keys win", "Hidden scores are −100 in place of −∞.")
def _sentinel_too_small(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    scores = _scores(query, key, **keywords)
    return _softmax(np.where(visible(scores.shape, keywords), scores, -100.0)) @ value


@_slip(
    "every query sees the keys to come",
    "Of the ways to ask for a causal mask, one is dropped.",
    "keras-team/keras/issues/23038",
)
def _causal_ignored(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, value, **{**keywords, "causal": False})


@_slip(
    "a query does not see its own key, and the first sees none",
    "The triangle leaves out its diagonal.",
)
def _causal_strict(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    offset = keywords.get("offset", 0) - 1
    return _attention(query, key, value, **{**keywords, "offset": offset})


@_slip("every query sees one key to come", "The triangle has one diagonal too many.")
def _causal_one_ahead(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    offset = keywords.get("offset", 0) + 1
    return _attention(query, key, value, **{**keywords, "offset": offset})


@_slip("every query sees what comes and not what was", "The upper triangle is taken for the lower.")
def _causal_upside_down(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    if keywords.get("causal"):
        before = np.tri(query.shape[-2], key.shape[-2], keywords.get("offset", 0) - 1, dtype=bool)
        keywords |= {"causal": False, "mask": ~before & keywords.get("mask", np.True_)}
    return _attention(query, key, value, **keywords)


@_slip(
    "a new query sees only the first keys of the cache",
    "The length of the cache does not reach the causal mask.",
    "onnx/onnx/issues/8054",
)
def _offset_ignored(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, value, **{**keywords, "offset": 0})


@_slip("a new query does not see its own key", "The cache is counted before the key is in it.")
def _cache_off_by_one(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    offset = max(keywords.get("offset", 0) - 1, 0)
    return _attention(query, key, value, **{**keywords, "offset": offset})


# --- from scores to weights -----------------------------------------------------------------------


def _finite(scores: Array) -> Array:
    return np.where(np.isinf(scores), 0.0, scores)


def _share(weights: Array) -> Array:
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


@_slip("the scores themselves are the weights", "The softmax is left out.")
def _softmax_left_out(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, value, _finite, **keywords)


@_slip("each score is divided by the sum of the scores", "The exponential is left out.")
def _exponential_left_out(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, value, lambda s: _share(_finite(s)), **keywords)


@_slip("the weights are not divided by their sum", "Half of the softmax is left out.")
def _sum_left_out(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    def weigh(scores: Array) -> Array:
        return np.asarray(np.exp(scores - scores.max(axis=-1, keepdims=True)))

    return _attention(query, key, value, weigh, **keywords)


@_slip(
    "large scores give NaN",
    "Exponentials are taken of the scores as they are, and overflow.",
    "pyg-team/pytorch_geometric/issues/53",
)
def _maximum_not_subtracted(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, value, lambda s: _share(np.exp(s)), **keywords)


@_slip("scores that are close become equal", "The scores are kept in bfloat16 before the softmax.")
def _scores_in_bfloat16(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, value, lambda s: _softmax(rounded(s, "bfloat16")), **keywords)


@_slip("the weights are powers of 2, not of e", "The factor log₂ e of a kernel with exp2 is lost.")
def _powers_of_two(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, value, lambda s: _softmax(s * np.log(2.0)), **keywords)


@_slip("only the best key counts", "The largest score is taken in place of a softmax.")
def _argmax_for_softmax(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, value, lambda s: np.eye(s.shape[-1])[s.argmax(-1)], **keywords)


@_slip(
    "the weights of a key add up to 1, those of a query do not",
    "The softmax runs over the queries.",
    "labmlai/annotated_deep_learning_paper_implementations/issues/146",
)
def _softmax_over_queries(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, value, lambda s: _softmax(s, -2), **keywords)


@_slip(
    "the weights of all sequences or heads together add up to 1",
    "The softmax runs over the first axis.",
    "PetrochukM/PyTorch-NLP/issues/2",
)
def _softmax_over_the_first_axis(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    first = 0 if query.ndim > 2 else -1
    return _attention(query, key, value, lambda s: _softmax(s, first), **keywords)


@_slip(
    "the weights of all heads together add up to 1",
    "Heads and keys are flattened to one axis before the softmax.",
    "facebookresearch/detr/issues/247",
)
def _softmax_over_heads_too(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    axes = (-3, -1) if query.ndim > 2 else -1
    return _attention(query, key, value, lambda s: _softmax(s, axes), **keywords)


@_slip("all weights together add up to 1", "The softmax has no axis: it runs over the whole table.")
def _softmax_over_everything(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _attention(query, key, value, lambda s: _softmax(s, (-2, -1)), **keywords)


@_slip("the entries of an output add up to 1", "What is mixed is divided by its own sum.")
def _normalized_after_mixing(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    return _share(_attention(query, key, value, **keywords))


# --- heads and blocks -----------------------------------------------------------------------------


@_slip(
    "a query head reads the keys and values of another group",
    "Shared heads are laid out 0 1 0 1 in place of 0 0 1 1.",
    "ekzhang/jax-js/pull/180",
)
def _tile_for_repeat(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    if key.ndim > 2:
        heads = key.shape[-3]
        size = max(n for n in range(1, heads + 1) if heads % n == 0 and _in_groups_of(n, key))
        order = np.tile(np.arange(0, heads, size), size)
        key, value = key[..., order, :, :], value[..., order, :, :]
    return _attention(query, key, value, **keywords)


def _in_groups_of(size: int, key: Array) -> bool:
    return np.array_equal(np.repeat(key[..., ::size, :, :], size, axis=-3), key)


@_slip(
    "a head gets pieces of several tokens",
    "Heads are split by a reshape without a transpose.",
    "reczoo/FuxiCTR/issues/30",
)
def _reshape_for_transpose(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    if query.ndim > 2:
        query, key, value = (np.swapaxes(x, -2, -3).reshape(x.shape) for x in (query, key, value))
    return _attention(query, key, value, **keywords)


def _in_blocks(scores: Array, value: Array, *, rescale_sum: bool, rescale_mix: bool) -> Array:
    """Take two keys at a time; rescale what was summed whenever the maximum grows, or do not."""
    maximum = np.full((*scores.shape[:-1], 1), -np.inf)
    total, mix = np.zeros_like(maximum), np.zeros((*scores.shape[:-1], value.shape[-1]))
    for keys in (slice(start, start + 2) for start in range(0, scores.shape[-1], 2)):
        larger = np.maximum(maximum, scores[..., keys].max(axis=-1, keepdims=True))
        shift = np.where(np.isinf(larger), 0.0, larger)
        factor, weights = np.exp(maximum - shift), np.exp(scores[..., keys] - shift)
        total = total * (factor if rescale_sum else 1) + weights.sum(axis=-1, keepdims=True)
        mix = mix * (factor if rescale_mix else 1) + weights @ value[..., keys, :]
        maximum = larger
    return np.asarray(mix / total)


@_slip("early keys weigh too much", "When the maximum grows, what was mixed is not rescaled.")
def _mix_not_rescaled(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    scores = _masked_scores(query, key, **keywords)
    return _in_blocks(scores, value, rescale_sum=True, rescale_mix=False)


@_slip("the output is too small", "When the maximum grows, the sum so far is not rescaled.")
def _sum_not_rescaled(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    scores = _masked_scores(query, key, **keywords)
    return _in_blocks(scores, value, rescale_sum=False, rescale_mix=True)


@_slip(
    "keys that do not exist take part, with the score 0",
    "The last block is filled up with zeros that are not masked.",
    "flashinfer-ai/flashinfer/pull/5090",
)
def _block_not_masked(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    scores = _masked_scores(query, key, **keywords)
    more = np.zeros((*scores.shape[:-1], -scores.shape[-1] % 4))
    return _softmax(np.concatenate([scores, more], axis=-1))[..., : scores.shape[-1]] @ value


@_slip("the last keys are not read", "The loop over blocks leaves out what does not fill one.")
def _last_block_dropped(query: Array, key: Array, value: Array, **keywords: Any) -> Array:
    whole = key.shape[-2] // 2 * 2
    scores = _masked_scores(query, key, **keywords)
    return _softmax(scores[..., :whole]) @ value[..., :whole, :]
