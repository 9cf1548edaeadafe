"""Rates of machines, measured or from data sheets."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """Measured on the machine of docs/explanation/scale.md, with the commands given there."""

    # Interactions per second of a processor, with the driver's time, without vectors (benchmarks/cluster_prepare.py).
    prepared: float = 6.1e5
    # Seconds: half is CBOW (13.5 s for 1.25 million interactions in 5 epochs, 20 million are read), half an estimate.
    vectors: float = 400.0
    continued_efficiency: float = 0.96  # of two workers (benchmarks/cluster_many.py)
    served: float = 0.0088  # core seconds per request of Ray's proxy and front (docs/how-to/operate-the-service.md)


@dataclass(frozen=True)
class Machine:
    """A common kind of machine, according to its data sheet."""

    cores: int
    memory: float  # bytes
    bandwidth: float  # of memory, bytes per second
    network: float  # bytes per second
    disk: float  # bytes per second
    gpus: int = 0
    gpu_memory: float = 0
    gpu_bandwidth: float = 0  # bytes per second
    gpu_flop: float = 0  # per second, as far as such products reach it
    gpu_link: float = 0  # bytes per second between the GPUs of a machine, as far as gradient sums reach it


GB, TB = 1e9, 1e12
FLOP_PER_CORE = 80e9  # per second, fp32, as measured in docs/explanation/performance.md
CPU_MACHINE = Machine(32, 256 * GB, 200 * GB, network=3.1 * GB, disk=3 * GB)  # 25 Gbit/s, one NVMe disk
# GPUs of 288 GB at 8 TB/s, which hold weights, gradients and moments of 100 M items. A third of the dense bf16 peak and
# a third of the link are assumed.
GPU_MACHINE = Machine(128, 2 * TB, 600 * GB, 50 * GB, 10 * GB, 8, 288 * GB, 8 * TB, 700e12, 300 * GB)
