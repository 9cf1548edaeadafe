"""Every model can be trained, evaluated and used on the command line."""

import json
from pathlib import Path

import pytest

from cli.conftest import Fans
from fansrec.models.registry import names
from fansrec.training.settings import known_names
from worlds import MINUTE, write_walks


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_walks(tmp_path_factory.mktemp("world") / "corpus", lists=40)


@pytest.mark.parametrize("model", names())
def test_model_can_be_trained_evaluated_and_used(fans: Fans, corpus: Path, model: str, tmp_path: Path) -> None:
    run = str(tmp_path / "run")
    tiny = [f"{name}={value}" for name, value in MINUTE.items() if name in known_names(model)]
    code, out, err = fans("train", str(corpus), "--out", run, "--model", model, *(["--set", *tiny] if tiny else []))
    assert (code, err) == (0, "")
    assert ("masked" in out) == (model in ("fans", "bert4rec-nar"))  # only these mask a target
    code, _, err = fans("evaluate", run, "--corpus", str(corpus), "--json", str(tmp_path / "rows.json"))
    assert code == 0, err
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert [row["protocol"] for row in rows] == ["standard", "paper"]
    assert {row["model"] for row in rows} == {model}
    code, out, _ = fans("continue", run, "i3", "i4", "-k", "5")
    assert code == 0
    assert len(set(out.split())) == 5
