"""Statements in Python: builders for the whole language, which read as the text does.

>>> from foretell.build import event, minutes, steps, subscribe, subscriptions, t, variable
>>> a, b, c, d = steps("a", "b", "c", "d")
>>> same = event.ip == variable("x")
>>> intrusion = (
...     subscribe("intrusion").from_("logins")
...     .match(a.then(b).then(c.at(t(c) - t(a) < minutes(5))).then(d))
...     .define(a, b, c, same & (event.status == "denied"))
...     .define(d, same & (event.status == "success"))
... )
>>> print(subscriptions(intrusion))
SUBSCRIBE intrusion
FROM logins
MATCH a ; b ; c @(t(c) - t(a) < 5 min) ; d
DEFINE a, b, c AS ip = $x AND status = 'denied',
       d AS ip = $x AND status = 'success';

| text | Python |
| --- | --- |
| `price`, `a.price`, `prev.price` | `event.price`, `a.price`, `prev.price` |
| `"odd name"`, `a."next"` | `event.attribute("odd name")`, `a.attribute("next")` |
| `$x`, `:column`, `duration` | `variable("x")`, `parameter("column")`, `duration` |
| `t(a)`, `first(b).price`, `count(b)` | `t(a)`, `first(b).price`, `count(b)` |
| `avg(b.price)`, `lower(x)`, `contains(x, 'y')` | `b.price.avg()`, `x.lower()`, `x.contains("y")` |
| `abs(x)`, `-x` | `abs(x)`, `-x` |
| `sqrt(x)`, `pow(x, 2)`, `round(x, 1)` | `x.sqrt()`, `x.pow(2)`, `x.round(1)`; also `ln`, `exp`, `floor`, `ceil` |
| `substr(x, 1, 3)`, `regexp_like(x, '^a')` | `x.substr(1, 3)`, `x.regexp_like("^a")`; also `starts_with`, `ends_with` |
| `hour(x)`, `weekday(x, 'Asia/Tokyo')` | `x.hour()`, `x.weekday("Asia/Tokyo")`; also `year`, `month`, `day`, `minute` |
| `CASE WHEN c THEN 1 ELSE 2 END` | `case(c, 1).otherwise(2)`; more branches: `case(c, 1).when(d, 3)` |
| `=`, `<>`, `AND`, `OR`, `NOT` | `==`, `!=`, `&`, <code>&#124;</code>, `~` |
| `x IN (1, 2)`, `x NOT IN (1, 2)` | `x.in_(1, 2)`, `~x.in_(1, 2)`; also `between`, `like`, `is_null` |
| `5 min`, `TIMESTAMP '…'` | `minutes(5)` or a timedelta, a datetime |
| `a ; b`, `a , b`, `a ;{θ} b` | `a.then(b)`, `a.next(b)`, `a.then(b, where=θ)` |
| `!b`, `a & b`, <code>a &#124; b</code> | `~b`, `a & b`, <code>a &#124; b</code> |
| `a?`, `a+`, `a*` | `a.optional()`, `a.some()`, `a.any_number()` |
| `a{2}`, `a{2,4}`, `a{2,}` | `a.times(2)`, `a.times(2, 4)`, `a.at_least(2)` |
| `a+<;>`, `a+<;{θ}>` | `a.some(under=";")`, `a.some(under=θ)` |
| `a[2]`, `FIRST a`, `LAST a`, `a @(c)` | `a[2]`, `a.only_first()`, `a.only_last()`, `a.at(c)` |
| `STREAM s (x INT) TIME t NULL 'NA' LET y AS x + 1` | `stream("s", x=int).time("t").null("NA").let(y=event.x + 1)` |
| `select*{a, b}`, `repeat(3){a}` | `select(a, b, strict=True)`, `repeat(a, times=3)` |
"""

from foretell.language.builder.correlations import (
    CorrelationBuilder,
    accumulate,
    do,
    fail,
    loop,
    modes,
    parallel,
    persist,
    push,
    repeat,
    select,
    sequential,
)
from foretell.language.builder.durations import (
    DurationBuilder,
    days,
    hours,
    microseconds,
    milliseconds,
    minutes,
    seconds,
    weeks,
)
from foretell.language.builder.errors import BuilderError
from foretell.language.builder.events import EventBuilder, event, prev
from foretell.language.builder.expressions import (
    CaseBuilder,
    ExpressionBuilder,
    case,
    duration,
    literal,
    parameter,
    variable,
)
from foretell.language.builder.patterns import PatternBuilder
from foretell.language.builder.statements import (
    CorrelatorBuilder,
    StreamBuilder,
    SubscriptionBuilder,
    correlate,
    stream,
    subscribe,
    subscriptions,
)
from foretell.language.builder.steps import StepBuilder, count, first, last, step, steps, t

__all__ = [
    "BuilderError",
    "CaseBuilder",
    "CorrelationBuilder",
    "CorrelatorBuilder",
    "DurationBuilder",
    "EventBuilder",
    "ExpressionBuilder",
    "PatternBuilder",
    "StepBuilder",
    "StreamBuilder",
    "SubscriptionBuilder",
    "accumulate",
    "case",
    "correlate",
    "count",
    "days",
    "do",
    "duration",
    "event",
    "fail",
    "first",
    "hours",
    "last",
    "literal",
    "loop",
    "microseconds",
    "milliseconds",
    "minutes",
    "modes",
    "parallel",
    "parameter",
    "persist",
    "prev",
    "push",
    "repeat",
    "seconds",
    "select",
    "sequential",
    "step",
    "steps",
    "stream",
    "subscribe",
    "subscriptions",
    "t",
    "variable",
    "weeks",
]
