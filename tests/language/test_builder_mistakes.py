"""Where Python's operators mislead, the builder says what to write.

A type checker finds nearly all of these before the code runs; here it is kept out by Any.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

import foretell as ft
from foretell import build as builder

build: Any = builder
a, b, c = build.steps("a", "b", "c")
event = build.event
x = event.x
m = build.subscribe("m").from_("s").match(a.then(b))

PARENTHESES = "put each comparison in parentheses: (x > 5) & (y < 3)"
EITHER = "put each comparison in parentheses: (x > 5) | (y < 3)"
TRUTH = (
    "write & for 'and', | for 'or', ~ for 'not', with each comparison in parentheses; "
    "x.between(1, 5) for '1 <= x <= 5', x.in_(1, 5) for 'x in (1, 5)'"
)
PATTERN_TRUTH = "write & for both in any order, | for either, ~b for no b, a.then(b) for one after the other"
NEITHER = "is neither true nor false before the events come"
EVENT_A = "name one of its attributes, a.price, or its time, t(a)"
OWN = 'write a.attribute("next") for an attribute that is also a method, literal(True) for TRUE itself'

MISTAKES: dict[str, tuple[Callable[[], Any], str, str]] = {
    # CASE, LET and NULL
    "case with an event": (
        lambda: build.case(a, 1),
        "case() takes a condition, 'a' is an event",
        "compare one of its attributes: a.price > 100",
    ),
    "when without a condition": (lambda: build.case(x > 1, 2).when(3, 4), "when() takes a condition, not 3", ""),
    "let without attributes": (
        lambda: build.stream("s").let(),
        "let() takes at least one attribute",
        "write let(far=event.x > 10)",
    ),
    "null without markers": (
        lambda: build.stream("s").null(),
        "null() takes at least one marker",
        "write null('NA', -99)",
    ),
    "null with a truth value": (lambda: build.stream("s").null(True), "null() takes texts and numbers, not True", ""),
    # Python's own words
    "and": (lambda: (x > 1) and (x < 5), f"'x > 1' {NEITHER}", TRUTH),
    "or": (lambda: (x > 1) or (x < 5), f"'x > 1' {NEITHER}", TRUTH),
    "not": (lambda: not x, f"'x' {NEITHER}", TRUTH),
    "if": (lambda: 1 if x == 1 else 2, f"'x = 1' {NEITHER}", TRUTH),
    "1 < x < 5": (lambda: 1 < x < 5, f"'x > 1' {NEITHER}", TRUTH),
    "x == y == z": (lambda: a.x == b.x == c.x, f"'a.x = b.x' {NEITHER}", TRUTH),
    "x in (1, 5)": (lambda: x in (1, 5), f"'x = 1' {NEITHER}", TRUTH),
    "x in {1, 5}": (
        lambda: x in {1, 5},
        "'x' cannot be put in a set or used as a key",
        "write x.in_(1, 5) for 'x in {1, 5}'",
    ),
    "'y' in x": (lambda: "y" in x, "'in' cannot look into 'x' before the events come", "write x.contains('y')"),
    "for": (lambda: list(a.x), "cannot iterate over 'a.x': its events are yet to come", ""),
    "sum": (lambda: sum(a.x), "cannot iterate over 'a.x': its events are yet to come", ""),
    "len": (
        lambda: len(x),
        "'x' has no length: its events are yet to come",
        "use x.length() for a text, count(b) for a step",
    ),
    "x > 5 & y < 3": (lambda: x > 5 & event.y < 3, "& takes a condition, not 5", PARENTHESES),
    "x == 'y' | y": (lambda: x == "y" | event.y, "| takes a condition, not 'y'", EITHER),
    "x == $v & y": (
        lambda: x == build.variable("v") & (event.y == 1),
        "'&' binds more tightly than a comparison in Python: '$v AND y = 1' was joined first",
        PARENTHESES,
    ),
    "x | y == 1": (
        lambda: x | event.y == 1,
        "'|' binds more tightly than a comparison in Python: 'x OR y' was joined first",
        EITHER,
    ),
    "== None": (lambda: x == None, "a comparison with NULL never holds", "write x.is_null()"),  # noqa: E711
    "!= None": (lambda: x != None, "a comparison with NULL never holds", "write ~x.is_null()"),  # noqa: E711
    "a.next == 5": (
        lambda: m.define(b, a.next == 5),
        "define() takes a condition, not False: Python compared two of its own values",
        OWN,
    ),
    "a.next == 5 &": (
        lambda: (a.next == 5) & (x == 1),
        "& takes a condition, not False: Python compared two of its own values",
        OWN,
    ),
    # patterns
    "pattern and": (lambda: a and b, f"the pattern 'a' {NEITHER}", PATTERN_TRUTH),
    "pattern or": (lambda: a.then(b) or c, f"the pattern 'a ; b' {NEITHER}", PATTERN_TRUTH),
    "pattern not": (lambda: a.then(not b), f"the pattern 'b' {NEITHER}", PATTERN_TRUTH),
    "pattern in": (lambda: 1 in a.then(b), "'in' cannot look into the pattern 'a ; b'", ""),
    "pattern for": (lambda: list(a), "cannot iterate over 'a': its events are yet to come", ""),
    "~ of a group": (
        lambda: ~a.then(b),
        "~ takes one step, not 'a ; b'",
        "negate single steps; for none of several write a.then(~b).then(~c)",
    ),
    "@ on a group": (
        lambda: a.then(b).at(x == 1),
        "at() is a further condition on one step, not on a group",
        "put it behind one of the group's steps",
    ),
    "next to a negation": (
        lambda: a.next(~b),
        "'~b' cannot stand next to next()",
        "use then() instead: between an event and the very next one there is nothing",
    ),
    "next after a negation": (
        lambda: a.then(~b).next(c),
        "'~b' cannot stand next to next()",
        "use then() instead: between an event and the very next one there is nothing",
    ),
    "where to a negation": (
        lambda: a.then(~b, where=x == 1),
        "where= cannot stand next to '~b' here",
        "write a.then(~b).then(c, where=condition)",
    ),
    "where after the first negation": (
        lambda: (~a).then(b, where=x == 1),
        "where= cannot stand next to '~a' here",
        "write a.then(~b).then(c, where=condition)",
    ),
    "condition as a step": (
        lambda: a.then(x > 1),
        "then() takes a step or a pattern, 'x > 1' is a condition",
        "define a step with it: b = step('b'), and .define(b, condition)",
    ),
    "a & condition": (
        lambda: a & (x > 1),
        "& takes a step or a pattern, 'x > 1' is a condition",
        "define a step with it: b = step('b'), and .define(b, condition)",
    ),
    "name as a step": (
        lambda: a.then("b"),
        "then() takes a step or a pattern, not 'b'",
        "make a step with step('a')",
    ),
    "list as a sequence": (
        lambda: build.subscribe("m").match([a, b]),
        "match() takes a step or a pattern, not [a, b]",
        "make a sequence with a.then(b) or a.next(b)",
    ),
    "a['x']": (
        lambda: a["odd name"],
        "[ ] takes the index of an event, not 'odd name'",
        "write a.attribute('odd name') for an attribute of that name",
    ),
    "a[1:3]": (
        lambda: a[1:3],
        "[ ] takes the index of one event, not a range",
        "write a.times(2, 3) for several events",
    ),
    "a[0]": (lambda: a[0], "the index in [ ] must be a whole number of at least 1, not 0", ""),
    "times(0)": (lambda: a.times(0), "a repetition count must be a whole number of at least 1, not 0", ""),
    "times(3, 2)": (
        lambda: a.times(3, 2),
        "the repetition from 3 to 2 has its bounds in the wrong order",
        "write times(2, 3)",
    ),
    "under": (
        lambda: a.some(under="|"),
        "under= takes ',', ';' or a condition, not '|'",
        "",
    ),
    "a.thenn(b)": (
        lambda: a.thenn(b),
        "'a.thenn' is an attribute, it cannot be called",
        "did you mean 'then'?",
    ),
    "a.stream()": (lambda: a.stream(), "'a.stream' is an attribute, it cannot be called", ""),
    # events and values
    "step as a condition": (
        lambda: m.define(a, b),
        "define() takes a condition, 'b' is an event",
        "compare one of its attributes: b.price > 100",
    ),
    "condition & step": (
        lambda: (x > 1) & a,
        "& takes a condition, 'a' is an event",
        "compare one of its attributes: a.price > 100",
    ),
    "a == b": (lambda: a == b, "'a' is an event, not a value", EVENT_A),
    "a > 5": (lambda: a > 5, "'a' is an event, not a value", EVENT_A),
    "a - b": (lambda: a - b, "'a' is an event, not a value", EVENT_A),
    "x < a": (lambda: x < a, "'a' is an event, not a value", EVENT_A),
    "first(b) < 5": (
        lambda: build.first(b) < 5,
        "'first(b)' is an event, not a value",
        "name one of its attributes, first(b).price, or its time, t(first(b))",
    ),
    "t(event)": (
        lambda: build.t(event),
        "t() takes a step, not event",
        "name the step, also in its own definition: t(a)",
    ),
    "t(a.x)": (
        lambda: build.t(a.x),
        "t() takes a step, not a.x",
        "name the step, also in its own definition: t(a)",
    ),
    "first('b')": (
        lambda: build.first("b"),
        "first() takes a step, not 'b'",
        "make one with step('a')",
    ),
    "sum of a stream": (
        lambda: a.stream.sum(),
        "'a.stream' is the stream of the event, not an attribute",
        "write a.attribute('stream') for an attribute of that name",
    ),
    "list": (
        lambda: x.in_([1, 2]),
        "a list is not one value",
        "write x.in_(*options) for a choice",
    ),
    "object": (
        lambda: x == object(),
        "a value of type 'object' cannot be used in a condition",
        "use a bool, int, float, str, datetime, timedelta or None",
    ),
    "nan": (lambda: x == float("nan"), "nan is not a finite number", ""),
    "too large": (lambda: x == 2**63, "9223372036854775808 does not fit in 64 bits", ""),
    "too long": (lambda: build.weeks(10**9), "1000000000 weeks does not fit in 64 bits of microseconds", ""),
    "in_()": (lambda: x.in_(), "in_() takes at least one option", ""),
    "$1": (lambda: build.variable("1"), "the name of a variable takes letters, digits and _, not '1'", ""),
    "no name": (lambda: build.step(""), "expected the name of a step, found ''", ""),
    # clauses
    "twice": (lambda: m.within(5).within(6), "WITHIN is given twice", "delete one of them"),
    "no FROM": (lambda: build.subscribe("n").match(a).tree, "'n' has no FROM", "add .from_('logins')"),
    "no MATCH": (
        lambda: build.subscriptions(build.subscribe("n").from_("s")),
        "'n' has no MATCH",
        "add .match(a.then(b))",
    ),
    "no TIME": (lambda: build.stream("s", x=int).tree, "'s' has no TIME", "add .time('column')"),
    "define(condition)": (
        lambda: m.define(x == 1),
        "define() takes one or more steps and then their condition",
        "write define(a, b, event.price > 100)",
    ),
    "within('5 min')": (
        lambda: m.within("5 min"),
        "within() takes a duration, not '5 min'",
        "write minutes(5), or pass a timedelta",
    ),
    "within(-5)": (lambda: m.within(-build.minutes(5)), "within() takes a duration of at least 0, not -5 min", ""),
    "score": (
        lambda: m.losing(above=0.8, score="best"),
        "unknown score 'best'",
        'write score="independent" or "published"',
    ),
    "percent": (lambda: m.losing(5, above=0.8), "5 is not a probability between 0 and 1", ""),
    "forecast": (
        lambda: m.forecast(above=0.8),
        "forecast() takes either events= or within=",
        "write forecast(events=10, above=0.8)",
    ),
    "forecast of a step": (
        lambda: build.correlate("k").forecast(a, events=5, above=0.8),
        "forecast() takes the texts of tokens, not a",
        "",
    ),
    "type": (
        lambda: build.stream("s", x=list),
        "'x' cannot have the type list",
        "use bool, int, float, str or datetime",
    ),
    "text": (
        lambda: build.subscriptions("SUBSCRIBE ..."),
        "subscriptions() takes statements, not 'SUBSCRIBE ...'",
        "use ft.parse(text) for text",
    ),
    "accumulate": (
        lambda: build.accumulate(a, x == 1),
        "accumulate() takes steps and correlations, not x = 1",
        "",
    ),
    "correlation and": (
        lambda: build.accumulate(a) and b,
        f"'accumulate{{a}}' {NEITHER}",
        "write accumulate(a, b) for 'and', select(a, b) for 'or', fail(a) for 'not'",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_answered_with_the_rewrite(mistake: str) -> None:
    make, message, hint = MISTAKES[mistake]
    with pytest.raises(builder.BuilderError) as caught:
        make()
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_a_mistake_is_a_type_error_and_one_of_ours() -> None:
    with pytest.raises(TypeError) as caught:
        bool(x == 1)
    assert isinstance(caught.value, ft.LanguageError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
