"""Foretell: subscribe to patterns of events, and be told that they happened, may have, or are about to."""

import sys

try:
    from foretell import build
    from foretell.errors import ForetellError, InputError, LanguageError
    from foretell.events.notification import Notification
    from foretell.given.statements import load, parse
    from foretell.language.subscriptions import Subscriptions
    from foretell.notify.notifications import Notifications
    from foretell.run import run
except KeyboardInterrupt:
    # All this takes a second to load, and Python loads it before the command can catch its own Ctrl-C. While
    # `python -m foretell.app` is on its way here, it is called '-m'.
    if sys.argv[0] == "-m" or sys.argv[0].endswith("/foretell"):
        sys.exit(130)
    raise

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
