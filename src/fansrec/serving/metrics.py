"""The metrics of a service, for Prometheus."""

from collections.abc import Sequence
from functools import partial

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector

SECONDS = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10)
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
# Labels of refused requests by status; a fixed set, so that clients cannot create labels.
REFUSALS = {
    401: "no-key", 403: "forbidden", 408: "too-slow", 413: "too-large", 422: "invalid", 429: "overload",
    504: "deadline", 507: "not-stored",
}  # fmt: skip

disable_created_metrics()  # type: ignore[no-untyped-call]  # creation times of counters, which nothing uses


class Metrics:
    """The metrics of one service in a registry of their own, so that two services in one process do not mix."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)
        counter = partial(Counter, registry=registry)
        gauge = partial(Gauge, registry=registry)
        histogram = partial(Histogram, registry=registry, buckets=SECONDS)
        self.requests = counter("fans_http_requests", "Requests answered", ["route", "method", "status"])
        self.seconds = histogram("fans_http_request_seconds", "Time from request to answer", ["route"])
        self.model_requests = counter("fans_model_requests", "Requests to continue lists", ["model", "chosen"])
        self.events = counter("fans_events", "Events stored", ["type", "model"])
        self.writes = counter("fans_writes", "Lists and items written", ["kind"])
        self.log_bytes = gauge("fans_log_bytes", "Size of the log of writes")
        self.log_limit_bytes = gauge("fans_log_limit_bytes", "Size of the log at which writes are refused")
        self.sync_seconds = histogram("fans_log_sync_seconds", "Time to store a group of writes")
        self.writes_applied = gauge("fans_writes_applied", "Number of the newest write in a model", ["model"])
        self.visible_seconds = histogram("fans_write_visible_seconds", "Time from an acknowledged write to all workers")
        self.lists = counter("fans_lists", "Lists continued", ["model"])
        self.items = counter("fans_items", "Items requested for continued lists", ["model"])
        self.engine_seconds = histogram("fans_engine_seconds", "Time of a worker for a batch", ["model"])
        self.batch_lists = histogram("fans_batch_lists", "Lists in a batch", buckets=COUNTS)
        self.batch_requests = histogram("fans_batch_requests", "Requests in a batch", buckets=COUNTS)
        self.queue_requests = gauge("fans_queue_requests", "Requests in the queue")
        self.queue_tokens = gauge("fans_queue_tokens", "Tokens in the queue: items given and requested")
        self.queue_seconds = histogram("fans_queue_seconds", "Time in the queue", buckets=(0.0001, *SECONDS))
        self.refused = counter("fans_refused", "Requests refused", ["reason"])
        self.unsent_bytes = gauge("fans_unsent_bytes", "Size of the answers that clients have not read yet")
        self.cut_off = counter("fans_cut_off", "Connections closed because their clients read too slowly")
        self.workers = gauge("fans_workers", "Workers", ["state"])
        self.workers_wanted = gauge("fans_workers_wanted", "Configured number of workers")
        self.deaths = counter("fans_worker_deaths", "Workers lost", ["cause"])
        self.retried = counter("fans_retried", "Requests sent to another worker after one was lost")
        self.reloads = counter("fans_reloads", "Reloads of models", ["outcome"])
        self.model_info = gauge("fans_model_info", "Models served", ["name", "hash"])
        self.ready = gauge("fans_ready", "Whether requests are accepted")
        for cause in ("died", "hung"):
            self.deaths.labels(cause)
        for outcome in ("changed", "unchanged", "refused", "rolled-back"):
            self.reloads.labels(outcome)

        self._of_model: dict[str, tuple[Counter, Counter, Histogram]] = {}
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram, Counter | None]] = {}

    def observe_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request that was answered; its labeled metrics are cached, since the lookup takes longest."""
        requests, duration, refused = self._children.get((route, method, status)) or self._labels(route, method, status)
        requests.inc()
        if refused is not None:
            refused.inc()
        if status != 429:  # the time of an immediate refusal says nothing about the time of answers
            duration.observe(seconds)

    def _labels(self, route: str, method: str, status: int) -> tuple[Counter, Histogram, Counter | None]:
        refused = self.refused.labels(REFUSALS[status]) if status in REFUSALS else None
        children = self.requests.labels(route, method, str(status)), self.seconds.labels(route), refused
        self._children[route, method, status] = children
        return children

    def observe_replies(self, answered: Sequence[tuple[str, int, int]], seconds: float) -> None:
        """Count replies of a worker, which came together: the model, lists and items of each."""
        total = 0
        for model, lists, items in answered:
            of_model = self._of_model.get(model) or self._model_labels(model)
            of_model[0].inc(lists)
            of_model[1].inc(items)
            total += lists
        self._of_model[answered[0][0]][2].observe(seconds)
        if total:
            self.batch_lists.observe(total)

    def _model_labels(self, model: str) -> tuple[Counter, Counter, Histogram]:
        children = self.lists.labels(model), self.items.labels(model), self.engine_seconds.labels(model)
        self._of_model[model] = children
        return children

    def text(self) -> bytes:
        return generate_latest(self.registry)
