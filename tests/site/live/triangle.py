"""Triangle: the weights, their average, where each score moves it, and the slopes of the loss."""

import numpy as np

from selfattn_ref import softmax, softmax_vjp


def expected(state, data):
    values = np.array(data["values"], dtype=float)
    weights = softmax(np.array([state["score"], 0.0, 0.0]))
    # A move is a column of the Jacobian, times the values.
    moves = [softmax_vjp(weights, row) @ values for row in np.eye(3)]
    return {
        "weights": weights,
        "output": weights @ values,
        "moves": moves,
        "slopes": softmax_vjp(weights, values @ np.array(state["dc"])),
    }
