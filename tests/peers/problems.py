"""Problems for both sides to solve: sizes, arrays, masks."""

import numpy as np

from tests.support.arrays import normal as normal

# Every size another prime, so that no two axes can be swapped unnoticed.
B, H, TQ, TK, D_K, D_V = 2, 3, 5, 7, 11, 13


def inputs(dtype=np.float64, *, lead=(B, H), queries=TQ, keys=TK, d_k=D_K, d_v=D_V, seed=0):
    """Return queries, keys and values; `dtype` may be one for which NumPy needs a package."""
    shapes = (*lead, queries, d_k), (*lead, keys, d_k), (*lead, keys, d_v)
    return tuple(normal(*shape, seed=seed + i, dtype=dtype) for i, shape in enumerate(shapes))


def some_mask(*shape, seed=0):
    """Return a mask that allows about six in ten, and the first key to everybody."""
    mask = np.random.default_rng(seed).random(shape) < 0.6
    if shape:
        mask[..., 0] = True  # what a query without any key gets is a question of its own
    return mask
