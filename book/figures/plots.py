"""Draw what a cell plots with matplotlib as the book draws: themed, for a wide page and a phone.

Importing this module makes it the backend of matplotlib. `plt.show()` then draws nothing; the cell
after it calls `plotted` with a description, and gives the figure its caption.
"""

import logging
from typing import Any

logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it tells that it looks for fonts

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.backend_bases import (
    FigureCanvasBase,
    FigureManagerBase,
    GraphicsContextBase,
    RendererBase,
)
from matplotlib.colors import to_hex
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, Transform

from book.figures import palette
from book.figures.canvas import Array, Canvas, text_width
from book.figures.charts import Drawing

COLORS_BY_NAME = palette.GROUNDS | palette.TEXT | palette.LINES | palette.ROLES
COLORS = {color.light: name for name, color in COLORS_BY_NAME.items()}
LOOKS = {"rule": "grid", "faint": "axis"}  # the colors of lines that the style sheet draws thin


class Renderer(RendererBase):
    """Draws on a canvas of the book: a point is a pixel, and a color is the name of its role."""

    def __init__(self, canvas: Canvas) -> None:
        super().__init__()
        self.canvas = canvas
        self.down = Affine2D().scale(1, -1).translate(0, canvas.height)

    def place(self, points: Any) -> Array:
        """Return where points of matplotlib, which counts from below, are on the canvas."""
        return np.asarray(self.down.transform(points))

    def get_canvas_width_height(self) -> tuple[float, float]:
        """Return the size in pixels."""
        return self.canvas.width, self.canvas.height

    def option_scale_image(self) -> bool:
        """Take an image as it is, a cell for each of its numbers."""
        return True

    def get_text_width_height_descent(
        self, s: str, prop: FontProperties, ismath: Any
    ) -> tuple[float, float, float]:
        """Return the room of a text in the book's face."""
        size = prop.get_size_in_points()
        s = s if not ismath else ""  # draw_text refuses it
        return text_width(s, size, bold(prop)), 1.26 * size, 0.28 * size  # as Canvas.box

    def draw_path(
        self, gc: GraphicsContextBase, path: Path, transform: Transform, rgbFace: Any = None
    ) -> None:
        """Fill what has a color, and draw its edge; what has the color of paper is left out."""
        frame = gc.get_clip_rectangle()
        if (fill := color_of(rgbFace)) not in ("", "paper"):
            inside = path.transformed(transform)
            inside = inside.clip_to_bbox(frame) if frame else inside
            for line in inside.to_polygons():
                self.canvas.path(self.place(line), f"{fill} fill", closed=True)
        width = gc.get_linewidth()
        dashes: Any = gc.get_dashes()[1]
        if width and (edge := color_of(gc.get_rgb())):
            look = LOOKS.get(edge, edge)
            if width < 1.5 and edge not in LOOKS:
                look += " thin"
            if dashes is not None:
                kind = "dashed" if dashes[0] > width else "dotted"
                look += " dashdot" if len(dashes) > 2 else f" {kind}"
            edges = frame.padded(width).extents if frame else None
            shown = path.cleaned(transform, remove_nans=True, clip=edges, curves=False)
            for line in shown.to_polygons(closed_only=False):
                self.canvas.path(self.place(line), look)

    def draw_image(
        self, gc: GraphicsContextBase, x: float, y: float, im: Any, transform: Any = None
    ) -> None:
        """Fill the cells of an image of grays: black is ink, white is paper."""
        if (im[..., 0] != im[..., 1]).any() or (im[..., 1] != im[..., 2]).any():
            raise ValueError("an image has other colors than grays, which no theme could change")
        h, w = im.shape[:2]
        place = Affine2D() if transform is None else Affine2D().scale(1 / w, 1 / h) + transform
        place = place + Affine2D().translate(x, y) + self.down
        self.canvas.cells(1 - im[..., 0] / 255, place.transform, "ink")

    def draw_text(
        self,
        gc: GraphicsContextBase,
        x: float,
        y: float,
        s: str,
        prop: FontProperties,
        angle: float,
        ismath: Any = False,
        mtext: Any = None,
    ) -> None:
        """Write a text; x and y are where it begins on its base line."""
        if ismath:
            raise ValueError(f"{s!r} is mathematics, which only the pages typeset")
        if angle:
            raise ValueError(f"{s!r} is turned; say in the title what the y axis shows")
        size, color = prop.get_size_in_points(), color_of(gc.get_rgb())
        middle = y - 0.32 * size
        self.canvas.text(x, middle, s, "" if color == "ink" else color, size=size, bold=bold(prop))


class FigureCanvas(FigureCanvasBase):
    """What a figure of pyplot is drawn on; it is only measured before `plotted` draws it."""

    manager_class = FigureManagerBase

    def get_renderer(self) -> Renderer:
        """Return a renderer of the size that the figure has."""
        canvas = Canvas(self.figure.bbox.width)
        canvas.height = self.figure.bbox.height
        return Renderer(canvas)


def show(*args: Any, **kwargs: Any) -> None:
    """Show nothing yet; a figure that nobody described before the next one is an error."""
    if len(plt.get_fignums()) > 1:
        raise ValueError("the plot of an earlier cell has no description: call plotted(alt=...)")


def plotted(*, alt: str) -> Drawing:
    """Return what the last cells have plotted, with a description for those who do not see it."""
    if len(plt.get_fignums()) != 1:
        raise ValueError("there is no plot to describe")
    figure = plt.gcf()

    def draw(canvas: Canvas) -> None:
        canvas.height = figure.get_figheight() * mpl.rcParams["figure.dpi"]
        figure.set_figwidth(canvas.width / figure.dpi)
        figure.draw(Renderer(canvas))

    drawing = Drawing(draw, alt)
    drawing.html = drawing.html.replace('class="drawing"', 'class="drawing plot"', 1)
    plt.close(figure)
    return drawing


def bold(prop: FontProperties) -> bool:
    """Tell whether a text is bold."""
    return prop.get_weight() == "bold"


def color_of(rgb: Any) -> str:
    """Return the name of a color of the book; none for what is transparent."""
    if rgb is None or (len(rgb) == 4 and rgb[3] == 0):
        return ""
    code = to_hex(rgb)
    if code not in COLORS:
        raise ValueError(f"{code} is no color of the book, which has {', '.join(COLORS)}")
    return COLORS[code]


mpl.use(f"module://{__name__}")
