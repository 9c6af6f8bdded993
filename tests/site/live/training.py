"""Training, watched: the same steps taken again, and the weights that they leave."""

from functools import cache

import numpy as np

from book.figures.trained import lesson
from selfattn_ref import attention_weights, scaled_scores


@cache
def film(every):
    """Return the weights in the telegram and the loss after each so many of the steps."""
    model = lesson()
    matrices = model["train"](1, model["data"], steps=0)[0]
    telegram = next(model["twins"]("bank", 0, 0, 0, 0, 0))[0]
    words, asked, mask, _ = model["arrays"]([(telegram, 0, 0)], length=len(telegram))
    found = []
    for n in range(401):
        queries, keys, *_ = model["listen"](matrices, words, asked, mask)
        weights = attention_weights(scaled_scores(queries, keys))[0, :, 0]
        loss = model["step"](matrices, *model["data"], longest=0.5 * (400 - n) / 400 or 1e-9)
        if n % every == 0:
            found.append((weights, loss))
    return found


def expected(state, data):
    at = int(state["step"] / data["every"] + 0.5)
    weights, loss = film(data["every"])[at]
    assert np.allclose(data["weights"][at], weights, rtol=0, atol=6e-5)
    assert abs(data["losses"][at] - loss) < 6e-5
    shown = np.round(weights, 4)
    return {
        "at": at * data["every"],
        "weights": shown,
        "loss": round(loss, 4),
        "share": shown[0, data["clue"]],
    }
