"""The page of an example shows what its data says, all of it, and no more."""

import json
import re
import shutil
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml
from bs4 import BeautifulSoup
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.utils import new_document
from sphinx_external_toc.parsing import parse_toc_yaml

from press.example import catalog, data, id_links, sheets, tables
from press.example import page as example_page
from press.site import sources
from selfattn_ref import __version__ as VERSION
from selfattn_ref.worked_examples import ids, load
from tests.pages.sources import BOOK, ROOT, lessons, relative

DATA = ROOT / "selfattn_ref" / "worked_examples" / "data"
DOCUMENTS = {path.stem: json.loads(path.read_text("utf-8")) for path in DATA.glob("SA*.json")}
AXES = " ".join(axis.replace(" ", "") for axis in load("SA054").inputs["axes"])
DISTANCES = " ".join(f"distance{number}" for number in range(-4, 5)).replace("-", "−")
EVERY_EXAMPLE = pytest.mark.parametrize("example_id", sorted(DOCUMENTS))


def text_of(page):
    """Return what a reader of the page sees."""
    found = []
    for top in page:
        for node in top.findall(lambda n: isinstance(n, nodes.raw | nodes.Text)):
            if isinstance(node, nodes.raw):
                found.append(BeautifulSoup(node.astext(), "lxml").text)
            elif isinstance(node, nodes.Text) and not isinstance(node.parent, nodes.raw):
                found.append(node.astext())
    return " ".join(found)


def number(cell):
    """Read a cell as a person does."""
    power = cell.sup.extract().text if cell.sup else "0"
    mantissa = cell.text.partition("×")[0]
    return float(f"{mantissa}e{power}".replace("−", "-"))


def flat(value):
    return [entry for part in value for entry in flat(part)] if isinstance(value, list) else [value]


class TestTables:
    @EVERY_EXAMPLE
    def test_every_entry_stands_in_its_place_with_six_digits_and_rows_are_of_one_length(
        self, example_id
    ):
        document = DOCUMENTS[example_id]
        for name, entry in {**document["inputs"], **document["expected"]}.items():
            if not isinstance(entry["value"], list):
                continue
            drawn = BeautifulSoup(tables.tables(name, document), "lxml")
            for table in drawn("table"):
                assert len({len(row(["td", "th"])) for row in table("tr")}) == 1, name
            cells = drawn.select("tbody td")
            wanted = flat(entry["value"])
            assert len(cells) == len(wanted), name
            for cell, value in zip(cells, wanted, strict=True):
                if isinstance(value, bool):
                    assert cell.select_one(".unseen").text == str(value)
                elif isinstance(value, str):
                    assert cell.text == value
                elif abs(value) < 1e-3:
                    assert number(cell) == pytest.approx(value, rel=5.1e-6, abs=0)
                else:
                    assert number(cell) == pytest.approx(value, rel=0, abs=5.1e-7)

    @EVERY_EXAMPLE
    def test_the_list_below_a_table_has_all_digits(self, example_id):
        document = DOCUMENTS[example_id]
        for entry in {**document["inputs"], **document["expected"]}.values():
            assert eval(tables.digits(entry["value"]), {}) == entry["value"]

    @pytest.mark.parametrize(
        "example_id, name, rows, columns",
        [
            ("SA001", "cosine", "bat cave racket", "bat cave racket"),
            ("SA007", "weights_river", "River Bank Flows", "River Bank Flows"),
            ("SA007", "context_money", "Money Bank Grows", "0 1 2"),
            ("SA008", "w_query", "0 1 2", "0 1 2"),
            ("SA009", "w_value", "0 1 2", "0 1 2"),
            ("SA009", "key", "Money Bank Grows", "0 1 2"),
            ("SA013", "key", "alex alexa max zoe", "0 1"),
            ("SA013", "scores", "alex alec", "alex alexa max zoe"),
            ("SA016", "weights", "query0 query1 query2 query3", "key0 key1 key2 key3"),
            ("SA018", "variance", "", "width1 width2 width4"),
            ("SA025", "scores_with_cache", "", "cat walks by the bank vault"),
            ("SA026", "w_output", "0 1 2 3", "0 1 2 3"),
            ("SA028", "output_reversed", "man bites dog", "0 1"),
            ("SA028", "output_cycled", "bites man dog", "0 1"),
            ("SA028", "encoding", "position0 position1 position2", "0 1 2 3"),
            ("SA029", "scores_by_distance", "", DISTANCES),
            ("SA032", "targets", "", "walks by the bank"),
            ("SA035", "weights", "temperature0.25 temperature1 temperature4", "key0 key1 key2"),
            ("SA037", "embeddings", "money bank grows river flows", "money water unclear"),
            (
                "SA081",
                "mask_of_batch",
                "anyquery anyquery",
                " ".join(2 * [f"key{i}" for i in range(7)]),
            ),
            ("SA054", "w_key_second", AXES, "start river bank flows money"),
            # The names of 18 columns leave no room for their numbers.
            (
                "SA054",
                "w_output_first",
                "start river bank flows money",
                " ".join(map(str, range(18))),
            ),
        ],
    )
    def test_heads_are_those_of_the_axes(self, example_id, name, rows, columns):
        drawn = BeautifulSoup(tables.tables(name, DOCUMENTS[example_id]), "lxml")
        heads = {
            scope: " ".join(th.text.replace(" ", "") for th in drawn(scope=scope))
            for scope in ("row", "col")
        }
        assert heads == {"row": rows, "col": columns}

    def test_its_role_is_its_color_and_an_array_without_one_has_none(self):
        for name, color in (("weights", "weight"), ("w_query", "query"), ("embeddings", "soft")):
            drawn = tables.tables(name, DOCUMENTS["SA009"])
            assert re.findall(r'role:var\(--(\w+)\)">', drawn) == [color]

    def test_an_array_of_more_than_two_dimensions_is_one_table_for_each_matrix(self):
        drawn = BeautifulSoup(tables.tables("weights", DOCUMENTS["SA013"]), "lxml")
        captions = [caption.text for caption in drawn("caption")]
        scales = DOCUMENTS["SA013"]["inputs"]["scales"]["value"]
        assert captions == [f"scale {scale}" for scale in scales]

    @pytest.mark.parametrize(
        "example_id, name, thing",
        [
            ("SA027", "key_heads", "key/value head"),
            ("SA030", "block_weighted", "query"),
            ("SA105", "query", "sequence"),
            *(("SA041", name, "sentence") for name in ("query", "mask", "weights", "output")),
        ],
    )
    def test_a_table_says_what_it_is_of(self, example_id, name, thing):
        drawn = BeautifulSoup(tables.tables(name, DOCUMENTS[example_id]), "lxml")
        assert [caption.text for caption in drawn("caption")] == [f"{thing} 0", f"{thing} 1"]


class TestPage:
    @EVERY_EXAMPLE
    def test_it_names_and_describes_everything_but_no_file_of_a_source(self, example_id):
        document = DOCUMENTS[example_id]
        sections = example_page.page(document, {document["page"]})
        names = {
            name
            for top in sections
            for node in top.findall(lambda n: isinstance(n, nodes.section | nodes.entry))
            for name in node["ids"]
        }
        assert {*document["inputs"], *document["expected"]} <= names
        text = text_of(sections)
        assert ".txt" not in text  # no file of a source
        assert not re.search(r"\d{3}_[0-9a-f]{16}", json.dumps(document))
        page = re.sub(r"\W", "", text)
        said = [document["title"], document["why"], document["provenance"]["corrects"] or ""]
        said += [entry["description"] for entry in document["inputs"].values()]
        for text in said:
            if not re.search(r"\w_\w|[ᵀ√]", text):  # which become formulas and code
                assert re.sub(r"\W", "", text) in page

    @pytest.mark.parametrize(
        "example_id, relative",
        [("SA016", True), ("SA090", False)],  # where that part is 0
    )
    def test_it_says_by_how_much_a_number_may_be_off(self, example_id, relative):
        document = DOCUMENTS[example_id]
        assert bool(document["tolerance"]["relative"]) is relative
        page = text_of(example_page.page(document, {document["page"]}))
        assert ("times the absolute value of the expected one" in page) is relative

    @pytest.mark.parametrize("example_id", ["SA009", "SA026", "SA053"])
    def test_it_says_what_its_sheets_divide_by_as_they_do(self, example_id):
        (drawn,) = sheets.section_of(DOCUMENTS[example_id])
        page = BeautifulSoup(drawn.children[-1].astext(), "lxml")
        calls = [
            (
                {dt.text for dt in call("dt") if dt.text.startswith("÷")},
                {by.text.strip() for by in call("span", class_="by")} - {""},
            )
            for call in page("details", class_="one")
            if call("dt")
        ]
        assert any(said for said, _ in calls)
        assert all(said == divided for said, divided in calls)

    @pytest.mark.parametrize(
        "example_id, said",  # one has seven calls for two sequences with three heads
        [("SA081", [f"These are the first 6 of {7 * 2 * 3} sheets."]), ("SA009", [])],
    )
    def test_it_says_how_many_of_its_sheets_are_drawn(self, example_id, said):
        (drawn,) = sheets.section_of(DOCUMENTS[example_id])
        page = BeautifulSoup(drawn.children[-1].astext(), "lxml")
        assert [one.text for one in page("p", class_="uses")] == said
        assert len(page.find_all(id=re.compile("^sheet"))) <= 6

    def test_a_sheet_is_named_after_the_axis_that_it_is_a_part_of(self):
        names = {sheet.head for sheet in sheets.of_example("SA108")}  # one query for both
        assert names == {"sequence 0", "sequence 1"}

    def test_a_source_is_one_that_the_page_of_the_sources_has(self):
        text = (BOOK / "reference" / "sources-and-corrections.md").read_text("utf-8")
        sources = {document["provenance"]["source"] for document in DOCUMENTS.values()} - {None}
        assert sources <= set(re.findall("^## (.+)$", text, re.M))
        assert len(sources) > 3

    def test_it_says_that_the_library_agrees_only_where_it_does(self, monkeypatch):
        import selfattn_ref
        from selfattn_ref.worked_examples import WorkedExampleMismatch

        assert "80 values" in example_page.agreement(DOCUMENTS["SA016"])
        monkeypatch.setattr(selfattn_ref, "causal_mask", lambda n: np.ones((n, n), dtype=bool))
        with pytest.raises(WorkedExampleMismatch, match="SA016"):
            example_page.agreement(DOCUMENTS["SA016"])


class TestCard:
    def card(self, example_id, found=DOCUMENTS, base=""):
        pages = {"causal/masking", *(f"examples/{name}" for name in DOCUMENTS)}
        parts = example_page.card(DOCUMENTS[example_id], pages, found, base)
        return "".join(part.astext() for part in parts)

    def test_it_says_what_is_certain(self):
        said = self.card("SA016")
        document = DOCUMENTS["SA016"]
        for fact in (f"version {document['since']}, ", document["released"], document["why"]):
            assert fact in said
        assert "✓ 80 values agree with the library, within 10−1" in said
        assert f"SA016@{VERSION}#sha256:{load('SA016').digest}<" in said
        assert ">/SA016/<" in said
        assert ">https://book.test/SA016/<" in self.card("SA016", base="https://book.test")

    def test_what_has_moved_from_a_page_is_where_its_old_address_leads(self):
        for page, names in sources.MOVED.items():
            before = sources.places((ROOT / f"{page}.py").read_text("utf-8"))
            for old, to in names.items():
                module, _, name = to.partition(".html#")
                assert old not in before
                assert name in sources.places((ROOT / f"{module}.py").read_text("utf-8"))

    def test_the_examples_before_and_after_are_a_step_away(self):
        assert re.findall(r'href="\.\./(SA\d+)/', self.card("SA016")) == ["SA015", "SA017"]
        first, *_, last = sorted(DOCUMENTS)
        assert len(re.findall(r'href="\.\./SA', self.card(first) + self.card(last))) == 2
        assert example_page.beside("SA016", {"examples/SA016"}) == '<span class="beside"></span>'
        assert ">All examples</a>" in example_page.beside("SA016", {"examples/index"})

    def test_one_that_was_corrected_says_by_which(self):
        assert "Superseded" not in self.card("SA016")
        newer = {**DOCUMENTS["SA016"], "supersedes": "SA016"}
        assert "Superseded by\n\nSA999" in self.card("SA016", {**DOCUMENTS, "SA999": newer})

    def test_one_that_is_withdrawn_says_why_and_is_tested_no_more(self, monkeypatch):
        monkeypatch.setattr(example_page, "agreement", lambda data: pytest.fail("it is compared"))
        withdrawn = {"on": "2027-01-31", "because": "The mask is upside down.", "see": "SA022"}
        document = {**DOCUMENTS["SA016"], "withdrawn": withdrawn}
        page = text_of(example_page.page(document, set(), DOCUMENTS))
        assert "withdrawn  on 2027-01-31: The mask is upside down. See SA022." in page
        assert "−0.505983" in page
        for gone in ("✓", "Tested in", "Notebook", "Test a function", "Slips"):
            assert gone not in page
        assert not catalog.facets_of(document, "")["function"]


class TestFilters:
    def test_every_example_has_the_part_and_the_level_of_the_page_that_teaches_it(self):
        front = {path: path.read_text("utf-8").split("---\n")[1] for path in lessons()}
        levels = {
            relative(path): str(yaml.safe_load(text)["level"]) for path, text in front.items()
        }
        contents = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
        captions = {
            chapter["file"].split("/")[1]: part["caption"]
            for part in contents["parts"]
            for chapter in part["chapters"]
            if "file" in chapter
        }
        app: Any = SimpleNamespace(srcdir=str(ROOT))
        app.env = SimpleNamespace(
            external_site_map=parse_toc_yaml(ROOT / "_toc.yml"),
            found_docs={f"book/{page}" for page in levels},
            metadata={f"book/{page}": {"level": level} for page, level in levels.items()},
        )
        (drawn,) = catalog.Catalog.content(app)
        seen = set()
        for card in BeautifulSoup(drawn.astext(), "lxml").select("article"):
            name = str(card.b.text)
            seen.add(name)
            page = DOCUMENTS[name]["page"]
            level = [one[6:] for one in card["class"] if one.startswith("level-")]
            assert level == levels.get(page, "").split("–") * (page in levels), name
            assert card.find_parent("section").h2.text == captions[page.split("/")[0]], name
            assert card.select("svg.stamp"), name
        assert seen == {*DOCUMENTS}

    def test_a_card_has_a_class_for_all_that_it_is_found_by(self):
        facets = catalog.facets_of(DOCUMENTS["SA043"], "2–3")
        card = BeautifulSoup(catalog.card(DOCUMENTS["SA043"], facets), "lxml").article
        wanted = {"topic-masking", "function-causal_mask", "kind-convention", "level-2", "level-3"}
        assert wanted <= {*card["class"]}
        assert {"topic-softmax", "kind-must_raise", "level-1"}.isdisjoint(card["class"])

    def test_every_choice_says_how_many_it_leaves(self):
        facets = [catalog.facets_of(data, "") for data in DOCUMENTS.values()]
        form = BeautifulSoup(catalog.filters(facets, catalog.FACETS), "lxml")
        assert [label.find(string=True) for label in form("label")] == [*catalog.FACETS.values()]
        for option in form.select("[name=function] option")[1:]:
            assert option.text == f"{option['value']} ({len(ids(function=option['value']))})"
        assert len(form.select("[name=function] option")) > 10


class TestSources:
    @pytest.fixture
    def book(self, tmp_path):
        shutil.copytree(DATA, tmp_path / data.DATA)
        (tmp_path / "book").mkdir()
        example_page.write_sources(tmp_path)
        return tmp_path

    def test_there_is_one_for_every_example(self, book):
        found = {path.stem for path in (book / "book" / "examples").iterdir()}
        assert found == set(DOCUMENTS)

    def test_new_data_makes_one_and_data_that_is_gone_removes_it(self, book):
        folder = book / "book" / "examples"
        before = (folder / "SA002.md").stat().st_mtime_ns
        (folder / "index.md").write_text("# All\n")
        new = {**DOCUMENTS["SA001"], "id": "SA999", "title": "A new one"}
        (book / data.DATA / "SA999.json").write_text(json.dumps(new))
        (book / data.DATA / "SA001.json").unlink()
        example_page.write_sources(book)
        assert "# SA999: A new one\n" in (folder / "SA999.md").read_text()
        assert not (folder / "SA001.md").exists()
        assert (folder / "index.md").exists()
        assert (folder / "SA002.md").stat().st_mtime_ns == before


# As much of Sphinx as the links need.
APP: Any = SimpleNamespace(
    srcdir=str(ROOT),
    env=SimpleNamespace(
        found_docs={"book/examples/SA005", "book/examples/SA016"},
        titles={f"book/examples/{n}": nodes.title("", f"{n}: It") for n in ("SA005", "SA016")},
    ),
    builder=SimpleNamespace(
        format="html",
        get_relative_uri=lambda page, name: f"../{name.rpartition('/')[2]}/index.html",
    ),
)


class TestIds:
    def linked(self, *children, page="book/causal/masking"):
        document = new_document("page", get_default_settings())
        text = nodes.paragraph("", "", *children)
        document += nodes.section("", nodes.title("", "On SA016"), text)
        id_links.link_ids(APP, document, page)
        return document

    def test_every_mention_in_running_text_is_a_link(self):
        document = self.linked(nodes.Text("SA016, then SA005 (and SA016)."))
        links = [(n.astext(), n["refuri"]) for n in document.findall(nodes.reference)]
        assert links == [(n, f"../{n}/index.html") for n in ("SA016", "SA005", "SA016")]
        assert document[0][1].astext() == "SA016, then SA005 (and SA016)."

    def test_each_has_one_card(self):
        document = self.linked(nodes.Text("SA016, then SA005 (and SA016)."))
        cards = "".join(n.astext() for n in document.findall(nodes.raw))
        assert re.findall(r'id="about-(\w+)"', cards) == ["SA016", "SA005"]
        assert "Causal mask, step by step" in cards

    def test_code_headings_and_links_stay_as_they_are(self):
        document = self.linked(
            nodes.literal("", 'load("SA016")'), nodes.reference("", "SA005", refuri="#")
        )
        assert [n["refuri"] for n in document.findall(nodes.reference)] == ["#"]

    def test_an_id_that_does_not_exist_is_no_link(self):
        assert not list(self.linked(nodes.Text("SA999")).findall(nodes.reference))
