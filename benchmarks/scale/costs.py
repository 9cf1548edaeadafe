"""Compute bytes and FLOP of every stage from the sizes of a corpus and of a network. Nothing here is measured."""

from dataclasses import dataclass

FP32 = 4  # bytes
LIST_INDEX = 8
ITEM_INDEX = 4
TRAINING = 3  # the backward pass costs two forward passes
MOMENTS = 4  # numbers per trained weight: itself, its gradient, two moments of Adam
PASSES = 7  # Adam reads four numbers per weight and writes three


@dataclass(frozen=True)
class World:
    lists: float
    items: float
    length: float  # mean number of items per list
    categories: int = 2048
    id_bytes: float = 22

    @property
    def interactions(self) -> float:
        return self.lists * self.length

    @property
    def slice(self) -> float:
        """Return the mean number of items per category."""
        return self.items / self.categories


@dataclass(frozen=True)
class Network:
    width: int = 64
    layers: int = 3
    feedforward: int = 256
    right: float = (
        0.5  # share of positions whose category is predicted correctly in training: the others need no second stage
    )

    def table_bytes(self, world: World) -> float:
        """Return the size of the item table and the head."""
        return 2 * world.items * self.width * FP32

    def encoder_flop(self, tokens: float) -> float:
        """Return the forward cost of one list: projections and feed-forward of every token, and attention."""
        a_token = 8 * self.width**2 + 4 * self.width * self.feedforward + 4 * self.width * tokens
        return self.layers * tokens * a_token

    def category_flop(self, world: World, positions: float) -> float:
        """Return the cost of the first stage (transform and scores of all categories) and the second transform."""
        return positions * (4 * self.width**2 + 2 * self.width * world.categories)

    def slice_flop(self, world: World, positions: float) -> float:
        """Return the cost of the second stage: the scores of all items of one category."""
        return positions * 2 * self.width * world.slice

    def training_flop(self, world: World) -> float:
        """Return the forward and backward cost of one list; half of it is the target."""
        target = world.length / 2
        stages = self.category_flop(world, target) + self.right * self.slice_flop(world, target)
        return TRAINING * (self.encoder_flop(world.length + 3) + stages)

    def answer_flop(self, world: World, given: float, k: float) -> float:
        return self.encoder_flop(given + k + 3) + self.category_flop(world, k) + self.slice_flop(world, k)

    def answer_bytes(self, world: World, k: float, together: int) -> float:
        """Return the bytes of the head that are read per list if `together` lists share each category that they need.

        All categories are assumed to be equally likely; if some are more popular, fewer are read.
        """
        needed = world.categories * (1 - (1 - 1 / world.categories) ** (k * together))
        return float(needed * world.slice * self.width * FP32 / together)


@dataclass(frozen=True)
class Preparation:
    """Bytes that are moved, and that one machine has to hold."""

    rounds: int = 5  # of the filter
    packed: float = 6  # bytes per interaction in Parquet

    def read(self, world: World) -> float:
        return world.interactions * self.packed

    def staged(self, world: World) -> float:
        """Return the intermediate data: written once, read by every round, by the votes and by the final output."""
        return world.interactions * ITEM_INDEX * (1 + self.rounds + 2)

    def shuffled(self, world: World) -> float:
        """Return the shuffled bytes if a row is an item: each row crosses the network once, with position and id."""
        return world.interactions * (2 * LIST_INDEX + world.id_bytes)

    def corpus(self, world: World) -> float:
        return world.interactions * ITEM_INDEX + world.lists * (LIST_INDEX + 1) + world.items * (world.id_bytes + 10)

    def driver(self, world: World) -> float:
        """Return the data per list (offset, part, random number) and per item (id, count, category, order)."""
        return world.lists * (2 * LIST_INDEX + 1) + world.items * (world.id_bytes + 5 * LIST_INDEX)


def memory_bytes(world: World) -> tuple[float, float, float]:
    """Return the bytes of a list memory of all lists: in the file, copied by all shards, held by the coordinator."""
    entry = 2 * ITEM_INDEX  # a list or an item, and a position
    return 2 * entry * world.interactions, entry * world.interactions, 2 * LIST_INDEX * world.lists


def weights_in_training(world: World, network: Network) -> float:
    return MOMENTS * network.table_bytes(world)


def adam_bytes(world: World, network: Network) -> float:
    return PASSES * network.table_bytes(world)


def reduced_bytes(world: World, network: Network, workers: int) -> float:
    """Return the bytes that a worker sends and receives per step in a ring all-reduce."""
    return 2 * (workers - 1) / workers * network.table_bytes(world)
