"""The page on a phone: one scrolling page, models as tabs, controls for fingers, dragging by touch."""

from collections.abc import Callable
from typing import Any

import pytest

from serving.page.screen import Screen

PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
MIN_TARGET = 44  # pixels

# Controls that can be tapped and their sizes; of a field in a label, the label is what is tapped.
TARGETS = """() => [...document.querySelectorAll("button, select, summary, input, textarea, .button, label.field")]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest(".visually-hidden"))
  .map((one) => [one.closest("label.field") ?? one, one])
  .map(([tapped, one]) => [one.ariaLabel ?? one.id ?? one.textContent, tapped.getBoundingClientRect(), one])
  .map(([name, { width, height }, one]) => [`${one.tagName} ${name || one.className}`, width, height])"""
SCROLLING = """() => [...document.querySelectorAll("body *")]
  .filter((one) => one.checkVisibility() && one.scrollHeight > one.clientHeight + 1)
  .filter((one) => ["auto", "scroll"].includes(getComputedStyle(one).overflowY))
  .map((one) => one.id || one.className)"""
CUT_OFF = """() => [...document.querySelectorAll("#list .title, #list .sub *, .column .title, .column .sub *")]
  .filter((one) => one.checkVisibility() && getComputedStyle(one).overflow !== "visible"
    && (one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1))
  .map((one) => one.textContent)"""


@pytest.fixture
def phone(open_page: Callable[..., Screen]) -> Callable[[str], Screen]:
    return lambda fragment: open_page(fragment=fragment, **PHONE)


class Finger:
    """A finger on the handle of a row."""

    def __init__(self, screen: Screen, title: str) -> None:
        self._session = screen.page.context.new_cdp_session(screen.page)
        box: Any = screen.page.locator("#list li", has_text=title).locator(".handle").bounding_box()
        self.x, self.y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self._send("touchStart")

    def _send(self, kind: str) -> None:
        points = [] if kind == "touchEnd" else [{"x": self.x, "y": self.y}]
        self._session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def move_to(self, y: float, steps: int = 8) -> None:
        start = self.y
        for step in range(1, steps + 1):
            self.y = start + (y - start) * step / steps
            self._send("touchMove")

    def lift(self) -> None:
        self._send("touchEnd")


def wait_until_last(screen: Screen, title: str) -> None:
    last = "document.querySelector('#list li:last-child .title').textContent"
    screen.page.wait_for_function(f"(title) => {last} === title", arg=title)


def test_page_scrolls_as_one_and_names_wrap(phone: Callable[[str], Screen]) -> None:
    screen = phone("#" + "&".join(f"i=i{n}" for n in range(30)) + "&i=" + "unbroken" * 12)
    for opened in (None, "#rules summary", "[role=tab] >> nth=1"):
        if opened:
            screen.page.tap(opened)
        assert screen.page.evaluate("document.documentElement.scrollWidth") == 360
        assert screen.page.evaluate(SCROLLING) == [] and screen.page.evaluate(CUT_OFF) == []


def test_every_control_is_large_enough_for_a_finger(phone: Callable[[str], Screen]) -> None:
    screen = phone("#i=i0&i=i1&block=i3")
    page = screen.page

    def small() -> list[str]:
        found = page.evaluate(TARGETS)
        assert len(found) > 5
        return [f"{name} {w:.0f}x{h:.0f}" for name, w, h in found if min(w, h) < MIN_TARGET - 0.01]

    page.tap("#rules summary")
    assert small() == []
    page.tap("[aria-label^=Remove]")  # shows a notice with a button
    assert small() == []
    page.tap("#clear")
    screen.settle()
    assert small() == []
    page.tap("#open-paste")
    page.fill("#paste-text", "amber lantern\namber")
    page.tap("#paste-form button")
    page.wait_for_selector("#pasted select")
    assert small() == []
    for dialog in ("#saved", "#share", "#help", "#key"):
        page.evaluate(
            "id => { document.querySelector('dialog[open]').close(); document.querySelector(id).showModal(); }", dialog
        )
        assert small() == []


def test_models_are_tabs(phone: Callable[[str], Screen]) -> None:
    screen = phone("#i=i0&i=i1")
    page = screen.page
    tabs = page.locator("[role=tab]")
    assert tabs.all_text_contents() == ["fans", "ease"]
    for shown, press in ((0, None), (1, lambda: tabs.nth(1).tap()), (0, lambda: page.keyboard.press("ArrowLeft"))):
        if press:
            press()
        assert [tab.get_attribute("aria-selected") for tab in tabs.all()] == [str(n == shown).lower() for n in (0, 1)]
        assert [screen.column(n).is_visible() for n in (0, 1)] == [n == shown for n in (0, 1)]
    first = screen.answer()[0]
    screen.column().locator(".accept").first.tap()
    screen.settle()
    assert screen.titles()[-1] == first
    page.set_viewport_size({"width": 1280, "height": 900})
    page.wait_for_function("() => !document.querySelector('[role=tablist]').checkVisibility()")
    assert screen.column(0).is_visible() and screen.column(1).is_visible()
    assert screen.column(1).get_attribute("role") is None


def test_finger_drags_a_row_and_scrolls_elsewhere(phone: Callable[[str], Screen]) -> None:
    screen = phone("#i=i0&i=i1&i=i2")
    last: Any = screen.page.locator("#list li").last.bounding_box()
    finger = Finger(screen, "Amber Lantern")
    finger.move_to(last["y"] + last["height"] / 2)
    finger.lift()
    wait_until_last(screen, "Amber Lantern")
    assert screen.titles() == ["Amber Ferry", "Amber Garden", "Amber Lantern"]
    assert screen.page.evaluate("getComputedStyle(document.querySelector('#list .title')).touchAction") == "auto"


def test_row_dragged_to_the_edge_of_the_screen_scrolls_the_page(phone: Callable[[str], Screen]) -> None:
    screen = phone("#" + "&".join(f"i=i{n}" for n in range(25)))
    finger = Finger(screen, "Amber Lantern")
    finger.move_to(735)
    screen.page.wait_for_function(
        "() => document.getElementById('list').getBoundingClientRect().bottom <= innerHeight"
    )  # as far as the list goes, and no further
    finger.lift()
    wait_until_last(screen, "Amber Lantern")
    assert len(screen.titles()) == 25
