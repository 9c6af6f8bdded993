"""Read back what a picture shows: texts, lines, arrows, dots and cells."""

import itertools
import re
import xml.etree.ElementTree as ET

import numpy as np

from book.figures.canvas import ANCHORS, text_width

NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)")


def numbers(text):
    return [float(one) for one in NUMBER.findall(text)]


def numeral(text):
    """Return the number that a text is, if it is one."""
    plain = text.replace("−", "-")
    return float(plain) if NUMBER.fullmatch(plain) else None


def near(value, digits=2):
    """Round what was read to what a drawing is exact to."""
    return (np.round(np.asarray(value, float), digits) + 0).tolist()


def apart(a, b):
    """Return how far two places are from each other."""
    return float(np.hypot(*np.subtract(a, b)))


def layouts(drawing):
    """Return the wide and the narrow layout of a drawing."""
    wide, narrow = ET.fromstring(drawing.html)
    return wide, narrow


class Text:
    """A text, where it is anchored, and where its middle is."""

    def __init__(self, node):
        size, self.bold = float(node.get("font-size", 14)), "font-weight" in node.attrib
        self.text, self.look = "".join(node.itertext()), node.get("class", "")
        self.anchor = node.get("text-anchor", "start")
        self.x, self.y = float(node.get("x")), float(node.get("y")) - 0.32 * size
        wide = text_width(self.text, size, self.bold)
        self.left = self.x - ANCHORS[self.anchor] * wide
        self.right, self.middle = self.left + wide, np.array([self.left + wide / 2, self.y])


class Picture:
    """What there is in a layout of a drawing."""

    def __init__(self, svg):
        self.svg, self.texts = svg, [*map(Text, svg.iter("text"))]
        self.at = {one.text: one for one in self.texts}

    def lines(self):
        """Yield the look of each line, with its corners."""
        for node in self.svg.iter("path"):
            if found := re.fullmatch(r"M([^a-zA-Z]+)l?([^a-zA-Z]*)z?", node.get("d")):
                steps = np.reshape(numbers(found[1]) + numbers(found[2]), (-1, 2))
                yield node.get("class"), np.cumsum(steps, axis=0)

    def paths(self, look):
        return [line for its, line in self.lines() if its == look]

    def arrows(self, look):
        """Return where arrows begin and end."""
        pairs = itertools.pairwise(self.lines())
        return [
            (a[0], b[1]) for (one, a), (other, b) in pairs if (one, other) == (look, f"{look} fill")
        ]

    def ribbons(self, look, down=False):
        """Yield where ribbons begin and end, at their middles, and how wide they are."""
        for node in self.svg.iter("path"):
            if node.get("class") == f"{look} fill":
                n = numbers(node.get("d"))
                half = np.array([n[8] / 2, 0] if down else [0, n[8] / 2])
                yield n[:2] + half, n[6:8] + half, n[8]

    def dots(self, look):
        every = [one for one in self.svg.iter("circle") if one.get("class") == look]
        return [np.array([float(one.get("cx")), float(one.get("cy"))]) for one in every]

    def boxes(self):
        """Yield filled rectangles: the node, the upper left corner, and the lower right one."""
        for node in self.svg.iter("rect"):
            x, y, w, h = (float(node.get(name)) for name in ("x", "y", "width", "height"))
            yield node, np.array([x, y]), np.array([x + w, y + h])

    def nearest(self, at, names):
        """Return which of some texts stands nearest to a place."""
        return min(names, key=lambda name: apart(self.at[name].middle, at))

    def before(self, at, names, axis):
        """Return which of some texts stands last before a place: left in its row, above it."""
        found = [
            one for one in self.texts if one.text in names and abs(one.middle[axis] - at[axis]) < 2
        ]
        found = [one for one in found if one.middle[1 - axis] <= at[1 - axis] + 1]
        return max(found, key=lambda one: one.middle[1 - axis]).text if found else ""

    def panel(self, at, titles):
        """Return the title of the panel that a place is in."""
        found = [self.at[name] for name in titles]
        found = [one for one in found if one.x <= at[0] + 1 and one.y <= at[1] + 1]
        return max(found, key=lambda one: (one.y, one.x)).text

    def data(self, inside=lambda at: True, log_x=False):
        """Return what turns a place into numbers, by the numbers at the axes."""
        ticks = [(one, v) for one in self.texts if (v := numeral(one.text)) is not None]
        ticks = [(one, v) for one, v in ticks if inside(one.middle)]
        x = [(one.x, np.log(v) if log_x else v) for one, v in ticks if one.anchor == "middle"]
        y = [(one.y, v) for one, v in ticks if one.anchor == "end"] or [(0, 0), (-1, 1)]
        right, upward = (np.polyfit(*np.transpose(pairs), 1) for pairs in (x, y))
        assert right[0] > 0 > upward[0], "an axis runs the other way"

        def data(at):
            at = np.asarray(at)
            a, b = np.polyval(right, at[..., 0]), np.polyval(upward, at[..., 1])
            return near(np.stack([np.exp(a) if log_x else a, b], axis=-1))

        return data
