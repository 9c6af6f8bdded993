"""Write the examples to files that other programs read, and say whether a file is one of ours."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import numpy as np

import selfattn_ref
from selfattn_ref.worked_examples._files import file_content, ids, load
from selfattn_ref.worked_examples._shell import (
    AGREES,
    DIFFERS,
    CannotRunError,
    ask,
    file_line,
    withdrawn_lines,
)

_CITED = re.compile(r"(?P<id>[^@#]+)(@(?P<version>[^#]+))?#sha256:(?P<digest>[0-9a-f]{64})")


def export(folder: Path) -> int:
    """Write every example as JSON and as .npz, the schema, and a manifest of what was written."""
    written = {}

    def write(name: str, content: bytes) -> None:
        (folder / name).write_bytes(content)
        written[name] = hashlib.sha256(content).hexdigest()

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("schema", "trace.schema", *ids()):
            write(f"{name}.json", file_content(name))
        for example_id in ids():
            path = folder / f"{example_id}.npz"
            example = load(example_id)
            np.savez(path, **{**example.inputs, **example.expected})
            written[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
        manifest = {
            "package": f"selfattn_ref {selfattn_ref.__version__}",
            "examples": {i: f"sha256:{load(i).digest}" for i in ids()},
            "files": {name: f"sha256:{written[name]}" for name in sorted(written)},
        }
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")
    except OSError as error:
        raise CannotRunError(f"{error.strerror}: {error.filename}") from None
    print(f"{len(ids())} examples in {folder}: JSON, .npz, schemas and manifest.json")
    return AGREES


def verify(reference: str) -> int:
    """Say whether an example is the one that a citation names, or a file its trace."""
    if reference.endswith(".trace.json"):
        return verify_trace(Path(reference))
    match = _CITED.fullmatch(reference.strip())
    if match is None:
        raise CannotRunError(
            f"a citation is ID@VERSION#sha256:DIGEST with 64 hexadecimal digits; got {reference!r}"
        )
    example = ask(load, match["id"])
    version = f", cited from {match['version']}" if match["version"] else ""
    if match["digest"] != example.digest:
        print(f"{example.id} is another: {example.citation}{version}")
        return DIFFERS
    print(f"{example.id} is the one that is cited: {example.title}{version}")
    print(*withdrawn_lines(example), file_line(example), sep="\n")
    return AGREES


def verify_trace(path: Path) -> int:
    """Say whether a file is, byte by byte, the trace of the example that it names."""
    example = ask(load, path.name.partition(".")[0])
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise CannotRunError(f"{error.strerror}: {error.filename}") from None
    if digest != json.loads(file_content("traces"))[example.id]:
        print(f"{path.name} is not the trace of {example.id} that {selfattn_ref.__version__} knows")
        return DIFFERS
    print(f"{path.name} is the trace of {example.id}: {example.title}")
    return AGREES
