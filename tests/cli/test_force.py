"""One rule for all verbs: a result that exists is refused with a hint to --force, which replaces it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from fansrec.cli.main import app

Fans = Callable[..., tuple[int, str, str]]
RESULTS = {"--out", "--output", "--json", "--html", "--plot"}
# These resume what is in --out, or write nothing there.
WITHOUT_FORCE = {"reproduce"}


def is_switch(parameter: Any) -> bool:
    return bool(getattr(parameter, "is_flag", False))


def commands() -> list[tuple[str, set[str]]]:
    """Return the name and the options of every command."""
    found = []
    rest = list(typer.main.get_command(app).commands.items())  # type: ignore[attr-defined]
    for name, command in rest:
        if hasattr(command, "commands"):
            rest += [(f"{name} {inner}", one) for inner, one in command.commands.items()]
        else:
            options = {option for one in command.params for option in one.opts if not is_switch(one)}
            found.append((name, options | {"--force"} if "force" in {one.name for one in command.params} else options))
    return found


def test_every_command_that_writes_a_result_has_the_option() -> None:
    missing = [name for name, options in commands() if options & RESULTS and "--force" not in options]
    assert set(missing) == WITHOUT_FORCE


@pytest.fixture
def results(songs: Path, tmp_path: Path) -> dict[str, list[object]]:
    """Return commands by the name of their result in `tmp_path`."""
    (tmp_path / "lists.csv").write_text(
        "".join(
            f"{a},{b}\n"
            for a in ["list_id", *range(40)]
            for b in (["item_id"] if a == "list_id" else [f"x{n}" for n in range(12)])
        )
    )
    out = {name: tmp_path / name for name in ("corpus", "run", "table.json", "page.html", "plot.png", "model.onnx")}
    return {
        "corpus": ["prepare", tmp_path / "lists.csv", "--out", out["corpus"], "--categories", 2],
        "run": ["train", songs / "corpus", "--model", "popularity", "--out", out["run"]],
        "table.json": ["evaluate", songs / "run", "--corpus", songs / "corpus", "--json", out["table.json"]],
        "page.html": ["evaluate", songs / "run", "--corpus", songs / "corpus", "--html", out["page.html"]],
        "plot.png": ["data", "describe", songs / "corpus", "--out", out["plot.png"]],
        "model.onnx": ["export", songs / "run", "--out", out["model.onnx"]],
    }


@pytest.mark.parametrize("name", ["corpus", "run", "table.json", "page.html", "plot.png", "model.onnx"])
def test_existing_result_is_replaced_only_with_force(
    fans: Fans, tmp_path: Path, results: dict[str, list[object]], name: str
) -> None:
    assert fans(*results[name])[0] == 0
    path = tmp_path / name
    before = sorted(path.rglob("*")) if path.is_dir() else path.read_bytes()[:4]
    if path.is_dir():
        (path / "old").touch()
    code, out, err = fans(*results[name])
    assert (code, out) == (2, "") and err.startswith(f"fans: {path} already exists") and "give --force" in err
    code, _, err = fans(*results[name], "--force")
    assert code == 0, err
    assert before == (sorted(path.rglob("*")) if path.is_dir() else path.read_bytes()[:4])
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("name", ["corpus", "run"])
def test_folder_that_is_not_a_result_is_never_replaced(
    fans: Fans, tmp_path: Path, results: dict[str, list[object]], name: str
) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "diary").write_text("mine")
    code, _, err = fans(*results[name], "--force")
    assert code == 2 and "--force does not replace it" in err
    assert (tmp_path / name / "diary").read_text() == "mine"


@pytest.mark.parametrize("name", ["corpus", "run"])
def test_empty_folder_is_replaced_without_force(
    fans: Fans, tmp_path: Path, results: dict[str, list[object]], name: str
) -> None:
    (tmp_path / name).mkdir()
    code, _, err = fans(*results[name])
    assert code == 0, err
    assert any((tmp_path / name).iterdir()) and not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    "arguments", ["compare CORPUS --models popularity", "tune CORPUS --model item-knn --recipe best --trials 1"]
)
def test_experiment_accepts_an_empty_folder(fans: Fans, songs: Path, tmp_path: Path, arguments: str) -> None:
    code, _, err = fans(*arguments.replace("CORPUS", str(songs / "corpus")).split(), "--out", tmp_path)
    assert code == 0, err
    assert any(tmp_path.iterdir())


def test_failed_command_leaves_the_old_result(fans: Fans, tmp_path: Path, results: dict[str, list[object]]) -> None:
    assert fans(*results["corpus"])[0] == 0
    before = {path: path.read_bytes() for path in (tmp_path / "corpus").iterdir()}
    assert fans(*results["corpus"], "--force", "--min-item-count", 1000)[0] == 2
    assert {path: path.read_bytes() for path in (tmp_path / "corpus").iterdir()} == before
