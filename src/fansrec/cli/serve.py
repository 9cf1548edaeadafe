"""`fans serve`: the HTTP service and the page."""

import os
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fansrec.cli.options import Address, Backend, Engine, cluster_option, refuse_without_ray
from fansrec.cli.terminal import Terminal, echo
from fansrec.cli.urls import refuse_url
from fansrec.errors import BadSetting

NOT_SETTINGS = ("config", "engine", "address", "replicas", "stop")
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
        running(metavar="FOLDER", help="Keep events, lists and items that clients write in this folder [refused]"),
    ] = None,
    host: Annotated[str | None, running(help="Address to listen on [127.0.0.1]")] = None,
    port: Annotated[int | None, running(help="Port; 0: any free port [8080]")] = None,
    workers: Annotated[int | None, running(help="Worker processes [one per core]")] = None,
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
        cluster_option(metavar="MIN..MAX", help="Number of model replicas [2..number of cores of the cluster]"),
    ] = None,
    stop: Annotated[bool | None, cluster_option("--stop", help="Remove the service from the cluster")] = None,
) -> None:
    """Serve trained models over HTTP, with a page to try them at `/`.

    Every setting, also those without a flag, can be a variable (`FANS_PORT=80`) or a line of `--config FILE`
    (`port = 80`); flags override variables, variables override the file. docs/reference/serving.md lists all settings.

    Example: `fans serve runs/mine`

    Several models, to compare them: `fans serve fans=runs/mine ease=runs/ease slow=runs/bert4rec@autoregressive`

    To compare two models on real traffic: `fans serve a=runs/a b=runs/b --split a:90,b:10`

    On a Ray cluster, where it keeps running: `fans serve runs/mine --engine ray --address HOST:6379 --replicas 2..8`
    """
    arguments = dict(locals())
    flags = {name: value for name, value in arguments.items() if name not in NOT_SETTINGS and value not in (None, [])}
    refuse_without_ray(engine, replicas=replicas, stop=stop)  # not the address, which RAY_ADDRESS may give
    if engine == "ray":
        return _on_ray(flags, config, address, replicas, bool(stop))
    from fansrec.serving.run import serve as run_service
    from fansrec.serving.settings import read_settings

    console = Terminal()
    settings = read_settings(flags, config, os.environ)
    names = ", ".join(spec.name for spec in settings.models)
    run_service(settings, lambda url: console.say(f"serving {names} at {url} (Ctrl-C stops)"))
    return None


def _on_ray(flags: dict[str, Any], config: Path | None, address: str | None, replicas: str | None, stop: bool) -> None:
    from fansrec.cluster.serving.application import Scale
    from fansrec.cluster.serving.command import ignored_settings, serve_on_ray, stop_on_ray
    from fansrec.serving.settings import read_settings

    console = Terminal()
    if stop:
        stop_on_ray(address)
        return console.say("the service is removed from the cluster; Ray Serve still runs there")
    settings = read_settings(flags, config, os.environ)
    for name in ignored_settings(settings):
        echo(f"{name} has no effect on Ray: its proxies hold connections, --replicas sets processes", err=True)
    names, end = ", ".join(spec.name for spec in settings.models), "--stop ends it" if address else "Ctrl-C stops"
    scale = Scale(*_parse_range(replicas)) if replicas else None
    serve_on_ray(settings, address, scale, lambda url: console.say(f"serving {names} at {url} ({end})"))
    return None


def _parse_range(text: str) -> tuple[int, int]:
    least, _, most = text.partition("..")
    if not (least.isdigit() and (most or least).isdigit() and 1 <= int(least) <= int(most or least) <= 1000):
        raise BadSetting(f"--replicas {text} is not of the form MIN..MAX, such as 2..8")
    return int(least), int(most or least)
