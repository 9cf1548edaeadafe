"""The structures of the native kernel and of Python have the same fields at the same offsets."""

import subprocess
from ctypes import Structure
from pathlib import Path
from typing import Any

import pytest

from fansrec.engine.native import library as native_library
from fansrec.engine.native.compile import HERE, find_compiler
from fansrec.engine.native.library import OutdatedKernel, library, missing
from fansrec.engine.native.structures import LAYOUT, Call, layout_assertions

pytestmark = pytest.mark.usefixtures("native_kernel")


def test_kernel_reports_the_layout_that_it_was_compiled_with() -> None:
    assert library().fans_layout().decode() == LAYOUT


@pytest.mark.parametrize(
    ("fields", "message"),
    [([1, 0, *range(2, 17)], "Call, mode"), (range(16), "Call")],
    ids=["swapped fields of the same size", "a missing field"],
)
def test_compilation_fails_if_a_structure_has_another_layout(fields: Any, message: str, tmp_path: Path) -> None:
    other = type("Call", (Structure,), {"_fields_": [Call._fields_[field] for field in fields]})
    source = tmp_path / "layout.cpp"
    for assertions, succeeds in ((layout_assertions([Call]), True), (layout_assertions([other]), False)):
        source.write_text(f'#include "call.h"\n{assertions}')
        command = [*str(find_compiler()).split(), "-std=c++17", "-fsyntax-only", f"-I{HERE}", str(source)]
        compiled = subprocess.run(command, capture_output=True, text=True)
        assert (compiled.returncode == 0) is succeeds
    assert message in compiled.stderr


@pytest.mark.parametrize("missing_function", [True, False], ids=["too old to report it", "another layout"])
def test_kernel_with_another_layout_is_not_used(missing_function: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if missing_function:
        monkeypatch.setitem(native_library.FUNCTIONS, "fans_unknown", (None, ()))
    else:
        monkeypatch.setattr(native_library, "LAYOUT", "another")
    monkeypatch.setattr(native_library, "library", library.__wrapped__)
    assert "compile it again" in str(missing())
    with pytest.raises(OutdatedKernel, match="of another version"):
        library.__wrapped__()
