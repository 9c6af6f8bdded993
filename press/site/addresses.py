"""Give every page the address that it keeps: /, /causal/masking.html, /SA016/.

A citation of a page must resolve for longer than the folders of the sources stay as they are. A
link names the file, SA016/index.html, so that a copy of the site on a disk works, too.
"""

import re

from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder

from press.math.text import words
from press.seams import STATEMENTS
from press.site.scope import is_partial

EXAMPLE = re.compile(r"book/examples/(SA\d{3})")


def address(page: str) -> str:
    """Return where a page stands in the site, without its suffix."""
    example = EXAMPLE.fullmatch(page)
    return f"{example[1]}/index" if example else page.removeprefix("book/")


class BookBuilder(StandaloneHTMLBuilder):
    """The builder "html", with addresses of our own and a search of our own."""

    search = False  # Sphinx's index would make the reader fetch the whole book

    def get_target_uri(self, docname: str, typ: str | None = None) -> str:
        """Return the address of a page, relative to the root of the site."""
        return super().get_target_uri(address(docname), typ)

    def get_outfilename(self, pagename: str) -> str:
        """Return the file of a page."""
        return super().get_outfilename(address(pagename))

    def dump_inventory(self) -> None:
        """List statements and equations, too, for books that refer to them as to any label."""
        if is_partial(self.app):
            return
        labels, numbers = self.env.domains["std"].data["labels"], self.env.toc_fignumbers
        for page in {one["docname"] for one in getattr(self.env, "proof_list", {}).values()}:
            for one in self.env.get_doctree(page).findall(lambda n: isinstance(n, STATEMENTS)):
                labels[one["label"]] = (page, one["label"], words(one[0]))
        for label, (page, _) in self.env.domains["math"].data["objects"].items():
            anchor = f"equation-{label}"
            number = ".".join(map(str, numbers[page]["displaymath"][anchor]))
            labels[label] = (page, anchor, f"Equation {number}")
        super().dump_inventory()


def register(app: Sphinx) -> None:
    """Register what Sphinx has to know of it."""
    app.add_builder(BookBuilder, override=True)
