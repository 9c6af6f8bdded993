"""The checker of the built book, from a disk: paste, drop, choose, read. `make check-site`.

What it says is compared with the library in tests/pages/test_checking.py; here it is the page.
"""

import io
import json
import re
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from press.build.book import SITE
from press.build.server import serving
from press.measure.access import broken_rules, least_contrast
from press.measure.visit import script

ADDRESS = f"{Path(SITE).as_uri()}/examples/checker.html"


@cache
def data(name):
    """Return what the checker knows of an example; no library is needed for it."""
    text = Path(SITE, "_static", "checks", f"{name}.js").read_text("utf-8")
    return json.loads(text.removeprefix("bookChecker.take(").removesuffix(");\n"))


def answer(name, key):
    return next(one for one in data(name)["answers"] if one["key"] == key)


def expected(name, key, *shape):
    return np.reshape(answer(name, key)["expected"], shape)


def outputs(name, key):
    """Return what each slip gives for an answer."""
    slips = answer(name, key)["slips"]
    return [(slip["ids"], np.reshape(slip["output"], slip["shape"])) for slip in slips]


OUTPUT, MASK = expected("SA016", "1", 4, 8), expected("SA016", "mask", 4, 4)
WEIGHTS = expected("SA016", "weights", 4, 4)
SINGLE = json.dumps(OUTPUT.astype(np.float32).tolist())


def npy(array):
    """Return an array as a file of NumPy."""
    np.save(file := io.BytesIO(), array)
    return file.getvalue()


# Choose, paste, read, for many at once: [address, text] becomes what the page says.
ALL = """async (jobs) => {
    const [example, what, output] = ["example", "what", "output"].map((name) =>
        document.getElementById("check-" + name));
    async function choose(select, value) {
        for (let tries = 0; !select.length && tries < 500; tries++)
            await new Promise((done) => setTimeout(done, 4));
        if (select.value === value) return;
        select.value = value;
        select.dispatchEvent(new Event("change"));
    }
    const said = [];
    for (const [address, text] of jobs) {
        await choose(example, address.split(".")[0]);
        await choose(what, address.split(".")[1]);
        output.value = text;
        output.dispatchEvent(new Event("input"));
        const status = document.getElementById("check-status").textContent;
        const report = document.getElementById("check-report");
        said.push(status + " " + report.innerText);
    }
    return said;
}"""


@pytest.fixture
def page(page):
    page.goto(ADDRESS)
    return page


def said(page, address, text):
    (found,) = page.evaluate(ALL, [[address, text]])
    return " ".join(found.split())


def test_every_slip_is_named(page):
    jobs = {}
    for path in sorted(Path(SITE, "_static", "checks").glob("SA*.js")):
        for key in (one["key"] for one in data(path.stem)["answers"] if "slips" in one):
            for names, output in outputs(path.stem, key):
                for name in names:
                    jobs.setdefault(name, [f"{path.stem}.{key}", repr(output)])
    catalog = Path(SITE, "examples", "slips.html").read_text("utf-8")
    assert sorted(jobs) == sorted(re.findall(r'<article class="slip[^"]*" id="([\w-]+)">', catalog))
    for name, text in zip(jobs, page.evaluate(ALL, list(jobs.values())), strict=True):
        assert f"{name}: " in text
        assert text.startswith(("✗ Differs in", "✗ Another shape"))


def test_each_of_three_outputs_is_one_press_away(page):
    status = page.locator("#check-status")
    for name, told in {
        "right": "✓ Agrees in the 8 decimals",
        "unscaled": "not-scaled",
        "unmasked": "mask-ignored",
    }.items():
        page.get_by_role("button", name=name, exact=True).click()
        expect(status).to_contain_text(told)
        expect(status).to_be_in_viewport()
    lines = page.locator("#check-output").input_value().count("\n") + 1
    assert int(page.locator("#check-output").get_attribute("rows")) == max(4, lines)
    assert page.get_by_role("link", name="See it on the Sheet").count() > 0


def test_a_call_that_has_to_fail_has_nothing_to_paste(page):
    assert said(page, "SA052.2", "").startswith("Nothing to paste: this call has to fail. Any")
    assert not page.locator("#check-output").is_visible()
    assert said(page, "SA052.0", "") == ""
    assert page.locator("#check-output").is_visible()


def test_what_is_wrong_is_said(page):
    texts = {
        repr(OUTPUT.T): "Yours is 8 × 4, expected is 4 × 8. Read 8 × 4, 8 decimals "
        "To mend Transpose",
        repr(OUTPUT[:3]): "✗ Another shape. Yours is 3 × 8, expected is 4 × 8.",
        repr(OUTPUT[np.newaxis]): "✗ The right numbers in another shape.",
        "array([[0.1, ..., 0.3]])": "✗ Cannot be read. The text is abbreviated",
        SINGLE: "? Differs as float64, agrees as float32.",
        repr(OUTPUT + 0.1): "Looks like none of the known slips.",
        repr(MASK): "✗ True and False, where numbers",
        "[[0.1, x]]": "“x” is not a number",
    }
    for text, expected in texts.items():
        assert expected in said(page, "SA016.1", text)


def test_what_differs_is_marked_in_words_beside_what_was_expected(page):
    output = OUTPUT.copy()
    output[2, 5] += 1.0
    assert said(page, "SA016.1", repr(output)).startswith("✗ Differs in 1 of 32 entries.")
    cell = page.locator(".matrix tbody tr").nth(2).locator("td").nth(5)
    assert "differs from" in str(cell.text_content())
    assert page.locator(".off").count() == 1
    page.get_by_text("Entry by entry").click()
    row = page.locator(".entry-list tbody tr").inner_text().split()
    assert row[:2] == ["[2,", "5]"]
    assert [float(x.replace("−", "-")) for x in row[2:5]] == pytest.approx(
        [output[2, 5], OUTPUT[2, 5], 1.0], abs=1e-7
    )


def test_one_wrong_entry_has_fewer_digits_than_the_median(page):
    output = OUTPUT.copy()
    output[2, 5] *= 1.01
    said(page, "SA016.1", repr(output))
    worst, median = re.search(
        r"([\d.]+) in the worst entry, ([\d.]+) in the median", page.locator("main").inner_text()
    ).groups()
    assert float(worst) < 3 < float(median)


def test_the_dtype_comes_from_the_text_or_the_reader(page):
    chosen = page.locator("#check-dtype")
    said(page, "SA016.1", f"tensor({OUTPUT.tolist()}, dtype=torch.float16)")
    assert chosen.input_value() == "float16"
    assert said(page, "SA016.1", SINGLE).startswith("? Differs")
    assert chosen.input_value() == "float64"
    page.get_by_role("button", name="Compare as float32").click()
    assert page.get_by_role("status").inner_text().startswith("✓ Agrees.")
    assert chosen.input_value() == "float32"


def dropped(page, name, content):
    """Drop a file on the form and return what is said of it."""
    page.evaluate(
        """([name, bytes]) => {
            document.getElementById("check-status").textContent = "";
            const given = new DataTransfer();
            given.items.add(new File([new Uint8Array(bytes)], name));
            document.getElementById("checker").dispatchEvent(
                new DragEvent("drop", {dataTransfer: given, bubbles: true, cancelable: true}));
        }""",
        [name, [*content]],
    )
    page.locator("#check-status strong").wait_for()
    return page.get_by_role("status").inner_text()


def test_files_are_dropped_or_chosen(page):
    said(page, "SA016.1", "")
    assert dropped(page, "mine.npy", npy(OUTPUT.astype(np.float32))).startswith("✓ Agrees. All 32")
    assert page.locator("#check-dtype").input_value() == "float32"
    for packing in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", packing) as archive:
            archive.writestr("other.npy", npy(WEIGHTS))
            archive.writestr("output.npy", npy(OUTPUT))
        assert dropped(page, "mine.npz", file.getvalue()).startswith("✓ Agrees. All 32")
        page.locator("#check-array").select_option(label="other, 4 × 4")
        assert "✗ Another shape" in page.get_by_role("status").inner_text()
    text = "\n".join(",".join(map(str, row)) for row in OUTPUT).encode()
    assert dropped(page, "mine.csv", text).startswith("✓ Agrees.")
    page.locator("#check-file").set_input_files(
        {"name": "a.json", "mimeType": "application/json", "buffer": b'{"output": [[1.0, 2.0]]}'}
    )
    page.get_by_text("Another shape. Yours is 1 × 2").wait_for()
    assert "Cannot be read. mine.npy" in dropped(page, "mine.npy", b"nothing of NumPy's")


def test_decimal_commas_are_asked_about(page):
    text = "\n".join(" ".join(f"{x:.6f}" for x in row) for row in OUTPUT).replace(".", ",")
    asked = f"? Is {text.split()[0].lstrip('-')} one number or more?"
    assert said(page, "SA016.1", text).startswith(asked)
    page.get_by_role("button", name="More: a comma between numbers").click()
    assert page.get_by_role("status").inner_text().startswith("✗ Another shape. Yours is 4 × 16")
    assert said(page, "SA016.1", text).startswith(asked)  # the text is new
    page.get_by_role("button", name="One: a decimal comma").click()
    assert page.get_by_role("status").inner_text().startswith("✓ Agrees in the 6 decimals")


def test_the_files_of_an_example_agree_with_it(page):
    said(page, "SA016.1", "")
    for suffix in (".json", ".npz", ".safetensors"):
        content = Path(SITE, "examples", f"SA016{suffix}").read_bytes()
        assert dropped(page, f"SA016{suffix}", content).startswith("✓ Agrees. All 32")
        assert "output, 4 × 8" in page.locator("#check-array").inner_text()


def test_which_array_is_meant_is_asked_if_nothing_tells(page):
    text = json.dumps(
        {"first": WEIGHTS.tolist(), "second": OUTPUT[:3].tolist(), "third": [1.0, 2.0]}
    )
    assert said(page, "SA016.1", text).startswith("? Which array? There are 3, and none")
    page.locator("#check-array").select_option(label="second, 3 × 8")
    assert page.get_by_role("status").inner_text().startswith("✗ Another shape. Yours is 3 × 8")


def test_slips_are_those_of_every_call_that_expects_the_same(page):
    for names, output in outputs("SA016", "0"):
        told = said(page, "SA016.1", repr(output))
        assert all(f"{name}: " in told for name in names)


@pytest.mark.parametrize("bad", ["%2", "100%", "SA016.%2", "SA016.nothing", "SA999"])
def test_a_bad_address_leaves_a_form_that_works(page, bad):
    page.goto("about:blank")
    page.goto(f"{ADDRESS}#{bad}")
    assert said(page, "SA016.1", repr(OUTPUT)).startswith("✓ Agrees")


def test_the_address_says_what_is_chosen(page):
    page.goto("about:blank")
    page.goto(f"{ADDRESS}#SA016.weights")
    page.locator("#check-task code", has_text="weights").wait_for()
    assert page.locator("#check-what").input_value() == "weights"
    page.locator("#check-example").select_option("SA022")
    page.locator("#check-task", has_text="mask").wait_for()
    expect(page).to_have_url(f"{ADDRESS}#SA022")
    page.locator("#check-what").select_option("d_key")
    expect(page).to_have_url(f"{ADDRESS}#SA022.d_key")
    page.goto("about:blank")
    page.goto(f"{Path(SITE).as_uri()}/SA026/index.html")
    page.get_by_role("link", name="Check an output here").click()
    page.locator("#check-task", has_text="SA026").wait_for()


def test_the_data_of_an_example_is_loaded_when_it_is_chosen(browser):
    page, asked = browser.new_page(), []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    with serving(SITE, "/below/") as address:
        page.goto(f"{address}examples/checker.html#SA022")
        page.locator("#check-task", has_text="mask").wait_for()
        assert [name for name in asked if name.startswith("SA")] == ["SA022.js"]
        page.locator("#check-example").select_option("SA016")
        page.locator("#check-task", has_text="SA016").wait_for()
        assert [name for name in asked if name.startswith("SA")] == ["SA022.js", "SA016.js"]
    page.close()


def test_the_keyboard_is_enough(page):
    def focused():
        return str(page.evaluate("document.activeElement.id || document.activeElement.tagName"))

    page.locator("#check-example").focus()
    page.keyboard.type("SA016")
    page.locator("#check-task", has_text="mask").wait_for()
    stops = []
    while focused() != "check-clear" and len(stops) < 15:
        page.keyboard.press("Tab")
        stops.append(focused())
        if focused() == "check-output":
            page.keyboard.insert_text(repr(OUTPUT + 1.0))
    assert stops[:2] == ["check-what", "check-dtype"]
    assert stops[-3:] == ["check-output", "check-choose", "check-clear"]
    assert page.get_by_role("status").inner_text().startswith("✗ Differs in 32 of 32")
    page.keyboard.press("Enter")
    assert page.locator("#check-output").input_value() == ""
    assert focused() == "check-output"


VERDICTS = {
    "SA016.1": repr(OUTPUT + 0.01),
    "SA016.mask": repr(MASK.T),
    "SA022.0": repr(np.reshape(answer("SA022", "0")["conventions"][3][2], (3, 2))),
    "SA026.0": repr(outputs("SA026", "0")[0][1]),
}


@pytest.mark.parametrize("scheme, width", [("light", 1280), ("dark", 390)])
def test_every_verdict_can_be_read_by_everybody(page, scheme, width):
    page.set_viewport_size({"width": width, "height": 844})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    for address, text in VERDICTS.items():
        said(page, address, text)
        page.evaluate("document.querySelectorAll('#checker details').forEach(d => d.open = true)")
        page.wait_for_timeout(50)
        assert broken_rules(page) == [], address
        assert least_contrast(page.evaluate(script("contrast"), {})).faults == [], address
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address


def test_without_script_it_says_what_to_run(browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(ADDRESS)
    assert not page.locator("#check-output").is_visible()
    assert page.locator("noscript p").is_visible()
    assert page.get_by_text("-m selfattn_ref.worked_examples check").is_visible()
    context.close()
