"""Options that take several values, as in `--exclude A B`."""

from collections.abc import Collection, Iterator
from typing import Any

from typer.core import TyperCommand

SEVERAL_GIVEN = "fansrec.several_given"  # key of the first option that has several values


class SeveralValues(TyperCommand):
    """A command whose repeatable options take all values up to the next option, or up to `--`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments with each of several values as an option of its own."""
        repeatable = {name for one in self.params if getattr(one, "multiple", False) for name in one.opts}
        repeated = list(repeat_options(args, repeatable))
        ctx.meta[SEVERAL_GIVEN] = next(
            (name for name in args if len(repeated) > len(args) and name in repeatable), None
        )
        return super().parse_args(ctx, repeated)


def _name(argument: str) -> str:
    return argument.partition("=")[0]


def repeat_options(args: list[str], repeatable: Collection[str]) -> Iterator[str]:
    """Yield the arguments with `--exclude A B` written as `--exclude A --exclude B`."""
    option, values = "", 0
    for number, argument in enumerate(args):
        if argument == "--":
            yield from args[number:]
            return
        is_value = option and (not values or not argument.startswith("-"))
        if is_value and values:
            yield option
        elif not is_value:
            name = _name(argument)
            option, values = (name, int("=" in argument)) if name in repeatable else ("", 0)
            yield argument
            continue
        values += 1
        yield argument
