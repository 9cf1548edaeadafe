"""Model folders changed at random and sealed again: refused in one line, or answered right; see fuzzing.py."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hostile.asking import Asker
from hostile.fuzzing import Fuzzer
from sanitizers import environment

FEW, MANY = 50, 2500


def test_changed_folders_are_refused_or_answered_right(tmp_path: Path) -> None:
    asker = Asker()
    try:
        fuzzer = Fuzzer(tmp_path, asker)
        assert fuzzer.faults(range(FEW)) == []
        assert fuzzer.outcomes["refused"] > FEW / 4 and fuzzer.outcomes["answered"] > FEW / 10
    finally:
        asker.close()


@pytest.fixture
def sanitized_asker(sanitized: Path) -> Iterator[Asker]:
    asker = Asker(environment(sanitized))
    yield asker
    asker.close()


@pytest.mark.long
def test_thousands_of_changed_folders_cause_no_memory_error(tmp_path: Path, sanitized_asker: Asker) -> None:
    """Every access of the native kernel is checked by the sanitizers."""
    fuzzer = Fuzzer(tmp_path, sanitized_asker)
    assert fuzzer.faults(range(1000, 1000 + MANY)) == []
    print(f"{MANY} mutations: {dict(fuzzer.outcomes)}")
