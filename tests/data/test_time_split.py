"""The split by time."""

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fansrec
from fansrec.data.corpus import read_corpus
from fansrec.data.settings import Preparation
from fansrec.data.splitting import split_by_time
from fansrec.errors import BadInput, BadSetting

DAY = 86_400_000_000
SMALL: dict[str, Any] = {"min_item_count": 1, "min_length": 2, "categories": 1}


def daily(lists: int = 20) -> pl.DataFrame:
    """Return lists in shuffled order; list n starts on day n of 2026 and ends a hundred days later."""
    days = np.random.default_rng(0).permutation(lists).tolist()
    rows = [(f"l{n}", item, date(2026, 1, 1).toordinal() + n + 100 * at) for n in days for at, item in enumerate("ab")]
    table = pl.DataFrame(rows, schema=["list", "item", "day"], orient="row")
    ordinals = table["day"] - date(1970, 1, 1).toordinal()
    return table.drop("day").with_columns(ordinals.cast(pl.Int32).cast(pl.Date).alias("date"))


def parts(folder: Path) -> list[int]:
    return read_corpus(folder).parts.tolist()


def test_shares_put_the_newest_lists_into_the_test_part(tmp_path: Path) -> None:
    summary = fansrec.prepare(daily(), tmp_path / "corpus", split="time", **SMALL)
    days = [int(id_[1:]) for id_ in daily()["list"].unique(maintain_order=True)]
    assert parts(tmp_path / "corpus") == [0 if day < 16 else 1 if day < 18 else 2 for day in days]
    assert summary["splits"] == {"train": 16, "valid": 2, "test": 2}
    assert summary["split"] == {
        "by": "time", "list_time": "latest", "valid_from": "2026-04-27", "test_from": "2026-04-29",
    }  # fmt: skip


@pytest.mark.parametrize("at", ["2026-01-06,2026-01-16", (date(2026, 1, 6), "2026-01-16T00:00:00Z")])
def test_dates_are_compared_with_the_first_time_if_requested(tmp_path: Path, at: Any) -> None:
    summary = fansrec.prepare(daily(), tmp_path / "corpus", split="time", split_at=at, split_time="first", **SMALL)
    assert summary["splits"] == {"train": 5, "valid": 10, "test": 5}
    assert (summary["split"]["list_time"], summary["split"]["valid_from"]) == ("first", "2026-01-06")


def test_lists_of_the_same_time_stay_together() -> None:
    times = np.repeat(np.arange(7), 3) * DAY
    found = split_by_time(times, Preparation(split="time"))
    assert all(len(set(found[times == time])) == 1 for time in times)
    assert np.bincount(found).tolist() == [15, 3, 3]


def test_position_orders_the_items_of_a_split_by_time(tmp_path: Path) -> None:
    table = daily().with_columns(pl.Series("pos", [2, 1] * 20))
    fansrec.prepare(table, tmp_path / "corpus", split="time", **SMALL)
    corpus = read_corpus(tmp_path / "corpus")
    assert [corpus.vocabulary.ids[item] for item in corpus.list(0)] == ["b", "a"]
    assert np.bincount(corpus.parts).tolist() == [16, 2, 2]


@pytest.mark.parametrize(
    ("source", "settings", "message"),
    [
        (
            daily().drop("date"),
            {},
            r"needs a time for every list, and there is no column of times \(columns: list, item",
        ),
        ([["a", "b"]] * 20, {}, "plain lists have no column"),
        (pl.DataFrame({"items": [["a", "b"]] * 20}), {}, "needs a time for every list"),
        (daily(), {"split_at": "2027-01-01,2027-02-01"}, r"leaves a part without lists \(train 20, valid 0, test 0\)"),
        (daily(), {"split_at": "0.9,0.8"}, "shares must be ascending"),
        (daily(), {"split_at": "soon,later"}, "'soon' is neither a share nor a date"),
        (daily(), {"split_at": "2026-01-01"}, "must be two shares such as"),
        (daily(), {"split_at": (0.5, "2026-01-01")}, "both must be shares or both dates"),
        (daily(), {"split_by": "list"}, "split.by assigns groups at random and excludes .*split time"),
        (daily(), {"split": "random", "split_at": "0.5,0.6"}, "split.at needs .*split time"),
    ],
)
def test_splits_that_are_not_possible_are_refused(
    tmp_path: Path, source: Any, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises((BadInput, BadSetting), match=message):
        fansrec.prepare(source, tmp_path / "corpus", **{"split": "time", **SMALL, **settings})


def test_other_splits_are_described_in_the_summary(tmp_path: Path) -> None:
    for name, settings, split in (
        ("a", {}, {"by": "random", "seed": 0}),
        ("b", {"split_by": "list"}, {"by": "group", "column": "list", "seed": 0}),
        ("c", {"split": "file-order"}, {"by": "file order"}),
    ):
        source = daily(60).drop("date")
        assert fansrec.prepare(source, tmp_path / name, **SMALL, **settings)["split"] == split  # type: ignore[arg-type]
