"""Sweeps on Dask and Ray, whose workers are killed at random, give the same bytes."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest
import ray
from dask.distributed import Client, LocalCluster

import voltsim

SETTINGS = {"clocks.dram": [300 + 50 * step for step in range(6)], "l1.latency": [28, 40]}
KILLS = 3


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> voltsim.Stream:
    """One launch of the demo."""
    file = tmp_path_factory.mktemp("stream") / "sum.vks"
    return voltsim.record(voltsim.demo_program(), file, launches="kernel=sum")


@pytest.fixture(scope="module")
def expected(stream: voltsim.Stream) -> str:
    """Statistics of all points, timed by threads of this process."""
    return _bytes(voltsim.sweep(stream, SETTINGS))


def _bytes(sweep: voltsim.Sweep) -> str:
    return json.dumps([run.statistics for run in sweep.runs], sort_keys=True)


def _killing(workers: Callable[[], list[int]], kills: list[int]) -> threading.Event:
    """Kill a random worker every few seconds until the event is set."""
    stop, choose = threading.Event(), random.Random(3)

    def kill() -> None:
        while not stop.wait(3) and len(kills) < KILLS:
            alive = workers()
            if alive:
                victim = choose.choice(alive)
                try:
                    os.kill(victim, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                kills.append(victim)

    threading.Thread(target=kill, daemon=True).start()
    return stop


def test_dask_with_killed_workers_gives_the_same_bytes(
    stream: voltsim.Stream, expected: str
) -> None:
    kills: list[int] = []
    with LocalCluster(n_workers=2, threads_per_worker=1) as cluster, Client(cluster) as client:
        stop = _killing(lambda: [w.pid for w in cluster.workers.values() if w.pid], kills)
        got = _bytes(voltsim.sweep(stream, SETTINGS, executor=client.get_executor()))
        stop.set()
    assert kills and got == expected


class RayExecutor(Executor):
    """Ray's tasks as futures."""

    def __init__(self) -> None:
        self.call = ray.remote(max_retries=0)(lambda function, *words: function(*words))

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self.call.remote(fn, *args).future()


def test_ray_with_killed_workers_gives_the_same_bytes(
    stream: voltsim.Stream, expected: str
) -> None:
    kills: list[int] = []
    ray.init(num_cpus=2, log_to_driver=False)
    stop = _killing(_ray_workers, kills)
    got = _bytes(voltsim.sweep(stream, SETTINGS, executor=RayExecutor()))
    stop.set()
    ray.shutdown()
    assert kills and got == expected


def _ray_workers() -> list[int]:
    found = subprocess.run(["pgrep", "-f", "^ray::"], capture_output=True, text=True, check=False)
    mine = [int(pid) for pid in found.stdout.split()]
    return [pid for pid in mine if Path(f"/proc/{pid}").exists() and "IDLE" not in _title(pid)]


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return "IDLE"
