"""Models are trained, compared list by list and one of them recommended; the same call resumes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fansrec
from fansrec.artifact import read_config
from fansrec.data.corpus import read_corpus, write_corpus
from fansrec.errors import BadSetting
from fansrec.evaluation.protocol import METRICS, protocol
from fansrec.evaluation.rows import measure_run, open_run
from fansrec.experiments.compare import comparison
from fansrec.experiments.compare.measuring import Measured
from fansrec.experiments.compare.report import markdown
from fansrec.training.grid_search import candidates
from fansrec.training.trainer import train
from training_runs import Recorder
from worlds import walks, write_walks

MODELS = ("popularity", "ease", "fans:paper+epochs=1+feedforward=8+layers=1+width=8")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, fansrec.Comparison]:
    folder = tmp_path_factory.mktemp("compare")
    corpus = write_walks(folder / "corpus", lists=600)
    return corpus, fansrec.compare(corpus, models=MODELS)


def test_figures_are_those_of_evaluate_and_models_are_sorted(made: tuple[Path, fansrec.Comparison]) -> None:
    path, found = made
    corpus = read_corpus(path)
    for one in found.models:
        row = measure_run(open_run(one.run, corpus), corpus, protocol("standard"), timed=False).row
        assert {name: one.row[name] for name in METRICS} == {name: row[name] for name in METRICS}
    figures = [one.row["NDCG@5"] for one in found.models]
    assert figures == sorted(figures, reverse=True)
    assert found.lists == 60 and found.models[-1].name == "popularity"


def test_report_has_table_plot_and_recommendation(made: tuple[Path, fansrec.Comparison]) -> None:
    path, found = made
    folder = path.parent / "corpus-compare"
    written = json.loads((folder / "comparison.json").read_text())
    assert written == json.loads(json.dumps(found.to_json()))
    assert written["recommended"] == found.recommended.name and Path(written["run"]) == found.run
    assert written["models"][0]["behind"] is None and written["models"][1]["behind"]["difference"] > 0
    text = (folder / "comparison.md").read_text()
    assert text == markdown(found) and f"Its model is in `{found.run}`." in text and "| EASE (best)" in text
    assert (folder / "comparison.png").read_bytes().startswith(b"\x89PNG")
    assert fansrec.load(found.run).continue_lists([["i1", "i2"]], k=3)[0].items


def test_same_call_trains_and_measures_nothing_again(
    made: tuple[Path, fansrec.Comparison], monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: Any, **__: Any) -> None:
        raise AssertionError

    path, found = made
    with monkeypatch.context() as patch:
        patch.setattr("fansrec.experiments.compare.measuring.train", forbidden)
        patch.setattr("fansrec.experiments.compare.measuring.measure_run", forbidden)
        assert fansrec.compare(path, models=MODELS).to_json() == found.to_json()
    more = fansrec.compare(path, models=[*MODELS, "item-knn"])
    assert [one.name for one in more.models if one.name not in MODELS] == ["item-knn"]


def test_longer_time_searches_again_only_what_had_too_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, out, names, trained = write_walks(tmp_path / "corpus"), tmp_path / "out", ["popularity", "ease"], []

    def counted(*arguments: Any, **options: Any) -> Any:
        trained.append(arguments[2])
        return train(*arguments, **options)

    monkeypatch.setattr("fansrec.experiments.compare.measuring.train", counted)
    short = fansrec.compare(corpus, out, names, seconds=1e-9)
    long = fansrec.compare(corpus, out, names, seconds=60)
    assert trained == ["popularity", "ease", "ease"]
    tried = {one.name: (one.tried, one.search_seconds) for one in (short.models[0], long.models[0])}
    assert short.models[0].tried == 1 and tried == {"ease": (len([*candidates("ease")]), 60.0)}
    fansrec.compare(corpus, out, names, seconds=3600)  # nothing is left to search
    again = fansrec.compare(corpus, out, names, seconds=1)
    assert len(trained) == 3 and again.search_seconds == 60
    assert "for at most 60 s" in (out / "comparison.md").read_text()


def test_another_seed_trains_again(tmp_path: Path) -> None:
    corpus, out = write_walks(tmp_path / "corpus"), tmp_path / "out"
    for seed in (0, 1):
        found = fansrec.compare(corpus, out, [MODELS[2]], seed=seed)
        assert read_config(found.run)["training"]["seed"] == seed


def test_interrupted_comparison_is_resumed(tmp_path: Path) -> None:
    class Stop(Recorder):
        def epoch(self, row: dict[str, Any]) -> None:
            raise KeyboardInterrupt

    corpus = write_walks(tmp_path / "corpus")
    with pytest.raises(fansrec.errors.Interrupted):
        fansrec.compare(corpus, tmp_path / "out", MODELS, reporter=Stop())
    found = fansrec.compare(corpus, tmp_path / "out", MODELS)
    assert {one.name: one.training_seconds is None for one in found.models} == {
        name: name.startswith("fans") for name in MODELS
    }


def test_folder_of_another_corpus_or_of_something_else_is_refused(tmp_path: Path) -> None:
    corpus = write_walks(tmp_path / "corpus")
    fansrec.compare(corpus, tmp_path / "out", ["popularity"])
    other = write_walks(tmp_path / "other", lists=60)
    with pytest.raises(BadSetting, match="has a comparison with another corpus"):
        fansrec.compare(other, tmp_path / "out", ["popularity"])
    assert fansrec.compare(other, tmp_path / "out", ["popularity"], force=True).lists == 6
    with pytest.raises(BadSetting, match="is not the folder of a comparison"):
        fansrec.compare(corpus, tmp_path / "other", ["popularity"], force=True)


def test_force_removes_nothing_that_the_comparison_did_not_write(tmp_path: Path) -> None:
    corpus, out, foreign = write_walks(tmp_path / "corpus"), tmp_path / "out", tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "corpus.json").write_text('{"a": 1}')
    (foreign / "thesis.txt").write_text("x")
    with pytest.raises(BadSetting, match="is not the folder of a comparison"):
        fansrec.compare(corpus, foreign, ["popularity"], force=True)
    assert (foreign / "thesis.txt").read_text() == "x"
    fansrec.compare(corpus, out, ["popularity", "markov"])
    (out / "notes.txt").write_text("x")
    fansrec.compare(corpus, out, ["popularity"], force=True)
    assert (out / "notes.txt").read_text() == "x"
    assert [path.name for path in (out / "runs").iterdir()] == ["popularity"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seconds": 0}, "seconds is 0; it must be a duration above 0"),
        ({"seconds": "soon"}, "seconds is 'soon'"),
        ({"models": []}, "^models names no model; give at least one, such as fans,ease,item-knn$"),
        ({"models": ""}, "^models names no model"),
        ({"device": "abacus"}, "^there is no device abacus here; leave out device, or give cpu$"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    corpus = write_walks(tmp_path / "corpus")
    with pytest.raises(BadSetting, match=message):
        fansrec.compare(corpus, tmp_path / "out", **{"models": "popularity", **arguments})
    assert not (tmp_path / "out").exists()


def test_models_and_time_can_be_given_as_on_the_command_line(tmp_path: Path) -> None:
    found = fansrec.compare(write_walks(tmp_path / "corpus"), models="popularity, markov", seconds="1m", device="cpu")
    assert {one.name for one in found.models} == {"popularity", "markov"} and found.search_seconds == 60


def test_corpus_without_test_lists_is_refused(tmp_path: Path) -> None:
    corpus = walks(lists=40)
    write_corpus(tmp_path / "corpus", replace(corpus, parts=np.zeros(40, dtype=np.uint8)))
    with pytest.raises(BadSetting, match="has no test lists"):
        fansrec.compare(tmp_path / "corpus")


def measured(name: str, values: np.ndarray, seconds: float = 1.0, title: str | None = None) -> Measured:
    row = dict.fromkeys(METRICS, float(values.mean())) | {"variant": title or name, "lists": len(values)}
    return Measured(name, name.split(":")[0], Path("runs") / name, row, {"NDCG@5": values}, seconds, {}, 0, None)


def concluded(*models: Measured) -> fansrec.Comparison:
    return comparison.conclude(Path("corpus"), Path("out"), 60.0, models)


def test_cheaper_model_is_recommended_only_if_the_difference_is_not_significant() -> None:
    noise = np.random.default_rng(0).normal(0, 0.1, 200)
    best, equal = np.full(200, 0.5), 0.499 + noise - noise.mean()
    assert concluded(measured("fans", best), measured("slist", equal)).recommended.name == "slist"
    assert concluded(measured("fans", best), measured("slist", equal - 0.05)).recommended.name == "fans"
    few = concluded(measured("fans", best[:40]), measured("slist", equal[:40] - 0.001))
    assert few.recommended.name == "fans" and "too few" in few.reasons[0]


def test_models_that_are_trained_by_gradient_are_compared_by_training_time() -> None:
    values = np.full(200, 0.5)
    found = concluded(measured("fans", values, 90.0), measured("sasrec", values, 30.0), measured("gru4rec", values, 40))
    assert found.recommended.name == "sasrec"


def test_models_with_the_same_title_are_named_as_given() -> None:
    pair = [measured("ease:paper", np.ones(9), title="EASE"), measured("ease:paper+x=1", np.ones(9), title="EASE")]
    assert comparison.titles(pair) == {"ease:paper": "ease:paper", "ease:paper+x=1": "ease:paper+x=1"}
