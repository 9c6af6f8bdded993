"""A drawing of a page as a file of its own: its looks, its title, whose it is."""

import re
from html import escape

from book.figures import palette
from press.site import rights
from press.site.theme import THEME

DRAWING = re.compile(r'role="img" aria-label="(.*?)".*?(<svg class="figure-wide".*?</svg>)', re.S)
SIZE = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
FOLDER = "figures"  # of the site
RDF = (
    "<title>{title}</title><desc>{alt}</desc><metadata>"
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:cc="http://creativecommons.org/ns#">'
    '<cc:Work rdf:about=""><dc:title>{title}</dc:title><dc:creator>{authors}</dc:creator>'
    "<dc:source>{source}</dc:source><dc:rights>{rights}</dc:rights>"
    '<cc:license rdf:resource="{at}"/></cc:Work></rdf:RDF></metadata>'
)


def picture(drawing: str, title: str, alt: str, source: str) -> str:
    """Return a drawing as a file: with its looks, on paper, and what is known of it."""
    said = {"title": title, "alt": alt, "source": source, "authors": rights.AUTHORS}
    said |= {"rights": rights.TEXT.name, "at": rights.TEXT.address}
    about = RDF.format(**{name: escape(text, quote=False) for name, text in said.items()})
    colors = palette.GROUNDS | palette.TEXT | palette.LINES | palette.ROLES
    looks = re.sub(r"/\*.*?\*/|@[^{]*\{(?:[^{}]*\{[^}]*\})*\s*\}", "",
                   (THEME / "figures.css").read_text("utf-8"), flags=re.S)  # fmt: skip
    rules = [
        " ".join(rule.replace(".drawing ", "").split())
        for rule in re.findall(r"[^{}]+\{[^}]*\}", looks)
        if re.match(r"\.drawing [^{]", rule.strip()) and "figure-" not in rule
    ]
    style = re.sub(
        r"var\(--(\w+)\)", lambda m: colors[m[1]].light if m[1] in colors else "", "".join(rules)
    )
    style = style.replace(
        "font-family: ;", 'font-family: "Source Sans 3", Helvetica, Arial, sans-serif;'
    )
    # Another face is wider than the book's, so there is some paper around the drawing.
    width, height = (float(n) for n in SIZE.findall(drawing)[0])
    size = f"{width + 48:g} {height + 16:g}"
    ground = f'<rect x="-28" y="-8" width="100%" height="100%" fill="{palette.PAPER.light}"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-28 -8 {size}" '
        f'width="{width + 48:g}" font-size="14">{about}<style>{style}</style>{ground}'
        f"{drawing.partition('>')[2]}"
    )
