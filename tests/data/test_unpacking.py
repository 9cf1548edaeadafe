import gzip
import zipfile
from pathlib import Path

import pytest

from fansrec.data import unpacking
from fansrec.data.unpacking import refuse_other_than_utf8, unpacked
from fansrec.errors import BadInput


def zipped(path: Path, **entries: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def content_of(path: Path) -> tuple[str, bytes]:
    with unpacked(path) as file:
        return file.name, file.path.read_bytes()


def test_a_plain_file_is_read_where_it_lies(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv"
    path.write_bytes(b"a,b\n")
    with unpacked(path) as file:
        assert file == (path, "lists.csv")


def test_a_gzip_is_unpacked_under_the_name_without_gz(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n"))
    assert content_of(path) == ("lists.csv", b"a,b\n")


def test_a_zip_is_unpacked_under_the_name_of_its_one_file(tmp_path: Path) -> None:
    path = zipped(tmp_path / "any.zip", **{"folder/lists.tsv": b"a\tb\n"})
    assert content_of(path) == ("lists.tsv", b"a\tb\n")


def test_the_litter_of_a_file_manager_in_a_zip_is_passed_over(tmp_path: Path) -> None:
    path = zipped(tmp_path / "any.zip", **{"__MACOSX/._l.txt": b"junk", ".DS_Store": b"junk", "l.txt": b"1 2\n"})
    assert content_of(path) == ("l.txt", b"1 2\n")


def test_a_zip_of_two_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="holds 2 files"):
        content_of(zipped(tmp_path / "any.zip", **{"a.txt": b"1 2\n", "b.txt": b"1 2\n"}))


def test_what_was_unpacked_is_gone_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n"))
    with unpacked(path) as file:
        pass
    assert not file.path.exists()


def test_a_truncated_gzip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv.gz"
    path.write_bytes(gzip.compress(bytes(range(256)) * 9)[:-12])
    with pytest.raises(BadInput, match="no whole gzip"):
        content_of(path)


@pytest.mark.parametrize("name", ["lists.csv.gz", "lists.zip"])
def test_a_packed_file_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"plain text")
    with pytest.raises(BadInput, match="no whole"):
        content_of(tmp_path / name)


def test_a_zip_with_a_damaged_content_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "any.zip", **{"l.txt": bytes(range(256)) * 99})
    damaged = bytearray(path.read_bytes())
    damaged[60:90] = b"\xff" * 30
    path.write_bytes(damaged)
    with pytest.raises(BadInput, match="no whole zip"):
        content_of(path)


@pytest.mark.parametrize("kind", ["gz", "zip"])
def test_a_bomb_is_stopped_on_the_way_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(unpacking, "GROWTH_FLOOR", 1_000_000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    bomb = bytes(20_000_000)
    path = tmp_path / f"lists.txt.{kind}"
    if kind == "gz":
        path.write_bytes(gzip.compress(bomb))
    else:
        zipped(path, **{"lists.txt": bomb})
    with pytest.raises(BadInput, match="unpacks to more than"):
        content_of(path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_zip_that_lies_about_its_size_is_no_way_around_the_limit(tmp_path: Path) -> None:
    path = zipped(tmp_path / "any.zip", **{"l.txt": bytes(5_000_000)})
    honest = (5_000_000).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(honest, (10).to_bytes(4, "little")))
    with pytest.raises(BadInput, match="no whole zip"):
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


def test_the_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "lists.csv"
    path.write_bytes("list,item\n1,größe\n".encode() + b"2,gr\xf6sse\n")
    with pytest.raises(BadInput, match=r"lists: line 3 is not UTF-8"):
        refuse_other_than_utf8(path, "lists")


def test_a_letter_cut_by_the_end_of_a_chunk_is_still_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "CHUNK", 1)
    path = tmp_path / "lists.csv"
    path.write_text("größe\n", encoding="utf-8")
    refuse_other_than_utf8(path, "lists")
    path.write_bytes("größe\n".encode()[:3])
    with pytest.raises(BadInput, match="line 1"):
        refuse_other_than_utf8(path, "lists")
