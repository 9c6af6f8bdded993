"""What the rows and columns of an array are, and the color of its role."""

import re
from collections.abc import Mapping
from typing import Any

from press.example.data import shape

# What an array is decides its color: the first of these words that is in its name.
ROLES = {
    "weights": "weight",
    "scores": "score",
    "query": "query",
    "key": "key",
    "value": "value",
    "output": "context",
    "outputs": "context",
    "context": "context",
}


PAIRS = re.compile(r"(?:.*_)?(?:scores|weights|mask)(?:_.*)?")  # a row a query, a column a key


OUTPUTS = re.compile(r"(?!w_)(?:.*_)?(?:output|context)(?:_.*)?")  # a row a query


SYMMETRIC = re.compile(r"(?:scaled_)?(?:dot|cosine|distance)")  # a row and a column a word


def words_of(name: str, data: Mapping[str, Any], count: int) -> list[str] | None:
    """Return the words, `count` of them, that the rows of an array stand for, if it has any."""
    inputs = data["inputs"]
    for given, entry in inputs.items():
        # weights_money are those of sentence_money, output_reversed those of the reversal.
        tail = given.rpartition("_")[2]
        if "indices_of" in entry and any(part.startswith(tail[:6]) for part in name.split("_")):
            chosen = [inputs[entry["indices_of"]]["value"][index] for index in entry["value"]]
            return chosen if len(chosen) == count else None
    lists = [f"{name.partition('_')[0]}_words", "query_words", "words"]
    for words in (inputs[given]["value"] for given in lists if given in inputs):
        if len(words) == count:
            return list(words)
    return None


def heads(name: str, data: Mapping[str, Any], length: int, axis: int) -> list[str]:
    """Return the heads of an axis: 0 for columns, 1 for rows, 2 for tables.

    The description of an array says what its rows are: "one row per axis", "for each width".
    """
    entry = {**data["inputs"], **data["expected"]}[name]
    if "indices_of" in entry:
        words = data["inputs"][entry["indices_of"]]["value"]
        return [words[index] for index in entry["value"]]
    text, pair = entry["description"], PAIRS.fullmatch(name) is not None
    dimension = len(shape(entry["value"]))
    thing = re.search(
        {
            0: r"\b[Oo]ne column (?:an?|per) (\w+)" if dimension > 1 else r"\b[Ff]or each (\w+)\b",
            1: r"\b[Oo]ne row (?:an?|per) (\w+)|\b[Oo]ne (\w+) a row|\bat each (\w+)",
            2: r"\b(?:table an?|each) ((?:query |key/value )?head|query|scale|sentence)\b",
        }[axis],
        text,
    )
    if SYMMETRIC.fullmatch(name) and axis < 2:
        noun, numbered = "word", False
    elif thing:
        noun, numbered = next(filter(None, thing.groups())), True
        if dimension == 1 and f"{noun}s" not in data["inputs"]:
            noun = ""
    elif pair and axis < 2 and "each step" not in text:
        noun, numbered = ("key", "query")[axis], True
    elif axis == 1 and OUTPUTS.fullmatch(name):
        noun, numbered = "query", True
    else:
        noun, numbered = "", False
    listed = data["inputs"].get("axes" if noun == "axis" else f"{noun}s", {}).get("value")
    if listed and len(listed) == length:
        whole = noun in {"word", "axis"}
        return [f"{item}" if whole else f"{noun} {item}" for item in listed]
    if noun in {"query", "key", "value", "word", "position", "step"} and name != "encoding":
        words = words_of(name if axis else f"key_{name}", data, length)
        if words:
            return words
    if axis > 1 and not noun:
        noun, numbered = "table", True
    return [f"{noun} {index}" if noun and numbered else f"{index}" for index in range(length)]


def role_of(name: str) -> str:
    """Return the role whose color an array has, or the color of what plays none."""
    return next((ROLES[word] for word in ROLES if word in name.split("_")), "soft")
