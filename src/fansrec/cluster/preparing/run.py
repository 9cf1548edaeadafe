"""From a source of shards to a corpus of shards, on a Ray cluster."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fansrec.cluster.connection import cluster
from fansrec.cluster.preparing.categorizing import categorize
from fansrec.cluster.preparing.gathering import as_read, brought_together
from fansrec.cluster.preparing.numbering import number_ids
from fansrec.cluster.preparing.pieces import Piece, pieces_of
from fansrec.cluster.preparing.reading import Facts, read_pieces
from fansrec.cluster.preparing.selecting import SelectedShards, Source, select
from fansrec.cluster.preparing.writing import write_items
from fansrec.cluster.storage import everywhere
from fansrec.data.assembling import Categories, item_order, ordered_vocabulary, summarize
from fansrec.data.columns import Columns
from fansrec.data.corpus import Corpus, write_all_but_items
from fansrec.data.item_details import ItemDetails, read_details
from fansrec.data.lists import offsets_of
from fansrec.data.prepare import Say, check_before, ignore
from fansrec.data.settings import Preparation
from fansrec.data.sources import no_split_key
from fansrec.errors import BadInput, BadSetting


def prepare_on_cluster(
    source: str,
    out: Path,
    preparation: Preparation = Preparation(),  # noqa: B008
    items: Any = None,
    columns: Columns = Columns(),  # noqa: B008
    say: Say = ignore,
    address: str | None = None,
) -> dict[str, Any]:
    """As `data.prepare.prepare`, with the same corpus in the end.

    What is read is kept in a folder beside `out`, under names that tell where it came from, until the corpus is there:
    a rerun reads only what is missing or has changed.
    """
    check_before(preparation, items, out)
    out = out.absolute()  # workers stand in other folders
    work = out.parent / f".{out.name}.preparing"
    with cluster(address):
        pieces = pieces_of(everywhere(source))
        try:
            work.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadSetting(f"{out} cannot be written ({error.strerror}); choose another place") from error
        read = _read(pieces, source, work, preparation, columns, say)
        selected = select(read, preparation, say)
        raw = read.gathered if preparation.categories_from == "all" else None
        del read  # what nobody holds the cluster forgets
        details = read_details(items, selected.ids) if items is not None else ItemDetails()
        categories = categorize(raw, selected, details, preparation, say)
        summary = _write(out, work, selected, details, categories, preparation, Path(source).name)
    shutil.rmtree(work, ignore_errors=True)
    say(f"written: {out}")
    return summary


def _read(
    pieces: Sequence[Piece], source: str, work: Path, preparation: Preparation, columns: Columns, say: Say
) -> Source:
    facts = read_pieces(pieces, work, columns, preparation.split_by)
    if kept := sum(piece.kept for piece in facts):
        say(f"kept: {kept:,} of {len(facts):,} shards were read before")
    _refuse_unlike(facts, pieces)
    facts = [piece for piece in facts if piece.interactions or piece.lists]
    if not facts:
        raise BadInput(f"{source} holds no lists; give files with lists in them")
    if preparation.split_by is not None and not any(piece.split_seen for piece in facts):
        raise no_split_key(source, preparation.split_by)
    ids, tables = number_ids(facts)
    gathered = brought_together(facts, tables, work, source) if facts[0].columns else as_read(facts, tables)
    lists, interactions = np.sum(gathered.sizes, axis=0).tolist()
    say(f"read: {lists:,} lists, {len(ids):,} items, {interactions:,} interactions in {len(facts):,} shards")
    return Source(gathered, ids)


def _refuse_unlike(facts: Sequence[Facts], pieces: Sequence[Piece]) -> None:
    for other, piece in zip(facts, pieces, strict=True):
        if (other.columns, other.ids_rise) != (facts[0].columns, facts[0].ids_rise):
            raise BadInput(f"{pieces[0].where} and {piece.where} are laid out differently; give shards of one form")


def _write(
    out: Path,
    work: Path,
    selected: SelectedShards,
    details: ItemDetails,
    categories: Categories,
    preparation: Preparation,
    name: str,
) -> dict[str, Any]:
    order = item_order(selected.ids, selected.frequency, categories)
    vocabulary = ordered_vocabulary(selected.ids, order, details, categories)
    folder = work / "corpus"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    items = write_items(folder, selected.shards, np.argsort(order).astype(np.int32))
    corpus = Corpus(items, offsets_of(selected.lengths), selected.parts, vocabulary, {})
    corpus.summary.update(summarize(corpus, categories, preparation, name))
    write_all_but_items(folder, corpus)
    for unfinished in folder.glob(".*"):  # of a worker that died, and whose work another did
        unfinished.unlink(missing_ok=True)
    folder.rename(out)
    return corpus.summary
