"""The Sphinx extension of the book: what its parts register, and the order in which they act."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

from press import fonts
from press.build import execution, linkcheck
from press.example import catalog, checker, downloads, id_links, page, printed, slip_catalog, trace
from press.lesson import blocks, figures, notebook
from press.math import render
from press.reference import checks, errata, objectives, source_pages, theorem_index
from press.site import addresses, frame, icons, library, linked_data, scope, search

PARTS = (
    *(scope, addresses, fonts, icons, render, linked_data, search, frame),
    *(blocks, figures, notebook, library),
    *(page, catalog, id_links, checker, slip_catalog, trace, printed, downloads),
    *(checks, errata, objectives, source_pages, theorem_index),
    *(execution, linkcheck),
)

# Sphinx calls what has the smaller number first, other extensions at 500; what has the same number,
# in the order in which it is listed here.
FIRST, EARLY, USUAL, LATE = 0, 100, 500, 900

EVENTS: tuple[tuple[str, int, Callable[..., Any]], ...] = (
    ("config-inited", FIRST, frame.use_theme),  # before Jupyter Book adds options of another one
    ("config-inited", USUAL, execution.prepare),
    ("config-inited", LATE, frame.name_book),
    ("builder-inited", USUAL, fonts.make_fonts),
    ("builder-inited", USUAL, frame.write_assets),
    ("builder-inited", USUAL, figures.copy_scripts),
    ("builder-inited", USUAL, trace.write_script),
    ("env-get-outdated", USUAL, execution.changed),
    ("env-purge-doc", USUAL, execution.forget),
    ("source-read", EARLY, execution.wait),
    ("env-get-updated", LATE, execution.write_on_all_cores),
    ("env-updated", USUAL, execution.wait_for_all),
    # What is found in a page comes before what changes it for the screen.
    ("doctree-resolved", EARLY, search.collect),
    ("doctree-resolved", USUAL, fonts.find_strange_characters),
    ("doctree-resolved", USUAL, frame.draw_map),
    ("doctree-resolved", USUAL, render.keep_with_words),
    ("doctree-resolved", USUAL, printed.mark),
    ("doctree-resolved", LATE, notebook.write),
    ("doctree-resolved", LATE, blocks.arrange),
    ("doctree-resolved", LATE, id_links.link_ids),
    ("html-collect-pages", USUAL, frame.lost),
    ("html-collect-pages", USUAL, search.search_page),
    ("html-collect-pages", USUAL, source_pages.collect),
    ("html-page-context", LATE, figures.load_scripts),
    ("html-page-context", LATE, trace.load_script),  # after the other figures
    ("html-page-context", LATE, frame.around),
    ("html-page-context", LATE, page.around),
    ("html-page-context", LATE, linked_data.describe),  # of what the two before say is cited
    ("linkcheck-process-uri", USUAL, linkcheck.at_the_registry),
    ("build-finished", USUAL, trace.write),
    ("build-finished", USUAL, checker.write),
    ("build-finished", USUAL, icons.write_icons),
    ("build-finished", USUAL, downloads.write_files),
    ("build-finished", USUAL, frame.write_sitemap),
    ("build-finished", USUAL, search.write),
)


def register(app: Sphinx, *parts: ModuleType) -> None:
    """Register some parts, and have them act in the order above."""
    for part in parts:
        if hasattr(part, "register"):
            part.register(app)
    names = {part.__name__ for part in parts}
    for event, priority, handler in EVENTS:
        if handler.__module__ in names:
            app.connect(event, handler, priority=priority)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register all parts."""
    register(app, *PARTS)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
