"""Figures of the report beside values that were computed by hand or that are known."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from fansrec.evaluation.bootstrap import RESAMPLES
from fansrec.evaluation.traffic.intervals import bounds, resampled_shares, wilson
from fansrec.evaluation.traffic.report import report
from fansrec.evaluation.traffic.tables import print_report


def shown(model: str, count: int, client: str | None = None) -> dict[str, Any]:
    return {"type": "shown", "model": model, "count": count, "client": client}


def decided(type: str, model: str, position: int | None, client: str | None = None) -> dict[str, Any]:
    return {"type": type, "model": model, "item": "s1", "position": position, "client": client}


STORY = [
    shown("a", 3, "u1"),
    decided("accepted", "a", 1, "u1"),
    decided("played", "a", 1, "u1"),
    decided("skipped", "a", 2, "u1"),
    shown("a", 2, "u2"),
    shown("b", 5, "u3"),
    decided("accepted", "b", 4, "u3"),
    decided("accepted", "b", None, "u3"),
]


def test_acceptance_is_accepted_items_of_those_that_were_shown() -> None:
    found = report(STORY)
    a, b = found["models"]
    assert (found["events"], found["clients"], found["basis"]) == (8, 3, "shown")
    assert a["events"] == {"shown": 2, "accepted": 1, "skipped": 1, "played": 1} and a["clients"] == 2
    assert (a["shown"], a["accepted"], a["skipped"], a["played"], a["acceptance"]) == (5, 1, 1, 1, 0.2)
    assert (b["shown"], b["accepted"], b["acceptance"]) == (5, 2, 0.4)
    assert a["interval"] == pytest.approx([0.03622, 0.62446], abs=1e-5)  # Wilson's interval of 1 of 5
    assert [(one["position"], one["shown"], one["accepted"]) for one in a["positions"]] == [
        (1, 2, 1),
        (2, 2, 0),
        (3, 1, 0),
    ]
    assert [one["acceptance"] for one in b["positions"]] == [0, 0, 0, 1, 0]
    (difference,) = found["differences"]
    assert (difference["model"], difference["baseline"]) == ("b", "a")
    assert difference["difference"] == pytest.approx(0.2)
    assert difference["interval"][0] > 0 and not difference["significant"]  # three clients are too few to say


def test_without_shown_events_of_all_models_acceptance_is_accepted_of_decided_items() -> None:
    found = report([event for event in STORY if event["type"] != "shown" or event["model"] == "a"])
    a, b = found["models"]
    assert (found["basis"], a["acceptance"], b["acceptance"]) == ("accepted + skipped", 0.5, 1)
    assert a["positions"][0]["acceptance"] == 1 and a["positions"][1]["acceptance"] == 0
    assert any("no `shown` events of b" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("accepted", "offered", "interval"),
    [
        (0, 10, [0, 0.27753]),
        (10, 10, [0.72247, 1]),
        (50, 100, [0.40383, 0.59617]),
        (15, 148, [0.0624, 0.1605]),  # Newcombe 1998, table I has 0.0624 and 0.1605 for 15 of 148
    ],
)
def test_wilson_interval_has_known_values(accepted: int, offered: int, interval: list[float]) -> None:
    assert wilson(accepted, offered) == pytest.approx(interval, abs=6e-5)


def test_nothing_offered_has_no_share_and_no_interval() -> None:
    assert wilson(0, 0) is None
    assert report([])["models"] == [] and report([])["differences"] == []
    (played,) = report([decided("played", "a", 1)])["models"]
    assert played["acceptance"] is None and played["interval"] is None and played["interval_by_client"] is None


def clustered(random: np.random.Generator, model: str, clients: int, mean: float) -> Iterator[dict[str, Any]]:
    """Yield the events of clients who accept either nearly everything or nearly nothing of 20 shown items."""
    for n in range(clients):
        share = 0.95 if random.random() < mean else 0.05
        yield shown(model, 20, f"{model}{n}")
        for position in range(1, 21):
            if random.random() < share:
                yield decided("accepted", model, position, f"{model}{n}")


def test_interval_over_clients_is_wider_where_clients_differ() -> None:
    random = np.random.default_rng(1)
    found = report([*clustered(random, "a", 100, 0.5), *clustered(random, "b", 100, 0.5)])
    for model in found["models"]:
        widths = [high - low for low, high in (model["interval"], model["interval_by_client"])]
        assert 2.5 < widths[1] / widths[0] < 6  # sqrt(1 + 19 * correlation), whose correlation is 0.81: 4.05
    assert not found["differences"][0]["significant"]


def test_clear_difference_is_significant_and_its_interval_agrees_with_the_normal_one() -> None:
    events = [
        decided("accepted" if n % 10 < accepted else "skipped", model, 1, f"{model}{n}")
        for model, accepted in (("a", 3), ("b", 5))
        for n in range(1000)
    ]
    (row,) = report(events)["differences"]
    half = 1.96 * (0.3 * 0.7 / 1000 + 0.5 * 0.5 / 1000) ** 0.5
    assert row["significant"] and row["difference"] == pytest.approx(0.2)
    assert row["interval"] == pytest.approx([0.2 - half, 0.2 + half], abs=0.006)


def test_same_seed_and_events_in_another_order_give_the_same_report() -> None:
    events = [*clustered(np.random.default_rng(2), "a", 40, 0.5), *clustered(np.random.default_rng(3), "b", 40, 0.4)]
    first = report(events, seed=5)
    assert report(events[::-1], seed=5) == first != report(events, seed=6)


def test_events_without_a_client_count_as_clients_of_their_own() -> None:
    with_clients = [decided("accepted" if n % 3 else "skipped", "a", 1, f"u{n}") for n in range(90)]
    without = [event | {"client": None} for event in with_clients]
    named, anonymous = report(with_clients), report(without)
    assert anonymous["models"][0]["interval_by_client"] == named["models"][0]["interval_by_client"]
    assert anonymous["clients"] == 0 and any("90 events without a client" in note for note in anonymous["notes"])


def test_more_accepted_than_shown_items_are_noted_and_shares_stay_below_one() -> None:
    found = report([shown("a", 1, "u"), decided("accepted", "a", 1, "u"), decided("accepted", "a", 1, "u")])
    assert found["models"][0]["acceptance"] == 1 and found["models"][0]["positions"][0]["acceptance"] == 1
    assert any("more items were accepted than shown" in note for note in found["notes"])


def test_type_of_a_later_version_is_ignored() -> None:
    assert report([*STORY, {"type": "shared", "model": "a", "item": "x"}]) == report(STORY)


def test_resampled_shares_have_no_value_where_nothing_is_offered() -> None:
    table = np.array([[[1.0, 2.0], [0.0, 0.0]]])
    shares = resampled_shares(table, np.array([3.0]), np.random.default_rng(0))
    assert shares.shape == (RESAMPLES, 2) and (shares[:, 0] == 0.5).all()
    assert bounds(shares[:, 0]) == [0.5, 0.5] and bounds(shares[:, 1]) is None


def test_printed_report_has_models_differences_positions_and_notes(capsys: pytest.CaptureFixture[str]) -> None:
    summary = {"period": ["2026-11-19T01:02:03+00:00", None], "repeated_requests": 1, "damaged_lines": 2}
    print_report(report(STORY) | summary, Console(markup=False))
    text = capsys.readouterr().out
    assert "8 events of 3 clients" in text and "acceptance: accepted / shown items" in text
    assert "2 damaged lines" in text and "1 requests were sent again" in text
    assert "b - a" in text and "too few clients" in text and "[0.0362, 0.6245]" in text and "a, position" in text
