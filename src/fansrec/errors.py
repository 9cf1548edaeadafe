"""The exceptions that fansrec raises for what it refuses, all derived from FansError.

The command line prints such an error in one line and exits with 2; the service maps each class to a status code.
A message says what is wrong, where, and what to do next.
"""


class FansError(Exception):
    """Base class: catching it catches every refusal of fansrec, and no bug."""


class BadInput(FansError):
    """A file, a table or a list of the user that cannot be used as it is."""


class BadSetting(FansError):
    """An option or a setting with an invalid value, or options that contradict each other."""


class BadArtifact(FansError):
    """A model folder or corpus folder that is missing, damaged, or written by a newer fansrec."""


class MissingExtra(FansError):
    """A feature whose optional dependency is not installed."""


def not_installed(package: str, extra: str) -> MissingExtra:
    """Return the error for a package that is not installed; `extra` is one that has it."""
    return MissingExtra(f"{package} is not installed; run: pip install 'fansrec[{extra}]'")


def needs_torch(what: str) -> MissingExtra:
    """Return the error for a model or an option that only torch can run, if it is not installed."""
    return MissingExtra(f"{what} needs torch, which is not installed; run: pip install 'fansrec[torch]'")


class UnknownItems(FansError):
    """An input list that contains no item known to the model."""


class Unfinished(FansError):
    """Work that was interrupted (full disk, lost connection) with its state saved; the message says how to resume."""


class Interrupted(Unfinished):
    """Work that was stopped on request: not a refusal, so the exit code is 130, as in shells."""
