"""`fans reproduce all --quick`, run once: what it writes, and what it does not run twice."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from experiments.paper.conftest import Recorder
from fansrec.experiments.__main__ import main
from fansrec.experiments.paper.catalogue import experiments
from fansrec.experiments.paper.cells import Corpora, required_cells
from fansrec.experiments.paper.jobs import timing_jobs
from fansrec.experiments.paper.report import plots
from fansrec.experiments.paper.reproduce import reproduce
from fansrec.experiments.paper.timings import RANDOM, required_timings
from fansrec.experiments.pool import DONE


@pytest.fixture(scope="module")
def report(quick):
    return (quick.out / "report.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(quick):
    return (quick.out / "report.html").read_text(encoding="utf-8")


def test_all_jobs_finish(quick):
    assert [outcome.message for outcome in quick.recorder.outcomes if outcome.state != DONE] == []
    assert quick.unfinished == 0


def test_both_reports_have_every_table_and_figure(report, page):
    for experiment in experiments().values():
        assert f"## {experiment.title}" in report
        assert f"<h2>{experiment.title}</h2>" in page


def test_quick_report_says_in_bold_that_its_figures_are_meaningless(report, page):
    assert "**A smoke test (--quick): its figures are meaningless.**" in report
    assert '<p class="strong">A smoke test (--quick): its figures are meaningless.</p>' in page


def test_every_system_has_figures(report):
    table = report.split("the paper's nine systems")[1].split("###")[0]
    assert "–" not in table
    assert re.search(r"\| NDCG@5<br>\d+ lists \|", table)


def test_published_figures_are_below_ours(report):
    table = report.split("## Table 3")[1].split("###")[1]
    assert "paper 0.0274" in table and "paper 0.4201" in table


def test_report_has_other_models_and_protocols(report):
    assert "| EASE |" in report and "the standard protocol" in report


def test_latency_says_how_many_lists_and_on_what(report):
    row = next(line for line in report.splitlines() if line.startswith("| Latency (ms)"))
    assert "1 thread" in row and "3 lists" in row
    assert any(line.startswith("| Speedup") and "1.0x" in line for line in report.splitlines())


def test_claims_have_verdicts_and_the_online_test_is_mentioned(report):
    claims = report.split("## The paper's claims")[1]
    assert re.search(r"\| (holds|does not hold|undecided: too few lists) \|", claims)
    assert "online A/B test" in claims


def test_report_says_how_it_was_made(report):
    made = report.split("## How this was made")[1]
    for word in ("torch", "Python", "cores", "seeds", "hours in total", "seconds in total", "| timed on |"):
        assert word in made


def test_plots_are_written_beside_the_markdown(quick, report):
    names = re.findall(r"!\[[^\]]*\]\((pictures/[^)]+)\)", report)
    assert len(names) >= 5
    for name in names:
        assert (quick.out / name).read_bytes().startswith(b"\x89PNG")


def test_html_report_is_one_file_for_light_and_dark(page):
    assert not re.search(r'(?:src|href|srcset)="(?!data:)', page)
    assert "prefers-color-scheme: dark" in page


def test_weights_of_the_first_seed_are_kept_for_timings(quick):
    runs = {path.parent.name.split("-0-")[0] for path in quick.out.glob("runs/*/*/model.safetensors")}
    assert "FANS_TSC-STEP" in runs


def test_second_run_only_runs_what_is_missing(quick):
    cells = required_cells(quick.selection, Corpora(quick.out))
    lost = next(cell for cell in cells if cell.labels["system"] == "FANS_TSC-NAIVE")
    before = {cell.file: cell.file.stat().st_mtime_ns for cell in cells if cell != lost}
    lost.file.unlink()
    unfinished, recorder = quick.again()
    assert [outcome.job.title for outcome in recorder.outcomes] == [str(lost)]
    assert unfinished == 0 and lost.file.is_file()
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_report_ignores_temporary_and_damaged_files(quick, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(quick.out, out)
    corpora = Corpora(out)
    cell = required_cells(quick.selection, corpora)[0]
    (cell.file.parent / f".{cell.file.name}.abc").write_text("{")
    cell.file.write_text("{")
    timing = next(required_timings(quick.selection, corpora))
    timing.file("cpu").write_text("{")
    (report, _), _ = reproduce(quick.selection, out, Recorder(), 1, "cpu", only_report=True)
    assert f"cells are not finished: {cell}." in report.read_text()
    assert [job.arguments[0] for job in timing_jobs(quick.selection, corpora, "cpu")] == [timing]


def test_timing_with_random_weights_is_repeated_once_trained_weights_exist(quick, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(quick.out, out)
    corpora = Corpora(out)
    timing = next(required_timings(quick.selection, corpora))
    content = json.loads(timing.file("cpu").read_text())
    content["rows"][0]["weights"] = RANDOM
    timing.file("cpu").write_text(json.dumps(content))
    assert [job.arguments[0] for job in timing_jobs(quick.selection, corpora, "cpu")] == [timing]
    shutil.rmtree(next(iter(timing.entries.values())).run)
    assert timing_jobs(quick.selection, corpora, "cpu") == []


def test_table_of_generated_lists_explains_one_category(report):
    table = report.split("## Table 4")[1].split("### Generated lists and random weights")[1]
    assert "Here N = 1 is the vanilla classifier" in table.split("\n| ")[0]


def test_bars_start_at_zero(monkeypatch):
    seen = []
    monkeypatch.setattr(plots, "png", lambda figure: seen.append(figure.axes[0].get_ylim()[0]) or b"")
    plots.bar_plot({"HR@10": [("FANS", 0.01, 0.02)]})
    assert seen == [0, 0]


def test_training_and_timing_import_no_heavy_library():
    heavy = ("polars", "pyarrow", "scipy", "gensim", "sklearn", "typer", "rich", "matplotlib", "pandas")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({heavy!r}))\n"
        "import fansrec.experiments.__main__, fansrec.experiments.paper.jobs, fansrec.experiments.paper.results\n"
        "import fansrec.experiments.speed.shares, fansrec.experiments.crossval.cross_validation"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_module_finds_nothing_to_do_in_a_finished_reproduction(quick, capsys):
    arguments = ["paper", "all", "--quick", "--datasets", "sample", "--device", "cpu", "--out", str(quick.out)]
    assert main(arguments) == 0
    assert "training: 0 to do" in capsys.readouterr().out
