"""The notebook of the lab for a computer room: a function to be written, and calls that test it."""

from pathlib import Path

from docutils import nodes
from nbformat.v4 import new_code_cell, new_markdown_cell
from sphinx.application import Sphinx

from press.lesson.notebook import PRINTING, install_cell, save, terms
from press.site.addresses import base_of
from press.site.citation import work_of
from press.site.library import install

PAGE = "book/reference/for-teachers"
NAME = "attention-programmed"
START = f"""\
import numpy as np
from selfattn_ref.worked_examples import load

{PRINTING}"""
STUB = """\
def attention(query, key, value, mask=True, causal=False):
    scores = ...  # each query with each key, divided by the root of d_k
    weights = ...  # softmax: each row adds up to one
    return ...  # for each query, the weighted average of the values"""
ALONE = """\
for name in ("SA009", "SA034"):
    load(name).calls[0].test(attention)
    print(name, "agrees")"""
MASKED = """\
for call in load("SA016").calls[:2]:
    call.test(attention)
    print("SA016 with", *call.kwargs, "agrees")"""
TASK = r"""# Attention, programmed

Write attention as a function of arrays:

$$\operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V$$"""
WRITE = "Put code in place of the three dots. Leave `mask` and `causal` alone for now."
TEST = """\
Now test it with two worked examples. If it is wrong, the message says where, and names the slip
if it knows it."""
MASK = """\
**Add a mask.** It has a row for each query and a column for each key, and True means "may listen".
A score that is hidden becomes −∞: `np.where(mask, scores, -np.inf)`. With `causal=True`, make the
mask yourself: a query may listen to its own place and to those before it. Change your function
above, run its cell again, then test it."""


def write(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put the notebook beside the page with the plan of the lab."""
    if page != PAGE:
        return
    work = work_of(app, page, next(doctree.findall(nodes.section))[0].astext())
    cells = [
        new_markdown_cell("\n\n".join((TASK, work.sentence(), terms()))),
        install_cell(install(base_of(app.config))),
        new_code_cell(START),
        new_markdown_cell(WRITE),
        new_code_cell(STUB),
        new_markdown_cell(TEST),
        new_code_cell(ALONE),
        new_markdown_cell(MASK),
        new_code_cell(MASKED),
    ]
    path = Path(app.outdir, app.builder.get_target_uri(page)).with_name(f"{NAME}.ipynb")
    save(path, cells, NAME)
