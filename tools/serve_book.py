"""Serve the built book at a local address, until Ctrl-C."""

import functools
import http.server
from pathlib import Path

SITE = Path(__file__).resolve().parents[1] / "_build" / "html"


def main() -> None:
    """Serve on a free port and print the address."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        print(f"Serving the book at http://127.0.0.1:{server.server_port}/ — Ctrl-C ends it.")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()


if __name__ == "__main__":
    main()
