"""Randomly changed model folders are refused in one line or answered correctly; see fuzzing.py."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hostile.command_server import CommandServer
from hostile.fuzzing import Fuzzer
from sanitizers import environment

FEW, MANY = 50, 2500


def test_changed_folders_are_refused_or_answered_correctly(tmp_path: Path) -> None:
    server = CommandServer()
    try:
        fuzzer = Fuzzer(tmp_path, server)
        assert fuzzer.faults(range(FEW)) == []
        assert fuzzer.outcomes["refused"] > FEW / 4 and fuzzer.outcomes["answered"] > FEW / 10
    finally:
        server.close()


@pytest.fixture
def sanitized_server(sanitized: Path) -> Iterator[CommandServer]:
    server = CommandServer(environment(sanitized))
    yield server
    server.close()


@pytest.mark.long
def test_thousands_of_changed_folders_cause_no_memory_error(tmp_path: Path, sanitized_server: CommandServer) -> None:
    """Every access of the native kernel is checked by the sanitizers."""
    fuzzer = Fuzzer(tmp_path, sanitized_server)
    assert fuzzer.faults(range(1000, 1000 + MANY)) == []
    print(f"{MANY} mutations: {dict(fuzzer.outcomes)}")
