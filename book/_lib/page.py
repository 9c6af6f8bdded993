"""Numbers for the prose, and how arrays are printed."""

from typing import Any

import numpy as np
from myst_nb import glue

np.set_printoptions(precision=4, suppress=True, linewidth=76)  # fits a phone held sideways


def number(value: float, digits: int = 3) -> str:
    """Write a number with a true minus sign, and no minus before zero."""
    text = f"{float(value):.{digits}f}"
    return text.replace("-", "−") if float(text) else text.replace("-", "")


def say(digits: int = 3, **values: Any) -> None:
    """Name values for the prose, which shows one as {glue:text}`name`.

    A float gets `digits` digits, an integer none; a vector is put in parentheses.
    """
    for name, value in values.items():
        if isinstance(value, str):
            text = value
        elif isinstance(value, int | np.integer):
            text = str(value)
        elif np.ndim(value) == 0:
            text = number(value, digits)
        else:
            text = "(" + ", ".join(number(entry, digits) for entry in np.ravel(value)) + ")"
        glue(name, _Text(text), display=False)


class _Text:
    """A text that represents itself without quotation marks."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text
