"""The worked examples at the command line: look at them, test a function, take them along.

    python -m selfattn_ref.worked_examples list
    python -m selfattn_ref.worked_examples show SA016
    python -m selfattn_ref.worked_examples check all mymodule:my_attention
    python -m selfattn_ref.worked_examples check SA005 mymodule:my_softmax --function softmax
    python -m selfattn_ref.worked_examples check all mymodule:my_attention --convert torch:tensor
    python -m selfattn_ref.worked_examples export DIR
    python -m selfattn_ref.worked_examples verify "SA016@1.0.0#sha256:…"
    python -m selfattn_ref.worked_examples verify all

The exit code is 0 if all that could be asked agrees, 1 if something differs, 2 if something could
not be run or nothing could be asked. It is the same if whoever reads the output closes it early, as
`head` does.
"""

from __future__ import annotations

import argparse
import difflib
import functools
import importlib
import inspect
import io
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from selfattn_ref.worked_examples import Call, WorkedExampleMismatch, ids, load
from selfattn_ref.worked_examples._exchange import export, verify
from selfattn_ref.worked_examples._files import cases
from selfattn_ref.worked_examples._shell import (
    AGREES,
    DIFFERS,
    NOT_RUN,
    CannotRunError,
    ask,
    file_line,
    withdrawn_lines,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m selfattn_ref.worked_examples",
        description="Worked examples: small inputs whose every result is known.",
        epilog="Exit code: 0 if all that could be asked agrees, 1 if something differs, 2 if "
        "something could not run or nothing could be asked.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    command = commands.add_parser("list", help="list the examples and the functions they call")
    command.add_argument("--function", metavar="NAME", help="only those that call this function")
    command.set_defaults(run=lambda given: list_examples(given.function))

    command = commands.add_parser("show", help="print inputs and expected values")
    command.add_argument("id", metavar="ID")
    command.set_defaults(run=lambda given: show(given.id))

    command = commands.add_parser(
        "check",
        help="test a function of yours",
        description="Call module:function as f(query, key, value, **keywords), with mask, bias, "
        "scale, soft_cap, causal and offset where an example needs them; heads come already "
        "repeated. Calls with keywords that it does not take are not asked. In place of another "
        "function it is called as that one. Modules in the current folder are found.",
    )
    command.add_argument("id", metavar="ID", help="an example, or all")
    command.add_argument("target", metavar="MODULE:FUNCTION")
    command.add_argument(
        "--function",
        metavar="NAME",
        default="scaled_dot_product_attention",
        help="the function of selfattn_ref in whose place it stands (default: %(default)s)",
    )
    command.add_argument(
        "--convert",
        metavar="MODULE:FUNCTION",
        help="what makes of each NumPy array what yours takes, such as torch:tensor",
    )
    command.add_argument(
        "--dtype",
        choices=("float64", "float32", "float16"),
        default="float64",
        help="the dtype in which real numbers are given (default: %(default)s)",
    )
    command.set_defaults(
        run=lambda given: check(
            given.id, given.target, given.function, convert=given.convert, dtype=given.dtype
        )
    )

    command = commands.add_parser("export", help="write JSON, .npz, safetensors and a manifest")
    command.add_argument("folder", metavar="DIR", type=Path)
    command.set_defaults(run=lambda given: export(given.folder))

    command = commands.add_parser(
        "verify",
        help="say whether examples are those that were released",
        description="Compare with the digests of the examples: all that are installed, the one "
        "that a citation names, a file (.json, .npz, .safetensors or .trace.json), or a whole "
        "folder or archive with its manifest.",
    )
    command.add_argument("cited", metavar="all|ID@VERSION#sha256:DIGEST|FILE|DIR")
    command.set_defaults(run=lambda given: verify(given.cited))

    given = parser.parse_args(arguments)
    try:
        try:
            code = int(given.run(given))
            sys.stdout.flush()  # a closed pipe shows here, not when the interpreter ends
        except BrokenPipeError:  # the reader has seen enough, as `head` does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = int(given.run(given))  # unseen: the exit code is that of the whole command
    except CannotRunError as error:
        print(f"cannot run: {error}", file=sys.stderr)
        return NOT_RUN
    return code


# --- list and show --------------------------------------------------------------------------------


def list_examples(function: str | None) -> int:
    """Print a line for each example."""
    for example_id in ask(ids, function):
        example = ask(load, example_id)
        print(example)
        if example.calls:
            print(f"       {', '.join(dict.fromkeys(call.function for call in example.calls))}")
    return AGREES


def show(example_id: str) -> int:
    """Print what an example says, with six digits."""
    example = ask(load, example_id)
    print(example, example.why, *withdrawn_lines(example), sep="\n")
    for title, values in (("Inputs", example.inputs), ("Expected values", example.expected)):
        print(f"\n{title}")
        for name, value in values.items():
            axes = ", ".join(axis.name for axis in example.axes[name])
            print(f"\n  {name}{axes and f' ({axes})'}: {example.descriptions[name]}")
            with np.printoptions(precision=6, linewidth=92):
                print("    " + str(value).replace("\n", "\n    "))
    if example.calls:
        print("\nCalls")
        for call in example.calls:
            print(f"  {_described(call)}")
    print(f"\nTo cite: {example.citation}", file_line(example), sep="\n")
    return AGREES


def _described(call: Call) -> str:
    written = repr(call).partition(": ")[2]
    if call.raises:
        return f"{written}: must raise {call.raises.__name__}"
    return f"{written}: one of {', '.join(call.conventions)}" if call.conventions else written


# --- check ----------------------------------------------------------------------------------------


def check(
    example_id: str,
    target: str,
    function: str,
    *,
    convert: str | None = None,
    dtype: str = "float64",
) -> int:
    """Call a function as the examples say, and print a line for each call."""
    if ":" in example_id:
        raise CannotRunError(f"the id comes before the function, as in: check all {example_id}")
    calls = [call for _, call in ask(cases, function)]
    if example_id != "all":
        example = ask(load, example_id)
        if example.withdrawn:
            raise CannotRunError(*withdrawn_lines(example))
        every = example.calls
        calls = [call for call in every if call.function == function]
        if not calls:
            others = ", ".join(dict.fromkeys(call.function for call in every))
            hint = f"choose one with --function: {others}" if every else "it calls no function"
            raise CannotRunError(f"{example_id} has no call of {function}; {hint}")
    tested = _taking(_found(target), _found(convert) if convert else None, dtype)
    found = [(call.example, _tried(call, tested, target)) for call in calls]
    outcomes, examples = Counter(outcome for _, outcome in found), {call.example for call in calls}
    parts = []
    for name in filter(outcomes.get, _OUTCOMES):
        where = ", ".join(dict.fromkeys(example for example, outcome in found if outcome == name))
        named = name in ("different", "failed") and len(examples) > 1
        parts.append(f"{outcomes[name]} {name}{f' ({where})' if named else ''}")
    count = f"{len(calls)} call{'' if len(calls) == 1 else 's'}"
    of = f"{len(examples)} example{'' if len(examples) == 1 else 's'}"
    print(f"{count} of {of}: {', '.join(parts)}")
    lacking = Counter(name for call in calls for name in _not_taken(tested, call))
    if lacking:
        print(f"not asked for want of: {', '.join(f'{n} {c}' for n, c in lacking.most_common())}")
        taken = ", ".join([*inspect.signature(tested).parameters][len(calls[0].args) :])
        print(f"These are given by name; {target} takes {taken or 'none'}.")
    if 2 * outcomes["failed"] > len(calls) and not convert:
        print("Arrays are NumPy's. If yours takes others: --convert torch:tensor, for example.")
    if outcomes["failed"] or outcomes["not asked"] == len(calls):
        return NOT_RUN
    return DIFFERS if outcomes["different"] else AGREES


_OUTCOMES = ("right", "different", "failed", "not asked")


def _taking(
    function: Callable[..., Any], convert: Callable[..., Any] | None, dtype: str
) -> Callable[..., Any]:
    """Return a function that gives another one arrays of its own kind and dtype."""

    def converted(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        value = value.astype(dtype if value.dtype.kind == "f" else value.dtype)  # it may be changed
        return convert(value) if convert else value

    @functools.wraps(function)
    def taking(*args: Any, **kwargs: Any) -> Any:
        given = {name: converted(value) for name, value in kwargs.items()}
        return function(*map(converted, args), **given)

    return taking


def _tried(call: Call, function: Callable[..., Any], target: str) -> str:
    """Test one call, print what came of it, and return the outcome in a word."""
    unknown = _not_taken(function, call)
    if unknown:
        lacking = ", ".join(unknown)
        print(f"{call.example} not asked: {_described(call)}: {target} takes no {lacking}")
        return "not asked"
    try:
        agreement = call.test(function)
    except WorkedExampleMismatch as mismatch:
        first, *lines = str(mismatch).splitlines()
        print(f"{call.example} differs: {first.partition(': ')[2]}", *lines, sep="\n", flush=True)
        return "different"
    except Exception as error:
        print(f"{call.example} failed: {_described(call)}")
        print(f"  {target} raised {type(error).__name__}: {error}{_place(error)}", flush=True)
        return "failed"
    print(agreement, flush=True)
    return "right"


def _not_taken(function: Callable[..., Any], call: Call) -> list[str]:
    """Return the keywords that a function cannot be given."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # it does not say what it takes
        return []
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return []
    taken = {p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)}
    return [name for name in call.kwargs if name not in taken]


def _place(error: Exception) -> str:
    """Return the line of the user's code in which an error was raised."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    if trace is None or trace.tb_frame.f_code.co_filename == __file__:
        return ""
    return f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}, line {trace.tb_lineno})"


def _found(target: str) -> Callable[..., Any]:
    """Import the function that is to be tested."""
    name, _, attribute = target.partition(":")
    if not (name and attribute):
        raise CannotRunError(
            f"a function is named as module:function, such as mymodule:my_attention; got {target!r}"
        )
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(name)
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
        if not hasattr(found, part):
            near = difflib.get_close_matches(part, dir(found), n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise CannotRunError(f"{name} has no {attribute!r}{hint}")
        found = getattr(found, part)
    if not callable(found):
        raise CannotRunError(f"{target} is {type(found).__name__}, not a function")
    tested: Callable[..., Any] = found
    return tested


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # not every console can write √
    sys.exit(main())
