"""Interrupted, resumed and verified downloads from a local server."""

import hashlib
import io
import random
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fansrec.data.fetching import download, fetch
from fansrec.data.public import PUBLIC, PublicFile, PublicSet
from fansrec.errors import BadInput, BadSetting, FansError, Unfinished

CONTENT = random.Random(0).randbytes(300_000)
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """A server of one file that may close the connection after `max_bytes` and may not support ranges."""

    daemon_threads = True
    content = CONTENT
    max_bytes: int | None = None
    supports_ranges = True
    answered: list[tuple[int, int]]  # first byte, bytes sent

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/set.bin"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        server = self.server
        requested = self.headers.get("Range") if server.supports_ranges else None
        start, size = int(requested[len("bytes=") : -1]) if requested else 0, len(server.content)
        if start >= size:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{size}")
            self.end_headers()
            return
        self.send_response(206 if requested else 200)
        if requested:
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        self.send_header("Content-Length", str(size - start))
        self.end_headers()
        sent = server.content[start:][: server.max_bytes]
        server.answered.append((start, len(sent)))
        self.wfile.write(sent)

    def log_message(self, format: str, *args: object) -> None:
        """Do not log."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Server(("127.0.0.1", 0), Handler)
    server.answered = []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """$FANS_DATA, empty; and a home without a cache."""
    monkeypatch.setenv("FANS_DATA", str(tmp_path / "own"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    return tmp_path / "own"


def known_set(monkeypatch: pytest.MonkeyPatch, url: str, checksum: str | None) -> PublicSet:
    set_ = replace(PUBLIC["zhihu"], name="small", lists=(PublicFile("set.bin", url, checksum),))
    monkeypatch.setitem(PUBLIC, "small", set_)
    return set_


def test_set_made_from_the_files_of_another_set_is_fetched_into_its_folder(
    server: Server, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PUBLIC, "larger", replace(known_set(monkeypatch, server.url, CHECKSUM), files_of="small"))
    assert fetch("larger")[0].path == own / "small" / "set.bin"
    assert fetch("small")[0].how == "found"


def interrupt(server: Server, target: Path, after: int) -> None:
    server.max_bytes = after
    with pytest.raises(Unfinished, match=f"{after:,} bytes are kept in .*set.bin.part, run the command again to"):
        download(server.url, target, CHECKSUM)
    server.max_bytes = None


def test_download_reports_progress(server: Server, tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    download(server.url, tmp_path / "set.bin", CHECKSUM, lambda done, total: seen.append((done, total)))
    assert (tmp_path / "set.bin").read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert [path.name for path in tmp_path.iterdir()] == ["set.bin"]


def test_interrupted_download_is_resumed(server: Server, tmp_path: Path) -> None:
    interrupt(server, tmp_path / "set.bin", after=100_000)
    assert not (tmp_path / "set.bin").exists()
    download(server.url, tmp_path / "set.bin", CHECKSUM)
    assert (tmp_path / "set.bin").read_bytes() == CONTENT
    assert server.answered == [(0, 100_000), (100_000, 200_000)]


def test_server_without_ranges_sends_the_whole_file_again(server: Server, tmp_path: Path) -> None:
    interrupt(server, tmp_path / "set.bin", after=100_000)
    server.supports_ranges = False
    download(server.url, tmp_path / "set.bin", CHECKSUM)
    assert (tmp_path / "set.bin").read_bytes() == CONTENT
    assert server.answered[-1] == (0, len(CONTENT))


def test_complete_part_file_is_not_downloaded_again(server: Server, tmp_path: Path) -> None:
    (tmp_path / "set.bin.part").write_bytes(CONTENT)
    download(server.url, tmp_path / "set.bin", CHECKSUM)
    assert (tmp_path / "set.bin").read_bytes() == CONTENT
    assert server.answered == []


def test_part_file_that_is_too_long_is_discarded(server: Server, tmp_path: Path) -> None:
    (tmp_path / "set.bin.part").write_bytes(CONTENT + b"more")
    download(server.url, tmp_path / "set.bin", CHECKSUM)
    assert (tmp_path / "set.bin").read_bytes() == CONTENT


def test_a_wrong_checksum_is_refused_and_nothing_is_kept(server: Server, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=f"sha256 is {CHECKSUM}, not the published 00"):
        download(server.url, tmp_path / "set.bin", "00")
    assert list(tmp_path.iterdir()) == []


def test_invalid_zip_without_a_checksum_is_refused(server: Server, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not a valid zip"):
        download(f"{server.url}.zip", tmp_path / "set.zip", None)
    assert list(tmp_path.iterdir()) == []


def test_valid_zip_without_a_checksum_is_accepted(server: Server, tmp_path: Path) -> None:
    with zipfile.ZipFile(packed := io.BytesIO(), "w") as archive:
        archive.writestr("set.txt", "1 2\n")
    server.content = packed.getvalue()
    download(f"{server.url}.zip", tmp_path / "set.zip", None)
    assert zipfile.is_zipfile(tmp_path / "set.zip")


def test_missing_network_is_reported_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(FansError, match="could not fetch .*check the network") as error:
        download("http://127.0.0.1:9/set.bin", tmp_path / "set.bin", None)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_keeps_the_part_file(server: Server, tmp_path: Path) -> None:
    def stop(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(Unfinished, match="run the command again to resume"):
        download(server.url, tmp_path / "set.bin", CHECKSUM, stop)
    assert (tmp_path / "set.bin.part").stat().st_size > 0


def test_a_fetched_set_is_found_the_next_time(server: Server, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known_set(monkeypatch, server.url, CHECKSUM)
    first, second = fetch("small")[0], fetch("small")[0]
    assert (first.how, second.how) == ("fetched", "found")
    assert first.path == second.path == own / "small" / "set.bin"
    assert first.verified and second.verified
    assert len(server.answered) == 1


def test_set_without_a_checksum_is_not_verified(server: Server, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known_set(monkeypatch, server.url, None)
    assert not fetch("small")[0].verified


def test_existing_set_is_copied_to_the_requested_folder(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known_set(monkeypatch, "http://127.0.0.1:9/set.bin", CHECKSUM)
    (own / "small").mkdir(parents=True)
    (own / "small" / "set.bin").write_bytes(CONTENT)
    copied = fetch("small", to=tmp_path / "there")[0]
    assert copied.path == tmp_path / "there" / "small" / "set.bin"
    assert copied.path.read_bytes() == CONTENT


def test_set_without_a_download_is_refused_with_its_source(own: Path) -> None:
    with pytest.raises(BadInput, match="cannot be downloaded .*CCIIPLab/GCE-GNN.*get-public-data.md shows how"):
        fetch("nowplaying")


def test_folder_that_cannot_be_created_is_refused(own: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadSetting, match="choose another folder with to"):
        fetch("zhihu", to=tmp_path / "file")
