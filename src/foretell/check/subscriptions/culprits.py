"""The parts of a statement that contradict each other, as text for a finding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from foretell.check.conditions.query import Labelled
from foretell.check.subscriptions.match_formulas import Origin
from foretell.errors import NOWHERE, Place
from foretell.language.printer import expression_text
from foretell.records import record


@record
class Culprit:
    """A part of a statement, with its place in the text."""

    form: str
    step: str
    text: str
    place: Place

    @property
    def at(self) -> str:
        """The place for a message, where there is one."""
        return "" if self.place == NOWHERE else f" ({self.place.line}:{self.place.column})"


def culprits(cores: Iterable[Sequence[Labelled]]) -> list[Culprit]:
    """The parts that the cores name, each once, in the order of the text."""
    found = dict.fromkeys(_culprit(part.label) for core in cores for part in core if isinstance(part.label, Origin))
    return sorted(found, key=lambda culprit: (culprit.place.line, culprit.place.column, culprit.step))


def _culprit(origin: Origin) -> Culprit:
    text = "" if origin.expression is None else expression_text(origin.expression)
    match origin.form:
        case "condition" | "variable":
            text = f"{text} of '{origin.step}'"
        case "HAVING" | "WITHIN":
            text = f"{origin.form} {text}"
        case "operator":
            text = f"';{{{text}}}' before '{origin.step}'" if text else f"',' before '{origin.step}'"
        case "negation":
            text = f"'!{origin.step}'"
        case "count":
            text = f"the number of '{origin.step}'"
        case _:
            text = f"the order of events before '{origin.step}'"
    return Culprit(origin.form, origin.step, text, origin.place)


def listed(found: Sequence[Culprit], *, placed: bool = True) -> str:
    """The parts as a list for a message, with their places."""
    texts = [f"{culprit.text}{culprit.at if placed else ''}" for culprit in found]
    shown = texts if len(texts) <= 6 else [*texts[:5], f"and {len(texts) - 5} more"]
    return " and ".join(shown) if len(shown) <= 2 else f"{', '.join(shown[:-1])} and {shown[-1]}"
