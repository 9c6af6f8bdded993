"""Run one of the commands of the press: `python -m press COMMAND`."""

import argparse
import ast
import runpy
import sys
from pathlib import Path

COMMANDS = {
    "build": "build.book",
    "seams": "seams",
    "serve": "build.serve",
    "reproduce": "build.reproduce",
    "measure": "measure.site",
    "lighthouse": "measure.lighthouse",
    "latex": "measure.latex",
    "pdf": "edition.pdf",
    "site": "edition.published",
    "release": "edition.release",
    "publish": "edition.publish",
    "check": "edition.check",
}


def summary(module: str) -> str:
    """Return the first line of what a module says of itself, without importing it."""
    path = Path(__file__).parent.joinpath(*module.split(".")).with_suffix(".py")
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return text.partition("\n")[0]


def main() -> None:
    """Run the module of a command with the arguments that follow its name."""
    listed = "\n".join(f"  {name:11} {summary(module)}" for name, module in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="python -m press",
        description=__doc__,
        epilog=f"commands:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND")
    command = parser.parse_args(sys.argv[1:2]).command
    sys.argv = [f"python -m press {command}", *sys.argv[2:]]
    runpy.run_module(f"press.{COMMANDS[command]}", run_name="__main__")


if __name__ == "__main__":
    main()
