"""The device of a training run lasts as long as its call."""

import os
from pathlib import Path

import pytest
import torch
from accelerate import PartialState

import fansrec
from fansrec.errors import BadSetting
from fansrec.models.linear.ease import fastest
from fansrec.training.devices import ONLY_CPU, training_device
from fansrec.training.process import has_only_cpu
from worlds import MINUTE, write_walks


@pytest.mark.parametrize("before", [None, "false"])
def test_cpu_is_used_within_the_call_only(monkeypatch: pytest.MonkeyPatch, before: str | None) -> None:
    monkeypatch.delenv(ONLY_CPU, raising=False)
    if before is not None:
        monkeypatch.setenv(ONLY_CPU, before)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert not has_only_cpu() and fastest().type == "cuda"
    outside = dict(PartialState._shared_state)
    with training_device("cpu"):
        assert has_only_cpu() and fastest().type == "cpu"
        assert PartialState(cpu=has_only_cpu()).device.type == "cpu"
    assert PartialState._shared_state == outside
    assert os.environ.get(ONLY_CPU) == before and fastest().type == "cuda"


def test_model_is_trained_on_the_given_device(tmp_path: Path) -> None:
    corpus = write_walks(tmp_path / "corpus")
    settings = {**MINUTE, "recipe": "paper"}
    assert fansrec.train(corpus, tmp_path / "run", "fans", settings, device="cpu").model == "fans"
    with pytest.raises(BadSetting, match="there is no device abacus here; leave out device, or give cpu"):
        fansrec.train(corpus, tmp_path / "other", "fans", settings, device="abacus")
    assert not (tmp_path / "other").exists()
