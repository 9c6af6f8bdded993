"""The Sheet: all of attention in one picture, with real numbers, that a script lets one question.

Each entry stands where its row and its column meet: X at the left, the matrices above what they
make, the keys above the scores, the values above the output. Python draws all of it, so that it is
complete without the script, on paper and in a notebook.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Decimal
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from book.figures.canvas import text_width
from book.figures.charts import Drawing
from selfattn_ref import attention_weights, causal_mask, scaled_scores

Array = NDArray[Any]
MOST = 8  # columns of a matrix
SHORT = 4  # letters of a head that fits above a cell; longer ones stand upright
#: Of each matrix its letter and its role, which has a color.
LETTERS = {
    "x": ("X", ""),
    "w_query": ("W<sub>Q</sub>", ""),
    "w_key": ("W<sub>K</sub>", ""),
    "w_value": ("W<sub>V</sub>", ""),
    "query": ("Q", "query"),
    "key": ("K", "key"),
    "value": ("V", "value"),
    "bias": ("bias", ""),
    "scores": ("scores", "score"),
    "weights": ("weights", "weight"),
    "output": ("output", "context"),
    "w_output": ("W<sub>O</sub>", ""),
    "adds": ("this head adds", "context"),
    "sum": ("all heads", "context"),
}
ROLES = ("query", "key", "value")
CELL, GAP = 1.95, 0.7  # widths in rem of a cell and between matrices, as in the stylesheet
NOTHING = 1e-9  # what two orders of summation may differ by
SIZE = 13.5  # pixels of its letters, where a rem is 18 pixels
WIDTHS = (30, 36, 42, 47, 51, 54, 60)  # at which the stylesheet puts all matrices in one row


@dataclass(frozen=True)
class Sheet(Drawing):
    """Attention of one head, entry by entry.

    `given` has either `x` with `w_query`, `w_key` and `w_value`, or `x` alone, which is then query,
    key and value in one, or `query`, `key` and `value`; and `bias` and `mask` if there are any.
    Of one head of several, `w_output` is what its output is multiplied by.
    `options` are scale, soft_cap, causal and offset. `slips` are what can be broken, by name: what
    it does and which examples catch it.
    """

    name: str  # what is shown, such as the id of an example
    given: Mapping[str, Array]
    title: str
    rows: Sequence[str]  # what the queries are called
    columns: Sequence[str]  # what the keys are called
    features: Sequence[str] = ()  # what the columns of x are called
    outputs: Sequence[str] = ()  # what the columns of the output are called
    nouns: Mapping[str, str] = field(default_factory=dict)  # of "rows" and so on: what "0" is a
    options: Mapping[str, Any] = field(default_factory=dict)
    slips: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    word: str = ""  # whose rows are marked from the start
    call: int = 0  # which call of the example it is
    head: str = ""  # which head or sequence of the call, if there are several
    others: Array | None = None  # what the other heads add to the output
    shared: int | None = None  # the number of its key and value matrices, if several heads share
    asks: int | None = None  # a row whose weights are covered until the reader presses a word

    @property
    def html(self) -> str:  # type: ignore[override]
        """The drawing and what the script has to know."""
        given = {name: _plain(array) for name, array in self.given.items()}
        facts = {
            "given": given,
            **{name: self.spoken(name) for name in ("rows", "columns", "features", "outputs")},
            "options": self.options,
            "slips": self.slips,
            "asks": self.asks,
            "shared": self.shared,
        }
        inside = json.dumps(facts, ensure_ascii=False, separators=(",", ":")).replace("</", r"<\/")
        script = f'<script type="application/json">{inside}</script>'
        return self.still(script, f' data-sheet="{escape(self.name)}"')

    def spoken(self, axis: str) -> list[str]:
        """Return what the entries along an axis are called where their table is not seen.

        Of equal words, each has its position.
        """
        noun, names = self.nouns.get(axis, ""), getattr(self, axis)
        named = (f"{one} ({i})" if names.count(one) > 1 else one for i, one in enumerate(names))
        return [f"{noun} {one}".strip() if one.isdigit() else one for one in named]

    def still(self, script: str = "", name: str = "") -> str:
        """Return the drawing; without a script, it is for paper."""
        arrays = self.arrays()
        bands = "".join(self._band(arrays, band) for band in self._bands())
        features = self.features if "w_query" in self.given else ()
        heads = [*self.rows, *self.columns, *features]
        names = 0.5 + max(text_width(name, SIZE, bold=True) for name in heads) / 18
        wider = self._wider(arrays)
        wide = next((w for w in WIDTHS if w >= self._width(arrays, names, wider)), None)
        looks = f"--names:{names:.1f}rem;--count:{self._cells(arrays)}"
        looks += f";--wider:{wider:.2f}" if wider > 1 else ""
        return (
            f'<div class="whole{f" at-{wide}" if wide else ""}"{name} style="{looks}">{script}'
            f'<div class="bands">{bands}</div></div>'
        )

    def arrays(self) -> dict[str, Array]:
        """Compute every array, each of two axes; a hidden entry is NaN."""
        arrays = dict(self.given)
        for role in ROLES:
            if role not in arrays:
                x = arrays["x"]
                arrays[role] = x @ arrays[f"w_{role}"] if f"w_{role}" in arrays else x
        scores = scaled_scores(arrays["query"], arrays["key"], scale=self.options.get("scale"))
        if cap := self.options.get("soft_cap"):
            scores = cap * np.tanh(scores / cap)
        scores = scores + self.given.get("bias", 0.0)
        seen = np.broadcast_to(self.given.get("mask", np.True_), scores.shape)
        if self.options.get("causal"):
            seen = seen & causal_mask(*scores.shape, offset=self.options.get("offset", 0))
        weights = attention_weights(scores, mask=seen)
        arrays |= {
            "scores": np.where(seen, scores, np.nan),
            "weights": np.where(seen, weights, np.nan),
            "output": weights @ arrays["value"],
        }
        if "w_output" in arrays:
            arrays["adds"] = arrays["output"] @ arrays["w_output"]
        if self.others is not None:
            arrays["sum"] = arrays["adds"] + self.others
        return arrays

    # The drawing

    def _wider(self, arrays: Mapping[str, Array]) -> float:
        """Return how many times wider a cell has to be for the longest number."""
        texts = (shown(float(x)) for array in arrays.values() for x in array[np.isfinite(array)])
        longest = max(text_width(text, SIZE) for text in texts) / 18
        return (longest + 0.4) / CELL if longest > CELL else 1.0

    def _width(self, arrays: Mapping[str, Array], names: float, wider: float) -> float:
        """Return how wide it is in rem, if all matrices stand beside each other."""
        below = [column[0] for band in self._bands() for column in band if column[0] in arrays]
        heads = 3 if "w_query" in self.given else 2
        return self._cells(arrays) * CELL * wider + heads * names + len(below) * GAP

    def _cells(self, arrays: Mapping[str, Array]) -> int:
        """Return how many columns the lower row of matrices has."""
        bands = [column[0] for band in self._bands() for column in band]
        return sum(arrays[name].shape[1] for name in bands if name in arrays)

    def _bands(self) -> list[list[tuple[str, str]]]:
        """Return what stands together on a narrow screen: matrices, each with the one above it."""
        after = [[("bias", "")], [("scores", "key")], [("weights", "")], [("output", "value")]]
        after += [[("adds", "w_output"), ("sum", "")]]
        if "x" not in self.given:
            return [[("query", "")], *after]
        if "w_query" not in self.given:
            return [[("x", "")], *after[:1], [("scores", "x")], *after[2:3], [("output", "x")]]
        return [[("x", "")], [(role, f"w_{role}") for role in ROLES], *after]

    def _band(self, arrays: Mapping[str, Array], band: Sequence[tuple[str, str]]) -> str:
        """Write matrices that stand together; the first has the names of the rows."""
        columns = []
        for place, (name, above) in enumerate(band):
            if name not in arrays:
                continue
            rows = self.rows if place == 0 else ()
            of_key = name == "scores"  # it stands above the scores on its side
            names = self.features if name in ROLES else self.columns if name == "output" else ()
            top = ""
            if above:
                names = names if place == 0 else ()
                top = self._matrix(above, arrays[above], names, below=False, turned=of_key)
            columns.append(
                f'<div class="column">{top}{self._matrix(name, arrays[name], rows)}</div>'
            )
        return f'<div class="band">{"".join(columns)}</div>' if columns else ""

    def _matrix(
        self,
        name: str,
        array: Array,
        rows: Sequence[str],
        *,
        below: bool = True,
        turned: bool = False,
    ) -> str:
        """Write a matrix as a table, with names of its rows if there are any; or transposed."""
        letter, role = LETTERS[name]
        title = f"{letter}ᵀ" if turned else self._title(name) if below else letter
        heads = self.columns if turned else self._heads(name)
        largest = 1.0 if name == "weights" else float(np.nanmax(np.abs(array), initial=0))
        values = array.T if turned else array
        # Where all matrices stand in one row, the first has the names for all.
        own = ' class="own"' if below else ""
        words = self.columns if name in ("key", "value") else self.rows
        lines = []
        for i, row in enumerate(values):
            mark = ' class="me"' if below and words[i] == self.word else ""
            head = f'<th scope="row"{own}>{escape(rows[i])}</th>' if rows else ""
            cells = (
                cell(name, (j, i) if turned else (i, j), float(value), largest)
                for j, value in enumerate(row)
            )
            lines.append(f"<tr{mark}>{head}{''.join(cells)}</tr>")
        top = "".join(f'<th scope="col"><span>{escape(one)}</span></th>' for one in heads)
        corner = f"<td{own}></td>" if rows else ""
        tall = any(len(one) > SHORT for one in heads)
        look = ' class="tall"' if tall else ""
        thead = f"<thead{look}><tr>{corner}{top}</tr></thead>"
        color = f' style="--role:var(--{role})"' if role else ""
        covers = self.asks is not None and name in ("scores", "weights", "output") and below
        covered = ' class="covered"' if covers else ""
        return (
            f'<table data-matrix="{name}"{covered}{color}><caption>{title}</caption>'
            f"{thead if heads else ''}<tbody>{''.join(lines)}</tbody></table>"
        )

    def _heads(self, name: str) -> Sequence[str]:
        """Return what stands above the columns of a matrix."""
        if name == "output" and "w_query" not in self.given and "x" in self.given:
            return self.features
        heads = {"x": self.features, "weights": self.columns}
        last = ("adds", "sum") if "w_output" in self.given else ("output",)
        return heads.get(name, self.outputs if name in last else ())

    def _title(self, name: str) -> str:
        letter = LETTERS[name][0]
        if name in ROLES and f"w_{name}" in self.given:
            return f"{letter} = X {LETTERS[f'w_{name}'][0]}"
        value = "X" if "value" not in self.given and "w_value" not in self.given else "V"
        rules = {
            "bias": "is added",
            "scores": self._rule(),
            "weights": "softmax of each row",
            "output": f"weights {value}",
            "adds": "output W<sub>O</sub>",
            "sum": "added up",
        }
        return f"{letter}<small>{rules[name]}</small>" if name in rules else letter

    def _rule(self) -> str:
        """Return how the scores are made, in letters, as HTML."""
        whole = "x" in self.given and "w_query" not in self.given
        width = next(self.given[n] for n in ("w_query", "query", "x") if n in self.given).shape[1]
        scale = self.options.get("scale")
        text = "X Xᵀ" if whole else "Q Kᵀ"
        by = ""
        if scale is None and width > 1:
            by = f" ÷ {root(width)}"
        elif scale is not None and scale != 1:
            by = f" × {scale:g}"
        text += f'<span class="by">{by}</span>'  # a script may scale otherwise
        cap = self.options.get("soft_cap")
        return (
            text + (f", cap {cap:g}" if cap else "") + (" + bias" if "bias" in self.given else "")
        )


def root(width: int) -> str:
    """Write what scores of keys of a width are divided by: 2 for 4, √2 for 2."""
    return f"{whole}" if (whole := math.isqrt(width)) ** 2 == width else f"√{width}"


class Heads(Drawing):
    """The sheets of the heads of one attention behind tabs, each with its own address."""

    def __init__(self, sheets: Sequence[Sheet], name: str) -> None:
        bodies = [f'<div id="{name}-{h}">{one.html}</div>' for h, one in enumerate(sheets)]
        self.html = tabs(sheets, bodies, name)


def of_heads(
    name: str, x: Array, weights: Mapping[str, Array], heads: Mapping[str, int], **labels: Any
) -> list[Sheet]:
    """Return the sheet of each head, with what the other heads add to the output.

    `heads` says how many each of `weights` has; `labels` are fields that all sheets share.
    """
    parts = {
        one: np.split(matrix, heads[one], axis=0 if one == "w_output" else -1)
        for one, matrix in weights.items()
    }
    many, of_keys = heads["w_query"], heads["w_key"]
    sheets = [
        Sheet(
            name,
            {"x": x} | {one: part[h * heads[one] // many] for one, part in parts.items()},
            head=f"head {h}" if many > 1 else "",
            shared=h * of_keys // many,
            **labels,
        )
        for h in range(many)
    ]
    if many == 1:
        return sheets
    adds = [sheet.arrays()["adds"] for sheet in sheets]
    return [
        replace(one, others=np.sum(adds[:h] + adds[h + 1 :], axis=0))
        for h, one in enumerate(sheets)
    ]


def tabs(sheets: Sequence[Sheet], bodies: Sequence[str], name: str) -> str:
    """Write what is shown of each head or sequence, one at a time; the first is open."""
    written = (
        f'<details name="{name}"{"" if place else " open"}>'
        f"<summary>{escape(sheet.head)}</summary>{body}</details>"
        for place, (sheet, body) in enumerate(zip(sheets, bodies, strict=True))
    )
    return f'<div class="tabs">{"".join(written)}</div>'


def cell(array: str, at: tuple[int, int], value: float, largest: float) -> str:
    """Write an entry: its number, its place, and how large it is beside the others."""
    marks = f'data-array="{array}" data-at="{at[0]},{at[1]}"'
    if np.isnan(value):
        return f'<td {marks} class="hides"></td>'
    sign = ' class="negative"' if value < -NOTHING else ""
    return f'<td {marks}{sign} style="--t:{tint(value, largest)}%">{shown(value)}</td>'


def tint(value: float, largest: float) -> int:
    """Return how strong the color of an entry is, in percent."""
    return int(6 + 32 * abs(value) / largest + 0.5) if largest else 6


def shown(value: float) -> str:
    """Write a number so that it fits a cell: with two decimals, or whole if it is."""
    size = abs(value)
    if abs(value - round(value)) < NOTHING:
        text = str(round(value))
    else:
        unit = "0.01" if size < 100 else "0.1" if size < 1000 else "1"
        text = str(Decimal(value).quantize(Decimal(unit), ROUND_HALF_UP))
    if size >= 99999.5:
        text = f"{value:.0e}".replace("e+0", "e")
    return text.replace("-", "−")


def _plain(array: Array) -> list[Any]:
    plain: list[Any] = (array.astype(int) if array.dtype == bool else array).tolist()
    return plain
