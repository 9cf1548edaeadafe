"""The services of a cluster: an actor that keeps one on each machine, and changes them one after another."""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import GetTimeoutError
from ray.experimental import internal_kv
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from fansrec.cluster.errors import to_fans_error
from fansrec.cluster.serving.node import Node
from fansrec.cluster.serving.placement import check_count, choose_nodes, choose_ports, suitable_nodes
from fansrec.errors import BadSetting
from fansrec.serving.http.hosts import parse_address
from fansrec.serving.http.sockets import url_of
from fansrec.serving.processes.channel import Message

log = logging.getLogger("fansrec.serving")

NAMESPACE = "fansrec"
RECORD = b"fansrec:fleet"  # key in Ray's own store, from which a fleet that was killed learns what is deployed
CHECK_SECONDS = 1.0
STATUS_SECONDS = 10.0


@dataclass(frozen=True)
class Placed:
    """The service of a machine and the actor that runs it."""

    node: str  # Ray's id of the machine
    url: str
    settings: Message
    actor: Any


class Fleet:
    """The actor. Its record is what was deployed: the settings, the maximum number of services, and their ports."""

    def __init__(self) -> None:
        stored = internal_kv._internal_kv_get(RECORD)
        self._record: dict[str, Any] | None = json.loads(stored) if stored else None
        self._placed: dict[str, Placed] = {}
        self._changing = threading.Lock()
        threading.Thread(target=self._keep, daemon=True).start()

    def deploy(self, settings: Message, least: int, most: int) -> list[str]:
        """Start services with these settings, or replace those that run one after another; return their URLs.

        Stop at the first service that does not start, and raise the error for which it did not.
        """
        with self._changing:
            old = self._record
            _check_device(old, settings["device"])
            check_count(len(suitable_nodes(ray.nodes(), settings["device"])), least, settings["device"])
            same_port = old is not None and old["settings"]["port"] == settings["port"]
            self._record = {"settings": settings, "most": most, "ports": old["ports"] if old and same_port else {}}
            try:
                self._place()
                self._store()  # before services load their models: a fleet that starts again finds them
                self._change(lambda placed: placed.actor.deploy.remote(placed.settings), at_once=old is None)
            except BaseException:
                self._record = old
                if old is None:
                    self._remove(self._placed)
                self._store()
                raise
            return [placed.url for placed in self._placed.values()]

    def reload(self) -> dict[str, list[str]]:
        """Have one service after another read its models again; return the names of those that changed, by URL.

        Stop at the first service that refuses its models, and raise the error with which it did.
        """
        with self._changing:
            return self._change(lambda placed: placed.actor.reload.remote())

    def status(self) -> list[Message]:
        placed = dict(self._placed)
        reports = {name: report or {"state": "lost"} for name, report in _reports(placed).items()}
        return [{"url": one.url, "node": name} | reports[name] for name, one in placed.items()]

    def stop(self) -> None:
        """Stop all services after they have answered what they have accepted."""
        with self._changing:
            self._place()  # of a fleet that was started again: the actors that are there
            self._record = None
            self._store()
            self._remove(self._placed)

    def _keep(self) -> None:
        """Start services on machines that join, and on those whose actor was lost."""
        while True:
            time.sleep(CHECK_SECONDS)
            with self._changing:
                try:
                    reports = _reports(self._placed)
                    self._placed = {name: self._placed[name] for name in reports if reports[name] is not None}
                    for placed in self._place():
                        placed.actor.run.remote(placed.settings)
                        self._store()
                except Exception:
                    log.exception("the machines of the cluster could not be checked")

    def _place(self) -> list[Placed]:
        """Have an actor on each machine that is to have a service; return the new ones."""
        if self._record is None:
            return []
        before, settings = self._placed, self._record["settings"]
        addresses = suitable_nodes(ray.nodes(), settings["device"])
        known = [*before, *(name for name in self._record["ports"] if name not in before)]  # of an earlier fleet
        chosen = choose_nodes(addresses, known, self._record["most"])
        self._remove(set(before) - set(chosen))
        ports = choose_ports({name: addresses[name] for name in chosen}, self._record["ports"], settings["port"])
        self._record["ports"] = ports
        self._placed = {name: _placed(name, addresses[name], settings | {"port": ports[name]}) for name in chosen}
        return [self._placed[name] for name in chosen if name not in before]

    def _remove(self, names: Iterable[str]) -> None:
        """Stop the services of these machines and end their actors."""
        removed = [self._placed.pop(name) for name in [*names]]
        for stopping in [placed.actor.stop.remote() for placed in removed]:
            ray.wait([stopping])  # an actor that is lost has nothing to stop
        for placed in removed:
            ray.kill(placed.actor)

    def _change(self, change: Callable[[Placed], Any], at_once: bool = False) -> dict[str, Any]:
        """Return the results of a change of all services, by URL; stop at the first that fails and raise its error."""
        results: dict[str, Any] = {}
        calls: Iterable[Any] = (change(placed) for placed in self._placed.values())  # each when the last has ended
        for placed, call in zip(self._placed.values(), list(calls) if at_once else calls, strict=True):
            try:
                results[placed.url] = ray.get(call)
            except Exception as error:
                cause, done = to_fans_error(error), f"{len(results)} of {len(self._placed)} services were changed"
                raise type(cause)(f"{placed.url} {cause.on_command_line}" + ("" if at_once else f" ({done})")) from None
        return results

    def _store(self) -> None:
        if self._record is None:
            internal_kv._internal_kv_del(RECORD)
        else:
            internal_kv._internal_kv_put(RECORD, json.dumps(self._record))


def _check_device(record: Mapping[str, Any] | None, device: str) -> None:
    """Raise BadSetting if services run on another device: their actors keep what they reserved."""
    if record is not None and record["settings"]["device"] != device:
        raise BadSetting(
            f"the services run on {record['settings']['device']}, and cannot be moved to {device}; stop them first "
            "(fans serve --engine ray --stop)"
        )


def _placed(name: str, address: str, settings: Message) -> Placed:
    """Return the service of a machine, whose actor is created unless it runs there."""
    actor = ray.remote(Node).options(
        name=name,
        namespace=NAMESPACE,
        get_if_exists=True,
        lifetime="detached",
        scheduling_strategy=NodeAffinitySchedulingStrategy(name, soft=False),
        max_concurrency=4,  # it reports while it changes
        num_cpus=0,
        num_gpus=0 if settings["device"] == "cpu" else 1,
    )
    listening = parse_address(settings["host"])
    host = address if listening is not None and listening.is_unspecified else settings["host"].strip("[]")
    return Placed(name, url_of(host, settings["port"]), settings, actor.remote())


def _reports(placed: dict[str, Placed]) -> dict[str, Message | None]:
    """Return what the services of the machines report; None for those whose actor is lost."""
    calls = {name: one.actor.status.remote() for name, one in placed.items()}
    if calls:
        ray.wait([*calls.values()], num_returns=len(calls), timeout=STATUS_SECONDS)
    return {name: _report(call) for name, call in calls.items()}


def _report(call: Any) -> Message | None:
    try:
        report: Message = ray.get(call, timeout=0)
        return report
    except GetTimeoutError:
        return {"state": "no answer"}
    except ray.exceptions.RayError:
        return None
