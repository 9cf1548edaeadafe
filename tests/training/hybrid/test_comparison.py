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
from fansrec.evaluation.paired import rank
from fansrec.evaluation.protocol import METRICS, protocol
from fansrec.evaluation.rows import measure_run, open_run
from fansrec.training.grid_search import candidates
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


MODELS = ["popularity", "item-knn", "ease", "slist", "vstan", "fans"]


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
        (line,) = [line for line in messages if line.startswith(f"{row['title']} ") and "minus" not in line]
        (written,) = [line for line in card.splitlines() if line.startswith(f"| {row['title']}")]
        assert f"{row['HR@10']:.4f}" in line and f"{row['HR@10']:.4f}" in written
    (ease,) = [row for row in found["rows"] if row["model"] == "ease"]
    assert any(line.startswith("EASE: 10 of 10 settings in ") for line in messages)
    assert any(f"regularization {ease['settings']['regularization']:g}" in line for line in messages)
    assert "On 12 test lists" in card and "recommended: " in card
    assert "searched on the validation lists for at most 10 s each" in card


def test_differences_are_paired_by_list() -> None:
    ours = {metric: np.array([1.0, 0.5, 1.0, 0.5] * 10) for metric in METRICS}
    theirs = {metric: values - 0.25 for metric, values in ours.items()}
    for one in comparison._differences(ours, theirs).values():
        assert one["difference"] == pytest.approx(0.25)
        assert one["interval"] == pytest.approx((0.25, 0.25))  # lists vary, their differences do not


def made(lists: int = 100, **ndcg: float) -> dict[str, Any]:
    """Return a comparison of models with these mean NDCG@5, the last of them the trained one; intervals are +-0.04."""
    random = np.random.default_rng(0)
    noise = {name: random.normal(0, 0.15, lists) for name in ndcg}
    figures = {name: mean + noise[name] - noise[name].mean() for name, mean in ndcg.items()}
    about = {"settings": {}, "tried": 0, "of": 0, "seconds": 0.0}
    rows = [
        {"model": name, "title": name, **about, **dict.fromkeys(METRICS, float(values.mean()))}
        for name, values in figures.items()
    ]
    ranking = rank(figures)
    ours, against = rows[-1]["model"], next(name for name in ranking.order if name != rows[-1]["model"])
    differences = comparison._differences(*(dict.fromkeys(METRICS, figures[name]) for name in (ours, against)))
    found = {"lists": lists, "of": lists, "protocol": "standard", "seconds": 3.0, "search_seconds": 10.0}
    found |= {"rows": rows, "against": against, "differences": differences}
    return found | comparison._recommendation(ranking, rows, lists)


def test_cheapest_model_that_is_not_significantly_worse_is_recommended_with_its_command() -> None:
    recorder = Recorder()
    comparison.report(made(popularity=0.1, ease=0.39, slist=0.4, fans=0.4), Path("my corpus"), Path("runs/m"), recorder)
    assert recorder.messages[-3] == ("recommended: ease, the cheapest model that is not significantly worse than slist")
    assert recorder.messages[-2].startswith("NDCG@5 0.3900 against 0.4000, difference 0.0100 [-")
    advice = "fans train 'my corpus' --model ease --recipe best --out runs/m-ease"
    assert recorder.messages[-1] == f"to train and serve that one instead: {advice}"


def test_command_has_no_recipe_for_a_model_without_one() -> None:
    assert (
        comparison.command("popularity", Path("c"), Path("r")) == "fans train c --model popularity --out r-popularity"
    )


def test_trained_model_is_recommended_if_it_is_better() -> None:
    found = made(popularity=0.1, ease=0.3, fans=0.4)
    assert comparison.verdict(found)[-1] == (
        "recommended: fans, which is significantly better than all others: NDCG@5 0.4000"
    )


def test_few_lists_recommend_the_best_model_and_say_that_they_are_few() -> None:
    found = made(lists=20, popularity=0.39, ease=0.3, fans=0.4)
    assert found["recommended"] == "fans"
    assert "20 test lists are too few to tell models apart" in comparison.verdict(found)[-2]


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


def test_others_are_searched_on_validation_lists_within_the_time_limit() -> None:
    corpus = walks(lists=40)
    within = dict(comparison.rivals(corpus, 1000.0))
    assert list(within) == MODELS[:-1]
    assert {model: len(rival.tried) for model, rival in within.items()} == {
        model: len(list(candidates(model))) if model != "popularity" else 0 for model in MODELS[:-1]
    }
    without_time = dict(comparison.rivals(corpus, 0.0))
    assert all(len(rival.tried) == (model != "popularity") for model, rival in without_time.items())


def test_others_are_compared_without_a_search_if_there_are_no_validation_lists() -> None:
    corpus = walks(lists=40)
    corpus.parts[corpus.parts == 1] = 0
    assert all(not rival.tried for _, rival in comparison.rivals(corpus, 10.0))


def test_search_time_grows_with_the_training_time_within_limits() -> None:
    assert [comparison.search_seconds(seconds) for seconds in (5, 300, 10_000)] == [10, 30, 120]


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
    monkeypatch.setattr("fansrec.training.begin.make_plan", stop)
    monkeypatch.setattr("fansrec.training.begin.saved_plan", stop)
    with pytest.raises(BadSetting, match="stopped here"):
        fansrec.train(tmp_path / "corpus", tmp_path / "run", "fans", values, resume=resume)
    assert seen[0].get("recipe") == recipe
