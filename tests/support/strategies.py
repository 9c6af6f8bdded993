"""What hypothesis draws: scores, masks, and whole attention problems of every small shape."""

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


@st.composite
def problems(draw):
    """Draw queries, keys and values of moderate size, as one tuple, and a mask."""
    queries, keys, width, value_width = (draw(SIZES) for _ in range(4))
    numbers = st.floats(-30, 30, width=32)
    shapes = (queries, width), (keys, width), (keys, value_width)
    arrays = tuple(draw(hnp.arrays(np.float64, shape, elements=numbers)) for shape in shapes)
    return arrays, draw(hnp.arrays(np.bool_, (queries, keys)))
