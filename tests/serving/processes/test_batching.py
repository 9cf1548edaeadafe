"""How a worker answers a batch, without processes and sockets."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fansrec.api.continuer import load
from fansrec.api.unknown import UNKNOWN
from fansrec.engine.interface import Continuation
from fansrec.serving.processes.batching import answer_jobs
from fansrec.serving.processes.jobs import SIMILAR, Job, Reply
from fansrec.serving.processes.loaded_model import LoadedModel

COLD: list[list[list[str]]] = [[["nope"]], [["i1"], ["nope"]], [[]]]
ITEMS = [f"i{n}" for n in range(60)]


@pytest.fixture(scope="module")
def models(songs: Path) -> dict[str, LoadedModel]:
    return {"fans": LoadedModel("fans", load(songs / "run"))}


def job(id: int = 0, model: str = "fans", late: bool = False, **request: Any) -> Job:
    now = time.monotonic()
    lists, k, fallback = request.pop("lists", [["i1", "i2"]]), request.pop("k", 10), request.pop("fallback", "none")
    return Job(id, model, lists, k, request, now, now - 1 if late else now + 60, fallback)


def replies(models: dict[str, LoadedModel], *jobs: Job, max_tokens: int = 1000) -> dict[int, Reply]:
    return {reply.id: reply for group in answer_jobs(models, jobs, max_tokens) for reply in group}


def answers(reply: Reply) -> Any:
    return json.loads(reply.content)["answers"]


def test_answer_has_all_fields(models: dict[str, LoadedModel]) -> None:
    reply = replies(models, job(k=3))[0]
    body = json.loads(reply.content)
    assert body["model"] == {"name": "fans", "hash": models["fans"].continuer.artifact.hash}
    assert body["milliseconds"] >= 0
    assert (reply.lists, reply.items) == (1, 3)
    first = body["answers"][0]["positions"][0]
    number = int(first["item"][1:])
    assert first["name"] == f"Song {number}"
    assert first["group"] == f"artist {number % 6}"
    assert first["category"] == f"c{number // 15}"
    assert isinstance(first["score"], float)


def test_worker_answers_like_the_library(models: dict[str, LoadedModel]) -> None:
    lists = [["i1", "i2"], ["Song 20"], []]
    (reply,) = replies(models, job(lists=lists, k=4, exclude=["i5"], max_per_group=2)).values()
    alone = models["fans"].continuer.continue_lists(lists, 4, exclude=["i5"], max_per_group=2)
    assert [[p["item"] for p in answer["positions"]] for answer in answers(reply)] == [a.items for a in alone]


def test_unknown_items_are_skipped_and_a_request_of_only_unknown_items_is_refused(
    models: dict[str, LoadedModel],
) -> None:
    replied = replies(models, job(0, lists=[["i1", "nope", 7]]), job(1, lists=[["nope"]]))
    assert answers(replied[0])[0]["unknown"] == ["nope", 7]
    assert replied[1].error == "UnknownItems" and replied[1].detail.startswith("lists.0: ")


def test_list_of_unknown_items_gets_a_reason_and_the_others_their_answers(models: dict[str, LoadedModel]) -> None:
    (reply,) = replies(models, job(lists=[["nope"], ["i1"], [7], []])).values()
    alone = models["fans"].continuer.continue_lists([["i1"], []])
    first, second, third, fourth = answers(reply)
    assert first == {"positions": [], "unknown": ["nope"], "reason": UNKNOWN, "fallback": None}
    assert third == first | {"unknown": [7]}
    assert [[p["item"] for p in answer["positions"]] for answer in (second, fourth)] == [a.items for a in alone]
    assert second["fallback"] is None and reply.lists == 4


def test_fallback_gives_popular_items_to_lists_of_unknown_items_only(models: dict[str, LoadedModel]) -> None:
    model = models["fans"].continuer
    replied = replies(models, *(job(n, lists=lists, k=3, fallback="popular") for n, lists in enumerate(COLD)))
    for lists, reply in zip(COLD, replied.values(), strict=True):
        expected = model.continue_lists(lists, 3, fallback="popular")
        assert [[p["item"] for p in answer["positions"]] for answer in answers(reply)] == [a.items for a in expected]
        assert [answer["fallback"] for answer in answers(reply)] == [a.fallback for a in expected]


def test_similar_items_are_answered_beside_lists(models: dict[str, LoadedModel]) -> None:
    similar = job(0, lists=[["i7"]], k=3)._replace(kind=SIMILAR)
    unknown = job(1, lists=[["nope"]])._replace(kind=SIMILAR)
    replied = replies(models, similar, unknown, job(2))
    expected = models["fans"].continuer.similar_items(["i7"], 3)[0]
    assert [p["item"] for p in json.loads(replied[0].content)["items"]] == expected.items
    assert replied[1].error == "UnknownItems" and replied[2].error == ""


def test_bad_request_does_not_affect_others_of_its_batch(models: dict[str, LoadedModel]) -> None:
    replied = replies(
        models,
        job(0),
        job(1, lists=[["nope"]]),
        job(2, max_per_group=2, categories=["nowhere"]),
        job(3, k=5000),
        job(4, late=True),
        job(5, allow=["nope"]),
        job(6),
    )
    assert {id: reply.error for id, reply in replied.items()} == {
        0: "", 1: "UnknownItems", 2: "BadSetting", 3: "BadSetting", 4: "late", 5: "BadSetting", 6: "",
    }  # fmt: skip
    assert answers(replied[0]) == answers(replied[6])


def test_only_items_of_the_given_categories_are_returned(models: dict[str, LoadedModel]) -> None:
    replied = replies(models, job(0, k=20, categories=["c3"]), job(1, k=5, categories=["c3"], allow=["i1", "i50"]))
    assert {p["category"] for p in answers(replied[0])[0]["positions"]} == {"c3"}
    assert len(answers(replied[0])[0]["positions"]) == 15 and "15 of 20" in answers(replied[0])[0]["reason"]
    assert [p["item"] for p in answers(replied[1])[0]["positions"]] == ["i50"]


def test_repeated_category_counts_once_and_large_rules_are_not_cached(models: dict[str, LoadedModel]) -> None:
    repeated = models["fans"].rules({"categories": ["c3"] * 1000})
    assert repeated.allow is not None and len(repeated.allow) == 15
    kept = len(models["fans"]._rules)
    models["fans"].rules({"exclude": [f"nobody {n}" for n in range(1000)]})
    assert len(models["fans"]._rules) == kept


def test_heartbeat_is_sent_between_calls_of_the_engine(models: dict[str, LoadedModel]) -> None:
    heartbeats: list[int] = []
    lists = [["i1"]] * 130
    replied = list(answer_jobs(models, [job(0, lists=lists, k=3)], 10_000, lambda: heartbeats.append(len(heartbeats))))
    assert len(heartbeats) == 3  # 64, 64 and 2 lists
    assert len(answers(replied[0][0])) == 130


def test_requests_above_the_token_limit_run_one_after_another(models: dict[str, LoadedModel]) -> None:
    jobs = [job(n, k=8) for n in range(6)]
    groups = list(answer_jobs(models, jobs, max_tokens=25))
    assert [[reply.id for reply in group] for group in groups] == [[0, 1], [2, 3], [4, 5]]


class Breaking:
    """An engine that fails for one item."""

    generation, items = "one-pass", 60

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def continue_lists(self, inputs: Any, k: Any, rules: Any) -> list[Continuation]:
        if any(13 in given for given in inputs):
            raise RuntimeError("thirteen")
        answered: list[Continuation] = self._engine.continue_lists(inputs, k, rules)
        return answered


def test_request_for_which_the_engine_fails_does_not_affect_others(songs: Path) -> None:
    served = LoadedModel("fans", load(songs / "run"))
    served.continuer.engine = Breaking(served.continuer.engine)  # type: ignore[assignment]
    replied = replies({"fans": served}, job(0), job(1, lists=[["i13"]]), job(2))
    assert {id: reply.error for id, reply in replied.items()} == {0: "", 1: "bug", 2: ""}


REQUESTS = st.fixed_dictionaries(
    {"lists": st.lists(st.lists(st.sampled_from(ITEMS), max_size=8), min_size=1, max_size=4), "k": st.integers(1, 9)},
    optional={
        "exclude": st.lists(st.sampled_from(ITEMS), max_size=4),
        "allow": st.lists(st.sampled_from(ITEMS), min_size=1, max_size=20),
        "categories": st.lists(st.sampled_from(["c0", "c1", "c2", "c3"]), max_size=2),
        "max_per_group": st.integers(1, 3),
        "keep_seen": st.booleans(),
        "min_score": st.floats(-20, 5),
    },
)


@settings(max_examples=60, deadline=None)
@given(st.lists(REQUESTS, min_size=2, max_size=8))
def test_answer_does_not_depend_on_the_rest_of_the_batch(
    models: dict[str, LoadedModel], requests: list[dict[str, Any]]
) -> None:
    """Items are equal; the last digits of scores may differ, since sums are computed in another order."""
    jobs = [job(n, **request) for n, request in enumerate(requests)]
    together = replies(models, *jobs)
    for one in jobs:
        alone = replies(models, one)[one.id]
        assert together[one.id].error == alone.error == ""
        for here, there in zip(answers(together[one.id]), answers(alone), strict=True):
            assert [p["item"] for p in here["positions"]] == [p["item"] for p in there["positions"]]
            np.testing.assert_allclose(
                [p["score"] for p in here["positions"]], [p["score"] for p in there["positions"]], atol=1e-4
            )


@settings(max_examples=60, deadline=None)
@given(REQUESTS)
def test_answers_follow_the_rules(models: dict[str, LoadedModel], request: dict[str, Any]) -> None:
    reply = replies(models, job(0, **request))[0]
    for given_items, answer in zip(request["lists"], answers(reply), strict=True):
        items = [p["item"] for p in answer["positions"]]
        assert len(set(items)) == len(items) <= request["k"]
        assert (answer["reason"] is None) == (len(items) == request["k"])
        assert not set(items) & set(request.get("exclude", ()))
        assert set(items) <= set(request.get("allow", ITEMS))
        assert request.get("keep_seen") or not set(items) & set(given_items)
        assert {p["category"] for p in answer["positions"]} <= set(request.get("categories", ["c0", "c1", "c2", "c3"]))
        groups = [p["group"] for p in answer["positions"]]
        assert all(groups.count(group) <= request.get("max_per_group", 9) for group in groups)
        assert all(p["score"] >= request.get("min_score", -1e9) - 1e-6 for p in answer["positions"])
