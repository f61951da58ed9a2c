"""Standard output and standard error, which may be closed, full, or a pipe whose reader has ended."""

from __future__ import annotations

import os
import sys

#: The colours of words at the beginning of a line: those that are readable on light and dark terminals.
_STYLES = {"error:": "1;31", "warning:": "1", "note:": "2", "  hint:": "36"}


def say(text: str) -> None:
    """Print lines to standard error, or drop them if that is closed."""
    if sys.stderr is not None:
        print("\n".join(map(_styled, text.split("\n"))) if shows_colours() else text, file=sys.stderr)


def _styled(line: str) -> str:
    for word, style in _STYLES.items():
        if line.startswith(word):
            return f"\x1b[{style}m{word}\x1b[0m{line.removeprefix(word)}"
    return line


def shows_colours() -> bool:
    """Whether standard error is a terminal with colours, and NO_COLOR is not set."""
    return shows_to_a_person() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def shows_to_a_person() -> bool:
    """Whether standard error is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def settle(status: int) -> int:
    """Flush standard output, so that Python cannot fail to do so at exit; return the exit status."""
    if sys.stdout is not None:
        try:
            sys.stdout.flush()
        except OSError as error:
            from foretell.notify.files import discard_rest  # imports much that --help does not need

            discard_rest(sys.stdout.buffer)
            if not status and not isinstance(error, BrokenPipeError):
                say(f"error: cannot write the output: {error.strerror or error}")
                return 1
    return status
