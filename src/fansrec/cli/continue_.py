"""`fans continue`: the first part of a list in, the rest out."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from fansrec.cli.devices import Backend, usable_device
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
        Path | None, typer.Option(help='JSON lines: {"id": 1, "items": ["a"]} or ["a"]', rich_help_panel=FILES)
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Where their continuations go", rich_help_panel=FILES)] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda")] = "cpu",
    backend: Annotated[Backend, typer.Option(help="What runs the model; auto: the fastest there is")] = "auto",
) -> None:
    """Continue a list, or a file of lists.

    One item a line: its id and, where it has one, its name.

    Example: `fans continue runs/mine s0001 s0007 -k 5 --max-per-group 2`

    Many: `fans continue runs/mine --input lists.jsonl --output continued.jsonl`
    """
    from fansrec.continuer import load

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
    continuer = load(run, usable_device(device), backend)
    if input is not None and output is not None:
        from fansrec.cli.many import continue_file

        continue_file(continuer, input, output, rules)
        return
    (answer,) = continuer.continue_lists([items or []], **rules)
    _print(answer, as_json)


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
        typer.echo(json.dumps({"items": answer.items} | asdict(answer), ensure_ascii=False))
        return
    warnings = Console(stderr=True, highlight=False, soft_wrap=True)
    if answer.unknown:
        warnings.print(f"unknown items were skipped: {', '.join(map(str, answer.unknown))}", markup=False)
    for position in answer.positions:
        typer.echo(str(position.item) if position.name is None else f"{position.item}\t{position.name}")
    if answer.reason:
        warnings.print(answer.reason, markup=False)
