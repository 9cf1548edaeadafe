"""URLs are refused where a command works with local folders, which `Path` would make of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Fans = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("train s3://a/b --out run", "s3://a/b"),
        ("train corpus --out s3://a/b", "--out s3://a/b"),
        ("prepare lists.jsonl --out s3://a/b", "--out s3://a/b"),
        ("prepare lists.jsonl --out corpus --items gs://a/b", "--items gs://a/b"),
        ("evaluate s3://a/b --corpus corpus", "s3://a/b"),
        ("evaluate run --corpus s3://a/b", "--corpus s3://a/b"),
        ("evaluate run --corpus corpus --json s3://a/b.json", "--json s3://a/b.json"),
        ("continue s3://a/b item", "s3://a/b"),
        ("export s3://a/b --out model.onnx", "s3://a/b"),
        ("export run --out s3://a/b", "--out s3://a/b"),
        ("compare s3://a/b", "s3://a/b"),
        ("compare corpus --out file:///a/b", "--out file:///a/b"),
        ("tune s3://a/b --out tuned", "s3://a/b"),
        ("tune corpus --out s3://a/b", "--out s3://a/b"),
        ("crossval s3://a/b", "s3://a/b"),
        ("crossval corpus --out s3://a/b", "--out s3://a/b"),
        ("serve s3://a/b", "s3://a/b"),
        ("serve name=s3://a/b", "s3://a/b"),
        ("data describe s3://a/b", "s3://a/b"),
        ("data fetch aotm --to s3://a/b", "--to s3://a/b"),
        ("demo --out s3://a/b", "--out s3://a/b"),
        ("reproduce table1 --out s3://a/b", "--out s3://a/b"),
        ("bench latency --json s3://a/b", "--json s3://a/b"),
    ],
)
def test_url_instead_of_a_local_path_is_refused_and_nothing_is_written(
    fans: Fans, tmp_path: Path, arguments: str, named: str
) -> None:
    code, _, error = fans(*arguments.split())
    assert code == 2
    assert error.startswith(f"fans: {named} is a URL; give a local path") and "--engine ray" in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_source_of_prepare_may_be_a_url_with_ray(fans: Fans) -> None:
    code, _, error = fans("prepare", "s3://a/b", "--out", "corpus")
    assert code == 2
    assert "s3://a/b is a URL, which needs --engine ray; add it" in error


@pytest.mark.parametrize("order", [["--engine", "ray", "--out", "s3://a/b"], ["--out", "s3://a/b", "--engine", "ray"]])
def test_ray_decides_about_urls_itself(fans: Fans, order: Any) -> None:
    """The next check refuses this call, so no cluster is started."""
    _, _, error = fans("train", "corpus", *order, "--device", "cpu")
    assert "--device has no effect with --engine ray" in error


def test_local_path_with_a_colon_is_not_a_url(fans: Fans) -> None:
    code, _, error = fans("evaluate", "run", "--corpus", "C:/corpus")
    assert code == 2
    assert "is a URL" not in error
