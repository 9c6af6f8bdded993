"""The poster: a whole Sheet with the formula, how to read it, and a question with its answer."""

from collections.abc import Sequence
from html import escape

import numpy as np

from book.figures.handouts import SOURCE
from book.figures.sheet import Sheet, shown
from selfattn_ref.worked_examples import WorkedExample

# Each role as the Sheet writes it, its color, and what it is to a word.
ROLES = (
    ("Q", "query", "what a word looks for"),
    ("K", "key", "what it is found by"),
    ("V", "value", "what it hands over"),
    ("scores", "score", "how well Q and K agree"),
    ("weights", "weight", "how closely it listens"),
    ("output", "context", "what it hears"),
)
FORMULA = (
    '<p class="formula">{output} = softmax({Q} {K}<sup>T</sup> ÷ '
    '√<i class="radicand">d<sub>k</sub></i>) {V}</p>'
)


class Poster:
    """A Sheet for the wall, on one sheet of paper; the word that is marked is asked about."""

    def __init__(
        self, title: str, lead: str, sheet: Sheet, reading: Sequence[str], example: WorkedExample
    ) -> None:
        self.title, self.lead, self.sheet = title, lead, sheet
        self.reading, self.example = reading, example

    def __repr__(self) -> str:
        return "Poster"

    def _repr_html_(self) -> str:
        reading = "".join(f"<li>{text}</li>" for text in self.reading)
        example = self.example
        formula = FORMULA.format_map({name: chip(name, color) for name, color, _ in ROLES})
        legend = "".join(f"<li>{chip(name, color)} {text}</li>" for name, color, text in ROLES)
        return (
            f'<section class="poster"><div class="top"><h2>{escape(self.title)}</h2>{formula}</div>'
            f'<p class="lead">{escape(self.lead)}</p>'
            f'<div class="drawn">{self.sheet.still()}<ul class="legend">{legend}</ul></div>'
            f'<div class="read"><ol>{reading}</ol>{self._answered()}</div>'
            f'<p class="note">{SOURCE} Worked example {example.id}, '
            f"“{escape(example.title)}”, in the book at {example.id}/. To cite: "
            f"<span>{escape(example.citation)}</span></p></section>"
        )

    def _answered(self) -> str:
        """Ask how closely the word listens to the one to which it listens most, and compute it."""
        arrays, word = self.sheet.arrays(), self.sheet.word
        query, keys = arrays["query"][self.sheet.rows.index(word)], arrays["key"]
        agree = keys @ query
        most = int(agree.argmax())
        root = f"√{len(query)}"
        powers = np.exp(agree / np.sqrt(len(query)))
        pairs = " + ".join(
            f"{shown(a)} · {shown(b)}" for a, b in zip(query, keys[most], strict=True)
        )
        sums = " + ".join(f"e<sup>{shown(one)}/{root}</sup>" for one in agree)
        terms = " + ".join(shown(one) for one in powers)
        other = escape(self.sheet.columns[most])
        return (
            f'<div class="answered"><p><b>How closely does <i>{escape(word)}</i> listen to '
            f"<i>{other}</i>?</b></p>"
            f"<p>Its query times the key of <i>{other}</i>: {pairs} = {shown(agree[most])}.</p>"
            f"<p>Divided by {root}: {shown(agree[most] / np.sqrt(len(query)))}. Then softmax:</p>"
            f"<p>e<sup>{shown(agree[most])}/{root}</sup> ÷ ({sums})</p>"
            f"<p>= {shown(powers[most])} ÷ ({terms}) = "
            f"<b>{shown(powers[most] / powers.sum())}</b></p></div>"
        )


def chip(name: str, color: str) -> str:
    """Write a role in its color."""
    return f'<b style="--role:var(--{color})">{name}</b>'
