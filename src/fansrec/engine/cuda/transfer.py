"""A batch on its way to the GPU, and its answers on their way back."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def pinned(size: int) -> Tensor:
    """Return int32 numbers in host memory that the GPU can access."""
    return torch.zeros(size, dtype=torch.int32, pin_memory=True)


class Transfer:
    """The memory of one batch on both sides. With two of them, the GPU can start a batch while another one is read."""

    def __init__(self, device: torch.device, stream: torch.cuda.Stream) -> None:
        self._device, self._stream = device, stream
        self._sent = self._pinned_sent = self._out = self._pinned_out = torch.empty(0, dtype=torch.int32)
        self._fetched = torch.cuda.Event()  # type: ignore[no-untyped-call]

    def _pair(self, size: int) -> tuple[Tensor, Tensor]:
        """Return memory on the GPU and on the host; torch's stream has finished with it."""
        pair = torch.empty(size, dtype=torch.int32, device=self._device), pinned(size)
        torch.cuda.synchronize(self._device)
        return pair

    def send(self, arrays: list[NDArray[np.int64]], size: int) -> int:
        """Copy arrays of `size` numbers in all to the GPU, one after another; return the address there."""
        if size > len(self._sent):
            self._sent, self._pinned_sent = self._pair(2 * size)
        np.concatenate(arrays, out=self._pinned_sent.numpy()[:size], casting="unsafe")
        with torch.cuda.stream(self._stream):
            self._sent[:size].copy_(self._pinned_sent[:size], non_blocking=True)
        return self._sent.data_ptr()

    def reserve_answers(self, lists: int, positions: int) -> int:
        """Make room for the answers of a batch; return the address on the GPU.

        They are the unfilled positions of every list, the items of all positions, and the bits of their scores.
        """
        self._lists, self._positions = lists, positions
        size = lists + 2 * positions
        if size > len(self._out):
            self._out, self._pinned_out = self._pair(size)
        return self._out.data_ptr()

    def fetch(self) -> None:
        """Start copying the answers to the host."""
        size = self._lists + 2 * self._positions
        with torch.cuda.stream(self._stream):
            self._pinned_out[:size].copy_(self._out[:size], non_blocking=True)
        self._fetched.record(self._stream)

    def answers(self) -> tuple[list[int], NDArray[np.int64], NDArray[np.float32]]:
        """Wait for the answers; return the unfilled positions of every list, and items and scores of all positions."""
        self._fetched.synchronize()
        return split_answers(self._pinned_out.numpy(), self._lists, self._positions)


def split_answers(
    numbers: NDArray[np.int32], lists: int, positions: int
) -> tuple[list[int], NDArray[np.int64], NDArray[np.float32]]:
    """Return what the kernels wrote: unfilled positions of every list, items and scores of all positions."""
    scores = lists + positions
    items = numbers[lists:scores].astype(np.int64)
    return numbers[:lists].tolist(), items, numbers[scores : scores + positions].view(np.float32).copy()
