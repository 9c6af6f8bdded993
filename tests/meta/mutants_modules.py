"""Wrong versions of heads, positions, cache, gradients and language, which the tests must kill.

Each is (name, file, exact text, text that replaces it); the text occurs once in the file.
"""

HEADS = "selfattn_ref/heads.py"
POSITIONS = "selfattn_ref/positions.py"
CACHE = "selfattn_ref/cache.py"
GRADIENTS = "selfattn_ref/gradients.py"
LANGUAGE = "selfattn_ref/language.py"
CHECKS = "selfattn_ref/_checks.py"

MUTANTS = (
    # Heads.
    (
        "heads interleaved instead of side by side",
        HEADS,
        "x.reshape(*x.shape[:-1], heads, width).swapaxes(-3, -2).copy()",
        "x.reshape(*x.shape[:-1], width, heads).mT.swapaxes(-3, -2).copy()",
    ),
    (
        "split heads without moving the axis of positions",
        HEADS,
        "x.reshape(*x.shape[:-1], heads, width).swapaxes(-3, -2).copy()",
        "x.reshape(*x.shape[:-2], heads, -1, width).copy()",
    ),
    (
        "split heads return a view",
        HEADS,
        "heads, width).swapaxes(-3, -2).copy()",
        "heads, width).swapaxes(-3, -2)",
    ),
    (
        "merged heads without moving the axis of positions",
        HEADS,
        "x.swapaxes(-3, -2).copy().reshape(",
        "x.copy().reshape(",
    ),
    (
        "merged heads return a view",
        HEADS,
        "x.swapaxes(-3, -2).copy().reshape(",
        "x.swapaxes(-3, -2).reshape(",
    ),
    (
        "query head h reads key head h % Hkv",
        HEADS,
        "return np.repeat(x, group, axis=-3)",
        "return np.concatenate([x] * group, axis=-3)",
    ),
    (
        "positions repeated instead of heads",
        HEADS,
        "return np.repeat(x, group, axis=-3)",
        "return np.repeat(x, group, axis=-2)",
    ),
    (
        "key and value projections swapped",
        HEADS,
        "key = split_heads(x_key_value @ w_key, shared)",
        "key = split_heads(x_key_value @ w_value, shared)",
    ),
    (
        "values made from the sequence that asks",
        HEADS,
        "value = split_heads(x_key_value @ w_value, shared)",
        "value = split_heads(x_query @ w_value, shared)",
    ),
    (
        "values of shared heads in another order",
        HEADS,
        "repeat_key_value_heads(value, heads),",
        "repeat_key_value_heads(value[..., ::-1, :, :], heads),",
    ),
    ("mask does not reach the heads", HEADS, "        mask=mask,\n", ""),
    ("bias does not reach the heads", HEADS, "        bias=bias,\n", ""),
    ("scale does not reach the heads", HEADS, "        scale=scale,\n", ""),
    (
        "scaled by the width of all heads together",
        HEADS,
        "        scale=scale,\n",
        "        scale=w_query.shape[-1] ** -0.5 if scale is None else scale,\n",
    ),
    (
        "scale of the heads applied twice",
        HEADS,
        "query = split_heads(x_query @ w_query, heads)",
        "query = split_heads(x_query @ w_query, heads) * (w_query.shape[-1] // heads) ** -0.5",
    ),
    (
        "output projection read by columns",
        HEADS,
        "merge_heads(output) @ w_output, result)",
        "merge_heads(output) @ w_output.T.reshape(w_output.shape), result)",
    ),
    (
        "dtype of the bias ignored",
        HEADS,
        "        given.append(_checks.bias_array(bias, scores))\n",
        "        _checks.bias_array(bias, scores)\n",
    ),
    (
        "16-bit heads computed in 16 bits",
        HEADS,
        "_checks.cast(array, compute) for array in given[:6]",
        "_checks.cast(array, result) for array in given[:6]",
    ),
    (
        "query heads that are no multiple pass",
        CHECKS,
        '    multiple("num_heads", heads, "num_key_value_heads", shared)\n',
        "",
    ),
    (
        "no key heads divide by zero",
        CHECKS,
        "    if number == 0 or size % number:\n",
        "    if size % number:\n",
    ),
    ("heads of different widths pass", CHECKS, "    if query != key:\n", "    if query < key:\n"),
    # Positions.
    (
        "sines and cosines swapped",
        POSITIONS,
        "    encoding[:, 0::2] = np.sin(angles)\n    encoding[:, 1::2] = np.cos(angles)\n",
        "    encoding[:, 0::2] = np.cos(angles)\n    encoding[:, 1::2] = np.sin(angles)\n",
    ),
    (
        "sines in one half and cosines in the other",
        POSITIONS,
        "    encoding[:, 0::2] = np.sin(angles)\n    encoding[:, 1::2] = np.cos(angles)\n",
        "    encoding[:, : width // 2] = np.sin(angles)\n"
        "    encoding[:, width // 2 :] = np.cos(angles)\n",
    ),
    (
        "positions counted from one",
        POSITIONS,
        "np.arange(length)[:, np.newaxis]",
        "np.arange(1, length + 1)[:, np.newaxis]",
    ),
    ("base ignored", POSITIONS, "np.power(base, ", "np.power(10000.0, "),
    ("exponent halved", POSITIONS, "-2.0 * pairs / max(width, 1)", "-pairs / max(width, 1)"),
    (
        "last frequency reaches the base",
        POSITIONS,
        "-2.0 * pairs / max(width, 1)",
        "-2.0 * pairs / max(width - 2, 1)",
    ),
    (
        "frequencies in float32",
        POSITIONS,
        "return np.power(base, -2.0 * pairs / max(width, 1))",
        "return np.power(np.float32(base), (-2.0 * pairs / max(width, 1)).astype(np.float32))",
    ),
    (
        "angles in the dtype of the input",
        POSITIONS,
        "positions.astype(np.float64)[..., np.newaxis] * frequencies",
        "positions.astype(compute)[..., np.newaxis] * frequencies.astype(compute)",
    ),
    (
        "rotation the other way",
        POSITIONS,
        "    rotated[..., first] = a * cos - b * sin\n"
        "    rotated[..., second] = a * sin + b * cos\n",
        "    rotated[..., first] = a * cos + b * sin\n"
        "    rotated[..., second] = b * cos - a * sin\n",
    ),
    (
        "sine of the second column without its sign",
        POSITIONS,
        "a * cos - b * sin",
        "a * cos + b * sin",
    ),
    ("sine and cosine of a rotation swapped", POSITIONS, "cos, sin = (", "sin, cos = ("),
    (
        "layouts exchanged",
        POSITIONS,
        'neighbors = _checks.flag("interleaved", interleaved)',
        'neighbors = not _checks.flag("interleaved", interleaved)',
    ),
    (
        "rotated pairs written in the other layout",
        POSITIONS,
        "    rotated[..., first] = a * cos - b * sin\n"
        "    rotated[..., second] = a * sin + b * cos\n",
        "    rotated[..., :half] = a * cos - b * sin\n"
        "    rotated[..., half:] = a * sin + b * cos\n",
    ),
    (
        "16-bit rotations in 16 bits",
        POSITIONS,
        "a, b = (_checks.cast(x[..., part], compute) for part in (first, second))",
        "a, b, cos, sin = (x[..., first], x[..., second], *(_checks.cast(p, x.dtype) for p in "
        "(cos, sin)))",
    ),
    (
        "odd widths of an encoding pass",
        CHECKS,
        "    if number % 2:\n",
        "    if number % 2 and 'x' in what:\n",
    ),
    (
        "a flag that only counts as true passes",
        CHECKS,
        '    if not isinstance(value, bool | np.bool_):\n        raise TypeError(f"{name} must ',
        '    if isinstance(value, str):\n        raise TypeError(f"{name} must ',
    ),
    ("base zero passes", CHECKS, "    if number <= 0:\n", "    if number < 0:\n"),
    # Cache.
    (
        "offset ignored",
        CACHE,
        "causal_mask(query.shape[-2], length, offset=self._length)",
        "causal_mask(query.shape[-2], length)",
    ),
    (
        "offset one too far",
        CACHE,
        "offset=self._length)",
        "offset=self._length + 1)",
    ),
    (
        "no mask within a chunk",
        CACHE,
        "            mask=causal_mask(query.shape[-2], length, offset=self._length),\n",
        "",
    ),
    (
        "keys stored and values forgotten",
        CACHE,
        "values = _appended(self._values, value, self._length)",
        "values = _appended(self._values, value, 0)",
    ),
    (
        "storage that grows by what is needed",
        CACHE,
        "max(needed, 2 * stored.shape[-2])",
        "needed",
    ),
    (
        "storage that does not grow beyond the double",
        CACHE,
        "max(needed, 2 * stored.shape[-2])",
        "2 * stored.shape[-2]",
    ),
    (
        "old rows lost when the storage grows",
        CACHE,
        "        grown[..., :length, :] = stored[..., :length, :]\n",
        "        grown[...] = 0\n",
    ),
    (
        "the first chunk is kept without a copy",
        CACHE,
        "        return new.copy()\n",
        "        return new\n",
    ),
    (
        "a first chunk settles the shapes before it is known to be good",
        CACHE,
        "        values = _appended(self._values, value, self._length)\n",
        "        values = _appended(self._values, value, self._length)\n"
        "        self._keys, self._values = keys, values\n",
    ),
    (
        "copies share their storage",
        CACHE,
        "        return copy.deepcopy(self)\n",
        "        twin = type(self)()\n        twin.__dict__.update(self.__dict__)\n"
        "        return twin\n",
    ),
    (
        "other dtypes are cast into the cache",
        CHECKS,
        "    if array.dtype != cached.dtype:\n",
        "    if array.dtype.kind != cached.dtype.kind:\n",
    ),
    (
        "other batches broadcast into the cache",
        CHECKS,
        "    if (*array.shape[:-2], array.shape[-1]) != (*cached.shape[:-2], cached.shape[-1]):\n",
        "    if array.shape[-1] != cached.shape[-1]:\n",
    ),
    # Gradients.
    (
        "softmax_vjp without the sum of the row",
        GRADIENTS,
        "weights * (d_weights - mean), 0)",
        "weights * d_weights, 0)",
    ),
    (
        "softmax_vjp with the unweighted mean",
        GRADIENTS,
        "mean = (weights * d_weights).sum(axis=-1, keepdims=True)",
        "mean = d_weights.mean(axis=-1, keepdims=True)",
    ),
    (
        "softmax_vjp over the wrong axis",
        GRADIENTS,
        "mean = (weights * d_weights).sum(axis=-1, keepdims=True)",
        "mean = (weights * d_weights).sum(axis=0, keepdims=True)",
    ),
    (
        "softmax_vjp multiplies what stands at a weight of zero",
        GRADIENTS,
        "_d_scores(weights, d_weights, weights != 0)",
        "_d_scores(weights, d_weights, np.ones(weights.shape, np.bool_))",
    ),
    (
        "a NaN hidden where a weight rounds to zero",
        GRADIENTS,
        "factor * _d_scores(weights, d_weights, visible)",
        "factor * _d_scores(weights, d_weights, weights != 0)",
    ),
    (
        "mask ignored by the gradients",
        GRADIENTS,
        "np.broadcast_to(True if allowed is None else allowed, scores.shape)",
        "np.broadcast_to(True, scores.shape)",
    ),
    (
        "bias ignored by the gradients",
        GRADIENTS,
        "        scores += _checks.cast(added, compute)\n",
        "        pass\n",
    ),
    (
        "scale missing from the gradients",
        GRADIENTS,
        "factor * _d_scores(weights",
        "_d_scores(weights",
    ),
    (
        "scale applied twice to the gradients",
        GRADIENTS,
        "factor * _d_scores(weights",
        "factor * factor * _d_scores(weights",
    ),
    (
        "key and query swapped in the gradients",
        GRADIENTS,
        "        _checks.cast(_summed(d_query, query.shape), result),\n"
        "        _checks.cast(_summed(d_key, key.shape), result),\n",
        "        _checks.cast(_summed(d_key, key.shape), result),\n"
        "        _checks.cast(_summed(d_query, query.shape), result),\n",
    ),
    (
        "gradients of the values from squared weights",
        GRADIENTS,
        "d_value = _product(weights.mT, d_output, visible.mT)",
        "d_value = _product((weights * weights).mT, d_output, visible.mT)",
    ),
    (
        "a NaN spreads through weights of zero",
        GRADIENTS,
        "return product if np.isfinite(product).all() else _select_values(left, right, visible)",
        "return product",
    ),
    (
        "a NaN row gives NaN to the keys it may not see",
        GRADIENTS,
        "np.where(visible, attention_weights(scores, mask=visible), 0)",
        "attention_weights(scores, mask=visible)",
    ),
    (
        "a NaN in a masked value spreads over its row",
        GRADIENTS,
        "    d_weights = np.where(visible, d_weights, 0)\n",
        "",
    ),
    (
        "broadcast gradients averaged",
        GRADIENTS,
        "gradient.sum(axis=axes, keepdims=True)",
        "(gradient.mean(axis=axes, keepdims=True) if gradient.size else "
        "gradient.sum(axis=axes, keepdims=True))",
    ),
    (
        "d_output broadcasts to the output",
        GRADIENTS,
        "    _checks.same_shape(d_output=d_output.shape, output=output)\n",
        '    _checks.fits("d_output", d_output, "output", output)\n',
    ),
    (
        "dtype of d_output ignored",
        GRADIENTS,
        "_checks.working_dtype(*given, *(",
        "_checks.working_dtype(*given[:3], *(",
    ),
    (
        "dtype of the bias ignored by the gradients",
        GRADIENTS,
        "_checks.working_dtype(*given, *(() if added is None else (added,)))",
        "_checks.working_dtype(*given)",
    ),
    (
        "gradient of x without the role of the key",
        GRADIENTS,
        "d_query @ w_query.mT + d_key @ w_key.mT + d_value @ w_value.mT",
        "d_query @ w_query.mT + d_value @ w_value.mT",
    ),
    (
        "projections not transposed",
        GRADIENTS,
        "d_query @ w_query.mT +",
        "d_query @ w_query.reshape(w_query.shape[::-1]) +",
    ),
    (
        "gradients of the projections of queries and keys swapped",
        GRADIENTS,
        "asked.mT @ d_key, w_key.shape",
        "asked.mT @ d_query, w_key.shape",
    ),
    (
        "positions that ask nobody add to the projections",
        GRADIENTS,
        "asking = np.where(visible.any(axis=-1, keepdims=True), x, 0)",
        "asking = x",
    ),
    (
        "positions that nobody asks add to the projections",
        GRADIENTS,
        "asked = np.where(visible.any(axis=-2, keepdims=True).mT, x, 0)",
        "asked = x",
    ),
    (
        "asking and asked exchanged",
        GRADIENTS,
        "asked = np.where(visible.any(axis=-2, keepdims=True).mT, x, 0)",
        "asked = np.where(visible.any(axis=-1, keepdims=True), x, 0)",
    ),
    # Language.
    (
        "sum instead of mean",
        LANGUAGE,
        "(-log_p / log_p.size).sum()",
        "-log_p.sum()",
    ),
    (
        "mean over all positions, not those kept",
        LANGUAGE,
        "(-log_p / log_p.size).sum()",
        "(-log_p / kept.size).sum()",
    ),
    (
        "added before divided, so that the sum overflows",
        LANGUAGE,
        "(-log_p / log_p.size).sum()",
        "-log_p.sum() / log_p.size",
    ),
    ("minus zero", LANGUAGE, "(-log_p / log_p.size).sum()", "-(log_p / log_p.size).sum()"),
    (
        "logarithm of the softmax, rounded to zero",
        LANGUAGE,
        "log_softmax(chosen)",
        "np.log(np.exp(chosen) / np.exp(chosen).sum(axis=-1, keepdims=True))",
    ),
    (
        "float32 losses in float32",
        LANGUAGE,
        "chosen = logits[kept].astype(np.float64)",
        "chosen = logits[kept]",
    ),
    (
        "perplexity in powers of two",
        LANGUAGE,
        "np.exp(cross_entropy(",
        "np.exp2(cross_entropy(",
    ),
    (
        "perplexity as a mean of probabilities",
        LANGUAGE,
        "float(np.exp(cross_entropy(logits, targets, mask=mask)))",
        "float(np.exp(-cross_entropy(logits, targets, mask=mask)))",
    ),
    (
        "mask ignored by the perplexity",
        LANGUAGE,
        "np.exp(cross_entropy(logits, targets, mask=mask))",
        "np.exp(cross_entropy(logits, targets))",
    ),
    ("nats for bits", LANGUAGE, " / math.log(2)", ""),
    ("bits times instead of over ln 2", LANGUAGE, " / math.log(2)", " * math.log(2)"),
    (
        "mask ignored by the bits",
        LANGUAGE,
        "return cross_entropy(logits, targets, mask=mask) / math",
        "return cross_entropy(logits, targets) / math",
    ),
    (
        "mask inverted in the loss",
        CHECKS,
        "    kept = np.broadcast_to(kept, array.shape)\n",
        "    kept = np.broadcast_to(kept if mask is None else ~kept, array.shape)\n",
    ),
    (
        "negative targets count from the end",
        CHECKS,
        "np.argwhere(where & ((array < 0) | (array > most)))",
        "np.argwhere(where & (array > most))",
    ),
    (
        "ignored targets are checked",
        CHECKS,
        "np.argwhere(where & ((array < 0) | (array > most)))",
        "np.argwhere((array < 0) | (array > most))",
    ),
    (
        "target V passes",
        CHECKS,
        "logits.shape[-1] - 1, ",
        "logits.shape[-1], ",
    ),
    (
        "the mean of nothing is not a number",
        CHECKS,
        "    if not kept.any():\n",
        "    if kept.ndim > 5:\n",
    ),
)
