import inspect
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import fansrec
from fansrec.cli.prepare import prepare
from fansrec.data.corpus import read_corpus
from fansrec.data.public import PUBLIC, PublicFile
from fansrec.errors import BadInput

Fans = Callable[..., tuple[int, str, str]]


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    path = tmp_path / "lists.jsonl"
    rows = [{"id": i, "city": f"c{i % 9}", "items": [(i + j) % 12 for j in range(4 + i % 5)]} for i in range(90)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


SMALL = ("--min-item-count", 2, "--min-length", 3, "--max-length", 7)


def test_file_is_prepared_and_its_counts_are_printed(fans: Fans, lists: Path, tmp_path: Path) -> None:
    code, out, err = fans(
        "prepare", lists, "--out", tmp_path / "corpus", *SMALL, "--categories", 3, "--split-by", "city"
    )
    assert code == 0
    assert "90 lists of 4 to 7 items, 12 items in 3 categories" in out
    assert "filtered: 90 lists" in out and not err
    summary = json.loads((tmp_path / "corpus" / "summary.json").read_text())
    assert summary["preparation"]["split_by"] == "city"
    assert summary["preparation"]["max_length"] == 7


def test_columns_can_be_named(fans: Fans, tmp_path: Path) -> None:
    source = tmp_path / "a.csv"
    rows = [f"{i},{(i + j) % 9},{9 - j}\n" for i in range(60) for j in range(5)]
    source.write_text("who,what,when\n" + "".join(rows))
    columns = ("--list-column", "who", "--item-column", "what", "--position-column", "when")
    assert fans("prepare", source, "--out", tmp_path / "corpus", *SMALL, *columns)[0] == 0


def test_word_for_groups_is_given_or_the_name_of_their_column(fans: Fans, lists: Path, tmp_path: Path) -> None:
    items = tmp_path / "items.csv"
    items.write_text("item,author\n" + "".join(f"{n},A{n % 3}\n" for n in range(12)))
    for out, options, word in (("a", (), "author"), ("b", ("--group-name", "writer"), "writer")):
        assert fans("prepare", lists, "--out", tmp_path / out, *SMALL, "--items", items, *options)[0] == 0
        assert json.loads((tmp_path / out / "categories.json").read_text())["group_name"] == word
    code, _, err = fans("prepare", lists, "--out", tmp_path / "c", *SMALL, "--group-name", "x" * 41)
    assert code == 2 and "--group-name must be a word with at most 40 characters" in err


def test_public_data_set_has_its_own_lengths_and_items(
    fans: Fans, tmp_path: Path, real_data: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = real_data("grateful-dead/lists.tsv.gz").parents[1]
    monkeypatch.setenv("FANS_DATA", str(folder))
    assert fans("prepare", "grateful-dead", "--out", tmp_path / "corpus")[0] == 0
    summary = json.loads((tmp_path / "corpus" / "summary.json").read_text())
    assert (summary["lists"], summary["preparation"]["max_length"]) == (1_880, 60)
    assert '"name"' in (tmp_path / "corpus" / "items.jsonl").read_text()


def test_public_data_set_has_its_own_filter(
    fans: Fans, lists: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "recipes").mkdir()
    lists.rename(tmp_path / "recipes" / lists.name)
    monkeypatch.setenv("FANS_DATA", str(tmp_path))
    known = replace(PUBLIC["recipes"], lists=(PublicFile(lists.name),), items=None)
    monkeypatch.setitem(PUBLIC, "recipes", known)
    arguments = ("prepare", "recipes", "--min-length", 4, "--categories", 3, "--out", tmp_path / "corpus")
    assert fans(*arguments)[0] == 0
    preparation = json.loads((tmp_path / "corpus" / "summary.json").read_text())["preparation"]
    assert [preparation[name] for name in ("min_item_count", "min_length", "max_length")] == [5, 4, 200]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--categories", "many"), "--categories many is neither a number nor own"),
        (("--categories", 13), "--categories 13 is more than the 12 items left"),
        (("--split-by", "country"), "country"),
        (("--min-item-count", 1000), "no list is left of 90"),
        (("--items", "missing.csv"), "there is no file missing.csv"),
        (("--seed", -1), "--seed"),
    ],
)
def test_error_is_one_line_and_nothing_is_written(
    fans: Fans, lists: Path, tmp_path: Path, arguments: tuple[object, ...], message: str
) -> None:
    code, _, err = fans("prepare", lists, "--out", tmp_path / "corpus", *SMALL, *arguments)
    assert code == 2
    errors = [line for line in err.splitlines() if line.startswith("fans: ")]
    assert len(errors) == 1 and message in errors[0]
    assert list(tmp_path.iterdir()) == [lists]


def test_unknown_source_is_refused_with_how_to_list_the_known_ones(fans: Fans, tmp_path: Path) -> None:
    code, _, err = fans("prepare", "no-such-set", "--out", tmp_path / "corpus")
    assert code == 2 and "fans data list" in err
    assert fans("prepare", tmp_path, "--out", tmp_path / "corpus")[0] == 2


def test_corpus_is_not_overwritten(fans: Fans, lists: Path, tmp_path: Path) -> None:
    code, _, err = fans("prepare", lists, "--out", tmp_path, *SMALL)
    assert code == 2 and f"{tmp_path} exists and is not the corpus of an earlier run" in err and "--force" not in err


def test_url_needs_a_cluster(fans: Fans, tmp_path: Path) -> None:
    code, _, err = fans("prepare", "s3://bucket/lists/", "--out", tmp_path / "corpus")
    assert (code, err) == (
        2,
        "fans: s3://bucket/lists/ is a URL, which needs --engine ray; add it, or give a local file\n",
    )


def test_every_option_is_a_parameter_in_python_with_the_same_default() -> None:
    options = inspect.signature(prepare).parameters
    parameters = inspect.signature(fansrec.prepare).parameters
    assert {*options} - {*parameters} == {"engine", "address", "ray"}
    assert {*parameters} - {*options} == {"report"}
    assert {name: options[name].default for name in options if name in parameters} == {
        name: parameters[name].default for name in options if name in parameters
    }


def test_python_accepts_the_columns_and_the_name_of_a_public_set(
    lists: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pl.DataFrame(
        {"who": [n // 5 for n in range(300)], "what": list(range(5)) * 60, "when": [*range(300)][::-1]}
    )
    details = pd.DataFrame({"what": range(5), "label": list("abcde")})
    lines: list[str] = []
    summary = fansrec.prepare(
        table, tmp_path / "a", items=details, min_length=3, categories=1, list_column="who", item_column="what",
        time_column="when", name_column="label", report=lines.append,
    )  # fmt: skip
    assert summary["columns"] == {"list": "who", "item": "what", "time": "when", "ordered_by": "time"}
    assert lines[0].startswith("columns: list 'who', item 'what'; ordered by time 'when'")
    corpus = read_corpus(tmp_path / "a")
    assert [corpus.vocabulary.name(item) for item in corpus.list(0)] == list("edcba")
    (tmp_path / "recipes").mkdir()
    lists.rename(tmp_path / "recipes" / lists.name)
    monkeypatch.setenv("FANS_DATA", str(tmp_path))
    monkeypatch.setitem(PUBLIC, "recipes", replace(PUBLIC["recipes"], lists=(PublicFile(lists.name),), items=None))
    assert fansrec.prepare("recipes", tmp_path / "b", min_length=3, categories=1)["preparation"]["min_item_count"] == 5
    with pytest.raises(BadInput, match="neither a file nor the name of a public data set"):
        fansrec.prepare("no-such-set", tmp_path / "c")


def test_help_lists_the_recognized_columns(fans: Fans) -> None:
    code, out, _ = fans("prepare", "--help")
    assert code == 0 and all(name in out for name in ("playlist_id", "isbn", "added_at", "track_title", "album_artist"))
