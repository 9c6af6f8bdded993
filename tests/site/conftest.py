"""One browser for all tests of the site, and pages in which nothing may go wrong unheard."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tools.site.visit import LISTEN, launched


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.add_init_script(LISTEN)
    yield page
    assert page.evaluate("window.violations") == []
    assert errors == []
    page.close()
