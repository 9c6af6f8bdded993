"""Keep in a page what it names of other pages, statements and equations, to be shown beside links.

They stand in templates, which a browser does not draw, so that a page from a disk has them, too.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

from lxml import html
from sphinx.application import Sphinx

# Lists, whose links say what is behind them.
LISTS = {"reference/glossary.html", "reference/misconceptions.html", "reference/theorems.html"}
LINK = re.compile(r'<a class="[^"]*\breference internal" href="([^"#]+)#((?:thm|equation)-[^"]*)"')
KEPT = re.compile(r"<template data-preview=.*?</template>\n", re.S)


def write(app: Sphinx) -> None:
    """Put them into the pages, in place of those of an earlier build."""
    site = Path(app.outdir).resolve()
    read = cache(lambda path: html.document_fromstring(path.read_text("utf-8")))
    for path in sorted(site.rglob("*.html")):
        before = path.read_text("utf-8")
        name = path.relative_to(site).as_posix()
        text, kept = KEPT.sub("", before), ""
        for address, label in dict.fromkeys(LINK.findall(text) if name not in LISTS else ()):
            target = (path.parent / address).resolve()
            if found := read(target).xpath("//*[@id=$label]", label=label):
                kept += f'<template data-preview="{label}">{bare(found[0])}</template>\n'
        if (after := text.replace("</main>", f"{kept}</main>")) != before:
            path.write_text(after, encoding="utf-8")


def bare(element: Any) -> str:
    """Return an element of another page without its links, which would lead elsewhere, and ids."""
    copy = html.fromstring(html.tostring(element, encoding="unicode", with_tail=False))
    for name in ("tested", "cite", "headerlink"):
        for one in copy.find_class(name):
            one.drop_tree()
    for one in copy.xpath("descendant-or-self::*[@id]"):
        del one.attrib["id"]
    for link in list(copy.iter("a")):
        link.drop_tag()
    return str(html.tostring(copy, encoding="unicode"))
