"""Batches of lists of similar length, so that little is padded."""

from collections.abc import Iterator, Sequence


def batches_by_length(lengths: Sequence[int], max_tokens: int, max_lists: int | None = None) -> Iterator[list[int]]:
    """Yield the indices of all lists in batches of at most `max_tokens` padded tokens and `max_lists` lists.

    A list that is longer than `max_tokens` is a batch of its own.
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) == max_lists or (len(batch) + 1) * lengths[index] > max_tokens):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
