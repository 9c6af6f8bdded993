"""Common mistakes in attention: what each does, and which worked examples catch it.

Each is called like `scaled_dot_product_attention`, as ``slip(query, key, value, **keywords)``, and
is wrong in one step. `report` recognizes a function that makes the same mistake; `Call.check`,
which sees only one call, names all slips that are consistent with it.

>>> from selfattn_ref.worked_examples import load, slips
>>> slip = slips.SLIPS["causal-strict"]
>>> slip
causal-strict: a query does not see its own key, and the first sees none
>>> load("SA016").calls[1].test(slip)
Traceback (most recent call last):
...
selfattn_ref.worked_examples.WorkedExampleMismatch: SA016: ...
  consistent with the slip causal-strict: a query does not see its own key, ...
"""

from __future__ import annotations

from functools import cache

from selfattn_ref.worked_examples import _slips_masks, _slips_scores, _slips_weights
from selfattn_ref.worked_examples._calls import Call
from selfattn_ref.worked_examples._capabilities import CAPABILITIES
from selfattn_ref.worked_examples._files import cases
from selfattn_ref.worked_examples._slip import Array, Slip

__all__ = ["SLIPS", "Slip", "matrix", "wrong"]

#: Every slip, by its id.
SLIPS: dict[str, Slip] = {
    slip.id: slip for part in (_slips_scores, _slips_masks, _slips_weights) for slip in part.CATALOG
}


def matrix() -> dict[str, tuple[Call, ...]]:
    """Return, for each slip, the calls of the worked examples that catch it.

    Returns
    -------
    dict of str to tuple of Call
        The calls of `scaled_dot_product_attention` for which the slip gives a different result.
        Calls that have to fail are left out, and so are calls in which the slip itself raises an
        error.

    See Also
    --------
    selfattn_ref.worked_examples.cases : The calls of a function.

    Examples
    --------
    >>> [call.example for call in matrix()["root-of-model-width"]][:2]
    ['SA026', 'SA027']
    """
    calls = [call for _, call in cases("scaled_dot_product_attention")]
    return {
        name: tuple(call for call in calls if slip in wrong(call)) for name, slip in SLIPS.items()
    }


@cache
def wrong(call: Call) -> dict[Slip, Array]:
    """Return the slips that are wrong at a call, each with what it gives.

    None is asked about a capability.
    """
    if {*call.arguments} & {*CAPABILITIES} or call.expected is None:
        return {}
    judge, found = call.judge(), dict[Slip, Array]()
    for slip in SLIPS.values():
        try:
            output = slip(*call.args, **call.kwargs)
        except Exception:  # the call is none that the slip can take
            continue
        if not judge.accepts(output):
            found[slip] = output
    return found
