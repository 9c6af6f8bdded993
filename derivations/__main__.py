"""The command line: check, write, release, trace. See the package docstring."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from derivations import generated
from derivations.documents import (
    DATA,
    LEDGER,
    example_files,
    file_text,
    fingerprint,
    problems,
    read,
    read_ledger,
    render,
    with_derived_values,
)
from derivations.traces import write_digests, write_traces


def check(data: Path, ledger: Path) -> int:
    """Derive every example again and print a line each; return the number of problems."""
    documents = {example_id: read(path) for example_id, path in example_files(data).items()}
    failures = 0
    for example_id, document in documents.items():
        derived = with_derived_values(document)["expected"]
        wrong = [name for name, entry in document["expected"].items() if entry != derived[name]]
        failures += bool(wrong)
        print(f"{example_id} {'differs: ' + ', '.join(wrong) if wrong else 'agrees'}")
    found = problems(read_ledger(ledger), documents)
    for problem in found:
        print(problem)
    return failures + len(found)


def write(example_id: str, data: Path, ledger: Path) -> int:
    """Fill in the expected values of an example, unless that would change a released one."""
    path = data / f"{example_id}.json"
    document = with_derived_values(read(path))
    released = read_ledger(ledger).get(example_id)
    if released is not None and released != fingerprint(document):
        print(
            f"{example_id} is released and would change: nothing written. "
            "Give the correction a new id that supersedes it."
        )
        return 1
    path.write_text(file_text(document), encoding="utf-8")
    print(f"{example_id} written")
    return 0


def release(example_id: str, data: Path, ledger: Path) -> int:
    """Enter an example in the ledger; an entry that is there is never overwritten."""
    entries = read_ledger(ledger)
    number = fingerprint(read(data / f"{example_id}.json"))
    if entries.get(example_id) not in (None, number):
        print(f"{example_id} is released with other numbers: the ledger stays as it is.")
        return 1
    entries[example_id] = number
    ledger.write_text(render(dict(sorted(entries.items()))) + "\n", encoding="utf-8")
    print(f"{example_id} released")
    return 0


def main(arguments: Sequence[str], *, data: Path = DATA, ledger: Path = LEDGER) -> int:
    parser = argparse.ArgumentParser(prog="python -m derivations")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--write", metavar="ID", help="fill in the expected values of an example")
    action.add_argument("--release", metavar="ID", help="enter an example in the ledger")
    action.add_argument("--traces", metavar="DIR", help="write how every value was made")
    action.add_argument(
        "--digests", action="store_true", help="enter the digests of examples and their traces"
    )
    action.add_argument(
        "--generated", action="store_true", help="derive the generated cases and compare"
    )
    action.add_argument(
        "--write-generated", action="store_true", help="fill in the values of the generated cases"
    )
    options = parser.parse_args(arguments)
    if options.generated:
        return 1 if generated.check() else 0
    if options.write_generated:
        generated.write()
        generated.release()
        return 0
    if options.write:
        return write(options.write, data, ledger)
    if options.release:
        return release(options.release, data, ledger)
    if options.traces:
        print(f"{len(write_traces(Path(options.traces)))} traces in {options.traces}")
        return 0
    if options.digests:
        write_digests()
        return 0
    return 1 if check(data, ledger) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
