"""The PDFs of a small book: lessons, an example, pages of the reference. `make check-site`."""

import io
import re

import pikepdf
import pytest
from lxml import html

from press.build.book import ROOT, SITE
from press.build.check_html import check_site
from press.edition import combined, published
from press.edition.pdf import (
    BESIDE,
    CLOSER,
    COLUMNS,
    CUT,
    FILL_IN,
    FLUSH,
    FOOT,
    GROW,
    LIFT,
    LOST,
    MARGINAL,
    NARROW,
    ONE_ROW,
    OUT,
    SHEET,
    SHORT,
    SIDE,
    TALL,
    WIDER,
    _opened,
    go_to_heads,
    places,
    print_book,
    respace,
    running_heads,
)
from press.example.data import documents
from press.site import moved
from selfattn_ref import __version__

LESSON = "causal/masking.html"
CLEAR = "rgba(0, 0, 0, 0)"
EXAMPLE = "SA020"  # has four numbers among its expected values
PAGES = (
    LESSON,
    "concepts/attention-equation.html",
    "beyond/many-heads.html",
    "beyond/two-layers.html",
    "SA021/index.html",
    "examples/slips.html",
    "examples/generated.html",
    "examples/precision.html",
    "reference/handouts/mask.html",
    "reference/handouts/poster.html",
    "reference/glossary.html",
    "reference/api/language.html",
    "reference/theorems.html",
)


@pytest.fixture(scope="module")
def made(browser, tmp_path_factory):
    """Return both volumes, and the pages that were printed."""
    folder = tmp_path_factory.mktemp("edition")
    before = len(browser.contexts)
    volumes = dict(print_book(browser, SITE, folder, PAGES))
    tabs = [context.pages[0] for context in browser.contexts[before:]]
    yield volumes, dict(zip(volumes, tabs, strict=True))
    for tab in tabs:
        tab.close()


@pytest.fixture
def pdf(made):
    with pikepdf.open(io.BytesIO(made[0]["book"])) as opened:
        yield opened


@pytest.fixture
def second(made):
    """Return the other volume."""
    with pikepdf.open(io.BytesIO(made[0]["examples"])) as opened:
        yield opened


@pytest.fixture
def sheet(made):
    """Return the page that was printed."""
    return made[1]["book"]


def tags(element):
    """Yield all tags below one."""
    inside = element.get("/K", [])
    for kid in inside if isinstance(inside, pikepdf.Array) else [inside]:
        if isinstance(kid, pikepdf.Dictionary) and "/S" in kid:
            yield kid
            yield from tags(kid)


def sheets(element):
    """Return the sheets on which an element is."""
    inside = element.get("/K", [])
    kids = list(inside) if isinstance(inside, pikepdf.Array) else [inside]
    found = {element.Pg.objgen for kid in kids if isinstance(kid, int)}
    for kid in kids:
        if isinstance(kid, pikepdf.Dictionary):
            found |= {kid.Pg.objgen} if kid.get("/Type") == "/MCR" else sheets(kid)
    return found


# Sheets with the height of the book's, and its foot.
SHEETS = f"@page {{ size: 900px {SHEET['height'] + 80}px; margin: 0 0 80px; }}"


def on_sheets(browser, text):
    """Print this on sheets of 600 by 800; return the sheet of each id, and how far down it is."""
    page = browser.new_page()
    page.set_content(f"<main>{text}</main>")
    for style in (ROOT / "book/theme/page.css", combined.STYLE):
        page.add_style_tag(path=style)
    page.add_style_tag(content="@page { size: 600px 800px; margin: 0; } body { margin: 0; }")
    page.evaluate("""() => {
      for (const { id } of document.querySelectorAll("[id]"))
        document.body.append(Object.assign(document.createElement("a"), { href: `#${id}` }));
    }""")
    with pikepdf.open(io.BytesIO(page.pdf(prefer_css_page_size=True))) as pdf:
        tops = {str(name)[1:]: float(place[3]) for name, place in pdf.Root.Dests.items()}
        found = {one: (on, 800 - tops[one] * 4 / 3) for one, on in places(pdf).items()}
    page.close()
    return found


def page_of_site(path):
    return html.parse(SITE / path, html.HTMLParser(encoding="utf-8")).getroot()


class TestCombined:
    @pytest.mark.parametrize(
        "formula, text",
        [
            ("<msup><mi>e</mi><mrow><mo>−</mo><mi>x</mi></mrow></msup>", "e^(−x)"),
            (
                "<mfrac><mn>1</mn><msqrt><msub><mi>d</mi><mi>k</mi></msub></msqrt></mfrac>",
                "1/(√(d_k))",
            ),
            ("<msubsup><mo>∑</mo><mi>j</mi><mi>n</mi></msubsup><mi>a</mi>", "∑_j^na"),
            ("<mi>i</mi><mo>≤</mo><mi>j</mi>", "i ≤ j"),
        ],
    )
    def test_a_formula_is_said_as_one_types_it(self, formula, text):
        assert combined.spoken(html.fromstring(f"<math>{formula}</math>")) == text

    def test_what_is_not_on_paper_is_linked_once_the_site_has_an_address(self):
        def links(base):
            book = combined.read(SITE, PAGES)
            book.base = base
            return set(combined.combine(SITE, book).xpath("//a/@href"))

        source = "https://book.test/tests/theorems/test_causal.html#TestHiddenKeys"
        assert source in links("https://book.test")
        assert all(link.startswith(("#", "http", "volume:")) for link in links(""))

    def test_there_are_as_many_volumes_as_is_said(self):
        assert len(combined.VOLUMES) == 2
        for name, said in (("README", "prints two volumes"), ("CONTRIBUTING", "as two volumes")):
            assert said in (ROOT / f"{name}.md").read_text("utf-8")

    def test_further_reading_has_its_head_beside_it_within_the_text(self, browser):
        read = combined.read(SITE, ["concepts/embeddings.html", "beyond/two-layers.html"])
        page = browser.new_page(viewport=SHEET)
        page.emulate_media(media="print")
        page.set_content(html.tostring(combined.combine(SITE, read), encoding="unicode"))
        found = page.locator("section[id$=further-reading]").evaluate_all("""all => all.map(
          (one) => [...one.children].filter((part) => !part.matches("span")).map((part) => {
            const { top, left, width } = part.getBoundingClientRect();
            return [part.tagName, Math.round(top - one.getBoundingClientRect().top), left,
              left + width - one.closest("article").getBoundingClientRect().right];
          }))""")
        assert len(found) == 2
        for (head, above, left, _), (told, top, beside, beyond) in found:
            assert (head, told) == ("H2", "DIV")
            assert above == top
            assert left < beside
            assert beyond == 0
        page.close()

    def test_the_margin_of_solutions_has_their_names_and_no_notes(self, browser):
        read = combined.read(SITE, ["analogies/stretching-space.html"])
        page = browser.new_page(viewport=SHEET)
        page.emulate_media(media="print")
        page.set_content(html.tostring(combined.combine(SITE, read), encoding="unicode"))
        notes = page.locator(".solution .notes")
        assert notes.count() > 0
        assert not any(one.is_visible() for one in notes.all())
        page.close()

    def test_a_table_beside_notes_does_not_wait_for_their_end(self, sheet):
        clear = "all => all.map((one) => getComputedStyle(one).clear)"
        assert set(sheet.locator(".table.narrow").evaluate_all(clear)) == {"none"}
        assert "right" in sheet.locator(".lesson .table:not(.narrow)").evaluate_all(clear)

    def test_it_has_the_headings_of_a_page_and_what_a_page_keeps_of_others_not(self):
        book = combined.combine(SITE, combined.read(SITE, PAGES))
        assert book.find_class("statement")
        assert book.xpath("//*[@role='heading'] | //template") == []

    def test_an_id_that_two_pages_have_is_told_apart(self):
        ids = combined.combine(SITE, combined.read(SITE, PAGES)).xpath("//@id")
        assert len(ids) == len(set(ids))
        assert {"exercises", "causal/masking.exercises"} <= set(ids)
        ids = combined.combine(SITE, combined.read(SITE, ["SA087/index.html"]), "examples")
        assert len(ids.xpath("//@id")) == len(set(ids.xpath("//@id")))  # it has an array "heads"

    def test_the_head_of_a_section_has_its_id_and_a_label_of_an_example_is_no_place(self):
        paths = [LESSON, "SA102/index.html"]
        book, examples = (
            combined.combine(SITE, combined.read(SITE, paths), one) for one in combined.VOLUMES
        )
        kept = book.xpath("//article//section[@id and not(@class)][h2 or h3]/@id")
        assert [one for one in kept if "further-reading" not in one] == []
        assert book.xpath("//article//h2/@id")
        assert not examples.xpath("//*[@id='sa102']")

    def test_a_reference_without_a_sheet_is_refused(self, browser, tmp_path, monkeypatch):
        page = browser.new_page()
        page.set_content('<a href="#a">A<span class="at">000</span></a><a class="at">7</a>')
        assert [one.rpartition("#")[2] for one in page.evaluate(LOST)] == ["a"]
        page.close()
        monkeypatch.setattr("press.edition.pdf.LOST", "() => ['a']")
        with pytest.raises(RuntimeError, match="references without a sheet"):
            list(print_book(browser, SITE, tmp_path, ["reference/hosting.html"]))

    def test_a_title_that_is_a_link_looks_like_one(self, sheet):
        titles = {page.title for page in combined.read(SITE).pages()}
        links = sheet.locator(":is(p:not(.head), li, dd, figcaption) a.named")
        names = links.evaluate_all("all => all.map((one) => one.firstChild.textContent)")
        assert set(names) & titles
        looks = "all => all.map((one) => getComputedStyle(one).fontStyle)"
        assert set(links.evaluate_all(looks)) == {"italic"}

    @pytest.mark.parametrize(
        "text, kept",
        [
            ("it is word 0. So", "it is word~0. So"),
            ("Theorem 21 says", "Theorem~21 says"),
            ("the vector (0, −1, 0.5) and", "the vector (0,~−1,~0.5) and"),
            ("in 2017, at 0.5 of 10000", "in 2017, at 0.5 of 10000"),
        ],
    )
    def test_no_line_ends_before_a_short_number_or_in_a_vector(self, text, kept):
        assert combined.BOUND.sub("~", text) == kept

    def test_text_is_bound_and_code_in_it_ends_lines_at_spaces(self, made):
        for sheet in made[1].values():
            texts = sheet.locator("main p").all_text_contents()
            assert any(re.search(r"\w\u00a0\d", text) for text in texts)
        book = combined.combine(SITE, combined.read(SITE, PAGES))
        inline = ".//article//p//text()[not(ancestor::math or ancestor::code or ancestor::a)]"
        assert not [text for text in book.xpath(inline) if combined.BOUND.search(text)]
        pieces = made[1]["examples"].locator("p > code:not(.unbroken) .pre.unbroken")
        spaces = pieces.evaluate_all("all => all.map((one) => getComputedStyle(one).whiteSpace)")
        assert set(spaces) == {"nowrap"}

    def test_nothing_has_the_shade_of_what_scrolls(self, made):
        images = "all => all.map((one) => getComputedStyle(one).backgroundImage)"
        for sheet in made[1].values():
            found = sheet.locator(":is(pre, .table, .math-scroll)[tabindex]").evaluate_all(images)
            assert set(found) == {"none"}

    def test_an_outline_has_no_numbers_of_sheets(self):
        book = combined.combine(SITE, combined.read(SITE, PAGES), "examples")
        names = [text for _, text, _ in combined.headings(book)]
        assert "Why softmax" in names
        assert not [text for text in names if text.endswith("000")]

    def test_each_example_has_a_running_head(self):
        names = ("SA016", "SA017")
        read = combined.read(SITE, [f"{name}/index.html" for name in names])
        book = combined.combine(SITE, read, "examples")
        heads = [book.get_element_by_id(name).get("data-head") for name in names]
        assert heads == ["SA016: Causal mask, step by step", "SA017: Variance of a dot product"]

    def test_above_a_sheet_stands_what_is_on_it(self):
        marks = [
            ("cover", "cover", "", ""),
            ("opener", "solutions", "Solutions", ""),
            *(("goes-on lesson", name, "Solutions", name.upper()) for name in "abc"),
            ("chapter", "masks", "The library", "Masks"),
            ("chapter module", "softmax", "The library", "Softmax"),
            *(("example", name, "Examples", f"{name}: x") for name in ("SA1", "SA2", "SA3")),
        ]
        page = html.fromstring("<main></main>")
        for kind, name, part, head in marks:
            given = {"class": kind, "id": name, "data-part": part, "data-head": head}
            page.append(page.makeelement("article", given))
        begin = {"cover": 1, "solutions": 3, "a": 4, "b": 4, "c": 6, "masks": 7, "softmax": 7}
        begin |= {"SA1": 9, "SA2": 9, "SA3": 11}
        ends = {"a": 4, "b": 6, "c": 6, "masks": 7, "softmax": 8, "SA1": 9, "SA2": 10, "SA3": 11}
        numbers = begin | {f"end:{name}": sheet for name, sheet in ends.items()}
        parts, heads = re.findall(r"symbols: (.+?);", running_heads(page, numbers))
        assert re.findall('"(.*?)"', parts) == [
            *("", "", *4 * ["Solutions"], *2 * ["The library"], *3 * ["Examples"])
        ]  # fmt: skip
        assert re.findall('"(.*?)"', heads) == [
            *("", "", "", "A – B", "B", "B – C", "Masks – Softmax", "Softmax"),
            *("SA1 – SA2", "SA2: x", "SA3: x"),
        ]
        assert running_heads(page, {}) == ""

    def test_the_usual_tolerance_is_said_on_the_page_of_all_examples(self, made):
        said = page_of_site("examples/index.html").text_content()
        assert "no more than 10−13 + 10−13 times the absolute value of the expected one" in said
        for name, data in documents(ROOT).items():
            is_usual = data["tolerance"] == {"absolute": 1e-13, "relative": 1e-13}
            assert len(page_of_site(f"{name}/index.html").find_class("usual")) == is_usual
        usual = made[1]["examples"].locator(".example .usual")
        assert usual.count() == 1
        assert not usual.is_visible()

    def test_a_figure_that_answers_says_where_and_so_does_a_list(self, made):
        book = combined.combine(SITE, combined.read(SITE, ["concepts/attention-equation.html"]))
        article = book.get_element_by_id("concepts/attention-equation")
        answers = article.xpath(".//figure[.//*[@data-live or contains(@class, 'whole')]]")
        assert len(answers) > 1
        places = [f"#{one.get('id')}" for one in answers]
        (listed,) = book.xpath("//section[@id='answering']/ol")
        listed = listed[1:]  # the front page has one
        assert [one.find("a").get("href") for one in listed] == places
        said = [one.find("a").text_content() for one in listed]
        captions = [" ".join(one.find("figcaption").text_content().split()) for one in answers]
        assert [" ".join(one.split()) for one in said] == captions
        addresses = [f"concepts/attention-equation.html{place}" for place in places]
        assert [one.find("small").text for one in listed] == addresses
        assert book.xpath("//section[@id='contents']//a/@href")[0] == "#answering"
        printed = made[1]["book"].locator('[id="concepts/attention-equation"] figure')
        after = "all => all.map((one) => getComputedStyle(one, '::after').content)"
        told = [one.replace('"', "").split(": ")[-1] for one in printed.evaluate_all(after)]
        assert [one for one in told if "#" in one] == addresses
        second = combined.combine(SITE, combined.read(SITE, [LESSON]), "examples")
        assert not second.xpath("//section[@id='answering']")

    def test_the_steps_of_an_example_come_last_for_they_may_part(self):
        read = combined.read(SITE, [f"{EXAMPLE}/index.html"])
        book = combined.combine(SITE, read, "examples")
        (steps,) = book.xpath(f"//section[@id='steps' or @id='{EXAMPLE}.steps']")
        assert "record" in steps.getprevious().classes
        assert steps.getnext() is None

    def test_a_statement_is_listed_by_its_first_word_that_is_no_article(self):
        paths = ["analogies/retrieval.html", "beyond/gradients.html", "concepts/why-softmax.html"]
        book = combined.combine(SITE, combined.read(SITE, paths))
        listed = book.xpath("//h2[@id='statements']/following-sibling::ul[1]/li")
        statements = [one.text.lower() for one in listed]
        bare = [re.sub("^(an?|the) ", "", one) for one in statements]
        assert statements != bare == sorted(bare)

    def test_a_reference_within_a_page_has_a_number_unless_it_stays_in_its_section(self):
        paths = ["scaling/variance-of-a-dot-product.html", "scaling/other-scalings.html"]
        book = combined.combine(SITE, combined.read(SITE, paths))
        near, far = set(), set()
        for section in book.xpath("//article/section/section"):
            within = {f"#{name}" for name in section.xpath("descendant-or-self::*/@id")}
            for link in section.xpath(".//a[starts-with(@href, '#')]"):
                (near if link.get("href") in within else far).add(bool(link.find_class("at")))
        assert near == {False}
        assert True in far
        assert book.xpath("//a[@href='#thm-dot-product-variance'][span[@class='at']]")

    def test_an_example_has_its_sheet_where_it_is_told_of_and_not_in_a_table(self):
        paths = ["SA009/index.html", "examples/public-bugs.html", "examples/precision.html"]
        book = combined.combine(SITE, combined.read(SITE, paths), "examples")
        links = ".//article[starts-with(@id, 'examples/')]//a[@href='#SA009']"
        found = {
            (bool(one.xpath("ancestor::table")), bool(one.find_class("at")))
            for one in book.xpath(links)
        }
        assert found == {(True, False), (False, True)}

    @pytest.mark.parametrize(
        "example, listed, like",  # six scales, so six parts of scores, weights and output
        [("SA013", 5, 3 * ["and 5 like it"]), ("SA021", 10, [])],
    )
    def test_of_the_parts_of_an_array_one_is_worked_out(self, example, listed, like):
        path = f"{example}/index.html"
        book = combined.combine(SITE, combined.read(SITE, [path]), "examples")
        rows = book.xpath("//section[contains(@id, 'steps')]//tbody/tr")
        assert len(rows) == listed
        assert [small.text for row in rows for small in row.iterfind("th/small")] == like
        left_out = sum(int(said.split()[1]) for said in like)
        steps = page_of_site(path).xpath("//section[@id='steps']//tbody/tr")
        assert len(rows) + left_out == len(steps)

    @pytest.mark.parametrize(
        "example, array, bands", [("SA107", "bias", 2), ("SA054", "embeddings", 1)]
    )
    def test_a_matrix_of_wide_rows_is_set_as_a_few(self, example, array, bands):
        path = f"{example}/index.html"
        book = combined.combine(SITE, combined.read(SITE, [path]), "examples")

        def entries(page):
            found = page.xpath("//table[@class='matrix']/tbody//td[@id]")
            return {str(cell.get("id")).split(f"{example}.")[-1]: cell.text for cell in found}

        assert entries(book) == entries(page_of_site(path))
        (whole, *_) = page_of_site(path).xpath(f"//section[@id='{array}']//table[@class='matrix']")
        first, *more = book.xpath(f"//section[contains(@id, '{array}')]//table[@class='matrix']")[
            :bands
        ]
        assert [one.findtext("caption") for one in more] == ["continued"] * (bands - 1)
        parts = [list(one.iter("tr")) for one in (first, *more)]
        for row, *split in zip(whole.iter("tr"), *parts, strict=True):
            name, *cells = (cell.text for cell in row)
            assert [part[0].text for part in split] == [name] * bands
            assert [cell.text for part in split for cell in part[1:]] == cells

    @pytest.mark.parametrize(
        "example, array, rows",
        [("SA100", "key", [10, 10]), ("SA107", "key", 6 * [12]), ("SA063", "query", [13])],
    )
    def test_a_matrix_of_many_short_rows_is_set_side_by_side(self, example, array, rows):
        paths = [f"{example}/index.html"]
        book = combined.combine(SITE, combined.read(SITE, paths), "examples")
        found = book.xpath(f"//section[@id='{example}.{array}' or @id='{array}']//table")
        assert [len(one.findall("tbody/tr")) for one in found] == rows
        assert len({one.getparent().getparent() for one in found}) == 1
        names = [row[0].text for one in found for row in one.findall("tbody/tr")]
        whole = page_of_site(paths[0]).xpath(f"//section[@id='{array}']//table/tbody/tr")
        assert names == [row[0].text for row in whole]

    def test_the_glossary_is_found_without_a_number_in_its_own_volume(self):
        paths = ["reference/theorems.html", "reference/glossary.html", LESSON]
        found = {}
        for volume in combined.VOLUMES:
            book = combined.combine(SITE, combined.read(SITE, paths), volume)
            pages = "//article[@id='causal/masking' or @id='reference/theorems']"
            links = "//a[contains(@href, 'reference/glossary') or starts-with(@href, '#term-')]"
            terms = book.xpath(f"{pages}{links}")
            found[volume] = {bool(one.find_class("at")) for one in terms}
        assert found["examples"] == {True}
        assert found["book"] == {False}

    def test_modules_go_on_below_the_page_of_the_library(self):
        pages = [f"reference/api/{name}.html" for name in ("index", "scores", "masks")]
        book = combined.combine(SITE, combined.read(SITE, pages), "examples")
        articles = list(book.iter("article"))[:-1]  # the last is the index
        assert ["module" in one.classes for one in articles] == [False, True, True]
        assert [one.get("data-head") for one in articles] == [
            "The library", "scores", "masks"
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("example", "name"),
        [("SA018", "expected"), (EXAMPLE, "inputs"), (EXAMPLE, "expected")],
        ids=["first", "last", "among"],
    )
    def test_the_numbers_of_an_example_stand_in_one_table_below_its_arrays(self, example, name):
        page = f"{example}/index.html"
        site = html.document_fromstring((SITE / page).read_text("utf-8"))
        book = combined.combine(SITE, combined.read(SITE, [page]), "examples")
        (part,) = book.xpath(f"//section[@id='{name}' or @id='{example}.{name}']")
        (table,) = part.find_class("numbers")
        assert table.getparent() is part[-1]
        there = site.xpath(f"//section[@id='{name}']//table[contains(@class, 'numbers')]//tr")
        assert [one.text_content() for one in table.iter("tr")] == [
            one.text_content() for one in there
        ]

    def test_no_sentence_of_the_book_asks_to_press_or_to_drag(self):
        book = combined.combine(SITE, combined.read(SITE))
        text = "\n".join(page.text_content() for page in book.iter("article"))
        asked = (
            r"\b([Dd]rag|press|Press (?:an?|any|the|[A-Z]\w+)|turn \w+ until|Change the score)\b"
        )
        assert re.findall(asked, text) == []


class TestPdf:
    def test_it_says_what_it_is(self, pdf):
        title = page_of_site("index.html").findtext("head/title")
        assert pdf.docinfo.Title == f"{title}. I: The book"
        assert pdf.Root.Lang == "en"
        assert pdf.Root.MarkInfo.Marked
        assert str(pdf.docinfo.Subject) == f"Version {__version__}"
        day = page_of_site("index.html").xpath(
            "string(//meta[@name='citation_publication_date']/@content)"
        )
        assert str(pdf.docinfo.CreationDate)[2:16] == f"{day.replace('/', '')}000000"

    def test_every_font_is_embedded(self, pdf):
        fonts = [one for one in pdf.objects if isinstance(one, pikepdf.Dictionary)
                 and one.get("/Type") == "/FontDescriptor"]  # fmt: skip
        assert {str(one.FontName).partition("+")[2] for one in fonts} >= {
            "ComputedSerif-Regular", "ComputedSans-Regular", "STIXTwoMath"
        }  # fmt: skip
        assert all("/FontFile2" in one or "/FontFile3" in one for one in fonts)

    def test_every_link_leads_to_a_place_in_it_or_to_another_site(self, pdf):
        names = places(pdf)
        links = [note for page in pdf.pages for note in page.get("/Annots", [])]
        inside = [str(link.Dest)[1:] for link in links if "/Dest" in link]
        actions = [link.A for link in links if "/A" in link]
        outside = [str(one.URI) for one in actions if one.S == "/URI"]
        to_other = [one for one in actions if one.S == "/GoToR"]
        assert len(inside) + len(outside) + len(to_other) == len(links) > 50
        assert set(inside) <= set(names)
        assert all(re.match("https?://", address) for address in outside)

    def test_a_link_to_the_other_volume_leads_to_a_place_there(self, pdf, second):
        for one, other, number, name in (
            (pdf, second, "examples", "SA021"),
            (second, pdf, "book", "causal/masking"),
        ):
            links = [note for page in one.pages for note in page.get("/Annots", [])]
            there = [link.A for link in links if "/A" in link and link.A.S == "/GoToR"]
            assert {str(link.F) for link in there} == {f"selfattn-{number}-{__version__}.pdf"}
            assert name in {str(link.D)[1:] for link in there} <= set(places(other))
            assert name not in places(one)

    def test_no_label_is_parted_from_its_array(self, pdf):
        tables = [one for one in tags(pdf.Root.StructTreeRoot) if one.S == "/Table"]
        labeled = [one for one in tables if any(kid.S == "/Caption" for kid in tags(one))]
        assert len(labeled) > 20
        assert [len(sheets(one)) for one in labeled] == [1] * len(labeled)

    def test_of_a_parted_paragraph_two_lines_stay_together(self, pdf, second, made):
        written = "article:not(:has(.entries)) p:not(.to-solution)"  # not made for paper
        parts = 0
        for printed, tab in zip((pdf, second), made[1].values(), strict=True):
            parted = [
                one
                for one in tags(printed.Root.StructTreeRoot)
                if one.S == "/P" and len(sheets(one)) > 1
                if all(kid.S != "/Code" for kid in tags(one))
            ]
            kept = tab.locator(written).evaluate_all("""all => all.map((one) => {
                const { orphans, widows } = getComputedStyle(one);
                return Math.min(orphans, widows);
            })""")
            assert set(kept) <= {2, 3}
            parts += len(parted)
        assert parts > 0

    def test_code_of_eight_lines_stays_on_a_sheet(self, sheet):
        code = sheet.locator(".cell_input pre").evaluate_all("""all => all.map((one) =>
          [one.textContent.split("\\n").length - 1,
           getComputedStyle(one.closest(".cell_input")).breakInside])""")
        assert {breaks for lines, breaks in code if lines <= 8} == {"avoid"}
        assert {breaks for lines, breaks in code if lines > 8} == {"auto"}

    def test_what_ends_with_a_colon_or_is_a_line_below_a_head_stays_with_what_follows(self, sheet):
        leads = sheet.locator("main p").evaluate_all("""all => all.map((one) => [
          one.className.includes("leads"), one.textContent.trim().endsWith(":"),
          one.matches(":is(h2, h3) + p") && one.textContent.trim().length < 70])""")
        assert all(lead == (colon or line) for lead, colon, line in leads)
        assert any(colon for _, colon, _ in leads)
        assert any(line for *_, line in leads)
        breaks = sheet.locator("main figure").first.evaluate("""figure => {
          const lead = document.createElement("p");
          lead.className = "leads";
          figure.before(lead);
          const found = getComputedStyle(lead).breakAfter;
          lead.remove();
          return found;
        }""")
        assert breaks == "avoid"

    def test_the_poster_has_a_sheet_that_lies(self, second):
        poster = places(second)["reference/handouts/poster"]
        lying = [
            number
            for number, page in enumerate(second.pages, start=1)
            if page.mediabox[2] > page.mediabox[3]
        ]
        assert lying == [poster]
        assert second.pages[poster - 1].mediabox[2] == second.pages[0].mediabox[3]

    def test_a_handout_has_an_empty_sheet_and_a_solved_one(self, second):
        names = places(second)
        assert names["reference/handouts/poster"] - names["reference/handouts/mask"] == 2
        assert names["reference/handouts/mask"] % 2 == 1  # what is solved is on its back

    def test_labels_are_those_of_the_web(self, pdf):
        names = places(pdf)
        main = page_of_site(LESSON).find(".//main")
        labels = {one for one in main.xpath(".//@id") if one.startswith(("thm-", "ex-", "fig-"))}
        labels = {one for one in labels if not one.endswith(("-cite", "-answer"))}
        assert len(labels) > 7
        assert labels | {"causal-masking", "causal/masking"} <= set(names)

    def test_the_outline_has_parts_chapters_and_sections(self, pdf):
        with pdf.open_outline() as outline:
            titles = {one.title: [two.title for two in one.children] for one in outline.root}
            (part,) = (one for one in outline.root if one.title == "Causal masking")
            assert part.children[0].children[0].title == "The rule"
            assert str(part.children[0].destination)[1:] in places(pdf)
        assert titles["Causal masking"] == ["The causal mask"]
        assert "The causal mask" in titles["Solutions"]
        assert list(titles)[:3] == ["Contents", "Figures that answer", "Which word told you?"]
        assert list(titles)[-2:] == ["Reference: look up", "Index"]

    def test_its_contents_name_the_sheets_that_the_links_lead_to(self, pdf, sheet):
        names = places(pdf)
        shown = {
            (link.get_attribute("href") or "")[1:]: link.inner_text()
            for link in sheet.locator(".toc .at, .to-solution .at, .entries .at").all()
        }
        assert {name: str(names[name]) for name in shown} == shown
        assert names["contents"] < names["part-causal-masking"] < names["causal/masking"]
        assert names["ex-masking-half"] < names["ex-masking-half-solution"]

    def test_lessons_have_a_number(self, sheet, made):
        numbers = "all => all.map((one) => one.dataset.number)"
        heads = sheet.locator("article.chapter.lesson h1").evaluate_all(numbers)
        lessons = ["1", "2", "3", "4"]
        assert heads == [None, *lessons]  # the front page has none
        for place in (".toc li li > a:first-child", ".opener li > a:first-child", ".goes-on h1"):
            assert sheet.locator(place).evaluate_all(numbers)[:4] == lessons
        shown = sheet.locator(".goes-on h1").first.evaluate(
            "one => getComputedStyle(one, '::before').content"
        )
        assert shown == '"1"'
        others = made[1]["examples"].locator("h1").evaluate_all(numbers)
        assert set(others) == {None}

    def test_a_part_begins_on_the_right(self, pdf, second):
        for one in pdf, second:
            parts = [number for name, number in places(one).items() if name.startswith("part-")]
            assert len(parts) > 1
            assert {number % 2 for number in parts} == {1}

    def test_above_a_sheet_of_the_glossary_stand_its_first_and_its_last_term(self, pdf, sheet):
        names = places(pdf)
        heads, parts = (
            re.findall('"(.*?)"', symbols)
            for symbols in sheet.locator("#heads").evaluate(
                "one => [...one.sheet.cssRules].map((rule) => rule.symbols).reverse()"
            )
        )
        assert len(heads) == len(parts) == len(pdf.pages)
        terms = {}
        for name in sheet.locator("dl.glossary > dt").all():
            number = names[name.get_attribute("id")]
            terms.setdefault(number, []).append(name.inner_text())
        assert len(terms) > 2
        for number, found in terms.items():
            assert parts[number - 1] == "Glossary"
            assert heads[number - 1] == f"{found[0]} – {found[-1]}"

    def test_a_reference_names_the_sheet_once_in_a_paragraph(self, pdf, second, sheet, made):
        for tab, own, other in (sheet, pdf, second), (made[1]["examples"], second, pdf):
            links = tab.locator("a:has(> .at)").evaluate_all("""links => {
              const all = [...document.querySelectorAll("p, li, dd, tr, figcaption, section")];
              return links.map((one) =>
                [all.indexOf(one.closest("p, li, dd, tr, figcaption, section")),
                 one.getAttribute("href"), one.lastChild.textContent, one.matches("p *, dd *")]);
            }""")
            assert len({(passage, href) for passage, href, *_ in links}) == len(links) > 0
            for _, href, number, is_told in links:
                volume, name = re.split("#|:", href, maxsplit=1)
                assert number == str(places(other if volume else own)[name])
                assert not name.startswith("term-")
                assert volume or is_told or not name.startswith("SA0")
        assert any(href.startswith("volume:") for _, href, *_ in links)

    def test_the_index_has_the_chapters_of_a_term_and_what_is_in_its_volume(self, pdf, sheet, made):
        names = places(pdf)
        entry = sheet.locator("//ul[@class='entries']/li[normalize-space(text()[1])='causal mask']")
        first = (entry.locator(".at").first.get_attribute("href") or "")[1:]
        link = sheet.locator(f"article[id='causal/masking'] a[id='{first}']")
        assert link.inner_text() == "causal mask"
        assert entry.locator(".at").first.inner_text() == str(names[first])
        assert entry.locator(".defined").inner_text() == str(names["term-causal-mask"])
        assert sheet.locator(".entries", has_text="causal_mask()").count() == 0
        assert made[1]["examples"].locator(".entries", has_text="causal mask").count() == 0

    def test_what_is_of_one_kind_has_a_list_of_its_own(self, second, sheet, made):
        for kind, name in (
            ("authors", "Vaswani, Ashish"),
            ("statements", "What a hidden key gets"),
        ):
            for entries in (".entries", f"#{kind} + .entries"):
                assert sheet.locator(f"{entries} > li", has_text=name).count() == 1
        slips = made[1]["examples"].locator("#slips + .entries > li")
        assert "mask-transposed" in slips.evaluate_all(
            "all => all.map((one) => one.firstChild.data)"
        )
        topics = made[1]["examples"].locator("#examples-by-topic + .entries li")
        (example,) = {str(places(second)["SA021"])}
        assert topics.all_inner_texts() == [f"masking{example}", f"softmax{example}"]

    def test_the_index_names_a_sheet_once_and_in_order(self, sheet):
        entries = sheet.locator(".entries li").evaluate_all("""entries => entries.map((one) =>
          [one.firstChild.data.trim(), [...one.querySelectorAll(":scope > a:not([hidden])")]
            .map((link) => Number(link.textContent))])""")
        assert {"Vaswani, Ashish", "What a hidden key gets"} <= {n for n, _ in entries}
        for name, numbers in entries:
            assert numbers == sorted(set(numbers)), name
        assert max(len(numbers) for _, numbers in entries) > 1

    def test_a_sheet_with_two_places_of_a_name_is_shown_once(self, browser):
        page = browser.new_page()
        links = "".join(f'<a class="at" href="#{name}">000</a>' for name in "abc")
        page.set_content(f'<style id="heads"></style><ul class="entries"><li>name{links}</li></ul>')
        page.evaluate(FILL_IN, [{"a": 4, "b": 4, "c": 7}, {}, ""])
        assert page.locator("a:visible").all_inner_texts() == ["4", "7"]
        page.close()

    def test_formulas_and_figures_say_what_they_show(self, pdf):
        found = list(tags(pdf.Root.StructTreeRoot))
        kinds = {str(one.S) for one in found}
        assert "/NonStruct" not in kinds
        assert kinds >= {"/H1", "/H2", "/H3", "/P", "/Formula", "/Figure", "/Table", "/Link", "/L"}
        said = [str(one.get("/Alt", "")) for one in found if one.S == "/Formula"]
        assert "√(d_k)" in said
        assert all(said)
        drawings = [str(one.Alt) for one in found if one.S == "/Figure" and "/Alt" in one]
        page = html.document_fromstring((SITE / LESSON).read_text("utf-8"))
        described = page.xpath("//figure//*[@role='img']/@aria-label")
        assert described
        assert set(described) <= set(drawings)

    def test_every_piece_of_text_has_its_tag(self, pdf):
        alive = {one.objgen for one in tags(pdf.Root.StructTreeRoot)}
        tree = pikepdf.NumberTree(pdf.Root.StructTreeRoot.ParentTree)
        for page in pdf.pages:
            is_blank = not page.obj.Resources.get("/Font")
            assert is_blank != ("/StructParents" in page.obj)
            found = [] if is_blank else tree[int(page.obj.StructParents)]
            assert all(one.objgen in alive for one in found)


class TestSheets:
    @pytest.mark.parametrize(
        "style, cut",
        [
            ("overflow: auto", ["one: too wide"]),
            ("width: 644px", ["one: too wide"]),  # by two pixels, which make all smaller
            ("width: 642px", []),
            ("white-space: normal", []),
        ],
    )
    def test_what_is_cut_off_is_noticed(self, browser, style, cut):
        page = browser.new_page(viewport=SHEET)
        style = f"width: 300px; white-space: nowrap; {style}"
        page.set_content(
            f'<article id="one"><p style="{style}">too wide {"and wider " * 20}</p></article>'
        )
        assert [one[:13] for one in page.evaluate(CUT)] == cut
        page.close()

    def test_lines_are_whole_pixels_apart(self, made):
        heights = "all => all.map((one) => parseFloat(getComputedStyle(one).lineHeight))"
        texts = (
            ".chapter section:not(.poster) > p, .chapter pre, dl.py dd > p, .statement > aside > p"
        )
        for sheet in made[1].values():
            found = sheet.locator(texts).evaluate_all(heights)
            assert found
            assert {one % 1 for one in found} == {0}

    def test_a_long_sum_shows_three_of_its_terms(self):
        path = "SA107/index.html"
        entries = ".//section[contains(@id, 'steps')]//td[last()]"
        book = combined.combine(SITE, combined.read(SITE, [path]), "examples")
        shown = [one.text_content() for one in book.xpath(entries)]
        long = page_of_site(path).xpath(f"{entries}[span[@class='between']]")
        assert any(one.text_content().count(" + ") > 10 for one in long)
        assert all(one.count(" + ") <= 3 for one in shown)
        assert any(" + … + " in one for one in shown)

    def test_no_line_ends_within_the_call_of_an_example(self):
        path = "reference/other-libraries.html"
        links = page_of_site(path).find(".//main").find_class("id-link")
        calls = [one for one in links if re.match(r"-\d", one.tail or "")]
        book = combined.combine(SITE, combined.read(SITE, [path]), "examples")
        kept = re.findall("SA\\d{3}\u2060-\u2060\\d", book.text_content())
        assert len(kept) == len(calls) > 5
        assert not [
            one for one in book.find_class("at") if re.match(r"\W*-", one.getparent().tail or "")
        ]

    def test_the_reference_is_set_as_a_lesson_unless_it_takes_the_width(self):
        kinds = dict.fromkeys(("glossary", "slips", "generated"), "chapter")
        kinds |= {"theorems": "chapter lesson", "misconceptions": "chapter lesson"}
        paths = [*PAGES, "reference/misconceptions.html"]
        volumes = [
            combined.combine(SITE, combined.read(SITE, paths), one) for one in combined.VOLUMES
        ]
        found = {
            one.get("id").split("/")[-1]: one.get("class")
            for book in volumes
            for one in book.iter("article")
            if one.get("id")
        }
        assert {name: found[name] for name in kinds} == kinds

    def test_plain_fractions_in_lines_of_text_are_on_the_line(self):
        path = "causal/perplexity.html"
        book = combined.combine(SITE, combined.read(SITE, [path]))
        both = page_of_site(path), book
        inline = ".//p//math[count(*) = 1]/mfrac[mn[1] = 1 and mn[2] = 4]"
        assert [len(one.xpath(inline)) > 0 for one in both] == [True, False]
        assert "1/4" in {one.text_content() for one in book.iter("math")}
        assert set(book.xpath(".//p//math/mrow[mn]/mo[. = '/']/@lspace")) == {"0"}  # no spaces
        shown = ".//div[contains(@class, 'math')]//mfrac"
        assert [len(one.xpath(shown)) for one in both] == [len(book.xpath(shown))] * 2 != [0, 0]

    @pytest.mark.parametrize(
        "formula, plain",
        [
            ("<mfrac><mn>1</mn><mn>4</mn></mfrac>", True),
            ("<mi>a</mi><mo>=</mo><mfrac><mn>1</mn><mi>n</mi></mfrac><mo>+</mo><mn>2</mn>", True),
            ("<mfrac><mn>1</mn><mn>4</mn></mfrac><mi>n</mi>", False),
            ("<mfrac><mn>1</mn><mn>4</mn></mfrac><mo>(</mo>", False),
            ("<msup><mi>e</mi><mfrac><mn>1</mn><mn>2</mn></mfrac></msup>", False),
            ("<mi>a</mi><mrow><mfrac><mn>1</mn><mn>2</mn></mfrac></mrow>", False),
            ("<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac>", False),
        ],
    )
    def test_a_fraction_is_on_one_line_if_nothing_binds_closer(self, formula, plain):
        (fraction,) = html.fromstring(f"<math>{formula}</math>").iter("mfrac")
        assert combined._is_plain(fraction) == plain

    def test_what_is_said_of_an_example_stands_beside_a_narrow_sheet(self, browser):
        def drawn(width, inside):
            drawing = (
                f'<div class="bands" style="display: flex"><p style="width: {width}px; height:'
            )
            drawing += ' 200px">Q</p></div>'
            return f'<details class="one" open><div class="{inside}">{drawing}</div></details>'

        page = browser.new_page()
        page.set_content(
            '<body style="width: 500px">'
            + "".join(
                f'<article class="example"><section>{drawn(first, "")}{drawn(last, inside)}'
                '</section><section id="a.derivation">D</section><section id="a.origin">O</section>'
                '<div class="record">R</div></article>'
                for first, last, inside in ((350, 300, ""), (300, 350, ""), (350, 300, "tabs"))
            )
        )
        page.add_style_tag(path=combined.STYLE)
        page.evaluate(BESIDE)
        assert page.locator(".pair").count() == 1
        assert page.locator("details:first-child + .pair").count() == 1  # the last of two
        drawing, told = (
            page.locator(f".pair > {one}").bounding_box() for one in ("details", "div")
        )
        assert drawing["width"] == pytest.approx(500 / 1.08, abs=1)  # as when it was laid out
        assert drawing["x"] + 300 < told["x"] < drawing["x"] + 340
        foot = drawing["y"] + drawing["height"]
        assert told["y"] + told["height"] == foot  # above the steps
        assert told["height"] < drawing["height"]
        said = page.locator(".said")
        assert said.all_text_contents() == ["DO"] * 3
        assert page.locator("article > .record").count() == 3  # in a line of its own
        lefts = """one => [...one.children].map((part) => part.getBoundingClientRect().left)"""
        aside, *below = [one.evaluate(lefts) for one in said.all()]
        assert aside[0] == aside[1]
        assert all(first < second for first, second in below)
        page.close()

    @pytest.mark.parametrize("room, space", [(20, "30px"), (30, "20px")])
    def test_a_sheet_that_is_nearly_full_ends_at_the_foot(self, browser, room, space):
        page = browser.new_page()
        high = SHEET["height"] - 2 - 220 - room  # below all before it
        parts = [("p", 40), ("div", 30), ("h2", 40), ("p", 40)]
        parts += [("figure", high), ("p", 300), ("p", 40)]
        page.set_content(
            f"<style>{SHEETS}"
            "body { margin: 0; } section > * { margin: 20px 0; break-inside: avoid; }"
            "p:first-child { margin-top: 0; } div { margin-top: -10px; }"
            "span { position: absolute; bottom: 0; }</style>"
            '<article class="lesson"><section>'
            + "".join(f"<{tag} style='height: {tall}px'>x</{tag}>" for tag, tall in parts)
            + "<span>end</span></section></article>"
        )
        respace(page, FLUSH)
        blocks = page.locator("section > *")
        spaces = blocks.evaluate_all("all => all.map((one) => getComputedStyle(one).marginTop)")
        assert spaces == ["0px", "-10px", space, "20px", space, "20px", "20px", "20px"]
        assert blocks.evaluate_all("all => all.map((one) => one.id)") == 8 * [""]
        assert page.locator("#blocks").count() == 0
        with pikepdf.open(io.BytesIO(page.pdf(prefer_css_page_size=True))) as pdf:
            assert len(pdf.pages) == 2
        page.close()

    @pytest.mark.parametrize(
        "kind, count, space, again, sheets",
        [
            ("chapter", 10, "16px", "16px", 1),
            ("chapter", 11, "16px", "12.8px", 2),
            ("chapter", 12, "16px", "16px", 2),
            ("chapter", 14, "20px", "20px", 2),
            ("goes-on", 10, "20px", "20px", 2),
        ],
    )
    def test_a_lesson_whose_last_sheet_is_nearly_empty_is_set_closer(
        self, browser, kind, count, space, again, sheets
    ):
        page = browser.new_page()
        page.set_content(
            f"<style>{SHEETS}"
            "body { margin: 0; } p { height: 80px; margin: 20px 0; break-inside: avoid; }"
            "article { position: relative; } p:first-child { margin-top: 0; }"
            "span { position: absolute; bottom: 0; }</style>"
            f"<article class='lesson {kind}' id='one'><section>{count * '<p>x</p>'}</section>"
            "<span id='end:one'></span></article>"
            "<div data-lifted='2' style='margin-top: -9px; position: absolute; top: 9px'></div>"
            "<p hidden><a href='#one'></a><a href='#end:one'></a></p>"
        )
        page.locator("p").nth(1).evaluate("one => { one.style.marginTop = '-10px'; }")
        respace(page, CLOSER)
        sides = (
            "all => all.map((x) => getComputedStyle(x)).map((x) => [x.marginTop, x.marginBottom])"
        )
        spaces = [*zip(*page.locator("section > p").evaluate_all(sides), strict=True)]
        assert spaces[0] == ("0px", "-10px", *(count - 2) * [space])
        assert spaces[1] == ("20px", *(count - 1) * [space])  # before one that comes up to it
        assert page.locator("[data-lifted]").count() == 0  # a note is lifted anew
        assert page.locator("div").evaluate("one => one.style.marginTop") == ""
        respace(page, CLOSER)
        assert page.locator("p").nth(2).evaluate("one => getComputedStyle(one).marginTop") == again
        with pikepdf.open(io.BytesIO(page.pdf(prefer_css_page_size=True))) as pdf:
            assert len(pdf.pages) == sheets
        page.close()

    @pytest.mark.parametrize(
        "high, last, sheet",
        [
            (915, "<p>one line</p>", 1),
            (940, "", 1),  # beside the tall one
            (915, "<p>one line<b class='out'></b></p>", 2),  # the margin is taken
            (400, "<p>one line</p><hr style='margin: 0; height: 560px'>", 2),  # not alone
        ],
    )
    def test_further_reading_is_not_alone_on_a_sheet(self, browser, high, last, sheet):
        page = browser.new_page(viewport=SHEET)
        page.set_content(
            f"<article class='lesson' id='one'><section><p style='height: {high}px'>x</p>{last}"
            "</section><section id='further-reading'><h2>Further reading</h2>"
            "<div><p>A book, and what it says of all this.</p></div></section>"
            "<span id='end:one'></span></article>"
            "<p hidden><a href='#further-reading'></a><a href='#end:one'></a></p>"
        )
        for style in (ROOT / "book/theme/page.css", combined.STYLE):
            page.add_style_tag(path=style)
        page.add_style_tag(
            content=SHEETS + "body, article, section p { margin: 0 !important; }"
            ".lesson { page: auto; } p, hr { break-inside: avoid; }"
        )
        page.emulate_media(media="print")
        respace(page, MARGINAL)
        reading = page.locator("#further-reading")
        assert ("marginal" in (reading.get_attribute("class") or "")) == (sheet == 1)
        with pikepdf.open(io.BytesIO(page.pdf(prefer_css_page_size=True))) as pdf:
            assert places(pdf)["further-reading"] == sheet
        page.close()

    @pytest.mark.parametrize("lines, changes, on", [(3, [], 1), (3, [SHORT], 2), (4, [SHORT], 1)])
    def test_the_last_of_three_lines_is_not_alone(self, browser, lines, changes, on):
        page = browser.new_page()
        page.set_content(
            "<main><div style='height: 750px'></div><p id='some'>"
            + "<br>".join(lines * ["line"])
            + "</p></main><p hidden><a href='#some'></a></p>"
            "<style>@page { size: 600px 800px; margin: 0; } body { margin: 0; }"
            ".unbroken { break-inside: avoid; }"
            "p { margin: 0; line-height: 20px; orphans: 2; widows: 2; }</style>"
        )
        for change in changes:
            page.evaluate(change)
        with pikepdf.open(io.BytesIO(page.pdf(prefer_css_page_size=True))) as pdf:
            assert places(pdf) == {"some": on}  # the first: or SHORT is not needed any more
        page.close()

    def test_a_place_at_a_foot_is_at_the_head_of_the_next_sheet(self):
        heights = {
            "/head": (0, 770),
            "/line": (0, FOOT + 8),
            "/low": (0, FOOT + 7),
            "/end:low": (0, FOOT + 7),
            "/last": (1, FOOT + 7),
        }
        pdf = pikepdf.Pdf.new()
        sheets = [pdf.add_blank_page() for _ in range(2)]
        pdf.Root.Dests = pikepdf.Dictionary(
            {
                name: [sheets[on].obj, pikepdf.Name.XYZ, 0, high, 0]
                for name, (on, high) in heights.items()
            }
        )
        go_to_heads(pdf)
        found = places(pdf)
        assert found == {"head": 1, "line": 1, "low": 2, "end:low": 1, "last": 2}
        assert pdf.Root.Dests["/low"][3] == 770
        assert float(pdf.Root.Dests["/last"][3]) == FOOT + 7

    def test_examples_are_larger_and_as_wide_as_a_sheet(self, browser):
        page = browser.new_page()
        page.set_content(
            "<body style='width: 700px; margin: 0'>"
            "<article class='example'><p style='height: 700px; margin: 0'></p></article>"
        )
        page.add_style_tag(path=combined.STYLE)
        sizes = """one => {
          const { width, height } = one.getBoundingClientRect();
          return [Math.round(width), Math.round(height)];
        }"""
        assert page.locator("article").evaluate(sizes) == [648, 700]
        page.evaluate(GROW)
        assert page.locator("article").evaluate(sizes) == [700, 756]
        page.close()

    @pytest.mark.parametrize("width, by", [(180, "1.16"), (210, "1"), (100, "1.25")])
    def test_the_cells_of_a_sheet_are_wider_where_there_is_room(self, browser, width, by):
        page = browser.new_page()
        cell = f"<p style='width: calc({width}px * var(--by, 1))'>Q</p>"
        page.set_content(
            "<article class='example' style='width: 430px'><div class='whole'>"
            f"<div class='bands' style='display: flex; flex-wrap: wrap'>{2 * cell}</div></div>"
            "</article>"
        )
        page.evaluate(WIDER)
        found = page.locator(".example").evaluate("one => one.style.getPropertyValue('--by')")
        assert found == by
        page.add_style_tag(path=combined.STYLE)
        page.locator(".whole").evaluate("one => one.classList.add('one-row')")  # it has its size
        by_of = "one => getComputedStyle(one).getPropertyValue('--by')"
        assert page.locator(".one-row").evaluate(by_of) == "1"
        page.close()

    @pytest.mark.parametrize(
        "example, calls, told",
        [
            ("SA014", [1], []),
            ("SA009", [1], ["1 of the site’s 2 drawings"]),
            ("SA081", [2], ["2 of the site’s 6 drawings"]),
            ("SA053", [2], ["2 of the site’s 6 drawings"]),
        ],
    )
    def test_of_an_example_one_call_is_drawn_and_two_heads_of_it(self, example, calls, told):
        book = combined.combine(SITE, combined.read(SITE, [f"{example}/index.html"]), "examples")
        (drawn,) = book.xpath("//section[contains(@id, 'on-one-sheet')]")
        assert [len(one.find_class("whole")) for one in drawn.findall("details")] == calls
        assert [one.text for one in drawn.find_class("cut")] == told
        assert not told or not drawn.find_class("uses")

    def test_long_code_parts_where_a_line_is_blank(self, sheet):
        site = html.document_fromstring((SITE / LESSON).read_text("utf-8"))
        published = [one.text_content() for one in site.xpath("//div[@class='cell_input']//pre")]
        long = sheet.locator(".cell_input pre:not(.unbroken)")
        printed = long.all_text_contents()
        assert {one for one in published if one.count("\n") > 8} <= set(printed)
        codes = [one.locator(".run").all_text_contents() for one in long.all()]
        assert ["".join(runs) for runs in codes] == printed
        for *runs, last in codes:
            assert not runs or runs[0].count("\n") > 3
            assert all(run.endswith("\n\n") for run in runs[:-1])
            assert all("\n\n" not in run.strip() for run in runs[1:-1])
            assert not last.startswith(" ")
        parted = [runs for runs in codes if len(runs) > 1]
        assert parted
        assert any("\n\n" in run.strip() for runs in codes for run in (runs[0], runs[-1]))
        looks = """all => all.map((one) => [
          one.textContent.trim().split("\\n").length <= 14, getComputedStyle(one).breakInside,
          getComputedStyle(one).orphans, getComputedStyle(one).widows,
          getComputedStyle(one).borderLeftStyle,
          getComputedStyle(one.closest(".cell_input")).borderLeftStyle])"""
        found = set(map(tuple, long.locator(".run").evaluate_all(looks)))
        own = "4", "4", "solid", "none"
        assert (True, "avoid", *own) in found
        assert found <= {(True, "avoid", *own), (False, "auto", *own)}

    @pytest.mark.parametrize(
        "lines, kept",
        [
            (["<b>class</b> Number(float):", "    uses = 0", "", "    <b>def</b> use(self):"], [4]),
            (["x = 1", "y = 2", "", "for one in (x, y):", "    print(one)"], [5]),
            (["a", "b", "c", "d", "", "e", "f", "g", "h", "", "k"], [5, 5, 1]),
            (["a", "b", "c", "d", "", *"efghijklmnopq", "", "r"], [5, 12, 3]),
            (["x = 1", "", *12 * ["print(x)"]], [12, 2]),
            (["<b>def</b> f():", "    x = 1", "", *13 * ["    print(x)"], "", *"abcde"], [17, 5]),
            (["text = <span>'''", "", "'''</span>", "", *13 * ["print(text)"]], [15, 2]),
            ([*"abcd", "if a:", "    b", "    c", "else:", "    d", "print(e)"], [9, 1]),
            ([*"abcd", "    <span>x", "</span>e", *"fghi"], [8, 2]),
            ([*"abcde", "x = <span>'''", "f", "g", "'''</span>", "h", "k"], [9, 2]),
            (["a", "b", "c", "d", "for x in a:", *6 * ["    b"]], [11]),
        ],
    )
    def test_a_few_lines_are_not_left_alone_but_at_the_end(self, lines, kept):
        code = html.fragment_fromstring("<code>{}\n</code>".format("\n".join(lines)))
        said = code.text_content()
        runs = combined._runs(code)
        assert [one.text_content().count("\n") for one in runs] == kept
        assert runs.text_content() == said

    def test_a_part_lists_the_sections_of_its_lessons_with_their_sheets(self, pdf, sheet):
        names = places(pdf)
        heads = sheet.locator("article[id='causal/masking'] > section > section > h2")
        listed = sheet.locator("#part-causal-masking li:has(> a[href='#causal/masking']) p > span")
        assert listed.locator("a:first-child").all_inner_texts() == heads.all_inner_texts() != []
        for place in listed.locator(".at").all():
            assert place.inner_text() == str(names[place.get_attribute("href")[1:]])

    @pytest.mark.parametrize(
        "rows, path, breaks",
        [
            (7, "beyond/learning", "avoid"),
            (15, "beyond/learning", "avoid"),
            (16, "beyond/learning", "auto"),
            (7, "reference/hosting", "auto"),
        ],
    )
    def test_a_table_of_a_lesson_stays_whole_if_it_is_not_long(self, browser, rows, path, breaks):
        row = "<tr><td>1</td></tr>"
        page = browser.new_page()
        page.emulate_media(media="print")
        page.set_content(
            f"<article class='lesson' id='{path}'><div class='table narrow'><table>{rows * row}"
            "</table></div></article>"
        )
        page.add_style_tag(path=SITE / "_static" / "page.css")
        page.add_style_tag(path=combined.STYLE)
        table = page.locator(".table")
        assert table.evaluate("one => getComputedStyle(one).breakInside") == breaks
        page.close()

    @pytest.mark.parametrize(
        "kind, columns, breaks",
        [("table out", 2, "avoid"), ("table", 2, "auto"), ("table", 12, "avoid")],
    )
    def test_a_table_of_the_reference_parts_unless_it_is_in_the_margin_or_a_square(
        self, browser, kind, columns, breaks
    ):
        page = browser.new_page()  # on the next sheet the margin is at the other side
        page.emulate_media(media="print")
        page.set_content(
            f"<article class='lesson' id='reference/a'><div class='{kind}'><table class='docutils'>"
            f"<tr>{columns * '<th>a</th>'}</tr></table></div></article>"
            f"<style>{combined.STYLE.read_text('utf-8')}</style>"
        )
        found = page.locator(".table").evaluate("one => getComputedStyle(one).breakInside")
        assert found == breaks
        page.close()

    def test_numbers_of_eight_columns_stand_apart(self, sheet):
        cells = sheet.locator(".arrays .matrix:has(th:nth-child(8)):not(:has(th:nth-child(12))) td")
        spaces = cells.evaluate_all("all => all.map((one) => getComputedStyle(one).paddingLeft)")
        assert spaces
        assert min(float(one.removesuffix("px")) for one in spaces) > 3

    def test_a_sheet_of_an_example_without_steps_is_within_it(self, browser):
        found = on_sheets(
            browser,
            "<article class='example'><section><p style='height: 600px'>Of</p><section>"
            "<div class='one' id='drawn'><div class='whole' style='height: 300px'></div></div>"
            "</section></section><span id='end:a'></span></article>"
            "<article class='example' id='next'><section>SA2</section></article>",
        )
        assert [found[one][0] for one in ("drawn", "end:a", "next")] == [2, 2, 2]

    def test_no_link_is_underlined(self, made):
        lines = "all => all.map((one) => getComputedStyle(one).textDecorationLine)"
        for sheet in made[1].values():
            assert set(sheet.locator("a").evaluate_all(lines)) == {"none"}

    def test_a_signature_ends_a_line_between_its_parameters(self, made):
        display = "all => all.map((one) => getComputedStyle(one).display)"
        places = made[1]["examples"].locator("dl.py > dt wbr")
        assert set(places.evaluate_all(display)) == {"none"}

    def test_a_call_has_one_line_in_the_list_of_how_sharp_each_is(self, made):
        page = made[1]["examples"].locator("[id='examples/precision']")  # no wider than a sheet
        rows = page.locator("table:has(tr:nth-child(40)) tbody tr").evaluate_all("""all =>
          all.map((one) => one.offsetHeight / parseFloat(getComputedStyle(one).lineHeight))""")
        assert len(rows) > 100
        assert max(rows) < 2

    def test_a_bar_is_beside_code_and_not_beside_what_it_prints(self, sheet):
        color = "all => all.map((one) => getComputedStyle(one).borderLeftColor)"
        cells = "div.cell:not(:has(figure, .sheet, .poster))"
        assert set(sheet.locator(f"{cells} .cell_output > *").evaluate_all(color)) == {CLEAR}
        code = sheet.locator(f"{cells} :is(.cell_input:not(:has(.run)), .run)").evaluate_all(color)
        assert code
        assert CLEAR not in code

    def test_a_caption_of_several_drawings_is_where_they_begin(self, sheet):
        figures = sheet.locator("figure:has(.tabs > details + details)")
        assert figures.count() > 0
        for figure in figures.all():
            assert figure.locator("> :first-child").evaluate("one => one.tagName") == "FIGCAPTION"
        breaks = "all => all.map((one) => getComputedStyle(one).breakAfter)"
        captions = sheet.locator("figcaption")
        assert set(captions.and_(sheet.locator(":first-child")).evaluate_all(breaks)) == {"avoid"}
        assert set(captions.and_(sheet.locator(":last-child")).evaluate_all(breaks)) == {"auto"}

    def test_a_sheet_shows_nothing_of_the_next_just_below_its_text(self, made):
        margin = 21 / 25.4 * 72  # points
        for content in made[0].values():
            with pikepdf.open(io.BytesIO(content)) as opened:
                for page in opened.pages:
                    first = pikepdf.parse_content_stream(page)[:5]
                    if page.mediabox[2] > page.mediabox[3]:  # the poster has no line below its text
                        assert [str(one.operator) for one in first[:2]] != ["q", "re"]
                        continue
                    kept = [list(map(float, one.operands)) for one in first[1:3]]
                    assert [str(one.operator) for one in first] == ["q", "re", "re", "W", "n"]
                    (_, text, *_), (_, foot, _, high) = kept
                    assert foot + high + 1 < margin < text < margin + 0.2

    def test_what_code_prints_stands_below_its_end(self, sheet):
        looks = """all => all.map((one) =>
          [getComputedStyle(one).breakBefore, getComputedStyle(one).breakInside])"""
        for tall, inside in ((":not(.tall)", "avoid"), (".tall", "auto")):
            printed = sheet.locator(f".cell_input + .cell_output{tall}").evaluate_all(looks)
            assert set(map(tuple, printed)) == {("avoid", inside)}

    def test_code_parts_between_runs_before_what_it_prints_leaves_a_sheet(self, browser):
        def part(kind, height):
            return f'<span class="{kind} unbroken" style="height: {height}px">{kind}</span>'

        page = browser.new_page()
        page.set_content(
            '<div style="height: 600px"></div><p class="leads">above</p><div class="cell">'
            f'<div class="cell_input"><pre><code>{part("run", 100)}{part("run", 60)}</code></pre>'
            '</div><div class="cell_output" style="height: 300px">below</div></div>'
        )
        for sheet in ("page.css", "cards.css"):
            page.add_style_tag(path=SITE / "_static" / sheet)
        page.add_style_tag(path=combined.STYLE)
        with pikepdf.open(io.BytesIO(page.pdf(prefer_css_page_size=True, tagged=False))) as pdf:
            operators = [pikepdf.parse_content_stream(one) for one in pdf.pages]
            shown = [sum(str(op.operator) in ("Tj", "TJ") for op in one) for one in operators]
        assert shown[0] >= 2
        assert len(shown) == 2
        page.close()

    def test_tall_is_a_sixth_of_a_sheet_and_with_its_code_two_fifths(self, browser):
        page = browser.new_page()
        cell = '<div class="cell"><div class="cell_input" style="height: {}px"></div>'
        output = '<div class="cell_output" style="height: {}px" id="output-{}"></div></div>'
        sizes = [(220, 200), (190, 200), (290, 130), (200, 300)]
        page.set_content(
            "".join((cell + output).format(above, below, above) for above, below in sizes)
        )
        page.evaluate(TALL, 1000)
        tall = page.locator(".tall").evaluate_all("all => all.map((one) => one.id)")
        assert tall == ["output-220", "output-200"]
        page.add_style_tag(path=combined.STYLE)
        shown = "<div class='arrays' style='break-inside: avoid'>one</div>"
        page.locator("#output-220, #output-190").evaluate_all(
            "(all, shown) => all.forEach((one) => { one.innerHTML = shown; })", shown
        )
        breaks = page.locator(".arrays").evaluate_all(
            "all => all.map((one) => getComputedStyle(one).breakInside)"
        )
        assert breaks == ["auto", "avoid"]
        page.close()

    def test_a_line_of_code_is_no_wider_than_the_text(self, sheet):
        cells = sheet.locator(".lesson .cell_input pre").evaluate_all("""all => all.map((one) => {
          const [edge, right] = [one.closest("article"), one]
            .map((part) => part.getBoundingClientRect().right);
          const high = one.offsetHeight;
          one.style.whiteSpace = "pre";
          const grown = high - one.offsetHeight;
          one.style.whiteSpace = "";
          return [right <= edge, grown];
        })""")
        assert len(cells) > 20
        assert set(map(tuple, cells)) == {(True, 0)}

    def test_a_table_takes_the_margin_if_it_is_lower_for_it(self, browser):
        page = browser.new_page()
        words = "<td>{}</td>"
        page.set_content(
            "<style>.lesson { width: 300px; font: 16px/20px monospace; } .table { width: 500px; }"
            ".narrow { width: auto; } td { padding: 0; }</style><article class='lesson'>"
            + "".join(
                f"<div class='table' style='overflow: auto'><table><tr>{text}</tr></table></div>"
                for text in (
                    words.format("a few words"),
                    words.format("several words " * 3),
                    f"{words.format('a few')}</tr><tr>{words.format('several words ' * 3)}",
                    f"<td style='white-space: nowrap'>{'word' * 12}</td>",
                )
            )
        )
        page.evaluate(NARROW)
        tables = page.locator(".table").evaluate_all(
            "all => all.map((one) => one.matches('.narrow'))"
        )
        assert tables == [True, False, True, False]
        page.close()

    def test_the_margin_is_outside_and_the_text_at_the_binding(self, sheet, pdf):
        names = places(pdf)
        found = sheet.locator(".out").evaluate_all("""all => all.map((one) => {
          const text = one.closest("article").getBoundingClientRect();
          const { left, right } = one.getBoundingClientRect();
          return [one.id, left < text.left - 1, right > text.right + 1,
                  getComputedStyle(one).breakInside];
        })""")
        assert len(found) > 20
        assert sheet.locator(".cell .matrix.out").count() == 0
        notes = sheet.locator(".lesson .notes")  # one below the other, on either side
        assert set(notes.evaluate_all("all => all.map((one) => getComputedStyle(one).clear)")) == {
            "both"
        }
        for name, at_left, at_right, breaks in found:
            assert (at_left, at_right) == ((False, True) if names[name] % 2 else (True, False))
            assert breaks == "avoid"
        text = {1: 68.03, 0: 184.25}  # points: at the right 24 mm, at the left 14 + 51 mm
        ends = {
            (number % 2, round(float(link.Rect[2]) - text[number % 2]))
            for number, page in enumerate(pdf.pages, start=1)
            for link in page.get("/Annots", [])
            if re.search("(?<!-room)-solution$", str(link.get("/Dest")))
        }
        assert {(1, 343), (0, 343)} <= ends  # 121 mm
        assert {end for side, end in ends if side} == {end for side, end in ends if not side}
        assert {float(place[2]) for place in pdf.Root.Dests.values()} == {0}

    def test_sheets_that_are_nearly_full_end_at_the_foot(self, sheet):
        moved = sheet.locator(".lesson section > [style*='margin-top']")
        assert moved.count() > 10

    def test_a_note_stands_on_the_sheet_of_what_it_is_beside(self, browser, sheet, pdf):
        names = places(pdf)
        notes = sheet.locator("[data-beside]").evaluate_all(
            "all => all.map((one) => [one.dataset.side, one.dataset.beside])"
        )
        assert len(notes) > 10
        assert all(names[note] == names[text] for note, text in notes)
        sizes = sheet.locator("[data-beside]").evaluate_all(
            "all => all.map((one) => [one.dataset.side, one.offsetHeight])"
        )
        top = max(float(place[3]) for place in pdf.Root.Dests.values())
        tops = [(top - float(pdf.Root.Dests[f"/{name}"][3])) * 4 / 3 for name, _ in sizes]
        ends = [*(names[name] for name, _ in sizes[1:]), None]
        for (name, high), above, below, after in zip(
            sizes, tops, [*tops[1:], 0], ends, strict=True
        ):
            foot = below if after == names[name] else SHEET["height"] + 2
            assert above + high <= foot  # neither cut nor over the next
        page = browser.new_page()
        margins = []
        for sheet_of_note, depth in ((3, 700), (4, 0), (3, 800)):
            page.set_content(
                '<div class="notes" data-side="a" data-beside="b" style="height: 200px"></div>'
            )
            now = [{"a": sheet_of_note, "b": 3}, {"a": depth}, 952]
            lifted = [page.evaluate(LIFT, now) for _ in range(4)]
            margin = page.locator(".notes").evaluate("one => one.style.marginTop")
            margins.append((lifted, margin))
        assert margins == [
            ([0, 0, 0, 0], ""), ([1, 1, 1, 0], "-480px"), ([1, 1, 1, 0], "-144px")
        ]  # fmt: skip
        page.close()

    @pytest.mark.parametrize(
        "apart, margins",  # of two notes of 100 and 200 pixels, the second at the foot, 48 cut off
        [
            (200, ["", "-48px"]),
            (110, ["-46px", "-48px"]),  # which makes way: 8 pixels stay between them
            (100, ["-48px", ""]),  # which holds the other down
        ],
    )
    def test_a_note_that_is_lifted_does_not_cover_the_one_above(self, browser, apart, margins):
        page = browser.new_page()
        page.set_content(
            '<div data-side="a" data-beside="c" style="height: 100px"></div>'
            '<div data-side="b" data-beside="d" style="height: 200px"></div>'
        )
        sheets = dict.fromkeys("abcd", 3)
        assert page.evaluate(LIFT, [sheets, {"a": 800 - apart, "b": 800}, 952]) > 0
        found = page.locator("div").evaluate_all("all => all.map((one) => one.style.marginTop)")
        assert found == margins
        page.close()

    def test_a_part_of_what_reaches_into_the_margin_has_an_id_of_its_own(self, browser):
        page = browser.new_page()
        page.set_content(
            "<style>.lesson { width: 100px; } figure { margin: 0; width: 150px; }"
            ".notes { width: 150px; }</style>"
            "<article class='lesson'><p id='a'>text</p><figure id='b'>wide</figure>"
            "<div class='noted'><div class='notes'></div></div><figure>"
            "<div class='tabs'><details id='c'></details><details></details></div></figure>"
            "</article><article><figure>wide</figure></article>"
        )
        page.evaluate(OUT, SIDE)
        out = page.locator(".out").evaluate_all("all => all.map((one) => one.id)")
        assert out == ["b", "side:1", "c", "side:4"]
        assert page.locator(".notes").get_attribute("data-beside") == "side:2"
        linked = page.locator("p[hidden] a").evaluate_all(
            "all => all.map((one) => one.getAttribute('href'))"
        )
        assert linked == ["#b", "#side:1", "#side:2", "#c", "#side:4"]
        page.close()

    def test_there_is_one_rule_between_two_asides_and_below_a_table(self, browser):
        page = browser.new_page()
        page.set_content(
            "<style>:root { --soft: gray; --text-area: 300px; --line: 20px }"
            f"{combined.STYLE.read_text('utf-8')}</style>"
            "<body style='width: 200px'><div class='aside'></div><div class='aside'>"
            "<summary></summary><div class='table'></div></div>"
        )
        page.emulate_media(media="print")
        rules = page.locator(".aside").evaluate_all("""all => all.map((one) => {
          const { borderTopStyle, borderBottomStyle } = getComputedStyle(one);
          return [borderTopStyle, borderBottomStyle, one.offsetWidth];
        })""")
        assert rules == [["solid", "none", 200], ["solid", "none", 300]]  # as wide as the table
        edges = page.locator(".aside").evaluate_all("""all => all.map((one) => {
          const { top, bottom } = one.getBoundingClientRect();
          return [top, bottom];
        })""")
        (_, foot), (top, _) = edges
        assert foot == top  # two rules may lie beside each other, as a thick one
        page.close()

    def test_a_figure_with_several_sheets_may_part_between_them(self, sheet):
        assert sheet.locator("figure:has(details + details .whole)").count() > 0
        breaks = sheet.locator("figure:has(.whole)").evaluate_all("""all => all.map((one) =>
          [one.querySelectorAll("details .whole").length > 1,
           getComputedStyle(one).breakInside,
           getComputedStyle(one.closest(".cell_output")).breakInside])""")
        assert {(*one,) for one in breaks} == {(True, "auto", "auto"), (False, "avoid", "avoid")}
        drawings = sheet.locator(".tabs > .out").evaluate_all("""all => all.map((one) => {
          const right = one.closest("article").getBoundingClientRect().right;
          const was = one.classList.contains("left");
          one.classList.add("left");
          const over = one.getBoundingClientRect().right - right;
          one.classList.toggle("left", was);
          return Math.round(over);
        })""")
        assert set(drawings) == {0}  # on a sheet at the left, no wider than text and margin

    def test_the_mark_of_a_check_stands_in_the_line_of_the_code_above(self, sheet):
        lines = sheet.locator(".chapter .cell:has(.cell_input) > .check").evaluate_all("""all =>
          all.map((one) => {
            const code = new Range(), input = one.parentElement.querySelector(".cell_input");
            code.selectNodeContents(input.querySelector(".run") ?? input.querySelector("code"));
            const above = one.previousElementSibling.getBoundingClientRect();
            const box = one.getBoundingClientRect();
            return [box.left - code.getBoundingClientRect().left, box.top - above.bottom];
          })""")
        assert len(lines) > 3
        assert all(abs(beside) < 1 and below > 0 for beside, below in lines)

    def test_a_table_with_code_takes_the_whole_width(self, sheet):
        wide = sheet.locator(".aside > .table:has(td code)")
        assert wide.count() > 0
        inside = sheet.evaluate("document.body.clientWidth")
        assert all(one.bounding_box()["width"] > 0.9 * inside for one in wide.all())

    def test_short_code_in_a_line_does_not_part(self, sheet):
        code = sheet.locator(":is(p, li, dd) > code")
        parts = """all => all.filter((one) => one.textContent.length <= 20)
          .map((one) => getComputedStyle(one).whiteSpace)"""
        assert set(code.evaluate_all(parts)) == {"nowrap"}
        assert sheet.locator("code.unbroken wbr").count() == 0

    def test_the_matrices_of_a_sheet_stand_in_a_row_or_the_last_with_company(self, made):
        rows = [
            row
            for tab in made[1].values()
            for row in tab.locator(".bands").evaluate_all("""all => all.map((bands) => {
              const foot = (one) => one.offsetTop + one.offsetHeight;
              const feet = [...bands.children].map(foot);
              return [feet.length, feet.filter((one, i) => !(one - feet[i - 1] < 4)).length,
                      feet.filter((one) => feet.at(-1) - one < 4).length];
            })""")
        ]
        assert {count for _, count, _ in rows} >= {1, 2}
        assert all(count == 1 or last > 1 for count, _, last in rows)
        scaled = made[1]["book"].locator(".one-row")
        assert scaled.count() > 0
        for whole in scaled.all():
            assert 9 / 10 <= float(whole.evaluate("one => one.style.zoom")) + 0.01 < 1.01
            assert (
                whole.locator(".own:visible").count()
                == whole.locator(".band").first.locator(".own:visible").count()
            )

    @pytest.mark.parametrize("width, is_one_row", [(660, True), (675, False)])
    def test_a_sheet_is_a_tenth_smaller_at_most_for_one_row(self, browser, width, is_one_row):
        page = browser.new_page()
        band = f"<div class='band' style='flex: none; width: {width / 3}px; height: 9px'></div>"
        page.set_content(
            "<style>.bands { display: flex; flex-wrap: wrap; width: 600px; }"
            ".one-row .bands { flex-wrap: nowrap; }</style>"
            f"<div class='whole'><div class='bands'>{3 * band}</div></div>"
        )
        page.evaluate(ONE_ROW)
        whole = page.locator(".whole")
        assert whole.evaluate("one => one.matches('.one-row')") == is_one_row
        assert (whole.evaluate("one => one.style.zoom") != "") == is_one_row
        page.close()

    def test_what_is_said_of_a_function_stands_beside_its_name(self, made):
        names = made[1]["examples"].locator(".field-list > dt")
        said = set(names.all_inner_texts())
        assert said >= {"Parameters", "Returns", "Raises", "See also", "Notes", "Examples"}
        places = names.evaluate_all("""all => all.map((one) => {
          const [name, said] = [one, one.nextElementSibling].map((x) => x.getBoundingClientRect());
          return [said.left - name.right, said.top - name.top, getComputedStyle(one).breakAfter];
        })""")
        assert all(gap >= 0 and abs(lower) < 1 for gap, lower, _ in places)
        assert {breaks for *_, breaks in places} == {"auto"}

    def test_the_name_of_a_theorem_stands_beside_it_outside_in_the_list_of_all(self, made, second):
        names = places(second)
        statements = made[1]["examples"].locator(".statement:has(> aside)")
        found = statements.evaluate_all("""all => all.map((one) => {
          const [name, said] = [...one.children].map((x) => x.getBoundingClientRect());
          const last = one.lastElementChild.lastElementChild.getBoundingClientRect();
          const text = one.closest("article").getBoundingClientRect();
          const breaks = (x) => getComputedStyle(x).breakInside;
          return [one.dataset.side, name.left - said.right, said.left - name.right,
            Math.abs(said.left - text.left) < 1, said.bottom - last.bottom,
            breaks(one), breaks(one.firstElementChild)];
        })""")
        assert len(found) > 50
        for name, after, before, in_text, bar, *breaks in found:
            assert (after if names[name] % 2 else before) > 10
            assert in_text
            assert 0 <= bar < 5  # it ends with the text
            assert breaks == ["auto", "avoid"]
        aside = ":scope > aside > .head, :scope > aside > .uses:not(:has(strong))"
        kinds = f"""all => all.map((one) => [one.querySelectorAll("{aside}").length,
          one.querySelectorAll(":scope > aside > *").length])"""
        assert all(known == count for known, count in statements.evaluate_all(kinds))
        roles = statements.locator(".score").evaluate_all("""all => all.map((one) =>
          [one, one.closest("p, li")].map((x) => getComputedStyle(x).color))""")
        assert roles
        assert all(role == around for role, around in roles)
        indents = """all => all.map((one) => one.getClientRects()[0].left +
          parseFloat(getComputedStyle(one).paddingLeft) -
          one.closest("aside").getBoundingClientRect().left)"""
        proofs = statements.locator(".tested > a").evaluate_all(indents)
        assert proofs
        assert all(abs(one) < 0.5 for one in proofs)
        follows = statements.locator("div > .uses + .uses").evaluate_all(
            "all => all.map((one) => getComputedStyle(one).breakBefore)"
        )
        assert set(follows) == {"avoid"}  # what its test found stays together

    def test_what_stands_beside_the_name_of_a_statement_does_not_cover_it(self, made):
        heads = made[1]["examples"].locator(".statement .head:has(.tested > a)")
        covered = heads.evaluate_all("""all => all.map((one) => {
          const boxes = (part) => [...one.querySelector(part).getClientRects()];
          return boxes(".title").some((a) => boxes(".tested > a").some((b) =>
            a.left < b.right && b.left < a.right && a.top < b.bottom - 4 && b.top < a.bottom - 4));
        })""")
        assert len(covered) > 5
        assert not any(covered)
        looks = "all => all.map((one) => getComputedStyle(one).display)"
        assert set(heads.evaluate_all(looks)) == {"block"}

    def test_six_parts_of_an_array_stand_in_one_row(self, browser, tmp_path):
        page = combined.combine(SITE, combined.read(SITE, ["SA081/index.html"]), "examples")
        tab = _opened(browser.new_page(), page, tmp_path / "one.html")
        parts = tab.locator("[id$=expected] .slices").evaluate_all(
            "all => all.map(({ children }) => [...children].map((one) => one.offsetTop))"
        )
        assert {len(tops) for tops in parts} == {6}
        assert all(len(set(tops)) == 1 for tops in parts)
        tab.close()

    def test_the_arrays_of_an_example_stand_in_columns(self, made):
        arrays = made[1]["examples"].locator(".example .columns > .array")
        found = arrays.evaluate_all("""all => all.map((one) => {
          const [around, own] = [one.parentElement, one].map((x) => x.getBoundingClientRect());
          return [10 * (own.left - around.left) / (around.width + 12), one.scrollWidth - own.width];
        })""")
        starts = [start for start, _ in found]
        assert all(abs(start - round(start)) < 0.05 for start in starts)
        assert len({round(start) for start in starts}) > 2
        heads = made[1]["examples"].locator(".example h2:has(+ .columns)")  # not in the grid
        breaks = heads.evaluate_all("all => all.map((one) => getComputedStyle(one).breakAfter)")
        assert breaks == ["avoid", "avoid"]
        assert all(over < 1 for _, over in found)
        rows = arrays.evaluate_all("""all => all.map((one) => [one, ...one.children]
          .map((part) => Math.round(part.getBoundingClientRect().top)))""")
        assert all(a[1:] == b[1:] for a in rows for b in rows if a[0] == b[0])  # on one line
        assert len({row[0] for row in rows}) < len(rows)

    def test_an_example_does_not_begin_at_the_foot(self, browser):
        for room, sheet in ((300, 1), (150, 2)):  # its first arrays need more
            found = on_sheets(
                browser,
                f"<div style='height: {800 - room}px'></div><article class='example' id='a'>"
                "<section><div class='card'>SA</div><p class='why'>Shows</p>"
                "<section><h2>Inputs</h2><div class='columns set' id='b'>"
                "<section class='array'><div style='height: 150px'></div></section></div></section>"
                "</section></article>",
            )
            assert {on for on, _ in found.values()} == {sheet}

    @pytest.mark.parametrize("around", ["{}", "<div class='pair'>{}</div>"])
    def test_what_follows_a_sheet_in_its_example_fills_the_foot_before_it(self, browser, around):
        drawn = "<div class='one' id='{}'><div class='whole' style='height: {}px'></div></div>"
        row = "<tr id='{}'><th>y</th><td>of x</td><td><b>[0]</b><span>1</span></td></tr>"
        text = (
            "<article class='example'><section><p style='height: 400px'>Of</p><section>"
            "<h2><span class='unseen'>Sheet</span></h2>"
            + drawn.format("first", 100)
            + around.format(drawn.format("drawn", "{}"))
            + "</section>"
            "<div class='card record' id='record'>Topics</div><section id='a.steps'><h2 id='step'>"
            "Step by step</h2><div class='table'><table class='steps'><tbody>"
            + "".join(map(row.format, "tu"))
            + "</tbody></table></div></section></section><span id='end:a'></span></article>"
            "<article class='example' id='next'><section>SA2</section></article>"
        )
        fits, high = (on_sheets(browser, text.format(height)) for height in (100, 400))
        assert {sheet for sheet, _ in fits.values()} == {1}
        below = sorted(fits.keys() - {"end:a", "a.steps"}, key=lambda one: fits[one][1])
        assert below == ["first", "drawn", "record", "step", "t", "u", "next"]
        before = {one for one, (sheet, _) in high.items() if sheet == 1}
        assert before == {"first", "record"}
        assert high["drawn"] == (2, pytest.approx(0, abs=1))
        assert high["next"] > high["step"] > high["drawn"]  # nothing cuts the steps in two
        assert high["end:a"][0] == 2  # so the head of that sheet has its name

    def test_matrices_of_examples_are_legible_and_no_break_is_held_back(self, browser):
        page = browser.new_page()
        pages = combined.read(SITE, ["SA016/index.html", "SA107/index.html"])
        book = combined.combine(SITE, pages, "examples")
        page.set_content(html.tostring(book, encoding="unicode"))
        page.emulate_media(media="print")
        for part in ("[id*=on-one-sheet] > h2", ".record", ".steps tbody tr"):
            breaks = page.locator(f".example {part}").evaluate_all("""all => all.map((one) =>
              [getComputedStyle(one).breakBefore, getComputedStyle(one).breakAfter].join())""")
            assert set(breaks) == {"auto,auto"}
        sizes = "all => all.map((one) => getComputedStyle(one).fontSize)"
        wide = page.locator(".example .matrix:has(th:nth-child(15))").evaluate_all(sizes)
        assert wide
        assert len({*wide, *page.locator(".example .matrix").evaluate_all(sizes)}) == 1
        cells = page.locator(".example .whole td[data-at]")
        beside = cells.evaluate_all("""all => all.map((one) => {
          const text = document.createRange();
          text.selectNodeContents(one);
          return one.offsetWidth - text.getBoundingClientRect().width;
        })""")
        assert min(beside) > 0.8  # or a sign touches the number before it
        page.close()

    def test_a_step_says_in_a_line_what_comes_of_what_above_its_numbers(self, made):
        steps = made[1]["examples"].locator(".example .steps")
        assert not steps.locator("thead").first.is_visible()
        rows = steps.locator("tbody tr").evaluate_all("""all => all.map((one) => {
          const [array, made, entry] = [...one.children];
          const last = [...array.getClientRects()].at(-1);
          return [made.getClientRects()[0].top - last.top,
            entry.getBoundingClientRect().top >= made.getBoundingClientRect().bottom - 1,
            entry.offsetWidth / one.offsetWidth,
            one.querySelectorAll("td > span").length > 15, getComputedStyle(one).breakInside];
        })""")
        assert len(rows) > 5
        for beside, is_below, width, is_long, breaks in rows:
            assert abs(beside) < 4
            assert is_below
            assert width == 1
            assert breaks == ("auto" if is_long else "avoid")

    def test_an_array_that_is_tall_begins_a_row(self, browser):
        page = browser.new_page()
        arrays = "<div class='array' style='width: 100px; height: {}px'>A</div>"
        page.set_content(
            "<style>.columns { width: 600px; display: flex; align-items: start; }</style>"
            f"<div class='columns'>{''.join(map(arrays.format, (60, 110, 240, 240, 100)))}</div>"
        )
        page.evaluate(COLUMNS)
        begins = page.locator(".array").evaluate_all(
            "all => all.map((one) => one.style.gridColumnStart)"
        )
        assert begins == ["auto", "auto", "1", "auto", "auto"]
        page.close()

    def test_the_place_of_a_step_stands_beside_its_first_line(self, made):
        entries = made[1]["examples"].locator(".example .steps td:has(> b)")
        lines = entries.evaluate_all("""all => all.map((one) => {
          const [place, line] = [...one.children].map((inner) => inner.getClientRects()[0]);
          return [line.left - place.right, line.top - place.top];
        })""")
        assert len(lines) > 5
        assert all(beside > 0 and abs(below) < 4 for beside, below in lines)

    def test_the_lines_of_a_step_stand_beside_one_another_where_they_fit(self, made):
        entries = made[1]["examples"].locator(".example .steps td:has(> span + span)")
        tops = entries.evaluate_all("""all => all.map((one) =>
          [...one.querySelectorAll("span")].map((line) => line.offsetTop))""")
        assert any(first == second for first, second, *_ in tops)
        gaps = entries.locator("span + span").evaluate_all("""all => all.map((line) =>
          [line.offsetTop - line.previousElementSibling.offsetTop,
           line.offsetLeft - line.previousElementSibling.offsetLeft
           - line.previousElementSibling.offsetWidth])""")
        assert all(beside > 10 for below, beside in gaps if below == 0)
        book = page_of_site("SA021/index.html")
        site = book.xpath("//section[@id='steps']//td[last()]")
        remarks = [one.text_content() for one in book.xpath("//section[@id='steps']//small")]
        shown = made[1]["examples"].locator(".example .steps small").all_text_contents()
        assert len(shown) < len(remarks)
        assert shown == list(dict.fromkeys(remarks))[: len(shown)]  # each is said once
        for remark in book.xpath("//section[@id='steps']//small"):
            remark.drop_tree()
        entries = made[1]["examples"].locator(".example .steps td:last-child")
        here = entries.evaluate_all("""all => all.map((one) => {
          for (const remark of one.querySelectorAll("small")) remark.remove();
          return one.textContent;
        })""")
        assert here == [one.text_content() for one in site][: len(here)]
        assert len(here) > 1

    def test_nothing_is_left_to_press_and_all_is_open(self, sheet):
        assert sheet.locator("button, form, select, script, .copy, nav").count() == 0
        assert sheet.locator("details:not([open])").count() == 0
        assert sheet.locator(".proof").count() > 0
        assert sheet.locator("article.chapter .exercise .solution").count() == 0

    def test_every_exercise_leads_to_its_solution_and_back(self, sheet):
        asked = sheet.locator(".exercise, .room").count()
        assert asked == sheet.locator(".to-solution a").count() > 5
        for link in sheet.locator(".solution h3 .at").all():
            label = (link.get_attribute("href") or "")[1:]
            assert sheet.locator(f"[id='{label}']:is(.exercise, .room)").count() == 1

    def test_answers_to_choose_from_stand_in_a_line_below_the_solution(self, sheet):
        places = sheet.locator(".room").evaluate_all("""all => all.map((one) => {
          const box = (part) => part.getBoundingClientRect();
          const answers = [...one.querySelectorAll("li")].map(box);
          const [room, solution] = [one, one.querySelector(".to-solution")].map(box);
          return [answers.length, new Set(answers.map(({ top }) => top)).size,
            solution.top > room.top + 5 && solution.right < room.right - 5,
            solution.bottom < answers[0].top];
        })""")
        assert len(places) > 2
        assert set(map(tuple, places)) == {(4, 1, True, True)}

    def test_slips_stand_in_three_columns_with_their_heads(self, made, second):
        lefts = (
            "all => [...new Set(all.map((one) => Math.round(one.getBoundingClientRect().left)))]"
        )
        guide = made[1]["examples"].locator("[id='examples/slips']")
        columns = guide.locator(".slip").evaluate_all(lefts)
        assert len(columns) == 3
        heads = guide.locator("h2:has(~ .cards)").evaluate_all(lefts)
        assert set(heads) <= set(columns)
        assert len(heads) > 1
        first = places(second)["slips-roles"]  # not below the table, which would part a card
        assert first == places(second)["examples/slips"] + 1
        (end,) = guide.locator("section:has(> #how-others-test)").all()
        assert end.evaluate("one => one.offsetWidth") == SHEET["width"]
        assert end.evaluate("one => getComputedStyle(one).columnCount") == "2"

    def test_the_name_of_an_exercise_stands_beside_its_solution(self, sheet):
        solutions = sheet.locator(".solution")
        places = solutions.evaluate_all("""all => all.map((one) => {
          const [name, answer] = [...one.children].map((part) => part.getBoundingClientRect());
          const { left, right } = one.getBoundingClientRect();
          return { beside: Math.max(answer.left - name.right, name.left - answer.right),
            below: name.bottom - answer.bottom, lower: name.top - answer.top,
            within: [...one.querySelectorAll(".cell")].every((part) =>
              part.getBoundingClientRect().right <= right) };
        })""")
        assert len(places) > 5
        assert {one["lower"] for one in places} == {0}
        assert all(one["beside"] > 4 and one["below"] <= 0 and one["within"] for one in places)


def test_a_page_on_paper_has_notes_in_its_margin_and_solutions_after_its_exercises(browser):
    page = browser.new_page(viewport=SHEET)
    page.goto((SITE / LESSON).as_uri())
    page.emulate_media(media="print")
    text = page.locator("main").bounding_box()
    notes = page.locator("main .notes:not(#further-reading *)")
    assert notes.count()
    for note in (one.bounding_box() for one in notes.all()):
        assert text["x"] + text["width"] < note["x"]
        assert note["x"] + note["width"] <= SHEET["width"]
    sources = page.locator("#further-reading .noted").last  # below what names them
    named, beside = (sources.locator(one).bounding_box() for one in ("p", ".notes"))
    assert beside["y"] > named["y"]
    assert beside["x"] == named["x"]
    last = page.locator(".exercise").last.bounding_box()
    assert all(one.bounding_box()["y"] > last["y"] for one in page.locator(".solution").all())
    head = page.locator("head style").inner_text()
    assert 'content: "Self-attention, computed · Causal masking"' in head
    assert 'content: "The causal mask"' in head
    moves = page.locator("figure#fig-masking-two-banks")
    address = moves.evaluate("""figure =>
        getComputedStyle(figure).getPropertyValue("--address")""")
    assert "masking.html" in address
    assert "var" not in moves.evaluate("figure => getComputedStyle(figure, '::after').content")
    page.close()


def test_a_published_site_links_the_pdf_on_every_page(tmp_path):
    site, pdf = tmp_path / "site", tmp_path / "book.pdf"
    pdf.write_bytes(b"%PDF")
    for name in ("a.html", "below/b.html"):
        page = site / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text('<main></main><footer class="foot">\n<p>All</p>\n<p>Version</p></footer>')
    published.add_edition(site, pdf, "The book")
    assert (site / pdf.name).read_bytes() == b"%PDF"
    assert check_site(site) == []
    assert '<p>All <a href="../book.pdf">The book as PDF</a></p>' in page.read_text()


def test_the_foot_of_the_site_takes_the_link():
    moved_away = {SITE / f"{old}.html" for old in moved.PAGES}
    pages = set(SITE.glob("*/*.html")) - moved_away
    assert all(published.FOOT.search(page.read_text("utf-8")) for page in pages)
