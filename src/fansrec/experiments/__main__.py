"""`python -m fansrec.experiments paper|crossval|speed …`: run experiments on a bare accelerator machine.

It needs torch, numpy and safetensors alone. Data is prepared and results are reported elsewhere, with `fans reproduce`
and `fans crossval`; the same command resumes their unfinished jobs. `speed` runs the benchmarks of `fans bench`.
"""

import argparse
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from fansrec.data.corpus import read_corpus
from fansrec.errors import BadSetting, FansError, Interrupted
from fansrec.experiments.command_line import Log, add_job_options, parse_integers
from fansrec.experiments.crossval.cross_validation import CrossValidation, fold_folder, has_fold, read_split
from fansrec.experiments.crossval.report import write_result
from fansrec.experiments.crossval.systems import check_systems, parse_systems
from fansrec.experiments.machine import default_device, hide_gpu
from fansrec.experiments.paper.catalogue import select
from fansrec.experiments.paper.cells import Corpora
from fansrec.experiments.paper.jobs import run_all
from fansrec.experiments.speed.latency import latency
from fansrec.experiments.speed.options import LatencyOptions, StagesOptions, SweepOptions, ThroughputOptions
from fansrec.experiments.speed.rows import write_rows
from fansrec.experiments.speed.stages import stages
from fansrec.experiments.speed.sweep import sweep
from fansrec.experiments.speed.throughput import throughput
from fansrec.printable import printable

SYSTEM = ("arm", "model", "variant", "run", "backend", "categories")
MEMORY = ("peak_mb", "working_mb")
THROUGHPUT = ("batch", *SYSTEM, "lists_per_s", "p50_ms", "p99_ms", "lists", *MEMORY, "times_padded")
LATENCY = (*SYSTEM, "p50_ms", "p99_ms", "lists_per_s", "lists", *MEMORY, "times_authors", "same_items")
STAGES = ("layers_ms", "items_ms", "parts_ms", "rest_ms", "whole_ms")
# Each benchmark with its options, and the columns of its rows that are printed.
BENCHMARKS: dict[str, tuple[Callable[..., list[dict[str, Any]]], type[Any], Sequence[str]]] = {
    "latency": (latency, LatencyOptions, LATENCY),
    "throughput": (throughput, ThroughputOptions, THROUGHPUT),
    "sweep": (sweep, SweepOptions, ("varies", "items", *THROUGHPUT)),
    "stages": (stages, StagesOptions, ("variant", "backend", "device", "items", "categories", *STAGES, "lists")),
}


def paper(options: argparse.Namespace) -> int:
    """Run the training runs and timings of the paper's experiments.

    The corpora are in DIR/corpora/<dataset>-<categories>/, prepared elsewhere with `fans reproduce --only-report`.
    Results are written to DIR/cells/ and DIR/timings/; `fans reproduce` with the same DIR writes the report. Copy
    DIR/runs/ back as well if timings there should use trained weights: without them, weights are random, and the report
    says so.
    """
    selection = select(options.what, options.datasets, options.seeds, options.quick)
    corpora, log = Corpora(options.out), Log()
    for dataset in selection.datasets:
        for number in selection.category_counts:
            if corpora.fingerprint(dataset.name, number) is None:
                log.say(f"skipped: {corpora.folder(dataset.name, number)} does not exist")
    if not corpora.fingerprints and any(experiment.systems for experiment in selection.experiments):
        raise BadSetting(
            f"{options.out / 'corpora'} has none of the corpora; prepare them with `fans reproduce --only-report`"
        )
    device = options.device or default_device()
    kept, limit = options.keep_weights, options.time_limit
    return run_all(selection, corpora, log, options.workers, device, kept, limit, options.only)


def crossval(options: argparse.Namespace) -> int:
    """Run the cells of a cross-validation whose folds were made elsewhere.

    FOLDER was made with `fans crossval CORPUS --folds 10 --out FOLDER --only folds`: split.json and one corpus per
    fold. Cells are written to FOLDER/cells/; copied back, `fans crossval CORPUS --out FOLDER --only report` reports
    them.
    """
    folder, split, log = options.folder, read_split(options.folder), Log()
    numbers = parse_integers("--fold-numbers", options.fold_numbers) if options.fold_numbers is not None else []
    folds = split.select(numbers)
    for number in folds:
        if not has_fold(folder, number):
            log.say(f"skipped: {fold_folder(folder, number)} does not exist")
    folds = [number for number in folds if has_fold(folder, number)]
    if not folds:
        raise BadSetting(f"{folder} has none of the folds; make them with `fans crossval --only folds`")
    systems = parse_systems(options.models)
    check_systems(systems, read_corpus(fold_folder(folder, folds[0])))
    seeds = parse_integers("--seeds", options.seeds)
    validation = CrossValidation(folder, split, folds, systems, seeds, options.part)
    unfinished = validation.run_cells(log, options.workers, options.keep_weights, options.time_limit)
    for job in unfinished:
        print(printable(f"not finished: {job.title}"), file=sys.stderr)
    if options.json is not None:
        write_result(validation, options.json)
    return len(unfinished)


def speed(options: argparse.Namespace) -> int:
    """Run a benchmark of `fans bench` on a bare accelerator machine.

    python -m fansrec.experiments speed latency --categories 1 10 100 --device cuda --json rows.json
    python -m fansrec.experiments speed latency --run RUN --run OTHER --corpus CORPUS --device cuda --json rows.json
    """
    benchmark, kind, columns = BENCHMARKS[options.benchmark]
    given = {field.name: getattr(options, field.name) for field in fields(kind)}
    rows = benchmark(kind(**{name: value for name, value in given.items() if value is not None}), say=print)
    write_rows(options.json, rows)
    print(*columns)
    for row in rows:
        print(*(f"{row[name]:.4g}" if isinstance(row[name], float) else f"{row[name]}" for name in columns))
    return 0


def _add_paper_options(parser: argparse.ArgumentParser) -> None:
    add_job_options(parser)
    add = parser.add_argument
    add("what", nargs="+", help="table1 to table4, fig-category, fig-recall, fig-time, industry, all")
    add("--out", type=Path, default=Path("reproduction"), metavar="DIR", help="folder of all files")
    add("--datasets", nargs="+", help="only these data sets")
    add("--seeds", nargs="+", type=int, help="random seeds (default: 0 1 2)")
    add("--keep-weights", choices=["latency", "all", "none"], default="latency", help="of finished cells")
    add("--only", choices=["training", "timing"], help="skip the other")
    add("--quick", action="store_true", help="a smoke test")


def _add_crossval_options(parser: argparse.ArgumentParser) -> None:
    add_job_options(parser)
    add = parser.add_argument
    add("folder", type=Path, help="folder with the folds")
    add("--models", required=True, help="systems NAME[:RECIPE][+SETTING=VALUE...], separated by commas")
    add("--fold-numbers", help="only these folds, separated by commas")
    add("--part", choices=["test", "valid"], default="test", help="the lists to evaluate on")
    add("--seeds", default="0", help="random seeds of training, separated by commas")
    add("--keep-weights", action="store_true", help="keep those of finished cells in FOLDER/runs")
    add("--json", type=Path, help="write the results of finished cells here, and FILE.md beside it")


def _add_speed_options(parser: argparse.ArgumentParser) -> None:
    benchmarks = parser.add_subparsers(dest="benchmark", required=True)
    for name, (_, options, _) in BENCHMARKS.items():
        own = benchmarks.add_parser(name, description=options.__doc__)
        for name, hint in get_type_hints(options).items():
            _add_option(own, name, hint, getattr(options, name))
        own.add_argument("--json", type=Path, required=True, help="file for the rows")


def _add_option(parser: argparse.ArgumentParser, name: str, hint: Any, default: Any) -> None:
    """Add the option of a field; one with several values can also be repeated."""
    if get_origin(hint) is Sequence:
        several = {"type": get_args(hint)[0], "nargs": "+", "action": "extend"}
        parser.add_argument(f"--{name}", **several, help=f"default: {' '.join(map(str, default)) or 'none'}")
    else:
        kinds = [kind for kind in get_args(hint) or (hint,) if kind is not NoneType]
        parser.add_argument(f"--{name}", type=kinds[0], default=default, help=f"default: {default}")


COMMANDS = {paper: _add_paper_options, crossval: _add_crossval_options, speed: _add_speed_options}


def run(arguments: Sequence[str] | None) -> int:
    """Return the number of jobs that failed or were stopped."""
    parser = argparse.ArgumentParser(prog="python -m fansrec.experiments", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    layout = argparse.RawDescriptionHelpFormatter
    for command, add_options in COMMANDS.items():
        own = commands.add_parser(command.__name__, description=inspect.getdoc(command), formatter_class=layout)
        add_options(own)
        own.set_defaults(execute=command)
    options = parser.parse_args(arguments)
    hide_gpu(options.device)
    unfinished: int = options.execute(options)
    return unfinished


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if all jobs are finished, 1 if some are not, 2 for anything refused, 130 if interrupted."""
    try:
        unfinished = run(arguments)
    except (FansError, OSError) as error:
        message = error.on_command_line if isinstance(error, FansError) else error
        print(printable(f"fansrec: {message}"), file=sys.stderr)
        return 130 if isinstance(error, Interrupted) else 2
    if unfinished:
        print(f"{unfinished} jobs are unfinished; the same command resumes them", file=sys.stderr)
    return 1 if unfinished else 0


if __name__ == "__main__":
    sys.exit(main())
