"""The command `foretell`. Exit status: 0, or 1 with a message a person can act on, 2 for a wrong command line.

130 after Ctrl-C, whenever that comes: so the commands, which take a while to load, are imported where it is caught.
"""

from __future__ import annotations

import sys


def main() -> None:
    try:
        status = _run()
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)


def _run() -> int:
    from foretell.cli.commands import app
    from foretell.cli.output import say, settle
    from foretell.errors import ForetellError

    try:
        app()
    except SystemExit as end:  # typer's way to say that it is done, or that the command line is wrong
        return settle(end.code if isinstance(end.code, int) else 0)
    except ForetellError as error:
        say(f"error: {error}")
    except OSError as error:  # files speak for themselves: this is standard output
        say(f"error: cannot write the output: {error.strerror or error}")
    return settle(1)
