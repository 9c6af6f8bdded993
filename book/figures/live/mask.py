"""A mask to edit: who may listen to whom, and what the softmax makes of it."""

from collections.abc import Mapping, Sequence

import numpy as np

from book.figures import palette
from book.figures.canvas import NUMBER, Array, Box, Canvas, text_width
from book.figures.charts import PHONE
from book.figures.glue import number
from book.figures.live import Live, choice, dial, group

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
OUT, SUM, GAP, APART = (
    50.0,
    44.0,
    28.0,
    12.0,
)  # widths: outputs; sums; between tables; before outputs


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
    count, wide = len(names), values.shape[1]
    tint = min(palette.strongest("weight"), palette.strongest("negative"))
    columns = tuple(axes) or ("",) * wide

    def draw(width: float) -> Canvas:
        canvas = Canvas(width)
        narrow = width == PHONE
        margin = max(text_width(name, NUMBER, bold=True) for name in names) + 10
        spare = margin + SUM + APART + (0 if narrow else GAP) + wide * OUT
        across = min(OUT, (width - spare) / (count if narrow else 2 * count))
        down = 34.0 if count < 4 or not narrow else 31.0
        top = 44.0

        def table(
            x: float, y: float, title: str, heads: Sequence[str], across: float = across
        ) -> None:
            canvas.text(x, y - 34, title, bold=True)
            for j, head in enumerate(heads):
                middle = x + (j + 0.5) * across
                canvas.text(middle, y - 11, head, "soft", anchor="middle", size=NUMBER)

        def cells(
            part: str, x: float, y: float, shown: Array, look: str, across: float = across
        ) -> None:
            for i, line in enumerate(shown):
                for j, value in enumerate(line):
                    box = Box(
                        x + j * across, y + i * down, x + (j + 1) * across, y + (i + 1) * down
                    )
                    cell = Box(box.left + 1, box.top + 1, box.right - 1, box.bottom - 1)
                    with canvas.part(f"{part}-{i}-{j}"):
                        if part == "into":
                            canvas.rectangle(cell, look if seen[i, j] else f"{look} shut")
                        else:
                            wrong = part == "weight" and entry(value) != entry(right[i, j])
                            wrong |= part == "out" and entry(value) != entry(true[i, j])
                            canvas.rectangle(
                                cell,
                                f"{look} wrong" if wrong else look,
                                _strength(value, tint) if part == "weight" else 0.08,
                            )
                    with canvas.part(f"{part}-text-{i}-{j}"):
                        middle = (box.left + box.right) / 2, (box.top + box.bottom) / 2
                        text = entry(value, 0 if part == "into" else 2)
                        canvas.text(*middle, text, "cell", anchor="middle", size=NUMBER)

        def named(y: float, part: str) -> None:
            for i, name in enumerate(names):
                with canvas.part(part + str(i)):
                    look = "chosen" if i == row else "soft"
                    middle = y + (i + 0.5) * down
                    canvas.text(margin - 10, middle, name, look, anchor="end", size=NUMBER)

        canvas.frames["mask"] = [margin, top, across, -down]
        table(margin, top, "scores", names)
        named(top, "row-")
        cells("into", margin, top, into, "gate score")
        x, y = margin + count * across + GAP, top
        if narrow:
            x, y = margin, top + count * down + 62
            named(y, "row-")
        table(x, y, "weights", names)
        cells("weight", x, y, weights, "weight fill")
        x += count * across
        canvas.text(x + SUM / 2, y - 11, "sum", "soft", anchor="middle", size=NUMBER)
        for i, total in enumerate(weights.sum(axis=1)):
            middle = y + (i + 0.5) * down
            box = Box(x + 3, middle - down / 2 + 1, x + SUM - 3, middle + down / 2 - 1)
            with canvas.part(f"sum-{i}"):
                wrong = entry(total) != entry(right[i].sum())
                canvas.rectangle(box, "context fill wrong" if wrong else "context fill", 0)
            with canvas.part(f"sum-text-{i}"):
                canvas.text(x + SUM / 2, middle, entry(total), "cell", anchor="middle", size=NUMBER)
        x += SUM + APART
        table(x, y, "output, by axis" if axes else "output", columns, OUT)
        cells("out", x, y, weights @ values, "context fill", OUT)
        canvas.height = y + count * down + 4
        return canvas

    true = right @ values
    phrases = {"row": _row(row, spoken, weights[row]), "finding": _finding(seen, weights, right)}
    controls = [group("Mask", *(choice(name, **_put(m, m is seen)) for name, m in presets.items()))]
    state: dict[str, object] = {"mask": as_word(seen), "row": row}
    limits: dict[str, Sequence[object]] = {"mask": "01", "row": (0, count - 1)}
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
        draw,
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


def entry(value: float, digits: int = 2) -> str:
    """Write an entry of a table."""
    if np.isfinite(value):
        return number(float(value), digits)
    return "NaN" if np.isnan(value) else "−∞"


def _put(mask: Array, start: bool) -> dict[str, object]:
    """Return the state of a preset, which speaks of a row that has nobody only there."""
    empty = np.flatnonzero(~mask.any(axis=1))
    return {"mask": as_word(mask)} | ({"row": int(empty[0])} if empty.size and not start else {})


def _strength(value: float, tint: float) -> float:
    return 0.04 + (tint - 0.04) * float(value) if np.isfinite(value) else 0.04


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


def _finding(seen: Array, weights: Array, right: Array) -> str:
    wrong = [
        [entry(w) for w in row] != [entry(w) for w in true]
        for row, true in zip(weights, right, strict=True)
    ]
    if any(wrong):
        still = all(entry(total) == "1.00" for total in weights.sum(axis=1))
        end = ", and still every row adds up to 1." if still else "."
        return f"{sum(wrong)} of {len(wrong)} rows {'is' if sum(wrong) == 1 else 'are'} wrong{end}"
    ahead = int(np.triu(seen, 1).sum())
    if ahead:
        return f"{ahead} weight{'s reach' if ahead > 1 else ' reaches'} into the future."
    return "No word hears a later one."
