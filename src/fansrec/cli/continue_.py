"""`fans continue`: the continuation of a list, or of a file of lists."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from fansrec.cli.options import (
    Address,
    Backend,
    Diversity,
    Engine,
    Fallback,
    Fill,
    Force,
    Freshness,
    Popularity,
    Run,
    Workers,
    cluster_option,
    refuse_without_ray,
    usable_device,
)
from fansrec.cli.several_values import SEVERAL_GIVEN
from fansrec.cli.terminal import Terminal, echo_json, echo_row
from fansrec.errors import BadInput, BadSetting

rule_option, file_option = (partial(typer.Option, rich_help_panel=panel) for panel in ("Rules", "Many lists"))

Items = list[str] | None
SEVERAL = "takes all values up to the next option, or @FILE with one per line; can be repeated"
MIN_SCORE = "Minimum score; FANS has scores >= 0 with `--recipe best`, log-probabilities with `--recipe paper`"
FILL = "How items are assigned to positions; arranged: the best items in their most likely order"
FALLBACK = "What a list of only unknown items gets: nothing, or the items of most training lists"
EXPLAIN = "Explain each item: shares of the parts of the model, input items that speak for it, similar lists"
INPUT = (
    'JSON lines {"id": 1, "items": ["a"]} or ["a"], or CSV with the columns list_id and item_id, or items, also .gz or '
    ".zip; - for standard input; with Ray also a folder, pattern or URL"
)
OUTPUT = "File for the continuations, as JSON lines; - for standard output; with Ray a folder or a URL"
MAX_SHOWN = 5  # unknown items
SHARDS = "Distribute the items of a model over this many workers, if one cannot hold them"


def continue_lists(
    context: typer.Context,
    run: Run,
    items: Annotated[Items, typer.Argument(help="Item ids or names; without any, a new list is generated")] = None,
    k: Annotated[int, typer.Option("-k", help="Number of items")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON with names, categories and scores")] = False,
    explain: Annotated[bool, typer.Option("--explain", help=EXPLAIN)] = False,
    exclude: Annotated[Items, rule_option(help=f"Exclude these items; {SEVERAL}")] = None,
    allow: Annotated[Items, rule_option(help=f"Allow only these items; {SEVERAL}")] = None,
    categories: Annotated[Items, rule_option(help=f"Allow only items of these categories; {SEVERAL}")] = None,
    max_per_group: Annotated[
        int | None, rule_option(help="Maximum number of items of one group (artist, author)")
    ] = None,
    min_score: Annotated[float | None, rule_option(help=MIN_SCORE)] = None,
    keep_seen: Annotated[bool, rule_option("--keep-seen", help="Allow input items in the answer")] = False,
    fill: Annotated[Fill, rule_option(help=FILL)] = "by-position",
    fallback: Annotated[Fallback, rule_option(help=FALLBACK)] = "none",
    diversity: Diversity = 0.0,
    popularity: Popularity = 0.0,
    freshness: Freshness = 0.0,
    input: Annotated[str | None, file_option(help=INPUT)] = None,
    output: Annotated[str | None, file_option(help=OUTPUT)] = None,
    force: Force = False,
    device: Annotated[str, typer.Option(help="Device to run on: cpu or cuda")] = "cpu",
    backend: Annotated[Backend, typer.Option(help="Backend to run on; auto: the fastest available")] = "auto",
    engine: Engine = "local",
    address: Address = None,
    workers: Workers = None,
    shards: Annotated[int | None, cluster_option(min=1, help=SHARDS)] = None,
) -> None:
    """Continue a list, or a file of lists.

    Example: `fans continue runs/mine s0001 s0007 -k 5 --max-per-group 2`

    Prints one item per line: its id and, if it has one, its name. As --exclude, --allow and --categories take all
    values up to the next option or `--`, put the items of the list directly after RUN. Unknown items of --exclude and
    --allow are reported on stderr. A single list of only unknown items is refused; one of a file gets an answer without
    items, with the reason.

    A file of lists: `fans continue runs/mine --input lists.jsonl --output continued.jsonl`

    A table (separated by comma, semicolon, tab or pipe) has one row per item, with the columns `list_id`, `item_id` and
    optionally `position` or `timestamp`, or one row per list, with `items` and optionally `id`; other names are
    recognized as by `fans prepare`, also `tracks` in JSON lines. Positions, else times, else the rows order the items;
    stderr says which columns were chosen. Any numbers in a column of times order the items, also small ones. `NA` and
    other texts for missing values are missing. Rows that cannot be used are refused together, with their lines.

    In a pipe: `cat lists.csv | fans continue runs/mine --input - --output -`

    On Ray: `fans continue runs/mine --input s3://lists/ --output s3://continued/ --engine ray --address HOST:6379`

    A model too large for one machine: `fans continue runs/mine s0001 --engine ray --address HOST:6379 --shards 4`

    Guides: docs/how-to/explain-and-control.md, docs/how-to/scale-out-with-ray.md
    """
    from fansrec.cli.continue_many import check_files, continue_file, continue_on_cluster

    refuse_without_ray(engine, workers=workers, shards=shards)
    check_files(input, output, engine, force)
    if input is not None and items:
        raise BadSetting(f"the items {' '.join(items[:3])} and --input cannot be combined; give one of them")
    rules: dict[str, Any] = {
        "k": k,
        "exclude": _read_items(exclude) or (),
        "allow": _read_items(allow),
        "categories": _read_items(categories),
        "max_per_group": max_per_group,
        "min_score": min_score,
        "keep_seen": keep_seen,
        "fill": fill,
        "fallback": fallback,
        "diversity": diversity,
        "popularity": popularity,
        "freshness": freshness,
        "explain": explain,
    }
    if engine == "ray" and shards is None:
        if input is None or output is None:
            raise BadSetting("--engine ray needs --input and --output, or --shards")
        from fansrec.cluster.batch import make_batch

        continue_on_cluster(make_batch(run, output, rules, device, backend), input, output, address, workers)
        return
    with _open(run, device, backend, address, workers, shards) as continuer:
        _warn_of_unknown(continuer, exclude=rules["exclude"], allow=rules["allow"])
        if input is not None and output is not None:
            continue_file(continuer, input, output, rules)
            return
        if not items and context.meta.get(SEVERAL_GIVEN):
            _warn(f"the input is empty: {context.meta[SEVERAL_GIVEN]} takes all values up to the next option")
        (answer,) = continuer.continue_lists([items or []], **rules)
        _print(answer, as_json, "" if answer.fallback else continuer.did_you_mean(answer.unknown))


@contextmanager
def _open(
    run: Path, device: str, backend: Backend, address: str | None, workers: int | None, shards: int | None
) -> Iterator[Any]:
    """Yield the model in this process, or with its items distributed over the workers of a cluster."""
    if shards is None:
        from fansrec.api.continuer import load

        yield load(run, usable_device(device), backend)
        return
    if workers is not None or backend != "auto":
        raise BadSetting(
            "--shards cannot be combined with --workers or --backend: every shard is a worker and runs on torch"
        )
    from fansrec.cluster.connection import cluster
    from fansrec.cluster.sharded import load as load_sharded

    with cluster(address, shards):
        yield load_sharded(run, shards, device)


def _read_items(items: list[str] | None) -> list[str] | None:
    """Return the items, with those of @FILE arguments read from the file."""
    if items is None:
        return None
    found: list[str] = []
    for item in items:
        if not item.startswith("@"):
            found.append(item)
            continue
        try:
            found += Path(item[1:]).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise BadInput(f"{item[1:]} cannot be read ({error}); give @FILE with one item per line") from error
    return found


def _warn(text: str) -> None:
    Terminal(stderr=True).say(text)


def _warn_of_unknown(continuer: Any, **rules: list[str] | None) -> None:
    """Report the items of rules that the model does not know, which therefore have no effect."""
    for name, items in rules.items():
        known, unknown = continuer.vocabulary.indices(items or ())
        if unknown and (len(known) or name != "allow"):  # --allow without a known item is refused
            more = f" and {len(unknown) - MAX_SHOWN:,} more" if len(unknown) > MAX_SHOWN else ""
            shown = ", ".join(map(repr, unknown[:MAX_SHOWN]))
            meant = continuer.did_you_mean(unknown) or "; check the spelling"
            _warn(f"--{name}: the model does not know {shown}{more}{meant}")


def _print_explanation(found: Any) -> None:
    """Print an explanation, a line for each kind of reason that there is."""
    because = [f"{one.item if one.name is None else one.name} ({one.weight:.0%})" for one in found.because]
    lists = [str(one.title or one.id) for one in found.lists if one.title or one.id]
    parts = [f"{name} {share:.0%}" for name, share in found.parts.items()]
    for title, values in (("because of", because), ("in the lists", lists), ("score from", parts)):
        if values:
            echo_row("", f"{title}: {', '.join(values)}")


def _print(answer: Any, as_json: bool, did_you_mean: str) -> None:
    if as_json:
        echo_json(answer.to_json())
        return
    if answer.unknown:
        _warn(f"unknown items were skipped: {', '.join(map(str, answer.unknown))}{did_you_mean}")
    for position in answer.positions:
        echo_row(position.item, *([] if position.name is None else [position.name]))
        if position.explanation:
            _print_explanation(position.explanation)
    if answer.reason:
        _warn(answer.reason)
