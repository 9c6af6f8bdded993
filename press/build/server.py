"""Serve the built book at a local address, as a static host would: compressed."""

import contextlib
import functools
import gzip
import http.server
import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

LEVEL = 6  # of gzip, as most hosts set it
# What hosts compress. Fonts and pictures are compressed already.
TEXT = {".css", ".html", ".inv", ".js", ".json", ".md", ".svg", ".txt", ".xml"}


@functools.cache
def compressed(path: Path, changed: int) -> bytes:
    """Return a file as it travels; `changed` is its time, so that a new version counts anew."""
    content = path.read_bytes()
    return gzip.compress(content, LEVEL, mtime=0) if path.suffix in TEXT else content


def transfer_size(path: Path) -> int:
    """Return how many bytes of a file travel to a browser."""
    return len(compressed(path, path.stat().st_mtime_ns))


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serve a folder below a prefix, compressed where the client takes that."""

    protocol_version = "HTTP/1.1"

    def __init__(self, *args: Any, directory: str, prefix: str, quiet: bool) -> None:
        self.prefix = prefix
        self.quiet = quiet
        super().__init__(*args, directory=directory)

    def handle(self) -> None:
        """Answer until the client leaves, in whatever way."""
        with contextlib.suppress(ConnectionError):
            super().handle()

    def translate_path(self, path: str) -> str:
        """Return the file of an address, or one that does not exist."""
        inside = urlsplit(path).path.startswith(self.prefix)
        return super().translate_path(path[len(self.prefix) - 1 :] if inside else "/no such file")

    def send_head(self) -> io.BytesIO | BinaryIO | None:
        """Send the headers and return what follows them."""
        path = Path(self.translate_path(self.path))
        if path.is_dir() and self.path.endswith("/"):
            path = path / "index.html"
        elif path.is_dir():
            return super().send_head()  # a redirection to the address with a slash
        status = 200 if path.is_file() else 404
        if status == 404:
            path = Path(self.directory, "404.html")
            if not path.is_file():
                self.send_error(404)
                return None
        zipped = path.suffix in TEXT and "gzip" in self.headers.get("Accept-Encoding", "")
        kind = self.guess_type(str(path))
        body = self.read(path)
        if body is None:
            body = compressed(path, path.stat().st_mtime_ns) if zipped else path.read_bytes()
        elif zipped:
            body = gzip.compress(body)
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8" if path.suffix in TEXT else kind)
        self.send_header("Content-Length", str(len(body)))
        if zipped:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        return io.BytesIO(body)

    def read(self, path: Path) -> bytes | None:
        """Return what stands in the place of a file."""
        return None

    def log_message(self, *args: Any) -> None:
        """Say what was asked for, where somebody reads it."""
        if not self.quiet:
            super().log_message(*args)


@contextlib.contextmanager
def serving(
    site: Path, prefix: str = "/", quiet: bool = True, kind: type[Handler] = Handler
) -> Iterator[str]:
    """Serve a folder in the background on a free port; yield its address."""
    handler = functools.partial(kind, directory=str(site), prefix=prefix, quiet=quiet)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        # It looks 50 times a second whether it shall end.
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}{prefix}"
        server.shutdown()
