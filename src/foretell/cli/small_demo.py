"""`foretell demo --small`: matches, estimates and forecasts on small built-in data."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from foretell.api.run import run
from foretell.arguments.statements import load
from foretell.events.notification import Notification
from foretell.language.subscriptions import Subscriptions
from foretell.notify.files import standard_output, writing_to

_KEYWORD, _COMMENT = re.compile(r"\b[A-Z]{2,}\b"), re.compile(r"--.*")
_MEANING = {
    "match": "has happened",
    "estimate": "may have happened",
    "confirmed": "was confirmed",
    "withdrawn": "was withdrawn",
    "forecast": "is about to happen",
    "token": "was emitted",
}


def show() -> None:
    stream = standard_output()
    with as_file(files("foretell.cli").joinpath("demonstration")) as folder:
        subscriptions = load(folder / "watch.ftl")
        notifications = run(
            subscriptions,
            {"logins": folder / "logins.jsonl", "reads": folder / "reads.csv"},
            model=folder / "model.json",
        )
        console = Console(highlight=False)
        # Captured first: rich handles a closed pipe in its own way.
        with console.capture() as shown:
            console.print(_statements(subscriptions))
            for notification in notifications:
                _print(console, notification)
            _forecast(console, folder / "tills.ftl")
    with writing_to(stream):
        stream.write(shown.get().encode())


def _forecast(console: Console, file: Path) -> None:
    """Train on one day of events, forecast and evaluate on the next."""
    from foretell.api.forecasting import backtest, train  # imports the engine

    subscriptions = load(file)
    first, second = ({"tills": list(_baskets(day))} for day in (1, 2))
    model = train(subscriptions, first)
    notifications = run(subscriptions, second, model=model)
    forecast = next(n for n in notifications if n.kind == "forecast")
    console.print()
    console.print(_statements(subscriptions))
    _print(console, forecast)
    _print(
        console, next(n for n in notifications if n.kind == "match" and n.key == forecast.key and n.end > forecast.end)
    )
    (card,) = backtest(subscriptions, second, model=model).scorecards
    metrics, at = card.overall.notifications, card.table_threshold
    console.print(
        f"\nBacktest on {len(second['tills']):,} later events: {metrics.precision[at]:.0%} of "
        f"{metrics.made[at]} forecasts came true;\n"
        f"expected calibration error {card.overall.reliability.error:.3f}."
    )


def _baskets(day: int) -> Iterator[dict[str, Any]]:
    """A day of events at six tills."""
    chance, now = random.Random(day), datetime(2026, 3, day, 8)
    steps = dict.fromkeys(range(6), "paid")
    while now.hour < 20:
        now += timedelta(seconds=5 + chance.randrange(10))
        till = chance.randrange(6)
        ways = {"open": "paid paid declined", "declined": "declined paid left left"}
        steps[till] = chance.choice(ways.get(steps[till], "open").split())
        yield {"time": now, "till": till, "step": steps[till]}


def _statements(subscriptions: Subscriptions) -> Text:
    """The statements with bold keywords and dim comments, which are readable on light and dark terminals."""
    text = Text(subscriptions.text)
    text.highlight_regex(_KEYWORD, "bold")
    text.highlight_regex(_COMMENT, "not bold dim")
    return text


def _print(console: Console, notification: Notification) -> None:
    console.print(_headline(notification))
    console.print(f"             {'   '.join(_details(notification))}")


def _names(event: object) -> str:
    return ", ".join(map(str, event)) if isinstance(event, list | tuple) else str(event)


def _headline(notification: Notification) -> Text:
    likely = "" if notification.kind == "match" else f"   probability {notification.probability:.2f}"
    return Text.assemble(
        (f"{notification.subscription:11}  ", "bold"),
        f"{_MEANING[notification.kind]:18}  {notification.ended:%Y-%m-%d %H:%M:%S}{likely}",
    )


def _details(notification: Notification) -> list[str]:
    known = {**(notification.key or {}), **notification.bindings}
    missing = "to come" if notification.kind == "forecast" else "lost"
    events = [f"{step}: {missing if e is None else _names(e)}" for step, e in notification.events.items()]
    return [f"{name} = {value}" for name, value in known.items()] + events
