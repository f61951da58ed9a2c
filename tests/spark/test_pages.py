"""Code of docs/cluster.md on the session of the tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import foretell as ft

PAGE = Path(__file__).parents[2] / "docs" / "cluster.md"


def test_workers_tell_what_they_run(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = [
        block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL) if "def where" in block
    ]
    exec(code, {"spark": spark})
    shown = capsys.readouterr().out
    assert "|host" in shown
    assert str(ft.__file__) in shown
