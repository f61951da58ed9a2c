"""Standard output and standard error, which may be closed, full, or a pipe whose reader has ended."""

from __future__ import annotations

import sys

from foretell.notify.files import discard_rest


def say(line: str) -> None:
    """Print a line to standard error, or drop it if that is closed."""
    if sys.stderr is not None:
        print(line, file=sys.stderr)


def settle(status: int) -> int:
    """Flush standard output, so that Python cannot fail to do so at exit; return the exit status."""
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
