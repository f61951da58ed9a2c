"""Errors of tasks: our own message out of the exception in which Spark wraps it, without stack traces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from foretell.errors import InputError

# Python's form of an error that left a task: "foretell.errors.InputError: a message", and lines that belong to it. Then
# comes a blank line or the stack of the JVM.
_OWN = re.compile(r"foretell\.errors\.\w+: (?P<message>.*(?:\n(?!\s*at |\s*$|Driver stacktrace).*)*)")
_PREFIX = re.compile(
    r"^(\[STREAM_FAILED\] Query \[[^\]]*\] terminated with exception: |An error occurred while calling .*\n)"
)
_HINT = re.compile(r"\n\s*hint: ")


@contextmanager
def unwrapped_errors(subject: str) -> Iterator[None]:
    """Raise an error of Spark as ours (see `task_error`)."""
    try:
        yield
    except PySparkException as error:
        raise task_error(error, subject) from None


def task_error(error: PySparkException, subject: str) -> InputError:
    """Return the error to show for one of Spark: ours, with its hint, if a task raised one, else Spark's first line.

    `subject` is what failed, such as "the query".
    """
    own = _OWN.search(str(error))
    if own is not None:
        message, *hints = _HINT.split(own["message"], maxsplit=1)
        return InputError("task-failed", message.strip(), hint=hints[0].strip() if hints else "")
    return InputError("task-failed", f"{subject} failed: {first_line(error)}")


def first_line(error: Exception) -> str:
    """Return the line of an exception that says what happened, without the names of the query and of Spark's call."""
    lines = [line.strip() for line in _PREFIX.sub("", str(error)).splitlines() if line.strip()]
    return lines[0].removeprefix(": ") if lines else type(error).__name__
