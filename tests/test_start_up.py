"""A start loads no more than it needs. (How long it takes is measured by `foretell bench engine`.)"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = "STREAM s (k STRING, v FLOAT, t {0}) TIME t; SUBSCRIBE m FROM s PER k MATCH a , b DEFINE b AS v > a.v;"
_ENGINE = f"import foretell as ft; engine = ft.Engine({_PROGRAM!r}.format('INT')); "
_TIMES = f"import foretell as ft; engine = ft.Engine({_PROGRAM!r}.format('TIMESTAMP')); "

#: What the library itself never needs: pandas and polars come with those who use them.
_NEVER = {"altair", "IPython", "pandas", "polars", "pyspark", "rich", "scipy.special", "typer"}


#: What only some sources, sinks and messages need: clients of file systems, Parquet, the closest names.
_NOT_HERE = {"difflib", "pyarrow.fs", "pyarrow.parquet", "ssl", "foretell.events.ingest.parquet_files"}

#: Rooms that a batch of matches does not enter.
_OTHER_ROOMS = {
    "foretell.engine.engine",
    "foretell.forecast.chain",
    "foretell.forecast.online.factory",
    "foretell.language.builder",
    "foretell.language.syntax_hints",
    "foretell.reference.run",
}

_CSV = {"foretell.events.ingest.csv_reader", "foretell.events.ingest.text_lines"}

_FIVE_LINES = """\
time,user,ok,tries
2026-03-01 10:00:00,ann,no,1
2026-03-01 10:00:05,ann,no,NA
2026-03-01 10:00:07,bob,yes,1
2026-03-01 10:00:09,ann,no,3
2026-03-01 10:00:12,ann,yes,4
"""

_GUESSED = """\
SUBSCRIBE guessed FROM logins PER user
MATCH f{2,} , s WITHIN 1 min AFTER MATCH LONGEST
DEFINE f AS ok = 'no', s AS ok = 'yes'
RETURN count(f) AS failed, sum(f.tries) AS tries
"""


def _loaded(code: str, *arguments: str) -> set[str]:
    """The modules that a new process has loaded after some code."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)", *arguments],
        capture_output=True,
        text=True,
        check=True,
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
    assert not _loaded(code) & _NEVER  # where kernels are compiled, that loads more
    assert not _loaded(code) & {*_NEVER, *_NOT_HERE, *_OTHER_ROOMS - {"foretell.engine.engine"}, *_CSV}


def test_a_plain_event_needs_none_of_arrows_functions() -> None:
    code = _ENGINE + "engine.push('s', [{'t': 1, 'k': 'a', 'v': 1.0}])"
    _loaded(code)  # the kernels are compiled once
    assert not _loaded(code) & {"pyarrow._compute", "pydoc"}


def test_the_command_for_help() -> None:
    code = "from foretell.cli.commands import app\napp(['--help'], standalone_mode=False)"
    assert not _loaded(code) & {*_NEVER - {"typer", "rich"}, "scipy", "numba"}


@pytest.mark.parametrize("name", ["found.jsonl", "found.csv"])
def test_the_command_for_five_lines(tmp_path: Path, name: str) -> None:
    (tmp_path / "logins.csv").write_text(_FIVE_LINES)
    (tmp_path / "watch.ftl").write_text(_GUESSED)
    code = "from foretell.cli.commands import app; import sys\napp(sys.argv[1:], standalone_mode=False)"
    arguments = ["run", "watch.ftl", "--input", "logins.csv", "--output", name]
    paths = [str(tmp_path / word) if "." in word else word for word in arguments]
    _loaded(code, *paths)  # the kernels are compiled once: that loads SciPy
    loaded = _loaded(code, *paths)
    assert "ann" in (tmp_path / name).read_text()
    unneeded = {*_NOT_HERE - {"difflib"}, *_OTHER_ROOMS, *_CSV - {"foretell.events.ingest.csv_reader"}}
    assert not loaded & {*_NEVER - {"typer", "rich"}, *unneeded, "pydantic", "scipy.linalg"}


def test_a_kernel_from_the_cache_raises_as_when_it_was_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The modules of the functions within it are not loaded, but its constants are there."""
    (tmp_path / "kernels.py").write_text(
        """\
import numpy as np
from foretell.jit import compiled

@compiled
def append(numbers, least):
    if numbers.min() < least:
        raise ValueError("a number is too small")
    return np.append(numbers, least)
"""
    )
    code = """\
import sys; sys.path.insert(0, sys.argv[1])
import numpy as np, kernels
try:
    kernels.append(np.arange(3), 1)
except ValueError as error:
    assert str(error) == "a number is too small", error
else:
    raise SystemExit("there is no error")
assert kernels.append(np.arange(1, 3), 1).tolist() == [1, 2, 1]
"""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    assert "scipy.linalg" in _loaded(code, str(tmp_path))
    assert "scipy.linalg" not in _loaded(code, str(tmp_path))
