"""From an id to a verdict, in a copy of the site under another address. `make check-site`.

What is downloaded and copied here is installed, run and typeset elsewhere: tests/project/wheel.py,
tests/pages/test_citing.py, tests/peers/test_worked_examples.py, press/measure/latex.py.
"""

import shutil
from pathlib import Path

import pytest

from press.build.book import SITE
from press.build.server import serving
from press.measure.visit import LISTEN
from press.site import moved
from tests.site.test_checker import outputs


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    return Path(shutil.copytree(SITE, tmp_path_factory.mktemp("elsewhere") / "book"))


@pytest.fixture(scope="module")
def page(browser, copy):
    with serving(copy, "/some/where/") as address:
        context = browser.new_context(accept_downloads=True)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.add_init_script(LISTEN)
        page = context.new_page()
        page.goto(f"{address}SA016/")
        yield page
        assert page.evaluate("window.violations") == []
        context.close()


@pytest.mark.parametrize("old", moved.PAGES)
def test_without_script_an_old_address_leads_to_the_page_that_it_is_on_now(browser, copy, old):
    with serving(copy, "/some/where/") as address:
        page = browser.new_page(java_script_enabled=False)
        page.goto(f"{address}{old}.html")
        page.wait_for_url(f"{address}{moved.PAGES[old]}.html")
        page.close()


@pytest.mark.parametrize("old", moved.PAGES)
def test_the_address_of_a_page_that_has_moved_leads_to_the_new_one(browser, copy, old):
    with serving(copy, "/some/where/") as address:
        page = browser.new_page()
        page.add_init_script(LISTEN)
        page.goto(f"{address}{old}.html?figure=1#{old.replace('/', '-')}")
        there = f"{address}{moved.PAGES[old]}.html?figure=1#{old.replace('/', '-')}"
        page.wait_for_url(there)
        assert page.locator(f"[id='{old.replace('/', '-')}']").count() == 1
        assert page.evaluate("window.violations") == []
        page.close()


def copied(page):
    return page.evaluate("navigator.clipboard.readText()")


@pytest.mark.parametrize("kind", ["json", "npz", "safetensors", "ipynb", "whl"])
def test_what_is_taken_along_is_what_the_site_has(page, copy, kind):
    with page.expect_download() as started:
        page.locator(f"main a[download][href$='.{kind}']").first.click()
    name = started.value.suggested_filename
    assert name.startswith("selfattn_ref-" if kind == "whl" else "SA016.")
    assert Path(started.value.path()).read_bytes() == (copy / "examples" / name).read_bytes()


def test_it_is_cited_by_three_clicks(page):
    page.get_by_text("Cite", exact=True).first.click()
    menu = page.locator("details.cite")
    menu.get_by_text("BibTeX").click()
    menu.locator("details[open] .copy").click()
    assert copied(page).startswith("@misc{selfattn-ref-SA016,")
    page.keyboard.press("Escape")


def test_the_lines_for_pytorch_are_copied_by_two(page):
    lines = page.locator("details:has(> summary:text-is('In PyTorch'))")
    lines.locator("summary").click()
    lines.locator("pre").hover()
    lines.locator(".copy").first.click()
    assert copied(page).startswith("import torch\n")
    assert "print(call.check(my_attention(" in copied(page)


def test_an_output_with_a_slip_is_named_on_the_page_that_it_links_to(page):
    page.get_by_role("link", name="Check an output here").click()
    page.wait_for_url("**/examples/checker.html#SA016*")
    output = next(one for names, one in outputs("SA016", "0") if "mask-ignored" in names)
    page.locator("#check-what").select_option("0")
    page.locator("#check-output").fill(repr(output))
    page.get_by_text("mask-ignored").first.wait_for()
