"""Step through: the rows of a step, and the multiplications of all steps so far.

Counted in the shapes of the arrays that the matrix products of each pass meet.
"""

import numpy as np

from selfattn_ref import KeyValueCache
from selfattn_ref.worked_examples import load


def expected(state, data):
    inputs = load("SA025").inputs
    embeddings = inputs["embeddings"]
    maps = [inputs[f"w_{name}"] for name in ("query", "key", "value")]
    cache = KeyValueCache()
    products = {"scratch": 0, "cached": 0}
    for t in range(1, state["words"] + 1):
        for name, rows in (("scratch", embeddings[:t]), ("cached", embeddings[t - 1 : t])):
            query, key, value = (rows @ matrix for matrix in maps)
            if name == "cached":
                cache.attend(query, key, value)
                key, value = cache.keys, cache.values
            made = [counted(rows, matrix) for matrix in maps]
            scores = np.empty((len(query), len(key)))
            products[name] += sum(made) + counted(query, key.T) + counted(scores, value)
    t = state["words"]
    assert tuple(data["words"]) == inputs["words"]
    return {
        "word": inputs["words"][t - 1],
        "rows": {"scratch": t, "cached": 1},
        "products": products,
    }


def counted(left, right):
    """Return how many multiplications a matrix product takes, entry by entry."""
    (rows, inner), (same, columns) = left.shape, right.shape
    assert inner == same
    return int(rows * inner * columns)
