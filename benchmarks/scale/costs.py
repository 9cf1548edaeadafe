"""Bytes and FLOP of every stage, from the sizes of a corpus and of a network. Nothing here is measured."""

from dataclasses import dataclass

FP32 = 4  # bytes
LIST_NUMBER = 8
ITEM_NUMBER = 4
TRAINING = 3  # a training step computes forwards once and backwards twice
MOMENTS = 4  # numbers a trained weight takes: itself, its gradient, two moments of Adam
PASSES = 7  # Adam reads four numbers a weight and writes three


@dataclass(frozen=True)
class World:
    lists: float
    items: float
    length: float  # items a list, in the mean
    categories: int = 2048
    id_bytes: float = 22

    @property
    def interactions(self) -> float:
        return self.lists * self.length

    @property
    def slice(self) -> float:
        """Items a category, in the mean."""
        return self.items / self.categories


@dataclass(frozen=True)
class Network:
    width: int = 64
    layers: int = 3
    feedforward: int = 256
    right: float = 0.5  # of the positions whose category is told right in training: the others need no second stage

    def table_bytes(self, world: World) -> float:
        """The item table and the head."""
        return 2 * world.items * self.width * FP32

    def encoder_flop(self, tokens: float) -> float:
        """One list, forwards: projections and feed-forward of every token, and attention between all."""
        a_token = 8 * self.width**2 + 4 * self.width * self.feedforward + 4 * self.width * tokens
        return self.layers * tokens * a_token

    def category_flop(self, world: World, positions: float) -> float:
        """The first stage: a transform and the scores of all categories; the second stage's transform with it."""
        return positions * (4 * self.width**2 + 2 * self.width * world.categories)

    def slice_flop(self, world: World, positions: float) -> float:
        """The second stage: the scores of all items of one category."""
        return positions * 2 * self.width * world.slice

    def training_flop(self, world: World) -> float:
        """One list, there and back; half of it is the target."""
        told = world.length / 2
        stages = self.category_flop(world, told) + self.right * self.slice_flop(world, told)
        return TRAINING * (self.encoder_flop(world.length + 3) + stages)

    def answer_flop(self, world: World, given: float, k: float) -> float:
        return self.encoder_flop(given + k + 3) + self.category_flop(world, k) + self.slice_flop(world, k)

    def answer_bytes(self, world: World, k: float, together: int) -> float:
        """Of the head, read from memory for one of several lists answered together: each category asked for, once.

        Categories are taken to be asked for alike; where some are favourites, fewer are read.
        """
        asked_for = world.categories * (1 - (1 - 1 / world.categories) ** (k * together))
        return asked_for * world.slice * self.width * FP32 / together


@dataclass(frozen=True)
class Preparation:
    """Bytes that move, and that one machine must hold."""

    rounds: int = 5  # of the filter
    packed: float = 6  # bytes an interaction takes in Parquet

    def read(self, world: World) -> float:
        return world.interactions * self.packed

    def staged(self, world: World) -> float:
        """Numbers written once and read by every round, by the counting of neighbours, and for the last writing."""
        return world.interactions * ITEM_NUMBER * (1 + self.rounds + 2)

    def shuffled(self, world: World) -> float:
        """Only where a list's rows lie apart: each row goes over the network once, with its place and its id."""
        return world.interactions * (2 * LIST_NUMBER + world.id_bytes)

    def corpus(self, world: World) -> float:
        return world.interactions * ITEM_NUMBER + world.lists * (LIST_NUMBER + 1) + world.items * (world.id_bytes + 10)

    def driver(self, world: World) -> float:
        """What is per list (where it begins, its part, its lot) and per item (id, count, category, order)."""
        return world.lists * (2 * LIST_NUMBER + 1) + world.items * (world.id_bytes + 5 * LIST_NUMBER)


def weights_in_training(world: World, network: Network) -> float:
    return MOMENTS * network.table_bytes(world)


def adam_bytes(world: World, network: Network) -> float:
    return PASSES * network.table_bytes(world)


def reduced_bytes(world: World, network: Network, workers: int) -> float:
    """A worker sends and receives so much a step when gradients are summed in a ring."""
    return 2 * (workers - 1) / workers * network.table_bytes(world)
