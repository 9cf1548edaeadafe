"""Links opened in an open page, in every order of timers, events and answers."""

import json
from collections.abc import Callable
from typing import Any

from serving.page.screen import Screen

# While `holding`, timers wait until the test runs them, so that nothing depends on their order.
HELD_TIMERS = """() => {
  const [start, stop] = [window.setTimeout, window.clearTimeout];
  const held = new Map();
  let last = 1e9; // not a number that the browser gives to a timer
  window.holding = false;
  window.setTimeout = (run, ...rest) => {
    if (!window.holding) return start(run, ...rest);
    held.set(++last, run);
    return last;
  };
  window.clearTimeout = (timer) => { if (!held.delete(timer)) stop(timer); };
  window.runHeld = () => {
    window.holding = false;
    for (const [timer, run] of [...held]) { held.delete(timer); run(); }
  };
}"""
# All in one task of the browser: the hashchange event can only fire after it.
CHANGE_AND_FOLLOW = """(hash) => {
  window.holding = true;
  document.getElementById("clear").click();
  location.hash = hash;
  window.runHeld();
}"""


def wait_for_titles(screen: Screen, *titles: str) -> None:
    shown = "[...document.querySelectorAll('#list .title')].map((one) => one.textContent)"
    screen.page.wait_for_function(
        f"(titles) => JSON.stringify({shown}) === titles", arg=json.dumps(titles, separators=(",", ":"))
    )
    screen.settle()


def items_in_address(screen: Screen) -> list[str]:
    return list(screen.page.evaluate("new URLSearchParams(location.hash.slice(1)).getAll('i')"))


class HeldItems:
    """Holds the page's requests for items by id until they are released."""

    def __init__(self, screen: Screen) -> None:
        self.page = screen.page
        self.held: list[Any] = []
        self.page.route("**/v1/items?id=*", lambda route: self.held.append(route))

    def wait_for(self, count: int) -> None:
        while len(self.held) < count:
            self.page.wait_for_timeout(10)  # lets the driver report the requests of the page

    def release(self, number: int) -> None:
        """Answer one of the requests and wait until the page has the answer."""
        route = self.held[number]
        with self.page.expect_request_finished(lambda request: request == route.request):
            route.continue_()
        self.page.evaluate("fetch('/health/live').then((answer) => answer.text())")  # arrives after that answer


def test_link_opened_before_a_change_is_written_to_the_address_is_followed(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment=None)
    screen.page.add_init_script(f"({HELD_TIMERS})()")
    screen.goto("#i=i0")
    screen.page.evaluate(CHANGE_AND_FOLLOW, "#i=i1&i=i2")
    wait_for_titles(screen, "Amber Ferry", "Amber Garden")
    assert items_in_address(screen) == ["i1", "i2"]


def test_skip_link_does_not_prevent_address_updates(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment=None)
    screen.page.add_init_script(f"({HELD_TIMERS})()")
    screen.goto("#i=i0&block=i3")
    screen.page.evaluate(CHANGE_AND_FOLLOW, "#search")
    screen.page.wait_for_function("() => location.hash.startsWith('#block=i3')")
    assert screen.titles() == []


def test_later_of_two_links_is_shown_even_if_answered_first(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment="#i=i0")
    items = HeldItems(screen)
    for count, item in enumerate(("i1", "i2"), 1):
        screen.page.evaluate("hash => { location.hash = hash; }", f"#i={item}")
        items.wait_for(count)
    items.release(1)
    wait_for_titles(screen, "Amber Garden")
    items.release(0)
    assert screen.titles() == ["Amber Garden"] and items_in_address(screen) == ["i2"]


def test_link_opened_while_the_page_starts_replaces_the_first_one(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment=None)
    items = HeldItems(screen)
    screen.goto("#i=i1", ready=False)
    items.wait_for(1)
    screen.page.evaluate("location.hash = '#i=i2'")
    items.wait_for(2)
    items.release(1)
    wait_for_titles(screen, "Amber Garden")
    items.release(0)
    assert screen.titles() == ["Amber Garden"]
    screen.page.wait_for_function("() => location.hash.includes('i=i2')")


def test_undo_returns_from_a_link_to_the_list_before_it(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment="#i=i0")
    screen.page.evaluate("location.hash = '#i=i1'")
    wait_for_titles(screen, "Amber Ferry")
    screen.page.click("#undo")
    assert screen.titles() == ["Amber Lantern"]
