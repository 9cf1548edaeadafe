"""JSON lines of items and lists."""

import json

from hypothesis import given
from hypothesis import strategies as st

from fansrec.vocabulary.json_lines import json_lines

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(st.dictionaries(TEXT, TEXT | st.integers())))
def test_lines_are_those_of_the_json_module(rows: list[dict[str, str | int]]) -> None:
    expected = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    assert json_lines(rows) == expected.encode()
