"""The navigation of the site, from the lists of links in docs/README.md, so that every page is listed in one place."""

import re
from pathlib import Path
from typing import Any

import links

SECTION = re.compile(r"^## ([^\n:]+)[^\n]*\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"\[([^\]]+)\]\(([^)\s#]+\.md)\)")


def from_overview(overview: Path, generated: list[str]) -> list[Any]:
    """Return the navigation: a tab for each section that lists pages, with the `generated` pages of its folder."""
    nav: list[Any] = [{"Home": overview.name}]
    for title, text in SECTION.findall(overview.read_text(encoding="utf-8")):
        lines = [line for line in text.splitlines() if line.startswith("- ")]
        entries = [{name[0].upper() + name[1:]: _page(path)} for line in lines for name, path in ENTRY.findall(line)]
        if entries:
            nav.append({title: entries + [path for path in generated if path.startswith(f"{title.lower()}/")]})
    return nav


def _page(path: str) -> str:
    return links.project_page(path.removeprefix("../")) if path.startswith("../") else path
