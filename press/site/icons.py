"""Draw the icon of the site: three shares flow into one context, the mark of the book, in ink."""

from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import Circle, PathPatch
from matplotlib.path import Path as Curve
from sphinx.application import Sphinx

from book.figures import palette

SHARES = ((0.22, 0.17, 0.05, 1.0), (0.51, 0.12, 0.02, 0.75), (0.79, 0.07, -0.08, 0.55))


def draw(target: Path, size: int) -> None:
    """Write the mark as a PNG of this size."""
    figure = Figure(figsize=(size / 100, size / 100), dpi=100, facecolor=palette.PAPER.light)
    axes = figure.add_axes((0, 0, 1, 1))
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
    figure.savefig(target, facecolor=palette.PAPER.light, metadata={"Software": None})


def write_icon(app: Sphinx) -> None:
    """Put the icon into the site."""
    draw(Path(app.outdir, "_static", "icon.png"), 180)
