"""The notebooks of the tutorials as files that Jupyter opens, which their pages link to."""

from pathlib import Path

import jupytext

ROOT = Path(__file__).parents[2]


def files() -> dict[str, str]:
    """Return the notebooks, without outputs, by their path in the site."""
    sources = sorted(ROOT.glob("docs/tutorials/*.py"))
    return {f"tutorials/{path.stem}.ipynb": jupytext.writes(jupytext.read(path), "ipynb") for path in sources}


def with_download(markdown: str, page: str) -> str:
    """Return the text of a page with a link to its notebook, if it has one, beside the link to its source."""
    name = Path(page).stem
    source = f"[{name}.py]({name}.py)"
    return markdown.replace(source, f"{source} ([{name}.ipynb]({name}.ipynb))", 1)
