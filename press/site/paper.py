"""What a sheet of paper is told in the head of its page, in CSS."""

import json


def quoted(text: str) -> str:
    """Return a string of CSS."""
    return json.dumps(text, ensure_ascii=False).replace("<", "\\3c ")


def running_heads(sheet: str, left: str, right: str) -> str:
    """Return the rule for what stands above the text on paper."""
    return (
        f"@page {sheet} {{ @top-left {{ content: {quoted(left)} }}"
        f" @top-right {{ content: {quoted(right)} }} }}"
    )
