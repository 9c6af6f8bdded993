"""The field guide to slips: what each does and looks like, and which examples catch it.

Everything is run against all examples in each build.
"""

import html
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from press.example import public_bugs, sheets, stamps
from press.example.catalog import filters
from press.example.data import documents
from press.example.slip_catalog import SOURCES, caught_by, matrix, slips_of, typeset
from press.markup import raw, section
from press.site.contents import level_of
from press.site.index_entries import entry
from press.site.placeholders import LateDirective
from press.site.theme import ROOT
from selfattn_ref import scaled_dot_product_attention
from selfattn_ref.worked_examples import Call, slips
from selfattn_ref.worked_examples.slips import Slip

#: The first slip of each part of attention, in the order of the catalog; its name and color.
PARTS = {
    "keys-as-values": ("Roles", "Which array goes where", "value"),
    "not-scaled": ("Scale", "The scale", "score"),
    "cap-ignored": ("Cap", "The cap", "score"),
    "bias-ignored": ("Bias", "The bias", "score"),
    "mask-ignored": ("Mask", "The mask", "query"),
    "causal-ignored": ("Causal", "The causal mask", "query"),
    "softmax-left-out": ("Softmax", "From scores to weights", "weight"),
    "tile-for-repeat": ("Heads", "Heads", "context"),
    "mix-not-rescaled": ("Blocks", "Block by block", "context"),
}
#: What a call may have, and how one says that it has it.
NEEDS = {
    "mask": "a mask",
    "causal": "causal=True",
    "offset": "an offset",
    "bias": "a bias",
    "soft_cap": "a cap",
    "scale": "a scale",
}
VISIBLE = 0.08  # a change of a weight that shows in a stamp
REPORT = re.compile(r"https://github\.com/([^/]+/[^/]+)/")
ROW, COLUMN, LEFT, TOP, SPACE = 13, 9.4, 48, 22, 8  # pixels of the table


def parts() -> dict[str, list[str]]:
    """Return the slips of each part of attention."""
    found: dict[str, list[str]] = {}
    for name in slips.SLIPS:
        if name in PARTS:
            now = found.setdefault(PARTS[name][0], [])
        now.append(name)
    return found


class SlipGuide(LateDirective):
    """``{slip-guide}``: who catches what, and a card for every slip."""

    def run(self) -> list[nodes.Node]:
        """Let other books link to each slip."""
        std = self.env.domains["std"]
        for path in (*SOURCES, *public_bugs.SOURCES):
            self.env.note_dependency(str(Path(self.env.srcdir, path)))
        for name in slips.SLIPS:
            std.note_hyperlink_target(f"slip-{name}", self.env.docname, name, name)
        listed = [entry(f"slips; {name}", name) for name in slips.SLIPS]
        return [addnodes.index(entries=listed), *super().run()]

    @staticmethod
    def content(app: Sphinx) -> list[nodes.Node]:
        """Run all slips against all examples and say what came of it."""
        data = documents(Path(app.srcdir))
        levels = {
            name: level_of(app.env, f"book/{data[name]['page']}").split("–") for name in slips_of()
        }
        seen = reports()
        cards: list[nodes.Node] = []
        facets = []
        for (part, names), (_, title, _) in zip(parts().items(), PARTS.values(), strict=True):
            inside = ""
            for name in names:
                of = sorted({level for one in caught_by(name) for level in levels[one] if level})
                facets.append({"part": [part.lower()], "level": of})
                classes = " ".join(["slip", f"part-{part.lower()}", *(f"level-{x}" for x in of)])
                text = card(name, seen[name])
                inside += f'<article class="{classes}" id="{name}">{text}</article>'
            content = raw(f'<div class="cards">{inside}</div>')
            cards.append(section(f"slips-{part.lower()}", title, content))
        form = filters(facets, {"part": "Part of attention", "level": "Level"}, "slip")
        told = '<figcaption><span class="pointed" role="status"></span></figcaption>'
        picture = f'<figure class="dots"><div class="table">{table(levels)}</div>{told}</figure>'
        return [raw(f"{form}\n{picture}"), *cards]


# --- the card of a slip ---------------------------------------------------------------------------


def reports() -> dict[str, dict[str, str]]:
    """Return the public reports of each slip: the address, and the project."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for bug in public_bugs.bugs(ROOT):
        found[bug.get("reproduced_by", "")][bug["link"]] = bug["project"]
    for name, slip in slips.SLIPS.items():
        if slip.seen and (match := REPORT.match(slip.seen)):
            found[name].setdefault(slip.seen, match[1])
    return found


def card(name: str, seen: dict[str, str]) -> str:
    """Return what is said of a slip: what it looks like, does and leaves as it was."""
    slip, caught = slips.SLIPS[name], caught_by(name)
    example, array, right, wrong = shown_at(name)
    off = stamps.difference(right, wrong) if right.shape == wrong.shape else None
    said = f"{array.capitalize()} in {example}, right and wrong"
    numbers = "another shape"
    if off:
        one, other = stamps.apart(off.right, off.wrong)
        numbers = f"{one} becomes {other} at {list(off.place)}"
        said += f": {off.count} of {right.size} entries differ, most at {list(off.place)}"
    role = "weight" if array == "weights" else "context"
    picture = stamps.drawn(*stamps.of_one(right, wrong), role=role, says=said)
    link = f'<a href="../{example}/index.html">{example}</a>'
    holds = "".join(f"<li>{one}</li>" for one in still_right(name))
    broken = ""
    if example in sheets.broken_by(name):
        broken = f' <a class="go" href="../{example}/index.html#{name}">Break {example} →</a>'
    public = ", ".join(
        f'<a href="{html.escape(at)}">{html.escape(project)}</a>' for at, project in seen.items()
    )
    public = f'<p class="seen">It happened in {public}.</p>' if public else ""
    return (
        f'<h3><a href="#{name}">{name}</a></h3>'
        f'<figure class="shows">{picture}'
        f"<figcaption>Right and wrong {array} in {link}: {numbers}</figcaption></figure>"
        f"<p>{typeset(_sentence(slip.effect))} {typeset(_sentence(slip.note))}</p>"
        f'<ul class="holds">{holds}</ul>{public}'
        f'<div class="caught"><details><summary>Caught by {len(caught)}</summary>'
        f"{_links(caught)}</details>{broken}</div>"
    )


def _links(names: Sequence[str]) -> str:
    return " ".join(f'<a href="../{one}/index.html">{one}</a>' for one in names)


def shown_at(name: str) -> tuple[str, str, Any, Any]:
    """Return where a slip shows best: the example, the name of an array, and it right and wrong.

    That is an example whose sheet can be broken by it, where there is one; and a change that can
    be seen, in a small matrix whose rows are words. NaN in a row without keys, where others expect
    it, says nothing of a slip.
    """
    found = []
    for example in sheets.broken_by(name):
        sheet = sheets.of_example(example)[0]
        arrays = sheet.arrays()
        given = {n: sheet.given[n] for n in ("mask", "bias") if n in sheet.given}
        query, key, value = (arrays[role] for role in ("query", "key", "value"))
        given |= sheet.options
        shown = stamps.of_slip(slips.SLIPS[name], query, key, value, **given)
        found.append((example, *shown))
    for call in () if found else matrix()[name]:
        found.append((call.example, *stamps.of_slip(slips.SLIPS[name], *call.args, **call.kwargs)))

    def faults(one: tuple[str, str, Any, Any]) -> tuple[bool, bool, bool, int]:
        _, array, right, wrong = one
        off = stamps.difference(right, wrong) if right.shape == wrong.shape else None
        seen = off is not None and off.size > VISIBLE * max(1.0, np.nanmax(np.abs(right)))
        rows, columns = right.shape[-2:]
        empty = off is not None and bool(np.isnan(wrong[~right.any(axis=-1)]).any())
        return empty, array != "weights", not seen, abs(rows - 4) + abs(columns - 4)

    return min(found, key=faults)


def still_right(name: str) -> list[str]:
    """Return what looks right under a slip, at every call that tells it from attention."""
    slip, calls = slips.SLIPS[name], matrix()[name]
    found = []
    if needed := [said for keyword, said in NEEDS.items() if all(_needs(slip, keyword, calls))]:
        found.append(f"Nothing changes unless the call has {' and '.join(needed)}.")
    if all(call.args[0].ndim > 2 for call in calls):
        found.append("No example with a single head and a single sequence changes.")
    wrong = [slips.wrong(call)[slip] for call in calls]
    pairs = [(np.asarray(call.expected), other) for call, other in zip(calls, wrong, strict=True)]
    if not all(right.shape == other.shape for right, other in pairs):
        blind = len(slips_of()) - len(caught_by(name))
        return [*found, f"{blind} of {len(slips_of())} examples do not catch it."]
    found += _rows(slip, calls)
    return found or ["The output keeps its shape."]


def _needs(slip: Slip, keyword: str, calls: Sequence[Call]) -> Iterator[bool]:
    """Tell, call by call, whether the slip changes nothing once a keyword is left out."""
    for call in calls:
        gone = {keyword, *(["offset"] if keyword == "causal" else [])}  # which goes with it
        left = {name: given for name, given in call.kwargs.items() if name not in gone}
        right = scaled_dot_product_attention(*call.args, **left)
        wrong = slip(*call.args, **left)
        given = call.arguments.get(keyword)
        has = given is not None and given is not False
        yield has and right.shape == wrong.shape and stamps.difference(right, wrong) is None


def _rows(slip: Slip, calls: Sequence[Call]) -> list[str]:
    """Say whether the weights of each row add up to 1, or at least lie between 0 and 1."""
    sums = True
    for call in calls:
        array, right, wrong = stamps.of_slip(slip, *call.args, **call.kwargs)
        if array != "weights":
            return []
        wrong = wrong[right.sum(axis=-1) > 0]  # the others listen to nobody
        sums &= bool(np.allclose(wrong.sum(axis=-1), 1, rtol=0, atol=1e-12))
        if not ((wrong >= 0) & (wrong <= 1)).all():
            return []
    kept = "row of weights still adds up" if sums else "weight lies between 0 and"
    return [f"Every {kept} {'to ' * sums}1."]


# --- who catches what -----------------------------------------------------------------------------


def table(levels: dict[str, list[str]]) -> str:
    """Draw the examples as rows and the slips as columns; a dot says that one catches the other."""
    rows = sorted(slips_of())
    heads, columns, left = "", "", float(LEFT)
    for (part, those), (_, _, role) in zip(parts().items(), PARTS.values(), strict=True):
        name = part.lower()
        heads += f'<text class="part-{name} {role}" x="{left:g}" y="12">{part}</text>'
        for one in sorted(those, key=lambda name: -len(caught_by(name))):
            caught = caught_by(one)
            paths: dict[str, str] = defaultdict(str)
            for example in caught:
                kind = " ".join(f"level-{level}" for level in levels[example] if level)
                paths[kind] += f"M0 {rows.index(example) * ROW}h0"
            inside = "".join(f'<path class="{k}" d="{d}"/>' for k, d in sorted(paths.items()))
            columns += (
                f'<g class="part-{name} {role}" data-slip="{one}"'
                f' transform="translate({left + COLUMN / 2:g} {TOP + ROW / 2:g})">{inside}</g>'
            )
            left += COLUMN
        left += SPACE
    wide, high = left, TOP + len(rows) * ROW + 4
    lines = "".join(f"M{LEFT} {TOP + (i + 0.5) * ROW:g}H{wide:g}" for i in range(len(rows)))
    names = "".join(
        f'<text class="{" ".join(f"level-{level}" for level in levels[one] if level)}"'
        f' y="{TOP + i * ROW + 10.5:g}">{one}</text>'
        for i, one in enumerate(rows)
    )
    pairs = sum(len(caught_by(name)) for name in slips.SLIPS)
    most = max(rows, key=lambda one: len(slips_of()[one]))
    says = (
        f"{len(rows)} examples and {len(slips.SLIPS)} slips, with a dot for each of the {pairs}"
        f" times that an example catches a slip. {most} catches the most, {len(slips_of()[most])}."
        f" Each card below lists the examples that catch it."
    )
    return (
        f'<svg role="img" aria-label="{says}" width="{wide:.0f}" height="{high:.0f}"'
        f' viewBox="0 0 {wide:.0f} {high:.0f}" data-rows="{" ".join(rows)}"'
        f' data-at="{LEFT} {COLUMN} {TOP} {ROW}">'
        f'<path class="lines" d="{lines}"/>{heads}{names}{columns}</svg>'
    )


def _sentence(text: str) -> str:
    """Return a text as a sentence."""
    return text[:1].upper() + text[1:].rstrip(".") + "."
