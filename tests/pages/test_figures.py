"""Figures: readable in both themes and on a phone, described, and the same at every build."""

import itertools
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from book._ext.inline_figures import DESCRIPTION, inline
from book._lib import figures, palette

ALT = "Two by two shares; the larger ones, 0.75 each, stand on the diagonal."
SHARES = np.array([[0.75, 0.25], [0.25, 0.75]])


def drawings() -> dict[str, figures.Drawing]:
    """Return one drawing of each kind."""
    x = np.linspace(0, 1, 5)
    return {
        "plane": figures.plane(
            {"a": (1, 1)}, vectors={"b": (2, 1)}, moves=[((0, 0), (1, 2), "c", "key")],
            segments=[((0, 0), (2, 2))], regions=True, limits=(0, 3, 0, 3), alt=ALT,
        ),
        "heatmaps": figures.heatmaps(
            [("weights", SHARES, "weight"), ("scores", SHARES - 0.5, "score")], rows=["a", "b"],
            columns=["a", "b"], mask=np.tril(np.ones((2, 2), dtype=bool)), alt=ALT,
        ),
        "curves": figures.curves(
            x, [("a", x, "query")], marks=[(0.5, "half")], notes=[(0.2, 0.2, "b", "key")],
            x_label="x", y_label="y", alt=ALT,
        ),
        "bars": figures.bars(["a", "b"], [("c", SHARES[0], "key")], y_label="y", alt=ALT),
        "flows": figures.flows(
            SHARES, ["a", "b"], taker_title="takes", giver_title="gives", alt=ALT,
        ),
        "grids": figures.grids(
            [("before", np.eye(2), {}), ("after", SHARES, {"a": ((1, 2), "query")})],
            limits=(-1, 3, -1, 3), alt=ALT,
        ),
        "levels": figures.levels(
            [("keys", np.array([2.0, 1.0]), {"a": np.array([1.0, 2.0])}, (-1, 0, 1, 2))],
            limits=[(-1, 3, -1, 3)], query_name="query", alt=ALT,
        ),
        "walks": figures.walks(
            np.array([[0, 1, 0, -1, 0]]), np.sqrt(x), "root", x_label="x", y_label="y", alt=ALT
        ),
        "panels": figures.panels(
            [("A", "y", x, [("a", x, "query"), ("b", x, "key")]), ("B", "y", x, [("", x, "ink")])],
            y_limits=[(0, 1), (0, 2)], x_label="x", alt=ALT,
        ),
        "intervals": figures.intervals(
            x, [("a", x, 0.1 + x, "score")], level=(0.5, "half"), y_limits=(-1, 2), x_label="x",
            y_label="y", alt=ALT,
        ),
        "bars with levels": figures.bars(
            ["a", "b"], [("c", SHARES[0], "key")], y_label="y", levels=[(0.5, "half", "ink")],
            alt=ALT,
        ),
        "masks": figures.heatmaps(
            [("mask", SHARES > 0.5, "weight"),
             ("masked", np.where(SHARES > 0.5, SHARES, -np.inf), "score")], across=2, alt=ALT,
        ),
        "network": figures.network(
            ["a", "b"], ["words", "layer 1"], [(1, 0, 0, "faint"), (1, 0, 1, "key")],
            notes=[(0.5, 0.5, "ahead", "key")], alt=ALT,
        ),
    }  # fmt: skip


DRAWINGS = drawings()
EVERY_DRAWING = pytest.mark.parametrize("drawing", DRAWINGS.values(), ids=DRAWINGS)


class TestDrawing:
    @EVERY_DRAWING
    def test_it_carries_its_description(self, drawing: figures.Drawing) -> None:
        assert ET.fromstring(drawing.svg).findtext(DESCRIPTION) == ALT

    def test_a_description_that_says_nothing_is_refused(self) -> None:
        with pytest.raises(ValueError, match="alt must state what the figure shows"):
            figures.bars(["a"], [("b", np.ones(1), "key")], y_label="y", alt="A bar chart.")

    @EVERY_DRAWING
    def test_it_fits_a_phone_with_readable_letters(self, drawing: figures.Drawing) -> None:
        width = float(ET.fromstring(drawing.svg).attrib["width"].removesuffix("pt"))
        shrink = min(1.0, 350 / (width * 4 / 3))
        sizes = [float(size) for size in re.findall(r"font(?:-size)?: ?([\d.]+)px", drawing.svg)]
        assert sizes
        assert min(sizes) * 4 / 3 * shrink >= 9

    @EVERY_DRAWING
    def test_every_color_is_of_the_palette(self, drawing: figures.Drawing) -> None:
        ours = {color.light for color in palette.NAMES.values()}
        # Matplotlib writes the black of paths that are not drawn.
        assert set(re.findall(r"#[0-9a-f]{6}\b", drawing.svg)) - {"#000000"} <= ours

    def test_names_at_the_ends_of_lines_do_not_overlap(self) -> None:
        x = np.linspace(0, 1, 5)
        lines = [(name, x, "ink") for name in ("first", "second", "third")]
        svg = figures.panels([("A", "y", x, lines)], x_label="x", alt=ALT).svg
        at = [
            float(re.findall(r'y="([\d.]+)"', svg[: svg.index(f">{name}<")])[-1])
            for name, _, _ in lines
        ]
        assert min(abs(a - b) for a, b in itertools.combinations(at, 2)) >= 13

    def test_two_builds_give_the_same_bytes(self) -> None:
        assert {k: d.svg for k, d in drawings().items()} == {k: d.svg for k, d in DRAWINGS.items()}


class TestHeatmaps:
    def test_minus_infinity_is_written_and_does_not_fade_the_rest(self) -> None:
        scores = np.array([[2.0, -np.inf], [1.0, -4.0]])
        drawn = figures.heatmaps([("masked scores", scores, "score")], alt=ALT).svg
        assert "−∞" in drawn
        assert "−4.00" in drawn
        assert "nan" not in drawn

    def test_a_boolean_matrix_shows_no_numbers(self) -> None:
        drawn = figures.heatmaps([("mask", SHARES > 0.5, "weight")], alt=ALT).svg
        assert "1.00" not in drawn
        assert "0.00" not in drawn


class TestInline:
    @EVERY_DRAWING
    def test_ids_are_those_of_one_figure_and_every_reference_finds_one(
        self, drawing: figures.Drawing
    ) -> None:
        page = inline(palette.with_variables(drawing.svg), "drawing-7-", ALT)
        ids = re.findall(r'\bid="([^"]+)"', page)
        assert len(set(ids)) == len(ids)
        assert all(name.startswith("drawing-7-") for name in ids)
        for name in re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', page):
            assert "".join(name) in ids

    @EVERY_DRAWING
    def test_it_speaks_and_styles_nothing_but_itself(self, drawing: figures.Drawing) -> None:
        page = inline(drawing.svg, "x", 'A "quoted" description')
        assert 'role="img" aria-label="A &quot;quoted&quot; description"' in page
        assert "<style" not in page
        assert "<?xml" not in page
        ET.fromstring(page)

    def test_every_color_becomes_a_variable_that_the_style_sheet_defines(self) -> None:
        page = palette.with_variables(DRAWINGS["heatmaps"].svg)
        used = set(re.findall(r"var\((--figure-[a-z]+), #[0-9a-f]{6}\)", page))
        light, dark = palette.css_variables().split('html[data-theme="dark"]')
        assert used
        for name in used:
            assert f"{name}: " in light
            assert f"{name}: " in dark


class TestPalette:
    @pytest.mark.parametrize("theme", [0, 1])
    def test_text_and_lines_stand_out_from_the_ground(self, theme: int) -> None:
        ground = palette.SURFACE[theme]
        for name in set(palette.NAMES) - {"faint", "surface", "plain", "pitch", "reverse"}:
            color = palette.NAMES[name][theme]
            assert palette.contrast(color, ground, 0, ground) >= 4.5, name

    @pytest.mark.parametrize("role", ["weight", "score", "negative"])
    def test_numbers_stand_out_from_cells_of_any_strength(self, role: str) -> None:
        hue = palette.NAMES[role]
        for alpha in np.linspace(0.04, 0.96, 47):
            text = palette.text_on(hue, alpha)
            for theme in (0, 1):
                ratio = palette.contrast(text[theme], hue[theme], alpha, palette.SURFACE[theme])
                assert ratio >= 4.5

    def test_contrast_is_that_of_wcag(self) -> None:
        # Black on white is 21 by definition; gray #767676 is the darkest-known 4.54.
        assert palette.contrast("#000000", "#ffffff", 1.0, "#ffffff") == pytest.approx(21)
        assert palette.contrast("#767676", "#ffffff", 1.0, "#ffffff") == pytest.approx(
            4.54, abs=0.01
        )

    def test_no_two_roles_share_a_color(self) -> None:
        for theme in (0, 1):
            colors = [c[theme] for n, c in palette.NAMES.items() if n not in {"pitch"}]
            assert len(set(colors)) == len(colors)
