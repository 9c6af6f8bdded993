"""What a figure draws and what its caption says are held by assertions beside it.

Each array that is drawn has a name; with one array spoiled, an assertion fails. And an assertion
quotes the words that it holds: if the words change, or the numbers, one of them is red.

Labels of what is compared, such as curves, bars, points and matrices, are not written where they
are drawn: they are the keys of a dict of arrays, or the first words of tuples in a list that has
a name. Assertions look an array up by its label, so that one fails if two labels are exchanged. A
cell that plots may write them where it draws, and they are exchanged there. Nothing is asked of
labels whose order is that of the array (rows, columns, groups of bars, words of a live figure), nor
of those of axes and the titles of charts that are written one by one.
"""

import ast
import itertools
import traceback
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pytest

from book.figures import palette
from tests.pages.sources import Cell, cells, pages, relative

PAGES = [page for page in pages() if " name: fig-" in page.read_text("utf-8")]
# What draws no numbers.
DIAGRAMS = {
    "fig-gradients-forward-and-back": "arrows and formulas",
    "fig-architecture-modules": "what imports what",
    "fig-architecture-machine": "what imports what",
}
LOOKS = {*palette.TEXT, *palette.LINES, *palette.ROLES}
# To a number that stands alone, or repeats, 1 is added instead.
SPOILED = {
    "in reverse order": np.flip,
    "all equal to their mean": lambda a: np.full_like(a, a[np.isfinite(a)].mean()),
}
Lines = list[ast.stmt]
Names = dict[str, Any]


class Figure(NamedTuple):
    """A figure, with the lines of its cell and of the hidden cells beside it."""

    name: str
    before: Lines  # of the page, since the figure before
    lines: Lines
    drawn: set[str]  # names that the drawing uses
    nameless: list[str]  # what it computes by the way, and labels that it writes
    plots: bool  # in a visible cell
    ready: int  # how many of the lines have run by then


@pytest.fixture(autouse=True)
def own_style():
    """Keep the style that a page sets for its plots from other tests."""
    with plt.rc_context():
        yield


def figure_of(cell: Cell) -> str:
    return str(cell.options.get("mystnb", {}).get("figure", {}).get("name", ""))


def lines_of(some: Iterable[Cell]) -> Lines:
    """Return the lines that compute, without the last of a figure, which draws it."""
    kept = (cell for cell in some if "raises-exception" not in cell.tags)
    return [n for c in kept for n in ast.parse(c.code).body[: -1 if figure_of(c) else None]]


def figures(text: str) -> Iterator[Figure]:
    every, done = cells(text), 0
    ends = [*(cell.visible or bool(figure_of(cell)) for cell in every), True]
    for place, cell in enumerate(every):
        if figure_of(cell):
            first, drawing, ready = place, without_alt(ast.parse(cell.code).body[-1:]), place + 1
            nameless = [*computed(drawing), *(ast.unparse(one) for one in labels(drawing))]
            if plots := "plotted(" in cell.code:  # the visible cell before it draws
                first, ready = place - 1, place
                plot = lines_of([every[first]])
                drawing = [line for line in plot if isinstance(line, ast.Expr | ast.For)]
                nameless = []  # an assertion reads it from the axes
            while first > done and not ends[first - 1]:
                first -= 1
            last = ends.index(True, place + 1)
            yield Figure(
                figure_of(cell),
                lines_of(every[done:first]),
                lines_of(every[first:last]),
                set[str]().union(*map(used, drawing)),
                nameless,
                plots,
                len(lines_of(every[first:ready])),
            )
            done = first


def names_of(nodes: Iterable[ast.AST]) -> set[str]:
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def without_alt(lines: Lines) -> Lines:
    """Return lines of a page without descriptions of what they draw."""
    for line in lines:
        for word in ast.walk(line):
            if isinstance(word, ast.keyword) and word.arg == "alt":
                word.value = ast.Constant("")
    return lines


def is_stored(node: ast.AST) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Store)


def made(line: ast.stmt) -> set[str]:
    """Return the names to which a line gives a value, or a part of one."""
    if isinstance(line, ast.FunctionDef):
        return {line.name}
    nodes = [*ast.walk(line)]
    inside = (n for c in nodes if isinstance(c, ast.comprehension) for n in ast.walk(c.target))
    parts = [n.value for n in nodes if isinstance(n, ast.Subscript) and is_stored(n)]
    parts += [n.value for n in nodes if isinstance(n, ast.Attribute) and n.attr == "append"]
    return names_of(filter(is_stored, nodes)) - names_of(inside) | names_of(parts)


def used(line: ast.stmt) -> set[str]:
    """Return the names that a line takes from elsewhere."""
    nodes = [*ast.walk(line)]
    own = {n.arg for n in nodes if isinstance(n, ast.arg)}
    return names_of(nodes) - names_of(filter(is_stored, nodes)) - own


# What a drawing may call: what arranges names, and what draws.
ARRANGES = {
    "dict",
    "enumerate",
    "float",
    "list",
    "next",
    "str",
    "zip",
    "items",
    "replace",
    "values",
}


def computed(drawing: Lines) -> Iterator[str]:
    """Yield what a drawing computes by the way; with a name, it could be spoiled."""
    for line in drawing:
        for node in ast.walk(line):
            if isinstance(node, ast.BinOp) or isinstance(getattr(node, "op", None), ast.USub):
                if names_of(ast.walk(node)):
                    yield ast.unparse(node)
            elif isinstance(node, ast.Slice) and node.step:  # such as [::-1]
                yield ast.unparse(node)
            elif isinstance(node, ast.Call) and node is not getattr(line, "value", None):
                called = ast.unparse(node.func)
                if called.split(".")[-1] not in ARRANGES and not called.startswith("charts."):
                    yield ast.unparse(node)


def labels(lines: Lines) -> Iterator[list[ast.Constant]]:
    """Yield the labels that are written beside what they name, those of one drawing together."""
    nodes = [node for line in lines for node in ast.walk(line)]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    every: list[list[Any]] = [
        [word.value for call in calls for word in call.keywords if word.arg == "label"],
        *(node.keys for node in nodes if isinstance(node, ast.Dict)),
    ]
    for node in nodes:
        if isinstance(node, ast.List | ast.Tuple):
            tuples = [part.elts for part in node.elts if isinstance(part, ast.Tuple)]
            ends = [-1 if is_look(part[-1]) else None for part in tuples]
            every.append(
                [word for part, end in zip(tuples, ends, strict=True) for word in part[:end]]
            )
    for call in calls:
        if ast.unparse(call.func) == "zip":
            lists = [one.elts for one in call.args if isinstance(one, ast.List | ast.Tuple)]
            every += [some for some in lists if not any(map(is_look, some))]
    for some in every:
        ifs = [
            one for word in some if isinstance(word, ast.IfExp) for one in (word.body, word.orelse)
        ]
        texts = [one for one in [*some, *ifs] if isinstance(one, ast.Constant) and one.value]
        texts = [one for one in texts if isinstance(one.value, str)]
        if len(texts) > 1:
            yield texts


def is_look(node: ast.expr) -> bool:
    """Tell whether a word of a drawing is that of a color, maybe with dashes."""
    return isinstance(node, ast.Constant) and str(node.value).split(" ")[0] in LOOKS


def places(value: Any) -> list[tuple[Any, Any]]:
    """Return what there is in a collection that is no array, with the place of each."""
    if isinstance(value, dict):
        return [*value.items()]
    return [*enumerate(value)] if isinstance(value, list | tuple) else []


def parts(value: Any) -> list[Any]:
    return [part for _, part in places(value)]


def put(value: Any, new: dict[Any, Any]) -> Any:
    """Return a collection with other things at some places."""
    if isinstance(value, dict):
        return {**value, **new}
    inside = [new.get(place, part) for place, part in places(value)]
    return value._make(inside) if hasattr(value, "_make") else type(value)(inside)


def is_array(value: Any) -> bool:
    """Tell an array, a list of numbers, or a number, from all else."""
    if isinstance(value, np.ndarray):
        return value.size > 0 and value.dtype.kind in "bif"
    return not isinstance(value, dict) and all(
        isinstance(one, int | float | np.number) for one in parts(value) or [value]
    )


def has_array(value: Any) -> bool:
    return is_array(value) or any(map(has_array, parts(value)))


def spoiled(value: Any, way: str) -> Iterator[tuple[str, Any]]:
    """Yield the value as often as it has arrays, each time with one spoiled, and which it is."""
    if is_array(value):
        array = np.asarray(value)
        if np.allclose(array, array.flat[0], rtol=0.1):
            array = ~array if array.dtype == bool else array + 1
        else:
            array = SPOILED[way](array)
        yield "", array if isinstance(value, np.ndarray) else array.tolist()
    else:
        for place, part in places(value):
            for which, one in spoiled(part, way):
                yield f"[{place!r}]{which}", put(value, {place: one})


def alike(one: Any, other: Any) -> bool:
    """Tell whether all arrays in two collections are the same."""
    if is_array(one) and is_array(other):
        return np.shape(one) == np.shape(other) and np.allclose(one, other, equal_nan=True)
    return len(parts(one)) == len(parts(other)) and all(map(alike, parts(one), parts(other)))


def exchanged(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the value as often as it has two labels, each time with them exchanged, and which."""
    if is_array(value):
        return
    for (a, one), (b, other) in itertools.combinations(places(value), 2):
        if alike(one, other):
            continue
        if isinstance(value, dict) and has_array(one) and has_array(other):
            yield f"[{a!r}] as [{b!r}]", put(value, {a: other, b: one})
        tuples = all(isinstance(part, tuple) and isinstance(part[0], str) for part in (one, other))
        if tuples and one[0] != other[0]:
            new = {a: put(one, {0: other[0]}), b: put(other, {0: one[0]})}
            yield f" with {one[0]!r} as {other[0]!r}", put(value, new)
    for place, part in places(value):
        for which, new in exchanged(part):
            yield f"[{place!r}]{which}", put(value, {place: new})


def run(line: ast.stmt, names: Names) -> None:
    exec(compile(ast.Module([line], []), "page", "exec"), names)


def fails(lines: Lines, names: Names, any_error: bool = False) -> bool:
    """Tell whether an assertion of the page fails; other errors count only if they are to."""
    for line in lines:
        try:
            run(line, names)
        except Exception as error:
            *_, raised = traceback.extract_tb(error.__traceback__)
            if any_error or (isinstance(error, AssertionError) and raised.filename == "page"):
                return True
    return False


def tried(figure: Figure, names: Names) -> dict[str, bool]:
    """Return the names of arrays that a figure draws, and whether spoiling one is noticed."""
    states = [dict(names)]
    for line in figure.lines:
        run(line, names)
        states.append(dict(names))

    def fail_with(after: int, any_error: bool = False, **changed: Any) -> bool:
        for axes in plt.gcf().axes if plt.get_fignums() else ():
            axes.clear()
        names.clear()
        names.update(states[after], **changed)
        return fails(figure.lines[after:], names, any_error)

    found: dict[str, bool] = {}
    for some in labels(figure.lines[: figure.ready]) if figure.plots else ():
        for one, other in itertools.combinations(some, 2):
            which = f"the plot with {one.value!r} as {other.value!r}"
            one.value, other.value = other.value, one.value
            found[which] = fail_with(0, any_error=True)
            one.value, other.value = other.value, one.value
    steady, ask = set[int](), sorted(figure.drawn)
    for name in ask:
        makers = [n for n in range(figure.ready) if name in made(figure.lines[n])]
        after = makers[-1] + 1 if makers else 0
        value = states[after].get(name)
        if has_array(value):
            again = after in steady or not all(fail_with(after) for _ in range(3))  # a measure errs
            assert again, f"{figure.name} cannot be run again"
            steady.add(after)
            for way in SPOILED:
                for which, one in spoiled(value, way):
                    if not found.get(name + which):
                        found[name + which] = fail_with(after, **{name: one})
            for which, one in exchanged(value):
                found[name + which] = fail_with(after, any_error=True, **{name: one})
        elif makers and not callable(value):  # such as a Sheet
            made_by = without_alt(figure.lines[after - 1 : after])
            ask += sorted(used(*made_by) - {*ask})
    plt.close("all")
    names.clear()
    names.update(states[0])
    return found


def figures_of(text: str) -> Iterator[tuple[Figure, dict[str, bool]]]:
    """Run a page; yield its figures, and which of their arrays their assertions notice."""
    names: Names = {"__name__": "__main__"}
    for figure in figures(text):
        with warnings.catch_warnings(action="ignore"):
            for line in figure.before:
                run(line, names)
            found = tried(figure, names)
        yield figure, found


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_an_assertion_fails_if_an_array_that_is_drawn_is_spoiled(page):
    for figure, found in figures_of(page.read_text("utf-8")):
        assert figure.name in DIAGRAMS or not figure.nameless, f"{figure.name} computes as it draws"
        missed = [name for name, noticed in found.items() if not noticed]
        assert not missed, f"{figure.name}: no assertion fails with {' or '.join(missed)} spoiled"
        assert bool(found) != (figure.name in DIAGRAMS), f"{figure.name}: what it draws has no name"


def test_what_draws_no_numbers_is_there():
    text = "".join(page.read_text("utf-8") for page in PAGES)
    assert all(f" name: {name}\n" in text for name in DIAGRAMS)


@pytest.mark.parametrize(
    "drawing, found",
    [
        ("charts.charts(list(rise))", []),
        ("draw(-rise)", ["-rise"]),
        ("draw(f(rise))", ["f(rise)"]),
        ("draw(rise[::-1])", ["::-1"]),
    ],
)
def test_what_a_drawing_computes_is_found(drawing, found):
    assert [*computed(ast.parse(drawing).body)] == found


@pytest.mark.parametrize(
    "drawing, found",
    [
        ("charts.charts([*zip(curves, curves.values(), ('ink', 'soft'))])", []),
        ("charts.charts([('up', rise, 'ink')])", []),
        ("charts.charts([(f'{name}', y, 'ink') for name, y in curves.items()])", []),
        ("charts.charts([('up', rise, 'ink'), ('score', fall, 'ink')])", [["up", "score"]]),
        ("charts.charts([(1, 'one'), (2, 'two')])", [["one", "two"]]),
        ("charts.charts(zip(('up', 'down'), both))", [["up", "down"]]),
        ("charts.charts({'up': rise, 'down': fall})", [["up", "down"]]),
        ("plot(rise, label='up')\nplot(fall, label='down')", [["up", "down"]]),
    ],
)
def test_labels_that_a_drawing_writes_are_found(drawing, found):
    assert [[one.value for one in some] for some in labels(ast.parse(drawing).body)] == found


@pytest.mark.parametrize(
    "curves",
    ["{'up': rise, 'down': fall}", "[('up', rise, 'ink'), ('down', fall, 'ink')]"],
)
@pytest.mark.parametrize(
    "claim, noticed",
    [("of['up'][-1] > of['up'][0]", True), ("set(of) == {'up', 'down'}", False)],
)
def test_labels_that_are_exchanged_are_noticed(curves, claim, noticed):
    page = """
```{code-cell} python
---
mystnb:
  figure:
    name: fig-rise
---
rise, fall = [1, 2, 3], [3, 1, 0]
curves = CURVES
of = curves if isinstance(curves, dict) else {name: y for name, y, _ in curves}
assert CLAIM
charts.charts(curves)
```
"""
    ((_, found),) = figures_of(page.replace("CURVES", curves).replace("CLAIM", claim))
    (exchanged,) = (seen for name, seen in found.items() if " as " in name)
    assert exchanged == noticed
