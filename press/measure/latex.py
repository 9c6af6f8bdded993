"""Let LaTeX typeset what the site says about citing: every entry, by BibTeX and by biber.

The entries are taken from the built pages, the document is the one of "How to cite". A warning
about an entry, a citation that is not found or a character that is missing is a failure.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from press.build.book import BUILD, ROOT, SITE
from press.build.check_html import html_files, parsed

PAGE = ROOT / "book" / "reference" / "how-to-cite.md"
FOLDER = BUILD / "latex"
LATEX = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-file-line-error"]
BAD = re.compile(
    r"^(?:Warning--.*|.*(?:WARN|ERROR) - .*|.*Citation .* undefined.*|Missing character.*|!.*"
    r"|(?:LaTeX|Package) .*(?:Warning|Error): (?!Label\(s\)|There were|Please|Citation).*)$",
    re.M,
)
EVERYTHING = r"""\documentclass{article}
\begin{document}
\nocite{*}
\bibliographystyle{plain}
\bibliography{refs}
\end{document}
"""


def entries(site: Path) -> dict[str, str]:
    """Return the BibTeX of everything that can be cited, by its key."""
    found: dict[str, str] = {}
    for path in html_files(site):
        for text in parsed(path).xpath("//details[summary='BibTeX']/pre"):
            entry = text.text_content()
            key = re.match(r"@misc\{([^,\s]+),", entry)
            if key is None or key[1] in found:
                raise ValueError(f"{path}: no key, or one that another entry has: {entry}")
            found[key[1]] = entry
    return found


def with_biblatex(document: str) -> str:
    """Return a document that does with biblatex what it did with BibTeX."""
    document = re.sub(r"\\bibliographystyle\{.*\}\n", "", document)
    head = "\\documentclass{article}\n"
    loaded = "\\usepackage[backend=biber]{biblatex}\n\\addbibresource{refs.bib}\n"
    document = document.replace(head, head + loaded)
    return document.replace("\\bibliography{refs}", "\\printbibliography")


def documents(page: str) -> Iterator[tuple[str, str, str]]:
    """Yield a name, a document and the program that makes its bibliography."""
    shown = re.findall(r"```latex\n(.*?)```", page, re.S)
    if len(shown) != 1:
        raise ValueError(f"the page shows {len(shown)} documents")
    yield "page", shown[0], "bibtex"
    yield "page-biblatex", with_biblatex(shown[0]), "biber"
    yield "all", EVERYTHING, "bibtex"
    yield "all-biblatex", with_biblatex(EVERYTHING), "biber"


def typeset(folder: Path, name: str, document: str, program: str) -> list[str]:
    """Typeset a document; return what its programs complain of."""
    (folder / f"{name}.tex").write_text(document, encoding="utf-8")
    problems = []
    for command in ([*LATEX, name], [program, name], [*LATEX, name], [*LATEX, name]):
        result = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", check=False
        )
        last = result.stdout + result.stderr
        if result.returncode:
            problems.append(f"{name}: {command[0]} ended with {result.returncode}:\n{last[-2000:]}")
        if command[0] == program:
            problems += [f"{name}: {line}" for line in BAD.findall(last)]
    log = (folder / f"{name}.log").read_text("utf-8", errors="replace")
    problems += [f"{name}: {line}" for line in BAD.findall(log)]
    if not (folder / f"{name}.pdf").is_file():
        problems.append(f"{name}: no PDF")
    return problems


def main() -> int:
    """Typeset all documents; return the exit code."""
    if missing := [one for one in ("pdflatex", "bibtex", "biber") if not shutil.which(one)]:
        raise SystemExit(
            f"error: no {', '.join(missing)}: install LaTeX "
            "('apt install texlive-latex-recommended texlive-bibtex-extra biber')."
        )
    found = entries(SITE)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    (FOLDER / "refs.bib").write_text("\n\n".join(found.values()) + "\n", encoding="utf-8")
    problems = []
    for name, document, program in documents(PAGE.read_text("utf-8")):
        problems += typeset(FOLDER, name, document, program)
    print(f"{len(found)} entries, typeset with BibTeX and with biblatex in {FOLDER}")
    print("\n".join(problems), file=sys.stderr)
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
