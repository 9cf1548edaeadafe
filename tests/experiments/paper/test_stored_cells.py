"""The stored cells of an unfinished campaign fit the catalog and today's defaults, and the page shows their figures."""

import json
import tarfile
from pathlib import Path

import pytest

from fansrec.experiments.cells import read_cell
from fansrec.experiments.paper.catalogue import Selection, experiments, select
from fansrec.experiments.paper.cells import Corpora, required_cells
from fansrec.experiments.paper.results import METRICS, Results, Subject

ROOT = Path(__file__).parents[3]
ARCHIVE = ROOT / "benchmarks" / "rows" / "paper-cells.tar.xz"
PAGE = ROOT / "docs" / "explanation" / "results-ablations.md"
SEEDS = 3


@pytest.fixture(scope="module")
def selection() -> Selection:
    return select(["all"], ["aotm", "spotify-attlist", "grateful-dead"])


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Corpora:
    """Unpack the cells; the fingerprints that they name stand for the corpora, which are not needed."""
    out = tmp_path_factory.mktemp("reproduction")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(out, filter="data")
    corpora = Corpora(out)
    for file in (out / "cells").glob("*/*.json"):
        cell = json.loads(file.read_text(encoding="utf-8"))
        corpora.fingerprints[cell["dataset"], cell["categories"]] = cell["key"]["corpus"]
    return corpora


def test_every_stored_cell_is_current(selection: Selection, corpora: Corpora) -> None:
    files = set((corpora.out / "cells").glob("*/*.json"))
    cells = required_cells(selection, corpora)
    assert files and {cell.file for cell in cells if read_cell(cell) is not None} == files


@pytest.mark.parametrize("dataset", ["spotify-attlist", "grateful-dead"])
def test_page_shows_figures_of_stored_cells(selection: Selection, corpora: Corpora, dataset: str) -> None:
    results, title = Results(selection, corpora), next(d.title for d in selection.datasets if d.name == dataset)
    for classifier, systems in experiments()["table3"].extra["rows"].items():
        subjects = [Subject(dataset, system) for system in systems]
        assert_shown(results, subjects, table("Table 3", title), f"{classifier}, ")
    numbers = [n for n in experiments()["table4"].categories if (dataset, n) in corpora.fingerprints]
    subjects = [Subject(dataset, "BERT4Rec"), *(Subject(dataset, "FANS_TSC-STEP", n) for n in numbers)]
    assert_shown(results, subjects, table("Table 4", title))


def table(section: str, title: str) -> dict[str, list[str]]:
    """Return the entries of a data set's table on the page by the title of the row, without emphasis."""
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {section}")[1].split(f"\n### {title}\n")[1]
    plain = text.strip().split("\n\n")[0].replace("**", "").replace("<u>", "").replace("</u>", "")
    rows = [[entry.strip().partition("<br>")[0] for entry in line.split("|")[1:-1]] for line in plain.splitlines()]
    return {row[0]: row[1:] for row in rows}


def assert_shown(results: Results, subjects: list[Subject], rows: dict[str, list[str]], prefix: str = "") -> None:
    assert {len(results.cells(subject)) for subject in subjects} == {SEEDS}
    for metric in METRICS:
        figures = [results.figure(subject, metric) for subject in subjects]
        expected = [f"{one.mean:.4f} ± {one.deviation:.4f}" for one in figures if one]
        assert rows[prefix + metric][: len(subjects)] == expected
