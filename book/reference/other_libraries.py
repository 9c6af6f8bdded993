"""Where the libraries differ: what each does, as measured on a CPU with the versions named here.

Data alone: it is read without any of the libraries, and each of its cells is run by
`tests/peers/test_differences.py`.
A cell is one word for what happens, or one for each mode of the library in which it differs.
A row that a library leaves out is one that it has no way to express.
"""

from hashlib import sha256
from typing import Any

# The day on which the whole table was measured, and what it was then: a table that has changed
# since has to be measured again, and gets another day.
MEASURED = "2026-11-21"
MEASURED_TABLE = "d78b7a6a224c24cf"

# The packages whose versions the columns describe; requirements-peers.txt pins the same.
VERSIONS = {
    "torch": "2.13.0",
    "jax": "0.10.2",
    "keras": "3.15.1",
    "onnx": "1.23.2",
    "onnxruntime": "1.31.1",
}

# Column: the package, what is called.
LIBRARIES = {
    "here": ("selfattn_ref", "scaled_dot_product_attention"),
    "ONNX": ("onnx", "Attention, reference implementation, operator set 25"),
    "ONNX Runtime": ("onnxruntime", "Attention, operator set 25, CPU"),
    "PyTorch SDPA": ("torch", "torch.nn.functional.scaled_dot_product_attention, CPU"),
    "PyTorch MultiheadAttention": ("torch", "torch.nn.MultiheadAttention, CPU"),
    "JAX": ("jax", "jax.nn.dot_product_attention, XLA, CPU"),
    "Keras": ("keras", "keras.ops.dot_product_attention, NumPy backend"),
}

# Row: what it asks.
ROWS = {
    "layout": "the axes of queries, keys and values: batch B, heads H, length T, width d or E",
    "d_v ≠ d_k": "whether values may have a different width from keys",
    "True means": "what True says in a boolean mask",
    "causal, Tq ≠ Tk": "the corner from which the diagonal starts, without a cache",
    "mask with causal": "which one applies if both are given",
    "mask of one column": "what a mask (Tq, 1) means",
    "mask shorter than the keys": "what a mask (Tq, Tk − 2) means",
    "fully masked row, boolean": "the output of a query that may attend to no key",
    "fully masked row, −∞ bias": "the same, expressed as a bias",
    "no keys": "the output if Tk = 0",
    "softmax of −∞ alone": "the weights of a row of scores that are all −∞",
    "NaN in a masked key": "where it shows",
    "NaN in a masked value": "where it shows",
    "float64": "the dtype of the output, and the precision behind it",
    "float16, products above 65504": "dot products out of range, but not the scaled scores",
    "float16, scores above 65504": "scores out of range",
}

HERE = {
    "layout": "(…, T, d)",
    "d_v ≠ d_k": "yes",
    "True means": "attend",
    "causal, Tq ≠ Tk": "upper left",
    "mask with causal": "both",
    "mask of one column": "broadcast",
    "mask shorter than the keys": "error",
    "fully masked row, boolean": "0",
    "fully masked row, −∞ bias": "0",
    "no keys": "0",
    "softmax of −∞ alone": "0",
    "NaN in a masked key": "no effect",
    "NaN in a masked value": "no effect",
    "float64": "kept",
    "float16, products above 65504": "right",
    "float16, scores above 65504": "right",
}

ONNX = {
    "layout": "BHTd",  # or B, T, H·d with the numbers of heads as attributes
    "d_v ≠ d_k": "yes",
    "True means": "attend",
    "causal, Tq ≠ Tk": "upper left",
    "mask with causal": "both",
    # The specification lets a mask be shorter than the keys; a single column is such a mask.
    "mask of one column": "the other keys are masked",
    "mask shorter than the keys": "the other keys are masked",
    "fully masked row, boolean": "0",
    "fully masked row, −∞ bias": "0",
    "no keys": "error",
    "softmax of −∞ alone": "NaN",  # the operator Softmax; inside Attention it is 0
    "NaN in a masked key": "NaN",  # −∞ is added to the score
    "NaN in a masked value": "NaN",
    "float64": "kept",
    # The scale is split between queries and keys before they are multiplied. softmax_precision
    # widens the softmax alone, after the product has overflowed.
    "float16, products above 65504": "right",
    "float16, scores above 65504": {"default": "NaN", "softmax_precision=FLOAT": "NaN"},
}

ONNX_RUNTIME = ONNX | {
    "mask of one column": "error",
    "mask shorter than the keys": "error",
    # Other than in the reference: float64 goes another way, in float32.
    "fully masked row, boolean": {"float32": "0", "float64": "NaN"},
    "fully masked row, −∞ bias": {"float32": "0", "float64": "NaN"},
    "float64": "kept, precision of float32",
}

PYTORCH_SDPA = {
    "layout": "(…, T, d)",
    "d_v ≠ d_k": {"default": "yes", "FLASH_ATTENTION": "no", "MATH": "yes"},
    "True means": "attend",
    "causal, Tq ≠ Tk": "upper left",
    "mask with causal": {"default": "both", "FLASH_ATTENTION": "both", "MATH": "error"},
    "mask of one column": "broadcast",
    "mask shorter than the keys": "error",
    "fully masked row, boolean": "0",
    "fully masked row, −∞ bias": "0",
    "no keys": "0",
    "softmax of −∞ alone": "NaN",  # torch.softmax
    "NaN in a masked key": "NaN",
    "NaN in a masked value": "NaN",
    "float64": "kept",
    "float16, products above 65504": "right",
    "float16, scores above 65504": "right",
}

# Its two ways: the weights are wanted (the default), or not and SDPA does the work.
_WEIGHTS, _FAST = "need_weights=True", "need_weights=False"

PYTORCH_MULTIHEAD = {
    "layout": {"batch_first=False": "TBE", "batch_first=True": "BTE"},
    "d_v ≠ d_k": "no",  # vdim is the width of what the values are made from
    "True means": "ignore",
    "causal, Tq ≠ Tk": "needs a mask",
    # is_causal promises that the mask is causal; one of the two is then not looked at.
    "mask with causal": {_WEIGHTS: "mask alone", _FAST: "causal alone"},
    "mask of one column": "error",
    "mask shorter than the keys": "error",
    "fully masked row, boolean": {_WEIGHTS: "NaN", _FAST: "0"},
    "fully masked row, −∞ bias": {_WEIGHTS: "NaN", _FAST: "0"},
    "no keys": "0",
    "NaN in a masked key": "NaN",
    "NaN in a masked value": "NaN",
    "float64": "kept",
    "float16, products above 65504": "right",
    "float16, scores above 65504": {_WEIGHTS: "NaN", _FAST: "right"},
}

JAX = {
    "layout": "BTHd",  # or THd
    "d_v ≠ d_k": "no",
    "True means": "attend",
    "causal, Tq ≠ Tk": "upper left",
    "mask with causal": "both",
    "mask of one column": "broadcast",
    "mask shorter than the keys": "error",
    # Scores are replaced by a large negative number, and all of a row are then alike: those of
    # the keys that causality hides, too.
    "fully masked row, boolean": "mean of all values",
    "fully masked row, −∞ bias": "NaN",
    "no keys": "0",
    "softmax of −∞ alone": "NaN",  # jax.nn.softmax
    "NaN in a masked key": "no effect",
    "NaN in a masked value": "NaN",
    "float64": {
        "default": "float32",  # of JAX as a whole
        "jax_enable_x64": "kept, precision of float32",  # of the softmax
    },
    "float16, products above 65504": "right",
    "float16, scores above 65504": "right",
}

KERAS = JAX | {
    "layout": "BTHd",
    "d_v ≠ d_k": "yes",
    "no keys": "error",
    "softmax of −∞ alone": "NaN",  # keras.ops.softmax
    "float64": "float32",
    "float16, products above 65504": "NaN",
    "float16, scores above 65504": "NaN",
}

TABLE: dict[str, dict[str, Any]] = {
    "here": HERE,
    "ONNX": ONNX,
    "ONNX Runtime": ONNX_RUNTIME,
    "PyTorch SDPA": PYTORCH_SDPA,
    "PyTorch MultiheadAttention": PYTORCH_MULTIHEAD,
    "JAX": JAX,
    "Keras": KERAS,
}

# What each library makes of the calls of attention in the worked examples, in float32: the options
# that it lacks, about which it is not asked; the conventions that it follows; the calls that it
# refuses though there is an answer, those that it answers though it should refuse, and those in
# which its numbers differ. All other calls agree. A call is named by its example and its number.
# Measured by tests/peers/test_conventions.py.
EXAMPLES: dict[str, dict[str, tuple[str, ...]]] = {
    "ONNX": {
        "lacks": ("offset",),
        "follows": (
            "cap-before-bias",
            "nan-score",
            "nan-value",
            "no-cap",
            "padded",
            "true-attends",
            "upper-left",
            "zeros",
        ),
        "refuses": (
            "SA093-3",
            "SA108-1",
            "SA108-2",
            "SA108-3",
        ),
        "answers": (
            "SA052-4",
            "SA052-5",
        ),
        "differs": (
            "SA081-6",
            "SA093-8",
            "SA093-9",
            "SA094-3",
            "SA094-4",
            "SA094-5",
            "SA094-6",
        ),
    },
    "ONNX Runtime": {
        "lacks": ("offset",),
        "follows": (
            "cap-before-bias",
            "nan-score",
            "nan-value",
            "no-cap",
            "true-attends",
            "upper-left",
            "zeros",
        ),
        "refuses": (
            "SA013-1",
            "SA041-1",
            "SA045-1",
            "SA081-2",
            "SA081-3",
            "SA081-4",
            "SA081-5",
            "SA081-6",
            "SA093-1",
            "SA093-3",
            "SA093-4",
            "SA093-5",
            "SA093-6",
            "SA093-7",
            "SA093-8",
            "SA093-9",
            "SA093-10",
            "SA094-3",
            "SA094-4",
            "SA094-5",
            "SA094-6",
            "SA094-7",
            "SA094-12",
            "SA098-1",
            "SA098-2",
            "SA098-3",
            "SA098-4",
            "SA101-8",
            "SA101-9",
            "SA101-11",
            "SA101-14",
            "SA104-3",
            "SA104-4",
            "SA104-5",
            "SA106-5",
            "SA106-6",
            "SA107-2",
            "SA105-5",
            "SA108-1",
            "SA108-2",
            "SA108-3",
        ),
        "answers": (
            "SA052-4",
            "SA052-5",
        ),
        "differs": (),
    },
    "PyTorch SDPA": {
        "lacks": (
            "offset",
            "soft_cap",
        ),
        "follows": (
            "nan-score",
            "nan-value",
            "true-attends",
            "upper-left",
            "zeros",
        ),
        "refuses": (
            "SA044-2",
            "SA081-4",
            "SA101-14",
            "SA106-5",
            "SA106-6",
            "SA108-1",
            "SA108-2",
            "SA108-3",
        ),
        "answers": (
            "SA052-4",
            "SA052-5",
        ),
        "differs": ("SA097-3",),
    },
    "JAX": {
        "lacks": (
            "offset",
            "soft_cap",
        ),
        "follows": (
            "nan-value",
            "select-score",
            "true-attends",
            "uniform",
            "upper-left",
        ),
        "refuses": (
            "SA093-1",
            "SA093-3",
            "SA093-4",
            "SA093-5",
            "SA093-6",
            "SA093-7",
            "SA093-8",
            "SA093-9",
            "SA093-10",
            "SA098-1",
            "SA098-2",
            "SA098-3",
            "SA108-1",
            "SA108-2",
            "SA108-3",
        ),
        "answers": ("SA052-5",),
        "differs": (),
    },
    "Keras": {
        "lacks": (
            "offset",
            "soft_cap",
        ),
        "follows": (
            "nan-value",
            "select-score",
            "true-attends",
            "uniform",
            "upper-left",
        ),
        "refuses": (
            "SA108-1",
            "SA108-2",
            "SA108-3",
        ),
        "answers": (
            "SA052-4",
            "SA052-5",
        ),
        "differs": (),
    },
}


def fingerprint() -> str:
    """Return what changes with any word of the table or any version."""
    return sha256(repr((VERSIONS, LIBRARIES, ROWS, TABLE)).encode()).hexdigest()[:16]
