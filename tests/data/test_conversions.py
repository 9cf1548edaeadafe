"""Public sets that are made from sources of another form."""

import gzip
import hashlib
import json
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fansrec.data import fetching
from fansrec.data.conversions import Tables, from_gdshowsdb, from_whats_cooking
from fansrec.data.fetching import fetch
from fansrec.data.public import PUBLIC, PublicFile
from fansrec.errors import BadInput

YEAR = """---
1970/01/02/0:
  :uuid: 00000000-0000-0000-0000-000000000000
  :venue: 'The ''Quoted'' Hall'
  :city: Springfield
  :state: ''
  :country: US
  :sets:
  - :uuid: 00000000-0000-0000-0000-000000000001
    :songs:
    - :uuid: 00000000-0000-0000-0000-000000000002
      :name: First Song
      :segued: true
    - :uuid: 00000000-0000-0000-0000-000000000003
      :name: "Second: \\"Song\\""
      :segued: false
  - :uuid: 00000000-0000-0000-0000-000000000004
    :songs:
    - :uuid: 00000000-0000-0000-0000-000000000005
      :name: First Song
      :segued: false
1970/01/03:
  :uuid: 00000000-0000-0000-0000-000000000006
  :venue: Unknown
  :sets: []
"""
NEXT_YEAR = """---
1971/05/05:
  :venue: A Hall with a Name that is Folded
    onto Two Lines
  :city: Shelbyville
  :state: OR
  :sets:
  - :songs:
    - :name: Third Song
"""
CONCERTS = Tables(
    "show_date\tvenue\titems\n"
    "1970/01/02/0\tThe 'Quoted' Hall, Springfield\t0 1 0\n"
    "1971/05/05\tA Hall with a Name that is Folded onto Two Lines, Shelbyville, OR\t2\n",
    'item\ttitle\n0\tFirst Song\n1\tSecond: "Song"\n2\tThird Song\n',
)


def concerts(folder: Path) -> list[Path]:
    paths = [folder / "1970.yaml", folder / "1971.yaml"]
    for path, text in zip(paths, (YEAR, NEXT_YEAR), strict=True):
        path.write_text(text)
    return paths


def recipes(path: Path, rows: list[dict[str, object]]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data/train.json", json.dumps(rows))
    return path


def test_concerts_without_songs_are_left_out(tmp_path: Path) -> None:
    assert from_gdshowsdb(concerts(tmp_path)) == CONCERTS


def test_line_of_another_form_is_refused_with_its_number(tmp_path: Path) -> None:
    (tmp_path / "1970.yaml").write_text("---\n{}\n")
    with pytest.raises(BadInput, match=r"1970.yaml, line 2: '\{\}' has another form"):
        from_gdshowsdb([tmp_path / "1970.yaml"])


@pytest.mark.parametrize("rows", [[{"id": 1}], [5]])
def test_recipes_of_another_form_are_refused(tmp_path: Path, rows: list[dict[str, object]]) -> None:
    with pytest.raises(BadInput, match="has another form than expected"):
        from_whats_cooking([recipes(tmp_path / "train.json.zip", rows)])
    (tmp_path / "x.zip").write_bytes(b"no zip")
    with pytest.raises(BadInput, match="has another form than expected"):
        from_whats_cooking([tmp_path / "x.zip"])


def test_recipes_are_converted_to_the_published_files(tmp_path: Path, real_data: Callable[[str], Path]) -> None:
    """Write the known files in the form of their source; the converter returns the same texts."""
    with gzip.open(real_data("recipes/items.tsv.gz"), "rt", encoding="utf-8") as file:
        names = dict(line.rstrip("\n").split("\t") for line in file)
    with gzip.open(real_data("recipes/lists.tsv.gz"), "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file][1:]
    rows = [{"id": int(i), "cuisine": c, "ingredients": [names[x] for x in items.split()]} for i, c, items in lines]
    made = from_whats_cooking([recipes(tmp_path / "train.json.zip", rows)])
    forms = (PUBLIC["recipes"].lists[0], PUBLIC["recipes"].items)
    assert [hashlib.sha256(text.encode()).hexdigest() for text in made] == [form and form.sha256 for form in forms]


def test_concerts_are_converted_to_the_published_files(tmp_path: Path, real_data: Callable[[str], Path]) -> None:
    with gzip.open(real_data("grateful-dead/items.tsv.gz"), "rt", encoding="utf-8") as file:
        names = dict(line.rstrip("\n").split("\t") for line in file)
    with gzip.open(real_data("grateful-dead/lists.tsv.gz"), "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file][1:]
    text = "---\n"
    for date, venue, items in lines:
        text += f"{date}:\n  :venue: {venue}\n  :sets:\n  - :songs:\n"
        text += "".join(f"    - :name: {names[item]}\n      :segued: false\n" for item in items.split())
    (tmp_path / "all.yaml").write_text(text)
    made = from_gdshowsdb([tmp_path / "all.yaml"])
    forms = (PUBLIC["grateful-dead"].lists[0], PUBLIC["grateful-dead"].items)
    assert [hashlib.sha256(text.encode()).hexdigest() for text in made] == [form and form.sha256 for form in forms]


@contextmanager
def served(folder: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Do not log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FANS_DATA", str(tmp_path / "own"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    return tmp_path / "own" / "grateful-dead"


def set_of(url: str, known: Tables) -> object:
    """Return grateful-dead with two years of a local server and the checksums of these texts."""
    set_ = PUBLIC["grateful-dead"]
    lists, items = (hashlib.sha256(text.encode()).hexdigest() for text in known)
    return replace(
        set_,
        lists=(PublicFile("lists.tsv.gz", None, lists, unpacked=True),),
        items=PublicFile("items.tsv.gz", None, items, unpacked=True),
        sources=(f"{url}/1970.yaml", f"{url}/1971.yaml"),
    )


def test_set_is_made_from_downloaded_sources_and_found_again(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    concerts(tmp_path)
    with served(tmp_path) as url:
        monkeypatch.setitem(PUBLIC, "grateful-dead", set_of(url, CONCERTS))
        made = fetch("grateful-dead")
    assert [(one.path, one.how, one.verified) for one in made] == [
        (own / "lists.tsv.gz", "made from 2 files", True),
        (own / "items.tsv.gz", "made from 2 files", True),
    ]
    assert gzip.decompress((own / "lists.tsv.gz").read_bytes()).decode() == CONCERTS.lists
    assert sorted(path.name for path in own.iterdir()) == ["items.tsv.gz", "lists.tsv.gz"]
    assert [one.how for one in fetch("grateful-dead")] == ["found", "found"]


def test_another_version_of_the_sources_is_kept_apart(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    concerts(tmp_path)
    with served(tmp_path) as url:
        monkeypatch.setitem(PUBLIC, "grateful-dead", set_of(url, Tables("other\n", "other\n")))
        with pytest.raises(BadInput, match="not the version of the published figures; .*other-version"):
            fetch("grateful-dead")
    assert sorted(str(path.relative_to(own)) for path in own.rglob("*.gz")) == [
        "other-version/items.tsv.gz",
        "other-version/lists.tsv.gz",
    ]


def test_downloaded_sources_are_not_downloaded_again(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = concerts(tmp_path)
    second.rename(tmp_path / "later")
    with served(tmp_path) as url:
        monkeypatch.setitem(PUBLIC, "grateful-dead", set_of(url, CONCERTS))
        with pytest.raises(Exception, match="the server answers 404"):
            fetch("grateful-dead")
        first.unlink()
        (tmp_path / "later").rename(second)
        assert all(one.verified for one in fetch("grateful-dead"))
    assert fetching.find(PUBLIC["grateful-dead"], PUBLIC["grateful-dead"].lists, [own.parent])
