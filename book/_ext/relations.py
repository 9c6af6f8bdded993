"""How the arrays of a worked example are made of each other.

The name of an array says which step of attention made it; a relation is kept only if it gives every
number of the array. So what a page says about an entry has been computed.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
MOST = 400  # entries of an array that one would look at
# Steps have several names. What else a name says tells of which sentence, head or variant it is.
FAMILIES = {
    "input": r"embeddings?|vectors|x|stream",
    "query": r"query(?:_heads)?",
    "key": r"key(?:_heads|_repeated)?",
    "value": r"value(?:_heads|_repeated)?",
    "w": r"w_(?:query|key|value|output)",
    "scores": r"scores|dot|scaled_dot|scaled_scores|biased_scores|capped_scores|cosine",
    "weights": r"weights",
    "output": r"output|context|head_outputs|votes",
    "bias": r"bias",
    "merged": r"merged",
    "stretch": r"stretch",
    "slope": r"d_(?:query|key|value|output|weights|scaled_scores|scores|x|w_query|w_key|w_value)",
}


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

    def __post_init__(self) -> None:
        """Read the name."""
        if self.family:
            return
        for family in ("slope", "w", *FAMILIES):
            if found := re.search(rf"(?:^|_)({FAMILIES[family]})(?:_|$)", self.given):
                self.family, self.step = family, found[1]
                words = (self.given[: found.start()], self.given[found.end() :])
                self.rest = frozenset(word for part in words for word in part.split("_") if word)
                return


@dataclass
class Made:
    """How each entry of a matrix comes from others."""

    kind: str  # product, scale, sum, softmax, slope or copy
    of: tuple[str, ...]  # names of matrices
    rows: tuple[list[int], ...] = ()  # of the factors, those that are used
    turned: tuple[bool, bool] = (False, False)  # which factor is transposed
    scale: float = 1.0
    mask: Array | None = None
    more: dict[str, Array] = field(default_factory=dict)  # what stands between
    columns: list[tuple[int, int]] = field(default_factory=list)  # of a copy: matrix and column


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


class Relations:
    """The matrices of an example, and how each is made of those before it."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.known: dict[str, Matrix] = {}
        self.made: dict[str, Made] = {}
        inputs = data["inputs"]
        self.choices = {n: e["value"] for n, e in inputs.items() if "indices_of" in e}
        every = list(matrices(data))
        self.masks = [matrix for matrix in every if matrix.values.dtype == bool]
        asked = [call.get("options", {}).get("scale") for call in data["calls"]]
        asked += [inputs.get("scale", {}).get("value"), *inputs.get("scales", {}).get("value", [])]
        self.scales = [1.0, *dict.fromkeys(float(s) for s in asked if isinstance(s, int | float))]
        self.unlisted_projections(every)
        for matrix in every:
            if matrix.given in data["expected"] and matrix.values.dtype != bool:
                way = getattr(self, f"make_{matrix.family}", None)
                found = (
                    next(way(matrix), None) if way and np.isfinite(matrix.values).all() else None
                )
                if found:
                    self.made[matrix.name] = found
            self.known[matrix.name] = matrix

    def unlisted_projections(self, every: Sequence[Matrix]) -> None:
        """Enter queries, keys and values that an example with parameters does not list."""
        given = {matrix.given: matrix for matrix in every}
        for step in ("query", "key", "value"):
            source, by = given.get("embeddings"), given.get(f"w_{step}")
            if source and by and not {step, f"{step}_heads"} & set(given):
                made = Made(
                    "product",
                    ("embeddings", by.name),
                    (list(range(len(source.values))), list(range(len(by.values)))),
                )
                self.known[step] = Matrix(step, source.values @ by.values, family=step, step=step)
                self.made[step] = made
                self.known.update({m.name: m for m in (source, by)})

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

    def used(self, matrix: Matrix, count: int, target: Matrix) -> Iterator[list[int]]:
        """Yield the rows of a matrix that may be meant where so many are used."""
        have = len(matrix.values)
        for name, choice in self.choices.items():
            tail = name.rpartition("_")[2]
            if (
                len(choice) == count
                and max(choice) < have
                and (tail in target.rest or any(word.startswith(tail[:6]) for word in target.rest))
            ):
                yield list(choice)
        if count <= have:
            yield list(range(count))
        if count < have:
            yield list(range(have - count, have))

    def masks_for(self, shape: tuple[int, ...]) -> Iterator[Array | None]:
        """Yield the masks that scores of a shape may have."""
        yield None
        for mask in self.masks:
            if mask.values.shape[1] == shape[1] and len(mask.values) in (1, shape[0]):
                yield np.broadcast_to(mask.values, shape)
        for offset in {0, shape[1] - shape[0]}:
            yield np.tri(shape[0], shape[1], offset, dtype=bool)

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
            if first.shape[1] != second.shape[0] and not (not turned[1] and not turned[0]):
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
                        yield Made("product", (a.name, b.name), used, turned, float(scale))

    def pairs(self, target: Matrix) -> Iterator[tuple[list[Matrix], list[Matrix]]]:
        """Yield what scores may be products of."""
        yield self.before(target, "query"), self.before(target, "key")
        free = self.before(target, "input")
        yield free, free

    def make_query(self, target: Matrix) -> Iterator[Made]:
        """Try what makes queries, keys and values: the input and a matrix of parameters."""
        wanted = [f"w_{target.step.partition('_')[0]}"]
        yield from self.products(
            target, self.before(target, "input"), self.before(target, "w", steps=wanted)
        )
        if target.step.endswith(("_heads", "_repeated")):
            yield from self.copies(target, self.before(target, target.family))

    make_key = make_value = make_query

    def copies(self, target: Matrix, sources: Sequence[Matrix]) -> Iterator[Made]:
        """Try columns of other matrices: what splitting, repeating and merging heads gives."""
        found = []
        for column in target.values.T:
            places = [
                (k, j)
                for k, source in enumerate(sources)
                for j, other in enumerate(source.values.T)
                if source.given != target.given and close(column, other)
            ]
            if not places:
                return
            found.append(places[0])
        of = sorted({k for k, _ in found})
        columns = [(of.index(k), j) for k, j in found]
        yield Made("copy", tuple(sources[k].name for k in of), columns=columns)

    def make_merged(self, target: Matrix) -> Iterator[Made]:
        """Try the outputs of the heads, side by side."""
        yield from self.copies(target, self.before(target, "output", steps=["head_outputs"]))

    def make_scores(self, target: Matrix) -> Iterator[Made]:
        """Try what makes scores of any kind."""
        for other in self.before(target, "scores"):
            root = self.width(target) ** -0.5
            steps = (other.step, target.step)
            if steps == ("scores", "scaled_scores") and close(root * other.values, target.values):
                yield Made("scale", (other.name,), scale=root)
            for bias in self.before(target, "bias"):
                if target.step == "biased_scores" and close(
                    other.values + bias.values, target.values
                ):
                    yield Made("sum", (other.name, bias.name))
        for left, right in self.pairs(target):
            roots = [matrix.values.shape[1] ** -0.5 for matrix in left[:1]]
            if target.step in ("cosine", "biased_scores", "capped_scores"):
                return
            yield from self.products(target, left, right, (False, True), [*self.scales, *roots])

    def width(self, target: Matrix) -> int:
        """Return the width of the queries, or of what stands for them."""
        found = [*self.before(target, "query"), *self.before(target, "input")]
        return int(found[0].values.shape[1]) if found else 1

    def make_weights(self, target: Matrix) -> Iterator[Made]:
        """Try shares: of scores of the example, or of scores that it does not list."""
        shape = target.values.shape
        order = ["capped_scores", "biased_scores", "scaled_scores", "scores", "dot", "cosine"]
        found = sorted(
            (m for m in self.before(target, "scores") if m.step in order),
            key=lambda m: (order.index(m.step), -len(m.rest)),
        )
        roots = [self.width(target) ** -0.5]
        for other in found:
            factors = [*self.scales, *(roots if other.step in ("scores", "dot") else [])]
            for scale, mask in itertools.product(factors, self.masks_for(shape)):
                if other.values.shape == shape:
                    shares, more = softmax(scale * other.values, mask)
                    if close(shares, target.values):
                        yield Made("softmax", (other.name,), scale=scale, mask=mask, more=more)
            for bias in self.before(target, "bias"):
                scores = other.values + bias.values
                shares, more = softmax(scores, None)
                if close(shares, target.values):
                    name = f"biased scores of {target.name}"
                    self.enter(name, scores, Made("sum", (other.name, bias.name)))
                    yield Made("softmax", (name,), more=more)
        for name, scores, made in self.unlisted(target, *shape):
            for mask in self.masks_for(shape):
                shares, more = softmax(scores, mask)
                if close(shares, target.values):
                    self.enter(name, scores, made)
                    yield Made("softmax", (name,), mask=mask, more=more)

    def unlisted(
        self, target: Matrix, rows: int, columns: int
    ) -> Iterator[tuple[str, Array, Made]]:
        """Yield scores that the example does not list: products of queries and keys."""
        for left, right in self.pairs(target):
            for a, b in itertools.product(left, right):
                if a.values.shape[1] != b.values.shape[1] or (a.family == "input" and a is not b):
                    continue
                for i, j in itertools.product(
                    self.used(a, rows, target), self.used(b, columns, target)
                ):
                    for scale in (a.values.shape[1] ** -0.5, *self.scales):
                        scores = scale * (a.values[i] @ b.values[j].T)
                        made = Made("product", (a.name, b.name), (i, j), (False, True), scale)
                        yield f"scores of {target.name}", scores, made

    def make_output(self, target: Matrix) -> Iterator[Made]:
        """Try contexts: of shares of the example, or of shares that it does not list."""
        values = self.before(target, "value", "input", "output")
        yield from self.products(target, self.before(target, "weights"), values)
        merged = self.before(target, "merged")
        yield from self.products(target, merged, self.before(target, "w", steps=["w_output"]))
        for value in values:
            if value.values.shape[1] != target.values.shape[1] or value.family == "output":
                continue
            counts = dict.fromkeys((len(value.values), len(target.values)))
            for keys in (rows for count in counts for rows in self.used(value, count, target)):
                shape = (len(target.values), len(keys))
                for name, scores, made in self.unlisted(target, *shape):
                    for mask in self.masks_for(shape):
                        shares, more = softmax(scores, mask)
                        if close(shares @ value.values[keys], target.values):
                            self.enter(name, scores, made)
                            second = f"weights of {target.name}"
                            self.enter(
                                second, shares, Made("softmax", (name,), (), mask=mask, more=more)
                            )
                            rows = (list(range(len(shares))), keys)
                            yield Made("product", (second, value.name), rows)

    def make_slope(self, target: Matrix) -> Iterator[Made]:
        """Try the backward pass."""

        def of(*names: str) -> list[Matrix]:
            return [self.known[name] for name in names if name in self.known]

        root = [1.0, self.width(target) ** -0.5]
        step = target.step
        if step == "d_value":
            yield from self.products(target, of("weights"), of("d_output"), (True, False))
        if step == "d_weights":
            yield from self.products(target, of("d_output"), of("value"), (False, True))
        if step == "d_query":
            yield from self.products(
                target, of("d_scores", "d_scaled_scores"), of("key"), scales=root
            )
        if step == "d_key":
            slopes = of("d_scores", "d_scaled_scores")
            yield from self.products(target, slopes, of("query"), (True, False), root)
        if step.startswith("d_w_"):
            inputs = self.before(target, "input")
            yield from self.products(target, inputs, of(step.replace("w_", "")), (True, False))
        if step == "d_scores":
            for other in of("d_scaled_scores"):
                if close(root[1] * other.values, target.values):
                    yield Made("scale", (other.name,), scale=root[1])
        if step in ("d_scaled_scores", "d_scores") and "weights" in self.known:
            weights = self.known["weights"].values
            for slope in of("d_weights"):
                mean = (weights * slope.values).sum(axis=1)
                if close(weights * (slope.values - mean[:, np.newaxis]), target.values):
                    yield Made("slope", ("weights", slope.name), more={"mean": mean})

    def enter(self, name: str, values: Array, made: Made) -> None:
        """Enter a step between two arrays."""
        self.known[name] = Matrix(name, values)
        self.made[name] = made
