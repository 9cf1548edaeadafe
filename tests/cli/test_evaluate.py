import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fansrec.cli import main
from fansrec.data.corpus import write_corpus
from training_runs import train
from worlds import corpus_of, vocabulary_of, write_walks

Evaluate = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    write_walks(folder / "corpus", shortest=6, longest=12)  # no target has 10 items
    train(folder / "corpus", folder / "popularity", "popularity", {})
    train(folder / "corpus", folder / "again", "popularity", {})
    return folder


@pytest.fixture
def evaluate(world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Evaluate:
    """Runs `fans evaluate` in the folder of the world and returns exit code, output and errors."""
    monkeypatch.chdir(world)

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["fans", "evaluate", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main.run()
        captured = capsys.readouterr()
        return int(end.value.code or 0), captured.out, captured.err

    return run


def strict_json(path: Path) -> list[dict[str, Any]]:
    """Reads standard JSON, which has no NaN or Infinity."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    return rows


def test_controls_are_in_the_rows_and_checked_first(evaluate: Evaluate, tmp_path: Path) -> None:
    options = ["popularity", "--corpus", "corpus", "--protocol", "standard", "--json", tmp_path / "rows.json"]
    assert evaluate(*options, "--popularity", "-0.5", "--diversity", "0.3")[0] == 0
    assert strict_json(tmp_path / "rows.json")[0]["controls"] == {"popularity": -0.5, "diversity": 0.3}
    code, _, err = evaluate(*options, "--force", "--diversity", "3")
    assert code == 2 and "--diversity is 3.0; it must be from 0 to 1" in err


def test_several_runs_and_protocols_give_one_table_and_one_json(evaluate: Evaluate, tmp_path: Path) -> None:
    file = tmp_path / "new" / "rows.json"
    code, out, err = evaluate("popularity", "again", "--corpus", "corpus", "--json", file)
    assert (code, err) == (0, "")
    rows = strict_json(file)
    kinds = [("popularity", "standard"), ("again", "standard"), ("popularity", "paper"), ("again", "paper")]
    assert [(row["run"], row["protocol"]) for row in rows] == kinds  # of equal models, the first stays first
    assert out.count("popularity  popularity") == 6 and out.count("again       popularity") == 6
    assert f"{rows[1]['NDCG@5']:.4f} [{rows[1]['NDCG@5_ci'][0]:.4f}, {rows[1]['NDCG@5_ci'][1]:.4f}]" in out


def test_given_items_add_rows_and_curves(evaluate: Evaluate, tmp_path: Path) -> None:
    files = ("--json", tmp_path / "rows.json", "--html", tmp_path / "report.html")
    options = ("--protocol", "standard", "--given", "5,1")
    code, out, _ = evaluate("popularity", "again", "--corpus", "corpus", *options, *files)
    rows = strict_json(tmp_path / "rows.json")
    assert code == 0
    assert [(row["run"], row["given"]) for row in rows] == [
        (run, given) for run in ("popularity", "again") for given in (None, 1, 5)
    ]
    assert [row["latency_ms"] is None for row in rows] == [False, True, True] * 2
    assert "NDCG@5 by the number of given items" in out and f"{rows[1]['NDCG@5']:.4f}" in out
    assert "Short inputs" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_metrics_at_other_positions(evaluate: Evaluate, tmp_path: Path) -> None:
    options = ("--at", "1,20", "--by", "recall@20", "--examples", 2, "--protocol", "standard")
    code, out, _ = evaluate("popularity", "again", "--corpus", "corpus", "--json", tmp_path / "rows.json", *options)
    assert code == 0
    rows = strict_json(tmp_path / "rows.json")
    assert [row["masks"] for row in rows] == ["20", "20"]
    assert [len(row["examples"]) for row in rows] == [2, 2]
    assert "recall@20" in out and "NDCG@1 " in out and "standard, masks 20" in out


def test_equal_runs_are_said_not_to_differ(evaluate: Evaluate) -> None:
    _, out, _ = evaluate("popularity", "again", "--corpus", "corpus", "--protocol", "standard")
    assert "standard: popularity has the highest NDCG@5, but no difference to the others is significant" in out
    assert "[+0.0000, +0.0000] not significant" in out
    assert "NDCG@5 by groups of lists" in out and "items of the input" in out


def test_examples_are_printed_by_name(evaluate: Evaluate, tmp_path: Path) -> None:
    options = ("--corpus", "corpus", "--protocol", "standard", "--part", "train", "--json", tmp_path / "rows.json")
    _, out, _ = evaluate("popularity", *options)
    example = strict_json(tmp_path / "rows.json")[0]["examples"][1]
    assert f"{', '.join(example['input'][-3:])}  (train list {example['list']})" in out
    assert "real continuation" in out
    _, out, _ = evaluate("popularity", *options, "--examples", 0)
    assert "real continuation" not in out


def test_row_has_every_documented_field(evaluate: Evaluate, tmp_path: Path) -> None:
    assert evaluate("popularity", "--corpus", "corpus", "--json", tmp_path / "rows.json")[0] == 0
    standard, paper = strict_json(tmp_path / "rows.json")
    documented = (
        "model variant generation protocol input masks given NDCG@5 HR@5 NDCG@10 HR@10 lists@5 lists@10 latency_ms"
    )
    more = "NDCG@5_ci HR@5_ci NDCG@10_ci HR@10_ci latency_lists order order_pairs exact coverage@10 categories@10"
    new = "recall@5 precision@5 MAP@10 MRR@10 novelty@10 recall@10_ci place verdict differences breakdown examples"
    assert {*documented.split(), *more.split(), *new.split(), "run", "seconds"} <= paper.keys() == standard.keys()
    assert (paper["model"], paper["variant"], paper["generation"]) == ("popularity", "popularity", "recall")
    assert (paper["input"], paper["masks"]) == ("kept", "target")
    assert (standard["input"], standard["masks"]) == ("excluded", "10")
    assert (paper["lists@10"], paper["NDCG@10"]) == (0, None)
    assert standard["lists@10"] == 12


def test_options_override_the_protocol_defaults(evaluate: Evaluate, tmp_path: Path) -> None:
    options = ("--protocol", "paper", "--input", "excluded", "--masks", 10, "--part", "train", "--fill", "depth-first")
    code, out, _ = evaluate("popularity", "--corpus", "corpus", "--json", tmp_path / "rows.json", *options)
    assert code == 0
    (row,) = strict_json(tmp_path / "rows.json")
    assert (row["protocol"], row["input"], row["masks"]) == ("paper", "excluded", "10")
    assert (row["part"], row["fill"], row["lists"]) == ("train", "depth-first", 96)
    assert "paper, input excluded, masks 10" in out


def test_arranged_answers_have_the_same_hits(evaluate: Evaluate, songs: Path, best: Path, tmp_path: Path) -> None:
    rows = {}
    for fill in ("by-position", "arranged"):
        options = ("--protocol", "standard", "--part", "train", "--fill", fill, "--json", tmp_path / f"{fill}.json")
        code, _, err = evaluate(best, "--corpus", songs / "corpus", *options)
        assert (code, err) == (0, "")
        (rows[fill],) = strict_json(tmp_path / f"{fill}.json")
        assert rows[fill]["fill"] == fill
    plain, other = rows["by-position"], rows["arranged"]
    for name in ("HR@10", "coverage@10", "categories@10", "lists@10"):  # do not depend on the order of the ten items
        assert other[name] == plain[name], name
    assert other["NDCG@10"] != plain["NDCG@10"] or other["order"] != plain["order"]


def test_html_report_is_written(evaluate: Evaluate, tmp_path: Path) -> None:
    code, out, _ = evaluate("popularity", "--corpus", "corpus", "--html", tmp_path / "report.html")
    assert code == 0
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "written:" in out


def assert_refused(result: tuple[int, str, str], message: str) -> None:
    code, out, err = result
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1 and err.startswith("fans: ")
    assert message in err


def test_corpus_the_model_was_not_trained_on_is_refused(evaluate: Evaluate, tmp_path: Path) -> None:
    write_corpus(tmp_path / "other", corpus_of([[0, 1, 2, 3]] * 3, vocabulary_of([4]), [0, 1, 2]))
    result = evaluate("popularity", "--corpus", tmp_path / "other", "--json", tmp_path / "rows.json")
    assert_refused(result, "trained on another corpus")
    assert not (tmp_path / "rows.json").exists()


def test_folder_without_a_model_is_refused_before_any_evaluation(evaluate: Evaluate, tmp_path: Path) -> None:
    assert_refused(evaluate("popularity", "nowhere", "--corpus", "corpus"), "nowhere is not a trained model")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--generation", "one-pass"), "popularity cannot be run one-pass; it can be run autoregressive or recall"),
        (("--device", "abacus"), "no device abacus"),
        (("--fill", "arranged"), "popularity cannot arrange an answer; only fans of --recipe best can"),
        (("--json", "."), "is a folder"),
        (("--at", "5,x"), "--at 5,x is not a comma-separated list of integers >= 1"),
        (("--by", "NDCG@7"), "--by 'NDCG@7' is not a metric to compare by; choose one of NDCG@5"),
        (("--at", "20", "--masks", "10"), "--masks 10 requests too few items for metrics at 20; leave it out"),
        (("--given", "1,0"), "--given 1,0 is not a comma-separated list of integers >= 1"),
        (("--html", "corpus/summary.json/report.html"), "cannot write"),
    ],
)
def test_invalid_options_are_refused_in_one_line(evaluate: Evaluate, options: tuple[str, str], message: str) -> None:
    assert_refused(evaluate("popularity", "--corpus", "corpus", *options), message)
