import logging

import pytest

from fansrec.engine.backends import open_engine
from fansrec.engine.interface import say_once
from fansrec.engine.native import backend as native_backend
from fansrec.errors import BadSetting
from fansrec.models.fans import Fans, FansConfig
from fansrec.models.registry import build

STARTS = (0, 20, 40)
FANS = Fans(FansConfig(STARTS, 30, width=16, heads=2, feedforward=32)).eval()
POPULARITY = build("popularity", {"category_starts": STARTS}).eval()


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    say_once.cache_clear()


@pytest.fixture
def no_kernel(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(native_backend, "missing", lambda: "the kernel was not built")
    return "the kernel was not built"


def test_the_fastest_that_knows_a_model_is_taken() -> None:
    assert native_backend.missing() is None  # a machine that tests fansrec has a compiler
    assert open_engine(FANS, 40).backend == "native"
    assert open_engine(FANS, 40, backend="native").backend == "native"
    assert open_engine(FANS, 40, backend="torch").backend == "torch"


def test_a_model_that_only_torch_knows_runs_there_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    assert open_engine(POPULARITY, 40).backend == "torch"
    assert caplog.records == []
    with pytest.raises(BadSetting, match="the native backend cannot run popularity here"):
        open_engine(POPULARITY, 40, backend="native")


def test_without_the_kernel_torch_runs_and_it_is_said_once(no_kernel: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "fansrec"):
        assert [open_engine(FANS, 40).backend for _ in range(3)] == ["torch"] * 3
    assert [record.message for record in caplog.records] == [f"{no_kernel}; using plain torch, which is slower"]


def test_asked_for_by_name_a_missing_kernel_is_refused(no_kernel: str) -> None:
    with pytest.raises(BadSetting, match=no_kernel):
        open_engine(FANS, 40, backend="native")


@pytest.mark.parametrize(
    ("backend", "said"), [("cuda", "does not run on cpu"), ("abacus", "there is no backend 'abacus'")]
)
def test_what_cannot_be_is_refused(backend: str, said: str) -> None:
    with pytest.raises(BadSetting, match=said):
        open_engine(FANS, 40, backend=backend)


def test_a_backend_that_cannot_be_opened_leaves_the_work_to_torch(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*given: object) -> None:
        raise RuntimeError("an old driver")

    monkeypatch.setattr(native_backend, "open_backend", fail)
    assert open_engine(FANS, 40).backend == "torch"
    assert "an old driver" in caplog.text
    with pytest.raises(BadSetting, match="an old driver"):
        open_engine(FANS, 40, backend="native")
