# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Tutorial: reproduce a table, add a model, compare
#
# In this tutorial you do what a paper on list continuation needs: reproduce known
# systems, add a model of your own in one file, choose its settings on validation lists,
# and compare it with the others list by list, with confidence intervals. You need
# fansrec with the extra `train`. It takes about two minutes on two CPU cores.
#
# The lists are set lists of concerts, the public set `grateful-dead`
# (`fans data fetch grateful-dead`); without it they are 2,000 lists of the sample
# world. What is said about numbers is true for the set lists. Everything is written to
# the folder `research-tutorial`.

# %%
import importlib
import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt

import fansrec
from fansrec.data.sample import make_sample
from fansrec.experiments.paper.catalogue import systems

FOLDER = Path("research-tutorial")
# Automatic tests set this variable: tiny models, and figures that mean nothing.
QUICK = "TUTORIAL_QUICK" in os.environ

# %% [markdown]
# ## 1. The data, prepared as in the paper
#
# The paper splits the lists in the order of the file and learns ten categories from all
# lists. The name of a public set stands for its files, its minimum numbers and its
# maximum length.

# %%
CORPUS = FOLDER / "corpus"
as_in_the_paper = {
    "split": "file-order",
    "categories": 10,
    "categories_from": "all",
    "force": True,
    "report": print,
}
try:
    if QUICK:
        raise fansrec.FansError
    fansrec.prepare("grateful-dead", CORPUS, **as_in_the_paper)
except fansrec.FansError:
    lists = make_sample().lists[: 300 if QUICK else 2_000]
    fansrec.prepare(lists, CORPUS, min_item_count=5 if QUICK else 10, **as_in_the_paper)

# %% [markdown]
# ## 2. Reproduce a part of Table 2
#
# Table 2 of the paper compares FANS, which predicts all next items in one pass, with
# models that predict one item after the other. `fans reproduce table2` trains all of
# its systems on several sets with three seeds and writes a report, which takes days on
# a few cores. Here are four of the nine systems, on one set with one seed, and the
# baselines that the paper left out. The settings are those that `fans reproduce` uses:

# %%
NAMES = [
    "SASRec",
    "BERT4Rec",
    "FANS_NAIVE",
    "FANS_TSC-STEP",
    "popularity",
    "item-kNN",
    "EASE",
    "Markov",
]
if QUICK:
    NAMES = ["BERT4Rec", "FANS_TSC-STEP", "Markov"]
for name in NAMES:
    system = systems()[name]
    values = dict(system.settings)
    if QUICK and not system.deterministic:
        values |= {"epochs": 1, "width": 16, "layers": 1}
    print(name, system.model, values)
    fansrec.train(
        CORPUS, FOLDER / name, system.model, {**values, "seed": 0}, force=True
    )

# %% [markdown]
# Under the paper's protocol, a model is asked for as many items as the real second half
# has, and may repeat items of the input. The metrics at 10 count only the lists whose
# second half has ten items.

# %%
table = fansrec.evaluate([FOLDER / name for name in NAMES], CORPUS, protocol="paper")
reference = next(row["latency_ms"] for row in table if row["run"] == "BERT4Rec")
print(f"{'':13}  {'NDCG@5':>24}  {'HR@5':>6}  {'ms/list':>7}  speedup")
for row in table:
    low, high = row["NDCG@5_ci"]
    print(
        f"{row['run']:13}  {row['NDCG@5']:.4f} [{low:.4f}, {high:.4f}]"
        f"  {row['HR@5']:.4f}  "
        f"{row['latency_ms']:7.2f}  {reference / row['latency_ms']:.1f}x"
    )

# %% [markdown]
# ## 3. Add a model in one file
#
# An idea to test: in a concert, a song tells which songs come a little later. Markov
# only looks one song ahead, item-kNN ignores the order. *Followers* counts how often
# one song comes after another in the same list, the less the further apart, and adds
# that up over the songs of the input, the less the longer ago they were played.
#
# A model that is fitted to all lists at once is a class with `fit` and `score_next`, a
# configuration, and an `ENTRY` ([add a model](../how-to/add-a-model.md) also shows one
# that is trained by gradient).

# %%
CODE = '''
"""Followers: the items that come soon after those of the input in training lists."""

from dataclasses import dataclass

import numpy as np
import torch

from fansrec.models.config import POSITIVE, ItemsConfig, setting
from fansrec.models.linear.popularity import ClosedFormModel, list_counts
from fansrec.models.registry import Entry


@dataclass(frozen=True)
class FollowersConfig(ItemsConfig):  # the items come from the corpus
    reach: float = setting(5.0, POSITIVE)  # distance at which a follower counts 1/e
    memory: float = setting(5.0, POSITIVE)  # age at which an input item counts 1/e


class Followers(ClosedFormModel):
    name = "followers"
    title = "Followers"

    def __init__(self, config):
        super().__init__(config)
        items = config.category_starts[-1]
        self.register_buffer("weights", torch.zeros(items, items))  # item -> follower

    def fit(self, items, offsets):
        """Count followers in the lists items[offsets[i]:offsets[i + 1]]."""
        size = len(self.weights)
        lists = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        weights = np.zeros(size * size)
        for distance in range(1, int(4 * self.config.reach) + 1):
            before = np.flatnonzero(lists[:-distance] == lists[distance:])  # same list
            pairs = items[before].astype(np.int64) * size + items[before + distance]
            share = np.exp(-distance / self.config.reach)
            weights += share * np.bincount(pairs, minlength=size * size)
        lists_of = np.maximum(list_counts(items, offsets, size), 1)
        weights = weights.reshape(size, size) / lists_of[:, None]
        self.weights = torch.from_numpy(weights).float()

    def score_next(self, inputs):
        """Return the scores (B, M) of all items."""
        scores = []
        for items in inputs:
            ages = torch.arange(len(items) - 1, -1, -1)
            factors = torch.exp(-ages / self.config.memory)
            indices = torch.as_tensor(np.asarray(items, dtype=np.int64))
            scores.append(factors @ self.weights[indices])
        return torch.stack(scores)


ENTRY = Entry(Followers, FollowersConfig)
'''

# %% [markdown]
# The file belongs into a package that names it in its `pyproject.toml`, under
# `[project.entry-points."fansrec.models"]`. The next cell writes what `pip install`
# would write, so that the tutorial changes nothing outside its folder.

# %%
PACKAGE = FOLDER / "package"
INFO = PACKAGE / "followers-1.0.dist-info"
INFO.mkdir(parents=True, exist_ok=True)
(PACKAGE / "followers_model.py").write_text(CODE.lstrip())
(INFO / "METADATA").write_text("Metadata-Version: 2.1\nName: followers\nVersion: 1.0\n")
(INFO / "entry_points.txt").write_text(
    "[fansrec.models]\nfollowers = followers_model:ENTRY\n"
)
sys.path.insert(0, str(PACKAGE.resolve()))
importlib.invalidate_caches()

# %% [markdown]
# From now on every function and command knows the model. Its two settings are chosen on
# the validation lists. The test lists are not touched until they are fixed: what is
# chosen on the lists that it is then measured on looks better than it is.

# %%
tried = {}
for reach in (5.0,) if QUICK else (5.0, 20.0, 80.0):
    for memory in (1.0, 2.0, 5.0):
        fansrec.train(
            CORPUS,
            FOLDER / "tried",
            "followers",
            {"reach": reach, "memory": memory},
            force=True,
        )
        [row] = fansrec.evaluate(
            FOLDER / "tried", CORPUS, part="valid", protocol="standard"
        )
        tried[reach, memory] = row["NDCG@5"]
        print(
            f"reach {reach:4}, memory {memory:4}: validation NDCG@5 {row['NDCG@5']:.4f}"
        )
reach, memory = max(tried, key=tried.get)
fansrec.train(
    CORPUS,
    FOLDER / "Followers",
    "followers",
    {"reach": reach, "memory": memory},
    force=True,
)

# %% [markdown]
# ## 4. Compare, list by list
#
# Two intervals that overlap say little, because both models were evaluated on the same
# lists, and some lists are easy for both. The difference of the two on each list is
# what counts. `fansrec.evaluate` compares every run with the best one in this way; a
# pair of runs gives the difference of these two. The protocol is the standard one: ten
# items, without those of the input.


# %%
def difference(run: str, other: str) -> tuple[float, float, float]:
    """Return NDCG@5 of `run` minus that of `other`, with the 95% interval."""
    _, worse = fansrec.evaluate(
        [FOLDER / run, FOLDER / other], CORPUS, protocol="standard", examples=0
    )
    found = worse["differences"]["NDCG@5"]  # of the worse run from the better one
    mean, (low, high) = found["difference"], found["interval"]
    return (mean, low, high) if worse["run"] == run else (-mean, -high, -low)


standard = fansrec.evaluate(
    [FOLDER / name for name in [*NAMES, "Followers"]], CORPUS, protocol="standard"
)
ours = next(row for row in standard if row["run"] == "Followers")
print(f"Followers: NDCG@5 {ours['NDCG@5']:.4f}, {ours['lists']} lists")
differences = {
    row["run"]: difference("Followers", row["run"])
    for row in standard
    if row is not ours
}
for name, (mean, low, high) in differences.items():
    verdict = (
        "better" if low > 0 else "worse" if high < 0 else "no significant difference"
    )
    print(f"Followers - {name:13}  {mean:+.4f} [{low:+.4f}, {high:+.4f}]  {verdict}")

# %% [markdown]
# ## 5. What the numbers say

# %%
# Left: quality against time per list under the paper's protocol. Right: the differences
# of Followers from the others
BLUE, ORANGE, GRAY = "#2a6f97", "#e07a1f", "#8a8a8a"
ONE_PASS = ("FANS_NAIVE", "FANS_TSC-STEP")
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for place, row in enumerate(table):
    low, high = row["NDCG@5_ci"]
    gradient = row["run"] in ("SASRec", "BERT4Rec", *ONE_PASS)
    color = BLUE if row["run"] in ONE_PASS else ORANGE if gradient else GRAY
    error = [[row["NDCG@5"] - low], [high - row["NDCG@5"]]]
    left.errorbar(
        row["latency_ms"], row["NDCG@5"], error, fmt="o", color=color, capsize=3
    )
    above = 5 if place % 2 else -11  # so that the names do not overlap
    left.annotate(
        row["run"],
        (row["latency_ms"], row["NDCG@5"]),
        (6, above),
        textcoords="offset points",
        fontsize=8,
    )
left.set_xscale("log")
left.set_xlabel("ms per list")
left.set_ylabel("NDCG@5, the paper's protocol")
left.margins(x=0.2)
for place, (mean, low, high) in enumerate(differences.values()):
    color = GRAY if low <= 0 <= high else BLUE if mean > 0 else ORANGE
    right.errorbar(
        mean, place, xerr=[[mean - low], [high - mean]], fmt="o", color=color, capsize=3
    )
right.axvline(0, color="black", linewidth=0.8)
right.set_yticks(range(len(differences)), differences)
right.invert_yaxis()
right.set_xlabel("NDCG@5 of Followers minus that of the other, standard protocol")
plt.show()

# %% [markdown]
# - **The reproduction is exact.** The eight values of NDCG@5 are, in all digits, those
#   in the report of `fans reproduce table2 --datasets grateful-dead --seeds 0` on the
#   same machine.
# - **A claim of the paper does not hold on this set.** In the paper FANS_TSC-STEP has a
#   higher NDCG@5 than BERT4Rec on all four sets; here it has 0.287 and BERT4Rec 0.432.
#   The paper did not use this set, and one seed is not much: with six batches in an
#   epoch and a patience of 3, the validation figure of FANS_TSC-STEP jumped from 0.15
#   to 0.34 in one epoch. [Three seeds](../explanation/results.md) give 0.28 to 0.31.
# - **Look at popularity before you look at models.** There are 231 songs, and
#   popularity, the same answer for every list, has 0.412, near the best. HR@5 is 1.0000
#   for five of eight systems, so it distinguishes nothing. A table without this row
#   would hide that.
# - **The times are not a result.** They were measured while other programs used the
#   machine: the speed-up of FANS_NAIVE is 5.0x here, and was 2.1x and 28x in two
#   earlier executions of this notebook, in which NDCG@5 had the same digits. For times,
#   use an idle machine and `fans bench latency`; [the
#   results](../explanation/results.md) have some.
# - **Followers is not significantly better than BERT4Rec and FANS_NAIVE,** although its
#   mean is the highest: both intervals contain 0. It is better than the other six. That
#   one of eight intervals of 95% is wrong is more likely than 5%; the difference from
#   SASRec, with a lower bound of 0.0095, is the one that needs a second look.
# - **The comparison favors Followers.** Its two settings were chosen on the validation
#   lists, those of the others are the paper's. Here EASE and item-kNN are behind
#   popularity; with searched settings, on another split of the same lists, they [are
#   ahead of it](../how-to/compare-models.md). To claim more, search all of them
#   (`fansrec.tune`), use several seeds and sets, or all lists as test lists in turn
#   (`fans crossval`).
# - **What was learned about the idea:** a reach of 80 is as good as one of 20, which is
#   the mean length of these lists. So it matters that a song came before another,
#   hardly how far. The age of the input's songs matters little as well: with these two
#   reaches the validation figures are between 0.648 and 0.656 for all memories.
