"""Times in columns: numbers (Unix seconds to nanoseconds, or dates like 20260131), ISO 8601 text, dates, datetimes."""

from dataclasses import dataclass

import polars as pl

from fansrec.data.boundaries import format_time
from fansrec.data.time_texts import ISO, unit_of

PLAUSIBLE = (31_536_000_000_000, 4_102_444_800_000_000)  # from 1971 to 2100


@dataclass(frozen=True)
class Times:
    """What a column of times holds."""

    kind: str  # for messages: "Unix seconds", "ISO 8601", …
    scale: float  # microseconds per unit of its numbers, 0 if they are dates like 20260131
    rows: int
    known: int  # rows with a time
    low: int  # microseconds since 1970
    high: int

    @property
    def plausible(self) -> bool:
        """Whether numbers are times of the last decades, and so not durations or positions."""
        return not self.kind.startswith("Unix") or (PLAUSIBLE[0] <= self.low and self.high <= PLAUSIBLE[1])

    @property
    def range(self) -> str:
        return f"{format_time(self.low)} to {format_time(self.high)}"


def measure_times(table: pl.LazyFrame, name: str) -> Times:
    """Read a column once: its unit, its range and how many of its rows have a time."""
    dtype = table.collect_schema()[name]
    number, text = _number(name, dtype), _iso(name, dtype)
    found = (
        table.select(
            pl.len().alias("rows"),
            number.count().alias("numbers"),
            number.min().alias("low"),
            number.max().alias("high"),
            text.count().alias("texts"),
            text.min().alias("first"),
            text.max().alias("last"),
        )
        .collect(engine="streaming")
        .row(0, named=True)
    )
    kind, scale = "ISO 8601", 1.0
    lows, highs = [found["first"]] if found["texts"] else [], [found["last"]] if found["texts"] else []
    if found["numbers"]:
        kind, scale = unit_of(found["low"], found["high"])
        convert = pl.DataFrame({"n": [float(found["low"]), float(found["high"])]}).select(_scaled(pl.col("n"), scale))
        ends = convert.to_series().fill_null(0).to_list()
        lows.append(ends[0])
        highs.append(ends[1])
    if dtype.is_temporal():
        kind = str(dtype).partition("(")[0].lower() + "s"
    known = found["numbers"] + found["texts"]
    return Times(kind, scale, found["rows"], known, min(lows, default=0), max(highs, default=0))


def microseconds(name: str, dtype: pl.DataType, scale: float) -> pl.Expr:
    """Return a column as microseconds since 1970 (Int64), null where it has no time; `scale` as in `Times`."""
    return pl.coalesce(_scaled(_number(name, dtype), scale), _iso(name, dtype))


def is_time_type(dtype: pl.DataType) -> bool:
    return dtype.is_numeric() or dtype == pl.String or dtype == pl.Date or isinstance(dtype, pl.Datetime)


def _number(name: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if dtype == pl.String:
        column = column.str.strip_chars().cast(pl.Float64, strict=False)
    elif not dtype.is_numeric():
        return pl.lit(None, pl.Float64)
    number = column.cast(pl.Float64)
    return pl.when(number.is_finite()).then(number)


def _scaled(number: pl.Expr, scale: float) -> pl.Expr:
    if scale:
        return (number * scale).round().cast(pl.Int64, strict=False)
    digits = number.cast(pl.Int64, strict=False).cast(pl.String)
    return digits.str.to_datetime("%Y%m%d", strict=False, time_unit="us").to_physical()


def _iso(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return dates, datetimes and ISO 8601 texts as microseconds; a time without an offset is UTC."""
    column = pl.col(name)
    if dtype == pl.Date:
        return column.cast(pl.Datetime("us")).to_physical()
    if isinstance(dtype, pl.Datetime):
        return column.cast(pl.Datetime("us", dtype.time_zone)).to_physical()
    if dtype != pl.String:
        return pl.lit(None, pl.Int64)
    day = column.str.extract(ISO, 1).str.replace_all("/", "-", literal=True)
    clock = column.str.extract(ISO, 2).fill_null("00:00:00").str.replace(",", ".", literal=True)
    moment = pl.concat_str(day, pl.lit(" "), clock)
    parsed = pl.coalesce(
        moment.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="us"),
        moment.str.to_datetime("%Y-%m-%d %H:%M", strict=False, time_unit="us"),
    )
    return parsed.to_physical() - _offset_minutes(column.str.extract(ISO, 3)) * 60_000_000


def _offset_minutes(offset: pl.Expr) -> pl.Expr:
    """Return the minutes of an offset such as +02:00; 0 for Z, UTC and none."""
    digits = offset.str.extract(r"^[+-](\d{2}(?::?\d{2})?)$", 1).str.replace(":", "", literal=True).str.pad_end(4, "0")
    minutes = digits.str.slice(0, 2).cast(pl.Int64) * 60 + digits.str.slice(2, 2).cast(pl.Int64)
    return pl.when(offset.str.starts_with("-")).then(-minutes).otherwise(minutes).fill_null(0)
