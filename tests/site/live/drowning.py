"""The average drowns: shares of the clue, what is heard, the leans, and what the theorem says."""

import math

import numpy as np

from selfattn_ref import scaled_dot_product_attention


def expected(state, data):
    n = round(state["silent"])
    rows = np.array([data["word"], data["clue"], *[[0, 0]] * n], dtype=float)
    attention = scaled_dot_product_attention(rows[:1], rows, rows, scale=1.0)[0]
    average = rows.sum(axis=0) / (n + 2)
    power = math.exp(np.dot(data["word"], data["clue"]))
    return {
        "shares": [1 / (n + 2), power / (2 * power + n)],
        "heard": [average, attention],
        "leans": [average[1] - average[0], attention[1] - attention[0]],
        "ratio": power * (n + 2) / (2 * power + n),
    }
