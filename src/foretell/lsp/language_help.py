"""Help on the words and signs of the language: what each means, in two sentences with an example."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Help:
    text: str
    example: str


_STEPS = "SUBSCRIBE m FROM s"

#: The signs between and behind the steps of a pattern.
PATTERN_SIGNS: Mapping[str, Help] = {
    ",": Help("`a , b`: b is the very next event after a. No event of the lane lies between them.", "MATCH a , b"),
    ";": Help("`a ; b`: b is any later event. Every combination of such events is a match.", "MATCH a ; b"),
    ";{": Help(
        "`a ;{condition} b`: b is the first event after a for which the condition holds. Its attributes stand "
        "bare, those "
        "of steps before it as step.attribute.",
        "MATCH a ;{name = a.name} b",
    ),
    "&": Help(
        "`a & b`: both, in any order, on different events. The match begins with the earlier one.", "MATCH a & b"
    ),
    "|": Help("`a | b`: either. A match binds one of the two, and the other is NULL.", "MATCH a , (b | c)"),
    "!": Help(
        "`a ; !b ; c`: no event between a and c satisfies b. First or last in a pattern it needs WITHIN.",
        "MATCH a ; !b ; c",
    ),
    "+": Help(
        "`a+`: one event or more. Every length that fits is a match; AFTER MATCH LONGEST takes the whole run.",
        "MATCH a+ , b",
    ),
    "*": Help("`a*`: any number of events, or none. Every length that fits is a match.", "MATCH a , b* , c"),
    "?": Help("`a?`: one event or none. Where there is none, a is NULL.", "MATCH a , b? , c"),
    "{": Help(
        "`a{3}`, `a{2,}`, `a{2,5}`: so many events of a. Every number that fits is a match.",
        "MATCH a{2,5} , b",
    ),
    "<": Help(
        "`a+<;>`: the operator between the events of a repetition. Without it, that is the operator before the step.",
        "MATCH a+<;> , b",
    ),
    "[": Help(
        "`a[3]`: the third event that satisfies a. The count begins behind the step before it.", "MATCH a[3] ; b"
    ),
    "@": Help(
        "`a @(condition)`: a further condition on a step or a group, mostly about time. DEFINE has the condition "
        "on the "
        "event alone.",
        "MATCH a ; b @(t(b) - t(a) < 5 min)",
    ),
    "(": Help(
        "Brackets group a part of a pattern. A quantifier or a condition behind them is about the group.",
        "MATCH (a , b){2}",
    ),
}

#: Keywords, and words with a meaning of their own in conditions.
WORDS: Mapping[str, Help] = {
    "SUBSCRIBE": Help(
        "Begins a subscription: a pattern of events, and what is told of each match. Its results are a stream "
        "that other "
        "statements can read.",
        f"{_STEPS} MATCH a , b DEFINE a AS x > 5",
    ),
    "STREAM": Help(
        "Declares a stream: its attributes with their types, and its time. Without attributes those of the data hold.",
        "STREAM s (ip STRING, status STRING) TIME time",
    ),
    "CORRELATE": Help(
        "Begins a correlator: an expression that emits tokens when its parts complete. Its tokens are a stream "
        "that other "
        "statements can read.",
        "CORRELATE c FROM s DO push('both'){accumulate{a, b}}",
    ),
    "FROM": Help(
        "Names the streams that a statement reads, merged by time. A statement's name stands for the stream of "
        "its results.",
        f"{_STEPS}, other MATCH a",
    ),
    "PER": Help(
        "Divides the events into lanes, one for each value of the attributes. Steps, `,` and absence are about "
        "one lane.",
        f"{_STEPS} PER ip MATCH a , b",
    ),
    "FOR": Help(
        "`FOR EACH table`: the statement runs once for each row of the table. `:column` is a value of the row.",
        "SUBSCRIBE m FOR EACH limits FROM s MATCH a DEFINE a AS x > :low",
    ),
    "MATCH": Help(
        "The pattern: steps, with operators between them. Each step is one event, or several if it repeats.",
        "MATCH fail{3,} , ok",
    ),
    "DEFINE": Help(
        "The condition of each step. A bare attribute is of the event itself, `a.x` of the event of another step.",
        "MATCH a , b DEFINE a AS x > 5, b AS x > a.x",
    ),
    "AS": Help(
        "Stands between a name and what it means. DEFINE has the name first, RETURN the value.",
        "MATCH a DEFINE a AS x > 5 RETURN a.x AS height",
    ),
    "WITHIN": Help(
        "The longest time from the first to the last event of a match. After FORECAST it is how far the forecast "
        "looks ahead.",
        "MATCH a ; b WITHIN 10 min",
    ),
    "HAVING": Help(
        "A condition on the whole match, with attributes of its steps and aggregates. Matches for which it is "
        "not true are "
        "dropped.",
        "MATCH a+ HAVING count(a) >= 3",
    ),
    "AFTER": Help(
        "`AFTER MATCH` says which other matches a match excludes: HOLD none, CONSUME those that share an event, "
        "LONGEST "
        "shorter ones, SKIP those that begin too early. Without it, every match is reported.",
        "MATCH a+ , b AFTER MATCH LONGEST",
    ),
    "HOLD": Help("Every match is reported. This is the default.", "MATCH a ; b AFTER MATCH HOLD"),
    "CONSUME": Help(
        "A match excludes others that share an event with it. Matches are taken in the order of their last events.",
        "MATCH a ; b AFTER MATCH CONSUME",
    ),
    "LONGEST": Help(
        "Of the matches with the same first event only the longest, and none that begins within it. It takes the "
        "whole run.",
        "MATCH a+ , b AFTER MATCH LONGEST",
    ),
    "SKIP": Help(
        "`SKIP PAST LAST`: the next match begins behind this one. `SKIP TO NEXT` allows one match for each first "
        "event, "
        "`SKIP TO FIRST a` and `SKIP TO LAST a` begin again at an event of a step.",
        "MATCH a , b AFTER MATCH SKIP PAST LAST",
    ),
    "PAST": Help(
        "`SKIP PAST LAST`: the next match begins behind the last event of this one. Matches do not overlap.",
        "MATCH a , b AFTER MATCH SKIP PAST LAST",
    ),
    "TO": Help(
        "`SKIP TO FIRST a`: the next match does not begin before the first event of a. `SKIP TO NEXT`: not with "
        "the same event.",
        "MATCH a , b+ AFTER MATCH SKIP TO FIRST b",
    ),
    "NEXT": Help(
        "`SKIP TO NEXT`: one match for each first event. The earliest is taken.", "MATCH a ; b AFTER MATCH SKIP TO NEXT"
    ),
    "RETURN": Help(
        "The columns of the result, each with a name. Without it they are the variables.",
        "MATCH a , b RETURN b.x - a.x AS rise",
    ),
    "FORECAST": Help(
        "Tells that a match is likely, before it has happened: within so many events of the lane, or so much "
        "time. It needs "
        "a model from foretell train, or some time to learn.",
        "MATCH a , b , c FORECAST WITHIN 5 EVENTS ABOVE 0.7",
    ),
    "EVENTS": Help(
        "Counts the horizon of a forecast in events of the lane. Without it the horizon is a time.",
        "MATCH a , b FORECAST WITHIN 5 EVENTS ABOVE 0.7",
    ),
    "ABOVE": Help(
        "The least probability that is told. A forecast is told once, until it has fallen below.",
        "MATCH a , b FORECAST WITHIN 5 EVENTS ABOVE 0.7",
    ),
    "LOSING": Help(
        "Events are lost with this probability: matches of which some steps are missing are reported as "
        "estimates. `OF` "
        "names the steps, ABOVE the least probability.",
        "MATCH a ; !b ; c WITHIN 12 hours LOSING 0.05 ABOVE 0.8",
    ),
    "OF": Help(
        "Names the steps that a probability of LOSING is for, or the tokens that are forecast. Without it, all.",
        "MATCH a ; b WITHIN 1 h LOSING 0.05 OF b ABOVE 0.8",
    ),
    "SCORE": Help(
        "How estimates are calculated where not from both ends of a gap. INDEPENDENT takes the end of a gap as "
        "coming anyway, "
        "PUBLISHED are the numbers of the AYAC paper.",
        "MATCH a ; b WITHIN 1 h LOSING 0.05 ABOVE 0.8 SCORE INDEPENDENT",
    ),
    "INDEPENDENT": Help(
        "The end of a gap is taken to come whatever was lost in it. It needs no delays by predecessor.",
        "MATCH a ; b WITHIN 1 h LOSING 0.05 ABOVE 0.8 SCORE INDEPENDENT",
    ),
    "PUBLISHED": Help(
        "The scores as the AYAC paper prints them. They are no probabilities of one match.",
        "MATCH a ; b WITHIN 1 h LOSING 0.05 ABOVE 0.8 SCORE PUBLISHED",
    ),
    "TIME": Help(
        "Names the attribute with the time of an event, a TIMESTAMP or a number. Durations have units only with "
        "a TIMESTAMP.",
        "STREAM s TIME time",
    ),
    "ID": Help(
        "Names the attribute by which notifications name events. Without it they are counted in their lane.",
        "STREAM s TIME time ID event",
    ),
    "ORDER": Help(
        "`ORDER BY attribute` decides between events of the same time. Without it the order of the input does.",
        "STREAM s TIME time ORDER BY number",
    ),
    "BY": Help(
        "`ORDER BY` names an attribute that decides between events of one time. `LATE BY` says how late an event "
        "may come.",
        "STREAM s TIME time LATE BY 10 s",
    ),
    "TIES": Help(
        "`TIES SIMULTANEOUS`: events of the same time are simultaneous. None of them comes after another.",
        "STREAM s TIME time TIES SIMULTANEOUS",
    ),
    "SIMULTANEOUS": Help(
        "Events of the same time are simultaneous. None of them comes after another.",
        "STREAM s TIME time TIES SIMULTANEOUS",
    ),
    "LATE": Help(
        "`LATE BY`: how late an event may come. Events wait so long, and later ones are set aside.",
        "STREAM s TIME time LATE BY 10 s",
    ),
    "LOSS": Help(
        "The probability that an event of the stream is lost. WHEN limits it to some events.",
        "STREAM s TIME time LOSS 0.05 WHEN reader = 'B'",
    ),
    "LET": Help(
        "Defines attributes that are calculated from an event's own. An expression may use those before it.",
        "STREAM s TIME time LET size AS abs(x)",
    ),
    "WHEN": Help(
        "The condition of a part of CASE, or of a LOSS. The first that is true counts.",
        "MATCH a RETURN CASE WHEN a.x > 5 THEN 'high' ELSE 'low' END AS kind",
    ),
    "CASE": Help(
        "The value of the first WHEN whose condition is true. Without ELSE it is NULL where none is.",
        "MATCH a RETURN CASE WHEN a.x > 5 THEN 'high' ELSE 'low' END AS kind",
    ),
    "THEN": Help(
        "The value where the condition before it is true. All values of a CASE are of one type.",
        "MATCH a RETURN CASE WHEN a.x > 5 THEN 1 ELSE 0 END AS high",
    ),
    "ELSE": Help(
        "The value where no condition of a CASE is true. Without it, NULL.",
        "MATCH a RETURN CASE WHEN a.x > 5 THEN 1 ELSE 0 END AS high",
    ),
    "END": Help("Ends a CASE. A `;` ends the statement.", "MATCH a RETURN CASE WHEN a.x > 5 THEN 1 ELSE 0 END AS high"),
    "AND": Help("True if both sides are. NULL counts as not true.", "DEFINE b AS x > 5 AND y = 1"),
    "OR": Help("True if one side is. It binds less tightly than AND.", "DEFINE b AS x > 5 OR y = 1"),
    "NOT": Help("True if what follows is false. Of NULL it is NULL.", "DEFINE b AS NOT x > 5"),
    "IN": Help(
        "True if the value is one of a list. In a correlator, `in(step) do{...}` is a mode.",
        "DEFINE b AS status IN ('denied', 'locked')",
    ),
    "BETWEEN": Help(
        "True if the value lies between two bounds. Both bounds belong to it.", "DEFINE b AS x BETWEEN 1 AND 5"
    ),
    "LIKE": Help(
        "Compares a text with a pattern. `%` stands for any characters, `_` for one.", "DEFINE b AS name LIKE 'web-%'"
    ),
    "IS": Help(
        "`IS NULL` is true where a value is missing. A comparison with NULL is never true.", "DEFINE b AS x IS NOT NULL"
    ),
    "NULL": Help(
        "A missing value; compare with IS NULL. In STREAM it names texts or numbers that stand for one.",
        "DEFINE b AS x IS NULL",
    ),
    "TRUE": Help("The truth value. An attribute of type BOOL is a condition by itself.", "DEFINE b AS ok = TRUE"),
    "FALSE": Help("The other truth value. NOT before a BOOL says the same.", "DEFINE b AS ok = FALSE"),
    "TIMESTAMP": Help(
        "A point in time, in UTC unless an offset follows. As a type it is that of such times.",
        "DEFINE b AS at > TIMESTAMP '2026-01-31 12:00:00'",
    ),
    "EACH": Help(
        "`FOR EACH table`: the statement runs once for each row of the table. `:column` is a value of the row.",
        "SUBSCRIBE m FOR EACH limits FROM s MATCH a DEFINE a AS x > :low",
    ),
    "FIRST": Help(
        "In a pattern, only the first of the events that would do. In a condition, `first(b)` is the first event "
        "of a step "
        "that repeats.",
        "MATCH a ; FIRST b",
    ),
    "LAST": Help(
        "In a pattern, only the last of the events that would do. In a condition, `last(b)` is the latest event "
        "of a step "
        "that repeats.",
        "MATCH a ; LAST b ; c",
    ),
    "PREV": Help(
        "The event bound just before this one in the match. It has attributes, as in `prev.price`.",
        "MATCH a , b+ DEFINE b AS price < prev.price",
    ),
    "T": Help(
        "`t(a)`: the time of the event of a step. Differences of times are durations.",
        "DEFINE b AS t(b) - t(a) < 5 min",
    ),
    "DURATION": Help(
        "The time from the first to the last event of the match so far. In HAVING, of the whole match.",
        "MATCH a+ HAVING duration >= 30 min",
    ),
    "COUNT": Help(
        "`count(b)`: how many events a step has. `count(b.x)` counts those with a value.",
        "MATCH b+ HAVING count(b) > 3",
    ),
    "SUM": Help(
        "`sum(b.x)`: the sum over the events of a step. Missing values do not count.", "MATCH b+ HAVING sum(b.x) > 3"
    ),
    "AVG": Help(
        "`avg(b.x)`: the mean over the events of a step. Missing values do not count.", "MATCH b+ HAVING avg(b.x) > 3"
    ),
    "MIN": Help(
        "`min(b.x)`: the least value of the events of a step. Missing values do not count.",
        "MATCH b+ HAVING min(b.x) > 3",
    ),
    "MAX": Help(
        "`max(b.x)`: the greatest value of the events of a step. Missing values do not count.",
        "MATCH b+ HAVING max(b.x) > 3",
    ),
    "DO": Help(
        "Begins the expression of a correlator. Within it, `do{e} unless{f}` is e, but fails as soon as f succeeds.",
        "DO do{accumulate{a, b}} unless{c}",
    ),
    "UNLESS": Help(
        "`do{e} unless{f}`: as e, but it fails as soon as f succeeds. Failure of f is ignored.", "DO do{a} unless{b}"
    ),
    "ACCUMULATE": Help(
        "Succeeds when all parts have, in any order. It fails when one fails.", "DO push('all'){accumulate{a, b}}"
    ),
    "SELECT": Help(
        "Succeeds when one part has, and fails when all have failed. `select*` fails when one fails.",
        "DO push('one'){select{a, b}}",
    ),
    "SEQUENTIAL": Help(
        "One part after the other; a part sees the events after the one that started it. It fails when one fails.",
        "DO push('then'){sequential{a, b}}",
    ),
    "FAIL": Help(
        "Inverts the outcome of its part. What never fails then never succeeds.", "DO push('no'){fail{do{a} unless{b}}}"
    ),
    "PUSH": Help(
        "`push('x'){e}`: as e, and emits the token x when it succeeds. Tokens are the events of the correlator's "
        "stream.",
        "DO push('x'){a}",
    ),
    "REPEAT": Help(
        "Starts its part again whatever its outcome. `repeat(n)` succeeds after n completions.",
        "DO repeat{push('x'){a}}",
    ),
    "PERSIST": Help(
        "Starts its part again until it succeeds, and then succeeds. `persist(n)` fails after n failures.",
        "DO push('x'){persist(2){a}}",
    ),
    "LOOP": Help(
        "Starts its part again until it fails, and then fails. `loop(n)` succeeds after n successes.",
        "DO push('x'){loop(2){a}}",
    ),
    "PARALLEL": Help(
        "Runs all parts, independently of each other. It never completes.", "DO parallel{push('x'){a}, push('y'){b}}"
    ),
    "BOOL": Help(
        "The type of truth values. Such an attribute is a condition by itself.", "STREAM s (ok BOOL) TIME time"
    ),
    "INT": Help("The type of whole numbers, in 64 bits. Division of two gives a FLOAT.", "STREAM s (n INT) TIME time"),
    "FLOAT": Help("The type of numbers with a fraction. NaN is a missing value.", "STREAM s (x FLOAT) TIME time"),
    "STRING": Help("The type of texts. They stand in single quotes.", "STREAM s (name STRING) TIME time"),
}

#: Functions with their arguments.
FUNCTIONS: Mapping[str, tuple[str, str]] = {
    "lower": ("lower(text)", "The text in small letters."),
    "upper": ("upper(text)", "The text in capitals."),
    "length": ("length(text)", "The number of characters of a text."),
    "contains": ("contains(text, part)", "Whether a text contains another one."),
    "starts_with": ("starts_with(text, part)", "Whether a text begins with another one."),
    "ends_with": ("ends_with(text, part)", "Whether a text ends with another one."),
    "regexp_like": ("regexp_like(text, 'pattern')", "Whether a regular expression is found in a text."),
    "substr": (
        "substr(text, start[, length])",
        "A part of a text; the first character is 1, a negative start counts from the end.",
    ),
    "coalesce": ("coalesce(value, ...)", "The first value that is not NULL."),
    "abs": ("abs(number)", "The number without its sign; also of a duration."),
    "floor": ("floor(number)", "The greatest whole number that is not greater."),
    "ceil": ("ceil(number)", "The least whole number that is not less."),
    "round": ("round(number[, digits])", "The number rounded, half away from 0."),
    "sqrt": ("sqrt(number)", "The square root."),
    "ln": ("ln(number)", "The natural logarithm."),
    "exp": ("exp(number)", "The exponential function."),
    "pow": ("pow(base, exponent)", "A power."),
    "year": ("year(time[, 'zone'])", "The year of a TIMESTAMP, in UTC or in a time zone."),
    "month": ("month(time[, 'zone'])", "The month of a TIMESTAMP, from 1 to 12."),
    "day": ("day(time[, 'zone'])", "The day of the month."),
    "hour": ("hour(time[, 'zone'])", "The hour, from 0 to 23."),
    "minute": ("minute(time[, 'zone'])", "The minute, from 0 to 59."),
    "weekday": ("weekday(time[, 'zone'])", "The day of the week; Monday is 0."),
}

#: What stands for an event or a set of events in an expression, with its arguments.
EVENT_WORDS: Mapping[str, str] = {
    "prev": "prev.attribute",
    "t": "t(step)",
    "duration": "duration",
    "first": "first(step).attribute",
    "last": "last(step).attribute",
    "count": "count(step)",
    "sum": "sum(step.attribute)",
    "avg": "avg(step.attribute)",
    "min": "min(step.attribute)",
    "max": "max(step.attribute)",
}


def whole_example(example: str) -> str:
    """The statement that an example is a part of."""
    begin = example.partition(" ")[0]
    if begin in ("SUBSCRIBE", "STREAM", "CORRELATE"):
        return example
    if begin == "DO":
        return f"CORRELATE c FROM s {example}"
    return f"{_STEPS} {example}" if begin == "MATCH" else f"{_STEPS} MATCH a , b {example}"
