"""Worked examples: small inputs for which every result is known.

Each example has a permanent id, its inputs, the expected values, and a note on where they come
from. The expected values are derived without this package, in exact or 50-digit arithmetic, so they
can check this package, your own code, or any other implementation.

>>> from selfattn_ref import worked_examples
>>> example = worked_examples.load("SA005")
>>> example
SA005: Softmax by hand
>>> example.inputs["scores"]
array([0.14, 0.32, 0.5 , 0.16, 0.17])
>>> import numpy as np
>>> exponentials = np.exp(example.inputs["scores"])
>>> agreement = example.check(
...     exponentials=exponentials,
...     total=exponentials.sum(),
...     weights=exponentials / exponentials.sum(),
... )
>>> agreement.names
('exponentials', 'total', 'weights')

Or test a function of your own with every example that calls one like it:

>>> from selfattn_ref import softmax
>>> worked_examples.report(softmax, place="softmax")
numbers: ... right
...

In pytest, `calls` gives each call an id; `adapters` wrap functions of other libraries. From the
shell, ``python -m selfattn_ref.worked_examples check all mymodule:my_attention``.
"""

from selfattn_ref.worked_examples import adapters, slips
from selfattn_ref.worked_examples._calls import Call
from selfattn_ref.worked_examples._comparison import Agreement, Tolerance, WorkedExampleMismatch
from selfattn_ref.worked_examples._example import (
    Axis,
    Derivation,
    Provenance,
    Withdrawn,
    WorkedExample,
)
from selfattn_ref.worked_examples._files import cases, ids, load
from selfattn_ref.worked_examples._report import Outcome, Report, report
from selfattn_ref.worked_examples._selection import calls

__all__ = [
    "Agreement",
    "Axis",
    "Call",
    "Derivation",
    "Outcome",
    "Provenance",
    "Report",
    "Tolerance",
    "Withdrawn",
    "WorkedExample",
    "WorkedExampleMismatch",
    "adapters",
    "calls",
    "cases",
    "ids",
    "load",
    "report",
    "slips",
]

# The name under which it is imported is the one that a traceback shows.
WorkedExampleMismatch.__module__ = __name__
