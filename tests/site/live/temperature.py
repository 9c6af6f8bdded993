"""Temperature: the weights of each row of scores, their entropy, and the average of the values."""

import numpy as np

from selfattn_ref import scaled_dot_product_attention, softmax


def expected(state, data):
    scores, at = np.array(data["scores"]), state["at"]
    scaled = scores * at if data["inverse"] else scores / at
    weights = softmax(scaled)
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    found = {"weights": weights, "entropy": -(weights * logs).sum(axis=-1), "found": []}
    if data["values"]:  # keys of which one number is 1 have the scores of the query
        one = np.eye(scores.shape[-1])
        found["found"] = scaled_dot_product_attention(scaled, one, data["values"], scale=1)
    return found
