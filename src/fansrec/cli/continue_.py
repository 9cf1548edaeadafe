"""`fans continue`: the first part of a list in, the rest out."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from fansrec.cli.cluster_options import CLUSTER, Address, Engine, Workers, refuse_without_ray
from fansrec.cli.devices import Backend, usable_device
from fansrec.cli.terminal import Terminal, echo_json, echo_row
from fansrec.errors import BadInput, BadSetting

RULES, FILES = "Rules", "Many lists"


def continue_lists(
    run: Annotated[Path, typer.Argument(help="A trained model")],
    items: Annotated[list[str] | None, typer.Argument(help="Item ids or names; none: from nothing")] = None,
    k: Annotated[int, typer.Option("-k", help="How many items to give")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="With names, categories and scores, as JSON")] = False,
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="Never give this item; repeat it, or @FILE with one a line", rich_help_panel=RULES),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(help="Give only these; repeat it, or @FILE with one a line", rich_help_panel=RULES),
    ] = None,
    max_per_group: Annotated[
        int | None, typer.Option(help="At most so many of one group (artist, author)", rich_help_panel=RULES)
    ] = None,
    min_score: Annotated[
        float | None,
        typer.Option(
            help="Leave out items below this score: of FANS 0 or more by `--recipe best`, a log-probability by paper",
            rich_help_panel=RULES,
        ),
    ] = None,
    keep_seen: Annotated[
        bool, typer.Option("--keep-seen", help="Items of the input may come again", rich_help_panel=RULES)
    ] = False,
    fill: Annotated[
        Literal["by-position", "depth-first", "arranged"],
        typer.Option(
            help="How positions share the items; arranged: best items in their likely order, not best first",
            rich_help_panel=RULES,
        ),
    ] = "by-position",
    input: Annotated[
        str | None,
        typer.Option(
            help='JSON lines: {"id": 1, "items": ["a"]} or ["a"]; with Ray also a folder, a pattern or a URL of them',
            rich_help_panel=FILES,
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(help="Where their continuations go: a file; with Ray a folder or a URL", rich_help_panel=FILES),
    ] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda")] = "cpu",
    backend: Annotated[Backend, typer.Option(help="What runs the model; auto: the fastest there is")] = "auto",
    engine: Engine = "local",
    address: Address = None,
    workers: Workers = None,
    shards: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Lay the items of a model on so many workers, where one cannot hold them",
            rich_help_panel=CLUSTER,
        ),
    ] = None,
) -> None:
    """Continue a list, or a file of lists.

    One item a line: its id and, where it has one, its name.

    Example: `fans continue runs/mine s0001 s0007 -k 5 --max-per-group 2`

    Many: `fans continue runs/mine --input lists.jsonl --output continued.jsonl`

    Very many: `fans continue runs/mine --input s3://lists/ --output s3://continued/ --engine ray --address HOST:6379`

    A model too large for one machine: `fans continue runs/mine s0001 --engine ray --address HOST:6379 --shards 4`
    """
    refuse_without_ray(engine, workers=workers, shards=shards)
    if (input is None) != (output is None):
        raise BadSetting("--input and --output go together")
    if input is not None and items:
        raise BadSetting("give items or --input, not both")
    rules: dict[str, Any] = {
        "k": k,
        "exclude": _named(exclude) or (),
        "allow": _named(allow),
        "max_per_group": max_per_group,
        "min_score": min_score,
        "keep_seen": keep_seen,
        "fill": fill,
    }
    if engine == "ray" and shards is None:
        if input is None or output is None:
            raise BadSetting("--engine ray goes with --input and --output, or with --shards")
        from fansrec.cli.many_on_cluster import continue_on_cluster

        continue_on_cluster(run, input, output, rules, device, backend, address, workers)
        return
    with _opened(run, device, backend, address, workers, shards) as continuer:
        if input is not None and output is not None:
            from fansrec.cli.many import continue_file

            continue_file(continuer, Path(input), Path(output), rules)
            return
        (answer,) = continuer.continue_lists([items or []], **rules)
        _print(answer, as_json)


@contextmanager
def _opened(
    run: Path, device: str, backend: Backend, address: str | None, workers: int | None, shards: int | None
) -> Iterator[Any]:
    """The model in this process, or its items laid on the workers of a cluster."""
    if shards is None:
        from fansrec.api.continuer import load

        yield load(run, usable_device(device), backend)
        return
    if workers is not None or backend != "auto":
        raise BadSetting("--shards goes without --workers and --backend: every shard is a worker, and runs on torch")
    from fansrec.cluster.connection import cluster
    from fansrec.cluster.sharded import load as load_sharded

    with cluster(address, shards):
        yield load_sharded(run, shards, device)


def _named(items: list[str] | None) -> list[str] | None:
    """Items given one by one, or as @FILE with one a line."""
    if items is None:
        return None
    named: list[str] = []
    for item in items:
        if not item.startswith("@"):
            named.append(item)
            continue
        try:
            named += Path(item[1:]).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise BadInput(f"{item[1:]} cannot be read ({error})") from error
    return named


def _print(answer: Any, as_json: bool) -> None:
    if as_json:
        echo_json(answer.to_json())
        return
    warnings = Terminal(stderr=True)
    if answer.unknown:
        warnings.say(f"unknown items were skipped: {', '.join(map(str, answer.unknown))}")
    for position in answer.positions:
        echo_row(position.item, *([] if position.name is None else [position.name]))
    if answer.reason:
        warnings.say(answer.reason)
