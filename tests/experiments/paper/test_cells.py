"""The cells of the paper's experiments: which ones exist, how they are shared, run and resumed."""

import json
from dataclasses import replace

import pytest

from fansrec.data.corpus import read_corpus, write_corpus
from fansrec.experiments.cells import read_cell, unfinished
from fansrec.experiments.paper.catalogue import select
from fansrec.experiments.paper.cells import PROTOCOLS, Corpora, evaluation_name, required_cells
from fansrec.experiments.run_cell import run_cell
from worlds import walks


@pytest.fixture
def selection():
    return select(["table2"], ["sample"], quick=True)


def cell_of(corpora, selection, system="FANS_STEP"):
    (cell,) = corpora.cells("sample", 10, system, selection)
    return cell


def test_tables_share_cells(corpora):
    two = required_cells(select(["table2"], ["sample"]), corpora)
    both = required_cells(select(["table2", "table3"], ["sample"]), corpora)
    assert len(both) - len(two) == 3 * 8  # three seeds of the systems that only table 3 has


def test_recall_system_needs_no_training_run(corpora):
    selection = select(["fig-recall"], ["sample"], [0])
    assert {cell.labels["system"] for cell in required_cells(selection, corpora)} == {"BERT4Rec", "FANS_TSC-STEP"}


def test_deterministic_models_have_one_seed(corpora):
    cells = required_cells(select(["table2"], ["sample"], [0, 1, 2]), corpora)
    assert sum(cell.labels["system"] == "EASE" for cell in cells) == 1
    assert sum(cell.labels["system"] == "CAR" for cell in cells) == 3


def test_cells_differ_by_seed_settings_and_corpus(corpora, selection, tmp_path):
    cell = cell_of(corpora, selection)
    others = [
        cell_of(corpora, replace(selection, seeds=(1,))),
        cell_of(corpora, replace(selection, settings={"epochs": 2})),
    ]
    assert len({cell.run, *(other.run for other in others)}) == 3
    elsewhere = tmp_path / "elsewhere"
    write_corpus(elsewhere / "corpora" / "sample-10", walks(seed=1))
    assert cell_of(Corpora(elsewhere), selection).run.name != cell.run.name


def test_data_set_without_a_corpus_has_no_cells(corpora, selection):
    assert corpora.cells("aotm", 10, "FANS_STEP", selection) == []


def test_finished_cell_has_values_per_list_for_every_generation_mode_and_protocol(corpora, selection):
    cell = cell_of(corpora, selection, "BERT4Rec")
    run_cell(cell, keep=False)
    content = read_cell(cell)
    assert content is not None
    assert PROTOCOLS.keys() == {"paper", "paper, input excluded", "standard"}
    names = {evaluation_name(generation, protocol) for generation in (None, "recall") for protocol in PROTOCOLS}
    assert content["evaluations"].keys() == names
    lists = len(read_corpus(cell.corpus).part("test"))
    for evaluation in content["evaluations"].values():
        assert evaluation["row"]["backend"] == "torch" and evaluation["row"]["latency_ms"] is None
        for metric, values in evaluation["values"].items():
            counted = [value for value in values if value is not None]
            assert len(values) == lists and len(counted) == evaluation["row"][f"lists@{metric.split('@')[1]}"]
            assert evaluation["row"][metric] == pytest.approx(sum(counted) / len(counted), abs=1e-6)
    assert not cell.run.exists()


def test_kept_model_is_evaluated_again_without_training(corpora, selection, monkeypatch):
    cell = cell_of(corpora, selection, "popularity")
    run_cell(cell, keep=True)
    cell.file.unlink()
    monkeypatch.delattr("fansrec.experiments.run_cell.train")
    run_cell(cell, keep=False)
    assert read_cell(cell) is not None


def test_cell_made_with_other_defaults_is_run_again(corpora, selection, monkeypatch):
    cell = cell_of(corpora, selection, "BERT4Rec")
    run_cell(cell, keep=True)
    weights = (cell.run / "model.safetensors").read_bytes()
    monkeypatch.setattr("fansrec.models.sequence.bert4rec.Bert4Rec.defaults", {"batch_size": 7}, raising=False)
    assert unfinished([cell]) == [cell]
    run_cell(cell, keep=True)
    assert unfinished([cell]) == []
    assert (cell.run / "model.safetensors").read_bytes() != weights


def test_cell_without_a_newer_setting_is_kept(corpora, selection):
    cell = cell_of(corpora, selection, "popularity")
    run_cell(cell, keep=False)
    content = json.loads(cell.file.read_text())
    del content["all_settings"]["validation_lists"]
    cell.file.write_text(json.dumps(content))
    assert unfinished([cell]) == []
