"""Training the hybrid model ends with a comparison with simple models."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fansrec
from fansrec.data.corpus import Corpus, read_corpus, write_corpus
from fansrec.errors import BadSetting
from fansrec.evaluation.protocol import METRICS, protocol
from fansrec.evaluation.rows import measure_run, open_run
from fansrec.training.hybrid import comparison
from training_runs import Recorder, train
from worlds import walks, write_walks

QUICK = {"recipe": "best", "epochs": 1, "width": 8, "heads": 2, "feedforward": 8, "layers": 1}


def trained(folder: Path, corpus: Corpus, **values: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the comparison of a quick training run, and its messages."""
    write_corpus(folder / "corpus", corpus)
    recorder = Recorder()
    train(folder / "corpus", folder / "run", "fans", QUICK | values, recorder, compare=True)
    return json.loads((folder / "run" / "config.json").read_text())["comparison"], recorder.messages


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], list[str]]:
    folder = tmp_path_factory.mktemp("whole")
    return folder, *trained(folder, walks())


MODELS = ["popularity", "item-knn", "ease", "slist", "fans"]


def test_figures_are_those_of_the_standard_protocol(whole: tuple[Path, dict[str, Any], list[str]]) -> None:
    folder, found, _ = whole
    assert [row["model"] for row in found["rows"]] == MODELS
    corpus = read_corpus(folder / "corpus")
    more = replace(corpus, parts=np.where(corpus.parts == 1, 0, corpus.parts).astype(np.uint8))
    write_corpus(folder / "more", more)  # the other models are fitted to the validation lists too
    for model, row in zip(MODELS[1:-1], found["rows"][1:-1], strict=True):
        train(folder / "more", folder / model, model, row["settings"])
    runs = dict.fromkeys(MODELS[1:-1], more) | {"run": corpus}
    for (run, lists), row in zip(runs.items(), found["rows"][1:], strict=True):
        measured = measure_run(open_run(folder / run, lists), lists, protocol("standard"), backend="torch").row
        assert {name: row[name] for name in METRICS} == pytest.approx({name: measured[name] for name in METRICS})
    assert (found["lists"], found["of"]) == (12, 12)


def test_table_has_no_rows_that_are_left_out(whole: tuple[Path, dict[str, Any], list[str]]) -> None:
    assert "left_out" not in whole[1] and not any("left out" in line for line in whole[2])


def test_table_is_reported_and_in_the_model_card(whole: tuple[Path, dict[str, Any], list[str]]) -> None:
    folder, found, messages = whole
    card = (folder / "run" / "README.md").read_text()
    for row in found["rows"]:
        (line,) = [
            line for line in messages if line.startswith(row["title"]) and "minus" not in line and "better" not in line
        ]
        (written,) = [line for line in card.splitlines() if line.startswith(f"| {row['title']}")]
        assert f"{row['HR@10']:.4f}" in line and f"{row['HR@10']:.4f}" in written
    assert any(line.startswith("EASE, regularization 1") for line in messages)
    assert "On 12 test lists" in card


def test_differences_are_paired_by_list() -> None:
    ours = {metric: np.array([1.0, 0.5, 1.0, 0.5] * 10) for metric in METRICS}
    theirs = {metric: values - 0.25 for metric, values in ours.items()}
    for one in comparison._differences(ours, theirs).values():
        assert one["difference"] == pytest.approx(0.25)
        assert one["interval"] == pytest.approx((0.25, 0.25))  # lists vary, their differences do not


def made(**ndcg: float) -> dict[str, Any]:
    """Return a comparison with these NDCG@5, the last of them that of the trained model."""
    *others, ours = (
        {"model": name.replace("_", "-"), "title": name, "settings": {}, **dict.fromkeys(METRICS, value)}
        for name, value in ndcg.items()
    )
    best = max(others, key=lambda row: row["NDCG@5"])
    apart = ours["NDCG@5"] - best["NDCG@5"]
    difference = {"difference": apart, "interval": (apart - 0.05, apart + 0.05)}
    differences = dict.fromkeys(METRICS, difference)
    about = {"lists": 5, "of": 5, "protocol": "standard", "against": best["model"]}
    return {**about, "rows": [*others, ours], "differences": differences}


def test_better_model_is_named_with_its_command() -> None:
    recorder = Recorder()
    comparison.report(made(popularity=0.1, ease=0.4, fans=0.3), Path("my corpus"), Path("runs/mine"), recorder)
    assert recorder.messages[-2] == "ease is better than fans on these lists: NDCG@5 0.4000 against 0.3000"
    advice = "fans train 'my corpus' --model ease --recipe best --out runs/mine-ease"
    assert recorder.messages[-1] == f"to train and serve that one instead: {advice}"


def test_command_has_no_recipe_for_a_model_without_one() -> None:
    assert (
        comparison.command("popularity", Path("c"), Path("r")) == "fans train c --model popularity --out r-popularity"
    )


def test_no_warning_if_the_trained_model_is_better() -> None:
    found = made(popularity=0.1, ease=0.3, fans=0.4)
    assert comparison.better(found) is None
    assert not any("better" in line or "significant" in line for line in comparison.verdict(found))
    near = made(popularity=0.1, ease=0.3, fans=0.32)
    assert comparison.verdict(near)[-1] == "the difference in NDCG@5 is not significant on these lists"


def test_no_table_without_test_lists(tmp_path: Path) -> None:
    # The parts of the hybrid model are fitted to the validation lists too, so that these cannot evaluate it.
    corpus = walks(lists=40)
    corpus.parts[corpus.parts == 2] = 0
    write_corpus(tmp_path / "corpus", corpus)
    train(tmp_path / "corpus", tmp_path / "run", "fans", QUICK, compare=True)
    assert "comparison" not in json.loads((tmp_path / "run" / "config.json").read_text())


def test_no_table_without_lists_to_evaluate(tmp_path: Path) -> None:
    corpus = walks(lists=20)
    corpus.parts[:] = 0
    write_corpus(tmp_path / "corpus", corpus)
    train(tmp_path / "corpus", tmp_path / "run", "fans", QUICK, compare=True)
    assert "comparison" not in json.loads((tmp_path / "run" / "config.json").read_text())


def test_ease_and_slist_are_compared_for_any_number_of_items() -> None:
    assert [model for model, _ in comparison.rivals(1000, 1_000_000)] == MODELS[:-1]


def test_number_of_lists_is_limited_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "LISTS", 3)
    _, messages = trained(tmp_path, walks(lists=40))
    assert any(line.startswith("On 3 of 4 test lists") for line in messages)


@pytest.mark.parametrize(("values", "compare"), [(QUICK, False), ({"epochs": 1, "steps": 1, "width": 8}, True)])
def test_no_table_unless_requested_and_none_for_the_paper_recipe(
    tmp_path: Path, values: dict[str, Any], compare: bool
) -> None:
    write_corpus(tmp_path / "corpus", walks(lists=40))
    train(tmp_path / "corpus", tmp_path / "run", "fans", values, compare=compare)
    assert "comparison" not in json.loads((tmp_path / "run" / "config.json").read_text())
    assert "Comparison" not in (tmp_path / "run" / "README.md").read_text()


@pytest.mark.parametrize(
    ("values", "resume", "recipe"),
    [({}, False, "best"), ({"steps": 3}, False, "paper"), ({"recipe": "paper"}, False, "paper"), ({}, True, None)],
)
def test_default_recipe_is_best_and_resumed_runs_keep_theirs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, values: dict[str, Any], resume: bool, recipe: str | None
) -> None:
    seen: list[Any] = []

    def stop(*arguments: Any) -> None:
        seen.append(arguments[-2])
        raise BadSetting("stopped here")

    write_walks(tmp_path / "corpus")
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    (tmp_path / "run" / "checkpoints" / "plan.json").write_text("{}")
    monkeypatch.setattr("fansrec.training.trainer.make_plan", stop)
    monkeypatch.setattr("fansrec.training.trainer.saved_plan", stop)
    with pytest.raises(BadSetting, match="stopped here"):
        fansrec.train(tmp_path / "corpus", tmp_path / "run", "fans", values, resume=resume)
    assert seen[0].get("recipe") == recipe
