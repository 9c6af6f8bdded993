"""Three planes: the scores, weights and output of the word that asks, and what it becomes."""

import numpy as np

from selfattn_ref import scaled_dot_product_attention, scaled_scores


def expected(state, data):
    keys, values = (np.array(data[name], dtype=float) for name in ("keys", "values"))
    keys[data["clue"]] = state["key"]
    values[data["clue"], :2] = state["value"]
    query = np.array([state["query"]], dtype=float)
    (heard,) = scaled_dot_product_attention(query, keys, values)
    return {
        "scores": scaled_scores(query, keys, scale=1.0)[0],
        "weights": scaled_dot_product_attention(query, keys, np.eye(len(keys)))[0],
        "heard": heard,
        "becomes": heard + data["x"],
    }
