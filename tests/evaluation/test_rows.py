import json
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fansrec.artifact import Artifact
from fansrec.data.corpus import Corpus, read_corpus, write_corpus
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadSetting
from fansrec.evaluation import rows as rows_module
from fansrec.evaluation.protocol import METRICS, evaluation_lists, list_metrics, predict, protocol, shorten
from fansrec.evaluation.rows import WARM_UP, measure_run, open_run
from training_runs import train
from worlds import corpus_of, vocabulary_of

PAPER, STANDARD = protocol("paper"), protocol("standard")


def test_row_names_the_run_and_the_protocol(fans_run: Artifact, corpus: Corpus) -> None:
    row = measure_run(fans_run, corpus, PAPER).row
    named = {
        "run": "fans",
        "model": "fans",
        "variant": "FANS_TSC-STEP",
        "generation": "one-pass",
        "protocol": "paper",
        "input": "kept",
        "masks": "target",
        "part": "test",
        "fill": "by-position",
        "controls": {},
        "lists": 12,
        "device": "cpu",
    }
    assert named.items() <= row.items()
    assert row["seconds"] > 0


def test_every_metric_has_an_interval_around_it(popularity_run: Artifact, corpus: Corpus) -> None:
    row = measure_run(popularity_run, corpus, STANDARD, part="train").row
    for name in METRICS:
        low, high = row[f"{name}_ci"]
        assert 0 <= low < row[name] < high <= 1


def test_metrics_are_means_over_lists(popularity_run: Artifact, corpus: Corpus) -> None:
    row = measure_run(popularity_run, corpus, PAPER, part="train").row
    sampled = evaluation_lists(corpus, "train")
    engine = TorchEngine(popularity_run.model, len(corpus.vocabulary))
    metrics = list_metrics(predict(engine, sampled, PAPER), sampled, PAPER)
    for name in METRICS:
        assert row[name] == pytest.approx(np.mean(metrics[name]))
    assert row["lists@5"] == sum(len(target) >= 5 for target in sampled.targets) > 0
    assert row["lists@10"] == sum(len(target) >= 10 for target in sampled.targets) > 0


def test_metrics_equal_those_of_training(fans_run: Artifact, corpus: Corpus) -> None:
    row = measure_run(fans_run, corpus, PAPER, part="valid").row
    for name in ("HR@5", "NDCG@5"):
        assert row[name] == pytest.approx(fans_run.config["validation"][f"valid {name}"])
    assert row["HR@5"] > 0


def test_metrics_of_popularity_equal_a_plain_computation(popularity_run: Artifact, corpus: Corpus) -> None:
    row = measure_run(popularity_run, corpus, protocol("standard", input="kept")).row
    train = [set(corpus.list(i).tolist()) for i in corpus.part("train")]
    counts = [sum(item in items for items in train) for item in range(len(corpus.vocabulary))]
    top = sorted(range(len(counts)), key=lambda item: -counts[item])[:10]
    targets = evaluation_lists(corpus, "test").targets
    by_hand = np.mean([any(item in target for item in top) for target in targets])
    assert 0 < by_hand < 1
    assert row["HR@10"] == pytest.approx(by_hand)
    assert row["coverage@10"] == pytest.approx(10 / len(corpus.vocabulary))
    assert row["categories@10"] == len({int(corpus.vocabulary.categories[item]) for item in top})


def test_short_inputs_have_the_same_targets(popularity_run: Artifact, corpus: Corpus) -> None:
    whole = evaluation_lists(corpus, "test")
    measured = measure_run(popularity_run, corpus, protocol("standard", given=1), timed=False)
    assert (measured.row["given"], measured.row["lists"], measured.row["latency_ms"]) == (1, 12, None)
    assert [items.tolist() for items in measured.lists.inputs] == [items[-1:].tolist() for items in whole.inputs]
    engine = TorchEngine(popularity_run.model, len(corpus.vocabulary))
    answers = predict(engine, shorten(whole, 1), STANDARD)
    assert measured.row["NDCG@5"] == pytest.approx(np.mean(list_metrics(answers, whole, STANDARD)["NDCG@5"]))
    assert measured.row["NDCG@5"] != measure_run(popularity_run, corpus, STANDARD).row["NDCG@5"]


def test_metrics_do_not_depend_on_batches(fans_run: Artifact, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    together = measure_run(fans_run, corpus, STANDARD).row
    monkeypatch.setattr(rows_module, "LISTS_AT_ONCE", 5)
    reported: list[tuple[int, int]] = []
    apart = measure_run(fans_run, corpus, STANDARD, progress=lambda done, total: reported.append((done, total))).row
    assert reported == [(5, 12), (10, 12), (12, 12)]
    timing = {"seconds", "latency_ms"}
    assert {k: v for k, v in apart.items() if k not in timing} == {k: v for k, v in together.items() if k not in timing}


def test_latency_is_the_mean_over_single_lists(
    popularity_run: Artifact, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings = count()
    clock = SimpleNamespace(perf_counter=lambda: float(next(readings)))  # a second passes between two readings
    monkeypatch.setattr(rows_module, "time", clock)
    monkeypatch.setattr(rows_module, "TIMED_LISTS", 7)
    row = measure_run(popularity_run, corpus, PAPER).row
    assert row["latency_lists"] == 7 < row["lists"]
    assert row["latency_ms"] == 1000 and row["seconds"] == 1 + 2 * (WARM_UP + 7)
    monkeypatch.setattr(rows_module, "TIMED_LISTS", 100)
    assert measure_run(popularity_run, corpus, PAPER).row["latency_lists"] == row["lists"]


def test_excluding_the_input_changes_the_answers(popularity_run: Artifact, corpus: Corpus) -> None:
    kept = measure_run(popularity_run, corpus, protocol("standard", input="kept")).row
    excluded = measure_run(popularity_run, corpus, STANDARD).row
    assert kept["coverage@10"] < excluded["coverage@10"]


def test_metrics_without_lists_are_null(world: Path) -> None:
    corpus = read_corpus(world / "short")
    row = measure_run(open_run(world / "popularity-short", corpus), corpus, PAPER).row
    assert row["lists@10"] == 0
    assert [row[name] for name in ("NDCG@10", "HR@10", "NDCG@10_ci", "HR@10_ci")] == [None] * 4
    assert row["HR@5"] is not None
    json.dumps(row, allow_nan=False)


def test_matched_metrics_cut_answers_to_the_target_length(popularity_run: Artifact, corpus: Corpus) -> None:
    row = measure_run(popularity_run, corpus, STANDARD, part="train").row
    sampled = evaluation_lists(corpus, "train")
    answers = predict(TorchEngine(popularity_run.model, len(corpus.vocabulary)), sampled, STANDARD)
    category = corpus.vocabulary.categories
    whole = [len(set(category[answer])) for answer in answers]
    cut = [len(set(category[answer[: len(target)]])) for answer, target in zip(answers, sampled.targets, strict=True)]
    assert np.mean(cut) < np.mean(whole)
    assert row["categories@10"] == pytest.approx(np.mean(whole))
    assert row["categories@10_matched"] == pytest.approx(np.mean(cut))


def test_diversity_is_compared_with_real_continuations(fans_run: Artifact, corpus: Corpus) -> None:
    row = measure_run(fans_run, corpus, STANDARD).row
    assert row["categories@10_real"] == 1  # every list of this corpus stays in its category
    assert 1 <= row["categories@10_matched"] <= row["categories@10"]
    named = np.unique(np.concatenate([target[:10] for target in evaluation_lists(corpus, "test").targets]))
    assert row["coverage@10_real"] == pytest.approx(len(named) / len(corpus.vocabulary))


def test_popularity_is_measured_in_training_lists(popularity_run: Artifact, corpus: Corpus) -> None:
    row = measure_run(popularity_run, corpus, protocol("standard", input="kept")).row
    train = [set(corpus.list(i).tolist()) for i in corpus.part("train")]
    shares = np.array([np.mean([item in items for items in train]) for item in range(len(corpus.vocabulary))])
    assert row["popularity@10"] == pytest.approx(np.sort(shares)[-10:].mean())
    real = [shares[target[:10]].mean() for target in evaluation_lists(corpus, "test").targets]
    assert row["popularity@10_real"] == pytest.approx(np.mean(real))
    assert row["popularity@10_real"] < row["popularity@10"]


def test_order_and_coherence_are_compared_with_baselines(popularity_run: Artifact, corpus: Corpus) -> None:
    row = measure_run(popularity_run, corpus, STANDARD, part="train").row
    assert (
        row["coherence@10_real"] == 1 > row["coherence@10_matched"]
    )  # every list of this corpus stays in its category
    assert row["exact"] == pytest.approx(row["exact_hits"] / row["exact_positions"])
    assert row["adjacent"] == pytest.approx(row["adjacent_hits"] / row["adjacent_steps"])
    assert 0 < row["exact_shuffled"] < 1 and 0 < row["adjacent_shuffled"] < 1


def test_short_answers_are_counted(tmp_path: Path) -> None:
    lists = [list(range(6)), list(range(6)), [0, 0, 1, 1]]
    write_corpus(tmp_path / "tiny", corpus_of(lists, vocabulary_of([3, 3]), [0, 1, 2]))
    train(tmp_path / "tiny", tmp_path / "run", "popularity", {})
    corpus = read_corpus(tmp_path / "tiny")
    run = open_run(tmp_path / "run", corpus)
    assert measure_run(run, corpus, STANDARD).row["short_answers"] == 1
    assert measure_run(run, corpus, PAPER).row["short_answers"] == 0


def test_model_of_another_corpus_is_refused(world: Path) -> None:
    corpus = read_corpus(world / "corpus")
    other = corpus_of([[0, 1]], vocabulary_of([15] * 4, [f"other{n}" for n in range(60)]))
    assert open_run(world / "fans", corpus).config["model"] == "fans"
    with pytest.raises(BadSetting, match="trained on another corpus"):
        open_run(world / "fans", other)


def test_generation_mode_can_be_overridden(world: Path, corpus: Corpus) -> None:
    run = open_run(world / "fans", corpus, "recall")
    own, other = (measure_run(run, corpus, protocol("paper"), generation=mode).row for mode in (None, "recall"))
    assert (own["generation"], other["generation"]) == ("one-pass", "recall")


def test_unsupported_generation_mode_is_refused(world: Path, corpus: Corpus) -> None:
    with pytest.raises(BadSetting, match="cannot be run autoregressive; it can be run one-pass or recall"):
        open_run(world / "fans", corpus, "autoregressive")


def test_part_without_lists_is_refused(fans_run: Artifact, corpus: Corpus) -> None:
    empty = corpus_of([[0, 1]], corpus.vocabulary)
    with pytest.raises(BadSetting, match="no test lists"):
        measure_run(fans_run, empty, PAPER)


def test_controls_change_what_answers_consist_of(fans_run: Artifact, corpus: Corpus) -> None:
    popular, niche = (
        measure_run(fans_run, corpus, STANDARD, timed=False, controls={"popularity": value, "diversity": 0.0}).row
        for value in (0.9, -0.9)
    )
    assert popular["controls"] == {"popularity": 0.9}
    assert popular["popularity@10"] > niche["popularity@10"]


def test_controls_that_a_model_lacks_are_refused(fans_run: Artifact, corpus: Corpus) -> None:
    with pytest.raises(BadSetting, match="freshness needs dates of items"):
        measure_run(fans_run, corpus, STANDARD, controls={"freshness": 0.5})
