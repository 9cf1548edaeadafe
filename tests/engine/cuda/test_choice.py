"""The automatic choice of a backend on a GPU."""

from types import SimpleNamespace
from typing import Any

import pytest

from engine.native.test_hybrid import ITEMS, hybrid_model
from fansrec.engine import backends
from fansrec.engine.backends import open_engine
from fansrec.engine.cuda import backend as cuda_backend
from fansrec.engine.interface import warn_once
from fansrec.models.fans import Fans
from fansrec.models.sequence.config import FansConfig


def test_kernels_are_chosen_where_they_can_run_a_model(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    warn_once.cache_clear()
    kernels: Any = "the kernels"
    monkeypatch.setattr(cuda_backend, "missing", lambda: None)
    monkeypatch.setattr(cuda_backend, "open_backend", lambda model, items, mode: kernels)
    monkeypatch.setattr(backends, "on_device", lambda model, device: model)
    monkeypatch.setattr(backends, "torch_engine", lambda *arguments: SimpleNamespace(backend="torch"))
    hybrid: Any = hybrid_model(width=64, heads=4, feedforward=256)
    assert open_engine(hybrid, ITEMS, "cuda") == kernels
    assert open_engine(Fans(FansConfig((0, 20, 40), 30)), 40, "cuda") == kernels
    narrow: Any = hybrid_model(width=32, heads=4, feedforward=256)
    assert open_engine(narrow, ITEMS, "cuda").backend == "torch"
    assert "using plain torch" in caplog.text
