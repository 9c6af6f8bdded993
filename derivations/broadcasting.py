"""Derivations of the examples whose arrays broadcast: one array for several sequences or heads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from derivations.algebra import Matrix, Real, dot, total, transpose
from derivations.attention import Options, attend_with
from derivations.gradients import central_differences, gradients_with, require_agreement
from derivations.kinds import Expected, Inputs, derivation
from derivations.options import roles_of
from derivations.recording import because


def shape(x: Any) -> tuple[int, ...]:
    return (len(x), *shape(x[0])) if isinstance(x, list) else ()


def broadcast(x: Any, sizes: tuple[int, ...]) -> Any:
    """Return an array repeated to a shape, its axes counted from the last."""
    if not sizes:
        return x
    if len(shape(x)) < len(sizes):
        return [broadcast(x, sizes[1:])] * sizes[0]
    rows = x * sizes[0] if len(x) == 1 else x
    return [broadcast(row, sizes[1:]) for row in rows]


def nested(sizes: tuple[int, ...], make: Callable[..., Any], *index: int) -> Any:
    """Return lists within lists, a part for each place along some leading axes."""
    if not sizes:
        return make(*index)
    return [nested(sizes[1:], make, *index, n) for n in range(sizes[0])]


def outputs(
    lead: tuple[int, ...],
    query: Any,
    key: Any,
    value: Any,
    mask: Any = None,
    bias: Any = None,
    offset: Any = None,
    scale: Any = None,
) -> Any:
    """Return the output at every place along the leading axes, to which all arrays broadcast."""
    scores = (*lead, shape(query)[-2], shape(key)[-2])
    whole = [broadcast(x, (*lead, *shape(x)[-2:])) for x in (query, key, value)]
    whole += [x if x is None else broadcast(x, scores) for x in (mask, bias)]

    def one(*index: int) -> Matrix:
        q, k, v, m, b = (at(x, index) for x in whole)
        return attend_with(q, k, v, Options(m, b, scale, offset=offset)).output

    return nested(lead, one)


def at(x: Any, index: tuple[int, ...]) -> Any:
    """Return what stands at a place along the leading axes; None if there is nothing."""
    for n in () if x is None else index:
        x = x[n]
    return x


@derivation
def masks_and_biases_in_every_shape(inputs: Inputs) -> Expected:
    masks = {name: inputs[name] for name in inputs if name.startswith("mask")}
    biases = {name: inputs[name] for name in inputs if name.startswith("bias")}
    together = inputs["mask_of_batch"], inputs["bias_of_head"], inputs["offset"]
    given = (2, 3), *roles_of(inputs)
    return {
        **{f"output_{name}": outputs(*given, mask=mask) for name, mask in masks.items()},
        **{f"output_{name}": outputs(*given, bias=bias) for name, bias in biases.items()},
        "output_together": outputs(*given, *together),
    }


@derivation
def what_is_shared_by_sequences_or_heads(inputs: Inputs) -> Expected:
    of_head, of_sequence = (
        (inputs[f"key_of_{owner}"], inputs[f"value_of_{owner}"]) for owner in ("head", "sequence")
    )
    query, lead = inputs["query"], (2, 2)
    hidden = outputs(lead, query, *of_head, mask=inputs["mask_of_query"])
    nobody = inputs["mask_of_query"]

    def uniform(b: int, h: int) -> Matrix:
        values = transpose(of_head[1][h])
        mean = [total(column) / len(column) for column in values]
        rows = zip(hidden[b][h], nobody, strict=True)
        return [row if m else [because(x, m) for x in mean] for row, (m,) in rows]

    inside = inputs["query_of_five_axes"], inputs["key"], inputs["value"]
    return {
        "output_of_head": outputs(lead, query, *of_head),
        "output_of_sequence": outputs(lead, query, *of_sequence),
        "output_of_both": outputs(lead, query, of_sequence[0], of_head[1]),
        "output_of_both_others": outputs(lead, query, of_head[0], of_sequence[1]),
        "output_mask_of_head": outputs(lead, query, *of_head, mask=inputs["mask_of_head"]),
        "output_bias_of_head": outputs(lead, query, *of_head, bias=inputs["bias_of_head"]),
        "output_bias_of_key": outputs(lead, query, *of_head, bias=[inputs["bias_of_key"]]),
        "output_bias_of_query": outputs(lead, query, *of_head, bias=inputs["bias_of_query"]),
        "output_mask_of_query": hidden,
        "output_uniform": nested(lead, uniform),
        "nan_in_output": nested(lead, lambda *_: [[because(not m, m)] * 2 for (m,) in nobody]),
        "output_bias_and_mask": outputs(
            lead, query, *of_head, inputs["mask_of_queries"], [inputs["bias_of_key"]]
        ),
        "output_of_four_axes": outputs((2, 2, 1), *inside, mask=inputs["mask_of_four_axes"]),
        "output_of_five_axes": outputs((2, 2, 1), *inside, mask=inputs["mask_of_five_axes"]),
    }


@derivation
def arrays_that_broadcast_against_each_other(inputs: Inputs) -> Expected:
    def of(*owners: str, **given: Any) -> Any:
        names = zip(("query", "key", "value"), owners, strict=True)
        lead = (2, 1) if set(owners) == {"sequence"} else (2, 3)
        return outputs(lead, *(inputs[f"{name}_of_{owner}"] for name, owner in names), **given)

    mask, bias = inputs["mask_of_sequence"], inputs["bias_of_head"]
    nine = (inputs[f"nine_{name}"] for name in ("queries", "keys", "values"))
    return {
        "output_values_shared": of("all", "all", "sequence"),
        "output_queries_shared": of("sequence", "head", "head"),
        "output_keys_shared": of("all", "head", "all"),
        "output_bias": of("all", "all", "all", bias=bias),
        "output_mask_and_bias": of("all", "all", "all", mask=mask, bias=bias),
        "output_one_head": of("sequence", "sequence", "sequence", mask=mask),
        "output_nine": outputs((1, 9), *nine),
    }


@derivation
def gradients_of_what_heads_share(inputs: Inputs) -> Expected:
    key, value = inputs["key"], inputs["value"]
    heads = [*zip(inputs["query"], inputs["d_output"], strict=True)]

    def back(options: Options) -> list[dict[str, Matrix]]:
        return [gradients_with(query, key, value, d, options) for query, d in heads]

    def require_sums(gradients: dict[str, Matrix], of: Callable[..., Options]) -> None:
        """Require that central differences of the loss of all heads give the same sums."""

        def loss(name: str, x: Matrix) -> Real:
            k, v = (x if name == role else inputs[role] for role in ("key", "value"))
            options = of(x) if name == "bias" else of(inputs["bias"])
            every = [(attend_with(query, k, v, options).output, d) for query, d in heads]
            return total(dot(*pair) for rows in every for pair in zip(*rows, strict=True))

        for name, gradient in gradients.items():
            numerical = central_differences(partial(loss, name), inputs[name])
            require_agreement(f"d_{name}", gradient, numerical)

    def plain(bias: Matrix) -> Options:
        return Options()

    def biased(bias: Matrix) -> Options:
        return Options(bias=bias)

    def capped(bias: Matrix) -> Options:
        return Options(inputs["mask"], bias, soft_cap=inputs["soft_cap"])

    expected: Expected = {}
    for suffix, options in (("", plain), ("_bias", biased), ("_all", capped)):
        parts = back(options(inputs["bias"]))
        sums = {name: added([part[name] for part in parts]) for name in ("key", "value")}
        if suffix:
            sums["bias"] = added([part["bias"] for part in parts])
        require_sums(sums, options)
        expected[f"d_query{suffix}"] = [part["query"] for part in parts]
        expected |= {f"d_{name}{suffix}": x for name, x in sums.items()}
    return expected


def added(parts: Sequence[Any]) -> Any:
    """Return the sum of arrays of one shape."""
    if isinstance(parts[0], list):
        return [added(rows) for rows in zip(*parts, strict=True)]
    return total(parts)


def summed(x: Any, sizes: tuple[int, ...]) -> Any:
    """Return an array summed over the axes along which one of these sizes was broadcast."""
    if not sizes:
        return x
    if len(shape(x)) > len(sizes):
        return summed(added(x), sizes)
    return [summed(row, sizes[1:]) for row in (x if len(x) == sizes[0] else [added(x)])]


@derivation
def gradients_of_what_sequences_share(inputs: Inputs) -> Expected:
    lead, roles = (2, 2), ("query", "key", "value")
    shared = {"_keys": {"key", "value"}, "_query": {"query"}, "_bias": {"bias"}, "_level": set()}
    expected: Expected = {}
    for suffix, names in shared.items():
        arrays = {n: inputs[f"{n}_shared" if n in names else n] for n in roles}
        if "bias" in names:
            arrays["bias"] = inputs["bias"]
        scale = inputs["scale_zero"] if suffix == "_level" else None
        for name, every in gradients_at(lead, arrays, inputs["d_output"], scale).items():
            expected[f"d_{name}{suffix}"] = summed(every, shape(arrays[name]))
            loss = partial(loss_with, lead, arrays, inputs["d_output"], scale, name)
            numerical = central_differences(loss, first(arrays[name]))
            require_agreement(f"d_{name}", first(expected[f"d_{name}{suffix}"]), numerical)
    return expected


def gradients_at(
    lead: tuple[int, ...], arrays: dict[str, Any], d_output: Any, scale: Any
) -> dict[str, Any]:
    """Return the gradients at every place along the leading axes, to which all arrays broadcast."""
    sizes = {"bias": (len(first(d_output)), len(first(arrays["key"])))}
    whole = {
        name: broadcast(x, (*lead, *sizes.get(name, shape(x)[-2:]))) for name, x in arrays.items()
    }
    bias = whole.pop("bias", None)

    def back(*index: int) -> dict[str, Matrix]:
        query, key, value, d = (at(x, index) for x in (*whole.values(), d_output))
        return gradients_with(query, key, value, d, Options(bias=at(bias, index), scale=scale))

    every = nested(lead, back)
    return {name: [[part[name] for part in parts] for parts in every] for name in arrays}


def loss_with(
    lead: tuple[int, ...],
    arrays: dict[str, Any],
    d_output: Any,
    scale: Any,
    name: str,
    block: Matrix,
) -> Real:
    """Return Σ output · d_output where the first matrix of an array is another one."""
    moved = arrays | {name: with_first(arrays[name], block)}
    return product_of(outputs(lead, **moved, scale=scale), d_output)


def product_of(x: Any, other: Any) -> Real:
    """Return the sum of the products of the entries of two arrays."""
    if not isinstance(x[0], list):
        return dot(x, other)
    return total(product_of(*pair) for pair in zip(x, other, strict=True))


def first(x: Any) -> Matrix:
    """Return the first matrix of an array."""
    return first(x[0]) if isinstance(x[0][0], list) else x


def with_first(x: Any, matrix: Matrix) -> Any:
    """Return an array whose first matrix is another one."""
    return [with_first(x[0], matrix), *x[1:]] if isinstance(x[0][0], list) else matrix
