"""What the conventions are about: a function has to follow one of them wherever it is asked.

The names of the conventions of a call say which question it asks; those of a new question need no
entry here, but read better with one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from selfattn_ref.worked_examples._tolerance import visible

if TYPE_CHECKING:
    from selfattn_ref.worked_examples._calls import Call

_NOBODY = frozenset({"zeros", "uniform", "unmasked", "nan"})
_QUESTIONS = {
    _NOBODY: "a query without keys",
    frozenset({"upper-left", "lower-right"}): "causal where Tq ≠ Tk",
    frozenset({"true-attends", "true-hides"}): "True in a mask",
    frozenset({"cap-before-bias", "cap-after-bias"}): "cap and bias",
    frozenset({"halves", "neighbors"}): "pairs of columns",
    frozenset({"select-score", "nan-score"}): "NaN in a hidden key",
    frozenset({"select-value", "nan-value"}): "NaN in a hidden value",
    frozenset({"minus-infinity", "plus-infinity"}): "log-sum-exp of no keys",
}


def question(call: Call) -> str:
    """Return what the conventions of a call are about, in a few words."""
    names = frozenset(call.conventions)
    asked = next((text for known, text in _QUESTIONS.items() if names <= known), None)
    if asked is None:
        return " or ".join(sorted(names))
    if names <= _NOBODY and "key" in call.arguments:
        # Libraries that fill hidden scores with a finite number cannot do so with a bias of −∞.
        query, key = call.arguments["query"], call.arguments["key"]
        seen = visible((*query.shape[:-1], key.shape[-2]), call.arguments)
        return f"{asked}, by a {'bias' if seen.any(axis=-1).all() else 'mask'}"
    return asked
