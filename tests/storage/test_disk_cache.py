"""What is kept for the next start: used where it is whole and of this code, else made again."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import stat
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

    def kept_files(self) -> list[Path]:
        return list((self.folder / "kept").glob("*/*"))

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
    assert [json.loads(item.communicate()[0])[0] for item in started] == [[30, 35.0]] * 4
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


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """What a process has found out about folders holds for its life; here each test is a process."""
    _forget()
    yield
    _forget()


def _forget() -> None:
    disk_cache.writable_folder.cache_clear()
    disk_cache.cache_key.cache_clear()
    disk_cache._private_folders.clear()


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    places = [tmp_path / "first", tmp_path / "second"]
    monkeypatch.setattr(disk_cache, "cache_folders", lambda: iter(places))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return places


def _store(key: str, content: bytes, name: str = "a") -> None:
    disk_cache.store_cached(name, key, content, valid_prefix=key.split("-")[0])


def _only_file(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


def test_what_is_kept_is_found(folders: list[Path]) -> None:
    assert disk_cache.load_cached("a", "old-1") is None
    for key in ("old-1", "old-2"):
        _store(key, key.encode())
    _store("old-1", b"another", "b")
    assert disk_cache.load_cached("a", "old-1") == b"old-1"
    _store("new-1", b"new")
    assert {file.stem for file in folders[0].iterdir()} == {"a.new-1", "b.old-1"}


@pytest.mark.parametrize("size", [0, 10, 40])
def test_half_a_file_is_none(folders: list[Path], size: int) -> None:
    _store("1", b"something of some length")
    file = _only_file(folders[0])
    file.write_bytes(file.read_bytes()[:size])
    assert disk_cache.load_cached("a", "1") is None


def test_where_one_folder_cannot_be_written_to_the_next_can(folders: list[Path]) -> None:
    folders[0].write_text("a file, no folder")
    _store("1", b"kept")
    assert _only_file(folders[1]).stem == "a.1"
    assert disk_cache.load_cached("a", "1") == b"kept"


def test_where_none_can_be_written_to_nothing_is_kept(folders: list[Path]) -> None:
    for folder in folders:
        folder.write_text("a file, no folder")
    _store("1", b"kept")
    assert disk_cache.load_cached("a", "1") is None


def test_what_lies_beside_the_code_goes_along_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(disk_cache, "PACKAGE", tmp_path / "here")
    _store("1", b"kept")
    (tmp_path / "here").rename(tmp_path / "there")
    assert disk_cache.load_cached("a", "1") is None
    monkeypatch.setattr(disk_cache, "PACKAGE", tmp_path / "there")
    assert disk_cache.load_cached("a", "1") == b"kept"


# ── others ──


def test_what_is_kept_is_for_its_owner_alone(folders: list[Path], tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        _store("1", b"kept")
    finally:
        os.umask(before)
    key = tmp_path / "home" / "foretell" / "cache-key"
    assert [stat.S_IMODE(file.stat().st_mode) for file in (_only_file(folders[0]), key)] == [0o600, 0o600]
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (folders[0], key.parent)] == [0o700, 0o700]
    assert key.stat().st_size == 32


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_used(folders: list[Path], mode: int) -> None:
    _store("1", b"kept")
    folders[0].chmod(mode)
    _forget()
    assert disk_cache.load_cached("a", "1") is None
    _store("1", b"kept elsewhere")
    assert _only_file(folders[1]).stem == "a.1"
    assert disk_cache.load_cached("a", "1") == b"kept elsewhere"


@pytest.mark.parametrize(("mode", "used"), [(0o777, False), (0o770, False), (0o1777, True), (0o755, True)])
def test_a_folder_that_others_can_replace_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, used: bool
) -> None:
    monkeypatch.setattr(disk_cache, "cache_folders", lambda: iter([tmp_path / "shared" / "ours"]))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(mode)
    _store("1", b"kept")
    assert disk_cache.load_cached("a", "1") == (b"kept" if used else None)


@pytest.mark.parametrize("mode", [0o660, 0o606])
def test_a_file_that_others_can_write_to_is_not_used(folders: list[Path], mode: int) -> None:
    _store("1", b"kept")
    _only_file(folders[0]).chmod(mode)
    assert disk_cache.load_cached("a", "1") is None


def test_folders_and_files_of_others_are_not_used(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    _store("1", b"kept")
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    assert disk_cache.load_cached("a", "1") is None  # the folder was ours, the file is not
    _forget()
    assert disk_cache.writable_folder() is None
    assert disk_cache.cache_key() is None


def test_neither_links_nor_pipes_are_read(folders: list[Path], tmp_path: Path) -> None:
    _store("1", b"kept")
    file = _only_file(folders[0])
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert disk_cache.load_cached("a", "1") is None
    file.unlink()
    os.mkfifo(file)
    assert disk_cache.load_cached("a", "1") is None


def test_content_is_bound_to_its_name(folders: list[Path]) -> None:
    """Whoever cannot make content may still exchange what was made for another kernel."""
    _store("1", b"of a")
    _store("1", b"of b", "b")
    of_a, of_b = sorted(folders[0].iterdir())
    of_b.write_bytes(of_a.read_bytes())
    assert disk_cache.load_cached("a", "1") == b"of a"
    assert disk_cache.load_cached("b", "1") is None


def test_a_key_that_others_can_read_is_replaced(folders: list[Path], tmp_path: Path) -> None:
    _store("1", b"kept")
    known = disk_cache.cache_key()
    key = tmp_path / "home" / "foretell" / "cache-key"
    key.chmod(0o644)
    _forget()
    assert disk_cache.load_cached("a", "1") is None
    assert disk_cache.cache_key() not in (known, None)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_without_a_home_the_key_lies_in_the_cache(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_cache, "_home_folders", lambda: iter([]))
    _store("1", b"kept")
    assert {file.stem for file in folders[0].iterdir()} == {"cache-key", "a.1"}
    _forget()
    assert disk_cache.load_cached("a", "1") == b"kept"


def test_without_any_private_folder_there_is_a_temporary_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs under any user number: neither the code nor a home belongs to it."""
    monkeypatch.setattr(disk_cache, "PACKAGE", Path("/proc/nowhere"))
    monkeypatch.setattr(disk_cache, "_home_folders", lambda: iter([Path("/proc/home")]))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    _store("1", b"kept")
    _forget()
    assert disk_cache.load_cached("a", "1") == b"kept"
    assert disk_cache.writable_folder() == _only_file(tmp_path)


def _key_of_a_process(home: str) -> bytes | None:
    os.environ["XDG_CACHE_HOME"] = home
    return disk_cache.cache_key()


def test_processes_that_start_at_once_have_one_key(tmp_path: Path) -> None:
    with multiprocessing.get_context("fork").Pool(8) as pool:
        keys = pool.map(_key_of_a_process, [str(tmp_path)] * 64, chunksize=1)
    assert len(set(keys)) == 1
    assert keys[0] is not None
    assert _only_file(tmp_path / "foretell").name == "cache-key"


class _Planted:
    """A pickle that runs a command."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.file),)


def test_what_others_plant_is_not_run(package: Package) -> None:
    assert package.result() == ([30, 35.0], 0)
    trace = package.folder / "trace"
    for file in package.kept_files():
        genuine = file.read_bytes()
        planted = pickle.dumps(_Planted(trace))
        file.write_bytes(genuine[:32] + planted)
    assert package.result() == ([30, 35.0], 0)
    assert not trace.exists()
    assert package.result() == ([30, 35.0], 2)
