"""Kernels that are wrong at a border, in an axis, or with two options: each in one step.

A fault changes what a right attention is given, or how the tiles are merged.
"""

import numpy as np

from selfattn_ref.worked_examples._capabilities import plain

FAULTS: dict = {}
WINDOW = {"left": 0, "right": 1}


def attend(arguments, merged=None, tile=32):
    """Return output and log-sum-exp, tile by tile of the keys; `merged` merges them otherwise."""
    given = plain(arguments)
    query, key, value = given["query"], given["key"], given["value"]
    scores = query @ np.swapaxes(key, -1, -2) * given.get("scale", query.shape[-1] ** -0.5)
    if "soft_cap" in given:
        scores = given["soft_cap"] * np.tanh(scores / given["soft_cap"])
    scores = scores + given.get("bias", 0.0)
    scores = np.where(seen_of(given), scores, -np.inf)
    parts = []
    for start in range(0, scores.shape[-1], tile):
        part = scores[..., start : start + tile]
        top = np.maximum(part.max(axis=-1, keepdims=True), -1e30)
        weights = np.exp(part - top)
        parts.append(
            (top, weights.sum(-1, keepdims=True), weights @ value[..., start : start + tile, :])
        )
    return (merged or merge)(*map(np.array, zip(*parts, strict=True)))


def merge(tops, sums, outputs):
    top = tops.max(axis=0)
    total = (np.exp(tops - top) * sums).sum(axis=0)
    output = (np.exp(tops - top) * outputs).sum(axis=0)
    with np.errstate(divide="ignore"):  # a query may see nothing: its logarithm is −∞
        return output / np.where(total > 0, total, 1), np.log(total)[..., 0] + top[..., 0]


def fault(name, wrong=None, merged=None):
    FAULTS[name] = (wrong or (lambda given: given), merged)


def run(name, arguments):
    """Return what a wrong kernel gives, or None if it cannot run or does the same."""
    wrong, merged = FAULTS[name]
    given = dict(arguments)
    with np.errstate(all="ignore"):
        try:
            output, total = attend(wrong(given), merged)
        except (ValueError, IndexError, KeyError):
            return None
    return {"output": output, "log_sum_exp": total} if "return_log_sum_exp" in given else output


# --- which key is read ----------------------------------------------------------------------------


def keys_at(index, names=("key", "value")):
    """Read other keys, of which there are as many; the mask is that of the place."""

    def wrong(given):
        j = np.arange(given["key"].shape[-2])
        return given | {name: given[name][..., index(j, len(j)), :] for name in names}

    return wrong


def unseen(hidden):
    """Hide some pairs of query i and key j, which a loop does not reach."""

    def wrong(given):
        given = plain(given)
        i, j = np.ogrid[: given["query"].shape[-2], : given["key"].shape[-2]]
        seen = ~hidden(i + given.get("offset", 0), j, j.size) & given.get("mask", np.True_)
        return given | {"mask": seen & np.ones((i.size, 1), bool)}

    return wrong


for tile in (16, 20, 24, 32, 64, 128, 256):
    fault(
        f"tail after tiles of {tile} dropped",
        unseen(lambda i, j, n, t=tile: j >= max(n // t * t, 1)),
    )
    fault(
        f"first key of tiles of {tile} skipped",
        unseen(lambda i, j, n, t=tile: (j % t == 0) & (j > 0)),
    )
    fault(f"last key of tiles of {tile} skipped", unseen(lambda i, j, n, t=tile: j % t == t - 1))
    fault(
        f"tiles of {tile} overlap by a key",
        keys_at(lambda j, n, t=tile: np.where((j % t == 0) & (j > 0), j - 1, j)),
    )
    fault(
        f"values of tiles of {tile} one row late",
        keys_at(
            lambda j, n, t=tile: np.where(j % t == t - 1, np.minimum(j + 1, n - 1), j), ["value"]
        ),
    )
    if tile < 128:
        fault(
            f"diagonal tile of {tile} skipped",
            lambda given, t=tile: (
                unseen(lambda i, j, n: (j // t == i // t) & (j < i // t * t + t))(given)
                if given.get("causal")
                else given
            ),
        )
for bits, size in ((8, 256), (15, 32768), (16, 65536)):
    fault(f"index of {bits} bits for keys", keys_at(lambda j, n, s=size: j % s))
    fault(f"index of {bits} bits for values", keys_at(lambda j, n, s=size: j % s, ["value"]))


def rows_at(size):
    def wrong(given):
        i = np.arange(given["query"].shape[-2]) % size
        return given | {"query": given["query"][..., i, :]}

    return wrong


fault("index of 8 bits for queries", rows_at(256))
fault("index of 16 bits for queries", rows_at(65536))


def wrapped_heads(given):
    query = given["query"]
    flat = np.arange(np.prod(query.shape[:-2])).reshape(query.shape[:-2]) % 65536
    return given | {"query": query.reshape(-1, *query.shape[-2:])[flat]}


fault("index of 16 bits for heads", wrapped_heads)


# --- widths and scale -----------------------------------------------------------------------------


def narrow(width, names):
    def wrong(given):
        cut = {
            name: np.where(np.arange(given[name].shape[-1]) < width, given[name], 0)
            for name in names
        }
        return given | {"scale": given["query"].shape[-1] ** -0.5} | given | cut

    return wrong


for width in (64, 128, 192):
    fault(f"columns of queries from {width} on lost", narrow(width, ["query"]))
    fault(f"columns of values from {width} on lost", narrow(width, ["value"]))
fault(
    "columns past the last 32 lost",
    lambda g: narrow(g["query"].shape[-1] // 32 * 32 or 16, ["query"])(g),
)
fault("scale from the width of values", lambda g: {"scale": g["value"].shape[-1] ** -0.5} | g)
fault(
    "scale from a width rounded up",
    lambda g: {"scale": (-(-g["query"].shape[-1] // 64) * 64) ** -0.5} | g,
)
fault("scale ignored", lambda g: {n: x for n, x in g.items() if n != "scale"})


# --- options together -----------------------------------------------------------------------------


def without(name, beside):
    def wrong(given):
        return {n: x for n, x in given.items() if n != name or beside not in given}

    return wrong


for name, beside in (
    *(("mask", "bias"), ("bias", "mask"), ("mask", "causal"), ("causal", "mask")),
    *(("soft_cap", "bias"), ("soft_cap", "causal"), ("bias", "causal"), ("scale", "soft_cap")),
    *(("scale", "bias"), ("scale", "causal"), ("offset", "mask"), ("mask", "soft_cap")),
):
    fault(f"{name} dropped beside {beside}", without(name, beside))


def lower_right(given):
    if not given.get("causal"):
        return given
    return given | {"offset": given["key"].shape[-2] - given["query"].shape[-2]}


def shifted(by):
    return lambda g: g | {"offset": g.get("offset", 0) + by} if g.get("causal") else g


def bias_scaled(given):
    if "bias" not in given:
        return given
    return given | {"bias": given["bias"] * given.get("scale", given["query"].shape[-1] ** -0.5)}


fault("causal aligned at the lower right", lower_right)
fault("offset ignored", lambda g: {n: x for n, x in g.items() if n != "offset"})
fault("offset with the wrong sign", lambda g: g | {"offset": -g["offset"]} if "offset" in g else g)
fault("causal one key too far", shifted(1))
fault("causal one key too short", shifted(-1))
fault("bias scaled", bias_scaled)
fault("bias of −∞ as 0", lambda g: g | {"bias": np.nan_to_num(g["bias"], neginf=0.0)})
fault("cap at each side of 0 clipped", lambda g: {n: x for n, x in g.items() if n != "soft_cap"})
for side, number in WINDOW.items():
    for by in (-1, 1):
        fault(
            f"window {by:+d} on the {side}",
            lambda g, n=number, b=by: (
                g
                | {
                    "window": tuple(
                        x + b if k == n and x is not None else x for k, x in enumerate(g["window"])
                    )
                }
            ),
        )
    fault(
        f"window without its {side}",
        lambda g, n=number: (
            g | {"window": tuple(None if k == n else x for k, x in enumerate(g["window"]))}
        ),
    )
fault("window beside causal ignored", without("window", "causal"))
fault("causal beside window ignored", without("causal", "window"))
fault(
    "window counted without the offset",
    lambda g: {n: x for n, x in g.items() if n != "offset" or "window" not in g},
)


# --- axes -----------------------------------------------------------------------------------------


def axis_of(name, axis, index):
    """Take for a mask or a bias another place of an axis, which it has."""

    def wrong(given):
        x = given[name]
        n = x.shape[axis] if x.ndim >= -axis else 1
        return given if n == 1 else given | {name: np.take(x, index(np.arange(n)), axis)}

    return wrong


for name in ("mask", "bias"):
    fault(f"{name} of the first sequence", axis_of(name, -4, lambda n: 0 * n))
    fault(f"{name} of the first head", axis_of(name, -3, lambda n: 0 * n))
    fault(f"{name} of the next head", axis_of(name, -3, lambda n: np.roll(n, 1)))
    fault(f"{name} of the next sequence", axis_of(name, -4, lambda n: np.roll(n, 1)))
    fault(f"{name} of the first query", axis_of(name, -2, lambda n: 0 * n))


def exchanged(given):
    """Read keys and values as (heads, batch), which are of the same size in memory."""
    swap = given["key"].ndim == 4
    other = {n: np.swapaxes(given[n], 0, 1).reshape(given[n].shape) for n in ("key", "value")}
    return given | other if swap else given


def of_first(name):
    return lambda g: (
        g | {name: np.broadcast_to(g[name][:1], g[name].shape)} if g[name].ndim > 2 else g
    )


def tiled_heads(given):
    times = given["query"].shape[-3] // given["key"].shape[-3] if "grouped_heads" in given else 1
    other = (
        {n: np.concatenate([given[n]] * times, axis=-3) for n in ("key", "value")}
        if times > 1
        else {}
    )
    return {n: x for n, x in (given | other).items() if n != "grouped_heads"}


def next_group(given):
    rolled = {n: np.roll(given[n], 1, axis=-3) for n in ("key", "value")}
    return given | rolled if "grouped_heads" in given else given


fault("batch and heads exchanged", exchanged)
fault("keys of the first sequence", of_first("key"))
fault("values of the first sequence", of_first("value"))
fault("heads tiled in place of repeated", tiled_heads)
fault("heads of the next group", next_group)


# --- packed sequences -----------------------------------------------------------------------------


def moved(name, by):
    """Move the ends of all sequences but the last."""

    def wrong(given):
        ends = np.cumsum(given[name])
        ends[:-1] += by
        return given | {name: np.diff(ends, prepend=0)}

    return wrong


fault("a sequence takes a key of the next", moved("key_lengths", 1))
fault("a sequence lacks its last key", moved("key_lengths", -1))
fault("a sequence takes a query of the next", moved("query_lengths", 1))
fault(
    "sequences not told apart",
    lambda g: {n: x for n, x in g.items() if "lengths" not in n} if "query_lengths" in g else g,
)
fault(
    "causal counted from the buffer",
    lambda g: (
        {**plain(g), "mask": plain({**g, "causal": False})["mask"], "causal": True}
        if "query_lengths" in g and g.get("causal")
        else g
    ),
)


# --- merging --------------------------------------------------------------------------------------


def averaged(tops, sums, outputs):
    whole = (outputs / np.maximum(sums, 1e-300)).mean(axis=0)
    return whole, merge(tops, sums, outputs)[1]


def never_rescaled(tops, sums, outputs):
    output, total = merge(0 * tops, sums, outputs)
    return output, total + tops.max(axis=0)[..., 0]


def from_zero(tops, sums, outputs):
    zero = np.concatenate([0 * tops[:1], tops])
    top = zero.max(axis=0)
    scale = np.exp(np.float32(tops - top)).astype(np.float32)
    total = (scale * sums).sum(axis=0)
    return (scale * outputs).sum(axis=0) / total, np.log(total)[..., 0] + top[..., 0]


def first_hidden(tops, sums, outputs):
    """A tile without a visible key has the maximum 0: its exponentials are all 0, its scale not."""
    return merge(np.where(tops <= -1e30, 0.0, tops), sums, outputs)


def last_sum(tops, sums, outputs):
    output, _ = merge(tops, sums, outputs)
    return output, (np.log(sums[-1]) + tops[-1])[..., 0]


def base_two(tops, sums, outputs):
    output, total = merge(tops, sums, outputs)
    return output, total / np.log(2)


fault("splits averaged without their sums", merged=averaged)
fault("no rescaling at a new maximum", merged=never_rescaled)
fault("a running maximum that starts at 0", merged=from_zero)
fault("the sum of the last tile returned", merged=last_sum)
fault("the logarithm to base 2", merged=base_two)
fault("a hidden tile with the maximum 0", merged=first_hidden)
fault(
    "softmax plus one",
    merged=lambda *p: (lambda o, t: (o / (1 + np.exp(-t))[..., None], t))(*merge(*p)),
)
fault(
    "hidden keys of score −100",
    lambda g: (
        {
            **{n: x for n, x in plain(g).items() if n not in ("mask", "causal", "offset", "bias")},
            "bias": np.where(seen_of(g), plain(g).get("bias", 0.0), -100.0),
        }
        if len(g) > 3
        else g
    ),
)


def seen_of(given):
    given = plain(given)
    n = given["query"].shape[-2], given["key"].shape[-2]
    causal = np.tri(*n, given.get("offset", 0), dtype=bool) if given.get("causal") else np.True_
    return causal & given.get("mask", np.True_) & np.ones(n, bool)


# --- the backward pass ----------------------------------------------------------------------------


def backward(given, *, steepness=True, back=None, mean=None, heads=None, d_key_scale=None):
    """Return gradients by the formulas, one step of which may be another."""
    query, key, value, d_output = (given[n] for n in ("query", "key", "value", "d_output"))
    scale, cap = given.get("scale", query.shape[-1] ** -0.5), given.get("soft_cap")
    scores = scale * query @ np.swapaxes(key, -1, -2)
    steep = 1.0
    if cap is not None:
        scores = cap * np.tanh(scores / cap)
        steep = 1 - (scores / cap) ** 2 if steepness else 1.0
    biased = scores + given.get("bias", 0.0)
    biased = np.where(seen_of(given), biased, -np.inf)
    weights = np.exp(biased - np.maximum(biased.max(axis=-1, keepdims=True), -1e30))
    weights = weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-30)
    d_weights = d_output @ np.swapaxes(value, -1, -2)
    columns = slice(mean)
    average = (d_output[..., columns] * (weights @ value)[..., columns]).sum(-1, keepdims=True)
    d_bias = weights * (d_weights - average)
    d_scores = steep * d_bias
    rows = slice(back(query.shape[-2]) if back else None)
    d_key = np.swapaxes(d_scores[..., rows, :], -1, -2) @ query[..., rows, :]
    d_value = np.swapaxes(weights, -1, -2) @ d_output
    found = {
        "d_query": scale * d_scores @ key,
        "d_key": (d_key_scale(query, value) if d_key_scale else scale) * d_key,
        "d_value": d_value,
    }
    found |= {"d_bias": d_bias} if "bias" in given else {}
    shapes = {f"d_{n}": given[n].shape for n in ("query", "key", "value", "bias") if n in given}
    return {name: (heads or added)(x, shapes[name]) for name, x in found.items()}


def added(x, shape):
    """Return an array added up to the shape from which it was broadcast."""
    x = x.sum(axis=tuple(range(x.ndim - len(shape))))
    axes = tuple(i for i, n in enumerate(shape) if n < x.shape[i])
    return x.sum(axis=axes, keepdims=True)


def last(x, shape):
    """Return what came last in place of the sum."""
    x = x[(-1,) * (x.ndim - len(shape))]
    return x[tuple(slice(-n, None) for n in shape)]


BACKWARD = {
    "the slope of the cap": lambda given: backward(given, steepness=False),
    "the last tile of queries": lambda given: backward(given, back=lambda n: n - n % 32 or n),
    "a mean of 64 columns": lambda given: backward(given, mean=64),
    "the last head that reads a key": lambda given: backward(given, heads=last),
    "the scale of the keys": lambda given: backward(given, d_key_scale=lambda q, v: 1.0),
    "causal without its offset": lambda given: backward(given | {"offset": 0}),
}
