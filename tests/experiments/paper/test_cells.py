"""Cells: shared where they are the same, told apart by everything that shapes them."""

import json
from dataclasses import replace

import pytest

from fansrec.data.corpus import read_corpus, write_corpus
from fansrec.errors import Interrupted
from fansrec.experiments.paper.catalogue import choose, systems
from fansrec.experiments.paper.cells import Corpora, cells_of, missing, read_cell
from fansrec.experiments.paper.train_cell import train_cell
from fansrec.experiments.progress import Watchful
from worlds import walks


@pytest.fixture
def choice():
    return choose(["table2"], ["sample"], quick=True)


def cell_of(corpora, choice, system="FANS_STEP", seed=0):
    return corpora.cell("sample", 10, systems()[system], seed, choice)


def test_tables_share_their_cells(corpora):
    two = cells_of(choose(["table2"], ["sample"]), corpora)
    both = cells_of(choose(["table2", "table3"], ["sample"]), corpora)
    assert len(both) - len(two) == 3 * 8  # three seeds of the systems that only table 3 has


def test_a_recaller_needs_no_training_of_its_own(corpora):
    choice = choose(["fig-recall"], ["sample"], [0])
    assert {cell.system for cell in cells_of(choice, corpora)} == {"BERT4Rec", "FANS_TSC-STEP"}


def test_what_is_not_random_has_one_seed(corpora):
    cells = cells_of(choose(["table2"], ["sample"], [0, 1, 2]), corpora)
    assert sum(cell.system == "EASE" for cell in cells) == 1
    assert sum(cell.system == "CAR" for cell in cells) == 3


def test_seed_settings_and_corpus_tell_cells_apart(corpora, choice, tmp_path):
    cell = cell_of(corpora, choice)
    others = [cell_of(corpora, choice, seed=1), cell_of(corpora, replace(choice, settings={"epochs": 2}))]
    assert len({cell.digest, *(other.digest for other in others)}) == 3
    elsewhere = tmp_path / "elsewhere"
    write_corpus(elsewhere / "corpora" / "sample-10", walks(seed=1))
    assert cell_of(Corpora(type(corpora.folder)(elsewhere)), choice).digest != cell.digest


def test_a_dataset_without_a_corpus_has_no_cells(corpora, choice):
    assert corpora.cell("aotm", 10, systems()["FANS_STEP"], 0, choice) is None


def test_a_finished_cell_holds_every_way_and_protocol_list_by_list(corpora, choice):
    cell = cell_of(corpora, choice, "BERT4Rec")
    train_cell(cell, keep=False)
    content = read_cell(cell)
    assert content is not None
    assert content["ways"].keys() == {"own", "recall"}
    lists = len(read_corpus(cell.corpus).part("test"))
    for protocols in content["ways"].values():
        assert protocols.keys() == {"paper", "paper, input excluded", "standard"}
        for judged in protocols.values():
            for figure in judged.values():
                counted = [value for value in figure["values"] if value is not None]
                assert len(figure["values"]) == lists and len(counted) == figure["lists"]
                assert figure["mean"] == pytest.approx(sum(counted) / len(counted), abs=1e-6)
    assert not cell.run.exists()


def test_a_cell_of_other_settings_is_not_taken_for_this_one(corpora, choice):
    cell = cell_of(corpora, choice, "popularity")
    train_cell(cell, keep=False)
    assert missing([cell]) == []
    content = json.loads(cell.file.read_text())
    content["key"]["settings"]["recipe"] = "another"
    cell.file.write_text(json.dumps(content))
    assert missing([cell]) == [cell]


def test_a_half_trained_cell_goes_on_where_it_stopped(corpora, choice, monkeypatch):
    cell = cell_of(corpora, choice)

    def stop(*_):
        raise Interrupted("stopped")

    with monkeypatch.context() as patch:
        patch.setattr(Watchful, "batch", stop)
        with pytest.raises(Interrupted):
            train_cell(cell, keep=True)
    assert read_cell(cell) is None and cell.run.is_dir()
    train_cell(cell, keep=True)
    assert read_cell(cell) is not None and (cell.run / "model.safetensors").is_file()


def test_a_trained_cell_whose_figures_are_lost_is_not_trained_again(corpora, choice, monkeypatch):
    cell = cell_of(corpora, choice, "popularity")
    train_cell(cell, keep=True)
    cell.file.unlink()
    monkeypatch.delattr("fansrec.experiments.paper.train_cell.train")
    train_cell(cell, keep=False)
    assert read_cell(cell) is not None


def test_a_cell_made_with_other_defaults_is_made_again(corpora, choice, monkeypatch):
    cell = cell_of(corpora, choice, "BERT4Rec")
    train_cell(cell, keep=True)
    weights = (cell.run / "model.safetensors").read_bytes()
    monkeypatch.setattr("fansrec.models.sequence.bert4rec.Bert4Rec.defaults", {"batch_size": 7}, raising=False)
    assert missing([cell]) == [cell]
    train_cell(cell, keep=True)
    assert missing([cell]) == []
    assert (cell.run / "model.safetensors").read_bytes() != weights


@pytest.mark.parametrize("content", ["{", "[]", "{}", ""])
def test_a_damaged_cell_counts_as_not_finished(corpora, choice, content):
    cell = cell_of(corpora, choice)
    cell.file.parent.mkdir(parents=True)
    cell.file.write_text(content)
    assert missing([cell]) == [cell]


def test_a_cell_that_knows_nothing_of_a_new_setting_stays(corpora, choice):
    cell = cell_of(corpora, choice, "popularity")
    train_cell(cell, keep=False)
    content = json.loads(cell.file.read_text())
    del content["recipe"]["validation_lists"]
    cell.file.write_text(json.dumps(content))
    assert missing([cell]) == []
