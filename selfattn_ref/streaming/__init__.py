"""Streaming: attention in one pass over blocks of keys, with memory linear in their number.

The full matrix of scores is never held. Each block of them adds to an `AttentionState`; states
merge in any order, and the last one holds the output.
"""

from selfattn_ref.streaming.blocks import (
    attention_state,
    streaming_attention,
    streaming_attention_vjp,
)
from selfattn_ref.streaming.state import AttentionState

__all__ = ["AttentionState", "attention_state", "streaming_attention", "streaming_attention_vjp"]
