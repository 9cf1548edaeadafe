"""Text from data, models and users made safe to print on a terminal or in a log.

Item ids, names, categories and file names are untrusted text. Printed unchanged, a line break forges a log line, an
escape sequence controls the terminal, and a bidirectional override changes the order in which characters are shown.
"""

import json
import re
import sys
from typing import Any

# C0, DEL and C1 controls; line and paragraph separators; bidirectional embeddings, overrides and isolates; surrogates.
# Marks that scripts and emoji need (joiners, U+200E, U+200F) stay.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(value: object) -> str:
    """Return `value` as one line of text in which unsafe characters are written as Python escapes, such as `\\x1b`."""
    return _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], str(value))


def printable_lines(text: str) -> str:
    """Return `text` of several lines, such as a traceback, with all lines but the first indented, so none is forged."""
    return "\n  ".join(map(printable, text.split("\n")))


def printable_json(value: Any) -> str:
    """Return `value` as one line of JSON that is safe to print and parses to the same value."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number and what it counts, such as `1 list` or `2,000 lists`; by default the plural ends in s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def is_interactive() -> bool:
    """Return whether somebody reads what is printed: in a terminal, or in a notebook, whose kernel has no terminal."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return sys.stdout.isatty() or type(shell).__name__ == "ZMQInteractiveShell"
