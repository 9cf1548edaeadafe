"""Every command and all Python code in the documents: options, choices, routes, targets and names exist.

tests/docs/test_pages.py runs those of the README, the tutorials and the guides.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from docs import parsing
from docs.commands import FENCE, PAGES, PYTHON, ROOT, Command, blocks, inline_commands, shell_commands

OTHERS = [ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")]
# Programs that are checked by their own parser.
CHECKED: dict[str, Callable[[list[str]], str | None]] = {
    "fans": parsing.fans, "python": parsing.python, "python3": parsing.python, "make": parsing.make,
    "pip": parsing.pip, "curl": parsing.curl,
}  # fmt: skip
LAUNCHERS = ("torchrun", "accelerate")  # of `-m fansrec.training`
# Programs of others, which documents may use; a name that is not here is a spelling mistake, or needs a line.
FOREIGN = (
    "apt-get cat chmod cp date docker echo for done haproxy head helm install kubectl ln ls mkdir mv openssl pytest ray"
    " rsync sha256sum socat source sudo systemctl tar"
)


def problem(words: list[str]) -> str | None:
    """Return what is wrong with a program and its arguments, or None."""
    program, arguments = words[0].rpartition("/")[2], words[1:]
    if program in CHECKED:
        return CHECKED[program](arguments)
    if program in LAUNCHERS:
        return parsing.python(arguments[arguments.index("-m") :])
    return None if program in FOREIGN.split() else f"{program} is not a known program; is it output, which is ```text?"


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_in_code_blocks_are_accepted_by_their_parsers(page: Path) -> None:
    found = [(one.where, one.text, wrong) for one in shell_commands(page) for words in one.parts()
             if (wrong := problem(words))]  # fmt: skip
    assert not found


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_in_the_text_exist_with_their_options(page: Path) -> None:
    def wrong(command: Command) -> str | None:
        [[program, *arguments], *_] = command.parts()
        check = {"fans": parsing.fans, "python": parsing.python}.get(program)
        return check(arguments, whole=False) if check else problem([program, *arguments])

    found = [(one.where, one.text, text) for one in inline_commands(page) if (text := wrong(one))]
    assert not found


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_python_code_names_only_what_exists(page: Path) -> None:
    found = [(one.name, wrong) for one in blocks(page) if one.language in PYTHON if (wrong := parsing.code(one.text))]
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for call in re.findall(r"`((?:fansrec|client|model)\.\w+\([^`]*\))`", text):
        whole = call.replace(", …)", ")").replace("…", "...")
        found += [(call, wrong)] if (wrong := parsing.code(whole)) else []
    assert not found
