"""A mask to edit: who may listen to whom, and what the softmax makes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from book.figures import palette
from book.figures.canvas import NUMBER, Array, Box, Canvas, text_width
from book.figures.charts import PHONE
from book.figures.glue import number
from book.figures.live import Live, choice, dial, group, row_names

RIGHT = "right"
#: What may be done with a hidden score: the name of the button, and what is said of it.
RULES = {
    RIGHT: ("right: −∞", "A hidden score becomes −∞, and gets nothing."),
    "multiplied": ("1. times 0", "A hidden score becomes 0, and e⁰ is 1, not 0."),
    "added": ("2. times ∞", "0 times ∞ is not a number, and it spoils its row."),
    "filled": ("3. −20", "−20 stands in for −∞."),
    "inverted": ("4. inverted", "True is read as hidden."),
    "after": (
        "5. after softmax",
        "The hidden weights are struck out, and nothing is divided again.",
    ),
}
FILL, LOWER = -20.0, (0, 30)  # the stand-in for −∞, and how far all scores can be lowered
OUT, SUM = 50.0, 44.0  # widths of an output and of a sum
GAP, APART = 28.0, 12.0  # between tables, and before the outputs


def as_word(mask: Array) -> str:
    """Write a mask as an address does: 100/110/111."""
    return "/".join("".join("01"[int(seen)] for seen in row) for row in mask)


def editable_mask(
    names: Sequence[str],
    scores: Array,
    values: Array,
    weights: Array,
    *,
    alt: str,
    presets: Mapping[str, Array],
    start: str,
    row: int,
    axes: Sequence[str] = (),
    spoken: Sequence[str] = (),
    rule: str = "",
    into: Array | None = None,
    right: Array | None = None,
) -> Live:
    """Draw scores under a mask, the weights, their sums, and the output.

    `presets` are masks by the names of their buttons, one of them the `start`; `row` is the query
    of which the sentence speaks. `spoken` names each word where `names` does not. With a `rule`,
    the reader can choose among all; `into` is then what goes into the softmax, and `right` what
    the weights should be.
    """
    seen = presets[start]
    into = np.where(seen, scores, -np.inf) if into is None else into
    right = weights if right is None else right
    spoken = spoken or names
    tint = min(palette.strongest("weight"), palette.strongest("negative"))
    tables = Tables(names, seen, into, weights, right, values, axes, row, tint)
    phrases = {
        "row": _row(row, spoken, weights[row]),
        "finding": _finding(spoken, seen, weights, right),
    }
    controls = [group("Mask", *(choice(name, **_put(m, m is seen)) for name, m in presets.items()))]
    state: dict[str, object] = {"mask": as_word(seen), "row": row}
    limits: dict[str, Sequence[object]] = {"mask": "01", "row": (0, len(names) - 1)}
    data: dict[str, object] = {"scores": scores, "values": values, "names": spoken, "tint": tint}
    if rule:
        phrases = {"rule": RULES[rule][1]} | phrases | ({} if rule == RIGHT else {"row": ""})
        state |= {"rule": rule, "lower": 0}
        limits |= {"rule": tuple(RULES), "lower": LOWER}
        data |= {"rules": {key: said for key, (_, said) in RULES.items()}, "fill": FILL}
        controls += [
            group("Rule", *(choice(label, rule=key) for key, (label, _) in RULES.items())),
            dial("All scores lower by", "lower", LOWER, 1),
        ]
    return Live(
        "mask",
        tables.draw,
        alt=alt,
        start=state,
        limits=limits,
        data=data,
        says=" ".join(f"{{{key}}}" for key in phrases),
        numbers={},
        phrases=phrases,
        hint="Press a score to hide or show it, or use the arrow keys and the space bar.",
        controls=controls,
    )


@dataclass(frozen=True)
class Tables:
    """The drawing: scores under a mask, the weights with their sums, and the output."""

    names: Sequence[str]
    seen: Array
    into: Array
    weights: Array
    right: Array  # what the weights should be
    values: Array
    axes: Sequence[str]
    row: int  # of which the sentence speaks
    tint: float

    def draw(self, canvas: Canvas) -> None:
        """Draw the tables beside each other or, on a phone, below each other."""
        narrow = canvas.width == PHONE
        count, wide = self.values.shape
        margin = max(text_width(name, NUMBER, bold=True) for name in self.names) + 10
        spare = margin + SUM + APART + (0 if narrow else GAP) + wide * OUT
        across = min(OUT, (canvas.width - spare) / (count if narrow else 2 * count))
        down = 34.0 if count < 4 or not narrow else 31.0
        x, y = margin, 44.0
        canvas.frames["mask"] = [x, y, across, -down]
        first = Box(x, y, x + across, y + down)
        self._head(canvas, first, "scores", self.names)
        row_names(canvas, self.names, self.row, x - 10, y + down / 2, down)
        shut = np.where(self.seen, "gate score", "gate score shut")
        self._cells(canvas, first, "into", self.into, shut, np.ones(self.into.shape))
        x += count * across + GAP
        if narrow:
            x, y = margin, y + count * down + 62
        first = Box(x, y, x + across, y + down)
        if narrow:
            row_names(canvas, self.names, self.row, x - 10, y + down / 2, down)
        self._head(canvas, first, "weights", self.names)
        shades = 0.04 + (self.tint - 0.04) * np.nan_to_num(self.weights)
        looks = _looks("weight fill", self.weights, self.right)
        self._cells(canvas, first, "weight", self.weights, looks, shades)
        x += count * across
        self._sums(canvas, Box(x, y, x + SUM, y + down))
        x += SUM + APART
        first = Box(x, y, x + OUT, y + down)
        title = "output, by axis" if self.axes else "output"
        self._head(canvas, first, title, self.axes or ("",) * wide)
        output = self.weights @ self.values
        looks = _looks("context fill", output, self.right @ self.values)
        self._cells(canvas, first, "out", output, looks, np.full(output.shape, 0.08))
        canvas.height = y + count * down + 4

    def _head(self, canvas: Canvas, first: Box, title: str, heads: Sequence[str]) -> None:
        canvas.text(first.left, first.top - 34, title, bold=True)
        canvas.columns(heads, first.left, first.top - 11, first.right - first.left)

    def _cells(
        self, canvas: Canvas, first: Box, part: str, shown: Array, looks: Array, shades: Array
    ) -> None:
        for (i, j), value in np.ndenumerate(shown):
            box = first.cell(i, j)
            look, shade = str(looks[i, j]), float(shades[i, j])
            canvas.part(f"{part}-{i}-{j}").rectangle(box.inset(1), look, shade)
            text = entry(value, 0 if part == "into" else 2)
            canvas.part(f"{part}-text-{i}-{j}").note(*box.middle, text, "cell", anchor="middle")

    def _sums(self, canvas: Canvas, first: Box) -> None:
        canvas.columns(["sum"], first.left, first.top - 11, SUM)
        sums = self.weights.sum(axis=1)
        looks = _looks("context fill", sums, self.right.sum(axis=1))
        for i, total in enumerate(sums):
            cell = first.cell(i, 0)
            box = cell.inset(1)._replace(left=cell.left + 3, right=cell.right - 3)
            canvas.part(f"sum-{i}").rectangle(box, looks[i], 0)
            canvas.part(f"sum-text-{i}").note(*cell.middle, entry(total), "cell", anchor="middle")


def entry(value: float, digits: int = 2) -> str:
    """Write an entry of a table."""
    if np.isfinite(value):
        return number(float(value), digits)
    return "NaN" if np.isnan(value) else "−∞"


def _put(mask: Array, start: bool) -> dict[str, object]:
    """Return the state of a preset, which speaks of a row that has nobody only there."""
    empty = np.flatnonzero(~mask.any(axis=1))
    return {"mask": as_word(mask)} | ({"row": int(empty[0])} if empty.size and not start else {})


def _looks(look: str, shown: Array, right: Array) -> Array:
    """Return the look of each number; a wrong one, to two decimals, has a frame."""
    wrong = np.vectorize(entry)(shown) != np.vectorize(entry)(right)
    return np.where(wrong, f"{look} wrong", look)


def _row(i: int, names: Sequence[str], weights: Array) -> str:
    who = names[i].capitalize()
    if np.isnan(weights).any():
        return f"The weights of {names[i]} are not numbers."
    shares = [
        f"to {'itself' if j == i else names[j]} with {number(float(share), 2)}"
        for j, share in enumerate(weights)
        if number(float(share), 2) != "0.00"
    ]
    if not shares:
        return f"{who} has nobody to listen to: its output is zero."
    return f"{who} listens {' and '.join(filter(None, [', '.join(shares[:-1]), shares[-1]]))}."


def _finding(names: Sequence[str], seen: Array, weights: Array, right: Array) -> str:
    wrong = [
        [entry(w) for w in row] != [entry(w) for w in true]
        for row, true in zip(weights, right, strict=True)
    ]
    if any(wrong):
        still = all(entry(total) == "1.00" for total in weights.sum(axis=1))
        end = ", and still every row adds up to 1." if still else "."
        of = ", ".join(name for name, bad in zip(names, wrong, strict=True) if bad)
        which = "" if all(wrong) else f" ({of})"
        verb = "is" if sum(wrong) == 1 else "are"
        return f"{sum(wrong)} of {len(wrong)} rows {verb} wrong{which}{end}"
    ahead = int(np.triu(seen, 1).sum())
    if ahead:
        return f"{ahead} weight{'s reach' if ahead > 1 else ' reaches'} into the future."
    return "No word hears a later one."
