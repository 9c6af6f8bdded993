"""Language: how well the logits of a model predict the actual tokens."""

import math

import numpy as np
import numpy.typing as npt

from selfattn_ref import _boundary
from selfattn_ref.weights import log_softmax

__all__ = ["bits_per_token", "cross_entropy", "perplexity"]


@_boundary.public
def cross_entropy(
    logits: npt.ArrayLike, targets: npt.ArrayLike, *, mask: npt.ArrayLike | None = None
) -> float:
    r"""Average how surprising each target is: minus the logarithm of its probability.

    .. math:: -\frac{1}{n} \sum_{t \text{ kept}} \log \operatorname{softmax}(z_t)_{y_t}

    Parameters
    ----------
    logits : array_like, shape (..., V)
        One score for each of the V tokens of the vocabulary, without a unit.
    targets : array_like of int, shape (...)
        The actual token at each position, a number from 0 to V − 1.
    mask : array_like of bool, optional
        True where the position counts; broadcasts to the targets (each axis, counted from the last,
        must be equal or 1). By default all positions count.

    Returns
    -------
    float
        The mean over the n positions kept, in nats, at least 0. Infinite if a target has
        probability zero. What stands at a position that is not kept changes nothing: a NaN
        among the logits, or a target such as −1. A NaN or :math:`+\infty` elsewhere gives NaN.
        Whatever the dtype of the logits, it is computed in float64; the error is at most
        4 ε (1 + ln V + the largest logit in size).

    Raises
    ------
    TypeError
        If `logits` does not hold real numbers, `targets` does not hold integers, or `mask` is not
        boolean.
    ValueError
        If the shape of `targets` is not that of `logits` without its last axis, `mask` does not
        broadcast to `targets`, a target that is kept is out of range (the message says which), or
        no position is kept, since the mean of nothing is undefined.

    See Also
    --------
    perplexity, bits_per_token : The same in other units.
    log_softmax : The logarithms, for all tokens.

    Notes
    -----
    In a causal model the logits at position t predict the token at t + 1, so the caller has to
    shift the targets. Dropping a position here does not hide it from attention; that is what
    `padding_mask` does. Taught on the page "Perplexity"; worked example SA032.

    Examples
    --------
    Logits 0 and ln 3 are probabilities 1/4 and 3/4, and ln(4/3) is 0.2877:

    >>> import numpy as np
    >>> from selfattn_ref import cross_entropy
    >>> round(cross_entropy([[0.0, np.log(3)]], [1]), 4)
    0.2877
    """
    kept, wanted = _boundary.targets(logits, targets, mask)  # (n, V), (n,)

    log_p = np.take_along_axis(log_softmax(kept), wanted[:, np.newaxis], axis=-1)
    return math.fsum((-log_p / log_p.size).ravel())  # divided first: the sum cannot overflow


@_boundary.public
def perplexity(
    logits: npt.ArrayLike, targets: npt.ArrayLike, *, mask: npt.ArrayLike | None = None
) -> float:
    r"""Return the number of equally likely tokens that would make the targets just as surprising.

    .. math::

       \exp\Bigl(-\frac{1}{n} \sum_{t \text{ kept}} \log p_t\Bigr)
       = \Bigl(\prod_{t \text{ kept}} \frac{1}{p_t}\Bigr)^{1/n}

    the geometric mean of the reciprocals of the probabilities of the targets.

    Parameters
    ----------
    logits : array_like, shape (..., V)
        One score for each of the V tokens of the vocabulary, without a unit.
    targets : array_like of int, shape (...)
        The actual token at each position, a number from 0 to V − 1.
    mask : array_like of bool, optional
        True where the position counts; broadcasts to the targets.

    Returns
    -------
    float
        A number of tokens, at least 1: V if all are equally likely, 1 if every target is certain.
        Infinite if a target has probability zero or the number exceeds the range of float64. Edge
        cases as in `cross_entropy`.

    Raises
    ------
    TypeError
        If an argument is of the wrong kind, as in `cross_entropy`.
    ValueError
        If a shape does not match, a target is out of range, or no position is kept.

    See Also
    --------
    cross_entropy : The logarithm of this number.

    Notes
    -----
    Perplexities of models with different vocabularies cannot be compared, because their positions
    are different pieces of the text. Taught on the page "Perplexity"; worked example SA032.

    Examples
    --------
    >>> import numpy as np
    >>> from selfattn_ref import perplexity
    >>> round(perplexity(np.zeros((3, 8)), [0, 5, 7]), 12)
    8.0
    """
    return float(np.exp(cross_entropy(logits, targets, mask=mask)))


@_boundary.public
def bits_per_token(
    logits: npt.ArrayLike, targets: npt.ArrayLike, *, mask: npt.ArrayLike | None = None
) -> float:
    r"""Return how many bits per target an ideal code for this model would spend.

    .. math:: -\frac{1}{n} \sum_{t \text{ kept}} \log_2 p_t

    Parameters
    ----------
    logits : array_like, shape (..., V)
        One score for each of the V tokens of the vocabulary, without a unit.
    targets : array_like of int, shape (...)
        The actual token at each position, a number from 0 to V − 1.
    mask : array_like of bool, optional
        True where the position counts; broadcasts to the targets.

    Returns
    -------
    float
        The mean over the positions kept, in bits: the cross-entropy divided by ln 2. Edge
        cases as in `cross_entropy`.

    Raises
    ------
    TypeError
        If an argument is of the wrong kind, as in `cross_entropy`.
    ValueError
        If a shape does not match, a target is out of range, or no position is kept.

    See Also
    --------
    cross_entropy : The same in nats.

    Notes
    -----
    Taught on the page "Perplexity"; worked example SA032.

    Examples
    --------
    One of eight equally likely tokens takes three bits:

    >>> import numpy as np
    >>> from selfattn_ref import bits_per_token
    >>> round(bits_per_token(np.zeros((3, 8)), [0, 5, 7]), 12)
    3.0
    """
    return cross_entropy(logits, targets, mask=mask) / math.log(2)
