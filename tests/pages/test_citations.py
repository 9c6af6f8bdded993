"""Every source is cited, every citation has a source, every source can be found."""

import re

import pytest
from pybtex.database import Entry, parse_file

from press.build import linkcheck
from tests.pages.sources import BOOK, pages

SOURCES: dict[str, Entry] = dict(parse_file(str(BOOK / "references.bib")).entries)
CITED = {
    key.strip()
    for page in pages()
    for group in re.findall(r"\{cite:[a-z]+\}`([^`]+)`", page.read_text("utf-8"))
    for key in group.split(",")
}


class TestCitations:
    def test_every_source_is_cited(self):
        assert not set(SOURCES) - CITED, "references.bib: in the list, cited nowhere"

    def test_every_citation_has_a_source(self):
        assert not CITED - set(SOURCES), "cited, but not in references.bib"

    @pytest.mark.parametrize("key", sorted(SOURCES))
    def test_a_source_has_an_identifier(self, key):
        fields = SOURCES[key].fields
        assert "doi" in fields or fields.get("archiveprefix") == "arXiv"
        if "doi" in fields:
            assert re.fullmatch(r"10\.\d{4,}/\S+", fields["doi"])
        if "eprint" in fields:
            assert re.fullmatch(r"\d{4}\.\d{4,5}", fields["eprint"])
        name = SOURCES[key].persons["author"][0].last_names[0]
        assert key.startswith(name.lower()[:4])
        assert fields["year"] in key

    def test_a_team_stands_among_the_people(self):
        first = [str(one.persons["author"][0]) for one in SOURCES.values()]
        assert "Gemma{ }Team" in first  # braces around it would come after every letter
        assert not any(name.startswith("{") for name in first)

    def test_a_doi_is_asked_for_at_the_registry_and_anything_else_where_it_is(self):
        registry = "https://doi.org/api/handles/10.1145/103162.103163"
        assert linkcheck.at_the_registry(None, "https://doi.org/10.1145/103162.103163") == registry
        assert linkcheck.at_the_registry(None, "https://arxiv.org/abs/1706.03762") is None
