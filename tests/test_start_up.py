"""A start loads no more than it needs. (How long it takes is measured by `foretell bench engine`.)"""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = "STREAM s (k STRING, v FLOAT, t {0}) TIME t; SUBSCRIBE m FROM s PER k MATCH a , b DEFINE b AS v > a.v;"
_ENGINE = f"import foretell as ft; engine = ft.Engine({_PROGRAM!r}.format('INT')); "
_TIMES = f"import foretell as ft; engine = ft.Engine({_PROGRAM!r}.format('TIMESTAMP')); "

#: What the library itself never needs: pandas and polars come with those who use them.
_NEVER = {"altair", "IPython", "pandas", "polars", "pyspark", "rich", "scipy.special", "typer"}


def _loaded(code: str) -> set[str]:
    """The modules that a new process has loaded after some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_the_package_alone() -> None:
    assert not _loaded("import foretell") & {*_NEVER, "scipy", "numba", "llvmlite"}


def test_statements() -> None:
    assert not _loaded(f"import foretell; foretell.parse({_PROGRAM!r}.format('INT'))") & {*_NEVER, "scipy", "numba"}


@pytest.mark.parametrize(
    "code",
    [
        _ENGINE + "engine.push('s', [{'t': 1, 'k': 'a', 'v': 1}, {'t': 2, 'k': 'a', 'v': None}])",
        _ENGINE + "print(*engine.push('s', [{'t': 1, 'k': 'é', 'v': 1}, {'t': 2, 'k': 'é', 'v': 2}, {'v': 'bad'}]))",
        _TIMES + "engine.push('s', [{'t': '2026-03-01T10:00:00Z', 'k': None, 'v': float('nan')}])",
        _ENGINE.replace("TIME t;", "TIME t LATE BY 5;") + "engine.push('s', [{'t': 9, 'k': 'a'}, {'t': 5, 'k': 'a'}]);"
        "engine.push('s', [{'t': 3, 'k': 'b', 'v': 3}]); engine.end()",
    ],
    ids=["dicts", "matches and bad events", "timestamps", "late events"],
)
def test_an_engine_at_work(code: str) -> None:
    assert not _loaded(code) & _NEVER


def test_the_command_for_help() -> None:
    code = "from foretell.cli.commands import app\napp(['--help'], standalone_mode=False)"
    assert not _loaded(code) & {*_NEVER - {"typer", "rich"}, "scipy", "numba"}
