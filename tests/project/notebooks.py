"""The notebook of every lesson runs alone and prints what its page prints: `make test-project`."""

import base64
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest
from bs4 import BeautifulSoup

from tests.pages.sources import lessons, relative
from tools.build_book import SITE
from tools.wheel import WHEEL

NAMES = [relative(page) for page in lessons()]
EVERY_LESSON = pytest.mark.parametrize("name", NAMES)
# Without Jupyter: a cell after the other, in one process that knows the wheel and NumPy only.
RUN = """
import ast, contextlib, io, json, sys
sys.path.insert(0, sys.argv[1])
names, printed = {"__name__": "__main__"}, []
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
strange = sorted({"book", "matplotlib", "IPython"} & set(sys.modules))
json.dump({"printed": printed, "strange": strange}, sys.stdout)
"""


ONE_THREAD = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # they run beside each other


def notebook(name):
    return nbformat.read(SITE / f"{name}.ipynb", as_version=4)


def code_of(name):
    return [cell for cell in notebook(name).cells if cell.cell_type == "code"]


def said(cell):
    texts = (o.text if o.output_type == "stream" else o.data["text/plain"] for o in cell.outputs)
    return "".join(text.rstrip("\n") + "\n" for text in texts)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Run the notebooks of all lessons, one on each core; return what came of each."""
    folder = tmp_path_factory.mktemp("installed")
    zipfile.ZipFile(SITE / "examples" / WHEEL).extractall(folder)

    def run(name):
        cells = json.dumps([cell.source for cell in code_of(name)])
        command = [sys.executable, "-I", "-W", "error", "-c", RUN, str(folder)]
        done = subprocess.run(
            command, input=cells, cwd=folder, env=ONE_THREAD, capture_output=True, text=True
        )
        return json.loads(done.stdout) if done.returncode == 0 else done.stderr

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(NAMES, pool.map(run, NAMES), strict=True))


def page_of(name):
    """Return the visible cells of a page: their code, and what they print."""
    page = BeautifulSoup((SITE / f"{name}.html").read_text("utf-8"), "lxml")
    return [
        (
            cell.select_one("[class*=highlight-] pre").text.strip("\n"),
            "".join(pre.text for pre in cell.select(".output pre")).rstrip(),
        )
        for cell in page.select("main div.cell")
        if cell.select_one(".cell_input, .folded")
    ]


class TestNotebook:
    @EVERY_LESSON
    def test_it_prints_what_the_page_prints(self, ran, name):
        assert isinstance(ran[name], dict), ran[name]
        shown = [printed for _, printed in page_of(name)]
        assert [text.rstrip() for text in ran[name]["printed"]][2:] == shown
        assert [said(cell).rstrip() for cell in code_of(name)][2:] == shown
        assert ran[name]["strange"] == []

    @EVERY_LESSON
    def test_its_code_is_that_of_the_page(self, name):
        install, printing, *cells = (cell.source for cell in code_of(name))
        assert install.splitlines()[1] == f"# %pip install ./{WHEEL}"
        assert printing.endswith("linewidth=76)")
        code = [re.sub(r"\A# Solution of exercise [\d.]+\n", "", cell) for cell in cells]
        assert code == [lines for lines, _ in page_of(name)]

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
        labels = re.findall(r'<figure [^>]*id="(fig-[^"]+)"', text)
        attached = {}
        for cell in notebook(name).cells:
            for alt, file in re.findall(r"!\[(.*?)\]\(attachment:(.+?)\)", cell.source):
                assert len(alt) > 20
                attached[file.removesuffix(".svg")] = cell.attachments[file]["image/svg+xml"]
        assert list(attached) == labels
        for coded in attached.values():
            drawing = base64.b64decode(coded).decode()
            assert ET.fromstring(drawing).tag == "{http://www.w3.org/2000/svg}svg"
            assert "var(" not in drawing

    @EVERY_LESSON
    def test_numbers_are_those_of_the_page(self, name):
        page = BeautifulSoup((SITE / f"{name}.html").read_text("utf-8"), "lxml").main
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
        assert len(marked) == 5
        assert all(cell.source.startswith("# Solution of exercise ") for cell in marked)
        folded = [cell for cell in cells if cell.source.startswith("<details>\n<summary>Solution")]
        assert len(folded) == 5
        assert all(cell.source.endswith("</details>") for cell in folded)
