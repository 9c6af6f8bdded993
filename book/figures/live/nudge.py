"""One number of a model, the loss along it, and steps of gradient descent from there."""

from collections.abc import Sequence

import numpy as np

from book.figures.canvas import NUMBER, Array, Box, Canvas
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

    def measure(numbers: Array) -> tuple[float, float, Array]:
        """Return the loss, its slope along the number, and the weights that are shown."""
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

    loss, slope, weights = measure(start)
    number_now = float(start[place])
    line = []
    for x in np.linspace(low, high, POINTS):
        moved = start.astype(float)
        moved[place] = x
        line.append((x, min(top, measure(moved)[0])))

    def draw(width: float) -> Canvas:
        canvas = Canvas(width)
        narrow = width == PHONE
        box = Box(34, 26, width - 10 if narrow else 336, 214 if narrow else 272)
        frame = Frame(canvas, box, (low, high, 0, top))
        frame.tell("chart")
        frame.y_axis(_ticks(0, top, 5), "loss")
        frame.x_axis(_ticks(low, high, 5), turned)
        canvas.path([(box.left, box.bottom), (box.right, box.bottom)], "axis", keep_off=0)
        canvas.path(frame(line), "soft thin dashed", keep_off=0)
        rises = line[-1][1] > line[0][1]
        x, y = frame(line[POINTS // 2])
        with canvas.part("before"):  # no step, no word
            canvas.text(
                x - 12 if rises else x + 12,
                y - 14,
                " ",
                "soft",
                anchor="end" if rises else "start",
                size=NUMBER,
            )
        with canvas.part("curve"):
            canvas.path(frame(line), "soft", keep_off=0)
        dot = frame((number_now, loss))
        along = frame((number_now + 1, loss + slope)) - dot
        along *= REACH / np.hypot(*along)
        with canvas.part("tangent"):
            canvas.path([dot - along, dot + along], "ink", keep_off=0)
        with canvas.part("dot"):
            canvas.dot(dot, "ink", 5.5)

        x, y = (0.0, box.bottom + 66) if narrow else (364.0, 80.0)
        first = x + 60
        canvas.text(first - 8, y, name, anchor="end", bold=True)
        for j, head in enumerate(columns):
            middle = first + (j + 0.5) * CELL
            canvas.text(middle, y, head, "soft", anchor="middle", size=NUMBER)
        for i, head in enumerate(rows):
            middle = y + (i + 1) * ROW
            canvas.text(first - 8, middle, head, "soft", anchor="end", size=NUMBER)
            for j in range(len(columns)):
                left = first + j * CELL
                cell = Box(left + 1, middle - 11, left + CELL - 1, middle + 11)
                with canvas.part(f"cell-{i * len(columns) + j}"):
                    value = float(start[i, j])
                    canvas.rectangle(cell, "score fill", tint(value))
                    canvas.text(left + CELL / 2, middle, number(value, 2), "cell", anchor="middle")
                if (i, j) == place:
                    corners = [(cell[a], cell[b]) for a, b in ((0, 1), (2, 1), (2, 3), (0, 3))]
                    canvas.path(corners, "ink thin", closed=True)

        x, y = (211.0, box.bottom + 66) if narrow else (364.0, 12.0)
        for said, value in (("loss", loss), ("slope", slope)):
            canvas.text(x, y, said)
            with canvas.part(said):
                canvas.text(x + 84, y, number(value, 3), anchor="end", bold=True)
            y += 22
        y += 10 if narrow else 134
        canvas.text(x, y, f"{listener.strip('*')} listens to", "soft", size=NUMBER)
        full = width - x - 94
        canvas.frames["bars"] = [full]
        for j, word in enumerate(heard):
            y += ROW
            canvas.text(x, y, word)
            with canvas.part(f"share-{j}"):
                share = number(float(weights[j]), 2)
                canvas.text(x + 84, y, share, "weight", anchor="end", bold=True)
            with canvas.part(f"bar-{j}"):
                end = x + 92 + full * float(weights[j])
                canvas.rectangle(Box(x + 92, y - 8, end, y + 8), "weight fill", 0.75)
        canvas.path([(x + 92, y - ROW * len(heard) + 12), (x + 92, y + 12)], "axis", keep_off=0)
        canvas.height = box.bottom + (184 if narrow else 52)
        return canvas

    return Live(
        "nudge",
        draw,
        alt=alt,
        start={
            "w": number_now,
            "rest": np.delete(start.ravel(), at).astype(float),
            "steps": 0,
            "turned": False,
        },
        limits={"w": (low - 1, high + 1), "rest": (-9, 9), "steps": (0, 999)},
        data={
            "model": model,
            "values": values,
            "at": at,
            "rate": rate,
            "points": POINTS,
            "limits": limits,
        },
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


def tint(value: float) -> float:
    """Return how strongly a number colors its cell."""
    return 0.4 * min(1, abs(value) / 2)
