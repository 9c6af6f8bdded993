"""One place: the averages of two sentences, and how far apart they lean."""

import numpy as np


def expected(state, data):
    sums = np.array(data["sums"], dtype=float)
    averages = (sums + state["word"]) / np.array(data["counts"])[:, np.newaxis]
    leans = averages @ [-1, 1]
    return {"averages": averages, "apart": abs(leans[0] - leans[1])}
