"""Self-attention in NumPy: the reference implementation that the book's cells import."""

from selfattn_ref.attention import scaled_dot_product_attention, self_attention
from selfattn_ref.cache import KeyValueCache
from selfattn_ref.gradients import (
    AttentionGradients,
    SelfAttentionGradients,
    scaled_dot_product_attention_vjp,
    self_attention_vjp,
    softmax_vjp,
)
from selfattn_ref.heads import (
    merge_heads,
    multi_head_attention,
    repeat_key_value_heads,
    split_heads,
)
from selfattn_ref.language import bits_per_token, cross_entropy, perplexity
from selfattn_ref.masks import causal_mask, padding_mask, segment_mask, window_mask
from selfattn_ref.positions import rotate_pairs, sinusoidal_encoding
from selfattn_ref.scores import scaled_scores, soft_cap
from selfattn_ref.similarity import cosine_similarity, dot_similarity, euclidean_distance
from selfattn_ref.streaming import (
    AttentionState,
    attention_state,
    streaming_attention,
    streaming_attention_vjp,
)
from selfattn_ref.weights import attention_weights, log_softmax, log_sum_exp, softmax

__version__ = "1.0.0"

__all__ = [
    "AttentionGradients",
    "AttentionState",
    "KeyValueCache",
    "SelfAttentionGradients",
    "attention_state",
    "attention_weights",
    "bits_per_token",
    "causal_mask",
    "cosine_similarity",
    "cross_entropy",
    "dot_similarity",
    "euclidean_distance",
    "log_softmax",
    "log_sum_exp",
    "merge_heads",
    "multi_head_attention",
    "padding_mask",
    "perplexity",
    "repeat_key_value_heads",
    "rotate_pairs",
    "scaled_dot_product_attention",
    "scaled_dot_product_attention_vjp",
    "scaled_scores",
    "segment_mask",
    "self_attention",
    "self_attention_vjp",
    "sinusoidal_encoding",
    "soft_cap",
    "softmax",
    "softmax_vjp",
    "split_heads",
    "streaming_attention",
    "streaming_attention_vjp",
    "window_mask",
]
