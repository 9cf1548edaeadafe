"""The commands in the documents: extraction from code blocks, and the parsers that they are meant for.

A block without a language (or `sh`, `bash`) contains commands. In a `console` block only lines after `$` do; output has
the language `text`.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *(path for folder in ("docs", "deploy") for path in sorted(ROOT.glob(f"{folder}/**/*.md"))),
]
FENCE = re.compile(r"^( *)```([\w-]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
SHELL = ("", "sh", "bash", "console")
PYTHON = ("python", "py")
ASSIGNMENT = re.compile(r"\w+=")


@dataclass(frozen=True)
class Block:
    """A code block of a document, without its indentation."""

    page: str  # relative to the repository
    line: int
    language: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Command:
    """A line of a shell block, with the lines that it is continued on."""

    where: str
    text: str

    def parts(self) -> list[list[str]]:
        """Return the words of each program that the line runs, without assignments of variables."""
        reader = shlex.shlex(self.text, posix=True, punctuation_chars="|&;()<>")
        reader.whitespace_split = True
        found: list[list[str]] = [[]]
        for word in reader:
            if set(word) <= set("|&;()"):
                found.append([])
            elif found[-1] or not ASSIGNMENT.match(word):
                found[-1].append(word)
        bare = (words[1:] if words[:1] == ["do"] else words for words in found)
        return [words for words in bare if words]


def blocks(path: Path) -> list[Block]:
    """Return the code blocks of a document."""
    text, page = path.read_text(encoding="utf-8"), str(path.relative_to(ROOT))
    return [
        Block(page, text[: found.start()].count("\n") + 1, found[2], re.sub(f"^{found[1]}", "", found[3], flags=re.M))
        for found in FENCE.finditer(text)
    ]


def commands(block: Block) -> Iterator[Command]:
    """Yield the commands of a shell block; a command ends with a line after which no quote is open."""
    lines = block.text.splitlines()
    if block.language == "console":
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    text = ""
    for line in lines:
        text += line
        if text.endswith("\\"):
            text = text[:-1] + " "
            continue
        try:
            words = shlex.split(text, comments=True)
        except ValueError:  # a quote is open
            text += "\n"
            continue
        if words:
            yield Command(block.name, text)
        text = ""
    if text:
        raise ValueError(f"{block.name}: the command does not end: {text}")


def shell_commands(path: Path) -> list[Command]:
    """Return the commands of all shell blocks of a document."""
    return [command for block in blocks(path) if block.language in SHELL for command in commands(block)]


def inline_commands(path: Path) -> list[Command]:
    """Return the commands of this project in the text of a document, between backticks."""
    page, text = str(path.relative_to(ROOT)), FENCE.sub("", path.read_text(encoding="utf-8"))
    spans = re.findall(r"(?<!`)`((?:\w+=\S+ )*(?:fans|python|make) [^`]+)`", text)
    return [Command(page, span.replace("\\|", "|")) for span in spans]
