"""Run the training runs and timings of the paper's experiments.

The corpora are in DIR/corpora/<dataset>-<categories>/, prepared elsewhere with `fans reproduce --only-report`. Results
are written to DIR/cells/ and DIR/timings/; `fans reproduce` with the same DIR writes the report. Copy DIR/runs/ back as
well if timings there should use trained weights: without them, weights are random, and the report says so.
"""

import argparse
from pathlib import Path

from fansrec.errors import BadSetting
from fansrec.experiments.options import add_job_options
from fansrec.experiments.progress import Log


def add_options(parser: argparse.ArgumentParser) -> None:
    add_job_options(parser)
    parser.add_argument("what", nargs="+", help="table1 to table4, fig-category, fig-recall, fig-time, industry, all")
    parser.add_argument("--out", type=Path, default=Path("reproduction"), metavar="DIR", help="folder of all files")
    parser.add_argument("--datasets", nargs="+", help="only these data sets")
    parser.add_argument("--seeds", nargs="+", type=int, help="random seeds (default: 0 1 2)")
    parser.add_argument(
        "--keep-weights", choices=["latency", "all", "none"], default="latency", help="of finished cells"
    )
    parser.add_argument("--only", choices=["training", "timing"], help="skip the other")
    parser.add_argument("--quick", action="store_true", help="a smoke test")


def run(options: argparse.Namespace) -> int:
    """Return the number of jobs that failed or were stopped."""
    from fansrec.experiments.machine import default_device
    from fansrec.experiments.paper.catalogue import select
    from fansrec.experiments.paper.cells import Corpora
    from fansrec.experiments.paper.jobs import run_all

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
