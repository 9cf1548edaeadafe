"""`fans reproduce` and `python -m fansrec.experiments paper`."""

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


def test_reproduce_prepares_the_corpus_and_writes_table_1(fans, tmp_path):
    code, printed = fans("reproduce", "table1", "--quick", "--datasets", "sample", "--out", tmp_path / "out")
    assert code == 0
    assert "prepared:" in printed.err and "report.html" in printed.out
    assert "| lists |" in (tmp_path / "out" / "report.md").read_text()


def test_data_sets_without_files_are_skipped_by_name(fans, tmp_path, monkeypatch):
    monkeypatch.setenv("FANS_DATA", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    code, printed = fans("reproduce", "table1", "--datasets", "zhihu,sample", "--out", tmp_path / "out")
    assert code == 0
    assert "skipped: Zhihu" in printed.err
    assert "Skipped: Zhihu" in (tmp_path / "out" / "report.md").read_text()


def test_reproduce_without_any_data_set_is_refused(fans, tmp_path, monkeypatch):
    monkeypatch.setenv("FANS_DATA", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    code, printed = fans("reproduce", "table2", "--datasets", "zhihu", "--out", tmp_path / "out")
    assert code == 2 and "none of the data sets is available" in printed.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table7"], "no experiment 'table7'"),
        (["table2", "--seeds", "one"], "not a comma-separated list of integers"),
        (["table2", "--seeds", "-1"], "integers >= 0"),
        (["table2", "--seeds", "1", "--quick"], "leave out --quick or --seeds"),
        (["table2", "--datasets", ","], "names no data set"),
    ],
)
def test_invalid_options_are_refused(fans, arguments, message):
    code, printed = fans("reproduce", *arguments)
    assert code == 2 and message in printed.err


def test_module_is_refused_without_corpora(tmp_path, capsys):
    assert main(["paper", "table2", "--out", str(tmp_path)]) == 2
    assert "has none of the corpora" in capsys.readouterr().err


def test_module_needs_a_worker(tmp_path, capsys):
    assert main(["paper", "table2", "--out", str(tmp_path), "--workers", "0"]) == 2
    assert "--workers 0" in capsys.readouterr().err


def test_data_set_with_a_corpus_needs_no_file(fans, tmp_path, monkeypatch):
    monkeypatch.setenv("FANS_DATA", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    write_corpora(tmp_path, [10])
    (tmp_path / "corpora" / "sample-10").rename(tmp_path / "corpora" / "zhihu-10")
    code, printed = fans("reproduce", "table4", "--datasets", "zhihu", "--only-report", "--out", tmp_path)
    assert code == 0
    assert "skipped: Zhihu with 5 categories" in printed.err and "Zhihu with 10 " not in printed.err
    assert "zhihu, N = 10" in (tmp_path / "report.md").read_text()  # as an unfinished cell
