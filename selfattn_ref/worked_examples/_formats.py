"""Arrays as bytes: NumPy's .npz, and safetensors, which C++, Rust and JavaScript read, too."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from selfattn_ref.worked_examples._digest import parsed, twice
from selfattn_ref.worked_examples._example import WorkedExample

Arrays: TypeAlias = Mapping[str, NDArray[Any]]

# safetensors writes dtypes in this order, so that every array is aligned.
_KINDS = {"i": "I64", "f": "F64", "b": "BOOL"}
_DTYPES = {"I64": "<i8", "F64": "<f8", "BOOL": "?"}


def arrays_of(example: WorkedExample) -> dict[str, NDArray[Any]]:
    """Return inputs and expected values by name; an integer is an int64 on every platform."""
    arrays = {n: np.asarray(x) for n, x in {**example.inputs, **example.expected}.items()}
    return {n: x.astype(np.int64) if x.dtype.kind == "i" else x for n, x in arrays.items()}


def without_words(arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Return the arrays of numbers and booleans: safetensors has no others."""
    return {name: array for name, array in arrays.items() if array.dtype.kind in _KINDS}


def write_npz(arrays: Arrays) -> bytes:
    """Return arrays as `numpy.savez` writes them."""
    file, named = io.BytesIO(), dict[str, Any](arrays)
    np.savez(file, **named)
    return file.getvalue()


def read_npz(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays of an .npz file."""
    if content[:2] != b"PK":  # NumPy would take it for a pickle and warn of that
        raise ValueError("it is not an archive of NumPy arrays")
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        if (name := twice(arrays.files)) is not None:
            raise ValueError(f"two arrays are called {name!r}")
        return dict(arrays)


def write_safetensors(arrays: Arrays, example: str) -> bytes:
    """Return arrays as safetensors: the length of a header, a header in JSON, the numbers."""
    header: dict[str, Any] = {"__metadata__": {"example": example}}
    data = b""
    order = [*_KINDS]
    for name in sorted(arrays, key=lambda name: (order.index(arrays[name].dtype.kind), name)):
        array = arrays[name]
        kind = _KINDS[array.dtype.kind]
        numbers = array.astype(_DTYPES[kind]).tobytes()
        place = [len(data), len(data) + len(numbers)]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": place}
        data += numbers
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def cited_in_safetensors(content: bytes) -> str | None:
    """Return the id and the digest of the example that a safetensors file says it holds."""
    header = parsed(content[8 : 8 + int.from_bytes(content[:8], "little")])
    cited: str | None = header.get("__metadata__", {}).get("example")
    return cited


def read_safetensors(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays of a safetensors file with the dtypes that `write_safetensors` uses."""
    start = 8 + int.from_bytes(content[:8], "little")
    header = parsed(content[8:start])
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] not in _DTYPES:
            raise ValueError(f"{name} is {entry['dtype']}, not one of {', '.join(_DTYPES)}")
        first, last = entry["data_offsets"]
        numbers = content[start + first : start + last]
        arrays[name] = np.frombuffer(numbers, _DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return arrays
