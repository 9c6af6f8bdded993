"""The index of the site, compared with the sources of its pages."""

import re
from collections import defaultdict
from pathlib import Path

import pytest
from lxml import html
from pybtex.database import parse_file

from press.build.book import SITE
from selfattn_ref.worked_examples.slips import SLIPS

BOOK = Path(__file__).parents[2] / "book"


def texts():
    """Return the pages that are written by hand, by their address."""
    found = {
        path.relative_to(BOOK).with_suffix(".html").as_posix(): path.read_text("utf-8")
        for path in BOOK.rglob("*.md")
    }
    return {re.sub(r"examples/(SA\d+)\.", r"\1/index.", at): text for at, text in found.items()}


@pytest.fixture(scope="module")
def index():
    """Return the entries of the index, what stands below another after a semicolon, and pages."""
    found = {}
    root = html.parse(SITE / "genindex.html", html.HTMLParser(encoding="utf-8")).getroot()
    for entry in root.xpath("//main//li[not(@class)]"):
        links = entry.findall("a")
        name = links[0].text if links else entry.text.strip()
        above = entry.xpath("ancestor::li[1]/a[1]/text() | ancestor::li[1]/text()")
        name = f"{above[0].strip()}; {name}" if above else name
        found[name] = [link.get("href") for link in links]
    return found


def test_it_has_the_authors_of_what_is_cited_and_where_that_is(index):
    cited = defaultdict(set)
    for page, text in texts().items():
        for keys in re.findall(r"\{cite[^}]*\}`([^`]*)`", text):
            for key in re.split(r",\s*", keys):
                cited[key].add(page)
    expected = defaultdict(set)
    for key, work in parse_file(BOOK / "references.bib").entries.items():
        for person in work.persons["author"]:
            name = re.sub(r"\s+", " ", str(person))
            if cited[key] and name != "others" and not re.search(r"[{\\]", name):
                expected[name] |= cited[key]
    assert len(expected) > 200
    for name, pages in expected.items():
        links = index[name]
        assert {link.partition("#")[0] for link in links} == pages, name
        assert len(links) == len(pages)


def test_it_has_the_statements_by_their_kind(index):
    for kind, plural in ("theorem", "theorems"), ("proposition", "propositions"):
        stated = [one for text in texts().values() for one in re.findall(f"{{prf:{kind}}}", text)]
        listed = [links for name, links in index.items() if name.startswith(f"{plural}; ")]
        assert len(listed) == len(stated) > 1
        assert all("#thm-" in link or "#prp-" in link for (link,) in listed)


def test_it_has_the_slips_the_kinds_of_a_thing_and_who_has_a_method(index):
    assert {name for name in index if name.startswith("slips; ")} == {f"slips; {s}" for s in SLIPS}
    assert index["slips; not-scaled"] == ["examples/slips.html#not-scaled"]
    assert index["mask; causal mask"] == index["causal mask"]
    assert {"attend(), of KeyValueCache", "args, of Call", "causal_mask()"} <= index.keys()
    assert {"load(), of worked_examples", "load(), of generated", "KeyValueCache"} <= index.keys()
