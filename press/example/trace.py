"""Trace a number: of every entry of a worked example, what made it and where it goes next.

All that is said about an entry is computed here and written into a script, one for each example,
that a page loads when a reader points at a number. Without script, the page of an example has a
table of the steps.
"""

import copy
import html
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from docutils import nodes
from numpy.typing import NDArray
from sphinx.application import Sphinx

from press.example.arithmetic import NOT_FULL, equals, factor, short
from press.example.axes import heads
from press.example.relations import Made, Matrix, Relations, World, close
from press.site.frame import copy_script
from press.site.scope import is_whole

Array = NDArray[Any]
# The number of a matrix; "r" or "c" and which row or column, "e" and i, j, or "m" for all of it.
Place = list[Any]
Entry = tuple[str, int, int]
INLINE = 4  # entries of a step between that are written out before the line that uses them
NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?![\w.])")
ID = re.compile(r"\bSA\d{3}\b")
ROOT = Path(__file__).parents[2]
DATA = ROOT / "selfattn_ref" / "worked_examples" / "data"
SCRIPT = ROOT / "book" / "theme" / "trace.js"


def named(name: str) -> str:
    """Write the name of an array, or of a step that the example does not list."""
    step, _, of = name.partition(" of ")
    return f"{step} of <code>{of}</code>" if of else f"<code>{name}</code>"


def parts_of(entry: Sequence[Any]) -> list[Any]:
    """Return the lines of an entry, and what else is said of it."""
    _, lines, *rest = entry
    return [*lines, *rest]


def times(scale: float, width: int) -> str:
    """Write what follows a sum of products: nothing, a division by a root, or a factor."""
    if scale == 1:
        return ""
    if np.isclose(scale * np.sqrt(width), 1):
        return f" ÷ √{width}"
    root = round(1 / scale**2) if scale else 0
    if 1 < root < 1000 and np.isclose(scale * np.sqrt(root), 1):
        return f" ÷ √{root}"
    return f" × {short(scale)}"


class Trace:
    """What is said of the entries of one example."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        relations = Relations(data)
        self.known, self.made = relations.known, relations.made
        self.names = list(self.known)
        self.choices = [tuple(rows) for rows in relations.choices.values()]
        self.views: dict[int, Trace] = {}
        self.ways: dict[int, dict[Entry, Set[Entry]]] = {}
        self.seen: dict[Entry, tuple[list[str], list[Place]]] = {}

    def parts(self) -> Iterator[tuple[Matrix, tuple[int, ...], Array]]:
        """Yield each matrix as a page may show it: whole, or the rows of one sentence."""
        every = [matrix for matrix in self.known.values() if self.is_shown(matrix)]
        for matrix in every:
            yield matrix, (), matrix.values
        for matrix in every:
            for rows in self.choices:
                if len(matrix.values) > max(rows):
                    yield matrix, rows, matrix.values[list(rows)]

    def is_shown(self, matrix: Matrix) -> bool:
        """Tell whether a page may show a matrix: of steps that are not listed only the usual."""
        usual = matrix.given or matrix.step in ("scores", "weights") or matrix.step == matrix.name
        return bool(usual) and matrix.values.dtype != bool

    def rule(self, name: str) -> str:
        """Say how a matrix is made."""
        made = self.made[name]
        of = [named(each) for each in made.of]
        for k, used in enumerate(made.rows):
            if not made.turned[k] or k == 1:  # not of a first factor that is transposed
                whole = used == list(range(len(self.known[made.of[k]].values)))
                rows = f" (row{'s' * (len(used) > 1)} {', '.join(map(str, used))})"
                of[k] += "" if whole else rows
        if made.kind == "product":
            turned = ["transposed" if each else "" for each in made.turned]
            parts = [" ".join(filter(None, pair)) for pair in zip(of, turned, strict=True)]
            inner = self.known[made.of[0]].values.shape[0 if made.turned[0] else 1]
            return f"{parts[0]} times {parts[1]}{times(made.scale, inner)}"
        if made.said:
            told: str = made.said.format(*of)
            return f"softmax of each row of {told}" if made.kind == "softmax" else told
        if made.kind == "softmax":
            scale = "" if made.scale == 1 else f"{times(made.scale, 1).strip()}"
            masked = " under the mask" if made.mask is not None else ""
            return f"softmax of each row of {of[0]} {scale}{masked}".replace("  ", " ")
        if made.kind == "scale":
            return f"{of[0]}{times(made.scale, 1)}"
        if made.kind == "sum":
            return " plus ".join(of)
        if made.kind == "slope":
            return (
                f"{of[0]}, entry by entry, times what {of[1]} exceeds its mean by, "
                f"the mean of each row weighted by {of[0]}"
            )
        return "columns of " + ", ".join(of)

    def sum_of(self, made: Made, i: int, j: int) -> tuple[str, list[Place], str]:
        """Write an entry of a product as its sum, what it takes of the factors, and "=" or "≈"."""
        a, b = (self.known[name] for name in made.of)
        (first, second), (left, right) = made.rows, made.turned
        one = a.values.T[i] if left else a.values[first[i]]
        other = b.values[second[j]] if right else b.values[second, j]
        terms = [(x, y) for x, y in zip(one, other, strict=True)]
        if len(terms) > 4:  # what is nothing is left out of a long sum
            terms = [(x, y) for x, y in terms if x and y] or [(0.0, 0.0)]
        text = " + ".join(f"{factor(x)} × {factor(y)}" for x, y in terms)
        scale = times(made.scale, len(one))
        at, to = self.names.index(a.name), self.names.index(b.name)
        places: list[Place] = [[at, "c", i] if left else [at, "r", first[i]]]
        if right:
            places.append([to, "r", second[j]])
        elif len(second) == len(b.values):
            places.append([to, "c", j])
        else:
            places += [[to, "e", row, j] for row in second]
        sign = equals(*(x for pair in terms for x in pair), made.scale * float(one @ other))
        text = f"({text}){scale}" if scale and len(terms) > 1 else f"{text}{scale}"
        return text, places, sign

    def lines(self, name: str, i: int, j: int) -> tuple[list[str], list[Place]]:
        """Say how an entry is made, in lines, and which rows and columns it is made of."""
        if (name, i, j) not in self.seen:
            self.seen[name, i, j] = self.told(name, i, j)
        return self.seen[name, i, j]

    def told(self, name: str, i: int, j: int) -> tuple[list[str], list[Place]]:
        """Say how an entry is made, for the first time."""
        made, value = self.made.get(name), self.known[name].values[i, j]
        if made is None:
            return [], []
        if made.kind == "product":
            text, places, sign = self.sum_of(made, i, j)
            return [*self.between(places), f"{text} {sign} {short(value)}"], places
        if made.kind == "formula" and made.formula:
            result = made.formula(self.known, i, j)
            lines = [*result.lines]
            if result.text != short(result.value):
                lines.append(result.line())
            elif not lines:
                lines += [f"the same as {named(n)}[{r}, {c}]" for n, r, c in sorted(result.places)]
            places = self.short(result.places)
            return [*self.between(places), *lines], places
        if made.kind == "again":
            return self.anew(made, i, j)
        source = self.known[made.of[0]]
        at, to = self.names.index(source.name), self.names.index(made.of[-1])
        if made.kind == "softmax":
            columns = range(len(source.values[i]))
            let = [c for c in columns if made.mask is None or made.mask[i, c]]
            every: list[Place] = [[at, "e", i, c] for c in let]
            whole = len(let) == len(columns)
            return self.share(made, name, i, j), [[at, "r", i]] if whole else every
        start = source.values[i, j] if made.kind != "copy" else 0.0
        if made.kind == "scale":
            text = f"{short(start)}{times(made.scale, 1)} {equals(start, value)} {short(value)}"
            return [text], [[at, "e", i, j]]
        if made.kind == "sum":
            of = [self.known[each].values for each in made.of]
            rows = [i if len(values) > 1 else 0 for values in of]
            summed = [values[row, j] for values, row in zip(of, rows, strict=True)]
            places = [
                [self.names.index(each), "e", row, j]
                for each, row in zip(made.of, rows, strict=True)
            ]
            text = " + ".join([short(summed[0]), *map(factor, summed[1:])])
            line = f"{text} {equals(*summed, value)} {short(value)}"
            return [*self.between(places), line], places
        if made.kind == "slope":
            slopes, mean = self.known[made.of[1]].values[i], made.more["mean"][i]
            pairs = zip(source.values[i], slopes, strict=True)
            terms = " + ".join(f"{short(a)} × {factor(b)}" for a, b in pairs)
            text = f"{short(start)} × ({short(slopes[j])} − {factor(mean)})"
            return [
                f"mean: {terms} {equals(*source.values[i], *slopes, mean)} {short(mean)}",
                f"{text} {equals(start, slopes[j], mean, value)} {short(value)}",
            ], [[at, "r", i], [to, "r", i]]
        k, column = made.columns[j]
        return [f"the same as {named(made.of[k])}[{i}, {column}]"], [
            [self.names.index(made.of[k]), "e", i, column]
        ]

    def between(self, places: Sequence[Place]) -> list[str]:
        """Write out the entries that come from steps between, if they are few."""
        found = []
        for source, i, j in (entry for place in places for entry in self.entries(place)):
            matrix = self.known[source]
            if not matrix.given and matrix.step not in ("query", "key", "value"):
                lines, _ = self.lines(source, i, j)
                label, _, last = lines[-1].rpartition(": ")
                told = last if re.search("[=≈]", last) else label
                found.append(f"{matrix.step}[{i}, {j}]: {told}")
        return found if len(found) <= INLINE else []

    def anew(self, made: Made, i: int, j: int) -> tuple[list[str], list[Place]]:
        """Say how an entry is made in the same steps as another, of something else."""
        world = made.worlds[i if len(made.worlds) > 1 else 0]
        view = self.view(world)
        (base,), at = made.of, (i if world.row is None else world.row, j)
        lines, _ = view.lines(base, *at)
        found = {entry for before in view.parents(base, *at) for entry in self.back(world, before)}
        return [world.said.format(named(base)), *lines], self.short(found)

    def view(self, world: World) -> "Trace":
        """Return the trace of the same steps with something else to begin with."""
        if id(world) not in self.views:
            view = copy.copy(self)
            view.known, view.made, view.seen = world.known, world.made, {}
            self.views[id(world)] = view
        return self.views[id(world)]

    def back(self, world: World, entry: Entry) -> Set[Entry]:
        """Lead from an entry in such steps to those of the example that it came from."""
        ways = self.ways.setdefault(id(world), {})
        if entry not in ways:
            ways[entry] = self.way_back(world, *entry)
        return ways[entry]

    def way_back(self, world: World, name: str, i: int, j: int) -> Set[Entry]:
        """Lead back for the first time."""
        if name in world.came:
            came: Set[Entry] = world.came[name](i, j).places
            return came
        here, there = self.known[name], world.known[name]
        if here is there:
            return {(name, i, j)} | (set() if here.given else self.origin(name, i, j))
        for other in self.known.values():
            words = other.family, other.step, other.rest
            twin = other.given and words == (here.family, here.step, here.rest | world.words)
            if twin and close(other.values, there.values):
                return {(other.name, i, j)}
        before = self.view(world).parents(name, i, j)
        return {one for each in before for one in self.back(world, each)}

    # Where entries come from and go

    def entries(self, place: Place) -> Iterator[Entry]:
        """Yield the entries of a row, a column, a whole matrix, or the one."""
        name, kind, *at = self.names[place[0]], *place[1:]
        rows, columns = self.known[name].values.shape
        for i in [at[0]] if kind in "re" else range(rows):
            for j in [at[-1]] if kind in "ce" else range(columns):
                yield name, i, j

    def short(self, entries: Collection[Entry]) -> list[Place]:
        """Write entries as matrices, rows and columns where they are whole."""
        found: list[Place] = []
        of: dict[str, set[tuple[int, int]]] = {}
        for name, i, j in entries:
            of.setdefault(name, set()).add((i, j))
        for name in sorted(of, key=self.names.index):
            at, left = self.names.index(name), of[name]
            rows, columns = self.known[name].values.shape
            if len(left) == rows * columns and rows > 1 < columns:
                found.append([at, "m"])
                continue
            whole_rows = [i for i in range(rows) if all((i, j) in left for j in range(columns))]
            whole_columns = [j for j in range(columns) if all((i, j) in left for i in range(rows))]
            if columns == 1 and whole_columns:
                whole_rows = []
            found += [[at, "r", i] for i in whole_rows]
            left -= {(i, j) for i in whole_rows for j in range(columns)}
            found += [
                [at, "c", j] for j in whole_columns if any((i, j) in left for i in range(rows))
            ]
            found += [[at, "e", i, j] for i, j in sorted(left) if j not in whole_columns]
        return found

    def direct(self, name: str, i: int, j: int) -> frozenset[Entry]:
        """Return the entries that an entry is made of."""
        places = self.lines(name, i, j)[1]
        return frozenset(entry for place in places for entry in self.entries(place))

    def parents(self, name: str, i: int, j: int) -> Set[Entry]:
        """Return the entries that stand in the lines of an entry: of a row of scores the one."""
        made = self.made.get(name)
        if made and made.kind == "softmax" and not self.known[made.of[0]].given:
            one = self.made[made.of[0]].kind == "product"
            return {(made.of[0], i, j)} if one else self.direct(name, i, j)
        return self.direct(name, i, j)

    def origin(self, name: str, i: int, j: int) -> Set[Entry]:
        """Return what an entry is made of, through the steps that the example does not list."""
        ways = self.ways.setdefault(0, {})
        if (name, i, j) not in ways:
            found = set(self.direct(name, i, j))
            for one in self.parents(name, i, j):
                if not self.known[one[0]].given:
                    found |= self.origin(*one)
            ways[name, i, j] = found
        return ways[name, i, j]

    @cached_property
    def index(self) -> tuple[dict[Entry, set[Entry]], dict[Entry, set[Entry]]]:
        """What each entry is used for: next, and through the steps that are not listed."""
        found: tuple[dict[Entry, set[Entry]], ...] = ({}, {})
        for name in self.made:
            for i, j in np.ndindex(self.known[name].values.shape):
                for of, sources in zip(found, (self.direct, self.origin), strict=True):
                    for source in sources(name, i, j):
                        of.setdefault(source, set()).add((name, i, j))
        return found[0], found[1]

    def share(self, made: Made, name: str, i: int, j: int) -> list[str]:
        """Lead from a score to its share: score, scale, mask, exponential, division."""
        source = self.known[made.of[0]]
        score = source.values[i, j]
        before = self.made.get(source.name)
        found = []
        if before and before.kind == "product":
            text, _, sign = self.sum_of(before, i, j)
            found.append(f"score: {text} {sign} {short(score)}")
        elif before and before.kind == "scale":
            raw = self.known[before.of[0]].values[i, j]
            under = self.made.get(before.of[0])
            text = ""
            if under and under.kind == "product":
                text, _, sign = self.sum_of(under, i, j)
                text = f"{text} {sign} "
            found.append(f"score: {text}{short(raw)}")
            divided = f"{short(raw)}{times(before.scale, 1)} {equals(raw, score)} {short(score)}"
            found.append(f"scaled: {divided}")
        elif before and before.kind == "sum":
            found.append(f"score with its bias: {self.lines(source.name, i, j)[0][-1]}")
        elif before and before.kind == "formula" and not source.given:
            *lines, last = self.lines(source.name, i, j)[0]
            found += [*lines, f"score: {short(score) if last.startswith('the same') else last}"]
        else:
            found.append(f"score: {short(score)}")
        if made.scale != 1:
            score = score * made.scale
            found.append(f"times {short(made.scale)}: {short(score)}")
        if made.mask is not None:
            if not made.mask[i, j]:
                why = "the mask is true here" if made.said else "the mask hides this key"
                return [*found, f"{why}: the exponential is 0, and so is the share"]
            found.append("the mask is false here" if made.said else "the mask lets it through")
        most, total = made.more["most"][i], made.more["total"][i]
        value, share = made.more["exponentials"][i, j], self.known[name].values[i, j]
        which = " of the row" if made.mask is None else " that the mask lets through"
        which = " where the mask is false" if made.said else which
        power = f"<sup>{short(score)}{f' − {factor(most)}' if most else ''}</sup>"
        why = f" <small>({short(most)} is the largest{which})</small>" if most else ""
        sign = equals(score, most, value if value > 1e-12 else NOT_FULL)
        found.append(f"exponential: e{power} {sign} {short(value)}{why}")
        every = made.more["exponentials"][i]
        sign = equals(*every, total, share, residue=0)
        if len(every) > 6:
            told = f"{short(value)} ÷ {factor(total)} {sign} {short(share)}"
            why = f" <small>({short(total)} is the sum of the exponentials of the row)</small>"
            return [*found, f"share: {told}{why}"]
        sum_ = " + ".join(map(short, every))
        return [*found, f"share: {short(value)} ÷ ({sum_}) {sign} {short(share)}"]

    def uses(self, name: str, i: int, j: int, far: bool = False) -> list[Place]:
        """Return the rows, columns and entries that an entry is used for."""
        return self.short(self.index[far].get((name, i, j), set()))

    def document(self) -> dict[str, Any]:
        """Return all that a script needs, by matrix and entry.

        Of an entry: its number, the lines that make it, what they take, where it is used, and the
        head and foot of what is said. What is said of several entries is said once, under `again`.
        """
        entries = {}
        for at, (name, matrix) in enumerate(self.known.items()):
            if not self.is_shown(matrix):
                continue
            rows, columns = matrix.values.shape
            entries[at] = [[self.entry(name, i, j) for j in range(columns)] for i in range(rows)]
        counts = Counter(
            json.dumps(part)
            for rows in entries.values()
            for row in rows
            for entry in row
            for part in parts_of(entry)
        )
        often = [text for text, count in counts.items() if count > 1 and len(text) > 12]
        places = {text: k for k, text in enumerate(often)}

        def once(part: Any) -> Any:
            return places.get(json.dumps(part), part)

        for entry in (entry for rows in entries.values() for row in rows for entry in row):
            value, lines, *rest = entry
            entry[:] = [value, [*map(once, lines)], *map(once, rest)]
        return {"names": self.names, "again": [*map(json.loads, often)], "entries": entries}

    def entry(self, name: str, i: int, j: int) -> list[Any]:
        """Return all that is said about an entry."""
        matrix = self.known[name]
        value = short(matrix.values[i, j])
        lines, _ = self.lines(name, i, j)
        made_of = self.short(self.origin(name, i, j)) if lines else []
        uses = self.uses(name, i, j)
        words: list[str] = []
        if matrix.given and not self.is_flat(name):
            for axis, (noun, place) in enumerate((("column", j), ("row", i))):
                word = heads(matrix.given, self.data)[-1 - axis][place]
                if not word.isdigit():
                    words.insert(0, html.escape(word if " " in word else f"{noun} {word}"))
        entry = f"{named(name)}{self.index_of(name, i, j)} = {value}"
        title = f"<b>{entry}</b> <span>{', '.join(words)}</span>"
        later = [use for use in uses if self.made[self.names[use[0]]].kind != "again"] or uses
        told = [*map(self.place, later)]
        if len(told) > 6:
            told = [*dict.fromkeys(named(self.names[use[0]]) for use in later)]
        foot = [f"Used next: {'; '.join(told)}"] if told else []
        if any("≈" in line for line in lines):
            foot.append("≈: computed with all digits, shown rounded.")
        if not lines and matrix.given:
            given = matrix.given in self.data["inputs"]
            group = self.data["inputs" if given else "expected"]
            text = html.escape(group[matrix.given]["description"])
            lines = ["Given. " * given + text]
        return [value, lines, made_of, self.uses(name, i, j, far=True), title, "<br>".join(foot)]

    def index_of(self, name: str, i: int, j: int) -> str:
        """Write the index of an entry."""
        return f"[{j}]" if self.is_flat(name) else f"[{i}, {j}]"

    def place(self, place: Place) -> str:
        """Write where something is used."""
        name, kind, *at = self.names[place[0]], *place[1:]
        if kind == "e":
            return f"{named(name)}{self.index_of(name, *at)}"
        line = "row" if kind == "r" else "column"
        return (
            named(name) if kind == "m" or self.is_flat(name) else f"{named(name)}, {line} {at[0]}"
        )

    def is_flat(self, name: str) -> bool:
        """Tell whether an array has one axis."""
        entry = {**self.data["inputs"], **self.data["expected"]}.get(self.known[name].given)
        return entry is not None and not isinstance(entry["value"][0], list)

    def steps(self) -> str:
        """Return a table of the steps, each with an entry worked out."""
        rows = []
        for name in self.made:
            values = self.known[name].values
            shape = " × ".join(map(str, values.shape))
            kind, i, j = self.made[name].kind, min(1, len(values) - 1), 0
            if kind == "formula":  # the first of a row may be a special case
                j = max(
                    (0, values.shape[1] - 1), key=lambda c: len("".join(self.lines(name, i, c)[0]))
                )
            lines = self.lines(name, i, j)[0][kind == "again" :]
            flat = self.is_flat(name)
            worked = "<br>".join([f"<b>[{j}]</b>" if flat else f"<b>[{i}, {j}]</b>", *lines])
            rows.append(
                f'<tr><th scope="row">{named(name)} <span class="shape">{shape}</span></th>'
                f"<td>{self.rule(name)}</td><td>{worked}</td></tr>"
            )
        if not rows:
            return ""
        head = "".join(f'<th scope="col">{one}</th>' for one in ("Array", "Made of", "One entry"))
        return (
            '<div class="table"><table class="steps" aria-label="Step by step"><thead>'
            f"<tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        )


@cache
def trace_of(path: Path) -> Trace:
    """Return the trace of the example that a file holds."""
    return Trace(json.loads(path.read_text("utf-8")))


def data_of(name: str) -> Path:
    """Return the file of an example."""
    return DATA / f"{name}.json"


def is_traced(name: str, matrix: str) -> bool:
    """Tell whether something can be said of the entries of a matrix of an example."""
    known = trace_of(data_of(name)).known
    return matrix in known and known[matrix].values.dtype != bool


def steps_of(name: str) -> str:
    """Return the table of the steps of an example."""
    return trace_of(data_of(name)).steps()


# Printed arrays


class Matching:
    """Find, page by page, which matrices of the examples are printed or drawn."""

    def __init__(self, traces: Mapping[str, Trace]) -> None:
        self.traces = traces
        self.seen: set[tuple[str, str, tuple[int, ...]]] = set()
        self.last = ""  # the example that was found before

    def match(
        self,
        texts: Sequence[str],
        shape: tuple[int, int],
        least: int,
        said: Set[str] = frozenset(),
        loaded: Set[str] = frozenset(),
    ) -> list[Any] | None:
        """Return the example and the matrix that numbers are those of, if that is certain.

        Of several with the same numbers, the one whose name has most of the words that stand
        before them; then one of the example that the cell loads, or of the same as before; what is
        printed a second time is the second of two. A number without `least` decimals has been
        written in full.
        """
        fitting = []
        for name, trace in self.traces.items():
            for place, (matrix, rows, values) in enumerate(trace.parts()):
                if values.shape == shape and agrees(texts, values, least):
                    words = said & set(matrix.name.split("_"))
                    new = (name, matrix.name, rows) not in self.seen
                    again = new if least else not new  # a drawing shows what was printed
                    order = (len(words), name in loaded, name == self.last, again, -place)
                    fitting.append((order, name, matrix.name, rows))
        if not fitting:
            return None
        order, name, matrix_name, rows = max(fitting)
        plain = {abs(float(text)) for text in texts} <= {0.0, 1.0} or len(set(texts)) == 1
        if not order[0] and (plain or (shape[0] == 1 and len(fitting) > 1)):
            return None
        self.seen.add((name, matrix_name, rows))
        self.last = name
        found = [name, self.traces[name].names.index(matrix_name)]
        return [*found, rows] if rows else found

    def name_of(self, found: Sequence[Any]) -> str:
        """Return the name of a matrix that was found."""
        name: str = self.traces[found[0]].names[found[1]]
        return name

    def printed(self, text: str, loaded: Set[str] = frozenset()) -> Iterator[dict[str, Any]]:
        """Yield the matrices in a printed text: where each row begins, counted in numbers.

        A row is what stands between brackets; rows within brackets are taken together.
        """
        numbers = list(NUMBER.finditer(text))
        rows, nesting = [], [""]
        for line in re.finditer(r"\[?\[([^][]+)\](?=(\])?)", text):
            inside = [k for k, n in enumerate(numbers) if line.start(1) <= n.start() < line.end(1)]
            if inside and NUMBER.sub("", line[1]).strip(" \n,") == "":
                before = text[: line.start()].rpartition("]")[2]
                rows.append((inside, frozenset(re.findall(r"[a-z]+", before.lower()))))
                opens, closes = line[0].startswith("[["), bool(line[2])
                within = nesting[-1] in ("opens", "inside")
                nesting.append(
                    "opens"
                    if opens and not closes
                    else "closes"
                    if within and closes
                    else "inside"
                    if within
                    else "alone"
                )
        start = 0
        while start < len(rows):
            for count in range(len(rows) - start, 0, -1):
                block = [inside for inside, _ in rows[start : start + count]]
                width = len(block[0])
                if count * width < 3 or any(len(row) != width for row in block):
                    continue
                kinds = nesting[start + 1 : start + 1 + count]
                nested = [kinds[0] == "opens", kinds[-1] == "closes"]
                if any(nested) != all(nested) or (not any(nested) and "inside" in kinds):
                    continue
                texts = [numbers[k][0] for row in block for k in row]
                if found := self.match(texts, (count, width), 4, rows[start][1], loaded):
                    yield {
                        "of": found,
                        "name": self.name_of(found),
                        "rows": [row[0] for row in block],
                        "width": width,
                    }
                    start += count - 1
                    break
            start += 1

    def drawn(self, drawing: str) -> Iterator[dict[str, Any]]:
        """Yield the matrices that a drawing shows, cell by cell."""
        wide = drawing.partition('class="figure-narrow"')[0]
        texts = re.findall(r'<text [^>]*class="(?:soft )?cell"[^>]*>([^<]*)</text>', wide)
        texts = [text.replace("−", "-").replace("∞", "inf") for text in texts]
        known = (part for trace in self.traces.values() for part in trace.parts())
        shapes = sorted({values.shape for _, _, values in known}, key=lambda s: (s[0] * s[1], s))
        start = 0
        while start < len(texts):
            for rows, columns in reversed(shapes):
                part = texts[start : start + rows * columns]
                whole = len(part) == rows * columns >= 4
                if whole and (found := self.match(part, (rows, columns), 0)):
                    yield {
                        "of": found,
                        "name": self.name_of(found),
                        "first": start,
                        "shape": [rows, columns],
                    }
                    start += rows * columns - 1
                    break
            start += 1


def loaded_by(output: nodes.Node) -> frozenset[str]:
    """Return the examples that the cell of an output names."""
    while output.parent is not None and "cell" not in output.get("classes", []):
        output = output.parent
    return frozenset(ID.findall(output.astext())) if output.parent is not None else frozenset()


def agrees(texts: Sequence[str], values: Array, least: int) -> bool:
    """Tell whether written numbers are those of an array, as far as they were written."""
    for text, value in zip(texts, values.ravel(), strict=True):
        digits = max(least, len(text.partition("e")[0].partition(".")[2]))
        if abs(float(text) - value) > 0.51 * 10.0**-digits:
            return False
    return True


def mark(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Mark the printed arrays of a lesson that are those of its examples."""
    if app.builder.format != "html" or "/examples/" in page:
        return
    names = dict.fromkeys(ID.findall(doctree.astext()))
    paths = {name: data_of(name) for name in names}
    traces = {name: trace_of(path) for name, path in paths.items() if path.is_file()}
    matching = Matching(traces)
    blocks = doctree.findall(nodes.literal_block)
    outputs = [block for block in blocks if "output" in block["classes"]]
    raws = [raw.astext() for raw in doctree.findall(nodes.raw)]
    drawings = [text for text in raws if re.match('<div class="drawing(?! live)', text)]
    found = {
        "printed": [list(matching.printed(block.astext(), loaded_by(block))) for block in outputs],
        "drawings": [list(matching.drawn(text)) for text in drawings],
    }
    if any(arrays for group in found.values() for arrays in group):
        facts = json.dumps(
            {name: {k: one for k, one in enumerate(group) if one} for name, group in found.items()},
            separators=(",", ":"),
        )
        text = f'<script type="application/json" id="traced">{facts}</script>'
        doctree += nodes.raw("", text, format="html")


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the script of each example."""
    if not is_whole(app, exception):
        return
    folder = Path(app.outdir, "_static", "traces")
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(DATA.glob("SA*.json")):
        facts = json.dumps(trace_of(path).document(), ensure_ascii=False, separators=(",", ":"))
        (folder / f"{path.stem}.js").write_text(
            f'bookTrace.take("{path.stem}",{facts});\n', encoding="utf-8"
        )


def write_script(app: Sphinx) -> None:
    """Put the script that shows it into the site."""
    if app.builder.format == "html":
        copy_script(SCRIPT, Path(app.outdir, "_static", SCRIPT.name))


def load_script(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Load the script on a page that has something to trace."""
    drawn = doctree.findall(nodes.raw) if doctree else ()
    if any(re.search(r'data-array=|id="traced"', each.astext()) for each in drawn):
        context["figure_scripts"] = [*context["figure_scripts"], SCRIPT.name]
