"""Normalization of names and search texts: without case and accents, split into words."""

import re
from unicodedata import combining, normalize

# Scripts without spaces, and signs with a meaning of their own: each character is a word, and a run of them is a
# phrase that is found anywhere in a name. South-East Asia; kana, Han, Hangul; pictographs.
SINGLE = (
    "\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\u2600-\u27bf\U0001f000-\U0001faff\U00020000-\U0003ffff"
)
INDIC = "\u0900-\u0dff"  # their vowel signs are not letters in Unicode, but part of a word
_PIECES = re.compile(rf"([{SINGLE}]+)|((?:(?![{SINGLE}])[^\W_]|[{INDIC}])+)")
_PLAIN = re.compile("[a-z0-9]+")
_DROPPED = re.compile(r"['’ʼ]|(?<=\b\w)\.")  # don't is dont, R.E.M. is rem
_ARTICLE = re.compile(r"^(?:the|a|an|la|le|les|los|el|die|der|das) (?=.)")
_LETTERS = str.maketrans(dict(zip("øłđðħıŋ", "olddhin", strict=True)) | {"æ": "ae", "œ": "oe", "þ": "th"})
_SIGNS = str.maketrans({chr(code): chr(0xE000 + code) for code in range(33, 127)})  # private: SQLite sees letters
MAX_KEPT_CLASS = 9  # combining classes above are accents, those below make another letter


def fold(text: str) -> str:
    """Return the text in lower case and without accents."""
    if text.isascii():
        return text.lower()
    decomposed = normalize("NFKD", text.casefold())
    kept = "".join(char for char in decomposed if combining(char) <= MAX_KEPT_CLASS)
    return normalize("NFC", kept.casefold()).translate(_LETTERS)


def split_pieces(text: str) -> list[list[str]]:
    """Return the words of a text, each as a list of one word; a run of SINGLE characters is one list."""
    text = fold(text)
    found = [list(single) if single else [word] for single, word in _PIECES.findall(_DROPPED.sub("", text))]
    return found or _signs(text)


def split_words(text: str) -> list[str]:
    """Return the words of `split_pieces` in one list."""
    if text.isascii() and "'" not in text and "." not in text and (found := _PLAIN.findall(text.lower())):
        return found  # most names are like this, and it is many times as fast
    return [word for piece in split_pieces(text) for word in piece]


def _signs(text: str) -> list[list[str]]:
    """Return the signs of a name that has only signs (such as !!!); next to words they are ignored."""
    signs = [char.translate(_SIGNS) for char in text if char.isprintable() and not char.isspace()]
    return [signs] if signs else []


def without_article(text: str) -> str:
    return _ARTICLE.sub("", text)
