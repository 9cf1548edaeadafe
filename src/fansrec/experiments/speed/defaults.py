"""Defaults of the benchmarks, shared by the command line and the modules."""

ARMS = ("authors", "eager", "autoregressive", "linear", "ours")
CATEGORIES = (1, 10, 100)
LISTS = 100
SECONDS = 180.0  # for all workloads together; building models and a busy machine may use the rest of five minutes
REPEATS = 5

THROUGHPUT_ARMS = ("eager", "ours")
THROUGHPUT_CATEGORIES = (1, 100)
THROUGHPUT_LISTS = 2048
BATCHES = (1, 8, 64, 256, 1024)

SWEEP_LISTS = 50
