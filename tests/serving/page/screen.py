"""The page as a user operates it."""

from typing import Any
from urllib.parse import urlsplit

Names = list[str]


class Screen:
    """A tab with the page; it records every request, console message and dialog."""

    def __init__(self, page: Any, address: str, expected: tuple[str, ...] = ()) -> None:
        self.page, self.address, self.expected = page, address, expected
        self.requests: Names = []
        self.messages: Names = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: message.type in ("error", "warning") and self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(f"uncaught: {error}"))
        page.on("dialog", self._dialog)

    def _dialog(self, dialog: Any) -> None:
        self.messages.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def faults(self) -> Names:
        """Return requests to other hosts, and errors that the test did not expect."""
        here = urlsplit(self.address).netloc
        foreign = [
            url
            for url in self.requests
            if urlsplit(url).scheme not in ("blob", "data") and urlsplit(url).netloc != here
        ]
        return foreign + [text for text in self.messages if not any(part in text for part in self.expected)]

    def goto(self, fragment: str = "", ready: bool = True) -> None:
        self.page.goto(f"{self.address}/{fragment}")
        if ready:
            self.settle()

    def reload(self) -> None:
        """Reload once the address contains the list, which the page writes there soon after a change."""
        items = "new URLSearchParams(location.hash.slice(1)).getAll('i').length"
        self.page.wait_for_function(f"() => {items} === document.querySelectorAll('#list li').length")
        self.page.reload()
        self.settle()

    def notice(self) -> str:
        """Return the last notice, also after it has disappeared from the screen."""
        return str(self.page.text_content("#notice")).strip()

    def settle(self) -> None:
        """Wait until every model has answered the last request."""
        self.page.wait_for_selector(".column[aria-busy=false] .accept", state="attached")  # a tab may hide it
        self.page.wait_for_function("() => !document.querySelector('.column[aria-busy=true], #examples[aria-busy]')")

    def add(self, text: str) -> None:
        """Add the first item that is found."""
        self.page.fill("#search", text)
        self.page.wait_for_selector("#options [role=option]")
        self.page.press("#search", "Enter")
        self.settle()

    def titles(self) -> Names:
        return list(self.page.locator("#list .title").all_text_contents())

    def column(self, number: int = 0) -> Any:
        return self.page.locator(".column").nth(number)

    def answer(self, number: int = 0) -> Names:
        return list(self.column(number).locator(".title").all_text_contents())

    def explain(self, number: int = 0) -> None:
        """Open the dialog that explains the first item of a continuation, from the keyboard."""
        why = self.column(number).locator(".why").first
        why.evaluate("button => button.focus()")  # in a tab that is not shown, its button cannot be clicked
        why.evaluate("button => button.click()")
        self.page.wait_for_selector("#why-parts li")

    def categories(self, number: int = 0) -> set[str]:
        return set(self.column(number).locator(".category").all_text_contents())

    def artists(self, number: int = 0) -> Names:
        return list(self.column(number).locator(".sub .clip").all_text_contents())

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def focused(self) -> str:
        """Return the accessible name of the focused element."""
        return str(self.page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.textContent"))

    def drag(self, title: str, onto: str) -> None:
        """Drag a row by its handle in several steps."""
        start = self.page.locator("#list li", has_text=title).locator(".handle").bounding_box()
        target = self.page.locator("#list li", has_text=onto).locator(".handle").bounding_box()
        x, y = start["x"] + start["width"] / 2, start["y"] + start["height"] / 2
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.mouse.move(x, target["y"] + target["height"] / 2, steps=8)
        self.page.mouse.up()

    def clipboard(self) -> str:
        return str(self.page.evaluate("navigator.clipboard.readText()"))
