""" "Why?" on a suggestion: which items of the list, which lists, which parts of the model."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Route

from serving.page.screen import Screen


def test_why_names_items_of_the_list_and_parts(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment="#i=i15&i=i16")
    page = screen.page
    assert not screen.column(0).locator(".why:visible").count()  # that model cannot explain
    screen.explain(1)
    assert (
        page.inner_text("#why-heading")
        == f"Why {screen.column(1).locator('.why').first.get_attribute('aria-label')[4:]}"
    )
    assert set(page.locator("#why-because .why-text").all_text_contents()) <= set(screen.titles())
    assert page.locator("#why-because li").count() > 0
    assert page.inner_text("#why-parts .why-text") == "items that often go together"
    assert page.inner_text("#why-parts .why-share") == "100%"
    assert not page.is_visible("#why-lists-section") and page.inner_text("#why-note") == ""
    page.keyboard.press("Escape")
    assert not page.is_visible("#why")
    assert page.evaluate("document.activeElement.classList.contains('why')")  # the focus returns to the button


@pytest.mark.parametrize(
    ("part", "name", "note"),
    [
        ("popularity", "how many lists have it", "No item of your list speaks for it: many people like it."),
        ("none", "nothing: its score is 0", "No item of your list speaks for it."),
    ],
)
def test_why_says_where_a_score_without_reasons_comes_from(
    open_page: Callable[..., Screen], part: str, name: str, note: str
) -> None:
    screen = open_page(fragment="#i=i15")
    page = screen.page

    def without_reasons(route: Route) -> None:
        answer = route.fetch().json()
        for position in answer["answers"][0]["positions"]:
            position["explanation"] = {"parts": {"linear": 0, part: 1}, "because": [], "lists": []}
        route.fulfill(json=answer)

    page.route("**/v1/continue", without_reasons)
    screen.explain(1)
    assert page.locator("#why-parts .why-text").all_inner_texts() == ["items that often go together", name]
    assert page.locator("#why-parts .why-share").all_inner_texts() == ["0%", "100%"]
    assert page.inner_text("#why-note") == note


def test_why_tells_what_went_wrong(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment="#i=i15", expected=("Failed to load resource",))
    page = screen.page
    page.route("**/v1/continue", lambda route: route.abort())
    screen.column(1).locator(".why").first.click()
    page.wait_for_selector("#why-note:has-text('The service does not answer.')")


def test_suggestions_for_an_empty_list_have_no_reasons(screen: Screen) -> None:
    assert not screen.column(1).locator(".why:visible").count()
