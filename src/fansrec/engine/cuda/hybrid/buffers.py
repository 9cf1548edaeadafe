"""The memory that the kernels of the hybrid model need for a request, allocated once and enlarged when needed."""

from collections.abc import Sequence
from ctypes import Structure
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fansrec.engine.cuda.batches import Batch
from fansrec.engine.cuda.buffers import ALL_SCORES, blocked_bits
from fansrec.engine.cuda.exchange import ALL_MASKS, Exchange
from fansrec.engine.cuda.hybrid import structures
from fansrec.engine.cuda.hybrid.sizes import SparseSizes
from fansrec.engine.cuda.sizes import BLOCK
from fansrec.engine.interface import check_rules
from fansrec.engine.modes import RECALL
from fansrec.engine.rules import Rules
from fansrec.models.hybrid.model import FLOOR

MAX_POSITIONS = 1 << 16
MAX_CLUSTERS = 64  # lists that are looked up or mixed at once: about as many as an H100 or H200 runs
MAX_SCRATCH_BYTES = 1 << 31


class HybridBuffers(Exchange):
    """What the kernels read and write, and the structures that point to it."""

    max_positions = MAX_POSITIONS

    def __init__(self, packed: Any, sizes: SparseSizes, generation: str, stream: torch.cuda.Stream) -> None:
        super().__init__(structures.Selected(), packed.device, stream)
        self.packed, self._kernel, self._sizes = packed, sizes.kernel, sizes
        self.items = packed.items
        self.rules, self.mixture = structures.Rules(min_score=ALL_SCORES), self._mixture()
        self.lookup_scratch, self.blend_scratch = structures.LookupScratch(), structures.BlendScratch()
        self.sparse, self.states = structures.Sparse(), structures.States()
        self.arrangement, self.arranging = structures.Arrangement(), 0  # clusters that it has memory for
        self._usual_masks = self._most_masks(generation)
        self._mask_states = self._new(0, torch.float32)
        self._lists = self.clusters = 0
        self._scores = self._new(0, torch.float32)
        self._rules: Rules | None = None
        self._restrictions: tuple[Sequence[int], Sequence[int] | None] = ((), None)
        self.reserve_answer(self._kernel.constant("CANDIDATES"))
        self._reserve(1)

    def _mixture(self) -> Structure:
        weights = self.packed.model.config.weights
        sparse = np.log1p(1 / FLOOR) * (weights.memory + weights.linear)
        highest = float(sparse + np.log1p(self.items) * weights.network)
        bins = self._kernel.constant("BINS") / highest if highest > 0 else 1.0
        memory, linear = weights.memory, weights.linear
        return structures.Mixture(weights.network, memory, linear, bins, self.items)

    def _most_masks(self, generation: str) -> int:
        """Return the number of masks that a list may have: none if nothing that is read sees them."""
        network = self.packed.model.config.network
        if network.causal and network.next_share == 1:
            return 0
        return 1 if generation == RECALL else ALL_MASKS

    def _zeros(self, size: int, dtype: torch.dtype) -> Tensor:
        return torch.zeros(max(size, 1), dtype=dtype, device=self.device)

    def reserve(self, batch: Batch, rules: Rules) -> None:
        """Make the buffers large enough for a batch."""
        self._reserve(batch.lists)

    def _reserve(self, lists: int) -> None:
        if lists <= self._lists:
            return
        torch.cuda.synchronize(self.device)  # the last answer may be here before its kernel ends
        most, self._lists = max(lists, self._lists), 0  # until all is allocated: there may be too little memory
        if most * self.items > len(self._scores):
            rows = self._kernel.constant("READ_ROWS") * self._kernel.constant("WIDTH")
            sizes = (most * self.items, most, most * rows)
            self._scores, self._least, self._states = [self._new(size, torch.float32) for size in sizes]
            point_to(self.sparse, {"scores": self._scores, "least": self._least})
            self.states.rows = self._states.data_ptr()
        if min(most, MAX_CLUSTERS) > self.clusters:
            self._make_scratch(min(most, MAX_CLUSTERS))
        torch.cuda.synchronize(self.device)  # allocated on torch's stream, and used on another
        self._lists = most

    def _make_scratch(self, clusters: int) -> None:
        """Allocate what every team of blocks needs for itself; sums are 0 between two lists."""
        known, items, constant = self.packed.memory.known, self.items, self._kernel.constant
        bins, rows, read = constant("BINS") * constant("LEVELS"), constant("READ_ROWS"), constant("READ_CATEGORIES")
        logits, sums = self._most_logits(), items if self._sizes.may_need_global_sums else 0
        slot_sums = constant("SLOTS") * read * rows
        bytes_each = 48 * known + 16 * sums + 8 * items + 4 * rows * logits + 8 * slot_sums + 8 * bins
        clusters, self.clusters = max(1, min(clusters, MAX_SCRATCH_BYTES // bytes_each)), 0
        self._lookup_tensors = {
            "similarity": self._zeros(clusters * known, torch.int64),
            "last_shared": self._zeros(clusters * known, torch.int32),
            "found": self._zeros(clusters * known, torch.int32),
            "found_similarity": self._zeros(clusters * known, torch.float64),
            "neighbors": self._zeros(clusters * known * 3, torch.int64),  # structures of 24 bytes
            "votes": self._zeros(max(clusters * sums, items), torch.int64),  # one list always has them here
            "linear": self._zeros(max(clusters * sums, items), torch.int64),
            "bins": self._zeros(clusters * bins, torch.int32),
            "totals": self._zeros(clusters * 4, torch.int64),
            "counts": self._zeros(clusters * 4, torch.int32),
        }
        self._blend_tensors = {
            "entries": self._zeros(clusters * items, torch.int64),
            "logits": self._zeros(clusters * rows * logits, torch.float32),
            "sums": self._zeros(clusters * slot_sums * 2, torch.float32),
            "candidates": self._zeros(clusters * constant("CANDIDATES"), torch.int64),
            "bins": self._zeros(clusters * bins, torch.int32),
            "counts": self._zeros(clusters * 2, torch.int32),
        }
        self._global_sums = tuple(self._lookup_tensors[name].data_ptr() for name in ("votes", "linear"))
        point_to(self.lookup_scratch, self._lookup_tensors)
        point_to(self.blend_scratch, self._blend_tensors)
        self.blend_scratch.logit_stride, self.clusters = logits, clusters

    def place_sums(self, in_shared: bool) -> None:
        """Let the sums of all items be in shared or in global memory in the next lookup."""
        scratch = self.lookup_scratch
        scratch.votes, scratch.linear = (None, None) if in_shared else self._global_sums

    def reserve_arrangement(self, positions: int, longest: int) -> None:
        """Make room for the states of all masks, and for the affinities of the masks and items of a list."""
        width = self._kernel.constant("WIDTH")
        if positions * width <= len(self._mask_states) and longest <= self.arrangement.stride:
            return
        torch.cuda.synchronize(self.device)
        stride, self.arrangement.stride = max(longest, self.arrangement.stride), 0  # until all is allocated
        self.arranging = max(1, min(MAX_CLUSTERS, MAX_SCRATCH_BYTES // (4 * stride**2)))
        self._mask_states = self._new(max(positions * width, len(self._mask_states)), torch.float32)
        self._affinity = self._new(self.arranging * stride**2, torch.float32)
        self._expected = self._new(self.arranging * stride, torch.float32)
        self.states.masks, self.arrangement.affinity = self._mask_states.data_ptr(), self._affinity.data_ptr()
        self.arrangement.expected, self.arrangement.stride = self._expected.data_ptr(), stride
        torch.cuda.synchronize(self.device)

    def _most_logits(self) -> int:
        """Return the largest number of items in the categories that are read for a list."""
        if self.packed.tied.items is None:
            return 1  # the network is not run
        tied, read = self.packed.model.tied, self._kernel.constant("READ_CATEGORIES")
        return self.items if tied.category is None else int(np.sort(np.diff(tied.starts))[-read:].sum())

    def apply_rules(self, rules: Rules, growing: bool) -> None:
        """Write the rules as the kernels read them; the kernels block the input items of a list themselves."""
        if rules is self._rules:
            return
        check_rules(rules, self.items)
        groups = self._groups_of_items(rules)  # may raise: nothing has changed yet
        restrictions = (rules.exclude, rules.allow)
        if restrictions != self._restrictions or (self._rules is None and restrictions != ((), None)):
            words = -(-self.items // BLOCK)
            self._blocked = self._copied(torch.from_numpy(blocked_bits(rules, np.arange(self.items), words)))
        self.rules.blocked = None if restrictions == ((), None) else self._blocked.data_ptr()
        self.rules.groups, self.rules.max_per_group = groups, rules.max_per_group or 0
        self.request.all_masks = int(rules.fill == "arranged")
        self.request.most_masks = ALL_MASKS if self.request.all_masks else self._usual_masks
        self.rules.keep_seen = int(rules.keep_seen)
        self.rules.min_score = ALL_SCORES if rules.min_score is None else rules.min_score
        self._rules, self._restrictions = rules, restrictions


def point_to(structure: Structure, tensors: dict[str, Tensor]) -> None:
    """Let the fields of a structure point to the tensors of their names."""
    for name, tensor in tensors.items():
        setattr(structure, name, tensor.data_ptr())
