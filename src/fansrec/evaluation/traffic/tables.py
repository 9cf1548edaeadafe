"""What `fans events report` prints."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from fansrec.evaluation.formatting import format_interval, format_value
from fansrec.evaluation.tables import empty_table, print_wide
from fansrec.evaluation.traffic.counts import TYPES
from fansrec.evaluation.traffic.report import Report
from fansrec.printable import printable


def print_report(report: Report, console: Console) -> None:
    """Print the acceptance of each model, the differences, and the acceptance by position."""
    models = report["models"]
    for line in _introduction(report):
        console.print(Text(printable(line)), soft_wrap=True)
    console.print()
    if not models:
        return
    headings = ("model", "clients", *TYPES, "acceptance", "95% interval", "over clients")
    _print(headings, [_model_cells(model) for model in models], console)
    if report["differences"]:
        rows = [_difference_cells(row) for row in report["differences"]]
        _print(("difference in acceptance", "", "95% interval over clients", ""), rows, console)
    for model in models:
        if model["positions"]:
            _print(
                (f"{model['model']}, position", *TYPES, "acceptance", "95% interval"), _position_rows(model), console
            )


def _introduction(report: Report) -> list[str]:
    """Return what was counted, and what makes the figures less certain than they look."""
    first, last = (at[:16].replace("T", " ") if at else "" for at in report["period"])
    period = f", {first} to {last} UTC" if first else ""
    lines = [f"{report['events']:,} events of {report['clients']:,} clients{period}"]
    lines.append(f"acceptance: accepted / {'shown' if report['basis'] == 'shown' else '(accepted + skipped)'} items")
    if report["repeated_requests"]:
        lines.append(f"note: {report['repeated_requests']:,} requests were sent again and count once")
    if report["damaged_lines"]:
        lines.append(f"note: {report['damaged_lines']:,} damaged lines were left out")
    return lines + [f"note: {note}" for note in report["notes"]]


def _model_cells(model: Report) -> list[str]:
    counts = [f"{model[type]:,}" for type in TYPES]
    return [
        model["model"],
        f"{model['clients']:,}",
        *counts,
        format_value(model["acceptance"]),
        format_interval(model["interval"]),
        format_interval(model["interval_by_client"]),
    ]


def _difference_cells(row: Report) -> list[str]:
    value = "" if row["difference"] is None else f"{row['difference']:+.4f}"
    note = "" if row["significant"] else "not significant" if row["enough_clients"] else "too few clients"
    return [f"{row['model']} - {row['baseline']}", value, format_interval(row["interval"]), note]


def _position_rows(model: Report) -> list[list[str]]:
    return [
        [
            str(row["position"]),
            *(f"{row[type]:,}" for type in TYPES),
            format_value(row["acceptance"]),
            format_interval(row["interval"]),
        ]
        for row in model["positions"]
    ]


def _print(headings: Sequence[str], rows: Sequence[Sequence[str]], console: Console) -> None:
    table = empty_table(headings[0], justify="left")
    for heading in headings[1:]:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    print_wide(table, console)
    console.print()
