"""A valid call of every public function: what each promise is asked of.

A line of the table names the module, the function, its parameters in order, and the result::

    weights | attention_weights | scores (..., Tq, Tk); *; mask (Tq, Tk) = None | (..., Tq, Tk)

``scores (..., Tq, Tk)`` is an array with these axes, every axis of another size, so that no two
can be exchanged unnoticed. ``cap: 2.0`` is another value that the call gives. What stands after
``=`` is the default; a parameter that has nothing else is left at it. ``*`` begins those that have
to be named, ``@pair`` stands for the parameters of that group. A result of several arrays has one
entry each, ``of key`` has the axes of that argument.

A new function enters by one line (what is indented below goes on), and is then asked for everything
in this folder.
"""

import ast
import math
import re
from dataclasses import dataclass

import numpy as np

import selfattn_ref
from selfattn_ref import AttentionState, KeyValueCache
from tests.support.arrays import normal

GROUPS = """
pair         x (..., n, d); y (..., m, d) = None
attention    query (..., Tq, d_k); key (..., Tk, d_k); value (..., Tk, d_v)
sequence     x (..., T, d_model); w_query (d_model, d_k); w_key (d_model, d_k);
             w_value (d_model, d_v)
layer        x_query (..., Tq, d_model); x_key_value (..., Tk, d_source);
             w_query (d_model, H·d_k); w_key (d_source, Hkv·d_k); w_value (d_source, Hkv·d_v);
             w_output (H·d_v, d_output); *; num_heads: 6; num_key_value_heads: 2 = None;
             mask (H, Tq, Tk) = None; bias (H, Tq, Tk) = None
options      *; mask (Tq, Tk) = None; bias (Tq, Tk) = None; @numbers; @causal
within       *; mask (T, T) = None; bias (T, T) = None; @numbers
numbers      scale: 0.5 = None; soft_cap: 2.0 = None
causal       causal: True = False; offset: 2 = 0
blocks       window: (3, 1) = None; block_size: (2, 3) = None
shares       scores (..., Tq, Tk); *; mask (Tq, Tk) = None
block        scores (..., Tq, Tk); value (..., Tk, d_v); *; mask (Tq, Tk) = None
choices      logits (..., V); targets (...); *; mask (...) = None
state        sums (..., Tq, 1); sums (..., Tq, 1); sums (..., Tq, d_v); sums (..., Tq)
"""

TABLE = """
similarity | cosine_similarity | @pair | (..., n, m)
similarity | dot_similarity | @pair | (..., n, m)
similarity | euclidean_distance | @pair | (..., n, m)
scores | scaled_scores | query (..., Tq, d_k); key (..., Tk, d_k); *; scale: 0.5 = None
       | (..., Tq, Tk)
scores | soft_cap | scores (..., n); cap: 2.0 | (..., n)
masks | causal_mask | Tq: 5; Tk: 7 = None; *; offset: 2 = 0 | bool (Tq, Tk)
masks | padding_mask | lengths (...); Tk: 7 | bool (..., 1, Tk)
masks | segment_mask | segments (..., Tq); key_segments (..., Tk) = None | bool (..., Tq, Tk)
masks | window_mask | Tq: 5; Tk: 7; left: 2; right: 1; *; offset: 1 = 0 | bool (Tq, Tk)
weights | attention_weights | @shares | (..., Tq, Tk)
weights | log_softmax | x (..., n); axis: -1 = -1 | (..., n)
weights | log_sum_exp | @shares | (..., Tq)
weights | softmax | x (..., n); axis: -1 = -1 | (..., n)
attention | scaled_dot_product_attention | @attention; @options | (..., Tq, d_v)
attention | self_attention | @sequence; @within; @causal | (..., T, d_v)
heads | merge_heads | x (..., h, T, d) | (..., T, h·d)
heads | multi_head_attention | @layer; @numbers; @causal | (..., Tq, d_output)
heads | repeat_key_value_heads | x (..., Hkv, T, d); num_heads: 6 | (..., H, T, d)
heads | split_heads | x (..., T, h·d); num_heads: 3 | (..., h, T, d)
positions | rotate_pairs
          | x (..., T, d); positions (..., T); *; base: 50.0 = 10000.0; interleaved: True = False
          | (..., T, d)
positions | sinusoidal_encoding | T: 5; d_model: 4; *; base: 50.0 = 10000.0 | float64 (T, d_model)
cache | KeyValueCache.attend
      | query (..., T, d_k); key (..., T, d_k); value (..., T, d_v); @within; causal = True
      | (..., T, d_v); (..., T, d_v)
gradients | scaled_dot_product_attention_vjp | @attention; d_output (..., Tq, d_v); @options
          | of query; of key; of value; of bias
gradients | self_attention_vjp | @sequence; d_output (..., T, d_v); @within; @causal
          | of x; of w_query; of w_key; of w_value; of bias
gradients | softmax_vjp | weights (..., n); d_weights (..., n) | of weights
language | bits_per_token | @choices | float
language | cross_entropy | @choices | float
language | perplexity | @choices | float
streaming | attention_state | @attention; @options; @blocks | @state
streaming | streaming_attention | @attention; @options; @blocks | (..., Tq, d_v)
streaming | streaming_attention_vjp
          | @attention; d_output (..., Tq, d_v); @options; @blocks; state = None
          | of query; of key; of value; of bias
streaming | AttentionState.of | @block | @state
streaming | AttentionState.merge | @block | @state
"""

# Even where a width must be; where heads are counted, as the values in the table count them.
SIZES = {"n": 3, "m": 7, "d": 4, "V": 11, "T": 13, "Tq": 5, "Tk": 7, "d_k": 3, "d_v": 2}
SIZES |= {"d_model": 11, "d_source": 17, "d_output": 19, "h": 3, "H": 6, "Hkv": 2}

INTEGERS = {"targets": "V", "lengths": "Tk", "segments": 3, "key_segments": 3, "positions": 100}


def attend_twice(query, key, value, **options):
    """Return the outputs of a cache for the first positions, and for as many more."""
    cache = KeyValueCache()
    first = cache.attend(query, key, value, **options)
    for name in {"mask", "bias"} & options.keys():
        if np.ndim(options[name]):  # the same for the keys of now as for those of before
            options[name] = np.concatenate([options[name], options[name]], axis=-1)
    return first, cache.attend(query, key, value, **options)


def state_in_two(scores, value, *, mask=None):
    """Return the state of the first three keys, merged with that of the others."""
    scores, value = np.asarray(scores), np.asarray(value)
    mask = np.broadcast_to(True if mask is None else mask, scores.shape)
    one, other = (
        AttentionState.of(scores[..., keys], value[..., keys, :], mask=mask[..., keys])
        for keys in (slice(3), slice(3, None))
    )
    return one.merge(other)


WRAPPED = {"KeyValueCache.attend": attend_twice, "AttentionState.merge": state_in_two}


@dataclass(frozen=True)
class Entry:
    """A parameter, or one array of the result."""

    name: str
    axes: tuple | None  # None: no array
    given: str
    default: str

    @property
    def is_array_of_numbers(self):
        """Say whether it holds real numbers, of a dtype that counts."""
        return self.axes is not None and self.name != "mask" and self.name not in INTEGERS


@dataclass(frozen=True)
class Call:
    """One line of the table."""

    module: str
    name: str
    entries: tuple  # the parameters, and "*"
    results: tuple

    def __str__(self):
        return self.name

    @property
    def parameters(self):
        """Return the parameters by name."""
        return {entry.name: entry for entry in self.entries if entry != "*"}

    @property
    def numbers(self):
        """Return the names of the arrays of real numbers."""
        return [name for name, entry in self.parameters.items() if entry.is_array_of_numbers]

    @property
    def public(self):
        """Return what a reader calls."""
        found = selfattn_ref
        for name in self.name.split("."):
            found = getattr(found, name)
        return found

    def __call__(self, **arguments):
        """Make the call, and return all arrays of its result."""
        result = WRAPPED.get(self.name, self.public)(**arguments)
        if isinstance(result, AttentionState):
            return [result.shift, result.total, result.output, result.log_sum_exp]
        if not isinstance(result, tuple):
            return [result]
        bias = getattr(result, "d_bias", None)
        return [*result] if bias is None else [*result, bias]

    def axes(self, result):
        """Return the axes of one array of the result."""
        if result.name in self.parameters:
            return self.parameters[result.name].axes
        return result.axes or ()

    def shape(self, axes, lead, sizes):
        """Return the shape that axes mean."""
        given = {n: int(e.given) for n, e in self.parameters.items() if e.given.isdigit()}
        sizes = SIZES | sizes | given

        def size(axis):
            return math.prod(int(p) if p.isdigit() else sizes[p] for p in axis.split("·"))

        return tuple(s for axis in axes for s in (lead if axis == "..." else (size(axis),)))

    def arguments(self, lead=(2,), dtype=np.float64, **sizes):
        """Return the arguments: arrays of these leading axes, and of the sizes of the table."""
        found = {}
        for seed, (name, entry) in enumerate(self.parameters.items()):
            if entry.axes is None:
                if entry.given:
                    found[name] = ast.literal_eval(entry.given)
                continue
            shape = self.shape(entry.axes, lead, sizes)
            rng = np.random.default_rng(seed)
            if name == "mask":
                found[name] = rng.random(shape) < 0.8
            elif name in INTEGERS:
                most = INTEGERS[name]
                most = self.shape((most,), lead, sizes)[0] if isinstance(most, str) else most
                found[name] = rng.integers(0, max(1, most), shape)
            else:
                found[name] = normal(*shape, seed=seed).astype(dtype)
        return found

    def shapes(self, lead=(2,), **sizes):
        """Return the shapes of the result."""
        return [self.shape(self.axes(result), lead, sizes) for result in self.results]


def _entry(text):
    name, axes, given, default = re.fullmatch(
        r"([\w ]*?) ?(\(.*?\))?(?:: (.+?))?(?: = (.+))?", text.strip()
    ).groups(default="")
    return Entry(
        name, tuple(axes[1:-1].replace(",", " ").split()) if axes else None, given, default
    )


def _lines(text):
    """Return the lines of a text, each with those below it that are indented."""
    return re.sub(r"\n +", " ", text.strip()).splitlines()


def _calls():
    groups = dict(line.split(maxsplit=1) for line in _lines(GROUPS))
    for line in _lines(TABLE):
        while "@" in line:
            line = re.sub(r"@(\w+)", lambda found: groups[found[1]], line)
        module, name, parameters, results = (part.strip() for part in line.split(" | "))
        entries = (p if p == "*" else _entry(p) for p in re.split("; *", parameters))
        found = (_entry(part.removeprefix("of ")) for part in re.split("; *", results))
        yield Call(module, name, tuple(entries), tuple(found))


CALLS = list(_calls())
BY_NAME = {call.name: call for call in CALLS}
