"""The search: what is in its index, and what a question finds first."""

import json
from pathlib import Path
from typing import Any

import pytest
import quickjs
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

from press import fonts
from press.lesson import code, exercises, statements
from press.math import render, text
from press.site import addresses, library, scope, search
from tests.pages.parts import extension

ROOT = Path(__file__).parents[2]

MASKING = r"""---
question: How does one ask for the next word?
level: 2
---
(masking)=
# Hide what comes later

Let $s_{ij}$ be the score of two words. Then

$$
a = \frac{e^{s}}{\sqrt{d_k}}
$$ (eq-share)

and so on, e.g. here [for probability $p$]. Next sentence.

## The rule

**Cold.** The largest one wins.

```python
import numpy as np
weights = softmax(np.load("SA016"), axis=-1)
```

````{prf:theorem} Hidden keys
:label: thm-hidden
A hidden key counts for nothing.
````

````{prf:proof}
Its exponential is zero.
````

Checked by `tests/theorems/test_causal.py::TestHiddenKeys`.

```{exercise-start}
:label: ex-hide
```
Hide the first key.
```{exercise-end}
```

```{solution-start} ex-hide
:class: dropdown
```
Nothing is left of it.
```{solution-end}
```

| name | value |
|---|---|
| width | 8 |
| 1 | 2 |
"""
GLOSSARY = """# Glossary

```{glossary}
mask
causal mask
  Who may look at whom.
```
"""
API = """# masks

```{eval-rst}
.. py:function:: causal_mask(T)
   :canonical: selfattn_ref.causal_mask

   Let each query see what came before.

   >>> causal_mask(1)
   array([[ True]])
```
"""
EXAMPLE = """---
orphan: true
---
# SA016: A causal mask, step by step

Shows the mask.

## Inputs

| number | value |
|---|---|
| width | 8 |

## Derivation

In fractions.

## Origin

It stands in a notebook.
"""


def pages(site: Path) -> dict[str, Any]:
    text = (site / "_static" / "search-index.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("bookSearch.take(").removesuffix(");\n"))
    return {page[0]: page[1:] for page in index["pages"]} | {"kinds": index["kinds"]}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small book, built."""
    root = tmp_path_factory.mktemp("search")
    for name, content in {
        "index": "# The book\n\nIt has a mask.\n",
        "book/lessons/masking": MASKING,
        "book/reference/glossary": GLOSSARY,
        "book/reference/api/masks": API,
        "book/examples/SA016": EXAMPLE,
    }.items():
        (root / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "src" / f"{name}.md").write_text(content, encoding="utf-8")
    (root / "src" / "_toc.yml").write_text(
        "format: jb-book\nroot: index\nparts:\n"
        "- caption: Causal masking\n  chapters:\n  - file: book/lessons/masking\n"
        "- caption: Reference\n  chapters:\n  - file: book/reference/glossary\n"
        "  - file: book/reference/api/masks\n"
    )
    settings = {
        "extensions": [
            *("sphinx_external_toc", "myst_nb", "sphinx_proof", "sphinx_exercise"),
            extension(scope, addresses, fonts, render, search, code, exercises, statements),
        ],
        "myst_enable_extensions": ["dollarmath"],
        "html_math_renderer": "static_math",
        "html_theme": "basic",
        "copyright": "2026",  # the year in which the book is cited
        "numfig": True,
        "proof_title_format": "%t",
        "exercise_style": "solution_follow_exercise",
        "external_toc_exclude_missing": False,
        "nb_execution_mode": "off",
    }
    with docutils_namespace():
        Sphinx(
            # Beside the trees lie the fonts, which the other small book of the session has, too.
            *(root / "src", None, root / "site", root.parent / "search-trees", "html", settings),
            status=None,
            warning=None,
        ).build()
    return root / "site"


class TestFormula:
    @pytest.mark.parametrize(
        "tex, read",
        [
            (r"\sqrt{d_k}", "√d_k"),
            (r"\frac{Q K^\top}{\sqrt{d_k}}", "(QKᵀ)/√d_k"),
            (r"\tfrac12", "1/2"),
            (r"e^{-\infty} = 0", "e^−∞ = 0"),
            (r"s_{ij} \le \tau", "s_ij ≤ τ"),
            (r"\sum_{j=0}^{n-1} a_j", "Σ_(j = 0)^(n−1) a_j"),
            (r"\softmax\!\left(x\right.", "softmax(x"),
            (r"\bar p", "p\u0304"),
            (r"\begin{cases} 1 & \text{if } j \le i, \\ 0 \end{cases}", "1 if j ≤ i, 0"),
            (r"\text{cross-entropy}", "cross-entropy"),
        ],
    )
    def test_it_reads_as_one_types_it(self, tex: str, read: str) -> None:
        assert text.plain(tex) == read


class TestIndex:
    def test_the_file_that_one_downloads_is_named(self) -> None:
        told, _ = library.how_to_install("")
        assert search.words(told) == f"Download {library.WHEEL}, then install it:"

    def test_pages_come_in_reading_order_with_their_parts_and_questions(self, site: Path) -> None:
        found = pages(site)
        assert [name for name in found if name != "kinds"] == [
            *("index.html", "lessons/masking.html", "reference/glossary.html"),
            *("reference/api/masks.html", "SA016/index.html"),
        ]
        question, part, _ = found["lessons/masking.html"]
        assert question == "How does one ask for the next word?"
        assert part == "Causal masking, level 2"

    def test_text_is_sentences_with_each_formula_once(self, site: Path) -> None:
        anchor, kind, title, text = pages(site)["lessons/masking.html"][2][0]
        assert (anchor, kind, title) == ("", 0, "Hide what comes later")
        assert text.split("\n") == [
            "Let s_ij be the score of two words.",
            "Then a = (e^s)/√d_k and so on, e.g. here [for probability p].",
            "Next sentence.",
        ]

    def test_every_entry_has_its_place_and_its_kind(self, site: Path) -> None:
        found = pages(site)
        entries = {entry[0]: entry for entry in found["lessons/masking.html"][2]}
        assert {name: found["kinds"][entry[1]] for name, entry in entries.items()} == {
            "": "page",
            "the-rule": "section",
            "thm-hidden": "theorem",
            "thm-hidden-proof": "proof",
            "ex-hide": "exercise",
            "ex-hide-answer": "solution",
        }
        assert entries["thm-hidden"][2] == "Theorem 1. Hidden keys"
        assert entries["thm-hidden-proof"][2:] == ["Proof of Theorem 1", "Its exponential is zero."]
        assert entries["ex-hide-answer"][2:] == ["Solution of exercise 1", "Nothing is left of it."]

    def test_code_is_in_it_by_the_public_names_only(self, site: Path) -> None:
        text = pages(site)["lessons/masking.html"][2][1][3]
        assert text.split("\n") == [
            *("Cold. The largest one wins.", "width · 8.", "In the code: softmax, SA016."),
        ]

    def test_terms_functions_and_examples_are_entries(self, site: Path) -> None:
        found = pages(site)
        assert found["reference/glossary.html"][2][1][1:] == [
            *(found["kinds"].index("term"), "mask, causal mask", "Who may look at whom."),
        ]
        assert found["reference/api/masks.html"][2][1] == [
            *("causal_mask", found["kinds"].index("function"), "causal_mask"),
            "Let each query see what came before.",
        ]
        assert found["SA016/index.html"][2] == [
            [
                *("", 0, "SA016: A causal mask, step by step"),
                "Shows the mask.\nIt stands in a notebook.\nIn the code: width.",
            ]
        ]

    def test_links_lead_to_anchors_and_those_of_folded_text_are_inside(self, site: Path) -> None:
        for name, (_, _, entries) in ((n, p) for n, p in pages(site).items() if n != "kinds"):
            page = (site / name).read_text(encoding="utf-8")
            assert [e[0] for e in entries if e[0] and f'id="{e[0]}"' not in page] == []
        assert '<p id="thm-hidden-proof"' in (site / "lessons/masking.html").read_text()


INDEX = {
    "kinds": list(search.KINDS),
    "pages": [
        ["causal/masking.html", "How does one ask?", "Causal masking", [
            ["", 0, "Hide the words that come later",
             "A mask hides.\nOne also reads “casual attention”; the word is causal."],
            ["why", 1, "Why minus infinity", "A score becomes −∞.\nThe weight is then 0."],
            ["thm-hidden", 2, "Theorem 1. Hidden keys", "Keys behind a mask count for nothing."],
            ["thm-hidden-proof", 5, "Proof of Theorem 1", "By the definition of a temperature."],
        ]],
        ["scaling/variance.html", "Why divide by a root?", "Scaling", [
            ["", 0, "Find the variance",
             "Scores are divided by √d_k.\nIts slope is τ.\nQKᵀ has W_Q in it."],
            ["rule", 1, "Temperature in a heading", "One factor."],
        ]],
        ["reference/api/masks.html", "", "Reference", [
            ["", 0, "masks: who may attend", "The causal one hides the future, for causal models."],
            ["causal_mask", 3, "causal_mask",
             "Let each query see what came before.\nA mask as in [1]."],
        ]],
        ["reference/api/attention.html", "", "Reference", [
            ["", 0, "attention: mix the values", "Causal or not."],
            ["sdpa", 3, "scaled_dot_product_attention", "Mix."],
            ["mha", 3, "multi_head_attention", "Attend in heads."],
            ["gradients", 3, "AttentionGradients", "What attention hands back."],
            ["cache", 3, "KeyValueCache", "Keeps keys and values."],
        ]],
        ["reference/glossary.html", "", "Reference", [
            ["", 0, "Glossary", ""],
            ["term-attention", 4, "attention", "A weighted average of values."],
            ["term-cache", 4, "key/value cache, KV cache", "The keys and values so far."],
            ["term-mask", 4, "mask", "Who may look at whom."],
            ["term-causal", 4, "causal mask", "The mask of writers; all need it."],
            ["term-temperature", 4, "temperature", "What scores are divided by."],
        ]],
        ["reference/bibliography.html", "", "Reference", [
            ["", 0, "Bibliography", ""],
            ["id1", 9, "", "Someone. A causal mask is all you need. 2017."],
        ]],
        ["SA016/index.html", "", "Worked examples", [["", 0, "SA016: A mask, step by step", ""]]],
        ["SA017/index.html", "", "Worked examples", [["", 0, "SA017: After SA016", ""]]],
        ["beyond/gradients.html", "", "Beyond", [
            ["", 0, "The way back", "Found in 330 steps."],
            ["thm-33", 2, "Theorem 33. Errors of a difference", "Of what is rounded."],
            ["thm-3", 2, "Theorem 3. No two words prefer each other", "Whatever their scores."],
        ]],
        ["causal/guarantees.html", "", "Causal masking", [
            ["", 0, "Guarantees for the words that come later",
             "Hide the words that come later: the rule."],
        ]],
        ["concepts/sharpness.html", "", "Concepts", [["", 0, "Why a temperature?", ""]]],
    ],
}  # fmt: skip
CAUSAL = "The causal order of causal things stays causal.\n" * 30  # a word of the book


@pytest.fixture(scope="module")
def engine() -> quickjs.Context:
    """Return a JavaScript engine with the script of the page and a small index."""
    index = json.loads(json.dumps(INDEX))
    index["pages"][2][3][0][3] += "\n" + CAUSAL.strip()
    context = quickjs.Context()
    context.eval((ROOT / "book/theme/search.js").read_text(encoding="utf-8"))
    context.eval(f"var book = bookSearch.prepare({json.dumps(index)});")
    return context


def ask(engine: quickjs.Context, question: str) -> dict[str, Any]:
    command = f"JSON.stringify(bookSearch.find(book, {json.dumps(question)}))"
    found: dict[str, Any] = json.loads(engine.eval(command))
    return found


def first(engine: quickjs.Context, question: str) -> str:
    groups = ask(engine, question)["pages"]
    return str(groups[0]["results"][0]["entry"]["address"]) if groups else ""


class TestRanking:
    @pytest.mark.parametrize(
        "question, address",
        [
            ("SA016", "SA016/index.html"),
            ("sa16", "SA016/index.html"),
            ("SA 016", "SA016/index.html"),
            ("scaled_dot_product_attention", "reference/api/attention.html#sdpa"),
            ("scaled dot", "reference/api/attention.html#sdpa"),
            ("multi head", "reference/api/attention.html#mha"),
            ("MultiHeadAttention", "reference/api/attention.html#mha"),
            ("causal mask", "reference/api/masks.html#causal_mask"),
            ("causal_m", "reference/api/masks.html#causal_mask"),
            ("mask", "reference/glossary.html#term-mask"),
            ("masks", "reference/glossary.html#term-mask"),
            ("temperature", "concepts/sharpness.html"),
            ("hidden key", "causal/masking.html#thm-hidden"),
            ("why divide", "scaling/variance.html"),
            ("sqrt d_k", "scaling/variance.html"),
            ("√d_k", "scaling/variance.html"),
            (r"\sqrt{d_k}", "scaling/variance.html"),
            ("tau", "scaling/variance.html"),
            ("QK^T", "scaling/variance.html"),
            (r"QK^\top", "scaling/variance.html"),
            ("W_Q", "scaling/variance.html"),
            ("−∞", "causal/masking.html#why"),
            ("attention", "reference/glossary.html#term-attention"),
            ("KV cache", "reference/glossary.html#term-cache"),
            ("kvcache", "reference/glossary.html#term-cache"),
            ("KeyValueCache", "reference/api/attention.html#cache"),
            ("keyvaluecache", "reference/api/attention.html#cache"),
            ("Hide the words that come later", "causal/masking.html"),
            ("Theorem 3", "beyond/gradients.html#thm-3"),
            ("temperture", "concepts/sharpness.html"),
            ("hide words", "causal/masking.html"),
            ("causal mask is all you need", "reference/bibliography.html#id1"),
        ],
    )
    def test_the_best_place_comes_first(
        self, engine: quickjs.Context, question: str, address: str
    ) -> None:
        assert first(engine, question) == address

    def test_a_number_is_no_part_of_another(self, engine: quickjs.Context) -> None:
        for question, of in (("theorem 3", "thm-3"), ("33", "thm-33")):
            groups = ask(engine, question)["pages"]
            addresses = {r["entry"]["address"] for page in groups for r in page["results"]}
            assert addresses == {f"beyond/gradients.html#{of}"}

    def test_a_rare_word_beside_a_common_one_is_taken_for_a_slip_and_kept(
        self, engine: quickjs.Context
    ) -> None:
        found = ask(engine, "casual")
        addresses = [r["entry"]["address"] for page in found["pages"] for r in page["results"]]
        assert found["instead"] == "causal"
        assert {"reference/api/masks.html#causal_mask", "causal/masking.html"} <= {*addresses}

    def test_what_is_nowhere_is_not_found(self, engine: quickjs.Context) -> None:
        assert ask(engine, "zzzqq")["count"] == 0

    def test_words_that_never_meet_are_found_apart_and_it_is_said(
        self, engine: quickjs.Context
    ) -> None:
        found = ask(engine, "temperature zzzqq")
        assert found["count"] > 0
        assert not found["whole"]

    def test_results_stand_together_by_page(self, engine: quickjs.Context) -> None:
        titles = [page["title"] for page in ask(engine, "mask")["pages"]]
        assert len(titles) == len(set(titles)) > 2

    def test_the_line_shown_is_the_sentence_with_the_words(self, engine: quickjs.Context) -> None:
        line = ask(engine, "weight then")["pages"][0]["results"][0]["line"]
        assert engine.eval(f"book.lines[{line}].text") == "The weight is then 0."

    def test_under_a_function_stands_what_it_does(self, engine: quickjs.Context) -> None:
        line = ask(engine, "causal mask")["pages"][0]["results"][0]["line"]
        assert engine.eval(f"book.lines[{line}].text") == "Let each query see what came before."

    def test_what_was_found_is_marked(self, engine: quickjs.Context) -> None:
        command = """JSON.stringify(bookSearch.cut("Divided by √d_k; masks are not.",
            bookSearch.find(book, "sqrt d_k mask").asked))"""
        assert json.loads(engine.eval(command)) == [
            *("Divided by ", "√", "", "d_k", "; ", "masks", " are not."),
        ]


class TestWords:
    @pytest.mark.parametrize(
        "words",
        [
            ["mask", "masks", "masked", "masking"],
            ["divide", "divides", "divided", "dividing"],
            ["query", "queries"],
            ["weight", "weights", "weighted"],
            ["stop", "stopped"],
            ["softmax"],
            ["loss", "losses"],
        ],
    )
    def test_forms_of_a_word_have_one_stem_and_others_have_not(
        self, engine: quickjs.Context, words: list[str]
    ) -> None:
        stems = {engine.eval(f"bookSearch.stem({json.dumps(word)})") for word in words}
        assert len(stems) == 1
        assert engine.eval('bookSearch.stem("bias")') not in stems

    @pytest.mark.parametrize(
        "one, other, letters",
        [("casual", "causal", 1), ("mask", "mask", 0), ("masc", "mask", 1), ("ask", "mask", 1),
         ("kitten", "sitting", 3), ("abc", "abcd", 1)],
    )  # fmt: skip
    def test_distance_counts_changed_lost_added_and_swapped_letters(
        self, engine: quickjs.Context, one: str, other: str, letters: int
    ) -> None:
        command = f"bookSearch.distance({json.dumps(one)}, {json.dumps(other)}, 9, false)"
        assert engine.eval(command) == letters
