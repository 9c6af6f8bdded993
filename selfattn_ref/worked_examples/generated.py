"""Large cases that a rule generates from a seed, for tests only.

Their inputs are made on request; only some entries of each expected result are known. The
page "Generated cases" states the rule, which any language can follow.

>>> from selfattn_ref import scaled_dot_product_attention
>>> from selfattn_ref.worked_examples import generated
>>> call = generated.load("G1-17x17").call
>>> {name: x.shape for name, x in call.arguments.items()}
{'query': (2, 3, 17, 64), 'key': (2, 3, 17, 64), 'value': (2, 3, 17, 64)}
>>> call.test(scaled_dot_product_attention)
G1-17x17 checked: scaled_dot_product_attention(query, key, value) agrees (... numbers, ...)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from selfattn_ref.worked_examples._calls import Call, read_only
from selfattn_ref.worked_examples._comparison import Tolerance

__all__ = ["Case", "arrays", "calls", "checksum", "load", "mix", "names"]

Integers = NDArray[np.int64]

UNIT = 64  # every number is a whole number of 64ths
_FILE = resources.files("selfattn_ref.worked_examples") / "data" / "generated.json"
_EXPECTED = Tolerance(0.0, 2.0**-53)  # each is the nearest double
_OF_ANGLES = Tolerance(1e-11, 0.0)  # they reach thousands, where numbers are 1e-12 apart
_CONVENTIONS = (
    {
        "cap-before-bias": "The cap bounds what queries and keys give, and the bias arrives whole: "
        "this library.",
        "cap-after-bias": "The cap bounds the sum of score and bias.",
    },
    {
        "halves": "Pair i is columns i and i + d/2: this library by default.",
        "neighbors": "Pair i is columns 2i and 2i + 1: this library with interleaved=True.",
    },
)


_OF_NOBODY = {
    "minus-infinity": "The logarithm of an empty sum: this library's log_sum_exp.",
    "plus-infinity": "So that every weight computed again from it is 0: FlashAttention.",
}


@dataclass(frozen=True, repr=False)
class Case:
    """A generated case: its recipe, and the call that it makes.

    Attributes
    ----------
    name : str
        Such as ``"G1-17x17"``: permanent, and so are its numbers.
    purpose : str
        The faults that it is meant to catch.
    recipe : mapping
        What the rule needs: seed, sizes and options.
    call : Call
        The call, with its known entries.
    """

    name: str
    purpose: str
    recipe: Mapping[str, Any]
    call: Call

    def __repr__(self) -> str:
        return f"{self.name}: {self.purpose}"


def names(function: str = "scaled_dot_product_attention") -> tuple[str, ...]:
    """Return the name of every generated case that calls a function, in order.

    Parameters
    ----------
    function : str, optional
        As in `load`. Some cases also have gradients, and some have queries to rotate.

    Returns
    -------
    tuple of str
        Names.

    Examples
    --------
    >>> names()[0]
    'G1-17x17'
    """
    part = _part(function)
    return tuple(name for name, r in _recipes().items() if not part or part in r)


def load(name: str, function: str = "scaled_dot_product_attention") -> Case:
    """Return a generated case; its arrays are made afresh each time.

    Parameters
    ----------
    name : str
        One of `names`.
    function : str, optional
        The function to call: `scaled_dot_product_attention`, `scaled_dot_product_attention_vjp` or
        `rotate_pairs`, by name.

    Returns
    -------
    Case
        The case and its call, whose arrays are read-only.

    Raises
    ------
    ValueError
        If there is no such case, or it does not call the function.
    """
    if name not in _recipes():
        raise ValueError(f"no generated case has the name {name!r}; names() lists them")
    recipe, part = _recipes()[name], _part(function)
    if part and part not in recipe:
        raise ValueError(f"the case {name} is not for {function}; names({function!r}) lists those")
    results = recipe.get(part, recipe)
    known = {part: np.asarray(rows, np.intp) for part, rows in results["entries"].items()}
    several = len(known) > 1
    rows, made = (*recipe["lead"], recipe["queries"]), arrays(recipe)
    shapes = {"output": (*rows, recipe["value_width"]), "log_sum_exp": rows}
    shapes |= {f"d_{name}": x.shape for name, x in made.items()}
    given = _given(made, recipe, part)
    shapes["rotated"] = shapes["d_query"]

    def answer(suffix: str) -> Any:
        values = {n: read_only(np.asarray(results["expected"][n + suffix], float)) for n in known}
        return MappingProxyType(values) if several else next(iter(values.values()))

    expected, answers, because = answer(""), {}, _CONVENTIONS[part == "rotary"]
    if part == "rotary" and recipe["rotary"].get("interleaved"):
        expected = answer("_neighbors")
    elif part == "rotary":
        answers = dict(zip(because, (expected, answer("_neighbors")), strict=True))
    elif several and -np.inf in expected.get("log_sum_exp", ()):
        because = _OF_NOBODY
        plus = np.where(np.isinf(expected["log_sum_exp"]), np.inf, expected["log_sum_exp"])
        other = MappingProxyType({**expected, "log_sum_exp": read_only(plus)})
        answers = dict(zip(because, (expected, other), strict=True))
    elif recipe["bias"] and "soft_cap" in recipe["options"]:
        answers = dict(zip(because, (expected, answer("_cap_after_bias")), strict=True))
    call = Call(
        example=name,
        number=0,
        function=function,
        arguments=MappingProxyType(given),
        kind="convention" if answers else "value",
        expected=expected,
        conventions=MappingProxyType(answers),
        raises=None,
        because=MappingProxyType(because if answers else {}),
        tolerance=_OF_ANGLES if part == "rotary" else _EXPECTED,
        rows=MappingProxyType({}),
        entries=known if several else next(iter(known.values())),
        shape={n: shapes[n] for n in known} if several else shapes[next(iter(known))],
    )
    return Case(name, recipe["purpose"], MappingProxyType(recipe), call)


def calls(function: str = "scaled_dot_product_attention") -> Iterator[Call]:
    """Yield the call of every generated case, one at a time, so that only one is in memory.

    Parameters
    ----------
    function : str, optional
        As in `load`.

    Yields
    ------
    Call
        A call for which some entries of the result are known; see `Call`.
    """
    for name in names(function):
        yield load(name, function).call


@cache
def _recipes() -> dict[str, dict[str, Any]]:
    document = json.loads(_FILE.read_text(encoding="utf-8"))
    return {case["name"]: case for case in document["cases"]}


def _part(function: str) -> str:
    """Return where a recipe has what a function is compared with; "" for the output."""
    if function == "rotate_pairs":
        return "rotary"
    return "gradients" if function.endswith("_vjp") else ""


def _given(made: dict[str, NDArray[Any]], recipe: Mapping[str, Any], part: str) -> dict[str, Any]:
    """Return the arguments of a call."""
    if part == "rotary":
        positions = 37 * np.arange(recipe["queries"]) - 19
        interleaved = {"interleaved": True} if recipe["rotary"].get("interleaved") else {}
        return {"x": made["query"], "positions": read_only(positions), **interleaved}
    arrays = {name: x for name, x in made.items() if part or name != "d_output"}
    options = _options(recipe)
    if part:
        options.pop("return_log_sum_exp", None)
    return {**arrays, **options}


def _options(recipe: Mapping[str, Any]) -> dict[str, Any]:
    options = dict(recipe["options"])
    if "window" in options:
        options["window"] = tuple(options["window"])
    for name in ("query_lengths", "key_lengths"):
        if name in options:
            options[name] = read_only(np.asarray(options[name], np.intp))
    return options


# --- the rule -------------------------------------------------------------------------------------


def mix(x: NDArray[Any]) -> NDArray[np.uint32]:
    """Return the numbers mixed: the last step of MurmurHash3, modulo 2³².

    >>> mix(np.array([1]))
    array([1364076727], dtype=uint32)
    """
    mixed: NDArray[Any] = np.asarray(x).astype(np.uint32)
    mixed = (mixed ^ (mixed >> 16)) * np.uint32(0x85EBCA6B)
    mixed = (mixed ^ (mixed >> 13)) * np.uint32(0xC2B2AE35)
    return np.asarray(mixed ^ (mixed >> 16))


def checksum(array: NDArray[Any]) -> int:
    """Return Σ (2i + 1) n[i] modulo 2³²; n[i] is entry i in 64ths, or 0 or 1 for a boolean.

    An entry of −∞ counts as −2³¹.
    """
    if array.dtype == np.bool_:
        n = array.astype(np.int64).ravel()
    else:
        n = np.where(np.isfinite(array), array * UNIT, -(2.0**31)).astype(np.int64).ravel()
    odd = 2 * np.arange(n.size, dtype=np.uint64) + 1
    return int((n.astype(np.uint64) * odd).sum() & 0xFFFFFFFF)


def arrays(recipe: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the arrays that the rule makes from a recipe, by keyword.

    Parameters
    ----------
    recipe : mapping
        As `Case.recipe`.

    Returns
    -------
    dict of str to numpy.ndarray
        `query`, `key` and `value`; `mask` and `bias` if the recipe has them, and `d_output` if it
        has gradients.
    """
    r, rule = recipe, _Rule(recipe)
    made: dict[str, NDArray[Any]] = {
        "query": (rule.query() / UNIT).reshape(*r["lead"], r["queries"], r["width"]),
        "key": (rule.key() / UNIT).reshape(*rule.key_lead, r["keys"], r["width"]),
        "value": (rule.value() / UNIT).reshape(*rule.key_lead, r["keys"], r["value_width"]),
    }
    if r["mask"]:
        made["mask"] = rule.mask()
    if r["bias"]:
        made["bias"] = rule.bias()
    if "gradients" in r:
        made["d_output"] = (rule.d_output() / UNIT).reshape(
            *r["lead"], r["queries"], r["value_width"]
        )
    return {name: read_only(array) for name, array in made.items()}


class _Rule:
    """The rule in whole numbers, on arrays of shape (batch, heads, positions, columns)."""

    def __init__(self, recipe: Mapping[str, Any]) -> None:
        self.recipe = recipe
        self.queries, self.keys = recipe["queries"], recipe["keys"]
        self.batch, self.heads = ([1, 1] + recipe["lead"])[-2:]
        self.key_heads = recipe["key_heads"]
        self.key_lead = [*recipe["lead"][:-1], self.key_heads] if recipe["lead"] else []
        j = np.arange(self.keys)
        border = recipe["step"] * ((j + 1) // recipe["step"])
        near = j + 1 - border <= 2
        self.pattern = np.where(near, border, j)
        self.at_border = near | (j == self.keys - 1)

    def words(self, stream: int, index: Integers) -> Integers:
        """Return the words of a stream at some places: 32 bits each."""
        key = mix(np.array([8 * self.recipe["seed"] + stream]))
        return mix(key + index.astype(np.uint32)).astype(np.int64)

    def flat(self, *shape: int) -> Integers:
        return np.arange(np.prod(shape, dtype=np.int64)).reshape(shape)

    def key_words(self, rows: Integers, width: int) -> Integers:
        return self.words(1, rows[..., None] * width + np.arange(width))

    def key(self) -> Integers:
        first = self.flat(self.batch, self.key_heads)[..., None] * (self.keys + 1)
        words = self.key_words(first + self.pattern, self.recipe["width"])
        ordinary = 4 * ((words >> 28) - 8)
        key = np.where(self.at_border[:, None], 64 - 128 * (words >> 31), ordinary)
        if self.recipe["level"]:
            key[..., -1] = -128 * UNIT
        return self._loud(key)

    def value(self) -> Integers:
        shape = (self.batch, self.key_heads, self.keys, self.recipe["value_width"])
        words = self.words(3, self.flat(*shape))
        return self._loud((96 + (words >> 27)) * (1 - 2 * (words >> 26 & 1)))

    def _loud(self, x: Integers) -> Integers:
        """Return the rows with those of keys that are hidden from a whole sequence 256 times."""
        if not self.recipe["loud"]:
            return x
        hidden = np.arange(self.keys) >= self._visible_keys(np.arange(self.batch)[:, None])
        return np.where(hidden[:, None, :, None], 256 * x, x)

    def d_output(self) -> Integers:
        shape = (self.batch, self.heads, self.queries, self.recipe["value_width"])
        return np.asarray((self.words(6, self.flat(*shape)) >> 26) - 32)

    def _visible_keys(self, sequence: Integers) -> Integers:
        return np.asarray(self.keys - 3 - 7 * sequence)

    def query(self) -> Integers:
        r = self.recipe
        b = np.arange(self.batch)[:, None, None]
        h = np.arange(self.heads)[:, None]
        rows = self.flat(self.batch, self.heads, self.queries)
        group = b * self.key_heads + h // (self.heads // self.key_heads)
        words = self.key_words(group * (self.keys + 1) + self.targets(rows), r["width"])
        size = r["sharpness"] + (self.words(2, self.flat(*words.shape)) >> 29)
        query = size * (1 - 2 * (words >> 31))
        if r["level"]:
            query[..., -1] = 64 * UNIT
        return np.asarray(query)

    def targets(self, rows: Integers) -> Integers:
        """Return the border whose keys each row points at."""
        r = self.recipe
        step, last = r["step"], self.keys - 1
        i = np.arange(self.queries)
        low, high = self.limits()
        whole = self.keys // step
        final = whole if self.keys - whole * step <= 2 else whole + 1
        first = np.maximum(low + step - 2, 0) // step
        end = np.where(high == last, final, (high + 1) // step)
        swept = first + rows % np.maximum(end - first + 1, 1)
        number = np.broadcast_to(np.maximum(np.minimum(swept, end), 0), rows.shape)
        if r["options"].keys() & {"causal", "window", "query_lengths"}:
            number = np.where(i % 3 == 0, np.maximum(end, 0), number)
            number = np.where(i % 3 == 1, np.maximum(np.minimum(first, end), 0), number)
        return np.asarray(np.where(number > whole, last, number * step))

    def limits(self) -> tuple[Integers, Integers]:
        """Return the first and the last key that each query may see, before any mask."""
        options = self.recipe["options"]
        query_lengths = np.asarray(options.get("query_lengths", [self.queries]))
        key_lengths = np.asarray(options.get("key_lengths", [self.keys]))
        of = np.repeat(np.arange(len(query_lengths)), query_lengths)
        start = (np.cumsum(key_lengths) - key_lengths)[of]
        place = np.arange(self.queries) - (np.cumsum(query_lengths) - query_lengths)[of]
        place = place + options.get("offset", 0) + start
        low, high = start, start + key_lengths[of] - 1
        left, right = options.get("window") or (None, None)
        if left is not None:
            low = np.maximum(low, place - left)
        if right is not None:
            high = np.minimum(high, place + right)
        if options.get("causal", False):
            high = np.minimum(high, place)
        return low, high

    def shaped(self, axes: str) -> tuple[int, ...]:
        sizes = {"1": 1, "b": self.batch, "h": self.heads, "q": self.queries, "k": self.keys}
        return tuple(sizes[axis] for axis in axes)

    def mask(self) -> NDArray[np.bool_]:
        r = self.recipe
        shape = self.shaped(r["mask"])
        if "q" not in r["mask"]:
            sequence = np.arange(shape[0]).reshape(-1, *[1] * (len(shape) - 1))
            return np.asarray(np.arange(self.keys) < self._visible_keys(sequence)) & np.ones(
                shape, bool
            )
        i, j = np.arange(self.queries)[:, None], np.arange(self.keys)
        mask = self.words(4, self.flat(*shape)) >> 30 != 0
        mask &= ~((i % 4 == 1) & (j < r["hidden_first"]))
        if r["hidden_rows"]:
            mask &= i % 5 != 3
        if r["hidden_tile"]:
            mask &= j // 16 != 1
        return np.asarray(mask)

    def bias(self) -> NDArray[np.float64]:
        words = self.words(5, self.flat(*self.shaped(self.recipe["bias"])))
        bias = ((words >> 26) - 32) / UNIT
        if not self.recipe["holes"]:
            return bias
        i, j = np.arange(bias.shape[-2])[:, None], np.arange(bias.shape[-1])
        hidden = (words & 7 == 0) | (self.recipe["hidden_tile"] & (j // 16 == 1))
        hidden |= (i % 4 == 1) & (j < self.recipe["hidden_first"])
        return np.where(hidden, -np.inf, bias)
