"""Some parts of the book's Sphinx extension, for small books."""

import sys
from types import ModuleType

from press.extension import register


def extension(*parts):
    """Return the name of an extension that registers these parts alone."""
    made = ModuleType("_".join(["small", *(part.__name__.rpartition(".")[2] for part in parts)]))
    vars(made)["setup"] = lambda app: register(app, *parts)
    sys.modules[made.__name__] = made
    return made.__name__
