"""How something is cited: each format says the same, and readers of that format understand it."""

import json
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from pybtex.database import parse_string
from pybtex.plugin import find_plugin

from press.measure.latex import BAD, documents, entries, with_biblatex
from press.site import commit, moved
from press.site.citation import Work, _tex
from press.site.rights import AUTHORS
from selfattn_ref.worked_examples import ids
from tests.pages.sources import BOOK, ROOT, labels, pages, relative
from tests.support.earlier import at_tags

NAME = "Self-attention, computed"
BOOK_ITSELF = Work(NAME, "1.2.3", "2026-11-20")
CHAPTER = Work(
    NAME,
    "1.2.3",
    "2026",
    is_released=False,
    at="scaling/what.html",
    title="What d_k & √ do: 100 % {sure}?",
)
THEOREM = Work(
    NAME,
    "1.2.3",
    "2026-11-20",
    at="scaling/what.html#thm-it",
    base="https://book.test",
    title="Theorem 7 (It is “so”)",
    page="What d_k does",
)
EXAMPLE = Work(
    NAME,
    "1.2.3",
    "2026-01-02",
    at="SA036/",
    title="Two “banks”",
    example="SA036",
    digest="0123456789abcdef" * 4,
)
EVERY = pytest.mark.parametrize(
    "work", [BOOK_ITSELF, CHAPTER, THEOREM, EXAMPLE], ids=lambda work: work.key
)
# Under which name a list of references has it: with what stays, where there is such a thing.
NAMES = {
    "selfattn-ref": NAME,
    "selfattn-ref-scaling-what": "What d_k & √ do: 100 % {sure}?",
    "selfattn-ref-thm-it": "Theorem 7 (It is “so”), thm-it",
    "selfattn-ref-SA036": "SA036: Two “banks”",
}
PIN = f"SA036@1.2.3#sha256:{'0123456789abcdef' * 4}"
PAGE = (BOOK / "reference" / "how-to-cite.md").read_text("utf-8")


def typeset(*works):
    """Return the references that the style plain makes of our BibTeX for LaTeX."""
    data = parse_string("\n".join(work.bibtex() for work in works), "bibtex")
    style = find_plugin("pybtex.style.formatting", "plain")()
    written = StringIO()
    formatted = style.format_bibliography(data)
    find_plugin("pybtex.backends", "latex")().write_to_stream(formatted, written)
    items = re.split(r"\\bibitem(?:\[.*?\])?\{[^}]*\}\n", written.getvalue())[1:]
    items = [item.replace("\\newblock ", "").replace("\\emph {", "\\emph{") for item in items]
    return [" ".join(item.split()) for item in items]


class TestFormats:
    @EVERY
    def test_bibtex_is_read_by_a_parser_of_bibtex(self, work):
        (entry,) = parse_string(work.bibtex(), "bibtex").entries.values()
        (author,) = entry.persons["author"]
        assert str(author) == "{The selfattn\\_ref contributors}"  # one name, not two
        assert entry.fields["year"] == "2026"
        assert work.bibtex().isascii()
        assert ("month" in entry.fields) == ("-" in work.date)

    def test_a_title_is_escaped_for_tex(self):
        titles = [parse_string(w.bibtex(), "bibtex").entries[w.key].fields["title"]
                  for w in (CHAPTER, EXAMPLE)]  # fmt: skip
        assert titles[0] == r"{What d\_k \& $\surd$ do: 100 \% \{sure\}?}"
        assert titles[1] == r"{SA036: Two ``banks''}"
        with pytest.raises(ValueError, match="translate"):
            Work(NAME, "1", "2026", title="ᵀ").bibtex()

    def test_latex_typesets_it(self):
        book, chapter, theorem, example = (typeset(work)[0] for work in
                                           (BOOK_ITSELF, CHAPTER, THEOREM, EXAMPLE))  # fmt: skip
        author = r"The selfattn\_ref contributors"
        inside = r"\emph{Self-attention, computed}, version 1.2.3"
        for item in (book, chapter, theorem, example):
            assert item.replace("{", "").startswith(author)
        assert "Version 1.2.3, November 2026." in book
        assert f"In {inside} (not yet released), 2026." in chapter
        assert "scaling/what.html." in chapter
        assert f"In “What d\\_k does”, {inside}, November 2026." in theorem
        assert "book.test/scaling/what.html" in theorem
        assert f"Worked example in {inside}, January 2026." in example
        assert f"{PIN.replace('#', chr(92) + '#')}." in example.replace("cdef ", "cdef")

    @EVERY
    def test_each_format_gives_the_same_title(self, work):
        fields = parse_string(work.bibtex(), "bibtex").entries[work.key].fields
        assert fields["title"] == f"{{{_tex(NAMES[work.key])}}}"
        assert work.metadata()["citation_title"] == NAMES[work.key]
        title = NAMES[work.key].replace("“", "‘").replace("”", "’")
        assert title in work.sentence()
        assert ("dataset" in work.bibtex()) == bool(work.example)

    def test_where_a_mistake_is_reported(self):
        assert THEOREM.report == ""
        assert "Report" not in THEOREM.html()
        there = replace(THEOREM, sources="https://code.test/book")
        assert there.report == (
            "https://code.test/book/issues/new?template=wrong-number.yml"
            "&where=thm-it%2C%20version%201.2.3"
        )
        assert "wrong-number.yml&amp;where=thm-it" in there.html()

    @EVERY
    def test_csl_names_the_same(self, work):
        (item,) = json.loads(work.csl())
        assert item["title"] == NAMES[work.key]
        assert item["author"] == [{"literal": AUTHORS}]
        assert item["issued"] == {"date-parts": [[int(part) for part in work.date.split("-")]]}
        assert item.get("URL", "") == work.url
        assert item.get("section", "") == work.page
        assert item.get("status") == ("not yet released" if work is CHAPTER else None)

    @EVERY
    def test_ris_has_a_field_per_line_and_an_end(self, work):
        fields = dict(line.split("  - ", 1) for line in work.ris().split("\n"))
        assert next(iter(fields)) == "TY"
        assert list(fields)[-1] == "ER"
        assert fields["TI"] == NAMES[work.key]
        assert fields["ET"] == "1.2.3" + (" (not yet released)" if work is CHAPTER else "")
        assert (fields["PY"], fields.get("DA", "")) == (
            "2026", work.date.replace("-", "/") if "-" in work.date else "")  # fmt: skip

    def test_what_stays_has_a_field_of_its_own(self):
        for work, name in ((EXAMPLE, "SA036"), (THEOREM, "thm-it"), (CHAPTER, None)):
            assert json.loads(work.csl())[0].get("number") == name
            assert re.findall("^M1  - (.*)$", work.ris(), re.M) == [name] * bool(name)

    def test_an_example_is_told_by_id_version_and_digest(self):
        assert all(PIN in text for text in (EXAMPLE.sentence(), EXAMPLE.ris(), EXAMPLE.csl()))
        assert PIN in EXAMPLE.bibtex().replace("cdef ", "cdef").replace("\\", "")
        assert "sha256" not in CHAPTER.sentence()

    def test_a_sentence_reads_like_one(self):
        assert BOOK_ITSELF.sentence() == (
            "The selfattn_ref contributors (2026-11-20). Self-attention, computed, version 1.2.3."
        )
        assert EXAMPLE.sentence().startswith(
            "The selfattn_ref contributors (2026-01-02). “SA036: Two ‘banks’.” "
            "Worked example in Self-attention, computed, version 1.2.3. SA036@"
        )
        assert CHAPTER.sentence().endswith(
            "{sure}?” In Self-attention, computed, version 1.2.3 (not yet released). "
            "scaling/what.html"
        )
        assert THEOREM.sentence() == (
            "The selfattn_ref contributors (2026-11-20). “Theorem 7 (It is ‘so’), thm-it.” "
            "In “What d_k does”, Self-attention, computed, version 1.2.3. "
            "https://book.test/scaling/what.html#thm-it"
        )

    def test_a_key_comes_from_what_stays(self):
        keys = [work.key for work in (BOOK_ITSELF, CHAPTER, THEOREM, EXAMPLE)]
        assert keys == [
            "selfattn-ref",
            "selfattn-ref-scaling-what",
            "selfattn-ref-thm-it",
            "selfattn-ref-SA036",
        ]
        moved = Work(NAME, "9", "2036", at=THEOREM.at, title="Theorem 8 (Another name)")
        assert moved.key == THEOREM.key

    def test_the_head_says_it_to_reference_managers(self):
        said = THEOREM.metadata()
        assert said["citation_inbook_title"] == NAME
        assert EXAMPLE.metadata()["citation_title"] == "SA036: Two “banks”"
        assert said["citation_publication_date"] == "2026/11/20"
        assert said["citation_public_url"] == "https://book.test/scaling/what.html#thm-it"
        assert "citation_public_url" not in EXAMPLE.metadata()
        # "Family, Given": all of it is the family name.
        assert said["citation_author"].split(",") == [AUTHORS, ""]

    def test_the_boxes_hold_it_as_text(self):
        shown = Work(NAME, "1", "2026", at="x.html", title="a < b & c").html()
        assert "“a &lt; b &amp; c.”" in shown
        assert shown.count("<pre>") == 4


class TestDate:
    def test_it_is_that_of_the_release_and_nothing_before(self, tmp_path):
        commit.released.cache_clear()
        (tmp_path / "CITATION.cff").write_text("version: 1.0.0\n")
        assert commit.released(tmp_path) == ""
        commit.released.cache_clear()
        (tmp_path / "CITATION.cff").write_text("version: 1.0.0\ndate-released: 2027-03-04\n")
        assert commit.released(tmp_path) == "2027-03-04"
        commit.released.cache_clear()


def listed(ledger):
    """Return by label its page: the ledger has a page and a colon, then the labels on it."""
    page, kept = "", {}
    for word in ledger.split():
        if word.endswith(":"):
            page = word[:-1]
        else:
            assert word not in kept
            kept[word] = page
    return kept


class TestNames:
    LEDGER = Path(__file__).with_name("released_labels.txt")

    def test_what_was_once_released_is_still_there_on_its_page(self):
        kept, now = listed(self.LEDGER.read_text("utf-8")), labels()
        lost = {label: page for label, page in kept.items() if now.get(label) != page}
        assert not lost, f"these names are cited, with these pages: {lost}"
        if commit.released(ROOT):  # then the ledger has all
            assert now == kept

    def test_the_ledger_keeps_what_an_earlier_version_released(self):
        now = listed(self.LEDGER.read_text("utf-8"))
        for tag, ledger in at_tags(self.LEDGER).items():
            kept = {name: moved.PAGES.get(page, page) for name, page in listed(ledger).items()}
            assert kept.items() <= now.items(), tag


class TestMoved:
    @pytest.mark.parametrize("old", moved.PAGES)
    def test_a_page_that_has_moved_is_gone_and_its_new_page_is_there(self, old):
        there = {relative(page) for page in pages()}
        assert old not in there
        assert moved.PAGES[old] in there
        assert f'href="../{moved.PAGES[old]}.html"' in moved.leading(old)


class TestHowToCite:
    def test_every_command_does_what_the_page_says(self):
        (block,) = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
        command = shlex.split(block)
        assert command[:4] == ["python", "-m", "selfattn_ref.worked_examples", "verify"]
        done = subprocess.run([sys.executable, *command[1:]], cwd=ROOT, capture_output=True,
                              text=True)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.startswith(re.search(r"The answer is \"(.*?)\"", PAGE)[1])
        other = [sys.executable, *command[1:-1], command[-1][:-1] + "0"]
        done = subprocess.run(other, cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 1
        assert done.stdout.strip().endswith(f"cited from {command[-1][6:11]}")

    def test_the_document_cites_what_the_site_has(self):
        ((_, document, _), (_, biblatex, _), *_) = documents(PAGE)
        cited = [key for keys in re.findall(r"\\cite(?:\[.*?\])?\{(.*?)\}", document)
                 for key in keys.split(",")]  # fmt: skip
        assert len(cited) == 3
        for key in cited:
            name = key.removeprefix("selfattn-ref-")
            sources = [path.read_text("utf-8") for path in pages()]
            labeled = any(f"({name})=\n" in s or f":label: {name}\n" in s for s in sources)
            assert labeled or name in ids(), name
        assert r"\printbibliography" in biblatex
        assert r"\bibliography" not in biblatex

    @pytest.mark.parametrize(
        "line",
        [
            "Warning--empty publisher in selfattn-ref-SA036",
            "[123] Utils.pm:411> WARN - BibTeX subsystem: refs.bib, line 3",
            "LaTeX Warning: Citation `selfattn-ref-x' on page 1 undefined on input line 3.",
            "Missing character: There is no √ in font cmr10!",
            "! Undefined control sequence.",
        ],
    )
    def test_what_latex_complains_of_is_noticed(self, line):
        assert BAD.findall(f"all is well\n{line}\n") == [line]

    def test_the_entries_of_a_site_are_found(self, tmp_path):
        (tmp_path / "a.html").write_text(f"<body>{CHAPTER.html()}<div>{THEOREM.html()}</div>")
        (tmp_path / "b.html").write_text(f"<body>{EXAMPLE.html()}")
        assert entries(tmp_path) == {w.key: w.bibtex() for w in (CHAPTER, THEOREM, EXAMPLE)}
        (tmp_path / "c.html").write_text(f"<body>{EXAMPLE.html()}")
        with pytest.raises(ValueError, match="another entry has"):
            entries(tmp_path)

    def test_biblatex_gets_the_same_text(self):
        ((_, document, _), *_) = documents(PAGE)
        text = re.search(r"\\begin\{document\}\n(.*?)\\bib", document, re.S)[1]
        assert text in with_biblatex(document)
