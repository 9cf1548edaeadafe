"""Options that several commands share, and their checks before the work begins."""

import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from fansrec.cli.urls import refuse_url
from fansrec.errors import BadSetting
from fansrec.files import read_json, refuse_existing
from fansrec.training.devices import ONLY_CPU
from fansrec.training.devices import usable_device as usable_device

DEFAULT_DEVICE = "a GPU if there is one, else cpu"

command_group = partial(typer.Typer, no_args_is_help=True, rich_markup_mode="markdown")
cluster_option = partial(typer.Option, rich_help_panel="Cluster")
execution_option = partial(typer.Option, rich_help_panel="Execution")  # of experiments
path_option = partial(typer.Option, callback=refuse_url)

Corpus = Annotated[Path, typer.Argument(help="Corpus folder, made by `fans prepare`", callback=refuse_url)]
Run = Annotated[Path, typer.Argument(help="Folder of a trained model", callback=refuse_url)]
Force = Annotated[bool, typer.Option("--force", help="Replace a result that exists")]
Json = Annotated[Path | None, typer.Option(help="Write the rows to this JSON file", callback=refuse_url)]
Backend = Literal["auto", "torch", "native", "cuda"]
Fill = Literal["by-position", "depth-first", "arranged"]
Fallback = Literal["none", "popular"]
control_option = partial(typer.Option, rich_help_panel="Re-ranking")
Diversity = Annotated[float, control_option(help="How much the items of an answer are to differ, 0 to 1")]
Popularity = Annotated[float, control_option(help="-1 to 1: below 0 prefers niche items, above 0 popular ones")]
Freshness = Annotated[
    float, control_option(help="How much items with a late date are preferred, 0 to 1; needs dates of items")
]
Device = Annotated[str | None, typer.Option(help="Device to run on: cpu, cuda, …", show_default=DEFAULT_DEVICE)]
ExperimentDevice = Annotated[
    Literal["cpu", "cuda"] | None, execution_option(help="Device to run on", show_default=DEFAULT_DEVICE)
]
ParallelRuns = Annotated[
    int | None,
    execution_option(min=1, help="Number of parallel training runs, one thread each", show_default="number of cores"),
]
Engine = Annotated[
    Literal["local", "ray"],
    # Eager: it decides which values of other options are refused.
    cluster_option(is_eager=True, help="Run in this process, or on a Ray cluster (extra [ray])"),
]
Address = Annotated[
    str | None,
    cluster_option(
        envvar="RAY_ADDRESS",
        help="Address of the cluster: HOST:PORT, or auto on one of its machines",
        show_default="a local cluster for the duration of the command",
    ),
]
Workers = Annotated[
    int | None,
    cluster_option(
        min=1, help="Number of worker processes", show_default="one per core, or per GPU where GPUs are used"
    ),
]


TrainingDevice = Annotated[
    str | None, typer.Option(help="Device to train on: cpu, cuda, cuda:1, …", show_default=DEFAULT_DEVICE)
]


def refuse_without_ray(engine: str, **options: object) -> None:
    """Refuse options that only have an effect with `--engine ray`."""
    for name, value in options.items():
        if engine != "ray" and value is not None:
            raise BadSetting(f"--{name.replace('_', '-')} needs --engine ray; add it, or leave out the option")


def choose_device(name: str | None) -> None:
    """Make this process train on the given device; raise BadSetting if it does not work here.

    Training uses the first GPU that it sees, so this must come before anything uses a GPU.
    """
    if name is None:
        return
    if name == "cpu":
        os.environ |= {"CUDA_VISIBLE_DEVICES": "", ONLY_CPU: "true"}
        return
    kind, _, number = name.partition(":")
    if kind == "cuda" and number.isdigit():
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        listed = visible != [""]
        os.environ["CUDA_VISIBLE_DEVICES"] = "".join(visible[int(number) :][:1]) if listed else number
    try:
        usable_device(kind)
    except BadSetting as error:
        raise BadSetting(f"there is no device {name} here; leave out --device, or give cpu") from error


def check_writable(*paths: Path | None, force: bool = False) -> None:
    """Create the folders of the given output files and refuse a path that cannot be written to.

    A file that exists is refused without `force`.
    """
    for path in paths:
        if path is None:
            continue
        if path.is_dir():
            raise BadSetting(f"{path} is a folder; give the name of a file")
        refuse_existing(path, "the result", force)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=path.parent).close()
        except OSError as error:
            raise BadSetting(f"cannot write to {path}: {error.strerror}; choose another path") from error


def check_result(path: Path | None, keys: set[str], force: bool) -> None:
    """Do the same for the JSON result of a command that resumes: its own earlier result, with `keys`, is replaced."""
    try:
        found = read_json(path) if path is not None else None
    except (OSError, ValueError):
        found = None
    check_writable(path, force=force or (isinstance(found, dict) and keys <= found.keys()))
