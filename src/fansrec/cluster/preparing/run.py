"""From a sharded source to a sharded corpus, on a Ray cluster."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import ray
from numpy.typing import NDArray

from fansrec.cluster.connection import cluster
from fansrec.cluster.preparing.categories import categorize
from fansrec.cluster.preparing.filtering import ShardedSelection, filter_and_split
from fansrec.cluster.preparing.grouping import shards_from_rows
from fansrec.cluster.preparing.item_index import build_item_index
from fansrec.cluster.preparing.pieces import Piece, split_source
from fansrec.cluster.preparing.reading import PieceInfo, read_pieces
from fansrec.cluster.preparing.shuffle import (
    Shard,
    ShardedLists,
    drop_repeats,
    shards_from_lists,
)  # fmt: skip
from fansrec.cluster.preparing.tasks import task
from fansrec.cluster.storage import absolute_url
from fansrec.data.categories import Report
from fansrec.data.columns import Columns
from fansrec.data.corpus import Corpus, write_all_but_items
from fansrec.data.corpus_builder import item_order, ordered_vocabulary, summarize
from fansrec.data.item_details import ItemDetails, read_details
from fansrec.data.lists import offsets_of
from fansrec.data.prepare import check_options
from fansrec.data.reading import Reading, reading_of
from fansrec.data.settings import Preparation
from fansrec.data.shards import read_items, shard_name
from fansrec.data.sources import ignore, missing_split_key
from fansrec.errors import BadInput, BadSetting
from fansrec.files import move_folder, write_atomically
from fansrec.vocabulary import Vocabulary


def prepare_on_cluster(
    source: str,
    out: Path,
    preparation: Preparation = Preparation(),  # noqa: B008
    items: Any = None,
    columns: Columns = Columns(),  # noqa: B008
    report: Report = ignore,
    address: str | None = None,
    force: bool = False,
) -> dict[str, Any]:
    """Do the same as `data.prepare.prepare`, with the same corpus as the result.

    Until the corpus is complete, the content of each piece is kept in a folder next to `out`, under a name that
    depends on the piece: a rerun reads only pieces that are missing or have changed.
    """
    check_options(preparation, items, out, force)
    out = out.absolute()  # workers have other working directories
    work = out.parent / f".{out.name}.preparing"
    with cluster(address):
        pieces = split_source(absolute_url(source))
        try:
            work.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadSetting(f"{out} cannot be written ({error.strerror}); choose another path") from error
        reading = reading_of(preparation, columns)
        raw, ids, chosen = _read(pieces, source, work, reading, preparation.duplicates, report)
        selection = filter_and_split(raw, ids["id"], preparation, report)
        integers = ids["integer"].to_numpy()[selection.indices >= 0]
        learn_from = raw if preparation.categories_from == "all" else None
        del raw, ids  # Ray frees objects without references
        name = preparation.group_name
        details = ItemDetails() if items is None else read_details(items, selection.ids, reading, report, name)
        categories = categorize(learn_from, selection, details, preparation, report)
        order = item_order(selection.ids, selection.frequency, categories)
        vocabulary = ordered_vocabulary(selection.ids, order, details, categories, integers)
        corpus = _write(work, selection, order, vocabulary)
        corpus.summary.update(summarize(corpus, categories, preparation, Path(source).name, selection.keys, chosen))
        _complete(work, out, corpus, force)
    shutil.rmtree(work, ignore_errors=True)
    report(f"written: {out}")
    return corpus.summary


def _read(
    pieces: Sequence[Piece], source: str, work: Path, reading: Reading, duplicates: str, report: Report
) -> tuple[ShardedLists, pl.DataFrame, dict[str, str | None] | None]:
    """Return the lists of the source, the id of every item index and its type, and the columns that were read."""
    infos = read_pieces(pieces, work, reading)
    if kept := sum(info.kept for info in infos):
        report(f"kept: {kept:,} of {len(infos):,} shards were read before")
    _check_same_layout(infos, pieces)
    infos = [info for info in infos if info.interactions or info.lists]
    if not infos:
        raise BadInput(f"{source} contains no lists; give files that contain lists")
    if reading.split_by is not None and not any(info.has_split_key for info in infos):
        raise missing_split_key(source, reading.split_by)
    _report_reading(infos, report)
    ids, tables = build_item_index(infos)
    if infos[0].columns:
        raw = shards_from_rows(infos, tables, work, source, reading.list_time)
    else:
        raw = shards_from_lists(infos, tables)
    lists, interactions = np.sum(raw.sizes, axis=0).tolist()
    report(f"read: {lists:,} lists, {len(ids):,} items, {interactions:,} interactions in {len(infos):,} shards")
    if duplicates == "drop":
        raw = drop_repeats(raw)
        dropped = interactions - int(np.sum(raw.sizes, axis=0)[1])
        report(f"duplicates: {dropped:,} items that their list had before were dropped")
    return raw, ids, infos[0].chosen


def _report_reading(infos: Sequence[PieceInfo], report: Report) -> None:
    """Report the columns of the first shard, and what was skipped in each."""
    for info in infos:
        for line in info.report:
            if info is infos[0] or line.startswith("skipped"):
                report(line)


def _check_same_layout(infos: Sequence[PieceInfo], pieces: Sequence[Piece]) -> None:
    for info, piece in zip(infos, pieces, strict=True):
        if (info.columns, info.sorted_ids) != (infos[0].columns, infos[0].sorted_ids):
            raise BadInput(f"{pieces[0].where} and {piece.where} have different layouts; give shards of one layout")


def _write(work: Path, selection: ShardedSelection, order: NDArray[np.int64], vocabulary: Vocabulary) -> Corpus:
    """Write the lists and return the corpus, its summary still empty; each shard is written by a task."""
    folder = work / "corpus"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    indices = ray.put(np.argsort(order).astype(np.int32))
    paths = [str(folder / shard_name(number)) for number in range(len(selection.shards))]
    ray.get([task(_write_shard, *arguments, indices) for arguments in zip(paths, selection.shards, strict=True)])
    offsets = offsets_of(selection.lengths)
    return Corpus(read_items(folder), offsets, selection.parts, vocabulary, {}, selection.keys.groups)


def _complete(work: Path, out: Path, corpus: Corpus, force: bool) -> None:
    """Write the rest of the corpus, and move it to its place."""
    folder = work / "corpus"
    write_all_but_items(folder, corpus)
    for temporary in folder.glob(".*"):  # of workers that died while writing
        temporary.unlink(missing_ok=True)
    move_folder(folder, out, force)


def _write_shard(path: str, shard: Shard, indices: NDArray[np.int32]) -> None:
    items = indices[shard.lists.items]

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.save(file, items)

    write_atomically(Path(path), write)
