"""Dates of items: ISO 8601 text in files, days since 1970 as numbers."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def day_of(date: str) -> float:
    """Return ISO 8601 text as days since 1970; text without an offset is UTC. Raises ValueError for other text."""
    moment = datetime.fromisoformat(date)
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH) / DAY


def days_of(dates: Iterable[str | None]) -> NDArray[np.float64]:
    """Return the day of each date, NaN where there is none; the same text is parsed once."""
    days: dict[str | None, float] = {None: np.nan}
    return np.array([days[date] if date in days else days.setdefault(date, day_of(str(date))) for date in dates])
