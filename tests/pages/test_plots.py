"""What cells plot with matplotlib: in the book's style, themed, described, in at most ten lines."""

import io
import re
import xml.etree.ElementTree as ET

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from book.figures import plots
from book.figures.canvas import Canvas
from tests.pages.pictures import layouts
from tests.pages.sources import ROOT, cells, pages, relative
from tests.pages.test_figures import STYLE

ALT = "A line from 0 to 1, and an image whose cells are 0, one half and 1."
FILE = ROOT / "selfattn_ref" / "book.mplstyle"


@pytest.fixture(autouse=True)
def in_the_style_of_the_book():
    with plt.style.context("selfattn_ref.book"):
        yield
    plt.close("all")


def line_and_image():
    _, (left, right) = plt.subplots(1, 2)
    left.plot([0, 1], [0, 1], label="up")
    left.plot([0, 1], [1, 0], label="down")
    left.axvline(0.5, linestyle=":", linewidth=1)
    left.hist([0.2, 0.2, 0.4], bins=3)
    left.set(xlim=(0.25, 0.75), title="lines", xlabel="x")
    left.legend()
    right.imshow([[0.0, 0.5], [1.0, 0.5]])
    right.set(xticks=[0, 1], yticks=[0, 1])
    plt.show()


def drawn():
    return plots.plotted(alt=ALT)


class TestStyle:
    def test_its_colors_are_those_of_the_book(self):
        known = {color.light.removeprefix("#") for color in plots.COLORS_BY_NAME.values()}
        assert {*re.findall(r"\b[0-9a-f]{6}\b", FILE.read_text("utf-8"))} <= known

    def test_a_saved_figure_has_the_same_bytes(self):
        saved = []
        for _ in range(2):
            line_and_image()
            plt.savefig(file := io.BytesIO(), metadata={"Date": None})
            plt.close("all")
            saved.append(file.getvalue())
        assert saved[0] == saved[1]
        assert saved[0].startswith(b"<?xml")


class TestPlotted:
    def test_it_is_described_and_has_a_layout_for_a_phone(self):
        line_and_image()
        drawing = drawn()
        assert ET.fromstring(drawing.html).get("aria-label") == ALT
        assert [svg.get("width") for svg in layouts(drawing)] == ["567", "347"]

    def test_two_builds_give_the_same_bytes_and_name_classes_only(self):
        line_and_image()
        one = drawn().html
        line_and_image()
        assert drawn().html == one
        assert not re.search(r'\b(fill|stroke|color|style|id)="|#[0-9a-f]{3}|url\(', one)
        looks = {name for look in re.findall(r'class="([^"]+)"', one) for name in look.split()}
        assert {"ink", "dashed", "dotted", "thin", "paper", "axis", "cells"} <= looks
        assert all(f".{name} " in STYLE for name in looks - {"drawing", "plot"})

    def test_four_lines_of_one_plot_are_told_apart_without_color(self):
        for height in range(4):
            plt.plot([0, 1], [height, height])
        paths = ET.fromstring(drawn().html)[0].iter()
        kinds = {"dashed", "dotted", "dashdot"}
        found = [kinds & {*one.get("class", "").split()} for one in paths]
        assert {"".join(one) for one in found if one} == kinds

    def test_an_image_is_filled_from_paper_to_ink(self):
        plt.imshow([[0.0, 0.5], [1.0, 0.5]])
        plt.axis("off")
        wide, _ = layouts(drawn())
        strength = {}
        for path in wide.iter("path"):
            if "cells" in path.get("class", ""):
                for x, y in re.findall(r"M([\d.]+) ([\d.]+)", path.get("d", "")):
                    strength[float(y), float(x)] = float(path.get("fill-opacity", "nan"))
        # In steps of cells; what has the color of paper is left out.
        assert {at: round(value, 1) for at, value in strength.items()} == {
            (0, 1): 0.5,
            (1, 0): 1,
            (1, 1): 0.5,
        }

    def test_nothing_leaves_its_axes(self):
        plt.plot([0, 10], [0, 10])
        plt.xlim(4, 6)
        wide, _ = layouts(drawn())
        (line,) = (p.get("d", "") for p in wide.iter("path") if p.get("class") == "ink")
        x, y = map(float, re.findall(r"[\d.]+", line)[:2])
        assert 0 < x < 567 and 0 < y < 234  # noqa: PT018

    @pytest.mark.parametrize(
        "plot, told",
        [
            (lambda: plt.plot([0, 1], color="#00ff00"), "#00ff00 is no color of the book"),
            (lambda: plt.ylabel("loss"), "'loss' is turned"),
            (lambda: plt.title("$x$"), "is mathematics"),
            (lambda: plt.imshow([[0, 1]], cmap="viridis"), "other colors than grays"),
            (lambda: None, "there is no plot"),
            (lambda: (plt.figure(), plt.figure(), plt.show()), "call plotted"),
        ],
    )
    def test_what_no_theme_could_show_is_refused(self, plot, told):
        with pytest.raises(ValueError, match=told):
            (plot(), drawn())

    def test_a_text_is_as_wide_as_the_page_writes_it(self):
        renderer = plots.Renderer(Canvas(100))
        prop = mpl.font_manager.FontProperties(size=14)
        assert np.isclose(renderer.get_text_width_height_descent("iii", prop, False)[0], 3 * 3.444)


class TestPages:
    def test_nine_pages_plot_in_short_cells_that_a_description_follows(self):
        found = set()
        for page in pages():
            every = cells(page.read_text("utf-8"))
            for cell, after in zip(every, [*every[1:], *every[:1]], strict=True):
                if "plt.show()" in cell.code:
                    assert cell.visible
                    assert len([line for line in cell.code.splitlines() if line.strip()]) <= 10
                    assert cell.code.rstrip().endswith("plt.show()")
                    assert 'plt.style.use("selfattn_ref.book")' in cell.code
                    assert "plotted(" in after.code
                    assert after.options["mystnb"]["figure"]["caption"].strip()
                    found.add(relative(page))
                else:
                    assert "plt.subplots" not in cell.code, f"{relative(page)}: not shown"
        assert len(found) == 9, found
        assert "Nine pages have a short cell" in (ROOT / "CHANGELOG.md").read_text("utf-8")
