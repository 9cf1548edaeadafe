"""Hooks of mkdocs: the navigation, pages that are generated from the code, and links that leave docs/."""

import re
import sys
from pathlib import Path
from typing import Any

import http_api
import links
import navigation
import notebooks
import python_api
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).parents[2]
PACKAGES = Path(sys.prefix) / "node_modules"  # `make programs` fetches them
ASSETS = {
    "assets/mermaid.min.js": PACKAGES / "mermaid/dist/mermaid.min.js",
    "assets/iframe-worker.js": PACKAGES / "iframe-worker/shim/index.js",  # the search, in pages opened from a folder
    "assets/site.css": ROOT / "tools/site/site.css",
    "assets/site.js": ROOT / "tools/site/site.js",
    "assets/favicon.svg": ROOT / "src/fansrec/serving/page/favicon.svg",
}
GENERATED = {
    "reference/python-api.md": python_api.page,
    "reference/http-api.md": http_api.page,
}


def on_config(config: Any) -> None:
    """Set the navigation."""
    config.nav = navigation.from_overview(ROOT / "docs/README.md", [*GENERATED])


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages, the notebooks, the documents at the top of the repository, and scripts and styles."""
    for path, page in GENERATED.items():
        files.append(File.generated(config, path, content=page()))
    for path, notebook in notebooks.files().items():
        files.append(File.generated(config, path, content=notebook))
    for name in links.PROJECT:
        content = links.relative_to_site(ROOT / name)
        page = links.project_page(name)
        files.append(File.generated(config, page, content=content, inclusion=InclusionLevel.NOT_IN_NAV))  # or in it
    for path, source in ASSETS.items():
        if not source.is_file():
            raise PluginError(f"{source} is missing; fetch it with: make programs (needs npm)")
        files.append(File.generated(config, path, abs_src_path=str(source)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the text of a page with links that leave docs/ changed to pages of the site or of the repository."""
    if page.file.generated_by:
        return markdown
    return links.outward(notebooks.with_download(markdown, page.file.src_uri), page.file.src_uri)


def on_page_content(html: str, **_: Any) -> str:
    """Return the content of a page with tables as the repository host shows them, without empty heads of columns."""
    html = re.sub(r"<th([^>]*)></th>", r"<td\1></td>", html)  # screen readers expect text in heads
    return re.sub(r"<table>.*?</table>", lambda table: table[0].replace("\\|", "|"), html, flags=re.DOTALL)


def on_post_page(output: str, **_: Any) -> str:
    """Return the whole page with a name for the search dialog, which the theme leaves without one."""
    return output.replace('role="dialog"', 'role="dialog" aria-label="Search"', 1)
