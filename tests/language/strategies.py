"""Programs for Hypothesis: every kind of node, in the one form in which the parser gives it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from foretell.events.types import ATTRIBUTE_TYPES, parse_timestamp
from foretell.language import tree
from foretell.language.functions import AGGREGATES, FUNCTIONS

#: Every word of the grammar, and those that have a meaning of their own in expressions.
KEYWORDS = """
    above accumulate after and as between by case consume correlate define do duration each else end events fail
    false first for forecast from having hold id in independent is last late let like longest loop losing loss match
    next not null of or order parallel past per persist prev published push repeat return score select sequential
    simultaneous skip stream subscribe then ties time timestamp to true unless when within count sum avg min max t
    contains abs lower upper length coalesce regexp_like substr sqrt round year weekday us ms s sec mins minute h
    hours d day weeks bool int float string
""".split()  # noqa: SIM905

LARGEST = 2**63 - 1


T = TypeVar("T")


def brief(strategy: SearchStrategy[T]) -> SearchStrategy[T]:
    """The same, without its long name: Hypothesis would spell strategies out in full, again and again."""

    @st.composite
    def drawn(draw: st.DrawFn) -> T:
        return draw(strategy)

    return drawn()


def texts(least: int = 0) -> SearchStrategy[str]:
    odd = st.sampled_from("'\"-;{}()@:$\\\n\t é")
    return st.text(odd | st.characters(exclude_categories=["Cs"]), min_size=least, max_size=6)


words = st.from_regex(r"[^\W\d]\w{0,5}", fullmatch=True)
keywords = st.sampled_from(KEYWORDS).flatmap(lambda w: st.sampled_from([w, w.upper(), w.title()]))
without_nul = texts(least=1).filter(lambda text: "\0" not in text)
names = brief(st.sampled_from(["a", "b", "price", "x1", "_y"]) | keywords | words | without_nul)
step_names = names.filter(lambda name: name.lower() != "prev")  # the one word that cannot name a step


def several(items: SearchStrategy[Any], most: int = 3, least: int = 1) -> SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, min_size=least, max_size=most).map(tuple)


# ── expressions ──

numbers = st.integers(-LARGEST, LARGEST) | st.floats(allow_nan=False, allow_infinity=False)
counts = st.integers(1, 9) | st.integers(1, LARGEST)
shares = st.floats(0, 1) | st.sampled_from([0.0, 0.05, 1e-05, 1.0])
literals = st.builds(tree.Literal, st.none() | st.booleans() | numbers | texts())


def _spans(amounts: Callable[[int], SearchStrategy[Any]]) -> SearchStrategy[tree.Span]:
    def of(unit: str) -> SearchStrategy[tree.Span]:
        return st.builds(tree.Span, amounts(LARGEST // tree.UNITS[unit]), st.just(unit))

    return st.sampled_from(list(tree.UNITS)).flatmap(of)


spans = _spans(lambda most: st.integers(-most, most) | st.floats(-1e6, 1e6))
lengths = _spans(lambda most: st.integers(0, most) | st.floats(0, 1e6)) | st.builds(
    tree.Literal, st.integers(0, LARGEST) | st.floats(0, allow_infinity=False, allow_nan=False)
)
moments = st.builds(
    tree.Moment, st.integers(parse_timestamp("0001-01-01"), parse_timestamp("9999-12-31 23:59:59.999999"))
)

extremes = st.builds(tree.FirstOf, step_names) | st.builds(tree.LastOf, step_names)
bound_events = st.builds(tree.BoundEvent, step_names) | extremes | st.builds(tree.Previous)
events = bound_events | st.builds(tree.This)
aggregates = st.builds(tree.Aggregate, st.sampled_from(AGGREGATES), step_names, names) | st.builds(
    tree.Aggregate, st.just("count"), step_names
)
atoms = st.one_of(
    literals,
    spans,
    moments,
    st.builds(tree.Variable, words),
    st.builds(tree.Parameter, words),
    st.builds(tree.Attribute, events, names),
    st.builds(tree.StreamOf, events),
    st.builds(tree.TimeOf, bound_events),
    st.builds(tree.Elapsed),
    st.builds(tree.EventValue, extremes),
    aggregates,
)


def _negative(operand: tree.Expression) -> tree.Expression:
    """A sign before a number is part of the number."""
    match operand:
        case tree.Literal(value=value) if type(value) in (int, float):
            return operand
        case tree.Span():
            return operand
    return tree.Unary("-", operand)


def _call(operands: SearchStrategy[tree.Expression]) -> SearchStrategy[tree.Call]:
    def of(function: str) -> SearchStrategy[tree.Call]:
        least, most = FUNCTIONS[function]
        return st.builds(tree.Call, st.just(function), several(operands, most or 3, least))

    return st.sampled_from(list(FUNCTIONS)).flatmap(of)


def _case(operands: SearchStrategy[tree.Expression]) -> SearchStrategy[tree.Case]:
    branches = st.lists(st.tuples(operands, operands), min_size=1, max_size=2)

    def of(pairs: list[tuple[tree.Expression, tree.Expression]]) -> SearchStrategy[tree.Case]:
        conditions, values = zip(*pairs, strict=True)
        return st.builds(tree.Case, st.just(conditions), st.just(values), st.none() | operands)

    return branches.flatmap(of)


def _compound(operands: SearchStrategy[tree.Expression]) -> SearchStrategy[tree.Expression]:
    operators = "AND OR = <> < <= > >= + - * / %".split()  # noqa: SIM905
    return st.one_of(
        st.builds(tree.Binary, st.sampled_from(operators), operands, operands),
        st.builds(tree.Unary, st.just("NOT"), operands),
        operands.map(_negative),
        st.builds(tree.In, operands, several(operands), st.booleans()),
        st.builds(tree.Between, operands, operands, operands, st.booleans()),
        st.builds(tree.Like, operands, operands, st.booleans()),
        st.builds(tree.IsNull, operands, st.booleans()),
        _call(operands),
        _case(operands),
    )


expressions: SearchStrategy[tree.Expression] = brief(st.recursive(atoms, _compound, max_leaves=8))
#: Within patterns and statements, where there are many of them.
conditions: SearchStrategy[tree.Expression] = brief(atoms | _compound(atoms))


# ── patterns ──

steps = st.builds(tree.Step, step_names)
operators = brief(st.builds(tree.Next) | st.builds(tree.Later) | st.builds(tree.FirstWhere, conditions))
beside_negations = st.builds(tree.Later) | st.builds(tree.FirstWhere, conditions)
negations = brief(several(st.builds(tree.Negation, steps, several(conditions, 2, 0)), 2))
chosen = st.builds(tree.Chosen, st.sampled_from(["FIRST", "LAST"]), steps)
numbered = st.builds(tree.Numbered, steps, counts)


def _repeat(bodies: SearchStrategy[Any]) -> SearchStrategy[tree.Repeat]:
    ranges = st.sampled_from([(0, 1), (0, None), (1, None), (2, None), (1, 1), (2, 2), (0, 3), (2, 5), (7, LARGEST)])
    under = st.none() | operators
    return st.builds(lambda body, times, op: tree.Repeat(body, times[0], times[1], op), bodies, ranges, under)


def _conditioned(inner: SearchStrategy[Any]) -> SearchStrategy[tree.Conditioned]:
    return st.builds(tree.Conditioned, inner, conditions)


#: `@` stands behind one step, repeated or not, or behind a choice.
singles: SearchStrategy[tree.Pattern] = steps | numbered
singles = brief(singles | _repeat(singles) | _conditioned(singles))
singles = brief(singles | _repeat(singles) | _conditioned(singles))
choices: SearchStrategy[tree.Pattern] = chosen | _conditioned(chosen)
choices = brief(choices | _repeat(chosen) | _conditioned(choices) | _conditioned(_repeat(chosen)))


@st.composite
def sequences(draw: st.DrawFn, inner: SearchStrategy[tree.Pattern]) -> tree.Pattern:
    parts: list[tree.SequencePart] = []
    for pattern in draw(st.lists(inner, min_size=1, max_size=3)):
        absent = draw(st.just(()) | negations)
        operator = draw(beside_negations if absent else operators) if parts else None
        parts.append(tree.SequencePart(pattern, operator, absent))
    return tree.sequence(tuple(parts), draw(st.just(()) | negations))


def _patterns(inner: SearchStrategy[tree.Pattern]) -> SearchStrategy[tree.Pattern]:
    parts = st.lists(inner, min_size=2, max_size=3)
    return st.one_of(
        sequences(inner),
        _repeat(inner),
        parts.map(lambda sides: tree.conjunction(*sides)),
        parts.map(lambda branches: tree.alternation(*branches)),
    )


patterns: SearchStrategy[tree.Pattern] = brief(
    st.recursive(singles | choices | st.builds(tree.Silence, negations), _patterns, max_leaves=5)
)


# ── statements ──

declared = several(st.builds(tree.Declared, names, st.sampled_from(ATTRIBUTE_TYPES)), 3, 0)
losses = several(st.builds(tree.Loss, shares, st.none() | conditions), 2, 0)
streams = st.builds(
    tree.Stream,
    names,
    declared,
    names,
    st.none() | names,
    st.none() | names,
    st.booleans(),
    st.none() | lengths,
    losses,
    several(st.builds(tree.Literal, texts() | numbers), 2, 0),
    several(st.builds(tree.Derived, names, conditions), 2, 0),
)
definitions = brief(several(st.builds(tree.Definition, several(names), conditions), 2, 0))
after = st.sampled_from(list(tree.Policy)).flatmap(
    lambda policy: st.builds(
        tree.AfterMatch,
        st.just(policy),
        names if policy in (tree.Policy.SKIP_TO_FIRST, tree.Policy.SKIP_TO_LAST) else st.none(),
    )
)
forecasts = st.builds(tree.Forecast, shares, counts, st.none()) | st.builds(tree.Forecast, shares, st.none(), lengths)
losing_items = st.builds(tree.LosingItem, shares, several(names, 2, 0))
subscriptions = st.builds(
    tree.Subscription,
    names,
    several(names),
    patterns,
    st.none() | names,
    several(names, 2, 0),
    definitions,
    st.none() | lengths,
    st.none() | expressions,
    after,
    several(st.builds(tree.Returned, expressions, names), 2, 0),
    st.none() | forecasts,
    st.none() | st.builds(tree.Losing, several(losing_items, 2, 0), shares, st.sampled_from(tree.Score)),
)


def _correlations(inner: SearchStrategy[tree.Correlation]) -> SearchStrategy[tree.Correlation]:
    again = st.sampled_from(["repeat", "persist", "loop"])
    return st.one_of(
        st.builds(tree.Accumulate, several(inner)),
        st.builds(tree.Select, several(inner), st.booleans()),
        st.builds(tree.Sequential, several(inner)),
        st.builds(tree.Unless, inner, inner),
        st.builds(tree.Fail, inner),
        st.builds(tree.Push, texts(), inner),
        st.builds(tree.Again, again, inner, st.none() | counts),
        st.builds(tree.Parallel, several(inner)),
        st.builds(tree.Modes, several(st.builds(tree.Mode, names, inner), 2)),
    )


correlations: SearchStrategy[tree.Correlation] = st.recursive(st.builds(tree.On, names), _correlations, max_leaves=5)
token_forecasts = st.builds(
    lambda forecast, tokens: replace(forecast, tokens=tokens), forecasts, several(texts(), 2, 0)
)
correlators = st.builds(
    tree.Correlator, names, several(names), correlations, several(names, 2, 0), definitions, st.none() | token_forecasts
)
programs: SearchStrategy[tree.Program] = st.builds(tree.Program, several(streams | subscriptions | correlators, 2))
