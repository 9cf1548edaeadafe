"""What machines do in a second: measured here, or taken from data sheets; which is which is said."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """On one core of the machine of docs/scale.md, each by the command named there."""

    prepared: float = 1.0e6  # interactions a second and core, all stages (benchmarks/cluster_prepare.py)
    prepared_efficiency: float = 0.8  # of two workers beside one
    trained: float = 300.0  # lists a second and core (benchmarks/cluster_train.py)
    trained_efficiency: float = 0.8
    continued: float = 500.0  # lists a second and core (benchmarks/cluster_many.py)
    continued_efficiency: float = 0.9


@dataclass(frozen=True)
class Machine:
    """A common kind of machine, by its data sheet."""

    name: str
    cores: int
    memory: float  # bytes
    bandwidth: float  # of memory, bytes a second
    network: float  # bytes a second
    gpus: int = 0
    gpu_memory: float = 0
    gpu_bandwidth: float = 0  # bytes a second
    gpu_flop: float = 0  # a second, as far as such products reach it
    gpu_link: float = 0  # bytes a second between the GPUs of a machine, as far as sums reach it


GB, TB = 1e9, 1e12
FLOP_OF_A_CORE = 80e9  # a second, fp32, as measured in docs/performance.md
CPU_MACHINE = Machine("32 cores, 256 GB, 25 Gbit/s", 32, 256 * GB, 200 * GB, 3.1 * GB)
# A GPU that holds weights, gradients and moments of 100 M items: 288 GB at 8 TB/s. A third of its dense bf16 peak
# and a third of its link are counted on.
GPU_MACHINE = Machine("8 GPUs of 288 GB", 128, 2 * TB, 600 * GB, 50 * GB, 8, 288 * GB, 8 * TB, 700e12, 300 * GB)
