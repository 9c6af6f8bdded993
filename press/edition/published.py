"""Make the site as it is published, _build/site: the built one, its PDFs, links on every page."""

import re
import shutil
import sys
from pathlib import Path

from press.build.book import SITE
from press.build.check_html import check_site, html_files
from press.edition.combined import VOLUMES, edition_of

FOOT = re.compile(r'(<footer class="foot">\s*<p>.*?)(</p>)', re.S)


def add_edition(site: Path, pdf: Path, name: str) -> None:
    """Put a PDF into a site, and a link to it into the foot of every page."""
    shutil.copyfile(pdf, site / pdf.name)
    for path in html_files(site):
        root = "../" * (len(path.relative_to(site).parts) - 1)
        link = f' <a href="{root}{pdf.name}">{name} as PDF</a>'
        text = path.read_text("utf-8")
        path.write_text(FOOT.sub(rf"\1{link}\2", text, count=1), encoding="utf-8")


def main() -> int:
    """Copy the site, add the PDFs, check every link; return the exit code."""
    pdfs = {edition_of(SITE, volume): name for volume, (_, name) in VOLUMES.items()}
    for pdf in pdfs:
        if not pdf.is_file():
            raise SystemExit(f"error: no {pdf}: 'make pdf' prints it.")
    site = SITE.with_name("site")
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(SITE, site)
    for pdf, name in pdfs.items():
        add_edition(site, pdf, name)
    problems = check_site(site)
    print("\n".join(problems) or f"{site}: {len(html_files(site))} pages, and {len(pdfs)} PDFs")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
