"""Perplexity: lift the surprise of one word, and see what the mean makes of it."""

from collections.abc import Sequence

import numpy as np

from book.figures.canvas import NUMBER, Array, Box, Canvas, text_width
from book.figures.charts import Frame
from book.figures.glue import number
from book.figures.live import Live, choice, group

MOST = 10  # bits of surprise that can be drawn
WHOLE, BIT, APART = 100.0, 15.0, 12.0  # a column; one bit; the gap before the last column
UNSURE = 100  # the guess: three words certain, and one as likely as one in so many


def perplexity(words: Sequence[str], p: Array, *, bad: int, alt: str) -> Live:
    """Draw how likely each word that came was, as one of equal choices, and its surprise.

    The last column is the blind guess that surprises as much as the words do on average. The
    buttons ask what it is if all words but the one at `bad` are certain.
    """
    bits = np.append(-np.log2(p), -np.log2(p).mean())
    asked = np.where(np.arange(len(p)) == bad, np.log2(UNSURE), 0.0)
    tries = _tries(2.0**-asked)

    def draw(canvas: Canvas) -> None:
        margin = max(text_width(name, NUMBER) for name in ("nats", "bits")) + 26
        pitch = (canvas.width - margin - APART) / len(bits)
        xs = margin + pitch * (np.arange(len(bits)) + 0.5)
        xs[-1] += APART
        half = min(0.31 * pitch, 24)
        canvas.frames["columns"] = [half, len(p) + APART / pitch]  # where the last one is
        _draw_choices(canvas, xs, half, bits, words)
        _draw_surprises(canvas, xs, half, bits)

    mean = float(bits[-1])
    return Live(
        "perplexity",
        draw,
        alt=alt,
        start={"bits": bits[:-1], "guess": ""},
        limits={"bits": (0, MOST), "guess": ("", *tries)},
        data={"words": words, "verdicts": tries, "asked": asked},
        says="{verdict}The average surprise is {nats} nats, or {bits} bits, per token. A blind "
        "guess among {ppl} words is just as surprising: that is the perplexity.",
        numbers={
            "nats": number(mean * np.log(2), 2),
            "bits": number(mean, 2),
            "ppl": number(2**mean, 2),
        },
        phrases={"verdict": ""},
        hint="Press your guess first. Then drag the surprise of a word up or down, or select it "
        "and use the arrow keys.",
        controls=[
            f"<span>Guess: one word 1/{UNSURE}, three certain</span>",
            group(
                "The perplexity is",
                *(choice(f"about {guess}", bits=asked, guess=guess) for guess in tries),
            ),
            choice("Four blind guesses among 8", bits=[3.0] * len(p), guess=""),
        ],
    )


def _tries(p: Array) -> dict[str, str]:
    """Return three guesses at the perplexity, of which one is right, and what is said of each."""
    *first, last = (f"{1 / one:.0f}" for one in p)
    so = f"the fourth root of {UNSURE}"
    ways = [
        (1 / p.mean(), f", one over the mean probability. But perplexity is {so}. "),
        (np.exp(-np.log(p).mean()), f", and so it is: {so}. "),
        ((1 / p).mean(), f", the mean of {', '.join(first)} and {last}. But perplexity is {so}. "),
    ]
    return {f"{size:.2g}": f"You guessed about {size:.2g}{said}" for size, said in ways}


def cuts(bits: float, low: float) -> list[tuple[float, float]]:
    """Return where a column that stands at `low` is cut into equal choices, two pixels or more."""
    count = 2.0**bits
    every = int(np.ceil(2 * count / WHOLE))
    return [low - WHOLE * k / count for k in np.arange(every, count - 1e-9, every)]


def _draw_choices(
    canvas: Canvas, xs: Array, half: float, bits: Array, words: Sequence[str]
) -> None:
    """Draw each word that came as one of equal choices: a column cut into slices."""
    top = 48.0
    low = top + WHOLE
    canvas.frames["choices"] = [0, low, 1, WHOLE]
    canvas.text(0, 10, "the word that came is one of 1/p equal choices", bold=True)
    rows = (("1/p", 34), ("p", low + 36))
    for name, y in rows:
        canvas.note(0, y, name)
    for i, (x, surprise) in enumerate(zip(map(float, xs), map(float, bits), strict=True)):
        look, last = ("ink", True) if i == len(words) else ("soft", False)
        choices = 2**surprise
        said = number(choices, 2) if last else f"{choices:g}"
        canvas.part(f"count-{i}").text(x, 34, said, anchor="middle", bold=True)
        chosen = Box(x - half, low - WHOLE / choices, x + half, low)
        canvas.part(f"one-{i}").rectangle(chosen, f"{look} fill", 0.75)
        lines = [np.array([(x - half, y), (x + half, y)]) for y in cuts(surprise, low)]
        canvas.part(f"cuts-{i}").segments(lines, f"{look} thread pale")
        canvas.outline(Box(x - half, top, x + half, low), f"{look} thin")
        if last:
            wide = text_width("blind guess", NUMBER)
            canvas.note(
                min(x, canvas.width - wide / 2), low + 18, "blind guess", "", anchor="middle"
            )
        else:
            canvas.text(x, low + 18, words[i], anchor="middle", bold=True)
        part = canvas.part(f"p-{i}")
        part.note(x, low + 36, f"{round(1 / choices, 3):g}", anchor="middle")
    canvas.height = low + 50


def _draw_surprises(canvas: Canvas, xs: Array, half: float, bits: Array) -> None:
    """Draw the surprises as columns, their mean as a line, and both in two units below."""
    head = canvas.height + 20
    left = float(xs[0]) - half - 10
    canvas.text(0, head, "its surprise, and the mean of all", bold=True)
    box = Box(left, head + 46, canvas.width, head + 46 + MOST * BIT)
    pitch = float(xs[1] - xs[0])  # one column is the unit
    frame = Frame(canvas, box, ((left - xs[0]) / pitch, (canvas.width - xs[0]) / pitch, 0, MOST))
    frame.tell("surprise")
    frame.y_axis([(float(at), "" if at % 2 else str(at)) for at in range(MOST + 1)], "bits")
    for name, y in (("bits", box.bottom + 18), ("nats", box.bottom + 36)):
        canvas.note(0, y, name)
    for i, (x, surprise) in enumerate(zip(map(float, xs), map(float, bits), strict=True)):
        last, at = i == len(xs) - 1, frame(((x - xs[0]) / pitch, surprise))
        column = Box(x - half, float(at[1]), x + half, box.bottom)
        look = "ink" if last else "soft"
        canvas.part(f"column-{i}").rectangle(column, f"{look} fill", 0.75)
        for name, y, unit in (("bits", 18, 1.0), ("nats", 36, np.log(2))):
            part = canvas.part(f"{name}-{i}")
            part.note(x, box.bottom + y, number(surprise * unit, 2), "", anchor="middle")
        if not last:
            canvas.part(f"top-{i}", at).dot(at, "ink", 5.5)
    at = frame((0, bits[-1]))
    ends = [(left, at[1]), (canvas.width, at[1])]
    canvas.part("level", at).path(ends, "ink thin dashed", keep_off=0)
    part = canvas.part("mean", at)
    part.note(float(xs[-1]), float(at[1]) - 11, "mean", "", anchor="middle")
    canvas.height = box.bottom + 50
