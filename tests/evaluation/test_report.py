import re
import warnings
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from matplotlib.image import imread
from rich.console import Console

from fansrec.artifact import Artifact
from fansrec.data.corpus import Corpus
from fansrec.evaluation.evaluate import evaluate
from fansrec.evaluation.formatting import Row, curves, format_interval, format_value, given_cells, given_label
from fansrec.evaluation.protocol import METRICS
from fansrec.evaluation.report import draw_history, write_report
from fansrec.evaluation.short_inputs import curve_pictures
from fansrec.evaluation.tables import print_evaluation

Configs = dict[str, dict[str, Any]]
NASTY = '<script>alert("x")</script> & $\\frac$'


class ParsedPage(HTMLParser):
    """Collects the tags of a page, what they would load, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [value or "" for name, value in attrs if name in ("src", "srcset", "href", "action", "data")]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def rows(world: Path, corpus: Corpus) -> list[Row]:
    return evaluate([world / "popularity", world / "fans"], corpus, input="kept", examples=12)


@pytest.fixture(scope="module")
def configs(fans_run: Artifact, popularity_run: Artifact) -> Configs:
    return {"fans": fans_run.config, "popularity": popularity_run.config}


def written(path: Path, rows: list[Row], configs: Configs, summary: dict[str, Any]) -> str:
    write_report(path, rows, configs, summary)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, rows: list[Row], configs: Configs, corpus: Corpus) -> str:
    """Return the report of `rows`."""
    return written(tmp_path_factory.mktemp("report") / "report.html", rows, configs, corpus.summary)


def test_report_loads_nothing(page: str) -> None:
    seen = ParsedPage(page)
    assert len(seen.loads) == 2 * len(METRICS)  # one for light and one for dark pages each
    assert all(load.startswith("data:image/png;base64,") for load in seen.loads)
    assert not {"script", "link", "iframe"} & set(seen.tags)
    assert "http" not in page and "url(" not in page and "@import" not in page


def test_report_contains_every_metric_with_its_interval(page: str, rows: list[Row]) -> None:
    text = ParsedPage(page).text
    for row in rows:
        assert f"{row['lists@5']:,}" in text
        for name in METRICS:
            assert format_value(row[name]) in text
            assert format_interval(row[f"{name}_ci"]) in text
    assert "standard, input kept" in text
    assert "splits test" in text


def test_report_escapes_all_text(tmp_path: Path, rows: list[Row], configs: Configs) -> None:
    example = {"list": 0, "input": [NASTY], "target": [NASTY], "answer": [NASTY], "hits": [True], "found": [True]}
    group = rows[0]["breakdown"][0] | {"by": NASTY, "group": NASTY}
    odd = {"variant": NASTY, "best": NASTY, "verdict": NASTY, "examples": [example], "breakdown": [group]}
    nasty = [row | odd | {"run": f"{NASTY} {row['run']}"} for row in rows]
    of_runs = {f"{NASTY} {name}": config | {"config": {NASTY: NASTY}} for name, config in configs.items()}
    seen = ParsedPage(written(tmp_path / "report.html", nasty, of_runs, {"source": NASTY, NASTY: {NASTY: NASTY}}))
    assert "script" not in seen.tags
    assert seen.text.count(NASTY) > 10


def test_report_begins_with_the_comparison_and_ends_with_folded_settings(page: str, rows: list[Row]) -> None:
    headings = re.findall(r"<h2>(.*?)</h2>", page)
    assert headings[0] == "Comparison, protocol standard, input kept"
    assert headings[1] == "Comparison, protocol paper"
    assert headings[2:4] == ["For which lists", "Examples"]
    assert headings[-1] == "Corpus and settings"
    folded = page[page.index("Corpus and settings") :]
    assert re.findall(r"<summary>(.*?)</summary>", folded) == ["corpus", *dict.fromkeys(row["run"] for row in rows)]
    assert " open" not in folded and "checkpoint" not in folded and "None" not in folded


def test_report_says_which_run_is_better_and_marks_hits(page: str, rows: list[Row]) -> None:
    assert rows[0]["verdict"] in page and rows[2]["verdict"] in page
    difference = rows[1]["differences"]["NDCG@5"]
    assert f"{difference['difference']:+.4f}" in page
    assert ("not significant" in ParsedPage(page).text.partition("For which lists")[0]) == any(
        one["interval"] and one["interval"][0] <= 0 <= one["interval"][1]
        for row in rows
        for name, one in row["differences"].items()
        if name in METRICS
    )
    hits = sum(sum(example["hits"]) for row in rows[:2] for example in row["examples"])
    assert hits and page.count("✓</li>") >= hits


def test_metric_without_lists_is_a_dash(tmp_path: Path, rows: list[Row], configs: Configs, corpus: Corpus) -> None:
    without: Row = {"NDCG@10": None, "NDCG@10_ci": None, "HR@10": None, "HR@10_ci": None, "order": None}
    text = ParsedPage(written(tmp_path / "r.html", [row | without for row in rows], configs, corpus.summary)).text
    assert "–" in text
    assert "None" not in text and "nan" not in text


def printed_lines(rows: list[Row], folder: Path) -> list[str]:
    """Return the printed lines that begin with the name of a run: those of all tables but the one of groups."""
    with (folder / "out.txt").open("w+") as file:
        print_evaluation(rows, Console(file=file, width=60))
        file.seek(0)
        return re.findall(r"^(?:fans|popularity) (?!of the target).*", file.read(), re.MULTILINE)


def test_file_gets_one_line_per_row(rows: list[Row], tmp_path: Path) -> None:
    ours = printed_lines(rows, tmp_path)
    assert len(ours) == 3 * len(rows) + 2  # accuracy, other metrics, order and diversity; differences per protocol
    for line, row in zip(ours[: len(rows)], rows, strict=True):
        assert all(
            f"{format_value(row[name])} {format_interval(row[f'{name}_ci'])}".strip() in line for name in METRICS
        )


def test_narrow_terminal_gets_intervals_below_values(rows: list[Row], tmp_path: Path) -> None:
    with (tmp_path / "out.txt").open("w+") as file:
        print_evaluation(rows, Console(file=file, width=100, force_terminal=True, color_system=None))
        file.seek(0)
        lines = file.read().splitlines()
    assert max(map(len, lines)) <= 100
    found = next(number for number, line in enumerate(lines) if format_value(rows[0]["NDCG@5"]) in line)
    assert format_interval(rows[0]["NDCG@5_ci"]) in lines[found + 1]


@pytest.fixture(scope="module")
def short_rows(world: Path, corpus: Corpus) -> list[Row]:
    """Return rows of both runs: the usual one, then those with 1, 2 and 5 given items."""
    return evaluate([world / "fans", world / "popularity"], corpus, protocol="standard", given=(5, 1, 2))


def test_curve_goes_from_few_given_items_to_the_whole_input(short_rows: list[Row]) -> None:
    found = curves(short_rows)
    assert [[row["given"] for row in curve] for curve in found] == [[1, 2, 5, None]] * 2
    assert [{row["run"] for row in curve} for curve in found] == [{"fans"}, {"popularity"}]
    assert list(given_cells(found[0])) == ["1 given", "2 given", "5 given", "half"]


def test_rows_without_short_inputs_have_no_curve(rows: list[Row]) -> None:
    assert curves(rows) == []


def test_report_shows_the_curves_of_short_inputs(
    tmp_path: Path, short_rows: list[Row], configs: Configs, corpus: Corpus
) -> None:
    page = written(tmp_path / "report.html", short_rows, configs, corpus.summary)
    seen = ParsedPage(page)
    assert len(seen.loads) == 2 * 2 * len(METRICS)  # bars and curves, for light and for dark pages
    assert "Short inputs" in seen.text
    for row in short_rows:
        assert f"{format_value(row['NDCG@5'])} {format_interval(row['NDCG@5_ci'])}" in seen.text
        assert f"{given_label(row)} {format_value(row['HR@10'])}" in page
    assert page.index("Comparison") < page.index("Examples") < page.index("Short inputs")


def test_curves_with_odd_names_and_missing_values_can_be_drawn(short_rows: list[Row]) -> None:
    odd = [row | {"run": "_$\\frac$", "HR@10": None, "HR@10_ci": None} for row in short_rows]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pictures = curve_pictures(odd)
    assert len(pictures) == len(METRICS)
    assert all(picture.light != picture.dark for picture in pictures)


def test_terminal_shows_short_inputs_in_a_table_of_their_own(short_rows: list[Row], tmp_path: Path) -> None:
    ours = printed_lines(short_rows, tmp_path)
    assert len(ours) == 4 * 2 + 1  # and the difference of the second run
    for line, curve in zip(ours[-2:], curves(short_rows), strict=True):
        assert all(f"{format_value(row['NDCG@5'])} {format_interval(row['NDCG@5_ci'])}" in line for row in curve)


def epochs(count: int, **changes: Any) -> list[dict[str, Any]]:
    return [
        {
            "epoch": epoch,
            "curriculum_step": epoch // 3,
            "masked_share": (epoch // 3 + 1) / 4,
            "loss": 9 - epoch / 2,
            "category_accuracy": 0.3,
            "valid HR@5": epoch / 20,
            "valid NDCG@5": epoch / 90,
            "learning_rate": 0.01,
            "seconds": 1.0,
        }
        | changes
        for epoch in range(count)
    ]


@pytest.mark.parametrize("count", [1, 12, 60])
def test_history_is_drawn_as_one_file(tmp_path: Path, count: int) -> None:
    draw_history(epochs(count), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["curves.png"]
    picture = imread(tmp_path / "curves.png")
    assert picture.shape[1] > 1000
    assert picture[..., :3].std() > 0.05  # something is drawn


def test_missing_and_nan_values_can_be_drawn(tmp_path: Path) -> None:
    draw_history(epochs(5, category_accuracy=None, **{"valid NDCG@5": float("nan")}), tmp_path)
    assert (tmp_path / "curves.png").stat().st_size > 10_000
