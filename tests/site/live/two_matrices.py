"""Two matrices: the queries, keys, scores and weights of the two unit vectors."""

import numpy as np

from selfattn_ref import scaled_scores, softmax


def expected(state, data):
    query, key = (
        np.array([state[f"{role}_{name}"] for name in ("cat", "it")]) for role in ("query", "key")
    )
    query = key if state["matrices"] == "one" else query
    score = scaled_scores(query, key, scale=1.0)
    symmetric = abs(score[0, 1] - score[1, 0]) <= 0.005
    return {
        "query": query,
        "key": key,
        "score": score,
        "weight": softmax(score),
        "symmetric": symmetric,
        "single": symmetric and np.linalg.eigvalsh((score + score.T) / 2).min() > -0.005,
    }
