"""The prepared corpus: a folder of arrays, a vocabulary and summary.json, read with numpy alone."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fansrec.data.lists import offsets_of
from fansrec.data.shards import SINGLE_FILE, Items, list_starts, read_blocks, read_items
from fansrec.errors import BadArtifact
from fansrec.files import new_folder, read_json, write_json
from fansrec.vocabulary import LISTS_FILE, ListNames, Vocabulary, read_list_names, read_vocabulary

PARTS = ("train", "valid", "test")
SUMMARY = "summary.json"
GROUPS = "groups.npy"

FlatLists = tuple[NDArray[np.int32], NDArray[np.int64]]  # list i is items[offsets[i]:offsets[i + 1]]


@dataclass(frozen=True)
class Corpus:
    """Lists of item indices: list i is `items[offsets[i]:offsets[i + 1]]`."""

    items: Items
    offsets: NDArray[np.int64]  # (lists + 1,)
    parts: NDArray[np.uint8]  # (lists,): 0 train, 1 valid, 2 test
    vocabulary: Vocabulary
    summary: dict[str, Any]
    groups: NDArray[np.int64] | None = None  # (lists,): from 0, if the corpus was split by a column
    list_names: ListNames | None = None  # of the lists, if the source has ids of lists

    def __len__(self) -> int:
        return len(self.parts)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def part(self, name: str) -> NDArray[np.int64]:
        """Return the indices of the lists of a part: train, valid or test."""
        return np.flatnonzero(self.parts == PARTS.index(name))

    def list(self, index: int) -> NDArray[np.int32]:
        items: NDArray[np.int32] = self.items[self.offsets[index] : self.offsets[index + 1]]
        return items

    def flat(self, *names: str) -> FlatLists:
        """Return the concatenated items of the lists of these parts, and their offsets."""
        return self.flat_lists(np.isin(self.parts, [PARTS.index(name) for name in names]))

    def flat_lists(self, chosen: NDArray[np.bool_]) -> FlatLists:
        """Return the concatenated items of the `chosen` lists (lists,), and their offsets."""
        return np.asarray(self.items[np.repeat(chosen, self.lengths)]), offsets_of(self.lengths[chosen])

    @cached_property
    def shards(self) -> NDArray[np.int64]:
        """The first list of each shard file, then the number of lists, shape (shards + 1,)."""
        return list_starts(self.items, self.offsets)


def fingerprint(corpus: Corpus) -> str:
    """Return a hash of the items, their indices, the lists, their parts, and their groups if they have any."""
    digest = hashlib.sha256()
    for content in corpus.vocabulary.files().values():
        digest.update(content)
    groups = () if corpus.groups is None else (corpus.groups,)
    for array in (*read_blocks(corpus.items), corpus.offsets, corpus.parts, *groups):
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def write_corpus(out: Path, corpus: Corpus, force: bool = False) -> None:
    """Write the complete folder, or nothing if that fails."""
    with new_folder(out, force) as folder:
        np.save(folder / SINGLE_FILE, corpus.items)
        write_all_but_items(folder, corpus)


def write_all_but_items(folder: Path, corpus: Corpus) -> None:
    np.save(folder / "offsets.npy", corpus.offsets)
    np.save(folder / "parts.npy", corpus.parts)
    if corpus.groups is not None:
        np.save(folder / GROUPS, corpus.groups)
    for name, content in corpus.vocabulary.files().items():
        (folder / name).write_bytes(content)
    if corpus.list_names is not None:
        (folder / LISTS_FILE).write_bytes(corpus.list_names.file())
    write_json(folder / SUMMARY, corpus.summary)


def read_corpus(folder: Path) -> Corpus:
    if not (folder / SUMMARY).is_file():
        raise BadArtifact(f"{folder} is not a prepared corpus: summary.json is missing. Create one with `fans prepare`")
    try:
        parts = np.load(folder / "parts.npy", allow_pickle=False)
        corpus = Corpus(
            items=read_items(folder),
            offsets=np.load(folder / "offsets.npy", allow_pickle=False),
            parts=parts,
            vocabulary=read_vocabulary(folder),
            summary=read_json(folder / SUMMARY),
            groups=np.load(folder / GROUPS, allow_pickle=False) if (folder / GROUPS).is_file() else None,
            list_names=read_list_names(folder, len(parts)),
        )
        _check(corpus)
    except (OSError, ValueError) as error:
        raise BadArtifact(f"{folder} is damaged ({error}); create it again with `fans prepare`") from error
    return corpus


def _check(corpus: Corpus) -> None:
    sizes_match = len(corpus.offsets) == len(corpus.parts) + 1 and corpus.offsets[-1] == len(corpus.items)
    if not sizes_match or (corpus.groups is not None and corpus.groups.shape != corpus.parts.shape):
        raise ValueError("the sizes of its arrays do not match")
    if (np.diff(corpus.offsets) < 1).any() or corpus.items.min() < 0 or corpus.items.max() >= len(corpus.vocabulary):
        raise ValueError("it has empty lists or unknown items")


def target_lengths(lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of trailing items that form the target of lists of these lengths: max(1, round(n / 2))."""
    return np.maximum(1, np.rint(np.asarray(lengths) / 2).astype(np.int64))
