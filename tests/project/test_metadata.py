"""What the repository says about itself, where it can be looked up: one version, one tree."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import rjsmin
import yaml
from pygments.lexers import JavascriptLexer
from pygments.token import Comment, String

import selfattn_ref
from press.site import commit, rights
from selfattn_ref.worked_examples import calls
from tests.pages.sources import BOOK, ROOT

VERSION = selfattn_ref.__version__
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
WORKFLOWS = {
    path.stem: yaml.safe_load(path.read_text("utf-8"))
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
}


def text(name):
    return (ROOT / name).read_text("utf-8")


def folders(parent):
    """Return the folders in a folder that hold a file which is not made."""
    made = re.compile(r"_build|__pycache__|\.git|\.venv.*|\.\w+_cache|\.hypothesis")
    return {
        path.name
        for path in parent.iterdir()
        if path.is_dir()
        and not made.fullmatch(path.name)
        and any(p.is_file() and "__pycache__" not in p.parts for p in path.rglob("*"))
    }


class TestVersion:
    def test_it_is_that_of_the_citation_and_of_the_newest_changes(self):
        assert SETTINGS["project"]["dynamic"] == ["version"]
        assert yaml.safe_load(text("CITATION.cff"))["version"] == VERSION
        newest = re.search(r"^## (\S+?),? ", text("CHANGELOG.md"), re.M)
        assert newest[1] == VERSION

    def test_what_readers_are_told_to_cite_has_it(self):
        for name in ("README.md", "book/index.md"):
            assert re.findall(r"selfattn_ref (\d\S+\d)", text(name)) == [VERSION], name
        assert re.findall(r"SA\d{3}@(\d\S+?)#", text("book/reference/how-to-cite.md")) == [VERSION]


CFF = yaml.safe_load(text("CITATION.cff"))
CITED = CFF["preferred-citation"]


class TestCitation:
    def test_it_says_what_everything_else_says(self):
        config = yaml.safe_load(text("_config.yml"))
        assert CITED["title"] == config["title"]
        assert CITED["year"] == int(config["copyright"])
        assert CITED["version"] == VERSION

    def test_a_date_stands_there_if_and_only_if_this_version_is_released(self):
        newest = re.search(r"^## \S+, (.+)$", text("CHANGELOG.md"), re.M)[1]
        days = [str(record.get("date-released", "")) for record in (CFF, CITED)]
        assert days == ([""] * 2 if newest == "not yet released" else [newest] * 2)
        assert commit.released(ROOT) == days[0]


class TestContinuousIntegration:
    def test_what_is_declared_is_what_is_tested(self):
        jobs = WORKFLOWS["ci"]["jobs"]
        pythons = jobs["book-and-tests"]["strategy"]["matrix"]["python"]
        pairs = [tuple(p.values()) for p in jobs["numpy"]["strategy"]["matrix"]["include"]]
        oldest = SETTINGS["project"]["requires-python"].removeprefix(">=")
        (needed,) = SETTINGS["project"]["dependencies"]
        assert pythons[0] == oldest
        assert pairs[0] == (oldest, f"{needed.removeprefix('numpy>=')}.0")
        assert {python for python, _ in pairs[:4]} == set(pythons)
        assert pairs[4:] == [(python, "2.*") for python in pythons]

    def test_nobody_may_write_but_what_publishes(self):
        more = {}
        for name, workflow in WORKFLOWS.items():
            assert workflow["permissions"] == {"contents": "read"}, name
            jobs = workflow["jobs"].items()
            more |= {(name, job): set(it["permissions"]) for job, it in jobs if "permissions" in it}
        assert more == {
            ("publish", "attach"): {"contents"},
            ("publish", "pages"): {"pages", "id-token"},
            ("weekly", "report"): {"actions", "issues"},
        }
        for name, job in more:  # they run nothing of the repository
            steps = WORKFLOWS[name]["jobs"][job]["steps"]
            assert not any("checkout" in step.get("uses", "") for step in steps)

    def test_actions_are_pinned_by_digest(self):
        for name in WORKFLOWS:
            for used in re.findall(r"uses: (.+)", text(f".github/workflows/{name}.yml")):
                assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used), used

    def test_every_module_that_takes_a_build_of_its_own_is_run(self):
        (named,) = re.findall(r"tests/project/,([\w. ]+)\)", text("Makefile"))
        alone = re.findall(r"--dist worksteal tests/project/(\w+\.py)$", text("Makefile"), re.M)
        assert alone == ["promises.py", "rehearsal.py"]
        named += " " + " ".join(alone)
        tests = [
            p.name
            for p in (ROOT / "tests" / "project").glob("*.py")
            if "def test_" in p.read_text("utf-8")
        ]
        assert sorted(named.split()) == sorted(
            name for name in tests if not name.startswith("test_")
        )

    def test_every_command_that_is_named_exists(self):
        targets = set(re.findall(r"^([a-z-]+):.*## ", text("Makefile"), re.M))
        nightly = WORKFLOWS["nightly"]["jobs"]["nightly"]["strategy"]["matrix"]["target"]
        named = {*nightly, *re.findall(r"^ *(?:- run: )?make ([a-z-]+)", text(".ci/run"), re.M)}
        assert "check-latex" in nightly
        for name in ("README.md", "CONTRIBUTING.md", ".github/workflows/ci.yml"):
            named |= set(re.findall(r"(?:`|^|run: )make ([a-z-]+)", text(name), re.M))
        assert named <= targets, named - targets
        (phony,) = re.findall(r"^\.PHONY: (.+)$", text("Makefile"), re.M)
        assert targets == set(phony.split())


class TestRights:
    """The site reads CITATION.cff; what other programs and people read says the same."""

    def test_the_authors_have_one_name(self):
        assert CFF["authors"] == CITED["authors"] == SETTINGS["project"]["authors"]
        assert yaml.safe_load(text("_config.yml"))["author"] == rights.AUTHORS
        for name in ("LICENSE", "LICENSE-text"):
            assert rights.AUTHORS in text(name), name

    def test_code_has_one_license_and_text_another(self):
        assert SETTINGS["project"]["license"] == rights.CODE.name == CFF["license"]
        assert text("LICENSE").startswith(f"{rights.CODE.name} License\n")
        assert f"\n{rights.TEXT.address}legalcode\n" in text("LICENSE-text")
        for name in ("README.md", "book/reference/for-teachers.md"):
            for license in (rights.CODE, rights.TEXT):
                assert re.search(rf"\b{license.name}\b", text(name)), (name, license.name)

    @pytest.mark.parametrize(
        "words, place",
        [
            (rights.AUTHORS, []),
            ("creativecommons.org/licenses", ["rights.py"]),
            ("spdx.org/licenses", ["rights.py"]),
            ("default-src", ["policy.py"]),
        ],
    )
    def test_what_makes_the_site_says_each_in_one_place(self, words, place):
        paths = [path for ending in (".py", ".html", ".js", ".md") for path in sources(ending)]
        assert [path.name for path in paths if words in path.read_text("utf-8")] == place


class TestForms:
    """What somebody fills in who reports something, and what other programs read."""

    @pytest.mark.parametrize(
        ("schema", "pattern"),
        [
            ("github-workflows", ".github/workflows/*.yml"),
            ("github-issue-forms", ".github/ISSUE_TEMPLATE/*-*.yml"),
            ("github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
            ("readthedocs", ".readthedocs.yaml"),
            ("citation-file-format", "CITATION.cff"),
        ],
    )
    def test_they_and_the_workflows_are_as_their_schemas_want_them(self, schema, pattern):
        found = sorted(map(str, ROOT.glob(pattern)))
        program = Path(sys.executable).with_name("check-jsonschema")
        command = [program, "--builtin-schema", f"vendor.{schema}", "--force-filetype", "yaml"]
        checked = subprocess.run([*command, *found], capture_output=True, text=True)
        assert found
        assert checked.returncode == 0, checked.stdout


class TestLayout:
    def rows(self):
        table = text("README.md").partition("## Layout")[2]
        return re.findall(r"^\| (`.+?) \| (.+) \|$", table, re.M)

    def test_the_table_names_every_folder_once_and_its_folders(self):
        named = []
        for first, second in self.rows():
            for name in re.findall(r"`([^`]+)`", first):
                assert (ROOT / name).exists(), name
            if first.endswith("/`"):
                named.append(name[:-1])
                assert sorted(re.findall(r"`([^`]+)/`", second)) == sorted(folders(ROOT / name))
        assert sorted(named) == sorted(folders(ROOT))


def sources(ending):
    """Return the files of the book and of its machine whose names end so."""
    rooms = (ROOT / name for name in ("book", "press"))
    return sorted(path for room in rooms if room.is_dir() for path in room.rglob(f"*{ending}"))


def lengths(code):
    """Return the name of each function, and how many lines it has without its docstring."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            said = node.body[0] if ast.get_docstring(node) is not None else None
            spoken = said.end_lineno - said.lineno + 1 if said else 0
            found.append((node.name, node.end_lineno - node.lineno + 1 - spoken))
    return found


def pieces(script):
    """Return a script without comments and spaces, and its texts and patterns as they are."""
    tokens = [pair for pair in JavascriptLexer().get_tokens(script) if pair[0] not in Comment]
    code = re.sub(r"\s", "", "".join(value for _, value in tokens))
    return code, [value for kind, value in tokens if kind in String]


class TestStyle:
    def test_no_function_is_longer_than_80_lines(self):
        found = [
            (path.name, *one) for path in sources(".py") for one in lengths(path.read_text("utf-8"))
        ]
        assert len(found) > 100
        assert [one for one in found if one[-1] > 80] == []

    @pytest.mark.parametrize("path", sources(".css"), ids=lambda path: path.name)
    def test_a_line_of_a_stylesheet_has_at_most_100_characters(self, path):
        lines = path.read_text("utf-8").splitlines()
        assert [line for line in lines if len(line) > 100] == []

    @pytest.mark.parametrize("path", sources(".js"), ids=lambda path: path.name)
    def test_scripts_declare_with_const_and_let(self, path):
        assert re.findall(r"^.*\bvar\s.*$", path.read_text("utf-8"), re.M) == []

    @pytest.mark.parametrize("path", sorted(BOOK.rglob("*.js")), ids=lambda path: path.name)
    def test_a_script_loses_nothing_but_spaces_and_comments_on_its_way_to_the_site(self, path):
        script = path.read_text("utf-8")
        assert pieces(rjsmin.jsmin(script)) == pieces(script)


def test_a_build_of_a_file_that_git_does_not_know_is_marked(tmp_path, monkeypatch):
    def git(*command):
        who = ["-c", "user.name=A", "-c", "user.email=a@localhost"]
        run = ["git", "-C", tmp_path, *who, *command]
        return subprocess.run(run, check=True, capture_output=True, text=True).stdout.strip()

    monkeypatch.setattr(commit, "ROOT", tmp_path)
    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "--message", "first")
    here = git("rev-parse", "--short", "HEAD")
    assert commit.commit.__wrapped__() == here
    (tmp_path / "new.py").touch()
    assert commit.commit.__wrapped__() == f"{here}-dirty"


def test_a_browser_keeps_what_the_page_on_hosting_says_and_no_cookie():
    kept = {
        "localStorage.theme": "the theme that a reader chose",
        "localStorage[key]": "the last lesson",
        "sessionStorage.question": "the last search",
    }
    scripts = [path.read_text("utf-8") for path in sources(".js")]
    used = {one for code in scripts for one in re.findall(r"\b\w+Storage\b.\w*\]?", code)}
    assert used - {"localStorage.removeItem"} == kept.keys()
    assert not any("document.cookie" in code or "indexedDB" in code for code in scripts)
    for what in kept.values():
        assert what in text("book/reference/hosting.md")


class TestReadme:
    @pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
    def test_a_link_to_a_file_leads_to_one(self, name):
        links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text(name))
        assert [link for link in links if not (ROOT / link).exists()] == []

    def test_it_asks_for_functions_that_are_called(self):
        named = re.findall(r"--function (\w+)", text("README.md"))
        assert named
        assert all(calls(name) for name in named)  # or it is an error
