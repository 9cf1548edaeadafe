import gzip
import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from fansrec.data.item_details import read_details
from fansrec.errors import BadInput

ROWS = [
    {"item": "1", "title": 'Say "Hey"', "artist": "Ann", "category": "rock"},
    {"item": "2", "title": "Größe", "artist": None, "category": None},
    {"item": "9", "title": "Not in any list", "artist": "Bob", "category": "jazz"},
]


def sources(folder: Path) -> list[Any]:
    table = pl.DataFrame(ROWS)
    table.write_csv(folder / "items.csv")
    table.write_parquet(folder / "items.parquet")
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    (folder / "items.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    tsv = 'id\tname\tgroup\tcategory\n1\tSay "Hey"\tAnn\trock\n2\tGröße\t\t\n'
    (folder / "items.tsv").write_text(tsv, encoding="utf-8")
    numbered = pl.DataFrame(ROWS).with_columns(pl.col("item").cast(pl.Int64))
    return [*sorted(folder.iterdir()), table, numbered, pd.DataFrame(ROWS)]


def test_all_formats_give_the_same_details(tmp_path: Path) -> None:
    for source in sources(tmp_path):
        details = read_details(source, ["1", "2", "3"])
        assert details.names == {"1": 'Say "Hey"', "2": "Größe"}
        assert details.groups == {"1": "Ann"}
        assert details.categories == {"1": "rock"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("thing,title\n1,a\n", "no column item or id"),
        ("item,title\n1,a\n1,b\n", "with an item that occurs before"),
        ("item,title\n77,a\n", "contains none of the items"),
        ("item,title\n", "contains none of the items"),
        ("", "is empty"),
    ],
)
def test_bad_items_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "items.csv"
    path.write_text(text)
    with pytest.raises(BadInput, match=message):
        read_details(path, ["1"])
