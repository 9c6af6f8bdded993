"""The private names of other projects that the press uses, and the methods it overrides unasked.

The rest of the press uses public names, and this module. `SEAMS` says of each touch in which
version it was read, what it is for, and what is done without it; `python -m press seams` tells
which of them the installed versions still have.
"""

import importlib
import inspect
import os
import re
import shutil
import sys
import tempfile
from collections import ChainMap
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from jupyter_cache.cache.db import NbCacheRecord
from jupyter_cache.cache.main import JupyterCacheBase
from jupyter_cache.executors.basic import ExecutionWorkerLocalMProc, ProcessData
from jupyter_cache.executors.utils import ExecutionResult, single_nb_execution
from packaging.version import Version
from pygments.formatters import HtmlFormatter
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.environment import BuildEnvironment
from sphinx.highlighting import PygmentsBridge
from sphinx.writers.html5 import HTML5Translator
from sphinx_external_toc.api import SiteMap
from sphinx_proof.nodes import NODE_TYPES, unenumerable_node
from traitlets.config import Config

Env = BuildEnvironment
ROOT = Path(__file__).resolve().parents[1]


class Seam(NamedTuple):
    """A name of another project, and why it is used although nobody promises that it stays."""

    package: str  # as it is installed
    module: str
    name: str
    read: str  # the version in which it was read
    use: str
    without: str

    def is_there(self) -> bool:
        """Tell whether the installed module still says this name, or does not say it yet."""
        if Version(version(self.package)) < Version(self.read):
            return True
        try:
            source = inspect.getsource(importlib.import_module(self.module))
        except (ImportError, OSError):
            return False
        return re.search(rf"\b{self.name}\b", source) is not None


PAGES = "pages stand below /book/, and every address changes"
SEAMS = (
    *(
        Seam("sphinx", "sphinx.builders.html", name, read, use, without)
        for name, read, use, without in (
            ("get_outfilename", "7.4.7", "the file of a page", PAGES),
            ("get_output_path", "9.0.4", "the same, since Sphinx 8.2", PAGES),
            ("dump_inventory", "7.4.7", "statements in objects.inv", "they cannot be referred to"),
            ("search", "7.4.7", "no index of Sphinx's own", "the reader fetches the book twice"),
            ("highlighter", "7.4.7", "colors of sources", "sources stand without colors"),
        )
    ),
    Seam("sphinx", "sphinx.writers.html5", "add_permalink_ref", "7.4.7",
         "a link to a heading stands after it", "it is a part of the heading's name"),
    Seam("sphinx", "sphinx.environment", "toc_fignumbers", "7.4.7",
         "numbers of statements and equations", "they have no numbers"),
    Seam("sphinx", "sphinx.application", "parallel", "7.4.7", "pages are written on all cores",
         "they are written one after the other"),
    Seam("sphinx", "sphinx.events", "listeners", "7.4.7", "what Jupyter Book adds is taken out",
         "scripts and styles of another theme stand in every page"),
    Seam("sphinx", "sphinx.errors", "orig_exc", "7.4.7", "the error that ended a build",
         "the message names the extension alone"),
    Seam("sphinx", "sphinx.domains.std", "labels", "7.4.7", "statements in objects.inv",
         "they cannot be referred to"),
    Seam("sphinx", "sphinx.domains.math", "objects", "7.4.7", "equations in objects.inv",
         "they cannot be referred to"),
    Seam("sphinx", "sphinx.highlighting", "html_formatter", "7.4.7", "fewer marks in code",
         "pages weigh a fifth more"),
    Seam("sphinx-proof", "sphinx_proof.nodes", "NODE_TYPES", "0.4.0", "the nodes of statements",
         "statements look as sphinx-proof draws them"),
    Seam("sphinx-proof", "sphinx_proof.domain", "proof_list", "0.4.0", "all statements",
         "no index of theorems"),
    Seam("sphinx-exercise", "sphinx_exercise.directive", "sphinx_exercise_registry", "1.2.1",
         "the exercise of a solution", "solutions in notebooks have no number"),
    Seam("sphinx-exercise", "sphinx_exercise.directive", "sphinx_exercise_gated_registry", "1.2.1",
         "a page can be read again", "`make serve` shows no page before the whole book"),
    Seam("sphinx-external-toc", "sphinx_external_toc.events", "external_site_map", "1.1.0",
         "the parts of the book", "no table of contents"),
    Seam("sphinxcontrib-bibtex", "sphinxcontrib.bibtex.domain", "citations", "2.7.0",
         "sources in the margin", "no notes of sources"),
    Seam("jupyter-cache", "jupyter_cache.cache.main", "truncate_caches", "1.0.1",
         "workers do not drop each other's results", "a build may execute a page twice"),
    Seam("jupyter-cache", "jupyter_cache.cache.main", "_get_notebook_path_cache", "1.0.1",
         "a result that was cut short is dropped", "it breaks every later build"),
    Seam("jupyter-cache", "jupyter_cache.executors.basic", "execute", "1.0.1",
         "streams in one piece, kernels that share no port", "builds differ, or fail by chance"),
)  # fmt: skip

# --- Sphinx ---------------------------------------------------------------------------------------


class Translator(HTML5Translator):
    """Writes pages; a link to a part of one says to which, and is no part of a heading."""

    def called(self, node: nodes.Element) -> str:
        """Return what a part of a page is called."""
        return str(node.astext())

    def add_permalink_ref(self, node: nodes.Element, title: str) -> None:
        """Write the link; of a section, behind the end of its heading."""
        before = len(self.body)
        super().add_permalink_ref(node, f"Link to: {self.encode(self.called(node))}")
        if isinstance(node, nodes.section):
            self.context[-1] += "".join(self.body[before:])
            del self.body[before:]


class Builder(StandaloneHTMLBuilder):
    """The builder "html" with addresses of its own and without a search."""

    search = False

    def address(self, page: str) -> str:
        """Return where a page stands in the site, without its suffix."""
        return page

    def before_inventory(self) -> bool:
        """Prepare what the inventory lists; tell whether to write it."""
        return True

    def get_target_uri(self, docname: str, typ: str | None = None) -> str:
        """Return the address of a page, relative to the root of the site."""
        return super().get_target_uri(self.address(docname), typ)

    def get_outfilename(self, pagename: str) -> str:
        """Return the file of a page."""
        return str(self.get_output_path(pagename))

    def get_output_path(self, page_name: str, /) -> Path:
        """Return the file of a page; Sphinx asks for this one since 8.2."""
        return Path(self.outdir, self.address(page_name) + self.out_suffix)

    def dump_inventory(self) -> None:
        """Write the inventory."""
        if self.before_inventory():
            super().dump_inventory()


def memory(env: Env) -> dict[str, Any]:
    """Return the names under which extensions keep in an environment what they know of pages."""
    return env.__dict__


def number_of(env: Env, page: str, label: str) -> str:
    """Return the number of a figure, an equation or a statement as it is shown, such as 3."""
    numbers = ChainMap(*env.toc_fignumbers.get(page, {}).values())
    return ".".join(map(str, numbers.get(label, ())))


def shown_number(translator: HTML5Translator, label: str) -> str:
    """Return the number of something on the page that is written."""
    builder = translator.builder
    return number_of(builder.env, builder.current_docname, label)


def keep_numbers(app: Sphinx) -> None:
    """Keep the numbers of figures and the like: to count them, Sphinx would load every page."""
    app.config.numfig = False
    memory(app.env)["kept_numbers"] = dict(app.env.toc_fignumbers)


def restore_numbers(app: Sphinx) -> None:
    """Put the numbers back that were kept."""
    app.config.numfig = True
    app.env.toc_fignumbers = memory(app.env).pop("kept_numbers")


def write_in_parallel(app: Sphinx, cores: int) -> None:
    """Let several processes write pages, though one has read them."""
    app.parallel = cores


def labels(env: Env) -> dict[str, tuple[str, str, str]]:
    """Return what can be referred to: page, anchor and title by label."""
    found: dict[str, tuple[str, str, str]] = env.domains["std"].data["labels"]
    return found


def equations(env: Env) -> dict[str, str]:
    """Return the page of every labeled equation."""
    return {label: at[0] for label, at in env.domains["math"].data["objects"].items()}


def disconnect(app: Sphinx, packages: Iterable[str], event: str = "") -> None:
    """Take out what some packages do at an event, or at all."""
    for name, listeners in app.events.listeners.items():
        for listener in list(listeners) if event in ("", name) else ():
            if (listener.handler.__module__ or "").partition(".")[0] in packages:
                app.disconnect(listener.id)


def format_code_with(formatter: type[HtmlFormatter]) -> None:
    """Have Sphinx write code with a formatter."""
    PygmentsBridge.html_formatter = formatter


def colored(app: Sphinx, code: str) -> str:
    """Return Python code as HTML."""
    return str(app.builder.highlighter.highlight_block(code, "python"))  # type: ignore[attr-defined]


def cause_of(error: Exception) -> Exception:
    """Return the error that Sphinx reports as one of an extension."""
    return getattr(error, "orig_exc", None) or error


# --- Its extensions -------------------------------------------------------------------------------

STATEMENTS = (*NODE_TYPES.values(), unenumerable_node)  # the nodes of theorems and the like


def statements(env: Env) -> dict[str, str]:
    """Return the page of every statement, by label."""
    return {label: at["docname"] for label, at in getattr(env, "proof_list", {}).items()}


def exercise(env: Env, label: str) -> nodes.Element:
    """Return the exercise with a label."""
    found: nodes.Element = env.sphinx_exercise_registry[label]["node"]  # type: ignore[attr-defined]
    return found


def forget_solutions(app: Sphinx, env: Env, page: str) -> None:
    """Forget what sphinx-exercise keeps of the gated solutions of a page, to read it again."""
    getattr(env, "sphinx_exercise_gated_registry", {}).pop(page, None)


def site_map(env: Env) -> SiteMap:
    """Return the table of contents."""
    found: SiteMap = env.external_site_map  # type: ignore[attr-defined]
    return found


def citations(env: Env) -> Iterator[Any]:
    """Yield what is cited, each with its `entry` and its `citation_id`."""
    yield from env.get_domain("cite").citations  # type: ignore[attr-defined]


# --- jupyter-cache --------------------------------------------------------------------------------


class Cache(JupyterCacheBase):  # type: ignore[misc]  # it has no types
    """Keeps all results: what another worker enters just now would be taken for the oldest."""

    def truncate_caches(self) -> None:
        """Drop nothing; press/build/execution.py drops whole caches."""

    def missing(self, page: int, anew: bool = False) -> str | None:
        """Return the key under which the result of a page is not; drop one that was cut short.

        With `anew`, drop any.
        """
        _, key = self.create_hashed_notebook(self.get_project_notebook(page).nb)
        try:
            kept = NbCacheRecord.record_from_hashkey(key, self.db).pk
            self.get_cache_bundle(kept)
            if not anew:
                return None
            self.remove_cache(kept)
        except (KeyError, ValueError):
            shutil.rmtree(self._get_notebook_path_cache(key).parent, ignore_errors=True)
        return f"{key}"


class Worker(ExecutionWorkerLocalMProc):  # type: ignore[misc]  # it has no types
    """Talks with a kernel through files: two that start at once may choose the same port."""

    @staticmethod
    def execute(project_nb: Any, data: ProcessData) -> ExecutionResult:
        """Execute one page."""
        with tempfile.TemporaryDirectory() as folder:
            through = {"transport": "ipc", "ip": f"{folder}/kernel"} if os.name == "posix" else {}
            try:
                return single_nb_execution(
                    project_nb.nb,
                    cwd=str(Path(project_nb.uri).parent),
                    timeout=data.timeout,
                    allow_errors=data.allow_errors,
                    coalesce_streams=True,  # they leave the kernel in pieces, at its leisure
                    config=Config(KernelManager=through),
                )
            except Exception as error:  # no cell raised it, so Sphinx could not tell the page
                page = Path(project_nb.uri).relative_to(ROOT).as_posix()
                print(f"{page}: ERROR: the kernel failed: {error!r}", flush=True)
                raise


def main() -> int:
    """Print a line for each seam; return 1 where one is gone."""
    gone = 0
    for seam in SEAMS:
        there = seam.is_there()
        gone += not there
        told = "" if there else f"  GONE: without it, {seam.without}"
        print(f"{seam.package} {version(seam.package)}, read in {seam.read}: "
              f"{seam.module}: {seam.name} ({seam.use}){told}")  # fmt: skip
    return bool(gone)


if __name__ == "__main__":
    sys.exit(main())
