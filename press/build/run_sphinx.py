"""Execute pages and run Sphinx: the part of a build that imports much, so it is started ahead.

It reads from its input what to do, one object of JSON on a line: `pages`, the pages to read again,
or null for the whole book.
"""

import gc
import json
import os
import sys
import threading
from importlib import import_module

from jupyter_book.config import get_final_config
from jupyter_book.sphinx import build_sphinx

from derivations.documents import example_files, problems, read, read_ledger
from press.build.book import ENDED, NEW, ROOT
from press.build.cells import execute
from press.seams import cause_of


def end_with_parent() -> None:
    """End when the process that started this one does: nobody would take what it builds."""
    os.read(0, 1)  # at the end of its input
    os._exit(1)


def import_extensions() -> None:
    """Import the extensions, which takes a second, before there is something to build."""
    given = {"latex_individualpages": False}
    settings, _ = get_final_config(user_yaml=ROOT / "_config.yml", sourcedir=ROOT, cli_config=given)
    for name in settings["extensions"]:
        import_module(name)


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
    import_extensions()
    line = sys.stdin.readline()
    if not line:
        return 0  # nobody needs it any more
    threading.Thread(target=end_with_parent, daemon=True).start()
    pages: list[str] | None = json.loads(line)["pages"]
    if pages is None and (problems := changed_examples()):
        print("\n".join(f"ERROR: {problem}" for problem in problems))
        return 1
    execute([ROOT / page for page in pages] if pages else None)
    settings = {
        "external_toc_path": str(ROOT / "_toc.yml"),
        "latex_individualpages": False,
        "nitpicky": True,
        "reread": [page.removesuffix(".md") for page in pages or ()],
    }
    result = build_sphinx(
        ROOT,
        NEW / "html",
        noconfig=True,
        path_config=ROOT / "_config.yml",
        confoverrides=settings,
        doctreedir=NEW / ".doctrees",
        warningiserror=True,
        keep_going=True,
        freshenv=pages is None,
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
