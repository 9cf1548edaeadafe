"""Print a plan for a billion lists and 100 million items: `python -m benchmarks.scale`.

The plan is arithmetic (costs.py) with rates (rates.py); beside each figure is the result of a simulation
(simulation.py).
"""

import argparse
import math

import numpy as np
from benchmarks.scale.costs import (
    Network,
    Preparation,
    World,
    adam_bytes,
    memory_bytes,
    reduced_bytes,
    weights_in_training,
)
from benchmarks.scale.rates import CPU_MACHINE, FLOP_PER_CORE, GB, GPU_MACHINE, Machine, Measured
from benchmarks.scale.simulation import Reliability, Steps, serving, tasks, training

PIECE = 20e6  # interactions per task
LISTS_AT_ONCE = 50_000  # per task that continues lists
BATCH = 512  # lists per call of the engine
TOGETHER = 8  # waiting requests that a free replica takes under load
BUSY = 0.7
MEASURED = Measured()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lists", type=float, default=1e9)
    parser.add_argument("--items", type=float, default=1e8)
    parser.add_argument("--length", type=float, default=50)
    parser.add_argument("--hours", type=float, default=4, help="time limit of preparing and of continuing all lists")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=65_536, help="lists per training step, over all GPUs")
    parser.add_argument("--requests", type=float, default=5_000, help="requests per second, one list each")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    world, network = World(options.lists, options.items, options.length), Network()
    random, reliability = np.random.default_rng(options.seed), Reliability()
    print(f"{options.lists:,.0f} lists, {world.interactions:,.0f} interactions, {options.items:,.0f} items, "
          f"{world.categories} categories of {world.slice:,.0f}")  # fmt: skip
    print_bytes(world, network)
    print(f"\n{'stage':24}{'machines':>10}{'by arithmetic':>16}{'simulated':>14}{'difference':>12}")
    prepare(world, options.hours, reliability, random)
    train(world, network, options, reliability, random)
    continue_all(world, network, options.hours, reliability, random)
    serve(world, network, options.requests, reliability, random)


def print_bytes(world: World, network: Network) -> None:
    done = Preparation()
    for name, amount in (
        ("Parquet read", done.read(world)),
        ("intermediate data, read again", done.staged(world)),
        ("shuffled, if a row is an item", done.shuffled(world)),
        ("the corpus", done.corpus(world)),
        ("held by the driver", done.driver(world)),
        ("item table and head", network.table_bytes(world)),
        ("with gradients and moments", weights_in_training(world, network)),
        *zip(
            ("list memory of all lists", "copied by its shards", "held by the coordinator"),
            memory_bytes(world),
            strict=True,
        ),
    ):
        print(f"  {name:34}{amount / GB:12,.1f} GB")
    print(f"  {'training, per list':34}{network.training_flop(world) / 1e9:12,.2f} GFLOP")
    print(f"  {'10 items for 25 input items':34}{network.answer_flop(world, 25, 10) / 1e9:12,.2f} GFLOP")


def print_stage(stage: str, machines: str, planned: float, simulated: float) -> None:
    unit, name = (3600, "h") if planned > 3600 else (60, "min")
    print(f"{stage:24}{machines:>10}{planned / unit:12.2f} {name:3}{simulated / unit:10.2f} {name:3}"
          f"{simulated / planned - 1:12.0%}")  # fmt: skip


def prepare(world: World, hours: float, reliability: Reliability, random: np.random.Generator) -> None:
    """Plan tasks over pieces, followed by the vectors, which one task learns from a sample."""
    rate = MEASURED.prepared
    machines = math.ceil(world.interactions / rate / (hours * 3600 - MEASURED.vectors) / CPU_MACHINE.cores)
    workers, count = machines * CPU_MACHINE.cores, math.ceil(world.interactions / PIECE)
    simulated, again = tasks(count, PIECE / rate, workers, reliability, random)
    planned = world.interactions / rate / workers
    print_stage("preparation", f"{machines} CPU", planned + MEASURED.vectors, simulated + MEASURED.vectors)
    moved = Preparation().shuffled(world) * (machines - 1) / machines / (machines * CPU_MACHINE.network)
    staged = Preparation().staged(world) / (machines * CPU_MACHINE.disk)
    print(f"  {count:,} pieces, {again} repeated; of this the vectors take {MEASURED.vectors / 60:.1f} min; "
          f"at the same time {moved / 60:.1f} min of network (rows) and {staged / 60:.1f} min of disk")  # fmt: skip


def train(
    world: World, network: Network, options: argparse.Namespace, reliability: Reliability, random: np.random.Generator
) -> None:
    gpus = GPU_MACHINE.gpus
    if weights_in_training(world, network) > GPU_MACHINE.gpu_memory * 0.85:
        print("training: weights, gradients and moments do not fit one GPU; the tables would have to be sharded")
        return
    a_list = network.training_flop(world) / GPU_MACHINE.gpu_flop
    a_step = adam_bytes(world, network) / GPU_MACHINE.gpu_bandwidth
    a_step += reduced_bytes(world, network, gpus) / GPU_MACHINE.gpu_link
    count = math.ceil(0.8 * world.lists / options.batch) * options.epochs
    planned = count * (options.batch / gpus * a_list + a_step)
    simulated = training(Steps(count, options.batch, a_list, a_step, gpus, machines=1), reliability, random)
    print_stage(f"training, {options.epochs} epochs", "1 x 8 GPU", planned, simulated)
    products = options.batch / gpus * a_list
    print(f"  {count:,} steps: {products:.2f} s of products and {a_step:.2f} s of gradient sums and Adam each")


def continue_all(
    world: World, network: Network, hours: float, reliability: Reliability, random: np.random.Generator
) -> None:
    """Plan continuing all lists, ten items each, on CPU machines that hold the head in memory."""
    a_list = CPU_MACHINE.cores / answers_per_second(world, network, CPU_MACHINE, BATCH)  # seconds of one of its cores
    a_list /= MEASURED.continued_efficiency
    machines = math.ceil(world.lists * a_list / (hours * 3600) / CPU_MACHINE.cores)
    workers = machines * CPU_MACHINE.cores
    count = math.ceil(world.lists / LISTS_AT_ONCE)
    simulated, again = tasks(count, LISTS_AT_ONCE * a_list, workers, reliability, random)
    print_stage("continuing all lists", f"{machines} CPU", world.lists * a_list / workers, simulated)
    print(f"  {a_list * 1e3:.1f} ms per list and core; {count:,} pieces, {again} repeated")


def answers_per_second(world: World, network: Network, machine: Machine, together: int) -> float:
    """Return the answers per second of one machine, limited by products or by memory bandwidth."""
    products = machine.cores * FLOP_PER_CORE / network.answer_flop(world, 25, 10)
    return min(products, machine.bandwidth / network.answer_bytes(world, 10, together))


def serve(world: World, network: Network, rate: float, reliability: Reliability, random: np.random.Generator) -> None:
    """Plan replicas of one core each; replicas of a machine share the mapped model."""
    a_request = CPU_MACHINE.cores / answers_per_second(world, network, CPU_MACHINE, TOGETHER)  # seconds of one core
    replicas = math.ceil(rate * a_request / BUSY)
    fronts = math.ceil(rate * MEASURED.served / BUSY)
    queue = serving(rate, a_request, replicas, reliability, random)
    machines = math.ceil((replicas + fronts) / CPU_MACHINE.cores)
    print(f"{'serving':24}{f'{machines} CPU':>10}  {rate:,.0f} requests/s: {replicas} cores for replicas, "
          f"{fronts} for Ray's proxies and fronts, at {BUSY:.0%}")  # fmt: skip
    print(f"  replicas, simulated: p50 {queue.p50 * 1e3:.1f} ms, p99 {queue.p99 * 1e3:.1f} ms, busy {queue.busy:.0%}")


if __name__ == "__main__":
    main()
