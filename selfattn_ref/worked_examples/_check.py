"""The command `check`: find a function, adapt it, ask it, and say what came of it."""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from selfattn_ref.worked_examples import adapters
from selfattn_ref.worked_examples._capabilities import CAPABILITIES
from selfattn_ref.worked_examples._claims import OPTIONS
from selfattn_ref.worked_examples._report import FAILED, Outcome, Report, report
from selfattn_ref.worked_examples._selection import ATTENTION, are_known, selected
from selfattn_ref.worked_examples._shell import CannotRunError

DESCRIPTION = """
Call module:function as f(query, key, value, **keywords), with mask, bias, scale, soft_cap, causal
and offset where a call needs them; heads come already repeated. Each call is made again, and with
the same numbers in other memory. Calls with keywords that the signature lacks are not asked, and
the first line says so. Modules in the current folder are found.
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare what `check` takes."""
    add = command.add_argument
    add("id", metavar="WHAT", help="all, examples, generated, an example or a generated case")
    add("target", metavar="MODULE:FUNCTION")
    add("--function", metavar="NAME", default=ATTENTION,
        help="the function of ours in whose place it stands (default: %(default)s)")  # fmt: skip
    call = command.add_argument_group("how it is called")
    add = call.add_argument
    add("--like", choices=adapters.LIKE, help="as the attention of this library is")
    add("--rename", metavar="NAME=YOURS", action="append", default=[],
        help="what keywords are called by yours: mask=attn_mask,causal=is_causal")  # fmt: skip
    add("--layout", choices=("BHTD", "BTHD"), help="always with four axes, in this order")
    add("--has", metavar="NAMES", help="what it can do without a keyword, such as grouped_heads")
    add("--convert", metavar="MODULE:FUNCTION",
        help="what makes of NumPy's arrays what yours takes, as torch:from_numpy")  # fmt: skip
    add("--dtype", choices=("float64", "float32", "float16", "bfloat16"), default="float64",
        help="the dtype in which real numbers are given (default: %(default)s)")  # fmt: skip
    asked = command.add_argument_group("what is asked")
    add = asked.add_argument
    add("--require", metavar="NAMES", help="keywords of which every call has to be asked")
    add("--refusals", action="store_true", help="also ask the calls that have to fail")
    add("--skip", metavar="IDS", help="calls, examples or cases to leave out: SA022,SA016-1")
    add("--xfails", metavar="FILE", help="ids that are expected to differ, one a line; # comments")
    told = command.add_argument_group("what is written")
    add = told.add_argument
    add("--verbose", action="store_true", help="a line for each call, not only for what is wrong")
    add("--json", metavar="FILE", help="the report as JSON; - is the standard output")
    add("--junit", metavar="FILE", help="the report as JUnit's XML")


def check(given: argparse.Namespace) -> int:
    """Run the command, print what is wrong and a summary, and return the exit code.

    The calls of a single example have a line each.
    """
    if ":" in given.id:
        raise CannotRunError(f"the id comes before the function, as in: check all {given.id}")
    known = {*OPTIONS, *CAPABILITIES}
    require, has = (_names(text, known) for text in (given.require, given.has))
    skip = {*filter(None, (given.skip or "").split(","))}
    xfails = _expected_to_fail(given.xfails)
    try:
        are_known(skip | xfails)
        calls = selected(given.id, given.function, refusals=given.refusals)
    except ValueError as error:
        raise CannotRunError(error) from None
    tested = adapted(given, has)
    quiet = given.json == "-"
    each = given.verbose or given.id not in ("all", "examples", "generated")
    found = report(
        tested,
        calls,
        place=given.function,
        require=require,
        skip=skip,
        xfails=xfails,
        dtype="float32" if given.dtype == "bfloat16" else given.dtype,
        whole=given.id == "all",
        name=given.target,
        tell=(teller := _Teller(quiet, each)),
    )
    teller.clear()
    if not quiet:
        print(found)
        _hint(found, given)
    for path, text in ((given.json, found.to_json), (given.junit, found.to_junit)):
        _write(path, text)
    return found.code


def _names(text: str | None, known: set[str]) -> tuple[str, ...]:
    names = tuple(filter(None, (text or "").split(",")))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise CannotRunError(
            f"no call has {', '.join(unknown)}; there are {', '.join(sorted(known))}"
        )
    return names


def _expected_to_fail(path: str | None) -> set[str]:
    if path is None:
        return set()
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CannotRunError(f"{path} cannot be read: {error}") from None
    return {*filter(None, (line.partition("#")[0].strip() for line in lines))}


# --- the function ---------------------------------------------------------------------------------


def adapted(given: argparse.Namespace, has: tuple[str, ...] = ()) -> Callable[..., Any]:
    """Return the function, called in the way that the options say."""
    function = found(given.target)
    if given.like and (given.convert or given.rename):
        raise CannotRunError("--like says how arrays are converted and named: leave the rest out")
    narrow = given.dtype == "bfloat16"
    if given.like:
        function = adapters.LIKE[given.like](function, dtype=given.dtype)
    elif given.convert or narrow:
        convert = found(given.convert) if given.convert else _bfloat16()
        function = adapters.with_arrays(function, convert, given.dtype)
    try:
        if given.layout:
            function = adapters.in_layout(function, given.layout)
        if given.rename:
            pairs = [pair for several in given.rename for pair in several.split(",")]
            names = dict(pair.split("=", 1) for pair in pairs)
            function = adapters.renamed(function, **names)
        return adapters.having(function, *has) if has else function
    except (TypeError, ValueError) as error:
        raise CannotRunError(f"--rename is NAME=YOURS, and {error}") from None


def _bfloat16() -> Callable[..., Any]:
    try:
        ml_dtypes = importlib.import_module("ml_dtypes")
    except ImportError:
        raise CannotRunError(
            "NumPy has no bfloat16: add --like torch (jax, mlx), --convert torch:from_numpy, or "
            "install ml_dtypes"
        ) from None
    return lambda x: x.astype(ml_dtypes.bfloat16) if x.dtype.kind == "f" else x


def found(target: str) -> Callable[..., Any]:
    """Import the function that is to be tested."""
    name, _, attribute = target.partition(":")
    if not (name and attribute):
        raise CannotRunError(
            f"a function is named as module:function, such as mymodule:my_attention; got {target!r}"
        )
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        owner: Any = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            hint = f"; name it without .py: {name[:-3]}:{attribute}" if name[-3:] == ".py" else ""
            raise CannotRunError(
                f"there is no module {error.name!r}, neither in {os.getcwd()} nor installed{hint}"
            ) from None
        raise CannotRunError(f"{name} imports {error.name}, which is not installed") from None
    except (Exception, SystemExit) as error:
        raise CannotRunError(f"importing {name} raised {type(error).__name__}: {error}") from error
    for part in attribute.split("."):
        if not hasattr(owner, part):
            near = difflib.get_close_matches(part, dir(owner), n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise CannotRunError(f"{name} has no {attribute!r}{hint}")
        owner = getattr(owner, part)
    if not callable(owner):
        raise CannotRunError(f"{target} is {type(owner).__name__}, not a function")
    tested: Callable[..., Any] = owner
    return tested


# --- what is said ---------------------------------------------------------------------------------


class _Teller:
    """Prints a line for each call or for what is wrong, and on a terminal how far it has come."""

    def __init__(self, quiet: bool, each: bool) -> None:
        self.quiet, self.each, self.count = quiet, each, 0
        self.progress = sys.stderr.isatty() and not (each and sys.stdout.isatty())

    def clear(self) -> None:
        """Take away what says how far it has come."""
        if self.progress:
            print(f"\r{'':60}\r", end="", file=sys.stderr, flush=True)

    def __call__(self, outcome: Outcome) -> None:
        self.count += 1
        wrong = outcome.verdict not in ("right", "not asked", "skipped")
        if not self.quiet and (self.each or wrong):
            self.clear()
            self.tell(outcome)
        if self.progress:
            print(f"\r{self.count} calls, {outcome.id:40}", end="", file=sys.stderr, flush=True)

    def tell(self, outcome: Outcome) -> None:
        """Print the line of a call, and what differs."""
        words = "checked" if outcome.verdict == "right" else outcome.verdict
        words = "differs" if words == "different" else words
        if "\n" in outcome.detail or outcome.detail.startswith(" "):
            print(f"{outcome.id} {words}: {outcome.call}", outcome.detail, sep="\n", flush=True)
        else:
            end = " " if outcome.verdict == "right" else ": "
            print(f"{outcome.id} {words}: {outcome.call}{end}{outcome.detail}", flush=True)


def _hint(found: Report, given: argparse.Namespace) -> None:
    """Say what helps a function that takes arrays of another kind."""
    failed = sum(o.verdict == FAILED for o in found.outcomes)
    if 2 * failed > len(found.asked) and not (given.convert or given.like):
        print("Arrays are NumPy's. If yours takes others: --like torch, or --convert "
              "torch:from_numpy, for example.")  # fmt: skip


def _write(path: str | None, text: Callable[[], str]) -> None:
    if path == "-":
        print(text(), end="")
    elif path:
        try:
            Path(path).write_text(text(), "utf-8")
        except OSError as error:
            raise CannotRunError(f"{error.strerror}: {error.filename}") from None
