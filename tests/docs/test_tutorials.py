"""The notebooks of docs/tutorials: with small data in this process, and completely in a Jupyter kernel."""

import importlib.util
import re
import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib
import pytest
from matplotlib import pyplot

SETS = {"playlists": None, "recipes": "recipes", "research": "grateful-dead"}  # the public set that each needs
Run = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="module")
def tutorials() -> ModuleType:
    """Return the tool that executes the notebooks."""
    path = Path(__file__).parents[2] / "tools/tutorials.py"
    spec = importlib.util.spec_from_file_location("tutorials", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run(tutorials: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Return a function that executes a notebook with small data, as a script, and returns its variables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUTORIAL_QUICK", "1")
    monkeypatch.setattr(sys, "path", [*sys.path])  # research.py adds a package
    matplotlib.use("agg")
    yield lambda name: runpy.run_path(str(tutorials.SOURCES / f"{name}.py"))
    pyplot.close("all")


def panels() -> int:
    return len(pyplot.gcf().axes)


def test_playlists_notebook_reads_the_messy_file_and_serves_a_model(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    found = run("playlists")
    assert "55 rows cannot be used: 40 without an item id" in capsys.readouterr().out
    assert found["summary"]["lists"] > 590
    assert {row["run"] for row in found["figures"]} == {"popularity", "item-knn", "fans"}
    assert len(found["served"].items) == 5 and found["found"][0].name == found["playlist"][0]
    assert panels() == 3


def test_recipes_notebook_uses_its_own_categories_and_measures_diversity(run: Run) -> None:
    found = run("recipes")
    (answer,) = found["model"].continue_lists([found["pantry"]], k=5, categories=["vegetables", "herbs"])
    assert {found["aisle"](position.name) for position in answer.positions} <= {"vegetables", "herbs"}
    assert len(found["figures"]) == 9 and len(found["curve"]) == 6
    assert panels() == 3


def test_research_notebook_compares_a_new_model_with_reproduced_ones(run: Run) -> None:
    found = run("research")
    assert {row["run"] for row in found["table"]} == {*found["NAMES"]} == {*found["differences"]}
    assert all(low <= mean <= high for mean, low, high in found["differences"].values())
    assert found["ours"]["variant"] == "Followers"
    assert panels() == 2


@pytest.mark.parametrize("name", SETS)
def test_pages_have_the_text_the_code_and_the_pictures_of_their_notebooks(tutorials: ModuleType, name: str) -> None:
    page, notebook = (tutorials.SOURCES / f"{name}.md").read_text(encoding="utf-8"), tutorials.read(name)
    assert re.findall(r"^```python\n(.*?)\n```$", page, re.MULTILINE | re.DOTALL) == tutorials.code(notebook)
    assert not [cell.source for cell in notebook.cells[1:] if cell.cell_type == "markdown" and cell.source not in page]
    pictures = [path.name for path in sorted(tutorials.PICTURES.glob(f"{name}-*.png"))]
    assert pictures and re.findall(r"images/tutorials/([\w-]+\.png)", page) == pictures


def test_every_notebook_is_tested(tutorials: ModuleType) -> None:
    assert tutorials.names() == [*SETS]


def notebook_with(tutorials: ModuleType, output: str) -> Any:
    cells = [tutorials.nbformat.v4.new_markdown_cell("# Title\n\nText"), tutorials.nbformat.v4.new_code_cell("print()")]
    cells[1].outputs = [tutorials.nbformat.v4.new_output("stream", name="stdout", text=output)]
    return tutorials.nbformat.v4.new_notebook(cells=cells, metadata={"executed": "2026-01-31"})


def test_page_shows_what_a_terminal_shows_in_the_end(tutorials: ModuleType) -> None:
    page = tutorials.page(notebook_with(tutorials, "\r\x1b[K 10%\r\x1b[K 90%\r\x1b[Kdone\nnext  \n"), "small")
    assert page.startswith("# Title\n\nThis page is a notebook, executed on 2026-01-31")
    assert page.endswith("Text\n\n```python\nprint()\n```\n\n```text\ndone\nnext\n```\n")


def test_page_shows_both_ends_of_a_long_output(tutorials: ModuleType) -> None:
    page = tutorials.page(notebook_with(tutorials, "".join(f"line {n}\n" for n in range(100))), "small")
    assert "line 14\n… 70 lines …\nline 85\n" in page and page.endswith("line 99\n```\n")


def test_outputs_are_used_again_until_the_code_changes(
    tutorials: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = notebook_with(tutorials, "")
    monkeypatch.setattr(tutorials, "EXECUTED", tmp_path)
    monkeypatch.setattr(tutorials, "read", lambda _: read)
    monkeypatch.setattr(tutorials, "execute", lambda notebook, _: notebook.cells[1].outputs[0].update(text="first"))
    assert tutorials.executed("small").cells[1].outputs[0].text == "first"
    monkeypatch.setattr(tutorials, "execute", lambda notebook, _: notebook.cells[1].outputs[0].update(text="second"))
    read.cells[0].source, read.cells[1].outputs = "# Another title", []
    again = tutorials.executed("small")
    assert again.cells[1].outputs[0].text == "first" and again.cells[0].source == "# Another title"
    read.cells[1].source = "print(1)"
    assert tutorials.executed("small").cells[1].outputs[0].text == "second"


@pytest.mark.long
@pytest.mark.parametrize("name", SETS)
def test_notebooks_run_completely_in_a_jupyter_kernel(
    name: str,
    tutorials: ModuleType,
    real_data: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if SETS[name] is not None:
        monkeypatch.setenv("FANS_DATA", str(real_data(f"{SETS[name]}/lists.tsv.gz").parents[1]))
    notebook = tutorials.read(name)
    tutorials.execute(notebook, tmp_path)
    expected = sorted(tutorials.PICTURES.glob(f"{name}-*.png"))
    assert len(tutorials.pictures(notebook)) == len(expected) > 0
