"""Whose the book is, and on which terms one may use it: as CITATION.cff says it."""

from pathlib import Path
from typing import NamedTuple

import yaml

CITED = yaml.safe_load((Path(__file__).parents[2] / "CITATION.cff").read_text("utf-8"))


class License(NamedTuple):
    """A license: its name and its address."""

    name: str
    address: str


(AUTHORS,) = (author["name"] for author in CITED["authors"])
CODE = License(CITED["license"], f"https://spdx.org/licenses/{CITED['license']}")  # LICENSE
# That of Creative Commons which has an identifier such as CC-BY-4.0: LICENSE-text.
_, kind, number = CITED["preferred-citation"]["license"].split("-")
TEXT = License(
    f"CC {kind} {number}", f"https://creativecommons.org/licenses/{kind.lower()}/{number}/"
)


def on_paper(version: str, released: str) -> str:
    """Return what the first sheet of a page says at its foot."""
    edition = ", ".join(filter(None, (f"Version {version}", released)))
    return f"{edition}. © {AUTHORS}. Text and figures: {TEXT.name}. Code and data: {CODE.name}."
