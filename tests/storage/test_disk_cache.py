"""What is kept for the next start: used where it is whole and of this code, else made again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from foretell.jit import compilation_inputs, compiled, kernel
from foretell.storage import disk_cache

CALLEE = """
from foretell.jit import inlined, kernel
from constants import STEP

@inlined
def further(x):
    return x + STEP

@kernel
def twice(x):
    return further(further(x))
"""
CALLER = """
import json, sys
from foretell.jit import kernel
from callee import twice

@kernel
def asked(x):
    return twice(x) * 10

print(json.dumps([[asked(1), asked(1.5)], sum(asked.stats.cache_hits.values())]))
"""


class Package:
    """A caller, a callee in another file, a constant in a third, and a folder for what is compiled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("constants", "STEP = 1")
        self.write("callee", CALLEE)
        self.write("caller", CALLER)

    def write(self, name: str, text: str) -> None:
        (self.folder / f"{name}.py").write_text(text)

    def start(self) -> subprocess.Popen[str]:
        # Files that change within a second would pass for their old bytecode.
        more = {"NUMBA_CACHE_DIR": str(self.folder / "kept"), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "caller.py"]
        return subprocess.Popen(command, cwd=self.folder, env={**os.environ, **more}, stdout=subprocess.PIPE, text=True)

    def result(self) -> tuple[list[float], int]:
        """What the caller says, and how many of its versions came from the folder."""
        found, hits = json.loads(self.start().communicate()[0])
        return found, hits


@pytest.fixture
def package(tmp_path: Path) -> Package:
    return Package(tmp_path)


def test_a_kernel_is_compiled_anew_where_a_callee_or_its_constant_changes(package: Package) -> None:
    assert package.result() == ([30, 35.0], 0)
    assert package.result() == ([30, 35.0], 2)
    package.write("callee", CALLEE.replace("x + STEP", "x - STEP"))
    assert package.result() == ([-10, -5.0], 0)
    package.write("constants", "STEP = 2")
    assert package.result() == ([-30, -25.0], 0)
    package.write(
        "callee", '"""Only words and lines."""\n\n# Such as these.\n' + CALLEE.replace("x + STEP", "x - STEP")
    )
    assert package.result() == ([-30, -25.0], 2)
    kept_files = list((package.folder / "kept").glob("*/__main__.asked.*"))
    assert len(kept_files) == 2  # what is out of date goes


def test_several_start_at_once(package: Package) -> None:
    started = [package.start() for _ in range(4)]
    assert [json.loads(one.communicate()[0])[0] for one in started] == [[30, 35.0]] * 4
    assert package.result() == ([30, 35.0], 2)
    assert not list((package.folder / "kept").glob("*/*.tmp"))


def test_a_kernel_that_names_what_cannot_be_compared_is_refused() -> None:
    names = [1, 2]

    @compiled
    def counted() -> int:
        return len(names)

    @kernel
    def named() -> object:
        return _list

    with pytest.raises(TypeError, match="stands within a function whose variables it uses"):
        list(compilation_inputs(counted, set()))
    with pytest.raises(TypeError, match="may name kernels and numbers, but not '_list'"):
        list(compilation_inputs(named, set()))


_list = [1, 2]


# ── files ──


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    places = [tmp_path / "first", tmp_path / "second"]
    monkeypatch.setattr(disk_cache, "cache_folders", lambda: iter(places))
    disk_cache.writable_folder.cache_clear()
    yield places
    disk_cache.writable_folder.cache_clear()


def test_what_is_kept_is_found(folders: list[Path]) -> None:
    assert disk_cache.load_cached("a", "old-1") is None
    for key in ("old-1", "old-2"):
        disk_cache.store_cached("a", key, key.encode(), valid_prefix="old")
    disk_cache.store_cached("b", "old-1", b"another", valid_prefix="old")
    assert disk_cache.load_cached("a", "old-1") == b"old-1"
    disk_cache.store_cached("a", "new-1", b"new", valid_prefix="new")
    assert {file.name for file in folders[0].iterdir()} == {"a.new-1", "b.old-1"}


@pytest.mark.parametrize("size", [0, 10, 40])
def test_half_a_file_is_none(folders: list[Path], size: int) -> None:
    disk_cache.store_cached("a", "1", b"something of some length", valid_prefix="1")
    file = folders[0] / "a.1"
    file.write_bytes(file.read_bytes()[:size])
    assert disk_cache.load_cached("a", "1") is None


def test_where_one_folder_cannot_be_written_to_the_next_can(folders: list[Path]) -> None:
    folders[0].write_text("a file, no folder")
    disk_cache.store_cached("a", "1", b"kept", valid_prefix="1")
    assert (folders[1] / "a.1").exists()
    assert disk_cache.load_cached("a", "1") == b"kept"


def test_where_none_can_be_written_to_nothing_is_kept(folders: list[Path]) -> None:
    for folder in folders:
        folder.write_text("a file, no folder")
    disk_cache.store_cached("a", "1", b"kept", valid_prefix="1")
    assert disk_cache.load_cached("a", "1") is None


def test_what_lies_beside_the_code_goes_along_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a job brings the package to a cluster."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(disk_cache, "PACKAGE", tmp_path / "here")
    disk_cache.writable_folder.cache_clear()
    disk_cache.store_cached("a", "1", b"kept", valid_prefix="1")
    (tmp_path / "here").rename(tmp_path / "there")
    assert disk_cache.load_cached("a", "1") is None
    monkeypatch.setattr(disk_cache, "PACKAGE", tmp_path / "there")
    assert disk_cache.load_cached("a", "1") == b"kept"
    disk_cache.writable_folder.cache_clear()
