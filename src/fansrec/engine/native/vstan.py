"""V-STAN as the native kernel takes it."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from fansrec.engine.native.list_memory import MEMBERS, list_memory
from fansrec.engine.native.structures import Head, Vstan
from fansrec.engine.native.weights import Weights
from fansrec.models.linear.config import TIE
from fansrec.models.neighbors.vstan_votes import Votes


class VstanWeights(Weights):
    """V-STAN opened in the kernel."""

    kinds: ClassVar[Mapping[str, int]] = {"vstan": 5}

    def fill(self, name: str) -> None:
        arrays = {part: self.arrays[f"memory.{part}"] for part in (*MEMBERS, "starts", "list_starts")}
        votes = Votes(arrays, self.config)
        self.model.head = Head(items=self.config.category_starts[-1])
        self.model.vstan = self.keep(Vstan(
            memory=list_memory(self, neighbors=self.config.neighbors),
            list_factors=self.address(votes.list_factors),
            item_factors=self.address(votes.item_factors),
            base=self.address(self.arrays["popularity"] * np.float32(TIE)),
            input_decay=votes.input_decay,
            item_decay=votes.item_decay,
            shared_decay=votes.shared_decay,
            sample_size=self.config.sample_size,
        ))  # fmt: skip
