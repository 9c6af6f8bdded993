"""What a function says that it takes, by its signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable
from typing import Any

from selfattn_ref.worked_examples._capabilities import CAPABILITIES

#: The options of attention. Each is a keyword.
OPTIONS = ("mask", "bias", "scale", "soft_cap", "causal", "offset")

# What other libraries call these; the first to be found is proposed.
_OTHER_NAMES = {
    "mask": ("attn_mask", "attention_mask", "key_padding_mask"),
    "bias": ("attn_bias", "attention_bias", "position_bias", "alibi_bias"),
    "scale": ("sm_scale", "softmax_scale", "scaling", "scale_factor"),
    "soft_cap": ("softcap", "logits_soft_cap", "attn_logits_soft_cap", "logit_cap"),
    "causal": ("is_causal", "use_causal_mask", "causal_mask"),
    "offset": ("causal_offset", "start_pos", "past_length", "q_offset"),
    "grouped_heads": ("enable_gqa",),
    "window": ("window_size", "local_window_size", "sliding_window"),
    "query_lengths": ("query_seq_lengths", "q_lengths", "q_seqlens"),
    "key_lengths": ("key_value_seq_lengths", "kv_lengths", "kv_seqlens"),
    "return_log_sum_exp": ("return_lse", "return_softmax_lse"),
}


def claimed(function: Callable[..., Any]) -> frozenset[str] | None:
    """Return the names that a function takes by keyword; None if it does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of a function in C
        return None
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return frozenset(
        p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)
    )


def lacking(needed: Iterable[str], claims: Collection[str] | None) -> tuple[str, ...]:
    """Return which of the keywords a function cannot be given."""
    if claims is None:
        return tuple(name for name in needed if name in CAPABILITIES)
    return tuple(name for name in needed if name not in claims)


def suggestions(names: Iterable[str], claims: Collection[str] | None) -> list[str]:
    """Return the options of the command line that would help with keywords that are lacking."""
    names, claims = set(names), claims or ()
    found = {
        name: other
        for name, others in _OTHER_NAMES.items()
        for other in others
        if name in names and other in claims
    }
    hints = [f"--rename {name}={other}" for name, other in found.items()]
    foreign = {other for others in _OTHER_NAMES.values() for other in others} & set(claims)
    if {"attn_mask", "is_causal"} <= foreign <= {"attn_mask", "is_causal", "enable_gqa"}:
        return ["--like torch"]
    if "is_causal" in claims and {"mask", "bias"} <= set(claims):
        return ["--like jax", *hints]
    return hints
