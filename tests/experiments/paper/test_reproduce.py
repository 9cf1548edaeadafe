"""`fans reproduce all --quick`, done once: what it leaves, and what it does not do twice."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from experiments.paper.conftest import Ear
from fansrec.experiments.paper.catalogue import experiments
from fansrec.experiments.paper.cells import Corpora, Folder, cells_of
from fansrec.experiments.paper.jobs import timing_jobs, timings_of
from fansrec.experiments.paper.report import pictures
from fansrec.experiments.paper.reproduce import reproduce
from fansrec.experiments.paper.timings import RANDOM
from fansrec.experiments.pool import DONE


@pytest.fixture(scope="module")
def report(quick):
    return quick.made.report.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(quick):
    return quick.made.page.read_text(encoding="utf-8")


def test_every_cell_and_timing_ends_well(quick):
    assert [outcome.word for outcome in quick.ear.outcomes if outcome.state != DONE] == []
    assert quick.made.undone == 0


def test_every_table_and_figure_is_in_both_reports(report, page):
    for experiment in experiments().values():
        assert f"## {experiment.title}" in report
        assert f"<h2>{experiment.title}</h2>" in page


def test_a_quick_report_says_in_bold_that_its_figures_mean_nothing(report, page):
    assert "**A smoke test (--quick): its figures mean nothing.**" in report
    assert '<p class="strong">A smoke test (--quick): its figures mean nothing.</p>' in page


def test_no_figure_of_a_system_is_missing(report):
    table = report.split("the paper's nine systems")[1].split("###")[0]
    assert "–" not in table
    assert re.search(r"\| NDCG@5<br>\d+ lists \|", table)


def test_the_papers_figures_stand_below_ours(report):
    table = report.split("## Table 3")[1].split("###")[1]
    assert "paper 0.0274" in table and "paper 0.4201" in table


def test_rivals_and_other_protocols_are_there(report):
    assert "| EASE |" in report and "the standard protocol" in report


def test_latency_says_how_many_lists_and_on_what(report):
    row = next(line for line in report.splitlines() if line.startswith("| Latency (ms)"))
    assert "1 thread" in row and "3 lists" in row
    assert any(line.startswith("| Speedup") and "1.0x" in line for line in report.splitlines())


def test_claims_have_verdicts_and_the_online_test_is_named_as_left_out(report):
    claims = report.split("## The paper's claims")[1]
    assert re.search(r"\| (holds|does not hold|cannot be told with this many lists) \|", claims)
    assert "online A/B test" in claims


def test_the_report_says_on_what_it_was_made(report):
    made = report.split("## How this was made")[1]
    for word in ("torch", "Python", "cores", "seeds", "hours in all", "seconds in all", "| timed on |"):
        assert word in made


def test_pictures_lie_beside_the_markdown(quick, report):
    names = re.findall(r"!\[[^\]]*\]\((pictures/[^)]+)\)", report)
    assert len(names) >= 5
    for name in names:
        assert (quick.out / name).read_bytes().startswith(b"\x89PNG")


def test_the_page_is_one_file_for_light_and_dark(page):
    assert not re.search(r'(?:src|href|srcset)="(?!data:)', page)
    assert "prefers-color-scheme: dark" in page


def test_weights_of_the_first_seed_are_kept_for_latency(quick):
    runs = {path.parent.name.split("-0-")[0] for path in quick.out.glob("runs/*/*/model.safetensors")}
    assert "FANS_TSC-STEP" in runs


def test_a_second_run_does_only_what_is_missing(quick):
    cells = cells_of(quick.choice, Corpora(Folder(quick.out)))
    lost = next(cell for cell in cells if cell.system == "FANS_TSC-NAIVE")
    before = {cell.file: cell.file.stat().st_mtime_ns for cell in cells if cell != lost}
    lost.file.unlink()
    made, ear = quick.again()
    assert [outcome.job.title for outcome in ear.outcomes] == [str(lost)]
    assert made.undone == 0 and lost.file.is_file()
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_stray_and_damaged_files_stop_no_report(quick, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(quick.out, out)
    corpora = Corpora(Folder(out))
    cell = cells_of(quick.choice, corpora)[0]
    (cell.file.parent / f".{cell.file.name}.abc").write_text("{")
    cell.file.write_text("{")
    timing, _ = next(timings_of(quick.choice, corpora))
    timing.file("cpu").write_text("{")
    made = reproduce(quick.choice, out, Ear(), 1, "cpu", only_report=True)
    assert f"cells are not finished: {cell}." in made.report.read_text()
    assert [job.arguments[0] for job in timing_jobs(quick.choice, corpora, "cpu")] == [timing]


def test_a_timing_with_random_weights_is_made_again_once_there_are_trained_ones(quick, tmp_path):
    out = tmp_path / "copy"
    shutil.copytree(quick.out, out)
    corpora = Corpora(Folder(out))
    timing, _ = next(timings_of(quick.choice, corpora))
    content = json.loads(timing.file("cpu").read_text())
    content["rows"][0]["weights"] = RANDOM
    timing.file("cpu").write_text(json.dumps(content))
    assert [job.arguments[0] for job in timing_jobs(quick.choice, corpora, "cpu")] == [timing]
    shutil.rmtree(timing.entries[0].cell.run)
    assert timing_jobs(quick.choice, corpora, "cpu") == []


def test_the_generated_table_says_that_one_category_is_the_vanilla_classifier(report):
    table = report.split("## Table 4")[1].split("### Generated lists and weights")[1]
    assert "Here N = 1 is the vanilla classifier" in table.split("\n| ")[0]


def test_bars_stand_on_zero_whatever_their_errors(monkeypatch):
    seen = []
    monkeypatch.setattr(pictures, "png", lambda figure: seen.append(figure.axes[0].get_ylim()[0]) or b"")
    pictures.bars({"HR@10": [("FANS", 0.01, 0.02)]})
    assert seen == [0, 0]


def test_training_and_timing_need_no_library_beyond_those_of_a_bare_machine():
    heavy = ("polars", "pyarrow", "scipy", "gensim", "sklearn", "typer", "rich", "matplotlib", "pandas")
    code = (
        f"import sys; sys.modules.update(dict.fromkeys({heavy!r}))\n"
        "import fansrec.experiments.__main__, fansrec.experiments.paper.work, fansrec.experiments.paper.results\n"
        "import fansrec.experiments.speed.shares, fansrec.experiments.crossval.work"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
