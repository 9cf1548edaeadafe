"""`fans serve` as a command: what it refuses before it listens. What it serves is tested in tests/serving."""

import inspect
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fansrec.cli.serve import serve
from fansrec.serving.settings import Settings

FANS = Path(sys.executable).parent / "fans"


def refused(*arguments: object, **variables: str) -> str:
    """Return the one line that `fans …` prints on stderr when it exits with 2."""
    done = subprocess.run(
        [FANS, *map(str, arguments)], capture_output=True, text=True, timeout=300, env={"PATH": "/bin"} | variables
    )
    assert (done.returncode, done.stdout) == (2, "")
    messages = [line for line in done.stderr.splitlines() if not line.startswith("{")]  # the rest is its log
    assert len(messages) == 1 and messages[0].startswith("fans: ")
    return messages[0]


def test_defaults_in_the_help_equal_those_of_the_settings() -> None:
    defaults = {}
    for name, parameter in inspect.signature(serve).parameters.items():
        help_ = parameter.annotation.__metadata__[0].help
        if found := re.search(r"\[([\w.]+)\]$", help_):
            defaults[name] = found.group(1)
    assert {"host", "port", "max_lists", "max_k", "timeout_ms", "log_level"} <= {*defaults}
    assert {name: str(Settings.model_fields[name].default) for name in defaults} == defaults


def test_every_flag_is_a_setting() -> None:
    of_ray = {"engine", "address", "replicas", "status", "reload", "stop"}
    assert {*inspect.signature(serve).parameters} - {"config"} - of_ray <= {*Settings.model_fields}


def test_what_is_no_model_is_refused_with_one_line(tmp_path: Path) -> None:
    assert "is not a trained model" in refused("serve", tmp_path, "--port", 0)


def test_the_address_of_a_cluster_in_the_environment_is_no_word_for_one_machine(tmp_path: Path) -> None:
    assert "is not a trained model" in refused("serve", tmp_path, "--port", 0, RAY_ADDRESS="127.0.0.1:9")


def test_a_way_the_model_cannot_answer_in_is_refused(songs: Path) -> None:
    assert "autoregressive" in refused("serve", f"{songs / 'run'}@autoregressive", "--port", 0)


def test_the_world_is_refused_without_keys(songs: Path) -> None:
    assert "--keys" in refused("serve", songs / "run", "--host", "0.0.0.0", "--port", 0)
    assert "cannot be read" in refused("serve", songs / "run", "--keys", songs / "none", "--port", 0)


def test_a_port_in_use_and_an_address_of_elsewhere_are_refused(songs: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "cannot listen on" in refused("serve", songs / "run", "--port", taken.getsockname()[1])
    assert "cannot listen on" in refused("serve", songs / "run", "--host", "192.0.2.1", "--without-keys")


@pytest.mark.parametrize("variable", ["FANS_PROT", "FANS_MAX_LIST"])
def test_a_misspelt_variable_is_refused(songs: Path, variable: str) -> None:
    assert variable in refused("serve", songs / "run", **{variable: "1"})
