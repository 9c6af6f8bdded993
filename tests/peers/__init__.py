"""The library beside PyTorch, JAX, Keras and ONNX: ``make test-peers``.

The quick suite does not collect this directory (`tests/conftest.py` leaves it out), so that
nothing is skipped there. ``make test-peers`` runs it in an environment of its own and sets
``PEERS=required``: a peer that is missing is then an error. Run by hand in an environment that
lacks a peer, the tests that need it are skipped, and say so.
"""

import importlib
import os
import sys
import warnings
from pathlib import Path

import pytest

# Keras and JAX take their settings from here when imported; Keras writes a file at its home.
os.environ["KERAS_BACKEND"] = "numpy"
os.environ.setdefault("KERAS_HOME", str(Path(sys.prefix, "keras")))
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["JAX_ENABLE_X64"] = "1"  # without it, float64 is not to be had


def peer(name):
    """Return a module of another library, or skip what needs it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it warns of while it loads is not ours to mend
        if os.environ.get("PEERS") != "required":
            reason = f"{name} is not installed here: `make test-peers` runs this test"
            pytest.importorskip(name, reason=reason, exc_type=ImportError)
        return importlib.import_module(name)
