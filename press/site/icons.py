"""Draw the icons of the site and the card that other sites show for a link to it.

Three shares flow into one context: the mark of the book, in ink.
"""

from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Circle, PathPatch
from matplotlib.path import Path as Curve
from sphinx.application import Sphinx

from book.figures import palette
from press.fonts import packaged
from press.site.scope import is_whole

SHARES = ((0.22, 0.17, 0.05, 1.0), (0.51, 0.12, 0.02, 0.75), (0.79, 0.07, -0.08, 0.55))


def draw(target: Path, width: int, height: int, title: tuple[str, ...] = ()) -> None:
    """Write the mark as a PNG of this size, above the title if there is one."""
    figure = Figure(figsize=(width / 100, height / 100), dpi=100, facecolor=palette.PAPER.light)
    FigureCanvasAgg(figure)
    size = height if not title else 0.44 * height
    left = (width - size) / 2 if not title else 0.066 * width
    axes = figure.add_axes(
        (left / width, 1 - (1.16 if title else 1) * size / height, size / width, size / height)
    )
    axes.set(xlim=(0, 1), ylim=(1, 0))
    axes.axis("off")
    codes = [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4]
    for y, wide, off, alpha in SHARES:
        bend = [(0.06, y), (0.38, y), (0.38, 0.53 - off), (0.7, 0.53 - off)]
        axes.add_patch(
            PathPatch(
                Curve(bend, codes),
                fill=False,
                ec=palette.INK.light,
                lw=wide * size * 0.72,
                alpha=alpha,
                capstyle="butt",
            )
        )
    axes.add_patch(Circle((0.76, 0.53), 0.17, fc=palette.INK.light, lw=0))
    lines = (
        ("Semibold", palette.INK, 58, 0.37),
        ("Regular", palette.SOFT, 26, 0.21),
        ("Regular", palette.SOFT, 26, 0.12),
    )
    for text, (face, color, size, y) in zip(title, lines, strict=False):
        file = packaged("font_source_serif_pro", f"files/SourceSerifPro-{face}.otf")
        font = FontProperties(fname=file)
        figure.text(0.075, y, text, fontproperties=font, fontsize=size, color=color.light)
    figure.savefig(target, facecolor=palette.PAPER.light, metadata={"Software": None})


def write_icons(app: Sphinx, exception: Exception | None) -> None:
    """Put the icon and the card into the site."""
    if not is_whole(app, exception):
        return
    static = Path(app.outdir, "_static")
    static.mkdir(parents=True, exist_ok=True)
    draw(static / "icon.png", 180, 180)
    title = (
        str(app.config.html_title),
        "What attention does to words, from first principles.",
        "Every number computed, tested and citable.",
    )
    draw(static / "card.png", 1200, 630, title)
