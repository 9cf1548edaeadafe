"""The exceptions that fansrec raises for what it refuses, all derived from FansError.

The command line prints such an error in one line and exits with 2; the service maps each class to a status code.
A message says what is wrong, where, and what to do next. It names a parameter by its flag (`--min-length`, `-k`):
`str(error)` shows the name that Python and HTTP use (`min_length`, `k`), the command line the flag.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

# A flag outside of quotes; text in backticks or quotes is a command or a value and stays as it is.
FLAG = re.compile(r"`[^`]*`|(?<!\w)'[^']*'(?!\w)|(?<![\w\-/\"'])-(?:-([a-z][a-z-]*[a-z])|(k))\b")
SWITCHES = ("resume", "force", "keep_seen")  # flags without a value


class FansError(Exception):
    """Base class: catching it catches every refusal of fansrec, and no bug.

    Examples:
        >>> import fansrec
        >>> try:
        ...     fansrec.load("runs/nothing")
        ... except fansrec.FansError as error:
        ...     print("is not a trained model" in str(error) or "does not exist" in str(error))
        True
    """

    def __str__(self) -> str:
        """Return the message with the names of parameters in Python."""
        return FLAG.sub(_parameter, self.on_command_line)

    @property
    def on_command_line(self) -> str:
        """The message with the flags of the command line."""
        return super().__str__()


def _parameter(found: re.Match[str]) -> str:
    flag = found[1] or found[2]
    if flag is None:
        return found[0]
    name = flag.replace("-", "_")
    return f"{name}=True" if name in SWITCHES else name


class BadInput(FansError):
    """A file, a table or a list of the user that cannot be used as it is."""


class BadSetting(FansError):
    """An option or a setting with an invalid value, or options that contradict each other."""


class BadArtifact(FansError):
    """A model folder or corpus folder that is missing, damaged, or written by a newer fansrec."""


class MissingExtra(FansError):
    """A feature whose optional dependency is not installed."""


class UnknownItems(FansError):
    """An input list that contains no item known to the model."""


class Unfinished(FansError):
    """Work that was interrupted (full disk, lost connection) with its state saved; the message says how to resume."""


class Interrupted(Unfinished):
    """Work that was stopped on request: not a refusal, so the exit code is 130, as in shells."""


# The extra that installs each optional package, by the name under which it is imported.
EXTRAS = {
    "client": ("anyio", "httpx2"),
    "serve": (
        "fastapi",
        "httptools",
        "prometheus_client",
        "pydantic",
        "pydantic_core",
        "rapidfuzz",
        "starlette",
        "uvicorn",
        "uvloop",
    ),
    "train": (
        "accelerate",
        "gensim",
        "matplotlib",
        "polars",
        "pyarrow",
        "scipy",
        "sklearn",
        "tensorboard",
        "threadpoolctl",
        "torch",
    ),
    "export": ("onnx",),
    "ray": ("fsspec", "grpc", "ray"),
    "torch": ("torch",),
    "gpu": ("torch",),
    "mlflow": ("mlflow",),
    "wandb": ("wandb",),
}


def not_installed(package: str, extra: str) -> MissingExtra:
    """Return the error for a package that is not installed; `extra` is one that has it."""
    return MissingExtra(f"{package} is not installed; run: pip install 'fansrec[{extra}]'")


def needs_torch(what: str) -> MissingExtra:
    """Return the error for a model or an option that only torch can run, if it is not installed."""
    return MissingExtra(f"{what} needs torch, which is not installed; run: pip install 'fansrec[torch]'")


@contextmanager
def missing_extras() -> Iterator[None]:
    """Raise MissingExtra, which names the extra to install, instead of the ModuleNotFoundError of its packages.

    Also a decorator: `@missing_extras()`.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        extra = next((extra for extra, packages in EXTRAS.items() if package in packages), None)
        if extra is None:
            raise
        raise not_installed(package, extra) from error
