"""Links in the documents, and the options of all commands."""

import re
import tomllib
from pathlib import Path

import pytest
import typer

from fansrec.cli.main import app

ROOT = Path(__file__).parents[2]
DOCUMENTS = [path for one in ("*", "docs/**/*", "deploy/**/*", "examples/*") for path in ROOT.glob(f"{one}.md")]
REPOSITORY = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Homepage"]


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings, as GitHub and others derive them."""
    titles = [re.sub(r"[^\w\- ]", "", title.lower()) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)]
    return {title.strip().replace(" ", "-") for title in titles}


def options_by_verb() -> dict[str, set[str]]:
    """Return the options of every command, such as `train` or `bench latency`."""
    found: dict[str, set[str]] = {}
    commands = list(typer.main.get_command(app).commands.items())  # type: ignore[attr-defined]
    for name, command in commands:
        if hasattr(command, "commands"):
            commands += [(f"{name} {inner}", one) for inner, one in command.commands.items()]
        else:
            found[name] = {option for parameter in command.params for option in parameter.opts} | {"--help"}
    return found


def own_links(text: str) -> list[str]:
    """Return the files that absolute links to our own repository name."""
    repository = re.escape(REPOSITORY)
    raw = re.escape(REPOSITORY.replace("github.com", "raw.githubusercontent.com"))
    return re.findall(rf"(?:{repository}/(?:blob|tree)|{raw})/main/([^)\s#\"]+)", text)


def test_readme_has_only_absolute_links_so_that_a_package_index_can_show_it() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(link.startswith("https://") for link in re.findall(r"\]\(([^)\s]+)\)", text))
    assert len(own_links(text)) > 20


@pytest.mark.parametrize("path", ["README.md", "pyproject.toml"])
def test_absolute_links_to_the_repository_name_existing_files_and_headings(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    for link in own_links(text):
        assert (ROOT / link).exists(), link
    for link, anchor in re.findall(r"/blob/main/([^)\s#]+)#([^)\s]+)", text):
        assert anchor in anchors((ROOT / link).read_text(encoding="utf-8")), (link, anchor)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_exist(document: Path) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", document.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        target = (document.parent / path) if path else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), link
