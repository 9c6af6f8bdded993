"""The files that are exported, and what `verify` says of them, of citations and of damage."""

import hashlib
import io
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import selfattn_ref
from derivations import generated
from derivations.documents import DATA, LEDGER
from derivations.traces import trace_text
from selfattn_ref.worked_examples import _exchange, _formats, ids, load
from selfattn_ref.worked_examples.__main__ import main
from tests.examples.test_data import TEXTS


@pytest.fixture
def run(capsys):
    """Run a command; return code, output and errors."""
    return lambda *arguments: (main([*map(str, arguments)]), *capsys.readouterr())


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("out") / "new" / "examples"
    assert main(["export", f"{folder}"]) == 0
    (folder / "SA016.trace.json").write_text(trace_text("SA016"), "utf-8")
    return folder


@pytest.fixture
def folder(exported, tmp_path):
    """Return a copy that may be damaged, with a trace and a manifest that lists it."""
    copy = Path(shutil.copytree(exported, tmp_path / "copy"))
    relist(copy)
    return copy


def relist(folder):
    """Enter in the manifest of a folder what it holds now."""
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    del files["manifest.json"]
    manifest["files"] = {n: f"sha256:{hashlib.sha256(c).hexdigest()}" for n, c in files.items()}
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")


class TestExport:
    @pytest.mark.parametrize("name", ids())
    def test_every_format_holds_the_example(self, exported, name):
        assert (exported / f"{name}.json").read_bytes() == TEXTS[name].encode()
        example = load(name)
        values = {n: np.asarray(x) for n, x in {**example.inputs, **example.expected}.items()}
        with np.load(exported / f"{name}.npz", allow_pickle=False) as arrays:
            held = dict(arrays)
        assert held.keys() == values.keys()
        tensors = safetensors.numpy.load((exported / f"{name}.safetensors").read_bytes())
        assert tensors.keys() == {n for n, x in values.items() if x.dtype.kind != "U"}
        for found in (held, tensors):
            for given, array in found.items():
                assert (array.dtype, array.shape) == (values[given].dtype, values[given].shape)
                assert array.tobytes() == values[given].tobytes()

    @pytest.mark.parametrize("name", ids())
    def test_safetensors_is_what_its_own_library_writes(self, exported, name):
        content = (exported / f"{name}.safetensors").read_bytes()
        said = {"example": f"{name}#sha256:{load(name).digest}"}
        assert content == safetensors.numpy.save(safetensors.numpy.load(content), said)

    def test_the_manifest_has_the_digest_of_every_file_and_of_every_example(self, exported):
        manifest = json.loads((exported / "manifest.json").read_text("utf-8"))
        assert manifest["package"] == f"selfattn_ref {selfattn_ref.__version__}"
        assert manifest["examples"] == {i: f"sha256:{load(i).digest}" for i in ids()}
        files = {path.name: path.read_bytes() for path in exported.iterdir()}
        del files["manifest.json"], files["SA016.trace.json"]
        assert manifest["files"] == {
            name: f"sha256:{hashlib.sha256(content).hexdigest()}" for name, content in files.items()
        }
        for schema in ("schema.json", "trace.schema.json"):
            assert files[schema] == (DATA / schema).read_bytes()

    def test_a_folder_that_cannot_be_made_has_the_code_2(self, run, tmp_path):
        (tmp_path / "file").touch()
        code, _, err = run("export", tmp_path / "file")
        assert code == 2
        assert re.match(r"cannot run: File exists: .*file", err)


CITED = f"SA016@0.0.1#sha256:{load('SA016').digest}"


class TestCitations:
    @pytest.mark.parametrize(
        "cited",
        [
            CITED,
            CITED.replace("@0.0.1", ""),
            re.sub("([0-9a-f]{16})", r"\1 \n", CITED).replace("#", r"\#"),
        ],
    )
    def test_the_digest_decides_whatever_the_version(self, run, cited):
        code, out, _ = run("verify", cited)
        assert code == 0
        version = ", cited from 0.0.1" if "@" in cited else ""
        assert out == (
            f"SA016 is the one that is cited: Causal mask, step by step{version}\n"
            f"The file: {load('SA016').swhid} (changes with its prose; the digest does not)\n"
        )

    def test_another_digest_is_another_example(self, run):
        code, out, _ = run("verify", CITED.replace("SA016", "SA015"))
        assert code == 1
        assert out.startswith(f"SA015 is another: SA015@{selfattn_ref.__version__}#sha256:")
        assert load("SA015").digest in out

    @pytest.mark.parametrize(
        "cited, message",
        [
            (
                "SA016",
                "verify takes all, a file, a folder or an archive of examples, or a citation",
            ),
            (CITED[:-1], "verify takes"),
            (CITED.replace("SA016", "SA999"), "no worked example has the id 'SA999'"),
            ("SA016.npz", "No such file or directory: SA016.npz"),
            ("SA016.xlsx", "SA016.xlsx: the library does not know the bytes of a spreadsheet, but"),
            ("nowhere.zip", "No such file or directory: nowhere.zip"),
            (".", "there is no manifest.json in ."),
        ],
    )
    def test_what_is_no_citation_has_the_code_2(self, run, tmp_path, monkeypatch, cited, message):
        monkeypatch.chdir(tmp_path)
        code, _, err = run("verify", cited)
        assert code == 2
        assert err.startswith(f"cannot run: {message}")


def json_with(place, value):
    """Return what puts a value at a place in a JSON file, or takes away what is there."""

    def damage(content):
        document = part = json.loads(content)
        *way, last = place.split()
        for key in way:
            part = part[int(key) if key.isdigit() else key]
        if value is None:
            part.pop(int(last) if last.isdigit() else last)
        else:
            part[int(last) if last.isdigit() else last] = value
        return json.dumps(document).encode()

    return damage


def npz_with(**changed):
    def damage(content):
        with np.load(io.BytesIO(content)) as arrays:
            held = {n: x for n, x in {**arrays, **changed}.items() if x is not None}
        np.savez_compressed(file := io.BytesIO(), **held)
        return file.getvalue()

    return damage


def another_first(content):
    """Put a value before the first, with its name."""
    return content.replace(b'"value": ', b'"value": [[7.0]], "value": ', 1)


def nameless_twice(content):
    """Put two members without a name before the first."""
    return b'{"": 1, "": 2, ' + content[1:]


def another_array_first(content):
    """Put an array before the first, with its name."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        new.writestr("query.npy", old.read("key.npy"))
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return file.getvalue()


def another_tensor_first(content):
    """Put the place of a tensor before the header, with the name of another."""
    start = 8 + int.from_bytes(content[:8], "little")
    place = json.dumps(json.loads(content[8:start])["key"]).encode()
    header = b'{"query":' + place + b"," + content[9:start]
    return len(header).to_bytes(8, "little") + header + content[start:]


def cites(example):
    metadata = {"example": example}
    return lambda content: safetensors.numpy.save(safetensors.numpy.load(content), metadata)


def tensors_with(**changed):
    return lambda content: safetensors.numpy.save(safetensors.numpy.load(content) | changed)


OUTPUT = load("SA016").expected["output"]
OTHER = OUTPUT.copy()
OTHER[2, 1:3] = 0.5
FIRST = f"output[2, 1] is 0.5, not {OUTPUT[2, 1]}; 2 entries differ"
SINGLE = f"output is float32 of shape {OUTPUT.shape}, not float64 of shape {OUTPUT.shape}"
UNREADABLE = "is damaged: "
KEPT = json_with("why", "Other prose.")
JSON_DAMAGE = [
    ("expected output value 2 1", 0.5, "expected.output[2][1] is 0.5, not "),
    ("expected output value 3", None, "expected.output has the length 3, not 4"),
    ("expected output", None, "expected.output is missing"),
    ("inputs new", {"value": 1}, "inputs.new is unknown"),
    ("expected mask value 0 0", 1, "expected.mask[0][0] is 1, not true"),
    ("inputs query value 0 0", {"number": "-50598333/100000000"},
     'inputs.query[0][0] is {"number": "-50598333/100000000"}, not -0.50598333'),
    ("expected output value 0 0", "1", 'expected.output[0][0] is "1", not '),
    ("tolerance relative", 1, "tolerance.relative is 1, not "),
    ("id", "SA017", 'id is "SA017", not "SA016"'),
    ("inputs query shape", "(1, 1)", 'inputs.query.shape is "(1, 1)", not "'),
    ("inputs query integers", True, 'inputs.query.integers is "True", not "None"'),
    ("inputs query indices_of", "key", 'inputs.query.indices_of is "key", not "None"'),
    ("inputs", None, UNREADABLE + "KeyError: 'inputs'"),
]  # fmt: skip
DAMAGE = [
    *(("SA016.json", json_with(*change), told) for *change, told in JSON_DAMAGE),
    ("SA016.json", lambda c: c[:99], UNREADABLE + "JSONDecodeError"),
    ("SA016.json", lambda c: b"\xff" + c, UNREADABLE + "UnicodeDecodeError"),
    ("SA016.json", another_first, UNREADABLE + "ValueError: 'value' stands twice in an object"),
    ("SA016.json", nameless_twice, UNREADABLE + "ValueError: '' stands twice in an object"),
    ("SA016.npz", another_array_first, UNREADABLE + "ValueError: two arrays are called 'query'"),
    ("SA016.npz", npz_with(output=OTHER), FIRST),
    ("SA016.npz", npz_with(output=OUTPUT.astype(np.float32)), SINGLE),
    ("SA016.npz", npz_with(output=OUTPUT.T), "output is float64 of shape (8, 4), not float64 of"),
    ("SA016.npz", npz_with(output=None), "output is missing"),
    ("SA016.npz", npz_with(new=OUTPUT), "new is unknown"),
    ("SA016.npz", lambda c: c[: len(c) // 2], UNREADABLE + "BadZipFile"),
    ("SA016.npz", lambda c: c[:200] + bytes([c[200] ^ 1]) + c[201:], UNREADABLE),
    ("SA016.npz", lambda c: b"", UNREADABLE + "ValueError: it is not an archive"),
    ("SA016.safetensors", another_tensor_first,
     UNREADABLE + "ValueError: 'query' stands twice in an object"),
    ("SA016.safetensors", tensors_with(output=OTHER), FIRST),
    ("SA016.safetensors", tensors_with(new=OUTPUT), "new is unknown"),
    ("SA016.safetensors", cites("SA017#sha256:0"), "it says that it is SA017#sha256:0"),
    ("SA016.safetensors", tensors_with(output=OUTPUT.astype(np.float32)),
     UNREADABLE + "ValueError: output is F32, not one of I64, F64, BOOL"),
    ("SA016.safetensors", lambda c: c[:-8], UNREADABLE + "ValueError"),
    ("SA016.safetensors", lambda c: c[:100], UNREADABLE + "JSONDecodeError"),
    ("SA016.trace.json", lambda c: c + b" ", "another SHA-256"),
]  # fmt: skip


class TestFiles:
    @pytest.mark.parametrize("suffix", [".json", ".npz", ".safetensors", ".trace.json"])
    def test_a_file_is_ours_whatever_was_added_to_its_name(self, run, folder, suffix):
        path = (folder / f"SA016{suffix}").rename(folder / f"SA016 (1){suffix}")
        of = "the trace of " if suffix == ".trace.json" else ""
        said = f"{path.name} is {of}SA016: {load('SA016').title}\n"
        assert run("verify", path) == (0, said, "")

    @pytest.mark.parametrize("name, change", [("SA016.json", KEPT), ("SA016.npz", npz_with())])
    def test_other_prose_and_another_packing_are_the_same_example(self, run, folder, name, change):
        path = folder / name
        before = path.read_bytes()
        path.write_bytes(change(before))
        assert path.read_bytes() != before
        assert run("verify", path)[0] == 0

    @pytest.mark.filterwarnings("ignore:Duplicate name")
    @pytest.mark.parametrize("name, change, told", DAMAGE)
    def test_damage_is_named_in_a_file_and_in_a_folder(self, run, folder, name, change, told):
        path = folder / name
        path.write_bytes(change(path.read_bytes()))
        code, out, err = run("verify", path)
        if told.startswith(UNREADABLE):
            assert (code, out) == (2, "")
            assert err.startswith(f"cannot run: {name} {told}")
            line = f"{name} {told}"
        else:
            assert (code, err) == (1, "")
            of = "the trace of " if "trace" in name else ""
            known = f"that selfattn_ref {selfattn_ref.__version__} knows:"
            first, second, *_ = out.splitlines()
            assert first == f"{name} is not {of}SA016 {known}"
            assert second.startswith(f"  {told}")
            line = f"{name}: {told}"
        relist(folder)  # no damage shows in the checksums any more
        code, out, _ = run("verify", folder)
        assert code == 1
        assert out.startswith(line)

    @pytest.mark.parametrize("read, write", [
        (_formats.read_npz, _formats.write_npz),
        (_formats.read_safetensors, lambda arrays: _formats.write_safetensors(arrays, "SA900")),
    ])  # fmt: skip
    def test_nan_and_infinity_are_kept_and_agree_with_themselves_alone(self, read, write):
        given = {"x": np.asarray([np.nan, np.inf, -np.inf, 1.0]), "y": np.asarray(np.nan)}
        got = read(write(given))
        assert _exchange._differences(got, given) == []
        got["x"], got["y"] = np.asarray([np.nan, np.inf, np.nan, np.inf]), np.asarray(0.0)
        assert _exchange._differences(got, given) == [
            "x[2] is nan, not -inf; 2 entries differ", "y is 0.0, not nan"
        ]  # fmt: skip

    def test_a_name_without_an_id_says_what_a_name_is(self, run, folder):
        path = (folder / "SA016.npz").rename(folder / "mine.npz")
        code, _, err = run("verify", path)
        assert code == 2
        assert err.startswith("cannot run: mine.npz: the name of a file is an id with .json, .npz")


def zipped(folder):
    path = folder.parent / "examples.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"worked-examples/{file.name}")
    return path


def changed(name, change):
    def damage(folder):
        (folder / name).write_bytes(change((folder / name).read_bytes()))

    return damage


def without(name):
    """Return what takes the files of an example out of a folder and its manifest."""

    def damage(folder):
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        for path in folder.glob(f"{name}.*"):
            del manifest["files"][path.name]
            path.unlink()
        (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")

    return damage


WHOLE_DAMAGE = [
    (lambda f: (f / "SA016.npz").unlink(), "SA016.npz is missing"),
    (lambda f: (f / "SA016.npz").rename(f / "SA999.npz"), "SA016.npz is missing\nSA999.npz is"),
    (changed("SA016.json", KEPT), "SA016.json is not the file of manifest.json: another SHA-256"),
    (changed("schema.json", lambda c: c + b" "), "schema.json is not the file of manifest.json"),
    (changed("manifest.json", lambda c: c.replace(load("SA016").digest.encode(), b"0" * 64)),
     "SA016 has another digest in manifest.json"),
    (changed("manifest.json", lambda c: re.sub(rb'"SA016": "sha256:\w+",', b"", c)),
     "SA016 has no digest in manifest.json"),
    (changed("manifest.json", lambda c: c.replace(b'"examples": {', b'"examples": {"SA999": "",')),
     "SA999 has a digest in manifest.json, but no file\nSA999 is no example that selfattn_ref"),
    (without("SA017"), "SA017 has a digest in manifest.json, but no file"),
]  # fmt: skip


class TestWhole:
    @pytest.mark.parametrize("pack", [lambda f: f, lambda f: f / "manifest.json", zipped])
    def test_a_folder_and_an_archive_are_verified_by_their_manifest(self, run, folder, pack):
        (folder / "notes.txt").write_text("mine")
        code, out, err = run("verify", pack(folder))
        count = 3 * len(ids()) + 4  # two schemas, the generated cases and a trace
        assert (code, err) == (0, "")
        assert out.startswith(f"{count} files in ")
        assert f"\n{len(ids())} examples are those that selfattn_ref " in out

    @pytest.mark.parametrize("damage, told", WHOLE_DAMAGE)
    def test_what_is_not_as_the_manifest_says_is_named(self, run, folder, damage, told):
        damage(folder)
        for path in (folder, zipped(folder)):
            code, out, _ = run("verify", path)
            assert code == 1
            assert out.startswith(told)

    def test_a_damaged_manifest_or_archive_has_the_code_2(self, run, folder):
        path = zipped(folder)
        path.write_bytes(path.read_bytes()[:1000])
        assert run("verify", path)[::2] == (
            2, "cannot run: examples.zip is damaged: BadZipFile: File is not a zip file\n"
        )  # fmt: skip
        for content, told in (("{", "JSONDecodeError"), ("{}", "KeyError"), ("[]", "TypeError")):
            (folder / "manifest.json").write_text(content)
            code, _, err = run("verify", folder)
            assert code == 2
            assert re.match(rf"cannot run: .*manifest\.json is damaged: {told}", err)

    @pytest.mark.parametrize("part", ["files", "examples"])
    def test_a_manifest_that_claims_nothing_has_the_code_2(self, run, folder, part):
        path = folder / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {part: {}}))
        code, out, err = run("verify", folder)
        assert (code, out) == (2, "")
        assert err.endswith(f"manifest.json names no {part}\n")

    def test_an_archive_with_two_files_of_one_name_has_the_code_2(self, run, folder):
        path = zipped(folder)
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("another/SA016.json", "{}")
        told = "cannot run: examples.zip is damaged: ValueError: two files are called SA016.json\n"
        assert run("verify", path) == (2, "", told)


class TestGenerated:
    @pytest.mark.parametrize(
        "old, new, told",
        [
            ("dropped tails", "tails that are dropped", "generated.json is that"),
            ('"sharpness": 24', '"sharpness": 25', "generated.json is not that"),
            ("{", "", "cannot run: generated.json is damaged: JSONDecodeError"),
        ],
    )
    def test_numbers_and_not_purposes_are_verified(self, run, folder, old, new, told):
        path = folder / "generated.json"
        path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")
        relist(folder)
        code, out, err = run("verify", path)
        assert (out or err).startswith(told)
        assert code == {"is that": 0, "is not ": 1}.get(told[15:22], 2)
        assert run("verify", folder)[0] == min(code, 1)


class TestInstalled:
    def test_all_are_those_that_were_released(self, run):
        assert run("verify", "all") == (
            0, f"{len(ids())} examples and the generated cases have the digests of "
            f"selfattn_ref {selfattn_ref.__version__}\n", ""
        )  # fmt: skip
        known = json.loads((DATA / "digests.json").read_text("utf-8"))
        assert known.pop("generated") == generated.digest(generated.read())
        released = json.loads(LEDGER.read_text("utf-8"))
        assert known == {name: digest for name, digest in released.items() if digest}

    def test_each_digest_is_compared_and_a_file_that_is_gone_is_named(self, run, monkeypatch):
        real = _exchange.file_content
        installed = json.loads(real("digests"))
        assert installed.keys() == {*ids(), "generated"}
        known = dict.fromkeys(installed, "0" * 64) | {"SA900": "1" * 64}
        monkeypatch.setattr(
            _exchange,
            "file_content",
            lambda name: json.dumps(known).encode() if name == "digests" else real(name),
        )
        code, out, _ = run("verify", "all")
        assert code == 1
        assert out.splitlines() == [
            "SA900.json is missing",
            *(f"{i}.json is another: its digest is sha256:{is_}" for i, is_ in installed.items()),
        ]
        page = (DATA.parents[2] / "book/reference/api/worked_examples.md").read_text("utf-8")
        told = "compare the digests of what is installed, examples and generated cases, with those"
        assert f"| `verify all` | {told} of the release |" in page

    def test_a_damaged_file_is_named(self, tmp_path):
        shutil.copytree(Path(selfattn_ref.__file__).parent, tmp_path / "selfattn_ref")
        path = tmp_path / "selfattn_ref/worked_examples/data/SA016.json"
        for content, told in (
            *((b"{", "JSONDecodeError: "), (b"{}", "KeyError: 'inputs'")),
            *((b"[]", "AttributeError: "), (b"\xff", "UnicodeDecodeError: ")),
        ):
            path.write_bytes(content)
            for command in (["verify", "all"], ["list"], ["check", "SA016", "os:getcwd"]):
                done = subprocess.run(
                    [sys.executable, "-m", "selfattn_ref.worked_examples", *command],
                    cwd=tmp_path, capture_output=True, text=True,
                )  # fmt: skip
                assert done.returncode == 2
                said = f"cannot run: the file SA016.json is damaged: {told}"
                assert done.stderr.startswith(said)
