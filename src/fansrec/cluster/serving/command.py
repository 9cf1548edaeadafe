"""`fans serve --engine ray`: a service on each machine of a cluster, or on a local Ray until a signal stops it."""

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import ray

from fansrec.cluster.connection import LOCAL, cluster
from fansrec.cluster.serving.fleet import NAMESPACE, Fleet
from fansrec.errors import BadSetting
from fansrec.serving.http.sockets import bind
from fansrec.serving.processes.channel import Message
from fansrec.serving.settings import Settings

FLEET = "fleet"
POLL_SECONDS = 0.1
ANY = (1, 1_000_000)  # numbers of services
NORMAL_PRIORITY = ("RAY_worker_niceness", "0")  # for the processes of a local Ray, whose own default is 15

Announce = Callable[[list[str]], None]  # gets the URLs as soon as requests can be answered


def serve_on_ray(settings: Settings, address: str | None, count: tuple[int, int] | None, announce: Announce) -> None:
    """Deploy on the cluster at the address and return; without an address, serve here until a signal stops it.

    `count` is the minimum and the maximum number of services; default: one on each machine.
    """
    least, most = count or ANY
    if settings.writes is not None:
        raise BadSetting("--writes needs the service of one machine: services on a cluster cannot share a log; omit it")
    if address is not None:
        if settings.port == 0:
            raise BadSetting("--port 0 changes with every restart; on a cluster give a port that clients can rely on")
        with cluster(address):
            announce(_deploy(settings, least, most))
        return
    with bind(settings.host, settings.port) as free:  # so that a port in use is reported before Ray starts
        settings = settings.model_copy(update={"port": free.getsockname()[1]})
    os.environ.setdefault(*NORMAL_PRIORITY)
    with cluster():
        urls = _deploy(settings, least, most)
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):  # only now: before, a signal ends the command
            signal.signal(number, lambda *_: stop.set())
        announce(urls)
        stop.wait()
        stopping = threading.Thread(target=_stop_quietly, daemon=True)
        stopping.start()
        while stopping.is_alive() and not _ray_has_ended():
            stopping.join(POLL_SECONDS)


def stop_on_ray(address: str | None) -> None:
    """Remove the services from a cluster after they have answered what they have accepted."""
    with cluster(_required(address, "--stop")):
        _stop(_fleet(address))


def reload_on_ray(address: str | None) -> dict[str, list[str]]:
    """Have one service after another read its models again; return the names of those that changed, by URL."""
    with cluster(_required(address, "--reload")):
        changed: dict[str, list[str]] = ray.get(_fleet(address).reload.remote())
        return changed


def status_on_ray(address: str | None) -> list[Message]:
    """Return what the services of a cluster report."""
    with cluster(_required(address, "--status")):
        reports: list[Message] = ray.get(_fleet(address).status.remote())
        return reports


def _required(address: str | None, option: str) -> str:
    if address is None:
        raise BadSetting(f"{option} needs the --address of the cluster that the services are on")
    return address


def _fleet(address: str | None) -> Any:
    """Return the actor that keeps the services of the connected cluster."""
    try:
        return ray.get_actor(FLEET, NAMESPACE)
    except ValueError:
        raise BadSetting(f"there is no service of fansrec on the cluster at {address}") from None


def _deploy(settings: Settings, least: int, most: int) -> list[str]:
    """Deploy services on the connected cluster, in place of those that may be there; return their URLs."""
    fleet = ray.remote(Fleet).options(
        name=FLEET,
        namespace=NAMESPACE,
        get_if_exists=True,
        lifetime="detached",
        max_restarts=-1,
        max_concurrency=4,  # it reports while it changes services
        num_cpus=0,
    )
    actor = fleet.remote()
    values = _absolute(settings).model_dump(mode="json")
    try:
        urls: list[str] = ray.get(actor.deploy.remote(values, least, most))
    except BaseException:
        with suppress(Exception):
            if not ray.get(actor.status.remote()):  # it has never run anything
                ray.kill(actor)
        raise
    return urls


def _stop(fleet: Any) -> None:
    ray.get(fleet.stop.remote())
    ray.kill(fleet)


def _stop_quietly() -> None:
    with suppress(Exception):  # the signal may have ended Ray's processes too
        _stop(_fleet(LOCAL))


def _absolute(settings: Settings) -> Settings:
    """Return the settings with absolute paths; links stay links, so that a reload follows them."""
    models = [spec.model_copy(update={"run": Path(os.path.abspath(spec.run))}) for spec in settings.models]
    paths = {"keys": settings.keys, "search_folder": settings.search_folder}
    others = {name: path and Path(os.path.abspath(path)) for name, path in paths.items()}
    return settings.model_copy(update={"models": tuple(models)} | others)


def _ray_has_ended() -> bool:
    """Return whether the signal ended Ray's processes too, as when it goes to a whole process group."""
    node = ray._private.worker._global_node
    return node is None or bool(node.dead_processes())
