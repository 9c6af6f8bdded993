"""Say what is still missing before the book can be published: `make publish-check`."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from press.edition.combined import VOLUMES
from press.site.commit import ROOT, commit
from selfattn_ref import __version__

BUILT = "_build/site"
DATA = "selfattn_ref/worked_examples/data/SA*.json"
CITING, DRAFT = "book/reference/how-to-cite.md", "is published nowhere yet"
ADDRESS = re.compile(r"https://[^\s?#]*[^\s?#/]")
SETTINGS = {
    "html.baseurl": "the public address of the site. Without it citations have no link, pages no "
    "preview, search engines no list, and notebooks run only on a disk.",
    "repository.url": "the address of the sources. Without it no page says where one mends it or "
    "reports a mistake.",
}


def days(root: Path) -> dict[str, str]:
    """Return the day of each example that is new in this version."""
    documents = [json.loads(path.read_text("utf-8")) for path in sorted(root.glob(DATA))]
    return {one["id"]: one["released"] for one in documents if one["since"] == __version__}


def missing(root: Path = ROOT) -> Iterator[str]:
    """Yield a line for each thing that is missing, or does not fit the rest."""
    config = yaml.safe_load((root / "_config.yml").read_text("utf-8"))
    for name, what in SETTINGS.items():
        part, key = name.split(".")
        address = config[part][key]
        if not address:
            yield f"_config.yml: {name}, {what}"
        elif not ADDRESS.fullmatch(address) or "YOU" in address:
            yield f"_config.yml: {name} is {address!r}, not https://… without / at the end."
    cited = yaml.safe_load((root / "CITATION.cff").read_text("utf-8"))
    if cited["version"] != __version__:
        yield f"CITATION.cff: version is {cited['version']}, that of the library {__version__}."
    heading = f"## {__version__}, {cited.get('date-released')}"
    if "date-released" not in cited:
        yield "CITATION.cff: date-released, the day of the release."
    elif heading not in (root / "CHANGELOG.md").read_text("utf-8").splitlines():
        yield f"CHANGELOG.md: the heading {heading!r}, with the day of CITATION.cff."
    if DRAFT in (root / CITING).read_text("utf-8"):
        yield f"{CITING}: says that {DRAFT!r}. Take out what it says of the draft."
    other = [name for name, day in days(root).items() if day != str(cited.get("date-released"))]
    if other:
        yield f"{DATA}: 'released' is not the day of CITATION.cff in {', '.join(other)}."
    site, here = root / BUILT, commit()
    if len(list(site.glob("*.pdf"))) < len(VOLUMES):
        yield f"{BUILT}: the site with its PDFs. 'make release' makes it."
    elif here.endswith("-dirty"):
        yield "There are changes that no commit has. Commit them, and 'make release' again."
    elif (site / "commit.txt").read_text("utf-8").strip() != here:
        yield f"{BUILT}: is not of the last commit. 'make release' again."


def main() -> int:
    """Print what is missing; return 1 if anything is."""
    lines = list(missing())
    print("\n".join(lines) or "Nothing is missing: publish a release with this version as its tag.")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
