"""The first oracle: plain loops over elements, `math.exp`, `math.fsum`, any leading axes.

Arrays serve as boxes of numbers only: nothing here broadcasts, multiplies matrices or reduces an
axis with NumPy, and nothing imports the package under test.
"""

import itertools
import math

import numpy as np


def common_shape(*shapes):
    """Return the shape that sizes of 1 and missing axes stretch to."""
    longest = max(len(shape) for shape in shapes)
    padded = [(1,) * (longest - len(shape)) + tuple(shape) for shape in shapes]
    common = []
    for sizes in zip(*padded, strict=True):
        stretched = {size for size in sizes if size != 1}
        assert len(stretched) <= 1, f"{shapes} do not fit together"
        common.append(stretched.pop() if stretched else 1)
    return tuple(common)


def at(array, index):
    """Return the element that `index` means once the array is stretched to a larger shape."""
    own = index[len(index) - array.ndim :]
    return array[
        tuple(0 if size == 1 else i for size, i in zip(array.shape, own, strict=True))
    ].item()


def indices(shape):
    """Yield every index of an array of this shape."""
    return itertools.product(*(range(size) for size in shape))


def _floats(array):
    """Return an array of float64, exact for every type up to it."""
    return np.asarray(array).astype(np.float64)


def total(numbers):
    """Add numbers without rounding in between; infinities and NaN as IEEE 754 says."""
    numbers = list(numbers)
    if all(math.isfinite(number) for number in numbers):
        return math.fsum(numbers)
    return sum(numbers)  # `fsum` raises for inf - inf


def softmax_of_list(scores):
    """Return the weights of one row of scores."""
    if all(score == -math.inf for score in scores):
        return [0.0 for _ in scores]
    if any(math.isnan(score) or score == math.inf for score in scores):
        return [math.nan for _ in scores]
    highest = max(scores)
    powers = [math.exp(score - highest) for score in scores]
    whole = math.fsum(powers)
    return [power / whole for power in powers]


def pairwise(of_rows, x, y):
    """Apply a function of two lists to every row of `x` with every row of `y`."""
    x, y = _floats(x), _floats(y)
    leading = common_shape(x.shape[:-2], y.shape[:-2])
    result = np.empty((*leading, x.shape[-2], y.shape[-2]))
    for *lead, i, j in indices(result.shape):
        row = [at(x, (*lead, i, c)) for c in range(x.shape[-1])]
        other = [at(y, (*lead, j, c)) for c in range(y.shape[-1])]
        result[(*lead, i, j)] = of_rows(row, other)
    return result


def dot(x, y):
    """Return the dot product of two lists."""
    return total(a * b for a, b in zip(x, y, strict=True))


def scaled_scores(query, key, scale=None):
    """Return the scaled dot product of every query with every key."""
    factor = 1 / math.sqrt(np.shape(query)[-1]) if scale is None else scale
    return pairwise(lambda q, k: dot(q, k) * factor, query, key)


def attention_weights(scores, mask=None):
    """Return the weights of each row, from the allowed scores alone."""
    scores = _floats(scores)
    allowed = np.array(True) if mask is None else np.asarray(mask)
    result = np.zeros(scores.shape)
    for row in indices(scores.shape[:-1]):
        seen = [j for j in range(scores.shape[-1]) if at(allowed, (*row, j))]
        weights = softmax_of_list([scores[(*row, j)].item() for j in seen])
        for j, weight in zip(seen, weights, strict=True):
            result[(*row, j)] = weight
        if any(math.isnan(weight) for weight in weights):
            for j in range(scores.shape[-1]):  # the whole row, so that nobody overlooks it
                result[(*row, j)] = math.nan
    return result


def attention(query, key, value, mask=None, bias=None, scale=None, soft_cap=None):
    """Return the weighted sums of the values; a value that is not allowed is never read."""
    scores, value = scaled_scores(query, key, scale), _floats(value)
    bias = _floats(0 if bias is None else bias)
    for index in indices(scores.shape):
        score = scores[index].item()
        capped = score if soft_cap is None else soft_cap * math.tanh(score / soft_cap)
        scores[index] = capped + at(bias, index)
    weights = attention_weights(scores, mask)
    allowed = np.array(True) if mask is None else np.asarray(mask)
    leading = common_shape(scores.shape[:-2], value.shape[:-2])
    result = np.empty((*leading, scores.shape[-2], value.shape[-1]))
    for *lead, i, c in indices(result.shape):
        seats = lead[len(lead) - (scores.ndim - 2) :]  # `value` may have more leading axes
        result[(*lead, i, c)] = total(
            at(weights, (*seats, i, j)) * at(value, (*lead, j, c))
            for j in range(value.shape[-2])
            if at(allowed, (*seats, i, j))
        )
    return result


def visible(i, j, left, right, offset):
    """Say whether query i may attend to key j in a window."""
    position = i + offset
    after_left = left is None or position - left <= j
    before_right = right is None or j <= position + right
    return after_left and before_right
