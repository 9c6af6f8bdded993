"""The figures of the book, one call each. The only module that imports Matplotlib.

Every figure is an SVG of at most 480 pixels, readable on a phone, with its description
inside. Colors are those of `palette`; the site exchanges them for those of the reader's theme.
"""

import io
from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator

from book._lib import palette
from book._lib.page import number

Array = npt.NDArray[Any]

matplotlib.rcParams.update(
    {
        "svg.fonttype": "none",  # real text, in the font of the page
        "svg.hashsalt": "selfattn_ref",  # the same bytes at every build
        "font.family": "DejaVu Sans",
        "font.size": 10.5,
        "text.color": palette.INK.light,
        "axes.edgecolor": palette.MUTED.light,
        "axes.labelcolor": palette.INK.light,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 10.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.axisbelow": True,
        "xtick.color": palette.MUTED.light,
        "ytick.color": palette.MUTED.light,
        "grid.color": palette.FAINT.light,
        "grid.linewidth": 0.8,
        "lines.linewidth": 2.2,
        "legend.frameon": False,
    }
)
WIDTH = 5.0  # inches: 480 pixels in a browser


class Drawing:
    """A figure as SVG, with a description for those who do not see it."""

    def __init__(self, figure: Figure, alt: str) -> None:
        if len(alt) < 40:
            raise ValueError(f"alt must state what the figure shows, in numbers; got {alt!r}")
        buffer = io.StringIO()
        figure.savefig(
            buffer,
            format="svg",
            transparent=True,
            bbox_inches="tight",
            pad_inches=0.04,
            metadata={"Date": None, "Creator": None, "Description": " ".join(alt.split())},
        )
        self.svg = buffer.getvalue()

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return "Drawing"


def plane(
    points: dict[str, Sequence[float]] | None = None,
    *,
    alt: str,
    vectors: dict[str, Sequence[float]] | None = None,
    moves: Iterable[tuple[Sequence[float], Sequence[float], str, str]] = (),
    segments: Iterable[tuple[Sequence[float], Sequence[float]]] = (),
    regions: bool = False,
    x_label: str = "",
    y_label: str = "",
    limits: tuple[float, float, float, float],
    height: float = 3.7,
    places: dict[str, tuple[float, float]] | None = None,
    colors: dict[str, palette.Color] | None = None,
) -> Drawing:
    """Draw words as points or as arrows from the origin, and how a word moves.

    `moves` are (from, to, label, role of the color); `segments` are dashed lines; `regions`
    draws the diagonal between the two axes; `places` shifts a label, in points.
    """
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_subplot()
    shifts = places or {}
    hues = colors or {}
    left, right, bottom, top = limits
    axes.set(xlim=(left, right), ylim=(bottom, top), xlabel=x_label, ylabel=y_label)
    axes.set_aspect("equal")
    axes.grid()
    if regions:
        axes.plot([left, right], [left, right], color=palette.MUTED.light, lw=1.2, ls=(0, (4, 3)))
    for start, end in segments:
        axes.plot(*np.transpose([start, end]), color=palette.MUTED.light, lw=1.2, ls=(0, (3, 3)))
    for name, (x, y) in (vectors or {}).items():
        hue = hues.get(name, palette.INK).light
        _arrow(axes, (0, 0), (x, y), hue)
        _label(axes, name, (x, y), shifts.get(name, (6, 4)), hue)
    for start, end, text, role in moves:
        hue = palette.NAMES[role].light
        _arrow(axes, start, end, hue)
        _label(axes, text, end, shifts.get(text, (6, 4)), hue)
    for name, (x, y) in (points or {}).items():
        hue = hues.get(name, palette.INK).light
        axes.plot(x, y, "o", color=hue, ms=6.5)
        _label(axes, name, (x, y), shifts.get(name, (7, 5)), hue)
    return Drawing(figure, alt)


def heatmaps(
    panels: Sequence[tuple[str, Array, str]],
    *,
    alt: str,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    digits: int = 2,
    mask: Array | None = None,
    across: int = 1,
    row_label: str = "",
    column_label: str = "",
) -> Drawing:
    """Draw matrices as numbered cells, the stronger the color the larger the number.

    A panel is (title, matrix, role): "weight" runs from 0 to 1; any other role runs to its own
    largest absolute number, with negative numbers in red. Where `mask` is False, a cell is
    crossed out. A boolean matrix shows a dot for True and a cross for False.
    """
    down = -(-len(panels) // across)
    cells = max(np.shape(matrix)[0] for _, matrix, _ in panels)
    figure = Figure(figsize=(WIDTH, down * (0.62 + 0.4 * cells)))
    grid = figure.subplots(down, across, squeeze=False)
    for place, (title, matrix, role) in enumerate(panels):
        axes = grid.flat[place]
        _heatmap(axes, np.asarray(matrix), role, digits, mask)
        axes.set_title(title, pad=8)
        _names(axes, np.shape(matrix), rows, columns if place < across else None)
        axes.set_ylabel(row_label)
        axes.set_xlabel(column_label)
        axes.xaxis.set_label_position("top")
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    figure.tight_layout(h_pad=1.4, w_pad=1.6)
    return Drawing(figure, alt)


def curves(
    x: Array,
    lines: Sequence[tuple[str, Array, str]],
    *,
    alt: str,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    log_y: bool = False,
    y_limits: tuple[float, float] | None = None,
    marks: Sequence[tuple[float, str]] = (),
    notes: Sequence[tuple[float, float, str, str]] = (),
    height: float = 3.0,
) -> Drawing:
    """Draw lines, each with its name at its right end.

    `marks` are dotted verticals with a note; `notes` are texts (x, y, text, role) beside a line.
    """
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_subplot()
    axes.grid(axis="y")
    styles = ("-", (0, (6, 2)), (0, (2, 1.6)), "-.")
    for place, (name, y, role) in enumerate(lines):
        hue = palette.NAMES[role].light
        axes.plot(x, y, color=hue, ls=styles[place % len(styles)])
        axes.annotate(
            name, (x[-1], y[-1]), xytext=(6, 0), textcoords="offset points", color=hue, va="center"
        )
    if log_x:
        axes.set_xscale("log")
    if log_y:
        axes.set_yscale("log")
        heights = np.concatenate([y for _, y, _ in lines])
        if heights.max() < 1e3 * heights.min():  # plain numbers, where powers of ten are few
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter("")
    axes.set(xlabel=x_label, ylabel=y_label, xlim=(x[0], x[-1]))
    if y_limits:
        axes.set_ylim(*y_limits)
    for at, level, note, role in notes:
        axes.text(at, level, note, color=palette.NAMES[role].light, fontweight="bold")
    for at, note in marks:
        axes.axvline(at, color=palette.MUTED.light, lw=1.1, ls=(0, (1, 2)))
        axes.annotate(
            note,
            (at, axes.get_ylim()[1]),
            xytext=(4, -3),
            textcoords="offset points",
            color=palette.MUTED.light,
            va="top",
        )
    return Drawing(figure, alt)


def bars(
    groups: Sequence[str],
    series: Sequence[tuple[str, Array, str]],
    *,
    alt: str,
    y_label: str,
    digits: int = 2,
    height: float = 2.8,
    levels: Sequence[tuple[float, str, str]] = (),
) -> Drawing:
    """Draw grouped bars, each with its number.

    `levels` are dashed horizontals (y, name, role), named at their right end.
    """
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_subplot()
    axes.grid(axis="y")
    width = 0.8 / len(series)
    for place, (name, heights, role) in enumerate(series):
        hue = palette.NAMES[role].light
        at = np.arange(len(groups)) + (place - (len(series) - 1) / 2) * width
        hatch = "" if place == 0 else "///"
        drawn = axes.bar(
            at, heights, width * 0.9, color=hue, label=name, hatch=hatch, ec=palette.SURFACE.light
        )
        texts = [number(float(value), digits) for value in heights]
        numbers = axes.bar_label(drawn, texts, padding=2, color=palette.INK.light, fontsize=9.5)
        for text in numbers if levels else []:  # a level passes behind them
            text.set_bbox({"fc": palette.SURFACE.light, "ec": "none", "pad": 0.8})
    axes.set_xticks(range(len(groups)), groups, color=palette.INK.light)
    axes.set_ylabel(y_label)
    axes.margins(y=0.16)
    if len(series) > 1:
        axes.legend(loc="upper left", bbox_to_anchor=(0, 1.16), ncols=len(series))
    highest = max((level for level, _, _ in levels), default=0)
    for level, name, role in levels:
        hue = palette.NAMES[role].light
        axes.axhline(level, color=hue, lw=1.6, ls=(0, (5, 3)))
        axes.annotate(
            name,
            (1, level),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            color=hue,
            va="bottom" if level == highest else "top",
        )
    return Drawing(figure, alt)


def network(
    names: Sequence[str],
    levels: Sequence[str],
    links: Iterable[tuple[int, int, int, str]],
    *,
    alt: str,
    notes: Sequence[tuple[float, float, str, str]] = (),
    height: float = 3.2,
) -> Drawing:
    """Draw which position of one level reads which of the level below.

    `names` are those of the positions, `levels` those of the levels, the lowest first. A link is
    (level, position that reads, position below that is read, role); the role "faint" is drawn
    thin, any other bold, and "key" also dashed. `notes` are texts (position, level, text, role).
    """
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_subplot()
    for level, reader, read, role in sorted(links, key=lambda link: link[3] != "faint"):
        axes.plot(
            [read, reader],
            [level - 1, level],
            color=palette.NAMES[role].light,
            lw=1.2 if role == "faint" else 2.2,
            ls=(0, (4, 2)) if role == "key" else "-",
        )
    for level in range(len(levels)):
        axes.plot(
            range(len(names)), [level] * len(names), "o", color=palette.INK.light, ms=9, zorder=3
        )
    for x, y, text, role in notes:
        hue = palette.NAMES[role].light
        axes.text(x, y, text, color=hue, fontweight="bold", va="center")
    axes.set_xticks(range(len(names)), names, color=palette.INK.light)
    axes.set_yticks(range(len(levels)), levels, color=palette.INK.light)
    axes.set(xlim=(-0.35, len(names) - 0.65), ylim=(-0.3, len(levels) - 0.7))
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return Drawing(figure, alt)


def _arrow(axes: Axes, start: Sequence[float], end: Sequence[float], hue: str) -> None:
    axes.annotate(
        "",
        xy=(end[0], end[1]),
        xytext=(start[0], start[1]),
        arrowprops={
            "arrowstyle": "-|>,head_width=.32,head_length=.6",
            "color": hue,
            "lw": 2.2,
            "shrinkA": 0,
            "shrinkB": 0,
        },
    )


def _label(
    axes: Axes, text: str, at: Sequence[float], shift: tuple[float, float], hue: str
) -> None:
    axes.annotate(
        text,
        (at[0], at[1]),
        xytext=shift,
        textcoords="offset points",
        color=hue,
        fontweight="bold",
        ha="left" if shift[0] >= 0 else "right",
        va="bottom" if shift[1] >= 0 else "top",
    )


def _heatmap(axes: Axes, matrix: Array, role: str, digits: int, mask: Array | None) -> None:
    boolean = matrix.dtype == np.bool_
    if boolean:
        mask = matrix
    finite = np.where(np.isfinite(matrix), np.abs(matrix), 0)
    largest = 1.0 if role == "weight" or boolean else float(finite.max()) or 1.0
    rows, columns = matrix.shape
    for i in range(rows):
        for j in range(columns):
            entry = float(matrix[i, j])
            hidden = mask is not None and not mask[i, j]
            strength = min(abs(entry) / largest, 1.0)
            if hidden or np.isinf(entry):
                strength = 0.0
            elif boolean:
                strength = 0.5
            hue = palette.NAMES[role if entry >= 0 else "negative"]
            alpha = 0.04 + 0.92 * strength
            axes.add_patch(Rectangle((j, i), 1, 1, facecolor=hue.light, alpha=alpha))
            axes.add_patch(Rectangle((j, i), 1, 1, fill=False, ec=palette.SURFACE.light, lw=2.0))
            if hidden and boolean:
                axes.plot(j + 0.5, i + 0.5, "x", color=palette.MUTED.light, ms=6, mew=1.2)
                continue
            if hidden:
                axes.plot([j + 0.3, j + 0.7], [i + 0.3, i + 0.7], color=palette.MUTED.light, lw=1.2)
                axes.plot([j + 0.3, j + 0.7], [i + 0.7, i + 0.3], color=palette.MUTED.light, lw=1.2)
                continue
            ink = palette.text_on(hue, alpha).light
            if boolean:
                axes.plot(j + 0.5, i + 0.5, "o", color=ink, ms=5)
                continue
            text = number(entry, digits).replace("inf", "∞")
            axes.text(j + 0.5, i + 0.5, text, ha="center", va="center", color=ink)
    axes.set(xlim=(0, columns), ylim=(rows, 0))
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _names(
    axes: Axes,
    shape: tuple[int, ...],
    rows: Sequence[str] | None,
    columns: Sequence[str] | None,
) -> None:
    axes.xaxis.tick_top()
    at = np.arange(shape[1]) + 0.5
    axes.set_xticks(at if columns else [], columns or [], color=palette.MUTED.light)
    at = np.arange(shape[0]) + 0.5
    axes.set_yticks(at if rows else [], rows or [], color=palette.MUTED.light)
