"""Links between docs/ and the rest of the repository, which are relative on the repository host."""

import posixpath
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOME = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Homepage"]
PROJECT = sorted(path.name for path in ROOT.glob("*.md") if path.name != "README.md")  # the site has docs/README.md
LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")


def project_page(name: str) -> str:
    """Return the path in the site of a document at the top of the repository."""
    return f"project/{name.lower()}"


def outward(markdown: str, source: str) -> str:
    """Return the text of docs/`source` with links that leave docs/ changed to what the site has instead."""
    folder = posixpath.dirname(source)

    def replace(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", folder, found[1]))
        return found[0] if target.startswith("docs/") else _in_site(target, folder) + (found[2] or "")

    return LINK.sub(replace, markdown)


def relative_to_site(path: Path) -> str:
    """Return the text of a document at the top of the repository with links that work in the folder project/."""

    def replace(found: re.Match[str]) -> str:
        return _in_site(posixpath.normpath(found[1]), "project") + (found[2] or "")

    return LINK.sub(replace, path.read_text(encoding="utf-8"))


def _in_site(target: str, folder: str) -> str:
    """Return the link from a folder of the site to a path of the repository."""
    if target in PROJECT:
        return posixpath.relpath(project_page(target), folder or ".")
    if target.startswith("docs/"):
        return posixpath.relpath(target.removeprefix("docs/"), folder or ".")
    kind = "tree" if (ROOT / target).is_dir() else "blob"
    return f"{HOME}/{kind}/main/{target}"
