"""The sliders of re-ranking: what they request, in links and for models without dates."""

import json
from collections.abc import Callable
from typing import Any

from serving.page.screen import Screen

SLIDE = "(slider, value) => { slider.value = value; slider.dispatchEvent(new Event('input')); }"
NAMES = ("diversity", "popularity", "freshness")


def move(screen: Screen, name: str, value: int) -> dict[str, Any]:
    """Move a slider and return the next request of the first model."""
    with screen.page.expect_request("**/v1/continue") as sent:
        screen.page.locator(f"#{name}").evaluate(SLIDE, value)
    screen.settle()
    return dict(json.loads(sent.value.post_data))


def shown(screen: Screen, name: str) -> str:
    return str(screen.page.inner_text(f"[data-part={name}-value]"))


def test_sliders_change_the_continuation_and_are_undone(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment="#i=i0&i=i16")
    plain = screen.answer()
    request = move(screen, "diversity", 70)
    assert request["diversity"] == 0.7 and "popularity" not in request
    request = move(screen, "popularity", -60)
    assert (request["diversity"], request["popularity"]) == (0.7, -0.6)
    assert (shown(screen, "diversity"), shown(screen, "popularity")) == ("70%", "60% niche")
    assert "diversity 70% · popularity 60% niche" in str(screen.page.text_content("[data-part=summary]"))
    assert screen.answer() != plain and len(set(screen.answer())) == len(plain)
    for _ in range(2):
        screen.page.click("#undo")
    screen.settle()
    assert screen.answer() == plain and shown(screen, "diversity") == "off"


def test_link_restores_valid_controls_only(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment="#i=i0&diversity=30&popularity=-500&freshness=soon")
    assert [shown(screen, name) for name in NAMES] == ["30%", "100% niche", "off"]
    screen.page.wait_for_function("() => location.hash.includes('popularity=-100')")
    assert "diversity=30" in screen.page.url and "freshness" not in screen.page.url


def test_freshness_is_only_offered_for_items_with_dates(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment="#i=i0&freshness=50")
    assert screen.page.is_visible("#freshness") and shown(screen, "freshness") == "50%"

    def without_dates(route: Any) -> None:
        answer = route.fetch().json()
        route.fulfill(json=answer | {"models": [model | {"dates": False} for model in answer["models"]]})

    screen.page.route("**/v1/models", without_dates)
    screen.page.goto("about:blank")
    with screen.page.expect_request("**/v1/continue") as sent:
        screen.goto("#i=i0&freshness=50")
    assert not screen.page.is_visible("#freshness") and "freshness" not in json.loads(sent.value.post_data)
