"""What a drawing shows is what it was given: read back from the picture, in numbers of the data.

Each function of `book/figures/` that draws is given numbers of which no two are exchanged unseen.
`@case` says in which module it is, and what is to be read from its drawing, in each layout.
`BREAKS` changes the module: mirrored, exchanged, shifted by one, on the wrong axis. Each is read.

Not read here: the figures that answer back, which `tests/site/test_live.py` compares with their
scripts, and `Canvas.walks`, which `test_figures.py` reads.
"""

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from book.figures.sheet import Sheet
from selfattn_ref.worked_examples import load
from tests.pages.pictures import Picture, apart, layouts, near, numeral
from tests.pages.sources import ROOT

ALT = "What is read back from the picture has to be what the function was given."
ROWS, COLUMNS = ["ann", "bob"], ["cat", "dog", "eel"]
CASES: dict[str, Any] = {}


def case(name, module, given, draw):
    """Note a case: what reads the drawing that `draw` makes with the module has to find `given`."""

    def noted(reader):
        CASES[name] = module, given, draw, reader
        return reader

    return noted


# Matrices

MATRICES = {
    "first": np.array([[0.1, 0.2, 0.7], [0.5, 0.3, 0.25]]),
    "second": np.array([[4, -1, 2], [3, 0.5, -6]]),
}
ENTRIES = {
    (title, ROWS[i], COLUMNS[j]): float(value)
    for title, matrix in MATRICES.items()
    for (i, j), value in np.ndenumerate(matrix)
}


@case(
    "heatmaps",
    "charts",
    (
        ENTRIES,
        {(title, *at) for title in MATRICES for at in (("ann", "eel"), ("bob", "cat"))},
        {t: sorted((k for k in ENTRIES if k[0] == t), key=ENTRIES.get) for t in MATRICES},
    ),
    lambda m: m.heatmaps(
        [("first", MATRICES["first"], "weight"), ("second", MATRICES["second"], "score")],
        rows=ROWS, columns=COLUMNS, framed=[(0, 2), (1, 0)], digits=(2, 1), alt=ALT,
    ),
)  # fmt: skip
def read_heatmaps(seen):
    def key(at):
        return seen.panel(at, MATRICES), seen.before(at, ROWS, 1), seen.before(at, COLUMNS, 0)

    entries = {key(one.middle): v for one in seen.texts if (v := numeral(one.text)) is not None}
    frames = {key(line.mean(axis=0)) for line in seen.paths("ink")}
    shade = {}
    for node, start, end in seen.boxes():
        below = "negative" in node.get("class")
        shade[key((start + end) / 2)] = float(node.get("fill-opacity", 1)) * (-1 if below else 1)
    order = {t: sorted((k for k in shade if k[0] == t), key=shade.__getitem__) for t in MATRICES}
    return entries, frames, order


MASK = np.array([[True, False, True], [False, False, True]])


@case(
    "mask", "charts",
    [
        {("ann", "cat"), ("ann", "eel"), ("bob", "eel")},
        {("ann", "dog"), ("bob", "cat"), ("bob", "dog")},
    ],
    lambda m: m.heatmaps([("", MASK, "weight")], rows=ROWS, columns=COLUMNS, alt=ALT),
)  # fmt: skip
def read_mask(seen):
    crosses = [line.mean(axis=0) for line in seen.paths("soft thin")]
    every = (seen.dots("ink"), crosses)
    return [
        {(seen.before(at, ROWS, 1), seen.before(at, COLUMNS, 0)) for at in some} for some in every
    ]


# The plane and curves


@case(
    "plane", "charts",
    {
        "key": [1, 0.5], "query": [2.5, 2], "value": [(0, 0), (2, 1)],
        "context": [(0.5, 1), (1, 2.5)],
        "dashed": [[3, 0.5], [2.5, 1]], "names": ["key", "query", "value", "context"], "axes": True,
    },
    lambda m: m.plane(
        [("dot", (1, 0.5), "key"), ("spot", (2.5, 2), "query")],
        vectors=[("arrow", (2, 1), "value")], moves=[((0.5, 1), (1, 2.5), "move", "context")],
        segments=[((3, 0.5), (2.5, 1))], limits=(0, 3, 0, 3),
        x_label="money", y_label="water", alt=ALT,
    ),
)  # fmt: skip
def read_plane(seen):
    data = seen.data()
    ends = {look: seen.dots(look)[0] for look in ("key", "query")}
    found = {look: data(at) for look, at in ends.items()}
    for look in ("value", "context"):
        ((start, ends[look]),) = seen.arrows(look)
        found[look] = [tuple(data(start)), tuple(data(ends[look]))]
    names = []
    for name in ("dot", "spot", "arrow", "move"):
        one = seen.at[name]
        look = min(ends, key=lambda look, one=one: apart(one.middle, ends[look]))
        names.append(look if look == one.look else f"{look}, in the color of {one.look}")
    (dashed,) = seen.paths("soft thin dashed")
    axes = seen.at["money →"].y > 300 > seen.at["water ↑"].y
    return found | {"dashed": data(dashed), "names": names, "axes": axes}


X = np.linspace(0, 4, 9)
CURVES = {
    ("left", "up", "ink"): X / 4,
    ("left", "down", "ink dashed"): 0.75 - X / 8,
    ("left", "bend", "soft"): (X - 1) ** 2 / 9,
    ("left", "level", "soft dashed"): np.full(9, 0.9),
    ("right", "other", "score"): 8 - X,
}


@case(
    "charts", "charts",
    (
        {key: np.round(y, 1).tolist() for key, y in CURVES.items()},
        ([[3.5, 1], [3.5, 0]], True), ["left", "right"],
    ),
    lambda m: m.charts(
        m.Chart(
            X, [(name, y, look) for (_, name, look), y in [*CURVES.items()][:3]], "left",
            y_label="height", levels=[(0.9, "level")], marks=[(3.5, "mark")],
        ),
        m.Chart(X, [("other", 8 - X, "score")], "right", y_label="depth", y_limits=(-2, 9)),
        x_label="time", alt=ALT,
    ),
)  # fmt: skip
def read_charts(seen):
    titles, found = ("left", "right"), {}
    lines = {look: line for look, line in seen.lines() if look in {look for _, _, look in CURVES}}
    data = {t: seen.data(lambda at, t=t: seen.panel(at, titles) == t) for t in titles}
    dense = {look: np.concatenate([*map(np.linspace, a[:-1], a[1:])]) for look, a in lines.items()}
    for _, name, _ in CURVES:  # the line that is nearest to each name
        one = seen.at[name]
        look = min(dense, key=lambda look, one=one: np.hypot(*(dense[look] - one.middle).T).min())
        title = seen.panel(lines[look].mean(axis=0), titles)
        assert one.look == look.split()[0], f"{name} has another color than its line"
        found[title, name, look] = near(np.interp(X, *np.transpose(data[title](lines[look]))), 1)
    (line,), note = seen.paths("soft thin dotted"), seen.at["mark"]
    mark = data["left"](line), 0 < note.left - line[0, 0] < 9
    return found, mark, [seen.panel(seen.at[f"{y} ↑"].middle, titles) for y in ("height", "depth")]


@case(
    "points", "charts",
    ([[1, 1], [4, 4], [16, 2]], [[[1, 0.5], [1, 1.5]], [[4, 3], [4, 5]]]),
    lambda m: m.charts(
        m.Chart(
            [1, 4, 16], points=[("", np.array([1.0, 4, 2]), np.array([0.5, 1, 0]), "score")],
            x_ticks=(1, 4, 16),
        ),
        log_x=True, alt=ALT,
    ),
)  # fmt: skip
def read_points(seen):
    data = seen.data(log_x=True)
    return tuple(
        near([data(at) for at in some], 1) for some in (seen.dots("score"), seen.paths("score"))
    )


PLOTTED = {
    "up": ("ink", [[1, 10], [2, 20], [3, 40]]),
    "down": ("ink dashed", [[1, 40], [2, 30], [3, 15]]),
}


def draw_plot(m):
    plt.style.use("selfattn_ref.book")
    for name, (_, points) in PLOTTED.items():
        plt.plot(*np.transpose(points), label=name)
    plt.gca().set(xticks=[1, 2, 3], yticks=[10, 20, 30, 40])
    plt.legend(loc="center right")
    return m.plotted(alt=ALT)


@case("plot", "plots", PLOTTED, draw_plot)
def read_plot(seen):
    ticks = [(one.middle, v) for one in seen.texts if (v := numeral(one.text)) is not None]
    x = np.polyfit(*np.transpose([(at[0], v) for at, v in ticks if v < 9]), 1)
    y = np.polyfit(*np.transpose([(at[1], v) for at, v in ticks if v > 9]), 1)
    found = {}
    for look in ("ink", "ink dashed"):
        curve, sample = sorted(seen.paths(look), key=len, reverse=True)[:2]
        name = min(("up", "down"), key=lambda name, y=sample[0, 1]: abs(seen.at[name].y - y))
        found[name] = (
            look,
            near(np.stack([np.polyval(x, curve[:, 0]), np.polyval(y, curve[:, 1])], -1), 0),
        )
    return found


BARS = {("ann", "cat"): 0.5, ("ann", "dog"): -0.25, ("bob", "cat"): 1.0, ("bob", "dog"): 0.75}


@case(
    "bars", "charts",
    ({key: (v, v) for key, v in BARS.items()}, {"goal": 0.8, "par": 0.6}),
    lambda m: m.bars(
        ROWS, [(n, [BARS[r, n] for r in ROWS], s) for n, s in (("cat", "key"), ("dog", "soft"))],
        x_label="x", levels=[(0.8, "goal", "ink"), (0.6, "par", "soft")], alt=ALT,
    ),
)  # fmt: skip
def read_bars(seen):
    zero, found = seen.paths("axis")[0][0, 0], {}
    unit = max(end[0] for _, _, end in seen.boxes()) - zero  # the longest bar is 1
    for node, start, end in seen.boxes():
        middle = (start + end) / 2
        group = max(
            (seen.at[row] for row in ROWS if seen.at[row].y < middle[1] + 1), key=lambda one: one.y
        )
        in_row = [one for one in seen.texts if abs(one.y - middle[1]) < 1 and one.text not in ROWS]
        (name,) = (one.text for one in in_row if one.text in COLUMNS)
        (said,) = (v for one in in_row if (v := numeral(one.text)) is not None)
        assert node.get("class") == {"cat": "key fill", "dog": "soft fill"}[name]
        long = (end[0] if start[0] > zero - 1 else start[0]) - zero
        found[group.text, name] = said, near(long / unit)
    levels = {name: seen.paths(f"{seen.at[name].look} dashed")[0][0, 0] for name in ("goal", "par")}
    return found, {name: near((x - zero) / unit) for name, x in levels.items()}


# What is linked with what

LEVELS = ["low", "mid", "top"]
LINKS = [(1, 0, 0, "soft"), (1, 2, 1, "ink"), (2, 1, 1, "ink"), (2, 2, 0, "ink thin")]


@case("network", "charts", LINKS, lambda m: m.network(COLUMNS, LEVELS, LINKS, alt=ALT))
def read_network(seen):
    found = []
    for look, line in seen.lines():
        (read, low), (reader, high) = sorted(line.tolist(), key=lambda at: -at[1])
        places = [
            min(range(3), key=lambda k, x=x: abs(seen.at[COLUMNS[k]].x - x)) for x in (reader, read)
        ]
        level, under = (
            next(k for k, name in enumerate(LEVELS) if abs(seen.at[name].y - y) < 1)
            for y in (high, low)
        )
        assert under == level - 1
        found.append((level, *places, look))
    return sorted(found)


NEEDS = [("one", "base"), ("one", "sand"), ("other", "sand"), ("roof", "base"), ("roof", "other")]


@case(
    "layers", "charts", NEEDS,
    lambda m: m.layers([["base", "sand"], ["one", "other"], ["roof"]], NEEDS, alt=ALT),
)  # fmt: skip
def read_layers(seen):
    ends = [(line[0] - [0, 12], line[-1] + [0, 12]) for line in seen.paths("axis")]
    found = [tuple(seen.nearest(at, seen.at) for at in pair) for pair in ends]
    exact = {name: seen.at[name].middle for name in seen.at}
    assert all(apart(exact[seen.nearest(at, exact)], at) < 1 for pair in ends for at in pair)
    return sorted(found)


SHARES = np.array([[0.5, 0.375, 0.125], [0.25, 0.0625, 0.6875], [0.1875, 0.75, 0.0625]])
WHO = {(COLUMNS[i], COLUMNS[j]): float(share) for (i, j), share in np.ndenumerate(SHARES)}


@case(
    "flows", "charts",
    (
        {pair: (near(v), "weight" if pair[0] == "dog" else "faint") for pair, v in WHO.items()},
        {"cat": "0.250", "dog": "0.062", "eel": "0.688"}, ["dog"], True,
    ),
    lambda m: m.flows(SHARES, COLUMNS, row=1, taker_title="takes", giver_title="gives", alt=ALT),
)  # fmt: skip
def read_flows(seen):
    sides = [
        [one for one in seen.texts if one.text in COLUMNS and one.anchor == a]
        for a in ("end", "start")
    ]
    found = {}
    for look in ("weight", "faint"):
        for *ends, wide in seen.ribbons(f"{look} wash"):
            pair = [
                min(side, key=lambda one, at=at: abs(one.y - at[1])).text
                for side, at in zip(sides, ends, strict=True)
            ]
            found[tuple(pair)] = near(wide / 40), look
    said = [one for one in seen.texts if one.look == "weight"]
    shares = {name.text: one.text for name in sides[1] for one in said if one.y == name.y}
    stands_out = [one.text for one in sides[0] if one.look == "query"]
    return found, shares, stands_out, seen.at["takes"].right < seen.at["gives"].left


@case(
    "machine", "machine",
    (
        {"cat": "(1, 2)", "dog": "(3, 4)", "eel": "(5, 6)", "?": "eel"},
        {pair: near(v) for pair, v in WHO.items() if pair[0] >= pair[1]},
    ),
    lambda m: m.machine(COLUMNS, np.arange(1, 7).reshape(3, 2), np.tril(SHARES), alt=ALT),
)  # fmt: skip
def read_machine(seen):
    def lane(x):
        return min(COLUMNS, key=lambda name: abs(seen.at[name].x - x))

    rows = {lane(one.x): one.text for one in seen.texts if one.text.startswith("(")}
    found = {}
    for start, end, wide in seen.ribbons("weight wash", down=True):
        assert start[1] < end[1]
        found[lane(end[0]), lane(start[0])] = near(wide / 30)
    return rows | {"?": lane(seen.at["?"].x)}, found


READS = {"own": [0, 1, 2, 3], "pairs": [0, 0, 0, 1], "one": [0, 0, 0, 0]}


@case("shared heads", "shared_heads", READS, lambda m: m.shared_heads(READS, alt=ALT))
def read_shared_heads(seen):
    def panel(x):
        return min(READS, key=lambda name: abs(seen.at[name].x - x))

    keys, values = (sorted(at[0] for at in seen.dots(look)) for look in ("key", "value"))
    assert np.allclose(np.subtract(values, keys), 12)
    assert seen.at["query heads"].y < seen.dots("query")[0][1] + 1 < seen.at["key/value heads"].y
    found = {name: [] for name in READS}
    for (x, _), (end, _) in sorted(line.tolist() for line in seen.paths("ink thin")):
        shared = [key + 6 for key in keys if panel(key) == panel(x)]
        found[panel(x)].append(
            min(range(len(shared)), key=lambda k, s=shared, end=end: abs(s[k] - end))
        )
    return found


STRIPS = {
    "bank": ("query", [[1.0, -2.0]], [[2.5, -1.0]]),
    "river": ("key", [[0.5, 1.5], [-1.5, 3.0]], [[-2.0, 0.25], [2.0, -3.0]]),
}  # fmt: skip


@case(
    "strips", "strips",
    {
        (f"head {h}", row): ([one[h] for one in before], [one[h] for one in after], role == "query")
        for h in (0, 1)
        for row, (role, before, after) in STRIPS.items()
    } | {"reeds": -2.0, "coins": -3.0, "legend": {"before training": True, "after": False}},
    lambda m: m.strips(
        [m.Strip(n, role, np.array(b), np.array(a)) for n, (role, b, a) in STRIPS.items()],
        [(1, -2.0, "reeds"), (1, -3.0, "coins")], 4, alt=ALT,
    ),
)  # fmt: skip
def read_strips(seen):
    one, other = seen.at["head 0"], seen.at["head 1"]
    found = {}

    def head(at):
        if one.y == other.y:
            return min((one, other), key=lambda title: abs(title.x - at[0])).text
        return (other if at[1] > other.y else one).text

    for name, which in (("head 0", "reeds"), ("head 1", "coins")):
        data = seen.data(lambda at, name=name: head(at) == name)
        for row, (role, _, _) in STRIPS.items():
            y = min(t.y for t in seen.texts if t.text == row and t.y > seen.at[name].y)
            before, after = (
                [data(at)[0] for at in seen.dots(look) if head(at) == name and abs(at[1] - y) < 1]
                for look in (f"{role} ring pale", role)
            )
            lines = [data(line) for line in seen.paths(role) if head(line[1]) == name]
            found[name, row] = before, after, [end[0] for _, end in lines] == after
        dots = [at for at in seen.dots("key") if head(at) == name]
        found[which] = data(
            min(dots, key=lambda at, which=which: apart(at, seen.at[which].middle))
        )[0]
    names = ("before training", "after")
    ringed = {seen.nearest(at, names) for at in seen.dots("soft ring pale")}
    found["legend"] = {name: name in ringed for name in names}
    return found


# Matrices that move the plane

SHEAR = np.array([[1.0, 0.5], [-0.5, 1.5]])
TIPS = {"before": ("a", (1, 2), "query"), "after": ("b", (2, 0.5), "key")}


@case(
    "grids", "charts",
    {
        title: (
            near(np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) @ matrix),
            [[0, 0], near(TIPS[title][1])],
            {near(np.arctan2(y, x), 1) for x, y in matrix}, True,
        )
        for title, matrix in (("before", np.eye(2)), ("after", SHEAR))
    },
    lambda m: m.grids(
        [("before", np.eye(2), [TIPS["before"]]), ("after", SHEAR, [TIPS["after"]])],
        limits=(-1, 3, -1, 3), alt=ALT,
    ),
)  # fmt: skip
def read_grids(seen):
    squares, found = seen.paths("faint fill wash"), {}
    unit = squares[0][1, 0] - squares[0][0, 0]
    for square, (title, (name, _, look)) in zip(squares, TIPS.items(), strict=True):
        ((start, tip),) = seen.arrows(look)
        slopes = set()
        for line in seen.paths("grid"):
            x, y = (line[1] - line[0]) * [1, -1]
            if seen.panel(line.mean(axis=0), TIPS) == title and np.hypot(x, y) > unit:
                slopes.add(near(np.arctan2(y, x) % np.pi, 1))
        corners, arrow = (
            near((np.array(p) - square[0]) / unit * [1, -1]) for p in (square, [start, tip])
        )
        found[title] = corners, arrow, slopes, apart(seen.at[name].middle, tip) < 25
    return found


KEYS = {"close": (0.5, 2.0), "far": (2.5, 0.5)}


@case(
    "levels", "charts",
    (
        [2, 1], {name: list(at) for name, at in KEYS.items()},
        {"−1": [-1, -1], "0": [0, 0], "2": [2, 2], "4": [4, 4]},
    ),
    lambda m: m.levels(
        [("", np.array([2.0, 1.0]), [*KEYS.items()], (-1, 0, 2, 4))],
        limits=[(-1, 4, -1, 3)], query_name="query", alt=ALT,
    ),
)  # fmt: skip
def read_levels(seen):
    ((origin, tip),) = seen.arrows("query")
    unit = apart(tip, origin) / np.hypot(2, 1)

    def data(at):
        return (np.asarray(at) - origin) / unit * [1, -1]

    dots = seen.dots("key")
    keys = {
        n: near(data(min(dots, key=lambda at, n=n: apart(at, seen.at[n].middle)))) for n in KEYS
    }
    found, numerals = {}, [one for one in seen.texts if numeral(one.text) is not None]
    for look, line in seen.lines():
        if look in ("score thin", "soft thin", "negative thin dashed"):
            name = min(
                numerals, key=lambda one, line=line: min(apart(one.middle, end) for end in line)
            )
            assert name.look == look.split()[0]
            found[name.text] = near(data(line) @ [2, 1], 1)
    return near(data(tip)), keys, found


WAYS = {
    ("X", "Q"): "WQ", ("X", "K"): "WK", ("X", "V"): "WV", ("Q", "S"): "", ("K", "S"): "QKT/√dk",
    ("S", "A"): "softmax", ("A", "C"): "AV", ("V", "C"): "", ("C", "loss"): "", ("loss", "dC"): "",
    ("dC", "dV"): "ATdC", ("dC", "dA"): "dCVT", ("dA", "dS"): "A·(dA−average)",
    ("dS", "dQ"): "dSK/√dk", ("dS", "dK"): "dSTQ/√dk", ("dQ", "dX, dW"): "",
    ("dK", "dX, dW"): "", ("dV", "dX, dW"): "",
}  # fmt: skip
LOOKS = {"Q": "query", "K": "key", "V": "value", "S": "score", "A": "weight", "C": "context"}


@case("forward and back", "backward", (WAYS, LOOKS), lambda m: m.forward_and_back(alt=ALT))
def read_backward(seen):
    names = {one.text: one for one in seen.texts if one.bold}
    arrows = [
        [min(names, key=lambda n, at=at: apart(names[n].middle, at)) for at in way]
        for way in seen.arrows("ink thin")
    ]
    ways = {tuple(way): "" for way in arrows}
    middles = {(a, b): (names[a].middle + names[b].middle) / 2 for a, b in ways}
    formulas = []  # of pieces, one right after the other
    for one in (one for one in seen.texts if one.look == "soft"):
        last = formulas[-1][-1] if formulas else one
        if last is not one and 0 <= one.left - last.right < 6 and abs(one.y - last.y) < 12:
            formulas[-1].append(one)
        else:
            formulas.append([one])
    for pieces in formulas:
        ends = pieces[0].middle, pieces[-1].middle
        way = min(middles, key=lambda w, ends=ends: min(apart(middles[w], at) for at in ends))
        ways[way] += "".join(one.text for one in pieces).replace(" ", "")
    return ways, {name: names[name].look for name in LOOKS}


# What is written as a page, and not as a picture


def table(whole):
    return [["".join(cell.itertext()) for cell in row] for row in whole.iter("tr")]


SAID = "Squared paper, money to the right and water upward: coin at 1.50, 0.25"


@case(
    "handout", "handouts",
    [
        (
            {"coin": [1.5, 0.25, "value"]} | drawn, ["money →"], ["water →"], said,
            [["", "score", "weight"], ["ann", "1", one], ["bob", "2", other]],
        )
        for drawn, said, one, other in (
            ({}, f"{SAID}.", "to fill in", "to fill in"),
            ({"bank": [0.5, 1.75, "context"]}, f"{SAID}; bank at 0.50, 1.75.", "0.25", "0.75"),
        )
    ],
    lambda m: m.Handout("Title", "Source.", m.Step(
        "Do it.", ("", "score", "weight"),
        [("ann", *m.given([1]), *m.blanks([0.25])), ("bob", *m.given([2]), *m.blanks([0.75]))],
        m.Plane("money", "water", [("coin", 1.5, 0.25)], [("bank", 0.5, 1.75)]),
    )),
)  # fmt: skip
def read_handout(drawn):
    return [read_sheet(ET.fromstring(drawn.sheet(solved))) for solved in (False, True)]


def read_sheet(sheet):
    svg = sheet.find(".//svg")
    lines = "".join(path.get("d") for path in svg.iter("path"))
    x, y = (
        sorted({float(n) for n in re.findall(rf"M{at}", lines)})
        for at in (r"(\S+) \S+?V", r"\S+ (\S+?)H")
    )
    names = [t for t in svg.iter("text") if not {"transform", "text-anchor"} & {*t.attrib}]
    points = {}
    for dot in svg.iter("circle"):
        at = float(dot.get("cx")), float(dot.get("cy"))
        name = min(names, key=lambda t, at=at: apart(at, (float(t.get("x")), float(t.get("y")))))
        scaled = 2 * (at[0] - x[0]) / (x[-1] - x[0]), 2 * (y[-1] - at[1]) / (y[-1] - y[0])
        points[name.text] = [*near(scaled), dot.get("class")]
    right = [t.text for t in svg.iter("text") if t.get("text-anchor")]
    upward = [t.text for t in svg.iter("text") if "rotate(-90)" in t.get("transform", "")]
    return points, right, upward, svg.get("aria-label"), table(sheet)


@case(
    "own sentence", "own",
    (
        [["word", "money", "water", "score", "weight"], ["Coin", "0", "0", "0", "0.01"],
         ["bank", "1", "2", "5", "0.88"], ["river", "3", "0", "3", "0.12"]],  # of e⁰, e⁵ and e³
        ["bank, 0.88"],
    ),
    lambda m: m.own_sentence(
        "Coin bank river", {"coin": (0, 0), "bank": (1, 2), "river": (3, 0)}, "bank"
    ),
)  # fmt: skip
def read_own(drawn):
    whole = re.search("<table>.*</table>", drawn.data)[0]
    return table(ET.fromstring(whole)), re.findall(r"listens most to (.*?)\. ", drawn.data)


Q, K = np.array([[1, 0], [0, 2]]), np.array([[0, 0], [60, 0], [0, 60]])
V = np.array([[1, 2], [3, 4], [5, 6]])
HERE = {"query": Q, "key": K, "value": V}


@case(
    "sheet", "sheet",
    {  # a score of 30 beside 0 is all
        "query": ("Q", [], ROWS, Q.tolist(), "0,1"),
        "key": ("Kᵀ", COLUMNS, [], K.T.tolist(), "1,0"),
        "scores": ("scores", [], ROWS, [[0, 30, 0], [0, 0, 60]], "0,1"),
        "weights": ("weights", COLUMNS, ROWS, [[0, 1, 0], [0, 0, 1]], "0,1"),
        "value": ("V", [], COLUMNS, V.tolist(), "0,1"),
        "output": ("output", ["wet", "dry"], ROWS, [[3, 4], [5, 6]], "0,1"),
    },
    lambda m: m.Sheet("SA", HERE, "", ROWS, COLUMNS, (), ["wet", "dry"], options={"scale": 0.5}),
)  # fmt: skip
def read_tables(drawn):
    found = {}
    for one in map(ET.fromstring, re.findall(r"<table.*?</table>", drawn.html)):
        heads = [
            ["".join(h.itertext()) for h in one.iter("th") if h.get("scope") == s]
            for s in ("col", "row")
        ]
        cells = [[td for td in row if td.get("data-at")] for row in one.find("tbody")]
        entries = [[numeral(td.text) for td in row] for row in cells]
        found[one.get("data-matrix")] = (
            one.find("caption").text,
            *heads,
            entries,
            cells[0][1].get("data-at"),
        )
    return found


OF_HEADS = ("w_query", "w_key", "w_value", "w_output")


@case(
    "heads", "sheet", ["head 0", "1", "3", "head 1", "2", "4"],
    lambda m: m.Heads(m.of_heads(
        "SA", np.eye(2), dict.fromkeys(OF_HEADS, np.array([[1, 2], [3, 4]])),
        dict.fromkeys(OF_HEADS, 2), title="", rows=ROWS, columns=ROWS,
    ), "at"),
)  # fmt: skip
def read_heads(drawn):
    found = re.findall(r'<summary>(.*?)</summary>|data-array="query" [^>]*>(.*?)</td>', drawn.html)
    return ["".join(one) for one in found]


@case(
    "poster", "poster",
    (
        {
            "Q": ("query", "what a word looks for"), "K": ("key", "what it is found by"),
            "V": ("value", "what it hands over"), "scores": ("score", "how well Q and K agree"),
            "weights": ("weight", "how closely it listens"), "output": ("context", "what it hears"),
        },
        ["How closely does bob listen to eel?"], ["0 · 0 + 2 · 60 = 120"],
    ),
    lambda m: m.Poster(
        "Title", "", Sheet("SA", HERE, "", ROWS, COLUMNS, word="bob"), [], load("SA037")
    ),
)  # fmt: skip
def read_poster(drawn):
    html = drawn._repr_html_()
    legend = re.findall(r'<li><b style="--role:var\(--(\w+)\)">(\w+)</b> ([^<]*)</li>', html)
    plain = re.sub(r"</?i>", "", html)
    asked, product = (
        re.findall(r"How closely does [^<]*", plain),
        re.findall(r"[\d ·+]+ = 120", plain),
    )
    return (
        {name: (role, text) for role, name, text in legend},
        asked,
        [one.strip() for one in product],
    )


def check(name, old="", new=""):
    """Require that a drawing shows what it was given, if its module is changed so."""
    which, given, draw, reader = CASES[name]
    text = (ROOT / "book" / "figures" / f"{which}.py").read_text("utf-8")
    if old and text.count(old) != 1:
        raise ValueError(f"{old!r} stands {text.count(old)} times in {which}.py")
    module = ModuleType(f"book.figures.{which}")
    exec(compile(text.replace(old, new) if old else text, which, "exec"), vars(module))
    with plt.rc_context():
        drawn = draw(module)
    pictures = "figure-wide" in getattr(drawn, "html", "")
    for each in map(Picture, layouts(drawn)) if pictures else [drawn]:
        assert reader(each) == given


@pytest.mark.parametrize("name", CASES)
def test_what_is_drawn_is_what_was_given(name):
    check(name)


# Of each, what is taken away from its module, and what is put in its place
BREAKS = {
    "plane": """
        box.bottom - parts[1] → box.top + parts[1]
        canvas.arrow(frame(start), frame(end), role) → canvas.arrow(frame(end), frame(start), role)
        canvas.dot(frame(where), role) → canvas.dot(frame(where[::-1]), role)
        canvas.label(name, frame(where), role.split → canvas.label(name, frame(end), role.split
        frame([start, end]) → frame([start[::-1], end[::-1]])
        PHONE else 360, x_label, y_label) → PHONE else 360, y_label, x_label)
        number(k * step, digits)) for k in count → number(k, digits)) for k in count
    """,
    "heatmaps": """
        first.cell(i, j).inset(1), "ink") → first.cell(j, i).inset(1), "ink")
        cell = first.cell(i, j) → cell = first.cell(i, matrix.shape[1] - 1 - j)
        cell = first.cell(i, j) → cell = first.cell(matrix.shape[0] - 1 - i, j)
        canvas.rows(rows, → canvas.rows(rows[::-1],
        canvas.columns(names[place], → canvas.columns(names[place][::-1],
        title, _, role = panels[place] → title, _, role = panels[-1 - place]
        float(finite[i, j]) / largest → 1 - float(finite[i, j]) / largest
        _entry(value, digits), look → _entry(finite[i, j], digits), look
    """,
    "mask": """
        elif value: → elif not value:
    """,
    "charts": """
        np.stack([xs, line], -1)), look)) → np.stack([xs, line[::-1]], -1)), look))
        np.stack([xs, line], -1)), look)) → np.stack([xs, high + low - line], -1)), look))
        (_, spot, _) = named[i], best[i] → (_, spot, _) = named[i], best[len(best) - 1 - i]
        frame([(span[0], level), → frame([(span[0], 1 - level),
        frame((at, low))] → frame((0, low))]
        canvas.path([top, → canvas.path([top - [60, 0],
        number(k * step, digits)) for k in range → number(k * step + step, digits)) for k in range
    """,
    "points": """
        line = frame(np.stack([xs, middle], -1)) → line, middle = frame([(1, 1)]), middle[::-1]
        (at, value + reach)] → (at, value)]
        number(at, 0)) for at in part.x_ticks] → number(2 * at, 0)) for at in part.x_ticks]
    """,
    "bars": """
        sorted([zero, zero + float → sorted([zero, zero - float
        middle, texts[i], "" → middle, texts[i - 1], ""
        name if several else → series[name == series[0][0]][0] if several else
        y + 12, group, bold → y + 12, groups[-1 - i], bold
        x = zero + at * scale → x = zero + levels[-1 - place][0] * scale
    """,
    "network": """
        at(level - 1, read), at(level, reader) → at(level - 1, reader), at(level, read)
        canvas.text(0, at(level, 0)[1], title) → canvas.text(0, at(2 - level, 0)[1], title)
        x, y = at(0, position) → x, y = at(0, len(names) - 1 - position)
    """,
    "layers": """
        at[name], at[other] → at[name], at[needs[0][1]]
    """,
    "flows": """
        (right, tops[j]), wide → (right, tops[-1 - j]), wide
        down = tops[i] → down = tops[-1 - i]
        canvas.note(left - 10, 10, taker_title → canvas.note(left - 10, 10, giver_title
        shares[row, i] → shares[i, row]
        wash" if i == row → wash" if j == row
    """,
    "grids": """
        frame(square @ matrix) → frame(square @ matrix.T)
        np.array(line) @ matrix → np.array(line) @ matrix.T
        canvas.arrow(frame((0, 0)), frame(end) → canvas.arrow(frame((0, 0)), frame(end[::-1])
    """,
    "levels": """
        foot = level * q → foot = level * q[::-1]
        number(level, 0) → number(-level, 0)
        canvas.dot(frame(where), "key") → canvas.dot(frame(where[::-1]), "key")
        canvas.label(name, frame(where), "key") → canvas.label(name, frame(where[::-1]), "key")
        frame((0, 0)), frame(q) → frame((0, 0)), frame(q[::-1])
    """,
    "forward and back": """
        _arrow(canvas, a, b) → _arrow(canvas, b, a)
        ("C", "V", "A^T dC", 1), ("C", "A", "dC V^T" → ("C", "V", "dC V^T", 1), ("C", "A", "A^T dC"
        zip("QKVSAC" → zip("KQVSAC"
    """,
    "machine": """
        (lanes[j], ENTERS → (lanes[-1 - j], ENTERS
        zip(lanes, words, → zip(lanes, words[::-1],
        words, rows, strict → words, rows[::-1], strict
        WIDEST * weights[i, j] → WIDEST * weights[j, j]
        float(lanes[-1]) → float(lanes[0])
    """,
    "shared heads": """
        (shared[head], → (shared[-1 - head],
        text(middle, 14 → text(canvas.width + left - middle, 14
        ((TOP, ASK), (LOW, ANSWER)) → ((TOP, ANSWER), (LOW, ASK))
    """,
    "strips": """
        row.before[:, head] → row.before[:, 1 - head]
        row.after[:, head] → row.before[:, head]
        (-limit, limit, → (limit, -limit,
        row, head, y) → row, head, ys[0])
        box.top + y) → box.bottom - y)
        = named[head] → = named[1 - head]
        frame((at, ys[place])) → frame((-at, ys[place]))
        "soft ring pale"), ("after", "soft") → "soft"), ("after", "soft ring pale")
    """,
    "plot": """
        scale(1, -1).translate(0, canvas.height) → translate(0, 0)
        np.asarray(self.down.transform(points)) → np.asarray(self.down.transform(points)) / 2
    """,
    "handout": """
        escape(shown.x_label), escape(shown.y_label) → escape(shown.y_label), escape(shown.x_label)
        mark(name, *spot(x, y), kind) → mark(name, *spot(y, x), kind)
        12 + (2 - y) * unit → 12 + y * unit
        for point in shown.points] → for point in shown.drawn]
        in shown.drawn if solved → in shown.drawn if not solved
        escape(entry) if solved → escape(entry) if not solved
        {shown.x_label} to the right → {shown.y_label} to the right
        for name, *entries in → for *entries, name in
    """,
    "own sentence": """
        <td>{a}</td><td>{b}</td> → <td>{b}</td><td>{a}</td>
        ("money", "water", → ("water", "money",
        [words.index(asking)] → [0]
        one > weights.max() → one < weights.max()
    """,
    "sheet": """
        escape(rows[i]) → escape(rows[-1 - i])
        heads = self.columns if turned → heads = self.columns[::-1] if turned
        array.T if turned else array → array.T[:, ::-1] if turned else array
        "weights": self.columns → "weights": self.columns[::-1]
        "scores": ("scores", "score") → "scores": ("weights", "score")
        (j, i) if turned else (i, j) → (i, j) if turned else (j, i)
    """,
    "heads": """
        part[h * heads[one] // many] → part[-1 - h]
        head=f"head {h}" → head=f"head {many - 1 - h}"
    """,
    "poster": """
        ("K", "key", "what it is found by") → ("K", "value", "what it is found by")
        agree.argmax() → agree.argmin()
        .index(word)], arrays["key"] → .index(word) - 1], arrays["key"]
    """,
}  # fmt: skip


CHANGES = [
    (name, *line.strip().split(" → "))
    for name, lines in BREAKS.items()
    for line in lines.strip().splitlines()
]


def test_each_drawing_is_broken():
    assert BREAKS.keys() == CASES.keys()


def test_every_function_that_draws_is_read():
    here = Path(__file__).read_text("utf-8")
    for path in (ROOT / "book" / "figures").glob("*.py"):
        for name in re.findall(
            r"^def (\w+)\((?:[^()]|\([^()]*\))*\) -> (?:Drawing|HTML):",
            path.read_text("utf-8"),
            re.M,
        ):
            assert f"m.{name}(" in here, f"{name} of {path.name}"


@pytest.mark.parametrize(("name", "old", "new"), CHANGES)
def test_a_break_is_read(name, old, new):
    with pytest.raises((AssertionError, LookupError)):
        check(name, old, new)
