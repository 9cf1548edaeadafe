"""The dates of items, as ISO 8601 text: from years, dates and times as people and databases write them."""

import re
from collections.abc import Sequence
from datetime import timedelta

from fansrec.data.boundaries import EPOCH
from fansrec.data.time_texts import number_of, sortable_times

FIRST_YEAR, LAST_YEAR = 1000, 2999
YEAR_AND_MONTH = re.compile(r"\s*([12]\d{3})[-/](\d{1,2})\s*", re.ASCII)


def iso_dates(texts: Sequence[str | None]) -> list[str | None]:
    """Return the dates of a column, None for what is not one.

    A year is its first of January, a month its first day. Numbers that are not years are dates such as 20260131 or
    Unix times. A date with a time of day keeps it, in UTC.
    """
    written = [None if text is None else _written_out(text) for text in texts]
    known = [text for text in written if text is not None]
    dates = iter(map(_iso_date, sortable_times(known)))
    return [None if text is None else next(dates) for text in written]


def _written_out(text: str) -> str | None:
    """Return a year or a month as its first day, None for a number that says the date is unknown (0)."""
    number = number_of(text.strip())
    if number is not None:
        is_year = FIRST_YEAR <= number <= LAST_YEAR and number == int(number)
        return f"{int(number)}-01-01" if is_year else None if number <= 0 else text.strip()
    month = YEAR_AND_MONTH.fullmatch(text)
    return f"{month[1]}-{month[2]}-01" if month else text


def _iso_date(microseconds: float | None) -> str | None:
    try:
        moment = None if microseconds is None else EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return None
    if moment is None:
        return None
    has_time = moment.hour or moment.minute or moment.second
    return moment.replace(tzinfo=None).isoformat(timespec="seconds") if has_time else moment.date().isoformat()
