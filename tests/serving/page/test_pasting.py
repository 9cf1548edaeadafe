"""Many names at once, and searching in a category."""

from serving.page.screen import Screen


def paste(screen: Screen, text: str) -> None:
    """Paste a text into the search field."""
    screen.page.evaluate("text => navigator.clipboard.writeText(text)", text)
    screen.page.focus("#search")
    screen.press("Control+v")


def rows(screen: Screen) -> list[tuple[str, str]]:
    """Return each pasted name with its note, and the item that is chosen for it."""
    screen.page.wait_for_selector("#paste-note:has-text('found')")
    chosen = "select => select.selectedOptions[0].textContent"
    return [
        (row.locator("label").inner_text().replace("\n", " "), row.locator("select").evaluate(chosen))
        for row in screen.page.locator("#pasted li").all()
    ]


def test_pasted_lines_are_matched_confirmed_and_added(screen: Screen) -> None:
    page = screen.page
    paste(screen, "1. amber LANTERN\n2. Artist 1 - Amber Ferry\n\n3. Birch Gardn\nNothing xqzw\ni20\n")
    found = rows(screen)
    assert found[:2] + found[3:] == [
        ("amber LANTERN", "Amber Lantern · Artist 0"),
        ("Artist 1 - Amber Ferry", "Amber Ferry · Artist 1"),
        ("Nothing xqzw not found", "Left out"),
        ("i20", "Birch Orchard · Artist 2"),
    ]
    assert found[2][0] in ("Birch Gardn please check", "Birch Gardn similar name")  # by the number of candidates
    assert found[2][1] == "Birch Garden · Artist 5"
    assert "4 of 5 names found" in page.inner_text("#paste-note")
    assert screen.titles() == [] and page.inner_text("#paste-add") == "Add 4 items"  # nothing without confirmation
    page.locator("#pasted select").nth(1).select_option("Leave out")
    page.click("#paste-add")
    assert screen.titles() == ["Amber Lantern", "Birch Garden", "Birch Orchard"]
    page.click("#undo")
    assert screen.titles() == []


def test_names_separated_by_commas_are_pasted_and_a_single_name_is_searched(screen: Screen) -> None:
    page = screen.page
    paste(screen, "Amber Lantern, Amber Ferry, Birch Lantern")
    assert [name for name, _ in rows(screen)] == ["Amber Lantern", "Amber Ferry", "Birch Lantern"]
    screen.press("Escape")
    paste(screen, "Amber Lantern")
    page.wait_for_selector("#options [role=option]")
    assert page.input_value("#search") == "Amber Lantern" and not page.is_visible("#paste")


def test_copied_text_of_a_list_can_be_pasted(screen: Screen) -> None:
    for name in ("amber lan", "birch gar", "copper lan"):
        screen.add(name)
    before = screen.titles()
    screen.page.click("#open-share")
    screen.page.click("#copy-text")
    screen.page.wait_for_selector("#share", state="hidden")
    screen.page.click("#clear")
    screen.page.click("#open-paste")
    screen.page.fill("#paste-text", screen.clipboard())
    screen.page.click("#paste-form button")
    assert [name for name, _ in rows(screen) if "check" in name or "similar" in name] == []
    screen.page.click("#paste-add")
    assert screen.titles() == before


def test_category_is_found_and_searched(screen: Screen) -> None:
    page = screen.page
    page.fill("#search", "copper so")
    option = page.locator("#options li", has_text="a category of 15 items")
    option.wait_for()
    option.click()
    page.wait_for_selector("#scope button:has-text('Copper songs')")
    page.wait_for_selector("#options [role=option]")  # what the model suggests in this category
    assert set(page.locator("#options .category").all_text_contents()) == {"Copper songs"}
    page.fill("#search", "lantern")  # in three categories
    page.wait_for_function("() => document.querySelectorAll('#options [role=option]').length === 1")
    screen.press("Enter")
    assert screen.titles() == ["Copper Lantern"]
    page.focus("#search")
    screen.press("Escape", "Backspace")
    assert page.locator("#scope button").count() == 0
    page.fill("#search", "lantern")
    page.wait_for_function("() => document.querySelectorAll('#options [role=option]').length >= 3")
