"""The loop of a training by gradient: batches, validation, checkpoints."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator, DistributedDataParallelKwargs
from numpy.typing import NDArray
from torch import Tensor

from fansrec.data.corpus import Corpus
from fansrec.engine.torch.backend import TorchEngine
from fansrec.errors import BadSetting, Interrupted
from fansrec.evaluation.protocol import ask, judge, mean, protocol, questions
from fansrec.training import checkpoint
from fansrec.training.averaging import Average
from fansrec.training.batches import BatchBuilder, epoch_plan, share_of
from fansrec.training.curriculum import Curriculum, ratio
from fansrec.training.logs import Events, write_metrics
from fansrec.training.masking import MaskingRates
from fansrec.training.plan import Plan
from fansrec.training.reporting import Reporter, Silence
from fansrec.training.settings import TrainSettings


def warmth(step: int, warmup: int, total: int) -> float:
    """The share of the full learning rate at step 0, 1, …: rising over the warm-up, then falling to 0 at `total`."""
    return min((step + 1) / max(1, warmup), max(0.0, (total - step) / max(1, total - warmup)), 1.0)


class Loop:
    """One training by gradient; what it must remember between two batches is in `counters`."""

    def __init__(
        self, plan: Plan, corpus: Corpus, out: Path, network: Any, reporter: Reporter, stopped: Callable[[], bool]
    ) -> None:
        self.plan, self.settings, self.corpus, self.out = plan, plan.training, corpus, out
        self.stopped, self.stops = stopped, False
        self.accelerator = _accelerator(self.settings.precision)
        self.reporter: Reporter = reporter if self.accelerator.is_main_process else Silence()
        self.network = network.to(self.accelerator.device)
        self.optimizer = _optimizer(self.network, self.settings)
        self.average = Average(self.network, self.settings.average)
        self.curriculum = Curriculum(self.settings.curriculum_steps, self.settings.epochs, self.settings.patience)
        self.two_stage = plan.settings.get("classifier") == "two-stage"
        rates = MaskingRates(hidden=plan.config.get("hidden_share", MaskingRates.hidden))
        self.builder = BatchBuilder(corpus, network.config.alphabet, rates, network.objective)
        self.rank, self.processes = self.accelerator.process_index, self.accelerator.num_processes
        self.share = share_of(corpus.part("train"), self.rank, self.processes)
        self.engine = TorchEngine(self.network, network.config.alphabet.items, self.accelerator.device)
        self.asked = questions(corpus, "valid", self.settings.validation_lists)
        # The paper leaves lists with fewer than 5 targets out at 5; where there are no others, all count.
        papers = self.settings.recipe == "paper" and any(len(target) >= 5 for target in self.asked.targets)
        self.how = protocol("paper" if papers else "standard")
        self.best: dict[str, Tensor] = {}
        self.counters = checkpoint.Counters()
        self.saved_at = time.monotonic()

    @property
    def folder(self) -> Path:
        return self.out / checkpoint.FOLDER

    def train(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Train to the end; the network then has the best weights of the last curriculum step."""
        if (self.folder / checkpoint.FILE).is_file():
            kept, self.counters = checkpoint.load(self.folder, self.network, self.optimizer)
            self.best = kept["best"]
            self.average.load(kept["average"])
            self.reporter.say(f"going on in epoch {self.counters.epoch}, batch {self.counters.batch}")
        self.wrapped = self.accelerator.prepare_model(self.network)
        self.events = Events(self.out) if self.accelerator.is_main_process else None
        if self.processes > 1:
            self.reporter.say(f"{self.processes} processes train together")
        self.reporter.start(self.settings.epochs, self._batches())
        while not self.counters.progress.finished:
            self._epoch()
        if self.accelerator.is_main_process:  # what comes after the last epoch may take a while and be stopped too
            checkpoint.save(self.folder, self.network, self.optimizer, self._kept(), self.counters)
        self.network.load_state_dict(self.best)
        if self.events is not None:
            self.events.close()
        return self.counters.history, self._figures()

    def _batches(self) -> int:
        return -(-len(self.corpus.part("train")) // self.settings.batch_size)

    def _epoch(self) -> None:
        now = self.counters
        began = time.monotonic()
        self.network.train()
        plan = epoch_plan(self.corpus.part("train"), self.settings.batch_size, [self.settings.seed, 0, now.epoch])
        for number in range(now.batch, len(plan)):
            self._batch(plan[number], number)
            self._save_if_due()
        self._end_epoch(time.monotonic() - began, len(plan))

    def _batch(self, lists: NDArray[np.int64], number: int) -> None:
        now = self.counters
        seed = [self.settings.seed, 1, now.epoch, number]
        batch = self.builder.build(lists, ratio(now.progress.step, self.curriculum.steps), seed, self.share)
        torch.manual_seed(int(np.random.SeedSequence([*seed, self.rank]).generate_state(1)[0]))
        for group in self.optimizer.param_groups:
            group["lr"] = self._learning_rate()
        loss = self.wrapped(batch.to(self.accelerator.device), self._sum)
        # Processes average their gradients; every loss is already divided by the whole batch, so they must add up.
        self.accelerator.backward(loss.total * self.processes)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.average.follow(now.step)
        # One sum for all: also whether any process was asked to stop, so that all of them stop after the same batch.
        asked = torch.tensor(float(self.stopped()), device=self.accelerator.device)
        total, hits, stops = self._sum(torch.stack([loss.total.detach(), loss.category_hits.float(), asked])).tolist()
        self.stops = stops > 0
        if not math.isfinite(total):
            raise BadSetting(f"the loss became {total} in epoch {now.epoch}; begin anew with a lower learning_rate")
        now.batch, now.step = number + 1, now.step + 1
        now.loss += total
        now.category_hits += hits
        now.positions += batch.positions
        self.reporter.batch(now.epoch, now.batch, now.loss / now.batch, self._category_accuracy())

    def _sum(self, tensor: Tensor) -> Tensor:
        summed: Tensor = self.accelerator.reduce(tensor, "sum")
        return summed

    def _category_accuracy(self) -> float | None:
        return self.counters.category_hits / self.counters.positions if self.two_stage else None

    def _masked_share(self) -> float | None:
        """Of the target; only FANS's objective has one."""
        step, steps = self.counters.progress.step, self.curriculum.steps
        return ratio(step, steps) if self.network.objective == "continuation" else None

    def _learning_rate(self) -> float:
        total = self.settings.epochs * self._batches()
        # Small corpora have few steps in all; they shall not spend them on warming up.
        return self.settings.learning_rate * warmth(self.counters.step, min(self.settings.warmup, total // 5), total)

    def _end_epoch(self, seconds: float, batches: int) -> None:
        now = self.counters
        with self.average.in_use():
            figures = self._validate()
            score = figures[f"valid {self.settings.watch}"]
            if now.progress.best is None or score > now.progress.best:
                self.best = {name: tensor.clone() for name, tensor in self.network.state_dict().items()}
        row = {
            "epoch": now.epoch,
            "curriculum_step": now.progress.step,
            "masked_share": self._masked_share(),
            "loss": now.loss / batches,
            "category_accuracy": self._category_accuracy(),
            **figures,
            "learning_rate": self._learning_rate(),
            "seconds": round(seconds, 3),
        }
        self.counters = checkpoint.Counters(
            epoch=now.epoch + 1,
            step=now.step,
            progress=self.curriculum.after_epoch(now.progress, score),
            history=[*now.history, row],
        )
        self.reporter.epoch(row)
        if self.events is not None:
            self.events.write(row)
            write_metrics(self.out, self.counters.history)
        self._save_if_due()

    def _validate(self) -> dict[str, float]:
        """The validation lists with the whole target masked, whatever the curriculum's step."""
        self.network.eval()
        own = self.asked.every(self.processes, self.rank)
        figures = judge(ask(self.engine, own, self.how), own, self.how)
        return {f"valid {name}": self._mean(figures[name]) for name in ("HR@5", "NDCG@5")}

    def _mean(self, values: NDArray[np.float64]) -> float:
        """Over the lists of all processes."""
        if self.processes == 1:
            return mean(values)
        own = torch.tensor([values.sum(), len(values)], dtype=torch.float64, device=self.accelerator.device)
        total, count = self._sum(own).tolist()
        return total / count if count else math.nan

    def _kept(self) -> checkpoint.Kept:
        return {"best": self.best, "average": self.average.weights}

    def _figures(self) -> dict[str, Any]:
        last = [row for row in self.counters.history if row["curriculum_step"] == self.curriculum.steps - 1]
        best = max(last, key=lambda row: row[f"valid {self.settings.watch}"])
        return {name: value for name, value in best.items() if name.startswith("valid")} | {"epoch": best["epoch"]}

    def _save_if_due(self) -> None:
        stops = self.stops if self.processes > 1 else self.stopped()
        if not stops and time.monotonic() - self.saved_at < self.settings.checkpoint_seconds:
            return
        if self.accelerator.is_main_process:
            checkpoint.save(self.folder, self.network, self.optimizer, self._kept(), self.counters)
        self.saved_at = time.monotonic()
        if stops:
            raise Interrupted(f"stopped in epoch {self.counters.epoch}; all is saved, go on with the same command "
                              f"and --resume")  # fmt: skip


def _optimizer(network: Any, settings: TrainSettings) -> torch.optim.Optimizer:
    """Adam, or AdamW where weights decay: matrices do, vectors do not."""
    if not settings.weight_decay:
        return torch.optim.Adam(network.parameters(), lr=settings.learning_rate, fused=True)
    vectors = [parameter for parameter in network.parameters() if parameter.ndim < 2]
    matrices = [parameter for parameter in network.parameters() if parameter.ndim >= 2]
    groups: list[dict[str, Any]] = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True)


def check_precision(precision: str) -> None:
    """bf16 is for GPUs: some CPUs promise its instructions and then die of them."""
    if precision == "bf16" and not torch.cuda.is_available():
        raise BadSetting("precision is bf16, which needs a GPU; leave it out or use fp32")


def no_accelerator() -> bool:
    """Whether there is only a CPU; accelerate must be told, or several processes on it would not find each other."""
    return not (torch.cuda.is_available() or torch.backends.mps.is_available())


def _accelerator(precision: str) -> Accelerator:
    check_precision(precision)
    wants_bf16 = precision == "bf16" or (precision == "auto" and torch.cuda.is_available())
    shared = DistributedDataParallelKwargs(gradient_as_bucket_view=True)  # else gradients would lie in memory twice
    return Accelerator(cpu=no_accelerator(), mixed_precision="bf16" if wants_bf16 else "no", kwargs_handlers=[shared])
