"""The number of threads of engines that need no torch."""

import os
import subprocess
import sys

import pytest
import torch

from fansrec.cores import usable_cores
from fansrec.engine.threads import thread_count

CODE = "from fansrec.engine.threads import thread_count, use_one_thread; print(thread_count()); use_one_thread(); "
CODE += "print(thread_count())"


@pytest.mark.parametrize(("given", "expected"), [("3", 3), ("0", 1), ("many", None), ("", None)])
def test_process_without_torch_uses_the_variable_or_all_cores(given: str, expected: int | None) -> None:
    environment = os.environ | {"OMP_NUM_THREADS": given}
    printed = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True).stdout
    assert printed.split() == [str(expected or usable_cores()), "1"]


def test_process_with_torch_uses_its_number_of_threads() -> None:
    assert thread_count() == torch.get_num_threads()
