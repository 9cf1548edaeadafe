"""Names and what people type, made alike: without case and accents, cut into words."""

import re
from unicodedata import combining, normalize

# Written without spaces, or a sign that means something by itself: each character is a word, and what is typed in one
# go is a phrase of them, found wherever it stands. South-East Asia; kana, Han, Hangul; pictures.
ALONE = (
    "\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff"
    "\u2600-\u27bf\U0001f000-\U0001faff\U00020000-\U0003ffff"
)
INDIC = "\u0900-\u0dff"  # vowel signs there are no letters to Unicode, yet part of a word
_PIECES = re.compile(rf"([{ALONE}]+)|((?:(?![{ALONE}])[^\W_]|[{INDIC}])+)")
_PLAIN = re.compile("[a-z0-9]+")
_DROPPED = re.compile(r"['’ʼ]|(?<=\b\w)\.")  # don't is dont, R.E.M. is rem
_ARTICLE = re.compile(r"^(?:the|a|an|la|le|les|los|el|die|der|das) (?=.)")
_LETTERS = str.maketrans(dict(zip("øłđðħıŋ", "olddhin", strict=True)) | {"æ": "ae", "œ": "oe", "þ": "th"})
_SIGNS = str.maketrans({chr(code): chr(0xE000 + code) for code in range(33, 127)})  # private: SQLite sees letters
LAST_OF_KANA = 9  # combining classes above are accents, those below make another letter


def folded(text: str) -> str:
    """Lower case, accents and the like gone."""
    if text.isascii():
        return text.lower()
    apart = normalize("NFKD", text.casefold())
    kept = "".join(char for char in apart if combining(char) <= LAST_OF_KANA)
    return normalize("NFC", kept.casefold()).translate(_LETTERS)


def pieces(text: str) -> list[list[str]]:
    """The words of a text, each a list of one; characters that stand alone in a row are one list."""
    text = folded(text)
    found = [list(alone) if alone else [word] for alone, word in _PIECES.findall(_DROPPED.sub("", text))]
    return found or _signs(text)


def words(text: str) -> list[str]:
    """The same in one list."""
    if text.isascii() and "'" not in text and "." not in text and (found := _PLAIN.findall(text.lower())):
        return found  # as most names are, and many times as fast
    return [word for piece in pieces(text) for word in piece]


def _signs(text: str) -> list[list[str]]:
    """A name may be signs alone (!!!), and is found by them; beside words they mean nothing."""
    signs = [char.translate(_SIGNS) for char in text if char.isprintable() and not char.isspace()]
    return [signs] if signs else []


def without_article(text: str) -> str:
    return _ARTICLE.sub("", text)
