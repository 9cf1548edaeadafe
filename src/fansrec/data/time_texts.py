"""Times written as text, without polars: the units of numbers, and the form of ISO 8601."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone

from fansrec.data.boundaries import EPOCH

# The unit of a column of numbers, by its largest value: 1e11 seconds is the year 5138, 1e11 milliseconds is 1973.
UNITS = ((1e11, "Unix seconds", 1e6), (1e14, "Unix milliseconds", 1e3), (1e17, "Unix microseconds", 1.0))
NANOSECONDS = ("Unix nanoseconds", 1e-3)
FIRST_DATE, LAST_DATE = 19_000_101, 21_001_231  # numbers from here to there are dates, not the year 1970
DATE = r"^\s*(\d{4}[-/]\d{1,2}[-/]\d{1,2})"
CLOCK = r"[T ]\s*(\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?)"
OFFSET = r"\s*(Z|UTC|[+-]\d{2}(?::?\d{2})?)"
ISO = f"{DATE}(?:{CLOCK}(?:{OFFSET})?)?\\s*$"
NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)


def unit_of(low: float, high: float) -> tuple[str, float]:
    """Return what numbers in this range mean, and microseconds per unit: 0 for dates like 20260131."""
    if FIRST_DATE <= low <= high <= LAST_DATE:
        return "dates like 20260131", 0.0
    largest = max(abs(low), abs(high))
    return next(((kind, scale) for limit, kind, scale in UNITS if largest < limit), NANOSECONDS)


def sortable_times(texts: Sequence[str]) -> list[float | None]:
    """Return the times of a column as microseconds since 1970, None for text that is not a time."""
    numbers = [number_of(text) for text in texts]
    known = [number for number in numbers if number is not None]
    _, scale = unit_of(min(known), max(known)) if known else ("", 1.0)
    return [
        _iso(text) if number is None else number * scale if scale else _date(number)
        for text, number in zip(texts, numbers, strict=True)
    ]


def number_of(text: str) -> float | None:
    """Return a finite number, None for other text."""
    number = float(text) if NUMBER.fullmatch(text) else None
    return number if number is not None and abs(number) < float("inf") else None


def _date(number: float) -> float | None:
    try:
        return _microseconds(datetime.strptime(str(int(number)), "%Y%m%d").replace(tzinfo=UTC))
    except ValueError:
        return None


def _iso(text: str) -> float | None:
    """Return ISO 8601 text as microseconds; a time without an offset is UTC."""
    found = re.match(ISO, text)
    if found is None:
        return None
    day, clock, offset = found.groups()
    hour, minute, second = ((clock or "0:00").replace(",", ".").split(":") + ["0"])[:3]
    whole, _, fraction = second.partition(".")
    try:
        year, month, day_of_month = map(int, re.split("[-/]", day))
        moment = datetime(year, month, day_of_month, int(hour), int(minute), int(whole), tzinfo=_zone(offset))
        return _microseconds(moment) + int(fraction[:6].ljust(6, "0"))
    except (ValueError, OverflowError):
        return None


def _zone(offset: str | None) -> timezone:
    """Return the time zone of an offset such as +02:00; UTC for Z, UTC and none."""
    if offset in (None, "Z", "UTC"):
        return UTC
    digits = str(offset)[1:].replace(":", "").ljust(4, "0")
    ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-ahead if str(offset).startswith("-") else ahead)


def _microseconds(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)
