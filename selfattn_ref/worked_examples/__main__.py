"""The worked examples at the command line: look at them, test a function, take them along.

    python -m selfattn_ref.worked_examples list
    python -m selfattn_ref.worked_examples show SA016
    python -m selfattn_ref.worked_examples check all mymodule:my_attention
    python -m selfattn_ref.worked_examples check SA005 mymodule:my_softmax --function softmax
    python -m selfattn_ref.worked_examples check all mymodule:attend --convert torch:from_numpy
    python -m selfattn_ref.worked_examples export DIR
    python -m selfattn_ref.worked_examples verify "SA016@1.0.0#sha256:…"
    python -m selfattn_ref.worked_examples verify all

The exit code is 0 if what was tested agrees (and, in a run of all calls of attention or of its
gradients, the options that the function takes under our names were tested), 1 if something differs,
2 if something could not be run, nothing was claimed or tested, or something required was not. It is
the same if whoever reads the output closes it early, as `head` does.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from selfattn_ref.worked_examples import Call, ids, load
from selfattn_ref.worked_examples._check import DESCRIPTION, add_arguments, check
from selfattn_ref.worked_examples._exchange import export, verify
from selfattn_ref.worked_examples._shell import (
    AGREES,
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
        epilog="Exit code: 0 if what was tested agrees and, in a run of all calls of attention "
        "or of its gradients, the options that the function takes under our names were tested; "
        "1 if something differs; 2 if something could not run, nothing was claimed or tested, or "
        "something required was not.",
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
        description=DESCRIPTION,
    )
    add_arguments(command)
    command.set_defaults(run=check)

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
        with _unread_after_closing():
            code = int(given.run(given))
    except CannotRunError as error:
        print(f"cannot run: {error}", file=sys.stderr)
        return NOT_RUN
    return code


@contextlib.contextmanager
def _unread_after_closing() -> Iterator[None]:
    """Let a command run to its end, and its exit code count, when its reader has seen enough."""
    stream, sys.stdout = sys.stdout, _Outlet(sys.stdout)
    try:
        yield
        sys.stdout.flush()
    finally:
        sys.stdout = stream


class _Outlet(io.TextIOBase):
    """Writes to a stream until its reader closes it, as `head` does; the rest is dropped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream: TextIO | None = stream

    def write(self, text: str) -> int:
        return self._do(lambda stream: stream.write(text)) or len(text)

    def flush(self) -> None:
        self._do(lambda stream: stream.flush())

    def isatty(self) -> bool:
        return bool(self._do(lambda stream: stream.isatty()))

    def _do(self, act: Callable[[TextIO], Any]) -> Any:
        if self._stream is None:
            return None
        try:
            return act(self._stream)
        except BrokenPipeError:
            # What is left in its buffer would be written, and raise, when the interpreter ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            self._stream = None


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


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # not every console can write √
    sys.exit(main())
