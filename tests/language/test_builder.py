"""The Python builder gives the trees that the text gives."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from typing import Any

import numpy as np
import pytest

import foretell as ft
from foretell import build
from foretell.build import (
    SubscriptionBuilder,
    accumulate,
    case,
    correlate,
    count,
    do,
    duration,
    event,
    fail,
    first,
    hours,
    last,
    literal,
    loop,
    milliseconds,
    minutes,
    modes,
    parallel,
    parameter,
    persist,
    prev,
    push,
    repeat,
    seconds,
    select,
    sequential,
    step,
    steps,
    stream,
    subscribe,
    subscriptions,
    t,
    variable,
    weeks,
)
from foretell.events.types import Type
from foretell.language import tree
from foretell.language.builder.expressions import STEP_WORDS
from foretell.language.parser import parse as parse_text
from tests.language.papers import PAPERS

a, b, c, d = steps("a", "b", "c", "d")
x = event.x


# ── the papers ──


def paper_intrusion() -> SubscriptionBuilder:
    s1, s2, s3, s4 = steps("s1", "s2", "s3", "s4")
    same = event.ip == variable("x")
    return (
        subscribe("intrusion")
        .from_("logins")
        .match(s1.then(s2).then(s3.at(t(s3) - t(s1) < minutes(5))).then(s4))
        .define(s1, s2, s3, same & (event.status == "denied"))
        .define(s4, same & (event.status == "success"))
    )


def paper_compromised() -> SubscriptionBuilder:
    s1, s2, s3, s4, s5, s6 = steps("s1", "s2", "s3", "s4", "s5", "s6")
    same = event.ip == variable("x")
    soon = s3.at(t(s3) - t(s1) < timedelta(minutes=10))
    return (
        subscribe("compromised")
        .from_("logins")
        .match(s1.then(s2.then(soon) | s4.next(s5)).then(s6))
        .define(s1, s2, same & (event.status == "denied"))
        .define(s3, s4, same & (event.status == "success"))
        .define(s5, same & (event.status == "passwd"))
        .define(s6, same & (event.status == "logoff"))
    )


def paper_general() -> SubscriptionBuilder:
    s1, s2, s3, s4, s5, s6, s7, s8 = steps(*(f"s{i}" for i in range(1, 9)))
    return (
        subscribe("general")
        .from_("s")
        .match(s1.then(s2.next(s3) & s4.next(s5)).then(s6).then(s7 | s8))
        .define(s1, s2, event.kind == "a")
        .define(s3, s4, s5, (event.kind != "a") & (event.v >= 1))
        .define(s6, s7, event.v % 2 == 0)
    )


def paper_timed() -> SubscriptionBuilder:
    s1, s2, s3 = steps("s1", "s2", "s3")
    return (
        subscribe("timed")
        .from_("s")
        .match(s1.then(s2.at(t(s2) - t(s1) < 3)).then(s3.at(t(s3) - t(s1) < 6).at(t(s3) - t(s2) > 3)))
        .define(s1, s2, s3, event.kind == "a")
    )


def paper_s2() -> SubscriptionBuilder:
    return (
        subscribe("S2")
        .from_("stock")
        .match(a.then(b, where=event.name == "MSFT"))
        .define(a, (event.name == "IBM") & (event.price > 100))
        .define(b, event.price < 25)
    )


def paper_s3() -> SubscriptionBuilder:
    matched = subscribe("S3").from_("stock").match(a.then(b, where=event.name == a.name))
    return matched.define(b, event.price > 1.05 * a.price)


def paper_s4() -> SubscriptionBuilder:
    matched = subscribe("S4").from_("stock").match(a.then(b.some(), where=event.name == a.name))
    return matched.define(b, event.price >= prev.price).having(duration >= minutes(30))


def paper_s5() -> SubscriptionBuilder:
    return (
        subscribe("S5")
        .from_("stock")
        .match(a.some().then(b, where=event.name == "IBM"))
        .define(a, event.name == "IBM")
        .define(b, (event.price > a.price.avg()) & (t(a) - t(first(a)) >= weeks(52)))
    )


def paper_autq() -> SubscriptionBuilder:
    same = event.name == a.name
    return (
        subscribe("AutQ")
        .from_("stock")
        .match(a.then(b.some(), where=same).then(c, where=same))
        .define(a, event.volume > 10000)
        .define(b, event.price < prev.price)
        .define(c, (event.price > 1.05 * prev.price) & (t(prev) - t(a) >= minutes(10)))
    )


def paper_s6() -> SubscriptionBuilder:
    mentioned = event.website.in_("x", "y") & event.description.contains(a.link)
    return (
        subscribe("S6")
        .from_("feeds")
        .match(a.then(b, where=mentioned))
        .define(a, (event.website == "military.blog.com") & (event.category == "US troop morale"))
    )


def paper_s7() -> SubscriptionBuilder:
    watched = event.website.in_("x", "y")
    return (
        subscribe("S7")
        .from_("feeds")
        .match(a.then(b.some(), where=watched & event.description.contains(prev.link)))
        .define(a, watched & event.description.contains("XYZ"))
    )


def paper_break_in() -> SubscriptionBuilder:
    window, presence = steps("window", "presence")
    same_room = event.room == variable("r")
    return (
        subscribe("break_in")
        .from_("office")
        .match(window.then(presence))
        .define(window, (event.kind == "window broken") & same_room)
        .define(presence, (event.kind == "presence") & same_room)
        .within(minutes(5))
        .consume()
    )


def paper_silent() -> SubscriptionBuilder:
    return subscribe("silent").from_("heartbeats").per("sensor").match(~step("beat")).within(minutes(10))


def paper_shoplifting() -> SubscriptionBuilder:
    x, y, z = steps("x", "y", "z")
    shop = subscribe("shoplifting").from_("reads").match(x.then(~y).then(z))
    for read, receptor in ((x, "A"), (y, "B"), (z, "C")):
        shop = shop.define(read, (event.receptor == receptor) & (event.id == variable("id")))
    return shop.within(hours(12)).losing(0.05, above=0.80)


BUILT = {name.removeprefix("paper_"): made for name, made in globals().items() if name.startswith("paper_")}


@pytest.mark.parametrize("name", PAPERS)
def test_the_papers_examples(name: str) -> None:
    built, parsed = BUILT[name.lower()](), ft.parse(PAPERS[name])
    assert built.tree == parse_text(PAPERS[name]).statements[0]
    assert subscriptions(built) == parsed


def test_all_of_them_together() -> None:
    built = subscriptions(*(BUILT[name.lower()]() for name in PAPERS))
    assert built == ft.parse("\n".join(PAPERS.values()))
    assert hash(built) == hash(ft.parse("\n".join(PAPERS.values())))


# ── every form ──


def having(text: str) -> tree.Expression | None:
    (statement,) = parse_text(f"SUBSCRIBE m FROM s MATCH a HAVING {text}").statements
    assert isinstance(statement, tree.Subscription)
    return statement.having


class Colour(str, Enum):  # noqa: UP042 - not a StrEnum: str() of these gives their name
    RED = "red"


TOKYO = timezone(timedelta(hours=9))
EXPRESSIONS: list[tuple[Any, str]] = [
    (x == 1, "x = 1"),
    (x != 1.0, "x <> 1.0"),
    (x <= True, "x <= TRUE"),
    (x >= "it's", "x >= 'it''s'"),
    (literal(1) < x, "1 < x"),
    (1 < x, "x > 1"),  # noqa: SIM300
    (x == Colour.RED, "x = 'red'"),
    (x == np.int64(3), "x = 3"),
    (x > np.float64(1.5), "x > 1.5"),
    (np.float64(1.5) < x, "x > 1.5"),
    (x > datetime(2007, 2, 14, 12, 38, 10), "x > TIMESTAMP '2007-02-14 12:38:10'"),
    (x > datetime(2007, 2, 14, 21, 38, 10, tzinfo=TOKYO), "x > TIMESTAMP '2007-02-14 12:38:10'"),
    (x > datetime(2007, 2, 14, tzinfo=UTC), "x > TIMESTAMP '2007-02-14'"),
    (duration > timedelta(seconds=90), "duration > 90 s"),
    (duration > timedelta(hours=48), "duration > 2 days"),
    (duration > timedelta(days=7), "duration > 1 week"),
    (duration > timedelta(), "duration > 0 s"),
    (duration > timedelta(seconds=1.5), "duration > 1500 ms"),
    (duration > -timedelta(seconds=1), "duration > -1 s"),
    (duration > seconds(1.5), "duration > 1.5 s"),
    (duration > -milliseconds(250), "duration > -250 ms"),
    ((x + 1) * 2 - x / 3 % 4, "(x + 1) * 2 - x / 3 % 4"),
    (1 + x - (2 - x), "1 + x - (2 - x)"),
    (2 * x / (3 / x) + 5 % x, "2 * x / (3 / x) + 5 % x"),
    (-x + -literal(3), "-x + -3"),
    (abs(t(a) - t(b)) < minutes(5), "abs(t(a) - t(b)) < 5 min"),
    ((x == 1) & (x == 2) & (x == 3), "x = 1 AND x = 2 AND x = 3"),
    ((x == 1) & ((x == 2) | ~(x == 3)), "x = 1 AND (x = 2 OR NOT x = 3)"),
    (event.flag & ~event.other, "flag AND NOT other"),
    (x.in_(1, "a", event.y), "x IN (1, 'a', y)"),
    (~x.in_(1), "x NOT IN (1)"),
    (x.between(1, 2) & ~x.between(a.y, 2), "x BETWEEN 1 AND 2 AND x NOT BETWEEN a.y AND 2"),
    (x.like("a%") | ~x.like("_b"), "x LIKE 'a%' OR x NOT LIKE '_b'"),
    (x.is_null() | ~x.is_null(), "x IS NULL OR x IS NOT NULL"),
    (~~x.is_null(), "x IS NULL"),
    (x.lower() == x.upper(), "lower(x) = upper(x)"),
    (x.length() > x.coalesce(a.x, None, 0), "length(x) > coalesce(x, a.x, NULL, 0)"),
    (x.contains("y"), "contains(x, 'y')"),
    (x.starts_with("y") & x.ends_with(a.x), "starts_with(x, 'y') AND ends_with(x, a.x)"),
    (
        x.regexp_like("^a") | (x.substr(1) == x.substr(-2, a.n)),
        "regexp_like(x, '^a') OR substr(x, 1) = substr(x, -2, a.n)",
    ),
    (x.sqrt() + x.pow(2) + x.ln() + x.exp(), "sqrt(x) + pow(x, 2) + ln(x) + exp(x)"),
    (x.round() + x.round(-1) + x.floor() + x.ceil(), "round(x) + round(x, -1) + floor(x) + ceil(x)"),
    (x.year() + x.month() + x.day() + x.hour(), "year(x) + month(x) + day(x) + hour(x)"),
    (x.minute("Asia/Tokyo") + x.weekday("UTC"), "minute(x, 'Asia/Tokyo') + weekday(x, 'UTC')"),
    (case(x > 1, "a").when(x.is_null(), None), "CASE WHEN x > 1 THEN 'a' WHEN x IS NULL THEN NULL END"),
    (case(x > 1, 2).otherwise(a.v) == 3, "CASE WHEN x > 1 THEN 2 ELSE a.v END = 3"),
    (count(b) > b.price.count(), "count(b) > count(b.price)"),
    (b.v.sum() + b.v.avg() + b.v.min() + b.v.max(), "sum(b.v) + avg(b.v) + min(b.v) + max(b.v)"),
    (first(b).price < last(b).price, "first(b).price < last(b).price"),
    (t(first(b)) - t(last(b)) < t(prev) - t(b), "t(first(b)) - t(last(b)) < t(prev) - t(b)"),
    (event.stream == a.stream, "stream = a.stream"),
    (event.attribute("stream") == a.attribute("stream"), '"stream" = a."stream"'),
    (event.duration == a.attribute("odd name"), '"duration" = a."odd name"'),
    (prev.stream == first(b).stream, "prev.stream = first(b).stream"),
    (a.then_price == a.attribute("then"), "a.then_price = a.then"),
    (variable("v") == parameter("limit"), "$v = :limit"),
    (literal(True), "TRUE"),
]


@pytest.mark.parametrize(("built", "text"), EXPRESSIONS, ids=[text for _, text in EXPRESSIONS])
def test_expressions(built: build.ExpressionBuilder, text: str) -> None:
    assert built._tree == having(text)
    assert having(repr(built)) == having(text)


PATTERNS: list[tuple[build.PatternBuilder, str]] = [
    (a, "a"),
    (step("odd name"), '"odd name"'),
    (a.then(b).then(c), "a ; b ; c"),
    (a.then(b).then(c), "(a ; b) ; c"),
    (a.then(b.then(c)), "a ; (b ; c)"),
    (a.next(b).then(c, where=x == 1), "a , b ;{x = 1} c"),
    (a | b | (c | d), "a | b | c | d"),
    (a & b | c & d, "(a & b) | (c & d)"),
    (a.then(b) & (c | d), "(a ; b) & (c | d)"),
    (a.then(~b).then(c), "a ; !b ; c"),
    (a.then(~b).then(~c).then(d, where=x == 1), "a ; !b ; !c ;{x = 1} d"),
    ((~a).then(b).then(c).then(~d), "!a ; b ; c ; !d"),
    ((~a).then(~b).then(c), "!a ; !b ; c"),
    ((~a).then(b.then(c)), "!a ; (b ; c)"),
    ((~a).then(b.then(c)).next(d), "!a ; (b ; c) , d"),
    ((~a).then(~b), "!a ; !b"),
    (a.then(~b.at(t(b) > 1)).then(c), "a ; !b @(t(b) > 1) ; c"),
    (a.then((~b).at(x == 1).at(x == 2)).then(c), "a ; !b @(x = 1) @(x = 2) ; c"),
    (a.then(~b.at(x == 1).at(x == 2)).then(c), "a ; !b @(x = 1) @(x = 2) ; c"),
    (a.then(~b) | c, "(a ; !b) | c"),
    (a.optional().next(b.any_number()).next(c.some()), "a? , b* , c+"),
    (a.times(2).next(b.times(2, 3)).next(c.at_least(2)), "a{2} , b{2,3} , c{2,}"),
    (a.times(0, 1).next(b.at_least(1)), "a{0,1} , b{1,}"),
    (a.some(under=",").then(b.some(under=";")), "a+<,> ; b+<;>"),
    (a.next(b).times(2, under=x == a.x), "(a , b){2}<;{x = a.x}>"),
    (a[2].then(b.only_first()).then(c.only_last()), "a[2] ; FIRST b ; LAST c"),
    (a.only_first().at(x == 1).at(x == 2), "FIRST a @(x = 1) @(x = 2)"),
    (a.some().at(x == 1).then(b[2].at(x == 1)), "a+ @(x = 1) ; b[2] @(x = 1)"),
    (a.at(x == 1).some(), "(a @(x = 1))+"),
]


@pytest.mark.parametrize(("built", "text"), PATTERNS, ids=[text for _, text in PATTERNS])
def test_patterns(built: build.PatternBuilder, text: str) -> None:
    (statement,) = parse_text(f"SUBSCRIBE m FROM s MATCH {text}").statements
    assert subscribe("m").from_("s").match(built).tree == statement


m = subscribe("m").from_("s").match(a.then(b))
STATEMENTS: list[tuple[Any, str]] = [
    (m, "SUBSCRIBE m FROM s MATCH a ; b"),
    (m.for_each("watch").per("k", "l"), "SUBSCRIBE m FOR EACH watch FROM s PER k, l MATCH a ; b"),
    (subscribe("n").from_("s", "r").match(a), "SUBSCRIBE n FROM s, r MATCH a"),
    (subscribe("n").from_(m).match(a), "SUBSCRIBE n FROM m MATCH a"),
    (m.within(10).hold(), "SUBSCRIBE m FROM s MATCH a ; b WITHIN 10 AFTER MATCH HOLD"),
    (m.within(1).longest(), "SUBSCRIBE m FROM s MATCH a ; b WITHIN 1 AFTER MATCH LONGEST"),
    (m.within(0.5).skip_past_last(), "SUBSCRIBE m FROM s MATCH a ; b WITHIN 0.5 AFTER MATCH SKIP PAST LAST"),
    (
        m.within(timedelta(days=1)).skip_to_next(),
        "SUBSCRIBE m FROM s MATCH a ; b WITHIN 1 day AFTER MATCH SKIP TO NEXT",
    ),
    (m.skip_to_first(b), "SUBSCRIBE m FROM s MATCH a ; b AFTER MATCH SKIP TO FIRST b"),
    (m.skip_to_last(a), "SUBSCRIBE m FROM s MATCH a ; b AFTER MATCH SKIP TO LAST a"),
    (
        m.returning(n=count(b), **{"odd name": a.x + 1}, fixed="text"),
        "SUBSCRIBE m FROM s MATCH a ; b RETURN count(b) AS n, a.x + 1 AS \"odd name\", 'text' AS fixed",
    ),
    (m.forecast(events=10, above=0.8), "SUBSCRIBE m FROM s MATCH a ; b FORECAST WITHIN 10 EVENTS ABOVE 0.8"),
    (m.forecast(within=minutes(5), above=1), "SUBSCRIBE m FROM s MATCH a ; b FORECAST WITHIN 5 min ABOVE 1"),
    (m.losing(above=0.8), "SUBSCRIBE m FROM s MATCH a ; b LOSING ABOVE 0.8"),
    (
        m.losing((0.05, a, b), 0.1, above=0.8, score="published"),
        "SUBSCRIBE m FROM s MATCH a ; b LOSING 0.05 OF a, b, 0.1 ABOVE 0.8 SCORE PUBLISHED",
    ),
    (stream("s").time("time"), "STREAM s TIME time"),
    (
        stream("s", name=str, n=int, f=float, ok=bool, at=datetime, **{"odd name": Type.STRING})
        .time("at")
        .id("name")
        .order_by("n")
        .simultaneous()
        .late_by(seconds(10))
        .loss(0.05, when=event.name == "B")
        .loss(0.1)
        .null("NA", -99, 0.5)
        .let(twice=event.n * 2, named=~event.name.is_null()),
        'STREAM s (name STRING, n INT, f FLOAT, ok BOOL, at TIMESTAMP, "odd name" STRING) TIME at ID name ORDER BY n '
        "TIES SIMULTANEOUS LATE BY 10 s LOSS 0.05 WHEN name = 'B', 0.1 NULL 'NA', -99, 0.5 "
        "LET twice AS n * 2, named AS name IS NOT NULL",
    ),
    (
        correlate("k").from_("s").per("p").do(repeat(push("x", accumulate(a, b)))).define(a, b, x == 1),
        "CORRELATE k FROM s PER p DO repeat{push('x'){accumulate{a, b}}} DEFINE a, b AS x = 1",
    ),
    (
        correlate("k").from_("s").do(parallel(select(a, b), select(c, d, strict=True), sequential(a, fail(b)))),
        "CORRELATE k FROM s DO parallel{select{a, b}, select*{c, d}, sequential{a, fail{b}}}",
    ),
    (
        correlate("k").from_("s").do(modes({a: do(b).unless(c), d: loop(persist(a, times=2), times=3)})),
        "CORRELATE k FROM s DO in(a) do{do{b} unless{c}} in(d) do{loop(3){persist(2){a}}}",
    ),
    (
        correlate("k").from_("s").do(push("x", a)).forecast(events=5, above=0.7),
        "CORRELATE k FROM s DO push('x'){a} FORECAST WITHIN 5 EVENTS ABOVE 0.7",
    ),
    (
        correlate("k").forecast("x", "it's", within=minutes(5), above=0.7).from_("s").do(push("x", push("it's", a))),
        "CORRELATE k FROM s DO push('x'){push('it''s'){a}} FORECAST OF 'x', 'it''s' WITHIN 5 min ABOVE 0.7",
    ),
]


@pytest.mark.parametrize(("built", "text"), STATEMENTS, ids=[text for _, text in STATEMENTS])
def test_statements(built: Any, text: str) -> None:
    assert built.tree == parse_text(text).statements[0]
    assert parse_text(repr(built)) == parse_text(text)


def test_a_beginning_can_be_shared() -> None:
    assert m.within(5).tree != m.within(6).tree
    assert m.tree.within is None


def test_clauses_in_any_order() -> None:
    late = subscribe("m").within(5).define(b, x == 1).match(a.then(b)).from_("s")
    assert late.tree == m.define(b, x == 1).within(5).tree


def test_what_is_not_checked_while_building_is_checked_at_the_end() -> None:
    with pytest.raises(ft.LanguageError) as caught:
        subscriptions(subscribe("m").from_("s").match(~b))
    assert str(caught.value).startswith("3:")
    assert "'!b' first or last in a pattern needs WITHIN" in str(caught.value)


def test_an_unfinished_statement_shows_what_is_missing() -> None:
    assert repr(subscribe("m").from_("s")) == "<m, MATCH is missing>"


def test_the_words_of_a_step_are_all_known() -> None:
    assert {word for word in dir(build.StepBuilder) if not word.startswith("_")} == set(STEP_WORDS)


def test_what_is_exported_is_there() -> None:
    assert all(hasattr(build, name) for name in build.__all__)


def test_steps_can_be_kept_in_lists_and_dictionaries() -> None:
    assert {a: 1, b: 2}[b] == 2
    assert [a, b].index(a) == 0


def test_tools_that_look_for_hidden_names_find_none() -> None:
    assert not hasattr(a, "_repr_html_")
    assert not hasattr(event, "__wrapped__")
