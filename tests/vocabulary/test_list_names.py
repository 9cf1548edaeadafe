from pathlib import Path

import numpy as np
import pytest

from fansrec.errors import BadArtifact
from fansrec.vocabulary import LISTS_FILE, ListNames, read_list_names

NAMES = ListNames(["1", "mix é", None], [None, "A mix", None])


def write(folder: Path, content: bytes) -> Path:
    (folder / LISTS_FILE).write_bytes(content)
    return folder


def test_names_are_read_as_they_were_written(tmp_path: Path) -> None:
    found = read_list_names(write(tmp_path, NAMES.file()), 3)
    assert found is not None
    assert [*found.ids] == ["1", "mix é", None]
    assert [found.title(index) for index in range(3)] == [None, "A mix", None]


def test_folder_without_the_file_has_no_names(tmp_path: Path) -> None:
    assert read_list_names(tmp_path, 3) is None


def test_names_are_selected_by_indices_and_by_a_mask() -> None:
    assert [*NAMES.select(np.array([2, 0])).ids] == [None, "1"]
    chosen = NAMES.select(np.array([False, True, False]))
    assert ([*chosen.ids], chosen.title(0)) == (["mix é"], "A mix")


@pytest.mark.parametrize(
    "content", [b'{"id": "1"}\n', b'{"id": 1}\n{"id": "2"}\n', b"[]\n[]\n", b"{", b'{"id": "%s"}\n{}\n' % (b"x" * 5000)]
)
def test_file_that_cannot_be_used_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(BadArtifact, match="names of lists"):
        read_list_names(write(tmp_path, content), 2)
