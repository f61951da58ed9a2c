"""Type checkers see the public names, also those that load on first use.

mypy checks `_program` with the other tests: there `assert_type` fails where a type is another, and a `type: ignore`
where there is no error to ignore.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, assert_type

import foretell as ft

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from foretell.events.types import Scalar

    def _program(frame: DataFrame) -> None:
        subs = ft.load(Path("watch.ftl"))
        assert_type(subs["guessed"].steps("guessed"), tuple[str, ...])
        found = ft.run(subs, {"logins": "logins.jsonl"}, time={"logins": "time"}, until="2026-03-01")
        assert_type(found, ft.Notifications)
        assert_type(found[0], ft.Notification)
        assert_type(found[:2], tuple[ft.Notification, ...])
        assert_type(found["guessed"], ft.Notifications)
        assert_type(found[0].key, Mapping[str, Scalar] | None)
        assert_type(found.to_arrow(flat=True), pa.Table)
        assert_type(found.to_pandas(), pd.DataFrame)
        assert_type(found.to_polars(), pl.DataFrame)
        assert_type(ft.run(subs, {"logins": frame}), DataFrame)
        model = ft.train(subs, {"logins": "logins.jsonl"}, learning=ft.Learning(order=2), split=0.8)
        assert_type(model, ft.Model)
        report = ft.backtest(subs, {"logins": "logins.jsonl"}, model=model, since="2026-03-01")
        assert_type(report, ft.Report)
        engine = ft.Engine(subs, model=model, limits=ft.Limits(lane=10))
        assert_type(engine.push("logins", []), ft.Notifications)
        assert_type(engine.outlook("guessed"), ft.Outlooks)
        assert_type(engine.outlook("guessed")[0], ft.Outlook)
        ft.run(subs, {"logins": "logins.jsonl"}, untill="2026-03-01")  # type: ignore[call-overload]
        ft.train(subs, {"logins": "logins.jsonl"}, split="0.8")  # type: ignore[arg-type]
        ft.Engine(subs, model=5)  # type: ignore[arg-type]
        ft.trian(subs, {})  # type: ignore[attr-defined]


def test_the_package_is_typed() -> None:
    assert (Path(ft.__file__).parent / "py.typed").exists()


def test_every_public_name_loads_and_says_what_it_is() -> None:
    for name in ft.__all__:
        assert getattr(ft, name).__doc__
        assert name in dir(ft)
