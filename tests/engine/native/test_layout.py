"""The structures of the native kernel and of Python have the same fields at the same offsets."""

import ctypes
from ctypes import Structure
from typing import Any

import pytest

from fansrec.engine.native import library as native_library
from fansrec.engine.native.library import OutdatedKernel, kernel_layout, layout_differences, library, missing
from fansrec.engine.native.structures import STRUCTURES, Call, ItemVectors

pytestmark = pytest.mark.usefixtures("native_kernel")


def changed(kind: type[Structure], fields: list[Any]) -> dict[str, type[Structure]]:
    """Return all structures, one of them with other fields."""
    return STRUCTURES | {kind.__name__: type(kind.__name__, (Structure,), {"_fields_": fields})}


def test_every_field_has_the_offset_and_size_of_the_kernel() -> None:
    layout = kernel_layout(library())
    assert {structure for structure, *_ in layout} == set(STRUCTURES)
    assert layout_differences(layout) == []


def test_swapped_fields_are_noticed() -> None:
    fields = list(Call._fields_)
    fields[0], fields[1] = fields[1], fields[0]  # the same size as before
    structures = changed(Call, fields)
    assert ctypes.sizeof(structures["Call"]) == ctypes.sizeof(Call)
    assert layout_differences(kernel_layout(library()), structures) == ["Call.mode", "Call.threads"]


def test_missing_and_resized_fields_are_noticed() -> None:
    layout = kernel_layout(library())
    assert layout_differences(layout, changed(Call, list(Call._fields_[:-1]))) == ["Call.", "Call.answer_lengths"]
    resized = [(name, ctypes.c_double if name == "longest" else kind) for name, kind in ItemVectors._fields_]
    assert layout_differences(layout, changed(ItemVectors, resized)) == ["ItemVectors.longest"]  # there was padding


@pytest.mark.parametrize("layout", [[], [("Call", "mode", 8, 8)]], ids=["too old to report it", "another offset"])
def test_kernel_with_another_layout_is_not_used(layout: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_library, "kernel_layout", lambda loaded: layout)
    monkeypatch.setattr(native_library, "library", library.__wrapped__)
    assert "compile it again" in str(missing())
    with pytest.raises(OutdatedKernel, match="of another version"):
        library.__wrapped__()
