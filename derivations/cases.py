"""Derivations of the cases that a field needs: options, sizes, masks, and where programs differ."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import mpmath

from derivations.algebra import (
    Matrix,
    Real,
    Vector,
    at_largest,
    at_most,
    both,
    divided_by_root,
    dot_products,
    exponential,
    if_so,
    largest,
    logarithm,
    mean,
    product,
    require,
    rows,
    times,
    total,
    transpose,
    true_hides,
)
from derivations.attention import Attention, Mask, attend, causal, weights_of
from derivations.kinds import Expected, Inputs, derivation
from derivations.recording import Words, because, chosen, step


class Roles(NamedTuple):
    query: Matrix
    key: Matrix
    value: Matrix


def given(inputs: Inputs) -> Roles:
    return Roles(inputs["query"], inputs["key"], inputs["value"])


def scaled(query: Matrix, key: Matrix) -> Matrix:
    return divided_by_root(dot_products(query, key), len(key[0]))


def shared_out(scores: Matrix, value: Matrix, mask: Mask | None = None) -> Attention:
    weights = weights_of(scores, mask)
    return Attention(weights, product(weights, value))


def named(attention: Attention, suffix: str = "") -> Expected:
    return {f"weights{suffix}": attention.weights, f"output{suffix}": attention.output}


def require_equal(what: str, x: Matrix, y: Matrix) -> None:
    """Require two routes to the same numbers to agree in all but the last five digits."""
    limit = mpmath.mpf(10) ** (5 - mpmath.mp.dps)
    for one, other in zip(x, y, strict=True):
        agree = all(abs(a - b) < limit for a, b in zip(one, other, strict=True))
        require(agree, f"two routes to {what} disagree")


def window(inputs: Inputs, queries: int, keys: int) -> Mask:
    """Return which keys stand at most `left` before and `right` after the place of each query."""
    left, right, offset = (inputs[name] for name in ("left", "right", "offset"))
    places = [i + offset for i in range(queries)]
    return [
        [both(at_most(place - left, j), at_most(j, place + right)) for j in range(keys)]
        for place in places
    ]


def up_to(offset: int, queries: int, keys: int) -> Mask:
    return [[at_most(j, i + offset) for j in range(keys)] for i in range(queries)]


@derivation
def bias_by_distance(inputs: Inputs) -> Expected:
    query, key, value = given(inputs)
    scaled_scores = scaled(query, key)
    biased_scores = with_bias(scaled_scores, inputs["bias"])
    return {
        "scaled_scores": scaled_scores,
        "biased_scores": biased_scores,
        **named(shared_out(biased_scores, value)),
        **named(attend(query, key, value), "_without_bias"),
    }


def with_bias(scores: Matrix, bias: Matrix) -> Matrix:
    words = Words("score with its bias")
    return [
        [step("sum", *pair, words=words) for pair in zip(*same_row, strict=True)]
        for same_row in zip(scores, bias, strict=True)
    ]


def capped(scores: Matrix, cap: Real) -> Matrix:
    return [[cap * step("tanh", s / cap) for s in row] for row in scores]


@derivation
def cap_before_and_after_a_bias(inputs: Inputs) -> Expected:
    (query, key, value), cap, bias = given(inputs), inputs["soft_cap"], inputs["bias"]
    scaled_scores = scaled(query, key)
    capped_scores = capped(scaled_scores, cap)
    before = shared_out(with_bias(capped_scores, bias), value)
    after = shared_out(capped(with_bias(scaled_scores, bias), cap), value)
    return {
        "scaled_scores": scaled_scores,
        "capped_scores": capped_scores,
        **named(before),
        **named(after, "_cap_after_bias"),
        "output_without_bias": shared_out(capped_scores, value).output,
    }


@derivation
def attention_in_a_window(inputs: Inputs) -> Expected:
    query, key, value = given(inputs)
    mask = window(inputs, len(query), len(key))
    return {
        "mask": mask,
        "scaled_scores": scaled(query, key),
        **named(attend(query, key, value, mask)),
        "output_unmasked": attend(query, key, value).output,
    }


@derivation
def a_batch_with_padding(inputs: Inputs) -> Expected:
    padding = Words(says="nobody listens to padding: the share is 0")
    mask = []
    attended = []
    scores = []
    # A sentence at a time, its padding cut off instead of hidden.
    for query, key, value, length in zip(*given(inputs), inputs["lengths"], strict=True):
        kept = int(length)
        weights, output = attend(query, key[:kept], value[:kept])
        visible = [at_most(j + 1, length) for j in range(len(key))]
        mask.append([visible])
        padded = [
            [
                because(row[j], may, length) if may else chosen(0, may, length, words=padding)
                for j, may in enumerate(visible)
            ]
            for row in weights
        ]
        output = [[because(x, length) for x in row] for row in output]
        attended.append(Attention(padded, output))
        scores.append(scaled(query, key))
    return {
        "mask": mask,
        "scaled_scores": scores,
        "weights": [one.weights for one in attended],
        "output": [one.output for one in attended],
    }


@derivation
def attention_across_two_sequences(inputs: Inputs) -> Expected:
    query, key, value = given(inputs)
    return {"scaled_scores": scaled(query, key), **named(attend(query, key, value))}


@derivation
def causal_from_two_corners(inputs: Inputs) -> Expected:
    query, key, value = given(inputs)
    upper = up_to(0, len(query), len(key))
    lower = up_to(len(key) - len(query), len(query), len(key))
    return {
        "scaled_scores": scaled(query, key),
        "mask": upper,
        **named(attend(query, key, value, upper)),
        "mask_lower_right": lower,
        **named(attend(query, key, value, lower), "_lower_right"),
    }


@derivation
def two_packed_sentences(inputs: Inputs) -> Expected:
    (query, key, value), segments = given(inputs), inputs["segments"]
    segment_mask = [[step("equal", one, other) for other in segments] for one in segments]
    order = causal(len(segments))
    mask = [
        [both(same, before) for same, before in zip(*pair, strict=True)]
        for pair in zip(segment_mask, order, strict=True)
    ]
    packed = attend(query, key, value, mask)
    alone: list[Vector] = []
    for segment in dict.fromkeys(segments):
        places = [i for i, one in enumerate(segments) if one == segment]
        sentence = Roles(rows(query, places), rows(key, places), rows(value, places))
        alone += attend(*sentence, causal(len(places))).output
    require_equal("the output", packed.output, alone)
    return {
        "segment_mask": segment_mask,
        "mask": mask,
        "scaled_scores": scaled(query, key),
        **named(packed),
        "output_not_separated": attend(query, key, value, order).output,
    }


@derivation
def a_sink_beside_three_keys(inputs: Inputs) -> Expected:
    (query, key, value), real_keys = given(inputs), inputs["without_sink"]
    (sink,) = set(range(len(key))) - {int(i) for i in real_keys}
    require(not any(value[sink]), "the value of the sink is not zero")
    scaled_scores = scaled(query, key)
    biased = with_bias(scaled_scores, [*inputs["bias"] * len(query)])
    with_sink = shared_out(biased, value)
    without = attend(query, rows(key, real_keys), rows(value, real_keys))
    # What the others share is what the sink leaves.
    left = [1 - row[sink] for row in with_sink.weights]
    shrunk = [[part * o for o in row] for part, row in zip(left, without.output, strict=True)]
    require_equal("the output", with_sink.output, shrunk)
    return {
        "scaled_scores": scaled_scores,
        **named(with_sink),
        **named(without, "_without_sink"),
    }


@derivation
def equal_scores(inputs: Inputs) -> Expected:
    query, key, value = given(inputs)
    scores = dot_products(query, key)
    return {
        "scaled_scores": scaled(query, key),
        **named(attend(query, key, value)),
        **named(shared_out(times(scores, inputs["scale"]), value), "_sharp"),
        "output_first_wins": [at_largest(row, value) for row in scores],
    }


def log_sum_exp(scores: Vector) -> Real:
    highest = largest(scores)
    return highest + logarithm(total(exponential(score - highest) for score in scores))


@derivation
def scores_near_ten_thousand(inputs: Inputs) -> Expected:
    (query, key, value), mask = given(inputs), inputs["mask"]
    scaled_scores = scaled(query, key)
    filled = [
        [if_so(may, s, inputs["sentinel"]) for s, may in zip(*pair, strict=True)]
        for pair in zip(scaled_scores, mask, strict=True)
    ]
    return {
        "scaled_scores": scaled_scores,
        **named(shared_out(scaled_scores, value)),
        "log_sum_exp": [log_sum_exp(row) for row in scaled_scores],
        **named(shared_out(scaled_scores, value, mask), "_masked"),
        "weights_filled": weights_of(filled),
    }


@derivation
def products_beyond_sixteen_bits(inputs: Inputs) -> Expected:
    query, key, value = given(inputs)
    small = times(dot_products(query, key), 1 / inputs["divisor"])
    return {
        "scaled_scores": small,
        **named(shared_out(small, value)),
        "output_default_scale": attend(query, key, value).output,
    }


@derivation
def one_token_with_grouped_heads(inputs: Inputs) -> Expected:
    query, key, value = given(inputs)
    heads, group = len(query), len(query) // len(key)
    reads = [h // group for h in range(heads)]
    in_turn = [h % len(key) for h in range(heads)]

    def attended(order: list[int]) -> list[Attention]:
        return [attend(q, key[g], value[g]) for q, g in zip(query, order, strict=True)]

    return {
        "reads": [Fraction(g) for g in reads],
        "key_repeated": [key[g] for g in reads],
        "value_repeated": [value[g] for g in reads],
        "weights": [one.weights for one in attended(reads)],
        "output": [one.output for one in attended(reads)],
        "output_in_turn": [one.output for one in attended(in_turn)],
    }


@derivation
def queries_before_the_first_key(inputs: Inputs) -> Expected:
    (query, key, value), mask = given(inputs), inputs["mask"]
    weights, output = attend(query, key, value, mask)
    average = [mean(column) for column in transpose(value)]
    return {
        "scaled_scores": scaled(query, key),
        "weights": weights,
        "output": output,
        "output_uniform": [
            [because(x, *allowed) for x in (row if any(allowed) else average)]
            for row, allowed in zip(output, mask, strict=True)
        ],
        "nan_in_output": [
            [because(not any(allowed), *allowed) for _ in value[0]] for allowed in mask
        ],
    }


@derivation
def one_mask_read_in_two_ways(inputs: Inputs) -> Expected:
    (query, key, value), mask = given(inputs), inputs["mask"]
    return {
        "scaled_scores": scaled(query, key),
        **named(attend(query, key, value, mask)),
        **named(
            attend(query, key, value, [true_hides(row) for row in mask]),
            "_true_hides",
        ),
    }


@derivation
def the_call_that_fits(inputs: Inputs) -> Expected:
    padded = [[*row, because(False, *row)] for row in inputs["mask_short"]]
    return {
        **named(attend(*given(inputs), inputs["mask"])),
        "output_without_cap": attend(*given(inputs)).output,
        "output_padded": attend(*given(inputs), padded).output,
    }
