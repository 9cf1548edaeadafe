"""The plan for a billion lists and 100 million items: `python -m benchmarks.scale`.

Arithmetic (costs.py) over rates (rates.py), and beside each figure what the simulation (simulation.py) says.
"""

import argparse
import math

import numpy as np
from benchmarks.scale.costs import Network, Preparation, World, adam_bytes, reduced_bytes, weights_in_training
from benchmarks.scale.rates import CPU_MACHINE, FLOP_OF_A_CORE, GB, GPU_MACHINE, Machine, Measured
from benchmarks.scale.simulation import Fate, Steps, serving, tasks, training

PIECE = 20e6  # interactions of a task
LISTS_AT_ONCE = 50_000  # of a task that continues lists
BATCH = 512  # of them in one call of the engine
TOGETHER = 8  # requests a replica finds waiting when it is free, under load
BUSY = 0.7
MEASURED = Measured()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lists", type=float, default=1e9)
    parser.add_argument("--items", type=float, default=1e8)
    parser.add_argument("--length", type=float, default=50)
    parser.add_argument("--hours", type=float, default=4, help="that preparing and continuing all lists may take")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=65_536, help="lists a step of training, over all GPUs")
    parser.add_argument("--requests", type=float, default=5_000, help="a second, one list each")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    world, network = World(asked.lists, asked.items, asked.length), Network()
    random, fate = np.random.default_rng(asked.seed), Fate()
    print(f"{asked.lists:,.0f} lists, {world.interactions:,.0f} interactions, {asked.items:,.0f} items, "
          f"{world.categories} categories of {world.slice:,.0f}")  # fmt: skip
    bytes_told(world, network)
    print(f"\n{'stage':24}{'machines':>10}{'by arithmetic':>16}{'simulated':>14}{'apart':>8}")
    prepare(world, asked.hours, fate, random)
    train(world, network, asked, fate, random)
    continue_all(world, network, asked.hours, fate, random)
    serve(world, network, asked.requests, fate, random)


def bytes_told(world: World, network: Network) -> None:
    done = Preparation()
    for name, amount in (
        ("Parquet read", done.read(world)),
        ("numbers staged and read again", done.staged(world)),
        ("shuffled, where a row is an item", done.shuffled(world)),
        ("the corpus", done.corpus(world)),
        ("held by the driver", done.driver(world)),
        ("item table and head", network.table_bytes(world)),
        ("with gradients and moments", weights_in_training(world, network)),
    ):
        print(f"  {name:34}{amount / GB:12,.1f} GB")
    print(f"  {'training, a list':34}{network.training_flop(world) / 1e9:12,.2f} GFLOP")
    print(f"  {'an answer of 10 after 25':34}{network.answer_flop(world, 25, 10) / 1e9:12,.2f} GFLOP")


def told(stage: str, machines: str, planned: float, simulated: float) -> None:
    unit, name = (3600, "h") if planned > 3600 else (60, "min")
    print(f"{stage:24}{machines:>10}{planned / unit:12.2f} {name:3}{simulated / unit:10.2f} {name:3}"
          f"{simulated / planned - 1:8.0%}")  # fmt: skip


def prepare(world: World, hours: float, fate: Fate, random: np.random.Generator) -> None:
    """Everything by tasks over pieces, and the vectors, which one task learns from a sample, after them."""
    rate = MEASURED.prepared
    machines = math.ceil(world.interactions / rate / (hours * 3600 - MEASURED.vectors) / CPU_MACHINE.cores)
    workers, count = machines * CPU_MACHINE.cores, math.ceil(world.interactions / PIECE)
    simulated, again = tasks(count, PIECE / rate, workers, fate, random)
    planned = world.interactions / rate / workers
    told("preparation", f"{machines} CPU", planned + MEASURED.vectors, simulated + MEASURED.vectors)
    moved = Preparation().shuffled(world) * (machines - 1) / machines / (machines * CPU_MACHINE.network)
    staged = Preparation().staged(world) / (machines * CPU_MACHINE.disk)
    print(f"  {count:,} pieces, {again} done again; the vectors {MEASURED.vectors / 60:.1f} min of it; "
          f"at the same time {moved / 60:.1f} min of network (rows) and {staged / 60:.1f} min of disk")  # fmt: skip


def train(world: World, network: Network, asked: argparse.Namespace, fate: Fate, random: np.random.Generator) -> None:
    gpus = GPU_MACHINE.gpus
    if weights_in_training(world, network) > GPU_MACHINE.gpu_memory * 0.85:
        print("training: weights, gradients and moments do not fit one GPU; the tables would have to be sharded")
        return
    a_list = network.training_flop(world) / GPU_MACHINE.gpu_flop
    a_step = adam_bytes(world, network) / GPU_MACHINE.gpu_bandwidth
    a_step += reduced_bytes(world, network, gpus) / GPU_MACHINE.gpu_link
    count = math.ceil(0.8 * world.lists / asked.batch) * asked.epochs
    planned = count * (asked.batch / gpus * a_list + a_step)
    simulated = training(Steps(count, asked.batch, a_list, a_step, gpus, machines=1), fate, random)
    told(f"training, {asked.epochs} epochs", "1 of 8 GPU", planned, simulated)
    print(f"  {count:,} steps: {asked.batch / gpus * a_list:.2f} s of products, {a_step:.2f} s of sums and Adam each")


def continue_all(world: World, network: Network, hours: float, fate: Fate, random: np.random.Generator) -> None:
    """All lists, ten items each, on CPU machines that hold the head in memory."""
    a_list = CPU_MACHINE.cores / answers_a_second(world, network, CPU_MACHINE, BATCH)  # seconds of one of its cores
    a_list /= MEASURED.continued_efficiency
    machines = math.ceil(world.lists * a_list / (hours * 3600) / CPU_MACHINE.cores)
    workers = machines * CPU_MACHINE.cores
    count = math.ceil(world.lists / LISTS_AT_ONCE)
    simulated, again = tasks(count, LISTS_AT_ONCE * a_list, workers, fate, random)
    told("all lists continued", f"{machines} CPU", world.lists * a_list / workers, simulated)
    print(f"  {a_list * 1e3:.1f} ms a list and core; {count:,} pieces, {again} done again")


def answers_a_second(world: World, network: Network, machine: Machine, together: int) -> float:
    """Of one machine: products or memory bind, whichever is slower."""
    products = machine.cores * FLOP_OF_A_CORE / network.answer_flop(world, 25, 10)
    return min(products, machine.bandwidth / network.answer_bytes(world, 10, together))


def serve(world: World, network: Network, rate: float, fate: Fate, random: np.random.Generator) -> None:
    """A replica is a core; replicas of a machine share its memory, in which the whole model lies once, mapped."""
    a_request = CPU_MACHINE.cores / answers_a_second(world, network, CPU_MACHINE, TOGETHER)  # seconds of one core
    replicas = math.ceil(rate * a_request / BUSY)
    fronts = math.ceil(rate * MEASURED.served / BUSY)
    queue = serving(rate, a_request, replicas, fate, random)
    machines = math.ceil((replicas + fronts) / CPU_MACHINE.cores)
    print(f"{'serving':24}{f'{machines} CPU':>10}  {rate:,.0f} requests a second: {replicas} cores for replicas, "
          f"{fronts} for Ray's proxies and fronts, at {BUSY:.0%}")  # fmt: skip
    print(f"  replicas, simulated: p50 {queue.p50 * 1e3:.1f} ms, p99 {queue.p99 * 1e3:.1f} ms, busy {queue.busy:.0%}")


if __name__ == "__main__":
    main()
