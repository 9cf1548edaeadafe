"""`fans serve`: the HTTP service and the page."""

import os
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fansrec.cli.options import Address, Backend, Engine, cluster_option, refuse_without_ray
from fansrec.cli.terminal import Terminal
from fansrec.cli.urls import refuse_url
from fansrec.errors import BadSetting

NOT_SETTINGS = ("config", "engine", "address", "replicas", "status", "reload", "stop")
LogFormat = Literal["auto", "json", "text"]
LogLevel = Literal["debug", "info", "warning", "error"]

running, access, limits, logs = (
    partial(typer.Option, rich_help_panel=panel) for panel in ("Running", "Access", "Limits", "Logs")
)


def serve(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=]RUN[@GENERATION]...",
            help="Trained models; the first one is the default",
            callback=refuse_url,
        ),
    ] = None,
    split: Annotated[
        str | None, running(metavar="NAME:SHARE,…", help="Shares of models in requests with a `client` and no `model`")
    ] = None,
    writes: Annotated[
        Path | None,
        running(metavar="FOLDER", help="Keep events, lists and items that clients write in this folder [not accepted]"),
    ] = None,
    host: Annotated[str | None, running(help="Address to listen on [127.0.0.1]")] = None,
    port: Annotated[int | None, running(help="Port; 0: any free port [8080]")] = None,
    workers: Annotated[int | None, running(help="Worker processes [one per core that the service may use]")] = None,
    device: Annotated[str | None, running(help="cpu or cuda [cpu]")] = None,
    backend: Annotated[Backend | None, running(help="Backend of the models [auto]")] = None,
    config: Annotated[Path | None, running(help="TOML file with any of these settings")] = None,
    keys: Annotated[Path | None, access(help="File of API keys, see `fans keys`")] = None,
    without_keys: Annotated[bool | None, access("--without-keys", help="Serve everyone who reaches --host")] = None,
    allow_origins: Annotated[
        list[str] | None, access("--allow-origin", help="Origin of a page that may call; repeatable")
    ] = None,
    max_lists: Annotated[int | None, limits(help="Maximum lists in a request [256]")] = None,
    max_items: Annotated[int | None, limits(help="Maximum items in a list [2000]")] = None,
    max_k: Annotated[int | None, limits(help="Maximum items requested per list [500]")] = None,
    queue_requests: Annotated[int | None, limits(help="Maximum requests in the queue [1024]")] = None,
    timeout_ms: Annotated[int | None, limits(help="Deadline of a request [10000]")] = None,
    log_format: Annotated[LogFormat | None, logs(help="JSON lines, or text [text in a terminal]")] = None,
    log_level: Annotated[LogLevel | None, logs(help="Lowest level that is logged [info]")] = None,
    engine: Engine = "local",
    address: Address = None,
    replicas: Annotated[
        str | None,
        cluster_option(metavar="MIN..MAX", help="Number of services, one per machine [all machines]"),
    ] = None,
    status: Annotated[bool | None, cluster_option("--status", help="Print the state of each service")] = None,
    reload: Annotated[
        bool | None, cluster_option("--reload", help="Have one service after another read its models again")
    ] = None,
    stop: Annotated[bool | None, cluster_option("--stop", help="Remove the services from the cluster")] = None,
) -> None:
    """Serve trained models over HTTP, with a page to try them at `/`.

    Every setting, also those without a flag, can be a variable (`FANS_PORT=80`) or a line of `--config FILE`
    (`port = 80`); flags override variables, variables override the file.

    Example: `fans serve runs/mine`

    Several models, to compare them: `fans serve fans=runs/mine ease=runs/ease slow=runs/bert4rec@autoregressive`

    To compare two models on real traffic: `fans serve a=runs/a b=runs/b --split a:90,b:10`

    On each machine of a Ray cluster, where it keeps running: `fans serve runs/mine --engine ray --address HOST:6379`

    All settings and the API: docs/reference/serving.md. Guide: docs/how-to/operate-the-service.md
    """
    arguments = dict(locals())
    flags = {name: value for name, value in arguments.items() if name not in NOT_SETTINGS and value not in (None, [])}
    orders = {"status": status, "reload": reload, "stop": stop}
    refuse_without_ray(engine, replicas=replicas, **orders)  # not the address, which RAY_ADDRESS may give
    if engine == "ray":
        return _on_ray(flags, config, address, replicas, [f"--{name}" for name, given in orders.items() if given])
    from fansrec.serving.run import serve as run_service
    from fansrec.serving.settings import read_settings

    console = Terminal()
    settings = read_settings(flags, config, os.environ)
    names = ", ".join(spec.name for spec in settings.models)
    run_service(settings, lambda url, _: console.say(f"serving {names} at {url} (Ctrl-C stops)"))
    return None


def _on_ray(
    flags: dict[str, Any], config: Path | None, address: str | None, replicas: str | None, orders: list[str]
) -> None:
    from fansrec.cluster.serving.command import serve_on_ray
    from fansrec.serving.settings import read_settings

    if orders:
        return _order(orders, address, bool(flags or config or replicas))
    settings = read_settings(flags, config, os.environ)
    count = _parse_range(replicas) if replicas else None
    console, names = Terminal(), ", ".join(spec.name for spec in settings.models)
    end = "--stop ends it" if address else "Ctrl-C stops"
    serve_on_ray(settings, address, count, lambda urls: console.say(f"serving {names} at {', '.join(urls)} ({end})"))
    return None


def _order(orders: list[str], address: str | None, others: bool) -> None:
    """Carry out `--status`, `--reload` or `--stop`."""
    from fansrec.cluster.serving.command import reload_on_ray, status_on_ray, stop_on_ray

    if len(orders) > 1 or others:
        raise BadSetting(f"{orders[0]} needs only --engine and --address; leave out the other options and models")
    console = Terminal()
    if orders == ["--status"]:
        for report in status_on_ray(address):
            models = ", ".join(f"{model['name']} {model['hash'][:12]}" for model in report.get("models", ()))
            detail = f"process {report.get('pid', 0)}, restarted {report.get('restarts', 0)} times"
            console.say(f"{report['url']}  {report['state']}  {models or 'no models'}  ({detail})")
    elif orders == ["--reload"]:
        for url, changed in reload_on_ray(address).items():
            console.say(f"{url}  {', '.join(changed) + ' changed' if changed else 'unchanged'}")
    else:
        stop_on_ray(address)
        console.say("the services are removed from the cluster")


def _parse_range(text: str) -> tuple[int, int]:
    least, _, most = text.partition("..")
    if not (least.isdigit() and (most or least).isdigit() and 1 <= int(least) <= int(most or least) <= 1000):
        raise BadSetting(f"--replicas {text} is not of the form MIN..MAX, such as 2..8")
    return int(least), int(most or least)
