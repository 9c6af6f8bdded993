"""The index at the end of a volume: on which sheets its names and terms are."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lxml.html import builder as E

Element = Any  # lxml's
GLOSSARY = "reference/glossary"
ARTICLE = re.compile(r"^(an?|the) ")  # no word is found under it
# What has a list of its own, by the entry below which it stands on the site.
LISTS = {"slips": "Slips"} | dict.fromkeys(
    ("theorems", "lemmas", "propositions", "corollaries"), "Statements"
)


def fill(chapters: Sequence[Element], at: Callable[[str], Element]) -> None:
    """Give each entry of the last chapter its sheets; take out what the other volume has.

    `at` makes a place for the number of the sheet of an id.
    """
    places, index = dict(terms(chapters[:-1])), chapters[-1]
    ids = [name for chapter in chapters for name in chapter.xpath("descendant-or-self::*/@id")]
    order = {name: place for place, name in enumerate(ids)}
    authors: list[Element] = []
    kinds: dict[str, list[Element]] = {}
    for entry in reversed(index.xpath(".//ul[@class='entries']//li")):
        links, below = entry.findall("a"), entry.findall("ul[li]")
        own = {link.get("href").removeprefix("#") for link in links} & order.keys()
        if not own and not below:
            entry.drop_tree()
            continue
        found = own.union(*(places.get(name, []) for name in own))
        if entry.xpath("a[contains(@href, 'cited-')]"):
            authors.insert(0, entry)
        entry.text = entry.attrib.pop("title")
        entry[:] = []
        for name in sorted(found, key=order.__getitem__):
            sheet = at(name)
            if name.startswith("term-"):
                sheet.classes.add("defined")
            entry.append(sheet)
        if kind := LISTS.get(entry.text):
            kinds.setdefault(kind, []).extend(one for listed in below for one in listed)
            entry.drop_tree()
            continue
        entry.extend(below)
    for author in authors:
        author.drop_tree()
    for entries in index.xpath(".//ul[@class='entries'][not(li)]"):
        entries.getprevious().drop_tree()
        entries.drop_tree()
    italics = "A number in italics is a page of the glossary."
    said = E.P(italics if GLOSSARY in order else "Terms are in the index of volume I.")
    index.find(".//h1").addnext(said)
    for listed in kinds.values():
        listed.sort(key=lambda one: ARTICLE.sub("", str(one.text).lower()))
    lists = {**kinds, "Examples by topic": topics(chapters, at), "Authors": authors}
    for title, listed in lists.items():
        if listed:
            name = title.lower().replace(" ", "-")
            said.append(E.SPAN(f" {title}: p.\u00a0", at(name), "."))
            index.append(E.H2(title, {"id": name, "class": "listed"}))
            index.append(E.UL(*listed, {"class": "entries"}))


def topics(chapters: Sequence[Element], at: Callable[[str], Element]) -> list[Element]:
    """Return an entry for each topic of the examples."""
    found: dict[str, list[str]] = {}
    for chapter in chapters:
        for listed in chapter.xpath(".//dt[.='Topics']/following-sibling::dd[1]"):
            for topic in listed.text_content().split(","):
                found.setdefault(topic.strip(), []).append(chapter.get("id"))
    return [E.LI(topic, *map(at, found[topic])) for topic in sorted(found)]


def terms(chapters: Sequence[Element]) -> Iterator[tuple[str, list[str]]]:
    """Yield each name in the glossary, and a place in every chapter that has to do with it.

    That is where a chapter first links to the term, or else what the definition leads to.
    """
    lessons = [one for one in chapters if "chapter" in one.classes and one.get("id") != GLOSSARY]
    ids = [set(one.xpath("descendant-or-self::*/@id")) for one in lessons]
    for chapter in (one for one in chapters if one.get("id") == GLOSSARY):
        for text in chapter.iter("dd"):
            leads = [link.get("href")[1:] for link in text.iter("a")]
            names = []
            name = text.getprevious()
            while name is not None and name.tag == "dt":
                names.append(name.get("id"))
                name = name.getprevious()
            places = []
            for lesson, own in zip(lessons, ids, strict=True):
                links = [one for one in lesson.iter("a") if one.get("href", "")[1:] in names]
                for link in links[:1]:
                    link.set("id", f"{lesson.get('id')}.{names[0]}")
                places += [
                    *(link.get("id") for link in links[:1]),
                    *(place for place in leads if place in own),
                ][:1]
            if places:
                yield from ((name, places) for name in names)
