"""One browser for the tests of a process, and pages in which nothing may go wrong unheard."""

import pytest

from press.measure.visit import LISTEN, launched


@pytest.fixture(scope="session")
def browser():
    with launched() as browser:
        yield browser


@pytest.fixture(scope="session")
def window(browser):
    """Keep a window in which tabs are opened: each in one of its own costs twice as much."""
    context = browser.new_context()
    context.add_init_script(LISTEN)
    context.new_page()  # with the last tab, the process that draws would go
    yield context
    context.close()


def until(page, question):
    """Wait until it is so. `wait_for_function` asks again by `eval`, which the policy forbids."""
    for _ in range(100):
        if page.evaluate(question):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"never so: {question}")


@pytest.fixture
def page(window):
    page = window.new_page()
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert page.evaluate("window.violations") == []
    assert errors == []
    page.evaluate("location.protocol === 'about:' || localStorage.clear()")
    page.close()


@pytest.fixture(scope="session")
def tabs(browser):
    """Keep a tab for each kind of reader, as a new one costs more than a page; and what it says."""
    kept = {}
    yield kept
    for page, _ in kept.values():
        page.context.close()


@pytest.fixture
def visit(browser, tabs):
    """Yield a function that opens a page from the disk, in the tab of a kind of reader.

    What its console says is an error, and what its policy forbids, which the console tells as well.
    """

    def open_page(path, after="", **reader):
        if (kind := str(reader)) not in tabs:
            usual = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"}
            page, said = browser.new_context(**usual | reader).new_page(), []
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            tabs[kind] = page, said
        page, _ = tabs[kind]
        page.goto("about:blank")  # or what differs only in what follows the # would not be loaded
        page.emulate_media(media="screen")
        page.mouse.move(0, 0)
        page.goto(f"{path.as_uri()}{after}")
        return page

    yield open_page
    heard = [text for _, said in tabs.values() for text in said]
    for _, said in tabs.values():
        said.clear()
    assert not heard
