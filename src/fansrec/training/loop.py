"""The training loop: batches, validation, curriculum and checkpoints."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor

from fansrec.data.corpus import Corpus
from fansrec.errors import BadSetting, Interrupted
from fansrec.models.tokens import Batch
from fansrec.training import checkpoint
from fansrec.training.batches import GPU_SAVING, BatchBuilder, EpochBatches, share_of
from fansrec.training.curriculum import Curriculum, ratio
from fansrec.training.masking import MaskingRates
from fansrec.training.optimization import WeightAverage, learning_rate, make_optimizer
from fansrec.training.plan import Plan
from fansrec.training.process import make_accelerator, seed_draws
from fansrec.training.reporting import NULL_REPORTER, Reporter, write_metrics
from fansrec.training.validation import EpochFigures, Validation, best_figures

MOST_UNREAD = 32  # batches whose losses a GPU has not reported yet: it would be idle if the host waited for each
MOST_SECONDS = 1.0  # between two reports


class Loop:
    """A training run by gradient; its state between two batches is in `counters`.

    `validation` makes what compares epochs; None: the figures of the network on the validation lists.
    """

    def __init__(
        self,
        plan: Plan,
        corpus: Corpus,
        out: Path,
        network: Any,
        reporter: Reporter,
        stopped: Callable[[], bool],
        validation: Callable[[Accelerator], EpochFigures] | None = None,
    ) -> None:
        self.settings, self.out = plan.training, out
        self.folder = out / checkpoint.FOLDER
        self.stop_requested, self.stops = stopped, False
        self.accelerator = make_accelerator(self.settings.precision)
        self.reporter: Reporter = reporter if self.accelerator.is_main_process else NULL_REPORTER
        self.network = network.to(self.accelerator.device)
        self.optimizer = make_optimizer(self.network, self.settings)
        self.average = WeightAverage(self.network, self.settings.average)
        self.curriculum = Curriculum(self.settings.curriculum_steps, self.settings.epochs, self.settings.patience)
        self.two_stage = plan.settings.get("classifier") == "two-stage"
        names = {"hidden_share": "hidden", "shuffled_share": "shuffled"}
        rates = MaskingRates(**{names[name]: value for name, value in plan.settings.items() if name in names})
        on_gpu = self.accelerator.device.type == "cuda"
        saving = GPU_SAVING if on_gpu else 0
        builder = BatchBuilder(corpus, network.config.alphabet, rates, network.objective, saving)
        lists = corpus.part("train")
        self.rank, self.processes = self.accelerator.process_index, self.accelerator.num_processes
        self.unread: list[Tensor] = []  # loss and correct categories of batches that are not in `counters` yet
        self.most_unread = MOST_UNREAD if on_gpu and self.processes == 1 else 1
        self.read_at = time.monotonic()
        share = share_of(lists, self.rank, self.processes)
        self.batches = EpochBatches(builder, lists, self.settings.batch_size, self.settings.seed, share)
        self.validation: EpochFigures = (
            Validation(self.network, corpus, self.settings, self.accelerator)
            if validation is None
            else validation(self.accelerator)
        )
        self.best: dict[str, Tensor] = {}
        self.counters = checkpoint.Counters()
        self.saved_at = time.monotonic()

    def train(self, epochs: int | None = None) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Train for at most `epochs`, load the best weights of the last curriculum step; return history and figures."""
        epochs = self.settings.epochs if epochs is None else epochs
        if (self.folder / checkpoint.FILE).is_file():
            weights, self.counters = checkpoint.load(self.folder, self.network, self.optimizer)
            self.best = weights["best"]
            self.average.load(weights["average"])
            self.reporter.message(f"resuming in epoch {self.counters.epoch + 1}, batch {self.counters.batch + 1}")
        self.wrapped = self.accelerator.prepare_model(self.network)
        if self.processes > 1:
            self.reporter.message(f"{self.processes} processes train together")
        self.reporter.start(epochs, len(self.batches))
        while not self.counters.progress.finished and self.counters.epoch < epochs:
            self._epoch()
        self._save()  # what comes after the last epoch may take long and be interrupted too
        self.network.load_state_dict(self.best)
        return self.counters.history, best_figures(self.counters.history, self.settings.watch)

    def _epoch(self) -> None:
        counters = self.counters
        started = time.monotonic()
        self.network.train()
        share = ratio(counters.progress.step, self.curriculum.steps)
        for number, batch in self.batches.of_epoch(counters.epoch, share, counters.batch):
            self._batch(batch, number)
            self._save_if_due()
        self._read_figures()
        self._end_epoch(time.monotonic() - started)

    def _batch(self, batch: Batch, number: int) -> None:
        """Train on a batch and count it; its loss and correct categories may be read later."""
        counters, seed = self.counters, self.batches.seed(self.counters.epoch, number)
        seed_draws(int(np.random.SeedSequence([*seed, self.rank]).generate_state(1)[0]))
        self.unread.append(self._step(batch))
        counters.batch, counters.step = number + 1, counters.step + 1
        counters.positions += batch.positions
        if len(self.unread) >= self.most_unread or time.monotonic() - self.read_at > MOST_SECONDS:
            self._read_figures()

    def _step(self, batch: Batch) -> Tensor:
        """Make an optimizer step; return the loss and the correct categories of this process, shape (2,)."""
        for group in self.optimizer.param_groups:
            group["lr"] = self._learning_rate()
        loss = self.wrapped(batch.to(self.accelerator.device), self._sum)
        # Processes average their gradients, but every loss is already divided by the whole batch: they must be added.
        self.accelerator.backward(loss.total * self.processes)
        if self.settings.gradient_norm:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.settings.gradient_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.average.update(self.counters.step)
        return torch.stack([loss.total.detach(), loss.category_hits.float()])

    def _read_figures(self) -> None:
        """Wait for the last batches, and add their losses and correct categories to the counters."""
        if not self.unread:
            return
        figures, counters = torch.stack(self.unread), self.counters
        self.unread, self.read_at = [], time.monotonic()
        if self.processes > 1:  # one reduction, which includes whether any must stop, so that all stop after this batch
            stop = torch.full((len(figures), 1), float(self.stop_requested()), device=figures.device)
            figures = self._sum(torch.cat([figures, stop], 1))
            self.stops = bool(figures[:, 2].any())
        for loss, hits in figures[:, :2].tolist():
            if not math.isfinite(loss):
                raise BadSetting(
                    f"the loss became {loss} in epoch {counters.epoch + 1}; start again with a lower learning_rate"
                )
            counters.loss += loss
            counters.category_hits += hits
        mean_loss = counters.loss / counters.batch
        self.reporter.batch(counters.epoch + 1, counters.batch, mean_loss, self._category_accuracy())

    def _sum(self, tensor: Tensor) -> Tensor:
        summed: Tensor = self.accelerator.reduce(tensor, "sum")
        return summed

    def _category_accuracy(self) -> float | None:
        return self.counters.category_hits / self.counters.positions if self.two_stage else None

    def _masked_share(self) -> float | None:
        """Return the curriculum ratio, None for objectives without a target."""
        step, steps = self.counters.progress.step, self.curriculum.steps
        return ratio(step, steps) if self.network.objective == "continuation" else None

    def _learning_rate(self) -> float:
        return learning_rate(self.settings, self.counters.step, len(self.batches))

    def _end_epoch(self, seconds: float) -> None:
        """Validate, keep the weights if they are the best of the curriculum step, and report the epoch."""
        counters = self.counters
        with self.average.applied():
            figures = self.validation.figures()
            score = figures[f"valid {self.settings.watch}"]
            if counters.progress.best is None or not score <= counters.progress.best:
                self.best = {name: tensor.clone() for name, tensor in self.network.state_dict().items()}
        row = self._row(figures, seconds)
        self.counters = checkpoint.Counters(
            epoch=counters.epoch + 1,
            step=counters.step,
            progress=self.curriculum.after_epoch(counters.progress, score),
            history=[*counters.history, row],
        )
        self.reporter.epoch(row)
        if self.accelerator.is_main_process:
            write_metrics(self.out, self.counters.history)
        self._save_if_due()

    def _row(self, figures: dict[str, float], seconds: float) -> dict[str, Any]:
        """Return the line of the epoch in metrics.csv."""
        return {
            "epoch": self.counters.epoch + 1,
            "curriculum_step": self.counters.progress.step,
            "masked_share": self._masked_share(),
            "loss": self.counters.loss / len(self.batches),
            "category_accuracy": self._category_accuracy(),
            **figures,
            "learning_rate": self._learning_rate(),
            "seconds": round(seconds, 3),
        }

    def _save(self) -> None:
        if self.accelerator.is_main_process:
            extra = {"best": self.best, "average": self.average.weights}
            checkpoint.save(self.folder, self.network, self.optimizer, extra, self.counters)

    def _save_if_due(self) -> None:
        """Save a checkpoint if the last one is old or a stop was requested; in that case raise Interrupted."""
        stops = self.stops if self.processes > 1 else self.stop_requested()
        if not stops and time.monotonic() - self.saved_at < self.settings.checkpoint_seconds:
            return
        self._read_figures()
        self._save()
        self.saved_at = time.monotonic()
        if stops:
            epoch = self.counters.epoch + 1
            raise Interrupted(
                f"stopped in epoch {epoch}; everything is saved, continue with the same command and --resume"
            )
