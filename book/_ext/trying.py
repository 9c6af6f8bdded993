"""What one does with an example: take it along, test a function with it, see what it catches."""

import contextlib
import functools
import hashlib
import html
import io
import json
import re
import textwrap
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from incremental import is_whole
from notebooks import written
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from citing import Work

    from selfattn_ref.worked_examples import Call, WorkedExample
    from selfattn_ref.worked_examples.slips import Slip

FOLDER = "examples"  # beside the catalog
ARCHIVE = "worked-examples.zip"
SLIPS = Path("selfattn_ref", "worked_examples", "slips.py")
ATTENTION = "scaled_dot_product_attention"
WIDTH = 78  # of a line of code that fits the page


# Files


def write_files(app: Sphinx, exception: Exception | None) -> None:
    """Put what can be taken along into the site: each file by itself, and all in one archive.

    That is the data of all examples, their notebooks, and the library that these install.
    """
    if not is_whole(app, exception):
        return
    from selfattn_ref.worked_examples.__main__ import export
    from tools.wheel import build_wheel

    folder = Path(app.outdir, FOLDER)
    with contextlib.redirect_stdout(io.StringIO()):
        export(folder)
    listed = folder / "manifest.json"
    manifest = json.loads(listed.read_text("utf-8"))
    for path in (build_wheel(folder), *folder.glob("SA*.ipynb")):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        manifest["files"][path.name] = f"sha256:{digest}"
    manifest["files"] = dict(sorted(manifest["files"].items()))
    listed.write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")
    with zipfile.ZipFile(folder / ARCHIVE, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted([*manifest["files"], listed.name]):
            # a fixed date, so that two builds give one archive
            entry = zipfile.ZipInfo(f"worked-examples/{name}")
            archive.writestr(entry, (folder / name).read_bytes())


def write_notebook(app: Sphinx, name: str, work: "Work") -> None:
    """Put the notebook of an example into the site, before `write_files` looks for it."""
    path = Path(app.outdir, FOLDER, f"{name}.ipynb")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(written(name, install(base_of(app.config)), work), "utf-8")


def buttons(name: str, *, runs: bool = True) -> str:
    """Return links to the files of an example; only one that is in use has a notebook."""
    files = {"Notebook (.ipynb)": f"{name}.ipynb"} if runs else {}
    files |= {"JSON": f"{name}.json", "NumPy (.npz)": f"{name}.npz", "All examples (.zip)": ARCHIVE}
    links = (f'<a href="../{FOLDER}/{to}" download>{what}</a>' for what, to in files.items())
    return f'<p class="buttons">{" ".join(links)}</p>'


# The library


def base_of(config: Config) -> str:
    """Return the public address of the site; nothing as long as it has none."""
    return str(config.html_baseurl or "").rstrip("/")


def install(base: str) -> str:
    """Return the line that installs the library: from the site, or once it is downloaded."""
    from tools.wheel import WHEEL

    return f"pip install {f'{base}/{FOLDER}' if base else '.'}/{WHEEL}"


def how_to_install(base: str, root: str = "../") -> list[nodes.Node]:
    """Return the lines that say on a page how the library is installed."""
    from tools.wheel import WHEEL

    before, after = ("Install ", ":") if base else ("Download ", ", then install it:")
    link = _raw(f'<a href="{root}{FOLDER}/{WHEEL}" download>{WHEEL}</a>')
    told = nodes.paragraph("", "", nodes.Text(before), link, nodes.Text(after))
    block = nodes.literal_block(install(base), install(base), language="sh")
    return [told, nodes.container("", block, classes=["copied"])]


class Install(SphinxDirective):
    """``{install}``: how the library is installed."""

    def run(self) -> list[nodes.Node]:
        """Name the file of this site."""
        depth = self.env.app.builder.get_target_uri(self.env.docname).count("/")
        return how_to_install(base_of(self.config), "../" * depth)


# Calls


def tested(example: "WorkedExample") -> tuple[str, str]:
    """Return the function that an example is most about, and what a reader calls their own."""
    functions = [call.function for call in example.calls]
    function = ATTENTION if ATTENTION in functions else functions[0]
    return function, "my_attention" if function == ATTENTION else f"my_{function}"


def snippets(name: str) -> dict[str, str]:
    """Return, for NumPy, PyTorch and JAX, the lines that test a function with an example."""
    from selfattn_ref.worked_examples import load

    example = load(name)
    calls, (function, mine) = example.calls, tested(example)
    place = next(i for i, call in enumerate(calls) if call.function == function)
    call = calls[place]
    load_it = (
        f'from selfattn_ref.worked_examples import load\n\ncall = load("{name}").calls[{place}]\n'
    )
    given = {n: x for n, x in call.arguments.items() if hasattr(x, "shape")}
    args = [n for n in given if n not in call.kwargs]
    entries = [
        n if n in args else f"{n}={n if n in given else x}" for n, x in call.arguments.items()
    ]
    result = f"{mine}({', '.join(entries)})"
    called = textwrap.fill(f"called as {result}", 74, initial_indent="# ", subsequent_indent="#   ")

    def converted(array: str, single: str) -> Iterator[str]:
        """Yield lines that give the arrays of the call to a library, in float32."""
        together = len(args) > 1 and all(given[n].dtype == float for n in args)
        if together:
            each = f"{array}(x, dtype={single}) for x in call.args"
            line = f"{', '.join(args)} = ({each})"
            yield line if len(line) <= WIDTH else line.replace(each, f"\n    {each}\n")
        for n, x in given.items():
            if not together or n not in args:
                of_dtype = f", dtype={single}" if x.dtype == float else ""
                yield f'{n} = {array}(call.arguments["{n}"]{of_dtype})'
        if call.expected is None:
            yield f"print(call.test(lambda *_, **keywords: {result}))"
        elif len(f"print(call.check({result}))") <= WIDTH:
            yield f"print(call.check({result}))"
        else:
            yield textwrap.fill(f"result = {result}", WIDTH, subsequent_indent="    ")
            yield "print(call.check(result))"

    def lines(imported: str, array: str, single: str) -> str:
        return "\n".join([f"import {imported}", f"{load_it[:-1]}", *converted(array, single)])

    return {
        "NumPy": f"{load_it}{called}\nprint(call.test({mine}))",
        "PyTorch": lines("torch", "torch.tensor", "torch.float32"),
        "JAX": lines("jax.numpy as jnp", "jnp.asarray", "jnp.float32"),
    }


def sections_of(name: str, base: str = "") -> Iterator[tuple[str, str, list[nodes.Node]]]:
    """Yield id, title and content of what can be tried with an example."""
    from examples import prose

    from selfattn_ref.worked_examples import load

    calls = load(name).calls
    if not calls:
        return
    known = nodes.bullet_list()
    for call in calls:
        text = nodes.paragraph("", "", nodes.literal("", repr(call).partition(": ")[2]))
        if call.conventions:
            text += [nodes.Text(": "), *prose(_kinds(call.because))]
        elif call.raises:
            text += nodes.Text(" must raise an error: " + " ".join(call.because.values()))
        known += nodes.list_item("", text)
    code: list[nodes.Node] = []
    for number, (library, lines) in enumerate(snippets(name).items()):
        block = nodes.literal_block(lines, lines, language="python")
        if number == 0:
            code.append(block)
        else:
            code += [_raw(f'<details class="aside"><summary>In {library}</summary>'), block]
            code.append(_raw("</details>"))
    yield (
        "test",
        "Test a function of yours",
        [
            nodes.paragraph("", "The example knows what these calls give:"),
            known,
            *how_to_install(base),
            nodes.paragraph("", "Put a function of yours in the place of ours:"),
            *code,
        ],
    )
    if caught := slips_of().get(name):
        listed = "".join(
            f'<li><a href="../{FOLDER}/slips.html#{one.id}">{one.id}</a>: {_typeset(one.effect)}'
            for one in caught
        )
        yield (
            "slips",
            "Slips that it catches",
            [_raw(f'<ul class="slips">{listed}</ul>')],
        )


def _kinds(because: Mapping[str, str]) -> str:
    """Return the conventions and what each is, as a sentence."""
    return "; ".join(f"{name}: {why.rstrip('.')}" for name, why in because.items()) + "."


def _raw(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


# Slips


@functools.cache
def matrix() -> dict[str, tuple["Call", ...]]:
    """Return the calls that tell each slip from attention: run here, against every example."""
    from selfattn_ref.worked_examples import slips

    return slips.matrix()


@functools.cache
def slips_of() -> dict[str, list["Slip"]]:
    """Return the slips that each example catches."""
    from selfattn_ref.worked_examples import slips

    found: dict[str, dict[str, None]] = {}
    for name, calls in matrix().items():
        for call in calls:
            found.setdefault(call.example, {})[name] = None
    return {example: [slips.SLIPS[name] for name in names] for example, names in found.items()}


class SlipCatalog(SphinxDirective):
    """``{slip-catalog}``: every slip, how it happens, and which examples catch it."""

    def run(self) -> list[nodes.Node]:
        """Run all slips against all examples and list what came of it."""
        from selfattn_ref.worked_examples import slips

        self.env.note_dependency(str(Path(self.env.srcdir, SLIPS)))
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
                f"<dd><p>{_typeset(_sentence(slip.effect))} {_typeset(_sentence(slip.note))}"
                f'{seen}</p><p class="caught">Caught by {shown}</p></dd>'
            )
        return [_raw(f'<dl class="slips">{"".join(rows)}</dl>')]


def _sentence(text: str) -> str:
    """Return a text as a sentence."""
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _typeset(text: str) -> str:
    """Return a text as HTML, d_k with its index."""
    return re.sub(r"\b([A-Za-z])_([A-Za-z])\b", r"<i>\1</i><sub>\2</sub>", html.escape(text))


def setup(app: Sphinx) -> dict[str, bool | str]:
    """Register the extension."""
    app.add_directive("install", Install)
    app.add_directive("slip-catalog", SlipCatalog)
    app.connect("build-finished", write_files)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
