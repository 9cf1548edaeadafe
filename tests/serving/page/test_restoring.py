"""Links, files and the storage may contain anything: the page restores what the service can answer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from serving.page.screen import Screen

FAILED_LOAD = "Failed to load resource"  # the browser's message for any status of 400 and above
AMBER = {"item": "i0", "name": "Amber Lantern - Artist 0", "group": "Artist 0", "category": "Amber songs"}


def limited(screen: Screen, **limits: int) -> None:
    """Let the page believe that the service has these limits."""

    def tell(route: Any) -> None:
        models = route.fetch().json()
        route.fulfill(json=models | {"limits": models["limits"] | limits})

    screen.page.route("**/v1/models", tell)


def asked(screen: Screen, fragment: str) -> dict[str, Any]:
    """Return the first request of the page when a link is opened in a new tab."""
    screen.page.goto("about:blank")
    with screen.page.expect_request("**/v1/continue") as first:
        screen.goto(fragment)
    return dict(json.loads(first.value.post_data))


def test_link_cannot_request_more_items_than_allowed(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment=None)
    for given, k in {"300000": 500, "999999999": 500, "-4": 1, "0": 10, "many": 10}.items():
        assert asked(screen, f"#i=i0&k={given}")["k"] == k
        assert screen.page.inner_text("[data-part=k-value]") == str(k)


def test_link_cannot_set_an_invalid_number_per_artist(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment=None)
    for given, most in {"-3": 1, "0": None, "x": None, "2": 2, "9" * 30: 500}.items():
        assert asked(screen, f"#i=i0&per={given}")["max_per_group"] == most


def test_link_with_too_many_items_is_truncated_with_a_notice(
    open_page: Callable[..., Screen],
) -> None:
    screen = open_page(fragment=None)
    limited(screen, items=3, rule_items=2)
    fragment = "#" + "&".join([f"i=i{n}" for n in range(6)] + [f"block=i{n}" for n in range(20, 25)])
    question = asked(screen, fragment)
    assert question["lists"] == [["i0", "i1", "i2"]] and question["exclude"] == ["i20", "i21"]
    assert screen.notice() == "6 items more than this service accepts: left out."


def test_very_long_ids_do_not_keep_the_page_from_starting(open_page: Callable[..., Screen]) -> None:
    long = "&".join(f"i={n}{'é' * 900}" for n in range(20))  # 100,000 characters as an address
    screen = open_page(fragment=f"#i=i0&{long}&i={'x' * 100_000}")
    assert [title[0] for title in screen.titles()] == ["A", *(str(n)[0] for n in range(20))]
    notice = screen.notice()
    assert notice.startswith("21 items of this link unknown here: 0éé") and notice.endswith("… and 11 others.")
    assert len(notice) < 1000


def test_default_number_respects_the_limit(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment=None)
    limited(screen, k=4)
    screen.goto()
    assert len(screen.answer()) == 4 and screen.page.inner_text("[data-part=k-value]") == "4"


def test_file_with_invalid_items_is_refused_with_a_message(screen: Screen, tmp_path: Path) -> None:
    faults: list[dict[str, Any]] = [{"name": 5}, {"group": {}}, {"item": 1.5}, {"item": "x" * 1001}, {"category": 3}]
    for number, fault in enumerate(faults):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps({"kind": "fansrec-list", "items": [AMBER | fault]}))
        screen.page.click("#open-saved")
        screen.page.set_input_files("#upload", file)
        screen.page.wait_for_selector("#saved-problem:has-text('not a list saved by this page')")
        screen.page.keyboard.press("Escape")
    assert screen.titles() == []


def test_file_with_too_many_items_is_truncated_with_a_notice(open_page: Callable[..., Screen], tmp_path: Path) -> None:
    screen = open_page(fragment=None)
    limited(screen, items=2)
    screen.goto()
    (tmp_path / "long.json").write_text(json.dumps({"kind": "fansrec-list", "items": [AMBER] * 5}))
    screen.page.click("#open-saved")
    screen.page.set_input_files("#upload", tmp_path / "long.json")
    screen.page.wait_for_selector("#saved", state="hidden")
    assert screen.titles() == ["Amber Lantern"] * 2
    assert screen.notice().startswith("long.json: 2 items. 3 items more than this service accepts")


def test_invalid_entries_of_the_storage_are_ignored(screen: Screen) -> None:
    good = {"text": json.dumps({"kind": "fansrec-list", "items": [AMBER]}), "saved": 1}
    kept = {
        "none": None,
        "number": 3,
        "when": {"text": "x", "saved": "x"},
        "text": {"text": 3, "saved": 1},
        "mine": good,
    }
    screen.page.evaluate("kept => localStorage.setItem('fans-lists', JSON.stringify(kept))", kept)
    screen.page.click("#open-saved")
    assert screen.page.locator("#saved-lists .title").all_text_contents() == ["mine"]
    screen.page.click("#saved-lists button.wide")
    assert screen.titles() == ["Amber Lantern"]


def test_refusal_names_fields_as_on_the_page(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment=None, expected=(FAILED_LOAD,))
    limited(screen, k=1000, items=5000)  # more than the service really accepts
    screen.goto(f"#k=600&{'&'.join(['i=i0'] * 2001)}", ready=False)
    message = screen.column().locator(".message")
    message.filter(has_text="does not accept this").wait_for()
    words = message.inner_text()
    assert "How many: must be at most 500." in words
    assert "Your list: must have at most 2000 items" in words and "openapi" not in words
