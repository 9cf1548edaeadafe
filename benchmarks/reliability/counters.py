"""Compare the counters of /metrics with the requests that were sent, by status.

    python -m benchmarks.reliability.counters

Requests of every kind of outcome are sent and counted on both sides.
"""

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from benchmarks.reliability.encoding import CONTINUE, encoded
from benchmarks.reliability.load import Load, run_here
from benchmarks.reliability.models import make_model, make_requests, size_of
from benchmarks.reliability.report import Report, argument_parser, run
from benchmarks.reliability.service import Service, service

LISTS = 4  # in every valid request


def measure(report: Report, options: argparse.Namespace) -> None:
    size, seconds = size_of(options.quick), 1.5 if options.quick else 20.0
    with tempfile.TemporaryDirectory() as folder:
        artifact = make_model(Path(folder) / "fans", size)
        good = [request.body for request in make_requests(size, 64, LISTS)]
        # The queue is short so that many requests are refused.
        with service([artifact], queue_requests=8, max_body_bytes=65536) as running:
            reconcile(report, running, mixed(good), seconds)


def mixed(good: list[bytes]) -> list[bytes]:
    """Return requests of every kind of outcome; most of them are valid."""
    made = []
    for number, body in enumerate(good):
        made += [encoded(body=body)] * 3
        made.append(
            (
                encoded(body=body.replace(b'"k"', b'"kk"')),  # 422
                encoded(body=b"{" + body),  # 400 or 422
                encoded(body={"lists": [["nobody"]]}),  # 422 of a worker
                encoded(body={"lists": [["t1"]], "model": "nobody"}),  # 404
                encoded(body=body, headers={"Content-Type": "text/plain"}),  # 415
                encoded(body=b" " * 70_000 + body),  # 413
                encoded(body=body, headers={"Fans-Timeout-Ms": "1"}),  # 504, or 200
                encoded(CONTINUE),  # 405
                encoded("/v1/nothing"),  # 404
                encoded("/v1/items?search=song"),  # 200
                encoded("/v1/models"),  # 200
            )[number % 11]
        )
    return made


def reconcile(report: Report, running: Service, requests: list[bytes], seconds: float) -> None:
    running.wait_until_searchable()
    before = counted(running)
    lists, refused = running.metric("fans_lists_total"), reasons(running)
    continued: list[int] = []

    def look(number: int, status: int, body: bytes) -> None:
        if status == 200 and requests[number % len(requests)].startswith(b"POST"):
            continued.append(LISTS)

    tally = run_here(Load(running.port, requests, seconds, connections=24), look)
    after = counted(running)
    after["200"] -= 3  # requests to /metrics between the two
    gained = {status: int(count) for status, count in (after - before).items()}
    sent = {str(status): count for status, count in tally.by_status.items()}
    report.require(
        f"requests by status, of {tally.sent:,} sent",
        str(sent),
        str(dict(sorted(gained.items()))),
        gained == sent,
        sent=sent,
        counted=gained,
    )
    report.require("requests without an answer", "0", dict(tally.failed) or 0, not tally.failed)
    report.require("kinds of outcome", ">= 7", len(sent), len(sent) >= 7)
    gained_reasons = {reason: int(count) for reason, count in (reasons(running) - refused).items()}
    report.require(
        "refused for overload",
        str(sent.get("429", 0)),
        gained_reasons.get("overload", 0),
        gained_reasons.get("overload", 0) == sent.get("429", 0),
    )
    report.require(
        "refused for their deadline",
        str(sent.get("504", 0)),
        gained_reasons.get("deadline", 0),
        gained_reasons.get("deadline", 0) == sent.get("504", 0),
    )
    report.note("refused by reason", str(gained_reasons))
    gained_lists = int(running.metric("fans_lists_total") - lists)
    report.require("lists continued", str(sum(continued)), gained_lists, gained_lists == sum(continued))


def counted(running: Service) -> Counter[str]:
    by_status: Counter[str] = Counter()
    for labels, value in running.metrics()["fans_http_requests_total"].items():
        by_status[dict(labels)["status"]] += int(value)
    return by_status


def reasons(running: Service) -> Counter[str]:
    found = running.metrics().get("fans_refused_total", {})
    return Counter({dict(labels)["reason"]: int(value) for labels, value in found.items()})


def main() -> None:
    run("counters", argument_parser(__doc__), measure)


if __name__ == "__main__":
    main()
