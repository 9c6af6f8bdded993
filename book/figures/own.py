"""A sentence of the reader's own: its words, their numbers, and how one of them listens."""

import json
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from IPython.display import HTML

from book.figures.glue import as_text, number
from book.figures.live.which_word import lean, side
from selfattn_ref import dot_similarity, softmax


def own_sentence(sentence: str, known: Mapping[str, Sequence[int]], asking: str) -> HTML:
    """Return a table of a sentence, which a script lets the reader change.

    `known` has the money and the water of words in small letters; any other word begins with
    (0, 0).
    """
    words = sentence.split()
    X = np.array([known.get(word.lower(), (0, 0)) for word in words])
    scores = dot_similarity(X)[words.index(asking)]
    weights = softmax(scores)
    rows = [
        f'<tr><th scope="row">{escape(word)}</th><td>{a}</td><td>{b}</td><td>{score:.0f}</td>'
        f'<td style="--role:var(--weight);--t:{round(100 * share)}%">{share:.2f}</td></tr>'
        for word, (a, b), score, share in zip(words, X, scores, weights.tolist(), strict=True)
    ]
    heads = "".join(f'<th scope="col">{n}</th>' for n in ("money", "water", "score", "weight"))
    return HTML(  # type: ignore[no-untyped-call]
        f'<div class="own" data-own="{escape(json.dumps(known))}" data-asking="{escape(asking)}">'
        '<p class="controls" hidden><label>Your sentence'
        f' <input value="{escape(sentence)}" maxlength="120" autocomplete="off"></label></p>'
        f'<table><thead><tr><th scope="col">word</th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
        f'<p class="says">{_said(words, X, weights, asking)}</p></div>'
    )


def _said(words: Sequence[str], X: np.ndarray, weights: np.ndarray, asking: str) -> str:
    most = [word for word, one in zip(words, weights, strict=True) if one > weights.max() - 1e-9]
    heard, average = weights @ X, X.mean(axis=0)
    leans = [f"{number(abs(lean(at)), 2)} toward {side(at)}" for at in (heard, average)]
    return (
        f"“{asking}” listens most to {' and '.join(most)}, {weights.max():.2f}"
        f"{' each' if len(most) > 1 else ''}. It hears {as_text(heard)}, which leans {leans[0]}."
        f" The plain average leans {leans[1]}."
    )
