"""Figures: readable at two widths and in both themes, described, and the same at every build."""

import itertools
import re
import xml.etree.ElementTree as ET
from importlib import import_module

import numpy as np
import pytest
from coloraide import Color

from book.figures import charts, palette
from book.figures.canvas import Array, Canvas, text_width
from book.figures.charts import Chart
from book.figures.live.walk import walk
from book.figures.live.windows import windows
from tests.pages.pictures import layouts
from tests.pages.sources import ROOT
from tests.pages.test_drawn import ALT as SAID
from tests.pages.test_drawn import CASES

ALT = "Two by two shares; the larger ones, 0.75 each, stand on the diagonal."
SHARES = np.array([[0.75, 0.25], [0.25, 0.75]])
STYLE = (ROOT / "book" / "theme" / "figures.css").read_text(encoding="utf-8")


def drawings() -> dict[str, charts.Drawing]:
    """Return one drawing of each kind: those of test_drawn, and what it does not read."""
    x = np.linspace(0, 1, 5)
    read = {
        name: draw(import_module(f"book.figures.{module}"))
        for name, (module, _, draw, _) in CASES.items()
        if module in {"backward", "charts", "machine", "shared_heads", "strips"}
    }
    return read | {
        "regions": charts.plane([("a", (1, 1), "ink")], regions=True, limits=(0, 3, 0, 3), alt=ALT),
        "wide heatmaps": charts.heatmaps(
            [("masked", np.where(SHARES > 0.5, SHARES, -np.inf), "score")], wide=True, alt=ALT
        ),
        "rows of charts": charts.charts(
            *(Chart(x, [("up" if place == "A" else "", x, "ink")], place) for place in "ABCDE"),
            x_label="x", rows=2, alt=ALT,
        ),
        "logarithms": charts.charts(
            Chart(np.geomspace(1, 4096, 9), [("steep", np.geomspace(1, 1e8, 9), "ink")]),
            x_label="x", log_x=True, log_y=True, alt=ALT,
        ),
        "bars without names": charts.bars(
            ["a", "b"], [("", SHARES[0], "key")], x_label="y", alt=ALT
        ),
    }  # fmt: skip


DRAWINGS = drawings()
EVERY_DRAWING = pytest.mark.parametrize("drawing", DRAWINGS.values(), ids=DRAWINGS)


class TestDrawing:
    @EVERY_DRAWING
    def test_it_says_what_it_shows_and_its_parts_are_silent(self, drawing: charts.Drawing) -> None:
        whole = ET.fromstring(drawing.html)
        assert whole.get("role") == "img"
        assert whole.get("aria-label") in {ALT, SAID}
        assert [part.get("aria-hidden") for part in whole] == ["true", "true"]

    def test_a_description_that_says_nothing_is_refused(self) -> None:
        with pytest.raises(ValueError, match="alt must state what the figure shows"):
            charts.bars(["a"], [("b", np.ones(1), "key")], x_label="y", alt="A bar chart.")

    def test_a_description_is_escaped(self) -> None:
        alt = f'It says "<a> & b": {ALT}'
        drawing = charts.bars(["a"], [("", np.ones(1), "key")], x_label="y", alt=alt)
        assert ET.fromstring(drawing.html).get("aria-label") == alt

    @EVERY_DRAWING
    def test_it_has_a_layout_for_the_column_and_one_for_a_phone(
        self, drawing: charts.Drawing
    ) -> None:
        wide, narrow = layouts(drawing)
        assert wide.get("class") == "figure-wide"
        assert wide.get("width") == ("738" if "spanning" in drawing.html[:40] else "567")
        assert (narrow.get("class"), narrow.get("width")) == ("figure-narrow", "347")
        for svg in (wide, narrow):
            assert svg.get("viewBox") == f"0 0 {svg.get('width')} {svg.get('height')}"
            assert float(svg.get("height", "inf")) <= 700

    @EVERY_DRAWING
    def test_its_only_colors_are_classes_that_the_style_sheet_defines(
        self, drawing: charts.Drawing
    ) -> None:
        assert not re.search(r'\b(fill|stroke|color|style)="|#[0-9a-f]{3}', drawing.html)
        for look in re.findall(r'class="([^"]+)"', drawing.html):
            for name in set(look.split()) - {"drawing"}:
                assert f".{name} " in STYLE, f"{name} has no style"

    @EVERY_DRAWING
    def test_it_has_no_ids_that_could_meet_those_of_the_page(self, drawing: charts.Drawing) -> None:
        assert 'id="' not in drawing.html
        assert "url(" not in drawing.html

    def test_two_builds_give_the_same_bytes(self) -> None:
        assert {k: d.html for k, d in drawings().items()} == {
            k: d.html for k, d in DRAWINGS.items()
        }


class TestTexts:
    def test_texts_that_overlap_are_refused(self) -> None:
        canvas = Canvas(200)
        canvas.height = 100
        canvas.text(20, 50, "one")
        canvas.text(30, 52, "two")
        with pytest.raises(ValueError, match="'one' and 'two' overlap"):
            canvas.svg("")

    @pytest.mark.parametrize("x, y", [(-4, 50), (190, 50), (20, 2), (20, 98)])
    def test_a_text_that_leaves_the_drawing_is_refused(self, x: float, y: float) -> None:
        canvas = Canvas(200)
        canvas.height = 100
        canvas.text(x, y, "outside")
        with pytest.raises(ValueError, match="'outside' leaves the drawing"):
            canvas.svg("")

    def test_labels_of_close_points_find_places_apart(self) -> None:
        points = [(name, (1 + k / 50, 1), "ink") for k, name in enumerate(("one", "two", "three"))]
        drawing = charts.plane(points, limits=(0, 2, 0, 2), alt=ALT)
        assert all(drawing.html.count(f">{name}<") == 2 for name, _, _ in points)

    def test_many_curves_are_named_in_time(self) -> None:  # in all orders, it would take hours
        x = np.linspace(0, 1, 5)
        curves = [(f"curve {k}", x + k, "ink") for k in range(12)]
        drawing = charts.charts(Chart(x, curves), alt=ALT)
        assert all(drawing.html.count(f">{name}<") == 2 for name, _, _ in curves)

    def test_widths_are_those_of_the_face(self) -> None:
        # The digits of the face are as wide as each other, and 497 of 1000 to the em.
        assert text_width("0123", 100) == pytest.approx(4 * 49.7)

    def test_a_letter_that_the_face_lacks_is_refused(self) -> None:
        with pytest.raises(KeyError):
            text_width("⟂")


class TestWalks:
    @pytest.mark.parametrize("steps", [np.zeros((4, 8)), np.full((4, 8), 2), np.ones((3, 8))])
    def test_other_than_whole_steps_for_four_keys_are_refused(self, steps: Array) -> None:
        with pytest.raises(ValueError, match="steps must be 1 or -1, in rows for 4 keys"):
            walk(steps, start=4, bunch=1, x_label="x", alt=ALT)

    def test_a_walk_goes_where_its_steps_lead(self) -> None:
        canvas = Canvas(100)
        canvas.height = 100
        canvas.walks(np.array([[1, 1, -1, 1, 1]]), (10, 50), (4, 3), "score")
        group = next(iter(ET.fromstring(canvas.svg("")).iter("g")))
        a, b, c, d, x, y = map(float, re.findall(r"-?[\d.]+", group.get("transform", "")))
        turns = re.findall(r"([hv])(\d+)", group[0].get("d", ""))
        up = sum(int(n) for way, n in turns if way == "h")
        down = sum(int(n) for way, n in turns if way == "v")
        assert (x + a * up + c * down, y + b * up + d * down) == (10 + 4 * 5, 50 - 3 * 3)


class TestHeatmaps:
    def test_minus_infinity_is_written_and_does_not_fade_the_rest(self) -> None:
        scores = np.array([[2.0, -np.inf], [1.0, -4.0]])
        drawn = charts.heatmaps([("masked scores", scores, "score")], alt=ALT).html
        assert "−∞" in drawn
        assert "−4.00" in drawn
        assert "nan" not in drawn

    def test_a_negative_number_has_ticks_besides_its_color(self) -> None:
        shapes = [("rect", "negative fill"), ("path", "negative ticks")]
        scores = np.array([[1.0, -2.0, 0.0, -np.inf]])
        for svg in layouts(charts.heatmaps([("", scores, "score")], alt=ALT)):
            found = [(e.tag.rpartition("}")[2], e.get("class")) for e in svg if e.get("class")]
            assert [one for one in found if "negative" in (one[1] or "")] == shapes

    def test_a_boolean_matrix_shows_no_numbers(self) -> None:
        drawn = charts.heatmaps([("mask", SHARES > 0.5, "weight")], alt=ALT).html
        assert "1.00" not in drawn
        assert "0.00" not in drawn

    def test_columns_keep_their_names_where_panels_stand_below_each_other(self) -> None:
        panels = [(f"panel {n}", SHARES, "weight") for n in range(3)]
        for drawn in layouts(charts.heatmaps(panels, columns=["long name", "other"], alt=ALT)):
            words = ["".join(e.itertext()) for e in drawn.iter() if e.tag.endswith("text")]
            assert words.count("long name") == len(panels)

    def test_a_number_has_one_color_in_all_panels_of_its_role(self) -> None:
        panels = [("", np.array([[8.0]]), "score"), ("", np.array([[2.0, 8.0]]), "score")]
        drawn = charts.heatmaps(panels, alt=ALT).html
        first, pale, last = re.findall(r'fill-opacity="([^"]+)"', drawn)[:3]
        assert float(pale) < float(first) == float(last)


COLORS = palette.TEXT | palette.ROLES
EVERY_THEME = pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])


class TestPalette:
    @EVERY_THEME
    @pytest.mark.parametrize("ground", palette.GROUNDS)
    @pytest.mark.parametrize("name", palette.TEXT | palette.ROLES)
    def test_text_of_every_color_stands_out_from_every_ground(
        self, name: str, ground: str, theme: int
    ) -> None:
        color = COLORS[name][theme]
        under = palette.GROUNDS[ground][theme]
        assert palette.contrast(palette.rgb(color), palette.rgb(under)) >= 4.5

    @EVERY_THEME
    @pytest.mark.parametrize("role", palette.ROLES)
    def test_ink_stands_out_from_the_strongest_cell(self, role: str, theme: int) -> None:
        cell = palette.mixed(role, palette.strongest(role), theme)
        assert palette.contrast(palette.rgb(palette.TEXT["ink"][theme]), cell) >= 4.5
        assert palette.strongest(role) > 0.4

    def test_contrast_is_that_of_wcag(self) -> None:
        for one, other in itertools.pairwise(color for pair in COLORS.values() for color in pair):
            expected = Color(one).contrast(other, method="wcag21")
            assert palette.contrast(palette.rgb(one), palette.rgb(other)) == pytest.approx(
                expected, 1e-3
            )

    @EVERY_THEME
    @pytest.mark.parametrize("eye", [None, "protan", "deutan", "tritan"])
    def test_every_eye_can_tell_the_roles_apart(self, eye: str | None, theme: int) -> None:
        roles = {name: Color(color[theme]) for name, color in palette.ROLES.items()}
        seen = {
            name: color.filter(eye, method="machado").clip() if eye else color
            for name, color in roles.items()
        }
        for one, other in itertools.combinations(seen, 2):
            apart = seen[one].delta_e(seen[other], method="76", space="lab-d65")
            assert apart >= 14, f"{one} and {other}"

    @EVERY_THEME
    def test_a_role_is_taken_for_no_other_and_for_nothing_that_has_none(self, theme: int) -> None:
        for one, other in itertools.combinations(palette.ROLES | palette.TEXT, 2):
            if one in palette.ROLES:
                first, second = (Color(COLORS[name][theme]) for name in (one, other))
                assert first.delta_e(second, method="2000") >= 15, f"{one} and {other}"

    @pytest.mark.parametrize("role", palette.ROLES)
    def test_nothing_else_has_the_color_of_a_role(self, role: str) -> None:
        for sheet in sorted((ROOT / "book" / "theme").glob("*.css")):
            rules = re.findall(r"([^{}]+)\{([^{}]*)\}", sheet.read_text("utf-8"))
            users = [names for names, looks in rules if f"var(--{role})" in looks]
            assert all(f".{role}" in names for names in users), sheet.name

    def test_code_has_no_colors(self) -> None:
        sheet = (ROOT / "book" / "theme" / "page.css").read_text("utf-8")
        looks = dict(re.findall(r"^\.highlight :is\((.+?)\) \{(.+)\}", sheet, re.M))
        assert looks.pop(".gr") == " color: var(--error); "  # but an error is one there, too
        assert {look.partition(":")[0].strip() for look in looks.values()} == {
            "font-style", "font-weight",
        }  # fmt: skip

    def test_the_style_sheet_gets_every_color_in_both_themes(self) -> None:
        css = palette.css_variables()
        named = dict(re.findall(r"--([a-z]+): light-dark\(([^)]+)\);", css))
        assert named["weight"] == ", ".join(palette.ROLES["weight"])
        others = {"label", "wide"}  # what page.css names
        assert set(re.findall(r"var\(--([a-z]+)\)", STYLE)) - others <= set(named)
        assert set(palette.ROLES) <= set(named)


def test_the_legend_of_windows_has_the_tints_of_its_cells():
    drawn = windows(["a", "b", "c"], 1, 2, first=False, clue=1, alt=SAID)
    for svg in map(ET.fromstring, re.findall(r"<svg.*?</svg>", drawn.html, re.S)):
        tints = {
            one.get("data-part"): one for one in svg.iter("rect") if "weight" in one.get("class")
        }
        keys = [one for one in svg.iter("rect") if one.get("width") == "14"]
        for text, cell in ("seen in one layer", "cell-2-1"), ("through several", "cell-2-0"):
            (at,) = (float(one.get("x")) for one in svg.iter("text") if one.text == text)
            (key,) = (one for one in keys if 0 < at - float(one.get("x")) < 25)
            assert key.get("fill-opacity") == tints[cell].get("fill-opacity")
