"""A later word: the outputs of both sentences, and how far apart they are."""

import numpy as np

from selfattn_ref import self_attention


def expected(state, data):
    new = np.array([[letter == "1"] for letter in state["changed"].split("/")])
    before, after = map(np.array, data["embeddings"])
    matrices = [np.array(matrix) for matrix in data["matrices"]]
    output, was = (
        self_attention(x, *matrices, causal=state["mask"] == "causal")
        for x in (np.where(new, after, before), before)
    )
    return {"output": output, "moved": np.linalg.norm(output - was, axis=1)}
