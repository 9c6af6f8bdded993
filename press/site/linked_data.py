"""What a page is, for programs: JSON-LD in the vocabulary of schema.org, and links with a type.

Nothing here is news: it is what the page says to a reader, and what the files are.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from press.site import citation, rights

FILES = {
    ".json": "application/json",
    ".npz": "application/zip",
    ".safetensors": "application/octet-stream",
}
Links = list[dict[str, str]]


def common(work: citation.Work, kind: str, license: str) -> dict[str, Any]:
    """Return what is said of everything."""
    known = {
        "@context": "https://schema.org",
        "@type": kind,
        "@id": work.url,
        "name": work.name,
        "url": work.url,
        "author": {"@type": "Organization", "name": rights.AUTHORS},
        "version": work.version,
        "creativeWorkStatus": work.status,
        "datePublished": work.date if "-" in work.date else "",
        "inLanguage": "en",
        "license": license,
        "isAccessibleForFree": True,
        "isPartOf": {"@type": "Book", "name": work.book} if work.title else "",
    }
    return {name: value for name, value in known.items() if value}


def lesson(work: citation.Work, level: str, minutes: int, promise: str) -> dict[str, Any]:
    """Describe a lesson: its level, its length, and what a reader can do after it."""
    return common(work, "LearningResource", rights.TEXT.address) | {
        "learningResourceType": "lesson",
        "educationalLevel": f"Level {level}",
        "timeRequired": f"PT{minutes}M",
        "teaches": promise,
    }


def dataset(
    work: citation.Work, data: Mapping[str, Any], files: Mapping[str, str]
) -> dict[str, Any]:
    """Describe a worked example, whose files have these addresses."""
    return common(work, "Dataset", rights.CODE.address) | {
        "description": data["why"],
        "identifier": work.note,
        "keywords": data["topics"],
        "distribution": [
            {"@type": "DataDownload", "contentUrl": address, "encodingFormat": FILES[suffix]}
            for suffix, address in files.items()
        ],
    }


def script(data: Mapping[str, Any]) -> str:
    """Write data so that nothing in it ends the element around it."""
    return json.dumps(data, ensure_ascii=False).replace("<", r"\u003c")


def describe(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Tell the template what the page is, if it is the book, a lesson or an example."""
    work: citation.Work = context["work"]
    pathto: Callable[..., str] = context["pathto"]
    found: dict[str, Any] = {}
    links: Links = []
    if doctree is not None and work.example:
        base, where = work.base, f"examples/{work.example}"
        path = {end: pathto(f"{where}{end}", 1) for end in FILES}
        full = {end: f"{base}/{where}{end}" if base else path[end] for end in FILES}
        found = dataset(work, context["example_data"], full)
        links = [{"rel": "describedby", "href": path[".json"], "type": FILES[".json"]}]
        links += [{"rel": "item", "href": path[end], "type": FILES[end]} for end in FILES]
        links += [{"rel": "collection", "href": pathto("book/examples/index")}]
    elif doctree is not None and "minutes" in doctree:
        promise = doctree["promise"].removesuffix(".")
        found = lesson(work, context["level"], doctree["minutes"], promise)
    elif page == app.config.master_doc:
        found = common(work, "Book", rights.TEXT.address) | {"description": context["promise"]}
    if found:
        links += [
            {"rel": "type", "href": f"https://schema.org/{found['@type']}"},
            {"rel": "license", "href": found["license"]},
        ]
    # Until there is a public address, nothing here is preferred for citing (RFC 8574).
    links += [{"rel": "cite-as", "href": work.url}] if found and work.url else []
    context["typed_links"] = links
    context["linked_data"] = script(found) if found else ""
