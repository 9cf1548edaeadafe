"""The stored cells of an unfinished campaign can be resumed: they fit the catalog and today's defaults."""

import json
import tarfile
from pathlib import Path

from fansrec.experiments.cells import read_cell
from fansrec.experiments.paper.catalogue import select
from fansrec.experiments.paper.cells import Corpora, required_cells

ARCHIVE = Path(__file__).parents[3] / "benchmarks" / "rows" / "paper-cells.tar.xz"


def test_every_stored_cell_is_current(tmp_path: Path) -> None:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    files = set((tmp_path / "cells").glob("*/*.json"))
    corpora = Corpora(tmp_path)
    for file in files:
        cell = json.loads(file.read_text(encoding="utf-8"))
        corpora.fingerprints[cell["dataset"], cell["categories"]] = cell["key"]["corpus"]
    cells = required_cells(select(["all"], ["aotm", "spotify-attlist", "grateful-dead"]), corpora)
    assert files and {cell.file for cell in cells if read_cell(cell) is not None} == files
