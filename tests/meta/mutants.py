"""Wrong versions of the package, each of which the tests have to refuse.

A test that no error can fail proves nothing. Each entry of the table is one slip that somebody
could make; the command puts it into a copy of the package and wants the tests of that module to
fail::

    python -m tests.meta.mutants            # all of them
    python -m tests.meta.mutants softmax    # those whose name contains the word

It exits with 1 if one survives, or if its text is not found exactly once.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from tests.meta import mutants_modules, mutants_streaming

ROOT = pathlib.Path(__file__).parents[2]
PASSED, FAILED = 0, 1  # of pytest; any other exit code means that it could not run the tests


@dataclass(frozen=True)
class Mutant:
    """One slip: the module, its text, and the text in its place."""

    name: str
    module: str
    old: str
    new: str

    @property
    def source(self):
        """Return the path of the module within the tree."""
        return pathlib.Path("selfattn_ref", f"{self.module}.py")

    def occurrences(self, root=ROOT):
        """Count how often the old text stands in the module."""
        return (root / self.source).read_text(encoding="utf-8").count(self.old)

    def apply(self, root):
        """Write the slip into the tree at `root`."""
        assert self.occurrences(root) == 1, self.name
        path = root / self.source
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")


MUTANTS = [
    # --- similarity
    Mutant(
        "dot product of x with itself, y ignored",
        "similarity",
        "return _checks.cast(x @ y.mT, result)",
        "return _checks.cast(x @ x.mT, result)",
    ),
    Mutant(
        "cosine not clipped",
        "similarity",
        "np.clip(directions @ others.mT, -1, 1)",
        "directions @ others.mT",
    ),
    Mutant(
        "cosine takes y for x",
        "similarity",
        "others = directions if same else",
        "others = directions if not same else",
    ),
    Mutant(
        "cosine of squared lengths",
        "similarity",
        "scaled / np.sqrt((scaled**2).sum(axis=-1, keepdims=True))",
        "scaled / (scaled**2).sum(axis=-1, keepdims=True)",
    ),
    Mutant(
        "vectors squared before they are scaled",
        "similarity",
        "    return np.ldexp(x, -exponent), exponent\n",
        "    return x, 0 * exponent\n",
    ),
    Mutant(
        "all rows scaled alike",
        "similarity",
        "np.abs(x).max(axis=-1, keepdims=True, initial=0)",
        "np.broadcast_to(np.abs(x).max(initial=0), (*x.shape[:-1], 1))",
    ),
    Mutant(
        "a zero vector passes",
        "similarity",
        "    if zero.size:",
        "    if False:",
    ),
    Mutant(
        "distance by dot products, which cancel",
        "similarity",
        "    scaled, exponent = _scaled(difference)\n"
        "    distance = np.ldexp(np.sqrt((scaled**2).sum(axis=-1)), exponent[..., 0])\n",
        "    squares = (x**2).sum(-1)[..., :, None] + (y**2).sum(-1)[..., None, :]\n"
        "    distance = np.sqrt(np.maximum(squares - 2 * (x @ y.mT), 0))\n",
    ),
    Mutant(
        "distance without the root",
        "similarity",
        "np.ldexp(np.sqrt((scaled**2).sum(axis=-1)), exponent[..., 0])",
        "np.ldexp((scaled**2).sum(axis=-1), 2 * exponent[..., 0])",
    ),
    # --- scores
    Mutant(
        "scores not scaled",
        "scores",
        "factor * _checks.cast(query, compute)",
        "_checks.cast(query, compute)",
    ),
    Mutant(
        "scores scaled twice",
        "scores",
        "factor * _checks.cast(query, compute)",
        "factor * factor * _checks.cast(query, compute)",
    ),
    Mutant(
        "scores scaled by the number of keys",
        "scores",
        "_checks.scale_or_default(scale, query.shape[-1])",
        "_checks.scale_or_default(scale, max(1, key.shape[-2]))",
    ),
    Mutant(
        "a scale of 0 taken for none",
        "scores",
        "_checks.scale_or_default(scale, query.shape[-1])",
        "_checks.scale_or_default(scale or None, query.shape[-1])",
    ),
    Mutant(
        "float16 scores not upcast",
        "scores",
        "    compute, result = _checks.working_dtype(query, key)\n",
        "    _, result = _checks.working_dtype(query, key)\n    compute = result\n",
    ),
    Mutant(
        "scores without the check of widths",
        "scores",
        '    _checks.same_size("width d_k", query=(query, -1), key=(key, -1))\n',
        "",
    ),
    Mutant(
        "cap as a clip",
        "scores",
        "bound * np.tanh(_checks.cast(scores, compute) / bound)",
        "np.clip(_checks.cast(scores, compute), -bound, bound)",
    ),
    Mutant(
        "cap applied once only",
        "scores",
        "bound * np.tanh(_checks.cast(scores, compute) / bound)",
        "bound * np.tanh(_checks.cast(scores, compute))",
    ),
    Mutant(
        "cap of zero passes",
        "scores",
        "if not 0 < compute.type(bound) < np.inf:",
        "if not 0 <= compute.type(bound) < np.inf:",
    ),
    # --- masks
    Mutant(
        "causal mask hides the diagonal",
        "masks",
        "Tq if Tk is None else Tk, None, 0, offset=offset)",
        "Tq if Tk is None else Tk, None, 0, offset=_checks.whole_number('offset', offset, "
        "least=None) - 1)",
    ),
    Mutant(
        "causal mask shows one key of the future",
        "masks",
        "Tq if Tk is None else Tk, None, 0, offset=offset)",
        "Tq if Tk is None else Tk, None, 1, offset=offset)",
    ),
    Mutant(
        "causal mask shows the future and hides the past",
        "masks",
        "Tq if Tk is None else Tk, None, 0, offset=offset)",
        "Tq if Tk is None else Tk, 0, None, offset=offset)",
    ),
    Mutant(
        "causal mask ignores the offset",
        "masks",
        "Tq if Tk is None else Tk, None, 0, offset=offset)",
        "Tq if Tk is None else Tk, None, 0)",
    ),
    Mutant(
        "causal mask aligned to the lower right",
        "masks",
        'first = _checks.whole_number("offset", offset, least=None)',
        'first = _checks.whole_number("offset", offset, least=None) + columns - rows',
    ),
    Mutant(
        "no keys taken for a missing number of keys",
        "masks",
        "Tq if Tk is None else Tk",
        "Tk or Tq",
    ),
    Mutant(
        "offset with the wrong sign",
        "masks",
        "visible &= ahead >= first - _checks",
        "visible &= ahead >= -first - _checks",
    ),
    Mutant(
        "offset that wraps around",
        "masks",
        'first = _checks.whole_number("offset", offset, least=None)',
        'first = np.int64(_checks.whole_number("offset", offset, least=None) % 2**63)',
    ),
    Mutant(
        "left and right exchanged",
        "masks",
        "    if left is not None:",
        "    left, right = right, left\n    if left is not None:",
    ),
    Mutant(
        "left side exclusive",
        "masks",
        "visible &= ahead >= first",
        "visible &= ahead > first",
    ),
    Mutant(
        "right side exclusive",
        "masks",
        "visible &= ahead <= first",
        "visible &= ahead < first",
    ),
    Mutant(
        "a side of 0 taken for no limit",
        "masks",
        "    if right is not None:",
        "    if right:",
    ),
    Mutant(
        "padding keeps one key too many",
        "masks",
        "np.arange(keys) < kept",
        "np.arange(keys) <= kept",
    ),
    Mutant(
        "padding mask inverted",
        "masks",
        "np.arange(keys) < kept",
        "np.arange(keys) >= kept",
    ),
    Mutant(
        "padding mask without the axis of the queries",
        "masks",
        "kept[..., np.newaxis, np.newaxis]",
        "kept[..., np.newaxis]",
    ),
    # --- weights
    Mutant(
        "softmax doubled",
        "weights",
        "    scores /= total\n",
        "    scores /= total / 2\n",
    ),
    Mutant(
        "softmax without subtracting the maximum",
        "weights",
        "    scores -= _shift(scores, axis)\n",
        "    scores -= 0 * np.nan_to_num(_shift(scores, axis))\n",
    ),
    Mutant(
        "softmax over the queries",
        "weights",
        "    if mask is None:\n        return softmax(scores)\n",
        "    if mask is None:\n        return softmax(scores, axis=-2)\n",
    ),
    Mutant(
        "masked softmax over the queries",
        "weights",
        "_turn_into_weights(weights, -1, allowed)",
        "_turn_into_weights(weights, -2, allowed)",
    ),
    Mutant(
        "softmax over all axes at once",
        "weights",
        "    total = scores.sum(axis=axis, keepdims=True)\n",
        "    total = scores.sum(keepdims=True)\n",
    ),
    Mutant(
        "empty softmax NaN",
        "weights",
        "    total[total == 0] = 1  # a row with no weight to give stays zero\n",
        "",
    ),
    Mutant(
        "empty softmax uniform",
        "weights",
        "    total[total == 0] = 1  # a row with no weight to give stays zero\n",
        "    scores += total == 0\n    total = scores.sum(axis=axis, keepdims=True)\n",
    ),
    Mutant(
        "NaN rows hidden as zeros",
        "weights",
        "    scores /= total\n",
        "    scores /= total\n    np.nan_to_num(scores, copy=False)\n",
    ),
    Mutant(
        "float16 softmax not upcast",
        "weights",
        "    weights = x.astype(compute)\n",
        "    weights = x.astype(result)\n",
    ),
    Mutant(
        "float16 softmax comes back as float32",
        "weights",
        "    _turn_into_weights(weights, axis)\n    return _checks.cast(weights, result)\n",
        "    _turn_into_weights(weights, axis)\n    return weights\n",
    ),
    Mutant(
        "softmax in place",
        "weights",
        "    weights = x.astype(compute)\n",
        "    weights = _checks.cast(x, compute)\n",
    ),
    Mutant(
        "maximum that a NaN does not reach",
        "weights",
        "x.max(axis=axis,",
        "np.nan_to_num(x).max(axis=axis,",
    ),
    Mutant(
        "log_softmax as the logarithm of softmax",
        "weights",
        "    shifted -= np.log(total)\n",
        "    shifted = np.log(np.exp(shifted) / total)\n",
    ),
    Mutant(
        "log_softmax to base 2",
        "weights",
        "    shifted -= np.log(total)\n",
        "    shifted -= np.log2(total)\n",
    ),
    Mutant(
        "log_softmax of an empty row NaN",
        "weights",
        "    total[total == 0] = 1\n    shifted",
        "    shifted",
    ),
    Mutant(
        "mask inverted",
        "weights",
        "np.copyto(scores, -np.inf, where=~allowed)",
        "np.copyto(scores, -np.inf, where=allowed)",
    ),
    Mutant(
        "mask by a finite number",
        "weights",
        "np.copyto(scores, -np.inf, where=~allowed)",
        "np.copyto(scores, -1e4, where=~allowed)",
    ),
    Mutant(
        "mask added instead of selected",
        "weights",
        "np.copyto(scores, -np.inf, where=~allowed)",
        "scores += np.where(allowed, 0.0, -np.inf).astype(scores.dtype)",
    ),
    Mutant(
        "mask multiplied after the softmax",
        "weights",
        "_turn_into_weights(weights, -1, allowed)",
        "_turn_into_weights(weights, -1)\n    weights *= allowed",
    ),
    Mutant(
        "masked float16 softmax not upcast",
        "weights",
        "    weights = scores.astype(compute)\n",
        "    weights = scores.astype(result)\n",
    ),
    # --- attention
    Mutant(
        "attention without the bias",
        "attention",
        "        scores += _checks.cast(added, compute)\n",
        "        pass\n",
    ),
    Mutant(
        "bias before the scale",
        "attention",
        "        scores += _checks.cast(added, compute)\n",
        "        scores += _checks.cast(added, compute) * _checks.scale_or_default(\n"
        "            scale, query.shape[-1]\n"
        "        )\n",
    ),
    Mutant(
        "bias after the mask",
        "attention",
        "    if added is not None:\n        scores += _checks.cast(added, compute)\n"
        "    _turn_into_weights(scores, -1, allowed)",
        "    if allowed is not None:\n        np.copyto(scores, -np.inf, where=~allowed)\n"
        "    if added is not None:\n        scores += _checks.cast(added, compute)\n"
        "    _turn_into_weights(scores, -1)",
    ),
    Mutant(
        "attention without the mask",
        "attention",
        "_turn_into_weights(scores, -1, allowed)",
        "_turn_into_weights(scores, -1)",
    ),
    Mutant(
        "attention without the scale",
        "attention",
        "scores = scaled_scores(query, key, scale=scale)",
        "scores = scaled_scores(query, key)",
    ),
    Mutant(
        "scale applied twice",
        "attention",
        "scores = scaled_scores(query, key, scale=scale)",
        "scores = scaled_scores(query, key, scale=scale) * _checks.scale_or_default(\n"
        "        scale, query.shape[-1]\n"
        "    )",
    ),
    Mutant(
        "values not selected",
        "attention",
        "        output = _select_values(weights, value, allowed)\n",
        "        pass\n",
    ),
    Mutant(
        "values replaced by zeros for everybody",
        "attention",
        "        output = _select_values(weights, value, allowed)\n",
        "        output = weights @ np.nan_to_num(value)\n",
    ),
    Mutant(
        "broken values shown to everybody",
        "attention",
        "        output += np.where(visible[..., :, here], term, 0)\n",
        "        output += term\n",
    ),
    Mutant(
        "broken values shown to nobody",
        "attention",
        "        output += np.where(visible[..., :, here], term, 0)\n",
        "        output += 0\n",
    ),
    Mutant(
        "broken values of one sequence removed from all",
        "attention",
        "np.where(finite[..., here, :], 0, value[..., here, :])",
        "value[..., here, :]",
    ),
    Mutant(
        "values left in the layout they came in",
        "attention",
        "    value = np.ascontiguousarray(value)",
        "    value = np.asarray(value)",
    ),
    Mutant(
        "16-bit result not cast back",
        "attention",
        "        output = _select_values(weights, value, allowed)\n"
        "    return _checks.cast(output, result)\n",
        "        output = _select_values(weights, value, allowed)\n    return output\n",
    ),
    Mutant(
        "16-bit attention not upcast",
        "attention",
        "query, key, value = (_checks.cast(array, compute) for array in (query, key, value))",
        "query, key, value = (_checks.cast(array, result) for array in (query, key, value))",
    ),
    Mutant(
        "bias left out of the common dtype",
        "attention",
        "given = (query, key, value) if added is None else (query, key, value, added)",
        "given = (query, key, value)",
    ),
    Mutant(
        "lengths of keys and values not compared",
        "_checks",
        '    same_size("length", key=(key, -2), value=(value, -2))\n',
        "",
    ),
    Mutant(
        "queries and keys of self-attention exchanged",
        "attention",
        "scaled_dot_product_attention(query, key, value, mask=mask, scale=scale)\n    return",
        "scaled_dot_product_attention(key, query, value, mask=mask, scale=scale)\n    return",
    ),
    Mutant(
        "self-attention without the mask",
        "attention",
        "scaled_dot_product_attention(query, key, value, mask=mask, scale=scale)\n    return",
        "scaled_dot_product_attention(query, key, value, scale=scale)\n    return",
    ),
    Mutant(
        "self-attention divided by the root of d_model",
        "attention",
        "scaled_dot_product_attention(query, key, value, mask=mask, scale=scale)\n    return",
        "scaled_dot_product_attention(\n"
        "        query,\n"
        "        key,\n"
        "        value,\n"
        "        mask=mask,\n"
        "        scale=x.shape[-1] ** -0.5 if scale is None else scale,\n"
        "    )\n"
        "    return",
    ),
    Mutant(
        "projections of self-attention rounded to 16 bits",
        "attention",
        "    value = x @ _checks.cast(w_value, compute)",
        "    value = _checks.cast(x, result) @ _checks.cast(w_value, result)",
    ),
    # --- the checks
    Mutant(
        "1/d_k in place of 1/√d_k",
        "_checks",
        "return 1.0 / math.sqrt(width)",
        "return 1.0 / width",
    ),
    Mutant(
        "√d_k in place of 1/√d_k",
        "_checks",
        "return 1.0 / math.sqrt(width)",
        "return math.sqrt(width)",
    ),
    Mutant(
        "16-bit types computed in 16 bits",
        "_checks",
        "compute = np.dtype(np.float32) if result.itemsize == 2 else result",
        "compute = result",
    ),
    Mutant(
        "float64 dropped to float32",
        "_checks",
        "compute = np.dtype(np.float32) if result.itemsize == 2 else result",
        "compute = np.dtype(np.float32) if result.itemsize <= 8 else result",
    ),
    Mutant(
        "integers become float32",
        "_checks",
        "array = array.astype(np.float64)",
        "array = array.astype(np.float32)",
    ),
    Mutant(
        "masked arrays pass",
        "_checks",
        "if isinstance(value, np.ma.MaskedArray):",
        "if False:",
    ),
    Mutant(
        "integer masks pass",
        "_checks",
        "if array.dtype != np.bool_:",
        'if array.dtype.kind not in "biu":',
    ),
    Mutant(
        "boolean biases pass",
        "_checks",
        'if array.dtype.kind in "biu":',
        'if array.dtype.kind in "iu":',
    ),
    Mutant(
        "scores broadcast to the mask",
        "_checks",
        "if array.ndim > len(shape) or any(",
        "if any(",
    ),
    Mutant(
        "leading axes named after the first only",
        "_checks",
        'named = " and ".join(f"{name} {array.shape}" for name, array in arrays.items())',
        'named = next(f"{name} {array.shape}" for name, array in arrays.items())',
    ),
    Mutant(
        "booleans pass as a scale",
        "_checks",
        "if isinstance(value, bool | np.bool_) or not isinstance(value, Real):",
        "if not isinstance(value, Real):",
    ),
    Mutant(
        "an infinite scale passes",
        "_checks",
        "    if not math.isfinite(number):",
        "    if math.isnan(number):",
    ),
    Mutant(
        "a single wrong length passes",
        "_checks",
        "    if len(outside):",
        "    if outside.size:",
    ),
    Mutant(
        "the axis after the last passes",
        "_checks",
        "if not -array.ndim <= number < array.ndim:",
        "if not -array.ndim <= number <= array.ndim:",
    ),
]

MUTANTS += [
    Mutant(name, pathlib.Path(file).stem, old, new)
    for name, file, old, new in mutants_modules.MUTANTS + mutants_streaming.MUTANTS
]


def copy_tree(root, folder):
    """Copy what the tests of the modules need to another folder."""
    leave_out = shutil.ignore_patterns("__pycache__", "pages", "derivations", "meta", "contracts")
    for name in ("selfattn_ref", "tests"):
        shutil.copytree(root / name, folder / name, ignore=leave_out)
    shutil.copy(root / "pyproject.toml", folder)


def run_tests(folder, *tests):
    """Run tests in a tree until one fails, and return the exit code of pytest."""
    environment = os.environ | {
        "HYPOTHESIS_PROFILE": "quick",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True).returncode


def outcome(mutant, *tests):
    """Say what the tests of its module do with a mutant."""
    if mutant.occurrences() != 1:
        return f"its text stands {mutant.occurrences()} times in {mutant.source}"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        copy_tree(ROOT, folder)
        mutant.apply(folder)
        code = run_tests(folder, *(tests or (test_file(mutant.module),)))
    return {FAILED: "killed", PASSED: "SURVIVED"}.get(code, f"pytest could not run, exit {code}")


def test_file(module):
    """Return the path of the tests of a module."""
    return f"tests/test_{module.lstrip('_')}.py"


def main(words):
    """Run the mutants whose module or name contains one of the words; return the exit code."""
    chosen = [m for m in MUTANTS if not words or any(w in f"{m.module} {m.name}" for w in words)]
    if not chosen:
        print("No mutant has such a name.")
        return 1
    files = sorted({test_file(mutant.module) for mutant in chosen})
    with tempfile.TemporaryDirectory() as name:
        copy_tree(ROOT, pathlib.Path(name))
        if run_tests(name, *files) != PASSED:  # else every mutant would seem to be killed
            print("The tests fail without any mutant.")
            return 1
    start, bad = time.perf_counter(), []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(outcome, mutant): mutant for mutant in chosen}
        for count, done in enumerate(as_completed(running), 1):
            mutant = running[done]
            if done.result() != "killed":
                bad.append(mutant)
            print(f"{count:3}/{len(chosen)}  {mutant.module}: {mutant.name}: {done.result()}")
            sys.stdout.flush()
    seconds = time.perf_counter() - start
    print(f"{len(chosen) - len(bad)} of {len(chosen)} mutants killed in {seconds:.0f} s")
    for mutant in bad:
        print(f"NOT KILLED  {mutant.module}: {mutant.name}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
