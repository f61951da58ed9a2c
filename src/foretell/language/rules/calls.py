"""Calls and words with a meaning of their own: `prev`, `t(x)`, `first(b)`, aggregates, functions."""

from __future__ import annotations

from foretell.errors import Place, refuse, suggestion
from foretell.language import tree
from foretell.language.functions import AGGREGATES, FUNCTIONS
from foretell.language.rules.tokens import QuotedName
from foretell.language.tree import Name

#: Functions of other languages, and how to say it here.
_OTHER_FUNCTIONS = {
    "prev": "write prev.attribute for the event bound just before",
    "lag": "write prev.attribute for the event bound just before",
    "next": "write step.attribute: a condition may name a later step",
    "now": "write t(step) for the time of an event; there is no current time",
    "current_timestamp": "write t(step) for the time of an event; there is no current time",
    "classifier": "leave it out: a notification lists the event bound to each step",
    "match_number": "leave it out: every match is one notification",
    "trunc": "write floor(x) or ceil(x)",
    "ceiling": "did you mean 'ceil'?",
    "log": "write ln(x) for the natural logarithm, ln(x) / ln(10) for the decimal one",
    "log10": "write ln(x) / ln(10)",
    "log2": "write ln(x) / ln(2)",
    "power": "did you mean 'pow'?",
    "substring": "did you mean 'substr'?",
    "left": "write substr(text, 1, length)",
    "right": "write substr(text, -length)",
    **dict.fromkeys(("regexp", "rlike", "regexp_matches", "matches"), "did you mean 'regexp_like'?"),
    "startswith": "did you mean 'starts_with'?",
    "endswith": "did you mean 'ends_with'?",
    "dayofweek": "write weekday(time): Monday is 0, Sunday 6",
    "dayofmonth": "did you mean 'day'?",
    **dict.fromkeys(("extract", "date_part"), "write year(time), month(time), day(time), hour(time) or minute(time)"),
    **dict.fromkeys(("if", "iff", "decode"), "write CASE WHEN condition THEN value ELSE value END"),
    "mean": "did you mean 'avg'?",
    "average": "did you mean 'avg'?",
    "nvl": "did you mean 'coalesce'?",
    "ifnull": "did you mean 'coalesce'?",
    "len": "did you mean 'length'?",
    "time": "write t(step) for the time of a step's event",
    "timestamp": "write t(step) for the time of a step's event",
}


def event_named(name: Name) -> tree.EventReference:
    if name.lower() == "prev" and not isinstance(name, QuotedName):
        return tree.Previous(place=name.place)
    return tree.BoundEvent(name, place=name.place)


def attribute_of(event: tree.EventReference, name: Name, place: Place) -> tree.Expression:
    if name.lower() == "stream" and not isinstance(name, QuotedName):
        return tree.StreamOf(event, place=place)
    return tree.Attribute(event, name, place=place)


def _event(argument: tree.Expression, function: str) -> tree.EventReference:
    """The event that `t(...)` takes: of a step, prev, first(b) or last(b)."""
    if isinstance(argument, tree.EventValue):
        return argument.event
    return event_named(_step_name(argument, function))


def _step_name(argument: tree.Expression, function: str) -> Name:
    match argument:
        case tree.Attribute(event=tree.This(), name=Name() as name) if function == "t" or name.lower() != "prev":
            return name
        case tree.StreamOf(event=tree.This()) | tree.Elapsed():
            return Name("stream" if isinstance(argument, tree.StreamOf) else "duration", argument.place)
    hint = f"write {function}(step)"
    if isinstance(argument, tree.Attribute) and argument.name.lower() == "prev":
        hint = "write prev.attribute: 'prev' is one event already"
    if isinstance(argument, tree.Attribute) and isinstance(argument.event, tree.BoundEvent):
        step = argument.event.step
        hint = f"write {function}({step})" + (f".{argument.name}" if function in ("first", "last") else "")
    refuse("not-a-step", f"{function}(...) takes a step", argument.place, hint)


def call_of(function: Name, arguments: list[tree.Expression], field: Name | None) -> tree.Expression:
    word = function.lower()
    place = function.place.through(arguments[-1].place) if arguments else function.place
    if word in ("first", "last"):
        _check_arity(function, arguments, 1, 1)
        step = _step_name(arguments[0], word)
        event = tree.FirstOf(step, place=place) if word == "first" else tree.LastOf(step, place=place)
        if field is None:
            return tree.EventValue(event, place=place)
        return attribute_of(event, field, place.through(field.place))
    if field is not None:
        hint = "put .attribute only behind first(step) or last(step)"
        refuse("not-an-event", f"{word}(...) is not an event and has no attributes", place.through(field.place), hint)
    if word == "t":
        _check_arity(function, arguments, 1, 1)
        return tree.TimeOf(_event(arguments[0], "t"), place=place)
    if word in AGGREGATES:
        _check_arity(function, arguments, 1, 1)
        return _aggregate(word, arguments[0], place)
    if word not in FUNCTIONS:
        hint = _OTHER_FUNCTIONS.get(word) or suggestion(function, [*FUNCTIONS, *AGGREGATES, "t", "first", "last"])
        refuse("unknown-function", f"unknown function '{function}'", function.place, hint)
    _check_arity(function, arguments, *FUNCTIONS[word])
    return tree.Call(word, tuple(arguments), place=place)


def _aggregate(word: str, argument: tree.Expression, place: Place) -> tree.Aggregate:
    match argument:
        case tree.Attribute(event=tree.BoundEvent(step=step), name=name):
            return tree.Aggregate(word, step, name, place=place)
        case _ if word == "count":
            return tree.Aggregate(word, _step_name(argument, word), place=place)
    message = f"{word}(...) takes an attribute of a step"
    refuse("not-step-attribute", message, argument.place, f"write {word}(step.attribute)")


def _check_arity(function: Name, arguments: list[tree.Expression], least: int, most: int | None) -> None:
    if least <= len(arguments) <= (len(arguments) if most is None else most):
        return
    place = function.place.through(arguments[-1].place) if arguments else function.place
    count = f"at least {least}" if most is None else f"{least}" if least == most else f"{least} or {most}"
    plural = "s" if (most or least) > 1 else ""
    refuse("wrong-arguments", f"{function}(...) takes {count} argument{plural}, found {len(arguments)}", place)
