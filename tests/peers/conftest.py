"""Say at the end how far each library is from this one."""

from tests.peers import agreement


def pytest_terminal_summary(terminalreporter):
    if agreement.LARGEST:
        terminalreporter.section("largest differences, in units of ε (1 + max |score|) max |value|")
        for (library, what), (units, bound) in sorted(agreement.LARGEST.items()):
            terminalreporter.write_line(f"{library:28} {what:22} {units:7.2f} of {bound:g} allowed")
