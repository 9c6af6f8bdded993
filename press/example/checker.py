"""The checker: a page on which one pastes an output, and what its script compares it with.

The numbers are the library's: expected values, conventions, what each dtype allows, what each slip
gives. An example is one script, loaded when it is chosen: a copy on a disk can load no other file.
"""

import html
import itertools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from docutils import nodes
from numpy.typing import NDArray
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from press.example.arithmetic import rounded
from press.example.data import documents
from press.example.sheets import in_the_script as can_break
from press.example.sheets import of_example as of_sheet
from press.example.snippets import ATTENTION
from press.site.library import FOLDER
from press.site.theme import ROOT
from selfattn_ref.worked_examples import cases, ids, load
from selfattn_ref.worked_examples.slips import wrong

TRIES = {"": "right", "not-scaled": "unscaled", "mask-ignored": "unmasked"}
DTYPES = ("float64", "float32", "float16", "bfloat16")
FORM = """\
<div class="checker" id="checker" data-checker="">
<div class="ask">
<p class="buttons">Try one: {tries}</p>
<p class="choices">
<label for="check-example">Example <select id="check-example">
{examples}
</select></label>
<label for="check-what">Result <select id="check-what"></select></label>
<label for="check-dtype">Computed in <select id="check-dtype">
{dtypes}
</select></label>
</p>
<div id="check-task"></div>
<div id="check-give">
<label for="check-output">What your program printed</label>
<textarea id="check-output" rows="4" spellcheck="false" autocapitalize="off" autocomplete="off"
 placeholder="array([[0.1070, 0.8930],&#10;       …"></textarea>
<p class="buttons"><button type="button" id="check-choose">Choose a file</button>
<input type="file" id="check-file" accept=".json,.txt,.csv,.tsv,.npy,.npz,.safetensors" hidden>
<button type="button" id="check-clear">Clear</button>
<label for="check-array" hidden>Array <select id="check-array"></select></label></p>
</div>
</div>
<p role="status" id="check-status"></p>
<div id="check-report"></div>
</div>
<noscript><p>Without JavaScript this page compares nothing. The library does, as said below.</p>
</noscript>
"""


def link(name: str) -> str:
    """Return a link to the checker, with an example chosen."""
    address = f"../{FOLDER}/checker.html#{name}"
    return f'<p><a href="{address}">Check an output here</a>: paste what your program prints.</p>'


def of_example(name: str) -> dict[str, Any]:
    """Return all that can be checked of an example, and what is needed to judge it."""
    example = load(name)
    written = documents(ROOT)[name]["calls"] if example.calls else []
    found: dict[str, Any] = {
        "id": name,
        "title": example.title,
        "tolerance": example.tolerance,
        "slips": {},
        "sheet": [slip for one in of_sheet(name)[:1] for slip in one.slips if slip in can_break()],
        "answers": [],
    }
    for call, document in zip(example.calls, written, strict=True):
        asked: dict[str, Any] = {
            "key": f"{call.number}",
            "call": call.number,
            "written": repr(call).partition(": ")[2],
            "attention": call.function == ATTENTION,
            "given": [
                [keyword, document["arguments"][keyword], np.shape(value)]
                for keyword, value in call.arguments.items()
                if isinstance(value, np.ndarray)
            ],
        }
        if call.raises:
            found["answers"].append(
                asked | {"raises": call.raises.__name__, "why": " ".join(call.because.values())}
            )
            continue
        names = document["result"]
        parts = arrays_of(call.expected)
        for part, value in parts.items():  # a gradient has several
            answer = asked | _array(value)
            if len(parts) > 1:
                answer |= {"key": f"{call.number}_{part}", "part": part}
            name = names[part] if isinstance(names, dict) else names
            answer["name"] = re.sub(r"\W.*", "", name.strip("["))
            # Without the tolerance of the example, which depends on the entry and not on the row.
            limits = {dtype: call.rounding(dtype)[part] for dtype in DTYPES}
            answer["bounds"] = {dtype: _by_row(limits[dtype]) for dtype in DTYPES}
            answer["conventions"] = _conventions(call, part)
            if call.function == ATTENTION:
                allowed = limits["float64"] + example.tolerance[0]
                answer["slips"] = _outputs(call, found["slips"], allowed)
            found["answers"].append(answer)
    for given, value in example.expected.items():
        found["answers"].append(
            {
                "key": given,
                "name": given,
                "why": example.descriptions[given],
                **_array(value),
                "bounds": {dtype: _by_row(example.rounding(dtype)[given]) for dtype in DTYPES},
            }
        )
    return found


def arrays_of(answer: Any) -> dict[str, NDArray[Any]]:
    """Return the arrays of an answer by the names that a call gives them."""
    if isinstance(answer, Mapping):
        return {name: np.asarray(value) for name, value in answer.items()}
    return {"result": np.asarray(answer)}


def _array(value: NDArray[Any]) -> dict[str, Any]:
    """Return what a script has to know of an array."""
    boolean = value.dtype == np.bool_
    return {"shape": value.shape, "boolean": bool(boolean), "expected": value.ravel().tolist()}


def _conventions(call: Any, part: str) -> list[list[Any]]:
    """Return the accepted answers with their names; those that are equal here share an entry."""
    groups: dict[bytes, list[Any]] = {}
    for name, answer in call.conventions.items():
        value, why = arrays_of(answer)[part], call.because[name]
        if same := groups.get(value.tobytes()):
            same[0], same[1] = f"{same[0]} or {name}", f"{same[1]} {why}"
        else:
            groups[value.tobytes()] = [name, why, value.ravel().tolist()]
    return [*groups.values()]


def _digits(values: NDArray[Any], count: int) -> NDArray[Any]:
    """Return values without their last digits, which are others on another processor."""
    return np.reshape([rounded(x, count) for x in values.flat], values.shape)


def _by_row(limits: NDArray[Any]) -> list[float]:
    """Return one limit for all entries, one for each row, or one for each entry."""
    rows: NDArray[Any] = limits[..., :1] if limits.ndim else limits
    written = _digits(rows if np.all(limits == rows) else limits, 13).ravel().tolist()
    return written[:1] if len(set(written)) == 1 else written


def _outputs(call: Any, effects: dict[str, str], limits: NDArray[Any]) -> list[dict[str, Any]]:
    """Return what the slips that go wrong at a call give, the same output once.

    An entry that is right is written as expected, and one that is not with 10 digits, which the
    script allows for.
    """
    groups: dict[tuple[Any, ...], dict[str, Any]] = {}
    for slip, output in wrong(call).items():
        written = _digits(output, 10)
        if output.shape == call.expected.shape:
            right = np.isclose(output, call.expected, rtol=0, atol=limits, equal_nan=True)
            written = np.where(right, call.expected, written)
        new = {"ids": [], "shape": output.shape, "output": written.ravel().tolist()}
        groups.setdefault((output.shape, written.tobytes()), new)["ids"].append(slip.id)
        effects[slip.id] = slip.effect
    return list(groups.values())


class Checker(SphinxDirective):
    """``{checker}``: the form, which loads the script that reads it."""

    def run(self) -> list[nodes.Node]:
        """Lay the form out; the simplest call of attention is chosen."""
        plain = next(
            e.id
            for e, call in cases(ATTENTION)
            if list(call.arguments) == ["query", "key", "value"]
        )
        every = {*filter(None, TRIES)}
        able = (
            f"{e.id}.{call.number}"
            for e, call in cases(ATTENTION)
            if every <= {slip.id for slip in wrong(call)}
        )
        tries = " ".join(
            f'<button type="button" data-try="{slip}" data-at="{tried}">{name}</button>'
            for tried in itertools.islice(able, 1)  # none in a book of few examples
            for slip, name in TRIES.items()
        )
        examples = "\n".join(
            f'<option id="{one}" value="{one}"{" selected" * (one == plain)}>'
            f"{html.escape(repr(load(one)))}</option>"
            for one in ids()
        )
        form = FORM.format(
            examples=examples,
            tries=tries,
            dtypes="\n".join(f"<option>{dtype}</option>" for dtype in DTYPES),
        )
        return [nodes.raw("", form, format="html")]


def write(app: Sphinx) -> None:
    """Write a script with the data of each example."""
    folder = Path(app.outdir, "_static", "checks")
    folder.mkdir(parents=True, exist_ok=True)
    for name in ids():
        # Python writes NaN and Infinity as JavaScript reads them.
        data = json.dumps(of_example(name), separators=(",", ":"), ensure_ascii=False)
        (folder / f"{name}.js").write_text(f"bookChecker.take({data});\n", encoding="utf-8")
