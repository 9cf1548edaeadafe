from pathlib import Path

from fansrec.bench.drawing import draw_ratio, draw_stages
from fansrec.bench.latency import Asked, latency

STAGE = {"backend": "native", "device": "cpu", "categories": 10}
STAGE |= {"layers_ms": 1.0, "items_ms": 2.0, "rest_ms": -0.1, "whole_ms": 2.9}


def test_the_ratio_is_drawn_list_by_list(tmp_path: Path) -> None:
    asked = Asked("aotm", items=60, categories=(3,), arms=("autoregressive", "ours"), lists=2, seconds=0, repeats=1)
    draw_ratio(latency(asked), tmp_path / "ratio.png")
    assert (tmp_path / "ratio.png").read_bytes().startswith(b"\x89PNG")


def test_rows_without_one_by_one_generation_are_drawn_without_points(tmp_path: Path) -> None:
    draw_ratio([], tmp_path / "ratio.png")
    assert (tmp_path / "ratio.png").is_file()


def test_a_stage_below_nothing_is_drawn_as_nothing(tmp_path: Path) -> None:
    draw_stages([STAGE], tmp_path / "stages.png")
    assert (tmp_path / "stages.png").is_file()
