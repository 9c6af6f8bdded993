"""Windows: who sees whom through layers, counted as paths through masks, and the shares."""

import numpy as np

from selfattn_ref import scaled_dot_product_attention, window_mask


def expected(state, data):
    count, left, layers = data["count"], round(state["left"]), round(state["layers"])
    mask = window_mask(count, count, left, 0)
    mask[:, 0] |= state["first"]
    words, nothing = np.eye(count), np.zeros((count, 1))
    for _ in range(layers):  # everyone alike: all scores are 0
        words = scaled_dot_product_attention(nothing, nothing, words, mask=mask)
    paths = np.linalg.matrix_power(mask.astype(int), layers)
    return {
        "seen": (paths > 0) + mask.astype(int),
        "shares": words[-1],
        "share": words[-1, data["clue"]],
        "keys": mask[-1].sum(),
        "back": min(left * layers, count - 1),
    }
