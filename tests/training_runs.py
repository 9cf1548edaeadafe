"""Training by the recipe of the paper and without a comparison, as most tests need it."""

from functools import partial

from fansrec.training import trainer

train = partial(trainer.train, recipe="paper", compare=False)
