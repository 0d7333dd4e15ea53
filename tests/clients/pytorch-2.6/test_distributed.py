"""Data-parallel training among simulated devices, by torchrun and Voltsim's NCCL."""

import os
import pathlib
import subprocess
import sys

PROGRAM = pathlib.Path(__file__).with_name("distributed.py")


def test_ranks_train_as_one_processor_does():
    command = [os.environ["VOLTSIM"], "run", "--profile", sys.prefix, "--devices", "2", "--"]
    command += ["torchrun", "--nproc-per-node", "2", str(PROGRAM)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("VOLTSIM_")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-2000:]
    # Lines of two processes may be mixed.
    assert all(f"rank {rank} of 2 is done" in done.stdout for rank in range(2)), done.stdout
