"""Give every page the address that it keeps: /, /causal/masking.html, /SA016/.

A citation of a page must resolve for longer than the folders of the sources stay as they are. A
link names the file, SA016/index.html, so that a copy of the site on a disk works, too.
"""

import re

from sphinx.application import Sphinx

from press import seams
from press.math.text import words
from press.seams import STATEMENTS
from press.site.scope import is_partial

EXAMPLE = re.compile(r"book/examples/(SA\d{3})")


def address(page: str) -> str:
    """Return where a page stands in the site, without its suffix."""
    example = EXAMPLE.fullmatch(page)
    return f"{example[1]}/index" if example else page.removeprefix("book/")


class BookBuilder(seams.Builder):
    """The builder "html", with the addresses of the book."""

    def address(self, page: str) -> str:
        """Return where a page stands in the site, without its suffix."""
        return address(page)

    def before_inventory(self) -> bool:
        """List statements and equations, too, for books that refer to them as to any label."""
        if is_partial(self.app):
            return False
        labels = seams.labels(self.env)
        for page in set(seams.statements(self.env).values()):
            for one in self.env.get_doctree(page).findall(lambda n: isinstance(n, STATEMENTS)):
                labels[one["label"]] = (page, one["label"], words(one[0]))
        for label, page in seams.equations(self.env).items():
            anchor = f"equation-{label}"
            number = seams.number_of(self.env, page, "displaymath", anchor)
            labels[label] = (page, anchor, f"Equation {number}")
        return True


def register(app: Sphinx) -> None:
    """Register what Sphinx has to know of it."""
    app.add_builder(BookBuilder, override=True)
