"""Timing a program on many configurations, with the engines for parallel work that people have."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from voltsim.command import PathLike, find_command, version
from voltsim.errors import VoltsimError
from voltsim.runs import Program, Run, Value, _read, _words, run
from voltsim.streams import Stream
from voltsim.table import Row, Table

#: Times that a point is tried when its worker is lost.
TRIES = 4


@dataclass(frozen=True)
class Point:
    """One configuration of a sweep: a GPU and the values of keys."""

    gpu: str
    settings: tuple[tuple[str, Value], ...]

    def row(self) -> Row:
        """Return the GPU and the values as columns."""
        return {"gpu": self.gpu, **dict(self.settings)}


@dataclass(frozen=True)
class Sweep:
    """The points of a sweep and their statistics, in the order of the points."""

    points: tuple[Point, ...]
    runs: tuple[Run, ...]

    @property
    def table(self) -> Table:
        """One row for each point: its values, and the counters of the whole run."""
        rows = []
        for point, one in zip(self.points, self.runs):
            assert one.statistics is not None
            total = one.statistics["total"]
            numbers = {**total["counters"], **total["derived"]}
            flat = {
                key: value for key, value in numbers.items() if not isinstance(value, (list, dict))
            }
            rows.append({**point.row(), "cycles": total["cycles"], **flat})
        return Table(rows)

    def best(self) -> Point:
        """Return the point with the fewest cycles; the first one of equals."""
        return min(zip(self.points, self.runs), key=lambda pair: pair[1].cycles)[0]

    def _repr_html_(self) -> str:
        keys = [*self.points[0].row(), "cycles"] if self.points else ["cycles"]
        head = "".join(f"<th>{key}</th>" for key in keys)
        body = "".join(
            "<tr>" + "".join(f"<td>{row[key]}</td>" for key in keys) + "</tr>" for row in self.table
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def sweep(
    program: Program | Stream,
    settings: Mapping[str, Sequence[Value]],
    *,
    gpus: Sequence[str] = ("titan-v",),
    mode: str = "detailed",
    executor: Executor | None = None,
    results: PathLike | None = None,
    cwd: PathLike | None = None,
    env: Mapping[str, str] | None = None,
) -> Sweep:
    """Time a program, or a kernel stream, on every combination of GPUs and values.

    ``settings`` names the values of each key, as ``{"l1.size": ["32KiB", "64KiB"]}``. ``executor``
    is any :class:`concurrent.futures.Executor`; without one, a thread for each core starts the
    command. A point whose worker is lost is tried again, at most four times in all.

    ``results`` is a folder that keeps the statistics of each point. The name of a point's file is
    a hash of the simulator, the program, its arguments and the configuration, so an interrupted
    sweep continues. Workers of other machines must see the folder and the program.
    """
    points = _points(gpus, settings)
    folder = None if results is None else Path(results).absolute()
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    target: list[str] | str
    if isinstance(program, Stream):
        target, content = str(program.file), _digest(program.file)
    else:
        target = _words(program)
        content = _content(target, cwd)
    simulator = f"{version()} {_identity(find_command())}"
    tasks = []
    for point in points:
        key = json.dumps([simulator, content, target, mode, point.gpu, point.settings])
        name = hashlib.sha256(key.encode()).hexdigest()[:32] + ".json"
        tasks.append(
            _Task(
                point,
                target,
                mode,
                None if cwd is None else os.fspath(cwd),
                dict(env or {}),
                None if folder is None else str(folder / name),
            )
        )
    if executor is not None:
        documents = _run_all(executor, tasks)
    else:
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            documents = _run_all(pool, tasks)
    words = (target,) if isinstance(target, str) else tuple(target)
    runs = tuple(Run(program=words, statistics=document) for document in documents)
    return Sweep(tuple(points), runs)


@dataclass(frozen=True)
class _Task:
    """A point with everything that a worker needs; can be pickled."""

    point: Point
    target: list[str] | str
    mode: str
    cwd: str | None
    env: dict[str, str]
    result: str | None


def _points(gpus: Sequence[str], settings: Mapping[str, Sequence[Value]]) -> list[Point]:
    for key, values in settings.items():
        if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
            raise VoltsimError(f"{key}: {values!r} is no list", "Give a list of values")
    choices = [[(key, value) for value in values] for key, values in settings.items()]
    return [Point(gpu, values) for gpu in gpus for values in itertools.product(*choices)]


def _run_all(executor: Executor, tasks: Sequence[_Task]) -> list[dict[str, Any]]:
    """Return the statistics of all tasks. A task whose future is lost is submitted again."""
    documents: dict[int, dict[str, Any]] = {}
    tries = [0] * len(tasks)
    pending: set[Future[dict[str, Any]]] = set()
    # `concurrent.futures.wait` visits every pending future at each call.
    ended: SimpleQueue[tuple[int, Future[dict[str, Any]]]] = SimpleQueue()

    def submit(index: int) -> None:
        tries[index] += 1
        future = executor.submit(execute, tasks[index])
        pending.add(future)
        future.add_done_callback(lambda done: ended.put((index, done)))

    try:
        for index in range(len(tasks)):
            submit(index)
        while pending:
            index, future = ended.get()
            pending.discard(future)
            try:
                documents[index] = future.result()
            except VoltsimError:
                raise
            except Exception:
                if tries[index] >= TRIES:
                    raise
                submit(index)
    finally:
        for future in pending:
            future.cancel()
    return [documents[index] for index in range(len(tasks))]


def execute(task: _Task) -> dict[str, Any]:
    """Time one point, or read its kept result. Runs on a worker."""
    if task.result is not None and os.path.exists(task.result):
        kept = _read(Path(task.result))
        assert isinstance(kept, dict)
        return kept
    settings = dict(task.point.settings)
    if isinstance(task.target, str):
        done = Stream(Path(task.target)).run(
            gpu=task.point.gpu, mode=task.mode, settings=settings, threads=1
        )
    else:
        done = run(
            task.target,
            mode=task.mode,
            gpu=task.point.gpu,
            settings=settings,
            threads=1,
            cwd=task.cwd,
            env=task.env,
        )
    assert done.statistics is not None
    if task.result is not None:
        # A rename is whole or absent, even when the worker is killed.
        part = f"{task.result}.{os.getpid()}.part"
        Path(part).write_text(json.dumps(done.statistics), encoding="utf-8")
        os.replace(part, task.result)
    return done.statistics


def _content(words: Sequence[str], cwd: PathLike | None) -> str:
    """Return a digest of the program and of arguments that are files."""
    parts = []
    for word in words:
        path = Path(cwd or ".", word)
        parts.append(_digest(path) if path.is_file() else "")
    return " ".join(parts)


def _digest(file: Path) -> str:
    digest = hashlib.sha256()
    try:
        with open(file, "rb") as stream:
            for block in iter(lambda: stream.read(1 << 20), b""):
                digest.update(block)
    except OSError as error:
        raise VoltsimError(f"{file}: {error.strerror}") from error
    return digest.hexdigest()


def _identity(command: str) -> str:
    """Return size and time of the command, which change with every build."""
    status = os.stat(os.path.realpath(command))
    return f"{status.st_size} {status.st_mtime_ns}"
