"""Cut a path: six arrows into the second of two layers, and what is left of the votes."""

from collections.abc import Mapping, Sequence

import numpy as np

from book.figures import palette
from book.figures.canvas import NUMBER, Array, Box, Canvas
from book.figures.glue import number
from book.figures.live import Live
from selfattn_ref import scaled_dot_product_attention, scaled_scores, softmax

#: The roles as they stand, from left to right, and what each does.
ROLES = {"value": "hands over", "key": "answers", "query": "asks"}
SCORE, BOXES, GATES, SOURCES, TEXT = 104.0, 126.0, 198.0, 254.0, 338.0  # heights
STUB = 0.35  # of an arrow that is cut, what is left


def cut_path(
    words: Sequence[str],
    text: Sequence[str],
    made: Mapping[str, tuple[Array, Array]],
    *,
    asker: int,
    clue: int,
    scale: float,
    alt: str,
) -> Live:
    """Draw how the word `asker` of a text finds and copies the word at `clue`.

    `made` has, for queries, keys and values, (words, width), what comes from layer 1 and what
    comes from the words themselves. Each part has an arrow that can be cut, at all positions.
    """
    query, keys, values = (np.add(*made[role]) for role in ("query", "key", "value"))
    scores = scaled_scores(query[[asker]], keys, scale=1.0)[0]
    weights = softmax(scale * scores)
    votes = scaled_dot_product_attention(query[[asker]], keys, values, scale=scale)[0]
    says = {"value": values[clue], "key": keys[clue], "query": query[asker]}
    tint = palette.strongest("context")

    def draw(canvas: Canvas) -> None:
        pitch = canvas.width / 6
        _draw_votes(canvas, words, votes, tint)
        _draw_sources(canvas, text, asker, clue)
        canvas.frames["paths"] = [0, GATES + 2, pitch, 2 - SOURCES + GATES]
        for k, role in enumerate(("value", "value", "key", "key", "query", "query")):
            x = (k + 0.5) * pitch
            canvas.part(f"path-{k}").arrow((x, SOURCES), (x, GATES), role)
            canvas.part(f"cut-{k}").note(x, GATES + 16, " ", anchor="middle")
        for k, (role, does) in enumerate(ROLES.items()):
            box = Box(2 * k * pitch + 5, BOXES, 2 * (k + 1) * pitch - 5, GATES - 4)
            canvas.outline(box, f"{role} thin")
            x, y = box.middle
            canvas.text(x, y - 20, role, role, anchor="middle", bold=True)
            who = text[asker if role == "query" else clue]
            canvas.note(x, y, f"{who} {does}", "soft", anchor="middle")
            part = canvas.part(f"says-{role}")
            part.text(x, y + 20, named(words, says[role]), anchor="middle", bold=True)
        _draw_attending(canvas, float(scores[clue]), float(weights[clue]))
        canvas.height = TEXT + 36

    whole = number(float(votes[words.index(text[clue])]), 4)
    return Live(
        "cut_path",
        draw,
        alt=alt,
        start={"paths": "111111"},
        limits={"paths": "01"},
        data={"words": words, "text": text, "made": _seen(made, asker), "clue": clue}
        | {"scale": scale, "tint": tint, "stub": STUB},
        says=f"The right next word is *{text[clue]}*. It gets {{now}} of the votes; with all six "
        f"arrows it gets {whole}. {{finding}}",
        numbers={"now": whole},
        phrases={"finding": "No arrow is cut."},
        hint="Press an arrow to cut or mend it, or use the arrow keys and the space bar.",
    )


def named(words: Sequence[str], vector: Array) -> str:
    """Return the word that a vector holds, if it holds one."""
    most = int(vector.argmax())
    return words[most] if vector[most] > 0.5 else "nothing"


def _seen(made: Mapping[str, tuple[Array, Array]], asker: int) -> dict[str, list[Array]]:
    """Return what the script needs: of the queries only one."""
    rows = {"query": slice(asker, asker + 1)}
    return {role: [part[rows.get(role, slice(None))] for part in made[role]] for role in ROLES}


def _draw_votes(canvas: Canvas, words: Sequence[str], votes: Array, tint: float) -> None:
    """Draw the votes for each word, which the last position gets."""
    across = canvas.width / len(words)
    canvas.text(0, 10, "votes for the next word", bold=True)
    canvas.columns(words, 0, 33, across)
    first = Box(0, 43, across, 71)
    for k, vote in enumerate(map(float, votes)):
        cell = first.cell(0, k)
        canvas.part(f"vote-{k}").rectangle(cell.inset(1), "context fill", tint * vote)
        part = canvas.part(f"vote-text-{k}")
        part.note(*cell.middle, number(vote, 2), "cell", anchor="middle")


def _draw_attending(canvas: Canvas, score: float, weight: float) -> None:
    """Draw how the query meets the key, and where the value goes."""
    pitch = canvas.width / 6
    canvas.path([(5 * pitch, BOXES - 4), (5 * pitch, SCORE), (3.5 * pitch, SCORE)], "score")
    canvas.arrow((3.5 * pitch, SCORE), (3.5 * pitch, BOXES), "score")
    part = canvas.part("score")
    part.note(4.25 * pitch, SCORE - 12, f"score {number(score, 2)}", "score", anchor="middle")
    canvas.arrow((pitch, BOXES - 4), (2.6 * pitch, 75), "weight")
    part = canvas.part("weight")
    part.note(1.3 * pitch, SCORE - 8, f"weight {number(weight, 2)}", "weight", anchor="end")


def _draw_sources(canvas: Canvas, text: Sequence[str], asker: int, clue: int) -> None:
    """Draw the text, and which of its words stand at both positions after layer 1."""
    pitch = canvas.width / 6
    across = canvas.width / len(text)
    for k, at in enumerate((clue, clue, asker)):
        for j, (place, how) in enumerate(((at - 1, "layer 1"), (at, "itself"))):
            x, word = (2 * k + j + 0.5) * pitch, text[place]
            canvas.note(x, SOURCES + 13, word, "ink", anchor="middle")
            canvas.note(x, SOURCES + 30, how, anchor="middle")
            canvas.arrow(((place + 0.5) * across, TEXT - 12), (x, SOURCES + 42), "soft thin")
    for place, word in enumerate(text):
        x = (place + 0.5) * across
        canvas.text(x, TEXT, word, anchor="middle", bold=place in (clue, asker))
    canvas.text(0, TEXT + 24, "the text, read from left to right", "soft", size=NUMBER)
