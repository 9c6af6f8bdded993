"""Make the fonts of the site: subsets of faces out of the wheels that carry them.

The license of the text faces reserves the name "Source" for the unmodified fonts, so their subsets
are called "Computed Serif" and "Computed Sans". Each comes in two files, of which a browser fetches
the second only for a page that has one of its characters.
"""

import hashlib
import io
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distribution, version
from pathlib import Path

from docutils import nodes
from fontTools import subset
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx
from sphinx.util import logging

from press.markup import within

logger = logging.getLogger(__name__)

# What nearly every page has: ASCII, signs of Latin-1, letters of the authors that are cited most,
# punctuation, the bullet of a list, arrows, operators, a tick.
CORE = (
    "20-7E A0 A7 A9 AB B0-B3 B6-B7 B9 BB-BE D7 E1 E4 E9 F3 F6-F7 FC 141 2013-2014 2018-2019 "
    "201C-201D 2022 2026 2032 2070-2079 2113 2190-2193 2212 221A 221E 2248 2260 2264-2265 2713 3A3 "
    "3B5 3BC 3C3 3C9"
)
# The other letters of Europe's names, fractions, lowered digits, rare signs. What formulas use is
# not among them: while the math font is on its way, browsers would fetch this file for it.
MORE = (
    "A1-A6 A8 AA AC-AE B4-B5 B8 BA BF-D6 D8-E0 E2-E3 E5-E8 EA-F2 F4-F5 F8-FB FD-140 142-17F "
    "2020-2021 2030 2039-203A 2080-2089 20AC 2122 2153-215E"
)
# Formulas: ASCII, accents, Greek, primes, arrows, operators, delimiters, a brace; italic letters,
# of which h is 210E; the end of a proof, 220E. Single letters are drawn in italics, so upright
# Greek is capitals only. The MATH table adds the large and the assembled forms. Any other
# character, a bold one too, is a warning: the font is a fifth of what a page weighs, so it has what
# the book uses and little more.
MATH = (
    "20-7E A0 AF B1 B7 D7 2C6 2DC 391-3A9 2016 2026 2032-2033 2061-2063 210E 2112-2113 211D "
    "2190-2192 21A6 2200 2202-2203 2205 2207-2209 220E-220F 2211-2212 2217 221A 221E 2223 "
    "2225-222B 223C 2248 2254 2260-2261 2264-2265 226A-226B 2282 2286 2295 2297 2299 22A4-22A5 "
    "22C5 22EE-22EF 22F1 2308-230B 23DF 27E8-27E9 1D434-1D467 1D53C 1D6FC-1D71B"
)
RADICAL_WIDTH = 880  # thousandths of an em; the small radical has 794


@cache
def characters(ranges: str) -> frozenset[int]:
    """Return the code points of ranges like those above."""
    return frozenset(subset.parse_unicodes(ranges))


@dataclass(frozen=True)
class Face:
    """One face: where it comes from, what it is called, what a browser without it may use.

    `stand_in` is the width of a letter of `local`, in ems, as English text uses letters: it scales
    the stand-in, so that no line of text moves when the face arrives.
    """

    family: str
    style: str
    package: str
    file: str
    weight: int
    local: tuple[str, ...]
    stand_in: float

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """Return the name and the characters of each file."""
        name = f"{self.family.replace(' ', '')}-{self.style}"
        return (f"fonts/{name}.woff2", CORE), (f"fonts/{name}-more.woff2", MORE)


_SERIF = ("Computed Serif", "font_source_serif_pro", "Times New Roman", "Liberation Serif")
_SANS = ("Computed Sans", "font_source_sans_pro", "Arial", "Liberation Sans")
FACES = tuple(
    Face(
        *(family, style, package, f"files/{file}.ttf", weight),
        tuple(f"{name} {local}".strip() for name in locals_),
        stand_in,
    )
    for (family, package, *locals_), style, file, weight, local, stand_in in (
        (_SERIF, "Regular", "SourceSerifPro-Regular", 400, "", 0.4172),
        (_SERIF, "Italic", "SourceSerifPro-It", 400, "Italic", 0.4134),
        (_SERIF, "Semibold", "SourceSerifPro-Semibold", 600, "Bold", 0.4431),
        (_SANS, "Regular", "SourceSansPro-Regular", 400, "", 0.4563),
        (_SANS, "Semibold", "SourceSansPro-Semibold", 600, "Bold", 0.4937),
    )
)
MATH_FONT = "fonts/STIXTwoMath.woff2"


def packaged(package: str, name: str) -> Path:
    """Return a file that an installed package carries."""
    return Path(str(distribution(package).locate_file(f"{package}/{name}")))


def _rename(font: TTFont, face: Face) -> None:
    """Give a modified font the name that its license asks for: one that is not reserved."""
    full = f"{face.family} {face.style}"
    plain = face.family.replace(" ", "")
    names = {1: full, 2: "Regular", 3: full, 4: full, 6: f"{plain}-{face.style}"}
    for record in font["name"].names:
        record.string = names.get(record.nameID, str(record))


def _adapt(font: TTFont) -> None:
    """Suit two signs to Chromium, which draws no script forms and keeps room for the widest root.

    The prime becomes its script form, since TeX's prime is a superscript always; as it is, it
    would be raised twice. The tall radicals get narrower, or a gap of 0.4 em follows each root.
    """
    for table in font["cmap"].tables:
        table.cmap[0x2032] = "minute.ssty"
    glyphs, metrics = font["glyf"], font["hmtx"]
    for form in ("s1", "s2", "s3", "s4", "x", "t"):
        name = f"uni221A.{form}"
        glyphs[name].coordinates.scale((RADICAL_WIDTH / metrics[name][0], 1))
        glyphs[name].coordinates.toInt()
        glyphs[name].recalcBounds(glyphs)
        metrics[name] = (RADICAL_WIDTH, glyphs[name].xMin)


def _subset(source: Path, ranges: str, face: Face | None) -> bytes:
    options = subset.Options(
        flavor="woff2",
        hinting=False,
        glyph_names=False,
        # The math font goes without "ssty", forms for scripts: half of it, and Chromium has no use.
        layout_features=["kern", "liga"] if face else [],
        # The license asks to stay with the font; for the text faces it is a file beside them.
        name_IDs=[1, 2, 4, 6] if face else [0, 1, 2, 3, 4, 5, 6, 13, 14],
        recalc_timestamp=False,
    )
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=characters(ranges))
    with subset.load_font(source, options) as font, io.BytesIO() as made:
        if face is None:
            _adapt(font)
        subsetter.subset(font)
        if face is not None:
            _rename(font, face)
        subset.save_font(font, made, options)
        return made.getvalue()


def write_fonts(static: Path, kept: Path) -> None:
    """Write the fonts and the license of the text; take what an equal recipe has `kept`."""
    recipe = Path(__file__).read_bytes() + f"{version('fonttools')} {version('brotli')}".encode()
    (static / "fonts").mkdir(parents=True, exist_ok=True)
    kept.mkdir(parents=True, exist_ok=True)
    jobs: list[tuple[str, str, Path, Face | None]] = [
        (MATH_FONT, MATH, packaged("ziamath", "fonts/STIXTwoMath-Regular.ttf"), None)
    ]
    licenses = {}
    for face in FACES:
        source = packaged(face.package, face.file)
        licenses[face.family] = (source.parent / "LICENSE.txt").read_text("utf-8")
        jobs += [(*file, source, face) for file in face.files]
    text = "\n\n".join(f"{family}\n\n{license}" for family, license in licenses.items())
    (static / "fonts" / "LICENSE.txt").write_text(text, encoding="utf-8")
    for name, ranges, source, made_for in jobs:
        key = hashlib.sha256(source.read_bytes() + recipe + name.encode()).hexdigest()[:16]
        file = kept / f"{key}.woff2"
        if not file.exists():
            partial = file.with_suffix(".part")  # an interrupted build leaves no half font behind
            partial.write_bytes(_subset(source, ranges, made_for))
            partial.replace(file)
        shutil.copyfile(file, static / name)


@cache
def _metrics(face: Face) -> tuple[float, float, float]:
    """Return a letter's width as English text uses letters, the ascent and the descent, in ems."""
    text = "aaabcdeeeefghiijklmnnoopqrrssttuvwxyz      "
    with TTFont(packaged(face.package, face.file)) as font:
        em, glyphs, widths = font["head"].unitsPerEm, font.getBestCmap(), font["hmtx"]
        width = sum(widths[glyphs[ord(char)]][0] for char in text) / len(text)
        return width / em, font["hhea"].ascent / em, -font["hhea"].descent / em


def _rules() -> Iterator[str]:
    for face in FACES:
        style = "italic" if face.style == "Italic" else "normal"
        kind = f"font-style: {style}; font-weight: {face.weight}"
        for name, part in face.files:
            span = ", ".join(f"U+{codes}" for codes in part.split())
            yield (
                f'@font-face {{ font-family: "{face.family}"; {kind}; font-display: swap; '
                f'src: url("{name}") format("woff2"); unicode-range: {span}; }}'
            )
        width, ascent, descent = _metrics(face)
        scale = width / face.stand_in
        local = ", ".join(f'local("{name}")' for name in face.local)
        yield (
            f'@font-face {{ font-family: "{face.family} Stand-in"; {kind}; src: {local}; '
            f"size-adjust: {scale:.1%}; ascent-override: {ascent / scale:.1%}; "
            f"descent-override: {descent / scale:.1%}; line-gap-override: 0%; }}"
        )
    # "swap": on a slow line a formula in the system's math font can be read at once, where "block"
    # would leave a hole.
    yield (
        '@font-face { font-family: "STIX Two Math"; font-display: swap; '
        f'src: url("{MATH_FONT}") format("woff2"); }}'
    )
    # What free desktops have for formulas is wider: over four pages, the formulas in lines of text
    # take 0.83 to 0.96 of its width in ours, and 0.99 to 1.05 of it at this size.
    yield (
        '@font-face { font-family: "STIX Two Math Stand-in"; '
        'src: local("DejaVuMathTeXGyre-Regular"); size-adjust: 77%; }'
    )


def font_faces_css() -> str:
    """Return the rules that name the fonts, for a stylesheet in the folder that has `fonts/`.

    The families are "Computed Serif", "Computed Sans" and "STIX Two Math"; each has a "… Stand-in",
    a local font of the same measure.
    """
    return "\n".join(_rules()) + "\n"


def make_fonts(app: Sphinx) -> None:
    """Put the fonts into the site."""
    write_fonts(Path(app.outdir, "_static"), Path(app.srcdir, "_build", ".cache", "fonts"))


def find_strange_characters(app: Sphinx, doctree: nodes.document, _page: str) -> None:
    """Warn of a character that the text faces lack: it would come from a font of any looks."""
    rare = "⁻ᵀ"  # in the plain text of worked examples; devices have a font that has them
    known = characters(f"{CORE} {MORE}") | set(map(ord, f"\n\t\u200b{rare}"))
    elsewhere = (
        *(nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw),
        nodes.comment,
    )
    for text in doctree.findall(nodes.Text):
        strange = {char for char in text.astext() if ord(char) not in known}
        if strange and not within(text, elsewhere):
            message = "not in the fonts of the text: %s"
            logger.warning(message, " ".join(sorted(strange)), location=text.parent, type="fonts")
