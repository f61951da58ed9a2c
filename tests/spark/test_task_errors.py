"""What is shown of an exception of Spark: our own message and hint, or its first line."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from foretell.spark.task_errors import task_error

STACK = "\n\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handle(PythonRunner.scala:581)\n"
FAILED = "[STREAM_FAILED] Query [id = 1a, runId = 2b] terminated with exception: "


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            f"{FAILED}Job aborted due to stage failure:\nTraceback (most recent call last):\n  File\n"
            f"foretell.errors.InputError: in.csv: no column 'v'\n  hint: did you mean 'w'?\n{STACK}",
            "in.csv: no column 'v'",
            "did you mean 'w'?",
        ),
        (
            f"foretell.errors.LanguageError: 1:8: unknown name\n  1 | SELECT\n    |       ^\n{STACK}Driver stacktrace:",
            "1:8: unknown name\n  1 | SELECT\n    |       ^",
            "",
        ),
        (f"{FAILED}the disk is full\nSQLSTATE: XXKST", "the query failed: the disk is full", ""),
        (
            "An error occurred while calling o1.start.\n: java.io.IOException: no",
            "the query failed: java.io.IOException: no",
            "",
        ),
    ],
)
def test_an_error_of_a_task(text: str, message: str, hint: str) -> None:
    found = task_error(PySparkException(text), "the query")
    assert (found.message, found.hint) == (message, hint)
