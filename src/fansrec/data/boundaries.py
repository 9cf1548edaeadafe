"""Where the parts of a split by time begin: shares of the lists, or dates."""

from datetime import UTC, date, datetime, timedelta

from fansrec.errors import BadSetting

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EXAMPLES = "two shares such as 0.8,0.9 or two dates such as 2026-01-01,2026-02-01"

Boundary = float | str


def parse_boundaries(text: str) -> tuple[float, float] | tuple[str, str]:
    """Return the boundaries in the text of `--split-at`."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2:
        raise BadSetting(f"--split-at {text} must be {EXAMPLES}: where the validation and the test part begin")
    try:
        return float(parts[0]), float(parts[1])
    except ValueError:
        return parts[0], parts[1]


def as_boundaries(value: object) -> tuple[float, float] | tuple[str, str] | None:
    """Return boundaries given in Python: a text as on the command line, or two shares, texts, dates or datetimes."""
    if value is None:
        return None
    if isinstance(value, str):
        return parse_boundaries(value)
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise BadSetting(f"--split-at {value!r:.60} must be {EXAMPLES}")
    first, second = (part.isoformat() if isinstance(part, date) else part for part in value)
    return (first, second)


def check_boundaries(at: tuple[Boundary, Boundary]) -> None:
    """Raise BadSetting unless these are two shares between 0 and 1, or two dates, in ascending order."""
    shown = ",".join(map(str, at))
    if all(isinstance(part, int | float) and not isinstance(part, bool) for part in at):
        valid = 0 < float(at[0]) < float(at[1]) < 1
        problem = "shares must be ascending and between 0 and 1"
    elif all(isinstance(part, str) for part in at):
        valid = microseconds(str(at[0])) < microseconds(str(at[1]))
        problem = "the first date must be before the second"
    else:
        valid, problem = False, "both must be shares or both dates"
    if not valid:
        raise BadSetting(f"--split-at {shown}: {problem}; give {EXAMPLES}")


def microseconds(text: str) -> int:
    """Return an ISO 8601 date or time as microseconds since 1970; without an offset it is UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadSetting(f"--split-at: {text!r:.40} is neither a share nor a date; give {EXAMPLES}") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // timedelta(microseconds=1)


def format_time(value: int) -> str:
    """Return microseconds since 1970 as ISO 8601 text: a date at midnight, else with the time of the day."""
    try:
        moment = EPOCH + timedelta(microseconds=int(value))
    except OverflowError:
        return str(value)
    if moment.time() == datetime.min.time():
        return moment.date().isoformat()
    return moment.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
