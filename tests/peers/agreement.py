"""How far apart the answers of both sides may be.

For the few keys of these problems the library stays within 4 ε (1 + max |score|) max |value|,
less than it promises. A peer promises nothing, but is held to the same: the two are then at most
twice that apart. Here ε is that of the type in which the coarser of the two computes. With 16
bits, both round the result, and the peer perhaps the weights. A gradient is measured by its own
largest number, and may be off by more, since it is a longer chain of products.
"""

import numpy as np

from tests.support.arrays import epsilon as epsilon

FORWARD, HALF, BACKWARD = 8, 2, 16

LARGEST: dict[tuple[str, str], tuple[float, float]] = {}
# (library, what): (the largest difference in those units, how many are allowed)


def highest_score(query, key, *, scale=None, bias=None):
    """Return the largest |score|, by the formula."""
    query, key = query.astype(np.float64), key.astype(np.float64)
    factor = 1 / np.sqrt(query.shape[-1]) if scale is None else scale
    scores = np.einsum("...id,...jd->...ij", query, key) * factor
    return np.abs(scores if bias is None else scores + bias).max(initial=0)


def agree(library, what, ours, theirs, *, eps, size, reach=1.0, allowed=FORWARD):
    """Require that two answers have one shape and differ by `allowed` units at most."""
    theirs = np.asarray(theirs)
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    assert np.isfinite(ours).all()
    assert np.isfinite(theirs).all()
    difference = float(np.abs(ours - theirs).max(initial=0))
    units = difference / (eps * reach * size) if difference else 0.0
    largest, _ = LARGEST.get((library, what), (0.0, allowed))
    LARGEST[library, what] = max(units, largest), allowed
    assert units <= allowed, f"{library}, {what}: {units:.3g} units apart, {allowed} allowed"


def attention_agrees(library, ours, theirs, arrays, *, eps=None, scale=None, bias=None):
    """Require that two outputs of attention agree, as far as their type can say."""
    query, key, value = arrays
    eps = epsilon(ours.dtype) if eps is None else eps
    half = eps > 1e-4
    agree(
        library,
        f"forward {ours.dtype}",
        ours,
        theirs,
        eps=eps,
        reach=1.0 if half else 1 + highest_score(query, key, scale=scale, bias=bias),
        size=float(np.abs(value.astype(np.float64)).max(initial=0)),
        allowed=HALF if half else FORWARD,
    )


def gradients_agree(library, ours, theirs, *, eps, reach=1.0):
    """Require that two lists of gradients agree, each in units of its own largest number."""
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        size = float(np.abs(np.asarray(mine, np.float64)).max(initial=0))
        what = f"gradient {mine.dtype}"
        size = size or 1.0  # all zeros
        agree(library, what, mine, other, eps=eps, size=size, reach=reach, allowed=BACKWARD)
