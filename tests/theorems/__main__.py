"""Say what the tests of statements found, as JSON: by the label of each."""

import importlib
import json
from pathlib import Path

from tests.theorems.statement import Statement


def reports() -> dict[str, object]:
    """Return the report of each statement that has a test of the form of `Statement`."""
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        importlib.import_module(f"tests.theorems.{path.stem}")
    return {
        str(one.__doc__).partition(":")[0]: one().report() for one in Statement.__subclasses__()
    }


if __name__ == "__main__":
    print(json.dumps(reports(), ensure_ascii=False))
