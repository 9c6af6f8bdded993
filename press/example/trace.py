"""Trace a number: of every entry of a worked example, what made it and where it goes next.

The derivations record how each number was made. Here that is laid out: lines of arithmetic for the
panel that a reader opens by pointing at a number (written into a script, one for each example), and
a table of the steps for the page of the example.
"""

import html
import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sphinx.application import Sphinx

from derivations.documents import ROOT
from derivations.recording import Step
from derivations.traces import recording_of
from press.example.arithmetic import ATOM, PRODUCT, SUM, Text, atom, equals, formula, short
from press.example.axes import heads
from press.example.data import documents

Array = NDArray[Any]
# The number of a matrix; "r" or "c" and which row or column, "e" and i, j, or "m" for all of it.
Place = list[Any]
Entry = tuple[str, int, int]
MOST = 400  # entries of an array that one would look at
LONG = 160  # letters that say how an array is made
INLINE = 4  # steps within a sum that are written out before the line that uses them


@dataclass(frozen=True)
class Matrix:
    """An array of two axes: one of the example, a part of one, or steps that it does not list."""

    name: str  # as one would write it: weights, weights[0]
    values: Array
    steps: Array
    of: str  # what it is all or a part of: weights, scores of weights
    given: str = ""  # the array of the example that it belongs to; none if it is not listed


def matrices(data: Mapping[str, Any], arrays: Mapping[str, Any]) -> Iterator[Matrix]:
    """Yield the matrices of an example in order, inputs first."""
    for name, entry in {**data["inputs"], **data["expected"]}.items():
        values = np.array(entry["value"])
        if values.dtype.kind not in "fib" or not values.ndim or values.size > MOST:
            continue
        if "indices_of" in entry:
            continue
        if values.dtype.kind == "i":
            values = values.astype(float)
        steps = np.array(arrays[name], dtype=object)
        for place in np.ndindex(values.shape[:-2]):
            at = "".join(f"[{index}]" for index in place)
            parts = np.atleast_2d(values[place]), np.atleast_2d(steps[place])
            yield Matrix(f"{name}{at}", *parts, name, name)


def named(name: str) -> str:
    """Write the name of an array, or of steps that the example does not list."""
    step, _, of = name.partition(" of ")
    return f"{step} of <code>{of}</code>" if of else f"<code>{name}</code>"


def address(name: str, *index: int) -> str:
    """Return the id of an entry on the page of its example: weights.1.2, or weights.0.1.2."""
    return ".".join([*re.findall(r"\w+", name), *map(str, index)])


def is_copy(step: Step) -> bool:
    """Tell whether a step only takes another one, without a word."""
    return step.operation == "choose" and not step.words.says


def look_through(step: Step) -> Step:
    """Return what copies are copies of."""
    while step.operation == "choose":
        step = step.operands[0]
    return step


def first_leaf(step: Step) -> Step:
    """Return the first number in the formula of a step that leads on: of e to x − y it is x."""
    one = step.operands[0]
    return one.operands[0] if one.operation == "subtract" else one


class Trace:
    """What is said of the entries of one example."""

    def __init__(self, data: Mapping[str, Any], inputs: Any, expected: Any) -> None:
        self.data = data
        self.known: dict[str, Matrix] = {}
        every = [*matrices(data, {**inputs, **expected})]
        entries = [step for matrix in every for step in matrix.steps.flat]
        self.listed = {id(step) for step in entries}
        # A copy that the example lists also stands for what was copied, unless that is listed.
        self.listed |= {id(look_through(step)) for step in entries if look_through(step).operands}
        for matrix in every:
            for between in unlisted(matrix, self.listed):
                self.known.setdefault(between.name, between)
            self.known[matrix.name] = matrix
        self.names = list(self.known)
        self.at: dict[int, list[tuple[int, int, int]]] = {}
        alone = {id(step) for step in entries}
        for number, matrix in enumerate(self.known.values()):
            for i, j in np.ndindex(matrix.steps.shape):
                step: Any = matrix.steps[i, j]
                if step.operation != "constant":
                    self.at.setdefault(id(step), []).append((number, i, j))
                inner = look_through(step)
                if inner.operands and inner is not step and id(inner) not in alone:
                    self.at.setdefault(id(inner), []).append((number, i, j))
        self.seen: dict[tuple[int, bool, str, bool], tuple[str, ...]] = {}
        self.behind: dict[tuple[int, int], Set[tuple[int, int, int]]] = {}

    @cached_property
    def made(self) -> list[str]:
        """The names of the matrices that are made of something."""
        numeric = [name for name in self.names if self.known[name].values.dtype != bool]
        places = {name: np.ndindex(self.known[name].values.shape) for name in numeric}
        return [name for name in numeric if any(self.lines(name, *at) for at in places[name])]

    # What is said of an entry

    def lines(self, name: str, i: int, j: int) -> list[str]:
        """Say how an entry is made, in lines."""
        matrix = self.known[name]
        step = matrix.steps[i, j]
        number = self.names.index(name)
        if matrix.given in self.data["inputs"]:
            return []
        while is_copy(step) or not step.operands:
            step = step.operands[0] if step.operands else step
            found = [place for place in self.at.get(id(step), ()) if place[0] < number]
            if found:
                first, *at = found[0]
                return [f"the same as {self.place([first, 'e', *at])}"]
            if not step.operands:
                return []
        return [*self.told(step, own=True)]

    def told(
        self, step: Step, through: bool = False, label: str = "", own: bool = False
    ) -> tuple[str, ...]:
        """Return the lines of a step, that of itself last; an entry does not need its label.

        A step that leads on begins with the number that it is all about, from score to share.
        """
        key = id(step), through, label, own
        if key not in self.seen:
            self.seen[key] = self.told_first(step, through, label, own)
        return self.seen[key]

    def told_first(self, step: Step, through: bool, label: str, own: bool) -> tuple[str, ...]:
        """Return the lines of a step for the first time."""
        words = step.words
        if words.says:
            before = self.operand(step.operands[0], through).lines if step.conditions else ()
            return (*before, words.says)
        if step.operation in ("input", "constant"):
            return (f"{label}: {short(step.value)}",) if label else ()
        if words.leads:
            one = first_leaf(step)
            before = self.told(look_through(one), True, "score")
            lines = (*before, one.words.says) if one.words.says else before
            text = self.leading(step)
        else:
            text = self.expression(step, through)
            lines = text.lines
        sign = equals(*text.numbers, float(step.value), residue=0 if words.leads else 1e-12)
        head = "" if own and not words.leads else words.label or label
        line = f"{head}{': ' * bool(head)}{text.text} {sign} {short(step.value)}"
        return (*lines, line + "".join(text.notes))

    def leading(self, step: Step) -> Text:
        """Write an exponential or a share: what it is about is a number by now."""
        one, *others = step.operands
        if one.operation == "subtract":
            return formula(
                step, [formula(one, [atom(one.operands[0]), self.operand(one.operands[1])])]
            )
        return formula(step, [atom(one), *map(self.operand, others)])

    def expression(self, step: Step, through: bool = False) -> Text:
        """Write the operation of a step."""
        if step.operation != "dot":
            return formula(step, [self.operand(one, through) for one in step.operands])
        before = [
            self.told(one)[-1]
            for one in step.operands
            if one.words.label and id(one) not in self.listed
        ]
        lines = tuple(dict.fromkeys(before))
        text = formula(step, [*map(atom, step.operands)])
        return replace(text, lines=lines if len(lines) <= INLINE else ())

    def operand(self, step: Step, through: bool = False) -> Text:
        """Write an operand: as a number, if it is one of an array, or as what it is made of."""
        listed = id(step) in self.listed
        if step.operation == "choose" and not listed:
            return self.operand(step.operands[0], through)
        words = step.words
        if words.note:
            return self.noted(step)
        if step.operation in ("input", "constant"):
            return atom(step)
        if words.label and (through or not listed):
            return atom(step, self.told(step, through and not words.leads))
        if listed or words.label or step.operation in ("dot", "max"):
            return atom(step)
        return self.expression(step, through)

    def noted(self, step: Step) -> Text:
        """Write a number that a note explains: a largest score, or a sum if it is long."""
        if step.operation == "sum" and len(step.operands) <= 6:
            return formula(step, [atom(one) for one in step.operands])
        return atom(step, note=step.words.note)

    def rule(self, name: str) -> str:
        """Say how a matrix is made."""
        i, j = self.example_of(name)
        row, number = self.known[name].steps[i], self.names.index(name)
        if row[j].words.says:
            return str(row[j].words.says)
        each = [step for step in row if is_copy(step)] if is_copy(row[j]) else [row[j]]
        phrases = [self.phrase(step, number, before=number).text for step in each]
        said = ", ".join(dict.fromkeys(phrases))
        if len(re.sub("<.*?>", "", said)) < LONG:
            return said
        before = dict.fromkeys(source for source, *_ in self.names_behind(row[j], number))
        return f"in several steps, of {', '.join(map(named, before))}"

    def phrase(self, step: Step, number: int, before: float = math.inf) -> Text:
        """Write a step with the names of arrays in place of their entries.

        The step itself is named only after an array that comes `before` the matrix of that number:
        two arrays would explain each other otherwise.
        """
        found = self.at.get(id(step), ())
        places = [place for place in found if place[0] != number and place[0] < before]
        if places:
            return Text(named(self.names[self.nearest(places, number)[0]]))
        if step.operation == "choose":
            return self.phrase(step.operands[0], number, before)
        if not step.operands:
            return atom(step)
        rule, arrays = step.words.rule, ""
        if step.words.label == "share":
            score = first_leaf(first_leaf(step))
            arrays = self.phrase(self.shown(look_through(score)), number).text
            rule = f"softmax of each row of {score.words.rule if score.words.says else '{0}'}"
        elif rule:
            behind = [*dict.fromkeys(named(n) for n, *_ in self.names_behind(step, number))]
            arrays = " and ".join(filter(None, [", ".join(behind[:-1]), *behind[-1:]]))
        if rule:
            return Text(rule.format(arrays), SUM)
        if step.operation == "dot":
            sides = [self.factor(step.operands[side::2], side, number) for side in (0, 1)]
            return Text(" times ".join(sides), PRODUCT)
        parts = [self.phrase(one, number) for one in step.operands]
        if step.operation in ("sum", "max"):
            parts = [*{part.text: part for part in parts}.values()]
            if len(parts) == 1 < len(step.operands):
                kind = {"sum": "sum", "max": "largest"}[step.operation]
                return Text(f"{kind} of {parts[0].text}", SUM)
        return formula(step, parts)

    def factor(self, operands: Sequence[Step], side: int, number: int) -> str:
        """Name the matrix of which a dot product takes a row or a column."""
        steps = [self.shown(one) for one in operands]
        places = self.resolved(steps, number)
        some = next((one for one in steps if one.operation != "constant"), steps[0])
        rows, columns = ({place[axis] for place in places if place} for axis in (1, 2))
        if not any(places) and all(one.operation == "dot" for one in steps):  # of a product
            within = [self.resolved([*map(self.shown, one.operands)], number) for one in steps]
            rows = {left[1] for left, *_ in within if left}
            columns = {right[2] for _, right, *_ in within if right}
        elif len(places) == 1 and places[0]:  # one number says nothing of its row or column
            columns, rows = map(set, map(range, self.known[self.names[places[0][0]]].values.shape))
        turned = len(columns) == 1 < len(rows) if side == 0 else len(rows) == 1 < len(columns)
        name = self.phrase(some, number).inside(ATOM)
        among = [{k for k, *_ in self.at.get(id(one), ()) if k != number} for one in steps]
        whole = sorted(set.intersection(*among))
        if whole and name not in {named(self.names[k]) for k in whole}:  # of one row of it
            name = named(self.names[whole[0]])
        return f"{name}{' transposed' * turned}"

    def shown(self, step: Step) -> Step:
        """Look through copies that the example does not list."""
        while step.operation == "choose" and id(step) not in self.listed:
            step = step.operands[0]
        return step

    # Where entries come from and go

    def nearest(self, places: Sequence[tuple[int, int, int]], number: int) -> tuple[int, int, int]:
        """Return of several places of a step the last before a matrix; else the first."""
        before = [place for place in places if place[0] < number]
        last = max((place[0] for place in before), default=None)
        return next((place for place in before if place[0] == last), places[0])

    def resolved(self, steps: Sequence[Step], number: int) -> list[tuple[int, int, int] | None]:
        """Return the place of each step; of equal ones, that in the row or column of the others."""
        choices = [[p for p in self.at.get(id(step), ()) if p[0] != number] for step in steps]
        first = next((every for every in choices if every), [])

        if all(len(every) <= 1 for every in choices):
            return [every[0] if every else None for every in choices]

        def along(axis: int, start: tuple[int, int, int]) -> list[tuple[int, int, int] | None]:
            found: list[tuple[int, int, int] | None] = []
            for every in choices:
                line = [p for p in every if p[0] == start[0] and p[axis] == start[axis]]
                line = [p for p in line if p not in found] or line
                other = self.nearest(every, number) if every else None
                found.append(line[0] if line else other)
            return found

        last = self.nearest(first, number)[0]
        lines = [along(axis, start) for start in first if start[0] == last for axis in (1, 2)]
        return max(lines, key=lambda found: len({p for p in found if p and p[0] == last}))

    def sources(self, step: Step, number: int) -> Set[tuple[int, int, int]]:
        """Return the entries that a step is made of, through the steps that are not listed."""
        key = id(step), number
        if key not in self.behind:
            found: set[tuple[int, int, int]] = set()
            size = 2 if step.operation == "dot" else 1
            for side in range(size):
                operands = [self.shown(one) for one in step.operands[side::size]]
                for one, place in zip(operands, self.resolved(operands, number), strict=True):
                    found |= {place} if place else set()
                    if not place or not self.known[self.names[place[0]]].given:
                        found |= self.sources(one, number)
            self.behind[key] = found
        return self.behind[key]

    def names_behind(self, step: Step, number: int) -> list[Entry]:
        """Return the entries that a step is made of, by name."""
        return [(self.names[k], i, j) for k, i, j in sorted(self.sources(step, number))]

    def origin(self, name: str, i: int, j: int) -> list[Entry]:
        """Return the entries that an entry is made of."""
        step, number = self.known[name].steps[i, j], self.names.index(name)
        if self.known[name].given in self.data["inputs"]:
            return []
        earlier = [place for place in self.at.get(id(step), ()) if place[0] < number]
        if earlier and step.operation == "input":
            k, *at = earlier[0]
            return [(self.names[k], at[0], at[1])]
        return self.names_behind(step, number)

    @cached_property
    def index(self) -> dict[Entry, set[Entry]]:
        """What each entry is used for."""
        found: dict[Entry, set[Entry]] = {}
        for name, matrix in self.known.items():
            for i, j in np.ndindex(matrix.values.shape):
                for source in self.origin(name, i, j):
                    found.setdefault(source, set()).add((name, i, j))
        return found

    def uses(self, name: str, i: int, j: int) -> list[Place]:
        """Return the rows, columns and entries that an entry is used for."""
        return self.short(self.index.get((name, i, j), set()))

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

    def document(self) -> dict[str, Any]:
        """Return all that a script needs, by matrix and entry.

        Of an entry: its number, the lines that make it, what they take, where it is used, and the
        head and foot of what is said. Hosts compress what is said again and again.
        """
        entries = {}
        for at, (name, matrix) in enumerate(self.known.items()):
            if matrix.values.dtype != bool:
                rows, columns = map(range, matrix.values.shape)
                entries[at] = [[self.entry(name, i, j) for j in columns] for i in rows]
        return {"names": self.names, "entries": entries}

    def entry(self, name: str, i: int, j: int) -> list[Any]:
        """Return all that is said about an entry."""
        matrix = self.known[name]
        value = short(matrix.values[i, j])
        lines = self.lines(name, i, j)
        uses = self.uses(name, i, j)
        words: list[str] = []
        if matrix.given and not self.is_flat(name):
            for axis, (noun, place) in enumerate((("column", j), ("row", i))):
                word = heads(matrix.given, self.data)[-1 - axis][place]
                if not word.isdigit():
                    words.insert(0, html.escape(word if " " in word else f"{noun} {word}"))
        entry = f"{named(name)}{self.index_of(name, i, j)} = {value}"
        title = f"<b>{entry}</b> <span>{', '.join(words)}</span>"
        told = [*map(self.place, uses)]
        if len(told) > 6:
            told = [*dict.fromkeys(named(self.names[use[0]]) for use in uses)]
        foot = [f"Used next: {'; '.join(told)}"] if told else []
        if any("≈" in line for line in lines):
            foot.append("≈: computed with all digits, shown rounded.")
        made_of = self.short(self.origin(name, i, j)) if lines else []
        if not lines and matrix.given:
            given = matrix.given in self.data["inputs"]
            group = self.data["inputs" if given else "expected"]
            text = html.escape(group[matrix.given]["description"])
            lines = ["Given. " * given + text]
        return [value, lines, made_of, uses, title, "<br>".join(foot)]

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

    def linked(self, name: str, i: int, j: int) -> str:
        """Write the index of an entry, with a link to it if the page lists it."""
        text = self.index_of(name, i, j)
        if not self.known[name].given:
            return text
        at = address(name, *([j] if self.is_flat(name) else [i, j]))
        return f'<a href="#{at}">{text}</a>'

    def is_flat(self, name: str) -> bool:
        """Tell whether an array has one axis."""
        entry = {**self.data["inputs"], **self.data["expected"]}.get(self.known[name].given)
        return entry is not None and not isinstance(entry["value"][0], list)

    def example_of(self, name: str) -> tuple[int, int]:
        """Return where the first entry stands that has most lines, in row 1 if there is one."""
        values = self.known[name].values
        i = min(1, len(values) - 1)
        lengths = [len(self.lines(name, i, j)) for j in range(values.shape[1])]
        return i, lengths.index(max(lengths))

    def steps(self) -> str:
        """Return a table of the steps, each with an entry worked out."""
        rows = []
        for name in self.made:
            matrix = self.known[name]
            # Of what is not listed, hidden keys are no part.
            shape = " × ".join(map(str, matrix.values.shape))
            shape = f' <span class="shape">{shape}</span>' if matrix.given else ""
            i, j = self.example_of(name)
            worked = "<br>".join([f"<b>{self.linked(name, i, j)}</b>", *self.lines(name, i, j)])
            part = f' data-of="{matrix.of}"' if matrix.of != name else ""
            rows.append(
                f'<tr{part}><th scope="row">{named(name)}{shape}</th>'
                f"<td>{self.rule(name)}</td><td>{worked}</td></tr>"
            )
        if not rows:
            return ""
        heads = ("Array", "Computed from", "One entry")
        head = "".join(f'<th scope="col">{one}</th>' for one in heads)
        return (
            '<div class="table"><table class="steps" aria-label="Step by step"><thead>'
            f"<tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        )


def unlisted(matrix: Matrix, listed: Set[int]) -> Iterator[Matrix]:
    """Yield the scores and the weights behind a matrix that the example does not list."""

    def entered(name: str, steps: list[list[Step]]) -> Iterator[Matrix]:
        if not any(id(step) in listed for row in steps for step in row):
            values = np.array([[float(step.value) for step in row] for row in steps])
            whole = f"{name} of {matrix.of}"
            yield Matrix(f"{name} of {matrix.name}", values, np.array(steps, dtype=object), whole)

    if all(step.words.label == "share" for step in matrix.steps.flat):
        scores = [
            [look_through(first_leaf(first_leaf(step))) for step in row] for row in matrix.steps
        ]
        if all(step.operands for row in scores for step in row):
            yield from entered("scores", scores)
    if all(look_through(step).operation == "dot" for step in matrix.steps.flat):
        weights = [[*look_through(row[0]).operands[::2]] for row in matrix.steps]
        shared = any(step.words.label == "share" for row in weights for step in row)
        if shared and len({len(row) for row in weights}) == 1:
            yield from entered("weights", weights)


@cache
def trace_of(name: str) -> Trace:
    """Return the trace of an example."""
    recording = recording_of(name)
    return Trace(documents(ROOT)[name], recording.inputs, recording.expected)


def is_traced(name: str, matrix: str) -> bool:
    """Tell whether something can be said of the entries of a matrix of an example."""
    known = trace_of(name).known
    return matrix in known and known[matrix].values.dtype != bool


def write(app: Sphinx) -> None:
    """Write the script of each example."""
    folder = Path(app.outdir, "_static", "traces")
    folder.mkdir(parents=True, exist_ok=True)
    for name in documents(ROOT):
        facts = json.dumps(trace_of(name).document(), ensure_ascii=False, separators=(",", ":"))
        (folder / f"{name}.js").write_text(f'bookTrace.take("{name}",{facts});\n', "utf-8")
