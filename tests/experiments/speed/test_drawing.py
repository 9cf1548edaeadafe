"""Plots of measurements: axes, labels and data, read from the figure before it is written."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from fansrec.evaluation.drawing import png
from fansrec.experiments.speed import drawing
from fansrec.experiments.speed.drawing import PANELS, TARGET, draw_ratio, draw_stages, draw_sweep
from fansrec.experiments.speed.latency import latency
from fansrec.experiments.speed.options import LatencyOptions

STAGE = {"backend": "native", "device": "cpu", "categories": 10}
STAGE |= {"layers_ms": 1.0, "items_ms": 2.0, "rest_ms": -0.1, "whole_ms": 2.9}
FANS = {"arm": "ours", "model": "fans", "variant": "paper", "backend": "native", "device": "cpu", "categories": 10}
BERT4REC = FANS | {"arm": "autoregressive", "model": "bert4rec", "backend": "torch"}


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Collects the figures that are written."""
    figures: list[Figure] = []

    def written(figure: Figure) -> bytes:
        figures.append(figure)
        return png(figure)

    monkeypatch.setattr(drawing, "png", written)
    return figures


def legend_of(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def swept(p50: float, **sizes: int) -> dict[str, Any]:
    spread = {"p50_ms": p50, "p50_low_ms": 0.9 * p50, "p50_high_ms": 1.2 * p50}
    return FANS | {"items": 100, "categories": 10, "k": 5, "batch": 1} | sizes | spread


def test_sweep_has_a_panel_per_size_with_its_rows_in_order(drawn: list[Figure], tmp_path: Path) -> None:
    rows = [swept(3.0, items=1000) | {"varies": "items"}, swept(2.0, items=100) | {"varies": "items"}]
    rows += [swept(8.0, batch=4) | {"varies": "batch"}]
    draw_sweep(rows, tmp_path / "sweep.png")
    panels = drawn[0].axes
    assert [axes.get_xlabel() for axes in panels] == list(PANELS.values())
    assert [axes.get_ylabel() for axes in panels] == ["ms per answer"] * 3 + ["ms per list"]
    assert all(axes.get_xscale() == axes.get_yscale() == "log" for axes in panels)
    (line,) = panels[0].lines
    assert line.get_label() == "fans ours (native, cpu)" and legend_of(panels[0]) == [line.get_label()]
    assert line.get_xydata().tolist() == [[100, 2.0], [1000, 3.0]]
    assert not panels[1].lines and not panels[2].lines
    assert panels[1].get_legend() is None  # which would warn that it is empty
    assert panels[3].lines[0].get_xydata().tolist() == [[4, 2.0]]  # per list of the batch


def test_sweep_band_spans_the_medians_of_the_repeats(drawn: list[Figure], tmp_path: Path) -> None:
    draw_sweep([swept(10.0, k=k) | {"varies": "k"} for k in (1, 2)], tmp_path / "sweep.png")
    (band,) = drawn[0].axes[2].collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((9.0, 12.0))


def test_ratio_divides_the_times_of_the_same_list(drawn: list[Figure], tmp_path: Path) -> None:
    rows = [FANS | {"call_ms": [2.0, 1.0], "call_k": [5, 20]}, BERT4REC | {"call_ms": [6.0, 14.0], "call_k": [5, 20]}]
    draw_ratio(rows, tmp_path / "ratio.png")
    (axes,) = drawn[0].axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == (
        "generated items k",
        "time of autoregressive BERT4Rec / time of FANS",
    )
    (points,) = axes.collections
    assert np.asarray(points.get_offsets()).tolist() == [[5, 3.0], [20, 14.0]]
    (target,) = axes.lines
    np.testing.assert_allclose(target.get_xydata(), [[0, 0], [20, TARGET * 20]])
    assert legend_of(axes) == ["fans ours (native, cpu), N=10", f"{TARGET} k"]
    assert (tmp_path / "ratio.png").read_bytes().startswith(b"\x89PNG")


def test_ratio_accepts_the_rows_of_the_latency_benchmark(drawn: list[Figure], tmp_path: Path) -> None:
    options = LatencyOptions(
        "aotm", items=60, categories=(3,), arms=("autoregressive", "ours"), lists=2, seconds=0, repeats=1
    )
    rows = latency(options)
    draw_ratio(rows, tmp_path / "ratio.png")
    ours = [row for row in rows if row["arm"] == "ours"]
    assert [row["variant"] for row in ours] == ["paper", "best"]
    for row, points in zip(ours, drawn[0].axes[0].collections, strict=True):
        assert np.asarray(points.get_offsets())[:, 0].tolist() == row["call_k"]


def test_ratio_has_no_points_without_autoregressive_rows_of_the_device(drawn: list[Figure], tmp_path: Path) -> None:
    ours = FANS | {"call_ms": [2.0], "call_k": [5]}
    draw_ratio([], tmp_path / "none.png")
    draw_ratio([ours, BERT4REC | {"device": "cuda", "call_ms": [6.0], "call_k": [5]}], tmp_path / "other.png")
    for figure in drawn:
        assert not any(len(points.get_offsets()) for points in figure.axes[0].collections)
        assert len(figure.axes[0].lines) == 1  # the target is always drawn


def test_stages_are_adjacent_shares_and_a_negative_one_is_empty(drawn: list[Figure], tmp_path: Path) -> None:
    other = STAGE | {"categories": 1, "layers_ms": 1.0, "items_ms": 2.0, "whole_ms": 4.0}
    other |= {"variant": "best", "parts_ms": 0.6, "rest_ms": 0.4}
    draw_stages([STAGE, other], tmp_path / "stages.png")
    (axes,) = drawn[0].axes
    bars = [(round(bar.get_y() + bar.get_height() / 2), bar.get_x(), bar.get_width()) for bar in axes.patches]
    shares = [(0, 0, 1 / 2.9), (0, 1 / 2.9, 2 / 2.9), *[(0, 3 / 2.9, 0)] * 2]
    shares += [(1, 0, 0.25), (1, 0.25, 0.5), (1, 0.75, 0.15), (1, 0.9, 0.1)]
    np.testing.assert_allclose(bars, shares)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["native, cpu, N=10", "hybrid, native, cpu, N=1"]
    assert axes.yaxis_inverted()  # the first row is on top
    assert legend_of(axes) == ["layers", "products over items", "memory, linear part", "rest"]
    assert axes.get_xlabel() == "share of the time of an answer"
