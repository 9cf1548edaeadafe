import json
from dataclasses import replace

import pytest

from fansrec.data.corpus import read_corpus
from fansrec.errors import Interrupted
from fansrec.experiments import run_cell as running
from fansrec.experiments.cells import read_cell, unfinished
from fansrec.experiments.crossval.cross_validation import EVALUATIONS, CrossValidation
from fansrec.experiments.crossval.systems import parse_systems
from fansrec.experiments.pool import Outcome
from fansrec.experiments.run_cell import OrphanGuard, run_cell
from worlds import MINUTE

SMALL_FANS = "fans:paper" + "".join(f"+{name}={value}" for name, value in MINUTE.items())


class Recorder:
    """Records the events of the pool."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.begun: list[int] = []
        self.outcomes: list[Outcome] = []

    def begin(self, title: str, jobs: int) -> None:
        self.begun.append(jobs)

    def ended(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)

    def say(self, text: str) -> None:
        self.said.append(text)


def test_random_systems_have_a_cell_per_fold_and_seed(validation: CrossValidation) -> None:
    several = replace(validation, systems=parse_systems("ease,fans:paper"), seeds=[0, 1])
    cells = several.cells()
    assert len(cells) == 3 * (1 + 2) == len({cell.file for cell in cells})
    on_valid = replace(several, part="valid").cells()
    assert not {cell.file for cell in cells} & {cell.file for cell in on_valid}
    assert {cell.run for cell in cells} == {cell.run for cell in on_valid}


def test_finished_cell_has_values_per_list_for_every_evaluation(validation: CrossValidation) -> None:
    cell = validation.cells()[0]
    summary = run_cell(cell, keep=False)
    content = read_cell(cell)
    assert content is not None
    lists = read_corpus(cell.corpus).part("test").tolist()
    assert content["lists"] == lists and content["evaluations"].keys() == EVALUATIONS.keys()
    for evaluation in content["evaluations"].values():
        for metric, values in evaluation["values"].items():
            counted = [value for value in values if value is not None]
            assert len(values) == len(lists)
            assert evaluation["row"][metric] == pytest.approx(sum(counted) / len(counted), abs=1e-5)
        assert sum(evaluation["order"]["exact"]) == evaluation["row"]["exact_hits"]
    fixed, known, one = (content["evaluations"][name]["row"] for name in ("k fixed", "k known", "one given item"))
    assert (fixed["masks"], fixed["input"], known["masks"], known["input"]) == ("10", "excluded", "target", "excluded")
    assert (fixed["given"], known["given"], one["given"], one["masks"]) == (None, None, 1, "10")
    assert one["lists@10"] == fixed["lists@10"] and one["latency_ms"] is None
    assert f"{fixed['NDCG@5']:.4f}" in summary
    assert content["trained"]["variant"] == "popularity" and content["seconds"]["training"] >= 0
    assert not cell.run.exists()


@pytest.mark.usefixtures("in_process")
def test_finished_cells_are_not_run_again(validation: CrossValidation) -> None:
    recorder = Recorder()
    assert validation.run_cells(recorder, workers=2) == []
    assert validation.run_cells(recorder, workers=2) == []
    assert recorder.begun == [6, 0]


@pytest.mark.usefixtures("in_process")
def test_failed_cell_is_returned_and_does_not_affect_others(validation: CrossValidation) -> None:
    broken = replace(validation, folds=[0])
    (cell,) = [cell for cell in broken.cells() if cell.model == "ease"]
    cell.run.parent.mkdir(parents=True)
    cell.run.write_text("in the way")
    assert [job.title for job in broken.run_cells(Recorder(), workers=1)] == [str(cell)]
    assert unfinished(broken.cells()) == [cell]


@pytest.mark.parametrize("text", ["{", "[]", "{}", ""])
def test_damaged_cell_is_reported_and_run_again(validation: CrossValidation, text: str) -> None:
    cell = validation.cells()[0]
    cell.file.parent.mkdir(parents=True)
    cell.file.write_text(text)
    said: list[str] = []
    assert cell in unfinished(validation.cells(), said.append)
    assert said == [f"{cell.file} is damaged or was made with other settings; the cell is run again"]


def test_cell_with_another_key_is_not_used(validation: CrossValidation) -> None:
    cell = validation.cells()[0]
    run_cell(cell, keep=False)
    content = json.loads(cell.file.read_text())
    content["key"]["corpus"] = "another"
    cell.file.write_text(json.dumps(content))
    assert read_cell(cell) is None


def test_interrupted_training_is_resumed_and_kept_weights_are_evaluated_again(
    validation: CrossValidation, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = replace(validation, systems=parse_systems(SMALL_FANS), folds=[0])
    (cell,), (on_valid,) = one.cells(), replace(one, part="valid").cells()

    def stop(*_: object) -> None:
        raise Interrupted("stopped")

    with monkeypatch.context() as patch:
        patch.setattr(OrphanGuard, "batch", stop)
        with pytest.raises(Interrupted):
            run_cell(cell, keep=True)
    assert (cell.run / "checkpoints").is_dir() and read_cell(cell) is None
    run_cell(cell, keep=True)
    weights = (cell.run / "model.safetensors").read_bytes()
    monkeypatch.delattr(running, "train")
    run_cell(on_valid, keep=True)
    content = read_cell(on_valid)
    assert content is not None and content["seconds"]["training"] is None
    assert (cell.run / "model.safetensors").read_bytes() == weights
