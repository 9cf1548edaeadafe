"""The paper's AotM figures again: its own test lists, `--recipe paper`, three seeds a variant.

    python benchmarks/aotm.py --out runs/aotm [--variants FANS_STEP FANS_TSC-STEP] [--seeds 0 1 2]

Needs the aotm set (`fans data fetch aotm`, or $FANS_DATA). About 6 minutes a run on two cores; finished runs are kept,
interrupted ones go on.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from fansrec import Preparation, prepare, train
from fansrec.artifact import MANIFEST
from fansrec.data.corpus import read_corpus
from fansrec.data.public import PUBLIC, locate
from fansrec.evaluation.protocol import protocol
from fansrec.evaluation.rows import Row, evaluate_run, open_run
from fansrec.training.checkpoint import FOLDER
from fansrec.training.reporting import PlainReporter

METRICS = ("NDCG@5", "HR@5", "NDCG@10", "HR@10")
# Table 2 of the paper.
PAPER = {
    "FANS_NAIVE": (0.0171, 0.0983, 0.0890, 0.5385),
    "FANS_STEP": (0.0214, 0.1130, 0.0992, 0.5538),
    "FANS_TSC-NAIVE": (0.0229, 0.1084, 0.0744, 0.4769),
    "FANS_TSC-STEP": (0.0220, 0.1053, 0.0995, 0.4923),
}


def corpus_in(folder: Path) -> Path:
    out = folder / "corpus"
    if not out.exists():
        lengths = {"min_length": PUBLIC["aotm"].min_length, "max_length": PUBLIC["aotm"].max_length}
        prepare(locate("aotm"), out, Preparation(categories=10, categories_from="all", split="file-order", **lengths))
    return out


def settings_of(variant: str, seed: int) -> dict[str, object]:
    return {
        "classifier": "two-stage" if "TSC" in variant else "vanilla",
        "scheduler": "naive" if "NAIVE" in variant else "step",
        "seed": seed,
    }


def figures_of(folder: Path, corpus: Path, variant: str, seed: int) -> list[Row]:
    run = folder / f"{variant}-{seed}"
    if not (run / MANIFEST).is_file():
        print(f"{variant}, seed {seed}", flush=True)
        train(corpus, run, "fans", settings_of(variant, seed), PlainReporter(), resume=(run / FOLDER).is_dir())
    read = read_corpus(corpus)
    return [evaluate_run(open_run(run, read), read, protocol(name)) for name in ("paper", "standard")]


def told(rows: list[Row], metric: str) -> str:
    values = [row[metric] for row in rows]
    return f"{np.mean(values):.4f} ± {np.std(values, ddof=1) if len(values) > 1 else 0:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("runs/aotm"))
    parser.add_argument("--variants", nargs="+", default=["FANS_STEP", "FANS_TSC-STEP"], choices=list(PAPER))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    corpus = corpus_in(options.out)
    every: list[Row] = []
    for variant in options.variants:
        rows = [row for seed in options.seeds for row in figures_of(options.out, corpus, variant, seed)]
        every += rows
        print(f"\n{variant}: mean and deviation over seeds {options.seeds}, and the paper's figure")
        for metric, published in zip(METRICS, PAPER[variant], strict=True):
            paper, standard = ([row for row in rows if row["protocol"] == name] for name in ("paper", "standard"))
            print(f"  {metric:8} {told(paper, metric)}   paper {published:.4f}   (standard {told(standard, metric)})")
    (options.out / "figures.json").write_text(json.dumps(every, indent=2) + "\n")


if __name__ == "__main__":
    main()
