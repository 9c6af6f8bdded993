"""Read and write the changed pages alone, where no other page shows what has changed.

`press/build/book.py` asks for it when the text of pages is all that has changed since a build
without problems, and builds the whole book when this module says that other pages have to follow.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx_proof.nodes import proof_node

from press.build.cells import CORES
from press.lesson.blocks import BIBLIOGRAPHY, GLOSSARY, minutes
from press.seams import (
    PRIVATE_STATE,
    STATEMENTS,
    forget_solutions,
    keep_numbers,
    memory,
    restore_numbers,
    write_in_parallel,
)
from press.site.scope import is_partial
from press.site.sources import CHECKED_BY

logger = logging.getLogger(__name__)

# What the environment knows beside what pages show of each other: when and from where something was
# read, its own tools, and what depends on the settings and on other inputs than the text of pages.
BESIDE = {
    *("app", "config", "config_status", "config_status_extra", "events", "project", "settings"),
    *("doctreedir", "srcdir", "version", "versioning_compare", "versioning_condition", "domains"),
    *("all_docs", "dependencies", "included", "ref_context", "temp_data", "facts"),
    *("myst_config", "mystnb_config", "nb_new_exec_data"),
    *PRIVATE_STATE,
}
ASIDE = {"bibdata", "exec_data", "line", "source_map", "wordcount"}  # of a source alone
MORE = "Other pages show what has changed:"  # said to press/build/book.py


def changed(app: Sphinx, env: BuildEnvironment, added: set[str], *_: Any) -> list[str]:
    """Read again what the build asks for, whatever the times of the files say."""
    if is_partial(app):
        keep_numbers(app)
    pages: list[str] = app.config.reread
    return pages


def forget(app: Sphinx, env: BuildEnvironment, page: str) -> None:
    """Forget what sphinx-exercise keeps of a page."""
    forget_solutions(env, page)


def keep(app: Sphinx, doctree: nodes.document) -> None:
    """Keep what other pages take from the text of this one.

    The list of theorems takes statements, proofs, and who refers to them; the margins take the
    glossary and the bibliography; the page for teachers takes how a lesson begins and how long
    it is; other pages link to anchors, and count on from what has a number here.
    """
    page = app.env.docname
    elements = list(doctree.findall(nodes.Element))
    taken = [f"{n}" for n in elements if isinstance(n, (*STATEMENTS, proof_node))]
    links = [n for n in elements if isinstance(n, addnodes.pending_xref)]
    taken += [n["reftarget"] for n in links if n["refdomain"] == "prf"]
    taken += [t for p in doctree.findall(nodes.paragraph) if CHECKED_BY.fullmatch(t := p.astext())]
    taken += [
        anchor
        for node in elements
        if "amsmath" not in node["classes"]  # MyST draws lots for these
        for anchor in node["ids"]
    ]
    std = app.env.domains["std"]
    taken += [
        f"{node['ids']} {kind} {bool(std.get_numfig_title(node))}"
        for node in elements
        for domain in app.env.domains.values()
        if (kind := domain.get_enumerable_node_type(node))
    ]
    top = next(doctree.findall(nodes.section), None)
    taken += [top[1].astext(), f"{minutes(doctree)}"] if top is not None and len(top) > 1 else []
    if page in {GLOSSARY, BIBLIOGRAPHY}:
        taken.append(doctree.pformat())
    memory(app.env).setdefault("shown_elsewhere", {})[page] = digest(taken)


def plain(value: Any) -> Any:
    """Return a value such that its repr is the same in every process, whatever it is made of."""
    if isinstance(value, nodes.Node):
        return value.pformat()
    if isinstance(value, Mapping):
        kept = {key: one for key, one in value.items() if key not in ASIDE}
        if "citation_refs" in kept:  # in the order of reading; the bibliography has its own
            kept["citation_refs"] = {repr(plain(one)) for one in kept["citation_refs"]}
        return sorted((repr(key), plain(one)) for key, one in kept.items())
    if isinstance(value, set | frozenset):
        return sorted(repr(plain(one)) for one in value)
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if hasattr(value, "__dict__") and not isinstance(value, type):
        return plain(vars(value))
    return repr(value)


def digest(value: Any) -> str:
    """Return a hash of a value."""
    return hashlib.sha256(repr(plain(value)).encode()).hexdigest()


def compare(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Compare what pages can show of each other with what it was before these were read."""
    if is_partial(app):
        restore_numbers(app)
    before: dict[str, str] = memory(env).get("facts", {})
    facts = {name: digest(value) for name, value in memory(env).items() if name not in BESIDE}
    memory(env)["facts"] = facts
    differing = {name for name, _ in facts.items() ^ before.items()}
    if not is_partial(app):
        # Others write what this process resolves. It reads alone: not every extension can put
        # together what several processes have read.
        write_in_parallel(app, CORES)
    elif differing:
        logger.info("\n%s %s", MORE, ", ".join(sorted(differing)))
    return []
