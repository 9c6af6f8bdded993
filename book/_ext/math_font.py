"""Make the font of the formulas: a subset of STIX Two Math, out of the wheel that carries it."""

from __future__ import annotations

import hashlib
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from tex_to_mathml import packaged

if TYPE_CHECKING:
    from fontTools.ttLib import TTFont

# What the font keeps: ASCII and Latin-1, accents, Greek, spaces and primes, letterlike, arrows,
# operators, delimiters, braces; bold, italic, script and double-struck letters, bold digits. Its
# MATH table adds the large and the assembled forms. Any other character in a formula is a
# warning, so that no reader meets an empty box.
RANGES = (
    *[(0x20, 0x7E), (0xA0, 0xFF), (0x2C6, 0x2DD), (0x300, 0x30C), (0x391, 0x3F6)],
    *[(0x2000, 0x200A), (0x2010, 0x2037), (0x203E, 0x203E), (0x205F, 0x2064), (0x20D6, 0x20D7)],
    *[(0x2102, 0x2138), (0x2190, 0x21D5), (0x2200, 0x22F1), (0x2308, 0x230B), (0x23B4, 0x23E1)],
    *[(0x25A0, 0x25A1), (0x27E6, 0x27EB), (0x27F5, 0x27FC), (0x2A7D, 0x2A7E), (0x2AAF, 0x2AB0)],
    *[(0x1D400, 0x1D4CF), (0x1D538, 0x1D56B), (0x1D6A4, 0x1D755), (0x1D7CE, 0x1D7D7)],
)
CHARACTERS = frozenset(c for low, high in RANGES for c in range(low, high + 1))

RADICAL_WIDTH = 880  # thousandths of an em; the small radical has 794


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


def make_font(target: Path, cache: Path) -> None:
    """Write the subset; take it from `cache` when the font and its maker are the same."""
    source = packaged("ziamath", "fonts/STIXTwoMath-Regular.ttf")
    recipe = Path(__file__).read_bytes() + f"{version('fonttools')} {version('brotli')}".encode()
    kept = cache / f"{hashlib.sha256(source.read_bytes() + recipe).hexdigest()[:16]}.woff2"
    if not kept.exists():
        from fontTools import subset  # slow to import, and seldom needed

        options = subset.Options(
            flavor="woff2",
            hinting=False,
            glyph_names=False,
            layout_features=["ssty"],  # script sizes, for the browsers that ask for them
            name_IDs=[0, 1, 2, 5, 13, 14],  # the license asks to stay with the font
            recalc_timestamp=False,
        )
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=CHARACTERS)
        cache.mkdir(parents=True, exist_ok=True)
        partial = kept.with_suffix(".part")  # an interrupted build leaves no half font behind
        with subset.load_font(source, options) as font:
            _adapt(font)
            subsetter.subset(font)
            subset.save_font(font, partial, options)
        partial.replace(kept)
    shutil.copyfile(kept, target)
