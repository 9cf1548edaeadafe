"""From an empty list to an exported one."""

import json
import math
from collections.abc import Callable
from pathlib import Path

from serving.page.screen import Screen


def test_list_is_searched_built_continued_and_exported(
    screen: Screen, open_page: Callable[..., Screen], tmp_path: Path
) -> None:
    page = screen.page
    assert page.inner_text("#next-heading") == "Start with one of these"
    assert page.is_visible("#empty") and len(screen.answer()) == 10
    assert page.locator("#columns li").count() == 20  # the placeholders are gone

    for name in ("amber lan", "amber fer", "amber gar"):
        screen.add(name)
    assert screen.titles() == ["Amber Lantern", "Amber Ferry", "Amber Garden"]
    assert page.inner_text("#next-heading") == "What comes next" and not page.is_visible("#empty")
    assert not set(screen.titles()) & set(screen.answer())
    assert screen.column().locator(".number").first.inner_text() == "4"  # the continuation continues the numbering

    screen.drag("Amber Lantern", onto="Amber Garden")
    assert screen.titles() == ["Amber Ferry", "Amber Garden", "Amber Lantern"]
    page.click("[aria-label^='Remove Amber Garden']")
    assert screen.titles() == ["Amber Ferry", "Amber Lantern"]
    page.click("#undo")
    assert screen.titles() == ["Amber Ferry", "Amber Garden", "Amber Lantern"]
    screen.settle()

    first = screen.answer()[0]
    screen.column().locator(".accept").first.click()
    assert screen.titles()[-1] == first
    screen.settle()
    assert first not in screen.answer()
    given = screen.answer(1)
    screen.column(1).get_by_text("Add all 10").click()
    assert screen.titles()[4:] == given
    screen.settle()

    page.click("#open-saved")
    with page.expect_download() as download:
        page.click("#download")
    download.value.save_as(tmp_path / "list.json")
    page.keyboard.press("Escape")
    saved = json.loads((tmp_path / "list.json").read_text())
    assert [item["name"].partition(" - ")[0] for item in saved["items"]] == screen.titles()

    page.click("#open-share")
    page.click("#copy-link")
    page.wait_for_selector("#share", state="hidden")
    link = screen.clipboard()
    other = open_page(fragment=link.removeprefix(f"{screen.address}/"))
    assert other.titles() == screen.titles() and other.answer() == screen.answer()


def test_rules_are_followed_and_shown(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment="#i=i15")
    page = screen.page
    page.click("#rules .chip:has-text('Copper songs')")
    screen.settle()
    assert screen.categories() == screen.categories(1) == {"Copper songs"}
    page.select_option("[data-part=per-group]", "1")
    screen.settle()
    assert len(set(screen.artists())) == len(screen.artists()) == 6  # six artists in all
    assert "6 of 10" in screen.column().locator(".message").inner_text()
    page.click("#rules .chip:has-text('Any')")
    page.select_option("[data-part=per-group]", "")
    page.locator("[data-part=k]").fill("3")
    screen.settle()
    assert len(screen.answer()) == len(screen.answer(1)) == 3


def test_blocked_item_is_not_returned_until_unblocked(screen: Screen) -> None:
    page = screen.page
    first = screen.answer()[0]
    screen.column().locator("[aria-label^=Block]").first.click()
    screen.settle()
    assert first not in screen.answer() + screen.answer(1)
    assert first in page.inner_text("[data-part=blocked-items]")
    page.click("[data-part=blocked-items] button")
    screen.settle()
    assert first in screen.answer() and not page.is_visible("[data-part=blocked]")


def test_repeats_are_returned_only_if_allowed(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment="#i=i0&i=i1&i=i2&k=50")
    assert not set(screen.titles()) & set(screen.answer(1))
    screen.page.check("[data-part=keep-seen]")
    screen.settle()
    assert set(screen.titles()) & set(screen.answer(1))


def test_two_models_are_shown_side_by_side_with_latencies(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment="#i=i0")
    assert [screen.column(n).locator("select").input_value() for n in (0, 1)] == ["fans", "ease"]
    for number in (0, 1):
        facts = screen.column(number).locator(".facts").inner_text()
        assert "ms in the service" in facts and "ms round trip" in facts
    for title, badge in zip(screen.answer(), screen.column().locator(".both").all(), strict=True):
        assert badge.is_visible() == (title in screen.answer(1))
    alone = screen.answer(1)
    screen.column(1).locator("select").select_option("")
    assert screen.page.locator(".column").count() == 1 and not screen.column().locator(".both:visible").count()
    screen.page.click("#add-second")
    screen.settle()
    assert screen.answer(1) == alone
    screen.column(0).locator("select").select_option("ease")  # the name of the other column swaps the two
    screen.settle()
    assert screen.answer(0) == alone and screen.column(1).locator("select").input_value() == "fans"


def test_headings_are_the_served_names_of_models(screen: Screen) -> None:
    assert screen.column().locator("option").all_text_contents() == ["fans", "ease"]
    assert screen.column(1).locator("option").all_text_contents() == ["No second model", "fans", "ease"]
    assert "EASE, by recall" in screen.column(1).locator(".facts").inner_text()


def test_groups_are_called_as_in_the_data(open_page: Callable[..., Screen]) -> None:
    page = open_page(fragment="#i=i15&per=2").page
    assert page.get_attribute("[data-part=per-group]", "aria-label") == "Maximum per singer"
    assert "per singer" in page.inner_text("#rules") and "artist" not in page.inner_text("#rules")
    page.click("#rules summary")
    assert "at most 2 per singer" in page.inner_text("#rules summary")


def test_bars_show_the_share_of_the_best_score(screen: Screen) -> None:
    screen.add("amber lan")
    for number, share in ((0, lambda score, best: math.exp(score - best)), (1, lambda score, best: score / best)):
        with screen.page.expect_response("**/v1/continue") as answered:
            screen.column(number).locator("[data-part=retry]").evaluate("button => button.click()")
        scores = [position["score"] for position in answered.value.json()["answers"][0]["positions"]]
        screen.settle()
        bars = screen.column(number).locator(".bar").all()
        for score, bar in zip(scores, bars, strict=True):
            width = float(bar.locator("span").evaluate("bar => parseFloat(bar.style.width)"))
            assert abs(width - 100 * max(0, share(score, max(scores)))) < 0.01
        assert "100% " in str(bars[scores.index(max(scores))].get_attribute("title"))
    assert "(its scores are logarithms)" in str(screen.column().locator(".bar").first.get_attribute("title"))


def test_empty_page_says_what_it_is_for_and_offers_examples(screen: Screen) -> None:
    page = screen.page
    assert page.title() == "fans: what comes next in a list"
    assert "the model then shows how the list continues" in " ".join(page.inner_text("#empty").lower().split())
    buttons = page.locator("#examples button")
    names = [text.split(" · ") for text in buttons.all_text_contents()]
    assert len(names) == 3 and all(len(set(example)) == 3 for example in names)
    assert len({example[0] for example in names}) == 3
    buttons.nth(1).click()
    assert screen.titles() == names[1]
    screen.settle()
    assert not page.is_visible("#empty") and len(screen.answer()) == 10
    page.click("#undo")
    assert page.is_visible("#examples")


def test_undone_step_is_made_again(screen: Screen) -> None:
    page = screen.page
    screen.add("amber lan")
    screen.add("amber fer")
    assert page.is_disabled("#redo")
    page.click("#undo")
    page.click("#undo")
    assert screen.titles() == [] and page.is_disabled("#undo")
    page.click("#redo")
    page.locator("#redo").blur()
    assert screen.titles() == ["Amber Lantern"]
    for keys, count in (("Control+Shift+Z", 2), ("Control+z", 1), ("Control+y", 2)):
        page.keyboard.press(keys)
        assert len(screen.titles()) == count
    page.click("#undo")
    screen.add("birch lan")  # a new step ends what can be made again
    assert page.is_disabled("#redo") and screen.titles() == ["Amber Lantern", "Birch Lantern"]


def test_list_is_saved_and_opened_by_name(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment="#i=i0")
    page = screen.page
    page.click("#open-saved")
    page.fill("#save-name", "Evening <i>")
    page.press("#save-name", "Enter")
    assert "Evening <i>" in page.inner_text("#saved-lists")
    page.keyboard.press("Escape")
    page.click("#clear")
    assert screen.titles() == []
    screen.reload()
    page.click("#open-saved")
    page.click("#saved-lists button.wide")
    assert screen.titles() == ["Amber Lantern"]
    page.click("#open-saved")
    page.click("[aria-label='Delete Evening <i>']")
    assert page.is_visible("#saved-none")


def test_saved_file_is_opened_and_another_file_refused(screen: Screen, tmp_path: Path) -> None:
    page = screen.page
    (tmp_path / "other.json").write_text('{"some": "thing"}')
    page.click("#open-saved")
    page.set_input_files("#upload", tmp_path / "other.json")
    page.wait_for_selector("#saved-problem:has-text('not a list saved by this page')")
    item = {"item": "i1", "name": "Amber Ferry - Artist 1", "group": "Artist 1", "category": "Amber songs"}
    (tmp_path / "mine.json").write_text(json.dumps({"kind": "fansrec-list", "items": [item], "blocked": []}))
    page.set_input_files("#upload", tmp_path / "mine.json")
    page.wait_for_selector("#saved", state="hidden")
    assert screen.titles() == ["Amber Ferry"]


def test_list_is_copied_as_text_and_json(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment="#i=i0")
    page = screen.page
    page.click("#open-share")
    page.click("#copy-text")
    page.wait_for_selector("#share", state="hidden")
    assert screen.clipboard() == "Amber Lantern - Artist 0"
    page.click("#open-share")
    page.click("#copy-json")
    page.wait_for_selector("#share", state="hidden")
    assert [item["item"] for item in json.loads(screen.clipboard())["items"]] == ["i0"]
    insecure = "kept = navigator.clipboard; Object.defineProperty(navigator, 'clipboard', { value: undefined })"
    page.evaluate(insecure)  # as on a host without TLS
    page.click("#open-share")
    page.click("#copy-text")
    page.wait_for_selector("#share", state="hidden")
    assert page.evaluate("kept.readText()") == "Amber Lantern - Artist 0"


def test_link_restores_rules_and_reports_unknown_items(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment="#i=i1&i=gone&i=i2&k=4&only=Birch+songs&block=i20&model=ease")
    assert screen.titles() == ["Amber Ferry", "gone", "Amber Garden"]
    assert screen.page.inner_text("#list .unknown .sub") == "unknown here, skipped"
    assert "1 item of this link unknown here: gone." in screen.notice()
    message = screen.column().locator(".message").inner_text()
    assert message.startswith("Unknown to this model and skipped: gone.")
    assert screen.page.locator(".column").count() == 1
    assert (
        len(screen.answer()) == 4 and screen.categories() == {"Birch songs"} and "Birch Orchard" not in screen.answer()
    )
    screen.page.locator("[data-part=k]").fill("5")  # a change writes the address again
    screen.page.wait_for_function("() => location.hash.includes('k=5')")
    assert "i=i1&i=gone&i=i2" in screen.page.url and "block=i20" in screen.page.url


def test_unknown_category_of_a_link_is_ignored_with_a_notice(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment="#i=i1&only=Nothing&only=Birch+songs&only=Gone")
    assert screen.notice() == "2 categories of this link unknown here and ignored: Nothing, Gone."
    assert screen.categories() == screen.categories(1) == {"Birch songs"}
    screen.page.wait_for_function("() => location.hash.includes('only=Birch') && !location.hash.includes('Nothing')")
    screen = open_page(fragment="#i=i1&only=Nothing")
    assert "1 category of this link unknown here and ignored: Nothing." in screen.notice()
    assert screen.page.get_attribute("#rules [data-any]", "aria-pressed") == "true"


def test_list_survives_a_reload(screen: Screen) -> None:
    screen.add("amber lan")
    screen.reload()
    assert screen.titles() == ["Amber Lantern"]
