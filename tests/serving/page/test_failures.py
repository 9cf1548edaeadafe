"""Failures: the page reports them, waits, and recovers."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from serving.page.page_service import page_service
from serving.page.screen import Screen
from serving.page.songs import CATEGORIES, MARKUP
from serving.service import FANS

FAILED_LOAD = "Failed to load resource"  # the browser's message for any status of 400 and above


def problem(status: int, detail: str, **headers: str) -> dict[str, Any]:
    body = json.dumps({"type": "urn:fansrec:test", "title": "Trouble", "status": status, "detail": detail})
    return {"status": status, "headers": {"Content-Type": "application/problem+json", **headers}, "body": body}


def test_names_with_markup_stay_text_everywhere(screen: Screen) -> None:
    page = screen.page
    assert CATEGORIES[3] in page.inner_text("#rules")
    page.locator("#rules .chip").filter(has_text=CATEGORIES[3]).click()
    page.locator("[data-part=k]").fill("50")
    screen.settle()
    assert set(MARKUP.values()) <= set(screen.answer(1))
    screen.add("onerror")
    screen.add("svg onload")
    assert screen.titles() == [MARKUP[45], MARKUP[49]]
    screen.column(1).locator("li", has_text=MARKUP[46]).locator("[aria-label^=Block]").click()
    screen.settle()
    assert MARKUP[46] in page.inner_text("[data-part=blocked-items]")
    screen.reload()  # through the link now
    assert screen.titles() == [MARKUP[45], MARKUP[49]]
    assert page.locator("main img, main script, main b, main [onclick], main [onmouseover], main [onload]").count() == 0


def test_outdated_answer_is_dropped(screen: Screen) -> None:
    held: list[Any] = []

    def hold_the_first(route: Any) -> None:
        held.append(route) if not held else route.continue_()

    screen.column(1).locator("select").select_option("")
    screen.add("amber lan")
    expected = screen.answer()
    screen.page.click("#clear")
    screen.settle()
    screen.page.route("**/v1/continue", hold_the_first)
    screen.page.fill("#search", "birch lan")
    screen.page.wait_for_selector("#options [role=option]")
    with screen.page.expect_request("**/v1/continue"):
        screen.page.press("#search", "Enter")
    screen.page.click("#clear")
    screen.add("amber lan")
    late = {"positions": [], "unknown": [], "reason": "too late"}
    answer = {"model": {"name": "fans", "hash": "0" * 64}, "milliseconds": 1, "answers": [late]}
    held[0].fulfill(status=200, content_type="application/json", body=json.dumps(answer))
    screen.page.evaluate("fetch('/health/live').then((answer) => answer.text())")  # arrives after the late answer
    assert screen.answer() == expected and not screen.column().locator(".message").is_visible()


def test_overloaded_service_is_retried_after_retry_after(open_page: Callable[..., Screen]) -> None:
    screen = open_page(expected=(FAILED_LOAD,))
    busy = [True]

    def refuse(route: Any) -> None:
        if busy:
            route.fulfill(**problem(429, "Too many requests wait already.", **{"Retry-After": "1"}))
        else:
            route.continue_()

    screen.page.route("**/v1/continue", refuse)
    screen.page.locator("[data-part=k]").fill("4")
    message = screen.column().locator(".message")
    message.wait_for()
    assert message.inner_text().startswith("Too many requests wait already. Trying again in 1 s.")
    assert len(screen.answer()) == 10  # the last answer stays meanwhile
    busy.clear()
    screen.page.wait_for_function("() => document.querySelectorAll('.column .accept').length === 8")
    assert not message.is_visible()


def test_search_waits_for_the_index(open_page: Callable[..., Screen]) -> None:
    screen = open_page(expected=(FAILED_LOAD,))
    built: list[bool] = []

    def build(route: Any) -> None:
        if built:
            route.continue_()
        else:
            route.fulfill(**problem(503, "The search index is being built.", **{"Retry-After": "1"}))

    screen.page.route("**/v1/items?*", build)
    screen.page.fill("#search", "amber lan")
    screen.page.wait_for_selector("#search-note:has-text('The search index is being built. Trying again in 1 s.')")
    built.append(True)
    screen.page.wait_for_selector("#options [role=option]")
    assert not screen.page.is_visible("#search-note")


def test_unknown_items_of_a_file_are_listed(open_page: Callable[..., Screen], tmp_path: Path) -> None:
    screen = open_page(expected=(FAILED_LOAD,))
    items = [{"item": item, "name": None, "group": None, "category": "Amber songs"} for item in ("i1", "nobody")]

    def open_file(chosen: list[dict[str, Any]]) -> None:
        (tmp_path / "list.json").write_text(json.dumps({"kind": "fansrec-list", "items": chosen, "blocked": []}))
        screen.page.click("#open-saved")
        screen.page.set_input_files("#upload", tmp_path / "list.json")
        screen.page.wait_for_selector("#saved", state="hidden")

    message = screen.column().locator(".message")
    open_file(items)
    message.filter(has_text="Unknown to this model and skipped: nobody").wait_for()
    open_file(items[1:])
    message.filter(has_text="No item of the list is known to this model; these are its most popular items.").wait_for()
    assert len(screen.answer()) == len(screen.answer(1)) == 10
    widths = (
        screen.column().locator(".bar > span").evaluate_all("bars => bars.map((bar) => parseFloat(bar.style.width))")
    )
    assert widths[0] == 100 and widths == sorted(widths, reverse=True) and widths[-1] > 0


def test_page_asks_for_a_key_and_reconnects_to_a_lost_service(
    runs: list[str], tmp_path: Path, open_page: Callable[..., Screen]
) -> None:
    keys = tmp_path / "keys"
    made = subprocess.run([FANS, "keys", "add", keys, "page"], capture_output=True, text=True, check=True)
    key = made.stdout.strip()
    with page_service(runs, tmp_path, "--keys", keys) as service:
        screen = open_page(service.url, expected=(FAILED_LOAD, "ERR_CONNECTION_REFUSED"), ready=False)
        page = screen.page
        page.wait_for_selector("#key[open]")
        assert not page.is_visible("#key-refused")
        assert "Bearer" not in page.inner_text("body") and "`" not in page.inner_text("body")
        page.keyboard.press("Escape")  # the page says what it waits for, and the dialog can be opened again
        assert "This service needs a key." in page.inner_text("#banner")
        page.click("#banner-retry")
        assert page.evaluate("document.activeElement.id") == "key-field"
        page.fill("#key-field", "wrong")
        page.press("#key-field", "Enter")
        page.wait_for_selector("#key-refused")
        page.fill("#key-field", key)
        page.press("#key-field", "Enter")
        screen.settle()
        assert key not in page.url and page.evaluate("Object.keys(localStorage).length") == 0

    page.locator("[data-part=k]").fill("4")
    page.wait_for_selector("#banner:has-text('The service does not answer. Trying again in')")
    assert len(screen.answer()) == 10
    with page_service(runs, tmp_path, "--keys", keys, "--port", urlsplit(service.url).port):
        page.evaluate(
            "document.getElementById('banner-retry').click()"
        )  # it may also disappear by itself at this moment
        page.wait_for_function("() => document.querySelectorAll('.column .accept').length === 8")
        assert not page.is_visible("#banner")
