"""Mutations of the streaming form that its tests must notice: (name, file, old, new)."""

_FILE = "selfattn_ref/streaming.py"

MUTANTS = (
    (
        "the shift is never raised after the first block",
        _FILE,
        "if not complete or not scores.max() <= _SLACK:",
        "if not complete:",
    ),
    (
        "a NaN hides that another row must be shifted",
        _FILE,
        "not scores.max() <= _SLACK",
        "scores.max() > _SLACK",
    ),
    (
        "a query that has seen no key never sinks",
        _FILE,
        "moves = (highest > _SLACK) | sinks",
        "moves = highest > _SLACK",
    ),
    (
        "the first block counts as seen by all",
        _FILE,
        "complete = complete or bool(total.all())",
        "complete = True",
    ),
    (
        "a row of −∞ sinks to −∞",
        _FILE,
        "(highest < -_SLACK) & (highest > -np.inf)",
        "(highest < -_SLACK)",
    ),
    (
        "the total is not rescaled",
        _FILE,
        "                total *= factor\n",
        "",
    ),
    (
        "the weighted sum is not rescaled",
        _FILE,
        "                weighted *= factor\n",
        "",
    ),
    (
        "a query that sinks is rescaled by e to a large number",
        _FILE,
        "np.exp(-np.maximum(rise, 0))",
        "np.exp(-rise)",
    ),
    (
        "a block after a shift is not shifted",
        _FILE,
        "        if shifted:\n            scores -= shift\n",
        "",
    ),
    (
        "an empty state pulls the shift of a merge",
        _FILE,
        "mine = np.where(self.total == 0, self.shift.dtype.type(-np.inf), self.shift)",
        "mine = self.shift",
    ),
    (
        "merge forgets to rescale the other side",
        _FILE,
        "self.weighted * mine + other.weighted * yours",
        "self.weighted * mine + other.weighted",
    ),
    (
        "two empty states merge to NaN",
        _FILE,
        "        shift[shift == -np.inf] = 0\n",
        "",
    ),
    (
        "a causal block is cut one key too early",
        _FILE,
        "rows.stop - 1 + self.first_end",
        "rows.stop - 2 + self.first_end",
    ),
    (
        "the diagonal is hidden",
        _FILE,
        "np.arange(columns.start, columns.stop) < end",
        "np.arange(columns.start, columns.stop) < end - 1",
    ),
    (
        "a causal block that ends one past the first query's keys is not masked",
        _FILE,
        "columns.stop > rows.start + self.first_end",
        "columns.stop > rows.start + self.first_end + 1",
    ),
    (
        "causal drops the mask",
        _FILE,
        "earlier if visible is None else visible & earlier",
        "earlier",
    ),
    (
        "hidden blocks are computed all the same",
        _FILE,
        "                if not visible.any():\n                    continue\n",
        "",
    ),
    (
        "0 times NaN reaches the output",
        _FILE,
        "weights @ rows if visible is None else _product(weights, rows, visible)",
        "weights @ rows",
    ),
    (
        "the bias is scaled away",
        _FILE,
        "scores += _checks.cast(self.bias",
        "scores -= _checks.cast(self.bias",
    ),
    (
        "16-bit inputs are computed in 16 bits",
        _FILE,
        "np.multiply(_checks.cast(self.query[here], self.compute), self.scale)",
        "np.multiply(self.query[here], self.scale)",
    ),
    (
        "the gradient of the query is not scaled",
        _FILE,
        "        d_query[here] *= plan.scale\n",
        "",
    ),
    (
        "the mean is not subtracted from the gradient of the scores",
        _FILE,
        "            d_scores -= mean\n",
        "",
    ),
    (
        "a hidden weight takes part in the gradient of the values",
        _FILE,
        "                np.copyto(weights, 0, where=~visible)\n",
        "",
    ),
    (
        "a hidden score has a gradient",
        _FILE,
        "                np.copyto(d_scores, 0, where=~visible)\n",
        "",
    ),
    (
        "an empty row divides its gradient by zero",
        _FILE,
        "        np.copyto(d_seen, 0, where=seen.total == 0)  # (..., queries, d_v)\n",
        "",
    ),
    (
        "a saved state is ignored",
        _FILE,
        "_fold(plan, here) if state is None else _part(state, here)",
        "_fold(plan, here)",
    ),
    (
        "the leading axes that are batched may outgrow a block",
        _FILE,
        "while outer and size * outer[-1] <= _BLOCK_SCORES:",
        "while outer:",
    ),
)
