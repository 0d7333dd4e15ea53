"""Errors of the command, by exit status."""

from __future__ import annotations


class VoltsimError(Exception):
    """A failed command. ``remedy`` says how to mend the failure, where the command knows."""

    def __init__(self, message: str, remedy: str | None = None, status: int = 2) -> None:
        super().__init__(message if remedy is None else f"{message}\n  remedy: {remedy}")
        self.message = message
        self.remedy = remedy
        self.status = status


class ProgramFailed(VoltsimError):
    """The program ended with a status of its own other than 0, or by a signal (negative status)."""


class CheckFindings(VoltsimError):
    """Checks found mistakes in the program's kernels (status 86)."""


class NotSaved(VoltsimError):
    """The run was not saved or not resumed (status 87)."""


class RefusedKernel(VoltsimError):
    """A kernel was refused and the program has not asked for the error (status 88)."""


class OutputFailed(VoltsimError):
    """An output could not be written (status 89)."""


_BY_STATUS = {2: VoltsimError, 86: CheckFindings, 87: NotSaved, 88: RefusedKernel, 89: OutputFailed}


def of_status(status: int, stderr: str) -> VoltsimError:
    """Return the error of an exit status, with the command's own message from ``stderr``.

    Status 2 counts as the command's where its message is there; else the status is the program's.
    """
    message, remedy = _own_message(stderr)
    kind = _BY_STATUS.get(status, ProgramFailed)
    if kind is VoltsimError and message is None:
        kind = ProgramFailed
    if message is None or kind is ProgramFailed:
        tail = "\n".join(stderr.splitlines()[-10:])
        message = f"the program ended with status {status}" + (f":\n{tail}" if tail else "")
        remedy = None
    return kind(message, remedy, status)


def _own_message(stderr: str) -> tuple[str | None, str | None]:
    """Return the last message of the command itself, and its remedy."""
    message = remedy = None
    for line in stderr.splitlines():
        if line.startswith("voltsim: "):
            message, remedy = line[len("voltsim: ") :], None
        elif message is not None and line.startswith("  remedy: "):
            remedy = line[len("  remedy: ") :]
    return message, remedy
