"""`fans doctor`: what is installed, what works, and what to do about the rest."""

from typing import Annotated, Any

import typer

from fansrec.cli.terminal import echo, echo_json
from fansrec.errors import FansError


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one line of JSON")] = False,
) -> None:
    """Check the installation: Python, CPU kernel, GPU, extras, data folder, and a self-test.

    Example: `fans doctor`, or `fans doctor --json` for a bug report.

    The self-test continues a list with a small model in a child process and compares the items with the known ones.
    The exit code is 0 if lists can be continued, else 2. Extras that are not installed are not an error.
    """
    from fansrec.diagnosis import diagnose

    report = diagnose()
    if as_json:
        echo_json(report)
    else:
        echo(*_lines(report))
    if not report["can_continue_lists"]:
        problem, advice = report["self_test"]["problem"], report["self_test"].get("advice")
        fallback = "install fansrec again, or its extra torch: pip install 'fansrec[torch]'"
        raise FansError(f"lists cannot be continued: {problem}; {advice or fallback}")


def _lines(report: dict[str, Any]) -> list[str]:
    """Return the report as text."""
    kernel, test, gpu, data = (report[name] for name in ("kernel", "self_test", "gpu", "data"))
    compiled = f"compiled: {', '.join(kernel['compiled'])}" if kernel["compiled"] else "not compiled"
    passed = f"passed ({test['backend']} backend)"
    usable = "" if report["usable_cores"] == report["cores"] else f" ({report['usable_cores']} usable)"
    system = f"Python {report['python']}, {report['platform']}, {report['cores']} cores{usable}"
    folder = data["folders"][0] + ("" if data["exists"] else " (made by the first `fans data fetch`)")
    rows = {
        "fansrec": f"{report['fansrec']}, {system}",
        "CPU kernel": kernel["problem"] or f"{kernel['instructions']} ({compiled})",
        "self-test": passed if test["passed"] else f"failed: {test['problem']}",
        "GPU": ", ".join(gpu["names"]) or f"none: {gpu['problem']}",
        "data": f"{folder}; public sets: {', '.join(data['sets']) or 'none'}",
    }
    extras = [_extra_line(name, extra) for name, extra in report["extras"].items()]
    return [f"{name:<12}{text}" for name, text in rows.items()] + ["", "extras", *extras]


def _extra_line(name: str, extra: dict[str, Any]) -> str:
    state = "installed" if extra["installed"] else f"missing; {extra['install']}"
    return f"  {name:<10}{state:<40} for {extra['for']}"
