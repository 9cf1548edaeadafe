"""The model card: what somebody who finds the folder wants to know."""

from collections.abc import Sequence
from typing import Any

from fansrec.models.registry import command_name
from fansrec.training.hybrid.comparison import Comparison, cells, headline, verdict
from fansrec.training.plan import Plan


def model_card(
    plan: Plan, summary: dict[str, Any], figures: dict[str, Any], comparison: Comparison | None = None
) -> str:
    """README.md of an artifact."""
    splits = summary.get("splits", {})
    data = {
        name: summary[name] for name in ("lists", "items", "interactions", "categories", "longest") if name in summary
    }
    settings = {name: value for name, value in plan.settings.items() if name != "category_starts"} | vars(plan.training)
    return "\n".join(
        [
            f"# {plan.variant}",
            "",
            f"A `{command_name(plan.model)}` model for list continuation, trained by fansrec. Use it with",
            "",
            "```",
            "fans continue . ITEM ITEM … -k 10",
            "```",
            "",
            "## Data",
            "",
            *_table(data | {f"{part} lists": count for part, count in splits.items()}),
            "",
            "## Figures",
            "",
            *_table(figures),
            "",
            "Figures on the validation lists, if it was trained by gradient or searched. Test: `fans evaluate`.",
            "",
            *(_comparison(comparison) if comparison is not None else []),
            "## Settings",
            "",
            *_table(settings),
            "",
        ]
    )


def _comparison(found: Comparison) -> list[str]:
    head, *rows = cells(found)
    lines = [*_markdown(head, rows), "", *(f"{line}  " for line in verdict(found))]
    return ["## Beside other models", "", f"{headline(found)}.", "", *lines, ""]


def _table(rows: dict[str, Any]) -> list[str]:
    def text(value: Any) -> str:
        return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)

    return _markdown(["", ""], [[name, text(value)] for name, value in rows.items()])


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    first, *others = [f"| {' | '.join(row)} |" for row in [head, *rows]]
    return [first, "|---" * len(head) + "|", *others]
