"""The map of the front page: a line for each path, with a stop at each of its pages."""

from types import SimpleNamespace

import pytest

from press.reference import map as book_map


def environment(monkeypatch, **paths):
    monkeypatch.setattr(book_map, "parts", lambda env: [("Part", [*"pqrs"])])
    metadata = {"index": {"paths": '{"long": "The long one", "none": "Nobody"}'}}
    metadata |= {page: {"paths": names} for page, names in paths.items()}
    return SimpleNamespace(config=SimpleNamespace(master_doc="index"), metadata=metadata)


def test_a_line_begins_stops_passes_and_ends(monkeypatch):
    (path,) = book_map.paths_over(environment(monkeypatch, p="long", q="long", s="long"))
    assert (path.letter, path.name, path.pages) == ("A", "The long one", ["p", "q", "s"])
    kinds = [path.rail(place).partition('"')[2].partition('"')[0] for place in (0, 0.5, 1, 2, 3)]
    assert kinds == ["begin", "pass", "stop", "pass", "end"]
    assert path.rail(-0.5) == path.rail(3.5) == "<i></i>"


def test_a_path_that_the_front_page_does_not_name_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="r: the paths are long, none, got short"):
        book_map.paths_over(environment(monkeypatch, r="short"))


def test_a_page_knows_what_comes_around_it_on_its_paths(monkeypatch):
    env = environment(monkeypatch, p="long", q="long", s="long")
    monkeypatch.setattr(book_map, "entry_of", lambda app, page, name: f"{page} to {name}")
    context = {}
    app = SimpleNamespace(env=env)
    for page, before, after in (("p", [], ["p to q"]), ("q", ["q to p"], ["q to s"])):
        book_map.tell_paths(app, page, "", context, None)
        ((told),) = context["on_paths"]
        assert (told["before"], told["after"]) == (before, after)
    assert (told["key"], told["name"], told["at"], told["of"]) == ("long", "The long one", 2, 3)
    book_map.tell_paths(app, "r", "", context, None)
    assert context["on_paths"] == []
