"""Files in a folder and at a URL."""

import os
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fansrec.cluster.storage import list_files, list_names, open_file, write_file
from fansrec.errors import BadInput, BadSetting, MissingExtra


class Handler(SimpleHTTPRequestHandler):
    """Serves files and stores posted files."""

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


def test_folder_pattern_and_url_list_the_same_files_in_order(folder: Path, web: str) -> None:
    for location in (folder, f"file://{folder}", f"{folder}/*.jsonl", f"file://{folder}/?.jsonl", web, f"{web}*.jsonl"):
        assert [(file.name, file.size) for file in list_files(str(location), (".jsonl",))] == [
            ("a.jsonl", 23),
            ("b.jsonl", 23),
        ]
    for location in (f"{folder}/notes.txt", f"{web}notes.txt"):
        assert [file.name for file in list_files(location, (".jsonl",))] == ["notes.txt"]


def test_a_file_is_read_from_any_byte(folder: Path, web: str) -> None:
    for location in (f"{folder}/a.jsonl", f"file://{folder}/a.jsonl", f"{web}a.jsonl"):
        with open_file(location, 12) as file:
            assert (file.tell(), file.readline(), file.read()) == (12, b'["second"]\n', b"")


def test_a_changed_file_has_another_version(folder: Path, web: str) -> None:
    for location in (f"{folder}/a.jsonl", f"{web}a.jsonl"):
        os.utime(folder / "a.jsonl", (10**9, 10**9))
        before = list_files(location)
        os.utime(folder / "a.jsonl", (10**9 + 5, 10**9 + 5))
        assert list_files(location) != before


def test_a_file_whose_name_looks_like_a_pattern_is_found(tmp_path: Path) -> None:
    (tmp_path / "a[1].jsonl").write_text("[]")
    assert [file.name for file in list_files(f"{tmp_path}/a[1].jsonl")] == ["a[1].jsonl"]


def test_folder_without_shards_is_refused_with_its_content(folder: Path) -> None:
    with pytest.raises(BadInput, match=r"no file \.pq at \S+, only \.jsonl, \.txt$"):
        list_files(str(folder), (".pq",))
    (folder / "more").mkdir()
    with pytest.raises(BadInput, match=r", only \.jsonl, \.txt, folders; for files in folders use a pattern: "):
        list_files(str(folder), (".pq",))


def test_file_appears_only_when_complete(tmp_path: Path, web: str) -> None:
    for number, location in enumerate((f"{tmp_path}/0", f"file://{tmp_path}/1", f"{web}2")):

        def fail(path: Path) -> None:
            path.write_text("half")
            raise RuntimeError

        with pytest.raises(RuntimeError):
            write_file(location, fail)
        assert list_names(str(tmp_path)) == [str(n) for n in range(number)]
        write_file(location, lambda path: path.write_text("whole"))
        assert (tmp_path / str(number)).read_text() == "whole"


@pytest.mark.parametrize(
    ("location", "kind", "message"),
    [
        ("s3://lists/a", MissingExtra, "s3:// needs a package that is not installed; run: pip install s3fs"),
        ("gs://lists/a", MissingExtra, "pip install gcsfs"),
        ("foo://lists", BadSetting, "foo://lists: Protocol not known"),
        ("/nowhere/at/all", BadInput, "there is no file .jsonl at /nowhere/at/all"),
        ("http://127.0.0.1:9/a.jsonl", BadInput, "http://127.0.0.1:9/a.jsonl cannot be read"),
    ],
)
def test_unreadable_location_is_refused_in_one_line(location: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as error:
        list_files(location, (".jsonl",))
    assert message in str(error.value) and "\n" not in str(error.value)


def test_folder_that_a_worker_does_not_see_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_file(str(tmp_path / "not-shared" / "answers.jsonl"), lambda path: path.write_text("answer"))
    assert not (tmp_path / "not-shared").exists()
