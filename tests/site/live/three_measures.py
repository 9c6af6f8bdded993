"""Three measures: how similar the first word is to two others, and by how much one wins."""

import numpy as np

from selfattn_ref import cosine_similarity, dot_similarity, euclidean_distance


def expected(state, data):
    x, *others = (np.array(state[word]) for word in data["words"])
    dot, cosine, distance = (
        measure([x], others)[0]
        for measure in (dot_similarity, cosine_similarity, euclidean_distance)
    )
    # On which side of a line a word lies, and how far, is by how much one similarity is larger.
    near, far = distance**2
    over = [dot[1] - dot[0], (cosine[1] - cosine[0]) * np.linalg.norm(x), (near - far) / 2]
    names = ("dot", "cosine", "distance")
    ways = [measure(np.eye(2), others) @ [-1, 1] for measure in (dot_similarity, cosine_similarity)]
    one, other = euclidean_distance(np.zeros((1, 2)), others)[0] ** 2
    return {
        "lines": {
            "dot": (ways[0], 0),
            "cosine": (ways[1], 0),
            "distance": (ways[0], (other - one) / 2),
        },
        "values": dict(zip(names, (dot, cosine, distance), strict=True)),
        "over": over,
        "best": {
            name: "both" if round(a, 2) == round(b, 2) else data["words"][2 if ahead > 0 else 1]
            for name, (a, b), ahead in zip(names, (dot, cosine, distance), over, strict=True)
        },
    }
