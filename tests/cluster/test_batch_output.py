"""The pieces and the output folder of a batch."""

from dataclasses import replace
from pathlib import Path

import pytest

from fansrec.api.many_lists import BLOCK_BYTES
from fansrec.cluster.batch_output import finish, open_folder
from fansrec.cluster.batch_pieces import piece_bytes, split_files
from fansrec.cluster.storage import StoredFile
from fansrec.errors import BadSetting

ABOUT = {"model": "abc", "k": 5}
FILES = [StoredFile("file:///in/a.jsonl", 3 * BLOCK_BYTES, "1"), StoredFile("file:///in/b.jsonl", 10, "1")]
NAMES = [f"000000-a-00000{n}.jsonl" for n in range(3)] + ["000001-b-000000.jsonl"]


def test_pieces_cover_each_byte_once_and_are_sorted_by_name() -> None:
    pieces = split_files(FILES, BLOCK_BYTES)
    assert [piece.name for piece in pieces] == NAMES == sorted(NAMES)
    assert [(piece.start, piece.end) for piece in pieces[:3]] == [
        (n * BLOCK_BYTES, (n + 1) * BLOCK_BYTES) for n in range(3)
    ]


@pytest.mark.parametrize("size", [0, 10**6, 10**9, 10**12])
def test_pieces_are_whole_blocks_and_limited_in_number(size: int) -> None:
    file = StoredFile("file:///in/a.jsonl", size, "1")
    piece = piece_bytes([file], workers=2)
    assert piece > 0 and piece % BLOCK_BYTES == 0
    assert 1 <= len(split_files([file], piece)) <= 20_000


def test_only_missing_answers_and_those_to_changed_inputs_are_repeated(tmp_path: Path) -> None:
    folder = str(tmp_path / "out")
    pieces, _ = open_folder(folder, FILES, BLOCK_BYTES, ABOUT)
    for piece in pieces:
        (tmp_path / "out" / piece.name).write_text("done")
    finish(folder, pieces, {"lists": 4})
    assert open_folder(folder, FILES, BLOCK_BYTES, ABOUT) == (pieces, {"lists": 4})
    (tmp_path / "out" / NAMES[1]).unlink()
    assert open_folder(folder, FILES, BLOCK_BYTES, ABOUT) == (pieces, None)
    (tmp_path / "out" / NAMES[1]).write_text("done")
    finish(folder, pieces, {"lists": 4})
    changed = [replace(FILES[0], version="2", size=BLOCK_BYTES), FILES[1]]
    again, finished = open_folder(folder, changed, 7 * BLOCK_BYTES, ABOUT)
    assert ([piece.name for piece in again], finished) == ([NAMES[0], NAMES[3]], None)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"manifest.json", NAMES[3]}


def test_another_model_or_other_inputs_are_refused(tmp_path: Path) -> None:
    folder = str(tmp_path / "out")
    open_folder(folder, FILES, BLOCK_BYTES, ABOUT)
    with pytest.raises(BadSetting, match="continuations with other model;"):
        open_folder(folder, FILES, BLOCK_BYTES, ABOUT | {"model": "other"})
    with pytest.raises(BadSetting, match="continuations with other input files;"):
        open_folder(folder, FILES[:1], BLOCK_BYTES, ABOUT)


def test_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(BadSetting, match=r"contains other files \(letters.txt\)"):
        open_folder(str(tmp_path), FILES, BLOCK_BYTES, ABOUT)
    (tmp_path / "letters.txt").unlink()
    open_folder(str(tmp_path), FILES, BLOCK_BYTES, ABOUT)
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(BadSetting, match=r"contains other files \(letters.txt\)"):
        open_folder(str(tmp_path), FILES, BLOCK_BYTES, ABOUT)
    with pytest.raises(BadSetting, match="is a file; give a folder"):
        open_folder(str(tmp_path / "letters.txt"), FILES, BLOCK_BYTES, ABOUT)


def test_temporary_files_of_killed_workers_are_removed(tmp_path: Path) -> None:
    pieces, _ = open_folder(str(tmp_path), FILES, BLOCK_BYTES, ABOUT)
    (tmp_path / f".{NAMES[0]}.half").write_text("ha")
    finish(str(tmp_path), pieces, {})
    assert {path.name for path in tmp_path.iterdir()} == {"manifest.json", "summary.json"}
