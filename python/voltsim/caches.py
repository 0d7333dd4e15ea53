"""The reuse-distance cache model: misses by kind, without cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from voltsim.command import PathLike, invoke
from voltsim.runs import Program, Value, _read, _words, given_options, setting_options
from voltsim.streams import Stream
from voltsim.table import Row, Table


def cache_model(
    program: Program | Stream,
    *,
    gpu: str | None = None,
    sweep: str | None = None,
    settings: Mapping[str, Value] | None = None,
    options: Sequence[str] = (),
    cwd: PathLike | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> Table:
    """Return one row for each launch and configuration: accesses, hits, and misses by kind.

    ``program`` is a program or a :class:`Stream`. ``sweep`` has values of the cache, as
    ``"l1.size=16..128KiB,l1.misses=16..256"``, where ``a..b`` doubles.
    """
    with TemporaryDirectory(prefix="voltsim-") as folder:
        report = Path(folder, "report.json")
        arguments: list[PathLike] = ["cache-model", "--output", report]
        arguments += given_options(("--gpu", gpu), ("--sweep", sweep))
        arguments += [*setting_options(settings), *options]
        if isinstance(program, Stream):
            arguments.append(program.file)
        else:
            arguments += ["--", *_words(program)]
        invoke(arguments, cwd=cwd, env=env, timeout=timeout)
        return _rows(_read(report))


def _rows(document: Mapping[str, Any]) -> Table:
    kinds = document["miss_kinds"]
    rows: list[Row] = []
    for launch in document["launches"]:
        for result in launch["results"]:
            counts = result["counts"]
            misses = dict(zip(kinds, counts["misses"]))
            accesses = counts["accesses"]
            rows.append(
                {
                    "launch": launch["launch"],
                    "kernel": launch["kernel"],
                    **result["configuration"],
                    "accesses": accesses,
                    "hits": counts["hits"],
                    **{f"misses.{kind}": count for kind, count in misses.items()},
                    "miss_rate": sum(misses.values()) / accesses if accesses else None,
                }
            )
    return Table(rows)
