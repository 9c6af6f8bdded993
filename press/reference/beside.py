"""Let a program of the tests run beside the build, and keep what it prints."""

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from sphinx.errors import ExtensionError

from press.build.fingerprint import fingerprint


@dataclass(frozen=True)
class Beside:
    """A program, run once for each state of what decides what it prints."""

    name: str
    arguments: tuple[str, ...]
    deciding: tuple[str, ...]
    running: dict[Path, subprocess.Popen[str]] = field(default_factory=dict)

    def kept(self, root: Path) -> Path:
        """Return the file of what is printed in the present state."""
        state = fingerprint(root, self.deciding)
        return root / "_build" / ".cache" / f"{self.name}-{state}.txt"

    def start(self, root: Path) -> None:
        """Start the program, unless what it prints is known."""
        if not self.kept(root).is_file() and root not in self.running:
            self.running[root] = subprocess.Popen(
                [sys.executable, *self.arguments],
                cwd=root,
                stdin=subprocess.DEVNULL,  # that of the build says when it has to end
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )

    def text(self, root: Path) -> str:
        """Return what the program prints, once it has ended."""
        self.start(root)
        file = self.kept(root)
        if process := self.running.pop(root, None):
            text, _ = process.communicate()
            if process.returncode:
                raise ExtensionError(f"{self.name}: {text.strip()[-300:]}")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return file.read_text("utf-8")
