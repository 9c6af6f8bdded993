"""How the arrays of a worked example are made of each other.

The name of an array says which step of attention made it; a relation is kept only if it gives every
number of the array. So what a page says about an entry has been computed.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from press.example import formulas
from press.example.arithmetic import Number, exponential, function, length, number, short
from press.example.formulas import Formula, Known, elementwise, of_rows, table

Array = npt.NDArray[Any]
MOST = 400  # entries of an array that one would look at
# What another recipe gave is not what attention makes, even where the numbers are the same.
SLIPS = {"added", "filled", "hides", "inverted", "multiplied"}
# Steps have several names. What else a name says tells of which sentence, head or variant it is.
FAMILIES = {
    "slope": r"d_(?:query|key|value|output|weights|scaled_scores|scores|x|w_query|w_key|w_value)",
    "w": r"w_(?:query|key|value|output)",
    "state": r"(?:running|block|merged)_(?:maximum|sum|weighted)",
    "function": r"log_sum_exp|log|exponentials|norms|distance|jacobian",
    "output": r"output|context|head_outputs|votes|nearest",
    "input": r"embeddings?|vectors|x|stream",
    "query": r"(?:rotated_)?query(?:_heads)?",
    "key": r"(?:rotated_)?key(?:_heads|_repeated)?",
    "value": r"value(?:_heads|_repeated)?",
    "scores": r"scores|dot|scaled_dot|scaled_scores|biased_scores|capped_scores|cosine",
    "weights": r"weights",
    "bias": r"bias",
    "merged": r"merged",
    "stretch": r"stretch",
    "stretched": r"stretched",
    "bilinear": r"bilinear",
    "contributions": r"contributions",
    "encoding": r"encoding|frequencies",
}
AFTER = {"first": "second"}  # what one layer returns is what the next one reads
LAST = {"votes": frozenset({"second"})}  # a name that does not say its layer


@dataclass
class Matrix:
    """An array of two axes: one of the example, a part of one, or a step between two of them."""

    name: str  # as one would write it: weights, weights[0]
    values: Array
    given: str = ""  # the array of the example that it belongs to; none for a step between
    place: tuple[int, ...] = ()  # where in that array
    family: str = ""
    step: str = ""  # the part of the name that says the family
    rest: frozenset[str] = frozenset()  # what else the name says
    made: "Made | None" = None  # of a step between, until it is entered

    def __post_init__(self) -> None:
        """Read the name."""
        if self.family:
            return
        for family, pattern in FAMILIES.items():
            if found := re.search(rf"(?:^|_)({pattern})(?:_|$)", self.given):
                self.family, self.step = family, found[1]
                words = (self.given[: found.start()], self.given[found.end() :])
                self.rest = frozenset(word for part in words for word in part.split("_") if word)
                self.rest |= LAST.get(self.step, frozenset())
                return


@dataclass
class Made:
    """How each entry of a matrix comes from others."""

    kind: str  # product, scale, sum, softmax, slope, copy, formula or again
    of: tuple[str, ...]  # names of matrices
    rows: tuple[list[int], ...] = ()  # of the factors, those that are used
    turned: tuple[bool, bool] = (False, False)  # which factor is transposed
    scale: float = 1.0
    mask: Array | None = None
    more: dict[str, Array] = field(default_factory=dict)  # what stands between
    columns: list[tuple[int, int]] = field(default_factory=list)  # of a copy: matrix and column
    new: tuple[Matrix, ...] = ()  # steps that the example does not list
    said: str = ""  # how it is made, in words
    formula: Formula | None = None
    worlds: tuple["World", ...] = ()


@dataclass
class World:
    """The same steps with something else to begin with."""

    known: dict[str, Matrix]
    made: dict[str, Made]
    row: int | None  # which row of the base is meant, if not each one
    came: dict[str, Callable[[int, int], Number]]  # what something else was made of
    words: frozenset[str]  # what names say of it
    said: str  # what is else


@dataclass
class Start:
    """Something else to begin with: what it stands for, its entries, and the row that is meant."""

    name: str
    shape: tuple[int, ...]
    formula: Formula
    said: str
    row: int | None = None


def made_of(kind: str, *sources: Matrix, **more: Any) -> Made:
    """Return how something is made of matrices, known or not yet."""
    new = tuple(source for source in sources if source.made)
    return Made(kind, tuple(source.name for source in sources), new=new, **more)


def matrices(data: Mapping[str, Any]) -> Iterator[Matrix]:
    """Yield the matrices of an example in order, inputs first."""
    for group in ("inputs", "expected"):
        for name, entry in data[group].items():
            values = np.array(entry["value"])
            if values.dtype.kind not in "fib" or not values.ndim or values.size > MOST:
                continue
            if "indices_of" in entry:
                continue
            if values.dtype.kind == "i":
                values = values.astype(float)
            for place in np.ndindex(values.shape[:-2]):
                at = "".join(f"[{index}]" for index in place)
                yield Matrix(f"{name}{at}", np.atleast_2d(values[place]), name, place)


def softmax(scores: Array, mask: Array | None) -> tuple[Array, dict[str, Array]]:
    """Return the shares of each row and what stands between: exponentials and their sums."""
    kept = np.where(True if mask is None else mask, scores, -np.inf)
    most = kept.max(axis=1)
    most[~np.isfinite(most)] = 0
    exponentials = np.exp(kept - most[:, np.newaxis])
    total = exponentials.sum(axis=1)
    shares = exponentials / np.where(total, total, 1)[:, np.newaxis]
    return shares, {"most": most, "exponentials": exponentials, "total": total}


def close(one: Array, other: Array) -> bool:
    """Tell whether two arrays have the same shape and numbers."""
    return one.shape == other.shape and np.allclose(one, other, rtol=1e-9, atol=1e-12)


def alike(one: Array, other: Array) -> bool:
    """Tell whether two arrays of shares are the same: the smallest, too, and what is hidden."""
    return one.shape == other.shape and np.allclose(one, other, rtol=1e-9, atol=0)


class Relations:
    """The matrices of an example, and how each is made of those before it."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.known: dict[str, Matrix] = {}
        self.made: dict[str, Made] = {}
        inputs = data["inputs"]
        self.choices = {n: e["value"] for n, e in inputs.items() if "indices_of" in e}
        self.scalars = {
            n: float(e["value"]) for n, e in inputs.items() if isinstance(e["value"], int | float)
        }
        self.words = {n: len(inputs[inputs[n]["indices_of"]]["value"]) for n in self.choices}
        every = list(matrices(data))
        self.masks = [matrix for matrix in every if matrix.values.dtype == bool]
        asked = [call.get("options", {}).get("scale") for call in data["calls"]]
        asked += [inputs.get("scale", {}).get("value"), *inputs.get("scales", {}).get("value", [])]
        self.scales = [1.0, *dict.fromkeys(float(s) for s in asked if isinstance(s, int | float))]
        self.unlisted_projections(every)
        for matrix in every:
            if matrix.given in data["expected"] and matrix.values.dtype != bool:
                way = getattr(self, f"make_{matrix.family}", None)
                if np.isfinite(matrix.values).all():
                    ways = itertools.chain(self.again(matrix), way(matrix) if way else ())
                    if found := next(ways, None):
                        self.adopt(matrix.name, found)
            self.known[matrix.name] = matrix

    def adopt(self, name: str, made: Made) -> None:
        """Enter how a matrix is made, and the steps before it that the example does not list."""
        for step in made.new:
            self.enter(step)
        self.made[name] = made

    def enter(self, step: Matrix) -> None:
        """Enter a step that the example does not list."""
        if step.name not in self.known and step.made:
            self.adopt(step.name, step.made)
            self.known[step.name] = replace(step, made=None)

    def unlisted_projections(self, every: Sequence[Matrix]) -> None:
        """Enter queries, keys and values that an example with parameters does not list."""
        given = {matrix.given: matrix for matrix in every}
        for step in ("query", "key", "value"):
            source, by = given.get("embeddings"), given.get(f"w_{step}")
            if source and by and step not in given:
                self.known.update({m.name: m for m in (source, by)})
                self.enter(self.projected(step, source, by))

    def projected(self, step: str, source: Matrix, by: Matrix) -> Matrix:
        """Return a product of an input and a matrix of parameters."""
        rows = (list(range(len(source.values))), list(range(len(by.values))))
        made = made_of("product", source, by, rows=rows)
        return self.step(step, source.values @ by.values, made)

    def step(self, name: str, values: Array, made: Made) -> Matrix:
        """Return a step that the example does not list."""
        word = name.partition(" of ")[0]
        family = "step" if word != name or name not in FAMILIES else name
        return Matrix(name, values, family=family, step=word, made=made)

    def before(self, target: Matrix, *families: str, steps: Iterable[str] = ()) -> list[Matrix]:
        """Return what a matrix may be made of: those whose names say no more than its own does."""
        found = [
            matrix
            for matrix in self.known.values()
            if matrix.family in families
            and (not steps or matrix.step in steps)
            and matrix.rest <= target.rest
            and matrix.values.dtype != bool
        ]
        order = [m.place == target.place for m in found], [len(m.rest) for m in found]
        ranked = sorted(
            range(len(found)),
            key=lambda i: (families.index(found[i].family), not order[0][i], -order[1][i], -i),
        )
        return [found[i] for i in ranked]

    def inputs(self, target: Matrix) -> list[Matrix]:
        """Return what a matrix may read: what another layer returned, or the input."""
        later = [
            matrix
            for matrix in self.known.values()
            if matrix.family == "output"
            and not matrix.rest.isdisjoint(AFTER)
            and {AFTER.get(word, word) for word in matrix.rest} <= target.rest
        ]
        if "stretched" in target.rest:
            later += self.before(target, "stretched")
        return later + self.before(target, "input")

    def roles(self, target: Matrix, role: str) -> list[Matrix]:
        """Return the queries, keys or values that a matrix may be made of, listed or not."""
        found = self.before(target, role)
        if found:
            return found
        return [
            self.projected(f"{role} of {target.name}", source, by)
            for by in self.before(target, "w", steps=[f"w_{role}"])
            for source in self.inputs(target)
            if source.values.shape[1] == len(by.values)
        ]

    def used(self, matrix: Matrix, count: int, target: Matrix) -> Iterator[list[int]]:
        """Yield the rows of a matrix that may be meant where so many are used."""
        have = len(matrix.values)
        for name, choice in self.choices.items():
            if (len(choice), self.words[name]) == (count, have) and self.is_meant(name, target):
                yield list(choice)
        if count <= have:
            yield list(range(count))
        if count < have:
            yield list(range(have - count, have))

    def is_meant(self, name: str, target: Matrix) -> bool:
        """Tell whether the name of a matrix says the name of a choice."""
        tail = name.rpartition("_")[2]
        return tail in target.rest or any(word.startswith(tail[:6]) for word in target.rest)

    def masks_for(self, shape: tuple[int, ...]) -> Iterator[Array | None]:
        """Yield the masks that scores of a shape may have."""
        yield None
        for mask in self.masks:
            if mask.values.shape[1] == shape[1] and len(mask.values) in (1, shape[0]):
                yield np.broadcast_to(mask.values, shape)
        for offset in {0, shape[1] - shape[0]}:
            yield np.tri(shape[0], shape[1], offset, dtype=bool)

    def formula(
        self, target: Matrix, said: str, entry: Formula, *sources: Matrix
    ) -> Iterator[Made]:
        """Try a formula."""
        known = self.known | {source.name: source for source in sources}
        values = target.values
        first = table(entry, known, (1, 1)), values[:1, :1]
        if close(*first) and close(table(entry, known, values.shape), values):
            yield made_of("formula", *sources, said=said, formula=entry)

    def products(
        self,
        target: Matrix,
        left: Sequence[Matrix],
        right: Sequence[Matrix],
        turned: tuple[bool, bool] = (False, False),
        scales: Sequence[float] = (1.0,),
    ) -> Iterator[Made]:
        """Try products of two matrices, each as it is or transposed."""
        rows, columns = target.values.shape
        for a, b in itertools.product(left, right):
            first = a.values.T if turned[0] else a.values
            second = b.values.T if turned[1] else b.values
            if first.shape[1] != second.shape[0] and (turned[1] or turned[0]):
                continue
            lefts = [list(range(rows))] if turned[0] else list(self.used(a, rows, target))
            inner = first.shape[1]
            rights = list(self.used(b, columns if turned[1] else inner, target))
            for i, j in itertools.product(lefts, rights):
                one = first if turned[0] else first[i]
                other = second[:, j] if turned[1] else second[j]
                if one.shape[0] != rows or other.shape != (inner, columns):
                    continue
                for scale in scales:
                    if close(scale * (one @ other), target.values):
                        used = (list(range(inner)) if turned[0] else i, j)
                        yield made_of("product", a, b, rows=used, turned=turned, scale=float(scale))

    def pairs(self, target: Matrix) -> Iterator[tuple[list[Matrix], list[Matrix]]]:
        """Yield what scores may be products of."""
        queries = self.roles(target, "query")
        yield queries, self.roles(target, "key")
        free = self.inputs(target)
        yield free, free
        for between in self.before(target, "bilinear"):
            for source in free:
                if source.values.shape[1] == len(between.values):
                    name = f"x M of {target.name}"
                    rows = (list(range(len(source.values))), list(range(len(between.values))))
                    made = made_of("product", source, between, rows=rows)
                    yield [self.step(name, source.values @ between.values, made)], [source]
        if "one" in target.rest:  # one matrix for queries and keys
            yield queries, queries

    def make_query(self, target: Matrix) -> Iterator[Made]:
        """Try what makes queries, keys and values: the input and a matrix of parameters."""
        role = target.family
        if target.step.startswith("rotated_") and role in self.known:
            yield from self.rotations(target, self.known[role])
        yield from self.products(
            target, self.before(target, "input"), self.before(target, "w", steps=[f"w_{role}"])
        )
        if target.step.endswith(("_heads", "_repeated")):
            yield from self.copies(target, self.before(target, role))
        rate = self.scalars.get("learning_rate")
        if rate is not None and f"d_{role}" in self.known and role in self.known:
            source, slope = self.known[role], self.known[f"d_{role}"]
            step = partial(lambda by, x, d: x - number(by) * d, rate)
            said = "{0} minus {1} times the learning rate"
            yield from self.formula(
                target, said, elementwise(step, source.name, slope.name), source, slope
            )

    make_key = make_value = make_query

    def rotations(self, target: Matrix, source: Matrix) -> Iterator[Made]:
        """Try to turn pairs of coordinates, halves or neighbors, by the position."""
        angles = [self.known.get(name) for name in ("positions", "frequencies")]
        if all(angles):
            half = target.values.shape[1] // 2
            halves = [(i, i + half) for i in range(half)]
            neighbors = [(2 * i, 2 * i + 1) for i in range(half)]
            for pairs in (halves, neighbors):
                names = " and ".join(f"{i}, {j}" for i, j in pairs)
                said = f"{{0}} with coordinates {names} turned by {{1}} times {{2}}"
                entry = formulas.rotated(source.name, ("positions", "frequencies"), pairs)
                yield from self.formula(target, said, entry, source, *filter(None, angles))

    def copies(self, target: Matrix, sources: Sequence[Matrix]) -> Iterator[Made]:
        """Try columns of other matrices: what splitting, repeating and merging heads gives."""
        sources = [source for source in sources if source.given != target.given]
        alone = [[source] for source in sources]
        for group in (*alone, sorted(sources, key=lambda m: m.place)):
            found = [
                [
                    (k, j)
                    for k, source in enumerate(group)
                    for j, other in enumerate(source.values.T)
                    if close(column, other)
                ]
                for column in target.values.T
            ]
            if all(found):
                places = self.in_order(found)
                of = sorted({k for k, _ in places})
                columns = [(of.index(k), j) for k, j in places]
                yield made_of("copy", *(group[k] for k in of), columns=columns)

    def in_order(self, found: Sequence[Sequence[tuple[int, int]]]) -> list[tuple[int, int]]:
        """Choose of equal columns those that stand one after the other."""
        places = [found[0][0]]
        for every in found[1:]:
            places.append(next((place for place in every if place > places[-1]), every[0]))
        return places

    def make_merged(self, target: Matrix) -> Iterator[Made]:
        """Try the outputs of the heads, side by side."""
        yield from self.copies(target, self.before(target, "output", steps=["head_outputs"]))

    def make_contributions(self, target: Matrix) -> Iterator[Made]:
        """Try the output of a head and its own rows of the output matrix."""
        heads = self.before(target, "output", steps=["head_outputs"])
        for a, b in itertools.product(heads, self.before(target, "w", steps=["w_output"])):
            (head, *_), width = a.place, a.values.shape[1]
            block = list(range(head * width, (head + 1) * width))
            if a.place == target.place and close(a.values @ b.values[block], target.values):
                yield made_of("product", a, b, rows=(list(range(len(a.values))), block))

    def make_bilinear(self, target: Matrix) -> Iterator[Made]:
        """Try the matrix between two inputs: that of the queries times that of the keys."""
        left, right = (self.before(target, "w", steps=[f"w_{role}"]) for role in ("query", "key"))
        yield from self.products(target, left, right, (False, True))

    def make_stretched(self, target: Matrix) -> Iterator[Made]:
        """Try vectors times a matrix, or its transpose."""
        by = self.before(target, "stretch")
        yield from self.products(target, self.before(target, "input"), by, (False, True))
        yield from self.products(target, self.before(target, "input"), by)

    def make_input(self, target: Matrix) -> Iterator[Made]:
        """Try the sum of an input and what a layer writes, or tokens with their places."""
        for choice, tokens in self.choices.items():
            words, (length, width) = self.words[choice], target.values.shape
            if length == len(tokens) and width >= words + 3:
                said = (
                    f"one-hot tokens of <code>{choice}</code>; then 1, the position and its square"
                )
                yield from self.formula(target, said, formulas.placed(tokens, words))
        every = Matrix("", target.values, family="all", rest=frozenset({*AFTER, *target.rest}))
        for a, b in itertools.product(
            self.before(every, "output"), self.before(every, "w", steps=["w_output"])
        ):
            if a.values.shape[1] == len(b.values) and a.rest == b.rest:
                update = self.projected(f"update of {target.name}", a, b)
                for source in self.before(target, "input"):
                    if close(source.values + update.values, target.values):
                        yield made_of("sum", source, update)

    def make_scores(self, target: Matrix) -> Iterator[Made]:
        """Try what makes scores of any kind."""
        for other in self.before(target, "scores"):
            steps = (other.step, target.step)
            for root in self.roots(target):
                if steps == ("scores", "scaled_scores") and close(
                    root * other.values, target.values
                ):
                    yield made_of("scale", other, scale=root)
            if target.step == "capped_scores":
                yield from (
                    m.made
                    for m in self.caps(target, other)
                    if close(m.values, target.values) and m.made
                )
            for bias in self.before(target, "bias"):
                if target.step == "biased_scores" and close(
                    other.values + bias.values, target.values
                ):
                    yield made_of("sum", other, bias)
        if target.step in ("biased_scores", "capped_scores"):
            return
        for left, right in self.pairs(target):
            if target.step == "cosine":
                for a in left:
                    rows = list(range(len(a.values)))
                    said = "cosine of every pair of rows of {0}"
                    yield from self.formula(target, said, formulas.cosine(a.name, rows), a)
            else:
                roots = [matrix.values.shape[1] ** -0.5 for matrix in left[:1]]
                scales = [*self.scales, *roots]
                yield from self.products(target, left, right, (False, True), scales)

    def caps(self, target: Matrix, source: Matrix) -> Iterator[Matrix]:
        """Yield scores under a soft cap."""
        for name, cap in self.scalars.items():
            if "cap" in name.split("_"):
                soft = partial(lambda c, x: number(c) * function("tanh", x / number(c)), cap)
                entry = elementwise(soft, source.name)
                values = cap * np.tanh(source.values / cap)
                said = f"{{0}} under a soft cap of {short(cap)}"
                made = made_of("formula", source, said=said, formula=entry)
                yield self.step(f"capped scores of {target.name}", values, made)

    def roots(self, target: Matrix) -> list[float]:
        """Return what scores may be multiplied with: one over a root of a width."""
        found = [*self.before(target, "query"), *self.before(target, "input")]
        widths = [float(found[0].values.shape[1])] if found else []
        widths += [self.scalars["width"]] if "width" in self.scalars else []
        return [width**-0.5 for width in widths] or [1.0]

    def stages(self, target: Matrix) -> Iterator[tuple[Matrix, list[float]]]:
        """Yield scores that the softmax may have been taken of, and their scales."""
        order = ["capped_scores", "biased_scores", "scaled_scores", "scores", "dot", "cosine"]
        found = sorted(
            (m for m in self.before(target, "scores") if m.step in order),
            key=lambda m: (order.index(m.step), -len(m.rest)),
        )
        for other in found:
            roots = self.roots(target) if other.step in ("scores", "dot") else []
            yield other, [*self.scales, *roots]
        for other in found:
            biased = [self.biased(target, other, bias) for bias in self.before(target, "bias")]
            for one in biased:
                yield one, [1.0]
            for one in (other, *biased):
                for cap in self.caps(target, one):
                    yield cap, [1.0]
            if "temperatures" in self.known and len(other.values) == 1:
                yield self.cooled(target, other), [1.0]

    def biased(self, target: Matrix, scores: Matrix, bias: Matrix) -> Matrix:
        """Return scores with a bias."""
        name = f"biased scores of {target.name}"
        return self.step(name, scores.values + bias.values, made_of("sum", scores, bias))

    def cooled(self, target: Matrix, scores: Matrix) -> Matrix:
        """Return one row of scores divided by each temperature."""
        by = self.known["temperatures"]
        said = "{0} divided by each of {1}"
        entry = formulas.divided(scores.name, by.name)
        made = made_of("formula", scores, by, said=said, formula=entry)
        return self.step(f"scores of {target.name}", scores.values / by.values.T, made)

    def make_weights(self, target: Matrix) -> Iterator[Made]:
        """Try shares: of scores of the example, or of scores that it does not list."""
        if target.rest & SLIPS:
            yield from self.slips(target)
            return
        for weights in self.shares(target, *target.values.shape):
            if alike(weights.values, target.values) and weights.made:
                yield weights.made

    def shares(self, target: Matrix, rows: int, columns: int, keys: str = "") -> Iterator[Matrix]:
        """Yield shares of a shape that may be those of a matrix, of these keys if there are any."""
        name, shape = f"weights of {target.name}", (rows, columns)
        listed = ((m, scale) for m, scales in self.stages(target) for scale in scales)
        unlisted = ((m, 1.0) for m in self.unlisted(target, rows, columns, keys))
        for other, scale in itertools.chain(listed, unlisted):
            if other.values.shape == shape:
                for mask in self.masks_for(shape):
                    values, more = softmax(scale * other.values, mask)
                    made = made_of("softmax", other, scale=scale, mask=mask, more=more)
                    yield self.step(name, values, made)

    def slips(self, target: Matrix) -> Iterator[Made]:
        """Try what a wrong recipe makes of scores and a mask."""
        shape, filler = target.values.shape, self.scalars.get("sentinel", 0.0)
        words = frozenset(target.rest - SLIPS)
        for scores in self.before(replace(target, rest=words), "scores"):
            masks = [m for m in self.masks if m.values.shape == shape == scores.values.shape]
            masks.sort(key=lambda m: not set(m.name.split("_")) & words)
            for mask in masks:
                if target.rest & {"hides", "inverted"}:
                    values, more = softmax(scores.values, ~mask.values)
                    if alike(values, target.values):
                        said = "{0}, over the keys where the mask is false"
                        yield made_of("softmax", scores, mask=~mask.values, more=more, said=said)
                for word in target.rest & {"added", "filled", "multiplied"}:
                    wrong = self.wrong(target, word, scores, mask, filler)
                    values, more = softmax(wrong.values, None)
                    if alike(values, target.values):
                        yield made_of("softmax", wrong, more=more)

    def wrong(
        self, target: Matrix, word: str, scores: Matrix, mask: Matrix, filler: float
    ) -> Matrix:
        """Return scores with a mask that was not taken for −∞."""
        told = short(filler)
        said = {
            "added": f"{{0}}, plus {told} where the mask hides",
            "filled": f"{{0}}, with {told} where the mask hides",
            "multiplied": "{0} times the mask",
        }[word]
        entry = formulas.masked(scores.name, mask.values, word, filler)
        made = made_of("formula", scores, said=said, formula=entry)
        values = table(entry, self.known, scores.values.shape)
        return self.step(f"scores of {target.name}", values, made)

    def unlisted(self, target: Matrix, rows: int, columns: int, keys: str = "") -> Iterator[Matrix]:
        """Yield scores that the example does not list: products of queries and keys, cosines."""
        name = f"scores of {target.name}"
        for left, right in self.pairs(target):
            partners = [matrix for matrix in right if matrix.name == keys]
            for a, b in itertools.product(left, partners or right):
                if a.values.shape[1] != b.values.shape[1] or (a.family == "input" and a is not b):
                    continue
                for i, j in itertools.product(
                    self.used(a, rows, target), self.used(b, columns, target)
                ):
                    for scale in (a.values.shape[1] ** -0.5, *self.scales):
                        scores = scale * (a.values[i] @ b.values[j].T)
                        made = made_of(
                            "product", a, b, rows=(i, j), turned=(False, True), scale=scale
                        )
                        yield self.step(name, scores, made)
        for a in self.before(target, "input"):
            for i in self.used(a, rows, target):
                lengths = np.linalg.norm(a.values[i], axis=1)[:, np.newaxis]
                if not lengths.all():
                    continue
                units = a.values[i] / lengths
                which = "" if i == list(range(len(a.values))) else f" {', '.join(map(str, i))}"
                said = f"cosine of every pair of rows{which} of {{0}}"
                made = made_of("formula", a, said=said, formula=formulas.cosine(a.name, i))
                yield self.step(name, units @ units.T, made)

    def make_output(self, target: Matrix) -> Iterator[Made]:
        """Try contexts: of shares of the example, or of shares that it does not list."""
        if state := self.merged_state("weighted", "sum"):
            entry = formulas.divided_rows(*(one.name for one in state))
            yield from self.formula(target, "each row of {0} ÷ its {1}", entry, *state)
        turn = "turn" in target.rest  # the heads are read as they are, without being repeated
        plain = self.before(target, "value", steps=["value"])
        values = plain if turn else self.roles(target, "value")
        values = [*values, *self.inputs(target), *self.before(target, "output")]
        if target.step == "nearest" or {"first", "wins"} <= target.rest:
            for scores, value in itertools.product(self.before(target, "scores"), values):
                if scores.values.shape == (len(target.values), len(value.values)):
                    said = "the row of {1} at the largest of each row of {0}, the first of several"
                    entry = formulas.best(scores.name, value.name)
                    yield from self.formula(target, said, entry, scores, value)
            return
        weights = [] if turn else self.before(target, "weights")
        yield from self.products(target, weights, values)
        by = self.before(target, "w", steps=["w_output"])
        yield from self.products(target, self.before(target, "merged"), by)
        for one, value in itertools.product(weights, values) if by else ():
            for keys in self.used(value, one.values.shape[1], target):
                rows = (list(range(len(one.values))), keys)
                made = made_of("product", one, value, rows=rows)
                name = f"context of {target.name}"
                context = self.step(name, one.values @ value.values[keys], made)
                yield from self.products(target, [context], by)
        for value in values:
            if value.values.shape[1] != target.values.shape[1] or value.family == "output":
                continue
            counts = dict.fromkeys((len(value.values), len(target.values)))
            for keys in (rows for count in counts for rows in self.used(value, count, target)):
                partner = value.name.replace("value", "key")
                for shares in self.shares(target, len(target.values), len(keys), partner):
                    if close(shares.values @ value.values[keys], target.values):
                        rows = (list(range(len(shares.values))), keys)
                        yield made_of("product", shares, value, rows=rows)

    def make_slope(self, target: Matrix) -> Iterator[Made]:
        """Try the backward pass."""

        def of(*names: str) -> list[Matrix]:
            return [self.known[name] for name in names if name in self.known]

        root = [1.0, *self.roots(target)]
        step = target.step
        if target.rest:
            return
        if step == "d_value":
            yield from self.products(target, of("weights"), of("d_output"), (True, False))
        if step == "d_weights":
            yield from self.products(target, of("d_output"), of("value"), (False, True))
        slopes = of("d_scores", "d_scaled_scores") or list(self.slopes())
        if step == "d_query":
            yield from self.products(target, slopes, of("key"), scales=root)
        if step == "d_key":
            yield from self.products(target, slopes, of("query"), (True, False), root)
        if step.startswith("d_w_"):
            inputs = self.before(target, "input")
            yield from self.products(target, inputs, of(step.replace("w_", "")), (True, False))
        if step == "d_scores":
            for other in of("d_scaled_scores"):
                if close(root[1] * other.values, target.values):
                    yield made_of("scale", other, scale=root[1])
        if step in ("d_scaled_scores", "d_scores") and "weights" in self.known:
            for slope in of("d_weights"):
                made = self.through_softmax(slope)
                if close(computed(made, self.known, target.values.shape)[0], target.values):
                    yield made
        if step == "d_x":
            parts = []
            for role in ("query", "key", "value"):
                for one, by in zip(of(f"d_{role}"), of(f"w_{role}"), strict=False):
                    rows = list(range(len(one.values))), list(range(by.values.shape[0]))
                    made = made_of("product", one, by, rows=rows, turned=(False, True))
                    name = f"back through {role} of {target.name}"
                    parts.append(self.step(name, one.values @ by.values.T, made))
            if parts and close(np.sum([part.values for part in parts], axis=0), target.values):
                yield made_of("sum", *parts)
        if step == "d_output":
            for output in of("output"):
                said = "−1 divided by 1 plus e to {0}: the slope of log(1 + e<sup>−x</sup>)"
                entry = elementwise(
                    lambda x: -(number(1) / (number(1) + exponential(x))), output.name
                )
                yield from self.formula(target, said, entry, output)

    def through_softmax(self, slope: Matrix) -> Made:
        """Return how slopes go back through the softmax."""
        weights = self.known["weights"]
        mean = (weights.values * slope.values).sum(axis=1)
        return made_of("slope", weights, slope, more={"mean": mean})

    def slopes(self) -> Iterator[Matrix]:
        """Yield the slopes along the scores of an example that does not list them."""
        if {"weights", "d_output", "value"} <= set(self.known):
            output, value = self.known["d_output"], self.known["value"]
            rows = (list(range(len(output.values))), list(range(len(value.values))))
            made = made_of("product", output, value, rows=rows, turned=(False, True))
            slope = self.step("d_weights", output.values @ value.values.T, made)
            made = self.through_softmax(slope)
            known = self.known | {"d_weights": slope}
            yield self.step("d_scaled_scores", computed(made, known, ())[0], made)

    def make_function(self, target: Matrix) -> Iterator[Made]:
        """Try functions of one array: of an entry, of a row, of two."""
        step, size = target.step, target.values.shape[1]
        state = self.merged_state("maximum", "sum")
        if step == "log_sum_exp" and state:
            plus = elementwise(lambda m, s: m + function("log", s), *(one.name for one in state))
            yield from self.formula(target, "{0}, plus the logarithm of {1}", plus, *state)
        for source in [*self.known.values()][::-1]:
            name, values = source.name, source.values
            family = (source.family, source.rest <= target.rest)
            said = ""
            entry: Formula | None = None
            if target.given == f"log_{name}" and values.shape == target.values.shape:
                said, entry = "logarithm of {0}", elementwise(partial(function, "log"), name)
            elif step == "exponentials" and family == ("scores", True):
                said, entry = "e to the power of {0}", elementwise(exponential, name)
            elif step == "log_sum_exp" and family == ("scores", True) and len(values) == size:
                said = "logarithm of the sum of the exponentials of each row of {0}"
                entry = of_rows(formulas.log_sum, name)
            elif step == "norms" and family[0] in ("input", "stretched") and len(values) == size:
                if (source.family == "stretched") == ("stretched" in target.rest):
                    said, entry = "length of each row of {0}", of_rows(length, name)
            elif step == "distance" and family == ("input", True):
                said = "distance of every pair of rows of {0}"
                entry = formulas.distance(name)
            elif step == "jacobian" and family == ("weights", True) and values.shape == (1, size):
                said = "diagonal of {0}, minus {0} transposed times {0}"
                entry = formulas.jacobian(name)
            elif step == "jacobian" and source.step == step:
                for root in self.roots(target):
                    if close(root * values, target.values):
                        yield made_of("scale", source, scale=root)
            if entry:
                yield from self.formula(target, said, entry, source)

    def merged_state(self, *parts: str) -> list[Matrix]:
        """Return what two states were merged into, where the example lists it."""
        names = [f"merged_{part}" for part in parts]
        return [self.known[name] for name in names] if self.known.keys() >= set(names) else []

    def make_state(self, target: Matrix) -> Iterator[Made]:
        """Try what a softmax in one pass keeps: maxima, and sums of exponentials below them."""
        which, _, what = target.step.partition("_")
        size = int(self.scalars.get("block_size", 1))
        scores = self.known.get("block_maximum" if which == "merged" else "scores")
        most = self.known.get(f"{which}_maximum")
        if not scores or (what != "maximum" and not most):
            return
        width, flat = scores.values.shape[1], which == "merged" and what != "weighted"

        def spread(i: int, j: int) -> formulas.Spread:
            q, g = (target.place[0], i) if target.place else (j, 0) if flat else (i, j)
            start, stop = {
                "running": (0, j + 1),
                "block": (g * size, (g + 1) * size),
                "merged": (0, width),
            }[which]
            factor = "block_sum" if which == "merged" and what == "sum" else ""
            if what == "weighted":
                factor = f"block_weighted[{q}]" if which == "merged" else "value"
            row = factor == "block_sum"
            return (
                [(scores.name, q, c) for c in range(start, stop)],
                [(factor, q, c) if row else (factor, c, j) for c in range(start, stop) if factor],
                (most.name, *((0, q) if which == "merged" else (q, g))) if most else None,
            )

        over = {
            "running": "the keys so far",
            "block": f"each block of {size} keys",
            "merged": "all blocks",
        }[which]
        entry = formulas.rescaled(spread)
        if what == "maximum":
            yield from self.formula(target, f"largest of {{0}} over {over}", entry, scores)
        elif most:
            names = {name for i in range(len(target.values)) for name, *_ in spread(i, 0)[1]}
            more = [matrix for matrix in self.known.values() if matrix.name in names]
            by = f", times <code>{more[0].given}</code>" if more else ""
            said = f"sum of e to the power of {{0}} − {{1}}{by}, over {over}"
            yield from self.formula(target, said, entry, scores, most, *more)

    def make_encoding(self, target: Matrix) -> Iterator[Made]:
        """Try the sinusoidal encoding, and the frequencies of a rotation."""
        base, width = self.scalars.get("base", 0.0), target.values.shape[1]
        if target.step == "encoding":
            said = f"sine and cosine of the position, divided by powers of {short(base)}"
            yield from self.formula(target, said, formulas.encoded(base, width))
        else:
            entry = formulas.frequency(base, 2 * width)
            yield from self.formula(target, f"powers of {short(base)}", entry)

    # The same steps, with something else to begin with

    def again(self, target: Matrix) -> Iterator[Made]:
        """Try the steps of another matrix, with something else to begin with."""
        bases = [
            self.known[name]
            for name, made in self.made.items()
            if made.kind != "again" and self.known[name].given
        ]
        bases = [
            m
            for m in bases
            if (m.family, m.step) == (target.family, target.step)
            and m.rest < target.rest
            and (m.place == target.place)
        ]
        for base in sorted(bases, key=lambda m: -len(m.rest)):
            words = target.rest - base.rest
            for starts in self.starts(base, target, words):
                worlds = tuple(self.world(base.name, start, words) for start in starts)
                every = [world.known[base.name].values for world in worlds]
                rows = [slice(s.row, None if s.row is None else s.row + 1) for s in starts]
                values = [one[row] for one, row in zip(every, rows, strict=True)]
                if worlds and close(np.concatenate(values), target.values):
                    said = worlds[0].said if len(worlds) == 1 else f"{worlds[0].said}, and so on"
                    yield Made("again", (base.name,), said=said, worlds=worlds)

    def starts(self, base: Matrix, target: Matrix, words: frozenset[str]) -> Iterator[list[Start]]:
        """Yield what may be put in place of what: once, or once for each row."""
        whole = len(target.values) == len(base.values)
        root, by = self.known.get("embeddings"), self.known.get("encoding")
        meant = replace(target, rest=words)
        chosen = [name for name in self.choices if self.is_meant(name, meant)]
        if root and "embeddings" in self.made:
            several = [n for n in self.choices if f"{n.partition('_')[0]}s" in words]
            starts = []
            for name in several or chosen:
                tokens, width = self.choices[name], root.values.shape[1]
                said = f"as {'the last row of ' * bool(several)}{{0}}, for <code>{name}</code>"
                entry = formulas.placed(tokens, self.words[name])
                shape, row = (len(tokens), width), len(tokens) - 1 if several else None
                starts.append(Start("embeddings", shape, entry, said, row))
            yield starts if several else starts[:1]
        elif root:
            for name in chosen or [""]:
                choice = self.choices.get(name, list(range(len(root.values))))
                plus = "encoded" in words and by is not None and len(by.values) == len(choice)
                told = [f"for the words of <code>{name}</code>"] * bool(name)
                told += ["with <code>encoding</code> added to the words"] * plus
                said = f"as {{0}}, but {' and '.join(told)}"
                if name or plus:
                    shape = (len(choice), root.values.shape[1])
                    entry = formulas.chosen("embeddings", choice, "encoding" if plus else "")
                    yield [Start("embeddings", shape, entry, said)]
        for name, shift in self.scalars.items():
            if "positions" in self.known and any(word.startswith(name) for word in words):
                shape = self.known["positions"].values.shape
                said = f"as {{0}}, but with every position moved by {short(shift)}"
                entry = elementwise(partial(lambda by, x: x + number(by), shift), "positions")
                yield [Start("positions", shape, entry, said)]
        if "uniform" in words and "weights" in self.known:
            weights = self.known["weights"].values
            empty = [i for i, row in enumerate(weights) if not row.any()]
            said = "as {0}, but with equal weights for a query whose keys are all hidden"
            row = None if whole or not empty else empty[0]
            yield [Start("weights", weights.shape, formulas.uniform("weights", empty), said, row)]
        if {"without", "path"} <= words:
            for name, made in self.made.items():
                step = self.known[name]
                if step.step in words and made.kind == "product" and made.of[0] == "stream":
                    entry = formulas.read("embeddings", made.of[1])
                    said = f"as {{0}}, but with the {step.step} made of <code>embeddings</code>"
                    yield [Start(name, step.values.shape, entry, said)]

    def world(self, base: str, start: Start, words: frozenset[str]) -> World:
        """Return all that changes on the way to a matrix."""
        name, values = start.name, table(start.formula, self.known, start.shape)
        world = World(
            self.known | {name: replace(self.known[name], values=values)},
            {one: made for one, made in self.made.items() if one != name},
            start.row,
            {name: partial(start.formula, self.known)},
            words,
            start.said,
        )
        changed = {name: True}

        def follow(name: str) -> bool:
            if name not in changed:
                made = self.made.get(name)
                changed[name] = made is not None and any([*map(follow, made.of)])
                if changed[name] and made:
                    made = self.fitted(made, world.known)
                    values, more = computed(made, world.known, self.known[name].values.shape)
                    world.known[name] = replace(self.known[name], values=values)
                    world.made[name] = replace(made, more=more)
            return changed[name]

        follow(base)
        return world

    def fitted(self, made: Made, known: Known) -> Made:
        """Return how something is made where there are more rows or fewer."""
        counts = [len(self.known[name].values) for name in made.of]
        rows = tuple(
            list(range(len(known[name].values))) if used == list(range(count)) else used
            for used, name, count in zip(made.rows, made.of, counts, strict=False)
        )
        mask, shape = made.mask, known[made.of[0]].values.shape
        if mask is not None and mask.shape != shape:
            mask = np.tri(*shape, dtype=bool)
        return replace(made, rows=rows, mask=mask)


def computed(made: Made, known: Known, shape: tuple[int, ...]) -> tuple[Array, dict[str, Array]]:
    """Compute a matrix from what it is made of."""
    of = [known[name].values for name in made.of]
    if made.kind == "product":
        one = of[0].T if made.turned[0] else of[0][made.rows[0]]
        other = of[1][made.rows[1]]
        return made.scale * (one @ (other.T if made.turned[1] else other)), {}
    if made.kind == "softmax":
        return softmax(made.scale * of[0], made.mask)
    if made.kind == "scale":
        return made.scale * of[0], {}
    if made.kind == "sum":
        return np.asarray(sum(of)), {}
    if made.kind == "slope":
        mean = (of[0] * of[1]).sum(axis=1)
        return of[0] * (of[1] - mean[:, np.newaxis]), {"mean": mean}
    if made.kind == "copy":
        return np.column_stack([of[k][:, j] for k, j in made.columns]), {}
    assert made.formula
    return table(made.formula, known, shape), {}
