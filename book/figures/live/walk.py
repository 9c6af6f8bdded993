"""Scores that grow with the width of a key, and their shares with and without the root."""

from collections.abc import Sequence

import numpy as np

from book.figures.canvas import Array, Box, Canvas
from book.figures.charts import PHONE, Frame
from book.figures.glue import number
from book.figures.live import Live, action, dial
from selfattn_ref import softmax

KEYS = 4  # of one query: so many walks stand out
HEADS = (("score", "score"), ("share", "weight"))  # what the columns of numbers are
ROW, WIDE = 22.0, 44.0  # between the bars, and of a column of numbers
SHARES = (
    "After {steps} these {walks} walks are typically {typical} from zero; the root is {root}. "
    "Softmax gives the highest of set {bunch} a share of {share}; divided by the root, {tamed}."
)


def hexed(steps: Array) -> list[str]:
    """Write each row of steps, 1 or -1, as hexadecimal digits, a step a bit."""
    return [row.tobytes().hex() for row in np.packbits(steps > 0, axis=-1)]


def walk(steps: Array, *, start: int, bunch: int, x_label: str, alt: str) -> Live:
    """Draw walks of steps 1 or -1, one per row, and the shares of four after `start` steps.

    Each four walks are the scores of one query with four keys; the `bunch` to begin with counts
    from 1.
    """
    walks, most = steps.shape
    if np.any(np.abs(steps) != 1) or walks % KEYS:
        raise ValueError(f"steps must be 1 or -1, in rows for {KEYS} keys each")
    sums = steps.cumsum(axis=-1)
    reach = float(max(np.abs(sums).max(), np.sqrt(most))) + 2
    ends = sums[:, start - 1]
    chosen = slice(KEYS * (bunch - 1), KEYS * bunch)
    scores = np.sort(ends[chosen])[::-1].astype(float)
    root = float(np.sqrt(start))
    shares = [softmax(scores), softmax(scores / root)]
    banks = list(zip([scores, scores / root], shares, strict=True))

    def draw(canvas: Canvas) -> None:
        narrow = canvas.width == PHONE
        box = Box(30, 26, canvas.width - 42 if narrow else 336, 236 if narrow else 296)
        frame = Frame(canvas, box, (0, most, -reach, reach))
        _draw_walks(frame, steps, start, bunch, x_label)
        for j, score in enumerate(scores):
            canvas.part(f"dot-{j}").dot(frame((start, score)), "score")
        full = (162.0 if narrow else 190.0) - WIDE * len(HEADS)
        canvas.frames["bars"] = [full]
        for bank, title in enumerate(("scores as they are", f"divided by √{start}")):
            x, y = (182.0 * bank, box.bottom + 66) if narrow else (378.0, 12 + 158.0 * bank)
            canvas.part(f"title-{bank}").text(x, y, title, bold=True)
            _draw_bank(canvas, x, y, bank, banks[bank], full)
        canvas.height = max(canvas.height, box.bottom + 52)

    return Live(
        "walk",
        draw,
        alt=alt,
        start={"d": start, "bunch": str(bunch)},
        limits={"d": (1, most), "bunch": [str(1 + b) for b in range(walks // KEYS)]},
        data={"walks": hexed(steps)},
        says=SHARES,
        numbers={
            "steps": f"{start} steps",
            "walks": str(walks),
            "bunch": f"{bunch} of {walks // KEYS}",
            "typical": number(float(np.sqrt((ends**2).mean())), 1),
            "root": number(root, 1),
            "share": number(float(shares[0][0]), 2),
            "tamed": number(float(shares[1][0]), 2),
        },
        hint="The thick walks are the scores of one query with four keys, listed from the highest; "
        "a bar is a share.",
        controls=[
            dial("Steps, one for each number of a key: d<sub>k</sub> =", "d", (1, most), 1),
            action("Four other keys", "next"),
        ],
    )


def _draw_walks(frame: Frame, steps: Array, start: int, bunch: int, x_label: str) -> None:
    """Draw all walks, those of one bunch thick and all faint after `start` steps, and ±√n."""
    canvas, box, most = frame.canvas, frame.box, steps.shape[1]
    frame.tell("chart")
    frame.y_axis([(at, number(at, 0)) for at in (-32, -16, 0, 16, 32)], "sum so far")
    origin, one = frame((0, 0)), frame((1, 1))
    unit = (one[0] - origin[0], origin[1] - one[1])
    for one_bunch in range(1, len(steps) // KEYS + 1):
        look = "score hair" + (" chosen" if one_bunch == bunch else "")
        canvas.part(f"bunch-{one_bunch}").walks(
            steps[KEYS * (one_bunch - 1) : KEYS * one_bunch], origin, unit, look
        )
    edge = frame((start, 0))[0]
    room = Box(edge, box.top - 1, box.right + 2, box.bottom + 1)
    canvas.part("ahead").rectangle(room, "paper fill", 0.75)
    ends = [(edge, box.top), (edge, box.bottom)]
    canvas.part("edge", (edge, box.top)).path(ends, "soft thin dashed", keep_off=0)
    frame.x_axis([(at, str(at)) for at in range(0, most + 1, most // 4)], x_label)
    n = np.linspace(0, most**0.5, 61) ** 2
    for sign, name in ((1, "√n"), (-1, "−√n")):
        line = frame(np.stack([n, sign * np.sqrt(n)], -1))
        canvas.path(line, "ink", keep_off=0)
        canvas.text(box.right + 6, line[-1][1], name, bold=True)


def _draw_bank(
    canvas: Canvas,
    x: float,
    y: float,
    bank: int,
    columns: Sequence[Array],
    unit: float,
) -> None:
    """Draw the numbers of four keys in columns, and the last of them as bars."""
    ends = [x + 38 + 42 * place for place in range(len(HEADS))]
    across = x + WIDE * len(HEADS)  # where the bars begin
    for (head, _), end in zip(HEADS, ends, strict=True):
        canvas.note(end, y + ROW, head, anchor="end")
    for j in range(KEYS):
        row = y + (j + 2) * ROW
        for place, (_, look) in enumerate(HEADS):
            text = number(float(columns[place][j]), (2 if bank else 0, 2)[place])
            bold = place == len(HEADS) - 1
            part = canvas.part(f"number-{bank}-{place}-{j}")
            part.text(ends[place], row, text, look, anchor="end", bold=bold)
        bar = Box(across, row - 8, across + unit * float(columns[-1][j]), row + 8)
        canvas.part(f"bar-{bank}-{j}").rectangle(bar, f"{look} fill", 0.75)
    axis = [(across, y + 1.5 * ROW), (across, y + 5.5 * ROW)]
    canvas.path(axis, "axis", keep_off=0)
    canvas.height = y + 5.5 * ROW + 6
