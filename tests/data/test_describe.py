"""The statistics of a set, its plots, and the verbs of `fans data`."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fansrec.cli.data import app
from fansrec.data.corpus import Corpus, write_corpus
from fansrec.data.describe import describe, describe_source
from fansrec.data.plots import save_plot
from fansrec.errors import BadInput, BadSetting
from fansrec.vocabulary import Vocabulary

LENGTHS = np.array([3, 2, 5])
ITEMS = np.array([0, 1, 2, 0, 1, 0, 0, 3, 1, 2], dtype=np.int32)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    vocabulary = Vocabulary(ids=list("abcd"), starts=np.array([0, 4]), category_names=["all"])
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)])
    write_corpus(tmp_path / "corpus", Corpus(ITEMS, offsets, np.zeros(3, dtype=np.uint8), vocabulary, {}))
    return tmp_path / "corpus"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lists.jsonl"
    lists = np.split(ITEMS, np.cumsum(LENGTHS)[:-1])
    path.write_text("".join(json.dumps({"items": list_.tolist()}) + "\n" for list_ in lists))
    return path


def test_statistics() -> None:
    statistics = describe("three lists", LENGTHS, ITEMS).statistics
    assert (statistics.lists, statistics.items, statistics.interactions) == (3, 4, 10)
    assert (statistics.shortest, statistics.longest) == (2, 5)
    assert statistics.average == pytest.approx(10 / 3)
    assert statistics.density == pytest.approx(100 * 10 / 12)


def test_items_are_ranked_by_how_often_they_occur() -> None:
    assert describe("three lists", LENGTHS, ITEMS).counts.tolist() == [4, 3, 2, 1]


def test_items_that_never_occur_do_not_count() -> None:
    assert describe("gaps", np.array([2]), np.array([7, 9], dtype=np.int32)).counts.tolist() == [1, 1]


def test_a_corpus_and_the_file_it_came_from_have_the_same_statistics(corpus: Path, file: Path) -> None:
    assert describe_source(str(corpus)).statistics == describe_source(str(file)).statistics


def test_a_set_without_lists_is_refused() -> None:
    with pytest.raises(BadInput, match="contains no lists"):
        describe("nothing", np.array([], dtype=np.int64), np.array([], dtype=np.int32))


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_extension_determines_the_plot_format(tmp_path: Path, suffix: str, magic: bytes) -> None:
    save_plot(describe("three lists", LENGTHS, ITEMS), tmp_path / f"plot.{suffix}")
    assert (tmp_path / f"plot.{suffix}").read_bytes().startswith(magic)
    assert len(list(tmp_path.iterdir())) == 1


def test_lists_of_one_length_can_be_plotted(tmp_path: Path) -> None:
    save_plot(describe("one list", np.array([1]), np.array([0], dtype=np.int32)), tmp_path / "plot.png")


def test_unknown_extension_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=r"must end in one of \.png"):
        save_plot(describe("three lists", LENGTHS, ITEMS), tmp_path / "plot.gif")


def test_describe_command_prints_statistics_and_saves_a_plot(corpus: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["describe", str(corpus), "--out", str(tmp_path / "plot.png")])
    assert result.exit_code == 0
    assert "83.333%" in result.stdout and "plot.png" in result.stdout
    assert (tmp_path / "plot.png").exists()


def test_list_command_prints_every_public_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FANS_DATA", str(tmp_path))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    result = CliRunner().invoke(app, ["list"])
    assert result.exit_code == 0
    assert "6,809,820" in result.stdout and "0.200%" in result.stdout and "spotify-attlist" in result.stdout
    assert "no checksum known" in result.stdout


def test_fetch_command_reports_a_missing_checksum(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FANS_DATA", str(tmp_path))
    (tmp_path / "zhihu").mkdir()
    (tmp_path / "zhihu" / "Zhihu.txt.zip").write_bytes(b"lists")
    result = CliRunner().invoke(app, ["fetch", "zhihu"])
    assert result.exit_code == 0
    assert "zhihu: found, no checksum is known for this file" in result.stdout
