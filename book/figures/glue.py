"""Numbers for the prose, and how arrays are printed and noted."""

from typing import Any

import numpy as np
import numpy.typing as npt
from IPython import get_ipython
from myst_nb import glue

from book.figures import record

if get_ipython() is not None:  # in the kernel of a page: an import elsewhere changes nothing
    np.set_printoptions(precision=4, suppress=True, linewidth=76)  # fits a phone held sideways
    record.begin(get_ipython())


def number(value: float, digits: int = 3) -> str:
    """Write a number with a true minus sign, and no minus before zero."""
    text = f"{float(value):.{digits}f}"
    return text.replace("-", "−") if float(text) else text.replace("-", "")


def as_text(vector: npt.ArrayLike, digits: int = 2) -> str:
    """Write a vector as a sentence does: (1.00, −2.50)."""
    return "(" + ", ".join(number(entry, digits) for entry in np.ravel(vector)) + ")"


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
            text = as_text(value, digits)
        glue(name, text, display=False)
