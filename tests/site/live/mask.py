"""Mask: what softmax gets, the weights, their sums and the output, by the rule and by each slip."""

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
    with np.errstate(invalid="ignore"):
        into = {
            "right": np.where(mask, scores, -np.inf),
            "inverted": np.where(mask, -np.inf, scores),
            "multiplied": scores * mask,
            "added": scores * mask + (1.0 - mask) * -np.inf,
            "filled": np.where(mask, scores, data.get("fill", 0)),
            "after": scores,
        }
    if slip := CATALOG.get(rule):  # with the unit matrix for keys and values it returns weights
        unit = np.eye(len(scores))
        weights = SLIPS[slip](scores, unit, unit, mask=mask, scale=1.0)
    elif rule in ("filled", "added"):
        weights = softmax(into[rule])
    else:
        weights = attention_weights(scores, mask=~mask if rule == "inverted" else mask)
    right = results(into["right"], attention_weights(scores, mask=mask), values)
    return results(into[rule], weights, values) | {"right": right}


def results(into, weights, values):
    sums = weights.sum(axis=1)
    return {"into": into, "weights": weights, "sums": sums, "output": weights @ values}
