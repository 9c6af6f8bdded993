"""Read the sources of the pages, for the tests of this folder."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from press.site.moved import former

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"

CELL = re.compile(r"^```\{code-cell\} python\n(.*?)^```$", re.M | re.S)
OPTIONS = re.compile(r"\A(?:---\n(?P<block>.*?)^---\n|(?P<lines>(?:^:[^\n]*\n)+))", re.M | re.S)


@dataclass(frozen=True)
class Cell:
    """A code cell: its options and its lines."""

    options: dict[str, Any]
    code: str

    @property
    def tags(self):
        return list(self.options.get("tags", []))

    @property
    def visible(self):
        return not {"remove-cell", "remove-input", "hide-input", "hide-cell"} & set(self.tags)


def pages():
    """Return every written page of the table of contents, in reading order."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    found = [toc["root"]]

    def walk(entries):
        for entry in entries:
            if "glob" in entry:  # the pages of the examples, made from their data
                continue
            found.append(entry["file"])
            walk(entry.get("sections", []))

    for part in toc["parts"]:
        walk(part["chapters"])
    return [ROOT / f"{name}.md" for name in found]


LABEL = re.compile(
    r"^:label: ((?:thm|ex)-\S+)$|^\$\$ \((eq-\S+)\)$|^ +name: (fig-\S+)$|^\((.+)\)=\n#+ ", re.M
)


def labels():
    """Return what can be referred to: pages, statements, equations, figures, exercises.

    Each with its page. A page that has moved is a section of its new page.
    """
    found = {}
    for page in pages():
        text, name = page.read_text("utf-8"), relative(page)
        found |= {"".join(label): name for label in LABEL.findall(text)}
        sections = {old.replace("/", "-") for old in former(name)}
        found |= {label: name for label in sections if f"\n({label})=\n## " in text}
    return found


def lessons():
    """Return the pages that teach: all but the front page and those where one looks things up."""
    looked_up = {"examples", "reference"}
    parts = {page: {*page.relative_to(BOOK).parts[:-1]} for page in pages()}
    return [page for page, folders in parts.items() if folders and not folders & looked_up]


def cells(text):
    """Return the code cells of a page, hidden ones included."""
    found = []
    for body in CELL.findall(text):
        match = OPTIONS.match(body)
        options = {}
        if match:
            block = match["block"] or re.sub(r"^:(\w+):", r"\1:", match["lines"], flags=re.M)
            options = yaml.safe_load(block)
        found.append(Cell(options, body[match.end() if match else 0 :]))
    return found


def prose(text):
    """Return the question and the text of a page without code, and roles that something fills."""
    front, text = re.fullmatch(r"(?:---\n(.*?)^---\n)?(.*)", text, re.M | re.S).groups("")
    text = "\n".join([*re.findall(r"^question: (.*)", front, re.M), text])
    text = CELL.sub("", text)
    text = re.sub(r"^```python\n.*?^```$", "", text, flags=re.M | re.S)
    text = re.sub(r"\{(?:glue|cite|eq)[\w:]*\}`[^`]*`", "", text)
    text = re.sub(r"\{[\w:]+\}`([^`<]*)[^`]*`", r"\1", text)
    return re.sub(r"`[^`\n]*`", "", text)


def relative(path):
    """Return the name of a page inside the book, such as concepts/similarity."""
    return path.relative_to(BOOK).with_suffix("").as_posix()
