r"""Write the index of the search: the sentences of the book, and what each of them belongs to.

The index is the text itself, by page and by entry (a section, a theorem, a function, a term); the
reader's browser counts the words when the search is first used. Each formula is in it once, as it
is read: \sqrt{d_k} as √d_k. Code is in it by the public names that it calls, hidden proofs and
solutions by their text.
"""

import json
import re
from functools import partial
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_node, solution_node
from sphinx_proof.nodes import proof_node

import selfattn_ref
from press import seams
from press.markup import DOCSTRING_REFERENCE
from press.math.text import plain
from press.seams import STATEMENTS
from press.site.addresses import EXAMPLE
from press.site.contents import level_of, parts, question_of
from press.site.sources import CHECKED_BY

SILENT = (
    nodes.classifier,
    nodes.comment,
    nodes.doctest_block,
    nodes.image,
    nodes.raw,
    nodes.rubric,
    nodes.target,
    nodes.thead,
    addnodes.index,
    addnodes.only,
    addnodes.seealso,
    addnodes.toctree,
)
UNREAD = {"Raises", "References"}  # of a docstring: alike in all
KINDS = (
    "page", "section", "theorem", "function", "term", "proof", "exercise", "solution", "figure",
    "source",
)  # fmt: skip
IDENTIFIER = re.compile(r",? ?(arXiv|doi):\S+(?<!\.)|, file \w+\.txt")  # found by its name
LISTS = {"book/examples/index", "book/reference/theorems"}  # what they name stands elsewhere

# Where a sentence ends: not behind an abbreviation.
END = re.compile(
    r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bcf\.)(?<!\bal\.)(?<!\bvs\.)"
    r"(?<=[.!?])([”’)]*)\s+(?=[“‘(]?[A-Z0-9√−α-ωΑ-Ω])"
)


def words(node: nodes.Node) -> str:
    """Return the text of a node, with its formulas as one types them."""
    if isinstance(node, nodes.math | nodes.math_block):
        return str(plain(node.astext()))
    if isinstance(node, nodes.Text):
        return DOCSTRING_REFERENCE.sub(r"\1", node)
    if isinstance(node, SILENT):
        return ""
    return "".join(words(child) for child in node.children)


class Entry:
    """A place that a result leads to: its anchor, kind and title, and its sentences."""

    def __init__(self, anchor: str, kind: str, title: str) -> None:
        self.anchor, self.kind, self.title = anchor, kind, title
        self.blocks: list[str] = []
        self.names: list[str] = []

    def say(self, text: str, *, goes_on: bool = False) -> None:
        """Add a paragraph, or what goes on with the one before."""
        text = " ".join(text.split())
        if not text:
            return
        before = self.blocks[-1] if self.blocks else ""
        if before and not re.search(r"[.!?]\W?$", before) and (goes_on or text[0].islower()):
            self.blocks[-1] = f"{before} {text}"
        else:
            self.blocks.append(text)

    def sentences(self) -> list[str]:
        """Return what the entry says; of its code, the names that it calls."""
        found = []
        for block in self.blocks:
            ends = END.sub(r"\1\n", block)
            ends = re.sub(r"^(.{,24})\n", r"\1 ", ends, flags=re.M)  # "Cold." says nothing alone
            found += [block] if self.kind == "source" else ends.split("\n")
        if self.names:
            found.append(f"In the code: {', '.join(dict.fromkeys(self.names))}.")
        return found

    def written(self, *, is_page: bool) -> list[str | int]:
        """Return the entry as it stands in the index: that of a page itself needs no anchor."""
        anchor = "" if is_page else self.anchor
        return [anchor, KINDS.index(self.kind), self.title, "\n".join(self.sentences())]


class Reader:
    """Reads the entries of a page from its doctree."""

    def __init__(self, app: Sphinx, page: str) -> None:
        self.number_of = partial(seams.number_of, app.env, page)
        self.example = EXAMPLE.fullmatch(page)
        self.names = re.compile(rf"\b(SA\d{{3}}|{'|'.join(selfattn_ref.__all__)})\b")
        self.entries: list[Entry] = []

    def start(self, node: nodes.Element, kind: str, title: str) -> Entry:
        """Begin an entry at a node."""
        entry = Entry(node["ids"][0] if node["ids"] else "", kind, " ".join(title.split()))
        self.entries.append(entry)
        return entry

    def numbered(self, kind: str, node: nodes.Element) -> str:
        """Return the name of a theorem or the like, such as "Theorem 3"."""
        number = self.number_of(node["ids"][0] if node["ids"] else "")
        return f"{kind} {number}".strip()

    def read(self, node: nodes.Node, entry: Entry) -> None:
        """Put a node into the entry that it belongs to."""
        match node:
            case nodes.section() if isinstance(node[0], nodes.title):
                top, title = isinstance(node.parent, nodes.document), words(node[0])
                if self.example and not top:  # one page, one place; of an array, its name
                    if "array" in node["classes"]:
                        entry.names.append(title.split()[0])
                    elif "derivation" not in node["ids"]:
                        self.all(node[1:], entry)
                    return
                self.all(node[1:], self.start(node, "page" if top else "section", title))
            case proof_node():
                about = next(e for e in reversed(self.entries) if e.kind == "theorem")
                fold = self.start(node, "proof", f"Proof of {about.title.partition('.')[0]}")
                fold.anchor = f"{about.anchor}-proof"
                self.all(node.children, fold)
            case _ if isinstance(node, STATEMENTS):
                name = self.numbered(node["realtype"].title(), node)
                self.all(node[1:], self.start(node, "theorem", f"{name}. {words(node[0])}"))
            case exercise_node() | exercise_enumerable_node():
                name = self.numbered("Exercise", node)
                self.all(node[1:], self.start(node, "exercise", name))
            case solution_node():
                name = self.number_of(node["target_label"])
                fold = self.start(node, "solution", f"Solution of exercise {name}")
                fold.anchor = f"{node['target_label']}-answer"
                self.all(node[1:], fold)
            case nodes.figure():
                for caption in node.findall(nodes.caption):
                    self.start(node, "figure", self.numbered("Fig.", node)).say(words(caption))
            case addnodes.desc():
                for signature in node.findall(addnodes.desc_signature):
                    if signature.parent is node and signature["ids"]:
                        entry = self.start(signature, "function", signature["fullname"])
                self.all([n for n in node if isinstance(n, addnodes.desc_content)], entry)
            case nodes.field() if node[0].astext() in UNREAD:
                pass
            case nodes.definition_list_item() if not node[0]["ids"]:
                names = ", ".join(words(term) for term in node if isinstance(term, nodes.term))
                said = [words(paragraph) for paragraph in node.findall(nodes.paragraph)]
                entry.say(f"{names}: {' '.join(said)}")
            case nodes.definition_list_item():
                terms = [words(term) for term in node if isinstance(term, nodes.term)]
                self.all(node[1:], self.start(node[0], "term", ", ".join(terms)))
            case nodes.citation() if entry.kind == "function":
                pass
            case nodes.citation():
                source = words(nodes.inline("", "", *node[1:]))
                self.start(node, "source", "").say(IDENTIFIER.sub("", source))
            case nodes.row():
                cells = [" ".join(words(cell).split()) for cell in node]
                if self.example:
                    entry.names.append(cells[0])
                elif re.search(r"[A-Za-z]{2}", " ".join(cells)):
                    entry.say(" · ".join(filter(None, cells)) + ".")
            case nodes.literal_block():
                if "output" not in node["classes"]:
                    entry.names += self.names.findall(node.astext())
            case nodes.math_block():
                entry.say(words(node), goes_on=True)
            case nodes.container() if "card" in node["classes"]:
                pass
            case nodes.paragraph() if not CHECKED_BY.fullmatch(node.astext()):
                entry.say(re.sub(r"^Proof\.\s+", "", words(node)))
            case nodes.Element() if not isinstance(node, (*SILENT, nodes.paragraph)):
                self.all(node.children, entry)

    def all(self, found: list[nodes.Node], entry: Entry) -> None:
        """Read one node after the other."""
        for node in found:
            self.read(node, entry)


def collect(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Keep the entries of a page until all have been read."""
    reader = Reader(app, page)
    reader.all(doctree.children, Entry("", "page", ""))
    said = [e for e in reader.entries if e.kind == "page" or e.blocks or e.names]
    kept = seams.memory(app.env).setdefault("search_entries", {})
    kept[page] = reader.entries[:1] if page in LISTS else said


def write(app: Sphinx) -> None:
    """Write the index as a script that hands it over: a copy on a disk can load no other file."""
    entries: dict[str, list[Entry]] = seams.memory(app.env)["search_entries"]
    part_of = {app.config.master_doc: ""}
    for name, pages_of in parts(app.env):
        for page in pages_of:
            level = level_of(app.env, page)
            part_of[page] = f"{name}, level {level}" if level else name
    pages = [
        [
            app.builder.get_target_uri(page),
            question_of(app.env, page),
            part_of.get(page, "Worked examples" if EXAMPLE.fullmatch(page) else ""),
            [entry.written(is_page=place == 0) for place, entry in enumerate(entries[page])],
        ]
        for page in [*part_of, *sorted(entries.keys() - part_of.keys())]
        if entries.get(page)
    ]
    index = json.dumps({"kinds": KINDS, "pages": pages}, ensure_ascii=False, separators=(",", ":"))
    path = Path(app.outdir, "_static", "search-index.js")
    path.write_text(f"bookSearch.take({index});\n", encoding="utf-8")
