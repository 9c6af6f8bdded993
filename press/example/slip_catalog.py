"""Which examples catch which slip: run against all examples in each build."""

import functools
import html
import re
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from press.markup import raw
from selfattn_ref.worked_examples import Call, slips
from selfattn_ref.worked_examples.slips import Slip

SOURCES = [
    Path("selfattn_ref", "worked_examples", path.name)
    for path in sorted(Path(slips.__file__).parent.glob("*slip*.py"))
]


@functools.cache
def matrix() -> dict[str, tuple[Call, ...]]:
    """Return the calls that tell each slip from attention: run here, against every example."""
    return slips.matrix()


@functools.cache
def slips_of() -> dict[str, list[Slip]]:
    """Return the slips that each example catches."""
    found: dict[str, dict[str, None]] = {}
    for name, calls in matrix().items():
        for call in calls:
            found.setdefault(call.example, {})[name] = None
    return {example: [slips.SLIPS[name] for name in names] for example, names in found.items()}


class SlipCatalog(SphinxDirective):
    """``{slip-catalog}``: every slip, how it happens, and which examples catch it."""

    def run(self) -> list[nodes.Node]:
        """Run all slips against all examples and list what came of it."""
        for path in SOURCES:
            self.env.note_dependency(str(Path(self.env.srcdir, path)))
        std = self.env.domains["std"]
        rows = []
        for name, calls in matrix().items():
            slip = slips.SLIPS[name]
            std.note_hyperlink_target(f"slip-{name}", self.env.docname, name, name)
            ids = dict.fromkeys(call.example for call in calls)
            shown = " ".join(f'<a href="../{one}/index.html">{one}</a>' for one in ids)
            seen = f' <a href="{html.escape(slip.seen)}">Seen in public</a>.' if slip.seen else ""
            rows.append(
                f'<dt id="{name}"><code>{name}</code></dt>'
                f"<dd><p>{typeset(_sentence(slip.effect))} {typeset(_sentence(slip.note))}"
                f'{seen}</p><p class="caught">Caught by {shown}</p></dd>'
            )
        return [raw(f'<dl class="slips">{"".join(rows)}</dl>')]


def _sentence(text: str) -> str:
    """Return a text as a sentence."""
    return text[:1].upper() + text[1:].rstrip(".") + "."


def typeset(text: str) -> str:
    """Return a text as HTML, d_k with its index."""
    return re.sub(r"\b([A-Za-z])_([A-Za-z])\b", r"<i>\1</i><sub>\2</sub>", html.escape(text))
