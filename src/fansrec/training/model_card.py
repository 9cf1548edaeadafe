"""The model card: the README.md of an artifact."""

from collections.abc import Sequence
from typing import Any

from fansrec.models.registry import command_name
from fansrec.training.hybrid.comparison import Comparison, cells, headline, verdict
from fansrec.training.plan import Trained
from fansrec.training.reporting import format_values

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
SIZES = ("lists", "items", "interactions", "categories", "longest")


def model_card(trained: Trained, summary: dict[str, Any]) -> str:
    """Return the text of the model card; `summary` is that of the corpus."""
    plan, comparison, linear = trained.plan, trained.comparison, trained.linear
    data = {name: summary[name] for name in SIZES if name in summary}
    data |= {f"{part} lists": count for part, count in summary.get("splits", {}).items()}
    settings = {name: value for name, value in plan.settings.items() if name != "category_starts"} | vars(plan.training)
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


def _comparison(result: Comparison) -> str:
    head, *rows = cells(result)
    lines = "\n".join(f"{line}  " for line in verdict(result))
    return f"## Comparison with other models\n\n{headline(result)}.\n\n{_markdown(head, rows)}\n\n{lines}\n\n"


def _table(rows: dict[str, Any]) -> str:
    def text(value: Any) -> str:
        return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)

    return _markdown(["", ""], [[name, text(value)] for name, value in rows.items()])


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    first, *others = [f"| {' | '.join(row)} |" for row in [head, *rows]]
    return "\n".join([first, "|---" * len(head) + "|", *others])
