"""What the commands share: exit codes, the error of what cannot run, lines about an example."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from selfattn_ref.worked_examples._example import WorkedExample

AGREES, DIFFERS, NOT_RUN = 0, 1, 2


class CannotRunError(Exception):
    """What was asked for could not be run; the message says why, and what to do."""


def withdrawn_lines(example: WorkedExample) -> list[str]:
    return [f"{example.id} was {example.withdrawn}"] if example.withdrawn else []


def file_line(example: WorkedExample) -> str:
    return f"The file: {example.swhid} (changes with its prose; the digest does not)"


def ask(find: Callable[..., Any], name: str | None) -> Any:
    """Look something up; a name that is not known is what cannot be run."""
    try:
        return find(name)
    except ValueError as error:
        raise CannotRunError(error) from None
