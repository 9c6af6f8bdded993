"""The Sphinx extension of the book: what its parts register, and the order in which they act."""

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx_exercise.nodes import solution_node
from sphinx_proof.nodes import proof_node

from press import fonts, seams
from press.build import execution, linkcheck
from press.example import (
    arrays,
    card,
    catalog,
    checker,
    downloads,
    generated_catalog,
    id_links,
    page,
    precision,
    public_bugs,
    slip_guide,
    trace,
    unseen,
)
from press.lesson import (
    bibliography,
    code,
    exercises,
    figures,
    folds,
    lab,
    margin,
    notebook,
    opening,
    statements,
    tables,
)
from press.lesson.folds import Visitors, html
from press.math import render, roles
from press.reference import checks, errata, objectives, promises, source_pages, theorem_index
from press.reference.map import Map, tell_paths
from press.site import (
    addresses,
    headings,
    index_entries,
    library,
    linked_data,
    page_context,
    placeholders,
    previews,
    scope,
    search,
    theme,
)

DIRECTIVES: dict[str, type[SphinxDirective]] = {
    "checker": checker.Checker,
    "budgets": checks.Budgets,
    "checks": checks.Checks,
    "errata": errata.Errata,
    "promises": promises.Promises,
    "example-catalog": catalog.Catalog,
    "generated-catalog": generated_catalog.GeneratedCatalog,
    "generated-coverage": generated_catalog.GeneratedCoverage,
    "install": library.Install,
    "map": Map,
    "objectives": objectives.Objectives,
    "precision": precision.Precision,
    "public-bugs": public_bugs.PublicBugs,
    "slip-guide": slip_guide.SlipGuide,
    "theorem-index": theorem_index.TheoremIndex,
    "unseen": unseen.Unseen,
    "worked-example": page.WorkedExamplePage,
}

END, END_FOLD = html("</div>\n"), html("</details>\n")

# What writes a node as HTML; the directives behind most of them are of other extensions.
VISITORS: dict[type[nodes.Element], Visitors] = {
    **dict.fromkeys(seams.STATEMENTS, (statements.visit_statement, END)),
    proof_node: (statements.visit_proof, END_FOLD),
    **dict.fromkeys(exercises.EXERCISES, (exercises.visit_exercise, END)),
    solution_node: (exercises.visit_solution, END_FOLD),
    folds.aside: (folds.visit_aside, END_FOLD),
    HideCodeCellNode: (folds.visit_hidden, END_FOLD),
    addnodes.desc_name: (headings.visit_name, html("</span>")),
    nodes.table: (tables.visit_table, tables.depart_table),
    nodes.citation: (bibliography.visit_citation, END),
    margin.margin_notes: (html('<div class="notes">'), END),
    margin.margin_note: (margin.visit_note, html("</div></details>\n")),
}

# What else Sphinx has to know.
SETTINGS: tuple[Callable[[Sphinx], None], ...] = (
    scope.register,
    addresses.register,
    headings.register,
    render.register,
    code.register,
    bibliography.register,
    page.register,
)

# Sphinx calls what has the smaller number first, other extensions at 500; what has the same number,
# in the order in which it is listed here.
FIRST, EARLY, USUAL, LATE = 0, 100, 500, 900

EVENTS: tuple[tuple[str, int, Callable[..., Any]], ...] = (
    ("config-inited", FIRST, theme.use_theme),  # before Jupyter Book adds options of another one
    ("config-inited", USUAL, execution.prepare),
    ("config-inited", LATE, theme.name_book),
    ("config-inited", LATE, theme.forget_folders),  # after those who name them
    ("builder-inited", USUAL, fonts.make_fonts),
    ("builder-inited", USUAL, theme.write_assets),
    ("builder-inited", USUAL, figures.copy_scripts),
    ("env-get-outdated", USUAL, execution.changed),
    ("env-purge-doc", USUAL, seams.forget_solutions),
    ("source-read", EARLY, execution.wait),
    ("env-get-updated", LATE, execution.write_on_all_cores),
    ("env-updated", USUAL, execution.wait_for_all),
    # What is found in a page comes before what changes it for the screen.
    ("doctree-resolved", EARLY, search.collect),
    ("doctree-resolved", USUAL, fonts.find_strange_characters),
    ("doctree-resolved", USUAL, roles.color_first),
    ("doctree-resolved", USUAL, render.keep_with_words),
    ("doctree-resolved", USUAL, arrays.tint),
    ("doctree-resolved", LATE, notebook.write),
    ("doctree-resolved", LATE, lab.write),
    ("doctree-resolved", LATE, statements.connect_proofs_and_tests),
    ("doctree-resolved", LATE, exercises.add_anchors),
    ("doctree-resolved", LATE, code.mark_checked),
    ("doctree-resolved", LATE, bibliography.clean_references),
    ("doctree-resolved", LATE, tables.color_heads),
    ("doctree-resolved", LATE, folds.fold_asides),
    ("doctree-resolved", LATE, opening.set_facts),  # counts no folded words
    ("doctree-resolved", LATE, margin.annotate),
    ("doctree-resolved", LATE, id_links.link_ids),
    ("html-collect-pages", USUAL, page_context.pages_without_source),
    ("html-collect-pages", USUAL, source_pages.collect),
    ("html-page-context", LATE, figures.load_scripts),
    ("html-page-context", LATE, page_context.page_context),
    ("html-page-context", LATE, tell_paths),
    ("html-page-context", LATE, page.around),
    ("html-page-context", LATE, card.describe_card),
    ("html-page-context", LATE, linked_data.describe),  # of what the two before say is cited
    ("linkcheck-process-uri", USUAL, linkcheck.at_the_registry),
    ("build-finished", USUAL, previews.write),
    ("build-finished", USUAL, trace.write),
    ("build-finished", USUAL, checker.write),
    ("build-finished", USUAL, card.write_card),
    ("build-finished", USUAL, downloads.write_files),
    ("build-finished", USUAL, addresses.write_sitemap),
    ("build-finished", USUAL, addresses.write_moved),
    ("build-finished", USUAL, search.write),
)


def when(event: str, handler: Callable[..., Any]) -> Callable[..., Any]:
    """Return a handler that acts where there is something to do for it.

    Where links are checked, there are no pages; what all pages make together is written at the end,
    unless only some of them are written or something has gone wrong.
    """

    @wraps(handler)
    def act(app: Sphinx, *about: Any) -> Any:
        if event == "build-finished":
            return handler(app) if scope.is_whole(app, *about) else None
        return handler(app, *about) if app.builder.format == "html" else None

    return act if event in ("builder-inited", "doctree-resolved", "build-finished") else handler


def register(app: Sphinx, *parts: ModuleType) -> None:
    """Register all, or of some parts alone what they set and do."""
    names = {part.__name__ for part in parts}

    def is_chosen(function: Callable[..., Any]) -> bool:
        return not names or function.__module__ in names

    for name, directive in DIRECTIVES.items():
        app.add_directive(name, directive)
    for node, visitors in VISITORS.items():
        app.add_node(node, override=True, html=visitors)
    app.add_transform(index_entries.IndexEntries)
    for transform in (figures.Figures, placeholders.FillPlaceholders):
        app.add_post_transform(transform)
    for setting in filter(is_chosen, SETTINGS):
        setting(app)
    for event, priority, handler in EVENTS:
        if is_chosen(handler):
            app.connect(event, when(event, handler), priority=priority)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register all parts."""
    register(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
