"""A question to ask the room: its answers, right and wrong, are computed."""

from collections.abc import Callable
from typing import Any

from book.figures.glue import number, say
from selfattn_ref.worked_examples.slips import SLIPS

Way = Callable[..., Any]


def ask(
    of: Callable[[Way], float], right: Way, *catalog: str, digits: int = 2, **slips: Way
) -> dict[str, str]:
    """Name the answers for the page: `of` a way to compute is the number that it leads to.

    The wrong ways are slips of the catalog, by their names, and others that are given with theirs.
    The page shows the answers as ``room_a``, ``room_b``, the smallest first, and the letter of each
    way under its name: ``room_right``, ``room_not_scaled``.
    """
    ways = {"right": right} | {name.replace("-", "_"): SLIPS[name] for name in catalog} | slips
    found = {name: float(of(way)) for name, way in ways.items()}
    order = sorted(found, key=found.__getitem__)
    answers = {name: number(found[name], digits) for name in order}
    if not 3 <= len(set(answers.values())) == len(answers) <= 4:
        raise ValueError(f"a room chooses among three or four different answers, not {answers}")
    for letter, name in zip("abcd", order, strict=False):
        say(digits, **{f"room_{letter}": answers[name], f"room_{name}": letter.upper()})
    return answers
