"""Text that is safe to print, character by character."""

import io
import json

import pytest
from rich.progress import Progress, TextColumn
from rich.table import Table

from fansrec.cli.terminal import Terminal
from fansrec.printable import printable, printable_json, printable_lines

CONTROLS = [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
UNSAFE = "".join(map(chr, [*CONTROLS, 0xDFFF, 0xD800]))
ORDINARY = "Añejo 日本語　עברית \u200f नी\u200dल 👩\u200d🚀 [red]x[/red] :bomb: \\n"


def terminal_output(terminal: bool = True) -> tuple[Terminal, io.StringIO]:
    """Return a console that renders as for a terminal, and what it writes to."""
    out = io.StringIO()
    return Terminal(file=out, force_terminal=terminal, color_system=None, width=400), out


@pytest.mark.parametrize("character", UNSAFE)
def test_unsafe_characters_become_visible_ascii(character: str) -> None:
    shown = printable(f"a{character}b")
    assert shown.isascii() and shown.isprintable() and shown == f"a{ascii(character)[1:-1]}b"


def test_ordinary_text_of_any_script_is_unchanged() -> None:
    assert printable(ORDINARY) == ORDINARY


def test_escaping_twice_changes_nothing() -> None:
    assert printable(printable(UNSAFE)) == printable(UNSAFE)


def test_json_is_safe_and_parses_to_the_same_value() -> None:
    value = {UNSAFE: [UNSAFE, ORDINARY, 1.5, None]}
    text = printable_json(value)
    assert json.loads(text) == value
    assert text == printable(text) and "日本語" in text


def test_lines_after_the_first_are_indented() -> None:
    assert printable_lines("one\n2026-01-01 info forged\x1b[A") == "one\n  2026-01-01 info forged\\x1b[A"


def test_a_message_on_a_terminal_is_one_line_without_markup() -> None:
    console, out = terminal_output()
    console.say(f"{UNSAFE}{ORDINARY}")
    assert out.getvalue() == f"{printable(UNSAFE)}{ORDINARY}\n"


def test_a_table_on_a_terminal_shows_no_control_characters() -> None:
    console, out = terminal_output()
    table = Table(title="t\x1b]0;x\x07")
    table.add_row("a\x1b[2J\x9b31m\u202e", "[bold]b[/bold]")
    console.print(table)
    shown = out.getvalue()
    assert shown.replace("\n", "") == printable(shown.replace("\n", ""))
    assert "a\\x1b[2" in shown and "[bold]b[/bold]" in shown  # cut to its column: callers that care escape first


def test_progress_bar_escapes_control_characters_in_names() -> None:
    console, out = terminal_output()
    with Progress(TextColumn("{task.description}", markup=False), console=console, transient=True) as bar:
        bar.add_task("name\x1b[31m\x9b", total=1)
    assert "name\\x1b" in out.getvalue() and "\x1b[31m" not in out.getvalue()
    assert "\x1b[" in out.getvalue()  # rich's own sequences are not escaped
