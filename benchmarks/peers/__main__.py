"""Compare the default model with libraries that users would take instead, on the same lists and machine.

    python -m benchmarks.peers CORPUS --env build/peers [--only implicit-cosine,fansrec] [--json FILE] [--limit 1200]

Each library is installed into an environment of its own below --env, where it stays for the next run. A library that
cannot be installed, and a model that fails or runs out of time or memory, become rows with the reason. Each model runs
in processes of its own: the first one fits it with every candidate of its settings (catalog.py) to the training lists
and answers the inputs of the validation lists; the second one fits it with the best of these to the training and
validation lists, answers all test lists in one call (lists/s), and some of them one at a time (the median is ms per
list). Ten items per list, items of the input excluded; fansrec computes the metrics of all (the standard protocol). The
default model is trained as `fans train --no-compare` does it, or read from --run; its training contains the search of
its settings. Memory is the proportional set size of the processes of a model.
"""

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.peers.catalog import LIBRARIES, OURS, Peer, peers
from benchmarks.peers.environments import NotInstalled, install, versions
from benchmarks.peers.measuring import Exchange, Measurement, Row, export
from benchmarks.peers.table import table

from fansrec import __version__
from fansrec.data.corpus import read_corpus
from fansrec.experiments.speed.rows import write_rows

LENGTHS = 99  # percentile of the lengths of inputs that transformers read completely


def main() -> None:
    options = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that worker processes are stopped too
    with tempfile.TemporaryDirectory() as folder:
        exchange = export(read_corpus(options.corpus), Path(folder))
        length = int(np.percentile([len(given) for given in exchange.valid.inputs], LENGTHS))
        available = {OURS: ours(options, Path(folder))} | peers(length)
        chosen = options.only.split(",") if options.only else list(available)
        if unknown := set(chosen) - set(available):
            sys.exit(f"there is no model {', '.join(sorted(unknown))}; choose from {', '.join(available)}")
        rows: list[Row] = []
        for name in chosen:
            label = {"corpus": options.corpus.name, "name": name, "cores": os.cpu_count(), "threads": threads()}
            rows.append(label | measured(available[name], exchange, options))
            if options.json:
                write_rows(options.json, rows)
            progress(table(rows[-1:]).splitlines()[-1])
    print("", table(rows), sep="\n")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus", type=Path, help="corpus folder, made by fans prepare")
    parser.add_argument("--env", type=Path, required=True, help="folder for the environments of the libraries")
    parser.add_argument("--run", type=Path, help="trained default model, instead of training it in this run")
    parser.add_argument("--only", help="names of models, separated by commas")
    parser.add_argument(
        "--limit",
        type=float,
        default=1800,
        help="maximum number of seconds of a search; the last fit has twice as many",
    )
    parser.add_argument("--json", type=Path, help="file to write the rows to")
    return parser.parse_args()


def ours(options: argparse.Namespace, folder: Path) -> Peer:
    """Return the default model, with the run that is given or one that is trained in `folder`."""
    run = options.run or folder / "run"
    settings = {"corpus": str(options.corpus.resolve()), "run": str(run.resolve()), "trained": options.run is not None}
    return Peer("fansrec, default model", OURS, "benchmarks.peers.fansrec_models", "fans", (settings,))


def measured(peer: Peer, exchange: Exchange, options: argparse.Namespace) -> Row:
    """Return the row of a model with the versions of its library."""
    progress(f"{peer.title}")
    if peer.library == OURS:
        row = Measurement(Path(sys.executable), options.limit, progress, ours=True).row(peer, exchange)
        untrained = {"train_s": None, "fit_s": None} if options.run and "failure" not in row else {}
        return row | untrained | {"settings": {}, "version": __version__}
    try:
        library = LIBRARIES[peer.library]
        python = install(options.env.resolve() / peer.library, library)
        found = versions(python, library)
    except NotInstalled as error:
        return {"model": peer.title, "library": peer.library, "failure": f"not installed: {error}"}
    row = Measurement(python, options.limit, progress).row(peer, exchange)
    return row | {"version": found[library.versions[0]], "versions": found}


def threads() -> int | None:
    """Return the limit of threads that the processes inherit, None without one."""
    value = os.environ.get("OMP_NUM_THREADS")
    return int(value) if value else None


def progress(line: Any) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
