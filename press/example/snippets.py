"""Lines of code that test a function of the reader's with an example."""

import textwrap
from collections.abc import Iterator

import numpy as np
from docutils import nodes

from press.example.sheets import in_the_script, of_example
from press.example.slip_catalog import matrix, slips_of, typeset
from press.example.stamps import apart, difference
from press.example.text import prose
from press.markup import paragraph, raw, section
from press.site.library import FOLDER, how_to_install
from selfattn_ref.worked_examples import Call, WorkedExample, load
from selfattn_ref.worked_examples.slips import Slip, wrong

ATTENTION = "scaled_dot_product_attention"
WIDTH = 78  # of a line of code that fits the page


def tested(example: WorkedExample) -> tuple[str, str]:
    """Return the function that an example is most about, and what a reader calls their own."""
    functions = [call.function for call in example.calls]
    function = ATTENTION if ATTENTION in functions else functions[0]
    return function, "my_attention" if function == ATTENTION else f"my_{function}"


def snippets(name: str) -> dict[str, str]:
    """Return, for NumPy, PyTorch and JAX, the lines that test a function with an example."""
    example = load(name)
    calls, (function, mine) = example.calls, tested(example)
    place = next(i for i, call in enumerate(calls) if call.function == function)
    call = calls[place]
    load_it = (
        f'from selfattn_ref.worked_examples import load\n\ncall = load("{name}").calls[{place}]\n'
    )
    given = {n: x for n, x in call.arguments.items() if hasattr(x, "shape")}
    args = [n for n in given if n not in call.kwargs]
    entries = [
        n if n in args else f"{n}={n if n in given else x}" for n, x in call.arguments.items()
    ]
    result = f"{mine}({', '.join(entries)})"
    called = textwrap.fill(f"called as {result}", 74, initial_indent="# ", subsequent_indent="#   ")

    def converted(array: str, single: str) -> Iterator[str]:
        """Yield lines that give the arrays of the call to a library, in float32."""
        together = len(args) > 1 and all(given[n].dtype == float for n in args)
        if together:
            each = f"{array}(x, dtype={single}) for x in call.args"
            line = f"{', '.join(args)} = ({each})"
            yield line if len(line) <= WIDTH else line.replace(each, f"\n    {each}\n")
        for n, x in given.items():
            if not together or n not in args:
                of_dtype = f", dtype={single}" if x.dtype == float else ""
                yield f'{n} = {array}(call.arguments["{n}"]{of_dtype})'
        if call.expected is None:
            yield f"print(call.test(lambda *_, **keywords: {result}))"
        elif len(f"print(call.check({result}))") <= WIDTH:
            yield f"print(call.check({result}))"
        else:
            yield textwrap.fill(f"result = {result}", WIDTH, subsequent_indent="    ")
            yield "print(call.check(result))"

    def lines(imported: str, array: str, single: str) -> str:
        return "\n".join([f"import {imported}", f"{load_it[:-1]}", *converted(array, single)])

    return {
        "NumPy": f"{load_it}{called}\nprint(call.test({mine}))",
        "PyTorch": lines("torch", "torch.tensor", "torch.float32"),
        "JAX": lines("jax.numpy as jnp", "jnp.asarray", "jnp.float32"),
    }


def sections_of(name: str, base: str = "") -> Iterator[nodes.Node]:
    """Yield the sections about what can be tried with an example."""
    calls = load(name).calls
    if not calls:
        return
    known = nodes.bullet_list()
    alike: dict[tuple[str, str], list[Call]] = {}
    for call in calls:
        alike.setdefault((repr(call), str(call.because)), []).append(call)
    for call, *others in alike.values():
        text = paragraph(nodes.literal("", repr(call).partition(": ")[2]))
        numbers = ", ".join(str(one.number) for one in (call, *others))
        text += nodes.Text(f" (call{'s' if others else ''} {numbers})")
        if call.conventions and not call.raises:
            kinds = (f"{kind}: {why.rstrip('.')}" for kind, why in call.because.items())
            text += [nodes.Text(": "), *prose("; ".join(kinds) + ".")]
        elif call.raises:
            text += nodes.Text(" must raise an error: " + " ".join(call.because.values()))
        known += nodes.list_item("", text)
    code: list[nodes.Node] = []
    for library, lines in snippets(name).items():
        block = nodes.literal_block(lines, lines, language="python")
        fold = raw(f'<details class="aside"><summary>In {library}</summary>')
        code += [fold, block, raw("</details>")] if code else [block]
    yield section(
        "test",
        "Test your own function",
        paragraph("The example has the results of these calls:"),
        known,
        *how_to_install(base),
        paragraph("Call your own function in place of ours:"),
        *code,
    )
    if caught := slips_of().get(name):
        rows = "".join(off_by(name, slip) for slip in caught)
        heads = ("Slip", "Call", "Entry", "Right", "With the slip")
        head = "".join(f'<th scope="col">{one}</th>' for one in heads)
        listed = f'<table class="slips"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
        said = (
            "For each slip, the call and the entry where it is off by the most. Press a name to"
            " break the sheet with that slip, or, if it does not change the sheet, to read what it"
            " does."
        )
        drawn = raw(f'<div class="table">{listed}</div>')
        yield section("slips", "Slips that it catches", paragraph(said), drawn)


def off_by(name: str, slip: Slip) -> str:
    """Return the row of a slip: at which entry of which call it is off by most, and by how much."""
    address = f"../{FOLDER}/slips.html#{slip.id}"
    if slip.id in in_the_script() and any(slip.id in one.slips for one in of_example(name)[:1]):
        address = f"#{slip.id}"
    found = f'<tr><th scope="row"><a href="{address}">{slip.id}</a>'
    found += f"<small>{typeset(slip.effect)}</small></th>"
    calls = [call for call in matrix()[slip.id] if call.example == name]
    outputs = [(call, np.asarray(call.expected), wrong(call)[slip]) for call in calls]
    worst = [
        (off.size, -call.number, call, off)
        for call, right, other in outputs
        if right.shape == other.shape and (off := difference(right, other))
    ]
    if not worst:
        call, right, other = outputs[0]
        shapes = (" × ".join(map(str, one.shape)) for one in (right, other))
        cells = (call.id, "shape", *shapes)
    else:
        _, _, call, off = max(worst, key=lambda one: one[:2])
        place = f"[{', '.join(map(str, off.place))}]"
        cells = (call.id, place, *apart(off.right, off.wrong))
    return f"{found}{''.join(f'<td>{one}</td>' for one in cells)}</tr>"
