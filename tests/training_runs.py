"""Training by the recipe of the paper and without a comparison, as most tests need it, and its messages."""

from functools import partial

from fansrec.training import trainer
from fansrec.training.reporting import Reporter

train = partial(trainer.train, recipe="paper", compare=False)


class Recorder(Reporter):
    """Records the messages of a training run."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def message(self, text: str) -> None:
        self.messages.append(text)
