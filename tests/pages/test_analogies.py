"""Where a story stands beside its code, the code is the one that runs."""

from tests.pages.sources import BOOK, cells


class TestStory:
    """The table of the party says the lines that the page runs."""

    def test_every_line_beside_the_story_is_a_line_of_a_cell(self):
        text = (BOOK / "analogies" / "party.md").read_text("utf-8")
        table = text.split("| the story | the line |\n|---|---|\n")[1].split("\n\n")[0]
        lines = [row.split("`")[1] for row in table.splitlines()]
        run = [line for cell in cells(text) if cell.visible for line in cell.code.splitlines()]
        assert len(lines) == 8
        assert [line for line in run if line in lines] == lines  # and in this order
