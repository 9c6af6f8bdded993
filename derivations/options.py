"""Derivations of the examples in which options meet: with each other, with batches and heads."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

from derivations.algebra import (
    Matrix,
    Real,
    Vector,
    at_most,
    divided_by_root,
    dot,
    dot_products,
    logarithm,
    require,
    total,
    transpose,
)
from derivations.attention import Attention, Options, attend_with
from derivations.beyond import rotated
from derivations.cases import log_sum_exp
from derivations.gradients import central_differences, gradients_with, require_agreement
from derivations.kinds import Expected, Inputs, derivation
from derivations.recording import Words, because, plain, step

NAMES = ("mask", "bias", "scale", "soft_cap", "causal")


def some(inputs: Inputs, *names: str) -> Options:
    """Return the options of these names, as the inputs have them; causal is where it starts."""
    wanted = ["offset" if name == "causal" else name for name in names]
    return Options(**{name: inputs[name] for name in wanted})


def scaled_scores(inputs: Inputs) -> Matrix:
    query, key = inputs["query"], inputs["key"]
    return divided_by_root(dot_products(query, key), len(key[0]))


def attended(inputs: Inputs, options: Options) -> Attention:
    return attend_with(inputs["query"], inputs["key"], inputs["value"], options)


@derivation
def every_pair_of_options(inputs: Inputs) -> Expected:
    pairs = itertools.combinations(NAMES, 2)
    together = attended(inputs, some(inputs, *NAMES))
    return {
        **{f"output_{a}_{b}": attended(inputs, some(inputs, a, b)).output for a, b in pairs},
        "weights_all": together.weights,
        "output_all": together.output,
    }


@derivation
def more_queries_and_more_keys(inputs: Inputs) -> Expected:
    keys = inputs["key"], inputs["value"]
    few = inputs["query"][:2]
    return {
        "output_more_queries": attend_with(inputs["query"], *keys, some(inputs, "causal")).output,
        "output_more_keys": attend_with(few, *keys, some(inputs, "causal")).output,
        "output_later": attend_with(few, *keys, Options(offset=inputs["offset_later"])).output,
    }


@derivation
def hidden_scores_a_thousand_larger(inputs: Inputs) -> Expected:
    masked = attended(inputs, some(inputs, "mask"))
    causal = attended(inputs, some(inputs, "causal"))
    require(masked.output == causal.output, "the mask is not the causal one")
    return {
        "scaled_scores": scaled_scores(inputs),
        "weights": masked.weights,
        "output": masked.output,
    }


@derivation
def values_that_an_option_seldom_has(inputs: Inputs) -> Expected:
    query, key = inputs["query"], inputs["key"]
    scale, cap = inputs["scale_negative"], inputs["soft_cap"]
    far, large = inputs["offset"], inputs["value_large"]
    hidden = Options(mask=inputs["mask"] * len(query))
    return {
        "output": attended(inputs, Options()).output,
        "output_scaled": attended(inputs, Options(scale=inputs["scale_fine"])).output,
        "output_negative": attended(inputs, Options(scale=scale)).output,
        "output_negative_capped": attended(inputs, Options(scale=scale, soft_cap=cap)).output,
        "output_steep": attended(inputs, Options(scale=inputs["scale_steep"])).output,
        "output_steep_capped": attended(
            inputs, Options(scale=inputs["scale_steep"], soft_cap=cap)
        ).output,
        "output_level": attended(inputs, Options(scale=inputs["scale_zero"])).output,
        "output_capped": attended(inputs, Options(soft_cap=cap)).output,
        "output_fine_bias": attended(inputs, some(inputs, "bias")).output,
        "output_late": attended(inputs, Options(offset=far)).output,
        "output_late_masked": attended(inputs, hidden._replace(offset=far)).output,
        "output_quiet": attend_with(query, inputs["key_loud"], inputs["value"], hidden).output,
        "output_large": attend_with(query, key, large, Options()).output,
        "output_one": inputs["value"][:1],
    }


@derivation
def values_that_a_half_does_not_hold(inputs: Inputs) -> Expected:
    return {"output": attended(inputs, Options()).output}


@derivation
def scores_near_minus_a_hundred_thousand(inputs: Inputs) -> Expected:
    plain, masked = attended(inputs, Options()), attended(inputs, some(inputs, "mask"))
    return {
        "scaled_scores": scaled_scores(inputs),
        "weights": plain.weights,
        "output": plain.output,
        "weights_masked": masked.weights,
        "output_masked": masked.output,
    }


@derivation
def a_first_tile_without_keys(inputs: Inputs) -> Expected:
    by_mask, by_bias = (attended(inputs, some(inputs, name)) for name in ("mask", "bias"))
    return {
        "weights": by_mask.weights,
        "output": by_mask.output,
        "weights_with_bias": by_bias.weights,
        "output_with_bias": by_bias.output,
        "output_together": attended(inputs, some(inputs, "mask", "bias")).output,
    }


@derivation
def many_positions_in_two_layouts(inputs: Inputs) -> Expected:
    width = len(inputs["x"][0])
    frequencies = [
        step("power", inputs["base"], Fraction(-2 * i, width)) for i in range(width // 2)
    ]
    expected: Expected = {"frequencies": frequencies}
    for name, neighbors in (("halves", False), ("neighbors", True)):
        expected[f"rotated_{name}"] = [
            rotated(x, t, frequencies, neighbors=neighbors)
            for x, t in zip(inputs["x"], inputs["positions"], strict=True)
        ]
    return expected


@derivation
def positions_of_several_sequences(inputs: Inputs) -> Expected:
    width = 4
    frequencies, *others = (
        [step("power", inputs[base], Fraction(-2 * i, width)) for i in range(width // 2)]
        for base in ("base", "base_other", "base_large")
    )
    alone = [*rows(inputs["x_one"], inputs["positions_one"])]
    expected: Expected = {}
    for name, neighbors in (("halves", False), ("neighbors", True)):
        expected[f"rotated_{name}"] = [
            [
                [rotated(x, t, frequencies, neighbors=neighbors) for x, t in rows(head, positions)]
                for head in heads
            ]
            for heads, (positions,) in rows(inputs["x"], inputs["positions"])
        ]
        expected[f"rotated_one_{name}"] = [
            [rotated(x, t, frequencies, neighbors=neighbors)] for (x,), (t,) in alone
        ]
        expected[f"rotated_heads_{name}"] = [
            [
                [rotated(x, t, frequencies, neighbors=neighbors) for x, t in rows(*pair)]
                for pair in rows(heads, inputs["positions_of_heads"])
            ]
            for heads in inputs["x"]
        ]
        expected[f"rotated_token_{name}"] = [
            [[rotated(x, t, frequencies, neighbors=neighbors)] for (x,) in heads]
            for heads, ((t,),) in rows(inputs["x_token"], inputs["positions_token"])
        ]
        for size, other in zip(("other", "large"), others, strict=True):
            expected[f"rotated_{size}_base" + "_neighbors" * neighbors] = [
                [rotated(x, t, other, neighbors=neighbors)] for (x,), (t,) in alone
            ]
    return expected


def rows(*arrays: Any) -> Any:
    return zip(*arrays, strict=True)


@derivation
def a_long_decode_over_a_stale_cache(inputs: Inputs) -> Expected:
    output: list[Vector] = []
    for t, query in enumerate(inputs["query"]):
        written = inputs["key"][: t + 1], inputs["value"][: t + 1]
        output += attend_with([query], *written, Options()).output
    return {"output": output}


@derivation
def backward_through_every_option(inputs: Inputs) -> Expected:
    given = roles_of(inputs)
    expected: Expected = {}
    for option in (*NAMES, "all"):
        options = some(inputs, *(NAMES if option == "all" else [option]))
        back = gradients_with(*given, inputs["d_output"], options)
        expected |= {f"d_{role}_{option}": back[role] for role in ("query", "key", "value")}
    require_slopes(given, inputs["d_output"], options, back)
    return expected


def require_slopes(
    given: tuple[Matrix, Matrix, Matrix],
    d_output: Matrix,
    options: Options,
    back: dict[str, Matrix],
) -> None:
    """Require that central differences of Σ output · d_output give the same gradients."""
    for place, role in enumerate(("query", "key", "value")):

        def loss(x: Matrix, place: int = place) -> Real:
            query, key, value = (x if one == place else part for one, part in enumerate(given))
            output = attend_with(query, key, value, options).output
            return total(dot(o, d) for o, d in zip(output, d_output, strict=True))

        require_agreement(f"d_{role}", back[role], central_differences(loss, given[place]))


def slopes(heads: Real, span: Real) -> Vector:
    """Return the slopes of ALiBi: powers of two, and of twice as many heads every other one."""
    whole = 2 ** (int(heads).bit_length() - 1)
    ratios = [Fraction(-(h + 1), whole) for h in range(whole)]
    ratios += [Fraction(-(2 * h + 1), 2 * whole) for h in range(int(heads) - whole)]
    return [
        because(step("power", 2, span * ratio, words=Words("slope")), heads) for ratio in ratios
    ]


@derivation
def slopes_that_grow_with_the_distance(inputs: Inputs) -> Expected:
    counts, names = inputs["heads"], ("one", "two", "four", "eight", "six", "twelve")
    every = {n: slopes(count, inputs["span"]) for n, count in zip(names, counts, strict=True)}
    (query, key, value), offset = roles_of(inputs), inputs["offset"]
    bias = [
        [[-slope * (i + offset - j) for j in range(len(key[0]))] for i in range(len(query[0]))]
        for slope in every["two"]
    ]
    heads = [
        attend_with(q, k, v, Options(bias=b, offset=offset))
        for q, k, v, b in zip(query, key, value, bias, strict=True)
    ]
    return {
        **{f"slopes_{name}": row for name, row in every.items()},
        "bias": bias,
        "weights": [head.weights for head in heads],
        "output": [head.output for head in heads],
    }


def roles_of(inputs: Inputs) -> tuple[Any, Any, Any]:
    return inputs["query"], inputs["key"], inputs["value"]


@derivation
def not_finite_behind_a_mask(inputs: Inputs) -> Expected:
    masked = attended(inputs, some(inputs, "mask"))
    causal = attended(inputs, some(inputs, "causal"))
    keys, values = inputs["key_not_finite"], inputs["value_not_finite"]
    # By the book a weight is no number if any score of its row is none, and 0 · NaN is NaN.
    in_keys = [x for row in keys for x in row]
    columns = list(zip(*values, strict=True))
    rows = inputs["query"]
    return {
        "weights": masked.weights,
        "output": masked.output,
        "output_causal": causal.output,
        "nan_from_keys": [[not_finite(in_keys) for _ in columns] for _ in rows],
        "nan_from_values": [[not_finite(column) for column in columns] for _ in rows],
    }


def not_finite(entries: Vector) -> Any:
    return because(any(isinstance(plain(x), float) for x in entries), *entries)


@derivation
def hidden_by_two_masks_together(inputs: Inputs) -> Expected:
    x, mask = inputs["x"], inputs["mask"]
    by_mask, by_causal = Options(mask), Options(offset=0)
    together = attend_with(x, x, x, Options(mask, offset=0)).output
    seen = [[at_most(j, i) for j in range(len(x))] for i in range(len(x))]
    nobody = [
        because(not any(a and b for a, b in rows(may, before)), *may)
        for may, before in rows(mask, seen)
    ]
    unmasked = attend_with(x, x, x, Options()).output
    mean = [total(column) / len(column) for column in transpose(x)]
    return {
        "output": together,
        "output_uniform": [
            [because(x, no) for x in (mean if no else row)] for no, row in rows(nobody, together)
        ],
        "output_unmasked": [
            [because(x, no) for x in (other if no else row)]
            for no, other, row in rows(nobody, unmasked, together)
        ],
        "nan_in_output": [[no, no] for no in nobody],
        "output_mask": attend_with(x, x, x, by_mask).output,
        "output_causal": attend_with(x, x, x, by_causal).output,
    }


@derivation
def log_sum_exp_in_two_bases(inputs: Inputs) -> Expected:
    seen = [
        [because(s, *allowed) for s, may in zip(scores, allowed, strict=True) if may]
        for scores, allowed in zip(inputs["scores"], inputs["mask"], strict=True)
    ]
    natural = [log_sum_exp(row) if row else None for row in seen]

    def or_infinite(results: Vector, infinity: float) -> Vector:
        pairs = zip(results, inputs["mask"], strict=True)
        nothing = Words(says="every key is hidden: there is nothing to add up")
        return [because(infinity, *row, words=nothing) if x is None else x for x, row in pairs]

    return {
        "log_sum_exp_all": [log_sum_exp(row) for row in inputs["scores"]],
        "log_sum_exp": or_infinite(natural, -math.inf),
        "log_sum_exp_base_two": or_infinite(
            [None if x is None else x / logarithm(2) for x in natural], -math.inf
        ),
        "log_sum_exp_plus": or_infinite(natural, math.inf),
    }


@derivation
def few_keys_and_every_digit(inputs: Inputs) -> Expected:
    weights, output = attended(inputs, Options(offset=0))
    return {"scaled_scores": scaled_scores(inputs), "weights": weights, "output": output}
