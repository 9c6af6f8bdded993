"""How to cite a page: a sentence, BibTeX, RIS and CSL-JSON, all from one record."""

import json
import re
from dataclasses import dataclass
from typing import Any

AUTHORS = "The selfattn_ref contributors"
SPECIAL = re.compile(r"([&%$#_{}])")  # for TeX


@dataclass(frozen=True)
class Work:
    """The book, one of its pages, or a worked example."""

    book: str
    version: str
    year: str
    title: str = ""  # none: the book as a whole
    example: str = ""  # the id, if it is one
    digest: str = ""  # of its numbers
    url: str = ""  # once the site has a public address

    @property
    def key(self) -> str:
        """Return a key for bibliographies, the same in every version."""
        name = self.example or re.sub(r"\W+", "-", self.title.lower()).strip("-")
        return f"selfattn-ref-{name}".rstrip("-")

    @property
    def note(self) -> str:
        """Return what tells this example from any other one: its id, its version, its digest."""
        return f"{self.example}@{self.version}#sha256:{self.digest}" if self.digest else ""

    def sentence(self) -> str:
        """Return a sentence for a list of references."""
        title = self.title.replace("“", "‘").replace("”", "’")  # inside of quotation marks
        parts = [
            f"{AUTHORS} ({self.year}).",
            f"“{title}.”" if title else "",
            f"Worked example {self.example}." if self.example else "",
            f"{'In ' if title else ''}{self.book}, version {self.version}.",
            self.note,
            self.url,
        ]
        return " ".join(part for part in parts if part)

    def bibtex(self) -> str:
        """Return an entry for BibTeX."""
        inside = self.title and not self.example
        fields = {
            "author": f"{{{AUTHORS}}}",
            "title": f"{{{self.title or self.book}}}",
            "booktitle": f"{{{self.book}}}" if inside else "",
            "howpublished": f"Worked example {self.example} of {self.book}" if self.example else "",
            "year": self.year,
            "version": self.version,
            "note": self.note or f"Version {self.version}",
        }
        lines = [f"  {n} = {{{_tex(text)}}}," for n, text in fields.items() if text]
        lines += [f"  url = {{{self.url}}},"] if self.url else []
        kind = "incollection" if inside else "misc"
        return "\n".join([f"@{kind}{{{self.key},", *lines, "}"])

    def ris(self) -> str:
        """Return a record for reference managers."""
        kind = "DATA" if self.example else "CHAP" if self.title else "BOOK"
        fields = [
            ("TY", kind),
            ("AU", AUTHORS),
            ("TI", self.title or self.book),
            ("T2", self.book if self.title else ""),
            ("PY", self.year),
            ("ET", self.version),
            ("N1", self.note),
            ("UR", self.url),
        ]
        return "\n".join([f"{tag}  - {text}" for tag, text in fields if text] + ["ER  - "])

    def csl(self) -> str:
        """Return an item for citation processors."""
        item: dict[str, Any] = {
            "id": self.key,
            "type": "dataset" if self.example else "chapter" if self.title else "book",
            "author": [{"literal": AUTHORS}],
            "title": self.title or self.book,
            "container-title": self.book if self.title else "",
            "issued": {"date-parts": [[int(self.year)]]},
            "version": self.version,
            "note": self.note,
            "URL": self.url,
        }
        kept = {name: value for name, value in item.items() if value}
        return json.dumps([kept], ensure_ascii=False, indent=1)

    def metadata(self) -> dict[str, str]:
        """Return what reference managers look for in the head of a page."""
        fields = {
            "citation_author": AUTHORS,
            "citation_title": self.title or self.book,
            "citation_inbook_title": self.book if self.title else "",
            "citation_publication_date": self.year,
            "citation_public_url": self.url,
        }
        return {name: text for name, text in fields.items() if text}


def _tex(text: str) -> str:
    """Return a text as BibTeX reads it: braces that were put there on purpose stay."""
    outer = text.startswith("{") and text.endswith("}")
    inner = SPECIAL.sub(r"\\\1", text[1:-1] if outer else text)
    return f"{{{inner}}}" if outer else inner
