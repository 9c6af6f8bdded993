"""Every page has the form that CONTRIBUTING.md describes."""

import ast
import re

import pytest
import yaml

from press.site.moved import former
from tests.pages.sources import BOOK, ROOT, cells, lessons, pages, prose, relative

PAGES = pages()
EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=relative)
EVERY_LESSON = pytest.mark.parametrize("page", lessons(), ids=relative)

SECTIONS = ["The rule", "What can go wrong", "Exercises", "In practice", "Further reading"]


def stems(page):
    """Return the names of a page: its own, and those of pages that are now a part of it."""
    return [page.stem, *(old.rpartition("/")[2] for old in former(relative(page)))]


class TestAllPages:
    def test_every_file_of_the_book_is_in_the_table_of_contents(self):
        written = [p for p in BOOK.rglob("*.md") if not re.fullmatch(r"SA\d{3}", p.stem)]
        unlisted = [relative(page) for page in written if page not in PAGES]
        assert not unlisted, f"not in _toc.yml: {', '.join(unlisted)}"
        assert sorted(written) == sorted(PAGES)

    @EVERY_PAGE
    def test_the_label_of_a_page_is_its_path(self, page):
        name = relative(page)
        full = name.replace("/", "-").replace("_", "-")
        label = re.search(r"^\((.+)\)=\n# ", page.read_text("utf-8"), re.M)
        assert label, f"{name}: no label before the title"
        short = full.removeprefix("reference-")
        assert label[1] in {full, short, short.removesuffix("-index")}

    @EVERY_PAGE
    def test_a_page_with_cells_says_which_kernel_and_one_without_starts_none(self, page):
        text = page.read_text("utf-8")
        assert text.startswith("---\nfile_format: mystnb\n") == bool(cells(text))

    @EVERY_PAGE
    def test_labels_are_not_numbered(self, page):
        text = page.read_text("utf-8")
        for label in re.findall(r"^\((.+)\)=$|:label: (.+)$|\(eq-([\w-]+)\)$", text, re.M):
            assert not re.search(r"\d", "".join(label)), f"{relative(page)}: label {label}"

    @EVERY_PAGE
    def test_every_cell_is_python_that_parses(self, page):
        text = page.read_text("utf-8")
        for cell in cells(text):
            ast.parse(cell.code)
        assert len(cells(text)) == text.count("{code-cell}"), "a cell has another form"

    @EVERY_PAGE
    def test_visible_cells_are_short_and_import_what_a_notebook_has(self, page):
        for cell in cells(page.read_text("utf-8")):
            if not cell.visible:
                continue
            lines = [line for line in cell.code.splitlines() if line.strip()]
            assert len(lines) <= 12, f"{relative(page)}: {len(lines)} lines from {lines[0]!r}"
            assert max(map(len, lines)) <= 76, f"{relative(page)}: a long line in {lines[0]!r}"
            for node in ast.walk(ast.parse(cell.code)):
                names = []
                if isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                elif isinstance(node, ast.ImportFrom):
                    names = [node.module or ""]
                # time: one page measures what a step of generation takes; plots: test_plots.py
                known = {"numpy", "selfattn_ref", "time", "matplotlib"}
                assert {name.split(".")[0] for name in names} <= known, names

    def test_a_folded_program_runs_as_it_stands(self, capsys):
        from selfattn_ref.worked_examples import load

        text = (BOOK / "reference" / "data-format.md").read_text("utf-8")
        (cell,) = (cell for cell in cells(text) if "hide-input" in cell.tags)
        exec(cell.code, {})
        assert capsys.readouterr().out.endswith(f"\n{load('SA005').digest}\n")

    @EVERY_PAGE
    def test_every_figure_has_a_caption_and_a_description(self, page):
        for cell in cells(page.read_text("utf-8")):
            if "charts." not in cell.code or "import charts" in cell.code:
                continue
            figure = cell.options.get("mystnb", {}).get("figure", {})
            assert figure.get("caption", "").strip(), f"{relative(page)}: a figure has no caption"
            names = tuple(f"fig-{stem}-" for stem in stems(page))
            assert figure["name"].startswith(names), figure["name"]
            assert "alt=" in cell.code, f"{relative(page)}: {figure['name']} has no alt"

    @EVERY_PAGE
    def test_a_loaded_example_is_checked(self, page):
        code = "\n".join(cell.code for cell in cells(page.read_text("utf-8")))
        for line in re.findall(
            r"^(.+) = (load\(\"SA\d{3}\"\)(?:, load\(\"SA\d{3}\"\))*)$", code, re.M
        ):
            for name, example in zip(*(part.split(", ") for part in line), strict=True):
                assert f"{name}.check(" in code, f"{relative(page)}: {example} is not checked"

    def test_every_example_is_used_by_the_page_that_it_names(self):
        from derivations import broadcasting, cases, options, structure
        from selfattn_ref.worked_examples import ids, load

        names = {relative(page): page.read_text("utf-8") for page in PAGES}
        for example_id in ids():
            page, function = load(example_id).page, load(example_id).derivation.function
            # A case of the field stands for itself; its page teaches what it is about. The page
            # of an example may be written later than its numbers.
            modules = (broadcasting, cases, options, structure)
            of_the_field = any(hasattr(m, function) for m in modules)
            if page in names and not of_the_field:
                assert f'"{example_id}"' in names[page], f"{page} does not use {example_id}"


class TestLessons:
    @EVERY_LESSON
    def test_its_head_names_its_question_and_its_level(self, page):
        head = yaml.safe_load(page.read_text("utf-8").split("---\n")[1])
        assert head["question"].endswith("?")
        assert re.fullmatch("[123](–[123])?", str(head["level"]))

    @EVERY_LESSON
    def test_it_says_what_the_reader_will_do_and_need(self, page):
        opening = prose(page.read_text("utf-8")).split("\n# ")[1].split("\n## ")[0]
        assert "\nYou will " in opening
        assert "\nYou need " in opening

    @EVERY_LESSON
    def test_its_sections_stand_in_order(self, page):
        found = re.findall(r"^## (.+)$", page.read_text("utf-8"), re.M)
        expected = list(SECTIONS)
        if page.parent.name == "analogies":  # what goes wrong with an analogy is that it ends
            expected[1] = "Where it breaks"
        assert [title for title in found if title in {*SECTIONS, *expected}] == expected

    @EVERY_LESSON
    def test_it_has_a_figure_and_a_labeled_equation(self, page):
        text = page.read_text("utf-8")
        assert f"name: fig-{page.stem}-" in text
        assert re.search(r"^\$\$ \(eq-[a-z-]+\)$", text, re.M)

    @EVERY_LESSON
    def test_it_has_two_to_five_exercises_each_with_a_hidden_solution(self, page):
        text = page.read_text("utf-8")
        exercises = re.findall(r"\{exercise-start\}\n:label: (ex-[\w-]+)", text)
        solutions = re.findall(r"\{solution-start\} (ex-[\w-]+)\n:class: dropdown", text)
        names = tuple(f"ex-{stem}-" for stem in stems(page))
        assert 2 <= len(exercises) <= 5 * len(names)
        assert solutions == exercises
        assert all(name.startswith(names) for name in exercises)

    @EVERY_LESSON
    def test_some_solution_runs(self, page):
        text = page.read_text("utf-8")
        solutions = re.findall(r"\{solution-start\}.*?\{solution-end\}", text, re.S)
        assert any("{code-cell}" in solution for solution in solutions)

    @EVERY_LESSON
    def test_it_cites_a_source(self, page):
        assert "{cite:" in page.read_text("utf-8")


class TestApiPages:
    def test_every_public_name_is_described_once(self):
        import selfattn_ref
        from selfattn_ref.worked_examples import adapters, generated, recipes

        folder = BOOK / "reference" / "api"
        described = []
        for page in folder.glob("*.md"):
            described += re.findall(r"auto(?:function|class):: (\w+)", page.read_text("utf-8"))
        examples = ["Call", "WorkedExample", "WorkedExampleMismatch", "cases", "ids", "load"]
        examples += ["Outcome", "Report", "calls", "report"]
        parts = [
            *{*adapters.__all__} - {"LIKE"},
            *generated.__all__,
            *recipes.__all__,
            "Slip",
            "matrix",
        ]
        public = [*selfattn_ref.__all__, *examples, *parts]
        assert sorted(described) == sorted(public)

    def test_every_module_has_a_page_of_its_name(self):
        modules = {
            path.stem
            for path in (ROOT / "selfattn_ref").glob("[a-z]*")
            if path.suffix == ".py" or (path / "__init__.py").exists()
        }
        described = {path.stem for path in (BOOK / "reference" / "api").glob("*.md")} - {"index"}
        assert described == modules


def test_what_a_link_calls_below_or_above_is_there():
    found = 0
    for page in pages():
        text = page.read_text("utf-8")
        for link in re.finditer(r"\[[^\]]*\b(below|above)\b[^\]]*\]\(#([^)]*)\)", text):
            way, name = link[1], re.escape(link[2])
            label = re.search(rf"^(\({name}\)=|:label: {name}|    name: {name})$", text, re.M)
            assert label, f"{link[0]} leads to another page"
            assert (label.start() > link.start()) == (way == "below"), link[0]
            found += 1
    assert found > 5
