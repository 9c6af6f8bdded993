"""The same mathematics by other means, to compare with.

First in plain Python: loops over elements, `math.exp`, `math.fsum`. Then with 50 digits
(mpmath). Arrays serve as boxes of numbers only: nothing here broadcasts, multiplies matrices
or reduces an axis with NumPy, and nothing imports the package under test.
"""

import itertools
import math

import mpmath
import numpy as np

# --- leading axes, by hand --------------------------------------------------------------------


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


def same_bits(result, expected):
    """Say whether two arrays agree in dtype, shape and every bit."""
    if (result.dtype, result.shape) != (expected.dtype, expected.shape):
        return False
    if result.dtype == np.longdouble:  # some of its bytes are padding, with anything in them
        equal = np.array_equal(result, expected, equal_nan=True)
        return equal and np.array_equal(np.signbit(result), np.signbit(expected))
    return result.tobytes() == expected.tobytes()


# --- plain Python -----------------------------------------------------------------------------


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


def log_softmax_of_list(scores):
    """Return the logarithms of the weights of one row."""
    if all(score == -math.inf for score in scores):
        return [-math.inf for _ in scores]
    if any(math.isnan(score) or score == math.inf for score in scores):
        return [math.nan for _ in scores]
    highest = max(scores)
    rest = math.log(math.fsum(math.exp(score - highest) for score in scores))
    return [score - highest - rest for score in scores]


def along_axis(of_list, array, axis):
    """Apply a function of a list to every line of an array along `axis`."""
    array = _floats(array)
    axis %= array.ndim
    result = np.empty(array.shape)
    for index in indices(array.shape[:axis] + array.shape[axis + 1 :]):
        line = [(*index[:axis], i, *index[axis:]) for i in range(array.shape[axis])]
        for place, number in zip(line, of_list([array[p].item() for p in line]), strict=True):
            result[place] = number
    return result


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


def cosine(x, y):
    """Return the cosine of the angle between two lists (of moderate size)."""
    return dot(x, y) / (math.sqrt(dot(x, x)) * math.sqrt(dot(y, y)))


def distance(x, y):
    """Return the Euclidean distance of two lists (of moderate size)."""
    return math.sqrt(math.fsum((a - b) ** 2 for a, b in zip(x, y, strict=True)))


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


def attention(query, key, value, mask=None, bias=None, scale=None):
    """Return the weighted sums of the values; a value that is not allowed is never read."""
    scores, value = scaled_scores(query, key, scale), _floats(value)
    if bias is not None:
        bias = _floats(bias)
        for index in indices(scores.shape):
            scores[index] = scores[index].item() + at(bias, index)
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


def matmul(x, w):
    """Return the rows of `x` times the matrix `w`."""
    w = _floats(w)
    columns = np.array([[w[i, j].item() for i in range(w.shape[0])] for j in range(w.shape[1])])
    return pairwise(dot, x, columns)


def self_attention(x, w_query, w_key, w_value, mask=None, scale=None):
    """Return attention among the rows of `x`."""
    projected = (matmul(x, w) for w in (w_query, w_key, w_value))
    return attention(*projected, mask=mask, scale=scale)


def visible(i, j, left, right, offset):
    """Say whether query i may attend to key j in a window."""
    position = i + offset
    after_left = left is None or position - left <= j
    before_right = right is None or j <= position + right
    return after_left and before_right


# --- 50 digits --------------------------------------------------------------------------------
# Functions of lists or of matrices without leading axes. The inputs are taken as they are
# rounded: what is measured is the error of the computation alone.

DIGITS = 50


def _exact_rows(matrix):
    """Return the rows of a matrix as lists of exact numbers (types up to float64)."""
    return [[mpmath.mpf(float(number)) for number in row] for row in np.asarray(matrix)]


def _exact_softmax(scores):
    highest = max(scores)
    powers = [mpmath.exp(score - highest) for score in scores]
    whole = mpmath.fsum(powers)
    return [power / whole for power in powers]


@mpmath.workdps(DIGITS)
def exact_softmax(scores):
    """Return the weights of a list."""
    return _exact_softmax([mpmath.mpf(float(score)) for score in scores])


@mpmath.workdps(DIGITS)
def exact_log_softmax(scores):
    """Return the logarithms of the weights of a list."""
    return [mpmath.log(weight) for weight in exact_softmax(scores)]


@mpmath.workdps(DIGITS)
def exact_cosine(x, y):
    """Return the cosine of the angle between two lists."""
    (x, y) = _exact_rows([x, y])
    return mpmath.fdot(x, y) / mpmath.sqrt(mpmath.fdot(x, x) * mpmath.fdot(y, y))


@mpmath.workdps(DIGITS)
def exact_distance(x, y):
    """Return the distance of two lists."""
    (x, y) = _exact_rows([x, y])
    return mpmath.sqrt(mpmath.fsum((a - b) ** 2 for a, b in zip(x, y, strict=True)))


@mpmath.workdps(DIGITS)
def exact_attention(query, key, value, *, mask=None, bias=None, scale=None):
    """Return the output, the largest |score|, and the largest sum of |products| of a score."""
    query, key, value = (_exact_rows(matrix) for matrix in (query, key, value))
    factor = 1 / mpmath.sqrt(len(query[0])) if scale is None else mpmath.mpf(scale)
    added = _exact_rows(bias) if bias is not None else [[0] * len(key)] * len(query)
    output, largest, gross = [], mpmath.mpf(0), mpmath.mpf(0)
    for i, q in enumerate(query):
        seen = [j for j in range(len(key)) if mask is None or mask[i][j]]
        scores = [mpmath.fdot(q, key[j]) * factor + added[i][j] for j in seen]
        for j, score in zip(seen, scores, strict=True):
            products = [abs(a * b * factor) for a, b in zip(q, key[j], strict=True)]
            largest, gross = max(largest, abs(score)), max(gross, mpmath.fsum(products))
        weights = _exact_softmax(scores) if seen else []
        columns = ([value[j][c] for j in seen] for c in range(len(value[0])))
        output.append([mpmath.fdot(weights, column) for column in columns])
    return output, largest, gross


@mpmath.workdps(DIGITS)
def largest_error(computed, exact):
    """Return the largest absolute difference of two lists of rows."""
    return max(
        abs(mpmath.mpf(float(number)) - reference)
        for row, references in zip(np.asarray(computed), exact, strict=True)
        for number, reference in zip(row, references, strict=True)
    )


@mpmath.workdps(DIGITS)
def attention_error(output, query, key, value, *, products_cancel=False, **options):
    """Return the error of `output` in units of ε (1 + max |score|) max |value|.

    Where the products of a dot product cancel, no algorithm that rounds them can do better than
    their sum without signs: then that takes the place of the score.
    """
    exact, largest, gross = exact_attention(query, key, value, **options)
    reach = 1 + (max(largest, gross) if products_cancel else largest)
    size = max(abs(number) for row in _exact_rows(value) for number in row)
    limits = np.finfo(output.dtype)
    error = largest_error(output, exact)
    # Denormal values have a fixed step, not a relative one: rounding a sum may cost one each.
    error = max(0, error - len(value) * mpmath.mpf(float(limits.smallest_subnormal)))
    return float(error / (mpmath.mpf(float(limits.eps)) * reach * size))
