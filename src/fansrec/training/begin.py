"""How a training run begins: its plan is written to its folder first, so that it can be resumed from then on."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fansrec.artifact import MANIFEST
from fansrec.data.corpus import Corpus
from fansrec.errors import BadSetting
from fansrec.files import format_os_error, new_folder, refuse_existing, write_json
from fansrec.training import checkpoint
from fansrec.training.grid_search import refuse_searched
from fansrec.training.plan import Plan, make_plan, saved_plan
from fansrec.training.process import check_precision, join_processes
from fansrec.training.settings import CHOICES, default_recipe
from fansrec.training.starting.plan import refuse_other_start, started_plan
from fansrec.training.starting.weights import START, Weights, started_weights, write_start


def begin(
    corpus: Corpus,
    out: Path,
    model: str | None,
    values: Mapping[str, Any],
    resume: bool,
    recipe: str = "best",
    force: bool = False,
    start: str | Path | None = None,
) -> Plan:
    """Return a new plan, written to disk so that it can be resumed elsewhere too, or the plan of the run to resume."""
    saved = out / checkpoint.FOLDER / checkpoint.PLAN
    if resume and (out / MANIFEST).is_file():
        shutil.rmtree(saved.parent, ignore_errors=True)  # left if the process was killed at the very end
        raise BadSetting(f"{out} is a finished model; there is nothing to resume")
    processes = join_processes()  # several may start together: the main process writes
    if resume and not saved.is_file():
        raise BadSetting(f"{out} does not contain an interrupted training run; start one without --resume")
    if recipe not in CHOICES["recipe"]:
        raise BadSetting(f"recipe is {recipe!r}; it must be {' or '.join(CHOICES['recipe'])}")
    run = None
    if resume:
        plan = saved_plan(saved, model, values, corpus)
        if start is not None:
            refuse_other_start(plan, Path(start))
    elif start is not None:
        plan, run = started_plan(Path(start), model, values, corpus)
    else:
        if recipe == "best":
            values = {"recipe": default_recipe(model or "fans", values)} | dict(values)
        plan = make_plan(model or "fans", values, corpus)
    refuse_searched(plan, values)
    if resume:
        return plan
    check_precision(plan.training.precision)
    if processes.is_main_process:
        weights = None if run is None else started_weights(run, plan.build(), corpus)
        _create_run(plan, out, force, weights)
    processes.wait_for_everyone()
    return plan


def _create_run(plan: Plan, out: Path, force: bool, weights: Weights | None) -> None:
    if not force and (out / checkpoint.FOLDER / checkpoint.PLAN).is_file():
        raise BadSetting(
            f"{out} contains an interrupted training run; continue with --resume, or give --force to replace it"
        )
    refuse_existing(out, "the model", force, [MANIFEST, f"{checkpoint.FOLDER}/{checkpoint.PLAN}"])
    try:
        with new_folder(out, force) as new:  # with its plan from the start, so that it can always be resumed
            (new / checkpoint.FOLDER).mkdir()
            write_json(new / checkpoint.FOLDER / checkpoint.PLAN, plan.plain())
            if weights is not None:
                write_start(weights, new / checkpoint.FOLDER / START)
    except OSError as error:
        raise BadSetting(f"{out} cannot be written ({format_os_error(error)}); choose another path") from error
