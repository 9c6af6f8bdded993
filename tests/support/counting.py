"""Numbers that count multiplications, for what the book says about costs."""

import numpy as np


class Number(float):
    """A number that counts how often it is multiplied, and all products."""

    uses = 0
    products = 0

    def __mul__(self, other):
        Number.products += 1
        for number in (self, other):
            number.uses += 1
        return Number(float.__mul__(self, other))

    def __add__(self, other):
        return Number(float.__add__(self, other))

    def __sub__(self, other):
        return Number(float.__sub__(self, other))


numbers = np.vectorize(Number, otypes=[object])


def strassen(one, other):
    """Multiply matrices; those of two rows and two columns with seven products."""
    if one.shape[-2:] != (2, 2) or other.shape[-2:] != (2, 2):
        return one @ other
    ((a, b), (c, d)), ((e, f), (g, h)) = (np.moveaxis(m, (-2, -1), (0, 1)) for m in (one, other))
    i, j, k, m = (a + d) * (e + h), (c + d) * e, a * (f - h), d * (g - e)
    n, o, p = (a + b) * h, (c - a) * (e + f), (b - d) * (g + h)
    product = np.array([[i + m - n + p, k + n], [j + m, i - j + k + o]], object)
    return np.moveaxis(product, (0, 1), (-2, -1))
