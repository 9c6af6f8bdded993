"""The model of the lesson on training, for pages that show it before that lesson is read.

Its code stands in the visible cells of the lesson and nowhere else.
"""

import contextlib
import io
import re
from functools import cache
from pathlib import Path
from typing import Any

LESSON = Path(__file__).resolve().parents[1] / "beyond" / "learning.md"
VISIBLE = re.compile(r"^```\{code-cell\} python\n(?!---\n)(?!:tags: \[re)(.*?)^```$", re.M | re.S)


@cache
def lesson() -> dict[str, Any]:
    """Return what the visible cells of the lesson define, up to the function `train`."""
    names: dict[str, Any] = {"__name__": "lesson"}
    for found in VISIBLE.finditer(LESSON.read_text("utf-8")):
        code = re.sub(r"\A(:.*\n)+", "", found[1])
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, f"{LESSON}", "exec"), names)
        if "train" in names:
            return names
    raise ValueError(f"no cell of {LESSON.name} defines train")
