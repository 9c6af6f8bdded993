"""The notebook of a lesson runs alone, prints what its page prints, and first what goes in."""

import base64
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import NamedTuple

import nbformat
import numpy as np
import pytest
from bs4 import BeautifulSoup

from press.build.book import SITE
from press.site.library import WHEEL
from selfattn_ref.worked_examples import load
from tests.pages.sources import lessons, relative

NAMES = [relative(page) for page in lessons()]
EVERY_LESSON = pytest.mark.parametrize("name", NAMES)
NUMBER = re.compile(r"[-−]?\d+\.?\d*(?:e[-+]?\d+)?")
# Why an input need not be printed where it is used.
ELSEWHERE = {
    ("beyond/many-heads", "SA026"): "an exercise that starts from queries, keys and values, too",
}
# Without Jupyter: a cell after the other, in one process that knows the wheel and NumPy only. The
# inputs of the examples remember what has been used: an example and the name of an input.
RUN = """
import ast, contextlib, dataclasses, io, json, sys
sys.path.insert(0, sys.argv[1])
from selfattn_ref import worked_examples
load, used = worked_examples.load, set()
class Inputs(dict):
    def __getitem__(self, name):
        used.add((self.example, name))
        return super().__getitem__(name)
def noted(name):
    inputs = Inputs(load(name).inputs)
    inputs.example = name
    return dataclasses.replace(load(name), inputs=inputs)
worked_examples.load = noted
names, printed, uses = {"__name__": "__main__"}, [], []
for number, code in enumerate(json.load(sys.stdin)):
    lines = ast.parse(code)
    last = [lines.body.pop().value] if lines.body and isinstance(lines.body[-1], ast.Expr) else []
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(lines, f"cell {number}", "exec"), names)
        for value in last:
            value = eval(compile(ast.Expression(value), f"cell {number}", "eval"), names)
            # of a check, the page has a mark
            if value is not None and not hasattr(value, "_repr_html_"):
                print(repr(value))
    printed.append(said.getvalue())
    uses.append(sorted(used))
strange = sorted({"book", "IPython"} & set(sys.modules))
json.dump({"printed": printed, "uses": uses, "strange": strange}, sys.stdout)
"""


# They run beside each other, and show no window.
ALONE = os.environ | {"OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg", "DISPLAY": ""}


def notebook(name):
    return nbformat.read(SITE / f"{name}.ipynb", as_version=4)


def code_of(name):
    return [cell for cell in notebook(name).cells if cell.cell_type == "code"]


def said(cell):
    texts = {"stream": lambda o: o.text, "execute_result": lambda o: o.data["text/plain"]}
    said = (texts[o.output_type](o) for o in cell.outputs if o.output_type != "display_data")
    return "".join(text.rstrip("\n") + "\n" for text in said)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Run the notebooks of all lessons, one on each core; return what came of each."""
    folder = tmp_path_factory.mktemp("installed")
    zipfile.ZipFile(SITE / "examples" / WHEEL).extractall(folder)

    def run(name):
        cells = json.dumps([cell.source for cell in code_of(name)])
        command = [sys.executable, "-I", "-W", "error", "-c", RUN, str(folder)]
        done = subprocess.run(
            command, input=cells, cwd=folder, env=ALONE, capture_output=True, text=True
        )
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(NAMES, pool.map(run, NAMES), strict=True))


@cache
def page_of(name):
    return BeautifulSoup((SITE / f"{name}.html").read_text("utf-8"), "lxml").main


@cache
def cells_of(name):
    """Return the visible cells of a page: their code, and what they print."""
    return [
        (
            cell.select_one("[class*=highlight-] pre").text.strip("\n"),
            "".join(pre.text for pre in cell.select(".output pre")).rstrip(),
        )
        for cell in page_of(name).select("div.cell")
        if cell.select_one(".cell_input, .folded")
    ]


class Step(NamedTuple):
    """What a page has printed by the end of a cell, and what that cell is the first to use."""

    text: str
    used: set[tuple[str, str]]  # an example, the name of an input


def steps_of(ran):
    """Return the steps of a notebook that has been run."""
    steps, text, before = [], "", set()
    for printed, uses in zip(ran["printed"], ran["uses"], strict=True):
        text, used = text + printed, {(example_id, name) for example_id, name in uses}
        steps.append(Step(text, used - before))
        before = used
    return steps


def printed_rows(array, text):
    """Tell of each row of a matrix, or each number of a vector, whether a text has it."""
    printed = np.array([float(n.replace("−", "-")) for n in NUMBER.findall(text)])
    rows = np.round(array, 4).reshape(-1, array.shape[-1] if array.ndim > 1 else 1)
    if printed.size < rows.shape[-1]:
        return [False] * len(rows)
    windows = np.lib.stride_tricks.sliding_window_view(printed, rows.shape[-1])
    return [bool((np.abs(windows - row) < 1e-9).all(axis=-1).any()) for row in rows]


def hidden_inputs(steps):
    """Name the arrays of numbers that are not printed, or only after something else.

    A page may use, and print, some rows of a matrix first and the others later.
    """
    hidden = []
    for number, (text, used) in enumerate(steps):
        before = steps[number - 1].text if number else ""
        text = next((step.text for step in steps[number:] if step.text != before), text)
        for example_id, name in sorted(used):
            array = load(example_id).inputs[name]
            if isinstance(array, np.ndarray) and array.dtype == float:
                at_first, at_last = printed_rows(array, text), printed_rows(array, steps[-1].text)
                enough = any(at_first) if array.ndim > 1 else all(at_first)
                if not (enough and all(at_last)):
                    hidden.append((example_id, name))
    return hidden


class TestNotebook:
    @EVERY_LESSON
    def test_it_prints_what_the_page_prints(self, ran, name):
        assert isinstance(ran[name], dict), ran[name]
        shown = [printed for _, printed in cells_of(name)]
        assert [text.rstrip() for text in ran[name]["printed"]][2:] == shown
        assert [said(cell).rstrip() for cell in code_of(name)][2:] == shown
        assert ran[name]["strange"] == []

    @EVERY_LESSON
    def test_what_goes_in_is_printed_before_what_comes_out(self, ran, name):
        hidden = {example_id for example_id, _ in hidden_inputs(steps_of(ran[name]))}
        known = {example_id for page, example_id in ELSEWHERE if page == name}
        assert hidden == known, f"{name}: print what goes in before anything that follows from it"

    @EVERY_LESSON
    def test_its_code_is_that_of_the_page(self, name):
        install, printing, *cells = (cell.source for cell in code_of(name))
        plots = any("import matplotlib" in cell for cell in cells)
        assert install.splitlines()[-1] == f"# %pip install ./{WHEEL}" + " matplotlib" * plots
        assert printing.endswith("linewidth=76)")
        code = [re.sub(r"\A# Solution of exercise [\d.]+\n", "", cell) for cell in cells]
        assert code == [lines for lines, _ in cells_of(name)]

    @EVERY_LESSON
    def test_no_role_is_left_and_no_macro_of_the_book(self, name):
        for cell in notebook(name).cells:
            if cell.cell_type == "markdown":
                assert not re.search(
                    r"\{[a-z:]+\}`|\[\]\(#|^:::|\\(query|softmax|R|E)\b", cell.source
                )

    @EVERY_LESSON
    def test_every_figure_is_attached_and_described(self, name):
        text = (SITE / f"{name}.html").read_text("utf-8")
        figures = re.findall(r'<figure [^>]*id="(fig-[^"]+)"(.*?)</figure>', text, re.DOTALL)
        # A notebook has the tables of a Sheet, and its picture is not attached.
        labels = [label for label, inside in figures if "data-sheet=" not in inside]
        attached, drawings = [], []
        for cell in notebook(name).cells:
            for alt, file in re.findall(r"!\[(.*?)\]\(attachment:(.+?)\)", cell.source):
                assert len(alt) > 20
                attached.append(file.removesuffix(".svg"))
                coded = cell.attachments[file]["image/svg+xml"]
                drawings.append(base64.b64decode(coded).decode())
            for plot in (o for o in cell.get("outputs", ()) if o.output_type == "display_data"):
                assert "plt.show()" in cell.source
                assert len(plot.data["text/plain"]) > 20
                drawings.append(plot.data["image/svg+xml"])
        assert [label for label in labels if label in attached] == attached
        assert len(drawings) == len(labels)
        folder = SITE / "figures"
        assert drawings == [(folder / f"{label}.svg").read_text("utf-8") for label in labels]
        for drawing in drawings:
            assert "creativecommons.org/licenses/by/4.0/" in drawing
            assert ET.fromstring(drawing).tag == "{http://www.w3.org/2000/svg}svg"
            assert "var(" not in drawing

    @EVERY_LESSON
    def test_numbers_are_those_of_the_page(self, name):
        page = page_of(name)
        text = "\n".join(c.source for c in notebook(name).cells if c.cell_type == "markdown")
        kinds = [kind.text for kind in page.select(".statement .kind, .exercise .kind")]
        assert re.findall(r"^\*\*((?:[A-Z][a-z]+) [\d.]*\d)\.\*\*", text, re.M) == kinds
        equations = [number.text.strip("()¶") for number in page.select(".eqno")]
        assert re.findall(r"\\tag\{(.*?)\}", text) == [one.rstrip(")") for one in equations]
        figures = [number.text.strip() for number in page.select("figure .caption-number")]
        assert re.findall(r"^\*(Fig\. \S+)\.\*", text, re.M) == figures

    def test_solutions_are_marked(self):
        cells = notebook("causal/masking").cells
        marked = [cell for cell in cells if "solution" in cell.metadata.get("tags", ())]
        code, text = ([c for c in marked if c.cell_type == kind] for kind in ("code", "markdown"))
        assert len(code) == 5
        assert all(cell.source.startswith("# Solution of exercise ") for cell in code)
        assert all(re.match("<details>\n<summary>(Sol|Who)", cell.source) for cell in text)
        assert all(cell.source.endswith("</details>") for cell in text)
        assert len(text) == sum("<details>" in cell.source for cell in cells) == 6

    @EVERY_LESSON
    def test_that_for_students_has_all_but_what_answers_a_question(self, name):
        own = [cell.source for cell in notebook(f"{name}-for-students").cells]
        full = [cell.source for cell in notebook(name).cells]
        assert [source for source in full if source in own] == own
        left_out = [source for source in full if source not in own]
        solution = re.compile(r"# Solution of|<details>\n<summary>(Solution|Who answers)")
        assert left_out == [source for source in full if solution.match(source)] != []
        text = "\n".join(own)
        for folded in page_of(name).select("details.solution p, .room details p"):
            sentence = folded.get_text().split(". ")[0]
            assert len(sentence) < 40 or sentence not in text

    @EVERY_LESSON
    def test_it_says_on_which_terms_and_where_a_figure_answers(self, name):
        notebooks = [notebook(name), notebook(f"{name}-for-students")]
        for one in notebooks:
            assert "[CC BY 4.0](https://creativecommons.org/" in one.cells[0].source
            assert one.metadata.license["text"].startswith("https://creativecommons.org/")
        for cell in notebooks[0].cells:
            for line in cell.source.splitlines() if cell.cell_type == "markdown" else ():
                assert not re.search(r"\b([Pp]ress(?! \*et al)|[Dd]rag)\b", line)
        live = page_of(name).select("figure :is([data-live], [data-sheet], [data-own])")
        text = "\n".join(cell.source for cell in notebooks[0].cells)
        there = text.count("This is a still. The figure answers on the page, ")
        assert there == len({one.find_parent("figure")["id"] for one in live})
