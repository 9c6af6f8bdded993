"""Say what the tests of statements found, as JSON: by the label of each."""

import importlib
import json
from pathlib import Path

from tests.theorems.statement import Statement


def by_label() -> dict[str, type[Statement]]:
    """Return the tests of this folder that have the form of `Statement`, by their labels."""
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        importlib.import_module(f"tests.theorems.{path.stem}")
    own = (
        one for one in Statement.__subclasses__() if one.__module__.startswith("tests.theorems.")
    )
    return {str(one.__doc__).partition(":")[0]: one for one in own}


if __name__ == "__main__":
    reports = {label: one().report() for label, one in by_label().items()}
    print(json.dumps(reports, ensure_ascii=False))
