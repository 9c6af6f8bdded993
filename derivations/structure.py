"""Derivations of the examples of what programs skip, cut out, pack or share in order to be fast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from derivations.algebra import (
    Matrix,
    Real,
    Vector,
    at_most,
    both,
    divided_by_root,
    dot_products,
    mean,
    transpose,
)
from derivations.attention import Mask, Options, attend_with
from derivations.broadcasting import at, broadcast, nested, outputs
from derivations.cases import log_sum_exp
from derivations.kinds import Expected, Inputs, derivation
from derivations.options import roles_of
from derivations.recording import Words, because, plain


@derivation
def options_that_change_nothing(inputs: Inputs) -> Expected:
    given, offset = ((2, 2), *roles_of(inputs)), inputs["offset"]
    owners = ("sequences", "heads", "queries")
    parts = [(what, f"{what}_of_{whom}") for what in ("mask", "bias") for whom in owners]
    together = inputs["mask_of_heads"], inputs["bias_of_sequences"], offset
    return {
        "output": outputs(*given),
        "output_causal": outputs(*given, offset=offset),
        **{f"output_{part}": outputs(*given, **{what: inputs[part]}) for what, part in parts},
        "output_bias_of_keys": outputs(*given, bias=[inputs["bias_of_keys"]]),
        "output_mask_and_bias": outputs(*given, *together),
    }


def in_window(window: Any, queries: int, keys: int, offset: Any = 0) -> Mask:
    left, right = window
    return [
        [both(at_most(i + offset - left, j), at_most(j, i + offset + right)) for j in range(keys)]
        for i in range(queries)
    ]


def both_of(one: Mask, other: Mask) -> Mask:
    pairs = zip(one, other, strict=True)
    return [[both(*x) for x in zip(*rows, strict=True)] for rows in pairs]


@derivation
def windows_as_arguments(inputs: Inputs) -> Expected:
    query, key, value = roles_of(inputs)

    def attended(window: str, offset: Any = 0, at: slice = slice(5), **given: Any) -> Matrix:
        k, v = given.get("key", key), given.get("value", value)
        seen = in_window(inputs[f"window_{window}"], len(query[at]), len(k), offset)
        if "mask" in given:
            seen = both_of(seen, given["mask"])
        options = Options(seen, given.get("bias"), offset=given.get("causal"))
        return attend_with(query[at], k, v, options).output

    last, few = slice(4, 5), slice(3)
    offset, mask, bias = inputs["offset"], inputs["mask"], inputs["bias"]
    return {
        "output_one": attended("before", inputs["offset_end"], last),
        "output_stale": attended("before", inputs["offset_chunk"], last),
        "output_chunk": attended("before", inputs["offset_chunk"], few),
        "output_around": attended("around", key=key[:5], value=value[:5]),
        "output_causal": attended("beyond", offset, causal=offset),
        "output_here": attended("here", offset),
        "output_wide": attended("wide", offset),
        "output_after": attended("after", inputs["offset_early"]),
        "output_few_keys": attended("before", key=key[:4], value=value[:4]),
        "output_mask": attended("beyond", offset, mask=mask),
        "output_bias": attended("around", offset, bias=bias),
        "output_all": attended("before", offset, causal=offset, mask=mask, bias=bias),
    }


def in_sequence(queries: Any, keys: Any, offset: Any = None) -> Mask:
    """Return which keys are of the sequence of a query, by the lengths of all sequences.

    With an offset, only those are let through that stand no later in it than the query.
    """
    said = [*queries, *keys, *([] if offset is None else [offset])]
    # For each position its sequence, and its place in it.
    where = [
        [(s, i) for s, n in enumerate(lengths) for i in range(int(plain(n)))]
        for lengths in (queries, keys)
    ]

    def sees(query: tuple[int, int], key: tuple[int, int]) -> bool:
        return query[0] == key[0] and (offset is None or key[1] <= query[1] + plain(offset))

    return [[because(sees(query, key), *said) for key in where[1]] for query in where[0]]


@derivation
def sequences_one_after_another(inputs: Inputs) -> Expected:
    query, key, value = roles_of(inputs)
    lengths, apart, offset = (inputs[n] for n in ("lengths", "lengths_apart", "offset"))
    ones, caches = inputs["lengths_of_one"], inputs["lengths_of_caches"]

    def attended(seen: Mask, bias: Any = None) -> Matrix:
        some = query[: len(seen)], key[: len(seen[0])], value[: len(seen[0])]
        return attend_with(*some, Options(seen, bias)).output

    empty = in_sequence(lengths, inputs["lengths_empty"])
    nobody = [because(not any(map(plain, row)), *row) for row in empty]
    zeros, unmasked = attended(empty), attend_with(query, key, value, Options()).output
    average = [[mean(column) for column in transpose(value)]] * len(query)

    def instead(others: Matrix) -> Matrix:
        """Return what a query without keys gives instead of zeros."""
        pairs = zip(nobody, zeros, others, strict=True)
        return [[because(x, none) for x in (b if none else a)] for none, a, b in pairs]

    return {
        "output": attended(in_sequence(lengths, lengths)),
        "output_causal": attended(in_sequence(lengths, lengths, 0)),
        "output_one": attended(in_sequence(ones, caches, offset)),
        "output_silent": attended(in_sequence(inputs["lengths_silent"], apart)),
        "output_mask": attended(both_of(in_sequence(lengths, apart), inputs["mask"])),
        "output_bias": attended(in_sequence(lengths, apart), inputs["bias"]),
        "output_empty": zeros,
        "output_uniform": instead(average),
        "output_unmasked": instead(unmasked),
        "nan_in_output": [[none] for none in nobody],
    }


@derivation
def fewer_heads_of_keys(inputs: Inputs) -> Expected:
    query, bias = inputs["query"], inputs["bias"]

    def repeated(x: Any, times: int) -> Any:
        return [[head for head in heads for _ in range(times)] for heads in x]

    def attended(of: str, times: int, **options: Any) -> Any:
        k, v = (repeated(inputs[f"{role}{of}"], times) for role in ("key", "value"))
        return outputs((2, 4), query, k, v, **options)

    def sums(*index: int) -> list[Any]:
        heads = query, repeated(inputs["key"], 2), broadcast(bias, (2, 4, len(query[0][0]), 3))
        q, k, b = (at(x, index) for x in heads)
        pairs = zip(q, b, strict=True)
        return [
            log_sum_exp([Options().score(x, *y) for y in zip(k, r, strict=True)]) for x, r in pairs
        ]

    rounds = [
        [[[head] * 2 for (head,) in sequences] for sequences in inputs[f"{role}_of_rounds"]]
        for role in ("key", "value")
    ]
    return {
        "output": attended("", 2),
        "output_causal": attended("", 2, offset=inputs["offset"]),
        "output_mask": attended("", 2, mask=inputs["mask"]),
        "output_bias": attended("", 2, bias=bias),
        "log_sum_exp_bias": nested((2, 4), sums),
        "output_of_one": attended("_of_one", 4),
        "output_of_each": attended("_of_each", 1),
        "output_of_rounds": outputs((2, 2, 2), inputs["query_of_rounds"], *rounds),
    }


@derivation
def one_array_in_three_roles(inputs: Inputs) -> Expected:
    x, mask, bias = inputs["x"], inputs["mask"], inputs["bias"]

    def attended(**given: Any) -> Matrix:
        return attend_with(x, x, x, Options(**given)).output

    return {
        "scaled_scores": divided_by_root(dot_products(x, x), len(x[0])),
        "output": attended(),
        "output_bias": attended(bias=bias),
        "output_mask": attended(mask=mask),
        "output_mask_of_keys": attended(mask=[inputs["mask_of_keys"]] * len(x)),
        "output_bias_of_keys": attended(bias=[inputs["bias_of_keys"]] * len(x)),
        "output_capped": attended(bias=bias, soft_cap=inputs["soft_cap"]),
        "output_all": attended(mask=mask, bias=bias, offset=inputs["offset"]),
    }


@derivation
def keys_that_one_sequence_hides(inputs: Inputs) -> Expected:
    given = (2,), *roles_of(inputs)
    return {
        "output_mask": outputs(*given, mask=inputs["mask"]),
        "output_bias": outputs(*given, bias=inputs["bias"]),
    }


@derivation
def one_array_beside_several(inputs: Inputs) -> Expected:
    query, key = inputs["query"], inputs["key"]
    apart = inputs["key_of_sequence"], inputs["value_of_sequence"]
    return {
        "output_value": outputs((2,), query, key, apart[1]),
        "output_key": outputs((2,), query, *apart),
        "output_mask": outputs((2,), query, *apart, mask=inputs["mask"]),
    }


@derivation
def not_finite_in_sight(inputs: Inputs) -> Expected:
    def touched(
        role: str, sources: Callable[[Matrix, int, int], Vector], mask: Any = None
    ) -> list[list[Vector]]:
        """Return the output where an entry is what is not finite among its sources, if any is."""
        given = inputs[f"{role}_not_finite"]
        # With numbers in place of what is not finite, which no entry that stays depends on.
        finite = [
            [
                [inputs[role][n][i][c] if is_not_finite(x) else x for c, x in enumerate(row)]
                for i, row in enumerate(rows)
            ]
            for n, rows in enumerate(given)
        ]
        output = outputs((2,), *roles_of({**inputs, role: finite}), mask=mask)
        return [
            [
                [kept_or_not(entry, sources(rows, i, c)) for c, entry in enumerate(row)]
                for i, row in enumerate(own)
            ]
            for own, rows in zip(output, given, strict=True)
        ]

    def column(x: Matrix, i: int, c: int) -> Vector:
        return [row[c] for row in x]

    return {
        "output": outputs((2,), *roles_of(inputs)),
        "output_query": touched("query", lambda x, i, c: x[i]),
        "output_key": touched("key", lambda x, i, c: [e for row in x for e in row]),
        "output_value": touched("value", column),
        "output_mask": touched("value", column, inputs["mask"]),
    }


def is_not_finite(x: Real) -> bool:
    """Tell whether an input is a NaN or an infinity: what is finite is a fraction."""
    return isinstance(plain(x), float)


def kept_or_not(entry: Real, sources: Vector) -> Real:
    """Return an entry of the output, or the NaN that is among what it is made of."""
    found = next((plain(x) for x in sources if is_not_finite(x)), None)
    if found is None:
        return because(entry, *sources)
    return because(found, *sources, words=Words(says="it is computed from a NaN"))
