"""axe-core finds no violation in any state of the page."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from serving.page.axe import violations
from serving.page.screen import Screen

LOOKS: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1280, "height": 900}},
    "phone": {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True},
}


def states(screen: Screen) -> Iterator[str]:
    """Bring the page into each of its states, and yield the name of each."""
    page = screen.page
    yield "empty"
    page.evaluate("hash => { location.hash = hash; }", "#i=i0&i=gone&i=i16&block=i3&per=1")
    page.wait_for_selector("#list .unknown")
    screen.settle()
    yield "list"
    page.fill("#search", "amber")
    page.wait_for_selector("#options [role=option]")
    yield "search"
    page.fill("#search", "")
    page.click("#open-paste")
    page.fill("#paste-text", "amber lantern\namber\nnothing like it")
    page.click("#paste-form button")
    page.wait_for_selector("#pasted select")
    yield "paste"
    for dialog in ("#saved", "#share", "#help", "#key"):
        page.evaluate("document.querySelector('dialog[open]').close()")
        page.evaluate("id => document.querySelector(id).showModal()", dialog)
        yield dialog
    page.keyboard.press("Escape")
    screen.explain(1)
    yield "why"
    page.keyboard.press("Escape")
    page.evaluate("hash => { location.hash = hash; }", "#i=gone&k=3")
    page.wait_for_selector(".message:has-text('most popular')")
    yield "only popular items"
    page.route("**/v1/continue", lambda route: route.abort())
    page.locator("[data-part=k]").evaluate("k => { k.value = 4; k.dispatchEvent(new Event('input')); }")
    page.wait_for_selector("#banner:visible")
    yield "the service does not answer"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_no_violation(open_page: Callable[..., Screen], look: str, scheme: str) -> None:
    screen = open_page(expected=("Failed to load resource",), color_scheme=scheme, **LOOKS[look])
    assert {state: found for state in states(screen) if (found := violations(screen.page))} == {}


def test_axe_finds_violations_where_there_are_some(screen: Screen) -> None:
    screen.page.evaluate("document.querySelector('#open-paste').removeAttribute('aria-label')")
    screen.page.evaluate("document.querySelector('#open-paste').removeAttribute('title')")
    screen.page.evaluate("document.querySelector('#mine-heading').style.color = '#ccc'")
    assert {found.partition(":")[0] for found in violations(screen.page)} == {"button-name", "color-contrast"}
