import logging

import pytest

from fansrec.engine.backends import open_engine
from fansrec.engine.interface import warn_once
from fansrec.engine.native import backend as native_backend
from fansrec.errors import BadSetting
from fansrec.models.fans import Fans, FansConfig
from fansrec.models.registry import build

STARTS = (0, 20, 40)
FANS = Fans(FansConfig(STARTS, 30, width=16, heads=2, feedforward=32)).eval()
MARKOV = build("markov", {"category_starts": STARTS}).eval()


@pytest.fixture(autouse=True)
def reset_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    warn_once.cache_clear()


@pytest.fixture
def no_kernel(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(native_backend, "missing", lambda: "the kernel was not built")
    return "the kernel was not built"


def test_auto_selects_the_fastest_backend() -> None:
    assert native_backend.missing() is None  # a machine that tests fansrec has a compiler
    assert open_engine(FANS, 40).backend == "native"
    assert open_engine(FANS, 40, backend="native").backend == "native"
    assert open_engine(FANS, 40, backend="torch").backend == "torch"


def test_model_that_only_torch_supports_runs_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert open_engine(MARKOV, 40).backend == "torch"
    assert caplog.records == []
    with pytest.raises(BadSetting, match="cannot run markov here: .*does not know.*; choose backend torch or auto"):
        open_engine(MARKOV, 40, backend="native")


def test_missing_kernel_falls_back_to_torch_with_one_warning(no_kernel: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "fansrec"):
        assert [open_engine(FANS, 40).backend for _ in range(3)] == ["torch"] * 3
    assert [record.message for record in caplog.records] == [f"{no_kernel}; using plain torch, which is slower"]


def test_requested_backend_without_kernel_is_refused(no_kernel: str) -> None:
    with pytest.raises(BadSetting, match=no_kernel):
        open_engine(FANS, 40, backend="native")


@pytest.mark.parametrize(
    ("backend", "message"), [("cuda", "does not run on cpu"), ("abacus", "there is no backend 'abacus'")]
)
def test_unknown_or_unsuitable_backend_is_refused(backend: str, message: str) -> None:
    with pytest.raises(BadSetting, match=message):
        open_engine(FANS, 40, backend=backend)


def fail_to_open(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(native_backend, "open_backend", fail)


@pytest.mark.parametrize(
    "error", [RuntimeError("CUDA: an old driver (35)"), OSError("an old driver"), BadSetting("an old driver")], ids=repr
)
def test_device_errors_fall_back_to_torch_with_a_warning(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fail_to_open(monkeypatch, error)
    assert open_engine(FANS, 40).backend == "torch"
    assert "an old driver" in caplog.text
    with pytest.raises(BadSetting, match="an old driver"):
        open_engine(FANS, 40, backend="native")


@pytest.mark.parametrize("error", [AttributeError("a bug"), TypeError("a bug"), RuntimeError("a bug")], ids=repr)
def test_bugs_do_not_fall_back(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_to_open(monkeypatch, error)
    with pytest.raises(type(error), match="a bug"):
        open_engine(FANS, 40)
