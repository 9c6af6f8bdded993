"""Two hands: the score of a rotated query and key by pairs, and the angles of complex numbers."""

import numpy as np

from selfattn_ref import rotate_pairs


def expected(state, data):
    hands, frequencies = np.array(data["hands"], dtype=float), np.array(data["frequencies"])
    base = (frequencies[0] / frequencies[1]) ** 2
    query, key = (
        rotate_pairs(hands[:, who].T.reshape(1, 4), [state[place]], base=base)[0].reshape(2, 2)
        for who, place in enumerate("ij")
    )
    asks, found = query[0] + 1j * query[1], key[0] + 1j * key[1]
    turned = np.angle(np.stack([asks, found], -1))
    turns = np.angle(hands @ [1, 1j]) + np.outer(frequencies, [state["i"], state["j"]])
    return {
        "angles": turned + 2 * np.pi * np.round((turns - turned) / (2 * np.pi)),  # how often round
        "lengths": np.stack([abs(asks), abs(found)], -1),
        "apart": np.degrees(np.angle(asks * found.conj())),
        "parts": (query * key).sum(axis=0),
        "score": (query * key).sum(),
    }
