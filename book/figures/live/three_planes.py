"""Three planes: drag what a word asks, what another is found by, and what that one gives."""

from collections.abc import Sequence

from book.figures.canvas import Array, Box, Canvas
from book.figures.charts import PHONE, Frame
from book.figures.glue import as_text, number
from book.figures.live import Live
from selfattn_ref import attention_weights, scaled_scores

LIMITS = (-1.2, 3.2, -1.2, 3.2)  # of a plane: money, then water
REACH = (-1.0, 2.7)  # of what is dragged, so that names stay inside
TICKS = [(float(at), str(at)) for at in range(4)]
NARROW, TALL, LOW = 22.0, 40.0, 46.0  # room beside, above and below a plane
DOWN = 62.0  # how far the ribbons run


def three_planes(
    words: Sequence[str], x: Array, roles: Sequence[Array], *, asker: int, clue: int, alt: str
) -> Live:
    """Draw the query of one word, the keys of all, their values, and what the first one hears.

    `x` is the word that asks, with as many numbers as a value; `roles` are the queries, keys and
    values of all words. The first two numbers of each are drawn. What can be dragged is the query
    of `asker`, and the key and the value of `clue`.
    """
    queries, keys, values = roles
    query = queries[asker]
    scores = scaled_scores(queries[[asker]], keys)
    weights = attention_weights(scores)[0]
    heard = weights @ values
    asks, tells = words[asker], words[clue]

    def draw(canvas: Canvas) -> None:
        frames = _planes(canvas, [f"{asks} asks", "found by", "gives"])
        _draw_query(frames[0], query, asks)
        canvas.part("echo").arrow(frames[1]((0, 0)), frames[1](query), "query pale")
        _draw_points(frames[1], keys, words, clue, "key")
        _draw_points(frames[2], values[:, :2], words, clue, "value")
        start, end = frames[2]((0, 0)), frames[2](heard[:2])
        canvas.part("heard").arrow(start, end, "context")
        part = canvas.part("name-heard", (end[0], end[1]))
        part.note(end[0] - 8, end[1] - 6, "heard", "context", anchor="end")
        _draw_score(canvas, tells, query, keys[clue], float(scores[0, clue]))
        _draw_ribbons(canvas, words, weights, f"{asks} hears {as_text(heard)}")

    return Live(
        "three_planes",
        draw,
        alt=alt,
        start={"query": query, "key": keys[clue], "value": values[clue, :2]},
        limits=dict.fromkeys(("query", "key", "value"), REACH),
        data={"words": words, "x": x, "keys": keys, "values": values}
        | {"asker": asker, "clue": clue},
        says=f"*{asks.capitalize()}* listens to {tells} with {{share}} and to itself with {{own}}. "
        f"It hears {{heard}}, was {as_text(x, 0)}, and becomes {{becomes}}.",
        numbers={
            "share": number(float(weights[clue]), 2),
            "own": number(float(weights[asker]), 2),
            "heard": as_text(heard),
            "becomes": as_text(x + heard),
        },
        hint=f"Drag what {asks} asks, what {tells} is found by and what {tells} gives, or select "
        "one and move it with the arrow keys.",
    )


def _planes(canvas: Canvas, titles: Sequence[str]) -> list[Frame]:
    """Return three planes with their titles: side by side, or two above one on a phone."""
    narrow = canvas.width == PHONE
    gap, beside = (18.0, 2) if narrow else (18.0, 3)
    across = (canvas.width - (beside - 1) * gap) / beside
    side, frames = across - NARROW, []
    for k, title in enumerate(titles):
        row, column = divmod(k, beside)
        left, top = column * (across + gap), row * (TALL + side + LOW + 6)
        canvas.text(left, top + 10, title, bold=True)
        box = Box(left + NARROW, top + TALL, left + across, top + TALL + side)
        frame = Frame(canvas, box, LIMITS)
        frame.tell(("asks", "found", "gives")[k])
        frame.y_axis(TICKS, "water")
        frame.x_axis(TICKS, "money", lines=True)
        frames.append(frame)
    canvas.height = frames[-1].box.bottom + LOW
    return frames


def _draw_query(frame: Frame, query: Array, name: str) -> None:
    """Draw what a word asks, as an arrow from the origin."""
    x, y = frame(query)
    frame.canvas.part("query").arrow(frame((0, 0)), (x, y), "query")
    part = frame.canvas.part("name-query", (x, y))
    part.text(x, y - 16, name, "query", anchor="middle", bold=True)


def _draw_points(frame: Frame, at: Array, words: Sequence[str], clue: int, role: str) -> None:
    """Draw what each word is found by, or gives; words at the same place share a dot."""
    canvas = frame.canvas
    places: dict[tuple[float, ...], list[str]] = {}
    for word, place in zip(words, at, strict=True):
        if word != words[clue] and word not in (names := places.setdefault((*place,), [])):
            names.append(word)
    for place, names in places.items():
        x, y = frame(place)
        canvas.dot((x, y), role)
        canvas.note(x + 8, y + 13, ", ".join(names), role)
    x, y = frame(at[clue])
    canvas.part(role, (x, y)).dot((x, y), role, 5.5)
    part = canvas.part(f"name-{role}", (x, y))
    part.text(x, y - 16, words[clue], role, anchor="middle", bold=True)


def _draw_score(canvas: Canvas, tells: str, query: Array, key: Array, scaled: float) -> None:
    """Write the score of the word that is dragged: below the planes, or in the room they leave."""
    narrow = canvas.width == PHONE
    pairs = [f"{number(a, 2)} × {number(b, 2)}" for a, b in zip(query, key, strict=True)]
    said = [f"score of {tells}", " + ".join(pairs)]
    said.append(f"= {number(float(query @ key), 2)}, ÷ √2 = {number(scaled, 2)}")
    x, y = (canvas.width / 2 + 20, canvas.height - 150) if narrow else (0.0, canvas.height + 12)
    places = [
        (x, y + 20 * k) if narrow else (x + across, y) for k, across in enumerate((0, 96, 276))
    ]
    for name, at, text in zip(("", "sum", "score"), places, said, strict=True):
        part = canvas.part(name) if name else canvas
        part.note(*at, text, "score")
    canvas.height += 0 if narrow else 24


def _draw_ribbons(canvas: Canvas, words: Sequence[str], weights: Array, heard: str) -> None:
    """Draw the weights as ribbons that run down from their words and meet."""
    pitch = canvas.width / len(words)
    full, y = 0.96 * pitch, canvas.height + 14  # even a weight of 1 stays in the drawing
    end = (canvas.width - full) / 2
    canvas.frames["ribbons"] = [pitch, full, y + 32]
    for j, (word, weight) in enumerate(zip(words, map(float, weights), strict=True)):
        x, wide = (j + 0.5) * pitch, full * weight
        canvas.text(x, y, word, anchor="middle", bold=True)
        part = canvas.part(f"share-{j}")
        part.text(x, y + 19, number(weight, 2), "weight", anchor="middle", bold=True)
        part = canvas.part(f"ribbon-{j}")
        low = (end + wide / 2, y + 32 + DOWN)
        part.ribbon((x, y + 32), low, wide, "weight wash", down=True)
        end += wide
    part, canvas.height = canvas.part("said"), y + DOWN + 60
    part.text(canvas.width / 2, y + DOWN + 46, heard, "context", anchor="middle", bold=True)
