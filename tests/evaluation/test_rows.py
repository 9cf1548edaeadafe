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
from fansrec.evaluation.protocol import ask, judge, protocol, questions
from fansrec.evaluation.rows import WARM_UP, evaluate_run, open_run
from fansrec.evaluation.wording import METRICS
from fansrec.training.reporting import NullReporter
from fansrec.training.trainer import train
from worlds import corpus_of, vocabulary_of

PAPER, STANDARD = protocol("paper"), protocol("standard")


def test_a_row_names_what_was_measured_and_how(fans_run: Artifact, corpus: Corpus) -> None:
    row = evaluate_run(fans_run, corpus, PAPER)
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
        "lists": 12,
        "device": "cpu",
    }
    assert named.items() <= row.items()
    assert row["seconds"] > 0


def test_every_figure_has_an_interval_around_it(popularity_run: Artifact, corpus: Corpus) -> None:
    row = evaluate_run(popularity_run, corpus, STANDARD, part="train")
    for name in METRICS:
        low, high = row[f"{name}_ci"]
        assert 0 <= low < row[name] < high <= 1


def test_the_figures_are_the_means_of_what_the_judge_says(popularity_run: Artifact, corpus: Corpus) -> None:
    row = evaluate_run(popularity_run, corpus, PAPER, part="train")
    asked = questions(corpus, "train")
    engine = TorchEngine(popularity_run.model, len(corpus.vocabulary))
    figures = judge(ask(engine, asked, PAPER), asked, PAPER)
    for name in METRICS:
        assert row[name] == pytest.approx(np.mean(figures[name]))
    assert row["lists@5"] == sum(len(target) >= 5 for target in asked.targets) > 0
    assert row["lists@10"] == sum(len(target) >= 10 for target in asked.targets) > 0


def test_a_model_read_from_disk_is_as_good_as_its_training_said(fans_run: Artifact, corpus: Corpus) -> None:
    row = evaluate_run(fans_run, corpus, PAPER, part="valid")
    for name in ("HR@5", "NDCG@5"):
        assert row[name] == pytest.approx(fans_run.config["validation"][f"valid {name}"])
    assert row["HR@5"] > 0


def test_popularity_is_judged_as_by_hand(popularity_run: Artifact, corpus: Corpus) -> None:
    row = evaluate_run(popularity_run, corpus, protocol("standard", input="kept"))
    train = [set(corpus.list(i).tolist()) for i in corpus.part("train")]
    counts = [sum(item in items for items in train) for item in range(len(corpus.vocabulary))]
    top = sorted(range(len(counts)), key=lambda item: -counts[item])[:10]
    targets = questions(corpus, "test").targets
    by_hand = np.mean([any(item in target for item in top) for target in targets])
    assert 0 < by_hand < 1
    assert row["HR@10"] == pytest.approx(by_hand)
    assert row["coverage@10"] == pytest.approx(10 / len(corpus.vocabulary))
    assert row["categories@10"] == len({int(corpus.vocabulary.categories[item]) for item in top})


def test_lists_asked_in_handfuls_are_answered_the_same(
    fans_run: Artifact, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = evaluate_run(fans_run, corpus, STANDARD)
    monkeypatch.setattr(rows_module, "LISTS_AT_ONCE", 5)
    told: list[tuple[int, int]] = []
    apart = evaluate_run(fans_run, corpus, STANDARD, progress=lambda done, total: told.append((done, total)))
    assert told == [(5, 12), (10, 12), (12, 12)]
    timing = {"seconds", "latency_ms"}
    assert {k: v for k, v in apart.items() if k not in timing} == {k: v for k, v in together.items() if k not in timing}


def test_the_latency_is_the_mean_of_so_many_lists_asked_alone(
    popularity_run: Artifact, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings = count()
    clock = SimpleNamespace(perf_counter=lambda: float(next(readings)))  # a second passes between two readings
    monkeypatch.setattr(rows_module, "time", clock)
    monkeypatch.setattr(rows_module, "TIMED_LISTS", 7)
    row = evaluate_run(popularity_run, corpus, PAPER)
    assert row["latency_lists"] == 7 < row["lists"]
    assert row["latency_ms"] == 1000 and row["seconds"] == 1 + 2 * (WARM_UP + 7)
    monkeypatch.setattr(rows_module, "TIMED_LISTS", 100)
    assert evaluate_run(popularity_run, corpus, PAPER)["latency_lists"] == row["lists"]


def test_excluding_the_input_changes_the_answers(popularity_run: Artifact, corpus: Corpus) -> None:
    kept = evaluate_run(popularity_run, corpus, protocol("standard", input="kept"))
    excluded = evaluate_run(popularity_run, corpus, STANDARD)
    assert kept["coverage@10"] < excluded["coverage@10"]


def test_figures_without_a_list_are_null_and_never_nan(world: Path) -> None:
    corpus = read_corpus(world / "short")
    row = evaluate_run(open_run(world / "popularity-short", corpus), corpus, PAPER)
    assert row["lists@10"] == 0
    assert [row[name] for name in ("NDCG@10", "HR@10", "NDCG@10_ci", "HR@10_ci")] == [None] * 4
    assert row["HR@5"] is not None
    json.dumps(row, allow_nan=False)


def test_answers_are_also_cut_to_the_length_of_the_real_continuation(popularity_run: Artifact, corpus: Corpus) -> None:
    row = evaluate_run(popularity_run, corpus, STANDARD, part="train")
    asked = questions(corpus, "train")
    answers = ask(TorchEngine(popularity_run.model, len(corpus.vocabulary)), asked, STANDARD)
    category = corpus.vocabulary.categories
    whole = [len(set(category[answer])) for answer in answers]
    cut = [len(set(category[answer[: len(target)]])) for answer, target in zip(answers, asked.targets, strict=True)]
    assert np.mean(cut) < np.mean(whole)
    assert row["categories@10"] == pytest.approx(np.mean(whole))
    assert row["categories@10_matched"] == pytest.approx(np.mean(cut))


def test_variety_stands_beside_that_of_the_real_continuations(fans_run: Artifact, corpus: Corpus) -> None:
    row = evaluate_run(fans_run, corpus, STANDARD)
    assert row["categories@10_real"] == 1  # every list of this world stays in its category
    assert 1 <= row["categories@10_matched"] <= row["categories@10"]
    named = np.unique(np.concatenate([target[:10] for target in questions(corpus, "test").targets]))
    assert row["coverage@10_real"] == pytest.approx(len(named) / len(corpus.vocabulary))


def test_popularity_answers_what_stands_in_most_training_lists(popularity_run: Artifact, corpus: Corpus) -> None:
    row = evaluate_run(popularity_run, corpus, protocol("standard", input="kept"))
    train = [set(corpus.list(i).tolist()) for i in corpus.part("train")]
    shares = np.array([np.mean([item in items for items in train]) for item in range(len(corpus.vocabulary))])
    assert row["popularity@10"] == pytest.approx(np.sort(shares)[-10:].mean())
    real = [shares[target[:10]].mean() for target in questions(corpus, "test").targets]
    assert row["popularity@10_real"] == pytest.approx(np.mean(real))
    assert row["popularity@10_real"] < row["popularity@10"]


def test_order_and_coherence_stand_beside_shuffled_and_real_ones(popularity_run: Artifact, corpus: Corpus) -> None:
    row = evaluate_run(popularity_run, corpus, STANDARD, part="train")
    assert row["coherence@10_real"] == 1 > row["coherence@10_matched"]  # every list of this world keeps its category
    assert row["exact"] == pytest.approx(row["exact_hits"] / row["exact_positions"])
    assert row["adjacent"] == pytest.approx(row["adjacent_hits"] / row["adjacent_steps"])
    assert 0 < row["exact_shuffled"] < 1 and 0 < row["adjacent_shuffled"] < 1


def test_answers_that_ran_out_of_items_are_counted(tmp_path: Path) -> None:
    lists = [list(range(6)), list(range(6)), [0, 0, 1, 1]]
    write_corpus(tmp_path / "tiny", corpus_of(lists, vocabulary_of([3, 3]), [0, 1, 2]))
    train(tmp_path / "tiny", tmp_path / "run", "popularity", {}, NullReporter())
    corpus = read_corpus(tmp_path / "tiny")
    run = open_run(tmp_path / "run", corpus)
    assert evaluate_run(run, corpus, STANDARD)["short_answers"] == 1
    assert evaluate_run(run, corpus, PAPER)["short_answers"] == 0


def test_another_corpus_is_refused(world: Path) -> None:
    corpus = read_corpus(world / "corpus")
    other = corpus_of([[0, 1]], vocabulary_of([15] * 4, [f"other{n}" for n in range(60)]))
    assert open_run(world / "fans", corpus).config["model"] == "fans"
    with pytest.raises(BadSetting, match="trained on another corpus"):
        open_run(world / "fans", other)


def test_a_model_can_be_run_in_another_way_than_its_own(world: Path, corpus: Corpus) -> None:
    run = open_run(world / "fans", corpus, "recall")
    own, other = (evaluate_run(run, corpus, protocol("paper"), generation=way) for way in (None, "recall"))
    assert (own["generation"], other["generation"]) == ("one-pass", "recall")


def test_a_model_is_not_run_in_a_way_it_does_not_have(world: Path, corpus: Corpus) -> None:
    with pytest.raises(BadSetting, match="cannot be run autoregressive; it can be run one-pass or recall"):
        open_run(world / "fans", corpus, "autoregressive")


def test_a_part_without_lists_is_refused(fans_run: Artifact, corpus: Corpus) -> None:
    empty = corpus_of([[0, 1]], corpus.vocabulary)
    with pytest.raises(BadSetting, match="no test lists"):
        evaluate_run(fans_run, empty, PAPER)
