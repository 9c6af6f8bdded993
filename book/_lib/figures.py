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
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
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


def flows(
    shares: Array,
    givers: Sequence[str],
    *,
    alt: str,
    takers: Sequence[str] | None = None,
    row: int = 0,
    taker_title: str = "",
    giver_title: str = "",
    height: float = 3.2,
) -> Drawing:
    """Draw who takes how much from whom, as ribbons as wide as the shares.

    The ribbons of one row stand out and have their numbers; those of the others are faint.
    """
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_subplot()
    axes.axis("off")
    left = takers or givers
    axes.set(xlim=(-0.5, 1.72), ylim=(max(len(left), len(givers)) - 0.4, -1.1))
    for place in sorted(range(len(left)), key=lambda place: place == row):
        hue = palette.WEIGHT.light if place == row else palette.FAINT.light
        for other, share in enumerate(shares[place]):
            bend = [(0, place), (0.5, place), (0.5, other), (1, other)]
            ribbon = Path(bend, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
            wide = 22 * float(share) if place == row else 7 * float(share)
            axes.add_patch(PathPatch(ribbon, fill=False, ec=hue, lw=wide, capstyle="butt"))
    for place, name in enumerate(left):
        hue = palette.QUERY.light if place == row else palette.MUTED.light
        weight = "bold" if place == row else "normal"
        axes.text(-0.05, place, name, color=hue, fontweight=weight, ha="right", va="center")
    for place, name in enumerate(givers):
        text = f"{name}  {number(float(shares[row, place]), 3)}"
        axes.text(1.05, place, text, color=palette.VALUE.light, fontweight="bold", va="center")
    axes.text(-0.05, -0.85, taker_title, color=palette.MUTED.light, ha="right", va="center")
    axes.text(1.05, -0.85, giver_title, color=palette.MUTED.light, va="center")
    return Drawing(figure, alt)


def grids(
    panels: Sequence[tuple[str, Array, dict[str, tuple[Sequence[float], str]]]],
    *,
    alt: str,
    limits: tuple[float, float, float, float],
    across: int = 2,
    places: dict[str, tuple[float, float]] | None = None,
) -> Drawing:
    """Draw the grid of the plane after a matrix, with arrows on it.

    A panel is (title, matrix, arrows): a row vector x of the grid goes to x times the matrix.
    An arrow is name: (where it ends, role of the color). The shaded cell was the unit square.
    """
    down = -(-len(panels) // across)
    left, right, bottom, top = limits
    side = WIDTH / across
    figure = Figure(figsize=(WIDTH, down * (side * (top - bottom) / (right - left) + 0.3)))
    drawn = figure.subplots(down, across, squeeze=False)
    reach = 4 * int(max(map(abs, limits)) + 1)
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    for axes, (title, matrix, arrows) in zip(drawn.flat, panels, strict=False):
        for at in range(-reach, reach + 1):
            for line in ([(at, -reach), (at, reach)], [(-reach, at), (reach, at)]):
                hue = palette.MUTED if at == 0 else palette.FAINT
                axes.plot(*(np.array(line) @ matrix).T, color=hue.light, lw=1.3 if at == 0 else 0.8)
        axes.fill(*(square @ matrix).T, color=palette.FAINT.light, alpha=0.6, lw=0)
        for name, (end, role) in arrows.items():
            hue = palette.NAMES[role]
            _arrow(axes, (0, 0), end, hue.light)
            _label(axes, name, end, (places or {}).get(name, (4, 3)), hue.light)
        axes.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[])
        axes.set_aspect("equal")
        axes.set_title(title, pad=6)
        for spine in axes.spines.values():
            spine.set_visible(False)
    for axes in drawn.flat[len(panels) :]:
        axes.set_visible(False)
    figure.tight_layout(h_pad=1.2, w_pad=1.0)
    return Drawing(figure, alt)


def levels(
    panels: Sequence[tuple[str, Array, dict[str, Array], Sequence[float]]],
    *,
    alt: str,
    limits: Sequence[tuple[float, float, float, float]],
    query_name: str,
    places: dict[str, tuple[float, float]] | None = None,
) -> Drawing:
    """Draw the lines on which the score of one query is constant, over the plane of the keys.

    A panel is (title, query, keys by name, levels), with limits of its own. Each line has its
    score, each key its name; a dashed line has a negative score.
    """
    spans = [(top - bottom) / (right - left) for left, right, bottom, top in limits]
    figure = Figure(figsize=(WIDTH, sum(span * WIDTH * 0.86 + 0.45 for span in spans)))
    drawn = figure.subplots(len(panels), 1, squeeze=False, height_ratios=spans)
    for axes, (title, query, keys, heights), box in zip(drawn.flat, panels, limits, strict=True):
        q = np.asarray(query, dtype=float)
        along = np.array([-q[1], q[0]])
        axes.set(xlim=box[:2], ylim=box[2:], xticks=[], yticks=[])
        axes.set_aspect("equal")
        for level in heights:
            foot = level * q / (q @ q)
            role = "negative" if level < 0 else "score" if level else "muted"
            hue, style = palette.NAMES[role].light, "--" if level < 0 else "-"
            axes.axline(tuple(foot), tuple(foot + along), color=hue, lw=1.3, ls=style)
            at, sides = _rim(foot, along, box)
            axes.annotate(
                number(level, 0),
                at,
                xytext=(3 * sides[0], 3 * sides[1]),
                textcoords="offset points",
                color=hue,
                ha=("right", "center", "left")[sides[0] + 1],
                va=("top", "center", "bottom")[sides[1] + 1],
                annotation_clip=False,
            )
        _arrow(axes, (0, 0), (q[0], q[1]), palette.QUERY.light)
        _label(
            axes,
            query_name,
            (q[0], q[1]),
            (places or {}).get(query_name, (5, -4)),
            palette.QUERY.light,
        )
        for name, (x, y) in keys.items():
            axes.plot(x, y, "o", color=palette.KEY.light, ms=6.5)
            _label(axes, name, (x, y), (places or {}).get(name, (6, 3)), palette.KEY.light)
        axes.set_title(title, pad=20)
        for spine in axes.spines.values():
            spine.set_visible(False)
    figure.tight_layout(h_pad=1.6)
    return Drawing(figure, alt)


def walks(
    paths: Array, envelope: Array, name: str, *, alt: str, x_label: str, y_label: str
) -> Drawing:
    """Draw many thin paths, one a row, and the two lines plus and minus the envelope."""
    figure = Figure(figsize=(WIDTH, 3.2))
    axes = figure.add_subplot()
    x = np.arange(paths.shape[-1])
    axes.plot(x, paths.T, color=palette.SCORE.light, lw=0.8, alpha=0.45)
    for sign in (1, -1):
        axes.plot(x, sign * envelope, color=palette.INK.light)
    _name_ends(axes, [(name, x[-1], envelope[-1], palette.INK.light)])
    axes.set(xlabel=x_label, ylabel=y_label, xlim=(0, x[-1]))
    return Drawing(figure, alt)


def panels(
    parts: Sequence[tuple[str, str, Array, Sequence[tuple[str, Array, str]]]],
    *,
    alt: str,
    x_label: str,
    log_x: bool = False,
    y_limits: Sequence[tuple[float, float]] | None = None,
    height: float = 2.5,
) -> Drawing:
    """Draw panels of lines, one under the other, each line with its name at its right end.

    A part is (title, label of the vertical axis, x, lines), a line (name, y, role). Names that
    would overlap move apart; a line without a name belongs to its neighbor.
    """
    figure = Figure(figsize=(WIDTH, height * len(parts)))
    styles = ("-", (0, (6, 2)), (0, (2, 1.6)), "-.")
    for place, (title, y_label, x, lines) in enumerate(parts):
        axes = figure.add_subplot(len(parts), 1, place + 1)
        axes.grid(axis="y")
        for order, (_, y, role) in enumerate(lines):
            axes.plot(x, y, color=palette.NAMES[role].light, ls=styles[order % len(styles)])
        if log_x:
            _log_axis(axes, x)
        axes.set(ylabel=y_label, xlim=(x[0], x[-1]))
        axes.set_title(title, pad=8)
        if y_limits:
            axes.set_ylim(*y_limits[place])
        if place == len(parts) - 1:
            axes.set_xlabel(x_label)
    figure.tight_layout(h_pad=1.4, rect=(0, 0, 0.76, 1))
    for axes, (_, _, x, lines) in zip(figure.axes, parts, strict=True):
        ends = [(name, x[-1], y[-1], palette.NAMES[role].light) for name, y, role in lines if name]
        _name_ends(axes, ends)
    return Drawing(figure, alt)


def intervals(
    x: Array,
    series: Sequence[tuple[str, Array, Array, str]],
    *,
    alt: str,
    x_label: str,
    y_label: str,
    level: tuple[float, str] | None = None,
    log_x: bool = False,
    y_limits: tuple[float, float] | None = None,
    height: float = 2.9,
) -> Drawing:
    """Draw estimates as points, each with the interval that it stands for.

    A series is (name, estimates, half widths of the intervals, role); `level` is a horizontal
    line with a name, such as what a theorem predicts.
    """
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_subplot()
    axes.grid(axis="y")
    ends = []
    for place, (name, middle, half, role) in enumerate(series):
        hue = palette.NAMES[role].light
        axes.errorbar(
            x, middle, half, fmt="os^D"[place % 4], color=hue, ms=5, lw=1.8, capsize=4, capthick=1.8
        )
        ends.append((name, x[-1], middle[-1], hue))
    if log_x:
        _log_axis(axes, x)
    if level:
        axes.axhline(level[0], color=palette.MUTED.light, lw=1.2, ls=(0, (4, 3)))
        ends.append((level[1], x[-1], level[0], palette.MUTED.light))
    if y_limits:
        axes.set_ylim(*y_limits)
    axes.set(xlabel=x_label, ylabel=y_label)
    figure.subplots_adjust(right=0.74)
    _name_ends(axes, ends, away=6)
    return Drawing(figure, alt)


def _log_axis(axes: Axes, x: Array) -> None:
    """Make the horizontal axis logarithmic, with a tick for every number if there are few."""
    axes.set_xscale("log")
    if len(x) <= 8:
        axes.set_xticks(x, [f"{at:g}" for at in x])
        axes.minorticks_off()


def _name_ends(axes: Axes, ends: Iterable[tuple[str, float, float, str]], away: float = 6) -> None:
    """Write names to the right of (x, y), moved up or down where they would overlap."""
    apart = 13.5  # points
    axes.get_ylim()  # the limits are settled now, before they are used
    named = [(name, x, y, hue) for name, x, y, hue in ends if name]
    size = axes.bbox.height * 72 / axes.figure.dpi
    scale = axes.transAxes.inverted()
    at = [scale.transform(axes.transData.transform((x, y)))[1] * size for _, x, y, _ in named]
    order = sorted(range(len(named)), key=lambda place: (at[place], -place))
    heights = [min(max(at[place], 0), size) for place in order]
    for _ in range(200):  # neighbors that are too close push each other away
        for low, high in zip(range(len(order)), range(1, len(order)), strict=False):
            push = (apart - (heights[high] - heights[low])) / 2
            if push > 0:
                heights[low] -= push
                heights[high] += push
        heights = [min(max(level, 7), size) for level in heights]  # and stay beside the axes
    for place, level in zip(order, heights, strict=True):
        name, _, _, hue = named[place]
        axes.annotate(
            name,
            (1, level / size),
            xycoords="axes fraction",
            xytext=(away, 0),
            textcoords="offset points",
            color=hue,
            va="center",
            annotation_clip=False,
        )


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


def _rim(
    foot: Array, along: Array, box: tuple[float, float, float, float]
) -> tuple[tuple[float, float], tuple[int, int]]:
    """Return where a line leaves a box on its way up, or to the right, and through which side."""
    left, right, _, top = box
    way = along if (along[1], along[0]) > (0, 0) else -along
    with np.errstate(divide="ignore"):
        to_top = (top - foot[1]) / way[1]
        to_side = ((right if way[0] > 0 else left) - foot[0]) / way[0]
    if way[1] and (not way[0] or to_top <= to_side):
        return (float(foot[0] + to_top * way[0]), top), (0, 1)
    return (
        (right if way[0] > 0 else left, float(foot[1] + to_side * way[1])),
        (1 if way[0] > 0 else -1, 0),
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
