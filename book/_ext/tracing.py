"""Trace a number: of every entry of a worked example, what made it and where it goes next.

All that is said about an entry is computed here and written into a script, one for each example,
that a page loads when a reader points at a number. Without script, the page of an example has a
table of the steps.
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from docutils import nodes
from incremental import is_partial
from numpy.typing import NDArray
from relations import Made, Matrix, Relations
from sphinx.application import Sphinx

Array = NDArray[Any]
Place = list[Any]  # the number of a matrix, "r" or "c", and which row or column
NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?![\w.])")
ID = re.compile(r"\bSA\d{3}\b")
ROOT = Path(__file__).parents[2]
DATA = ROOT / "selfattn_ref" / "worked_examples" / "data"
SCRIPT = ROOT / "book" / "_theme" / "page" / "trace.js"


def short(value: float) -> str:
    """Write a number with four decimals at most, and a small one with its power of ten."""
    value = float(value)
    if (value and abs(value) < 5e-4) or abs(value) >= 1e7:
        mantissa, _, exponent = f"{value:.2e}".partition("e")
        text = f"{mantissa} × 10<sup>{int(exponent)}</sup>"
    else:
        text = f"{value:.4f}".rstrip("0").rstrip(".")
        text = "0" if text == "-0" else text
    return text.replace("-", "−")


def factor(value: float) -> str:
    """Write a number as a factor, in parentheses if it is negative."""
    text = short(value)
    return f"({text})" if value < 0 else text


def times(scale: float, width: int) -> str:
    """Write what follows a sum of products: nothing, a division by a root, or a factor."""
    if scale == 1:
        return ""
    if np.isclose(scale * np.sqrt(width), 1):
        return f" ÷ √{width}"
    root = round(1 / scale**2) if scale else 0
    if 1 < root < 1000 and np.isclose(scale * np.sqrt(root), 1):
        return f" ÷ √{root}"
    return f" × {short(scale)}"


class Trace:
    """What is said of the entries of one example."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        relations = Relations(data)
        self.known, self.made = relations.known, relations.made
        self.names = list(self.known)
        self.choices = [tuple(rows) for rows in relations.choices.values()]
        self.next: dict[str, list[tuple[str, Made, int]]] = {}
        for target, made in self.made.items():
            for role, source in enumerate(made.of):
                self.next.setdefault(source, []).append((target, made, role))

    def parts(self) -> Iterator[tuple[Matrix, tuple[int, ...], Array]]:
        """Yield each matrix as a page may show it: whole, or the rows of one sentence."""
        every = [matrix for matrix in self.known.values() if matrix.values.dtype != bool]
        for matrix in every:
            yield matrix, (), matrix.values
        for matrix in every:
            for rows in self.choices:
                if len(matrix.values) > max(rows):
                    yield matrix, rows, matrix.values[list(rows)]

    def rule(self, name: str) -> str:
        """Say how a matrix is made."""
        made = self.made[name]
        of = [f"<code>{each}</code>" for each in made.of]
        for k, used in enumerate(made.rows):
            if not made.turned[k] or k == 1:  # not of a first factor that is transposed
                whole = used == list(range(len(self.known[made.of[k]].values)))
                of[k] += "" if whole else f" (rows {', '.join(map(str, used))})"
        if made.kind == "product":
            turned = ["transposed" if each else "" for each in made.turned]
            parts = [" ".join(filter(None, pair)) for pair in zip(of, turned, strict=True)]
            inner = self.known[made.of[0]].values.shape[0 if made.turned[0] else 1]
            return f"{parts[0]} times {parts[1]}{times(made.scale, inner)}"
        if made.kind == "softmax":
            scale = "" if made.scale == 1 else f"{times(made.scale, 1).strip()}"
            masked = " under the mask" if made.mask is not None else ""
            return f"softmax of each row of {of[0]} {scale}{masked}".replace("  ", " ")
        if made.kind == "scale":
            return f"{of[0]}{times(made.scale, 1)}"
        if made.kind == "sum":
            return f"{of[0]} plus {of[1]}"
        if made.kind == "slope":
            return f"{of[0]} times what {of[1]} exceeds its mean by, in each row"
        return "columns of " + " and ".join(of)

    def sum_of(self, made: Made, i: int, j: int) -> tuple[str, list[Place]]:
        """Write an entry of a product as its sum, and say which lines of the factors it takes."""
        a, b = (self.known[name] for name in made.of)
        (first, second), (left, right) = made.rows, made.turned
        one = a.values.T[i] if left else a.values[first[i]]
        other = b.values[second[j]] if right else b.values[second, j]
        terms = [(x, y) for x, y in zip(one, other, strict=True)]
        if len(terms) > 4:  # what is nothing is left out of a long sum
            terms = [(x, y) for x, y in terms if x and y] or terms[:1]
        text = " + ".join(f"{factor(x)} × {factor(y)}" for x, y in terms)
        scale = times(made.scale, len(one))
        at, to = self.names.index(a.name), self.names.index(b.name)
        places: list[Place] = [[at, "c", i] if left else [at, "r", first[i]]]
        if right:
            places.append([to, "r", second[j]])
        elif len(second) == len(b.values):
            places.append([to, "c", j])
        else:
            places += [[to, "e", row, j] for row in second]
        return (f"({text}){scale}" if scale and len(terms) > 1 else f"{text}{scale}"), places

    def lines(self, name: str, i: int, j: int) -> tuple[list[str], list[Place]]:
        """Say how an entry is made, in lines, and which rows and columns it is made of."""
        made, value = self.made.get(name), self.known[name].values[i, j]
        if made is None:
            return [], []
        if made.kind == "product":
            text, places = self.sum_of(made, i, j)
            return [f"{text} = {short(value)}"], places
        source = self.known[made.of[0]]
        place = [self.names.index(source.name), "r", i]
        if made.kind == "softmax":
            return self.share(made, name, i, j), [place]
        if made.kind == "scale":
            start = short(source.values[i, j])
            return [f"{start}{times(made.scale, 1)} = {short(value)}"], [[place[0], "e", i, j]]
        if made.kind == "sum":
            other = self.known[made.of[1]]
            row = i if len(other.values) > 1 else 0
            both = f"{short(source.values[i, j])} + {factor(other.values[row, j])}"
            second = [self.names.index(other.name), "e", row, j]
            return [f"{both} = {short(value)}"], [[place[0], "e", i, j], second]
        if made.kind == "slope":
            slope = self.known[made.of[1]].values[i]
            mean = made.more["mean"][i]
            text = f"{short(source.values[i, j])} × ({short(slope[j])} − {factor(mean)})"
            second = [self.names.index(made.of[1]), "r", i]
            said = f"The mean of the row, weighted by the shares, is {short(mean)}."
            return [said, f"{text} = {short(value)}"], [place, second]
        k, column = made.columns[j]
        return [f"the same as <code>{made.of[k]}</code>[{i}, {column}]"], [
            [self.names.index(made.of[k]), "e", i, column]
        ]

    def share(self, made: Made, name: str, i: int, j: int) -> list[str]:
        """Lead from a score to its share: score, scale, mask, exponential, division."""
        source = self.known[made.of[0]]
        score = source.values[i, j]
        before = self.made.get(source.name)
        found = []
        if before and before.kind == "product":
            found.append(f"score: {self.sum_of(before, i, j)[0]} = {short(score)}")
        elif before and before.kind == "scale":
            raw = self.known[before.of[0]]
            under = self.made.get(raw.name)
            sum_ = f"{self.sum_of(under, i, j)[0]} = " if under and under.kind == "product" else ""
            found.append(f"score: {sum_}{short(raw.values[i, j])}")
            found.append(
                f"scaled: {short(raw.values[i, j])}{times(before.scale, 1)} = {short(score)}"
            )
        elif before and before.kind == "sum":
            found.append(f"score with its bias: {self.lines(source.name, i, j)[0][0]}")
        else:
            found.append(f"score: {short(score)}")
        if made.scale != 1:
            score = score * made.scale
            found.append(f"times {short(made.scale)}: {short(score)}")
        if made.mask is not None:
            if not made.mask[i, j]:
                return [
                    *found,
                    "the mask hides this key: the exponential is 0, and so is the share",
                ]
            found.append("the mask lets it through")
        most, total = made.more["most"][i], made.more["total"][i]
        less = f" − {factor(most)}" if most else ""
        value = made.more["exponentials"][i, j]
        power = f"<sup>{short(score)}{less}</sup>"
        found.append(
            f"exponential{', less the largest of the row' * bool(less)}: e{power} = {short(value)}"
        )
        parts = " + ".join(short(each) for each in made.more["exponentials"][i])
        sum_ = (
            parts if len(made.more["exponentials"][i]) <= 6 else f"sum of the row, {short(total)}"
        )
        share = short(self.known[name].values[i, j])
        found.append(f"share: {short(value)} ÷ ({sum_}) = {share}")
        return found

    def uses(self, name: str, i: int, j: int) -> list[Place]:
        """Return the rows, columns and entries that an entry is used for."""
        found: list[Place] = []
        for target, made, role in self.next.get(name, []):
            at = self.names.index(target)
            if made.kind == "product":
                used, turned = made.rows[role], made.turned[role]
                if role == 0 and turned:
                    found.append([at, "r", j])
                elif role == 0:
                    found += [[at, "r", p] for p, r in enumerate(used) if r == i]
                elif turned:
                    found += [[at, "c", p] for p, r in enumerate(used) if r == i]
                elif i in used:
                    found.append([at, "c", j])
            elif made.kind in ("softmax", "slope"):
                found.append([at, "r", i])
            elif made.kind == "copy":
                found += [
                    [at, "e", i, c] for c, pair in enumerate(made.columns) if pair == (role, j)
                ]
            elif made.kind == "scale" or role == 0 or len(self.known[name].values) > 1:
                found.append([at, "e", i, j])
            else:
                found.append([at, "c", j])
        return found

    def document(self) -> dict[str, Any]:
        """Return all that a script needs, by matrix and entry."""
        from examples import heads

        entries, named = {}, {}
        for name, matrix in self.known.items():
            if matrix.values.dtype == bool:
                continue
            rows, columns = matrix.values.shape
            at = self.names.index(name)
            if matrix.given:
                words = [
                    heads(matrix.given, self.data, n, axis) for n, axis in ((rows, 1), (columns, 0))
                ]
                if any(not word.isdigit() for axis in words for word in axis):
                    named[at] = words
            entries[at] = [
                [
                    [short(matrix.values[i, j]), *self.lines(name, i, j), self.uses(name, i, j)]
                    for j in range(columns)
                ]
                for i in range(rows)
            ]
        return {"names": self.names, "heads": named, "entries": entries}

    def steps(self) -> str:
        """Return a table of the steps, each with an entry worked out."""
        rows = []
        for name in self.made:
            values = self.known[name].values
            shape = " × ".join(map(str, values.shape))
            i, j = min(1, len(values) - 1), 0
            lines, _ = self.lines(name, i, j)
            worked = "<br>".join(lines)
            rows.append(
                f'<tr><th scope="row"><code>{name}</code> <span class="shape">{shape}</span></th>'
                f"<td>{self.rule(name)}</td><td>[{i}, {j}]: {worked}</td></tr>"
            )
        if not rows:
            return ""
        head = "".join(f'<th scope="col">{one}</th>' for one in ("Array", "Made of", "One entry"))
        return (
            '<div class="table"><table class="steps" aria-label="Step by step"><thead>'
            f"<tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        )


@cache
def trace_of(path: Path) -> Trace:
    """Return the trace of the example that a file holds."""
    return Trace(json.loads(path.read_text("utf-8")))


def data_of(name: str) -> Path:
    """Return the file of an example."""
    return DATA / f"{name}.json"


def is_traced(name: str, matrix: str) -> bool:
    """Tell whether something can be said of the entries of a matrix of an example."""
    known = trace_of(data_of(name)).known
    return matrix in known and known[matrix].values.dtype != bool


def steps_of(name: str) -> str:
    """Return the table of the steps of an example."""
    return trace_of(data_of(name)).steps()


# Printed arrays


class Matching:
    """Find, page by page, which matrices of the examples are printed or drawn."""

    def __init__(self, traces: Mapping[str, Trace]) -> None:
        self.traces = traces
        self.seen: set[tuple[str, str, tuple[int, ...]]] = set()
        self.last = ""  # the example that was found before

    def match(
        self, texts: Sequence[str], shape: tuple[int, int], least: int, said: Set[str] = frozenset()
    ) -> list[Any] | None:
        """Return the example and the matrix that numbers are those of, if that is certain.

        Of several with the same numbers, the one whose name has most of the words that stand
        before them; then one of the same example as before, that has not been there yet. A number
        without `least` decimals has been written in full.
        """
        fitting = []
        for name, trace in self.traces.items():
            for place, (matrix, rows, values) in enumerate(trace.parts()):
                if values.shape == shape and agrees(texts, values, least):
                    words = said & set(matrix.name.split("_"))
                    new = (name, matrix.name, rows) not in self.seen
                    order = (len(words), name == self.last, new, -place)
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

    def printed(self, text: str) -> Iterator[dict[str, Any]]:
        """Yield the matrices in a printed text: where each row begins, counted in numbers.

        A row is what stands in one line between brackets.
        """
        numbers = list(NUMBER.finditer(text))
        rows = []
        for line in re.finditer(r"\[?\[([^][]+)\]", text):
            inside = [k for k, n in enumerate(numbers) if line.start(1) <= n.start() < line.end(1)]
            if inside and NUMBER.sub("", line[1]).strip(" \n,") == "":
                before = text[: line.start()].rpartition("]")[2]
                rows.append((inside, frozenset(re.findall(r"[a-z]+", before.lower()))))
        start = 0
        while start < len(rows):
            for count in range(len(rows) - start, 0, -1):
                block = [inside for inside, _ in rows[start : start + count]]
                width = len(block[0])
                if count * width < 3 or any(len(row) != width for row in block):
                    continue
                texts = [numbers[k][0] for row in block for k in row]
                if found := self.match(texts, (count, width), 4, rows[start][1]):
                    yield {"of": found, "rows": [row[0] for row in block], "width": width}
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
                    yield {"of": found, "first": start, "shape": [rows, columns]}
                    start += rows * columns - 1
                    break
            start += 1


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
        "printed": [list(matching.printed(block.astext())) for block in outputs],
        "drawings": [list(matching.drawn(text)) for text in drawings],
    }
    if any(arrays for group in found.values() for arrays in group):
        facts = json.dumps(
            {name: {k: one for k, one in enumerate(group) if one} for name, group in found.items()},
            separators=(",", ":"),
        )
        text = f'<script type="application/json" id="traced">{facts}</script>'
        doctree += nodes.raw("", text, format="html")


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the script of each example."""
    if exception is None and app.builder.format == "html" and not is_partial(app):
        folder = Path(app.outdir, "_static", "traces")
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(DATA.glob("SA*.json")):
            facts = json.dumps(trace_of(path).document(), ensure_ascii=False, separators=(",", ":"))
            (folder / f"{path.stem}.js").write_text(
                f'bookTrace.take("{path.stem}",{facts});\n', encoding="utf-8"
            )


def copy_script(app: Sphinx) -> None:
    """Put the script that shows it into the site."""
    if app.builder.format == "html":
        shutil.copyfile(SCRIPT, Path(app.outdir, "_static", SCRIPT.name))


def load_script(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Load the script on a page that has something to trace."""
    drawn = doctree.findall(nodes.raw) if doctree else ()
    if any(re.search(r'data-array=|id="traced"', each.astext()) for each in drawn):
        context["figure_scripts"] = [*context["figure_scripts"], SCRIPT.name]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("builder-inited", copy_script)
    app.connect("doctree-resolved", mark)
    app.connect("html-page-context", load_script, priority=600)  # after the other figures
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
