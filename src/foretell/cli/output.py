"""Standard output and standard error, which may be closed, full, or a pipe whose reader has ended."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from foretell.display import wrapped
from foretell.errors import ForetellError

#: The styles of words at the beginning of a line. Red and bold are readable on light and dark terminals; cyan and
#: yellow are not on light ones, blue is not on dark ones.
_STYLES = {"error:": "1;31", "warning:": "1", "note:": "2", "  hint:": "1"}

#: Signs before the part of a statement that an error shows, and the ellipses around that.
_EXCERPT_MARGIN = 10


def say(text: str) -> None:
    """Print lines to standard error, or drop them if that is closed. On a terminal long lines break between words."""
    if sys.stderr is not None:
        shown = wrapped(text, terminal_width(sys.stderr)) if shows_to_a_person() else text
        print("\n".join(map(_styled, shown.split("\n"))) if shows_colours() else shown, file=sys.stderr)


def say_error(error: ForetellError) -> None:
    """Print an error; on a terminal the line of the statement that it shows fits the width."""
    width = max(terminal_width(sys.stderr) - _EXCERPT_MARGIN, 20) if shows_to_a_person() else None
    say(f"error: {error if width is None else error.text(width)}")


def terminal_width(stream: TextIO | None) -> int:
    """The columns of the terminal that a stream writes to, or as COLUMNS says; 80 where they are not known."""
    if os.environ.get("COLUMNS", "").isdecimal():
        return int(os.environ["COLUMNS"]) or 80
    try:
        return (os.get_terminal_size(stream.fileno()).columns if stream is not None else 0) or 80
    except (OSError, ValueError):
        return 80


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
    return is_terminal(sys.stderr)


def is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


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
