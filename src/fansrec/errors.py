"""Everything fansrec refuses, as kinds of one error.

The command line prints any of them in one line and exits with 2; a server maps each kind to a status.
A message says what is wrong, where, and what to do.
"""


class FansError(Exception):
    """The parent of all: catching it catches every refusal of fansrec, and no bug."""


class BadInput(FansError):
    """A file, a table or a list that the user gave cannot be used as it is."""


class BadSetting(FansError):
    """An option, a setting or a combination of them that makes no sense."""


class BadArtifact(FansError):
    """A model folder or corpus folder that is missing, damaged, or written by a newer fansrec."""


class MissingExtra(FansError):
    """A feature whose optional dependency is not installed."""


class UnknownItems(FansError):
    """An input list in which no item is known to the model."""


class Unfinished(FansError):
    """Work that broke off (a full disk, a lost connection) with its state saved; the message says how to go on."""


class Interrupted(Unfinished):
    """The same, because somebody asked it to stop: not a refusal, so the exit code is 130, as shells have it."""
