"""Write the examples to files that other programs read, and say whether a file is one of ours."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

import selfattn_ref
from selfattn_ref.worked_examples._digest import digest_of_cases, parsed, said, twice
from selfattn_ref.worked_examples._files import file_content, ids, load
from selfattn_ref.worked_examples._formats import (
    Arrays,
    arrays_of,
    cited_in_safetensors,
    read_npz,
    read_safetensors,
    without_words,
    write_npz,
    write_safetensors,
)
from selfattn_ref.worked_examples._shell import (
    AGREES,
    DIFFERS,
    CannotRunError,
    ask,
    file_line,
    withdrawn_lines,
)

_CITED = re.compile(r"(?P<id>[^@#]+)(@(?P<version>[^#]+))?#sha256:(?P<digest>[0-9a-f]{64})")
_FILE = re.compile(r"(?P<id>SA\d{3})\b.*?(?P<kind>\.trace\.json|\.json|\.npz|\.safetensors)")
MANIFEST = "manifest.json"
GENERATED = "generated.json"


def export(folder: Path) -> int:
    """Write every example in each format, what makes the generated cases, schemas, a manifest."""
    files = {f"{name}.json": file_content(name) for name in ("schema", "trace.schema", "generated")}
    for example in map(load, ids()):
        arrays = arrays_of(example)
        cited = f"{example.id}#sha256:{example.digest}"
        files[f"{example.id}.json"] = file_content(example.id)
        files[f"{example.id}.npz"] = write_npz(arrays)
        files[f"{example.id}.safetensors"] = write_safetensors(without_words(arrays), cited)
    manifest = {
        "package": f"selfattn_ref {selfattn_ref.__version__}",
        "examples": {i: f"sha256:{load(i).digest}" for i in ids()},
        "files": {name: f"sha256:{_sha256(files[name])}" for name in sorted(files)},
    }
    files[MANIFEST] = f"{json.dumps(manifest, indent=2)}\n".encode()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
    except OSError as error:
        raise CannotRunError(f"{error.strerror}: {error.filename}") from None
    print(f"{len(ids())} examples in {folder}: JSON, .npz, .safetensors, schemas and {MANIFEST}")
    return AGREES


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def verify(reference: str) -> int:
    """Say whether a citation names an example as it is, or whether files are those of ours."""
    match = _CITED.fullmatch(re.sub(r"[\\\s]", "", reference))  # as BibTeX or a printed line has it
    if match:
        return _verify_citation(match)
    path = Path(reference)
    if reference == "all":
        return _verify_installed()
    if path.is_dir() or path.suffix == ".zip":
        return _verify_files(path, _contents(path))
    if path.name == MANIFEST:
        return _verify_files(path.parent, _contents(path.parent))
    if path.name == GENERATED:
        return _verify_generated(path)
    if path.suffix == ".xlsx":
        raise CannotRunError(
            f"{path.name}: the library does not know the bytes of a spreadsheet, but {MANIFEST} in "
            "worked-examples.zip does: verify that archive, or a folder with all of its files"
        )
    if path.exists() or _FILE.fullmatch(path.name):
        return _verify_file(path)
    raise CannotRunError(
        "verify takes all, a file, a folder or an archive of examples, or a citation: "
        f"ID@VERSION#sha256:DIGEST with 64 hexadecimal digits; got {reference!r}"
    )


def _verify_citation(cited: re.Match[str]) -> int:
    example = ask(load, cited["id"])
    version = f", cited from {cited['version']}" if cited["version"] else ""
    if cited["digest"] != example.digest:
        print(f"{example.id} is another: {example.citation}{version}")
        return DIFFERS
    print(f"{example.id} is the one that is cited: {example.title}{version}")
    print(*withdrawn_lines(example), file_line(example), sep="\n")
    return AGREES


def _verify_installed() -> int:
    """Compare the examples of this installation with the digests under which they are known."""
    known = json.loads(file_content("digests"))
    found = {name: ask(load, name).digest for name in ids()}
    found["generated"] = digest_of_cases(file_content("generated").decode())
    problems = [f"{name}.json is missing" for name in known.keys() - found]
    problems += [
        f"{name}.json is another: its digest is sha256:{got}"
        for name, got in found.items()
        if got != known.get(name)
    ]
    print(*problems, sep="\n", end="\n" if problems else "")
    if problems:
        return DIFFERS
    release = f"selfattn_ref {selfattn_ref.__version__}"
    print(f"{len(ids())} examples and the generated cases have the digests of {release}")
    return AGREES


def _verify_generated(path: Path) -> int:
    (content,) = _contents(path).values()
    problems = _problems(path.name, content)
    print(f"{path.name} {'is not' if problems else 'is'} {_as_known()}")
    return DIFFERS if problems else AGREES


def _verify_file(path: Path) -> int:
    (content,) = _contents(path).values()
    problems = _problems(path.name, content)
    example = load(path.name[:5])
    if problems:
        print(f"{path.name} is not {_kind(path.name)}{example.id} {_as_known()}:")
        print(*(f"  {problem}" for problem in problems), sep="\n")
        return DIFFERS
    print(f"{path.name} is {_kind(path.name)}{example.id}: {example.title}")
    print(*(f"{line}\n" for line in withdrawn_lines(example)), sep="", end="")
    return AGREES


def _kind(name: str) -> str:
    return "the trace of " if name.endswith(".trace.json") else ""


def _as_known() -> str:
    return f"that selfattn_ref {selfattn_ref.__version__} knows"


def _verify_files(place: Path, files: Mapping[str, bytes]) -> int:
    """Compare the files of a folder or an archive with its manifest, and with the examples."""
    if MANIFEST not in files:
        raise CannotRunError(f"there is no {MANIFEST} in {place}")
    try:
        manifest = parsed(files[MANIFEST])
        listed = {name: entry.removeprefix("sha256:") for name, entry in manifest["files"].items()}
        digests = manifest["examples"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CannotRunError(f"{place / MANIFEST} is damaged: {_told(error)}") from None
    if not listed or not digests:
        raise CannotRunError(f"{place / MANIFEST} names no {'examples' if listed else 'files'}")
    ours = {name for name in files if name == GENERATED or _FILE.fullmatch(name)}
    problems = [f"{name} is missing" for name in sorted(listed.keys() - files)]
    problems += [f"{name} is not in {MANIFEST}" for name in sorted(ours - listed.keys())]
    for name in sorted(listed.keys() & files):
        if _sha256(files[name]) != listed[name]:
            problems.append(f"{name} is not the file of {MANIFEST}: another SHA-256")
        if name in ours:
            try:
                problems += [f"{name}: {problem}" for problem in _problems(name, files[name])]
            except CannotRunError as error:
                problems.append(f"{error}")
    held = {name[:5] for name in ours - {GENERATED}}
    problems += [f"{name} has no digest in {MANIFEST}" for name in sorted(held - digests.keys())]
    unseen = sorted(digests.keys() - held)
    problems += [f"{name} has a digest in {MANIFEST}, but no file" for name in unseen]
    for name, entry in digests.items():
        if name not in ids():
            problems.append(f"{name} is no example {_as_known()}")
        elif entry != f"sha256:{load(name).digest}":
            problems.append(f"{name} has another digest in {MANIFEST}")
    if problems:
        print(*problems, sep="\n")
        return DIFFERS
    print(f"{len(listed)} files in {place} are those of its manifest")
    print(f"{len(digests)} examples are those {_as_known()}")
    return AGREES


def _contents(path: Path) -> dict[str, bytes]:
    """Return the files in a folder, in an archive, or the one at the path itself, by name."""
    try:
        if path.is_dir():
            return {one.name: one.read_bytes() for one in sorted(path.iterdir()) if one.is_file()}
        if path.suffix != ".zip":
            return {path.name: path.read_bytes()}
        with zipfile.ZipFile(path) as archive:
            files = [one for one in archive.infolist() if not one.is_dir()]
            names = [Path(one.filename).name for one in files]
            if (name := twice(names)) is not None:
                raise ValueError(f"two files are called {name}")
            return dict(zip(names, map(archive.read, files), strict=True))
    except OSError as error:
        raise CannotRunError(f"{error.strerror}: {error.filename}") from None
    except Exception as error:  # a damaged archive fails in many ways
        raise CannotRunError(f"{path.name} is damaged: {_told(error)}") from None


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _problems(name: str, content: bytes) -> list[str]:
    """Return what a file says otherwise than the example after which it is named."""
    if name == GENERATED:
        return _problems_of_generated(content)
    match = _FILE.fullmatch(name)
    if match is None:
        raise CannotRunError(
            f"{name}: the name of a file is an id with .json, .npz, .safetensors or .trace.json"
        )
    example, kind = ask(load, match["id"]), match["kind"]
    if kind == ".trace.json":
        known = json.loads(file_content("traces"))[example.id]
        return [] if _sha256(content) == known else ["another SHA-256"]
    try:
        if kind == ".json":
            return _differences_of_json(content.decode(), file_content(example.id).decode())
        wanted = arrays_of(example)
        if kind == ".npz":
            return _differences(read_npz(content), wanted)
        cited = cited_in_safetensors(content)
        if cited not in (None, f"{example.id}#sha256:{example.digest}"):
            return [f"it says that it is {cited}"]
        return _differences(read_safetensors(content), without_words(wanted))
    except Exception as error:  # whatever a damaged file makes of its reader
        raise CannotRunError(f"{name} is damaged: {_told(error)}") from None


def _problems_of_generated(content: bytes) -> list[str]:
    known = json.loads(file_content("digests"))["generated"]
    try:
        return [] if digest_of_cases(content.decode()) == known else ["another digest"]
    except Exception as error:
        raise CannotRunError(f"{GENERATED} is damaged: {_told(error)}") from None


def _differences_of_json(got: str, wanted: str) -> list[str]:
    return [
        *_otherwise(said(got, Decimal), said(wanted, Decimal), ""),
        *_otherwise(_kinds(got), _kinds(wanted), ""),
    ]


def _kinds(text: str) -> dict[str, Any]:
    """Return what else has to stay as it is: the id, and what tells how an array is read."""
    document = parsed(text)
    arrays = {
        f"{part}.{name}": {key: str(entry.get(key)) for key in ("shape", "integers", "indices_of")}
        for part in ("inputs", "expected")
        for name, entry in document[part].items()
    }
    return {"id": document["id"], **arrays}


def _otherwise(got: Any, wanted: Any, at: str) -> Iterator[str]:
    """Yield where a JSON value is another one, as a path such as expected.output[1][4]."""
    if isinstance(got, dict) and isinstance(wanted, dict):
        for key in sorted(got.keys() | wanted):
            inner = f"{at}.{key}".lstrip(".")
            if key in got and key in wanted:
                yield from _otherwise(got[key], wanted[key], inner)
            else:
                yield f"{inner} is {'missing' if key in wanted else 'unknown'}"
    elif isinstance(got, list) and isinstance(wanted, list):
        if len(got) != len(wanted):
            yield f"{at} has the length {len(got)}, not {len(wanted)}"
        else:
            for i, (one, other) in enumerate(zip(got, wanted, strict=True)):
                yield from _otherwise(one, other, f"{at}[{i}]")
    elif type(got) is not type(wanted) or got != wanted:
        yield f"{at} is {_written(got)}, not {_written(wanted)}"


def _written(value: Any) -> str:
    return f"{value}" if isinstance(value, Decimal) else json.dumps(value, default=str)


def _differences(got: Arrays, wanted: Arrays) -> list[str]:
    """Return in which arrays, and in which of their entries, two files differ."""
    found = []
    for name in sorted(got.keys() | wanted):
        if name not in got or name not in wanted:
            found.append(f"{name} is {'missing' if name in wanted else 'unknown'}")
            continue
        one, other = got[name], wanted[name]
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            found.append(f"{name} is {_type(one)}, not {_type(other)}")
            continue
        both_nan = (one != one) & (other != other)
        places = np.argwhere((one != other) & ~both_nan)
        if len(places):
            at = tuple(places[0])
            where = f"[{', '.join(map(str, at))}]" if at else ""
            more = f"; {len(places)} entries differ" if len(places) > 1 else ""
            found.append(f"{name}{where} is {one[at]}, not {other[at]}{more}")
    return found


def _type(array: Any) -> str:
    return f"{array.dtype} of shape {array.shape}"
