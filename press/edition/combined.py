"""The pages of the built site as two pages of HTML, for paper: the book, and what one looks up.

What a reader presses is gone, what is folded is open, and solutions stand after the lessons. A link
from page to page is a link within, or to the other volume, and says so; an id stays as it is on the
web, unless a page before has the same.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from html import escape
from math import ceil
from pathlib import Path
from posixpath import join, normpath
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

from lxml.html import builder as E
from lxml.html import fragment_fromstring, tostring

from press.build.check_html import parsed
from press.edition import terms
from press.site.paper import quoted
from selfattn_ref import __version__

Element = Any  # lxml's

STYLE = Path(__file__).with_name("edition.css")
PROGRAMS = {"examples/checker.html"}  # a page that is of no use on paper
# What is there to press, to fold, to search or to copy, or for a screen alone.
HEADINGS = ("h1", "h2", "h3", "h4")
TAGS = ("button", "form", "nav", "noscript", "script", "template")
CLASSES = (
    *("about", "beside", "buttons", "checker", "cite", "contents", "digits", "figure-narrow"),
    *("headerlink", "letters", "screen", "scripted", "toctree-wrapper", "viewcode-link", "ways"),
)
FRONT, CATALOG, INDEX = "index.html", "examples/index.html", "genindex.html"
SOLUTIONS, ANSWERING = "Solutions", "Figures that answer"
MODULES = "reference/api/"  # of the library: they go on below one another
ON_A_CARD = {"Topics", "Citation"}
# The heads of sections, but of those that a stylesheet knows by their ids.
SECTION_HEADS = """.//section[@id and not(@class) and not(contains(@id, 'further-reading'))]
  /*[1][(self::h2 or self::h3) and not(@id)]"""
# Before a short number, and within a vector: no line ends there.
BOUND = re.compile(r"(?<=\w) (?=\d{1,2}(?![\w.]*\d))|(?<=\d,) (?=[−\d., ]*\))")
PASSAGE = "ancestor::*[self::p or self::li or self::dd or self::tr or self::figcaption][1]"
TOLD = "boolean((ancestor::p | ancestor::dd)[not(ancestor::td)])"  # not in a list of examples
ANSWERS = ".//figure[.//*[@data-live or contains(@class, 'whole')]]"
DRAWN, HEADS = 1, 2  # calls of an example, and heads of a call, of which there is a drawing
# What takes the width of text and margin, and may part.
WIDE = """.//dl[contains(@class, 'py') or contains(@class, 'glossary') or contains(@class, 'slips')]
  | .//table[count(.//tr) > 15] | .//*[contains(@class, 'cards') or contains(@class, 'poster')
  or @class='source' or @class='entries']"""
TALLEST, NARROWEST = 15, 6  # rows below one another, and cells of a row beside others
WIDEST = 105  # letters of a row of a matrix, with the space beside each cell
LONGEST_CODE, LONGEST_OUTPUT = 8, 13  # lines that stay on one sheet
SHORTEST_RUN, LONGEST_RUN = 4, 14  # lines of code between blank ones: they stay together
ENDS = 2, 3, 4, 5, 1  # lines of code that stay with what they print, the better first
STATEMENT = re.compile(r"(?:<[^>]*>)*(?!else|elif|except|finally)[A-Za-z_]")  # begins in this line
LONGEST_WORD, LONGEST_PIECE = 20, 32  # letters of code in a line of text, and between its spaces
LINE = 70  # letters of a paragraph of one line
RELATIONS = {"=", "≈", "≠", "≤", "<", "≥", ">", "→", "∈", "+", "·", "⊙"}
APART = RELATIONS - {"⊙"} | {",", "−"}  # signs that bind less than a/b
FORMULA = "formula: "  # before what a drawing of a formula says
VOLUMES = {"book": ("I", "The book"), "examples": ("II", "Examples and reference")}
OTHER = "volume:"  # before a place in the other one
END = "end:"  # before the id of a page: where it ends
SORTED = "reference/glossary.html", "reference/bibliography.html"  # found without a page
IN_THE_BOOK = {f"reference/{name}.html" for name in ("notation", "glossary", "bibliography")}


@dataclass
class Page:
    """A page of the site."""

    path: str
    main: Element
    title: str = field(init=False)
    slug: str = field(init=False)
    number: str = ""  # of a lesson

    def __post_init__(self) -> None:
        """Name it as its address does: "causal/masking", "SA016"."""
        self.slug = re.sub(r"(/?index)?\.html$", "", self.path) or "front"
        for link in self.main.find_class("headerlink"):
            link.drop_tree()
        self.title = " ".join(self.main.find(".//h1").text_content().split())

    @property
    def is_example(self) -> bool:
        """Tell whether it is a worked example."""
        return re.fullmatch(r"SA\d{3}", self.slug) is not None


def volume_of(path: str) -> str:
    """Return in which volume a page is."""
    looked_up = re.match(r"SA\d{3}/|examples/|reference/", path) and path not in IN_THE_BOOK
    return "examples" if looked_up else "book"


@dataclass
class Part:
    """A part of the book; the first, which has no name, is the front page."""

    name: str
    pages: list[Page]

    @property
    def slug(self) -> str:
        """Return the id of its opener."""
        return re.sub(r"\W+", "-", f"part {self.name.lower()}")


@dataclass
class Book:
    """What the site says of itself, and its parts in reading order."""

    title: str
    authors: str
    foot: str  # whose it is, and what one may do with it
    mark: Element
    base: str  # the public address of the site, or nothing
    parts: list[Part]

    def pages(self) -> Iterator[Page]:
        """Yield all pages."""
        for part in self.parts:
            yield from part.pages


def edition_of(site: Path, volume: str) -> Path:
    """Return where the PDF of a volume of a built site stands."""
    return site.parent / "editions" / f"selfattn-{volume}-{__version__}.pdf"


def read(site: Path, only: Collection[str] = ()) -> Book:
    """Read the site in the order of its contents: all pages, or those that are named."""
    front = parsed(site / "index.html")
    canonical = front.xpath("string(//link[@rel='canonical']/@href)")
    foot = " ".join(front.xpath("string(//footer/p[last()])").split()).replace(", commit.", ".")
    parts = [Part("", [Page(FRONT, front.find(".//main"))])]
    for element in front.xpath("//nav[@aria-label='Contents']/*"):
        if element.tag == "p":
            group = "Reference: " if "group" in element.classes else ""
            parts.append(Part(f"{group}{element.text_content()}", []))
            continue
        paths = [normpath(link) for link in element.xpath(".//a/@href")]
        if CATALOG in paths:  # which has the examples; the menu does not
            examples = sorted(site.glob("SA*/index.html"))
            paths[1:1] = [path.relative_to(site).as_posix() for path in examples]
        for path in paths:
            if path not in PROGRAMS and (not only or path in only):
                parts[-1].pages.append(Page(path, parsed(site / path).find(".//main")))
    parts = [part for part in parts if part.pages]
    parts.append(Part("", [Page(INDEX, parsed(site / INDEX).find(".//main"))]))
    return Book(
        front.findtext("head/title"),
        front.xpath("string(//meta[@name='citation_author']/@content)").rstrip(","),
        foot=foot,
        mark=front.xpath("//header//svg")[0],
        base=canonical.removesuffix("index.html").rstrip("/"),
        parts=parts,
    )


# Pages


def _strip(page: Page, below: int) -> None:
    """Take from a page what is not for paper, and open what is folded.

    Its headings are one level `below` those of the web if it is in a part.
    """
    main = page.main
    unwanted = [element for tag in TAGS for element in main.iter(tag)]
    unwanted += [element for name in CLASSES for element in main.find_class(name)]
    unwanted += main.xpath(".//p[starts-with(normalize-space(), 'Check an output here')]")
    unwanted += main.xpath(".//section[dl[@class='map']]")  # the contents are the map
    if page.is_example:
        unwanted += _arranged(main)
    if page.path == CATALOG:  # each example has the same at its top
        unwanted += main.find_class("catalog")
    for element in unwanted:
        if element.getparent() is not None:
            element.drop_tree()
    for name in main.xpath(".//p[@class='facts']/strong[.='Run it']"):
        for one in (*name.itersiblings(), name):
            one.getparent().remove(one)
    for entry in main.xpath(".//ul[@class='entries']//li"):  # before links to nowhere are gone
        entry.set("title", entry.xpath("string(a[1] | text()[1])").strip())
    for reading in main.xpath(".//section[@id='further-reading']"):
        (head,) = reading.findall("h2")
        reading.append(E.DIV(*list(head.itersiblings())))
    if kinds := main.xpath(".//section[div/article[contains(@class, 'slip')]]"):
        kinds[0].addprevious(guide := E.DIV({"class": "guide"}))  # in columns
        guide.extend(kinds)
    for entry in main.xpath(".//dl[contains(@class, 'py')]/dd"):
        _name_beside(entry)
    for statement in main.find_class("statement"):
        if statement.xpath("p[@class='uses']"):  # in the list of all: its name stands beside it
            beside = E.ASIDE(*statement.xpath("p[@class='head' or @class='uses' and not(strong)]"))
            statement[:] = [beside, E.DIV(*list(statement))]
    for fold in main.iter("details"):
        fold.set("open", "")
        fold.attrib.pop("name", None)  # of folds with one name, a browser leaves one open
    for heading in main.iter(*HEADINGS):  # the first level is that of the parts
        heading.set("aria-level", str(int(heading.tag[1]) + below))
    for name in main.xpath(".//*[@role='heading']"):  # on paper, a name that stands out
        del name.attrib["role"], name.attrib["aria-level"]
    for code in main.iter("pre"):  # a tag of its own in the PDF
        within = E.CODE(*code)
        within.text, code.text = code.text, None
        code.append(within)
        is_output = code.xpath("boolean(ancestor::div[contains(@class, 'cell_output')])")
        longest = LONGEST_OUTPUT if is_output else LONGEST_CODE
        if code.text_content().count("\n") <= longest:
            code.classes.add("unbroken")
        elif not is_output:
            code[:] = [_runs(within)]
    for code in main.xpath(".//code[not(ancestor::pre)]"):
        limits = (code, LONGEST_WORD), *((one, LONGEST_PIECE) for one in code.find_class("pre"))
        for one, limit in limits:
            if len(one.text_content()) <= limit:
                one.classes.add("unbroken")
                for place in list(one.iter("wbr")):
                    place.drop_tag()
    for picture in main.xpath(".//*[contains(@class, 'live')]/*[@class='picture']"):
        drawing = picture.getparent()  # a drawing as any other, with its sentence below
        drawing.attrib.update({"role": "img", "aria-label": picture.get("aria-label")})
        drawing.addnext(drawing[-1])
        drawing[:] = list(picture)
    for column in main.xpath(".//*[@data-slip]"):  # on a screen, one points at it
        foot = max(float(y) for y in column.xpath("../text/@y"))
        column.append(column.makeelement("text", y=f"{foot - 19.5:g}"))
        column[-1].text = column.get("data-slip")
    for said in main.iter("p"):
        words = said.text_content().strip()
        below_a_head = said.getprevious() is not None and said.getprevious().tag in ("h2", "h3")
        if words.endswith(":") or (below_a_head and len(words) < LINE):
            said.classes.add("leads")  # to what follows
    for table in main.xpath(".//table[@class='matrix']"):
        _set_in_bands(table)
        if page.is_example:
            _set_side_by_side(table)
    for figure in main.xpath(".//figure[.//div[@class='tabs'][count(details) > 1]]"):
        figure.insert(0, figure.find("figcaption"))  # all that it shows may not be on one sheet
    _set_in_lines(main)


def _set_in_bands(matrix: Element) -> None:
    """Set a matrix of wide rows as a few, one below the other."""
    rows = list(matrix.iter("tr"))
    names = int(rows[-1][0].tag == "th")  # of the rows
    columns = len(rows[0]) - names
    level = rows["data-tall" in matrix.attrib :]  # or names of columns stand upright
    length = sum(
        2 + max(len(cell.text_content().strip()) for cell in column)
        for column in zip(*level, strict=True)
    )
    width = ceil(columns / ceil(length / WIDEST))
    for start in reversed(range(width, columns, width)):
        more = deepcopy(matrix)
        for caption in more.findall("caption"):
            caption.drop_tree()
        more.insert(0, E.CAPTION("continued"))
        for row in more.iter("tr"):
            row[:] = [*row[:names], *row[names + start : names + start + width]]
        matrix.addnext(more)
    for row in rows:
        del row[names + width :]


def _set_side_by_side(matrix: Element) -> None:
    """Set a matrix of many short rows as a few, beside one another."""
    rows, (holder,) = matrix.findall("tbody/tr"), matrix.xpath("..")
    if len(rows) <= TALLEST or len(rows[0]) > NARROWEST:
        return
    if "slices" not in holder.getparent().classes:
        holder.addnext(beside := E.DIV({"class": "slices"}))
        beside.append(holder)
    height = ceil(len(rows) / ceil(len(rows) / TALLEST))
    for start in reversed(range(height, len(rows), height)):
        more = deepcopy(holder)
        (body,) = more.xpath("table/tbody")
        body[:] = body[start : start + height]
        holder.addnext(more)
    for row in rows[height:]:
        row.drop_tree()


def _set_in_lines(main: Element) -> None:
    """Set what stands in a line of text, and say formulas as one types them."""
    for fraction in main.xpath(".//math[not(ancestor::div[contains(@class, 'math')])]//mfrac"):
        if _is_plain(fraction):  # on the line, or it reaches into the next
            fraction.tag = "mrow"
            fraction.insert(1, fraction.makeelement("mo", lspace="0", rspace="0"))
            fraction[1].text = "/"
    for link in main.find_class("id-link"):
        if call := re.match(r"-(\d+)(?!\w)", link.tail or ""):  # of an example: no line ends there
            link.text = f"{link.text}\u2060-\u2060{call[1]}"
            link.tail = link.tail[call.end() :]
    for text in main.xpath(".//p//text()[not(ancestor::math or ancestor::code)]"):
        holder, bound = text.getparent(), BOUND.sub("\u00a0", text)
        if text.is_tail:
            holder.tail = bound
        else:
            holder.text = bound
    for formula in main.iter("math"):
        formula.attrib.update({"role": "img", "aria-label": f"{FORMULA}{spoken(formula)}"})


def _is_plain(fraction: Element) -> bool:
    """Tell whether a fraction of two letters or numbers can stand on a line, as a/b."""
    beside = [fraction.getprevious(), fraction.getnext()]
    return (
        not any(len(part) for part in fraction)
        and fraction.getparent().tag == "math"
        and all(one is None or (one.tag == "mo" and one.text in APART) for one in beside)
    )


def _name_beside(entry: Element) -> None:
    """Make "See also", "Notes" and so on fields of a function, as "Returns" is one."""
    named = None
    for one in list(entry):
        if "rubric" in one.classes or "seealso" in one.classes:
            name = one if "rubric" in one.classes else one[0]
            named = E.DD(*one[1:])
            one.addprevious(E.DL(E.DT(name.text), named, {"class": "field-list"}))
            one.drop_tree()
        elif one.tag == "dl":  # of fields, or of a member
            named = None
        elif named is not None:
            named.append(one)


def _runs(code: Element) -> Element:
    """Let code part where a line is blank: a loop stays with its body, if they are not too long.

    A few lines are not left alone that are the first or the last, or begin a definition. The last
    lines of the last run may go to the next sheet, with what they print.
    """
    parts = [escape(code.text or ""), *(tostring(one, encoding="unicode") for one in code)]
    text = re.sub(r"\n((?:</span>)+)", r"\1\n", "".join(parts))  # a span ends in its last line
    found = text.rstrip("\n").split("\n\n")
    if any(run.count("<span") != run.count("</span>") for run in found):  # a blank line in a string
        found = ["\n\n".join(found)]
    runs = found[:1]
    for number, run in enumerate(found[1:], start=2):
        first, last = number == 2, number == len(found)
        lines = [one.count("\n") + 1 for one in (runs[-1], run)]
        inside = re.match(r"(?:<[^>]*>)* ", run)  # what the run before begins
        few = ((first or inside) and lines[0] < SHORTEST_RUN) or (last and lines[1] < SHORTEST_RUN)
        if few:
            runs[-1] += f"\n\n{run}"
        else:
            runs.append(run)
    texts = [*(f"{run}\n\n" for run in runs[:-1]), *_parted(f"{runs[-1]}\n")]
    lines = [text.rstrip("\n").count("\n") + 1 for text in texts]
    held = ("run unbroken" if count <= LONGEST_RUN else "run" for count in lines)
    spans = map('<span class="{}">{}</span>'.format, held, texts)
    return fragment_fromstring("<code>{}</code>".format("".join(spans)))


def _parted(run: str) -> list[str]:
    """Return a run of code; its last lines apart, if they begin with a statement of their own."""
    lines = run.splitlines(keepends=True)
    for end in ENDS if len(lines) > max(ENDS) else ():
        head, tail = "".join(lines[:-end]), "".join(lines[-end:])
        is_whole = tail.count("<span") == tail.count("</span>")
        if head.count("\n") >= SHORTEST_RUN and is_whole and STATEMENT.match(tail):
            return [head, tail]
    return [run]


def _arranged(main: Element) -> list[Element]:
    """Put the data of a worked example first; return what its page has for a desk, or twice."""
    (record,) = main.xpath(".//div[contains(@class, 'record')]")
    unwanted: list[Element] = main.xpath(".//section[@id='test' or @id='slips']")
    unwanted += record.xpath("p")
    unwanted += main.xpath("section/span[@id and not(node())]")  # a label; links lead to the head
    for name in record.xpath(".//dl[@class='simple']/dt"):
        name.addprevious(line := E.DIV())
        line.extend([name, name.getnext()])
        if name.text not in ON_A_CARD:
            unwanted.append(line)
    record.getparent().extend([record, *main.xpath(".//section[@id='steps']")])  # it may part
    for drawn in main.xpath(".//section[@id='on-one-sheet']"):
        drawn.getparent().find("section[@id='expected']").addnext(drawn)
        heads = "details/div[@class='tabs']/details[position() > $most]"
        if rest := [*drawn.findall("details")[DRAWN:], *drawn.xpath(heads, most=HEADS)]:
            unwanted += [*rest, *drawn.findall("p")]
            count = len(drawn.find_class("whole"))
            left = count - len({whole for one in rest for whole in one.find_class("whole")})
            told = f"{left} of the site’s {count} drawings"
            drawn.find("details/summary").append(E.SPAN(told, {"class": "cut"}))
    for part in main.xpath(".//section[@id='inputs' or @id='expected']"):  # numbers after arrays
        tables = part.xpath("div[table[contains(@class, 'numbers')]]")
        for more in tables[1:]:
            tables[0].find(".//tbody").extend(more.iter("tr"))
            more.drop_tree()
        part.extend(tables[:1])
        if arrays := part.xpath("section[contains(@class, 'array')]"):
            arrays[0].addprevious(columns := E.DIV({"class": "columns"}))
            columns.extend(arrays)
    meanings = set()
    for meaning in main.find_class("meanings"):  # of the letters in a drawing
        said = meaning.text_content()
        if said in meanings:  # beside a drawing before
            unwanted.append(meaning)
        meanings.add(said)
    alike: dict[tuple[str, ...], list[Element]] = {}  # parts of an array, made in the same way
    for row in main.xpath(".//section[@id='steps']//tbody/tr[@data-of]"):
        alike.setdefault((row.get("data-of"), *row[1].xpath("text()")), []).append(row)
    for first, *others in alike.values():
        if others:
            first[0].append(E.SMALL(f"and {len(others)} like it"))
        for row in others:
            row.drop_tree()
    unwanted += main.xpath(".//section[@id='steps']/p")  # the heads of the table say it
    for entry in main.xpath(".//section[@id='steps']//td[last()]"):  # its lines fill the width
        for one in list(entry):
            if one.tag == "br":
                entry.replace(one, line := E.SPAN(one.tail or ""))
            elif one.getprevious() is not None:
                line.append(one)
    for between in main.find_class("between"):  # terms of a long sum
        between[:] = []
        between.text = "…"
    remarks = set()
    for remark in main.xpath(".//section[@id='steps']//td//small"):
        if (said := remark.text_content()) in remarks:
            unwanted.append(remark)
        remarks.add(said)
    return unwanted


def spoken(formula: Element) -> str:
    """Return MathML as one types it: √(d_k), e^(−x), (a + b)/c."""

    def tight(part: Element) -> str:
        text = spoken(part)
        return text if re.fullmatch(r"\w+|.", text) else f"({text})"

    parts = list(formula)
    match formula.tag:
        case "mfrac":
            return f"{tight(parts[0])}/{tight(parts[1])}"
        case "msqrt":
            return f"√({''.join(map(spoken, parts))})"
        case "mroot":
            return f"root {tight(parts[1])} of {tight(parts[0])}"
        case "msub" | "munder":
            return f"{spoken(parts[0])}_{tight(parts[1])}"
        case "msup" | "mover":
            return f"{spoken(parts[0])}^{tight(parts[1])}"
        case "msubsup" | "munderover":
            return f"{spoken(parts[0])}_{tight(parts[1])}^{tight(parts[2])}"
        case "mspace":
            return " " if formula.get("width") else ""  # or it has a height only
        case "mtr":
            return ", ".join(map(spoken, parts))
        case "mtable":
            return "; ".join(map(spoken, parts))
        case "mo" if formula.text in RELATIONS:
            return f" {formula.text} "
        case _:
            return (formula.text or "") + "".join(map(spoken, parts))


def _rename(book: Book) -> dict[tuple[str, str], str]:
    """Give every id of the book a name of its own; return it by page and id.

    The first page that has an id keeps it, so that a label has its name: lists of them come later.
    """
    names: dict[tuple[str, str], str] = {}
    taken = {"heads", "contents", "cover", "answering"}  # what a volume has beside its pages
    taken |= {page.slug for page in book.pages()}
    for page in book.pages():
        names[page.path, ""] = names[page.path, "main"] = page.slug
        for element in page.main.xpath(".//*[@id]"):
            name = element.get("id")
            own = f"{page.slug}.{name}" if name in taken else name
            names[page.path, name] = own
            element.set("id", own)
            taken.add(own)
    return names


def _link(
    page: Page,
    site: Path,
    book: Book,
    volume: str,
    names: Mapping[tuple[str, str], str],
    titles: Mapping[str, Collection[str]],
) -> None:
    """Turn links to other pages into links to places on paper; drop those to anything else.

    The first link of a paragraph to a place says on which sheet that is, unless the place is in the
    same section, or is found without a number: its name, or the head of the sheet, says where.
    """
    said: set[tuple[Element, str]] = set()
    places = {one.get("id"): one for one in page.main.xpath(".//*[@id]")}
    for link in list(page.main.iter("a")):
        link.attrib.pop("download", None)
        address, anchor = urldefrag(link.get("href", ""))
        if urlsplit(address).scheme:
            continue
        target = normpath(join(page.path, "..", unquote(address))) if address else page.path
        if (site / target).is_dir():
            target = normpath(join(target, "index.html"))
        if name := names.get((target, unquote(anchor)), names.get((target, ""))):
            within = target == INDEX or volume_of(target) == volume
            link.set("href", f"#{name}" if within else f"{OTHER}{name}")
            if link.text_content() in titles.get(target, ()):
                link.classes.add("named")
            (passage,) = link.xpath(PASSAGE) or [page.main]
            is_near = target == page.path and (
                page.is_example or _section(link) is _section(places.get(name))
            )
            is_listed = within and target.startswith("SA") and not link.xpath(TOLD)
            is_found = is_near or is_listed or (within and target in SORTED)
            if page.path != INDEX and not is_found and (passage, name) not in said:
                link.append(E.SPAN("000", {"class": "at"}))
            said.add((passage, name))
        elif book.base:
            link.set("href", f"{book.base}/{target}{anchor and '#'}{anchor}")
        elif "tested" in link.getparent().classes:
            link.drop_tree()
        else:
            link.drop_tag()


def _section(element: Element) -> Element | None:
    """Return the section of a page that an element is in."""
    found = [] if element is None else element.xpath("ancestor-or-self::section[position()<last()]")
    return found[0] if found else None


def _at(name: str) -> Element:
    """Return a place for the number of the sheet that has `name`."""
    return E.A("000", {"class": "at", "href": f"#{name}"})


def _take_solutions(page: Page) -> Page | None:
    """Take the solutions out of a page, link each with its exercise, and return them.

    Who answers what in a room is one of them.
    """
    taken = E.MAIN(E.H1(page.title, {"aria-level": "2", "data-number": page.number}))
    answered = [
        (one, one.find("details"), "admonition-title") for one in page.main.find_class("room")
    ]
    answered += [(one, one.getnext(), "kind") for one in page.main.find_class("exercise")]
    for asked, solution, kind in answered:
        if solution is None or not {"solution", "aside"} & set(solution.classes):
            continue
        label, name = asked.get("id"), asked.find_class(kind)[0].text_content().strip()
        solution.drop_tree()
        solution[0].drop_tree()  # the summary
        solution.tag = "section"
        solution.set("id", f"{label}-solution")
        solution.set("class", "solution")
        solution.insert(0, E.H3(name, E.SMALL("p.\u00a0", _at(label)), {"aria-level": "3"}))
        taken.append(solution)
        asked.append(E.P("Solution: p.\u00a0", _at(f"{label}-solution"), {"class": "to-solution"}))
    own = Page(f"solutions/{page.path}", taken, page.number)
    return own if len(taken) > 1 else None


# The book


def combine(site: Path, book: Book, volume: str = "book") -> Element:
    """Return a volume of the book as one page of HTML, with places for the numbers of sheets."""
    for part in book.parts:
        for page in part.pages:
            _strip(page, 1 if part.name else 0)
    names = _rename(book)
    titles = {
        page.path: {head.text_content() for head in page.main.iter(*HEADINGS)}
        for page in book.pages()
    }
    for part in book.parts[:-1]:
        part.pages = [page for page in part.pages if volume_of(page.path) == volume]
    for page in book.pages():
        _link(page, site, book, volume, names, titles)
    lessons = [part for part in book.parts[:-1] if not part.name.startswith("Reference")]
    taught = (page for part in lessons if part.name for page in part.pages)
    for place, page in enumerate(taught if volume == "book" else (), start=1):
        page.number = str(place)
        page.main.find(".//h1").set("data-number", page.number)
    solutions = [
        taken
        for part in book.parts
        for page in part.pages
        if (taken := _take_solutions(page)) is not None
    ]
    rest = book.parts[len(lessons) :]
    parts = [*lessons, Part(SOLUTIONS, solutions), *rest]
    own = {name for (path, _), name in names.items() if path == INDEX or volume_of(path) == volume}
    chapters: list[Element] = []
    ends: list[str] = []
    contents, answers = E.OL(), E.OL()
    for part in (part for part in parts if part.pages):
        entries = contents
        if part.name:
            chapters += [E.DIV({"class": "blank", "hidden": ""}), _opener(part)]
            entries = E.OL()
            line = E.A(part.name, href=f"#{part.slug}"), _at(part.slug)
            contents.append(E.LI(*line, entries))
        for page in part.pages:
            article = _article(page, part, book)
            answers.extend(_answering(article, _address(page, book)))
            ends.append(f"{END}{page.slug}")
            article.append(E.SPAN(id=ends[-1]))
            if "right" in article.classes:
                chapters.append(E.DIV({"class": "blank", "hidden": ""}))
            chapters.append(article)
            if not page.is_example and part.name != SOLUTIONS:  # which the opener lists
                entries.append(_line(page))
    terms.fill(chapters, _at)
    listed = [_list_of_answering(answers)] if len(answers) else []
    if listed:
        contents.insert(0, E.LI(E.A(ANSWERING, href="#answering"), _at("answering")))
    (number, name), (other, _) = VOLUMES[volume], _other(volume)
    looks = f':root {{ --other: "{other}" }}\n{_looks(site)}'
    return E.HTML(
        E.HEAD(
            E.META(charset="utf-8"),
            E.TITLE(f"{book.title}. {number}: {name}"),
            E.STYLE(looks),
            E.STYLE(id="heads"),
        ),
        E.BODY(
            _cover(book, volume),
            E.SECTION(
                E.H1("Contents"),
                contents,
                {"class": "toc", "id": "contents", "data-part": "Contents", "data-head": ""},
            ),
            *listed,
            E.MAIN(*chapters),
            # A browser writes an id into the PDF if a link leads there.
            E.P(
                {"hidden": ""},
                *(E.A(href=f"#{name}") for name in sorted({"contents", "cover", *own, *ends})),
            ),
        ),
        lang="en",
    )


def _cover(book: Book, volume: str) -> Element:
    """Return the first sheet of a volume."""
    number, name = VOLUMES[volume]
    return E.SECTION(
        book.mark,
        E.P(book.title, {"class": "title"}),
        E.P(f"Volume {number}: {name}", {"class": "volume"}),
        E.P(f"Version {__version__}", {"class": "version"}),
        E.P(_legend(volume, book.base), {"class": "rights"}),
        E.P(book.foot),
        {"class": "cover", "id": "cover", "data-part": "", "data-head": ""},
    )


def _article(page: Page, part: Part, book: Book) -> Element:
    """Return a page as it is in a volume, with what stands above its sheets."""
    attributes = {
        "id": page.slug,
        "class": _kind(page, part),
        "style": f"--address: {quoted(_address(page, book))}",
        "data-part": part.name or book.title,
        "data-head": _head(page),
    }
    article = E.ARTICLE(*page.main, attributes)
    if not page.is_example:  # a section may begin at a foot, and its head on the next
        for head in article.xpath(SECTION_HEADS):
            head.set("id", head.getparent().attrib.pop("id"))
    for term in article.xpath(".//dl[contains(@class, 'glossary')]/dt[@id]"):
        name = " ".join(term.text_content().split())
        term.attrib.update({"data-part": page.title, "data-head": name})
    return article


def _address(page: Page, book: Book) -> str:
    """Return where a page is on the site."""
    return f"{book.base}/{page.path}".lstrip("/")


def _answering(article: Element, address: str) -> Iterator[Element]:
    """Yield the lines of the figures of a page that answer: what each shows, and where it does."""
    for figure in article.xpath(ANSWERS):
        caption = deepcopy(figure.find("figcaption"))
        (said,) = caption.find_class("caption-text")
        (number,) = caption.find_class("caption-number")
        place = f"#{figure.get('id')}"
        line = E.A(number, said, href=place), _at(figure.get("id"))
        yield E.LI(*line, E.SMALL(f"{address}{place}"))


def _list_of_answering(lines: Element) -> Element:
    """Return the list of the figures that answer."""
    above = {"class": "toc", "id": "answering", "data-part": ANSWERING, "data-head": ""}
    said = E.P("They move with what you try on the site of the book, each at its address.")
    return E.SECTION(E.H1(ANSWERING), said, lines, above)


def _legend(volume: str, base: str) -> str:
    """Return what a reader of paper has to know."""
    number, name = _other(volume)
    site = base or "the site of the book"
    where = {
        "book": f"Figures that answer do so on {site}: the list after the contents says where.",
        "examples": f"Drawings of examples answer on {site}, those of SA016 at SA016/.",
    }[volume]
    return (
        f"After a reference, (p. 7) is a page of this volume, and ({number} 7) one of volume"
        f" {number}, {name}. {where}"
    )


def _other(volume: str) -> tuple[str, str]:
    """Return the number and the name of the other volume."""
    (other,) = VOLUMES.keys() - {volume}
    return VOLUMES[other]


def _head(page: Page) -> str:
    """Return what stands above the sheets of a page, beside the name of its part."""
    if page.path in (FRONT, CATALOG, f"{terms.GLOSSARY}.html"):
        return ""
    title = page.title.partition(":")[0] if page.path.startswith(MODULES) else page.title
    return f"{page.number} {title}".strip()


def _kind(page: Page, part: Part) -> str:
    """Return the class of a page: a chapter begins on a sheet of its own, but for a module.

    A handout begins on the right, so that what is solved is not beside it. A lesson has a margin
    outside, and so has what is set as one.
    """
    if page.is_example:
        return "example"
    if page.path.startswith(MODULES) and not page.path.endswith("index.html"):
        return "chapter module"
    if page.main.find_class("sheet"):
        return "chapter right"
    if part.name == SOLUTIONS:
        return "goes-on lesson"
    return "chapter" if page.main.xpath(WIDE) else "chapter lesson"


def _opener(part: Part) -> Element:
    """Return the first sheet of a part: its pages, each with what it asks, and its sections."""
    listed = E.OL(*map(_line, part.pages))
    for page, line in zip(part.pages, listed, strict=True):
        if not (asked := page.main.find_class("kicker")):  # it is no lesson
            continue
        line[0].append(E.SMALL(asked[0].text_content()))
        line.append(sections := E.P())
        for head in page.main.xpath("section/section[@id]/h2"):
            name = head.getparent().get("id")
            link = E.A(*deepcopy(head), href=f"#{name}")
            link.text = head.text
            sections.append(E.SPAN(link, " ", _at(name)))
    above = {"data-part": part.name, "data-head": ""}
    return E.SECTION(E.H1(part.name), listed, {"id": part.slug, "class": "opener", **above})


def _line(page: Page) -> Element:
    """Return the line of a page in a list of pages."""
    numbered = {"data-number": page.number, "href": f"#{page.slug}"}
    return E.LI(E.A(page.title, numbered), _at(page.slug))


def _looks(site: Path) -> str:
    """Return the stylesheet: that of the site, and what is different on paper."""
    names = ("page.css", "cards.css")
    css = "".join((site / "_static" / name).read_text("utf-8") for name in names)
    css = css.replace('url("fonts/', f'url("{(site / "_static" / "fonts").resolve().as_uri()}/')
    return f"{css}\n{STYLE.read_text('utf-8')}"


def headings(book: Element) -> Iterator[tuple[int, str, str]]:
    """Yield the level, the text and the id of what the outline of a combined book has."""
    for heading in book.iter(*HEADINGS):
        level = int(heading.get("aria-level", heading.tag[1]))
        (article,) = heading.xpath("ancestor::article[1]") or [None]
        is_chapter = article is None or "chapter" in article.classes
        if level <= (3 if is_chapter else 2):
            place = heading.xpath("string(ancestor-or-self::*[@id][1]/@id)")
            text = "".join(heading.xpath(".//text()[not(parent::span[@class='at'])]"))
            yield level, " ".join(text.split()), place
