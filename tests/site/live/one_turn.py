"""One turn: the scores and weights under a matrix that turns and stretches, and by angle."""

import numpy as np

from selfattn_ref import scaled_scores, softmax


def expected(state, data):
    words, (asks, heard), (x, y) = np.array(data["embeddings"]), data["pair"], state["first"]
    matrix = np.array([[x, y], [-y, x]])
    query = words[[asks, heard]] @ matrix
    score = scaled_scores(query, words, scale=1.0)
    turns = np.deg2rad(data["angles"])
    by_angle = np.hypot(x, y) * np.stack([np.cos(turns), np.sin(turns)], -1)
    queries = np.array([words[asks] @ [[a, b], [-b, a]] for a, b in by_angle])
    return {
        "matrix": matrix,
        "query": query,
        "score": score,
        "weight": softmax(score),
        "curve": softmax(scaled_scores(queries, words, scale=1.0))[:, heard],
        "angle": np.degrees(np.arctan2(y, x)),
    }
