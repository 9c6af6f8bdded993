"""The formulas of the book: TeX that is checked, drawn as MathML while the book is built."""

import importlib
import io
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

EXTENSIONS = Path(__file__).parents[2] / "book" / "_ext"
sys.path.append(str(EXTENSIONS))
static_math = importlib.import_module("static_math")
tex_to_mathml = importlib.import_module("tex_to_mathml")

PAGE = r"""# Rows of $E E^\top$

Entry $a < b \mathbin{\&} c$ compares ($q$, and *word* $k$-th) for $x \in \R^{d_k}$.

```{math}
:label: eq-attention
\Att(Q, K, V) = \softmax\left(\frac{QK^\top}{\sqrt{d_k}}\right)V
```

By {eq}`eq-attention` and {eq}`eq-proof`:

$$
a &= \E[x] \\
b &= \Var(x)
$$ (eq-proof)

$$
y = x
$$

\begin{align}
a &= b \\
c &= d
\end{align}

$$
W = \begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}
$$
"""
BAD = r"""# Bad

A line, then $x_{\text{open}$ in a line.

$$
\unknowncommand{x}
$$

$$
\text{日}
$$
"""


def mathml(tex: str, *, display: bool = True) -> str:
    math = tex_to_mathml.to_mathml(tex, display=display, macros=static_math.MACROS)
    return ET.tostring(math[0][0], encoding="unicode")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a small site and the warnings of its build."""
    root = tmp_path_factory.mktemp("static_math")
    (root / "src").mkdir()
    (root / "src" / "index.md").write_text(PAGE + "\n```{toctree}\nbad\nplain\n```\n")
    (root / "src" / "bad.md").write_text(BAD)
    (root / "src" / "plain.md").write_text("# No formula\n\nBut {eq}`eq-attention`.\n")
    settings = {
        "extensions": ["myst_parser", "static_math"],
        "myst_enable_extensions": ["amsmath", "dollarmath"],
        "html_math_renderer": "static_math",
        "static_math_macros": {r"\Att": r"\operatorname{Attention}"},
        "html_theme": "basic",
    }
    warnings = io.StringIO()
    with docutils_namespace():
        app = Sphinx(
            *(root / "src", None, root / "site", root / "doctrees", "html", settings),
            status=None,
            warning=warnings,
        )
        app.build()
    return root / "site", re.sub(r"\x1b\[[\d;]*m", "", warnings.getvalue())


@pytest.fixture(scope="module")
def page(built: tuple[Path, str]) -> BeautifulSoup:
    return BeautifulSoup((built[0] / "index.html").read_text(), "html.parser")


@pytest.fixture(scope="module")
def blocks(page: BeautifulSoup) -> list[Tag]:
    return page.select("div.math")


@pytest.fixture(scope="module")
def font(built: tuple[Path, str]) -> TTFont:
    return TTFont(built[0] / "_static" / static_math.FONT)


class TestPage:
    def test_every_formula_is_mathml_and_nothing_else_of_katex_is_left(
        self, page: BeautifulSoup
    ) -> None:
        formulas = page.select("div.body .math")
        assert len(formulas) == 10
        assert all(len(formula.find_all("math")) == 1 for formula in formulas)
        assert "katex" not in str(page)

    def test_no_script_draws_formulas_and_nothing_comes_from_elsewhere(
        self, page: BeautifulSoup
    ) -> None:
        sources = [script.get("src", "") for script in page.find_all("script")]
        sources += [link.get("href", "") for link in page.find_all("link")]
        assert not [source for source in sources if "://" in source]
        assert "mathjax.js" not in str(page).lower()
        assert "tex-mml" not in str(page)

    def test_display_formulas_are_blocks_and_the_others_are_not(self, page: BeautifulSoup) -> None:
        assert {math.get("display") for math in page.select("div.math math")} == {"block"}
        assert {math.get("display") for math in page.select("span.math math")} == {None}

    def test_signs_of_html_stay_text(self, page: BeautifulSoup) -> None:
        formula = page.select("p span.math")[0]
        assert [mo.text for mo in formula.find_all("mo")] == ["<", "&"]
        assert formula.find("annotation").text == r"a < b \mathbin{\&} c"

    def test_the_tex_stays_as_it_was_written(self, blocks: list[Tag]) -> None:
        written = blocks[1].find("annotation").text
        assert written.strip() == "a &= \\E[x] \\\\\nb &= \\Var(x)"

    def test_what_touches_a_formula_stays_on_its_line(self, page: BeautifulSoup) -> None:
        words = [word.get_text() for word in page.select(".math-word")]
        assert words == ["(qq,", "kk-th)", r"x∈Rdkx \in \R^{d_k}.".replace("R", "ℝ", 1)]
        assert "compares (q" in page.select_one("p").get_text()

    def test_the_tab_of_the_browser_shows_a_title_once(self, page: BeautifulSoup) -> None:
        assert page.title is not None
        assert page.title.text.split("—")[0].strip() == "Rows of EE⊤"

    def test_every_page_has_the_stylesheet(self, built: tuple[Path, str]) -> None:
        for name in ("index.html", "plain.html"):
            assert 'href="_static/static_math.css?v=' in (built[0] / name).read_text()

    def test_only_pages_with_formulas_fetch_the_font_early(self, built: tuple[Path, str]) -> None:
        preload = f'rel="preload" as="font" type="font/woff2" href="_static/{static_math.FONT}"'
        assert preload in (built[0] / "index.html").read_text()
        assert preload not in (built[0] / "plain.html").read_text()


class TestNumbers:
    def test_labeled_equations_are_numbered_in_order(self, blocks: list[Tag]) -> None:
        numbers = [block.select_one(".eqno") for block in blocks]
        texts = [number and number.contents[0] for number in numbers]
        assert texts == ["(1)", "(2)", None, "(3)", None]

    def test_no_equation_has_a_random_name(self, blocks: list[Tag]) -> None:
        assert blocks[3].get("id") is None
        assert blocks[3].select_one("a.headerlink") is None

    def test_references_and_permalinks_lead_to_the_equations(
        self, page: BeautifulSoup, blocks: list[Tag]
    ) -> None:
        ids = [blocks[0]["id"], blocks[1]["id"]]
        assert ids == ["equation-eq-attention", "equation-eq-proof"]
        assert [link["href"] for link in page.select("p a.reference")] == [f"#{i}" for i in ids]
        assert blocks[0].select_one("a.headerlink")["href"] == "#equation-eq-attention"

    def test_a_reference_from_another_page_has_the_number(self, built: tuple[Path, str]) -> None:
        plain = BeautifulSoup((built[0] / "plain.html").read_text(), "html.parser")
        link = plain.select_one("p a.reference")
        assert link.text == "(1)"
        assert link["href"] == "index.html#equation-eq-attention"


class TestRows:
    def test_bare_rows_are_aligned_at_their_signs(self, blocks: list[Tag]) -> None:
        rows = blocks[1].find_all("mtr")
        assert [len(row.find_all("mtd", recursive=False)) for row in rows] == [2, 2]
        styles = [cell.get("style", "") for cell in rows[0].find_all("mtd", recursive=False)]
        assert styles == ["text-align:right", "text-align:left;padding-left:0em"]

    def test_numbered_environments_lose_the_cells_that_katex_keeps_for_numbers(
        self, blocks: list[Tag]
    ) -> None:
        assert [len(row.find_all("mtd")) for row in blocks[3].find_all("mtr")] == [2, 2]

    def test_a_matrix_is_one_table(self, blocks: list[Tag]) -> None:
        assert len(blocks[4].find_all("mtable")) == 1

    def test_blank_lines_part_equations(self) -> None:
        assert static_math.wrapped("a\n\nb") == r"\begin{aligned}a\\b\end{aligned}"

    @pytest.mark.parametrize("tex", [r"a", r"\&", r"\begin{cases}a & b \\ c\end{cases}"])
    def test_nothing_else_is_wrapped(self, tex: str) -> None:
        assert static_math.wrapped(tex) == tex

    def test_bars_and_rules_are_drawn(self) -> None:
        drawn = mathml(r"\begin{array}{c|c}1&2\\\hline 3&4\end{array}")
        assert drawn.count("border-left:1px solid") == 2
        assert drawn.count("border-top:1px solid") == 2


class TestKeyboard:
    def test_only_long_formulas_are_stops(self, blocks: list[Tag]) -> None:
        boxes = [block.select_one(".math-scroll") for block in blocks]
        assert [box.get("tabindex") for box in boxes] == ["0", None, None, None, None]


class TestWhatBrowsersDraw:
    """KaTeX's MathML has signs and attributes that browsers draw badly, or not at all."""

    @pytest.mark.parametrize(
        "tex, letters",
        [
            (r"\E", "𝔼"),
            (r"\R", "ℝ"),
            (r"\mathbf{Q}", "𝐐"),
            (r"\mathbf{12}", "𝟏𝟐"),
            (r"\boldsymbol{\alpha}", "𝜶"),
            (r"\boldsymbol{\epsilon}", "𝝐"),
            (r"\mathcal{L}", "ℒ"),
        ],
    )
    def test_alphabets_are_letters_not_attributes(self, tex: str, letters: str) -> None:
        drawn = mathml(tex)
        assert letters in drawn
        assert "mathvariant" not in drawn

    @pytest.mark.parametrize(
        "tex, bar", [(r"\lVert x \rVert", "‖"), (r"\left|x\right|", "|"), (r"\|x\|", "‖")]
    )
    def test_bars_of_a_norm_hug_it(self, tex: str, bar: str) -> None:
        drawn = mathml(tex)
        assert drawn.count(bar) == 2
        assert drawn.count('lspace="0"') == drawn.count("<mo")

    def test_a_relation_keeps_its_bar_and_its_room(self) -> None:
        assert "<mo>∣</mo>" in mathml(r"P(a \mid b)")

    def test_left_and_right_stretch(self) -> None:
        assert mathml(r"\left(x\right)").count('stretchy="true"') == 2

    def test_names_of_operators_are_upright_and_part_from_letters_only(self) -> None:
        room = "margin-right:0.1667em"
        assert '<mi mathvariant="normal">Var</mi>' in mathml(r"\Var X")
        assert room in mathml(r"\Var X")
        assert room in mathml(r"\max_i x")
        assert room not in mathml(r"\softmax\left(x\right)")
        assert "margin-left:0.1667em" in mathml(r"p \log(q)")

    def test_a_back_space_goes_back(self) -> None:
        assert "margin-left:-0.1667em" in mathml(r"a\!b")

    def test_a_sign_above_an_operator_is_not_inside_it(self) -> None:
        assert re.search(r"<mo>\s*<", mathml(r"\overset{a}{=}")) is None


class TestBadTeX:
    def test_each_is_a_warning_with_its_place(self, built: tuple[Path, str]) -> None:
        warnings = built[1].splitlines()
        assert len([line for line in warnings if "WARNING" in line]) == 3
        assert "bad.md:3: WARNING: math: KaTeX parse error: " in built[1]
        assert re.search(r"bad\.md:5: WARNING: .*Undefined control sequence: \\unkn", built[1])
        assert "bad.md:9: WARNING: math: not in the math font: 日" in built[1]

    @pytest.mark.parametrize(
        "tex", [r"x \tag{1}", r"\href{http://example.org}{x}", r"\cancel{x}", "é", "x %"]
    )
    def test_what_would_be_drawn_wrong_is_refused(self, tex: str) -> None:
        with pytest.raises(ValueError, match=r"\w"):
            mathml(tex)

    def test_a_missing_package_is_named(self) -> None:
        with pytest.raises(FileNotFoundError, match=r"x\.js in the package none: install"):
            tex_to_mathml.packaged("none", "x.js")


class TestFont:
    def test_the_stylesheet_names_the_font_that_is_made(self, built: tuple[Path, str]) -> None:
        static = built[0] / "_static"
        urls = re.findall(r'url\("([^"]+)"\)', (static / "static_math.css").read_text())
        assert urls == [static_math.FONT]
        assert (static / urls[0]).stat().st_size < 150_000

    def test_it_has_the_signs_of_the_subject(self, font: TTFont) -> None:
        assert set(map(ord, "∑∏√∫⊤∈ℝ𝔼𝐐𝑞𝜃𝜶ℒ‖⟨⌊→≤∞⏟⏞·⋯⋮∂∇⊙^ˉ~′\u20d7")) <= font.getBestCmap().keys()

    def test_its_brackets_and_roots_can_grow(self, font: TTFont) -> None:
        names, variants = font.getBestCmap(), font["MATH"].table.MathVariants
        tall = dict(
            zip(variants.VertGlyphCoverage.glyphs, variants.VertGlyphConstruction, strict=True)
        )
        for sign in "()[]{}|‖√":
            assert tall[names[ord(sign)]].GlyphAssembly is not None

    def test_no_root_is_much_wider_than_the_small_one(self, font: TTFont) -> None:
        root, variants = font.getBestCmap()[ord("√")], font["MATH"].table.MathVariants
        place = variants.VertGlyphCoverage.glyphs.index(root)
        forms = variants.VertGlyphConstruction[place]
        glyphs = [form.VariantGlyph for form in forms.MathGlyphVariantRecord]
        glyphs += [part.glyph for part in forms.GlyphAssembly.PartRecords]
        widths = [font["hmtx"][glyph][0] for glyph in glyphs]
        assert max(widths) - min(widths) < 100

    def test_it_bears_its_license_and_no_date_of_the_build(self, font: TTFont) -> None:
        source = TTFont(tex_to_mathml.packaged("ziamath", "fonts/STIXTwoMath-Regular.ttf"))
        assert "Open Font License" in font["name"].getDebugName(13)
        assert font["head"].modified == source["head"].modified
