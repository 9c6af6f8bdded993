"""Where a page may break: a long line of code on a phone, a name after an underscore or a dot."""

import re

FITS = 36  # columns of code on the narrowest phone
CODE = re.compile(r'(<div class="highlight"><pre>)(.*?)(</pre>)', re.S)
NAME = re.compile(r'(<(?:code|span class="(?:pre|descname)")>)([^<]*[^\W_][_.][^\W_][^<]*)')
PART = re.compile(r"(?<=[^\W_]_)(?=[^\W_])|(?<=[^\W\d_]\.)(?=[^\W\d_])")
PIECES = re.compile(r"(?<=\n)|(?=</?div)|(?<=</div>)")  # lines, and what Sphinx marks among them
OPENED = re.compile(r"<(/?)\w+[^>]*>")


def breakable(body: str) -> str:
    """Mark in a page the lines of code that are longer than a phone is wide, and break names."""
    body = NAME.sub(lambda m: m[1] + PART.sub("<wbr>", m[2]), body)
    return CODE.sub(lambda m: m[1] + "".join(map(hanging, PIECES.split(m[2]))) + m[3], body)


def hanging(line: str) -> str:
    """Return a line of code as a piece of its own if it is long and its marks are whole."""
    depth = lowest = 0
    for mark in OPENED.finditer(line):
        depth += -1 if mark[1] else 1
        lowest = min(lowest, depth)
    text = re.sub(r"&\w+;", "&", OPENED.sub("", line.rstrip("\n")))
    if len(text) <= FITS or depth or lowest:
        return line
    indent = len(text) - len(text.lstrip())  # what does not fit begins below it, a little further
    place = f' style="--in:{indent}ch"' * bool(indent)
    return f'<span class="long"{place}>{line}</span>'
