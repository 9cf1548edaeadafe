"""Messages name parameters as flags on the command line, and by their names in Python."""

import pickle
from pathlib import Path

import pytest

import fansrec
from fansrec.errors import BadSetting, FansError, Interrupted


@pytest.mark.parametrize(
    ("message", "in_python"),
    [
        ("--min-length must be 2 or more", "min_length must be 2 or more"),
        ("-k is 0; ask for at least one item", "k is 0; ask for at least one item"),
        ("continue with the same command and --resume", "continue with the same command and resume=True"),
        ("run `fans data fetch NAME --to DIR`", "run `fans data fetch NAME --to DIR`"),
        ("unknown: '--odd-item', 'b'", "unknown: '--odd-item', 'b'"),
        ("the model's items (--items) and the user's", "the model's items (items) and the user's"),
        ("a--b /tmp/--out well-known -kind", "a--b /tmp/--out well-known -kind"),
    ],
)
def test_message_names_parameters_as_the_caller_does(message: str, in_python: str) -> None:
    error = BadSetting(message)
    assert (str(error), error.on_command_line) == (in_python, message)
    assert pickle.loads(pickle.dumps(error)).on_command_line == message  # noqa: S301


def test_error_without_a_message_is_empty() -> None:
    assert str(Interrupted()) == FansError().on_command_line == ""


def test_functions_name_their_parameters(songs: Path, tmp_path: Path) -> None:
    model = fansrec.load(songs / "run")
    with pytest.raises(BadSetting, match="^k is 0; ask for at least one"):
        model.continue_lists([["i1"]], k=0)
    with pytest.raises(BadSetting, match="^max_per_group is 0"):
        model.continue_lists([["i1"]], max_per_group=0)
    with pytest.raises(BadSetting, match="choose another device, or backend auto"):
        fansrec.load(songs / "run", backend="cuda")
    with pytest.raises(BadSetting, match="give force=True to replace it"):
        fansrec.train(songs / "corpus", songs / "run", "popularity")
    with pytest.raises(BadSetting, match="give force=True to replace it"):
        fansrec.prepare([["a", "b"]], songs / "corpus")
    with pytest.raises(BadSetting, match="^format is 'pmml'"):
        fansrec.export(songs / "run", tmp_path / "model", format="pmml")
