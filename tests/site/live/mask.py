"""Mask: the weights under a mask, their sums and the output, by the rule and by each slip."""

import numpy as np

from selfattn_ref import attention_weights, softmax
from selfattn_ref.worked_examples.slips import SLIPS

CATALOG = {
    "multiplied": "hidden-scores-are-zero",
    "after": "mask-after-softmax",
}


def expected(state, data):
    values = np.array(data["values"])
    scores = np.array(data["scores"]) - state.get("lower", 0)
    mask = np.array([list(row) for row in state["mask"].split("/")]) == "1"
    rule = state.get("rule", "right")
    if slip := CATALOG.get(rule):  # with the unit matrix for keys and values it returns weights
        unit = np.eye(len(scores))
        weights = SLIPS[slip](scores, unit, unit, mask=mask, scale=1.0)
    elif rule == "filled":
        weights = softmax(np.where(mask, scores, data["fill"]))
    elif rule == "added":
        with np.errstate(invalid="ignore"):
            weights = softmax(scores * mask + (1.0 - mask) * -np.inf)
    else:
        weights = attention_weights(scores, mask=~mask if rule == "inverted" else mask)
    return results(weights, values) | {
        "right": results(attention_weights(scores, mask=mask), values)
    }


def results(weights, values):
    return {"weights": weights, "sums": weights.sum(axis=1), "output": weights @ values}
