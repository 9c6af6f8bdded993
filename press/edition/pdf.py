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
from press.site.paper import quoted
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
  const body = document.body.getBoundingClientRect().right + 1;  // or all is printed smaller
  const edge = (one) => body + one.closest("article").offsetLeft;  // or its margin
  const cut = (one) => one.getBoundingClientRect().right > edge(one) ||
    (getComputedStyle(one).overflowX !== "visible" && one.scrollWidth > one.clientWidth + 1);
  return [...document.querySelectorAll("article:not(:has(.poster)) *:not(svg *, math *)")]
    .filter((one) => cut(one) && !cut(one.parentElement))
    .map((one) => `${one.closest("article").id}: ${one.textContent.trim().slice(0, 60)}`);
}"""
LOST = """() => [...document.querySelectorAll(".at")]
  .filter((one) => one.textContent === "000").map((one) => one.closest("a").href)"""
# The matrices of a Sheet stand in one row, where the first has the names of all: up to a tenth
# smaller for it. Of others, the weights begin the second row with what comes of them. First all is
# measured, then all is changed: each turn from one to the other lays out the volume.
ONE_ROW = """() => {
  const foot = (one) => one.offsetTop + one.offsetHeight;
  const wide = [...document.querySelectorAll(".whole:not(.poster .whole)")].map((whole) => {
    const bands = whole.querySelector(".bands"), parts = [...bands.children];
    return { whole, bands, last: parts.filter((one) => foot(parts.at(-1)) - foot(one) < 4) };
  }).filter(({ bands, last }) => last.length < bands.children.length);
  for (const { whole } of wide) whole.classList.add("one-row");
  for (const one of wide) one.share = one.bands.clientWidth / one.bands.scrollWidth;
  for (const { whole, bands, last, share } of wide) {
    if (share >= 9 / 10) {
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
# A table of a lesson is as wide as the text, unless that makes it higher by more than half.
NARROW = """() => {
  const found = [...document.querySelectorAll(".lesson .table")];
  const heights = () => found.map((one) => one.offsetHeight);
  const wide = heights();
  for (const one of found) one.classList.add("narrow");
  const high = heights(), fits = found.map((one) => one.scrollWidth <= one.clientWidth);
  found.forEach((one, i) => one.classList.toggle("narrow", fits[i] && high[i] <= 1.5 * wide[i]));
}"""
# A paragraph of up to three lines stays whole: a browser leaves the last of three alone.
SHORT = """() => {
  const lines = (one) => one.offsetHeight / parseFloat(getComputedStyle(one).lineHeight);
  const short = [...document.querySelectorAll("main p")].filter((one) => lines(one) < 3.5);
  for (const one of short) one.classList.add("unbroken");
}"""
# What reaches into the margin of a lesson has an id, and what a note is beside: a link leads there,
# so the PDF has them.
OUT = """(side) => {
  const right = (one) => one.getBoundingClientRect().right;
  const links = document.createElement("p");
  links.hidden = true;
  for (const article of document.querySelectorAll(".lesson")) {
    const edge = right(article) + 1, found = [];
    const look = (one) => right(one) > edge ? found.push(one) : [...one.children].forEach(look);
    look(article);
    const named = (one) => {
      one.id ||= side + links.childElementCount;
      links.append(Object.assign(document.createElement("a"), { href: "#" + one.id }));
      return one.id;
    };
    for (const one of found.flatMap((one) => [...one.querySelectorAll(".tabs > details"), one])
      .filter((one) => !one.matches(":has(.tabs > details + details)"))) {
      one.classList.add("out");
      one.dataset.side = named(one);
      if (one.matches(".noted > .notes")) one.dataset.beside = named(one.parentElement);
    }
  }
  document.body.append(links);
}"""
# Examples are larger: they are narrower by that, all is laid out, and then they grow.
GROW = """() => {
  for (const one of document.querySelectorAll(".example")) one.classList.add("grown");
}"""
# The arrays of an example stand in ten columns: each takes as many as it needs. One that is twice
# as tall as the one before begins a row.
COLUMNS = """() => {
  const found = [...document.querySelectorAll(".columns > .array")].map((one) => {
    const before = one.previousElementSibling?.offsetHeight ?? Infinity;
    return [one, one.offsetHeight > 2 * before && one.offsetHeight > 150,
      Math.ceil(10 * (one.offsetWidth + 12) / (one.parentElement.offsetWidth + 12))];
  });
  for (const [one, begins, count] of found) {
    one.style.gridColumn = `${begins ? 1 : "auto"} / span ${Math.min(count, 10)}`;
    one.parentElement.classList.add("set");
  }
}"""
# Derivation and origin of an example stand beside its last Sheet if that is narrow, or else in two
# columns.
BESIDE = """() => {
  const right = (one) => one.getBoundingClientRect().right;
  const said = new Map([...document.querySelectorAll(".example")].map((article) => {
    const all = document.createElement("div");
    const parts = article.querySelectorAll("[id$=derivation], [id$=origin]");
    all.className = "said";
    parts[0].before(all);
    all.append(...parts);
    return [article, all];
  }));
  const last = document.querySelectorAll(".example .one:last-of-type:not(:has(.tabs))");
  const found = [...last].map((drawing) => {
    const article = drawing.closest("article"), left = article.getBoundingClientRect().left;
    const wide = Math.max(...[...drawing.querySelectorAll(".bands > *")].map(right)) - left;
    return { drawing, article, wide, full: drawing.offsetWidth };
  }).filter(({ article, wide }) => wide < article.offsetWidth * 0.65);
  for (const { drawing, article, wide, full } of found) {
    const pair = document.createElement("div");
    pair.className = "pair";
    pair.style.gridTemplateColumns = `${wide}px 1fr`;
    drawing.style.width = `${full}px`;  // on which its layout depends
    drawing.before(pair);
    pair.append(drawing, said.get(article));
  }
}"""
# The cells of an example's Sheets are up to a quarter wider, all by the same, if each matrix stays
# in its row.
WIDER = """() => {
  const foot = (one) => one.offsetTop + one.offsetHeight;
  const rows = (parts) => String(parts.map((one, i) => foot(one) - foot(parts[i - 1] ?? one) < 4));
  const right = (one) => one.getBoundingClientRect().right;
  const all = [...document.querySelectorAll(".example:has(.whole)")].map((article) => {
    const wholes = [...article.querySelectorAll(".whole:not(.one-row, .pair *)")]
      .map((whole) => [...whole.querySelectorAll(".bands > *")]);
    return { article, wholes, was: wholes.map(rows), by: 1 };
  });
  for (const by of [1.08, 1.16, 1.25]) {
    for (const { article } of all) article.style.setProperty("--by", by);
    for (const one of all) {
      const edge = right(one.article);
      const fits = one.wholes.every((parts, i) =>
        rows(parts) === one.was[i] && parts.every((part) => right(part) <= edge));
      if (fits) one.by = by;
    }
  }
  for (const { article, by } of all) article.style.setProperty("--by", by);
}"""
PRINTINGS = 7
# What is left of the last layout can make the next one break elsewhere.
FORGET = "document.body.hidden = true; document.body.offsetHeight; document.body.hidden = false"
FACES = "Promise.all([...document.fonts].map((face) => face.load())).then(() => null)"
PDF = {"prefer_css_page_size": True, "print_background": True}
SHEET = ViewportSize(width=650, height=952)  # CSS pixels within the margins
FILL_IN = """([own, other, heads]) => {
  for (const one of document.querySelectorAll(".out"))
    one.classList.toggle("left", own[one.dataset.side] % 2 === 0);
  document.getElementById("heads").textContent = heads;
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
# Notes that a sheet would cut off, or that would stand on the next, stand higher: beside the first
# two lines of their text at the lowest. What they would cover stands higher, too; a note that is
# held down by the one above it comes up with that one. A few drafts settle it.
LIFT = """([sheets, depths, sheet]) => {
  const notes = [...document.querySelectorAll("[data-beside]")], gap = 8, high = [];
  let on, foot, rest;
  for (const [i, one] of [...notes.entries()].reverse()) {
    const { side, beside, lifted = 0 } = one.dataset, above = notes[i - 1];
    const { marginTop } = getComputedStyle(one), top = depths[side];
    if (sheets[beside] !== on) [on, foot, rest] = [sheets[beside], sheet, 0];
    const next = sheets[side] > on;
    const over = next ? one.offsetHeight - 40 : Math.max(rest, top + one.offsetHeight - foot);
    const lift = over > 1 && lifted < 3 ? over : 0;
    const held = !next && above && sheets[above.dataset.side] === on && top - parseFloat(marginTop)
      <= depths[above.dataset.side] + above.offsetHeight
        + parseFloat(getComputedStyle(above).marginBottom) + 1;
    [foot, rest] = held ? [sheet, lift] : [next ? sheet : top - lift - gap, 0];
    if (lift > 0 && !held) high.push([one, parseFloat(marginTop) - lift]);
  }
  for (const [one, margin] of high) {
    one.dataset.lifted = Number(one.dataset.lifted ?? 0) + 1;
    one.style.marginTop = `${margin}px`;
  }
  return high.length;
}"""
# What stands in the flow of a lesson has an id, to which a link leads; so have parts of code and of
# what it prints, between which a sheet may end.
BLOCKS = """() => {
  const links = Object.assign(document.createElement("p"), { id: "blocks", hidden: true });
  const flow = ".lesson :is(section, .aside) > :not(section, summary)";
  const parts = ".lesson .cell :is(.run, .cell_output, .arrays > *)";
  const blocks = [...document.querySelectorAll(`${flow}, ${parts}`)].filter((one) => {
    const { float, position } = getComputedStyle(one);
    return one.offsetHeight > 0 && float === "none" && position !== "absolute";
  });
  blocks.forEach((one, i) => {
    one.dataset.block = one.id ||= `block:${i}`;
    links.append(Object.assign(document.createElement("a"), { href: `#${one.id}` }));
  });
  document.body.append(links);
}"""
UNBLOCK = """() => {
  document.getElementById("blocks").remove();
  for (const one of document.querySelectorAll("[id^='block:']")) one.removeAttribute("id");
  for (const note of document.querySelectorAll("[data-lifted]")) {  // from where it stood before
    note.style.marginTop = "";
    delete note.dataset.lifted;
  }
}"""
# A lesson of whose last sheet less than three tenths is full is set closer: spaces are a fifth
# smaller, and often one sheet less is enough; if less than a sixth is left, once more.
CLOSER = """([sheets, depths, sheet]) => {
  const few = ({ id, dataset }) => {
    const share = dataset.closer ? 1 / 6 : 0.3;
    dataset.closer = true;
    return depths[`end:${id}`] < share * sheet && sheets[`end:${id}`] > sheets[id];
  };
  const found = [...document.querySelectorAll(".lesson.chapter")].filter(few)
    .flatMap((article) => [...article.querySelectorAll("[data-block]")]).map((one) => {
      const { marginTop, marginBottom } = getComputedStyle(one), next = one.nextElementSibling;
      const is_held = next && parseFloat(getComputedStyle(next).marginTop) < 0;
      return [one, parseFloat(marginTop), is_held ? 0 : parseFloat(marginBottom)];
    });
  for (const [one, above, below] of found) {
    if (above > 0) one.style.marginTop = `${0.8 * above}px`;
    if (below > 0) one.style.marginBottom = `${0.8 * below}px`;
  }
}"""
# Further reading that would be alone on a sheet stands in the margin of the one before, if there is
# room beside what stands last.
MARGINAL = """([sheets, depths, sheet]) => {
  const wide = ".notes, .out, .table:not(.narrow)";
  for (const reading of document.querySelectorAll(".lesson [id$=further-reading]")) {
    const { block } = reading.firstElementChild.dataset, article = reading.closest("article");
    const before = [...article.querySelectorAll("[data-block]")].filter((one) =>
      !one.matches(".cell *") && sheets[one.dataset.block] === sheets[block] - 1);
    if (depths[block] > 32 || before.length === 0) continue;
    reading.classList.add("marginal", "out");
    const free = before.slice(before.findLastIndex((one) =>
      one.matches(wide) || one.querySelector(wide)) + 1);
    const place = free.findLast((one) =>
      sheet - depths[one.dataset.block] > reading.offsetHeight + 16);
    if (place) {
      reading.dataset.side = `end:${article.id}`;
      place.before(reading);
    } else reading.classList.remove("marginal", "out");
  }
}"""
# A sheet of a lesson that is nearly full ends at the foot: what stands on it is moved apart, by no
# more than seven tenths of the spaces that are there, but for what stands below a head.
FLUSH = """([sheets, depths, sheet]) => {
  const head = "h1, h2, h3, .head, .kicker, summary", found = [];
  for (const article of document.querySelectorAll(".lesson")) {
    const blocks = [...article.querySelectorAll("[data-block]")].map((one) => {
      const { marginTop, marginBottom } = getComputedStyle(one);
      const around = one.matches(".aside > :last-child") ? one.parentElement : one;
      return { one, above: parseFloat(marginTop), below: parseFloat(marginBottom),
        high: around.getBoundingClientRect().bottom - one.getBoundingClientRect().top,
        on: sheets[one.dataset.block], depth: depths[one.dataset.block] };
    });
    const flow = blocks.filter(({ one }) => !one.matches(".cell *"));
    flow.forEach((block, i) => { block.space = Math.max(flow[i - 1]?.below ?? 0, block.above); });
    blocks.forEach((last, i) => {
      const next = blocks[i + 1];
      if (next?.on !== last.on + 1 || next.depth > 4) return;
      const apart = flow.filter(({ one, on, depth, above }) => on === last.on && depth > 4 &&
        above >= 0 && !one.previousElementSibling?.matches(head));
      const feet = blocks.filter(({ on }) => on === last.on)
        .map(({ depth, high }) => depth + high).filter((foot) => foot < sheet + 1);  // or it parts
      const room = sheet - 2 - Math.max(...feet);
      const all = apart.reduce((sum, { space }) => sum + space, 0);
      if (room < 2 || room > 0.7 * all) return;
      for (const { one, space } of apart) found.push([one, space * (1 + room / all)]);
    });
  }
  for (const [one, space] of found) one.style.marginTop = `${space}px`;
}"""
FOOT = 59.6  # points: the margin below the text
LOWEST = 7.5  # points above it, below which no line begins
SIDE = "side:"  # before the number of what reaches into the margin
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
    numbers = _settled(tabs, pages, {volume: {} for volume in VOLUMES})
    for changes in ((CLOSER, CLOSER, MARGINAL), (FLUSH,)):
        for tab in tabs.values():
            for change in changes:
                respace(tab, change)
        numbers = _settled(tabs, pages, numbers)
    for volume, page in pages.items():
        (other,) = VOLUMES.keys() - {volume}
        if lost := tabs[volume].evaluate(LOST):
            raise RuntimeError("\n".join([f"{volume}: references without a sheet:", *lost]))
        with _printed(tabs[volume], tagged=True) as pdf:
            if moved := dict(places(pdf).items() ^ numbers[volume].items()):
                raise RuntimeError(f"{volume}: numbers of sheets still move {sorted(moved)}")
            describe(pdf, book, str(page.findtext("head/title")))
            lead_to(pdf, edition_of(site, other).name)
            align(pdf)
            trim(pdf)
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
    tab.evaluate(COLUMNS)
    tab.evaluate(ONE_ROW)
    tab.evaluate(BESIDE)
    tab.evaluate(WIDER)
    tab.evaluate(NARROW)
    tab.evaluate(OUT, SIDE)
    tab.evaluate(GROW)
    tab.evaluate(SHORT)
    if cut := tab.evaluate(CUT):
        raise RuntimeError("\n".join(["wider than a sheet:", *cut]))
    tab.evaluate(BOXES)
    return tab


def respace(tab: Tab, change: str) -> None:
    """Change the spaces of lessons by a script that is told where each block stands."""
    tab.evaluate(BLOCKS)
    with _printed(tab) as pdf:
        sheets, depths = places(pdf), _depths(pdf)
    tab.evaluate(change, [sheets, depths, SHEET["height"]])
    tab.evaluate(UNBLOCK)


def _depths(pdf: Pdf) -> dict[str, float]:
    """Return how far down its sheet each place is, in pixels."""
    heights = {str(name)[1:]: float(place[3]) for name, place in pdf.Root.Dests.items()}
    top = max(heights.values())
    return {one: (top - high) * 4 / 3 for one, high in heights.items()}


def _settled(
    tabs: Mapping[str, Tab], pages: Mapping[str, Element], numbers: dict[str, Numbers]
) -> dict[str, Numbers]:
    """Print drafts until the numbers of sheets in them are those that are found."""
    for _ in range(PRINTINGS):
        before = numbers
        numbers = {one: _draft(tab, pages[one], one, before) for one, tab in tabs.items()}
        if numbers == before:
            break
    return numbers


def _draft(tab: Tab, page: Element, volume: str, numbers: Mapping[str, Numbers]) -> Numbers:
    """Fill in the numbers that are known, and return those that are found."""
    (other,) = VOLUMES.keys() - {volume}
    own = numbers[volume]
    tab.evaluate(FILL_IN, [own, numbers[other], running_heads(page, own)])
    with _printed(tab) as pdf:
        found = places(pdf)
        depths = _depths(pdf)
    if tab.evaluate(LIFT, [found, depths, SHEET["height"]]):
        return _draft(tab, page, volume, numbers)
    return found


def running_heads(page: Element, numbers: Numbers) -> str:
    """Return what stands above each sheet, as counters of sheets: its part, and what is on it.

    A sheet on which something ends and something begins names both, examples by their numbers.
    """
    marks: dict[int, list[Element]] = {}
    for one in page.xpath("//*[@data-head]"):
        marks.setdefault(numbers.get(one.get("id"), 1), []).append(one)
    parts: list[str] = []
    heads: list[str] = []
    last: list[Element] = []
    for sheet in range(1, max(numbers.values(), default=0) + 1):
        found = marks.get(sheet, last)
        ended = [one for one in last if numbers.get(f"{END}{one.get('id')}") == sheet]
        found = [*ended, *(one for one in found if one not in ended)]
        several = len(found) > 1
        names = [
            name
            for one in found
            if (name := one.get("id" if several and "example" in one.classes else "data-head"))
        ]
        last = found[-1:]
        parts.append(last[0].get("data-part"))
        heads.append(" – ".join(dict.fromkeys([*names[:1], *names[-1:]])))
    return "".join(
        f"@counter-style {name} {{ system: fixed; symbols: {' '.join(map(quoted, texts))}; }}"
        for name, texts in (("parts", parts), ("heads", heads))
        if texts
    )


def _printed(tab: Tab, tagged: bool = False) -> Pdf:
    """Print a volume as it is now."""
    tab.evaluate(FORGET)
    pdf = Pdf.open(io.BytesIO(tab.pdf(tagged=tagged, **PDF)))
    go_to_heads(pdf)
    return pdf


def go_to_heads(pdf: Pdf) -> None:
    """Let a place at a foot, where no line has room, be at the head of the next sheet.

    What goes to the next sheet may have its margin on the one before, where a browser says it is.
    """
    top = max(float(place[3]) for place in pdf.Root.Dests.values())
    following = dict(zip([page.obj.objgen for page in pdf.pages], pdf.pages[1:], strict=False))
    for name, place in pdf.Root.Dests.items():
        sheet = following.get(place[0].objgen)
        if sheet and float(place[3]) < FOOT + LOWEST and not name.startswith(f"/{END}"):
            place[0], place[3] = sheet.obj, top


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


def align(pdf: Pdf) -> None:
    """Let links lead to the left edge of a sheet: a browser counts from what the sheet cuts off."""
    for place in pdf.Root.Dests.values():
        place[2] = 0


def trim(pdf: Pdf) -> None:
    """Cut off what shows of the next sheet: a hair of its first line, just below the text.

    A sheet that lies has other margins, and no sheet of its chapter follows.
    """
    for page in pdf.pages:
        _, _, width, height = page.mediabox
        if width > height:
            continue
        kept = f"0 {FOOT} {width} {height} re 0 0 {width} {FOOT - 2} re W n"
        page.contents_add(f"q {kept}\n".encode(), prepend=True)
        page.contents_add(b"Q")


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
