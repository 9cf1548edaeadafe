"""What `GET /metrics` says of all replicas: each one's samples, told apart by the label `replica`.

They are not added up: a sum would fall whenever a replica leaves, which Prometheus takes for a counter begun anew.
"""

import re
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from ray import serve

HEADER = re.compile(r"# (?:HELP|TYPE) (\S+)")
SAMPLE = re.compile(r"([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$")


def replica() -> str:
    """The replica this process is, such as `Models-x8dj2k1a`."""
    own = serve.get_replica_context().replica_id
    return f"{own.deployment_id.name}-{own.unique_id}"


def of_process() -> tuple[str, bytes]:
    """Memory and processor time of a replica that counts nothing else."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return replica(), generate_latest(registry)


def together(told: Iterable[tuple[str, bytes]]) -> bytes:
    """The texts of all replicas as one, each family in one place with its header once."""
    families: dict[str, tuple[dict[str, None], list[str]]] = {}
    for who, text in told:
        family: tuple[dict[str, None], list[str]] = ({}, [])
        for line in text.decode().splitlines():
            if found := HEADER.match(line):
                family = families.setdefault(found[1], ({}, []))
                family[0][line] = None
            elif found := SAMPLE.match(line):
                family[1].append(_labelled(found, who))
    return "".join(f"{line}\n" for headers, samples in families.values() for line in (*headers, *samples)).encode()


def _labelled(sample: re.Match[str], who: str) -> str:
    name, labels, value = sample.groups()
    return f'{name}{{replica="{who}"{"," + labels if labels else ""}}} {value}'
