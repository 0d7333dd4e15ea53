"""``python -m voltsim``: the ``voltsim`` command."""

import os
import sys

from voltsim.command import find_command
from voltsim.errors import VoltsimError


def main() -> None:
    """Replace this process by the command with the same arguments."""
    try:
        command = find_command()
    except VoltsimError as error:
        print(f"voltsim: {error}", file=sys.stderr)
        sys.exit(2)
    os.execv(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
