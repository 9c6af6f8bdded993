"""Self-attention in NumPy: the reference implementation that the book's cells import."""

from selfattn_ref.attention import scaled_dot_product_attention, self_attention
from selfattn_ref.masks import causal_mask, padding_mask, window_mask
from selfattn_ref.scores import scaled_scores, soft_cap
from selfattn_ref.similarity import cosine_similarity, dot_similarity, euclidean_distance
from selfattn_ref.weights import attention_weights, log_softmax, softmax

__version__ = "0.1.0"

__all__ = [
    "attention_weights",
    "causal_mask",
    "cosine_similarity",
    "dot_similarity",
    "euclidean_distance",
    "log_softmax",
    "padding_mask",
    "scaled_dot_product_attention",
    "scaled_scores",
    "self_attention",
    "soft_cap",
    "softmax",
    "window_mask",
]
