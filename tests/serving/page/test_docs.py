"""The page of the API at /docs, in Chromium: it shows /openapi.json and sends requests, without another host."""

from collections.abc import Callable
from typing import Any

import pytest

from serving.page.screen import Screen
from serving.service import Running


@pytest.fixture
def docs(open_page: Callable[..., Screen]) -> Any:
    screen = open_page(fragment=None, expected=("status of 404",))
    screen.page.goto(f"{screen.address}/docs")
    return screen.page


def operation(docs: Any, path: str) -> Any:
    """Return the opened card of an operation."""
    card = docs.locator("#operations details").filter(has=docs.locator(f"summary code:text-is('{path}')"))
    card.locator("summary").click()
    card.get_by_role("button", name="Send").wait_for()  # its contents are written when it opens
    return card


def test_all_operations_and_schemas_are_listed(docs: Any, service: Running) -> None:
    api = service.http.get("/openapi.json").json()
    docs.locator("#schemas details").first.wait_for()
    paths = [path for path, methods in api["paths"].items() for _ in methods]
    assert docs.locator("#operations summary code").all_inner_texts() == paths
    assert docs.locator("#schemas summary").count() == len(api["components"]["schemas"])


def test_request_with_a_body_is_sent_and_its_answer_shown(docs: Any) -> None:
    card = operation(docs, "/v1/continue")
    assert "whether items of the list may be returned again" in card.inner_text().lower()
    card.get_by_label("Body").fill('{"lists": [["i1"]], "k": 2}')
    card.get_by_role("button", name="Send").click()
    answer = card.get_by_role("region", name="Body of the answer")
    answer.wait_for()
    assert "200 OK" in card.inner_text() and answer.inner_text().count('"score"') == 2


def test_example_has_items_of_this_service(docs: Any) -> None:
    card = operation(docs, "/v1/continue")
    docs.wait_for_function("() => document.querySelector('textarea[rows=\"12\"]').value.includes('\"i')")
    card.get_by_role("button", name="Send").click()
    card.get_by_text("200 OK").wait_for()


def test_parameters_go_into_path_and_query(docs: Any) -> None:
    card = operation(docs, "/v1/items/{id}/similar")
    card.get_by_label("id").fill("a/b")
    card.get_by_label("k", exact=True).fill("3")
    card.get_by_role("button", name="Send").click()
    card.locator(".refused").wait_for()
    text = card.inner_text()
    assert "GET /v1/items/a%2Fb/similar?k=3" in text and "404 Not Found" in text and "not known" in text


def test_link_opens_its_operation(docs: Any, service: Running) -> None:
    docs.goto(f"{service.url}/docs#get-v1-models")
    docs.reload()
    card = docs.locator("details[open]")
    card.wait_for()
    assert "/v1/models" in card.inner_text()


def test_link_that_is_not_encoded_text_opens_nothing(docs: Any, service: Running) -> None:
    """The fixture fails at an exception of the page."""
    for address in ("/docs#%E0%A4%A", "/docs/#%E0%A4%A"):
        docs.goto(service.url + address)
        docs.reload()
        docs.locator("#operations details").first.wait_for()
        assert docs.locator("#problem").inner_text() == "" and docs.locator("details[open]").count() == 0


@pytest.mark.parametrize("id_", [".", ".."])
def test_id_that_would_change_the_path_is_not_sent(docs: Any, id_: str) -> None:
    card = operation(docs, "/v1/items/{id}/similar")
    card.get_by_label("id").fill(id_)
    card.get_by_role("button", name="Send").click()
    card.locator(".refused").wait_for()
    assert f"browsers cannot send “{id_}” as id" in card.inner_text()


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_screen(docs: Any, width: int) -> None:
    docs.set_viewport_size({"width": width, "height": 800})
    operation(docs, "/v1/continue").get_by_role("button", name="Send").wait_for()
    assert docs.evaluate("document.documentElement.scrollWidth") <= width
