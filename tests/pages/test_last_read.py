"""What nothing computes is as it was when it was last read."""

import json

import pytest

from tests.pages.last_read import LAST, changed, digest, in_words, read, statements, text_of, texts

PAGE = """
:::{prf:theorem} Half
:label: thm-half

At most a half.
:::

::::{prf:proof}
Less than $1/2$ at each step.
::::

A word hears more than before. It {cite:p}`stone1936` sees a river.

```{code-cell} python
:tags: [remove-cell]
columns = ["money", "water"]
assert 1 < 2
```

```{code-cell} python
Handout(
    "Mark the words before it.",
)
```

```{code-cell} python
axis.set(xlabel="words so far")
plt.show()
```

```{code-cell} python
own_sentence("The bank of the river", meaning, "bank")
```
"""


def test_it_has_been_read_as_it_is():
    """Read these again beside their numbers; then run `python -m tests.pages.last_read`."""
    assert not changed(read(), json.loads(LAST.read_text("utf-8")))


@pytest.mark.parametrize(
    "old, new, noticed",
    [
        ("At most", "At least", "thm-half"),
        ("Less", "Not more", "thm-half"),
        ("more than", "less than", "page"),
        ("stone1936", "stone1963", "page"),
        ("words before it", "words after it", "page"),
        ("words so far", "words to come", "page"),
        ('"money", "water"', '"water", "money"', "page"),
        ("1 < 2", "2 > 1", None),
        ("of the river", "by the river", "page"),
        ("sees a river.", "sees a\nriver.", None),
    ],
)
def test_what_has_changed_is_named(old, new, noticed):
    def texts(text):
        parts = {label: [] for label in ("thm-half", "page")}
        for label, block in statements("page", text):
            parts[label].append(block)
        parts["page"].append(text_of(text))
        return {label: "\n".join(some) for label, some in parts.items()}

    last = {name: digest(text) for name, text in texts(PAGE).items()}
    assert changed(texts(PAGE.replace(old, new)), last) == [noticed][: noticed is not None]
    assert changed({}, last) == ["page", "thm-half"]


def test_words_of_an_example_and_of_a_derivation_are_read():
    entry = {"description": "Two.", "value": ["a"]}
    assert [*in_words({"why": "So.", "sum": entry, "value": entry})] == ["So.", "Two.", "Two."]
    assert [*texts('says = "hidden" if turned else "seen"\ndot(x, 3)')] == ["hidden", "seen"]
