"""Serve the built book at a local address, as a static host would: compressed."""

import asyncio
import functools
import gzip
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, GZipContentEncoding, StaticFileHandler

from press.site.nowhere import from_any_depth

# What hosts compress. Fonts and pictures are compressed already.
TEXT = {".css", ".html", ".inv", ".js", ".json", ".md", ".svg", ".txt", ".xml"}


@functools.cache
def transfer_size(path: Path) -> int:
    """Return how many bytes of a file travel to a browser."""
    content = path.read_bytes()
    return len(
        gzip.compress(content, GZipContentEncoding.GZIP_LEVEL) if path.suffix in TEXT else content
    )


class Files(StaticFileHandler):
    """Serve the files of a folder, and its page 404.html where there is none."""

    def write_error(self, status_code: int, **more: Any) -> None:
        """Say that a file is not there."""
        page = Path(self.get_absolute_path(self.root, "404.html"))
        if page.is_file():
            self.finish(from_any_depth(page.read_text("utf-8"), self.settings["prefix"]))
        else:
            super().write_error(status_code, **more)


@contextmanager
def serving(
    folder: Path,
    prefix: str = "/",
    files: type[StaticFileHandler] = Files,
    more: Sequence[tuple[Any, ...]] = (),
) -> Iterator[str]:
    """Serve a folder, and what `more` says, in the background on a free port; yield its address."""
    options = {"path": f"{folder}", "default_filename": "index.html"}
    every = (f"{prefix}(.*)", files, options)
    application = Application(
        [*more, every], compress_response=True, log_function=lambda handler: None, prefix=prefix
    )
    sockets = bind_sockets(0, "127.0.0.1")
    ended = asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        server = HTTPServer(application)
        server.add_sockets(sockets)
        await ended.wait()
        server.stop()
        await server.close_all_connections()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{sockets[0].getsockname()[1]}{prefix}"
    loop.call_soon_threadsafe(ended.set)
    thread.join()
    loop.close()
