"""Changes as JSON and back."""

import json

import pytest

from fansrec.errors import BadInput
from fansrec.updating.changes import Change, RemoveList, SetItem, SetList
from fansrec.updating.records import from_json, to_json

CHANGES = [
    SetList("a", ("x", 7), "A title"),
    SetList("a", ("x",)),
    RemoveList("a"),
    SetItem(7),
    SetItem("x", "A name", "a group", "a category", "2026-01-31"),
]


@pytest.mark.parametrize("change", CHANGES, ids=repr)
def test_change_survives_json(change: Change) -> None:
    assert from_json(json.loads(json.dumps(to_json(change)))) == change


def test_record_has_one_key_and_no_empty_fields() -> None:
    assert [to_json(change) for change in CHANGES[1:4]] == [
        {"list": {"id": "a", "items": ["x"]}},
        {"remove": "a"},
        {"item": {"id": 7}},
    ]


@pytest.mark.parametrize(
    "record",
    [
        None, [], {}, "x", {"other": 1}, {"list": {"id": "a", "items": ["x"]}, "remove": "a"},
        {"list": None}, {"list": {"id": "a"}}, {"list": {"id": "a", "items": []}}, {"list": {"id": "a", "items": "xy"}},
        {"list": {"id": "a", "items": [1.5]}}, {"list": {"id": "a", "items": [True]}},
        {"list": {"id": 7, "items": ["x"]}}, {"list": {"id": "a", "items": ["x"], "more": 1}},
        {"remove": ""}, {"remove": "x" * 4097}, {"remove": "\ud800"},
        {"list": {"id": "", "items": ["x"]}}, {"list": {"id": "a", "items": [""]}},
        {"list": {"id": "a", "items": ["\ud800"]}}, {"list": {"id": "a", "items": ["x"], "title": 5}},
        {"remove": None}, {"remove": 5}, {"item": {}}, {"item": {"id": None}}, {"item": {"id": "x", "name": 5}},
        {"item": {"id": "x", "date": "soon"}}, {"item": {"id": "x" * 5000}},
    ],
    ids=repr,
)  # fmt: skip
def test_other_records_are_refused(record: object) -> None:
    with pytest.raises(BadInput):
        from_json(record)
