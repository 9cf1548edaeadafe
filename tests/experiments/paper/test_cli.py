"""The two commands as a user meets them."""

import pytest

from experiments.paper.conftest import write_corpora
from fansrec.cli import main as cli
from fansrec.experiments.__main__ import main


@pytest.fixture
def fans(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["fans", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            cli.run()
        return int(end.value.code or 0), capsys.readouterr()

    return run


def test_table_1_is_prepared_and_written(fans, tmp_path):
    code, told = fans("reproduce", "table1", "--quick", "--datasets", "sample", "--out", tmp_path / "out")
    assert code == 0
    assert "prepared:" in told.err and "report.html" in told.out
    assert "| lists |" in (tmp_path / "out" / "report.md").read_text()


def test_sets_whose_files_are_missing_are_skipped_by_name(fans, tmp_path, monkeypatch):
    monkeypatch.setenv("FANS_DATA", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    code, told = fans("reproduce", "table1", "--datasets", "zhihu,sample", "--out", tmp_path / "out")
    assert code == 0
    assert "skipped: Zhihu" in told.err
    assert "Skipped: Zhihu" in (tmp_path / "out" / "report.md").read_text()


def test_no_set_at_hand_is_refused(fans, tmp_path, monkeypatch):
    monkeypatch.setenv("FANS_DATA", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    code, told = fans("reproduce", "table2", "--datasets", "zhihu", "--out", tmp_path / "out")
    assert code == 2 and "none of the datasets is at hand" in told.err


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["table7"], "no experiment 'table7'"),
        (["table2", "--seeds", "one"], "no list of numbers"),
        (["table2", "--seeds", "-1"], "whole numbers from 0 on"),
        (["table2", "--seeds", "1", "--quick"], "leave out --quick or --seeds"),
        (["table2", "--datasets", ","], "no dataset is named"),
    ],
)
def test_what_makes_no_sense_is_refused(fans, arguments, word):
    code, told = fans("reproduce", *arguments)
    assert code == 2 and word in told.err


def test_the_bare_command_trains_nothing_without_corpora(tmp_path, capsys):
    assert main(["paper", "table2", "--out", str(tmp_path)]) == 2
    assert "holds none of the corpora" in capsys.readouterr().err


def test_the_bare_command_needs_a_worker(tmp_path, capsys):
    assert main(["paper", "table2", "--out", str(tmp_path), "--workers", "0"]) == 2
    assert "--workers 0" in capsys.readouterr().err


def test_a_set_whose_corpus_is_there_needs_no_file(fans, tmp_path, monkeypatch):
    monkeypatch.setenv("FANS_DATA", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    write_corpora(tmp_path, [10])
    (tmp_path / "corpora" / "sample-10").rename(tmp_path / "corpora" / "zhihu-10")
    code, told = fans("reproduce", "table4", "--datasets", "zhihu", "--only-report", "--out", tmp_path)
    assert code == 0
    assert "skipped: Zhihu with 5 categories" in told.err and "Zhihu with 10 " not in told.err
    assert "zhihu, N = 10" in (tmp_path / "report.md").read_text()  # among the cells that are not finished


def test_the_bare_command_finds_a_finished_reproduction_finished(quick, capsys):
    arguments = ["paper", "all", "--quick", "--datasets", "sample", "--device", "cpu", "--out", str(quick.out)]
    assert main(arguments) == 0
    assert "training: 0 to do" in capsys.readouterr().out
