"""Files in a folder, behind a URL, and nowhere."""

import os
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fansrec.cluster.storage import listed, names_in, opened, write_whole
from fansrec.errors import BadInput, BadSetting, MissingExtra


class Handler(SimpleHTTPRequestHandler):
    """Gives files, and takes what is posted."""

    def do_POST(self) -> None:
        content = b""
        while size := int(self.rfile.readline(), 16):
            content += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        Path(self.translate_path(self.path)).write_bytes(content)
        self.send_response(201)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.jsonl", "a.jsonl", "_SUCCESS", ".a.jsonl.x", "notes.txt"):
        (tmp_path / name).write_text(f'["{name}"]\n["second"]\n')
    return tmp_path


def test_a_folder_a_pattern_and_a_url_list_the_same_shards_in_order(folder: Path, web: str) -> None:
    for place in (folder, f"file://{folder}", f"{folder}/*.jsonl", f"file://{folder}/?.jsonl", web, f"{web}*.jsonl"):
        assert [(file.name, file.size) for file in listed(str(place), (".jsonl",))] == [
            ("a.jsonl", 23),
            ("b.jsonl", 23),
        ]
    for place in (f"{folder}/notes.txt", f"{web}notes.txt"):
        assert [file.name for file in listed(place, (".jsonl",))] == ["notes.txt"]


def test_a_file_is_read_from_any_byte(folder: Path, web: str) -> None:
    for place in (f"{folder}/a.jsonl", f"file://{folder}/a.jsonl", f"{web}a.jsonl"):
        with opened(place, 12) as file:
            assert (file.tell(), file.readline(), file.read()) == (12, b'["second"]\n', b"")


def test_a_changed_file_has_another_version(folder: Path, web: str) -> None:
    for place in (f"{folder}/a.jsonl", f"{web}a.jsonl"):
        os.utime(folder / "a.jsonl", (10**9, 10**9))
        before = listed(place)
        os.utime(folder / "a.jsonl", (10**9 + 5, 10**9 + 5))
        assert listed(place) != before


def test_a_file_whose_name_looks_like_a_pattern_is_found(tmp_path: Path) -> None:
    (tmp_path / "a[1].jsonl").write_text("[]")
    assert [file.name for file in listed(f"{tmp_path}/a[1].jsonl")] == ["a[1].jsonl"]


def test_a_folder_without_shards_is_refused_with_what_it_has(folder: Path) -> None:
    with pytest.raises(BadInput, match=r"no file \.pq at \S+, only \.jsonl, \.txt$"):
        listed(str(folder), (".pq",))
    (folder / "more").mkdir()
    with pytest.raises(BadInput, match=r", only \.jsonl, \.txt, folders; for what is in folders give a pattern, as "):
        listed(str(folder), (".pq",))


def test_a_file_appears_when_it_is_whole(tmp_path: Path, web: str) -> None:
    for number, place in enumerate((f"{tmp_path}/0", f"file://{tmp_path}/1", f"{web}2")):

        def fail(path: Path) -> None:
            path.write_text("half")
            raise RuntimeError

        with pytest.raises(RuntimeError):
            write_whole(place, fail)
        assert names_in(str(tmp_path)) == [str(n) for n in range(number)]
        write_whole(place, lambda path: path.write_text("whole"))
        assert (tmp_path / str(number)).read_text() == "whole"


@pytest.mark.parametrize(
    ("place", "kind", "told"),
    [
        ("s3://lists/a", MissingExtra, "s3:// needs a package that is not installed; run: pip install s3fs"),
        ("gs://lists/a", MissingExtra, "pip install gcsfs"),
        ("foo://lists", BadSetting, "foo://lists: Protocol not known"),
        ("/nowhere/at/all", BadInput, "there is no file .jsonl at /nowhere/at/all"),
        ("http://127.0.0.1:9/a.jsonl", BadInput, "http://127.0.0.1:9/a.jsonl cannot be read"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(place: str, kind: type[Exception], told: str) -> None:
    with pytest.raises(kind) as refused:
        listed(place, (".jsonl",))
    assert told in str(refused.value) and "\n" not in str(refused.value)
