import gzip
import json
import subprocess
import sys
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


def test_explanations_are_printed_as_text_and_json(fans: Fans, best: Path, songs: Path, tmp_path: Path) -> None:
    code, out, err = fans("continue", best, "i1", "i2", "-k", 3, "--explain")
    assert (code, err) == (0, "") and "score from: network " in out and "because of: Song " in out
    positions = json.loads(fans("continue", best, "i1", "i2", "-k", 3, "--explain", "--json")[1])["positions"]
    assert [set(position["explanation"]) for position in positions] == [{"parts", "because", "lists"}] * 3
    (tmp_path / "lists.jsonl").write_text('["i1"]\n["nobody"]\n')
    assert fans("continue", best, "--input", tmp_path / "lists.jsonl", "--output", "-", "--explain")[0] == 0
    code, _, err = fans("continue", songs / "run", "i1", "--explain")
    assert code == 2 and "FANS cannot explain its answers" in err and err.count("\n") == 1


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
    assert "only 2 of 5" in err and "allow" in err and "categories" not in err


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


def test_controls_change_the_answer_of_a_list_and_of_a_file_alike(fans: Fans, best: Path, tmp_path: Path) -> None:
    controls = ["--diversity", "0.7", "--popularity", "-0.5"]
    plain, moved = (ids(fans("continue", best, "i1", "-k", 8, *options)[1]) for options in ([], controls))
    assert len(set(moved)) == len(plain) == 8 and moved != plain
    (tmp_path / "lists.jsonl").write_text('["i1"]')
    files = ["--input", tmp_path / "lists.jsonl", "--output", tmp_path / "out.jsonl"]
    assert fans("continue", best, *files, "-k", 8, *controls)[0] == 0
    assert json.loads((tmp_path / "out.jsonl").read_text())["items"] == moved


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-k", "0"], "-k is 0; ask for at least one"),
        (["-k", "5000"], "limit of"),
        (["--max-per-group", "0"], "--max-per-group is 0; it must be at least 1"),
        (["-k", "x"], "Invalid value for '-k': it must be an integer"),
        (["--min-score", "x"], "Invalid value for '--min-score': it must be a number"),
        (["--diversity", "1.5"], "--diversity is 1.5; it must be from 0 to 1"),
        (["--popularity", "-2"], "--popularity is -2.0; it must be from -1 to 1"),
        (["--popularity", "nan"], "--popularity is nan; it must be a number"),
        (["--min-score", "nan"], "--min-score is nan; it must be a number"),
        (["--freshness", "0.5"], "--freshness needs dates of items"),
        (["--backend", "odd"], "Invalid value for '--backend': 'odd' is not one of"),
        (["--backend", "cuda"], "choose another --device, or --backend auto"),
        (["--allow", "nobody"], "--allow names no item"),
        (["--input", "x.jsonl"], "--input needs --output FILE, which is missing"),
        (["--output", "x.jsonl"], "--output needs --input FILE, which is missing"),
        (["--input", "s3://lists/a.jsonl", "--output", "x"], "is a URL, which needs --engine ray"),
        (["--input", "nowhere.jsonl", "--output", "x"], "--input nowhere.jsonl does not exist"),
        (["--input", "/", "--output", "x"], "--input / is a folder"),
        (["--categories", "nothing"], "no category nothing"),
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


def test_option_takes_all_values_up_to_the_next_option(fans: Fans, songs: Path) -> None:
    run = songs / "run"
    repeated = fans("continue", run, "i1", "--exclude", "i2", "--exclude", "i3", "-k", 4)
    assert fans("continue", run, "i1", "--exclude", "i2", "i3", "-k", 4) == repeated
    assert fans("continue", run, "--exclude=i2", "i3", "-k", 4, "--", "i1") == repeated
    assert fans("continue", run, "-k", 4, "i1", "--exclude", "i2", "i3") == repeated
    _, out, err = fans("continue", run, "--exclude", "i2", "i3", "-k", 4)
    assert len(ids(out)) == 4
    assert err == "the input is empty: --exclude takes all values up to the next option\n"


def test_unknown_items_of_rules_are_reported(fans: Fans, songs: Path) -> None:
    code, out, err = fans("continue", songs / "run", "i1", "--exclude", "i2", "i3x", "--allow", "i4", "i5x", "-k", 1)
    assert (code, ids(out)) == (0, ["i4"])
    assert err.splitlines() == [
        "--exclude: the model does not know 'i3x'; check the spelling",
        "--allow: the model does not know 'i5x'; check the spelling",
    ]


def test_only_items_of_the_categories_are_answered(fans: Fans, songs: Path) -> None:
    _, out, _ = fans("continue", songs / "run", "i1", "-k", 8, "--json")
    category = json.loads(out)["positions"][0]["category"]
    _, out, err = fans("continue", songs / "run", "i1", "-k", 500, "--categories", category, "--json")
    answer = json.loads(out)
    assert {position["category"] for position in answer["positions"]} == {category}
    assert "(categories, the items of the input)" in answer["reason"] and err == ""


LISTS = {"a": ["i1", "i2"], "b": ["i3"], "c": ["i5", "i4", "i6"]}


@pytest.mark.parametrize(
    "text",
    [
        "list_id,item_id\na,i1\nb,i3\na,i2\nc,i5\nc,i4\nc,i6\n",
        "\ufeffplaylist_id;track_id;position\r\na;i2;2\r\na;i1;1\r\n\r\nb;i3;1\r\nc;i6;10\r\nc;i5;1\r\nc;i4;9\r\n",
        "id\titems\na\ti1 i2\nb\ti3\nc\ti5 i4 i6\n",
        'id,items\na,"[""i1"", ""i2""]"\nb,"[""i3""]"\nc,i5 i4 i6\n',
        "".join(json.dumps({"id": id_, "items": items}) + "\n" for id_, items in LISTS.items()),
        "".join(json.dumps({"pid": id_, "tracks": items}) + "\n" for id_, items in LISTS.items()),
        "\n\ufeff" + "".join(json.dumps({"id": id_, "items": items}) + "\n" for id_, items in LISTS.items()),
    ],
    ids=["items", "positions", "ids", "arrays", "JSON lines", "other keys", "empty line"],
)
def test_file_of_lists_is_read_in_every_layout(fans: Fans, songs: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "lists").write_bytes(text.encode())
    files = ["--input", tmp_path / "lists", "--output", tmp_path / "out.jsonl"]
    assert fans("continue", songs / "run", *files, "-k", 3)[0] == 0
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert {row["id"]: row["items"] for row in rows} == {
        id_: ids(fans("continue", songs / "run", *items, "-k", 3)[1]) for id_, items in LISTS.items()
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"list_id,item_id\na,i1,x\n",
            "1 row cannot be used: 1 with more fields than the first line (line 2); correct",
        ),
        (b"list_id,item_id,position\na,i1,first\n", "not a whole number (line 2: 'first'); correct or remove them, or"),
        (b"list_id,item_id,time\na,i1,5\na,i2,4\na,i3,late\n", "neither a number nor ISO 8601 (line 4: 'late')"),
        (b"list_id,item_id,time\na,i1,5\n\na,i2,NA\n", "neither a number nor ISO 8601 (line 4); correct"),
        (b"list_id,item_id\na,\n\na\nNA,i1\n", "2 without an item id (lines 2, 4), 1 without a list id (line 5)"),
        (b'list_id,item_id\na,"i1\n', "cannot be read"),
        (b"name,song\na,i1\n", "has neither the columns list_id and item_id nor items (name, song)"),
        (b"id,items\na,[i1\n", "1 that are not a JSON array (line 2: '[i1'); correct or remove them"),
        (b"list_id,item_id\na,\xff\n", "line 2 is not UTF-8"),
        (b"PAR1rest", "is a Parquet file; give JSON lines or CSV"),
        (b'{"id": 1}\n', "line 1: neither an array of items nor an object with an array `items`"),
        (b"[i1]\n", "line 1: not JSON"),
    ],
)
def test_bad_file_of_lists_is_refused_in_one_line(
    fans: Fans, songs: Path, tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "lists").write_bytes(content)
    code, out, err = fans("continue", songs / "run", "--input", tmp_path / "lists", "--output", tmp_path / "out")
    assert (code, out) == (2, "") and message in err
    assert all(line.startswith("columns: ") for line in err.splitlines()[:-1])
    assert [path.name for path in tmp_path.iterdir()] == ["lists"]


def test_standard_input_is_continued_to_standard_output(songs: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from fansrec.cli.main import run; run()", "continue", str(songs / "run")]
    done = subprocess.run(
        [*command, "--input", "-", "--output", "-", "-k", "3"],
        input="list,item\na,i1\nb,i3\n",
        capture_output=True,
        text=True,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, done.stderr) == (0, "columns: list 'list', item 'item'; in the order of the rows\n")
    assert [(row["id"], len(row["items"])) for row in rows] == [("a", 3), ("b", 3)]


def test_existing_continuations_are_replaced_only_with_force(fans: Fans, songs: Path, tmp_path: Path) -> None:
    (tmp_path / "lists.jsonl").write_text('["i1"]\n')
    files = ["--input", tmp_path / "lists.jsonl", "--output", tmp_path / "out.jsonl"]
    (tmp_path / "out.jsonl").write_text("mine")
    code, _, err = fans("continue", songs / "run", *files)
    assert code == 2 and "already exists" in err and "--force" in err
    assert (tmp_path / "out.jsonl").read_text() == "mine"
    assert fans("continue", songs / "run", *files, "--force")[0] == 0
    assert json.loads((tmp_path / "out.jsonl").read_text())["items"]


def test_file_that_cannot_be_written_is_named_without_its_temporary_name(
    fans: Fans, songs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lists.jsonl").write_text('["i1"]\n')

    def full(**_: object) -> None:
        raise OSError(28, "No space left on device", str(tmp_path / ".out.jsonl.x1y2z3"))

    monkeypatch.setattr("fansrec.files.tempfile.mkstemp", full)
    files = ["--input", tmp_path / "lists.jsonl", "--output", tmp_path / "out.jsonl"]
    code, _, err = fans("continue", songs / "run", *files)
    assert (code, err) == (2, f"fans: {tmp_path / 'out.jsonl'}: No space left on device\n")


def test_compressed_file_of_lists_is_read(fans: Fans, songs: Path, tmp_path: Path) -> None:
    (tmp_path / "lists.csv.gz").write_bytes(gzip.compress(b"list,item\na,i1\n"))
    assert (
        fans("continue", songs / "run", "--input", tmp_path / "lists.csv.gz", "--output", tmp_path / "out.jsonl")[0]
        == 0
    )
    assert json.loads((tmp_path / "out.jsonl").read_text())["id"] == "a"


def test_input_is_not_replaced_by_its_continuations(fans: Fans, songs: Path, tmp_path: Path) -> None:
    (tmp_path / "lists.jsonl").write_text('["i1"]\n')
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "lists.jsonl")
    for target in ("lists.jsonl", "link.jsonl"):
        files = ["--input", tmp_path / "lists.jsonl", "--output", tmp_path / target, "--force"]
        code, _, err = fans("continue", songs / "run", *files)
        assert code == 2 and "--input and --output are the same file" in err
    assert (tmp_path / "lists.jsonl").read_text() == '["i1"]\n'
