"""Foretell: complex event processing. Subscribe to patterns of events; get matches, estimates and forecasts."""

from typing import TYPE_CHECKING, Any

from foretell import build
from foretell.api.run import run
from foretell.arguments.statements import load, parse
from foretell.errors import ForetellError, InputError, LanguageError
from foretell.events.notification import Notification
from foretell.language.subscriptions import Subscriptions
from foretell.learn.model import Model
from foretell.learn.settings import Learning
from foretell.notify.notifications import Notifications

if TYPE_CHECKING:
    from foretell.api.forecasting import backtest, recalibrate, train
    from foretell.engine import Engine
    from foretell.forecast.online.outlook import Outlook
    from foretell.machine.exec.limits import Limits

__all__ = [
    "Engine",
    "ForetellError",
    "InputError",
    "LanguageError",
    "Learning",
    "Limits",
    "Model",
    "Notification",
    "Notifications",
    "Outlook",
    "Subscriptions",
    "backtest",
    "build",
    "load",
    "parse",
    "recalibrate",
    "run",
    "train",
]


def __getattr__(name: str) -> Any:
    """Load the engine on first use: it imports Numba, which takes as long to load as all the rest."""
    if name == "Engine":
        from foretell.engine import Engine

        return Engine
    if name == "Outlook":
        from foretell.forecast.online.outlook import Outlook

        return Outlook
    if name == "Limits":
        from foretell.machine.exec.limits import Limits

        return Limits
    if name in ("train", "backtest", "recalibrate"):
        from foretell.api import forecasting

        return getattr(forecasting, name)
    raise AttributeError(f"module 'foretell' has no attribute '{name}'")
