"""Foretell: subscribe to patterns of events, and be told that they happened, may have, or are about to."""

from foretell import build
from foretell.errors import ForetellError, InputError, LanguageError
from foretell.events.notification import Notification
from foretell.given.statements import load, parse
from foretell.language.subscriptions import Subscriptions
from foretell.notify.notifications import Notifications
from foretell.run import run

__all__ = [
    "ForetellError",
    "InputError",
    "LanguageError",
    "Notification",
    "Notifications",
    "Subscriptions",
    "build",
    "load",
    "parse",
    "run",
]
