"""What the page "Other libraries" says of them: its lines run, and its names are theirs."""

import inspect
import re

import numpy as np
import pytest

import selfattn_ref as sa
from tests.pages.sources import BOOK, CELL, cells
from tests.peers import peer

PAGE = (BOOK / "reference" / "other-libraries.md").read_text("utf-8")
LESSON = (BOOK / "beyond" / "long-sequences.md").read_text("utf-8")
BLOCK = re.compile(r"^```(?:python|\{code-cell\} python)\n.*?^```$", re.M | re.S)
SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)


def lines_in_order(text):
    """Return the visible cells of a page and its lines for other libraries, as they stand."""
    for block in BLOCK.findall(text):
        if snippet := SNIPPET.match(block):
            yield True, snippet[1]
        elif CELL.match(block):
            (cell,) = cells(block)
            if cell.visible:
                yield False, cell.code


# Keras warns of itself where it reads its weights.
@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_the_lines_of_the_page_run_in_order():
    for name in ("torch", "jax", "keras", "onnx", "onnxruntime"):
        peer(name)
    names, asserted = {}, 0
    for theirs, code in lines_in_order(PAGE):
        exec(compile(code, "other-libraries", "exec"), names)
        asserted += theirs and "assert_allclose" in code
    assert asserted == len(SNIPPET.findall(PAGE)) == 9


def test_the_lines_on_long_sequences_run():
    peer("torch")
    (code,) = SNIPPET.findall(LESSON)
    assert "assert_close" in code
    exec(code, {})


# --- the tables "Who calls what by which name" ------------------------------------------------


def words(*callables):
    return {name for f in callables for name in inspect.signature(f).parameters}


def words_of_onnx():
    schema = peer("onnx").defs.get_schema("Attention")
    return {given.name for given in schema.inputs} | set(schema.attributes)


def words_of_sdpa():
    """Return its arguments: it has no signature, but its documentation begins with one."""
    function = peer("torch").nn.functional.scaled_dot_product_attention
    return set(re.findall(r"(\w+)(?:=[^,)]*)?[,)]", function.__doc__.split("->")[0]))


def columns(which):
    """Return, for the columns of a table, the names that the callables understand."""
    torch, jax, keras = peer("torch"), peer("jax"), peer("keras")
    if which == "functions":
        jax_words, keras_words = (
            words(library.dot_product_attention) for library in (jax.nn, keras.ops)
        )
        return [words_of_sdpa(), jax_words, keras_words, words_of_onnx()]
    layers = torch.nn.MultiheadAttention, keras.layers.MultiHeadAttention
    return [words(layers[0].__init__, layers[0].forward), words(layers[1].__init__, layers[1].call)]


def rows(which):
    """Return the rows of a table, each as the lists of names that its cells have in code."""
    text = PAGE.split("(other-libraries-arguments)=")[1].split("(other-libraries-notation)=")[0]
    part = text.split("Two layers")[which == "layers"]
    lines = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("| ")]
    return [[re.findall(r"`(\w+)`", cell) for cell in line] for line in lines[1:]]


TABLES = pytest.mark.parametrize("which", ["functions", "layers"])


@TABLES
def test_every_name_in_a_table_is_one_that_the_callable_takes(which):
    known = columns(which)
    for _, *cells_of_row in rows(which):
        for understood, names in zip(known, cells_of_row, strict=True):
            assert set(names) <= understood


@TABLES
def test_no_column_leaves_out_a_word_of_its_table_that_its_callable_takes(which):
    known = columns(which)
    used = [{name for _, *row in rows(which) for name in row[i]} for i in range(len(known))]
    assert all(used)
    for understood, said in zip(known, used, strict=True):
        assert set.union(*used) & understood == said


@TABLES
def test_the_words_on_our_side_are_ours(which):
    takers = sa.streaming_attention, sa.multi_head_attention, sa.padding_mask
    ours = words(*takers) | {"padding_mask"}
    assert {name for first, *_ in rows(which) for name in first} <= ours


def test_keras_takes_the_values_before_the_keys():
    order = [*inspect.signature(peer("keras").layers.MultiHeadAttention.call).parameters]
    assert order[1:4] == ["query", "value", "key"]


def test_a_causal_layer_of_pytorch_wants_a_mask_as_well():
    torch = peer("torch")
    layer = torch.nn.MultiheadAttention(4, 1)
    x = torch.tensor(np.ones((3, 4), np.float32))
    with pytest.raises(RuntimeError, match="attn_mask"):
        layer(x, x, x, is_causal=True)
