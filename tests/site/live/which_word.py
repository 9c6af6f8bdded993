"""Which word: the shares of the word that asks, what it hears, and both leans."""

import numpy as np

from selfattn_ref import scaled_dot_product_attention


def expected(state, data):
    rows = np.array(data["embeddings"][state["sentence"]], dtype=float)
    asker = rows[[data["asker"]]]
    (shares,) = scaled_dot_product_attention(asker, rows, np.eye(len(rows)), scale=1.0)
    average = rows.sum(axis=0) / len(rows)
    attention = shares @ rows
    leans = [average[0] - average[1], attention[0] - attention[1]]
    return {"shares": shares, "average": average, "attention": attention, "leans": leans}
