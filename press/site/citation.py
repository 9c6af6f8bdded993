"""How to cite something: a sentence, BibTeX, RIS and CSL-JSON, all from one record."""

import codecs
import html
import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import latexcodec  # noqa: F401  registers the codec
from sphinx.application import Sphinx

from press.site.addresses import base_of, public_path, sources_of
from press.site.commit import released
from press.site.rights import AUTHORS
from selfattn_ref import __version__

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
SPECIAL = {"\\": r"\textbackslash{}", "^": r"\^{}", "$": r"\$", "{": r"\{", "}": r"\}"}


@dataclass(frozen=True)
class Work:
    """The book, one of its pages, a statement, or a worked example."""

    book: str
    version: str
    date: str  # a day, as 2026-11-20, or the year alone
    is_released: bool = True  # or there may still be another text of this version
    at: str = ""  # the address below that of the site
    base: str = ""  # that of the site, once it is public
    sources: str = ""  # and that of its sources
    title: str = ""  # none: the book as a whole
    page: str = ""  # the title of the page, of a statement
    example: str = ""  # the id, if it is one
    digest: str = ""  # of its numbers

    @property
    def url(self) -> str:
        """Return the public address, if there is one."""
        return f"{self.base}/{self.at}" if self.base else ""

    @property
    def key(self) -> str:
        """Return a key for bibliographies: what stays in the address, whatever the title is."""
        path = self.at.removesuffix(".html").removesuffix("index")
        name = self.label or re.sub(r"\W+", "-", path).strip("-")
        return f"selfattn-ref-{name}".rstrip("-")

    @property
    def label(self) -> str:
        """Return the id of an example, the label of a statement: what stays when titles change."""
        return self.example or self.at.partition("#")[2]

    @property
    def name(self) -> str:
        """Return the title with the label, for records of which styles print little else."""
        if self.example:
            return f"{self.example}: {self.title}"
        return f"{self.title or self.book}{self.label and f', {self.label}'}"

    @property
    def report(self) -> str:
        """Return where one reports a mistake in it, if its sources have an address."""
        where = f"{self.label or self.at or self.book}, version {self.version}"
        form = f"{self.sources}/issues/new?template=wrong-number.yml&where={quote(where)}"
        return form if self.sources else ""

    @property
    def status(self) -> str:
        """Return what has to be said of the version, if it can still change."""
        return "" if self.is_released else "not yet released"

    @property
    def edition(self) -> str:
        """Return the version with its status."""
        return f"{self.version}{self.status and f' ({self.status})'}"

    @property
    def note(self) -> str:
        """Return what tells it from all others: an example's id, version and digest, or a path."""
        if self.digest:
            return f"{self.example}@{self.version}#sha256:{self.digest}"
        return "" if self.url or not self.title else self.at

    def sentence(self) -> str:
        """Return a sentence for a list of references."""
        title, page = (
            t.replace("“", "‘").replace("”", "’")  # inside of quotation marks
            for t in (self.name, self.page)
        )
        stop = "" if title.endswith(("?", "!")) else "."
        container = f"“{page}”, {self.book}" if page else self.book
        inside = "Worked example in " if self.example else "In " if self.title else ""
        parts = [
            f"{AUTHORS} ({self.date}).",
            f"“{title}{stop}”" if self.title else "",
            f"{inside}{container}, version {self.edition}.",
            self.note,
            self.url,
        ]
        return " ".join(part for part in parts if part)

    def bibtex(self) -> str:
        """Return an entry for BibTeX and biblatex.

        It is `misc`, for any other type that fits wants a publisher, whom the book does not have.
        """
        book = rf"\emph{{{_tex(self.book)}}}"
        if self.page:
            book = f"``{_tex(self.page)}'', {book}"
        inside = "Worked example in" if self.example else "In"
        year, _, day = self.date.partition("-")
        # Where the digest may end a line: no column is as wide as its 64 digits.
        note = re.sub(r"([0-9a-f]{16})(?=[0-9a-f])", r"\1 ", _tex(self.note))
        fields = {
            "author": f"{{{{{_tex(AUTHORS)}}}}}",
            "title": f"{{{{{_tex(self.name)}}}}}",
            "type": "{dataset}" if self.example else "",
            "howpublished": f"{{{inside} {book}, version {self.edition}}}"
            if self.title
            else f"{{Version {self.edition}}}",
            "month": MONTHS[int(day[:2]) - 1] if day else "",
            "year": f"{{{year}}}",
            "note": f"{{{note}}}" if note else "",
            "url": f"{{{self.url}}}" if self.url else "",
        }
        lines = [f"  {name} = {text}," for name, text in fields.items() if text]
        return "\n".join([f"@misc{{{self.key},", *lines, "}"])

    def ris(self) -> str:
        """Return a record for reference managers."""
        fields = [
            ("TY", "DATA" if self.example else "CHAP" if self.title else "BOOK"),
            ("AU", f"{AUTHORS},"),  # a family name alone: a comma, and no given name
            ("TI", self.name),
            ("T2", self.book if self.title else ""),
            ("SE", self.page),
            ("PY", self.date[:4]),
            ("DA", self.date.replace("-", "/") if "-" in self.date else ""),
            ("ET", self.edition),
            ("M1", self.label),
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
            "title": self.name,
            "number": self.label,
            "container-title": self.book if self.title else "",
            "section": self.page,
            "issued": {"date-parts": [[int(part) for part in self.date.split("-")]]},
            "version": self.version,
            "status": self.status,
            "note": self.note,
            "URL": self.url,
        }
        kept = {name: value for name, value in item.items() if value}
        return json.dumps([kept], ensure_ascii=False, indent=1)

    def html(self) -> str:
        """Return all formats, each in a box of its own; all but the sentence are folded."""

        def box(text: str) -> str:
            return f"<pre>{html.escape(text, quote=False)}</pre>"

        formats = {"BibTeX": self.bibtex(), "RIS": self.ris(), "CSL-JSON": self.csl()}
        folds = "".join(
            f'<details class="copied" name="cite"><summary>{name}</summary>{box(text)}</details>\n'
            for name, text in formats.items()
        )
        report = f'<p><a href="{html.escape(self.report)}">Report a mistake</a></p>\n'
        report = report if self.report else ""
        return f'<div class="copied">{box(self.sentence())}</div>\n{folds}{report}'

    def metadata(self) -> dict[str, str]:
        """Return what reference managers look for in the head of a page."""
        fields = {
            # Zotero takes the last word for the family name, unless there is a comma.
            "citation_author": f"{AUTHORS},",
            "citation_title": self.name,
            "citation_inbook_title": self.book if self.title else "",
            "citation_publication_date": self.date.replace("-", "/"),
            "citation_language": "en",
            "citation_public_url": self.url,
        }
        return {name: text for name, text in fields.items() if text}


def work_of(app: Sphinx, page: str, title: str) -> Work:
    """Return what is cited when a page is."""
    return Work(
        book=str(app.config.html_title),
        version=__version__,
        date=released() or str(app.config.copyright),
        is_released=bool(released()),
        at=public_path(app, page),
        base=base_of(app.config),
        sources=sources_of(app.config),
        title="" if page == app.config.master_doc else title,
    )


def _tex(text: str) -> str:
    """Return a text as TeX reads it, in ASCII; a character that has no name there is an error."""
    escaped = re.sub(r"[\\^${}]", lambda found: SPECIAL[found[0]], text)
    return str(codecs.encode(escaped, "ulatex+ascii"))
