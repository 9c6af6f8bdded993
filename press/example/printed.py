"""Find which arrays of the examples a lesson prints or draws, by their numbers."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from press.example.trace import Array, Trace, data_of, trace_of

NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?![\w.])")
ID = re.compile(r"\bSA\d{3}\b")


class Matching:
    """Find, page by page, which matrices of the examples are printed or drawn."""

    def __init__(self, traces: Mapping[str, Trace]) -> None:
        self.traces = traces
        self.seen: set[tuple[str, str, tuple[int, ...]]] = set()
        self.last = ""  # the example that was found before

    def match(
        self,
        texts: Sequence[str],
        shape: tuple[int, int],
        least: int,
        said: Set[str] = frozenset(),
        loaded: Set[str] = frozenset(),
    ) -> list[Any] | None:
        """Return the example and the matrix that numbers are those of, if that is certain.

        Of several with the same numbers, the one whose name has most of the words that stand
        before them; then one of the example that the cell loads, or of the same as before; what is
        printed a second time is the second of two. A number without `least` decimals has been
        written in full.
        """
        fitting = []
        for name, trace in self.traces.items():
            for place, (matrix, rows, values) in enumerate(trace.parts()):
                if values.shape == shape and agrees(texts, values, least):
                    words = said & set(matrix.name.split("_"))
                    new = (name, matrix.name, rows) not in self.seen
                    again = new if least else not new  # a drawing shows what was printed
                    order = (len(words), name in loaded, name == self.last, again, -place)
                    fitting.append((order, name, matrix.name, rows))
        if not fitting:
            return None
        order, name, matrix_name, rows = max(fitting)
        plain = {abs(float(text)) for text in texts} <= {0.0, 1.0} or len(set(texts)) == 1
        if not order[0] and (plain or (shape[0] == 1 and len(fitting) > 1)):
            return None
        self.seen.add((name, matrix_name, rows))
        self.last = name
        found = [name, self.traces[name].names.index(matrix_name)]
        return [*found, rows] if rows else found

    def name_of(self, found: Sequence[Any]) -> str:
        """Return the name of a matrix that was found."""
        name: str = self.traces[found[0]].names[found[1]]
        return name

    def printed(self, text: str, loaded: Set[str] = frozenset()) -> Iterator[dict[str, Any]]:
        """Yield the matrices in a printed text: where each row begins, counted in numbers.

        A row is what stands between brackets; rows within brackets are taken together.
        """
        numbers = list(NUMBER.finditer(text))
        rows, nesting = [], [""]
        for line in re.finditer(r"\[?\[([^][]+)\](?=(\])?)", text):
            inside = [k for k, n in enumerate(numbers) if line.start(1) <= n.start() < line.end(1)]
            if inside and NUMBER.sub("", line[1]).strip(" \n,") == "":
                before = text[: line.start()].rpartition("]")[2]
                rows.append((inside, frozenset(re.findall(r"[a-z]+", before.lower()))))
                opens, closes = line[0].startswith("[["), bool(line[2])
                within = nesting[-1] in ("opens", "inside")
                nesting.append(
                    "opens"
                    if opens and not closes
                    else "closes"
                    if within and closes
                    else "inside"
                    if within
                    else "alone"
                )
        start = 0
        while start < len(rows):
            for count in range(len(rows) - start, 0, -1):
                block = [inside for inside, _ in rows[start : start + count]]
                width = len(block[0])
                if count * width < 3 or any(len(row) != width for row in block):
                    continue
                kinds = nesting[start + 1 : start + 1 + count]
                nested = [kinds[0] == "opens", kinds[-1] == "closes"]
                if any(nested) != all(nested) or (not any(nested) and "inside" in kinds):
                    continue
                texts = [numbers[k][0] for row in block for k in row]
                if found := self.match(texts, (count, width), 4, rows[start][1], loaded):
                    yield {
                        "of": found,
                        "name": self.name_of(found),
                        "rows": [row[0] for row in block],
                        "width": width,
                    }
                    start += count - 1
                    break
            start += 1

    def drawn(self, drawing: str) -> Iterator[dict[str, Any]]:
        """Yield the matrices that a drawing shows, cell by cell."""
        wide = drawing.partition('class="figure-narrow"')[0]
        texts = re.findall(r'<text [^>]*class="(?:soft )?cell"[^>]*>([^<]*)</text>', wide)
        texts = [text.replace("−", "-").replace("∞", "inf") for text in texts]
        known = (part for trace in self.traces.values() for part in trace.parts())
        shapes = sorted({values.shape for _, _, values in known}, key=lambda s: (s[0] * s[1], s))
        start = 0
        while start < len(texts):
            for rows, columns in reversed(shapes):
                part = texts[start : start + rows * columns]
                whole = len(part) == rows * columns >= 4
                if whole and (found := self.match(part, (rows, columns), 0)):
                    yield {
                        "of": found,
                        "name": self.name_of(found),
                        "first": start,
                        "shape": [rows, columns],
                    }
                    start += rows * columns - 1
                    break
            start += 1


def loaded_by(output: nodes.Node) -> frozenset[str]:
    """Return the examples that the cell of an output names."""
    while output.parent is not None and "cell" not in output.get("classes", []):
        output = output.parent
    return frozenset(ID.findall(output.astext())) if output.parent is not None else frozenset()


def agrees(texts: Sequence[str], values: Array, least: int) -> bool:
    """Tell whether written numbers are those of an array, as far as they were written."""
    for text, value in zip(texts, values.ravel(), strict=True):
        digits = max(least, len(text.partition("e")[0].partition(".")[2]))
        if abs(float(text) - value) > 0.51 * 10.0**-digits:
            return False
    return True


def mark(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Mark the printed arrays of a lesson that are those of its examples."""
    if app.builder.format != "html" or "/examples/" in page:
        return
    names = dict.fromkeys(ID.findall(doctree.astext()))
    paths = {name: data_of(name) for name in names}
    traces = {name: trace_of(path) for name, path in paths.items() if path.is_file()}
    matching = Matching(traces)
    blocks = doctree.findall(nodes.literal_block)
    outputs = [block for block in blocks if "output" in block["classes"]]
    raws = [raw.astext() for raw in doctree.findall(nodes.raw)]
    drawings = [text for text in raws if re.match('<div class="drawing(?! live)', text)]
    found = {
        "printed": [list(matching.printed(block.astext(), loaded_by(block))) for block in outputs],
        "drawings": [list(matching.drawn(text)) for text in drawings],
    }
    if any(arrays for group in found.values() for arrays in group):
        facts = json.dumps(
            {name: {k: one for k, one in enumerate(group) if one} for name, group in found.items()},
            separators=(",", ":"),
        )
        text = f'<script type="application/json" id="traced">{facts}</script>'
        doctree += nodes.raw("", text, format="html")
