"""Files of a correctly sealed folder that are too deep, too large, not what they seem, or not in the folder at all."""

import hashlib
import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from artifacts import change_json, reseal, write_file
from fansrec.artifact import read_artifact
from fansrec.errors import BadArtifact
from fansrec.files import MAX_JSON_BYTES, MAX_JSON_DEPTH, json_text
from fansrec.vocabulary import MAX_LINE_BYTES

Copy = Callable[[str], Path]

BAD_JSON = {
    "deep": b"[" * 100_000,
    "deep and whole": b'{"x": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "a little too deep": b"[" * (MAX_JSON_DEPTH + 1) + b"]" * (MAX_JSON_DEPTH + 1),
    "huge integer": b'{"model": ' + b"9" * 5_000 + b"}",
    "not UTF-8": b'{"model": "\xff"}',
    "UTF-16": '{"model": "fans"}'.encode("utf-16"),
    "byte order mark": b'\xef\xbb\xbf{"model": "fans"}',
    "half a character": b'{"model": "\\ud800"}',
    "NaN": b"NaN",
    "null": b"null",
    "empty": b"",
}


@pytest.mark.parametrize("name", ["config.json", "categories.json", "items.jsonl", "manifest.json"])
@pytest.mark.parametrize("what", BAD_JSON)
def test_json_that_cannot_be_read_is_refused(copy_of: Copy, name: str, what: str) -> None:
    folder = copy_of("popularity")
    if name == "manifest.json":
        (folder / name).write_bytes(BAD_JSON[what])
    else:
        write_file(folder, name, BAD_JSON[what])
    with pytest.raises(BadArtifact):
        read_artifact(folder)


@pytest.mark.parametrize("name", ["config.json", "categories.json", "manifest.json"])
def test_json_that_is_too_large_is_refused(copy_of: Copy, name: str) -> None:
    folder = copy_of("popularity")
    content = (folder / name).read_bytes() + b" " * MAX_JSON_BYTES
    if name == "manifest.json":
        (folder / name).write_bytes(content)
    else:
        write_file(folder, name, content)
    with pytest.raises(BadArtifact):
        read_artifact(folder)


def test_item_of_endless_length_is_refused(copy_of: Copy) -> None:
    folder = copy_of("popularity")
    write_file(folder, "items.jsonl", b'{"id": "' + b"x" * (3 * MAX_LINE_BYTES) + b'"}\n')
    with pytest.raises(BadArtifact, match="has a line of more than"):
        read_artifact(folder)


def list_in_manifest(folder: Path, name: str, digest: str) -> None:
    content = json.loads((folder / "manifest.json").read_text())
    content["files"][name] = digest
    content.pop("sha256")
    content["sha256"] = hashlib.sha256(json_text(content).encode()).hexdigest()
    (folder / "manifest.json").write_text(json_text(content))


@pytest.mark.parametrize("name", ["../secret", "deep/../../secret", "/etc/hostname", "./README.md", "deep//x", "..", ".", "", "a\\b", "a\0b", "a\nb", "\x1b[31m", ".hidden", "C:\\x"])  # fmt: skip # noqa: E501
def test_manifest_name_that_is_not_plain_is_refused(copy_of: Copy, name: str) -> None:
    folder = copy_of("popularity")
    (folder.parent / "secret").write_text("x")
    list_in_manifest(folder, name, hashlib.sha256(b"x").hexdigest())
    with pytest.raises(BadArtifact, match=r"lists .* which is not inside the folder") as refused:
        read_artifact(folder)
    assert str(refused.value).isprintable()


def test_manifest_name_that_is_too_long_is_refused(copy_of: Copy) -> None:
    folder = copy_of("popularity")
    list_in_manifest(folder, "x" * 10_000, "0")
    with pytest.raises(BadArtifact, match="which is not inside the folder"):
        read_artifact(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "items.jsonl", "README.md", "manifest.json"])
def test_link_out_of_the_folder_is_refused(copy_of: Copy, name: str) -> None:
    folder = copy_of("popularity")
    (folder / name).rename(folder.parent / "elsewhere")
    (folder / name).symlink_to(folder.parent / "elsewhere")
    if name != "manifest.json":
        reseal(folder)
    with pytest.raises(BadArtifact, match="which is not inside the folder"):
        read_artifact(folder)


def test_linked_folder_and_links_inside_it_are_read(copy_of: Copy) -> None:
    folder = copy_of("popularity")
    (folder / "README.md").rename(folder / "card.md")
    (folder / "README.md").symlink_to("card.md")
    reseal(folder)
    link = folder.parent / "link"
    link.symlink_to(folder)
    assert read_artifact(link).config["model"] == "popularity"


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "README.md", "manifest.json"])
def test_pipe_in_place_of_a_file_is_refused_and_never_opened(copy_of: Copy, name: str) -> None:
    folder = copy_of("popularity")
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(BadArtifact, match="is missing"):
        read_artifact(folder)


def safetensors(header: Any, data: bytes = b"", size: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data


def counts(**changes: Any) -> dict[str, Any]:
    return {"counts": {"dtype": "F32", "shape": [60], "data_offsets": [0, 240]} | changes}


BAD_WEIGHTS = {
    "empty": b"",
    "short": b"\x10",
    "only a size": struct.pack("<Q", 16),
    "endless header": safetensors(counts(), bytes(240), 2**63),
    "large header": safetensors(b"{" + b" " * (9 << 20) + b"}"),
    "no JSON": safetensors(b"not JSON"),
    "deep JSON": safetensors(b"[" * 100_000),
    "list": safetensors([]),
    "unknown type": safetensors(counts(dtype="X99"), bytes(240)),
    "short data": safetensors(counts(), bytes(239)),
    "more data": safetensors(counts(), bytes(241)),
    "negative shape": safetensors(counts(shape=[-60]), bytes(240)),
    "shape that overflows": safetensors(counts(shape=[2**62, 2**62]), bytes(240)),
    "offsets that fall": safetensors(counts(data_offsets=[240, 0]), bytes(240)),
    "offsets beyond the file": safetensors(counts(data_offsets=[0, 2**60]), bytes(240)),
    "overlapping tensors": safetensors(counts() | {"more": counts()["counts"]}, bytes(240)),
    "a gap before the data": safetensors(counts(data_offsets=[8, 248]), bytes(248)),
}


@pytest.mark.parametrize("what", BAD_WEIGHTS)
def test_weights_file_that_is_damaged_is_refused(copy_of: Copy, what: str) -> None:
    folder = copy_of("popularity")
    write_file(folder, "model.safetensors", BAD_WEIGHTS[what])
    with pytest.raises(BadArtifact, match="does not hold a model this fansrec can build"):
        read_artifact(folder)


def test_data_that_is_not_aligned_is_refused(copy_of: Copy) -> None:
    folder = copy_of("popularity")
    header = json.dumps(counts()).encode().ljust(93)
    write_file(folder, "model.safetensors", safetensors(header, b"\0\0\x80\x3f" * 60))
    with pytest.raises(BadArtifact, match="counts is not aligned in the file"):
        read_artifact(folder)


def test_weights_file_that_is_written_by_hand_is_read_if_it_fits(copy_of: Copy) -> None:
    folder = copy_of("popularity")
    header = json.dumps(counts()).encode().ljust(96)
    write_file(folder, "model.safetensors", safetensors(header, b"\0\0\x80\x3f" * 60))
    assert read_artifact(folder).model.counts.tolist() == [1.0] * 60


def test_vocabulary_is_checked_when_a_model_is_read(copy_of: Copy) -> None:
    folder = copy_of("popularity")
    change_json(folder, lambda content: content["names"].pop(), "categories.json")
    with pytest.raises(BadArtifact, match="has 3 names for 4 categories"):
        read_artifact(folder)
