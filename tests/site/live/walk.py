"""Walk: four scores after some steps, and their shares with and without the root."""

import numpy as np

from selfattn_ref import attention_weights, scaled_scores


def expected(state, data):
    bits = [f"{int(digits, 16):0{4 * len(digits)}b}" for digits in data["walks"]]
    keys = np.array([[1.0 if bit == "1" else -1.0 for bit in row[: state["d"]]] for row in bits])
    query = np.ones((1, state["d"]))
    ends = scaled_scores(query, keys, scale=1)[0]
    first = 4 * (int(state["bunch"]) - 1)
    four = keys[first : first + 4][np.argsort(-ends[first : first + 4])]
    whole = scaled_scores(query, four, scale=1)[0]  # sums of ones, so exact
    scores = [whole, whole / np.sqrt(state["d"])]
    shares = [attention_weights(row[np.newaxis])[0] for row in scores]
    return {
        "scores": scores,
        "shares": shares,
        "typical": np.sqrt(np.mean(ends**2)),
    }
