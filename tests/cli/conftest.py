"""The command line, called as a user does."""

from collections.abc import Callable

import pytest

from fansrec.cli import main

Fans = Callable[..., tuple[int, str, str]]


@pytest.fixture
def fans(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Fans:
    """Runs `fans …` and returns exit code, output and errors."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["fans", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main.run()
        captured = capsys.readouterr()
        return int(end.value.code or 0), captured.out, captured.err

    return run
