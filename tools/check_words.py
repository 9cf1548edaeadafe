"""`make words`: find words and phrases that the project's style replaces, and print what to write instead.

    python tools/check_words.py [FILE...]

Without FILE, all tracked text files are checked: documents completely, code in its comments and strings. Words of the
glossary (NAMES) are also found inside identifiers. A line that contains "words: keep" is skipped, and so is a word in
backticks, which quotes a name. The exit code is 1 if anything is found.
"""

import argparse
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
KEEP = "words: keep"
WHOLE = {".md", ".js", ".html", ".css", ".toml", ".yaml", ".yml", ".service", ".socket", ".txt", ".cff", ""}
PYTHON, C = {".py"}, {".cpp", ".h", ".cu", ".cuh"}
SKIPPED = ("LICENSE", "tools/check_words.py", "tests/tools/test_check_words.py", "deploy/requirements")
GENERATED = tuple(f"docs/tutorials/{name}.md" for name in ("playlists", "recipes", "research"))  # from checked scripts
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
PROSE_TOKENS = {"COMMENT", "STRING", "FSTRING_MIDDLE"}

# Old names of concepts; CONTRIBUTING.md links to the glossary.
NAMES = {
    "nursery": "supervisor",
    "nurseries": "supervisors",
    "keeper": "model host",
    "crew": "thread pool",
    "desk": "scratch, workspace",
    "contest": "block top-k",
}
# Regular expressions of whole words.
PHRASES = {
    r"whoever": "who, everyone who",
    r"anew": "again",
    r"so many(?! that)": "that many, or the number itself: maximum number of …",
    r"told (?:to|otherwise|so|by|of|what|how|that)|(?:is|are|was|were|be) told": "reported, printed, given",
    r"(?:go|goes|going|gone|went) on with": "resume, continue",
    r"with a word|a word (?:on|to|of|about|for)": "and logs a warning; a message about",
    r"(?<!there )(?:is|are) no(?= (?!longer|more|less|better|worse|different|other)\w)": "is not a",
    r"(?:is|are|be) held (?:against|to)": "is compared with",
    r"(?:go|goes|going) round": "bypasses",
    r"mend(?:s|ed|ing)?": "fix",
    r"made-up": "generated",
    r"at hand": "available",
    r"climbing": "coordinate search",
    r"likeness": "similarity",
    r"whilst|amongst": "while, among",
}
# British stems with their American spelling; any ending may follow.
SPELLINGS = {
    "neighbour": "neighbor",
    "colour": "color",
    "behaviour": "behavior",
    "favour": "favor",
    "honour": "honor",
    "centre": "center",
    "catalogue": "catalog",
    "artefact": "artifact",
    "licence": "license",
    "analyse": "analyze",
    "labelled": "labeled",
    "labelling": "labeling",
    "modelling": "modeling",
    "travelled": "traveled",
    "grey": "gray",
    "judgement": "judgment",
    "normalis": "normaliz",
    "initialis": "initializ",
    "optimis": "optimiz",
    "organis": "organiz",
    "recognis": "recogniz",
    "serialis": "serializ",
    "summaris": "summariz",
    "tokenis": "tokeniz",
    "categoris": "categoriz",
    "randomis": "randomiz",
    "minimis": "minimiz",
    "maximis": "maximiz",
    "utilis": "utiliz",
    "vectoris": "vectoriz",
    "quantis": "quantiz",
}


class Finding(NamedTuple):
    """A replaced word and its place."""

    path: str
    line: int
    word: str
    advice: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.word!r}: write {self.advice}"


def _compiled() -> list[tuple[re.Pattern[str], str]]:
    phrases = [(re.compile(rf"\b(?:{phrase})\b", re.IGNORECASE), advice) for phrase, advice in PHRASES.items()]
    # aria-labelledby is an attribute of HTML.
    spellings = [
        (re.compile(rf"(?<!`)\b{word}(?!by)\w*", re.IGNORECASE), f"{advice}…") for word, advice in SPELLINGS.items()
    ]
    return phrases + spellings


PROSE = _compiled()
# A name may be a part of snake_case, CamelCase or UPPER_CASE.
NAME = [
    (re.compile(rf"(?:(?<![A-Za-z]){name}|{name.capitalize()}|(?<![A-Z]){name.upper()})s?(?![a-z])"), advice)
    for name, advice in NAMES.items()
]
NAME.append((re.compile("FansBest|fans_best"), "hybrid model, HybridFans"))


def prose_of_python(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line number, text) of every comment and string."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if tokenize.tok_name[token.type] in PROSE_TOKENS:
            yield from enumerate(token.string.splitlines(), token.start[0])


def prose_of_c(text: str) -> Iterator[tuple[int, str]]:
    """Yield (line number, text) of every comment."""
    for comment in COMMENT.finditer(text):
        yield from enumerate(comment[0].splitlines(), text.count("\n", 0, comment.start()) + 1)


def prose(text: str, suffix: str) -> Iterable[tuple[int, str]]:
    """Return the lines of a file that people read, with their numbers."""
    if suffix in PYTHON:
        return prose_of_python(text)
    return prose_of_c(text) if suffix in C else enumerate(text.splitlines(), 1)


def check(path: str, text: str) -> list[Finding]:
    """Return the replaced words of a file, in the order of its lines."""
    lines = text.splitlines()
    kept = {number for number, line in enumerate(lines, 1) if KEEP in line}
    places = [(line, NAME) for line in enumerate(lines, 1)]
    places += [(line, PROSE) for line in prose(text, Path(path).suffix)]
    found = {
        Finding(path, number, match[0], advice)
        for (number, line), rules in places
        if number not in kept
        for pattern, advice in rules
        for match in pattern.finditer(line)
    }
    return sorted(found)


def tracked_files() -> list[str]:
    """Return the paths of all tracked files that people read."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    known = WHOLE | PYTHON | C
    return [
        path for path in listed.splitlines() if Path(path).suffix in known and not path.startswith(SKIPPED + GENERATED)
    ]


def main(files: list[str]) -> int:
    findings = []
    for path in files or tracked_files():
        if (ROOT / path).is_file():  # not deleted since the last commit
            findings += check(path, (ROOT / path).read_text(encoding="utf-8"))
    print(*findings, sep="\n", end="\n" if findings else "")
    print(f"{len(findings)} words to replace" if findings else "no words to replace")
    return 1 if findings else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help="only these files")
    sys.exit(main(parser.parse_args().files))
