"""List continuation in one pass: FANS (WWW 2023), its variants and the models it is compared with."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fansrec.api.continuer import load as load
    from fansrec.client import AsyncClient as AsyncClient
    from fansrec.client import Client as Client
    from fansrec.data.interface import prepare as prepare
    from fansrec.errors import FansError as FansError
    from fansrec.evaluation.evaluate import evaluate as evaluate
    from fansrec.experiments.compare.comparison import Comparison as Comparison
    from fansrec.experiments.compare.comparison import compare as compare
    from fansrec.experiments.tune.tuning import Tuned as Tuned
    from fansrec.experiments.tune.tuning import tune as tune
    from fansrec.exporting.export import export as export
    from fansrec.training.reporting import Epoch as Epoch
    from fansrec.training.trainer import train as train
    from fansrec.updating.interface import update as update

__version__ = "0.1.0"
__all__ = [
    "AsyncClient",
    "Client",
    "Comparison",
    "Epoch",
    "FansError",
    "Tuned",
    "__version__",
    "compare",
    "evaluate",
    "export",
    "load",
    "prepare",
    "train",
    "tune",
    "update",
]

_MODULES = {
    "AsyncClient": "fansrec.client",
    "Client": "fansrec.client",
    "Comparison": "fansrec.experiments.compare.comparison",
    "Epoch": "fansrec.training.reporting",
    "FansError": "fansrec.errors",
    "Tuned": "fansrec.experiments.tune.tuning",
    "compare": "fansrec.experiments.compare.comparison",
    "evaluate": "fansrec.evaluation.evaluate",
    "export": "fansrec.exporting.export",
    "load": "fansrec.api.continuer",
    "prepare": "fansrec.data.interface",
    "train": "fansrec.training.trainer",
    "tune": "fansrec.experiments.tune.tuning",
    "update": "fansrec.updating.interface",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import fansrec` imports nothing heavy."""
    if name in _MODULES:
        from importlib import import_module

        from fansrec.errors import missing_extras

        with missing_extras():
            return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'fansrec' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return also the public names that are not imported yet, for completion and `help`."""
    return sorted({*globals(), *__all__})
