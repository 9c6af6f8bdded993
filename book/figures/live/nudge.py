"""One number of a model, the loss along it, and steps of gradient descent from there."""

from collections.abc import Sequence

import numpy as np

from book.figures.canvas import NAME, Array, Box, Canvas, Pair
from book.figures.charts import PHONE, Frame, _ticks
from book.figures.glue import number
from book.figures.live import Live, action, dial, group
from selfattn_ref import softmax, softmax_vjp

ROW, CELL = 24.0, 45.0
POINTS = 41  # of the curve
REACH = 40.0  # of the tangent, in pixels, to both sides


def nudge(
    model: Sequence[Array],
    start: Array,
    place: tuple[int, int],
    *,
    values: Array | None = None,
    rate: float,
    limits: tuple[float, float, float],
    name: str,
    turned: str,
    rows: Sequence[str],
    columns: Sequence[str],
    listener: str,
    heard: Sequence[str],
    alt: str,
) -> Live:
    """Draw the loss over one parameter, the others as they are, with its slope.

    A part of the model is a sentence: a matrix that makes its scores, (words,), of all parameters,
    (n,); `name` is that of their own matrix. `values` are those of the words of a single sentence,
    where z, the average, is to be positive: the loss is ln(1 + exp(-z)). Without them, each
    sentence adds minus the logarithm of its first weight. `limits` are those of the number, to
    both sides, where the curve is level enough for steps not to lead far out, and of the loss.
    """
    at = int(np.ravel_multi_index(place, start.shape))
    low, high, top = limits
    loss, slope, weights = measure(model, start, at, values)
    number_now = float(start[place])
    line = []
    for x in np.linspace(low, high, POINTS):
        moved = start.astype(float)
        moved[place] = x
        line.append((x, min(top, measure(model, moved, at, values)[0])))

    def draw(canvas: Canvas) -> None:
        narrow = canvas.width == PHONE
        box = Box(34, 26, canvas.width - 10 if narrow else 336, 214 if narrow else 272)
        frame = Frame(canvas, box, (low, high, 0, top))
        _draw_loss(frame, turned, line, (number_now, loss), slope)
        x, y = (0.0, box.bottom + 66) if narrow else (364.0, 80.0)
        _draw_matrix(canvas, (x + 60, y), start, place, name, rows, columns)
        x, y = (211.0, box.bottom + 66) if narrow else (364.0, 12.0)
        for said, value in (("loss", loss), ("slope", slope)):
            canvas.text(x, y, said)
            canvas.part(said).text(x + 84, y, number(value, 3), anchor="end", bold=True)
            y += 22
        y += 10 if narrow else 134
        canvas.note(x, y, f"{listener.strip('*')} listens to")
        _draw_shares(canvas, x, y, heard, weights)
        canvas.height = box.bottom + (184 if narrow else 52)

    return Live(
        "nudge",
        draw,
        alt=alt,
        start={"w": number_now, "rest": np.delete(start.ravel(), at).astype(float)}
        | {"steps": 0, "turned": False},
        limits={"w": (low - 1, high + 1), "rest": (-9, 9), "steps": (0, 999)},
        data={"model": model, "values": values, "at": at, "rate": rate}
        | {"points": POINTS, "limits": limits},
        says="{when} the loss is {loss}. Along this number it has the slope {slope}: {way}. "
        f"{listener} listens to {heard[0]} with {{share_0}}, to {heard[1]} with {{share_1}}.",
        numbers={
            "when": "At the start",
            "loss": number(loss),
            "slope": number(slope),
            "way": "down is better" if slope > 0 else "up is better",
            "share_0": number(float(weights[0]), 2),
            "share_1": number(float(weights[1]), 2),
        },
        hint="The dial turns only the framed number; a step turns every number against its slope.",
        controls=[
            dial(f"{turned[0].upper()}{turned[1:]} =", "w", (low, high), 0.01),
            group("Training", action("Step", "step"), action("Run", "run")),
        ],
    )


def measure(
    model: Sequence[Array], numbers: Array, at: int, values: Array | None
) -> tuple[float, float, Array]:
    """Return the loss, its slope along the number `at`, and the weights that are shown."""
    loss, slope, shown = 0.0, 0.0, []
    for scores in model:
        weights = softmax(scores @ numbers.ravel())
        if values is None:
            shown.append(weights[0])
            loss -= float(np.log(weights[0]))
            back = np.eye(len(weights))[0] / -weights[0]
        else:
            shown = list(weights)
            answer = float(weights @ values)
            loss += float(np.log1p(np.exp(-answer)))
            back = -values / (1 + np.exp(answer))
        slope += float(softmax_vjp(weights, back) @ scores[:, at])
    return loss, slope, np.array(shown)


def _draw_loss(frame: Frame, x_label: str, line: Sequence[Pair], now: Pair, slope: float) -> None:
    """Draw the loss along the number, and the tangent where the number is `now`."""
    canvas, box = frame.canvas, frame.box
    low, high, _, top = frame.limits
    frame.tell("chart")
    frame.y_axis(_ticks(0, top, 5), "loss")
    frame.x_axis(_ticks(low, high, 5), x_label)
    canvas.path([(box.left, box.bottom), (box.right, box.bottom)], "axis", keep_off=0)
    canvas.path(frame(line), "soft thin dashed", keep_off=0)
    x, y = frame(line[POINTS // 2])
    aside, anchor = (-12, "end") if line[-1][1] > line[0][1] else (12, "start")
    # no step, no word
    canvas.part("before").note(x + aside, y - 14, " ", anchor=anchor)
    canvas.part("curve").path(frame(line), "soft", keep_off=0)
    dot = frame(now)
    along = frame((now[0] + 1, now[1] + slope)) - dot
    along *= REACH / np.hypot(*along)
    canvas.part("tangent").path([dot - along, dot + along], "ink", keep_off=0)
    canvas.part("dot").dot(dot, "ink", 5.5)


def _draw_matrix(
    canvas: Canvas,
    corner: tuple[float, float],
    matrix: Array,
    place: tuple[int, int],
    name: str,
    rows: Sequence[str],
    columns: Sequence[str],
) -> None:
    """Draw the parameters, the one that is turned with a frame."""
    x, y = corner
    canvas.text(x - 8, y, name, anchor="end", bold=True)
    canvas.columns(columns, x, y, CELL)
    first = Box(x, y + ROW - 12, x + CELL, y + ROW + 12)
    for i, row in enumerate(rows):
        canvas.note(x - 8, y + (i + 1) * ROW, row, anchor="end")
        for j in range(len(columns)):
            cell = first.cell(i, j).inset(1)
            value = float(matrix[i, j])
            part = canvas.part(f"cell-{i * len(columns) + j}")
            look = "score fill negative" if value < 0 else "score fill"
            part.cell(cell, number(value, 2), look, tint(value), size=NAME)
            canvas.ticks(cell)
            if (i, j) == place:
                canvas.outline(cell, "ink thin")


def _draw_shares(canvas: Canvas, x: float, y: float, heard: Sequence[str], shares: Array) -> None:
    """Draw how much the listener takes from each, below y."""
    full = canvas.width - x - 94
    canvas.frames["bars"] = [full]
    for j, (word, share) in enumerate(zip(heard, map(float, shares), strict=True)):
        y += ROW
        canvas.text(x, y, word)
        text = number(share, 2)
        canvas.part(f"share-{j}").text(x + 84, y, text, "weight", anchor="end", bold=True)
        bar = Box(x + 92, y - 8, x + 92 + full * share, y + 8)
        canvas.part(f"bar-{j}").rectangle(bar, "weight fill", 0.75)
    canvas.path([(x + 92, y - ROW * len(heard) + 12), (x + 92, y + 12)], "axis", keep_off=0)


def tint(value: float) -> float:
    """Return how strongly a number colors its cell."""
    return 0.4 * min(1, abs(value) / 2)
