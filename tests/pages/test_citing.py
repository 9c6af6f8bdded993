"""How a page is cited: each format says the same, and readers of that format understand it."""

import json
import sys

import pytest
from pybtex.database import parse_string

from tests.pages.sources import BOOK

sys.path.insert(0, str(BOOK / "_ext"))
from citing import AUTHORS, Work

BOOK_ITSELF = Work("Self-attention, computed", "1.2.3", "2026")
CHAPTER = Work(
    "Self-attention, computed",
    "1.2.3",
    "2026",
    "What d_k & √ do: 100 % {sure}",
    url="https://book.test/x",
)
EXAMPLE = Work("Self-attention, computed", "1.2.3", "2026", "Two “banks”", "SA036", "0f" * 32)
EVERY = pytest.mark.parametrize("work", [BOOK_ITSELF, CHAPTER, EXAMPLE], ids=lambda w: w.key)


class TestFormats:
    @EVERY
    def test_bibtex_is_read_by_a_parser_of_bibtex(self, work: Work) -> None:
        (entry,) = parse_string(work.bibtex(), "bibtex").entries.values()
        (author,) = entry.persons["author"]
        assert str(author) == f"{{{AUTHORS}}}".replace("_", r"\_")  # one name, not two
        plain = entry.fields["title"].replace("\\", "").strip("{}")
        assert plain == (work.title or work.book).strip("{}")
        assert entry.fields["year"] == "2026"
        assert entry.fields["version"] == "1.2.3"
        assert ("booktitle" in entry.fields) == (work is CHAPTER)

    @EVERY
    def test_csl_names_the_same(self, work: Work) -> None:
        (item,) = json.loads(work.csl())
        assert item["title"] == (work.title or work.book)
        assert item["author"] == [{"literal": AUTHORS}]
        assert item["issued"] == {"date-parts": [[2026]]}
        assert item.get("URL", "") == work.url

    @EVERY
    def test_ris_has_a_field_per_line_and_an_end(self, work: Work) -> None:
        fields = dict(line.split("  - ", 1) for line in work.ris().split("\n"))
        assert next(iter(fields)) == "TY"
        assert list(fields)[-1] == "ER"
        assert fields["TI"] == (work.title or work.book)
        assert fields["ET"] == "1.2.3"

    def test_an_example_is_told_by_id_version_and_digest(self) -> None:
        pinned = f"SA036@1.2.3#sha256:{'0f' * 32}"
        ours = (
            EXAMPLE.sentence(),
            EXAMPLE.bibtex().replace("\\", ""),
            EXAMPLE.ris(),
            EXAMPLE.csl(),
        )
        assert all(pinned in text for text in ours)
        assert "sha256" not in CHAPTER.sentence()

    def test_a_sentence_reads_like_one(self) -> None:
        assert BOOK_ITSELF.sentence() == (
            "The selfattn_ref contributors (2026). Self-attention, computed, version 1.2.3."
        )
        assert EXAMPLE.sentence().startswith(
            "The selfattn_ref contributors (2026). “Two ‘banks’.” Worked example SA036. In "
        )

    def test_the_head_says_it_to_reference_managers(self) -> None:
        assert CHAPTER.metadata()["citation_inbook_title"] == "Self-attention, computed"
        assert "citation_public_url" not in EXAMPLE.metadata()
