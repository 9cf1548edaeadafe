"""The messages of pydantic in our own words; each one continues a sentence that begins with the name of a value."""

import re

TYPES = {
    "integer": "an integer",
    "boolean": "true or false",
    "tuple": "a list",
    "dictionary": "an object",
    "array": "an array",
    "object": "an object",
}
REWRITTEN: tuple[tuple[str, str], ...] = (
    (r"Input should be greater than or equal to (.+)", r"must be at least \1"),
    (r"Input should be less than or equal to (.+)", r"must be at most \1"),
    (r"Input should be greater than (.+)", r"must be more than \1"),
    (r"Input should be less than (.+)", r"must be less than \1"),
    (r"Input should be (.+)", r"must be \1"),
    (r"\w+ should have at (least|most) (\d+ \w+) after validation, not (.+)", r"must have at \1 \2 and has \3"),
    (r"\w+ should have at (least|most) (.+)", r"must have at \1 \2"),
    (r"String should match pattern .*", "has characters that are not allowed"),
    (r"Input is not a valid path.*", "must be a path"),
    (r"Field required", "is missing"),
    (r"Extra inputs are not permitted", "is not a known name"),
    (r"Invalid JSON: (.+)", r"is not JSON (\1)"),
    (r"Value error, (.+)", r"\1"),
)


def in_our_words(message: str) -> str:
    """Return a message of pydantic as the rest of a sentence: `must be at most 500`; others as they are."""
    if found := re.match(r"Input should be a valid (\w+)", message):
        return f"must be {TYPES.get(found[1], f'a {found[1]}')}"
    for pattern, own in REWRITTEN:
        if found := re.fullmatch(pattern, message, re.DOTALL):
            return found.expand(own)
    return message
