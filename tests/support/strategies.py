"""What hypothesis draws: scores, masks, and whole attention problems of every small shape."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

SIZES = st.integers(1, 7)

# Width 32 keeps every number exact in float32 as well; 1e3 is far from overflow.
NUMBERS = st.floats(-1e3, 1e3, width=32)


def matrices(rows=SIZES, columns=SIZES, numbers=NUMBERS):
    """Draw a float64 matrix."""
    return st.tuples(rows, columns).flatmap(
        lambda shape: hnp.arrays(np.float64, shape, elements=numbers)
    )


@st.composite
def scores_and_masks(draw):
    """Draw scores (Tq, Tk) and a mask of that shape, fully masked rows included."""
    scores = draw(matrices())
    return scores, draw(hnp.arrays(np.bool_, scores.shape))


@dataclass(frozen=True)
class Problem:
    """The three arrays of an attention problem without leading axes, and its mask."""

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    mask: np.ndarray

    @property
    def arrays(self):
        """Return what is passed by position."""
        return self.query, self.key, self.value


@st.composite
def problems(draw, *, square=False):
    """Draw queries, keys, values of moderate size, and a mask."""
    queries, width, value_width = draw(SIZES), draw(SIZES), draw(SIZES)
    keys = queries if square else draw(SIZES)
    numbers = st.floats(-30, 30, width=32)

    def array(*shape):
        return draw(hnp.arrays(np.float64, shape, elements=numbers))

    return Problem(
        query=array(queries, width),
        key=array(keys, width),
        value=array(keys, value_width),
        mask=draw(hnp.arrays(np.bool_, (queries, keys))),
    )
