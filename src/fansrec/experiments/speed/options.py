"""The options of the benchmarks; the command line takes its defaults from here, so that this imports nothing heavy."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fansrec.errors import BadSetting

ARMS = ("authors", "eager", "compiled", "autoregressive", "linear", "ours")
ON_REQUEST = ("compiled",)  # compiling takes minutes on a CPU
SECONDS = 180.0  # for all workloads together; building models and a busy machine may use the rest of five minutes
REPEATS = 5


@dataclass(frozen=True)
class LatencyOptions:
    """What to measure: milliseconds per answer."""

    workload: str = "spotify"
    items: int | None = None  # None: as many as the workload has
    categories: Sequence[int] = (1, 10, 100)
    arms: Sequence[str] = tuple(arm for arm in ARMS if arm not in ON_REQUEST)
    batch: int = 1
    lists: int = 100
    seconds: float = SECONDS
    repeats: int = REPEATS
    device: str = "cpu"
    seed: int = 0
    run: Sequence[Path] = ()  # trained models to measure instead of random weights
    corpus: Path | None = None  # whose test lists they continue

    def __post_init__(self) -> None:
        for arm in self.arms:
            if arm not in ARMS:
                raise BadSetting(f"there is no arm {arm!r}; choose from {', '.join(ARMS)}")
        self._check_trained()
        if min(self.lists, self.batch, self.repeats, self.size, *self.categories) < 1:
            raise BadSetting("lists, batch, repeats, items and categories must be at least 1")
        if max(self.categories) > self.size:
            raise BadSetting(f"--categories {max(self.categories)} is more than the {self.size:,} items; give fewer")

    def _check_trained(self) -> None:
        """Refuse trained models without their corpus, and sizes that the corpus determines."""
        if self.run and self.corpus is None:
            raise BadSetting("--run needs --corpus; give the corpus that the model was trained on")
        if self.corpus is not None and not self.run:
            raise BadSetting("--corpus needs --run; give the folder of a model that was trained on it")
        for name in ("workload", "items", "categories") if self.run else ():
            given, default = getattr(self, name), getattr(type(self), name)
            if (tuple(given) if name == "categories" else given) != default:
                raise BadSetting(f"--{name} has no effect with --run, which has its own sizes; leave it out")

    @property
    def size(self) -> int:
        """The number of items."""
        from fansrec.experiments.speed.workloads import workload

        return workload(self.workload).items if self.items is None else self.items


@dataclass(frozen=True)
class ThroughputOptions(LatencyOptions):
    """What to measure: lists per second. Each batch size gets an equal share of the seconds."""

    categories: Sequence[int] = (1, 100)
    arms: Sequence[str] = ("eager", "ours")
    lists: int = 2048
    batches: Sequence[int] = (1, 8, 64, 256, 1024)


@dataclass(frozen=True)
class SweepOptions:
    """The sizes to measure; those that do not vary are Spotify's."""

    device: str = "cpu"
    lists: int = 50
    seconds: float = SECONDS  # for all four panels together
    repeats: int = REPEATS
    items: Sequence[int] = (10_000, 31_623, 100_000, 316_228, 1_000_000)
    categories: Sequence[int] = (1, 10, 32, 100, 316, 1_000)
    ks: Sequence[int] = (1, 2, 5, 10, 20, 50, 100, 150)
    batches: Sequence[int] = (1, 4, 16, 64, 256, 1_024)
    size: int = 104_695  # items while others vary
    of_size: int = 100  # categories while others vary
    workload: str = "spotify"
    seed: int = 0


@dataclass(frozen=True)
class StagesOptions:
    """What to measure: the time of the stages of one pass."""

    workload: str = "spotify"
    items: int | None = None  # None: as many as the workload has
    categories: Sequence[int] = LatencyOptions.categories
    device: str = "cpu"
    lists: int = 100
    seconds: float = 60
    repeats: int = REPEATS
