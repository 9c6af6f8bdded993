"""The generated cases: the rule in plain integers, and the exact output at the known entries.

A score is a whole number of 2⁻¹² times the scale; its exponential, and all that follows, lies in an
interval of mpmath with 120 bits, whose ends round outward. Keys with the same score are counted
first, in whole numbers. Both ends of the result round to one double: the one that is stored. So it
is with the gradients, for which every row of a head is gone through.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import accumulate, chain, product
from operator import mul
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import mpmath
from mpmath import iv

GENERATED = Path(__file__).resolve().parents[1].joinpath(
    "selfattn_ref", "worked_examples", "data", "generated.json"
)  # fmt: skip
LEDGER = Path(__file__).with_name("generated.json")
BITS = 120
UNIT = 64
NEIGHBORS = "_neighbors"  # what the result is where neighboring columns make a pair
AFTER_BIAS = "_cap_after_bias"  # what the result is where the cap bounds score and bias together

Case: TypeAlias = dict[str, Any]
Interval: TypeAlias = Any
# Of keys with the same score and bias: how many there are, and the sum of each column asked for.
Group: TypeAlias = tuple[int, list[int]]


def mix(x: int) -> int:
    """Return 32 bits mixed: the last step of MurmurHash3."""
    x = (x ^ x >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    x = (x ^ x >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return x ^ x >> 16


class Rule:
    """The arrays of a case, entry by entry, as whole numbers of 64ths."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.options = case["options"]
        self.batch, self.heads = ([1, 1] + case["lead"])[-2:]
        self.queries, self.keys, self.width = case["queries"], case["keys"], case["width"]
        self.streams = [mix(8 * case["seed"] + stream) for stream in range(7)]
        query_lengths = self.options.get("query_lengths", [self.queries])
        key_lengths = self.options.get("key_lengths", [self.keys])
        # For each sequence: its first query and the next one's, its first key and the next one's.
        ends = [0, *accumulate(query_lengths)], [0, *accumulate(key_lengths)]
        self.sequences = list(zip(ends[0], ends[0][1:], ends[1], ends[1][1:], strict=False))
        self.key_row = cache(self._key_row)

    def word(self, stream: int, index: int) -> int:
        return mix(self.streams[stream] + index & 0xFFFFFFFF)

    def pattern(self, j: int) -> int:
        """Return the border that a key belongs to, or the key itself."""
        border = (j + 1) // self.case["step"] * self.case["step"]
        return border if j + 1 - border <= 2 else j

    def at_border(self, j: int) -> bool:
        return bool(j == self.keys - 1 or (j + 1) % self.case["step"] <= 2)

    def key_group(self, head: int) -> int:
        return int(head // (self.heads // self.case["key_heads"]))

    def key_word(self, b: int, g: int, pattern: int, column: int) -> int:
        row = (b * self.case["key_heads"] + g) * (self.keys + 1) + pattern
        return self.word(1, row * self.width + column)

    def loud(self, b: int, j: int) -> int:
        return 256 if self.case["loud"] and j >= self.keys - 3 - 7 * b else 1

    def _key_row(self, b: int, g: int, j: int) -> list[int]:
        words = [self.key_word(b, g, self.pattern(j), c) for c in range(self.width)]
        if self.at_border(j):
            row = [-64 if word >> 31 else 64 for word in words]
        else:
            row = [4 * ((word >> 28) - 8) for word in words]
        if self.case["level"]:
            row[-1] = -128 * UNIT
        return [self.loud(b, j) * n for n in row]

    def value(self, b: int, g: int, j: int, column: int) -> int:
        row = (b * self.case["key_heads"] + g) * self.keys + j
        word = self.word(3, row * self.case["value_width"] + column)
        n = 96 + (word >> 27)
        return self.loud(b, j) * (-n if word >> 26 & 1 else n)

    def d_output(self, b: int, h: int, i: int, column: int) -> int:
        row = (b * self.heads + h) * self.queries + i
        return (self.word(6, row * self.case["value_width"] + column) >> 26) - 32

    def limits(self, i: int) -> tuple[int, int]:
        """Return the first and the last key that a query may see, before any mask."""
        of = next(sequence for sequence in self.sequences if sequence[0] <= i < sequence[1])
        low, high = of[2], of[3] - 1
        place = i - of[0] + self.options.get("offset", 0) + of[2]
        left, right = self.options.get("window") or (None, None)
        if left is not None:
            low = max(low, place - left)
        if right is not None:
            high = min(high, place + right)
        if self.options.get("causal"):
            high = min(high, place)
        return low, high

    def target(self, b: int, h: int, i: int) -> int:
        """Return the border whose keys a query points at."""
        step, last = self.case["step"], self.keys - 1
        low, high = self.limits(i)
        whole = self.keys // step
        first = max(low + step - 2, 0) // step
        end = (high + 1) // step
        if high == last and self.keys - whole * step > 2:
            end = whole + 1
        row = (b * self.heads + h) * self.queries + i
        number = first + row % max(end - first + 1, 1)
        if any(name in self.options for name in ("causal", "window", "query_lengths")):
            number = (end, first, number)[i % 3]
        number = max(min(number, end), 0)
        return last if number > whole else int(number * step)

    def query_row(self, b: int, h: int, i: int) -> list[int]:
        target, g = self.target(b, h, i), self.key_group(h)
        first = ((b * self.heads + h) * self.queries + i) * self.width
        row = []
        for c in range(self.width):
            size = self.case["sharpness"] + (self.word(2, first + c) >> 29)
            row.append(-size if self.key_word(b, g, target, c) >> 31 else size)
        if self.case["level"]:
            row[-1] = 64 * UNIT
        return row

    def place(self, axes: str, *index: int) -> int:
        """Return where an array with some of the axes has an entry of (b, h, i, j)."""
        sizes = {"b": self.batch, "h": self.heads, "q": self.queries, "k": self.keys}
        place = 0
        for axis, n in zip("bhqk", index, strict=True):
            if axis in axes:
                place = place * sizes[axis] + n
        return place

    def masked(self, b: int, h: int, i: int, j: int) -> bool:
        """Return whether the mask hides a key from a query."""
        axes = self.case["mask"]
        if not axes:
            return False
        if "q" not in axes:
            return bool(j >= self.keys - 3 - 7 * b)
        if i % 4 == 1 and j < self.case["hidden_first"]:
            return True
        if self.case["hidden_rows"] and i % 5 == 3:
            return True
        if self.case["hidden_tile"] and j // 16 == 1:
            return True
        return self.word(4, self.place(axes, b, h, i, j)) >> 30 == 0

    def bias(self, b: int, h: int, i: int, j: int) -> int | None:
        """Return the bias in 64ths; None for −∞."""
        if not self.case["bias"]:
            return 0
        word = self.word(5, self.place(self.case["bias"], b, h, i, j))
        hidden = word & 7 == 0 or (self.case["hidden_tile"] and j // 16 == 1)
        hidden |= "q" in self.case["bias"] and i % 4 == 1 and j < self.case["hidden_first"]
        return None if self.case["holes"] and hidden else (word >> 26) - 32

    def visible(self, b: int, h: int, i: int) -> Iterator[tuple[int, int]]:
        """Yield the keys that a query attends to, each with its bias."""
        low, high = self.limits(i)
        for j in range(low, high + 1):
            bias = None if self.masked(b, h, i, j) else self.bias(b, h, i, j)
            if bias is not None:
                yield j, bias

    def rows(self) -> Iterator[tuple[int, int, int]]:
        return product(range(self.batch), range(self.heads), range(self.queries))

    def is_seen(self, j: int) -> bool:
        """Return whether some query attends to a key."""
        return any(
            self.limits(row[-1])[0] <= j <= self.limits(row[-1])[1]
            and not self.masked(*row, j)
            and self.bias(*row, j) is not None
            for row in self.rows()
        )

    def arrays(self) -> dict[str, Iterator[int]]:
        """Return every array as its entries in order, in 64ths; 0 and 1 for a mask."""
        groups = [(b, g) for b in range(self.batch) for g in range(self.case["key_heads"])]
        keys, columns = range(self.keys), range(self.case["value_width"])
        found: dict[str, Iterator[int]] = {
            "query": chain.from_iterable(self.query_row(*row) for row in self.rows()),
            "key": chain.from_iterable(self._key_row(*of, j) for of in groups for j in keys),
            "value": (self.value(*of, j, c) for of in groups for j in keys for c in columns),
        }
        if self.case["mask"]:
            places = self.places(self.case["mask"])
            found["mask"] = (int(not self.masked(*place)) for place in places)
        if self.case["bias"]:
            biases = (self.bias(*place) for place in self.places(self.case["bias"]))
            found["bias"] = (-(2**31) if n is None else n for n in biases)
        if "gradients" in self.case:
            found["d_output"] = (self.d_output(*row, c) for row in self.rows() for c in columns)
        return found

    def places(self, axes: str) -> Iterator[tuple[int, ...]]:
        """Yield (b, h, i, j) for each entry of an array with some of the axes."""
        sizes = zip("bhqk", (self.batch, self.heads, self.queries, self.keys), strict=True)
        return product(*(range(size if axis in axes else 1) for axis, size in sizes))


class Enclosure:
    """Intervals that hold the output of a case at its known entries.

    Under another convention the cap bounds score and bias together.
    """

    def __init__(self, case: Case, other_convention: bool = False) -> None:
        self.rule, self.after = Rule(case), other_convention
        options = case["options"]
        self.root = iv.sqrt(iv.mpf(case["width"]))
        self.scale = Fraction(options["scale"]) if "scale" in options else None
        self.cap = iv.mpf(options["soft_cap"]) if "soft_cap" in options else None
        self.score, self.exponential = cache(self._score), cache(self._exponential)

    def _score(self, dot: int) -> Interval:
        if self.scale is None:
            return iv.mpf(dot) / UNIT**2 / self.root
        exact = Fraction(dot, UNIT**2) * self.scale
        return iv.mpf(exact.numerator) / exact.denominator

    def capped(self, score: Interval) -> Interval:
        if self.cap is None:
            return score
        return self.cap * (1 - 2 / (iv.exp(2 * score / self.cap) + 1))

    def _exponential(self, dot: int, bias: int) -> Interval:
        added, score = iv.mpf(bias) / UNIT, self.score(dot)
        return iv.exp(self.capped(score + added) if self.after else self.capped(score) + added)

    def groups(self, b: int, h: int, i: int, columns: list[int]) -> dict[tuple[int, int], Group]:
        """Return the visible keys of a row, those of one score and bias together."""
        rule, g = self.rule, self.rule.key_group(h)
        query = rule.query_row(b, h, i)
        found: dict[tuple[int, int], Group] = {}
        for j, bias in rule.visible(b, h, i):
            same = sum(map(mul, query, rule.key_row(b, g, j))), bias
            count, sums = found.get(same, (0, [0] * len(columns)))
            values = (rule.value(b, g, j, column) for column in columns)
            found[same] = count + 1, [x + y for x, y in zip(sums, values, strict=True)]
        return found

    def row(self, b: int, h: int, i: int, columns: list[int]) -> tuple[Interval, list[Interval]]:
        """Return the sum of the exponentials of a row, and its output in some columns."""
        total, sums = iv.mpf(0), [iv.mpf(0)] * len(columns)
        for (dot, bias), (count, values) in self.groups(b, h, i, columns).items():
            weight = self.exponential(dot, bias)
            total += count * weight
            sums = [x + n * weight for x, n in zip(sums, values, strict=True)]
        return total, [x / UNIT / total for x in sums]

    def entries(self, name: str) -> Iterator[Interval]:
        """Yield the enclosure of each known entry of the output or of log-sum-exp."""
        for entry in self.rule.case["entries"][name]:
            columns = [entry[-1]] if name == "output" else []
            b, h, i = [0, 0, *entry[: len(entry) - len(columns)]][-3:]
            total, output = self.row(b, h, i, columns)
            yield output[0] if columns else iv.log(total) if total != 0 else None


class Slope(NamedTuple):
    """The weight of a key, and how the loss changes with its score and with its bias."""

    weight: Interval
    d_score: Interval
    d_bias: Interval


class Gradients(Enclosure):
    """Intervals that hold the gradients of Σ output · d_output at known entries."""

    def __init__(self, case: Case, other_convention: bool = False) -> None:
        super().__init__(case, other_convention)
        self.slopes, self.steepness = cache(self._slopes), cache(self._steepness)
        self.value_row = cache(self._value_row)

    def _steepness(self, dot: int, bias: int) -> Interval:
        """Return the slope of the cap."""
        if self.cap is None:
            return iv.mpf(1)
        capped = self.capped(self.score(dot) + (iv.mpf(bias) / UNIT if self.after else 0))
        return 1 - (capped / self.cap) ** 2

    def _slopes(self, b: int, h: int, i: int) -> dict[int, Slope]:
        """Return the slopes of the keys that a query attends to."""
        rule, g, columns = self.rule, self.rule.key_group(h), range(self.rule.case["value_width"])
        query = rule.query_row(b, h, i)
        back = [rule.d_output(b, h, i, c) for c in columns]
        seen, products, total, mean = {}, {}, iv.mpf(0), iv.mpf(0)
        for j, bias in rule.visible(b, h, i):
            same = seen[j] = sum(map(mul, query, rule.key_row(b, g, j))), bias
            products[j] = sum(map(mul, back, self.value_row(b, g, j)))
            share = self.exponential(*same)
            total, mean = total + share, mean + products[j] * share
        found = {}
        for j, same in seen.items():
            weight = self.exponential(*same) / total
            slope = weight * (products[j] - mean / total) / UNIT**2
            steep = slope * self.steepness(*same)
            found[j] = Slope(weight, steep, steep if self.after else slope)
        return found

    def _value_row(self, b: int, g: int, j: int) -> list[int]:
        return [self.rule.value(b, g, j, c) for c in range(self.rule.case["value_width"])]

    def readers(self, g: int) -> range:
        """Return the query heads that read a key head."""
        of_each = self.rule.heads // self.rule.case["key_heads"]
        return range(g * of_each, (g + 1) * of_each)

    def scaled(self, x: Interval) -> Interval:
        if self.scale is None:
            return x / UNIT / self.root
        return x / UNIT * self.scale.numerator / self.scale.denominator

    def d_query(self, b: int, h: int, i: int, c: int) -> Interval:
        g = self.rule.key_group(h)
        slopes = self.slopes(b, h, i).items()
        return self.scaled(sum(s.d_score * self.rule.key_row(b, g, j)[c] for j, s in slopes))

    def d_key(self, b: int, g: int, j: int, c: int) -> Interval:
        terms = (
            self.slopes(b, h, i)[j].d_score * self.rule.query_row(b, h, i)[c]
            for h, i in product(self.readers(g), range(self.rule.queries))
            if j in self.slopes(b, h, i)
        )
        return self.scaled(sum(terms, iv.mpf(0)))

    def d_value(self, b: int, g: int, j: int, c: int) -> Interval:
        terms = (
            self.slopes(b, h, i)[j].weight * self.rule.d_output(b, h, i, c)
            for h, i in product(self.readers(g), range(self.rule.queries))
            if j in self.slopes(b, h, i)
        )
        return sum(terms, iv.mpf(0)) / UNIT

    def d_bias(self, *place: int) -> Interval:
        """Return what an entry of the bias gets from every place that it was broadcast to."""
        axes, rule = self.rule.case["bias"], self.rule
        at = dict(zip(axes, place, strict=True))
        sizes = zip("bhq", (rule.batch, rule.heads, rule.queries), strict=True)
        rows = product(*([at[axis]] if axis in axes else range(size) for axis, size in sizes))
        slopes = chain.from_iterable(self.slopes(*row).items() for row in rows)
        return sum((s.d_bias for j, s in slopes if at.get("k", j) == j), iv.mpf(0))

    def entries(self, name: str) -> Iterator[Interval]:
        """Yield the enclosure of each known entry of a gradient."""
        for entry in self.rule.case["gradients"]["entries"][name]:
            place = entry if name == "d_bias" else [0, 0, *entry][-4:]
            yield getattr(self, name)(*place)


class Rotated(Enclosure):
    """Intervals that hold entries of the queries, turned by the positions 37 i − 19.

    Under another convention neighboring columns make a pair.
    """

    def entries(self, name: str) -> Iterator[Interval]:
        """Yield the enclosure of each known entry."""
        for entry in self.rule.case["rotary"]["entries"][name]:
            b, h, i, c = [0, 0, *entry][-4:]
            half, row = self.rule.width // 2, self.rule.query_row(b, h, i)
            pair, second = (c // 2, c % 2) if self.after else (c % half, c // half)
            one, other = (2 * pair, 2 * pair + 1) if self.after else (pair, pair + half)
            frequency = iv.exp(-iv.log(10000) * 2 * pair / self.rule.width)
            angle = (37 * i - 19) * frequency
            x, y = iv.mpf(row[one]) / UNIT, iv.mpf(row[other]) / UNIT
            if second:
                yield x * iv.sin(angle) + y * iv.cos(angle)
            else:
                yield x * iv.cos(angle) - y * iv.sin(angle)


def nearest_double(interval: Interval) -> float | str:
    """Return the double that every number of an interval rounds to; None stands for −∞."""
    if interval is None:
        return "-Infinity"
    low, high = (Fraction(*mpmath.libmp.to_rational(end)) for end in interval._mpi_)
    if float(low) != float(high):
        raise ArithmeticError(f"{BITS} bits do not tell which double is the nearest: {interval}")
    return float(low)


#: What a case may tell: under its own name, but for the output.
PARTS: dict[str, type[Enclosure]] = {"": Enclosure, "gradients": Gradients, "rotary": Rotated}


def derive(case: Case, part: str = "") -> dict[str, list[float | str]]:
    """Return the expected values of a case: the doubles nearest to the exact numbers."""
    names, suffixes = case.get(part, case)["entries"], [""]
    if part == "rotary":
        suffixes.append(NEIGHBORS)
    elif case["bias"] and "soft_cap" in case["options"]:
        suffixes.append(AFTER_BIAS)
    before, iv.prec = iv.prec, BITS
    try:
        both = [(suffix, PARTS[part](case, bool(suffix))) for suffix in suffixes]
        return {
            name + suffix: [nearest_double(x) for x in intervals.entries(name)]
            for suffix, intervals in both
            for name in names
        }
    finally:
        iv.prec = before


def checksums(case: Case) -> dict[str, int]:
    """Return of each array the sum of its entries times 1, 3, 5, …, modulo 2³²."""
    return {
        name: sum((2 * place + 1) * n for place, n in enumerate(entries)) % 2**32
        for name, entries in Rule(case).arrays().items()
    }


def exact_sums(case: Case) -> bool:
    """Return whether no sum of products of the known rows needs more than 24 bits.

    Every product is a whole number of 2⁻¹⁰ (keys: 4/64, 64/64 or more; queries: 1/64).
    """
    rule = Rule(case)
    for entry in case["entries"]["output"]:
        b, h, i = [0, 0, *entry[:-1]][-3:]
        query = [abs(n) for n in rule.query_row(b, h, i)]
        for j, _ in rule.visible(b, h, i):
            products = map(mul, query, map(abs, rule.key_row(b, rule.key_group(h), j)))
            if sum(products) // 4 >= 1 << 24:
                return False
    return True


def border_weights(case: Case) -> dict[int, float]:
    """Return for each key at a border that some query sees its largest weight in a known row."""
    enclosure = Enclosure(case)
    rule = enclosure.rule
    found = {j: 0.0 for j in range(rule.keys) if rule.at_border(j) and rule.is_seen(j)}
    for entry in case["entries"]["output"]:
        b, h, i = [0, 0, *entry[:-1]][-3:]
        total, _ = enclosure.row(b, h, i, [])
        query = rule.query_row(b, h, i)
        for j, bias in rule.visible(b, h, i):
            if j in found:
                dot = sum(map(mul, query, rule.key_row(b, rule.key_group(h), j)))
                weight = enclosure.exponential(dot, bias) / total
                found[j] = max(found[j], float(weight.a))
    return found


# --- the file -------------------------------------------------------------------------------------


def read(path: Path = GENERATED) -> list[Case]:
    cases: list[Case] = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return cases


def text(cases: list[Case]) -> str:
    """Return the file: a line for each case."""
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    return f'{{"cases": [\n{lines}\n]}}\n'


def fingerprint(case: Case) -> str:
    """Return the SHA-256 of a case without its purpose, which is prose."""
    return hashlib.sha256(json.dumps(numbers(case), sort_keys=True).encode()).hexdigest()


def digest(cases: list[Case]) -> str:
    """Return the SHA-256 of all cases without their purposes."""
    return hashlib.sha256(json.dumps([*map(numbers, cases)], sort_keys=True).encode()).hexdigest()


def numbers(case: Case) -> Case:
    """Return a case without its purpose."""
    return {key: part for key, part in case.items() if key != "purpose"}


def check(tell: Callable[[str], None] = print) -> int:
    """Derive every case again and say what came of it; return the number of problems."""
    cases, ledger = read(), json.loads(LEDGER.read_text(encoding="utf-8"))
    found = [f"{name} is released but gone" for name in ledger.keys() - {c["name"] for c in cases}]
    for case in cases:
        name, weight = case["name"], min(border_weights(case).values())
        if filled(case) != case:
            found.append(f"{name} differs from its derivation")
        if weight < 0.25 or not exact_sums(case):
            found.append(f"{name}: a border weighs {weight}, or a sum of products is not exact")
        tell(f"{name} derived; each key at a border weighs {weight:.3f} or more in a known row")
        if ledger.get(case["name"]) != fingerprint(case):
            found.append(f"{case['name']} is not the one that is released: a correction is G2-…")
    for problem in found:
        tell(problem)
    return len(found)


def write(path: Path = GENERATED) -> None:
    """Fill in the checksums and the expected values of every case."""
    path.write_text(text([filled(case) for case in read(path)]), encoding="utf-8")


def filled(case: Case) -> Case:
    """Return a case with its checksums and what is expected."""
    found = case | {"checksums": checksums(case), "expected": derive(case)}
    for part in PARTS.keys() & case.keys():
        found[part] = {**case[part], "expected": derive(case, part)}
    return found


def release(path: Path = GENERATED, ledger: Path = LEDGER) -> None:
    """Enter cases in the ledger; an entry that is there is never overwritten."""
    known = json.loads(ledger.read_text(encoding="utf-8")) if ledger.exists() else {}
    known |= {c["name"]: fingerprint(c) for c in read(path) if c["name"] not in known}
    ledger.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
