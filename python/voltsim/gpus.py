"""The GPUs that the command knows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from voltsim.command import PathLike, invoke


@dataclass(frozen=True)
class Gpu:
    """A GPU: its name, and its file with the source of each value."""

    name: str
    text: str

    def save(self, file: PathLike) -> Path:
        """Write the file, to be changed; its path stands for a GPU's name in :func:`voltsim.run`."""
        path = Path(file)
        path.write_text(self.text, encoding="utf-8")
        return path


def gpus() -> list[str]:
    """Return the names of the GPUs, as ``titan-v``."""
    lines = invoke(["gpus"]).stdout.splitlines()
    return [line.split()[0] for line in lines[1:] if line.strip()]


def gpu(name: str) -> Gpu:
    """Return a GPU by its name."""
    return Gpu(name, invoke(["gpus", name]).stdout)
