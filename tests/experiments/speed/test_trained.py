"""`fans bench latency|throughput --run RUN --corpus CORPUS`: trained models on the test lists of their corpus."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fansrec.data.corpus import read_corpus
from fansrec.errors import BadSetting
from fansrec.evaluation.protocol import evaluation_lists
from fansrec.experiments.__main__ import main
from fansrec.experiments.speed.latency import latency
from fansrec.experiments.speed.options import LatencyOptions, ThroughputOptions
from fansrec.experiments.speed.rows import Row
from fansrec.experiments.speed.throughput import throughput
from fansrec.experiments.speed.trained import TrainedSystems, run_names
from training_runs import train
from worlds import MINUTE, write_walks

QUICK: dict[str, Any] = {"seconds": 0, "repeats": 1}


@pytest.fixture(scope="module")
def runs(songs: Path, best: Path) -> dict[str, Path]:
    """Return trained models: the paper's FANS, the hybrid model, BERT4Rec and popularity."""
    small = {name: MINUTE[name] for name in MINUTE.keys() - {"steps"}}
    train(songs / "corpus", songs / "bert4rec", "bert4rec", small)
    train(songs / "corpus", songs / "popularity", "popularity", {})
    return {"run": songs / "run", "best": best} | {name: songs / name for name in ("bert4rec", "popularity")}


@pytest.fixture(scope="module")
def rows(runs: dict[str, Path], songs: Path) -> list[Row]:
    return latency(LatencyOptions(run=[*runs.values()], corpus=songs / "corpus", lists=100, seconds=5, repeats=1))


def test_every_run_is_measured_in_the_arms_it_has(rows: list[Row]) -> None:
    found = {(row["run"], row["arm"], row["model"], row["variant"], row["categories"]) for row in rows}
    assert found >= {
        *(("run", arm, "fans", "paper", 4) for arm in ("authors", "eager", "ours")),
        *(("best", arm, "fans", "best", 4) for arm in ("eager", "ours")),
        *(("bert4rec", arm, "bert4rec", "paper", 1) for arm in ("authors", "autoregressive")),
        ("popularity", "linear", "popularity", "paper", 1),
    }


def test_lists_are_the_test_lists_of_the_corpus(rows: list[Row], songs: Path) -> None:
    lists = evaluation_lists(read_corpus(songs / "corpus"), "test")
    lengths = [len(given) + len(target) for given, target in zip(lists.inputs, lists.targets, strict=True)]
    for row in rows:
        assert (row["workload"], row["items"], row["lists"]) == ("corpus", 60, len(lengths))
        assert row["length"] == pytest.approx(np.mean(lengths))
        assert row["k"] == pytest.approx(np.mean([len(target) for target in lists.targets]))


def test_arms_of_a_run_have_its_weights(rows: list[Row]) -> None:
    compared = [row for row in rows if row["same_items"] is not None]
    assert {row["run"] for row in compared} >= {"run", "best"}
    assert all(row["same_or_tied_items"] == 1 for row in compared)


def test_runs_are_compared_with_each_other(rows: list[Row]) -> None:
    ours = {row["run"]: row for row in rows if row["arm"] == "ours"}
    assert ours["best"]["times_bert4rec"] > 0 and ours["best"]["times_paper"] > 0
    assert ours["run"]["times_authors"] > 0


def test_throughput_leaves_out_batches_that_are_too_large(runs: dict[str, Path], songs: Path) -> None:
    said: list[str] = []
    options = ThroughputOptions(run=[runs["run"]], corpus=songs / "corpus", batches=(1, 4, 64), **QUICK)
    rows = throughput(options, say=said.append)
    assert {row["batch"] for row in rows} == {1, 4} and {row["run"] for row in rows} == {"run"}
    assert {"eager", "ours", "padded"} <= {row["arm"] for row in rows}
    assert any("a batch of 64 is left out" in line for line in said)


def test_run_of_another_corpus_is_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    other = write_walks(tmp_path / "other", seed=7)
    with pytest.raises(BadSetting, match=r"run was trained on another corpus; give corpus"):
        latency(LatencyOptions(run=[runs["run"]], corpus=other, **QUICK))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"run": [Path("run")]}, "--run needs --corpus"),
        ({"corpus": Path("corpus")}, "--corpus needs --run"),
        ({"run": [Path("run")], "corpus": Path("corpus"), "items": 5}, "--items has no effect with --run"),
        ({"run": [Path("run")], "corpus": Path("corpus"), "workload": "aotm"}, "--workload has no effect"),
        ({"run": [Path("run")], "corpus": Path("corpus"), "categories": [5]}, "--categories has no effect"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(BadSetting) as error:
        LatencyOptions(**given)
    assert message in error.value.on_command_line


def test_default_sizes_are_accepted_beside_a_run() -> None:
    LatencyOptions(run=[Path("run")], corpus=Path("corpus"), categories=[1, 10, 100])


def test_batch_must_fit_into_the_test_lists(runs: dict[str, Path], songs: Path) -> None:
    with pytest.raises(BadSetting, match="batch 500 is more than the 12 test lists"):
        latency(LatencyOptions(run=[runs["run"]], corpus=songs / "corpus", batch=500, **QUICK))


def test_arms_without_the_models_of_the_runs_are_refused(runs: dict[str, Path], songs: Path) -> None:
    with pytest.raises(BadSetting, match="arms authors has no arm for these models"):
        TrainedSystems(songs / "corpus", [runs["best"]], "cpu").build(["authors"])


def test_runs_with_the_same_folder_name_are_named_by_their_paths() -> None:
    assert run_names([Path("a/run"), Path("b/best")]) == ["run", "best"]
    assert run_names([Path("a/run"), Path("b/run")]) == ["a/run", "b/run"]


def test_bare_command_takes_repeated_runs(runs: dict[str, Path], songs: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    arguments = ["speed", "latency", "--run", str(runs["run"]), "--run", str(runs["best"]), "--arms", "ours"]
    arguments += ["--corpus", str(songs / "corpus"), "--lists", "2", "--seconds", "0", "--json", str(file)]
    assert main(arguments) == 0
    assert [row["run"] for row in json.loads(file.read_text())] == ["run", "best"]
