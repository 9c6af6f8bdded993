"""Nudge: the loss of the pages, its slopes through attention's own gradient, and the curve."""

import numpy as np

from selfattn_ref import scaled_dot_product_attention, scaled_dot_product_attention_vjp
from selfattn_ref.worked_examples import load


def banks(numbers):
    """Bank is the query times M, the words are keys; what it hears is the weight of the last."""
    given = load("SA062").inputs
    last, loss, slopes, heard = np.eye(5)[:, 4:], 0.0, np.zeros((3, 3)), []
    for sense in ("river", "rates"):
        rows = given["embeddings"][given[f"sentence_{sense}"]]
        query = rows[1:2] @ np.reshape(numbers, (3, 3))
        weight = scaled_dot_product_attention(query, rows, last, scale=1)
        back = scaled_dot_product_attention_vjp(query, rows, last, -1 / weight, scale=1)
        loss -= float(np.log(weight[0, 0]))
        slopes += rows[1:2].T @ back[0]
        heard.append(weight[0, 0])
    return loss, slopes.ravel(), heard


def pencil(numbers):
    given = load("SA057").inputs
    query, values, keys = given["query"], given["value"], np.reshape(numbers, (2, 1))
    answer = scaled_dot_product_attention(query, keys, values)
    slopes = scaled_dot_product_attention_vjp(query, keys, values, -1 / (1 + np.exp(answer)))[1]
    heard = scaled_dot_product_attention(query, keys, np.eye(2))[0]
    return float(np.log1p(np.exp(-answer[0, 0]))), slopes.ravel(), heard


def expected(state, data):
    measure = pencil if data["values"] else banks

    def numbers(w):
        return np.insert(np.array(state["rest"], dtype=float), data["at"], w)

    loss, slopes, heard = measure(numbers(state["w"]))
    low, high, _ = data["limits"]
    along = np.linspace(low, high, data["points"])
    curve = [(w, measure(numbers(w))[0]) for w in along]
    return {"loss": loss, "slopes": slopes, "heard": heard, "curve": curve}
