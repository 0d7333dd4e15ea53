"""A saved training run can be resumed, although its optimizer's kernels get partially filled lists."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TRAINING = Path(__file__).with_name("training.py")


def printed(*arguments):
    command = [os.environ["VOLTSIM"], *arguments, "--", sys.executable, str(TRAINING)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.parametrize("launch", [2, 40, 60, 90])
def test_five_training_steps_go_on_from_a_launch(tmp_path, launch):
    saved = tmp_path / "run.vck"
    undisturbed = printed("run", "--checkpoint", f"kernel={launch}", "-o", str(saved))
    assert len(undisturbed.splitlines()) == 5
    assert printed("resume", str(saved)) == undisturbed


def test_five_training_steps_go_on_in_mode_detailed(tmp_path):
    saved = tmp_path / "run.vck"
    undisturbed = printed("run", "--checkpoint", "kernel=60", "-o", str(saved))
    assert printed("resume", str(saved), "--mode", "detailed", "--gpu", "titan-v") == undisturbed
