"""The metrics of all replicas as one text, with the label `replica`.

They are not added up: a sum would fall whenever a replica leaves, which Prometheus takes for the restart of a counter.
"""

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

from prometheus_client import CollectorRegistry, Metric, ProcessCollector, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from ray import serve


def replica_name() -> str:
    """Return the name of the replica in this process, such as `Models-x8dj2k1a`."""
    own = serve.get_replica_context().replica_id
    return f"{own.deployment_id.name}-{own.unique_id}"


def process_metrics() -> tuple[str, bytes]:
    """Return name, memory and processor time of a replica that has no other metrics."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return replica_name(), generate_latest(registry)


def merge_metrics(texts: Iterable[tuple[str, bytes]]) -> bytes:
    """Return the texts of all replicas as one, each family in one place with its header once."""
    families: dict[str, Metric] = {}
    for replica, text in texts:
        for family in text_string_to_metric_families(text.decode()):
            merged = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            merged.samples += [
                sample._replace(labels={"replica": replica, **sample.labels}) for sample in family.samples
            ]
    return generate_latest(cast(Any, SimpleNamespace(collect=families.values)))
