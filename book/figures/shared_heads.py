"""Which key/value head each query head reads, if several share one."""

from collections.abc import Mapping, Sequence

import numpy as np

from book.figures.canvas import Canvas, text_width
from book.figures.charts import PHONE, Drawing

ASK, ANSWER = "query heads", "key/value heads"
TOP, LOW = 62.0, 122.0  # how far down the two rows of heads are


def shared_heads(reads: Mapping[str, Sequence[int]], *, alt: str) -> Drawing:
    """Draw a panel for each way to share: the query heads above the key/value heads they read.

    `reads` has, for each way, the number of the key/value head of each query head.
    """

    def draw(canvas: Canvas) -> None:
        narrow = canvas.width == PHONE
        left = 0.0 if narrow else text_width(ANSWER) + 24
        pitch = (canvas.width - left) / len(reads)
        for y, name in ((TOP, ASK), (LOW, ANSWER)):
            canvas.text(0, y - 22 if narrow else y, name)
        for k, (name, which) in enumerate(reads.items()):
            middle, step = left + (k + 0.5) * pitch, min(34.0, pitch / (len(which) + 0.5))
            queries = middle + step * (np.arange(len(which)) - (len(which) - 1) / 2)
            shared = [float(queries[np.equal(which, head)].mean()) for head in np.unique(which)]
            canvas.text(middle, 14, name, anchor="middle", bold=True)
            for x, head in zip(map(float, queries), which, strict=True):
                canvas.path([(x, TOP + 9), (shared[head], LOW - 9)], "ink thin")
                canvas.dot((x, TOP), "query", 6)
            for x in shared:
                canvas.dot((x - 6, LOW), "key", 6)
                canvas.dot((x + 6, LOW), "value", 6)
        canvas.height = LOW + 16

    return Drawing(draw, alt)
