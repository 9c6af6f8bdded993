"""A sum that is corrected: the states of the library, key by key, and the sum that is not."""

import numpy as np

from selfattn_ref import AttentionState


def expected(state, data):
    scores, values = (np.array(data[name], dtype=float) for name in ("scores", "values"))
    states = [AttentionState.of(scores[np.newaxis, :1], values[:1])]
    for score, value in zip(scores[1:], values[1:], strict=True):
        states.append(states[-1].merge(AttentionState.of([[score]], [value])))
    most = np.array([one.shift[0, 0] for one in states])
    came = np.exp(scores - most)
    sums = {"right": [one.total[0, 0] for one in states], "forgot": np.cumsum(came)}
    weighted = np.cumsum(came[:, np.newaxis] * values, axis=0)
    seen = state["seen"]
    bars = np.exp(scores - most[seen - 1]) if state["rule"] == "right" else came
    return {
        "most": most,
        "came": came,
        "bars": np.where(np.arange(len(scores)) < seen, bars, 0),
        "sums": sums,
        "outputs": {
            "right": [one.output[0] for one in states],
            "forgot": weighted / np.cumsum(came)[:, np.newaxis],
        },
    }
