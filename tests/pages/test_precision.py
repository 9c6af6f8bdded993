"""What the page on precision says a call sees is what it sees."""

import numpy as np
import pytest

from press.example import precision
from selfattn_ref.worked_examples import WorkedExampleMismatch, cases
from selfattn_ref.worked_examples.slips import SLIPS


@pytest.mark.parametrize("row", precision.sharpness(), ids=lambda row: repr(row.call))
class TestSharpness:
    def test_a_larger_error_is_seen_and_a_smaller_one_is_not(self, row):
        expected, size = row.call.expected, precision.largest(row.call)
        limits = np.broadcast_to(row.call.allowed("float64")["result"], expected.shape)
        finite = np.where(np.isfinite(expected), limits, np.inf)
        sharpest = np.unravel_index(finite.argmin(), limits.shape)
        for times, differs in ((1.1, True), (0.9, False)):
            result = expected.astype(np.float64)
            result[sharpest] += times * row.seen["float64"] * size
            if differs:
                with pytest.raises(WorkedExampleMismatch):
                    row.call.check(result)
            else:
                row.call.check(result)

    def test_the_smallest_slip_is_as_wrong_as_it_says(self, row):
        size = precision.largest(row.call)
        for name, off in row.slips.items():
            result = SLIPS[name](*row.call.args, **row.call.kwargs)
            np.testing.assert_allclose(result, row.call.expected, rtol=0, atol=1.001 * off * size)
            with pytest.raises(WorkedExampleMismatch):
                row.call.check(result)


def test_there_is_a_row_for_each_call_and_a_count_for_each_size():
    rows = precision.sharpness()
    ours = [call for _, call in cases() if call.expected is not None]
    assert len(rows) == len(ours)
    *_, last = precision.by_size()
    assert last.count(f"of {len(rows)}") == len(precision.DTYPES)
    assert len(list(precision.by_call())) == len(rows) + 2
