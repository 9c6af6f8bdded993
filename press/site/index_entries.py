"""What the index lists beside the terms of the glossary: people, statements, slips, functions."""

import re
from collections.abc import Iterator
from typing import Any, cast

from docutils import nodes
from pybtex.database import Person
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinxcontrib.bibtex.citation_target import parse_citation_targets
from sphinxcontrib.bibtex.domain import BibtexDomain

from press.math.text import words
from press.seams import STATEMENTS

Entry = tuple[str, str, str, str, None]  # as Sphinx has them


def entry(name: str, place: str) -> Entry:
    """Return an entry of the index; what follows a semicolon stands below what comes before."""
    return "single", name, place, "", None


class IndexEntries(SphinxTransform):
    """Adds to each page what the index says of it, before Sphinx collects that."""

    default_priority = 840  # Sphinx collects at 850

    def apply(self, **_: Any) -> None:
        """Add the entries of a page, and shorten those of functions and of what a class has."""
        found = [*self.people(), *self.statements(), *self.kinds()]
        if found:
            self.document += addnodes.index(entries=found)
        for described in self.document.findall(addnodes.desc):
            index = described.parent[described.parent.index(described) - 1]
            if isinstance(index, addnodes.index):
                index["entries"] = [
                    entry(called(described["objtype"], signature), signature["ids"][0])
                    for signature in described.findall(addnodes.desc_signature)
                    if signature.parent is described and signature["ids"]
                ]

    def people(self) -> Iterator[Entry]:
        """Yield the authors of what a page cites, each where it does so first."""
        seen: set[str] = set()
        for cited in list(self.document.findall(addnodes.pending_xref)):
            if cited.get("refdomain") != "cite":
                continue
            sources = cast(BibtexDomain, self.env.get_domain("cite")).bibdata.data.entries
            keys = [target.key for target in parse_citation_targets(cited["reftarget"])]
            for key in (key for key in keys if key in sources):  # or the build says what is wrong
                place = nodes.make_id(f"cited-{key}")
                for person in sources[key].persons.get("author", []):
                    if (name := inverted(person)) not in {*seen, "others"}:
                        if place not in cited.parent["ids"]:
                            cited.parent["ids"].append(place)
                        seen.add(name)
                        yield entry(name, place)

    def statements(self) -> Iterator[Entry]:
        """Yield the theorems and the like."""
        for statement in self.document.findall(lambda node: isinstance(node, STATEMENTS)):
            kind = re.sub("y$", "ie", statement["realtype"]) + "s"
            yield entry(f"{kind}; {words(statement[0])}", statement["label"])

    def kinds(self) -> Iterator[Entry]:
        """Yield the terms that name a kind of another: a causal mask is a mask."""
        terms = {term.astext(): term for term in self.document.findall(nodes.term) if term["ids"]}
        for name, term in terms.items():
            if (of := re.split("[ -]", name)[-1]) in terms.keys() - {name}:
                yield entry(f"{of}; {name}", term["ids"][0])


def inverted(person: Person) -> str:
    """Return a name as an index has it: "Vaswani, Ashish"."""
    last = [*person.rich_prelast_names, *person.rich_last_names, *person.rich_lineage_names]
    first = [*person.rich_first_names, *person.rich_middle_names]
    return ", ".join(" ".join(map(str, names)) for names in (last, first) if names)


def called(kind: str, signature: addnodes.desc_signature) -> str:
    """Return the name of a function or a class, or of what a class has: "code, of Report"."""
    name = signature["fullname"].removeprefix(f"{signature['class']}.")
    name += "()" * (kind in ("function", "method", "classmethod", "staticmethod"))
    owner = signature["class"] or (signature["module"] or "").partition(".")[2].rpartition(".")[2]
    return f"{name}, of {owner}" if owner else name
