"""How every worked example is recomputed with the public functions: a recipe for each.

A recipe is a plain function. It takes a library and the inputs of an example, and returns every
expected value by its name. The tests and the build of the book call it; the notebook of the example
shows its source.

>>> import selfattn_ref
>>> from selfattn_ref.worked_examples import load, recipes
>>> example, recipe = load("SA016"), recipes.recipe("SA016")
>>> example.check(**recipe(selfattn_ref, example.inputs)).names
('mask', 'scaled_scores', 'weights', 'output')
"""

import inspect
import itertools
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import CodeType, FunctionType
from typing import Any, cast

import numpy as np

__all__ = ["recipe", "source"]


def recipe(example_id: str) -> Callable[..., dict[str, Any]]:
    """Return the function that recomputes a worked example.

    Parameters
    ----------
    example_id : str
        An id such as ``"SA016"``.

    Returns
    -------
    callable
        Called as ``recipe(lib, given)``: `lib` is `selfattn_ref`, or anything with functions of the
        same names; `given` holds the inputs of the example. It returns a dict with every expected
        value by its name, as an array or anything NumPy can turn into one.

    Raises
    ------
    ValueError
        If there is no recipe for this id.

    See Also
    --------
    source : The same as text.
    selfattn_ref.worked_examples.WorkedExample.check : Compare what it returns.

    Examples
    --------
    >>> import selfattn_ref
    >>> from selfattn_ref.worked_examples import load
    >>> recipe("SA008")(selfattn_ref, load("SA008").inputs)["query"]
    array([0.29, 0.74, 1.19])
    """
    function = globals().get(f"{example_id}".lower())
    if not (isinstance(function, FunctionType) and re.fullmatch(r"SA\d{3}", example_id)):
        raise ValueError(f"there is no recipe for {example_id!r}")
    return function


def source(example_id: str) -> str:
    """Return the source of a recipe, with the imports and the helpers that it needs.

    Parameters
    ----------
    example_id : str
        An id such as ``"SA016"``.

    Returns
    -------
    str
        Python code that runs on its own and defines the recipe under its name, such as ``sa016``.

    Raises
    ------
    ValueError
        If there is no recipe for this id.

    See Also
    --------
    recipe : The function itself.

    Examples
    --------
    >>> print(source("SA004"))
    def sa004(lib, given):
        return {"dot": lib.dot_similarity(given["embeddings"])}
    """
    needed: dict[str, Any] = {}
    _add(cast(FunctionType, recipe(example_id)), needed)
    text = inspect.getsource(sys.modules[__name__])
    imports = re.findall(r"^(?:from \w+ )?import .+$", text, re.M)
    constants = re.findall(r"^[A-Z]+ = .+$", text, re.M)
    parts = [line for line in constants if line.split()[0] in needed]
    parts += [inspect.getsource(used) for used in needed.values() if inspect.isfunction(used)]
    first = "\n".join(line for line in imports if line.split()[-1] in needed)
    return "\n\n\n".join(part.rstrip() for part in [first, *parts] if part)


def _add(function: FunctionType, needed: dict[str, Any]) -> None:
    """Add a function by its name, after what it needs of this module."""
    for name in _names(function.__code__):
        used = globals().get(name)
        if isinstance(used, FunctionType) and name not in needed:
            _add(used, needed)
        elif used is not None:
            needed[name] = used
    needed[function.__name__] = function


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that are not local to a function or to those inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


# --- What several recipes need --------------------------------------------------------------------

ROLES = ("query", "key", "value")


def matrices(given):
    return [given[f"w_{role}"] for role in ROLES]


def projected(given):
    """Return queries, keys and values of the words."""
    return [given["embeddings"] @ matrix for matrix in matrices(given)]


def masked(lib, given, mask):
    """Return scaled scores, weights and output under a mask."""
    query, key, value = (given[role] for role in ROLES)
    scaled_scores = lib.scaled_scores(query, key)
    return {
        "scaled_scores": scaled_scores,
        "weights": lib.attention_weights(scaled_scores, mask=mask),
        "output": lib.scaled_dot_product_attention(query, key, value, mask=mask),
    }


def products_of_all_vectors(lib, entries, width, scale):
    """Return q·k, times a scale, for every pair of vectors with these entries."""
    vectors = np.array(list(itertools.product(entries, repeat=int(width))))
    return lib.scaled_scores(vectors, vectors, scale=scale)


# --- The recipes ----------------------------------------------------------------------------------


def sa001(lib, given):
    words = given["embeddings"]
    return {
        "dot": lib.dot_similarity(words),
        "cosine": lib.cosine_similarity(words),
        "distance": lib.euclidean_distance(words),
        "scaled_dot": lib.scaled_scores(words, words),
    }


def sa002(lib, given):
    computed = {}
    for sense in ("cave", "racket"):
        words = given["embeddings"][given[f"sentence_{sense}"]]
        weights = lib.attention_weights(lib.cosine_similarity(words))
        computed |= {f"weights_{sense}": weights, f"context_{sense}": weights @ words}
    bat, cave = given["embeddings"][given["sentence_cave"]]
    rounded = np.round(lib.cosine_similarity([bat], [bat, cave]), 2)
    return computed | {"rounded_weights": lib.softmax(rounded)[0]}


def sa003(lib, given):
    computed = {}
    for sense in ("kitchen", "git"):
        words = given["embeddings"][given[f"sentence_{sense}"]]
        # Equal scores give equal weights: the plain average is attention without preference.
        (average,) = lib.softmax(np.zeros((1, len(words)))) @ words
        computed |= {f"average_{sense}": average, f"lean_{sense}": average[1] - average[0]}
    return computed


def sa004(lib, given):
    return {"dot": lib.dot_similarity(given["embeddings"])}


def sa005(lib, given):
    exponentials = np.exp(given["scores"])
    weights = lib.softmax(given["scores"])
    return {"exponentials": exponentials, "total": exponentials.sum(), "weights": weights}


def sa006(lib, given):
    words = given["embeddings"]
    return {
        "weights": lib.attention_weights(lib.dot_similarity(words)),
        "context": lib.scaled_dot_product_attention(words, words, words, scale=1.0),
    }


def sa007(lib, given):
    everything = given["embeddings"]
    computed = {}
    for sense in ("money", "river"):
        words = everything[given[f"sentence_{sense}"]]
        context = lib.scaled_dot_product_attention(words, words, words, scale=1.0)
        computed[f"weights_{sense}"] = lib.attention_weights(lib.dot_similarity(words))
        computed |= {f"context_{sense}": context, f"bank_{sense}": context[1]}
    stacked = lib.scaled_dot_product_attention(everything, everything, everything, scale=1.0)
    return computed | {"bank_stacked": stacked[given["words"].index("Bank")]}


def sa008(lib, given):
    # A dot product with each column is the product with the matrix.
    words = [given["embedding"]]
    return {role: lib.dot_similarity(words, given[f"w_{role}"].T)[0] for role in ROLES}


def sa009(lib, given):
    words = given["embeddings"]
    return sa014(lib, given) | {
        "parameter_free_weights": lib.attention_weights(lib.dot_similarity(words)),
        "parameter_free_context": lib.self_attention(words, *[np.eye(3)] * 3, scale=1.0),
    }


def sa010(lib, given):
    before, after = given["vectors"], given["vectors"] @ given["stretch"].T
    return {
        "stretched": after,
        "norms": np.sqrt(np.diagonal(lib.dot_similarity(before))),
        "stretched_norms": np.sqrt(np.diagonal(lib.dot_similarity(after))),
        "cosine": lib.cosine_similarity(before),
        "stretched_cosine": lib.cosine_similarity(after),
    }


def sa011(lib, given):
    stretched = given["vectors"] @ given["stretch"].T
    computed = {"stretched": stretched}
    for before, vectors in (("", given["vectors"]), ("stretched_", stretched)):
        cosine = lib.cosine_similarity(vectors)
        computed[f"{before}cosine"] = cosine
        computed[f"{before}weights"] = lib.attention_weights(cosine)
    return computed


def sa012(lib, given):
    vectors = given["vectors"]
    query, key = vectors @ given["w_query"], vectors @ given["w_key"]
    return {
        "dot": lib.dot_similarity(vectors),
        "query": query,
        "key": key,
        "bilinear": given["w_query"] @ given["w_key"].T,
        "scores": lib.scaled_scores(query, key, scale=1.0),
        "scores_one_matrix": lib.dot_similarity(query),
    }


def sa013(lib, given):
    query, key, value = (given[role] for role in ROLES)
    scores, scales = lib.dot_similarity(query, key), given["scales"].tolist()
    return {
        "scores": scores,
        "weights": lib.attention_weights(scores * given["scales"][:, None, None]),
        "output": [
            lib.scaled_dot_product_attention(query, key, value, scale=scale) for scale in scales
        ],
        "nearest": value[scores.argmax(axis=-1)],
    }


def sa014(lib, given):
    query, key, value = projected(given)
    scaled_scores = lib.scaled_scores(query, key)
    return {
        **dict(zip(ROLES, (query, key, value), strict=True)),
        "scores": lib.dot_similarity(query, key),
        "scaled_scores": scaled_scores,
        "weights": lib.attention_weights(scaled_scores),
        "context": lib.self_attention(given["embeddings"], *matrices(given)),
    }


def sa015(lib, given):
    scores = lib.scaled_scores(given["query"], given["key"], scale=1.0)
    scaled_scores = lib.scaled_scores(given["query"], given["key"])
    return {
        "scores": scores,
        "scaled_scores": scaled_scores,
        "variance_query": given["query"].var(),
        "variance_key": given["key"].var(),
        "variance_scores": scores.var(),
        "variance_scaled_scores": scaled_scores.var(),
    }


def sa016(lib, given):
    query, key, value = (given[role] for role in ROLES)
    mask = lib.causal_mask(4)
    scaled_scores = lib.scaled_scores(query, key)
    return {
        "mask": mask,
        "scaled_scores": scaled_scores,
        "weights": lib.attention_weights(scaled_scores, mask=mask),
        "output": lib.scaled_dot_product_attention(query, key, value, mask=mask),
    }


def sa017(lib, given):
    computed = {"mean": [], "variance": [], "variance_scaled": []}
    for width, word in zip(given["widths"], ("one", "two", "four"), strict=True):
        products = products_of_all_vectors(lib, given["entries"], width, 1.0)
        scaled = products_of_all_vectors(lib, given["entries"], width, None)
        computed["mean"].append(products.mean())
        computed["variance"].append(products.var())
        computed["variance_scaled"].append(scaled.var())
        values, counts = np.unique(products, return_counts=True)
        computed |= {f"values_{word}": values, f"counts_{word}": counts}
    return computed


def sa018(lib, given):
    entries = given["entries"]
    computed = {"entry_mean": entries.mean(), "entry_variance": entries.var()}
    for suffix, scale in (("", 1.0), ("_scaled", None)):
        products = [products_of_all_vectors(lib, entries, d, scale) for d in given["widths"]]
        computed[f"mean{suffix}"] = [every.mean() for every in products]
        computed[f"variance{suffix}"] = [every.var() for every in products]
    return computed


def sa019(lib, given):
    return sa018(lib, given)


def sa020(lib, given):
    root = np.sqrt(given["width"])
    computed = {"scaled_scores": given["scores"] / root}
    for suffix, scores in (("", given["scores"]), ("_scaled", given["scores"] / root)):
        weights = lib.softmax(scores)
        # The Jacobian is symmetric: one row for each unit vector that goes back through it.
        jacobian = lib.softmax_vjp(np.tile(weights, (3, 1)), np.eye(3))
        computed |= {f"weights{suffix}": weights, f"jacobian{suffix}": jacobian}
        computed[f"largest{suffix}"] = np.abs(jacobian).max()
        computed[f"norm{suffix}"] = np.linalg.norm(jacobian, 2)
    return computed | {"jacobian_through_scale": computed["jacobian_scaled"] / root}


def sa021(lib, given):
    scores, low, mask = given["scores"], given["low_scores"], given["mask"]
    nobody, sentinel = given["mask_nobody"], given["sentinel"]

    def right(scores, mask):
        return lib.attention_weights([scores], mask=mask)[0]

    with np.errstate(invalid="ignore"):  # 0 · ∞ is the point
        products = scores * mask + (1.0 - mask) * -np.inf
    return {
        "weights": right(scores, mask),
        "weights_multiplied": lib.softmax(scores * mask),
        "nan_in_scores": np.isnan(products),
        "nan_in_weights": np.isnan(lib.softmax(products)),
        "weights_low": right(low, mask),
        "weights_low_filled": lib.softmax(np.where(mask, low, sentinel)),
        "weights_nobody": right(scores, nobody),
        "weights_nobody_filled": lib.softmax(np.where(nobody, scores, sentinel)),
        "weights_nobody_added": lib.softmax(scores + np.where(nobody, 0.0, sentinel)),
        "weights_inverted": right(scores, ~mask),
    }


def sa022(lib, given):
    query, key, value = (given[role] for role in ROLES)
    mask, d_output = given["mask"], given["d_output"]
    scores = lib.scaled_scores(query, key)
    back = lib.scaled_dot_product_attention_vjp(query, key, value, d_output, mask=mask)
    # By the book, with −∞ at what is masked and no special case for an empty row.
    masked = np.where(mask, scores, -np.inf)
    with np.errstate(invalid="ignore"):
        exponentials = np.exp(masked - masked.max(axis=-1, keepdims=True))
    by_the_book = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return {
        "weights": lib.attention_weights(scores, mask=mask),
        "output": lib.scaled_dot_product_attention(query, key, value, mask=mask),
        **dict(zip(("d_query", "d_key", "d_value"), back, strict=True)),
        "output_uniform": (lib.softmax(np.where(mask, scores, -1e9)) @ value)[0],
        "d_value_uniform": lib.softmax(np.where(mask, scores, -1e9)).T @ d_output,
        "output_unmasked": lib.scaled_dot_product_attention(query[:1], key, value)[0],
        "nan_in_output": np.isnan(by_the_book @ value),
        "nan_in_d_value": np.isnan(by_the_book.T @ d_output),
    }


def sa023(lib, given):
    computed = {}
    for kind, mask in (("full", None), ("causal", lib.causal_mask(4))):
        words = given["embeddings"]
        for layer in ("first", "second"):
            scores = lib.scaled_scores(words, words)
            computed[f"{layer}_weights_{kind}"] = lib.attention_weights(scores, mask=mask)
            words = lib.scaled_dot_product_attention(words, words, words, mask=mask)
            computed[f"{layer}_output_{kind}"] = words
    return computed


def sa024(lib, given):
    w_query, w_key, _ = matrices(given)
    computed = dict(zip(ROLES, projected(given), strict=True))
    for number, length in (("five", 5), ("six", 6)):
        words, mask = given["embeddings"][:length], lib.causal_mask(length)
        scores = lib.scaled_scores(words @ w_query, words @ w_key)
        masked, full = (lib.self_attention(words, *matrices(given), mask=m) for m in (mask, None))
        computed[f"weights_causal_{number}"] = lib.attention_weights(scores, mask=mask)
        computed |= {f"output_causal_{number}": masked, f"output_full_{number}": full}
    return computed


def sa025(lib, given):
    roles, cache = projected(given), lib.KeyValueCache()
    steps, lengths = [], []
    for t in range(len(given["embeddings"])):
        steps.append(cache.attend(*(role[t : t + 1] for role in roles))[0])
        lengths.append(len(cache))
    return {
        "query": roles[0],
        "key": cache.keys,
        "value": cache.values,
        "output": steps,
        "scores_with_cache": lengths,
        "scores_without_cache": np.square(lengths),
    }


def sa026(lib, given):
    words, w_output = given["embeddings"], given["w_output"]
    roles = dict(zip(ROLES, projected(given), strict=True))
    heads = {f"{name}_heads": lib.split_heads(x, 2) for name, x in roles.items()}
    scaled_scores = lib.scaled_scores(heads["query_heads"], heads["key_heads"])
    head_outputs = lib.scaled_dot_product_attention(*heads.values())
    every = (words, words, *matrices(given), w_output)
    return {
        **roles,
        **heads,
        "scaled_scores": scaled_scores,
        "weights": lib.attention_weights(scaled_scores),
        "head_outputs": head_outputs,
        "merged": lib.merge_heads(head_outputs),
        "output": lib.multi_head_attention(*every, num_heads=2),
        "contributions": head_outputs @ w_output.reshape(2, 2, 4),
    }


def sa027(lib, given):
    words = given["embeddings"]
    pairs = zip(projected(given), (4, 2, 2), strict=True)
    query, key, value = (lib.split_heads(x, heads) for x, heads in pairs)
    shared = [lib.repeat_key_value_heads(x, 4) for x in (key, value)]
    head_outputs = lib.scaled_dot_product_attention(query, *shared)
    every = (words, words, *matrices(given), given["w_output"])
    return {
        "reads": lib.repeat_key_value_heads(np.arange(2.0)[:, None, None], 4).ravel(),
        "query_heads": query,
        "key_heads": key,
        "value_heads": value,
        "weights": lib.attention_weights(lib.scaled_scores(query, shared[0])),
        "head_outputs": head_outputs,
        "merged": lib.merge_heads(head_outputs),
        "output": lib.multi_head_attention(*every, num_heads=4, num_key_value_heads=2),
    }


def sa028(lib, given):
    words, mask = given["embeddings"], lib.causal_mask(3)
    w_query, w_key, _ = matrices(given)
    encoding = lib.sinusoidal_encoding(3, 4, base=float(given["base"]))
    reverse = words[given["reversal"]]

    def weights(x):
        return lib.attention_weights(lib.scaled_scores(x @ w_query, x @ w_key))

    def output(x, mask=None):
        return lib.self_attention(x, *matrices(given), mask=mask)

    return {
        "weights": weights(words),
        "output": output(words),
        "output_reversed": output(reverse),
        "output_cycled": output(words[given["cycle"]]),
        "encoding": encoding,
        "weights_encoded": weights(words + encoding),
        "weights_encoded_reversed": weights(reverse + encoding),
        "output_encoded": output(words + encoding),
        "output_encoded_reversed": output(reverse + encoding),
        "output_causal": output(words, mask),
        "output_causal_reversed": output(reverse, mask),
    }


def sa029(lib, given):
    positions, base = given["positions"], float(given["base"])
    query, key = (np.tile(given[name], (len(positions), 1)) for name in ("query", "key"))

    def turned(x, positions, **options):
        return lib.rotate_pairs(x, positions, base=base, **options)

    def scores(positions, **options):
        both = (turned(x, positions, **options) for x in (query, key))
        return lib.scaled_scores(*both, scale=1.0)

    # A unit vector at position 1 shows the angle of its pair.
    units = turned(np.eye(4)[:2], [1.0, 1.0])
    # The query moves past a key at position 0.
    passing = turned(np.tile(given["query"], (9, 1)), np.arange(-4.0, 5.0))
    return {
        "frequencies": np.arctan2([units[0, 2], units[1, 3]], [units[0, 0], units[1, 1]]),
        "rotated_query": turned(query, positions),
        "rotated_key": turned(key, positions),
        "rotated_query_neighbors": turned(query, positions, interleaved=True),
        "rotated_key_neighbors": turned(key, positions, interleaved=True),
        "scores": scores(positions),
        "scores_shifted": scores(positions + given["shift"]),
        "scores_by_distance": passing @ given["key"],
        "scores_neighbors": scores(positions, interleaved=True),
    }


def sa030(lib, given):
    scores, value, size = given["scores"], given["value"], given["block_size"]

    def state(row, keys):
        return lib.AttentionState.of(scores[row : row + 1, keys], value[keys])

    def facts(states, name):
        """Tell the maximum, the sum and the weighted sum of every state."""
        states = np.array(states)
        parts = [(s.shift[0, 0], s.total[0, 0], s.total[0] * s.output[0]) for s in states.flat]
        return {
            f"{name}_{kind}": np.reshape(part, (*states.shape, *np.shape(part[0])))
            for kind, part in zip(
                ("maximum", "sum", "weighted"), zip(*parts, strict=True), strict=True
            )
        }

    halves = [slice(0, size), slice(size, 2 * size)]
    blocks = [[state(row, half) for half in halves] for row in (0, 1)]
    merged = [one.merge(other) for one, other in blocks]
    for (one, other), both in zip(blocks, merged, strict=True):
        np.testing.assert_allclose(other.merge(one).output, both.output, rtol=1e-15)
    running = [[state(row, slice(n + 1)) for n in range(4)] for row in (0, 1)]
    computed = facts(running, "running") | facts(blocks, "block") | facts(merged, "merged")
    del computed["running_weighted"]
    output = lib.streaming_attention(
        np.ones((2, 1, 1)), scores[:, :, None], value, scale=1.0, block_size=size
    )
    return computed | {
        "log_sum_exp": lib.log_sum_exp(scores),
        "weights": lib.softmax(scores),
        "output": output[:, 0],
    }


def sa031(lib, given):
    words, d_output = given["embeddings"], given["d_output"]
    query, key, value = projected(given)
    weights = lib.attention_weights(lib.scaled_scores(query, key))
    d_scaled_scores = lib.softmax_vjp(weights, d_output @ value.T)
    back = lib.scaled_dot_product_attention_vjp(query, key, value, d_output)
    d_x, *d_matrices = lib.self_attention_vjp(words, *matrices(given), d_output)
    return {
        **dict(zip(ROLES, (query, key, value), strict=True)),
        "weights": weights,
        "loss": np.sum(lib.self_attention(words, *matrices(given)) * d_output),
        "d_value": back[2],
        "d_weights": d_output @ value.T,
        "d_scaled_scores": d_scaled_scores,
        "d_scores": d_scaled_scores / np.sqrt(3),
        "d_query": back[0],
        "d_key": back[1],
        **dict(zip(("d_w_query", "d_w_key", "d_w_value"), d_matrices, strict=True)),
        "d_x": d_x,
    }


def sa032(lib, given):
    probabilities, targets = given["probabilities"], given["targets"]
    logits, alike = np.log(probabilities), np.zeros((4, 5))
    perplexity = lib.perplexity(logits, targets)
    chosen = np.take_along_axis(probabilities, targets[:, None], axis=1)[:, 0]
    one = [slice(t, t + 1) for t in range(4)]
    return {
        "log_probabilities": lib.log_softmax(logits),
        "target_probabilities": chosen,
        "surprise": [lib.cross_entropy(logits[t], targets[t]) for t in one],
        "cross_entropy": lib.cross_entropy(logits, targets),
        "perplexity": perplexity,
        "bits_per_token": lib.bits_per_token(logits, targets),
        "geometric_mean_probability": 1 / perplexity,
        "arithmetic_mean_reciprocal": np.mean(1 / chosen),
        "uniform_cross_entropy": lib.cross_entropy(alike, targets),
        "uniform_perplexity": lib.perplexity(alike, targets),
    }


def sa033(lib, given):
    words, same = given["embeddings"], np.eye(2)
    computed = {}
    for reading in ("free", "literal", "idiom"):
        matrix = same if reading == "free" else given[f"bilinear_{reading}"]
        scores = lib.dot_similarity(words @ matrix, words)
        # One matrix between two words is a query matrix beside keys that are left as they are.
        context = lib.self_attention(words, matrix, same, same, scale=1.0)
        computed[f"weights_{reading}"] = lib.attention_weights(scores)
        computed |= {f"scores_{reading}": scores, f"context_{reading}": context}
    return computed


def sa034(lib, given):
    query, key, value = (given[role] for role in ROLES)
    return {
        "weights": lib.attention_weights(lib.scaled_scores(query, key)),
        "output": lib.scaled_dot_product_attention(query, key, value),
    }


def sa035(lib, given):
    temperatures = given["temperatures"]
    divided = given["scores"] / temperatures[:, None]
    weights = lib.softmax(divided)
    return {
        "weights": weights,
        "entropy": -np.sum(weights * lib.log_softmax(divided), axis=-1),
        "optimum": temperatures * lib.log_sum_exp(divided),
    }


def sa036(lib, given):
    computed = {}
    for sense in ("money", "river"):
        words = given["embeddings"][given[f"sentence_{sense}"]]
        scores = lib.dot_similarity(words)
        computed |= {
            f"scores_{sense}": scores,
            f"weights_{sense}": lib.attention_weights(scores),
            f"context_{sense}": lib.self_attention(words, *[np.eye(2)] * 3, scale=1.0),
        }
    return computed


def sa037(lib, given):
    computed = dict(zip(ROLES, projected(given), strict=True))
    for sense in ("money", "river"):
        words = given["embeddings"][given[f"sentence_{sense}"]]
        query, key, _ = projected(given | {"embeddings": words})
        scaled = lib.scaled_scores(query, key)
        computed |= {
            f"scores_{sense}": lib.scaled_scores(query, key, scale=1.0),
            f"scaled_scores_{sense}": scaled,
            f"weights_{sense}": lib.attention_weights(scaled),
            f"output_{sense}": lib.self_attention(words, *matrices(given)),
            f"parameter_free_weights_{sense}": lib.attention_weights(lib.dot_similarity(words)),
        }
    return computed


def sa038(lib, given):
    query, key, value = (given[role] for role in ROLES)
    scaled_scores, bias = lib.scaled_scores(query, key), given["bias"]
    return {
        "scaled_scores": scaled_scores,
        "biased_scores": scaled_scores + bias,
        "weights": lib.attention_weights(scaled_scores + bias),
        "output": lib.scaled_dot_product_attention(query, key, value, bias=bias),
        "weights_without_bias": lib.attention_weights(scaled_scores),
        "output_without_bias": lib.scaled_dot_product_attention(query, key, value),
    }


def sa039(lib, given):
    query, key, value = (given[role] for role in ROLES)
    cap, bias = float(given["soft_cap"]), given["bias"]
    scaled_scores = lib.scaled_scores(query, key)
    capped = lib.soft_cap(scaled_scores, cap)
    after = lib.attention_weights(lib.soft_cap(scaled_scores + bias, cap))
    attend = partial(lib.scaled_dot_product_attention, query, key, value, soft_cap=cap)
    return {
        "scaled_scores": scaled_scores,
        "capped_scores": capped,
        "weights": lib.attention_weights(capped + bias),
        "output": attend(bias=bias),
        "weights_cap_after_bias": after,
        "output_cap_after_bias": after @ value,
        "output_without_bias": attend(),
    }


def sa040(lib, given):
    query, key, value = (given[role] for role in ROLES)
    limits, offset = (given["left"], given["right"]), given["offset"]
    mask = lib.window_mask(4, 5, *limits, offset=offset)
    return {
        "mask": mask,
        **masked(lib, given, mask),
        "output": lib.streaming_attention(query, key, value, window=limits, offset=offset),
        "output_unmasked": lib.scaled_dot_product_attention(query, key, value),
    }


def sa041(lib, given):
    mask = lib.padding_mask(given["lengths"], 3)
    return {"mask": mask, **masked(lib, given, mask)}


def sa042(lib, given):
    return masked(lib, given, None)


def sa043(lib, given):
    attend = partial(lib.scaled_dot_product_attention, *(given[role] for role in ROLES))
    upper, lower = (lib.causal_mask(3, 5, offset=offset) for offset in (0, 2))
    return {
        **masked(lib, given, upper),
        "mask": upper,
        "output": attend(causal=True),
        "mask_lower_right": lower,
        "weights_lower_right": masked(lib, given, lower)["weights"],
        "output_lower_right": attend(causal=True, offset=2),
    }


def sa044(lib, given):
    attend = partial(lib.scaled_dot_product_attention, *(given[role] for role in ROLES))
    segment_mask = lib.segment_mask(given["segments"])
    mask = segment_mask & lib.causal_mask(5)
    return {
        "segment_mask": segment_mask,
        "mask": mask,
        **masked(lib, given, mask),
        "output": attend(mask=segment_mask, causal=True),
        "output_not_separated": attend(causal=True),
    }


def sa045(lib, given):
    query, key, value = (given[role] for role in ROLES)
    scaled_scores, words = lib.scaled_scores(query, key), given["without_sink"]
    return {
        "scaled_scores": scaled_scores,
        "weights": lib.attention_weights(scaled_scores + given["bias"]),
        "output": lib.scaled_dot_product_attention(query, key, value, bias=given["bias"]),
        "weights_without_sink": lib.attention_weights(scaled_scores[:, words]),
        "output_without_sink": lib.scaled_dot_product_attention(query, key[words], value[words]),
    }


def sa046(lib, given):
    query, key, value = (given[role] for role in ROLES)
    scores, scale = lib.dot_similarity(query, key), float(given["scale"])
    return {
        **masked(lib, given, None),
        "weights_sharp": lib.softmax(scale * scores),
        "output_sharp": lib.scaled_dot_product_attention(query, key, value, scale=scale),
        "output_first_wins": value[scores.argmax(axis=-1)],
    }


def sa047(lib, given):
    plain, mask = masked(lib, given, None), given["mask"]
    hidden = masked(lib, given, mask)
    scaled_scores = plain["scaled_scores"]
    return {
        **plain,
        "log_sum_exp": lib.log_sum_exp(scaled_scores),
        "weights_masked": hidden["weights"],
        "output_masked": hidden["output"],
        "weights_filled": lib.softmax(np.where(mask, scaled_scores, given["sentinel"])),
    }


def sa048(lib, given):
    query, key, value = (given[role] for role in ROLES)
    scale = 1 / given["divisor"]
    scaled_scores = lib.scaled_scores(query, key, scale=scale)
    return {
        "scaled_scores": scaled_scores,
        "weights": lib.attention_weights(scaled_scores),
        "output": lib.scaled_dot_product_attention(query, key, value, scale=scale),
        "output_default_scale": lib.scaled_dot_product_attention(query, key, value),
    }


def sa049(lib, given):
    query, key, value = (given[role] for role in ROLES)
    heads = given["num_heads"]
    repeated = [lib.repeat_key_value_heads(x, heads) for x in (key, value)]
    in_turn = (np.concatenate([x, x]) for x in (key, value))
    return {
        "reads": lib.repeat_key_value_heads(np.arange(2.0)[:, None, None], heads).ravel(),
        "key_repeated": repeated[0],
        "value_repeated": repeated[1],
        "weights": lib.attention_weights(lib.scaled_scores(query, repeated[0])),
        "output": lib.scaled_dot_product_attention(query, *repeated),
        "output_in_turn": lib.scaled_dot_product_attention(query, *in_turn),
    }


def sa050(lib, given):
    value, mask = given["value"], given["mask"]
    computed = masked(lib, given, mask)
    # By the book, with −∞ at what is masked and no special case for an empty row.
    scores = np.where(mask, computed["scaled_scores"], -np.inf)
    with np.errstate(invalid="ignore"):
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    by_the_book = exponentials / exponentials.sum(axis=-1, keepdims=True)
    filled = lib.softmax(np.where(mask, computed["scaled_scores"], -1e9))
    return {
        **computed,
        "output_uniform": filled @ value,
        "nan_in_output": np.isnan(by_the_book @ value),
    }


def sa051(lib, given):
    inverted = masked(lib, given, ~given["mask"])
    return {
        **masked(lib, given, given["mask"]),
        "weights_true_hides": inverted["weights"],
        "output_true_hides": inverted["output"],
    }


def sa052(lib, given):
    computed = masked(lib, given, given["mask"])
    padded = np.pad(given["mask_short"], ((0, 0), (0, 1)))
    return {
        **{name: computed[name] for name in ("weights", "output")},
        "output_without_cap": masked(lib, given, None)["output"],
        "output_padded": masked(lib, given, padded)["output"],
    }


def sa053(lib, given):
    w_output = given["w_output"]
    roles = dict(zip(ROLES, projected(given), strict=True))
    heads = {f"{name}_heads": lib.split_heads(x, 2) for name, x in roles.items()}
    computed = {**roles, **heads}
    for sense in ("money", "river"):
        places = given[f"sentence_{sense}"]
        words = given["embeddings"][places]
        query, key, value = (x[:, places] for x in heads.values())
        head_outputs = lib.scaled_dot_product_attention(query, key, value)
        one_head = lib.scaled_scores(roles["query"][places], roles["key"][places])
        every = (words, words, *matrices(given), w_output)
        computed |= {
            f"scores_{sense}": lib.scaled_scores(query, key, scale=1.0),
            f"weights_{sense}": lib.attention_weights(lib.scaled_scores(query, key)),
            f"head_outputs_{sense}": head_outputs,
            f"merged_{sense}": lib.merge_heads(head_outputs),
            f"contributions_{sense}": head_outputs @ w_output.reshape(2, 2, 4),
            f"output_{sense}": lib.multi_head_attention(*every, num_heads=2),
            f"weights_one_head_{sense}": lib.attention_weights(one_head),
            f"output_one_head_{sense}": lib.multi_head_attention(*every, num_heads=1),
        }
    return computed


def sa054(lib, given):
    size = len(given["words"])
    options = {"causal": True, "scale": float(given["scale"])}

    def roles(sources, layer):
        pairs = zip(sources, ROLES, strict=True)
        return [x @ given[f"w_{role}_{layer}"] for x, role in pairs]

    def layer(sources, name):
        query, key, value = roles(sources, name)
        scores = lib.scaled_scores(query, key, scale=1.0)
        mask = lib.causal_mask(len(query))
        weights = lib.attention_weights(options["scale"] * scores, mask=mask)
        return scores, weights, lib.scaled_dot_product_attention(query, key, value, **options)

    def two(text):
        place = np.arange(len(text))
        words = np.zeros((len(text), 3 * size + 3))
        words[:, :size] = np.eye(size)[text]
        words[:, size : size + 3] = np.stack([place**0, place, place**2], axis=1)
        first = layer([words] * 3, "first")
        stream = words + first[2] @ given["w_output_first"]
        return words, *first, stream, *layer([stream] * 3, "second")

    names = "embeddings first_scores first_weights first_output stream second_scores"
    computed = dict(
        zip([*names.split(), "second_weights", "votes"], two(given["text"]), strict=True)
    )
    words, stream = computed["embeddings"], computed["stream"]
    for role in ROLES:
        sources = [words if other == role else stream for other in ROLES]
        computed[f"votes_without_{role}_path"] = layer(sources, "second")[2]
    repeated = two(given["repeated"])
    variants = [given[f"variant_{number}"] for number in ("one", "two", "three", "four")]
    return {
        **computed,
        "first_weights_repeated": repeated[2],
        "second_weights_repeated": repeated[6],
        "votes_repeated": repeated[7],
        "votes_variants": [two(variant)[7][-1] for variant in variants],
    }


def sa055(lib, given):
    length, heads, shared = (given[name] for name in ("length", "num_heads", "num_key_value_heads"))
    width, d_k, d_v = (given[name] for name in ("d_model", "d_k", "d_v"))
    masks = [
        np.ones((length, length), bool),
        lib.causal_mask(length),
        lib.causal_mask(1, length, offset=length - 1),
    ]
    # Which key/value head each query head reads, from what the library repeats.
    reads = lib.repeat_key_value_heads(np.arange(shared)[:, None, None], heads).ravel()
    pairs = np.array([mask.sum() for mask in masks])
    for_scores, for_output = heads * pairs * d_k, heads * pairs * d_v
    new = np.array([len(mask) for mask in masks])
    projecting = new * width * (heads * (d_k + d_v) + shared * (d_k + d_v))
    caches = [lib.KeyValueCache() for _ in range(given["layers"])]
    for cache in caches:
        key, value = (np.zeros((shared, length, d), np.float16) for d in (d_k, d_v))
        cache.attend(np.zeros((shared, length, d_k), np.float16), key, value)
    kept = sum(cache.keys.nbytes + cache.values.nbytes for cache in caches)
    assert given["bytes_per_number"] == np.float16().nbytes
    return {
        "pairs": pairs,
        "scores_multiplications": for_scores,
        "output_multiplications": for_output,
        "projection_multiplications": projecting,
        "operations": 2 * (for_scores + for_output + projecting),
        "uses_of_a_key": np.array([(reads == 0).sum() * m.sum(axis=0) for m in masks]),
        "cache_numbers": kept // 2,
        "cache_bytes": kept,
        "cache_bytes_unshared": kept * heads // shared,
    }


def sa057(lib, given):
    query, key, value = (given[name] for name in ("query", "key", "value"))
    output = lib.scaled_dot_product_attention(query, key, value)
    weights = lib.attention_weights(lib.scaled_scores(query, key))
    d_output = -1 / (1 + np.exp(output))
    back = lib.scaled_dot_product_attention_vjp(query, key, value, d_output)
    moved = key - given["learning_rate"] * back.d_key
    output_after = lib.scaled_dot_product_attention(query, moved, value)
    return {
        "weights": weights,
        "output": output,
        "loss": np.log1p(np.exp(-output[0, 0])),
        "d_output": d_output,
        "d_weights": d_output @ value.T,
        "d_scores": lib.softmax_vjp(weights, d_output @ value.T),
        "d_query": back.d_query,
        "d_key": back.d_key,
        "d_value": back.d_value,
        "key_after": moved,
        "weights_after": lib.attention_weights(lib.scaled_scores(query, moved)),
        "output_after": output_after,
        "loss_after": np.log1p(np.exp(-output_after[0, 0])),
    }


OPTIONS = ("mask", "bias", "scale", "soft_cap", "causal")


def options(given, *names):
    chosen = {name: given[name] for name in names if name in ("mask", "bias")}
    chosen |= {name: float(given[name]) for name in names if name in ("scale", "soft_cap")}
    return chosen | ({"causal": True, "offset": given["offset"]} if "causal" in names else {})


def sa058(lib, given):
    computed = {}
    for sense in ("river", "rates"):
        words = given["embeddings"][given[f"sentence_{sense}"]]
        scores = lib.dot_similarity(words)
        powers = np.exp(scores[1])  # of bank, which is the second word of both
        context = lib.self_attention(words, *[np.eye(2)] * 3, scale=1.0)
        computed |= {
            f"scores_{sense}": scores,
            f"powers_{sense}": powers,
            f"total_{sense}": powers.sum(),
            f"weights_{sense}": lib.attention_weights(scores),
            f"context_{sense}": context,
            f"added_{sense}": words + context,
            f"average_{sense}": words.mean(axis=0),
        }
    return computed


def sa059(lib, given):
    bank, river, silent = given["embeddings"]
    found = []
    for count in given["silent"]:
        words = np.array([bank, river, *[silent] * int(count)])
        scores = lib.dot_similarity(words)[0]
        context = lib.softmax(scores) @ words
        average = words.mean(axis=0)
        leans = [heard[1] - heard[0] for heard in (average, context)]
        ratio = leans[1] / leans[0]
        weight = lib.softmax(scores)[1]
        found.append((np.exp(scores).sum(), weight, average, context, *leans, ratio))
    names = ("total", "weight", "average", "context", "lean_average", "lean_attention", "ratio")
    scores = given["embeddings"] @ bank
    return {"scores": scores} | dict(zip(names, zip(*found, strict=True), strict=True))


def sa060(lib, given):
    words = given["embeddings"][given["sentence"]]
    scores = lib.dot_similarity(words)
    context = lib.self_attention(words, *[np.eye(2)] * 3, scale=1.0)
    return {
        "scores": scores,
        "weights": lib.attention_weights(scores),
        "context": context,
        "added": words + context,
        "average": words.mean(axis=0),
    }


def sa061(lib, given):
    return sa060(lib, given)


def sa062(lib, given):
    matrix, found = given["start"].astype(float), []
    for _ in range(1 + 6):  # before the first step, and after each
        heard, gradient = [], 0
        for sense in ("river", "rates"):
            words = given["embeddings"][given[f"sentence_{sense}"]]
            bank, last = words[1:2], np.eye(len(words))[:, -1:]
            weight = lib.scaled_dot_product_attention(bank @ matrix, words, last, scale=1.0)
            slopes = lib.scaled_dot_product_attention_vjp(
                bank @ matrix, words, last, -1 / weight, scale=1.0
            )
            heard.append(weight[0, 0])
            gradient += bank.T @ slopes[0]
        found.append((heard, -np.log(heard).sum(), gradient, matrix))
        matrix = matrix - given["rate"] * gradient
    heard, loss, gradients, matrices = zip(*found, strict=True)
    return {"heard": heard, "loss": loss, "gradient": gradients[0], "learned": matrices[-1]}


def sa063(lib, given):
    computed = dict(zip(ROLES, projected(given), strict=True))
    for name in ("river", "rates", "paid", "both"):
        words = given["embeddings"][given[f"sentence_{name}"]]
        query, key, _ = projected(given | {"embeddings": words})
        scaled = lib.scaled_scores(query, key)
        output = lib.self_attention(words, *matrices(given))
        if name in ("river", "rates"):
            scores = lib.scaled_scores(query, key, scale=1.0)
            computed |= {f"scores_{name}": scores, f"scaled_scores_{name}": scaled}
        computed |= {
            f"weights_{name}": lib.attention_weights(scaled),
            f"output_{name}": output,
            f"added_{name}": words + output,
        }
    return computed


def sa068(lib, given):
    words, left = given["embeddings"], given["left"]
    scores, count = lib.dot_similarity(words), len(words)
    window = lib.window_mask(count, count, left, 0)
    first = window | (np.arange(count) == 0)
    computed = {"scores": scores, "mask_window": window, "mask_window_first": first}
    masks = {"causal": lib.causal_mask(count), "window": window, "window_first": first}
    for name, mask in masks.items():
        computed |= {
            f"weights_{name}": lib.attention_weights(scores, mask=mask),
            f"context_{name}": lib.scaled_dot_product_attention(
                words, words, words, mask=mask, scale=1.0
            ),
        }
        alike = lib.attention_weights(np.zeros_like(scores), mask=mask)
        layers = [np.linalg.matrix_power(alike, n)[-1] for n in (1, 2, 3)]
        computed |= {f"shares_{name}": layers} if name != "causal" else {}
    return computed


def sa069(lib, given):
    words, prefix = given["embeddings"], given["prefix"]
    scores, count = lib.dot_similarity(words), len(words)
    both_ways = lib.causal_mask(count) | (np.arange(count) < prefix)
    computed = {"scores": scores, "mask_prefix": both_ways}
    for name, mask in {"causal": lib.causal_mask(count), "prefix": both_ways}.items():
        computed |= {
            f"weights_{name}": lib.attention_weights(scores, mask=mask),
            f"context_{name}": lib.scaled_dot_product_attention(
                words, words, words, mask=mask, scale=1.0
            ),
        }
    return computed


def sa080(lib, given):
    attend = partial(lib.scaled_dot_product_attention, *(given[role] for role in ROLES))
    pairs = itertools.combinations(OPTIONS, 2)
    scores = lib.scaled_scores(given["query"], given["key"], scale=float(given["scale"]))
    scores = lib.soft_cap(scores, float(given["soft_cap"])) + given["bias"]
    mask = given["mask"] & lib.causal_mask(3, 5, offset=given["offset"])
    return {
        **{f"output_{a}_{b}": attend(**options(given, a, b)) for a, b in pairs},
        "weights_all": lib.attention_weights(scores, mask=mask),
        "output_all": attend(**options(given, *OPTIONS)),
    }


def sa081(lib, given):
    attend = partial(lib.scaled_dot_product_attention, *(given[role] for role in ROLES))
    masks = [name for name in given if name.startswith("mask")]
    biases = [name for name in given if name.startswith("bias")]
    together = {"mask": given["mask_of_batch"], "bias": given["bias_of_head"]}
    return {
        **{f"output_{name}": attend(mask=given[name]) for name in masks},
        **{f"output_{name}": attend(bias=given[name]) for name in biases},
        "output_together": attend(**together, **options(given, "causal")),
    }


def sa082(lib, given):
    query, key, value = (given[role] for role in ROLES)
    attend = partial(lib.scaled_dot_product_attention, causal=True)
    return {
        "output_more_queries": attend(query, key, value, offset=given["offset"]),
        "output_more_keys": attend(query[:2], key, value, offset=given["offset"]),
        "output_later": attend(query[:2], key, value, offset=given["offset_later"]),
    }


def sa083(lib, given):
    return masked(lib, given, lib.causal_mask(3, 5, offset=given["offset"]))


def sa084(lib, given):
    hidden = masked(lib, given, given["mask"])
    return {
        **masked(lib, given, None),
        "weights_masked": hidden["weights"],
        "output_masked": hidden["output"],
    }


def sa085(lib, given):
    attend = partial(lib.scaled_dot_product_attention, *(given[role] for role in ROLES))
    scaled_scores = lib.scaled_scores(given["query"], given["key"])
    return {
        "weights": lib.attention_weights(scaled_scores, mask=given["mask"]),
        "output": attend(mask=given["mask"]),
        "weights_with_bias": lib.attention_weights(scaled_scores + given["bias"]),
        "output_with_bias": attend(bias=given["bias"]),
        "output_together": attend(mask=given["mask"], bias=given["bias"]),
    }


def sa086(lib, given):
    query, key, value = (given[role] for role in ROLES)
    keys, values, mask = given["key_not_finite"], given["value_not_finite"], given["mask"]
    # By the book: −∞ is added to what is hidden, and all weights multiply all values.
    with np.errstate(invalid="ignore"):
        added = lib.scaled_scores(query, keys) + np.where(mask, 0.0, -np.inf)
        weights = lib.attention_weights(lib.scaled_scores(query, key), mask=mask)
        nan_from_values = np.isnan(weights @ values)
        nan_from_keys = np.isnan(lib.softmax(added) @ value)
    return {
        "weights": weights,
        "output": lib.scaled_dot_product_attention(query, keys, values, mask=mask),
        "output_causal": lib.scaled_dot_product_attention(query, keys, values, causal=True),
        "nan_from_keys": nan_from_keys,
        "nan_from_values": nan_from_values,
    }


def sa087(lib, given):
    def slopes(heads):
        whole = 2 ** int(np.log2(heads))
        rest = np.arange(1, 2 * (heads - whole), 2) / (2 * whole)
        powers = np.concatenate([np.arange(1, whole + 1) / whole, rest])
        return 2.0 ** -(given["span"] * powers)

    names = ("one", "two", "four", "eight", "six", "twelve")
    every = {name: slopes(n) for name, n in zip(names, given["heads"], strict=True)}
    query, key, value = (given[role] for role in ROLES)
    offset = given["offset"]
    distances = np.arange(3)[:, None] + offset - np.arange(5)
    bias = -every["two"][:, None, None] * distances
    scores = lib.scaled_scores(query, key) + bias
    return {
        **{f"slopes_{name}": row for name, row in every.items()},
        "bias": bias,
        "weights": lib.attention_weights(scores, mask=lib.causal_mask(3, 5, offset=offset)),
        "output": lib.scaled_dot_product_attention(
            query, key, value, bias=bias, causal=True, offset=offset
        ),
    }


def sa088(lib, given):
    scores = given["scores"]
    natural = lib.log_sum_exp(scores, mask=given["mask"])
    return {
        "log_sum_exp_all": lib.log_sum_exp(scores),
        "log_sum_exp": natural,
        "log_sum_exp_base_two": natural / np.log(2),
        "log_sum_exp_plus": np.where(np.isinf(natural), np.inf, natural),
    }


def sa089(lib, given):
    x, positions, base = given["x"], given["positions"], float(given["base"])
    return {
        "frequencies": base ** (-np.arange(0, 6, 2) / 6),
        "rotated_halves": lib.rotate_pairs(x, positions, base=base),
        "rotated_neighbors": lib.rotate_pairs(x, positions, base=base, interleaved=True),
    }


def sa090(lib, given):
    return masked(lib, given, lib.causal_mask(3))


def sa091(lib, given):
    query, key, value = (given[role] for role in ROLES)
    cache = lib.KeyValueCache()
    steps = [slice(t, t + 1) for t in range(len(query))]
    return {"output": np.concatenate([cache.attend(query[t], key[t], value[t]) for t in steps])}


def sa092(lib, given):
    computed = {}
    for name in (*OPTIONS, "all"):
        names = OPTIONS if name == "all" else (name,)
        arrays = (given[part] for part in (*ROLES, "d_output"))
        back = lib.scaled_dot_product_attention_vjp(*arrays, **options(given, *names))
        computed |= {f"{part}_{name}": x for part, x in back._asdict().items()}
    return computed


def sa093(lib, given):
    attend = partial(lib.scaled_dot_product_attention, given["query"])
    of_head, of_sequence = (
        (given[f"key_of_{owner}"], given[f"value_of_{owner}"]) for owner in ("head", "sequence")
    )
    five = (given[name] for name in ("query_of_five_axes", "key", "value"))
    inside = partial(lib.scaled_dot_product_attention, *five)
    reached = given["mask_of_query"] | np.zeros((2, 2, 1, 2), bool)
    hidden = attend(*of_head, mask=given["mask_of_query"])
    mean = of_head[1].mean(axis=-2, keepdims=True)
    return {
        "output_of_head": attend(*of_head),
        "output_of_sequence": attend(*of_sequence),
        "output_of_both": attend(of_sequence[0], of_head[1]),
        "output_of_both_others": attend(of_head[0], of_sequence[1]),
        "output_mask_of_head": attend(*of_head, mask=given["mask_of_head"]),
        "output_bias_of_head": attend(*of_head, bias=given["bias_of_head"]),
        "output_bias_of_key": attend(*of_head, bias=given["bias_of_key"]),
        "output_bias_of_query": attend(*of_head, bias=given["bias_of_query"]),
        "output_mask_of_query": hidden,
        "output_uniform": np.where(reached, hidden, mean),
        "nan_in_output": ~reached,
        "output_bias_and_mask": attend(
            *of_head, mask=given["mask_of_queries"], bias=given["bias_of_key"]
        ),
        "output_of_four_axes": inside(mask=given["mask_of_four_axes"]),
        "output_of_five_axes": inside(mask=given["mask_of_five_axes"]),
    }


def sa094(lib, given):
    query, key, value = (given[role] for role in ROLES)
    attend = partial(lib.scaled_dot_product_attention, query, key)
    names = ("fine", "negative", "steep", "zero")
    scales = {name: float(given[f"scale_{name}"]) for name in names}
    cap = float(given["soft_cap"])
    return {
        "output": attend(value),
        "output_scaled": attend(value, scale=scales["fine"]),
        "output_negative": attend(value, scale=scales["negative"]),
        "output_negative_capped": attend(value, scale=scales["negative"], soft_cap=cap),
        "output_steep": attend(value, scale=scales["steep"]),
        "output_steep_capped": attend(value, scale=scales["steep"], soft_cap=cap),
        "output_level": attend(value, scale=scales["zero"]),
        "output_capped": attend(value, soft_cap=cap),
        "output_fine_bias": attend(value, bias=given["bias"]),
        "output_late": attend(value, causal=True, offset=given["offset"]),
        "output_late_masked": attend(
            value, mask=given["mask"], causal=True, offset=given["offset"]
        ),
        "output_quiet": lib.scaled_dot_product_attention(
            query, given["key_loud"], value, mask=given["mask"]
        ),
        "output_large": attend(given["value_large"]),
        "output_one": lib.scaled_dot_product_attention(query[:1], key[:1], value[:1]),
    }


def sa095(lib, given):
    arrays = [given[part] for part in (*ROLES, "d_output")]
    computed = {}
    for suffix, names in (("", ()), ("_bias", ("bias",)), ("_all", ("mask", "bias", "soft_cap"))):
        back = lib.scaled_dot_product_attention_vjp(*arrays, **options(given, *names))
        computed |= {f"{part}{suffix}": x for part, x in back._asdict().items()}
        computed |= {f"d_bias{suffix}": back.d_bias} if names else {}
    return computed


def sa097(lib, given):
    x, mask = given["x"], given["mask"]
    attend = partial(lib.scaled_dot_product_attention, x, x, x)
    output = attend(mask=mask, causal=True)
    nobody = ~(mask & lib.causal_mask(4)).any(axis=-1, keepdims=True)
    return {
        "output": output,
        "output_uniform": np.where(nobody, x.mean(axis=0), output),
        "output_unmasked": np.where(nobody, attend(), output),
        "nan_in_output": nobody | np.zeros(x.shape, bool),
        "output_mask": attend(mask=mask),
        "output_causal": attend(causal=True),
    }


def sa096(lib, given):
    turn = partial(lib.rotate_pairs, base=float(given["base"]))
    one = partial(lib.rotate_pairs, given["x_one"], given["positions_one"])
    bases = {size: float(given[f"base_{size}"]) for size in ("other", "large")}
    pairs = (("", False), ("_neighbors", True))
    return {
        **{
            f"rotated_{size}_base{name}": one(base=base, interleaved=neighbors)
            for size, base in bases.items()
            for name, neighbors in pairs
        },
        **{
            f"rotated{of}_{name}": turn(given[x], given[positions], interleaved=neighbors)
            for of, x, positions in (
                ("", "x", "positions"),
                ("_one", "x_one", "positions_one"),
                ("_heads", "x", "positions_of_heads"),
                ("_token", "x_token", "positions_token"),
            )
            for name, neighbors in (("halves", False), ("neighbors", True))
        },
    }


def sa098(lib, given):
    attend = lib.scaled_dot_product_attention

    def of(*owners, **options):
        names = zip(ROLES, owners, strict=True)
        return attend(*(given[f"{role}_of_{owner}"] for role, owner in names), **options)

    mask, bias = given["mask_of_sequence"], given["bias_of_head"]
    return {
        "output_values_shared": of("all", "all", "sequence"),
        "output_queries_shared": of("sequence", "head", "head"),
        "output_keys_shared": of("all", "head", "all"),
        "output_bias": of("all", "all", "all", bias=bias),
        "output_mask_and_bias": of("all", "all", "all", mask=mask, bias=bias),
        "output_one_head": of("sequence", "sequence", "sequence", mask=mask),
        "output_nine": attend(given["nine_queries"], given["nine_keys"], given["nine_values"]),
    }


def sa099(lib, given):
    computed = {}
    shared = {"_keys": ("key", "value"), "_query": ("query",), "_bias": (), "_level": ()}
    for suffix, names in shared.items():
        arrays = (given[f"{role}_shared" if role in names else role] for role in ROLES)
        option = options(given, "bias") if suffix == "_bias" else {}
        option |= {"scale": float(given["scale_zero"])} if suffix == "_level" else {}
        back = lib.scaled_dot_product_attention_vjp(*arrays, given["d_output"], **option)
        computed |= {f"{part}{suffix}": x for part, x in back._asdict().items()}
        computed |= {"d_bias_bias": back.d_bias} if suffix == "_bias" else {}
    return computed


def sa100(lib, given):
    return {"output": lib.scaled_dot_product_attention(*(given[role] for role in ROLES))}


def sa101(lib, given):
    attend = partial(lib.scaled_dot_product_attention, *(given[role] for role in ROLES))
    owners = ("sequences", "heads", "queries")
    parts = [(what, f"{what}_of_{whom}") for what in ("mask", "bias") for whom in owners]
    later = partial(attend, causal=True, offset=given["offset"])
    return {
        "output": attend(mask=given["mask_open"], bias=given["bias_zero"]),
        "output_causal": later(mask=given["mask_open"], bias=given["bias_zero"]),
        **{f"output_{part}": attend(**{what: given[part]}) for what, part in parts},
        "output_bias_of_keys": attend(bias=given["bias_of_keys"]),
        "output_mask_and_bias": later(mask=given["mask_of_heads"], bias=given["bias_of_sequences"]),
    }


def sa102(lib, given):
    def attend(window, place=0, queries=slice(5), keys=6, mask=True, **keywords):
        query, key, value = given["query"][queries], given["key"][:keys], given["value"][:keys]
        seen = lib.window_mask(len(query), keys, *given[f"window_{window}"], offset=place)
        return lib.scaled_dot_product_attention(query, key, value, mask=seen & mask, **keywords)

    offset, mask, bias = given["offset"], given["mask"], given["bias"]
    causal = {"causal": True, "offset": offset}
    return {
        "output_one": attend("before", given["offset_end"], slice(4, 5)),
        "output_stale": attend("before", given["offset_chunk"], slice(4, 5)),
        "output_chunk": attend("before", given["offset_chunk"], slice(3)),
        "output_around": attend("around", keys=5),
        "output_causal": attend("beyond", offset, **causal),
        "output_here": attend("here", offset),
        "output_wide": attend("wide", offset),
        "output_after": attend("after", given["offset_early"]),
        "output_few_keys": attend("before", keys=4),
        "output_mask": attend("beyond", offset, mask=mask),
        "output_bias": attend("around", offset, bias=bias),
        "output_all": attend("before", offset, mask=mask, bias=bias, **causal),
    }


def sa103(lib, given):
    def attend(queries, keys, mask=None, bias=None, **keywords):
        outputs, i, j = [], 0, 0
        for n, m in zip(given[queries], given[keys], strict=True):
            own, other = slice(i, i + n), slice(j, j + m)
            arrays = given["query"][own], given["key"][other], given["value"][other]
            given_here = {"mask": mask, "bias": bias}
            parts = {name: x[own, other] for name, x in given_here.items() if x is not None}
            outputs.append(lib.scaled_dot_product_attention(*arrays, **parts, **keywords))
            i, j = i + n, j + m
        return np.concatenate(outputs)

    apart = partial(attend, "lengths", "lengths_apart")
    zeros = attend("lengths", "lengths_empty")
    nobody = np.repeat(given["lengths_empty"] == 0, given["lengths"])[:, None]
    unmasked = lib.scaled_dot_product_attention(*(given[role] for role in ROLES))
    return {
        "output": attend("lengths", "lengths"),
        "output_causal": attend("lengths", "lengths", causal=True),
        "output_one": attend(
            "lengths_of_one", "lengths_of_caches", causal=True, offset=given["offset"]
        ),
        "output_silent": attend("lengths_silent", "lengths_apart"),
        "output_mask": apart(mask=given["mask"]),
        "output_bias": apart(bias=given["bias"]),
        "output_empty": zeros,
        "output_uniform": np.where(nobody, given["value"].mean(axis=0), zeros),
        "output_unmasked": np.where(nobody, unmasked, zeros),
        "nan_in_output": nobody,
    }


def sa104(lib, given):
    query, mask, bias = given["query"], given["mask"], given["bias"]
    key, value = (lib.repeat_key_value_heads(given[name], 4) for name in ("key", "value"))
    attend = lib.scaled_dot_product_attention
    rounds = (lib.repeat_key_value_heads(given[f"{role}_of_rounds"], 2) for role in ROLES)
    return {
        "output": attend(query, key, value),
        "output_causal": attend(query, key, value, causal=True, offset=given["offset"]),
        "output_mask": attend(query, key, value, mask=mask),
        "output_bias": attend(query, key, value, bias=bias),
        "log_sum_exp_bias": lib.log_sum_exp(lib.scaled_scores(query, key) + bias),
        "output_of_one": attend(query, given["key_of_one"], given["value_of_one"]),
        "output_of_each": attend(query, given["key_of_each"], given["value_of_each"]),
        "output_of_rounds": attend(*rounds),
    }


def sa105(lib, given):
    def attend(role=None, **options):
        names = (f"{name}_not_finite" if name == role else name for name in ROLES)
        return lib.scaled_dot_product_attention(*(given[name] for name in names), **options)

    return {
        "output": attend(),
        **{f"output_{role}": attend(role) for role in ROLES},
        "output_mask": attend("value", mask=given["mask"]),
    }


def sa106(lib, given):
    x, mask, bias = given["x"], given["mask"], given["bias"]
    attend = partial(lib.scaled_dot_product_attention, x, x, x)
    return {
        "scaled_scores": lib.scaled_scores(x, x),
        "output": attend(),
        "output_bias": attend(bias=bias),
        "output_mask": attend(mask=mask),
        "output_mask_of_keys": attend(mask=given["mask_of_keys"]),
        "output_bias_of_keys": attend(bias=given["bias_of_keys"]),
        "output_capped": attend(bias=bias, soft_cap=float(given["soft_cap"])),
        "output_all": attend(mask=mask, bias=bias, causal=True, offset=given["offset"]),
    }


def sa107(lib, given):
    attend = partial(lib.scaled_dot_product_attention, *(given[role] for role in ROLES))
    return {"output_mask": attend(mask=given["mask"]), "output_bias": attend(bias=given["bias"])}


def sa108(lib, given):
    attend = partial(lib.scaled_dot_product_attention, given["query"])
    apart = given["key_of_sequence"], given["value_of_sequence"]
    return {
        "output_value": attend(given["key"], apart[1]),
        "output_key": attend(*apart),
        "output_mask": attend(*apart, mask=given["mask"]),
    }
