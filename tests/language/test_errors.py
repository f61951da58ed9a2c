"""Every mistake we can think of, and what its author reads: each message as a whole, caret and hint included.

The texts are what users of SQL, MATCH_RECOGNIZE, Flink and Esper write from habit, slips of the keyboard, and one or
more for every code that the language can raise.
"""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

import foretell as ft
from foretell.events.types import Schema, Type
from foretell.language import parser

SCHEMAS = {
    "x": Schema(
        {
            "time": Type.INT,
            "v": Type.INT,
            "w": Type.FLOAT,
            "kind": Type.STRING,
            "ok": Type.BOOL,
            "at": Type.TIMESTAMP,
        },
        "time",
    ),
    "y": Schema({"ts": Type.TIMESTAMP, "v": Type.STRING, "kind": Type.STRING}, "ts"),
    "z": Schema({"time": Type.INT, "v": Type.INT}, "time", simultaneous=True),
    "w": Schema({"time": Type.INT, "v": Type.STRING}, "time"),
}
TABLES = {"t": {"id": Type.INT, "limit": Type.INT}}

#: A text, the code of its error, and the error as it is shown.
MISTAKES = r"""
-- How a statement begins, and the clauses before MATCH

SELECT * FROM x
=> unexpected
1:1: expected SUBSCRIBE, STREAM or CORRELATE, found 'SELECT'
  1 | SELECT * FROM x
    | ^^^^^^
  hint: start a statement with SUBSCRIBE name FROM stream MATCH pattern; list the output columns last, in RETURN

SUBSCIRBE s FROM x MATCH a
=> unexpected
1:1: expected SUBSCRIBE, STREAM or CORRELATE, found 'SUBSCIRBE'
  1 | SUBSCIRBE s FROM x MATCH a
    | ^^^^^^^^^
  hint: did you mean SUBSCRIBE?

SUBSCRIBE s FORM x MATCH a
=> unexpected
1:13: expected FROM or FOR EACH, found 'FORM'
  1 | SUBSCRIBE s FORM x MATCH a
    |             ^^^^
  hint: did you mean FROM?

SUBSCRIBE FROM x MATCH a
=> unexpected
1:11: expected a name, found 'FROM'
  1 | SUBSCRIBE FROM x MATCH a
    |           ^^^^

SUBSCRIBE s MATCH a
=> unexpected
1:13: expected FROM or FOR EACH, found 'MATCH'
  1 | SUBSCRIBE s MATCH a
    |             ^^^^^

SUBSCRIBE s FROM MATCH a
=> unexpected
1:18: expected a stream, found 'MATCH'
  1 | SUBSCRIBE s FROM MATCH a
    |                  ^^^^^

SUBSCRIBE s FROM x
=> unexpected-end
1:19: unexpected end of the text, expected MATCH, PER or ','
  1 | SUBSCRIBE s FROM x
    |                   ^

SUBSCRIBE s FROM x MATCH
=> unexpected-end
1:25: unexpected end of the text, expected a step or a group
  1 | SUBSCRIBE s FROM x MATCH
    |                         ^

SUBSCRIBE s FROM x MATHC a
=> unexpected
1:20: expected MATCH, PER or ',', found 'MATHC'
  1 | SUBSCRIBE s FROM x MATHC a
    |                    ^^^^^
  hint: did you mean MATCH?

SUBSCRIBE s FROM x WHERE v = 1 MATCH a
=> unexpected
1:20: expected MATCH, PER or ',', found 'WHERE'
  1 | SUBSCRIBE s FROM x WHERE v = 1 MATCH a
    |                    ^^^^^
  hint: write DEFINE step AS condition, or HAVING condition for the whole match

SUBSCRIBE s FROM x PARTITION BY k MATCH a
=> unexpected
1:20: expected MATCH, PER or ',', found 'PARTITION'
  1 | SUBSCRIBE s FROM x PARTITION BY k MATCH a
    |                    ^^^^^^^^^
  hint: write PER attribute directly before MATCH to split the stream by key

SUBSCRIBE s FROM x ORDER BY time MATCH a
=> unexpected
1:20: expected MATCH, PER or ',', found 'ORDER'
  1 | SUBSCRIBE s FROM x ORDER BY time MATCH a
    |                    ^^^^^
  hint: events are ordered by time; declare a tie-breaker in the STREAM statement: ORDER BY seq

SUBSCRIBE s FROM x MEASURES a.v AS v MATCH a
=> unexpected
1:20: expected MATCH, PER or ',', found 'MEASURES'
  1 | SUBSCRIBE s FROM x MEASURES a.v AS v MATCH a
    |                    ^^^^^^^^
  hint: write RETURN expression AS name, after the pattern

SUBSCRIBE s FROM x PATTERN (a b) MATCH a
=> unexpected
1:20: expected MATCH, PER or ',', found 'PATTERN'
  1 | SUBSCRIBE s FROM x PATTERN (a b) MATCH a
    |                    ^^^^^^^
  hint: write the pattern as MATCH a ; b, without PATTERN

SUBSCRIBE s FROM x MATCH_RECOGNIZE (PATTERN (a b))
=> unexpected
1:20: expected MATCH, PER or ',', found 'MATCH_RECOGNIZE'
  1 | SUBSCRIBE s FROM x MATCH_RECOGNIZE (PATTERN (a b))
    |                    ^^^^^^^^^^^^^^^
  hint: write the pattern as MATCH a ; b, without MATCH_RECOGNIZE (...)

SUBSCRIBE s FROM x AS y MATCH a
=> unexpected
1:20: expected MATCH, PER or ',', found 'AS'
  1 | SUBSCRIBE s FROM x AS y MATCH a
    |                    ^^
  hint: a stream has no alias; name events by their step: step.attribute

SUBSCRIBE s FROM x JOIN y MATCH a
=> unexpected
1:20: expected MATCH, PER or ',', found 'JOIN'
  1 | SUBSCRIBE s FROM x JOIN y MATCH a
    |                    ^^^^
  hint: FROM a, b merges streams; relate their events with steps and variables

-- Patterns

SUBSCRIBE s FROM x MATCH a b
=> unexpected
1:28: expected an operator, a clause or the end of the statement, found 'b'
  1 | SUBSCRIBE s FROM x MATCH a b
    |                            ^
  hint: put ';' (later), ',' (directly after), '&' (any order) or '|' (either) between two steps

SUBSCRIBE s FROM x MATCH (a b+)
=> unexpected
1:29: expected ')' or an operator, found 'b'
  1 | SUBSCRIBE s FROM x MATCH (a b+)
    |                             ^
  hint: put ';' (later), ',' (directly after), '&' (any order) or '|' (either) between two steps

SUBSCRIBE s FROM x MATCH a -> b
=> unexpected
1:28: '->' has no meaning here
  1 | SUBSCRIBE s FROM x MATCH a -> b
    |                            ^^
  hint: write ';' for 'followed by', ',' for 'directly followed by'

SUBSCRIBE s FROM x MATCH a => b
=> unexpected
1:28: '=>' has no meaning here
  1 | SUBSCRIBE s FROM x MATCH a => b
    |                            ^^
  hint: write ';' for 'followed by', ',' for 'directly followed by', '>=' for 'at least'

SUBSCRIBE s FROM x MATCH a NEXT b
=> unexpected
1:28: expected an operator, a clause or the end of the statement, found 'NEXT'
  1 | SUBSCRIBE s FROM x MATCH a NEXT b
    |                            ^^^^
  hint: write ',' for 'directly followed by'

SUBSCRIBE s FROM x MATCH a AND b
=> unexpected
1:28: expected an operator, a clause or the end of the statement, found 'AND'
  1 | SUBSCRIBE s FROM x MATCH a AND b
    |                            ^^^
  hint: write a & b for both in any order

SUBSCRIBE s FROM x MATCH a OR b
=> unexpected
1:28: expected an operator, a clause or the end of the statement, found 'OR'
  1 | SUBSCRIBE s FROM x MATCH a OR b
    |                            ^^
  hint: write a | b for either

SUBSCRIBE s FROM shop-sales MATCH a
=> unexpected
1:22: expected MATCH, PER or ',', found '-'
  1 | SUBSCRIBE s FROM shop-sales MATCH a
    |                      ^
  hint: put a name with a "-" in double quotes: "shop-sales"

SUBSCRIBE s FROM x MATCH a && b
=> unexpected
1:28: '&&' has no meaning here
  1 | SUBSCRIBE s FROM x MATCH a && b
    |                            ^^
  hint: write AND in a condition, & between patterns

SUBSCRIBE s FROM x MATCH a || b
=> unexpected
1:28: '||' has no meaning here
  1 | SUBSCRIBE s FROM x MATCH a || b
    |                            ^^
  hint: write OR in a condition, | between patterns

SUBSCRIBE s FROM x MATCH a ; NOT b ; c
=> unexpected
1:30: expected a step or a group, found 'NOT'
  1 | SUBSCRIBE s FROM x MATCH a ; NOT b ; c
    |                              ^^^
  hint: write !b for an event that must not come: a ; !b ; c

SUBSCRIBE s FROM x MATCH every a
=> unexpected
1:26: expected a step or a group, found 'every'
  1 | SUBSCRIBE s FROM x MATCH every a
    |                          ^^^^^
  hint: leave it out: every match is reported

SUBSCRIBE s FROM x MATCH a FOLLOWED BY b
=> unexpected
1:28: expected an operator, a clause or the end of the statement, found 'FOLLOWED'
  1 | SUBSCRIBE s FROM x MATCH a FOLLOWED BY b
    |                            ^^^^^^^^
  hint: write ';' for 'followed by', ',' for 'directly followed by'

SUBSCRIBE s FROM x MATCH PERMUTE(a, b)
=> unexpected
1:26: expected a step or a group, found 'PERMUTE'
  1 | SUBSCRIBE s FROM x MATCH PERMUTE(a, b)
    |                          ^^^^^^^
  hint: write a & b for any order

SUBSCRIBE s FROM x MATCH a ; !(b ; c) ; d
=> unexpected
1:31: expected a step, found '('
  1 | SUBSCRIBE s FROM x MATCH a ; !(b ; c) ; d
    |                               ^
  hint: negate single steps; for none of several write !a ; !b

SUBSCRIBE s FROM x MATCH a{2
=> unexpected-end
1:29: unexpected end of the text, expected ',' or '}'
  1 | SUBSCRIBE s FROM x MATCH a{2
    |                             ^
  hint: close the '{' at 1:27

SUBSCRIBE s FROM x MATCH a{2 ; b
=> unexpected
1:30: expected ',' or '}', found ';'
  1 | SUBSCRIBE s FROM x MATCH a{2 ; b
    |                              ^

SUBSCRIBE s FROM x MATCH a{,3}
=> unexpected
1:28: expected a number, found ','
  1 | SUBSCRIBE s FROM x MATCH a{,3}
    |                            ^
  hint: write {0,n} for at most n

SUBSCRIBE s FROM x MATCH a+?
=> unexpected
1:28: expected an operator, a clause or the end of the statement, found '?'
  1 | SUBSCRIBE s FROM x MATCH a+?
    |                            ^
  hint: leave out this '?': every length that fits is a match, no repetition is greedy or reluctant

SUBSCRIBE s FROM x MATCH (a ; b
=> unexpected-end
1:32: unexpected end of the text, expected ')' or an operator
  1 | SUBSCRIBE s FROM x MATCH (a ; b
    |                                ^
  hint: close the '(' at 1:26

SUBSCRIBE s FROM x MATCH (a ; b DEFINE a AS v = 1
=> unexpected
1:33: expected ')' or an operator, found 'DEFINE'
  1 | SUBSCRIBE s FROM x MATCH (a ; b DEFINE a AS v = 1
    |                                 ^^^^^^
  hint: close the '(' at 1:26

SUBSCRIBE s FROM x MATCH a ; b)
=> unexpected
1:31: expected an operator, a clause or the end of the statement, found ')'
  1 | SUBSCRIBE s FROM x MATCH a ; b)
    |                               ^
  hint: delete it, or add the '(' that it closes

SUBSCRIBE s FROM x MATCH a[b]
=> unexpected
1:28: expected a number, found 'b'
  1 | SUBSCRIBE s FROM x MATCH a[b]
    |                            ^

SUBSCRIBE s FROM x MATCH a @ v < 5
=> unexpected
1:30: expected '(', found 'v'
  1 | SUBSCRIBE s FROM x MATCH a @ v < 5
    |                              ^
  hint: put the condition in parentheses: a @(condition)

SUBSCRIBE s FROM x MATCH a ;{v = 1 b
=> unexpected
1:36: expected '}' or an operator, found 'b'
  1 | SUBSCRIBE s FROM x MATCH a ;{v = 1 b
    |                                    ^

SUBSCRIBE s FROM x MATCH a ; ; b
=> unexpected
1:30: expected a step or a group, found ';'
  1 | SUBSCRIBE s FROM x MATCH a ; ; b
    |                              ^
  hint: leave out one ';'

SUBSCRIBE s FROM x MATCH a ; DEFINE a AS v = 1
=> unexpected
1:30: expected a step or a group, found 'DEFINE'
  1 | SUBSCRIBE s FROM x MATCH a ; DEFINE a AS v = 1
    |                              ^^^^^^
  hint: leave out the ';' before it

SUBSCRIBE s FROM x MATCH a , WITHIN 5 min
=> unexpected
1:30: expected a step or a group, found 'WITHIN'
  1 | SUBSCRIBE s FROM x MATCH a , WITHIN 5 min
    |                              ^^^^^^
  hint: leave out the ',' before it

SUBSCRIBE s FROM x MATCH ; a
=> unexpected
1:26: expected a step or a group, found ';'
  1 | SUBSCRIBE s FROM x MATCH ; a
    |                          ^

SUBSCRIBE s FROM x MATCH a ; ! ; b
=> unexpected
1:32: expected a step, found ';'
  1 | SUBSCRIBE s FROM x MATCH a ; ! ; b
    |                                ^

SUBSCRIBE s FROM x MATCH a<;>
=> unexpected
1:27: expected an operator, a clause or the end of the statement, found '<'
  1 | SUBSCRIBE s FROM x MATCH a<;>
    |                           ^
  hint: put <...> behind +, * or {n}: it names the operator of a repetition, as in a+<;>

-- Definitions and conditions

SUBSCRIBE s FROM x MATCH a DEFINE a v = 1
=> unexpected
1:37: expected AS or ',', found 'v'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a v = 1
    |                                     ^
  hint: write DEFINE step AS condition

SUBSCRIBE s FROM x MATCH a DEFINE a AS
=> unexpected-end
1:39: unexpected end of the text, expected a condition
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS
    |                                       ^

SUBSCRIBE s FROM x MATCH a DEFINE a AS v == 1
=> unexpected
1:42: '==' has no meaning here
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v == 1
    |                                          ^^
  hint: write one '=' for equality

SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 1, WITHIN 5 min
=> unexpected
1:47: expected a name, found 'WITHIN'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 1, WITHIN 5 min
    |                                               ^^^^^^
  hint: leave out the ',' before it

SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 1,
=> unexpected-end
1:46: unexpected end of the text, expected a name
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 1,
    |                                              ^
  hint: leave out the ',' before the end

SUBSCRIBE s FROM x MATCH a DEFINE a AS v =< 1
=> unexpected
1:42: '=<' has no meaning here
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v =< 1
    |                                          ^^
  hint: write '<=' for 'at most'

SUBSCRIBE s FROM x MATCH a DEFINE a AS !v
=> unexpected
1:40: expected a condition, found '!'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS !v
    |                                        ^
  hint: in a condition write NOT

SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 'x
=> unclosed
1:44: the quote ' is opened here and never closed
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 'x
    |                                            ^
  hint: close the quote; write a quote inside a string twice: 'it''s'

SUBSCRIBE s FROM x MATCH a DEFINE a AS "v = 1
=> unclosed
1:40: the quote " is opened here and never closed
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS "v = 1
    |                                        ^
  hint: close the quote

SUBSCRIBE s FROM x MATCH a DEFINE a AS v = ""
=> unexpected
1:44: a name in double quotes cannot be empty
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v = ""
    |                                            ^^
  hint: write '' for an empty string

SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 'it's'
=> unexpected
1:48: expected ',', an operator, a clause or the end of the statement, found 's'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 'it's'
    |                                                ^
  hint: the string ends before this; write a quote inside a string twice: 'it''s'

SUBSCRIBE s FROM x MATCH a DEFINE a AS v IN 'x'
=> unexpected
1:45: expected '(', found the string 'x'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v IN 'x'
    |                                             ^^^
  hint: put the values in parentheses: IN ('x', ...)

SUBSCRIBE s FROM x MATCH a DEFINE a AS v IN ('x',)
=> unexpected
1:50: expected a value, found ')'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v IN ('x',)
    |                                                  ^
  hint: leave out the ',' before it

SUBSCRIBE s FROM x MATCH a DEFINE a AS v IN ()
=> unexpected
1:46: expected a value, found ')'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v IN ()
    |                                              ^

SUBSCRIBE s FROM x MATCH a DEFINE a AS v BETWEEN 1, 2
=> unexpected
1:51: expected AND, found ','
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v BETWEEN 1, 2
    |                                                   ^

SUBSCRIBE s FROM x MATCH a DEFINE a AS v IS 5
=> unexpected
1:45: expected NOT or NULL, found '5'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v IS 5
    |                                             ^

SUBSCRIBE s FROM x MATCH a DEFINE a AS v NOT 5
=> unexpected
1:46: expected BETWEEN, IN or LIKE, found '5'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v NOT 5
    |                                              ^

SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 1)
=> unexpected
1:45: expected ',', an operator, a clause or the end of the statement, found ')'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 1)
    |                                             ^
  hint: delete it, or add the '(' that it closes

SUBSCRIBE s FROM x MATCH a DEFINE a AS count(*) > 1
=> unexpected
1:46: expected a value, found '*'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS count(*) > 1
    |                                              ^
  hint: name a step: count(b) counts the events of step b

SUBSCRIBE s FROM x MATCH a DEFINE a AS timestamp > 5
=> unexpected
1:50: expected a string in single quotes, found '>'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS timestamp > 5
    |                                                  ^
  hint: put a name that is also a keyword in double quotes: "timestamp"

SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 1; b AS v = 2
=> unexpected
1:47: expected SUBSCRIBE, STREAM or CORRELATE, found 'b'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 1; b AS v = 2
    |                                               ^
  hint: the ';' before it ends the statement; separate a list by ','

SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 1; WITHIN 5 min;
=> unexpected
1:47: expected SUBSCRIBE, STREAM or CORRELATE, found 'WITHIN'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 1; WITHIN 5 min;
    |                                               ^^^^^^
  hint: leave out the ';' before it

SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 1 b AS v = 2
=> unexpected
1:46: expected ',', an operator, a clause or the end of the statement, found 'b'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 1 b AS v = 2
    |                                              ^
  hint: did you forget a ',' before it?

SUBSCRIBE s FROM x MATCH a DEFINE a AS v ~ 'x'
=> unexpected
1:42: '~' has no meaning here
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v ~ 'x'
    |                                          ^
  hint: write regexp_like(text, 'pattern'), or LIKE, where '%' stands for anything

SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 5 # five
=> unexpected
1:46: '#' has no meaning here
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 5 # five
    |                                              ^
  hint: start a comment with --; it goes to the end of the line

SUBSCRIBE s FROM x MATCH a // x
=> unexpected
1:28: '//' has no meaning here
  1 | SUBSCRIBE s FROM x MATCH a // x
    |                            ^^
  hint: start a comment with --; it goes to the end of the line

SUBSCRIBE s FROM x MATCH a DEFINE a AS v = ‘x’
=> unexpected
1:44: '‘' has no meaning here
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v = ‘x’
    |                                            ^
  hint: put a string in straight single quotes: 'text'

SUBSCRIBE s FROM x MATCH a DEFINE a AS v ≥ 5
=> unexpected
1:42: '≥' has no meaning here
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v ≥ 5
    |                                          ^
  hint: write '>='

SUBSCRIBE s FROM x MATCH a DEFINE a AS `v` = 5
=> unexpected
1:40: '`' has no meaning here
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS `v` = 5
    |                                        ^
  hint: put a name with odd characters in double quotes: "name"

SUBSCRIBE s FROM x MATCH a DEFINE a AS v = $
=> unexpected
1:44: expected a value, found '$'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v = $
    |                                            ^
  hint: write a variable as $name, a column of a table as :name, without a space

SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 1 RETURN
=> unexpected-end
1:52: unexpected end of the text, expected a value
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 1 RETURN
    |                                                    ^

-- The other clauses

SUBSCRIBE s FROM x MATCH a WITHIN
=> unexpected-end
1:34: unexpected end of the text, expected a duration such as 5 min
  1 | SUBSCRIBE s FROM x MATCH a WITHIN
    |                                  ^

SUBSCRIBE s FROM x MATCH a WITHIN min
=> unexpected
1:35: expected a duration such as 5 min, found 'min'
  1 | SUBSCRIBE s FROM x MATCH a WITHIN min
    |                                   ^^^

SUBSCRIBE s FROM x MATCH a WITHIN 5 minuts
=> unexpected
1:37: unknown unit 'minuts'
  1 | SUBSCRIBE s FROM x MATCH a WITHIN 5 minuts
    |                                     ^^^^^^
  hint: did you mean minutes?

SUBSCRIBE s FROM x MATCH a WITHIN 5 months
=> unexpected
1:37: unknown unit 'months'
  1 | SUBSCRIBE s FROM x MATCH a WITHIN 5 months
    |                                     ^^^^^^
  hint: use one of the units us, ms, s, min, hours, days, weeks

SUBSCRIBE s FROM x MATCH a WITHIN 5 m
=> unexpected
1:37: unknown unit 'm'
  1 | SUBSCRIBE s FROM x MATCH a WITHIN 5 m
    |                                     ^
  hint: did you mean min?

SUBSCRIBE s FROM x MATCH a WITHIN INTERVAL '5' MINUTE
=> unexpected
1:35: expected a duration such as 5 min, found 'INTERVAL'
  1 | SUBSCRIBE s FROM x MATCH a WITHIN INTERVAL '5' MINUTE
    |                                   ^^^^^^^^
  hint: write the duration itself: 5 min

SUBSCRIBE s FROM x MATCH a WITHIN 5 EVENTS
=> unexpected
1:37: expected a unit such as min, a clause or the end of the statement, found 'EVENTS'
  1 | SUBSCRIBE s FROM x MATCH a WITHIN 5 EVENTS
    |                                     ^^^^^^
  hint: WITHIN takes a duration such as 5 min; only FORECAST WITHIN counts events

SUBSCRIBE s FROM x MATCH a WHITIN 5 min
=> unexpected
1:28: expected an operator, a clause or the end of the statement, found 'WHITIN'
  1 | SUBSCRIBE s FROM x MATCH a WHITIN 5 min
    |                            ^^^^^^
  hint: did you mean WITHIN?

SUBSCRIBE s FROM x MATCH a WITHIN '5 min'
=> unexpected
1:35: expected a duration such as 5 min, found the string '5 min'
  1 | SUBSCRIBE s FROM x MATCH a WITHIN '5 min'
    |                                   ^^^^^^^
  hint: leave out the quotes

SUBSCRIBE s FROM x MATCH a WITHIN 5 min 3 s
=> unexpected
1:41: expected a clause or the end of the statement, found '3'
  1 | SUBSCRIBE s FROM x MATCH a WITHIN 5 min 3 s
    |                                         ^

SUBSCRIBE s FROM x MATCH a AFTER MATCH SKIP
=> unexpected-end
1:44: unexpected end of the text, expected PAST or TO
  1 | SUBSCRIBE s FROM x MATCH a AFTER MATCH SKIP
    |                                            ^

SUBSCRIBE s FROM x MATCH a AFTER MATCH SKIP TO NEXT ROW
=> unexpected
1:53: expected a clause or the end of the statement, found 'ROW'
  1 | SUBSCRIBE s FROM x MATCH a AFTER MATCH SKIP TO NEXT ROW
    |                                                     ^^^
  hint: leave out ROW

SUBSCRIBE s FROM x MATCH a AFTER MATCH SKIP TO b
=> unexpected
1:48: expected FIRST, LAST or NEXT, found 'b'
  1 | SUBSCRIBE s FROM x MATCH a AFTER MATCH SKIP TO b
    |                                                ^
  hint: write SKIP TO FIRST b or SKIP TO LAST b

SUBSCRIBE s FROM x MATCH a AFTER SKIP TO NEXT
=> unexpected
1:34: expected MATCH, found 'SKIP'
  1 | SUBSCRIBE s FROM x MATCH a AFTER SKIP TO NEXT
    |                                  ^^^^

SUBSCRIBE s FROM x MATCH a AFTER MATCH CONSUM
=> unexpected
1:40: expected CONSUME, HOLD, LONGEST or SKIP, found 'CONSUM'
  1 | SUBSCRIBE s FROM x MATCH a AFTER MATCH CONSUM
    |                                        ^^^^^^
  hint: did you mean CONSUME?

SUBSCRIBE s FROM x MATCH a ONE ROW PER MATCH
=> unexpected
1:28: expected an operator, a clause or the end of the statement, found 'ONE'
  1 | SUBSCRIBE s FROM x MATCH a ONE ROW PER MATCH
    |                            ^^^
  hint: leave this out: every match is one notification

SUBSCRIBE s FROM x MATCH a RETURN a.v
=> unexpected-end
1:38: unexpected end of the text, expected AS or an operator
  1 | SUBSCRIBE s FROM x MATCH a RETURN a.v
    |                                      ^
  hint: name every column: RETURN expression AS name

SUBSCRIBE s FROM x MATCH a RETURN a.v, b.v
=> unexpected
1:38: expected AS or an operator, found ','
  1 | SUBSCRIBE s FROM x MATCH a RETURN a.v, b.v
    |                                      ^
  hint: name every column: RETURN expression AS name

SUBSCRIBE s FROM x MATCH a RETURN *
=> unexpected
1:35: expected a value, found '*'
  1 | SUBSCRIBE s FROM x MATCH a RETURN *
    |                                   ^
  hint: leave out RETURN: a notification then carries the variables and the events of all steps

SUBSCRIBE s FROM x MATCH a RETURN a.v AS v,
=> unexpected-end
1:44: unexpected end of the text, expected a value
  1 | SUBSCRIBE s FROM x MATCH a RETURN a.v AS v,
    |                                            ^
  hint: leave out the ',' before the end

SUBSCRIBE s FROM x MATCH a RETRUN a.v AS v
=> unexpected
1:28: expected an operator, a clause or the end of the statement, found 'RETRUN'
  1 | SUBSCRIBE s FROM x MATCH a RETRUN a.v AS v
    |                            ^^^^^^
  hint: did you mean RETURN?

SUBSCRIBE s FROM x MATCH a HAVING RETURN a.v AS v
=> unexpected
1:35: expected a condition, found 'RETURN'
  1 | SUBSCRIBE s FROM x MATCH a HAVING RETURN a.v AS v
    |                                   ^^^^^^

SUBSCRIBE s FROM x MATCH a FORECAST ABOVE 0.5
=> unexpected
1:37: expected WITHIN, found 'ABOVE'
  1 | SUBSCRIBE s FROM x MATCH a FORECAST ABOVE 0.5
    |                                     ^^^^^

SUBSCRIBE s FROM x MATCH a FORECAST WITHIN 5 EVENTS
=> unexpected-end
1:52: unexpected end of the text, expected ABOVE
  1 | SUBSCRIBE s FROM x MATCH a FORECAST WITHIN 5 EVENTS
    |                                                    ^

SUBSCRIBE s FROM x MATCH a FORECAST WITHIN 5 EVENTS ABOVE 50%
=> unexpected
1:61: expected a clause or the end of the statement, found '%'
  1 | SUBSCRIBE s FROM x MATCH a FORECAST WITHIN 5 EVENTS ABOVE 50%
    |                                                             ^
  hint: write a probability between 0 and 1: 0.8, not 80%

SUBSCRIBE s FROM x MATCH a LOSING 5% ABOVE 0.8
=> unexpected
1:36: expected ABOVE, OF or ',', found '%'
  1 | SUBSCRIBE s FROM x MATCH a LOSING 5% ABOVE 0.8
    |                                    ^
  hint: write a probability between 0 and 1: 0.8, not 80%

SUBSCRIBE s FROM x MATCH a LOSING 0.05
=> unexpected-end
1:39: unexpected end of the text, expected ABOVE, OF or ','
  1 | SUBSCRIBE s FROM x MATCH a LOSING 0.05
    |                                       ^

SUBSCRIBE s FROM x MATCH a LOSING 0.05 ABOVE 0.8 SCORE
=> unexpected-end
1:55: unexpected end of the text, expected INDEPENDENT or PUBLISHED
  1 | SUBSCRIBE s FROM x MATCH a LOSING 0.05 ABOVE 0.8 SCORE
    |                                                       ^

SUBSCRIBE s FROM x FOR t MATCH a
=> unexpected
1:20: expected MATCH, PER or ',', found 'FOR'
  1 | SUBSCRIBE s FROM x FOR t MATCH a
    |                    ^^^
  hint: put FOR EACH table directly before FROM

SUBSCRIBE s FOR t FROM x MATCH a
=> unexpected
1:17: expected EACH, found 't'
  1 | SUBSCRIBE s FOR t FROM x MATCH a
    |                 ^

-- Between statements

SUBSCRIBE s FROM x MATCH a SUBSCRIBE t FROM x MATCH b
=> unexpected
1:28: expected an operator, a clause or the end of the statement, found 'SUBSCRIBE'
  1 | SUBSCRIBE s FROM x MATCH a SUBSCRIBE t FROM x MATCH b
    |                            ^^^^^^^^^
  hint: end the statement before it with ';'

SUBSCRIBE s FROM x MATCH a; SUBSRIBE t FROM x MATCH b
=> unexpected
1:29: expected a step or a group, found 'SUBSRIBE'
  1 | SUBSCRIBE s FROM x MATCH a; SUBSRIBE t FROM x MATCH b
    |                             ^^^^^^^^
  hint: did you mean SUBSCRIBE?

SUBSCRIBE s FROM x MATCH a; SELECT b
=> unexpected
1:29: expected a step or a group, found 'SELECT'
  1 | SUBSCRIBE s FROM x MATCH a; SELECT b
    |                             ^^^^^^
  hint: start a statement with SUBSCRIBE name FROM stream MATCH pattern; list the output columns last, in RETURN

-- Streams

STREAM x (a INT b STRING) TIME t
=> unexpected
1:17: expected ',' or ')', found 'b'
  1 | STREAM x (a INT b STRING) TIME t
    |                 ^
  hint: did you forget a ',' before it?

STREAM x (a) TIME t
=> unexpected
1:12: expected a type, found ')'
  1 | STREAM x (a) TIME t
    |            ^

STREAM x (a VARCHAR) TIME t
=> unknown-type
1:13: unknown type 'VARCHAR'
  1 | STREAM x (a VARCHAR) TIME t
    |             ^^^^^^^
  hint: did you mean STRING?

STREAM x (a VARCHAR(20)) TIME t
=> unexpected
1:20: expected ',' or ')', found '('
  1 | STREAM x (a VARCHAR(20)) TIME t
    |                    ^
  hint: write the type without a length: STRING, not VARCHAR(20)

STREAM x (a INT)
=> unexpected-end
1:17: unexpected end of the text, expected TIME
  1 | STREAM x (a INT)
    |                 ^

STREAM x (a INT) TIEM t
=> unexpected
1:18: expected TIME, found 'TIEM'
  1 | STREAM x (a INT) TIEM t
    |                  ^^^^
  hint: did you mean TIME?

STREAM x TIME t LATE 5 s
=> unexpected
1:22: expected BY, found '5'
  1 | STREAM x TIME t LATE 5 s
    |                      ^

STREAM x TIME t TIES
=> unexpected-end
1:21: unexpected end of the text, expected SIMULTANEOUS
  1 | STREAM x TIME t TIES
    |                     ^

STREAM x TIME t LOSS
=> unexpected-end
1:21: unexpected end of the text, expected a probability
  1 | STREAM x TIME t LOSS
    |                     ^

STREAM x TIME t WATERMARK 5
=> unexpected
1:17: expected ID, ORDER BY, TIES, LATE BY, LET, LOSS, NULL or the end of the statement, found 'WATERMARK'
  1 | STREAM x TIME t WATERMARK 5
    |                 ^^^^^^^^^

CREATE STREAM x (a INT) TIME t
=> unexpected
1:1: expected SUBSCRIBE, STREAM or CORRELATE, found 'CREATE'
  1 | CREATE STREAM x (a INT) TIME t
    | ^^^^^^
  hint: declare a stream with STREAM name (attribute TYPE, ...) TIME attribute

-- Correlators

CORRELATE c FROM x DO accumulate(a, b)
=> unexpected
1:33: expected '{', found '('
  1 | CORRELATE c FROM x DO accumulate(a, b)
    |                                 ^

CORRELATE c FROM x DO acumulate{a, b}
=> unexpected
1:23: expected a step or an expression such as accumulate{...}, found 'acumulate'
  1 | CORRELATE c FROM x DO acumulate{a, b}
    |                       ^^^^^^^^^
  hint: did you mean accumulate?

CORRELATE c FROM x DO {a}
=> unexpected
1:23: expected a step or an expression such as accumulate{...}, found '{'
  1 | CORRELATE c FROM x DO {a}
    |                       ^

CORRELATE c FROM x DO do{a}
=> unexpected-end
1:28: unexpected end of the text, expected UNLESS
  1 | CORRELATE c FROM x DO do{a}
    |                            ^

CORRELATE c FROM x DO push(x){a}
=> unexpected
1:28: expected a string in single quotes, found 'x'
  1 | CORRELATE c FROM x DO push(x){a}
    |                            ^

CORRELATE c FROM x MATCH a
=> unexpected
1:20: expected DO, PER or ',', found 'MATCH'
  1 | CORRELATE c FROM x MATCH a
    |                    ^^^^^

CORRELATE c FROM x DO select{a b}
=> unexpected
1:32: expected ',' or '}', found 'b'
  1 | CORRELATE c FROM x DO select{a b}
    |                                ^
  hint: did you forget a ',' before it?

CORRELATE c FROM x DO repeat{a, b}
=> unexpected
1:31: expected '}', found ','
  1 | CORRELATE c FROM x DO repeat{a, b}
    |                               ^
  hint: join several parts: accumulate{...}, select{...}, sequential{...} or parallel{...}

CORRELATE c FOR EACH t FROM x MATCH a
=> unexpected
1:31: expected DO, PER or ',', found 'MATCH'
  1 | CORRELATE c FOR EACH t FROM x MATCH a
    |                               ^^^^^

CORRELATE c FROM x DO push('x'){a} FORECAST OF x WITHIN 5 EVENTS ABOVE 0.5
=> unexpected
1:48: expected a string in single quotes, found 'x'
  1 | CORRELATE c FROM x DO push('x'){a} FORECAST OF x WITHIN 5 EVENTS ABOVE 0.5
    |                                                ^
  hint: put a token in single quotes: FORECAST OF 'x'

CORRELATE c FROM x DO push('x'){a} FORECAST WITHIN 5 EVENTS ABOVE 0.5 DEFINE a AS v = 1
=> unexpected
1:71: expected the end of the statement, found 'DEFINE'
  1 | CORRELATE c FROM x DO push('x'){a} FORECAST WITHIN 5 EVENTS ABOVE 0.5 DEFINE a AS v = 1
    |                                                                       ^^^^^^
  hint: write DEFINE before FORECAST

SUBSCRIBE s FROM x MATCH a FORECAST OF 'a' WITHIN 5 EVENTS ABOVE 0.5
=> unexpected
1:37: expected WITHIN, found 'OF'
  1 | SUBSCRIBE s FROM x MATCH a FORECAST OF 'a' WITHIN 5 EVENTS ABOVE 0.5
    |                                     ^^
  hint: only a correlator names what it forecasts, its tokens; write FORECAST WITHIN

CORRELATE c FROM x DO in(p){a}
=> unexpected
1:28: expected DO, found '{'
  1 | CORRELATE c FROM x DO in(p){a}
    |                            ^

;
=> unexpected
1:1: expected SUBSCRIBE, STREAM or CORRELATE, found ';'
  1 | ;
    | ^

)
=> unexpected
1:1: expected SUBSCRIBE, STREAM or CORRELATE, found ')'
  1 | )
    | ^
  hint: delete it, or add the '(' that it closes

-- More slips

SUBSCRIBE s FROM x MATCH a DEFINE a AS lower(v = 'x'
=> unexpected-end
1:53: unexpected end of the text, expected ',', ')' or an operator
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS lower(v = 'x'
    |                                                     ^
  hint: close the '(' at 1:45

SUBSCRIBE s FROM x MATCH a DEFINE a AS v.w.x = 1
=> unexpected
1:43: expected ',', an operator, a clause or the end of the statement, found '.'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v.w.x = 1
    |                                           ^

SUBSCRIBE s FROM x MATCH a DEFINE a AS CASE WHEN v THEN 1 END = 1
=> not-a-condition
1:50: a condition must be true or false, this is INT
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS CASE WHEN v THEN 1 END = 1
    |                                                  ^
  hint: write a comparison, such as price > 0

SUBSCRIBE s FROM x MATCH a DEFINE a AS v = TIMESTAMP 2026
=> unexpected
1:54: expected a string in single quotes, found '2026'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v = TIMESTAMP 2026
    |                                                      ^^^^
  hint: write a point in time as TIMESTAMP '2026-01-31 12:00:00'

SUBSCRIBE 'x' FROM x MATCH a
=> unexpected
1:11: expected a name, found the string 'x'
  1 | SUBSCRIBE 'x' FROM x MATCH a
    |           ^^^
  hint: write a name without quotes, or in double quotes

SUBSCRIBE s FROM x PER MATCH a
=> unexpected
1:24: expected an attribute, found 'MATCH'
  1 | SUBSCRIBE s FROM x PER MATCH a
    |                        ^^^^^

SUBSCRIBE s FROM 'x' MATCH a
=> unexpected
1:18: expected a stream, found the string 'x'
  1 | SUBSCRIBE s FROM 'x' MATCH a
    |                  ^^^
  hint: write a name without quotes, or in double quotes

-- Names of statements and streams

SUBSCRIBE s FROM xx MATCH a
=> unknown-stream
1:18: unknown stream 'xx'
  1 | SUBSCRIBE s FROM xx MATCH a
    |                  ^^
  hint: did you mean 'x'?

SUBSCRIBE y FROM x MATCH a
=> stream-and-statement
1:11: 'y' names both a statement and an input stream
  1 | SUBSCRIBE y FROM x MATCH a
    |           ^
  hint: give the statement another name

SUBSCRIBE x FROM x MATCH a
=> cycle
1:18: these statements form a cycle: x reads x
  1 | SUBSCRIBE x FROM x MATCH a
    |                  ^
  hint: give the statement a name other than that of the stream it reads

SUBSCRIBE s FROM t MATCH a; SUBSCRIBE t FROM s MATCH a
=> cycle
1:46: these statements form a cycle: s reads t reads s
  1 | SUBSCRIBE s FROM t MATCH a; SUBSCRIBE t FROM s MATCH a
    |                                              ^
  hint: let one of them read another stream

SUBSCRIBE s FROM s MATCH a
=> cycle
1:18: these statements form a cycle: s reads s
  1 | SUBSCRIBE s FROM s MATCH a
    |                  ^
  hint: give the statement a name other than that of the stream it reads

SUBSCRIBE s FROM x MATCH a;
SUBSCRIBE s FROM x MATCH a
=> defined-twice
2:11: 's' is defined twice
  2 | SUBSCRIBE s FROM x MATCH a
    |           ^
  hint: rename one of them; the first is at 1:11

STREAM q (a INT, a STRING) TIME t
=> defined-twice
1:18: the attribute 'a' is defined twice
  1 | STREAM q (a INT, a STRING) TIME t
    |                  ^
  hint: rename one of them; the first is at 1:11

STREAM q (a INT, t STRING) TIME t
=> not-a-time
1:33: the time attribute 't' is STRING, not a TIMESTAMP or a number
  1 | STREAM q (a INT, t STRING) TIME t
    |                                 ^
  hint: declare 't' as TIMESTAMP, INT or FLOAT

STREAM q (a INT) TIME t LOSS 0.5 WHEN b = 1
=> unknown-attribute
1:39: unknown attribute 'b' of stream 'q'
  1 | STREAM q (a INT) TIME t LOSS 0.5 WHEN b = 1
    |                                       ^
  hint: known here: 'a', 't'; put a string in single quotes

STREAM q (a INT) TIME t LOSS 0.5 WHEN x.a = 1
=> one-event
1:39: 'x' cannot be used here: there is only one event
  1 | STREAM q (a INT) TIME t LOSS 0.5 WHEN x.a = 1
    |                                       ^
  hint: name an attribute of the event itself

STREAM q (a INT) TIME t LOSS 0.5 WHEN a = $x
=> variable-here
1:43: $x cannot be used here: there is only one event
  1 | STREAM q (a INT) TIME t LOSS 0.5 WHEN a = $x
    |                                           ^^
  hint: compare with a constant; variables relate the steps of a pattern

STREAM q (a INT) TIME t LOSS 0.5 WHEN prev.a = 1
=> no-previous
1:39: 'prev' has no meaning here
  1 | STREAM q (a INT) TIME t LOSS 0.5 WHEN prev.a = 1
    |                                       ^^^^^^
  hint: name an attribute of the event itself

STREAM q (a INT) TIME t LOSS 0.5 WHEN duration = 1
=> one-event
1:39: duration cannot be used here: there is only one event
  1 | STREAM q (a INT) TIME t LOSS 0.5 WHEN duration = 1
    |                                       ^^^^^^^^
  hint: name an attribute of the event itself

STREAM q (a INT) TIME t LOSS 0.5 WHEN a
=> not-a-condition
1:39: a condition must be true or false, this is INT
  1 | STREAM q (a INT) TIME t LOSS 0.5 WHEN a
    |                                       ^
  hint: write a comparison, such as price > 0

STREAM q (a INT, t INT) TIME t LATE BY 5 min
=> number-wanted
1:40: LATE BY has a unit, but time is a number here
  1 | STREAM q (a INT, t INT) TIME t LATE BY 5 min
    |                                        ^^^^^
  hint: write a plain number, in the unit of the time column

STREAM q (a INT, t TIMESTAMP) TIME t LATE BY 5
=> unit-wanted
1:46: LATE BY 5 has no unit
  1 | STREAM q (a INT, t TIMESTAMP) TIME t LATE BY 5
    |                                              ^
  hint: write 5 s, 5 min, ...

STREAM q TIME t LATE BY 5 min LATE BY 6 min
=> twice
1:31: LATE BY is given twice
  1 | STREAM q TIME t LATE BY 5 min LATE BY 6 min
    |                               ^^^^^^^
  hint: delete one of them

STREAM q TIME t TIES SIMULTANEOUS TIES SIMULTANEOUS
=> twice
1:35: TIES SIMULTANEOUS is given twice
  1 | STREAM q TIME t TIES SIMULTANEOUS TIES SIMULTANEOUS
    |                                   ^^^^^^^^^^^^^^^^^
  hint: delete one of them

STREAM q TIME t ID a ORDER BY b
 ID c
=> twice
2:2: ID is given twice
  2 |  ID c
    |  ^^
  hint: delete one of them

STREAM q TIME t LOSS 1.5
=> not-probability
1:22: 1.5 is not a probability between 0 and 1
  1 | STREAM q TIME t LOSS 1.5
    |                      ^^^
  hint: write 0.015 for 1.5%

STREAM q TIME t LOSS 5
=> not-probability
1:22: 5 is not a probability between 0 and 1
  1 | STREAM q TIME t LOSS 5
    |                      ^
  hint: write 0.05 for 5%

STREAM q (a NUMERIC, b FOO) TIME t
=> unknown-type
1:13: unknown type 'NUMERIC'
  1 | STREAM q (a NUMERIC, b FOO) TIME t
    |             ^^^^^^^
  hint: did you mean FLOAT?

STREAM q (b FOO) TIME t
=> unknown-type
1:13: unknown type 'FOO'
  1 | STREAM q (b FOO) TIME t
    |             ^^^
  hint: use one of the types BOOL, INT, FLOAT, STRING, TIMESTAMP

-- Streams together

SUBSCRIBE s FROM x, y MATCH a
=> mixed-time
1:21: the time of 'y' is TIMESTAMP, the time of 'x' is INT
  1 | SUBSCRIBE s FROM x, y MATCH a
    |                     ^
  hint: read only streams with the same kind of time in one FROM

SUBSCRIBE s FROM x, z MATCH a
=> mixed-ties
1:21: 'z' and 'x' differ in TIES
  1 | SUBSCRIBE s FROM x, z MATCH a
    |                     ^
  hint: declare TIES SIMULTANEOUS for all streams of one FROM, or for none

SUBSCRIBE s FROM x, w MATCH a
=> mixed-types
1:21: 'v' is STRING in 'w' and INT in a stream before it
  1 | SUBSCRIBE s FROM x, w MATCH a
    |                     ^
  hint: declare 'v' with the same type in all streams of one FROM

SUBSCRIBE s FROM x PER knd MATCH a
=> unknown-attribute
1:24: unknown attribute 'knd' of stream 'x'
  1 | SUBSCRIBE s FROM x PER knd MATCH a
    |                        ^^^
  hint: did you mean 'kind'?

-- Steps and negation

SUBSCRIBE s FROM x MATCH a ; a
=> step-twice
1:30: the step 'a' is used twice
  1 | SUBSCRIBE s FROM x MATCH a ; a
    |                              ^
  hint: give each use its own name and define them together: DEFINE a1, a2 AS ...

SUBSCRIBE s FROM x MATCH a ; prev
=> reserved
1:30: 'prev' cannot name a step: it is the event bound just before
  1 | SUBSCRIBE s FROM x MATCH a ; prev
    |                              ^^^^
  hint: give the step another name

SUBSCRIBE s FROM x MATCH (FIRST a)+
=> selected-repeated
1:33: 'FIRST a' cannot be repeated
  1 | SUBSCRIBE s FROM x MATCH (FIRST a)+
    |                                 ^
  hint: leave out FIRST or the repetition

SUBSCRIBE s FROM x MATCH FIRST (a ; b)
=> chosen-group
1:33: FIRST chooses among the events of one step, not of a group or a repetition
  1 | SUBSCRIBE s FROM x MATCH FIRST (a ; b)
    |                                 ^^^^^
  hint: put FIRST before a single step

SUBSCRIBE s FROM x MATCH (a ; b)[2]
=> numbered-group
1:27: [i] selects among the events of one step, not of a group
  1 | SUBSCRIBE s FROM x MATCH (a ; b)[2]
    |                           ^^^^^
  hint: put it behind one of the group's steps

SUBSCRIBE s FROM x MATCH (a ; b) @(v = 1)
=> condition-on-group
1:36: @(...) is a further condition on one step, not on a group
  1 | SUBSCRIBE s FROM x MATCH (a ; b) @(v = 1)
    |                                    ^^^^^
  hint: put it behind one of the group's steps

SUBSCRIBE s FROM x MATCH a[0]
=> not-whole
1:28: the index in [ ] must be a whole number of at least 1, not 0
  1 | SUBSCRIBE s FROM x MATCH a[0]
    |                            ^

SUBSCRIBE s FROM x MATCH a{0}
=> not-whole
1:28: a repetition count must be a whole number of at least 1, not 0
  1 | SUBSCRIBE s FROM x MATCH a{0}
    |                            ^

SUBSCRIBE s FROM x MATCH a{3,2}
=> empty-range
1:28: the repetition {3,2} has its bounds in the wrong order
  1 | SUBSCRIBE s FROM x MATCH a{3,2}
    |                            ^^^
  hint: write {2,3}

SUBSCRIBE s FROM x MATCH a ; !b
=> needs-within
1:30: '!b' first or last in a pattern needs WITHIN
  1 | SUBSCRIBE s FROM x MATCH a ; !b
    |                              ^^
  hint: add how long no 'b' may come: WITHIN 10 min

SUBSCRIBE s FROM x MATCH a ; LAST b
=> needs-within
1:35: 'LAST b' needs WITHIN here
  1 | SUBSCRIBE s FROM x MATCH a ; LAST b
    |                                   ^
  hint: add WITHIN, or a step that must follow: otherwise the last one is never known

SUBSCRIBE s FROM x MATCH a ; b+ AFTER MATCH LONGEST
=> needs-within
1:30: 'b' repeats last under ';', so AFTER MATCH LONGEST needs WITHIN
  1 | SUBSCRIBE s FROM x MATCH a ; b+ AFTER MATCH LONGEST
    |                              ^
  hint: add WITHIN 10 min: otherwise one more event may come at any time, and no match is the longest

SUBSCRIBE s FROM x MATCH a ;{v > 1} (b , c){2,} AFTER MATCH LONGEST
=> needs-within
1:38: a group repeats last under ';{θ}', so AFTER MATCH LONGEST needs WITHIN
  1 | SUBSCRIBE s FROM x MATCH a ;{v > 1} (b , c){2,} AFTER MATCH LONGEST
    |                                      ^^^^^
  hint: add WITHIN 10 min: otherwise one more event may come at any time, and no match is the longest

SUBSCRIBE s FROM x MATCH a , b+ AFTER MATCH LONGEST FORECAST WITHIN 5 EVENTS ABOVE 0.5
=> longest-forecast
1:84: FORECAST cannot be used with AFTER MATCH LONGEST: a match is known only after its end
  1 | SUBSCRIBE s FROM x MATCH a , b+ AFTER MATCH LONGEST FORECAST WITHIN 5 EVENTS ABOVE 0.5
    |                                                                                    ^^^
  hint: use AFTER MATCH SKIP PAST LAST, or write the FORECAST in a subscription of its own

SUBSCRIBE s FROM x MATCH a ; b AFTER MATCH LONGEST LOSING 0.1 ABOVE 0.5
=> longest-losing
1:69: LOSING cannot be used with AFTER MATCH LONGEST: an event that was lost has no length
  1 | SUBSCRIBE s FROM x MATCH a ; b AFTER MATCH LONGEST LOSING 0.1 ABOVE 0.5
    |                                                                     ^^^
  hint: use AFTER MATCH SKIP PAST LAST

SUBSCRIBE s FROM x MATCH a , !b ; c
=> negation-next
1:30: '!b' cannot stand next to ','
  1 | SUBSCRIBE s FROM x MATCH a , !b ; c
    |                              ^^
  hint: use ';' instead: between an event and the very next one there is nothing

SUBSCRIBE s FROM x MATCH a ;{v = 1} !b ; c
=> negation-where
1:28: ';{...}' cannot stand next to '!b' here
  1 | SUBSCRIBE s FROM x MATCH a ;{v = 1} !b ; c
    |                            ^^^^^^^^
  hint: write P ; !b ;{condition} Q

SUBSCRIBE s FROM x MATCH !b ;{v = 1} a WITHIN 5
=> negation-where
1:29: ';{...}' cannot stand next to '!b' here
  1 | SUBSCRIBE s FROM x MATCH !b ;{v = 1} a WITHIN 5
    |                             ^^^^^^^^
  hint: write !b ; Q

SUBSCRIBE s FROM x MATCH (a ; !b) ; c WITHIN 5
=> negation-place
1:31: '!b' is at the edge of a group, not between two events
  1 | SUBSCRIBE s FROM x MATCH (a ; !b) ; c WITHIN 5
    |                               ^^
  hint: put it between two parts of a sequence, or first or last in the whole pattern with WITHIN

SUBSCRIBE s FROM x MATCH a ;{b.v = 1} b
=> hidden-step
1:30: 'b' is bound after this condition is evaluated
  1 | SUBSCRIBE s FROM x MATCH a ;{b.v = 1} b
    |                              ^
  hint: put conditions on 'b' in DEFINE b AS ...

SUBSCRIBE s FROM x MATCH a ;{n.v = 1} b
=> unknown-step
1:30: unknown step 'n'
  1 | SUBSCRIBE s FROM x MATCH a ;{n.v = 1} b
    |                              ^
  hint: known here: 'a'

-- Clauses that do not fit

SUBSCRIBE s FROM x MATCH a DEFINE b AS v = 1
=> unused-definition
1:35: the pattern has no step 'b'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE b AS v = 1
    |                                   ^
  hint: known here: 'a'

SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 1, a AS v = 2
=> defined-twice
1:47: the step 'a' is defined twice
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 1, a AS v = 2
    |                                               ^
  hint: rename one of them; the first is at 1:35

SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 1 DEFINE a AS v = 2
=> twice
1:46: DEFINE is given twice
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 1 DEFINE a AS v = 2
    |                                              ^^^^^^
  hint: delete one of them

SUBSCRIBE s FROM x MATCH a WITHIN 5 WITHIN 6
=> twice
1:37: WITHIN is given twice
  1 | SUBSCRIBE s FROM x MATCH a WITHIN 5 WITHIN 6
    |                                     ^^^^^^
  hint: delete one of them

SUBSCRIBE s FROM x MATCH a AFTER MATCH HOLD
 AFTER MATCH CONSUME
=> twice
2:2: AFTER MATCH is given twice
  2 |  AFTER MATCH CONSUME
    |  ^^^^^^^^^^^
  hint: delete one of them

SUBSCRIBE s FROM x MATCH a WITHIN 0
=> not-positive
1:35: WITHIN must be greater than 0, not 0
  1 | SUBSCRIBE s FROM x MATCH a WITHIN 0
    |                                   ^

SUBSCRIBE s FROM x MATCH a WITHIN 5 min
=> number-wanted
1:35: WITHIN has a unit, but time is a number here
  1 | SUBSCRIBE s FROM x MATCH a WITHIN 5 min
    |                                   ^^^^^
  hint: write a plain number, in the unit of the time column

SUBSCRIBE s FROM y MATCH a WITHIN 5
=> unit-wanted
1:35: WITHIN 5 has no unit
  1 | SUBSCRIBE s FROM y MATCH a WITHIN 5
    |                                   ^
  hint: write 5 s, 5 min, ...

SUBSCRIBE s FROM y MATCH a FORECAST WITHIN 5 ABOVE 0.5
=> unit-wanted
1:44: FORECAST WITHIN 5 has no unit
  1 | SUBSCRIBE s FROM y MATCH a FORECAST WITHIN 5 ABOVE 0.5
    |                                            ^
  hint: write 5 s, 5 min, ...

SUBSCRIBE s FROM x MATCH a FORECAST WITHIN 0 ABOVE 0.5
=> not-positive
1:44: FORECAST WITHIN must be greater than 0, not 0
  1 | SUBSCRIBE s FROM x MATCH a FORECAST WITHIN 0 ABOVE 0.5
    |                                            ^

SUBSCRIBE s FROM x MATCH a FORECAST WITHIN 0 EVENTS ABOVE 0.5
=> not-whole
1:44: the horizon must be a whole number of at least 1, not 0
  1 | SUBSCRIBE s FROM x MATCH a FORECAST WITHIN 0 EVENTS ABOVE 0.5
    |                                            ^

CORRELATE c FROM x DO repeat{push('both'){a}} FORECAST OF 'bot' WITHIN 5 EVENTS ABOVE 0.5
=> unknown-token
1:59: 'c' emits no token 'bot'
  1 | CORRELATE c FROM x DO repeat{push('both'){a}} FORECAST OF 'bot' WITHIN 5 EVENTS ABOVE 0.5
    |                                                           ^^^^^
  hint: did you mean 'both'?

CORRELATE c FROM x DO repeat{push('u'){a}} FORECAST OF 'u', 'both' WITHIN 5 EVENTS ABOVE 0.5
=> unknown-token
1:61: 'c' emits no token 'both'
  1 | CORRELATE c FROM x DO repeat{push('u'){a}} FORECAST OF 'u', 'both' WITHIN 5 EVENTS ABOVE 0.5
    |                                                             ^^^^^^
  hint: known here: 'u'

CORRELATE c FROM x DO repeat{push('u'){a}} FORECAST OF 'u', 'u' WITHIN 5 EVENTS ABOVE 0.5
=> twice
1:61: OF names 'u' twice
  1 | CORRELATE c FROM x DO repeat{push('u'){a}} FORECAST OF 'u', 'u' WITHIN 5 EVENTS ABOVE 0.5
    |                                                             ^^^
  hint: delete one of them

CORRELATE c FROM x DO repeat{a} FORECAST WITHIN 5 EVENTS ABOVE 0.5
=> unknown-token
1:64: 'c' emits no token, so that there is nothing to forecast
  1 | CORRELATE c FROM x DO repeat{a} FORECAST WITHIN 5 EVENTS ABOVE 0.5
    |                                                                ^^^
  hint: name a token: push('done'){...}

CORRELATE c FROM x DO repeat{push('u'){a}} FORECAST WITHIN 0 ABOVE 0.5
=> not-positive
1:60: FORECAST WITHIN must be greater than 0, not 0
  1 | CORRELATE c FROM x DO repeat{push('u'){a}} FORECAST WITHIN 0 ABOVE 0.5
    |                                                            ^

-- Names and types in conditions

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS vv = 1
=> unknown-attribute
1:54: unknown attribute 'vv' of stream 'x'
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS vv = 1
    |                                                      ^^
  hint: did you mean 'v'?

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS kind = "denied"
=> unknown-attribute
1:61: unknown attribute 'denied' of stream 'x'
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS kind = "denied"
    |                                                             ^^^^^^^^
  hint: put a string in single quotes: 'denied'

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS kind = denied
=> unknown-attribute
1:61: unknown attribute 'denied' of stream 'x'
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS kind = denied
    |                                                             ^^^^^^
  hint: known here: 'at', 'kind', 'ok', 'time', 'v', 'w'; put a string in single quotes

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS v = 'x'
=> not-comparable
1:54: cannot compare INT with STRING
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS v = 'x'
    |                                                      ^^^^^^^
  hint: compare values of the same type

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS at = '2026-01-01'
=> not-comparable
1:54: cannot compare TIMESTAMP with STRING
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS at = '2026-01-01'
    |                                                      ^^^^^^^^^^^^^^^^^
  hint: write a point in time as TIMESTAMP '2026-01-01'

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS kind + 1 = 2
=> no-arithmetic
1:54: cannot calculate STRING + INT
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS kind + 1 = 2
    |                                                      ^^^^^^^^
  hint: calculate with numbers, times and durations only

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS kind + 'x' = 'y'
=> no-arithmetic
1:54: cannot calculate STRING + STRING
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS kind + 'x' = 'y'
    |                                                      ^^^^^^^^^^
  hint: calculate with numbers, times and durations only

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS -kind = 'x'
=> not-a-number
1:55: '-' needs a number, this is STRING
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS -kind = 'x'
    |                                                       ^^^^

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS v LIKE 'x'
=> wrong-type
1:54: LIKE needs STRING, this is INT
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS v LIKE 'x'
    |                                                      ^

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS lower(v) = 'x'
=> wrong-type
1:60: lower(...) needs STRING, this is INT
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS lower(v) = 'x'
    |                                                            ^

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS abs(kind) = 1
=> not-a-number
1:58: abs(...) needs a number, this is STRING
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS abs(kind) = 1
    |                                                          ^^^^

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS abs(v, w) = 1
=> wrong-arguments
1:54: abs(...) takes 1 argument, found 2
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS abs(v, w) = 1
    |                                                      ^^^^^^^^^

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS coalesce() = 1
=> wrong-arguments
1:54: coalesce(...) takes at least 1 argument, found 0
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS coalesce() = 1
    |                                                      ^^^^^^^^

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS foo(v) = 1
=> unknown-function
1:54: unknown function 'foo'
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS foo(v) = 1
    |                                                      ^^^
  hint: did you mean 'floor'?

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS lenght(kind) = 1
=> unknown-function
1:54: unknown function 'lenght'
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS lenght(kind) = 1
    |                                                      ^^^^^^
  hint: did you mean 'length'?

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS PREV(v) = 1
=> unknown-function
1:54: unknown function 'PREV'
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS PREV(v) = 1
    |                                                      ^^^^
  hint: write prev.attribute for the event bound just before

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS sum(v) = 1
=> not-step-attribute
1:58: sum(...) takes an attribute of a step
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS sum(v) = 1
    |                                                          ^
  hint: write sum(step.attribute)

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS sum(b.kind) = 1
=> not-a-number
1:54: sum(...) needs numbers, 'kind' is STRING
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS sum(b.kind) = 1
    |                                                      ^^^^^^^^^^^

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS avg(d.v) = 1
=> unknown-step
1:58: unknown step 'd'
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS avg(d.v) = 1
    |                                                          ^
  hint: known here: 'a', 'b', 'c'

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS count(b.v, c.v) = 1
=> wrong-arguments
1:54: count(...) takes 1 argument, found 2
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS count(b.v, c.v) = 1
    |                                                      ^^^^^^^^^^^^^^^

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS count(5) = 1
=> not-a-step
1:60: count(...) takes a step
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS count(5) = 1
    |                                                            ^
  hint: write count(step)

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS first(b) = 1
=> event-as-value
1:54: an event is not a value
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS first(b) = 1
    |                                                      ^^^^^^^^
  hint: name one of its attributes, as in first(b).price, or its time, t(first(b))

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS first(b.v) = 1
=> not-a-step
1:60: first(...) takes a step
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS first(b.v) = 1
    |                                                            ^^^
  hint: write first(b).v

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS t(b.v) = 1
=> not-a-step
1:56: t(...) takes a step
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS t(b.v) = 1
    |                                                        ^^^
  hint: write t(b)

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS t(5) = 1
=> not-a-step
1:56: t(...) takes a step
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS t(5) = 1
    |                                                        ^
  hint: write t(step)

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS t() = 1
=> wrong-arguments
1:54: t(...) takes 1 argument, found 0
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS t() = 1
    |                                                      ^

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS abs(v).w = 1
=> not-an-event
1:54: abs(...) is not an event and has no attributes
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS abs(v).w = 1
    |                                                      ^^^^^^^^
  hint: put .attribute only behind first(step) or last(step)

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS x.v = 1
=> unknown-step
1:54: unknown step 'x'
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS x.v = 1
    |                                                      ^
  hint: 'x' is a stream; write its attributes without a prefix

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS n.v = 1
=> hidden-step
1:54: 'n' is negated: it has no event
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS n.v = 1
    |                                                      ^
  hint: put conditions on 'n' in DEFINE n AS ...

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS $q = 5 OR v = 1
=> unbound-variable
1:54: no step binds the variable $q
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS $q = 5 OR v = 1
    |                                                      ^^
  hint: bind it in a step: attribute = $q, joined to other conditions by AND

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS :q = 1
=> no-table
1:54: the parameter :q needs FOR EACH
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS :q = 1
    |                                                      ^^
  hint: name its table before FROM: FOR EACH table

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS t(a) - t(b) < 5 min
=> not-comparable
1:54: cannot compare INT with DURATION
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS t(a) - t(b) < 5 min
    |                                                      ^^^^^^^^^^^^^^^^^^^
  hint: time is a number here: write the duration without a unit

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS a = 1
=> unknown-attribute
1:54: unknown attribute 'a' of stream 'x'
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS a = 1
    |                                                      ^
  hint: 'a' is a step; name one of its attributes, as in a.time

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS v = 99999999999999999999
=> too-large
1:58: 99999999999999999999 does not fit in 64 bits
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS v = 99999999999999999999
    |                                                          ^^^^^^^^^^^^^^^^^^^^

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS v = 1e999
=> too-large
1:58: 1e999 does not fit in 64 bits
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS v = 1e999
    |                                                          ^^^^^

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS at = TIMESTAMP 'x'
=> not-timestamp
1:69: 'x' is not a date and time
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS at = TIMESTAMP 'x'
    |                                                                     ^^^
  hint: write a point in time as TIMESTAMP '2026-01-31 12:00:00'

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS v = $q AND kind = $q
=> variable-types
1:72: $q is INT elsewhere and STRING here
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS v = $q AND kind = $q
    |                                                                        ^^
  hint: bind it to values of one type

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS t(prev) > 1 AND first(prev).v = 1
=> not-a-step
1:76: first(...) takes a step
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS t(prev) > 1 AND first(prev).v = 1
    |                                                                            ^^^^
  hint: write prev.attribute: 'prev' is one event already

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS (v = 1) = (w = 2) AND (v + 1) * kind > 3
=> no-arithmetic
1:76: cannot calculate INT * STRING
  1 | SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS (v = 1) = (w = 2) AND (v + 1) * kind > 3
    |                                                                            ^^^^^^^^^^^^^^
  hint: calculate with numbers, times and durations only

SUBSCRIBE s FROM x MATCH a ; b+ ; !n ; c DEFINE c AS v = 1 AND
   kind >
   5 AND ok
=> not-comparable
2:4: cannot compare STRING with INT
  2 |    kind >
    |    ^^^^^^
  hint: compare values of the same type

SUBSCRIBE s FROM y MATCH a ; b DEFINE b AS t(b) - t(a) < 5
=> not-comparable
1:44: cannot compare DURATION with INT
  1 | SUBSCRIBE s FROM y MATCH a ; b DEFINE b AS t(b) - t(a) < 5
    |                                            ^^^^^^^^^^^^^^^
  hint: give the duration a unit, as in 5 min

SUBSCRIBE s FROM y MATCH a ; b DEFINE b AS t(b) + t(a) < 5
=> no-arithmetic
1:44: cannot calculate TIMESTAMP + TIMESTAMP
  1 | SUBSCRIBE s FROM y MATCH a ; b DEFINE b AS t(b) + t(a) < 5
    |                                            ^^^^^^^^^^^
  hint: calculate with numbers, times and durations only

-- HAVING, RETURN, AFTER MATCH, LOSING, FOR EACH

SUBSCRIBE s FROM x MATCH a HAVING v > 3
=> bare-attribute
1:35: 'v' needs a step here
  1 | SUBSCRIBE s FROM x MATCH a HAVING v > 3
    |                                   ^
  hint: name the step, as in a.v

SUBSCRIBE s FROM x MATCH a RETURN a AS v
=> bare-attribute
1:35: the step 'a' is not a value
  1 | SUBSCRIBE s FROM x MATCH a RETURN a AS v
    |                                   ^
  hint: name one of its attributes, as in a.attribute, or its time, t(a)

SUBSCRIBE s FROM x MATCH a RETURN prev.v AS v
=> no-previous
1:35: 'prev' has no meaning here
  1 | SUBSCRIBE s FROM x MATCH a RETURN prev.v AS v
    |                                   ^^^^^^
  hint: name the step: step.attribute

SUBSCRIBE s FROM x MATCH a RETURN a.v AS v, a.w AS v
=> defined-twice
1:52: RETURN names 'v' twice
  1 | SUBSCRIBE s FROM x MATCH a RETURN a.v AS v, a.w AS v
    |                                                    ^
  hint: give each column its own name

SUBSCRIBE s FROM x MATCH a ; !b ; c RETURN b.v AS v
=> hidden-step
1:44: 'b' is negated: it has no event
  1 | SUBSCRIBE s FROM x MATCH a ; !b ; c RETURN b.v AS v
    |                                            ^

SUBSCRIBE s FROM x MATCH a RETURN $z AS v
=> unbound-variable
1:35: no step binds the variable $z
  1 | SUBSCRIBE s FROM x MATCH a RETURN $z AS v
    |                                   ^^
  hint: bind it in a step: attribute = $z, joined to other conditions by AND

SUBSCRIBE s FROM x MATCH a AFTER MATCH SKIP TO FIRST b
=> unknown-step
1:54: AFTER MATCH names 'b', which is not a step that binds an event
  1 | SUBSCRIBE s FROM x MATCH a AFTER MATCH SKIP TO FIRST b
    |                                                      ^
  hint: known here: 'a'

SUBSCRIBE s FROM x MATCH a LOSING 0.05 OF b ABOVE 0.5
=> unknown-step
1:43: LOSING names an unknown step 'b'
  1 | SUBSCRIBE s FROM x MATCH a LOSING 0.05 OF b ABOVE 0.5
    |                                           ^
  hint: known here: 'a'

SUBSCRIBE s FROM x MATCH a LOSING 0.05 OF a, 0.1 OF a ABOVE 0.5
=> twice
1:53: LOSING names 'a' twice
  1 | SUBSCRIBE s FROM x MATCH a LOSING 0.05 OF a, 0.1 OF a ABOVE 0.5
    |                                                     ^
  hint: delete one of them

SUBSCRIBE s FROM x MATCH a LOSING 0.05, 0.1 ABOVE 0.5
=> twice
1:41: LOSING gives a probability for all steps twice
  1 | SUBSCRIBE s FROM x MATCH a LOSING 0.05, 0.1 ABOVE 0.5
    |                                         ^^^
  hint: delete one of them

SUBSCRIBE s FROM x MATCH a LOSING ABOVE 0.5
=> no-loss
1:41: LOSING gives no loss probability, and no stream has a LOSS
  1 | SUBSCRIBE s FROM x MATCH a LOSING ABOVE 0.5
    |                                         ^^^
  hint: write LOSING 0.05 ABOVE ..., or LOSS 0.05 in the STREAM statement

SUBSCRIBE s FROM x MATCH a+ LOSING 0.05 ABOVE 0.5
=> losing-shape
1:26: LOSING cannot be used with this pattern
  1 | SUBSCRIBE s FROM x MATCH a+ LOSING 0.05 ABOVE 0.5
    |                          ^
  hint: use a sequence of single steps, with or without negations

SUBSCRIBE s FROM x MATCH a ; b ; c ; d ; e ; f ; g ; h ; i ; j ; k LOSING 0.05 ABOVE 0.5
=> losing-many
1:86: LOSING cannot be used with 11 steps that may be lost
  1 | SUBSCRIBE s FROM x MATCH a ; b ; c ; d ; e ; f ; g ; h ; i ; j ; k LOSING 0.05 ABOVE 0.5
    |                                                                                      ^^^
  hint: name those most often lost: LOSING 0.05 OF a, b, up to 10

SUBSCRIBE s FROM x MATCH a LOSING b ABOVE 0.5
=> unexpected
1:35: expected a probability before the step
  1 | SUBSCRIBE s FROM x MATCH a LOSING b ABOVE 0.5
    |                                   ^
  hint: write LOSING 0.05 OF x, y

SUBSCRIBE s FROM x MATCH a[2] ; b DEFINE a AS v = b.v
=> later-step
1:51: the DEFINE of 'a[i]' cannot name the later step 'b'
  1 | SUBSCRIBE s FROM x MATCH a[2] ; b DEFINE a AS v = b.v
    |                                                   ^
  hint: put the condition behind the step: a[i] @(...)

SUBSCRIBE s FOR EACH t FROM x MATCH a DEFINE a AS v > :limt
=> unknown-column
1:55: unknown column ':limt'
  1 | SUBSCRIBE s FOR EACH t FROM x MATCH a DEFINE a AS v > :limt
    |                                                       ^^^^^
  hint: did you mean 'limit'?

-- Correlators and derived streams

CORRELATE c FROM x DO a DEFINE b AS v = 1
=> unused-definition
1:32: the expression has no step 'b'
  1 | CORRELATE c FROM x DO a DEFINE b AS v = 1
    |                                ^
  hint: known here: 'a'

CORRELATE c FROM x DO repeat(0){a}
=> not-whole
1:30: the count of repeat(n) must be a whole number of at least 1, not 0
  1 | CORRELATE c FROM x DO repeat(0){a}
    |                              ^

CORRELATE c FROM x DO accumulate{a, b}; SUBSCRIBE s FROM c MATCH a DEFINE a AS tokn = 'x'
=> unknown-attribute
1:80: unknown attribute 'tokn' of stream 'c'
  1 | CORRELATE c FROM x DO accumulate{a, b}; SUBSCRIBE s FROM c MATCH a DEFINE a AS tokn = 'x'
    |                                                                                ^^^^
  hint: did you mean 'token'?

SUBSCRIBE a FROM x MATCH p DEFINE p AS v = $k;
SUBSCRIBE b FROM a MATCH q DEFINE q AS kk = 1;
=> unknown-attribute
2:40: unknown attribute 'kk' of stream 'a'
  2 | SUBSCRIBE b FROM a MATCH q DEFINE q AS kk = 1;
    |                                        ^^
  hint: did you mean 'k'?

-- What a fresh pair of eyes found

SUBSCRIBE s FROM x, x MATCH a
=> twice
1:21: FROM names 'x' twice
  1 | SUBSCRIBE s FROM x, x MATCH a
    |                     ^
  hint: delete one of them

SUBSCRIBE s FROM x PER v, v MATCH a
=> twice
1:27: PER names 'v' twice
  1 | SUBSCRIBE s FROM x PER v, v MATCH a
    |                           ^
  hint: delete one of them

SUBSCRIBE s FROM x MATCH a ;{v = $u} b DEFINE b AS v = $u
=> unbound-variable
1:34: $u is bound after this condition is evaluated
  1 | SUBSCRIBE s FROM x MATCH a ;{v = $u} b DEFINE b AS v = $u
    |                                  ^^
  hint: name only variables that an earlier step binds

SUBSCRIBE s FROM x MATCH LAST a WITHIN 5
=> never-known
1:31: 'LAST a' is the only step: its last event is never known
  1 | SUBSCRIBE s FROM x MATCH LAST a WITHIN 5
    |                               ^
  hint: add another step, or leave out LAST

STREAM l (kind STRING) TIME t LOSS 0.1 WHEN kind LIKE 'a%'; SUBSCRIBE s FROM l MATCH a ; b DEFINE a AS kind = 'c' LOSING ABOVE 0.5
=> undecided-loss
1:86: cannot decide whether LOSS ... WHEN applies to the step 'a'
  1 | STREAM l (kind STRING) TIME t LOSS 0.1 WHEN kind LIKE 'a%'; SUBSCRIBE s FROM l MATCH a ; b DEFINE a AS kind = 'c' LOSING ABOVE 0.5
    |                                                                                      ^
  hint: repeat the WHEN in its condition, or give its probability here: LOSING 0.05 OF a

STREAM l (kind STRING) TIME t LOSS 0.1; STREAM m (kind STRING) TIME t; SUBSCRIBE s FROM l, m MATCH a ; b DEFINE a AS stream = 'l' LOSING ABOVE 0.5
=> undecided-loss
1:104: cannot decide which stream the step 'b' reads
  1 | STREAM l (kind STRING) TIME t LOSS 0.1; STREAM m (kind STRING) TIME t; SUBSCRIBE s FROM l, m MATCH a ; b DEFINE a AS stream = 'l' LOSING ABOVE 0.5
    |                                                                                                        ^
  hint: add stream = 'l' to its condition, or give its probability here: LOSING 0.05 OF b

SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 9223372036854775808
=> too-large
1:44: 9223372036854775808 does not fit in 64 bits
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 9223372036854775808
    |                                            ^^^^^^^^^^^^^^^^^^^

-- LET and NULL

STREAM s (v INT, w FLOAT, kind STRING) TIME time LET v AS 1
=> defined-twice
1:54: LET defines 'v', which is an attribute already
  1 | STREAM s (v INT, w FLOAT, kind STRING) TIME time LET v AS 1
    |                                                      ^
  hint: give the new attribute another name

STREAM s (v INT, w FLOAT, kind STRING) TIME time LET time AS 1
=> defined-twice
1:54: LET defines 'time', which is an attribute already
  1 | STREAM s (v INT, w FLOAT, kind STRING) TIME time LET time AS 1
    |                                                      ^^^^
  hint: give the new attribute another name

STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d AS v, d AS w
=> defined-twice
1:62: LET defines 'd', which is an attribute already
  1 | STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d AS v, d AS w
    |                                                              ^
  hint: give the new attribute another name

STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d AS d + 1
=> let-order
1:59: 'd' refers to itself
  1 | STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d AS d + 1
    |                                                           ^
  hint: name only attributes of the event and earlier ones of LET

STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d AS e, e AS 1
=> let-order
1:59: 'e' is defined after 'd'
  1 | STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d AS e, e AS 1
    |                                                           ^
  hint: put 'e' before 'd'

STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d AS b.v
=> one-event
1:59: 'b' cannot be used here: there is only one event
  1 | STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d AS b.v
    |                                                           ^
  hint: name an attribute of the event itself

STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d AS sum(b.v)
=> one-event
1:63: 'b' cannot be used here: there is only one event
  1 | STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d AS sum(b.v)
    |                                                               ^
  hint: name an attribute of the event itself

STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d AS prev.v
=> no-previous
1:59: 'prev' has no meaning here
  1 | STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d AS prev.v
    |                                                           ^^^^^^
  hint: name an attribute of the event itself

STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d AS $x
=> variable-here
1:59: $x cannot be used here: there is only one event
  1 | STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d AS $x
    |                                                           ^^
  hint: compare with a constant; variables relate the steps of a pattern

STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d AS sqrt(kind)
=> not-a-number
1:64: sqrt(...) needs a number, this is STRING
  1 | STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d AS sqrt(kind)
    |                                                                ^^^^

STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d AS
=> unexpected-end
1:58: unexpected end of the text, expected a value
  1 | STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d AS
    |                                                          ^

STREAM s (v INT, w FLOAT, kind STRING) TIME time LET AS 1
=> unexpected
1:54: expected a name, found 'AS'
  1 | STREAM s (v INT, w FLOAT, kind STRING) TIME time LET AS 1
    |                                                      ^^

STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d
=> unexpected-end
1:55: unexpected end of the text, expected AS
  1 | STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d
    |                                                       ^
  hint: write LET name AS expression

STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d AS 1 LET e AS 2
=> twice
1:61: LET is given twice
  1 | STREAM s (v INT, w FLOAT, kind STRING) TIME time LET d AS 1 LET e AS 2
    |                                                             ^^^
  hint: delete one of them

STREAM s (v INT, w FLOAT, kind STRING) TIME time NULL
=> unexpected-end
1:54: unexpected end of the text, expected a number or a string in single quotes
  1 | STREAM s (v INT, w FLOAT, kind STRING) TIME time NULL
    |                                                      ^

STREAM s (v INT, w FLOAT, kind STRING) TIME time NULL NA
=> unexpected
1:55: expected a number or a string in single quotes, found 'NA'
  1 | STREAM s (v INT, w FLOAT, kind STRING) TIME time NULL NA
    |                                                       ^^
  hint: put a text in single quotes: NULL 'NA'

STREAM s (v INT, w FLOAT, kind STRING) TIME time NULL 'NA' NULL -99
=> twice
1:60: NULL is given twice
  1 | STREAM s (v INT, w FLOAT, kind STRING) TIME time NULL 'NA' NULL -99
    |                                                            ^^^^
  hint: delete one of them

STREAM s (v INT, w FLOAT, kind STRING) TIME time NULL -'NA'
=> unexpected
1:56: expected a number, found the string 'NA'
  1 | STREAM s (v INT, w FLOAT, kind STRING) TIME time NULL -'NA'
    |                                                        ^^^^

-- CASE and functions

SUBSCRIBE s FROM x MATCH a DEFINE a AS regexp_like(kind, '[a')
=> bad-pattern
1:58: '[a' is not a regular expression: missing ]: [a
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS regexp_like(kind, '[a')
    |                                                          ^^^^
  hint: patterns have the syntax of RE2; to look for a plain text write contains(text, part)

SUBSCRIBE s FROM x MATCH a DEFINE a AS regexp_like(kind, kind)
=> not-constant
1:58: regexp_like(...) takes a constant text as its second argument
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS regexp_like(kind, kind)
    |                                                          ^^^^
  hint: write regexp_like(text, '^[a-z]+$')

SUBSCRIBE s FROM x MATCH a DEFINE a AS regexp_like(kind, NULL)
=> not-constant
1:58: regexp_like(...) takes a constant text as its second argument
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS regexp_like(kind, NULL)
    |                                                          ^^^^
  hint: write regexp_like(text, '^[a-z]+$')

SUBSCRIBE s FROM x MATCH a DEFINE a AS regexp_like(v, 'a')
=> wrong-type
1:52: regexp_like(...) needs STRING, this is INT
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS regexp_like(v, 'a')
    |                                                    ^

SUBSCRIBE s FROM x MATCH a DEFINE a AS round(w, v) = 1
=> not-constant
1:49: round(...) takes a constant whole number from -18 to 18 as its second argument
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS round(w, v) = 1
    |                                                 ^
  hint: write round(number, 2)

SUBSCRIBE s FROM x MATCH a DEFINE a AS round(w, 30) = 1
=> not-constant
1:49: round(...) takes a constant whole number from -18 to 18 as its second argument
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS round(w, 30) = 1
    |                                                 ^^
  hint: write round(number, 2)

SUBSCRIBE s FROM x MATCH a DEFINE a AS round(kind) = 1
=> not-a-number
1:46: round(...) needs a number, this is STRING
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS round(kind) = 1
    |                                              ^^^^

SUBSCRIBE s FROM x MATCH a DEFINE a AS floor(kind) = 1
=> not-a-number
1:46: floor(...) needs a number, this is STRING
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS floor(kind) = 1
    |                                              ^^^^

SUBSCRIBE s FROM x MATCH a DEFINE a AS pow(w, kind) = 1
=> not-a-number
1:47: pow(...) needs a number, this is STRING
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS pow(w, kind) = 1
    |                                               ^^^^

SUBSCRIBE s FROM x MATCH a DEFINE a AS hour(at, 'Europe/Berlni') = 1
=> unknown-zone
1:49: unknown time zone 'Europe/Berlni'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS hour(at, 'Europe/Berlni') = 1
    |                                                 ^^^^^^^^^^^^^^^
  hint: did you mean 'Europe/Berlin'?

SUBSCRIBE s FROM x MATCH a DEFINE a AS hour(at, kind) = 1
=> not-constant
1:49: hour(...) takes the name of a time zone as its second argument
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS hour(at, kind) = 1
    |                                                 ^^^^
  hint: write hour(time, 'Europe/Berlin')

SUBSCRIBE s FROM x MATCH a DEFINE a AS hour(v) = 1
=> wrong-type
1:45: hour(...) needs TIMESTAMP, this is INT
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS hour(v) = 1
    |                                             ^

SUBSCRIBE s FROM x MATCH a DEFINE a AS substr(kind) = 'a'
=> wrong-arguments
1:40: substr(...) takes 2 or 3 arguments, found 1
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS substr(kind) = 'a'
    |                                        ^^^^^^^^^^^^

SUBSCRIBE s FROM x MATCH a DEFINE a AS substr(kind, 1.5) = 'a'
=> wrong-type
1:53: substr(...) needs INT, this is FLOAT
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS substr(kind, 1.5) = 'a'
    |                                                     ^^^

SUBSCRIBE s FROM x MATCH a DEFINE a AS substr(kind, 1, 2, 3) = 'a'
=> wrong-arguments
1:40: substr(...) takes 2 or 3 arguments, found 4
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS substr(kind, 1, 2, 3) = 'a'
    |                                        ^^^^^^^^^^^^^^^^^^^^^

SUBSCRIBE s FROM x MATCH a DEFINE a AS sqrt(v, w) = 1
=> wrong-arguments
1:40: sqrt(...) takes 1 argument, found 2
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS sqrt(v, w) = 1
    |                                        ^^^^^^^^^^

SUBSCRIBE s FROM x MATCH a DEFINE a AS CASE WHEN v > 1 THEN 1 ELSE 'a' END = 1
=> not-comparable
1:68: cannot compare INT with STRING
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS CASE WHEN v > 1 THEN 1 ELSE 'a' END = 1
    |                                                                    ^^^
  hint: compare values of the same type

SUBSCRIBE s FROM x MATCH a DEFINE a AS CASE v WHEN 1 THEN 2 END = 2
=> unexpected
1:40: expected a condition, found 'CASE'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS CASE v WHEN 1 THEN 2 END = 2
    |                                        ^^^^
  hint: write CASE WHEN condition THEN value ELSE value END

SUBSCRIBE s FROM x MATCH a DEFINE a AS CASE WHEN v > 1 THEN 2
=> unexpected-end
1:62: unexpected end of the text, expected END, ELSE, WHEN or an operator
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS CASE WHEN v > 1 THEN 2
    |                                                              ^

SUBSCRIBE s FROM x MATCH a DEFINE a AS CASE WHEN v > 1 ELSE 2 END = 2
=> unexpected
1:56: expected THEN or an operator, found 'ELSE'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS CASE WHEN v > 1 ELSE 2 END = 2
    |                                                        ^^^^

SUBSCRIBE s FROM x MATCH a DEFINE a AS CASE v > 1 THEN 2 END = 2
=> unexpected
1:40: expected a condition, found 'CASE'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS CASE v > 1 THEN 2 END = 2
    |                                        ^^^^
  hint: write CASE WHEN condition THEN value ELSE value END

SUBSCRIBE s FROM x MATCH a DEFINE a AS kind RLIKE 'a'
=> unexpected
1:45: expected ',', an operator, a clause or the end of the statement, found 'RLIKE'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS kind RLIKE 'a'
    |                                             ^^^^^
  hint: write regexp_like(attribute, 'pattern')

SUBSCRIBE s FROM x MATCH a DEFINE a AS ceiling(w) = 1
=> unknown-function
1:40: unknown function 'ceiling'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS ceiling(w) = 1
    |                                        ^^^^^^^
  hint: did you mean 'ceil'?

SUBSCRIBE s FROM x MATCH a DEFINE a AS dayofweek(at) = 1
=> unknown-function
1:40: unknown function 'dayofweek'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS dayofweek(at) = 1
    |                                        ^^^^^^^^^
  hint: write weekday(time): Monday is 0, Sunday 6

SUBSCRIBE s FROM x MATCH a DEFINE a AS substring(kind, 1) = 'a'
=> unknown-function
1:40: unknown function 'substring'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS substring(kind, 1) = 'a'
    |                                        ^^^^^^^^^
  hint: did you mean 'substr'?

SUBSCRIBE s FROM x MATCH a DEFINE a AS log(w) = 1
=> unknown-function
1:40: unknown function 'log'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS log(w) = 1
    |                                        ^^^
  hint: write ln(x) for the natural logarithm, ln(x) / ln(10) for the decimal one

SUBSCRIBE s FROM x MATCH a DEFINE a AS extract(hour FROM at) = 1
=> unexpected
1:53: expected ',', ')' or an operator, found 'FROM'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS extract(hour FROM at) = 1
    |                                                     ^^^^
  hint: write year(time), month(time), day(time), hour(time) or minute(time)

SUBSCRIBE s FROM x MATCH a DEFINE a AS extract(at) = 1
=> unknown-function
1:40: unknown function 'extract'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS extract(at) = 1
    |                                        ^^^^^^^
  hint: write year(time), month(time), day(time), hour(time) or minute(time)

SUBSCRIBE s FROM x MATCH a DEFINE a AS regexp(kind, 'a')
=> unknown-function
1:40: unknown function 'regexp'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS regexp(kind, 'a')
    |                                        ^^^^^^
  hint: did you mean 'regexp_like'?

SUBSCRIBE s FROM x MATCH a DEFINE a AS rlike(kind, 'a')
=> unknown-function
1:40: unknown function 'rlike'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS rlike(kind, 'a')
    |                                        ^^^^^
  hint: did you mean 'regexp_like'?

SUBSCRIBE s FROM x MATCH a DEFINE a AS startswith(kind, 'a')
=> unknown-function
1:40: unknown function 'startswith'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS startswith(kind, 'a')
    |                                        ^^^^^^^^^^
  hint: did you mean 'starts_with'?

SUBSCRIBE s FROM x MATCH a DEFINE a AS power(w, 2) = 1
=> unknown-function
1:40: unknown function 'power'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS power(w, 2) = 1
    |                                        ^^^^^
  hint: did you mean 'pow'?

SUBSCRIBE s FROM x MATCH a DEFINE a AS if(v > 1, 2, 3) = 2
=> unknown-function
1:40: unknown function 'if'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS if(v > 1, 2, 3) = 2
    |                                        ^^
  hint: write CASE WHEN condition THEN value ELSE value END

SUBSCRIBE s FROM x MATCH a DEFINE a AS nullif(v, 1) = 2
=> unknown-function
1:40: unknown function 'nullif'
  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS nullif(v, 1) = 2
    |                                        ^^^^^^
  hint: known here: 'abs', 'avg', 'ceil', 'coalesce', 'contains', 'count', 'day', 'ends_with', …
"""

#: Texts that do not look like what they are: line ends, tabs, wide and invisible characters, and very long ones.
ODD = [
    (
        "unexpected",
        "SUBSCRIBE s\r\nFROM x\r\nMATCH a b\r\n",
        "3:9: expected an operator, a clause or the end of the statement, found 'b'\n"
        "  3 | MATCH a b\n"
        "    |         ^\n"
        "  hint: put ';' (later), ',' (directly after), '&' (any order) or '|' (either) between two steps",
    ),
    (
        "unexpected",
        "\tSUBSCRIBE s FROM x\n\tMATCH\ta\tb",
        "2:10: expected an operator, a clause or the end of the statement, found 'b'\n"
        "  2 | \tMATCH\ta\tb\n"
        "    | \t     \t \t^\n"
        "  hint: put ';' (later), ',' (directly after), '&' (any order) or '|' (either) between two steps",
    ),
    (
        "unknown-attribute",
        "SUBSCRIBE größe FROM x MATCH a DEFINE a AS kind = 'äöü' AND vv = 1",
        "1:61: unknown attribute 'vv' of stream 'x'\n"
        "  1 | SUBSCRIBE größe FROM x MATCH a DEFINE a AS kind = 'äöü' AND vv = 1\n"
        "    |                                                             ^^\n"
        "  hint: did you mean 'v'?",
    ),
    (
        "unknown-attribute",
        "SUBSCRIBE s FROM x MATCH a DEFINE a AS kind = '温度計' AND vv = 1",
        "1:57: unknown attribute 'vv' of stream 'x'\n"
        "  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS kind = '温度計' AND vv = 1\n"
        "    |                                                            ^^\n"
        "  hint: did you mean 'v'?",
    ),
    (
        "unknown-attribute",
        "SUBSCRIBE s FROM x MATCH a DEFINE a AS kind = 'e\u0301e\u0301' AND vv = 1",
        "1:58: unknown attribute 'vv' of stream 'x'\n"
        "  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS kind = 'e\u0301e\u0301' AND vv = 1\n"
        "    |                                                        ^^\n"
        "  hint: did you mean 'v'?",
    ),
    (
        "unexpected",
        "\ufeffSUBSCRIBE s FROM x MATCH a b",
        "1:28: expected an operator, a clause or the end of the statement, found 'b'\n"
        "  1 | SUBSCRIBE s FROM x MATCH a b\n"
        "    |                            ^\n"
        "  hint: put ';' (later), ',' (directly after), '&' (any order) or '|' (either) between two steps",
    ),
    (
        "unexpected",
        "\u200bSUBSCRIBE s FROM x MATCH a",
        "1:1: expected SUBSCRIBE, STREAM or CORRELATE, found the character U+200B\n"
        "  1 | �SUBSCRIBE s FROM x MATCH a\n"
        "    | ^\n"
        "  hint: delete this invisible character",
    ),
    (
        "unexpected",
        "SUBSCRIBE s FROM x MATCH a\x00",
        "1:27: expected an operator, a clause or the end of the statement, found the character U+0000\n"
        "  1 | SUBSCRIBE s FROM x MATCH a�\n"
        "    |                           ^\n"
        "  hint: delete this invisible character",
    ),
    (
        "unknown-attribute",
        "SUBSCRIBE s FROM x MATCH a; -- the first\n"
        "\n"
        "-- and\n"
        "SUBSCRIBE t\n"
        "  FROM x\n"
        "  MATCH a ; b\n"
        "  DEFINE b AS vv = 1;\n"
        "SUBSCRIBE u FROM x MATCH a",
        "7:15: unknown attribute 'vv' of stream 'x'\n"
        "  7 |   DEFINE b AS vv = 1;\n"
        "    |               ^^\n"
        "  hint: did you mean 'v'?",
    ),
    (
        "not-comparable",
        "SUBSCRIBE s FROM x MATCH a DEFINE a AS kind = 'one\ntwo' AND v = 'x'",
        "2:10: cannot compare INT with STRING\n"
        "  2 | two' AND v = 'x'\n"
        "    |          ^^^^^^^\n"
        "  hint: compare values of the same type",
    ),
    (
        "unexpected",
        'SUBSCRIBE "s\0t" FROM x MATCH a',
        "1:11: a name cannot have the character NUL\n"
        '  1 | SUBSCRIBE "s\N{REPLACEMENT CHARACTER}t" FROM x MATCH a\n'
        "    |           ^\n"
        "  hint: leave the character out",
    ),
    (
        "unclosed",
        "SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 'one\ntwo",
        "1:44: the quote ' is opened here and never closed\n"
        "  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v = 'one\n"
        "    |                                            ^\n"
        "  hint: close the quote; write a quote inside a string twice: 'it''s'",
    ),
    (
        "not-comparable",
        "SUBSCRIBE s FROM x MATCH a DEFINE a AS v IN ('one\ntwo') ",
        "1:46: cannot compare INT with STRING\n"
        "  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS v IN ('one\n"
        "    |                                              ^^^^\n"
        "  hint: compare values of the same type",
    ),
    (
        "unexpected",
        "SUBSCRIBE s FROM x MATCH a 'one\ntwo'",
        "1:28: expected an operator, a clause or the end of the statement, found the string 'one…\n"
        "  1 | SUBSCRIBE s FROM x MATCH a 'one\n"
        "    |                            ^^^^",
    ),
    (
        "not-comparable",
        "SUBSCRIBE s FROM x MATCH a DEFINE a AS ( abs( v ) + 1 ) > kind",
        "1:40: cannot compare INT with STRING\n"
        "  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS ( abs( v ) + 1 ) > kind\n"
        "    |                                        ^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  hint: compare values of the same type",
    ),
    (
        "not-comparable",
        "SUBSCRIBE s FROM x MATCH a DEFINE a AS kind >\n    (v + 1)",
        "1:40: cannot compare STRING with INT\n"
        "  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS kind >\n"
        "    |                                        ^^^^^^\n"
        "  hint: compare values of the same type",
    ),
    (
        "unexpected-end",
        "SUBSCRIBE s FROM x -- no pattern follows\n\n  \n",
        "1:19: unexpected end of the text, expected MATCH, PER or ','\n"
        "  1 | SUBSCRIBE s FROM x -- no pattern follows\n"
        "    |                   ^",
    ),
    (
        "not-a-condition",
        "SUBSCRIBE s FROM x MATCH a DEFINE a AS NOT (v)",
        "1:45: a condition must be true or false, this is INT\n"
        "  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS NOT (v)\n"
        "    |                                             ^\n"
        "  hint: write a comparison, such as price > 0",
    ),
    (
        "too-large",
        "SUBSCRIBE s FROM x MATCH a WITHIN 1e300 weeks",
        "1:35: 1e300 weeks does not fit in 64 bits of microseconds\n"
        "  1 | SUBSCRIBE s FROM x MATCH a WITHIN 1e300 weeks\n"
        "    |                                   ^^^^^^^^^^^",
    ),
    (
        "too-large",
        "SUBSCRIBE s FROM x MATCH a DEFINE a AS 99999999999999999999999999999999999999999999999999 = v",
        "1:40: 9999999999999999999999999999999999999999… does not fit in 64 bits\n"
        "  1 | SUBSCRIBE s FROM x MATCH a DEFINE a AS 99999999999999999999999999999999999999999999999999 = v\n"
        "    |                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
    ),
    (
        "too-deep",
        "CORRELATE c FROM x DO\n" + "fail{\n" * 160 + "a" + "}" * 160,
        "162:1: this is nested more than 150 levels deep\n"
        "  162 | a" + "}" * 160 + "\n"
        "      | ^\n"
        "  hint: move inner parts to a correlator of their own, whose tokens this one reads",
    ),
    (
        "too-deep",
        "SUBSCRIBE s FROM x MATCH a DEFINE a AS\n" + "NOT " * 160 + "ok",
        "2:641: this is nested more than 150 levels deep\n"
        "  2 | …T " + "NOT " * 16 + "ok\n"
        "    |                                                                    ^^\n"
        "  hint: use IN (...) for a long list of values, or bracket a long chain: (a OR b) OR (c OR d)",
    ),
    (
        "too-many-modes",
        "CORRELATE m FROM s DO\n" + "in(a) do{b}\n" * 501,
        "2:4: in ... do has 501 modes, more than 500\n"
        "  2 | in(a) do{b}\n"
        "    |    ^\n"
        "  hint: divide them into several correlators",
    ),
]


def pairs() -> list[tuple[str, str, str]]:
    """Code, text and error of every mistake."""
    found = []
    for block in MISTAKES.strip("\n").split("\n\n"):
        if not block.startswith("-- "):
            text, code, error = re.split(r"\n=> (.*)\n", block)
            found.append((code, text, error))
    return [*found, *ODD]


PAIRS = pairs()


def refusal(text: str) -> ft.LanguageError:
    with pytest.raises(ft.LanguageError) as caught:
        ft.parse(text).checked(SCHEMAS, TABLES)
    return caught.value


@pytest.mark.parametrize(("code", "text", "error"), PAIRS, ids=[f"{c}: {t[:60]}" for c, t, _ in PAIRS])
def test_error(code: str, text: str, error: str) -> None:
    found = refusal(text)
    assert str(found) == error
    assert found.code == code


def test_every_code_is_here() -> None:
    folder = Path(parser.__file__).parent
    raised = {
        code
        for path in [*folder.glob("*.py"), *folder.glob("rules/*.py"), *folder.glob("syntax_hints/*.py")]
        for code in re.findall(
            r"""(?:refuse|LanguageError|__init__)\(\s*"([a-z-]+)",""", path.read_text(encoding="utf-8")
        )
    }
    assert len(raised) > 50
    assert raised <= {code for code, _, _ in PAIRS}


def test_no_text_is_here_twice() -> None:
    assert len({text for _, text, _ in PAIRS}) == len(PAIRS) >= 80


@pytest.mark.parametrize("text", ["", "  \n\t", "-- nothing to say"])
def test_nothing_is_no_mistake(text: str) -> None:
    assert ft.parse(text).program.statements == ()


def test_the_file_is_named() -> None:
    with pytest.raises(ft.LanguageError) as caught:
        ft.parse("SUBSCRIBE s", "rules.ft")
    assert str(caught.value).startswith("rules.ft:1:12: unexpected end of the text, expected FROM or FOR EACH\n")


def test_an_error_of_the_schemas_comes_before_the_first_event() -> None:
    with pytest.raises(ft.LanguageError) as caught:
        ft.run(
            "SUBSCRIBE s FROM x MATCH a DEFINE a AS prcie > 1;", {"x": [{"time": 1, "price": 2}]}, time={"x": "time"}
        )
    assert caught.value.hint == "did you mean 'price'?"


def test_an_error_survives_a_process_boundary() -> None:
    error = refusal("SUBSCRIBE s FROM x MATCH a b")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.code, again.place) == (str(error), error.code, error.place)


def test_as_deep_as_allowed_runs() -> None:
    depth = parser.DEEPEST - 10
    for condition in (
        " AND ".join(["v = 1"] * depth),
        "NOT " * (depth // 2 * 2) + "v = 1",
        "abs(" * depth + "v" + ")" * depth + " = 1",
        "(" * 1000 + "v" + ")" * 1000 + " = 1",
    ):
        subscriptions = ft.parse(f"SUBSCRIBE s FROM x MATCH a DEFINE a AS {condition};")
        assert ft.parse(str(subscriptions)) == subscriptions
        assert len(ft.run(subscriptions, {"x": [{"time": 1, "v": 1}]}, time={"x": "time"})) == 1
