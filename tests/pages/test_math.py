"""The formulas of the book: TeX that is checked, drawn as MathML while the book is built."""

import io
import re
import xml.etree.ElementTree as ET

import pytest
from bs4 import BeautifulSoup
from docutils import nodes
from docutils.utils import new_document
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from press import fonts
from press.math import mathml, render, roles
from tests.pages.parts import extension

PAGE = r"""# Rows of $E E^\top$

Entry $a < b \mathbin{\&} c$ compares ($q$, and *word* $k$-th) for $x \in \R^{d_k}$.

First *one*, *two*, $v$, *three*, $u$ *four*.

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

$$
\operatorname{attention}(X_q W_{Q,h},\; X_k W_{K,g(h)},\; X_k W_{V,g(h)})
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

Said 日, but not in `日`.
"""


def to_text(tex, *, display=True):
    math = mathml.to_mathml(tex, display=display, macros=render.MACROS)
    return ET.tostring(math, encoding="unicode")


def lines(tex, *, display=True):
    """Return the texts of the parts at whose ends a line may end; None is a wide space."""
    math = mathml.to_mathml(tex, display=display, macros=render.MACROS)
    return [p if p is None else "".join(p.itertext()) for p in mathml.broken(math)]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return a small site and the warnings of its build."""
    root = tmp_path_factory.mktemp("static_math")
    (root / "src").mkdir()
    (root / "src" / "index.md").write_text(PAGE + "\n```{toctree}\nbad\nplain\n```\n")
    (root / "src" / "bad.md").write_text(BAD)
    (root / "src" / "plain.md").write_text("# No formula\n\nBut {eq}`eq-attention`.\n")
    settings = {
        "extensions": ["myst_parser", extension(fonts, render)],
        # Sphinx's default remembers what other books of the process registered.
        "source_suffix": {".md": "markdown"},
        "myst_enable_extensions": ["amsmath", "dollarmath"],
        "html_math_renderer": "static_math",
        "static_math_macros": {r"\Att": r"\operatorname{Attention}"},
        "html_theme": "basic",
    }
    warnings = io.StringIO()
    with docutils_namespace():
        app = Sphinx(
            *(root / "src", None, root / "site", root.parent / "trees", "html", settings),
            status=None,
            warning=warnings,
        )
        app.build()
    return root / "site", re.sub(r"\x1b\[[\d;]*m", "", warnings.getvalue())


@pytest.fixture(scope="module")
def page(built):
    return BeautifulSoup((built[0] / "index.html").read_text(), "html.parser")


@pytest.fixture(scope="module")
def blocks(page):
    return page.select("div.math")


@pytest.fixture(scope="module")
def font(built):
    return TTFont(built[0] / "_static" / fonts.MATH_FONT)


class TestPage:
    def test_every_formula_is_mathml_without_its_tex(self, page):
        formulas = page.select("div.body .math")
        assert len(formulas) == 13
        assert all(formula.find("math") for formula in formulas)
        assert "annotation" not in str(page)

    def test_formulas_on_lines_of_their_own_are_large_and_the_others_are_not(self, page):
        assert {math.get("displaystyle") for math in page.select("div.math math")} == {"true"}
        assert {math.get("displaystyle") for math in page.select("span.math math")} == {None}
        assert not page.select("math[display]")  # a block would take a line for each part

    def test_signs_of_html_stay_text(self, page):
        formula = page.select("p span.math")[0]
        assert formula.text == "a<b&c"

    def test_what_touches_a_formula_stays_on_its_line(self, page):
        words = [word.get_text() for word in page.select(".math-word")]
        assert words == ["(q,", "k-th)", "x∈ℝdk.", "v,"]
        assert page.select("p")[1].text == "First one, two, v, three, u four."
        assert "compares (q" in page.select_one("p").get_text()

    def test_the_tab_of_the_browser_shows_a_title_once(self, page):
        assert page.title is not None
        assert page.title.text.split("—")[0].strip() == "Rows of EE⊤"


class TestRoles:
    @pytest.mark.parametrize(
        "texts, colored",
        [
            (["Q", "Q"], [r"\query{Q}", "Q"]),
            ([r"\frac{Q K^\top}{2}"], [r"\frac{\query{Q} \key{K}^\top}{2}"]),
            (["W_Q", r"\text{Q}", "x_{Q}^K", "V"], ["W_Q", r"\text{Q}", "x_{Q}^K", "V"]),
            (["a", "a_j", "a_{01}"], ["a", r"\weight{a_j}", "a_{01}"]),
            (["Q", r"\query{Q}"], ["Q", r"\query{Q}"]),
            (["dQ", "Q"], [r"\score{dQ}", r"\query{Q}"]),
        ],
    )
    def test_the_first_of_a_letter_that_a_formula_marks_has_its_color(self, texts, colored):
        page = new_document("page")
        page += nodes.title("", "", nodes.math("", "Q"))
        page += [nodes.paragraph("", "", nodes.math("", text)) for text in texts]
        page += nodes.math_block("", r"\query{Q}\key{K}^\top \weight{a_{ij}} \score{dQ}")
        roles.color_first(None, page, "page")
        assert [math.astext() for math in page.findall(nodes.math)] == ["Q", *colored]


class TestNumbers:
    def test_labeled_equations_are_numbered_in_order(self, blocks):
        numbers = [block.select_one(".eqno") for block in blocks]
        texts = [number and str(number.contents[0]) for number in numbers]
        assert texts == ["(1)", "(2)", None, "(3)", None, None]

    def test_no_equation_has_a_random_name(self, blocks):
        assert blocks[3].get("id") is None
        assert blocks[3].select_one("a.headerlink") is None

    def test_references_and_permalinks_lead_to_the_equations(self, page, blocks):
        ids = [blocks[0]["id"], blocks[1]["id"]]
        assert ids == ["equation-eq-attention", "equation-eq-proof"]
        assert [link["href"] for link in page.select("p a.reference")] == [f"#{i}" for i in ids]
        assert blocks[0].select_one("a.headerlink")["href"] == "#equation-eq-attention"

    def test_a_reference_from_another_page_has_the_number(self, built):
        plain = BeautifulSoup((built[0] / "plain.html").read_text(), "html.parser")
        link = plain.select_one("p a.reference")
        assert link.text == "(1)"
        assert link["href"] == "index.html#equation-eq-attention"


class TestRows:
    def test_bare_rows_are_aligned_at_their_signs(self, blocks):
        rows = blocks[1].find_all("mtr")
        assert [len(row.find_all("mtd", recursive=False)) for row in rows] == [2, 2]
        styles = [cell.get("style", "") for cell in rows[0].find_all("mtd", recursive=False)]
        assert ["right" in style for style in styles] == [True, False]
        assert ["left;" in style for style in styles] == [False, True]

    def test_numbered_environments_keep_no_cells_for_numbers(self, blocks):
        assert [len(row.find_all("mtd")) for row in blocks[3].find_all("mtr")] == [2, 2]

    def test_a_matrix_is_one_table(self, blocks):
        assert len(blocks[4].find_all("mtable")) == 1

    def test_blank_lines_part_equations(self):
        assert render.wrapped("a\n\nb") == r"\begin{aligned}a\\b\end{aligned}"

    @pytest.mark.parametrize("tex", [r"a", r"\&", r"\begin{cases}a & b \\ c\end{cases}"])
    def test_nothing_else_is_wrapped(self, tex):
        assert render.wrapped(tex) == tex

    def test_bars_and_rules_are_drawn(self):
        drawn = to_text(r"\begin{array}{c|c}1&2\\\hline 3&4\end{array}")
        assert drawn.count("border-right:") == 2
        assert drawn.count("border-top:") == 2


class TestLongFormulas:
    def test_a_wide_space_is_the_best_place_for_a_break(self):
        assert lines(r"a = b, \qquad c = d") == ["a=b,", None, "c=d"]
        assert len(lines(r"a = b, \qquad c = d", display=False)) == 1

    def test_a_displayed_formula_breaks_before_a_relation(self):
        assert lines(r"x + y + z + w = (a = b) + c \le d") == ["x+y+z+w", "=(a=b)+c", "≤d"]

    def test_a_formula_in_a_line_breaks_after_a_relation(self):
        parts = lines(r"x + y + z + w = \left[a = b\right] + c \le d", display=False)
        assert parts == ["x+y+z+w=", "[a=b]+c≤", "d"]

    def test_a_short_formula_stays_whole(self):
        assert lines("a = b", display=False) == ["a=b"]

    def test_only_parts_that_may_be_too_wide_are_stops_for_the_keyboard(self, blocks):
        boxes = [block.select_one(".math-scroll") for block in blocks]
        assert [box.get("tabindex") for box in boxes] == [None] * 5 + ["0"]


class TestWhatBrowsersDraw:
    """What MathML Core has no attribute for, and what was once drawn wrong."""

    @pytest.mark.parametrize(
        "tex, letters",
        [
            (r"\E", "𝔼"),
            (r"\R", "ℝ"),
            (r"\mathbf{Q}", "𝐐"),
            (r"\mathbf{12}", "𝟏𝟐"),
            (r"\boldsymbol{\alpha}", "𝜶"),
            (r"\mathcal{L}", "ℒ"),
        ],
    )
    def test_alphabets_are_letters_not_attributes(self, tex, letters):
        drawn = to_text(tex)
        assert letters in drawn
        assert "mathvariant" not in drawn

    @pytest.mark.parametrize(
        "tex", ["-x", "(-x)", "a = -b", "(a, -b)", r"\{-1\}", r"\frac{-1}{2}", "e^{-x}", r"\max -x"]
    )
    def test_a_leading_minus_has_no_room_around_it(self, tex):
        assert '<mo lspace="0" rspace="0">−</mo>' in to_text(tex)

    def test_a_minus_between_two_numbers_has(self):
        assert "<mo>−</mo>" in to_text("a - b")

    def test_a_large_delimiter_that_bears_a_script_has_a_row_of_its_own(self):
        drawn = to_text(r"\Big(x\Big)^2 \bigl|y\bigr|_1")
        for bearer in ET.fromstring(drawn).iter():
            if bearer.tag in {"msup", "msub", "msubsup"}:
                assert bearer[0].tag == "mrow"
        assert drawn.count("<mrow><mo") == 2

    def test_a_back_space_takes_back_the_room_before_a_fence_and_no_more(self):
        drawn = to_text(r"J\!\left(x\right)")
        assert "margin-left:-0.1666" in drawn
        assert 'lspace="0.1667em">(' in drawn

    def test_a_full_stop_stays_close_to_the_fence_before_it(self):
        assert "rspace" not in to_text(r"\softmax\left(x\right) .")
        assert "rspace" in to_text(r"\left(x\right) y")

    @pytest.mark.parametrize("role", ["query", "key", "value", "score", "weight", "context"])
    def test_a_role_is_a_class_and_not_a_color(self, role):
        drawn = to_text(rf"\{role}{{W_Q}}^\top")
        assert drawn.count(f'<mrow class="{role}"><msub>') == 1
        assert "style" not in drawn


class TestBadTeX:
    def test_each_is_a_warning_with_its_place(self, built):
        warnings = built[1].splitlines()
        assert len([line for line in warnings if "WARNING" in line]) == 4
        assert "bad.md:3: WARNING: math: at character 14: Expected closing token" in built[1]
        assert re.search(
            r"bad\.md:5: WARNING: math: at character \d: Unknown command .*\\unkn", built[1]
        )
        assert "bad.md:9: WARNING: math: not in the math font: 日" in built[1]
        assert "bad.md:13: WARNING: not in the fonts of the text: 日" in built[1]

    @pytest.mark.parametrize(
        "tex",
        [
            *(r"x \tag{1}", r"\href{http://example.org}{x}", r"\cancel{x}", "50%", r"\boxed{x}"),
            r"\begin{multline}a \\ b\end{multline}",
        ],
    )
    def test_what_would_be_drawn_wrong_is_refused(self, tex):
        with pytest.raises(ValueError, match=r"\w"):
            to_text(tex)


class TestTextFonts:
    def test_the_stylesheet_names_the_fonts_that_are_made(self, built):
        static = built[0] / "_static"
        urls = re.findall(r'url\("([^"]+)"\)', fonts.font_faces_css())
        assert set(urls) == {f"fonts/{file.name}" for file in (static / "fonts").glob("*.woff2")}

    def test_no_subset_bears_the_reserved_name(self, built):
        for file in (built[0] / "_static/fonts").glob("Computed*.woff2"):
            names = TTFont(file)["name"]
            assert names.getDebugName(1).startswith("Computed S")
            assert not [record for record in names.names if "Source" in str(record)]

    def test_the_license_lies_beside_them(self, built):
        text = (built[0] / "_static/fonts/LICENSE.txt").read_text()
        assert text.count("SIL OPEN FONT LICENSE Version 1.1") == 2
        assert text.count("with Reserved Font Name 'Source'") == 2  # the copyright
        assert "Computed Serif" in text
        assert "Computed Sans" in text

    def test_both_files_of_a_face_share_no_character(self, built):
        for core in (built[0] / "_static/fonts").glob("*[cdr].woff2"):
            more = core.with_name(f"{core.stem}-more.woff2")
            has = [set(TTFont(file).getBestCmap()) for file in (core, more) if file.exists()]
            assert not set.intersection(*has) or len(has) == 1
            assert "Math" in core.name or set(map(ord, "Ab−×“”…√")) <= has[0]

    def test_the_stand_in_is_as_wide_as_the_face(self):
        # Times New Roman's own width of English letters is 0.4172 em, the serif's 0.4616.
        css = fonts.font_faces_css()
        rule = re.search(r'"Computed Serif Stand-in".*?size-adjust: ([\d.]+)%', css)
        assert rule is not None
        assert float(rule[1]) == pytest.approx(100 * 0.4616 / 0.4172, abs=0.1)


class TestMathFont:
    def test_it_has_the_signs_of_the_subject(self, font):
        assert set(map(ord, "∑∏√∫⊤∈ℝ𝔼𝑄𝑞𝜃ℒ‖⟨⌊→≤∞⏟·⋯⋮∂∇⊙^¯~′ℎ∎")) <= font.getBestCmap().keys()

    def test_a_derivative_has_primes_that_the_font_has_for_scripts(self):
        made = ET.tostring(mathml.to_mathml("f'' + f'", display=False), encoding="unicode")
        assert re.findall("[′″]", made) == ["′", "′", "′"]

    def test_its_brackets_and_roots_can_grow(self, font):
        names, variants = font.getBestCmap(), font["MATH"].table.MathVariants
        tall = dict(
            zip(variants.VertGlyphCoverage.glyphs, variants.VertGlyphConstruction, strict=True)
        )
        for sign in "()[]{}|‖√":
            assert tall[names[ord(sign)]].GlyphAssembly is not None

    def test_no_root_is_much_wider_than_the_small_one(self, font):
        root, variants = font.getBestCmap()[ord("√")], font["MATH"].table.MathVariants
        place = variants.VertGlyphCoverage.glyphs.index(root)
        forms = variants.VertGlyphConstruction[place]
        glyphs = [form.VariantGlyph for form in forms.MathGlyphVariantRecord]
        glyphs += [part.glyph for part in forms.GlyphAssembly.PartRecords]
        widths = [font["hmtx"][glyph][0] for glyph in glyphs]
        assert max(widths) - min(widths) < 100

    def test_it_bears_its_license_and_no_date_of_the_build(self, font):
        source = TTFont(fonts.packaged("ziamath", "fonts/STIXTwoMath-Regular.ttf"))
        assert "Open Font License" in font["name"].getDebugName(13)
        assert font["head"].modified == source["head"].modified
