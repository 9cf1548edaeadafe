import json
from dataclasses import replace

import pytest

from fansrec.data.corpus import read_corpus
from fansrec.errors import Interrupted
from fansrec.experiments.crossval import train_cell as training
from fansrec.experiments.crossval.cells import missing, read_cell
from fansrec.experiments.crossval.systems import parse_systems
from fansrec.experiments.crossval.train_cell import WAYS, train_cell
from fansrec.experiments.crossval.work import Choice, do_cells
from fansrec.experiments.pool import Outcome
from fansrec.experiments.progress import Watchful
from worlds import MINUTE

SMALL_FANS = "fans:paper" + "".join(f"+{name}={value}" for name, value in MINUTE.items())


class Ear:
    def __init__(self) -> None:
        self.begun: list[int] = []
        self.outcomes: list[Outcome] = []

    def begin(self, what: str, jobs: int) -> None:
        self.begun.append(jobs)

    def ended(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)


def test_a_cell_is_a_system_a_fold_and_a_seed_if_it_is_random(choice: Choice) -> None:
    several = replace(choice, systems=parse_systems("ease,fans:paper"), seeds=[0, 1])
    cells = several.cells()
    assert len(cells) == 3 * (1 + 2) == len({cell.file for cell in cells})
    on_valid = replace(several, part="valid").cells()
    assert not {cell.file for cell in cells} & {cell.file for cell in on_valid}
    assert {cell.run for cell in cells} == {cell.run for cell in on_valid}


def test_a_finished_cell_holds_every_list_in_both_ways(choice: Choice) -> None:
    cell = choice.cells()[0]
    word = train_cell(cell, keep=False)
    content = read_cell(cell)
    assert content is not None
    lists = read_corpus(cell.corpus).part("test").tolist()
    assert content["lists"] == lists and content["ways"].keys() == WAYS.keys() == {"k fixed", "k known"}
    for judged in content["ways"].values():
        for metric, values in judged["values"].items():
            counted = [value for value in values if value is not None]
            assert len(values) == len(lists)
            assert judged["row"][metric] == pytest.approx(sum(counted) / len(counted), abs=1e-5)
        assert sum(judged["order"]["exact"]) == judged["row"]["exact_hits"]
    fixed, known = (content["ways"][way]["row"] for way in WAYS)
    assert (fixed["masks"], fixed["input"], known["masks"], known["input"]) == ("10", "excluded", "target", "excluded")
    assert f"{fixed['NDCG@5']:.4f}" in word
    assert content["chosen"]["variant"] == "popularity" and content["seconds"]["training"] >= 0
    assert not cell.run.exists()


@pytest.mark.usefixtures("in_turn")
def test_what_is_finished_is_not_done_again(choice: Choice) -> None:
    ear = Ear()
    assert do_cells(choice, ear, print, workers=2) == []
    assert do_cells(choice, ear, print, workers=2) == []
    assert ear.begun == [6, 0]


@pytest.mark.usefixtures("in_turn")
def test_a_cell_that_fails_is_named_and_costs_no_other(choice: Choice) -> None:
    broken = replace(choice, folds=[0])
    (cell,) = [cell for cell in broken.cells() if cell.system.model == "ease"]
    cell.run.parent.mkdir(parents=True)
    cell.run.write_text("in the way")
    assert do_cells(broken, Ear(), print, workers=1) == [cell]
    assert missing(broken.cells(), print) == [cell]


@pytest.mark.parametrize("text", ["{", "[]", "{}", ""])
def test_a_damaged_cell_is_done_again_with_a_word(choice: Choice, text: str) -> None:
    cell = choice.cells()[0]
    cell.file.parent.mkdir(parents=True)
    cell.file.write_text(text)
    said: list[str] = []
    assert cell in missing(choice.cells(), said.append)
    assert said == [f"{cell.file} is damaged; the cell is done again"]


def test_a_cell_of_another_key_is_not_taken_for_this_one(choice: Choice) -> None:
    cell = choice.cells()[0]
    train_cell(cell, keep=False)
    content = json.loads(cell.file.read_text())
    content["key"]["corpus"] = "another"
    cell.file.write_text(json.dumps(content))
    assert read_cell(cell) is None


def test_a_stopped_training_goes_on_and_kept_weights_are_judged_again(
    choice: Choice, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = replace(choice, systems=parse_systems(SMALL_FANS), folds=[0])
    (cell,), (on_valid,) = one.cells(), replace(one, part="valid").cells()

    def stop(*_: object) -> None:
        raise Interrupted("stopped")

    with monkeypatch.context() as patch:
        patch.setattr(Watchful, "batch", stop)
        with pytest.raises(Interrupted):
            train_cell(cell, keep=True)
    assert (cell.run / "checkpoints").is_dir() and read_cell(cell) is None
    train_cell(cell, keep=True)
    weights = (cell.run / "model.safetensors").read_bytes()
    monkeypatch.delattr(training, "train")
    train_cell(on_valid, keep=True)
    content = read_cell(on_valid)
    assert content is not None and content["seconds"]["training"] is None
    assert (cell.run / "model.safetensors").read_bytes() == weights
