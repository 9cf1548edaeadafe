"""`fans events`: what people accepted of the suggestions of a service."""

from pathlib import Path
from typing import Annotated

import typer

from fansrec.cli.options import Force, check_writable, command_group, path_option
from fansrec.cli.terminal import Terminal, echo
from fansrec.cli.urls import refuse_url
from fansrec.files import write_json

app = command_group(help="Evaluate the events that clients sent to `fans serve --writes FOLDER`.")

FOLDER = "Folder of --writes, a copy of it, or one of its files events-….log; the service may run"


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help=FOLDER, callback=refuse_url)],
    json: Annotated[Path | None, path_option(help="Also write the report to this JSON file")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the intervals over clients")] = 0,
    force: Force = False,
) -> None:
    """Print the acceptance of each model, by position, with 95% intervals, and the differences between models.

    Acceptance is the share of the shown items that were accepted, or, where clients do not report what was shown, of
    those that were accepted or skipped. The first interval (Wilson's score) takes all items as independent; the one
    over clients, a bootstrap with --seed, does not.

    Example: `fans events report /var/lib/fans/writes`

    Guide: docs/how-to/compare-models-on-traffic.md
    """
    check_writable(json, force=force)
    from fansrec.evaluation.traffic.report import report as evaluate_events
    from fansrec.evaluation.traffic.tables import print_report
    from fansrec.serving.events.reading import EventLog

    log = EventLog(folder)
    found = evaluate_events(log, seed) | log.summary()
    if json is not None:
        write_json(json, found)
    print_report(found, Terminal())
    if json is not None:
        echo(f"written: {json}")
