"""Answers with 50 digits, in plain loops, for heads, positions, cache, gradients and language.

Nothing here imports the package. A matrix is a list of rows of mpmath numbers; a mask is a
function of (i, j), so that no broadcasting is needed to say what is allowed.
"""

import itertools

import mpmath
import numpy as np
from hypothesis import settings

mp50 = mpmath.mp.clone()
mp50.dps = 50

modest = settings(derandomize=True, database=None, deadline=None, max_examples=20)


def everything(i, j):
    return True


def causal(i, j):
    return j <= i


def exact(array):
    """The numbers of an array, exactly, as nested lists."""
    array = np.asarray(array)
    if array.ndim == 0:
        return mp50.mpf(float(array))
    return [exact(row) for row in array]


def columns(a):
    return len(a[0]) if a else 0


def product(a, b):
    return [
        [mp50.fsum(row[k] * b[k][j] for k in range(len(b))) for j in range(columns(b))] for row in a
    ]


def add(a, b):
    return [[x + y for x, y in zip(r, s, strict=True)] for r, s in zip(a, b, strict=True)]


def transpose(a):
    return [list(column) for column in zip(*a, strict=True)]


def weights(query, key, *, allowed=everything, bias=None, scale=None, soft_cap=None):
    """The share of each key, each exponential divided by the sum of all that are allowed."""
    table = []
    for i, q in enumerate(query):
        factor = 1 / mp50.sqrt(len(q)) if scale is None else mp50.mpf(scale)
        powers = []
        for j, k in enumerate(key):
            score = factor * mp50.fsum(a * b for a, b in zip(q, k, strict=True))
            score = score if soft_cap is None else soft_cap * mp50.tanh(score / soft_cap)
            score += 0 if bias is None else bias[i][j]
            powers.append(mp50.exp(score) if allowed(i, j) else mp50.mpf(0))
        total = mp50.fsum(powers)
        table.append([p / total if total else mp50.mpf(0) for p in powers])
    return table


def attention(query, key, value, **options):
    return product(weights(query, key, **options), value)


def multi_head(
    x_query, x_key_value, w_query, w_key, w_value, w_output, heads, shared, **per_head_options
):
    """The sum over the heads of what each adds; an option is a function of the head."""
    total = None
    for h in range(heads):
        g = h // (heads // shared)
        query = product(x_query, block(w_query, h, heads))
        key = product(x_key_value, block(w_key, g, shared))
        value = product(x_key_value, block(w_value, g, shared))
        options = {name: option(h) for name, option in per_head_options.items()}
        rows = transpose(block(transpose(w_output), h, heads))
        part = product(attention(query, key, value, **options), rows)
        total = part if total is None else add(total, part)
    return total


def block(w, h, heads):
    """The columns of head h out of `heads`."""
    width = columns(w) // heads
    return [row[h * width : (h + 1) * width] for row in w]


def softmax_jacobian_product(p, d):
    """The vector times the matrix diag(p) − p pᵀ, each entry written out."""
    n = len(p)
    jacobian = [[(p[i] if i == j else 0) - p[i] * p[j] for j in range(n)] for i in range(n)]
    return [mp50.fsum(d[i] * jacobian[i][j] for i in range(n)) for j in range(n)]


def attention_gradients(query, key, value, d_output, *, scale=None, **options):
    """Gradients by the chain rule, one score at a time."""
    factor = 1 / mp50.sqrt(columns(query)) if scale is None else mp50.mpf(scale)
    share = weights(query, key, scale=scale, **options)
    d_query = [[mp50.mpf(0)] * columns(query) for _ in query]
    d_key = [[mp50.mpf(0)] * columns(key) for _ in key]
    d_value = [[mp50.mpf(0)] * columns(value) for _ in value]
    for i, p in enumerate(share):
        d_p = [mp50.fsum(a * b for a, b in zip(d_output[i], v, strict=True)) for v in value]
        d_s = softmax_jacobian_product(p, d_p)
        for j in range(len(key)):
            for c in range(columns(query)):
                d_query[i][c] += factor * d_s[j] * key[j][c]
                d_key[j][c] += factor * d_s[j] * query[i][c]
            for c in range(columns(value)):
                d_value[j][c] += p[j] * d_output[i][c]
    return d_query, d_key, d_value


def central_differences(function, arguments, d_output):
    """Gradients of the sum of d_output · function, from nothing but its values.

    A step of 10⁻¹⁵ in 50 digits leaves an error of about 10⁻³⁰.
    """
    step = mp50.mpf(10) ** -15

    def loss():
        rows = zip(function(*arguments), d_output, strict=True)
        return mp50.fsum(a * b for row, d in rows for a, b in zip(row, d, strict=True))

    gradients = []
    for argument in arguments:
        gradient = [[None] * len(row) for row in argument]
        for i, row in enumerate(argument):
            for j, middle in enumerate(row):
                row[j] = middle + step
                above = loss()
                row[j] = middle - step
                below = loss()
                row[j] = middle
                gradient[i][j] = (above - below) / (2 * step)
        gradients.append(gradient)
    return gradients


def largest(a):
    """The largest number in size of nested lists."""
    if isinstance(a, list):
        return max((largest(row) for row in a), default=mp50.mpf(0))
    return abs(a)


def error(actual, expected):
    """The largest difference between an array and nested lists of its shape."""
    actual = np.asarray(actual)
    if actual.ndim == 0:
        return abs(mp50.mpf(float(actual)) - expected)
    assert len(actual) == len(expected)
    return max((error(a, e) for a, e in zip(actual, expected, strict=True)), default=mp50.mpf(0))


def in_units(actual, expected, *, score=0.0, scale=None, eps=None):
    """The error in units of ε (1 + the largest score) · the scale: the promise is at most 4."""
    eps = np.finfo(np.float64).eps if eps is None else eps
    scale = largest(expected) if scale is None else scale
    wrong = error(actual, expected)
    return float(wrong / (eps * (1 + score) * scale)) if wrong else 0.0


def largest_score(query, key, scale=None):
    if not query or not key:
        return 0.0
    factor = 1 / mp50.sqrt(columns(query)) if scale is None else abs(mp50.mpf(scale))
    return float(factor * largest(product(query, transpose(key))))


def numbers(seed, *shape, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def hostile(array):
    """The same numbers in memory that is read-only and not contiguous."""
    array = np.asarray(array)
    if array.ndim == 0:
        spread = array.copy()
    else:
        spread = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 1), array.dtype)[..., 1::2]
        spread[...] = array
    spread.flags.writeable = False
    return spread


def politely(function, *arrays, **options):
    """Call with every floating-point error raised, and check what holds of every function.

    Inputs that are read-only and not contiguous are accepted and not modified, no result shares
    memory with them, a second call gives the same bits, and so do contiguous inputs.
    """
    given = [hostile(array) for array in arrays]
    before = [array.tobytes() for array in given]
    with np.errstate(all="raise"):
        first = function(*given, **options)
        second = function(*given, **options)
    plain = function(*(np.array(array) for array in arrays), **options)
    assert before == [array.tobytes() for array in given]
    for a, b, c in zip(_each(first), _each(second), _each(plain), strict=True):
        assert a.dtype == b.dtype == c.dtype
        assert a.tobytes() == b.tobytes()
        assert a.tobytes() == c.tobytes()
        assert not any(np.shares_memory(a, array) for array in given)
        assert a.flags.writeable
    return first


def _each(result):
    results = result if isinstance(result, tuple) else (result,)
    return [np.asarray(part) for part in results]


def compositions(n):
    """Every way to cut n positions into chunks, in order."""
    for cuts in itertools.product([False, True], repeat=max(n - 1, 0)):
        sizes, size = [], 1
        for cut in cuts:
            if cut:
                sizes.append(size)
                size = 1
            else:
                size += 1
        yield [*sizes, size] if n else []
