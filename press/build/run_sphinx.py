"""Execute pages and run Sphinx, with the settings that Jupyter Book makes of `_config.yml`.

It reads from its input what to do, one list in JSON on a line: the folder to build into and the
pages to read and write, or none for the whole book. `make serve` starts it ahead, as it imports
much.
"""

import gc
import json
import os
import sys
import threading
from importlib import import_module
from pathlib import Path

from jupyter_book.sphinx import build_sphinx

from derivations.documents import example_files, problems, read, read_ledger
from press.build.book import ENDED, ROOT
from press.build.execution import execute
from press.seams import cause_of


def end_with_parent() -> None:
    """End when the process that started this one does: nobody would take what it builds."""
    os.read(0, 1)  # at the end of its input
    os._exit(1)


def changed_examples() -> list[str]:
    """Return what is wrong with the data of the worked examples; not all have to be released."""
    try:
        ledger = read_ledger()
        found = {name: read(path) for name, path in example_files().items()}
    except ValueError as error:
        return [f"{error}"]
    return problems(ledger, {name: data for name, data in found.items() if ledger.get(name)})


def main() -> int:
    """Wait for the line, and build."""
    # A document is a tree that lives as long as the process: to look for garbage in all of them
    # again and again would take half of the time.
    gc.disable()
    import_module("press.extension")  # which Sphinx would import later
    line = sys.stdin.readline()
    if not line:
        return 0  # nobody needs it any more
    threading.Thread(target=end_with_parent, daemon=True).start()
    folder, *pages = json.loads(line)
    if not pages and (found := changed_examples()):
        print("\n".join(f"ERROR: {problem}" for problem in found))
        return 1
    paths = [ROOT / page for page in pages]
    execute(paths or None)
    settings = {
        "external_toc_path": f"{ROOT / '_toc.yml'}",
        "latex_individualpages": False,
        "nitpicky": True,
        "reread": [page.removesuffix(".md") for page in pages],
    }
    result = build_sphinx(
        ROOT,
        Path(folder, "html"),
        noconfig=True,
        path_config=ROOT / "_config.yml",
        confoverrides=settings,
        doctreedir=Path(folder, ".doctrees"),
        filenames=[f"{path}" for path in paths],
        warningiserror=True,
        keep_going=True,
        freshenv=not pages,
    )
    if isinstance(result, int):
        return result
    raise result


if __name__ == "__main__":
    try:
        code = main()
    except Exception as error:
        cause = cause_of(error)
        message = " ".join(f"{cause}".split())[:300]
        print(f"{ENDED} {type(cause).__name__}: {message}")
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # without taking all the trees apart
