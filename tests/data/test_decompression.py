import gzip
import zipfile
from pathlib import Path

import pytest

from fansrec.data import decompression
from fansrec.data.decompression import check_utf8, decompressed
from fansrec.errors import BadInput


def zipped(path: Path, **entries: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def content_of(path: Path) -> tuple[str, bytes]:
    with decompressed(path) as file:
        return file.name, file.path.read_bytes()


def test_plain_file_is_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv"
    path.write_bytes(b"a,b\n")
    with decompressed(path) as file:
        assert file == (path, "lists.csv")


def test_gzip_is_named_without_gz(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n"))
    assert content_of(path) == ("lists.csv", b"a,b\n")


def test_zip_is_named_after_its_only_file(tmp_path: Path) -> None:
    path = zipped(tmp_path / "any.zip", **{"folder/lists.tsv": b"a\tb\n"})
    assert content_of(path) == ("lists.tsv", b"a\tb\n")


def test_metadata_of_file_managers_in_a_zip_is_ignored(tmp_path: Path) -> None:
    path = zipped(tmp_path / "any.zip", **{"__MACOSX/._l.txt": b"junk", ".DS_Store": b"junk", "l.txt": b"1 2\n"})
    assert content_of(path) == ("l.txt", b"1 2\n")


def test_a_zip_of_two_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="contains 2 files"):
        content_of(zipped(tmp_path / "any.zip", **{"a.txt": b"1 2\n", "b.txt": b"1 2\n"}))


def test_decompressed_copy_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n"))
    with decompressed(path) as file:
        pass
    assert not file.path.exists()


def test_a_truncated_gzip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv.gz"
    path.write_bytes(gzip.compress(bytes(range(256)) * 9)[:-12])
    with pytest.raises(BadInput, match="not a complete gzip"):
        content_of(path)


@pytest.mark.parametrize("name", ["lists.csv.gz", "lists.zip"])
def test_plain_text_named_as_compressed_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"plain text")
    with pytest.raises(BadInput, match="not a complete"):
        content_of(tmp_path / name)


def test_damaged_zip_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "any.zip", **{"l.txt": bytes(range(256)) * 99})
    damaged = bytearray(path.read_bytes())
    damaged[60:90] = b"\xff" * 30
    path.write_bytes(damaged)
    with pytest.raises(BadInput, match="not a complete zip"):
        content_of(path)


@pytest.mark.parametrize("kind", ["gz", "zip"])
def test_decompression_bomb_is_stopped_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(decompression, "MIN_SIZE_LIMIT", 1_000_000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    bomb = bytes(20_000_000)
    path = tmp_path / f"lists.txt.{kind}"
    if kind == "gz":
        path.write_bytes(gzip.compress(bomb))
    else:
        zipped(path, **{"lists.txt": bomb})
    with pytest.raises(BadInput, match="decompresses to more than"):
        content_of(path)
    assert list(tmp_path.iterdir()) == [path]


def test_zip_with_wrong_declared_size_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "any.zip", **{"l.txt": bytes(5_000_000)})
    honest = (5_000_000).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(honest, (10).to_bytes(4, "little")))
    with pytest.raises(BadInput, match="not a complete zip"):
        content_of(path)


@pytest.mark.parametrize("name", ["empty.csv", "empty.csv.gz"])
def test_an_empty_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b"") if name.endswith("gz") else b"")
    with pytest.raises(BadInput, match="is empty"):
        content_of(tmp_path / name)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no file"):
        content_of(tmp_path / "none.csv")
    with pytest.raises(BadInput, match="is a folder"):
        content_of(tmp_path)


def test_error_names_the_line_that_is_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv"
    path.write_bytes("list,item\n1,größe\n".encode() + b"2,gr\xf6sse\n")
    with pytest.raises(BadInput, match=r"lists: line 3 is not UTF-8"):
        check_utf8(path, "lists")


def test_character_across_two_chunks_is_valid_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decompression, "CHUNK", 1)
    path = tmp_path / "lists.csv"
    path.write_text("größe\n", encoding="utf-8")
    check_utf8(path, "lists")
    path.write_bytes("größe\n".encode()[:3])
    with pytest.raises(BadInput, match="line 1"):
        check_utf8(path, "lists")
