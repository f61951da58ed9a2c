"""`foretell demo`: the main job on small data, with a word on each result."""

from __future__ import annotations

from importlib.resources import as_file, files

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table

from foretell.events.notification import Notification
from foretell.events.types import format_timestamp
from foretell.language.subscriptions import load
from foretell.run import run

_MEANING = {
    "match": "has happened",
    "estimate": "may have happened",
    "forecast": "is about to happen",
    "token": "was emitted",
}


def show() -> None:
    console = Console()
    with as_file(files("foretell.app").joinpath("demonstration")) as folder:
        subscriptions = load(folder / "watch.ftl")
        found = run(
            subscriptions,
            {"logins": folder / "logins.jsonl", "reads": folder / "reads.csv"},
            model=folder / "model.json",
        )
    console.print(Syntax(subscriptions.text, "sql", background_color="default"))
    table = Table("what", "", "when", "p", "bindings and events", box=None, pad_edge=False)
    for notification in found:
        table.add_row(*_row(notification))
    console.print(table)


def _row(notification: Notification) -> tuple[str, ...]:
    return (
        notification.subscription,
        _MEANING[notification.kind],
        format_timestamp(int(notification.end)).replace("T", " ").rstrip("Z"),
        f"{notification.probability:.2f}",
        ", ".join([*(f"{k} = {v}" for k, v in notification.bindings.items()), *_events(notification)]),
    )


def _events(notification: Notification) -> list[str]:
    return [f"{step}: {'lost' if event is None else event}" for step, event in notification.events.items()]
