import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fansrec.api.popular import FALLBACKS
from fansrec.api.unknown import UNKNOWN

Fans = Callable[..., tuple[int, str, str]]


def ids(out: str) -> list[str]:
    return [line.split("\t")[0] for line in out.splitlines()]


def test_items_are_distinct_and_printed_one_per_line_with_names(fans: Fans, songs: Path) -> None:
    code, out, err = fans("continue", songs / "run", "i1", "i2", "-k", 7)
    assert (code, err) == (0, "")
    assert len(set(ids(out))) == 7
    assert not {"i1", "i2"} & set(ids(out))
    assert all(line.split("\t") == [i, f"Song {i[1:]}"] for line, i in zip(out.splitlines(), ids(out), strict=True))


def test_names_can_be_given_instead_of_ids(fans: Fans, songs: Path) -> None:
    assert fans("continue", songs / "run", "Song 1", "Song 2") == fans("continue", songs / "run", "i1", "i2")


def test_json_has_scores_and_categories(fans: Fans, songs: Path) -> None:
    _, out, _ = fans("continue", songs / "run", "i1", "-k", 3, "--json")
    positions = json.loads(out)["positions"]
    assert [set(position) for position in positions] == [{"item", "name", "group", "category", "score"}] * 3


def test_unknown_items_are_reported_and_skipped(fans: Fans, songs: Path) -> None:
    code, out, err = fans("continue", songs / "run", "i1", "nobody")
    assert code == 0 and "nobody" in err
    assert ids(out) == ids(fans("continue", songs / "run", "i1")[1])


def test_similar_names_are_suggested_for_unknown_items(fans: Fans, songs: Path) -> None:
    code, _, err = fans("continue", songs / "run", "i1", "snog 12")
    assert code == 0 and "unknown items were skipped: snog 12; did you mean 'Song 12'?" in err
    code, _, err = fans("continue", songs / "run", "snog 12")
    assert code == 2 and "snog 12; did you mean 'Song 12'?" in err and err.count("\n") == 1


def test_only_unknown_items_are_refused(fans: Fans, songs: Path) -> None:
    code, out, err = fans("continue", songs / "run", "nobody", "nothing")
    assert (code, out) == (2, "")
    assert "nobody, nothing" in err


def test_only_unknown_items_get_popular_ones_with_the_fallback(fans: Fans, songs: Path) -> None:
    code, out, err = fans("continue", songs / "run", "nobody", "-k", 4, "--fallback", "popular")
    assert code == 0 and len(ids(out)) == 4
    assert "no item of the list is known" in err and "most popular items" in err


def test_empty_list_is_continued(fans: Fans, songs: Path) -> None:
    code, out, _ = fans("continue", songs / "run", "-k", 4)
    assert code == 0 and len(ids(out)) == 4


def test_rules_can_be_combined(fans: Fans, songs: Path, tmp_path: Path) -> None:
    (tmp_path / "allowed").write_text("\n".join(f"i{n}" for n in range(20)))
    arguments = ["--allow", f"@{tmp_path / 'allowed'}", "--exclude", "i5", "--max-per-group", 2, "-k", 12]
    code, out, err = fans("continue", songs / "run", "i1", *arguments)
    given = [int(i[1:]) for i in ids(out)]
    assert code == 0
    assert set(given) <= set(range(20)) - {1, 5}
    assert max(sum(n % 6 == group for n in given) for group in range(6)) <= 2
    assert len(given) == 12 or "left under the rules" in err


def test_short_answer_is_explained(fans: Fans, songs: Path) -> None:
    code, out, err = fans("continue", songs / "run", "i1", "--allow", "i2", "--allow", "i3", "-k", 5)
    assert code == 0 and set(ids(out)) == {"i2", "i3"}
    assert "only 2 of 5" in err and "allow" in err


def test_arranged_answer_has_the_same_items_in_another_order(fans: Fans, best: Path, tmp_path: Path) -> None:
    starts, moved = ([], ["i1"], ["i20", "i21"], ["i50", "i3", "i33"]), 0
    for start in starts:
        plain, other = (
            fans("continue", best, *start, "-k", 8, *arguments) for arguments in ([], ["--fill", "arranged"])
        )
        assert (plain[0], plain[2]) == (other[0], other[2]) == (0, "")
        assert sorted(ids(other[1])) == sorted(ids(plain[1])) and len(ids(plain[1])) == 8
        moved += other != plain
    assert moved
    (tmp_path / "lists.jsonl").write_text("\n".join(map(json.dumps, starts)))
    files = ["--input", tmp_path / "lists.jsonl", "--output", tmp_path / "out.jsonl"]
    assert fans("continue", best, *files, "-k", 8, "--fill", "arranged")[0] == 0
    rows = [json.loads(line)["items"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert rows == [ids(fans("continue", best, *start, "-k", 8, "--fill", "arranged")[1]) for start in starts]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-k", "0"], "at least one"),
        (["-k", "5000"], "limit of"),
        (["--max-per-group", "0"], "at least 1"),
        (["--allow", "nobody"], "allow names no item"),
        (["--input", "x.jsonl"], "need each other"),
        (["--exclude", "@nowhere"], "cannot be read"),
        (["--engine", "ray"], "--engine ray needs --input and --output"),
        (["--workers", "2"], "--workers needs --engine ray"),
        (["--fill", "arranged"], "fans cannot arrange an answer; only fans of --recipe best can, use by-position"),
    ],
)
def test_invalid_options_are_refused_in_one_line(fans: Fans, songs: Path, arguments: list[str], message: str) -> None:
    code, _, err = fans("continue", songs / "run", "i1", *arguments)
    assert code == 2
    assert message in err and err.count("\n") == 1


def test_file_of_lists_gives_one_line_per_list_in_order(fans: Fans, songs: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "lists.jsonl", tmp_path / "out.jsonl"
    source.write_text('{"id": "a", "items": ["i1", "i2"]}\n["i3"]\n\n{"id": 3, "items": ["nobody"]}\n[]\n')
    with source.open("a") as file:
        file.write(json.dumps(["i1"] * 3000) + "\n")
    code, out, _ = fans("continue", songs / "run", "--input", source, "--output", target, "-k", 3)
    rows = [json.loads(line) for line in target.read_text().splitlines()]
    assert (code, out) == (0, "")
    assert [row.get("id") for row in rows] == ["a", None, 3, None, None]
    assert [len(row["items"]) for row in rows] == [3, 3, 0, 3, 0]
    assert "known" in rows[2]["reason"] and "too long" in rows[4]["reason"]
    assert rows[0]["items"] == ids(fans("continue", songs / "run", "i1", "i2", "-k", 3)[1])


@pytest.mark.parametrize("others", ["", '["i1"]\n'])
def test_file_gives_popular_items_to_lists_of_unknown_items(
    fans: Fans, songs: Path, tmp_path: Path, others: str
) -> None:
    source = tmp_path / "lists.jsonl"
    source.write_text('["nobody"]\n' + others)
    files = ["--input", source, "-k", 3, "--output"]
    assert fans("continue", songs / "run", *files, tmp_path / "none.jsonl")[0] == 0
    assert fans("continue", songs / "run", *files, tmp_path / "popular.jsonl", "--fallback", "popular")[0] == 0
    none, popular = (json.loads((tmp_path / f"{name}.jsonl").read_text().splitlines()[0]) for name in FALLBACKS)
    assert none == {"items": [], "scores": [], "unknown": ["nobody"], "reason": UNKNOWN}
    assert len(popular["items"]) == 3 and popular["fallback"] == "popular" and popular["unknown"] == ["nobody"]


def test_invalid_line_is_reported_and_nothing_is_written(fans: Fans, songs: Path, tmp_path: Path) -> None:
    source = tmp_path / "lists.jsonl"
    source.write_text('["i1"]\n{"items": "i2"}\n')
    code, _, err = fans("continue", songs / "run", "--input", source, "--output", tmp_path / "out.jsonl")
    assert code == 2 and "line 2" in err
    assert [path.name for path in tmp_path.iterdir()] == ["lists.jsonl"]


def test_id_that_is_not_valid_text_is_returned_unchanged(fans: Fans, songs: Path, tmp_path: Path) -> None:
    (tmp_path / "lists.jsonl").write_text('{"id": "\\ud800 ä", "items": ["i1"]}\n')
    files = ["--input", tmp_path / "lists.jsonl", "--output", tmp_path / "out.jsonl"]
    assert fans("continue", songs / "run", *files)[0] == 0
    assert json.loads((tmp_path / "out.jsonl").read_text())["id"] == "\ud800 ä"
