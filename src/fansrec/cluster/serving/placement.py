"""Which machines of a cluster get a service, and on which port."""

from collections.abc import Iterable, Mapping
from typing import Any

from fansrec.errors import BadSetting


def suitable_nodes(nodes: Iterable[Mapping[str, Any]], device: str) -> dict[str, str]:
    """Return id and address of the machines that Ray may use for a service; `nodes` is what `ray.nodes()` returns."""
    needed = ["CPU"] if device == "cpu" else ["CPU", "GPU"]
    usable = [node for node in nodes if node["Alive"] and all(node["Resources"].get(kind, 0) >= 1 for kind in needed)]
    return {node["NodeID"]: node["NodeManagerAddress"] for node in sorted(usable, key=lambda node: node["NodeID"])}


def check_count(available: int, least: int, device: str) -> None:
    """Raise BadSetting if the cluster has fewer machines for services than requested."""
    if available < least:
        kind = "core" if device == "cpu" else "GPU"
        raise BadSetting(
            f"{least} services need a machine each, and the cluster has {available} with a {kind} for Ray; "
            f"request fewer (--replicas), or add machines"
        )


def choose_nodes(available: Iterable[str], current: Iterable[str], most: int) -> list[str]:
    """Return the machines that are to have a service, those that have one first."""
    available = list(available)
    kept = [name for name in current if name in available]
    return [*kept, *(name for name in available if name not in kept)][:most]


def choose_ports(nodes: Mapping[str, str], known: Mapping[str, int], first: int) -> dict[str, int]:
    """Return the port of each machine: `first`, or the next free one if several machines have the same address.

    Machines in `known` keep their ports.
    """
    ports = {name: known[name] for name in nodes if name in known}
    for name, address in nodes.items():
        taken = {ports[other] for other in ports if nodes[other] == address}
        ports.setdefault(name, next(port for port in range(first, first + len(nodes) + 1) if port not in taken))
    return {name: ports[name] for name in nodes}
