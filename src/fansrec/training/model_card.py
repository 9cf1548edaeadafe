"""The model card: the README.md of an artifact."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from fansrec.evaluation.settings import readable_value
from fansrec.models.config import setting_name
from fansrec.models.hybrid.config import NetworkConfig
from fansrec.models.neighbors.config import MemoryConfig
from fansrec.models.registry import command_name
from fansrec.training.hybrid.comparison import Comparison, cells, headline, verdict
from fansrec.training.plan import Plan, Trained
from fansrec.training.reporting import format_values
from fansrec.training.settings import ALSO_IN_CLOSED_FORM, TrainSettings, known_names

CARD = """\
# {variant}

A `{model}` model for list continuation, trained by fansrec. Use it with

```
fans continue . ITEM ITEM … -k 10
```

## Data

{data}

## Figures

{figures}

Figures on the validation lists, if it was trained by gradient or by a search. Test: `fans evaluate`.

{comparison}## Settings

{settings}
"""
# The settings of a part of the hybrid model, by its weight: without a weight they have no effect.
ONLY_WITH = {
    "network_weight": (
        *(setting_name(field) for field in fields(NetworkConfig)),
        *(field.name for field in fields(TrainSettings) if field.name not in ALSO_IN_CLOSED_FORM),
    ),
    "memory_weight": tuple(setting_name(field) for field in fields(MemoryConfig)),
    "linear_weight": ("linear_decay",),
}
SIZES = ("lists", "items", "interactions", "categories", "longest")


def model_card(trained: Trained, summary: dict[str, Any]) -> str:
    """Return the text of the model card; `summary` is that of the corpus."""
    plan, comparison, linear = trained.plan, trained.comparison, trained.linear
    data = {name: summary[name] for name in SIZES if name in summary}
    data |= {f"{part} lists": count for part, count in summary.get("splits", {}).items()}
    settings = applying_settings(plan)
    if linear is not None:
        settings["linear_model"] = f"{linear['model']}, {format_values(linear['settings'])}"
    return CARD.format(
        variant=plan.variant,
        model=command_name(plan.model),
        data=_table(data),
        figures=_table(trained.figures),
        comparison="" if comparison is None else _comparison(comparison),
        settings=_table(settings),
    )


def applying_settings(plan: Plan) -> dict[str, Any]:
    """Return the settings of a trained model, without those that have no effect on it."""
    values = plan.settings | vars(plan.training)
    known = known_names(command_name(plan.model), plan.training.recipe)
    unused = {setting for name, those in ONLY_WITH.items() if not values.get(name, True) for setting in those}
    if values.get("classifier") == "vanilla":
        unused.add("asked_categories")
    return {name: value for name, value in values.items() if name in known and name not in unused}


def _comparison(result: Comparison) -> str:
    head, *rows = cells(result)
    lines = "\n".join(f"{line}  " for line in verdict(result))
    return f"## Comparison with other models\n\n{headline(result)}.\n\n{_markdown(head, rows)}\n\n{lines}\n\n"


def _table(rows: dict[str, Any]) -> str:
    return _markdown(["", ""], [[name, readable_value(value)] for name, value in rows.items()])


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    first, *others = [f"| {' | '.join(row)} |" for row in [head, *rows]]
    return "\n".join([first, "|---" * len(head) + "|", *others])
