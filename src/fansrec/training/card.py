"""The model card: what somebody who finds the folder wants to know."""

from typing import Any

from fansrec.training.plan import Plan


def model_card(plan: Plan, summary: dict[str, Any], figures: dict[str, Any]) -> str:
    """README.md of an artifact."""
    splits = summary.get("splits", {})
    data = {
        name: summary[name] for name in ("lists", "items", "interactions", "categories", "longest") if name in summary
    }
    settings = {name: value for name, value in plan.config.items() if name != "category_starts"} | vars(plan.training)
    return "\n".join(
        [
            f"# {plan.variant}",
            "",
            f"A `{plan.model}` model for list continuation, trained by fansrec. Use it with",
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
            "## Settings",
            "",
            *_table(settings),
            "",
        ]
    )


def _table(rows: dict[str, Any]) -> list[str]:
    def text(value: Any) -> str:
        return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)

    return ["| | |", "|---|---|", *[f"| {name} | {text(value)} |" for name, value in rows.items()]]
