"""The metrics of all replicas as one text, with the label `replica`.

They are not added up: a sum would fall whenever a replica leaves, which Prometheus takes for the restart of a counter.
"""

import re
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from ray import serve

HEADER = re.compile(r"# (?:HELP|TYPE) (\S+)")
SAMPLE = re.compile(r"([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$")


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
    families: dict[str, tuple[dict[str, None], list[str]]] = {}
    for replica, text in texts:
        family: tuple[dict[str, None], list[str]] = ({}, [])
        for line in text.decode().splitlines():
            if match := HEADER.match(line):
                family = families.setdefault(match[1], ({}, []))
                family[0][line] = None
            elif match := SAMPLE.match(line):
                family[1].append(_add_label(match, replica))
    return "".join(f"{line}\n" for headers, samples in families.values() for line in (*headers, *samples)).encode()


def _add_label(sample: re.Match[str], replica: str) -> str:
    name, labels, value = sample.groups()
    return f'{name}{{replica="{replica}"{"," + labels if labels else ""}}} {value}'
