"""The plan of a training run that continues from the weights of a trained model on a grown corpus.

The settings of that model are the defaults. What a network of other sizes would need cannot be changed. The schedule is
shorter: the weights are good already, and only what is new has to be learned.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fansrec.artifact import MANIFEST, Artifact, check, read_artifact, recipe_of
from fansrec.data.corpus import Corpus, fingerprint
from fansrec.errors import BadArtifact, BadSetting
from fansrec.models.config import flat_settings, from_settings, setting_name, settings_of
from fansrec.models.registry import command_name, entry
from fansrec.training.plan import Plan, Row, from_corpus
from fansrec.training.settings import FROM_THE_CORPUS, TrainSettings, parse, split
from fansrec.updating.state import trained_weights

# Settings that the weights of a trained model fit to.
SIZES = ("width", "layers", "heads", "feedforward", "classifier", "use_categories", "window", "horizontal", "vertical")
EPOCHS_SHARE, FEWEST_EPOCHS = 0.2, 3  # of the epochs of the first training
RATE_SHARE = 0.5  # of its learning rate


def started_plan(folder: Path, model: str | None, values: Mapping[str, Any], corpus: Corpus) -> tuple[Plan, Artifact]:
    """Return the plan that continues the model in `folder` with these settings, and that model."""
    run = read_artifact(folder)
    name, recipe = run.config["model"], recipe_of(run.config)
    own = command_name(name)
    if not hasattr(entry(name).model, "objective"):
        raise BadSetting(
            f"{folder} is a {own} model, which is not trained by gradient: it has no weights to continue from; train "
            "without --start, or add lists with `fans update`"
        )
    _refuse_other(folder, {"model": model, "recipe": values.get("recipe")}, {"model": own, "recipe": recipe})
    asked = parse(own, {"recipe": recipe} | dict(values))
    settings = {key: value for key, value in flat_settings(run.stored.config).items() if key not in FROM_THE_CORPUS}
    settings |= trained_weights(run)  # an update has lowered those of its parts
    _refuse_other(folder, {key: asked.get(key) for key in SIZES}, settings)
    trained = _training_of(run)
    start = _start(run, trained, corpus)
    training, of_model = split(_shorter(trained, start) | asked)
    kind = entry(name).config
    shape = from_corpus(kind, corpus)
    if "positions" in shape:  # the trained ones are kept, also if the lists became shorter
        shape["positions"] = max(shape["positions"], run.stored.config.positions)
    config = from_settings(kind, settings | shape | of_model)
    names = {setting_name(field) for _, field in settings_of(kind)}
    given = names.intersection(run.config.get("given", ())) | asked.keys()
    return Plan(name, asdict(config), training, fingerprint(corpus), tuple(sorted(given)), start), run


def refuse_other_start(plan: Plan, folder: Path) -> None:
    """Raise BadSetting if the run that is resumed did not start from the model in `folder`, if that is still there."""
    if plan.start is None:
        raise BadSetting("this run was started without --start; resume it without --start")
    if (folder / MANIFEST).is_file() and check(folder) != plan.start["sha256"]:
        raise BadSetting(f"this run was started from another model than {folder}; resume it without --start")


def _refuse_other(folder: Path, asked: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Raise BadSetting if a value is asked for that is not that of the trained model."""
    for name, value in asked.items():
        if value is not None and name in own and value != own[name]:
            raise BadSetting(
                f"{name} is {value}, and the weights of {folder} are those of {name}={own[name]}; leave {name} out, or "
                "train without --start"
            )


def _training_of(run: Artifact) -> TrainSettings:
    """Return the settings that a model was trained with."""
    try:
        return TrainSettings(**run.config["training"])
    except (TypeError, KeyError, BadSetting) as error:
        raise BadArtifact(f"{run.folder} has training settings of another version ({error}); train it again") from error


def _start(run: Artifact, trained: TrainSettings, corpus: Corpus) -> Row:
    """Return what is kept of the trained model: which it was, and the schedule of the first training of its weights."""
    before, known = run.config.get("start") or {}, set(run.vocabulary.ids)
    return {
        "run": run.folder.absolute().name,
        "sha256": run.hash,
        "new_items": sum(id_ not in known for id_ in corpus.vocabulary.ids),
        "epochs": before.get("epochs", trained.epochs),
        "learning_rate": before.get("learning_rate", trained.learning_rate),
        "linear_model": run.config.get("linear_model"),
    }


def _shorter(trained: TrainSettings, start: Row) -> Row:
    """Return the settings of training: those of the trained model, but fewer epochs with a lower learning rate.

    There is no curriculum: the model can continue whole targets already.
    """
    return asdict(trained) | {
        "epochs": max(FEWEST_EPOCHS, math.ceil(EPOCHS_SHARE * start["epochs"])),
        "learning_rate": RATE_SHARE * start["learning_rate"],
        "steps": 1,
    }
