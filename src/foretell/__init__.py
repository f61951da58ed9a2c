"""Foretell: complex event processing. Subscribe to patterns of events; get matches, estimates and forecasts."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from foretell.errors import ForetellError, ForetellWarning, InputError, LanguageError

if TYPE_CHECKING:
    from foretell import build
    from foretell.api.capacity import capacity
    from foretell.api.forecast_curves import curve_page
    from foretell.api.forecasting import backtest, recalibrate, train
    from foretell.api.loss_estimation import estimate_loss
    from foretell.api.run import run
    from foretell.api.statement_check import check
    from foretell.arguments.statements import load, parse
    from foretell.capacity.report import CapacityReport
    from foretell.charts.automaton_page import automaton_page
    from foretell.charts.capacity import capacity_page
    from foretell.charts.forecasts import forecast_page
    from foretell.charts.notification_page import estimate_page
    from foretell.charts.page import ChartPage
    from foretell.charts.pipeline import pipeline_page
    from foretell.check.report import CheckReport
    from foretell.engine import Engine
    from foretell.engine.engine_recorder import EngineRecorder
    from foretell.events.ingest.read_options import ReadOptions
    from foretell.events.notification import Notification
    from foretell.forecast.evaluation.report import Report
    from foretell.forecast.online.outlook import Outlook, Outlooks
    from foretell.language.subscriptions import Subscriptions
    from foretell.learn.model import Model
    from foretell.learn.settings import Learning
    from foretell.machine.exec.limits import Limits
    from foretell.notify.notifications import Notifications
    from foretell.recover.loss_estimates import LossReport

__all__ = [
    "CapacityReport",
    "ChartPage",
    "CheckReport",
    "Engine",
    "EngineRecorder",
    "ForetellError",
    "ForetellWarning",
    "InputError",
    "LanguageError",
    "Learning",
    "Limits",
    "LossReport",
    "Model",
    "Notification",
    "Notifications",
    "Outlook",
    "Outlooks",
    "ReadOptions",
    "Report",
    "Subscriptions",
    "automaton_page",
    "backtest",
    "build",
    "capacity",
    "capacity_page",
    "check",
    "curve_page",
    "estimate_loss",
    "estimate_page",
    "forecast_page",
    "load",
    "parse",
    "pipeline_page",
    "recalibrate",
    "run",
    "train",
]


#: Where the other names are. They load on first use: `import foretell` is quick, and the command handles Ctrl-C while
#: the rest loads.
_MODULES = {
    "CapacityReport": "foretell.capacity.report",
    "ChartPage": "foretell.charts.page",
    "CheckReport": "foretell.check.report",
    "Engine": "foretell.engine",
    "Learning": "foretell.learn.settings",
    "Limits": "foretell.machine.exec.limits",
    "LossReport": "foretell.recover.loss_estimates",
    "Model": "foretell.learn.model",
    "Notification": "foretell.events.notification",
    "Notifications": "foretell.notify.notifications",
    "Outlook": "foretell.forecast.online.outlook",
    "Outlooks": "foretell.forecast.online.outlook",
    "EngineRecorder": "foretell.engine.engine_recorder",
    "ReadOptions": "foretell.events.ingest.read_options",
    "Subscriptions": "foretell.language.subscriptions",
    "Report": "foretell.forecast.evaluation.report",
    "automaton_page": "foretell.charts.automaton_page",
    "backtest": "foretell.api.forecasting",
    "capacity": "foretell.api.capacity",
    "capacity_page": "foretell.charts.capacity",
    "check": "foretell.api.statement_check",
    "curve_page": "foretell.api.forecast_curves",
    "estimate_loss": "foretell.api.loss_estimation",
    "estimate_page": "foretell.charts.notification_page",
    "forecast_page": "foretell.charts.forecasts",
    "load": "foretell.arguments.statements",
    "parse": "foretell.arguments.statements",
    "pipeline_page": "foretell.charts.pipeline",
    "recalibrate": "foretell.api.forecasting",
    "run": "foretell.api.run",
    "train": "foretell.api.forecasting",
}


if not TYPE_CHECKING:  # a type checker would take every name for one that this function finds

    def __getattr__(name: str) -> Any:
        if name == "build":
            return import_module("foretell.build")
        if name not in _MODULES:
            raise AttributeError(f"module 'foretell' has no attribute '{name}'")
        found = globals()[name] = getattr(import_module(_MODULES[name]), name)
        return found


class _Package(ModuleType):
    """The package, whose `check` and `capacity` are functions: Python would put the subpackages of these names in their
    place."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in ("capacity", "check") and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
