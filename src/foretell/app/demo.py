"""`foretell demo`: the main job on small data, with a word on each result."""

from __future__ import annotations

from importlib.resources import as_file, files

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from foretell.app.output import standard_output
from foretell.events.notification import Notification
from foretell.given.statements import load
from foretell.notify.files import onto
from foretell.run import run

_MEANING = {
    "match": "has happened",
    "estimate": "may have happened",
    "forecast": "is about to happen",
    "token": "was emitted",
}


def show() -> None:
    stream = standard_output()
    with as_file(files("foretell.app").joinpath("demonstration")) as folder:
        subscriptions = load(folder / "watch.ftl")
        found = run(
            subscriptions,
            {"logins": folder / "logins.jsonl", "reads": folder / "reads.csv"},
            model=folder / "model.json",
        )
    console = Console(highlight=False)
    # Taken before it is written: rich has its own way to end where nobody reads.
    with console.capture() as shown:
        console.print(Syntax(subscriptions.text, "sql", background_color="default", word_wrap=True))
        for notification in found:
            console.print(_headline(notification))
            console.print(f"             {'   '.join(_details(notification))}")
    with onto(stream):
        stream.write(shown.get().encode())


def _headline(notification: Notification) -> Text:
    likely = "" if notification.kind == "match" else f"   probability {notification.probability:.2f}"
    return Text.assemble(
        (f"{notification.subscription:11}  ", "bold"),
        f"{_MEANING[notification.kind]:18}  {notification.ended:%Y-%m-%d %H:%M:%S}{likely}",
    )


def _details(notification: Notification) -> list[str]:
    bindings = [f"{name} = {value}" for name, value in notification.bindings.items()]
    return bindings + [f"{step}: {'lost' if e is None else e}" for step, e in notification.events.items()]
