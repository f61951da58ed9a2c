"""The two streams of a command, which may be closed, full, or a pipe that nobody reads any more."""

from __future__ import annotations

import sys

from foretell.notify.files import discard_rest


def say(line: str) -> None:
    """On standard error; where that is closed there is nobody to tell, and certainly not standard output."""
    if sys.stderr is not None:
        print(line, file=sys.stderr)


def settle(status: int) -> int:
    """The status, with nothing left in standard output that Python would fail to write at exit."""
    if sys.stdout is not None:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            discard_rest(sys.stdout.buffer)
        except OSError as error:
            discard_rest(sys.stdout.buffer)
            if not status:
                say(f"error: cannot write the output: {error.strerror or error}")
                return 1
    return status
