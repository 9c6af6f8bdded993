"""Cut a path: scores, weights and votes from what is left of queries, keys and values."""

import numpy as np

from selfattn_ref import attention_weights, scaled_dot_product_attention, scaled_scores


def expected(state, data):
    on = iter(map(int, state["paths"]))
    rows = {
        role: next(on) * np.array(data["made"][role][0])
        + next(on) * np.array(data["made"][role][1])
        for role in ("value", "key", "query")
    }
    clue, scale = data["clue"], data["scale"]
    scores = scaled_scores(rows["query"], rows["key"], scale=1.0)
    votes = scaled_dot_product_attention(
        *(rows[role] for role in ("query", "key", "value")), scale=scale
    )
    return {
        "value": rows["value"][clue],
        "key": rows["key"][clue],
        "query": rows["query"][0],
        "score": scores[0, clue],
        "weight": attention_weights(scale * scores)[0, clue],
        "votes": votes[0],
    }
