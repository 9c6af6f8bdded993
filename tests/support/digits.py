"""The second oracle: answers with 50 digits, one query and one key at a time.

A matrix is a list of rows of mpmath numbers, made by `exact` from the numbers of an array as they
are rounded: what is measured is the error of the computation alone. Masks are arrays (Tq, Tk).
Nothing here imports the package under test.
"""

import ml_dtypes
import mpmath
import numpy as np

mp50 = mpmath.mp.clone()
mp50.dps = 50


def exact(array):
    """Return the numbers of an array, exactly, as nested lists."""
    if isinstance(array, list):
        return array
    array = np.asarray(array)
    if array.ndim:
        return [exact(row) for row in array]
    if array.dtype != np.longdouble:
        return mp50.mpf(float(array))
    mantissa, exponent = np.frexp(array)  # within the range of a double, the sum of two of them
    head = float(mantissa)
    rest = float(mantissa - np.longdouble(head)) if np.isfinite(array) else 0.0
    return mp50.ldexp(mp50.mpf(head) + mp50.mpf(rest), int(exponent))


# --- matrices ---------------------------------------------------------------------------------


def width(a):
    """Return the number of columns."""
    return len(a[0]) if a else 0


def dot(x, y):
    """Return the dot product of two rows."""
    return mp50.fdot(x, y)


def transpose(a):
    """Return the columns as rows."""
    return [list(column) for column in zip(*a, strict=True)]


def product(a, b):
    """Return the product of two matrices."""
    a, b = exact(a), exact(b)
    columns = [[row[j] for row in b] for j in range(width(b))]
    return [[dot(row, column) for column in columns] for row in a]


def add(a, b):
    """Return the sum of two matrices."""
    return [[x + y for x, y in zip(r, s, strict=True)] for r, s in zip(a, b, strict=True)]


def largest(a):
    """Return the largest number in size of nested lists."""
    if isinstance(a, list):
        return max((largest(row) for row in a), default=mp50.mpf(0))
    return abs(a)


def error(result, expected):
    """Return the largest difference between an array and nested lists of its shape."""
    if not isinstance(expected, list):
        return abs(exact(result) - expected)
    assert len(result) == len(expected)
    pairs = zip(result, expected, strict=True)
    return max((error(a, e) for a, e in pairs), default=mp50.mpf(0))


# --- attention --------------------------------------------------------------------------------


def softmax(scores):
    """Return the weights of a row."""
    powers = [mp50.exp(score) for score in exact(scores)]
    whole = mp50.fsum(powers)
    return [power / whole if whole else whole for power in powers]


def weights(query, key, mask=None, bias=None, scale=None, soft_cap=None):
    """Return the share of each key, each exponential divided by the sum of all that are allowed."""
    query, key = exact(query), exact(key)
    allowed = np.broadcast_to(True if mask is None else mask, (len(query), len(key)))
    if not isinstance(bias, list):
        bias = exact(np.broadcast_to(0.0 if bias is None else bias, allowed.shape))
    factor = factor_of(query, scale)
    table = []
    for i, q in enumerate(query):
        seen = np.flatnonzero(allowed[i])
        row = [mp50.mpf(0)] * len(key)
        scores = []
        for j in seen:
            score = factor * dot(q, key[j])
            score = score if soft_cap is None else soft_cap * mp50.tanh(score / soft_cap)
            scores.append(score + bias[i][j])
        for j, share in zip(seen, softmax(scores), strict=True):
            row[j] = share
        table.append(row)
    return table


def factor_of(query, scale):
    """Return the scale, by default one over the root of the width."""
    return 1 / mp50.sqrt(width(query)) if scale is None else mp50.mpf(scale)


def attention(query, key, value, **options):
    """Return the values, mixed by the weights."""
    return product(weights(query, key, **options), value)


def attention_error(output, query, key, value, *, products_cancel=False, **options):
    """Return the error of `output` in units of ε (1 + max |score|) max |value|: at most 4.

    Where the products of a dot product cancel, no algorithm that rounds them can do better than
    their sum without signs: then that takes the place of the score.
    """
    query, key, value = exact(query), exact(key), exact(value)
    factor = abs(factor_of(query, options.get("scale")))
    reach = mp50.mpf(0)
    for q in query:
        for k in key:
            score = dot(q, k)
            if products_cancel:
                score = mp50.fsum(abs(a * b) for a, b in zip(q, k, strict=True))
            reach = max(reach, abs(score) * factor)
    bias = exact(0 if options.get("bias") is None else options["bias"])
    wrong = error(output, attention(query, key, value, **options))
    # Denormal values have a fixed step, not a relative one: rounding a sum may cost one each.
    limits = ml_dtypes.finfo(output.dtype)
    wrong = max(0, wrong - len(value) * exact(limits.smallest_subnormal))
    return float(wrong / (exact(limits.eps) * (1 + reach + largest(bias)) * largest(value)))


def block(w, h, heads):
    """Return the columns of head h out of `heads`."""
    size = width(w) // heads
    return [row[h * size : (h + 1) * size] for row in w]


def multi_head(arrays, heads, shared, **per_head):
    """Return the sum over the heads of what each adds; an option is a function of the head."""
    x_query, x_key_value, w_query, w_key, w_value, w_output = (exact(a) for a in arrays)
    total = None
    for h in range(heads):
        g = h // (heads // shared)
        query = product(x_query, block(w_query, h, heads))
        key = product(x_key_value, block(w_key, g, shared))
        value = product(x_key_value, block(w_value, g, shared))
        options = {name: option(h) for name, option in per_head.items()}
        rows = transpose(block(transpose(w_output), h, heads))
        part = product(attention(query, key, value, **options), rows)
        total = part if total is None else add(total, part)
    return total


# --- gradients --------------------------------------------------------------------------------


def softmax_jacobian_product(p, d):
    """Return the vector times the matrix diag(p) − p pᵀ, each entry written out."""
    n = len(p)
    jacobian = [[(p[i] if i == j else 0) - p[i] * p[j] for j in range(n)] for i in range(n)]
    return [mp50.fsum(d[i] * jacobian[i][j] for i in range(n)) for j in range(n)]


def attention_gradients(query, key, value, d_output, *, scale=None, **options):
    """Return the gradients by the chain rule, one query at a time."""
    query, key, value, d_output = (exact(array) for array in (query, key, value, d_output))
    factor = factor_of(query, scale)
    shares = weights(query, key, scale=scale, **options)
    d_scores = []
    for p, d in zip(shares, d_output, strict=True):
        seen = [j for j, share in enumerate(p) if share]  # the others neither get nor give
        d_weights = [dot(d, value[j]) for j in seen]
        row = [mp50.mpf(0)] * len(p)
        products = softmax_jacobian_product([p[j] for j in seen], d_weights)
        for j, d_score in zip(seen, products, strict=True):
            row[j] = factor * d_score
        d_scores.append(row)

    def weighted(rows, others):
        return product(rows, others) if others else [[mp50.mpf(0)] * width(key) for _ in rows]

    d_key = weighted(transpose(d_scores), query) if query else weighted(key, [])
    d_value = product(transpose(shares), d_output)
    return weighted(d_scores, key), d_key, d_value


def central_differences(function, arguments, d_output):
    """Return the gradients of the sum of d_output · function, from nothing but its values.

    A step of 10⁻¹⁵ in 50 digits leaves an error of about 10⁻³⁰.
    """
    step = mp50.mpf(10) ** -15
    arguments = [[list(row) for row in exact(argument)] for argument in arguments]
    d_output = exact(d_output)

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
