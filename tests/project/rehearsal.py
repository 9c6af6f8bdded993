"""The steps of CONTRIBUTING.md, taken in copies of the repository: `make rehearse`.

A new example, a new function and a new page in a new part. All steps together pass whatever
CONTRIBUTING.md names; a step that is left out is noticed by the tests that it names.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from selfattn_ref.worked_examples import ids

ROOT = Path(__file__).resolve().parents[2]
LESSON = "rehearsal/one-lesson"


def copied(folder):
    """Copy the repository, without what is made, to a folder, and return it."""
    made = shutil.ignore_patterns("_build", "__pycache__", ".git", ".venv*", ".*_cache", "SA*.md")
    shutil.copytree(ROOT, folder, ignore=made)
    return folder


def python(root, *arguments):
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=root, capture_output=True, text=True)


def append(path, text):
    path.write_text(path.read_text("utf-8") + text, encoding="utf-8")


def insert(path, before, text):
    """Put a text before another one, which stands once in the file."""
    content = path.read_text("utf-8")
    assert content.count(before) == 1, (path, before)
    path.write_text(content.replace(before, text + before), encoding="utf-8")


# --- A worked example -----------------------------------------------------------------------------

FUNCTION = "half_of_a_vector"
NEW = f"SA{int(ids()[-1][2:]) + 1:03d}"
DATA = Path("selfattn_ref", "worked_examples", "data")


def data(root):
    document = json.loads((root / DATA / "SA003.json").read_text("utf-8"))
    document |= {"id": NEW, "title": "Halves", "page": LESSON}
    document["inputs"] = {
        "vector": {"description": "A vector.", "axes": ["coordinate"], "value": [1, 3]}
    }
    document["expected"] = {"half": {"description": "Its half.", "axes": ["coordinate"]}}
    document["derivation"] = {"method": "Exact fractions.", "function": FUNCTION}
    (root / DATA / f"{NEW}.json").write_text(json.dumps(document), encoding="utf-8")


def derivation(root):
    append(
        root / "derivations" / "concepts.py",
        f"\n\n@derivation\ndef {FUNCTION}(inputs: Inputs) -> Expected:\n"
        '    return {"half": [entry / 2 for entry in inputs["vector"]]}\n',
    )


def write(root):
    written = python(root, "-m", "derivations", "--write", NEW)
    assert written.returncode == 0, written.stderr


def release(root):
    released = python(root, "-m", "derivations", "--release", NEW)
    assert released.returncode == 0, released.stderr
    traced = python(root, "-m", "derivations", "--digests")
    assert traced.returncode == 0, traced.stderr


def recompute(root):
    append(
        root / "selfattn_ref" / "worked_examples" / "recipes.py",
        f"\n\ndef {NEW.lower()}(lib, given):\n"
        '    return {"half": lib.softmax([0.0, 0.0]) * given["vector"]}\n',
    )


# --- A function -----------------------------------------------------------------------------------

CODE = '''

def later_mask(Tq: SupportsIndex) -> Mask:
    r"""Let each query attend to its own position and to those after it.

    Key :math:`j` is visible to query :math:`i` if and only if :math:`j \\ge i`.

    Parameters
    ----------
    Tq : int
        Number of queries and of keys, at least 0.

    Returns
    -------
    ndarray of bool, shape (Tq, Tq)
        True where the query may attend to the key.

    Raises
    ------
    TypeError
        If the size is not an integer.
    ValueError
        If the size is negative.

    See Also
    --------
    causal_mask : The other direction.

    Examples
    --------
    >>> from selfattn_ref import later_mask
    >>> later_mask(2)
    array([[ True,  True],
           [False,  True]])
    """
    return window_mask(Tq, Tq, 0, None)
'''
TEST = """

class TestLaterMask:
    def test_it_is_the_causal_mask_turned_around(self):
        from selfattn_ref import later_mask

        assert later_mask(3).tolist() == [[True] * 3, [False, True, True], [False, False, True]]
"""


def code(root):
    package = root / "selfattn_ref"
    append(package / "masks.py", CODE)
    insert(package / "masks.py", '"padding_mask", "segment', '"later_mask", ')
    insert(package / "__init__.py", "padding_mask, segment_mask, window", "later_mask, ")
    insert(package / "__init__.py", '    "log_softmax"', '    "later_mask",\n')


def table(root):
    calls = root / "tests" / "contracts" / "calls.py"
    insert(calls, "masks | padding_mask |", "masks | later_mask | Tq: 5 | bool (Tq, Tq)\n")


def mathematics(root):
    append(root / "tests" / "library" / "test_masks.py", TEST)


def entry(root):
    api = root / "book" / "reference" / "api" / "masks.md"
    insert(api, ".. autofunction:: padding_mask", ".. autofunction:: later_mask\n")


# --- A page ---------------------------------------------------------------------------------------

PAGE = """---
file_format: mystnb
question: What is half of a vector?
level: 1
kernelspec: {name: python3, display_name: Python 3}
---

(rehearsal-one-lesson)=
# Find the half of a vector

You will halve a vector.
You need a vector.

```{code-cell} python
:tags: [remove-cell]
from book.figures import charts
```

How long is each half? {cite:t}`vaswani2017attention` does not ask.

## The rule

$$
h = \\tfrac12 x
$$ (eq-half)

```{code-cell} python
from selfattn_ref.worked_examples import load
example = load("SA000")
print(example.inputs["vector"])
```

```{code-cell} python
example.check(half=example.inputs["vector"] / 2)
```

```{code-cell} python
---
tags: [remove-input]
mystnb:
  figure:
    name: fig-one-lesson-half
    caption: |
      The half points where the whole does.
---
assert 3 / 1 == 1.5 / 0.5  # the caption's claim
charts.plane(
    vectors=[("x", [1, 3], "ink"), ("h", [0.5, 1.5], "ink")],
    limits=(0, 2, 0, 4),
    alt="Two arrows from the origin, to (1, 3) and to its half (0.5, 1.5).",
)
```

## What can go wrong

Nothing.

## Exercises

```{exercise-start}
:label: ex-one-lesson-twice
```
Halve it twice.
```{exercise-end}
```

```{solution-start} ex-one-lesson-twice
:class: dropdown
```

```{code-cell} python
example.inputs["vector"] / 4
```

```{solution-end}
```

```{exercise-start}
:label: ex-one-lesson-never
```
Halve it never.
```{exercise-end}
```

```{solution-start} ex-one-lesson-never
:class: dropdown
```
It stays as it is.
```{solution-end}
```

## In practice

Everybody halves alike.

## Further reading

{cite:t}`vaswani2017attention`.
"""


def page(root):
    path = root / "book" / f"{LESSON}.md"
    path.parent.mkdir()
    path.write_text(PAGE.replace("SA000", NEW), encoding="utf-8")


def contents(root):
    part = f"  - caption: Rehearsal\n    chapters:\n      - file: book/{LESSON}\n"
    insert(root / "_toc.yml", "  - caption: Worked examples", part)


def layout(root):
    insert(root / "README.md", "`examples/`, `reference/`", "`rehearsal/`, ")


A_FUNCTION = (code, table, mathematics, entry)
STEPS = (*(data, derivation, write, release, recompute), *A_FUNCTION, *(page, contents, layout))


def taken(folder, *, steps=STEPS, without=None):
    """Return a copy of the repository in which the steps, but one perhaps, were taken."""
    root = copied(folder / "copy")
    for step in steps:
        if step.__name__ != without:
            step(root)
    return root


def pytest_in(root, *tests):
    return python(root, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return taken(tmp_path_factory.mktemp("all"))


# What every page links to, and the page of the example as the build writes it.
STUBS = {
    "reference/bibliography": "# Sources\n\n```{bibliography}\n```\n",
    "reference/glossary": "# Glossary\n",
    "reference/theorems": "# Theorems\n",
    "reference/how-to-cite": "# How to cite\n",
    "examples/index": "# Examples\n",
    "examples/checker": "# Check an output\n\n```{checker}\n```\n",
    f"examples/{NEW}": f"({NEW})=\n# {NEW}: Halves\n\n```{{worked-example}} {NEW}\n```\n",
}


class TestAllSteps:
    def test_every_derivation_agrees_and_the_style_is_right(self, root):
        derived = python(root, "-m", "derivations")
        assert derived.returncode == 0, derived.stdout
        assert f"{NEW} agrees" in derived.stdout
        style = python(root, "-m", "ruff", "check", "--no-cache", ".")
        assert style.returncode == 0, style.stdout
        form = python(root, "-m", "ruff", "format", "--no-cache", "--check", ".")
        assert form.returncode == 0, form.stdout
        types = python(root, "-m", "mypy")
        assert types.returncode == 0, types.stdout

    def test_the_tests_pass(self, root):
        folders = [f"tests/{name}" for name in ("examples", "contracts", "project")]
        run = pytest_in(root, *folders, "tests/library/test_masks.py", "selfattn_ref/masks.py")
        assert run.returncode == 0, run.stdout[-3000:]
        # Of the pages those tests that see the new one, its example, or all of them at once.
        asked = f"one-lesson or {NEW} or TestAllPages or TestApiPages or TestCitations"
        run = pytest_in(root, "tests/pages", "-k", asked)
        assert run.returncode == 0, run.stdout[-3000:]

    def test_a_book_of_the_page_and_its_example_is_built(self, root, tmp_path):
        pages = STUBS | {LESSON: (root / "book" / f"{LESSON}.md").read_text("utf-8")}
        script = (
            "import json, pathlib, sys\n"
            "from tests.project.small_books import build\n"
            "pages = {name: (text, '') for name, text in json.loads(sys.argv[2]).items()}\n"
            "built = build(pathlib.Path(sys.argv[1]), pages)\n"
            "sys.exit(built.stderr if built.returncode else 0)\n"
        )
        built = python(root, "-c", script, tmp_path / "book", json.dumps(pages))
        assert built.returncode == 0, built.stderr
        site = tmp_path / "book" / "_build" / "html"
        shown = (site / f"{LESSON}.html").read_text("utf-8")
        assert re.search(r"\b2 numbers", shown)
        assert f"{NEW}/" in shown


class TestAFunction:
    """Its steps alone, and the gate that CONTRIBUTING.md names, as far as it sees a function."""

    def test_the_tests_pass(self, tmp_path):
        root = taken(tmp_path, steps=A_FUNCTION)
        folders = [f"tests/{name}" for name in ("contracts", "pages", "project")]
        run = pytest_in(root, *folders, "tests/library/test_masks.py", "selfattn_ref", "README.md")
        assert run.returncode == 0, run.stdout[-3000:]


# A step that is left out, and the tests that notice.
MISSED = {
    "release": "tests/examples/test_data.py::TestLedger",
    "recompute": "tests/examples/test_recomputed.py",
    "table": "tests/contracts/test_names.py",
    "entry": "tests/pages/test_structure.py::TestApiPages",
    "contents": "tests/pages/test_structure.py::TestAllPages",
    "layout": "tests/project/test_metadata.py",
}


class TestAStepLeftOut:
    @pytest.mark.parametrize("step", MISSED)
    def test_it_is_noticed(self, step, tmp_path):
        run = pytest_in(taken(tmp_path, without=step), MISSED[step])
        assert run.returncode == 1, run.stdout

    @pytest.mark.parametrize(
        "line", ["You need a vector.\n", "## What can go wrong\n", "level: 1\n"]
    )
    def test_a_page_of_a_new_part_that_lacks_its_form_is_noticed(self, line, root, tmp_path):
        lesson = root / "book" / f"{LESSON}.md"
        whole = lesson.read_text("utf-8")
        lesson.write_text(whole.replace(line, ""), encoding="utf-8")
        run = pytest_in(root, "tests/pages/test_structure.py::TestLessons", "-k", "one-lesson")
        lesson.write_text(whole, "utf-8")
        assert run.returncode == 1, run.stdout
