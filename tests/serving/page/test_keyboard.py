"""The page without a mouse and with assistive technology."""

from collections.abc import Callable

from serving.page.screen import Screen

CONTROLS = {"button", "textbox", "combobox", "checkbox", "slider", "link", "option", "menuitem"}

# Elements that contain text, their colors, and the contrast between them.
CONTRASTS = """() => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const linear = (v) => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => .2126 * linear(r / 255) + .7152 * linear(g / 255) + .0722 * linear(b / 255);
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const [r, g, b, a = 1] = numbers(getComputedStyle(one).backgroundColor);
      if (a > .5) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const FAINT = ":disabled, [aria-disabled=true], .taken, .visually-hidden, #notice:not(.shown)";
  const faint = (element) => element.closest(FAINT);
  return [...document.querySelectorAll("body *")]
    .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
    .filter((one) => one.checkVisibility() && !faint(one))
    .map((one) => {
      const [front, back] = [light(numbers(getComputedStyle(one).color)), light(behind(one))];
      return [one.textContent.trim().slice(0, 40), (Math.max(front, back) + .05) / (Math.min(front, back) + .05)];
    });
}"""


def test_page_works_with_the_keyboard_alone(screen: Screen) -> None:
    page = screen.page
    for name, title in (("amber lan", "Lantern"), ("amber fer", "Ferry"), ("amber gar", "Garden")):
        screen.press("/")
        assert page.evaluate("document.activeElement.id") == "search"
        page.keyboard.type(name)  # letter by letter: results for the first letters may be shown for a while
        page.wait_for_selector(f"#option-0:has-text('Amber {title}')")
        page.wait_for_selector("#option-1", state="detached")
        screen.press("Enter")
        page.evaluate("document.activeElement.blur()")
    screen.settle()
    assert f"continues with 10 items: {screen.answer()[0]}" in page.inner_text(
        "#announcement[role=status]"
    )  # for screen readers only

    page.focus(".skip")
    screen.press("Enter")  # its fragment is not a list
    page.focus("#search")
    screen.press("Tab")
    assert screen.focused().startswith("Move Amber Lantern")
    screen.press("Alt+ArrowDown")
    assert screen.titles() == ["Amber Ferry", "Amber Lantern", "Amber Garden"]
    assert screen.focused() == "Move Amber Lantern - Artist 0, 2 of 3"  # it keeps the focus
    screen.press("ArrowUp", "Delete")
    assert screen.titles() == ["Amber Lantern", "Amber Garden"]
    assert screen.focused().startswith("Move Amber Lantern")
    screen.press("Control+z")
    assert screen.titles() == ["Amber Ferry", "Amber Lantern", "Amber Garden"]
    screen.settle()

    screen.column().locator("[data-part=all]").focus()
    screen.press("Tab", "ArrowDown")
    second = screen.answer()[1]
    assert screen.focused().startswith(f"Add {second}")
    screen.press("Enter")
    screen.settle()
    assert screen.titles()[-1] == second and screen.focused().startswith("Add ")
    first = screen.answer()[0]
    screen.press("Home", "Delete")
    screen.settle()
    assert first not in screen.answer() and screen.focused().startswith("Add ")
    given = screen.answer()
    screen.press("Shift+Enter")
    assert screen.titles()[4:] == given

    screen.press("?")
    page.wait_for_selector("#help")
    screen.press("Escape")
    page.wait_for_selector("#help", state="hidden")


def test_search_is_a_combobox_with_keyboard_navigation(screen: Screen) -> None:
    page = screen.page
    page.fill("#search", "amber")
    page.wait_for_selector("#options [role=option]")
    assert page.get_attribute("#search", "aria-expanded") == "true"
    chosen = "#options [aria-selected=true]"
    assert page.get_attribute(chosen, "id") == page.get_attribute("#search", "aria-activedescendant") == "option-0"
    screen.press("ArrowDown", "ArrowDown", "ArrowUp")
    assert page.get_attribute(chosen, "id") == page.get_attribute("#search", "aria-activedescendant") == "option-1"
    screen.press("Escape")
    assert page.get_attribute("#search", "aria-expanded") == "false" and page.input_value("#search") == "amber"
    screen.press("Escape")
    assert page.input_value("#search") == ""
    page.fill("#search", "zzzzqqqq")
    page.wait_for_selector("#search-note:has-text('Nothing is called “zzzzqqqq”')")


def test_every_control_has_a_name(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment="#i=i0&block=i3")
    for dialog in (None, "#saved", "#share", "#help", "#key"):
        if dialog:
            screen.page.evaluate("id => document.querySelector(id).showModal()", dialog)
        tree = screen.page.context.new_cdp_session(screen.page).send("Accessibility.getFullAXTree")["nodes"]
        found = [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in tree if not n["ignored"]]
        controls = [(role, name) for role, name in found if role.lower() in CONTROLS]
        assert controls and [role for role, name in controls if not name.strip()] == []
        if dialog:
            screen.page.evaluate("id => document.querySelector(id).close()", dialog)


def test_text_has_enough_contrast_in_light_and_dark_mode(open_page: Callable[..., Screen]) -> None:
    screen = open_page(fragment="#i=i0&i=i16&block=i3")
    for scheme, background in (("light", "rgb(246, 247, 249)"), ("dark", "rgb(14, 17, 22)")):
        screen.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        assert screen.page.evaluate("getComputedStyle(document.body).backgroundColor") == background
        contrasts = screen.page.evaluate(CONTRASTS)
        assert len(contrasts) > 50
        assert [(text, round(ratio, 2)) for text, ratio in contrasts if ratio < 4.5] == []
