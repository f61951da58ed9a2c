"""Type checkers see the public names, also those that load on first use."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import foretell as ft

PROGRAM = """
from pathlib import Path

import foretell as ft
from pyspark.sql import DataFrame

subs = ft.load(Path("watch.ftl"))
found = ft.run(subs, {"logins": "logins.jsonl"}, time={"logins": "time"}, until="2026-03-01")
reveal_type(found)
reveal_type(found[0])
reveal_type(found["guessed"])
reveal_type(found[0].key)
reveal_type(found.to_arrow())
reveal_type(found.to_pandas())
reveal_type(found.to_polars())
reveal_type(subs.steps("guessed"))


def on_spark(frame: DataFrame) -> None:
    reveal_type(ft.run(subs, {"logins": frame}))


model = ft.train(subs, {"logins": "logins.jsonl"}, learning=ft.Learning(order=2), split=0.8)
reveal_type(model)
reveal_type(ft.backtest(subs, {"logins": "logins.jsonl"}, model=model, since="2026-03-01"))
engine = ft.Engine(subs, model=model, limits=ft.Limits(lane=10))
reveal_type(engine.push("logins", []))
reveal_type(engine.outlook("guessed"))

ft.run(subs, {"logins": "logins.jsonl"}, untill="2026-03-01")
ft.Engine(subs, model=5)
ft.trian(subs, {})
"""

REVEALED = [
    "foretell.notify.notifications.Notifications",
    "foretell.events.notification.Notification",
    "foretell.notify.notifications.Notifications",
    "collections.abc.Mapping[str, bool | int | float | str | None] | None",
    "pyarrow.lib.Table",
    "pandas.DataFrame",
    "polars.dataframe.frame.DataFrame",
    "tuple[str, ...]",
    "pyspark.sql.dataframe.DataFrame",
    "foretell.learn.model.Model",
    "foretell.forecast.evaluation.report.Report",
    "foretell.notify.notifications.Notifications",
    "list[foretell.forecast.online.outlook.Outlook]",
]


def test_a_program_of_a_user(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    source = Path(ft.__file__).parent
    assert (source / "py.typed").exists()
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--follow-imports=silent", "program.py"]
    environment = {"MYPYPATH": str(source.parent), "PATH": ""}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    revealed = re.findall(r'Revealed type is "(.+)"', done.stdout)
    assert [_short(text) for text in revealed] == REVEALED, done.stdout + done.stderr
    errors = [line.split(": ", 2)[2] for line in done.stdout.splitlines() if ": error: " in line]
    assert len(errors) == 3, done.stdout
    assert "untill" in errors[0]
    assert 'Argument "model" to "Engine" has incompatible type "int"' in errors[1]
    assert "trian" in errors[2]


def _short(text: str) -> str:
    """mypy's versions spell types differently."""
    text = re.sub(r"builtins\.|typing\.(?=Mapping)", "", text)
    text = re.sub(r"Union\[([^\[\]]+)\]", lambda union: union[1].replace(", ", " | "), text)
    text = text.replace("pandas.core.frame.DataFrame", "pandas.DataFrame")
    text = re.sub(r"(?<!collections\.abc\.)Mapping", "collections.abc.Mapping", text)
    return re.sub(r"pyspark\.sql\.(classic\.)?dataframe", "pyspark.sql.dataframe", text)


def test_every_public_name_is_listed_and_loads() -> None:
    for name in ft.__all__:
        assert getattr(ft, name).__doc__
        assert name in dir(ft)
