"""Figures that answer back: each is drawn by a module here, and a script of the same name moves it.

The drawing is complete without the script. What a script changes is named with `Canvas.part`; where
data has its place, with `Frame.tell`. CONTRIBUTING.md says how to add one.
"""

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from book.figures.canvas import Canvas
from book.figures.charts import Draw, Drawing, both_layouts, described

KEYS = re.compile(r"(, or [^,.;]*arrow keys[^,.;]*)")  # which a telephone has not
State = Mapping[str, Any]  # numbers, lists of numbers, truths and words, by name


def choice(label: str, **state: Any) -> str:
    """Return a button that puts a part of the figure's state; it is pressed while that holds."""
    return f'<button type="button" data-put="{_json(state)}">{escape(label)}</button>'


def action(label: str, name: str) -> str:
    """Return a button that asks the script for something."""
    return f'<button type="button" data-act="{name}">{escape(label)}</button>'


def dial(
    label: str,
    key: str,
    limits: tuple[float, float],
    step: float,
    *,
    ends: str = "",
    log: bool = False,
) -> str:
    """Return a dial for a number of the state. `ends` names both ends, as in "cold|hot".

    The script says in words where it stands, if it knows any. A `log` dial turns by powers of ten:
    its limits and its step are exponents.
    """
    low, _, high = ends.partition("|")
    name = re.sub("<.*?>|[ =:]+$", "", label)  # the output takes the one that the label gives
    before, after = (f"<small>{escape(end)}</small>" if ends else "" for end in (low, high))
    return (
        f'<label class="dial"><span>{label} <output aria-live="off"></output></span>{before}'
        f'<input type="range" aria-label="{name}" data-key="{key}" min="{limits[0]:g}" '
        f'max="{limits[1]:g}" step="{step:g}"{" data-log" if log else ""}>{after}</label>'
    )


def group(label: str, *buttons: str) -> str:
    """Return buttons of one kind, with a name."""
    return (
        f'<div class="choices" role="group" aria-label="{escape(label)}">{"".join(buttons)}</div>'
    )


def row_names(
    canvas: Canvas, names: Sequence[str], chosen: int, x: float, y: float, pitch: float
) -> None:
    """Write the names of rows, each for the script to choose; y is the middle of the first."""
    for i, name in enumerate(names):
        look = "chosen" if i == chosen else "soft"
        canvas.part(f"row-{i}").note(x, y + i * pitch, name, look, anchor="end")


class Live(Drawing):
    """A figure for the page that a script of the same name can move.

    `start` is the state that is drawn; an address such as `#fig-name?key=1,2` names another, in
    which each number stays within the `limits` of its key, and a word is one of them. (Limits such
    as "01" are letters, each of which may stand for another in a word.) `says` is a sentence below
    the drawing: *word* is slanted, {name} a number or a word that the script keeps true, or one of
    the `phrases`, which are not bold. `hint` says what can be done; `data` is for the script alone.
    """

    def __init__(
        self,
        name: str,
        draw: Draw,
        *,
        alt: str,
        start: State,
        limits: Mapping[str, Sequence[Any]],
        says: str,
        numbers: Mapping[str, str],
        hint: str,
        phrases: Mapping[str, str] | None = None,
        controls: Sequence[str] = (),
        data: Any = None,
        wide: bool = False,
    ) -> None:
        facts = {"start": start, "limits": limits, "data": data}
        inside = json.dumps(facts, default=_plain, ensure_ascii=False, separators=(",", ":"))
        inside = inside.replace("</", r"<\/")  # ends no element
        tip = KEYS.sub(r'<span class="keys">\1</span>', hint)
        spoken = {key: f'<b data-say="{key}">{escape(text)}</b>' for key, text in numbers.items()}
        for key, text in (phrases or {}).items():
            spoken[key] = f'<span data-say="{key}">{escape(text, quote=False)}</span>'
        sentence = re.sub(r"\*(.+?)\*", r"<i>\1</i>", escape(says, quote=False))
        self.html = (
            f'<div class="drawing live{" spanning" if wide else ""}" data-live="{name}">'
            f'<script type="application/json">{inside}</script>'
            f'<div class="controls buttons" hidden>{"".join(controls)}'
            '<button type="button" class="reset">Reset</button>'
            '<button type="button" class="link" title="The address keeps what you set">Copy link'
            "</button>"
            f'<p class="hint">{tip}</p></div>'
            f'<div class="picture"{described(alt)}>{both_layouts(draw, wide)}</div>'
            f'<p class="says">{sentence.format_map(spoken)}</p></div>'
        )


def _json(value: Any) -> str:
    return escape(json.dumps(value, default=_plain))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return (np.round(value, 13) + 0.0 if value.dtype.kind == "f" else value).tolist()
    raise TypeError(f"a figure cannot tell its script a {type(value).__name__}")
