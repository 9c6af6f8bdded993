"""Print the built book into two PDFs, and finish it: tags, dates, metadata, size."""

import argparse
import io
import time
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pikepdf
from lxml import html
from pikepdf import Array, Dictionary, Name, OutlineItem, Pdf
from playwright.sync_api import Browser, ViewportSize
from playwright.sync_api import Page as Tab

from press.build.book import SITE, epoch
from press.edition.combined import (
    END,
    FORMULA,
    OTHER,
    VOLUMES,
    Book,
    Element,
    combine,
    edition_of,
    headings,
    read,
)
from press.measure.visit import launched
from selfattn_ref import __version__

Object = Any  # pikepdf's
Item = Any  # one of them, or a list
GROUPS = {"/Document", "/Art", "/Sect", "/Div", "/Part", "/BlockQuote"}  # hold no text themselves
INLINE = {"/Span", "/Em", "/Strong", "/Link", "/Code", "/Formula", "/Quote", "/Sub", "/Lbl"}
# A label in a drawing has an outline in the color of the paper, which in a PDF is a font of its own
# for each drawing. A box behind it does the same.
BOXES = """() => {
  const texts = [...document.querySelectorAll(".drawing text")]
    .filter((text) => getComputedStyle(text).stroke !== "none")
    .map((text) => [text, text.getBBox()]);  // first all, for what is drawn makes them stale
  for (const [text, { x, y, width, height }] of texts) {
    const box = document.createElementNS(text.namespaceURI, "rect");
    for (const [name, value] of Object.entries(
      { x: x - 1, y: y + height * .14, width: width + 2, height: height * .74, class: "box" }))
      box.setAttribute(name, value);
    const turn = text.getAttribute("transform");
    if (turn) box.setAttribute("transform", turn);
    text.before(box);
    text.style.stroke = "none";
  }
}"""
# What a sheet would cut off, which on a screen one scrolls to.
CUT = """() => {
  const edge = document.body.getBoundingClientRect().right + 10;
  const cut = (one) => one.getBoundingClientRect().right > edge ||
    (getComputedStyle(one).overflowX !== "visible" && one.scrollWidth > one.clientWidth + 1);
  return [...document.querySelectorAll("article:not(:has(.poster)) *:not(svg *, math *)")]
    .filter((one) => cut(one) && !cut(one.parentElement))
    .map((one) => `${one.closest("article").id}: ${one.textContent.trim().slice(0, 60)}`);
}"""
# The matrices of a Sheet stand in one row, where the first has the names of all: up to an eighth
# smaller for it. Of others, the weights begin the second row with what comes of them. First all is
# measured, then all is changed: each turn from one to the other lays out the volume.
ONE_ROW = """() => {
  const foot = (one) => one.offsetTop + one.offsetHeight;
  const wide = [...document.querySelectorAll(".whole:not(.poster .whole)")].map((whole) => {
    const bands = whole.querySelector(".bands"), parts = [...bands.children];
    return { whole, bands, last: parts.filter((one) => foot(one) === foot(parts.at(-1))) };
  }).filter(({ bands, last }) => last.length < bands.children.length);
  for (const { whole } of wide) whole.classList.add("one-row");
  for (const one of wide) one.share = one.bands.clientWidth / one.bands.scrollWidth;
  for (const { whole, bands, last, share } of wide) {
    if (share >= 7 / 8) {
      whole.style.zoom = 0.99 * share;  // what is rounded, too
      continue;
    }
    whole.classList.remove("one-row");
    if (last.length > 1) continue;
    const second = bands.cloneNode(false);
    second.append(...[...bands.children].slice(-2));
    bands.after(second);
  }
}"""
# What code shows, if this takes a sixth of a sheet, and both take two fifths.
TALL = """(sheet) => {
  const tall = [...document.querySelectorAll(".cell_input + .cell_output")].filter((shown) =>
    shown.offsetHeight > sheet / 6 && shown.parentElement.offsetHeight > sheet * 2 / 5);
  for (const shown of tall) shown.classList.add("tall");
}"""
# Cells that are no wider than the text, less what is around code, need not stand below the notes in
# the margin.
NARROW = """() => {
  const edge = (cell) => cell.closest("article").getBoundingClientRect().right - 16;
  const rights = (node) => {
    const range = new Range();
    range.selectNodeContents(node);
    return [...range.getClientRects()].map((one) => one.right);
  };
  const right = (cell) => {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), found = [];
    while (texts.nextNode()) found.push(...rights(texts.currentNode));
    return Math.max(...found);
  };
  const narrow = [...document.querySelectorAll(".chapter .cell:not(:has(figure, .sheet, .poster))")]
    .filter((cell) => right(cell) < edge(cell));
  for (const cell of narrow) cell.classList.add("narrow");
}"""
# Notes that would push code or a table down stand higher, as far as there is room in the margin: a
# line stays between the text and what is below it, and half of one between notes.
HIGHER = """() => {
  const box = (one) => one.getBoundingClientRect();
  const margin = [...document.querySelectorAll("article .notes, article figcaption")];
  const found = margin.map((notes, i) => {
    const below = notes.matches(".notes") && notes.parentElement.nextElementSibling;
    if (!below || getComputedStyle(below).clear === "none") return [notes, 0];
    const hole = box(below).top - box(notes.parentElement.lastElementChild).bottom - 24;
    const article = notes.closest("article"), before = margin[i - 1];
    const foot = before?.closest("article") === article ? box(before).bottom : box(article).top;
    return [notes, Math.min(hole, box(notes).top - foot - 12)];
  });
  for (const [notes, by] of found)
    if (by > 0) notes.style.marginTop = `${parseFloat(getComputedStyle(notes).marginTop) - by}px`;
}"""
# The arrays of an example stand in ten columns: each takes as many as it needs.
COLUMNS = """() => {
  const found = [...document.querySelectorAll(".columns > .array")].map((one) =>
    [one, Math.ceil(10 * (one.offsetWidth + 12) / (one.parentElement.offsetWidth + 12))]);
  for (const [one, count] of found) {
    one.style.gridColumn = `span ${Math.min(count, 10)}`;
    one.parentElement.classList.add("set");
  }
}"""
# Derivation, origin and citation of an example stand beside its last Sheet if that is narrow, or
# else in two columns.
BESIDE = """() => {
  const right = (one) => one.getBoundingClientRect().right;
  const said = new Map([...document.querySelectorAll(".example")].map((article) => {
    const all = document.createElement("div");
    const parts = article.querySelectorAll("[id$=derivation], [id$=origin], .record");
    all.className = "said";
    parts[0].before(all);
    all.append(...parts);
    return [article, all];
  }));
  const last = document.querySelectorAll(".example .one:last-of-type:not(:has(.tabs))");
  const found = [...last].map((drawing) => {
    const article = drawing.closest("article"), left = article.getBoundingClientRect().left;
    const wide = Math.max(...[...drawing.querySelectorAll(".bands > *")].map(right)) - left;
    return { drawing, article, wide };
  }).filter(({ article, wide }) => wide < article.offsetWidth * 0.65);
  for (const { drawing, article, wide } of found) {
    const pair = document.createElement("div");
    pair.className = "pair";
    pair.style.gridTemplateColumns = `${wide}px 1fr`;
    drawing.before(pair);
    pair.append(drawing, said.get(article));
  }
}"""
PRINTINGS = 7
# What is left of the last layout can make the next one break elsewhere.
FORGET = "document.body.hidden = true; document.body.offsetHeight; document.body.hidden = false"
FACES = "Promise.all([...document.fonts].map((face) => face.load())).then(() => null)"
PDF = {"prefer_css_page_size": True, "print_background": True}
SHEET = ViewportSize(width=637, height=900)  # CSS pixels within the margins
FILL_IN = """([own, other]) => {
  let added = 0;
  for (const one of document.querySelectorAll(".opener, .right")) {  // they begin on the right
    if ((own[one.id] + added) % 2 !== 0) continue;
    const blank = one.previousElementSibling;
    blank.hidden = !blank.hidden;
    added += blank.hidden ? -1 : 1;
  }
  for (const place of document.querySelectorAll(".at")) {
    const [, mark, name] = /(#|:)(.*)/.exec(place.closest("a").getAttribute("href"));
    place.textContent = (mark === "#" ? own : other)[decodeURIComponent(name)] ?? "000";
  }
  for (const entry of document.querySelectorAll(".entries li")) {
    const numbers = [...entry.children].filter((one) => one.matches(".at"));
    numbers.forEach((one, i) => { one.hidden = one.textContent === numbers[i - 1]?.textContent; });
  }
}"""
# Set the lines of a page closer that would end with few of them, alone on a sheet: step by step. An
# example is set closer once; then up to eight last steps are left to the site, if two or more stay.
# `depths` has how far down its last sheet a page ends, in pixels, a few of which rounding takes.
CLOSER = """([sheets, depths]) => {
  const steps = (one) => Number(one.style.getPropertyValue("--steps"));
  const short = Object.keys(depths).map((end) => document.getElementById(end).parentElement)
    .filter((one) => steps(one) < 3 &&
      sheets[one.lastElementChild.id] > sheets[one.id] &&
      sheets[one.lastElementChild.id] !== sheets[(one.nextElementSibling ?? one).id]);
  const cut = (one) => {
    const rows = [...one.querySelectorAll(".steps > tbody > tr")];
    let over = depths[one.lastElementChild.id] - one.querySelector(".steps > thead")?.offsetHeight;
    let left = rows.length;
    while (over > 4 && left > 0) over -= rows[--left].offsetHeight;
    return left > 1 && left >= rows.length - 8 ? rows.slice(left) : [];
  };
  const found = short.map((one) => [one, one.matches(".closer.example") ? cut(one) : null])
    .filter(([, rows]) => rows?.length !== 0);
  for (const [one, rows] of found) {
    one.classList.add("closer");
    one.style.setProperty("--steps", steps(one) + 1);
    if (!rows) continue;
    for (const row of rows) row.remove();
    const left = one.querySelectorAll(".steps > tbody > tr").length;
    const told = one.querySelector(".more");
    told.textContent = `The first ${left} of ${told.dataset.steps}; all are on the site.`;
  }
  return found.length;
}"""
HIGH = 560  # points above the foot of a sheet: there are few lines above
Numbers = dict[str, int]  # of the sheet that has an id


def print_book(
    browser: Browser, site: Path, folder: Path, only: Collection[str] = ()
) -> Iterator[tuple[str, bytes]]:
    """Yield the volumes, each with its PDF: all pages, or those that are named.

    Their HTML is left in `folder`. Drafts tell on which sheet each place is; a number that is
    filled in may move what follows, so they are printed until nothing moves.
    """
    book = read(site, only)
    pages = {volume: combine(site, read(site, only), volume) for volume in VOLUMES}
    tabs = {
        volume: _opened(browser.new_page(), page, folder / f"{volume}.html")
        for volume, page in pages.items()
    }
    numbers: dict[str, Numbers] = {volume: {} for volume in VOLUMES}
    for _ in range(PRINTINGS):
        before = numbers
        numbers = {volume: _draft(tab, volume, before) for volume, tab in tabs.items()}
        if numbers == before:
            break
    for volume, page in pages.items():
        (other,) = VOLUMES.keys() - {volume}
        with _printed(tabs[volume], tagged=True) as pdf:
            if moved := dict(places(pdf).items() ^ numbers[volume].items()):
                raise RuntimeError(f"{volume}: numbers of sheets still move {sorted(moved)}")
            describe(pdf, book, str(page.findtext("head/title")))
            lead_to(pdf, edition_of(site, other).name)
            write_outline(pdf, page)
            simplify(pdf)
            yield volume, saved(pdf)


def _opened(tab: Tab, page: Element, draft: Path) -> Tab:
    """Open a volume as it will be printed."""
    text = html.tostring(page, encoding="unicode", doctype="<!doctype html>")
    draft.write_text(text, encoding="utf-8")
    tab.set_default_timeout(0)
    tab.goto(draft.resolve().as_uri())
    tab.evaluate(FACES)  # also those of paper alone, which would come between two printings
    tab.set_viewport_size(SHEET)
    tab.emulate_media(media="print")
    tab.evaluate(TALL, SHEET["height"])
    tab.evaluate(NARROW)
    tab.evaluate(HIGHER)
    tab.evaluate(COLUMNS)
    tab.evaluate(ONE_ROW)
    tab.evaluate(BESIDE)
    if cut := tab.evaluate(CUT):
        raise RuntimeError("\n".join(["wider than a sheet:", *cut]))
    tab.evaluate(BOXES)
    return tab


def _draft(tab: Tab, volume: str, numbers: Mapping[str, Numbers]) -> Numbers:
    """Fill in the numbers that are known, and return those that are found."""
    (other,) = VOLUMES.keys() - {volume}
    tab.evaluate(FILL_IN, [numbers[volume], numbers[other]])
    with _printed(tab) as pdf:
        found = places(pdf)
        heights = {str(name)[1:]: float(place[3]) for name, place in pdf.Root.Dests.items()}
    top = max(heights.values())
    depths = {n: (top - h) * 4 / 3 for n, h in heights.items() if n.startswith(END) and h > HIGH}
    if tab.evaluate(CLOSER, [found, depths]):
        return _draft(tab, volume, numbers)
    return found


def _printed(tab: Tab, tagged: bool = False) -> Pdf:
    """Print a volume as it is now."""
    tab.evaluate(FORGET)
    return Pdf.open(io.BytesIO(tab.pdf(tagged=tagged, **PDF)))


def places(pdf: Pdf) -> Numbers:
    """Return the number of the sheet of every id."""
    sheets = {page.obj.objgen: number for number, page in enumerate(pdf.pages, start=1)}
    return {str(name)[1:]: sheets[where[0].objgen] for name, where in pdf.Root.Dests.items()}


def lead_to(pdf: Pdf, other: str) -> None:
    """Let links to the other volume lead to the file of this name beside this one."""
    for page in pdf.pages:
        for note in page.get("/Annots", []):
            address = unquote(str(note.A.get("/URI", ""))) if "/A" in note else ""
            if address.startswith(OTHER):
                place = Name(f"/{address.removeprefix(OTHER)}")
                note.A = Dictionary(S=Name.GoToR, F=pikepdf.String(other), D=place)


def describe(pdf: Pdf, book: Book, title: str) -> None:
    """Say what the PDF is and when it was made."""
    stamp = f"D:{datetime.fromtimestamp(int(epoch()), UTC):%Y%m%d%H%M%S}Z"
    pdf.docinfo = pdf.make_indirect(
        Dictionary(
            Title=title,
            Author=book.authors,
            Subject=f"Version {__version__}",
            CreationDate=stamp,
            ModDate=stamp,
        )
    )
    with pdf.open_metadata(set_pikepdf_as_editor=False) as metadata:
        metadata.load_from_docinfo(pdf.docinfo)
        metadata["dc:language"] = {"en"}
    pdf.Root.PageMode = Name.UseOutlines
    pdf.Root.ViewerPreferences = Dictionary(DisplayDocTitle=True)


def write_outline(pdf: Pdf, book: Element) -> None:
    """List the parts, the chapters and their sections beside the sheets."""
    with pdf.open_outline() as outline:
        above = [outline.root]
        for level, text, place in headings(book):
            item = OutlineItem(text, Name(f"/{place}"))
            item.is_closed = level > 1
            del above[level:]
            above[-1].append(item)
            above.append(item.children)


def simplify(pdf: Pdf) -> None:
    """Take the wrappers without a meaning out of the tags; they are nine of ten.

    What stood in them goes to what is around them, and a line of text that nothing else is around
    becomes a paragraph. A drawing that says a formula is a formula.
    """
    owners: dict[tuple[Any, int], Object] = {}  # a sheet and the number of a piece on it: its tag

    def inline(one: Item) -> bool:
        return isinstance(one, list) or "/S" not in one or str(one.S) in INLINE

    def within(element: Object) -> Iterator[Item]:
        """Yield what is in an element: pieces of sheets, tags, and lines of both."""
        inside = element.get("/K")
        for kid in inside if isinstance(inside, Array) else [] if inside is None else [inside]:
            if isinstance(kid, int):
                yield Dictionary(Type=Name.MCR, Pg=element.Pg, MCID=kid)
            elif "/S" not in kid:
                if "/Pg" not in kid and "/Pg" in element:  # then it is on the sheet of its element
                    kid.Pg = element.Pg
                yield kid
            elif str(kid.S) == "/NonStruct":
                found = list(within(kid))
                if all(map(inline, found)):
                    yield list(flat(found))
                else:
                    yield from paragraphs(found)
            else:
                settle(kid, list(within(kid)))
                yield kid

    def flat(found: list[Item]) -> Iterator[Object]:
        for one in found:
            yield from one if isinstance(one, list) else [one]

    def paragraphs(found: list[Item]) -> Iterator[Object]:
        for one in found:
            if not isinstance(one, list):
                yield one
            elif any("/S" not in piece for piece in one):
                paragraph = pdf.make_indirect(Dictionary(Type=Name.StructElem, S=Name.P))
                settle(paragraph, one)
                yield paragraph
            else:
                yield from one

    def settle(element: Object, found: list[Item]) -> None:
        """Put into an element what belongs there."""
        if str(element.get("/Alt", "")).startswith(FORMULA):
            element.S = Name.Formula
            element.Alt = str(element.Alt).removeprefix(FORMULA)
        elif str(element.S) == "/Figure" and "/Alt" not in element:
            element.S = Name.Div  # around one that says what it shows
        kids = list((paragraphs if str(element.S) in GROUPS else flat)(found))
        pieces = [kid for kid in kids if kid.get("/Type") == Name.MCR]
        if pieces:
            element.Pg = pieces[0].Pg
        for kid in kids:
            if "/S" in kid:
                kid.P = element
        for piece in pieces:
            owners[piece.Pg.objgen, int(piece.MCID)] = element
        element.K = Array(
            int(kid.MCID)
            if kid.get("/Type") == Name.MCR and kid.Pg.objgen == element.Pg.objgen
            else kid
            for kid in kids
        )

    root = pdf.Root.StructTreeRoot
    settle(root.K, list(within(root.K)))
    tree = pikepdf.NumberTree(root.ParentTree)
    for page in pdf.pages:
        if "/StructParents" not in page.obj:  # blank
            continue
        numbers = tree[int(page.obj.StructParents)]
        for number in range(len(numbers)):
            if owner := owners.get((page.objgen, number)):
                numbers[number] = owner


def saved(pdf: Pdf) -> bytes:
    """Return the bytes, the same for the same content."""
    made = io.BytesIO()
    pdf.remove_unreferenced_resources()
    pdf.save(
        made,
        deterministic_id=True,
        object_stream_mode=pikepdf.ObjectStreamMode.generate,
        recompress_flate=True,
    )
    return made.getvalue()


def main() -> None:
    """Print both volumes, or of each the pages that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", help="paths in the site; all without")
    wanted = parser.parse_args().pages
    if not (SITE / "index.html").is_file():
        raise SystemExit(f"error: no book in {SITE}: 'make book' builds it.")
    folder = edition_of(SITE, "book").parent
    folder.mkdir(exist_ok=True)
    started = time.monotonic()
    with launched() as browser:
        for volume, content in print_book(browser, SITE, folder, wanted):
            path = folder / f"part-{volume}.pdf" if wanted else edition_of(SITE, volume)
            path.write_bytes(content)
            print(f"{path}: {len(content) / 1e6:.1f} MB, {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
