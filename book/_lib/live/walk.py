"""Scores that grow with the width of a key, and their shares with and without the root."""

import numpy as np

from book._lib.canvas import NUMBER, Array, Box, Canvas
from book._lib.figures import PHONE, Frame
from book._lib.live import Live, action, dial
from book._lib.page import number
from selfattn_ref import softmax

KEYS = 4  # of one query: so many walks stand out
ROW = 22.0  # between the bars
SHARES = (
    "After {steps} a walk is typically {typical} from zero; the root is {root}. Softmax gives "
    "the highest of the four scores {share}; divided by the root, {tamed}."
)
SLOPES = (
    "At width {d} softmax gives the highest score {share}, and the steepest slope of a share is "
    "{slope}. Divided by the root, {tamed} and {slope_tamed}."
)


def hexed(steps: Array) -> list[str]:
    """Write each row of steps, 1 or -1, as hexadecimal digits, a step a bit."""
    return [row.tobytes().hex() for row in np.packbits(steps > 0, axis=-1)]


def walk(steps: Array, *, start: int, x_label: str, alt: str, slopes: bool = False) -> Live:
    """Draw walks of steps 1 or -1, one per row, and the shares of four after `start` steps.

    Each four walks are the scores of one query with four keys. With `slopes`, the bars say how
    much a share rises with its own score.
    """
    walks, most = steps.shape
    if np.any(np.abs(steps) != 1) or walks % KEYS:
        raise ValueError(f"steps must be 1 or -1, in rows for {KEYS} keys each")
    sums = steps.cumsum(axis=-1)
    reach = float(max(np.abs(sums).max(), np.sqrt(most))) + 2
    ends = sums[:, start - 1]
    scores = np.sort(ends[:KEYS])[::-1].astype(float)
    root = float(np.sqrt(start))
    shares = [softmax(scores), softmax(scores / root)]
    own = [p * (1 - p) for p in shares]
    titles = ["scores as they are", f"divided by √{start}"]
    digits = [(2, 3), (2, 3)] if slopes else [(0, 2), (2, 2)]
    banks = (
        list(zip(shares, own, strict=True))
        if slopes
        else list(zip([scores, scores / root], shares, strict=True))
    )
    heads = (
        [("share", "weight"), ("slope", "ink")]
        if slopes
        else [("score", "score"), ("share", "weight")]
    )
    whole = 0.25 if slopes else 1.0

    def draw(width: float) -> Canvas:
        canvas = Canvas(width)
        narrow = width == PHONE
        right = width - 42 if narrow else 336
        box = Box(30, 26, right, 236 if narrow else 296)
        frame = Frame(canvas, box, (0, most, -reach, reach))
        frame.tell("chart")
        frame.y_axis([(at, number(at, 0)) for at in (-32, -16, 0, 16, 32)], "sum so far")
        origin, one = frame((0, 0)), frame((1, 1))
        unit = (one[0] - origin[0], origin[1] - one[1])
        for bunch in range(walks // KEYS):
            with canvas.part(f"bunch-{bunch + 1}"):
                look = "score hair" + ("" if bunch else " chosen")
                canvas.walks(steps[KEYS * bunch : KEYS * (bunch + 1)], origin, unit, look)
        edge = frame((start, 0))[0]
        with canvas.part("ahead"):
            canvas.rectangle(Box(edge, box.top - 1, right + 2, box.bottom + 1), "paper fill", 0.75)
        with canvas.part("edge", (edge, box.top)):
            canvas.path([(edge, box.top), (edge, box.bottom)], "soft thin dashed", keep_off=0)
        frame.x_axis([(at, str(at)) for at in range(0, most + 1, most // 4)], x_label)
        n = np.linspace(0, most**0.5, 61) ** 2
        for sign, name in ((1, "√n"), (-1, "−√n")):
            line = frame(np.stack([n, sign * np.sqrt(n)], -1))
            canvas.path(line, "ink", keep_off=0)
            canvas.text(right + 6, line[-1][1], name, bold=True)
        for j, score in enumerate(scores):
            with canvas.part(f"dot-{j}"):
                canvas.dot(frame((start, score)), "score")

        full = 74.0 if narrow else 102.0
        canvas.frames["bars"] = [full / whole]
        for bank, (first, second) in enumerate(banks):
            x, y = (182.0 * bank, box.bottom + 66) if narrow else (378.0, 12 + 158.0 * bank)
            with canvas.part(f"title-{bank}"):
                canvas.text(x, y, titles[bank], bold=True)
            for at, (head, _) in zip((38, 78), heads, strict=True):
                canvas.text(x + at, y + ROW, head, "soft", anchor="end", size=NUMBER)
            for j in range(KEYS):
                row = y + (j + 2) * ROW
                for place, value in enumerate((first[j], second[j])):
                    with canvas.part(f"number-{bank}-{place}-{j}"):
                        text, look = number(float(value), digits[bank][place]), heads[place][1]
                        bold = bool(place)
                        canvas.text(x + 38 + 40 * place, row, text, look, anchor="end", bold=bold)
                with canvas.part(f"bar-{bank}-{j}"):
                    end = x + 86 + full * float(second[j]) / whole
                    canvas.rectangle(
                        Box(x + 86, row - 8, end, row + 8), f"{heads[1][1]} fill", 0.75
                    )
            canvas.path([(x + 86, y + 1.5 * ROW), (x + 86, y + 5.5 * ROW)], "axis", keep_off=0)
            canvas.height = y + 5.5 * ROW + 6
        canvas.height = max(canvas.height, box.bottom + 52)
        return canvas

    return Live(
        "walk",
        draw,
        alt=alt,
        start={"d": start, "bunch": "1"},
        limits={"d": (1, most), "bunch": [str(1 + b) for b in range(walks // KEYS)]},
        data={"walks": hexed(steps), "slopes": slopes},
        says=SLOPES if slopes else SHARES,
        numbers={
            "d": str(start),
            "steps": f"{start} steps",
            "typical": number(float(np.sqrt((ends**2).mean())), 1),
            "root": number(root, 1),
            "share": number(float(shares[0][0]), 2),
            "tamed": number(float(shares[1][0]), 2),
            "slope": number(float(own[0].max())),
            "slope_tamed": number(float(own[1].max())),
        },
        hint="The thick walks are the scores of one query with four keys; the bars are "
        + ("how much a share rises with its own score." if slopes else "their shares."),
        controls=[
            dial("Steps, one for each number of a key: d<sub>k</sub> =", "d", (1, most), 1),
            action("Four other keys", "next"),
        ],
    )
