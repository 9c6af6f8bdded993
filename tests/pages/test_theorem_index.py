"""The index of the theorems says of each what it states."""

from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.utils import new_document
from sphinx import addnodes
from sphinx_proof.nodes import proof_node, theorem_node

from press.reference import theorem_index

SETTINGS = get_default_settings()


class TestWhatItSays:
    def test_it_is_the_whole_statement_without_a_second_anchor(self):
        page = new_document("page", SETTINGS)
        formula = nodes.math_block("", "a = b", label="eq-a", number=1, ids=["equation-eq-a"])
        item = nodes.list_item("", nodes.paragraph("", "It is so."), ids=["so"])
        page += [nodes.paragraph("", "Let it be."), formula, nodes.bullet_list("", item)]
        copy = nodes.container("", *theorem_index.what_it_says(page))
        assert copy.astext() == page.astext()
        assert not any(node["ids"] for node in copy.findall(nodes.Element))
        (copied,) = copy.findall(nodes.math_block)
        assert (copied["label"], copied["number"]) == (None, None)
        assert formula["label"] == "eq-a"


class TestUses:
    def test_what_a_statement_and_its_proof_refer_to_and_who_else_names_it(self):
        def named(label):
            xref = addnodes.pending_xref("", refdomain="prf", reftarget=label)
            return nodes.paragraph("", "", xref)

        first, second = new_document("first", SETTINGS), new_document("second", SETTINGS)
        first += theorem_node("", named("thm-a"), label="thm-b")
        first += proof_node("", named("thm-c"), named("thm-b"))
        second += named("thm-b")
        rests_on, named_on = theorem_index.uses({"first": first, "second": second})
        assert rests_on == {"thm-b": {"thm-a", "thm-c"}}  # a proof names its own statement, too
        assert named_on == {"first": {"thm-a", "thm-b", "thm-c"}, "second": {"thm-b"}}


FOUND = {
    "kind": "bound",
    "hypotheses": {"$x > 0$": "", "all alike": "the others follow"},
    "neighbors": {"$x < 0.9$": "a constant 10 % off"},
    "cases": 1200,
    "hard": 3,
    "largest": 0.75,
}


class TestWhatATestHasFound:
    def test_it_is_said_line_by_line(self):
        said = list(theorem_index.search_of(FOUND))
        assert said == [
            ("Needed", "$x > 0$."),
            ("Sufficient only", "all alike (the others follow)."),
            ("Refuted", "$x < 0.9$ (a constant 10 % off)."),
            ("Tried", "1,200 cases, 3 of them chosen because they are hard."),
            ("Bound", "within 25% of equality."),
        ]
        (_, needed), *_ = said
        shown = nodes.paragraph("", "", *theorem_index.with_formulas(needed))
        assert [formula.astext() for formula in shown.findall(nodes.math)] == ["x > 0"]
