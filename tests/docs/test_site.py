"""The documentation site in Chromium, opened from its folder, so nothing can come from elsewhere."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Browser, Page

import fansrec
from docs.test_documents import options_by_verb
from fansrec.serving.http import routes
from serving.page.axe import violations
from serving.service import DEADLINE_S

WAIT_MS = 1000 * DEADLINE_S
DIAGRAM = "explanation/engine.html"
KINDS = {  # axe-core takes seconds for a page, so each kind of page is checked in one mode only
    ("light", 1280): ("index.html", "reference/python-api.html"),
    ("dark", 390): ("how-to/update-a-model.html", DIAGRAM),
}
FINISHED = """() => !document.querySelector("pre.mermaid") &&
  document.querySelectorAll(".md-code__nav").length >= document.querySelectorAll("pre > code").length"""
LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=\"?(https?:[^\s\">]*)")


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[[str, int], Page]]:
    """Return a function that opens an empty page in a color scheme and a width."""
    contexts = []

    def opened(scheme: Any, width: int) -> Page:
        contexts.append(browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800}))
        contexts[-1].set_default_timeout(WAIT_MS)
        return contexts[-1].new_page()

    yield opened
    for context in contexts:
        context.close()


def show(page: Page, site: Path, name: str) -> None:
    """Open a page and wait until its scripts have finished what changes it."""
    page.goto((site / name).as_uri())
    page.wait_for_function(FINISHED)


def test_pages_name_no_file_of_another_host(site: Path) -> None:
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert len(pages) > 80
    assert not {path.name: found for path, text in pages.items() if (found := LOADED.findall(text))}


@pytest.mark.parametrize(("scheme", "width"), KINDS, ids=["light", "dark phone"])
def test_pages_work_offline_on_a_phone_and_with_a_screen_reader(
    site: Path, open_page: Callable[[str, int], Page], scheme: str, width: int
) -> None:
    requested: list[str] = []
    faults: list[str] = []
    page = open_page(scheme, width)
    page.on("request", lambda request: requested.append(request.url))
    for name in KINDS[scheme, width]:
        show(page, site, name)
        faults += [f"{name}: {one}" for one in violations(page)]
        if not page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
            faults.append(f"{name}: scrolls sideways")
    assert not faults
    assert {url.partition(":")[0] for url in requested} <= {"file", "data", "blob"}


def test_diagrams_are_drawn_and_search_finds_pages_without_a_server(
    site: Path, open_page: Callable[[str, int], Page]
) -> None:
    page = open_page("light", 390)
    show(page, site, DIAGRAM)
    box = page.locator("div.mermaid").bounding_box()
    assert box is not None and box["height"] > 100
    page.evaluate("document.querySelector('#__search').click()")  # opens the search, which is hidden on a phone
    page.locator(".md-search__input").press_sequentially("weights mapped")
    page.locator("a.md-search-result__link[href*='0018-memory-mapped-weights']").first.wait_for()


def test_notebooks_can_be_downloaded_from_their_pages(site: Path) -> None:
    for name in ("playlists", "recipes", "research"):
        notebook = nbformat.read(site / f"tutorials/{name}.ipynb", as_version=4)
        nbformat.validate(notebook)
        assert "import fansrec" in next(cell.source for cell in notebook.cells if cell.cell_type == "code")
        assert f'href="{name}.ipynb"' in (site / f"tutorials/{name}.html").read_text(encoding="utf-8")


def test_generated_pages_have_every_option_route_and_public_name(site: Path) -> None:
    text = {
        name: (site / f"reference/{name}.html").read_text(encoding="utf-8")
        for name in ("command-line", "http-api", "python-api")
    }
    options = {one for names in options_by_verb().values() for one in names if one[0] == "-"} - {"--help"}
    assert not [option for option in options if f"<code>{option}</code>" not in text["command-line"]]
    paths = {one.path for one in vars(routes).values() if isinstance(one, routes.Route) and one.path.startswith("/v1/")}
    assert paths and not [path for path in paths if path not in text["http-api"]]
    assert not [name for name in fansrec.__all__ if name[0] != "_" and f'id="fansrec.{name}"' not in text["python-api"]]
