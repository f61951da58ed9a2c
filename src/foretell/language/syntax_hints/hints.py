"""Hints: what was probably meant, from the rejected token and its neighbours."""

from __future__ import annotations

import re

from lark import Token

from foretell.errors import closest
from foretell.language.syntax_hints.other_dialects import BETWEEN_PATTERNS, HABITS
from foretell.language.syntax_hints.rejection import Rejection
from foretell.language.syntax_hints.units import closest_unit, is_unit
from foretell.language.syntax_hints.vocabulary import (
    CLAUSES,
    CLOSING,
    CORRELATIONS,
    OPENING,
    STATEMENTS,
    UNITS,
    UNLIKELY_NAMES,
)

_NAME_END = re.compile(r"[A-Za-z_][\w-]*")


def hint_for(rejection: Rejection) -> str:
    for hint in (_bracket_hint, _neighbour_hint, _habit_hint, _clause_hint, _keyword_hint, _comma_hint):
        if found := hint(rejection):
            return found
    return ""


def _bracket_hint(rejection: Rejection) -> str:
    """Brackets that do not fit together."""
    unclosed = rejection.unclosed
    if rejection.token.type in CLOSING and not unclosed:
        return f"delete it, or add the '{CLOSING[rejection.token.type]}' that it closes"
    ending = rejection.token.type in ("END", "$END", *CLAUSES, *STATEMENTS, *CLOSING)
    if unclosed and ending and not rejection.wants_value:
        opened = unclosed[-1]
        if OPENING[opened.type] in rejection.fitting:
            return f"close the '{opened}' at {opened.line}:{opened.column}"
    return ""


def _neighbour_hint(rejection: Rejection) -> str:
    """Mistakes that the tokens directly before reveal."""
    token, before, earlier = rejection.token, rejection.type_before(), rejection.type_before(2)
    last = rejection.before[-1] if rejection.before else Token("", "")
    match before, token.type:
        case "BANG", "LPAR":
            return "negate single steps; for none of several write !a ; !b"
        case "AT", _:
            return "put the condition in parentheses: a @(condition)"
        case "TO", _ if token.isidentifier():
            return f"write SKIP TO FIRST {token} or SKIP TO LAST {token}"
        case (("PLUS" | "STAR" | "QMARK" | "RBRACE"), ("QMARK" | "PLUS")):
            return f"leave out this '{token}': every length that fits is a match, no repetition is greedy or reluctant"
        case "LBRACE", "COMMA":
            return "write {0,n} for at most n"
        case "LPAR", _ if token == "*" and earlier == "NAME" and rejection.before[-2].lower() == "count":
            return "name a step: count(b) counts the events of step b"
        case "NUMBER", _ if token == "%" and earlier in ("ABOVE", "LOSING", "LOSS", "COMMA"):
            return "write a probability between 0 and 1: 0.8, not 80%"
        case "NAME", "FROM" if earlier == "LPAR" and rejection.before[-3].lower() == "extract":
            return HABITS["EXTRACT"]
        case "STRING", _ if token.start_pos == last.end_pos:
            return "the string ends before this; write a quote inside a string twice: 'it''s'"
        case "NULL", "NAME" if "STRING" in rejection.fitting and rejection.statement == "STREAM":
            return f"put a text in single quotes: NULL '{token}'"
        case "WITHIN" | "BY", "STRING" if "NUMBER" in rejection.fitting:
            return "leave out the quotes"
        case "OF", "NAME" if "STRING" in rejection.fitting and token.upper() not in UNLIKELY_NAMES:
            return f"put a token in single quotes: FORECAST OF '{token}'"
        case "FORECAST", "OF":
            return "only a correlator names what it forecasts, its tokens; write FORECAST WITHIN"
        case "TIMESTAMP", "NUMBER":
            return "write a point in time as TIMESTAMP '2026-01-31 12:00:00'"
        case "NAME", _ if (
            token == "-" and token.start_pos == last.end_pos and (rest := _NAME_END.match(rejection.rest))
        ):
            return f'put a name with a "-" in double quotes: "{last}-{rest[0]}"'
        case "RETURN", _ if token == "*":
            return "leave out RETURN: a notification then carries the variables and the events of all steps"
        case _, "STRING" if {"NAME", "QUOTED"} >= rejection.fitting:
            return "write a name without quotes, or in double quotes"
        case _, _ if token == "<" and rejection.after_pattern:
            return "put <...> behind +, * or {n}: it names the operator of a repetition, as in a+<;>"
        case "IN", ("STRING" | "NUMBER"):
            return f"put the values in parentheses: IN ({token}, ...)"
        case "NAME", "LPAR" if earlier in ("NAME", "QUOTED"):
            return "write the type without a length: STRING, not VARCHAR(20)"
        case "NUMBER", _ if is_unit(rejection):
            meant = closest_unit("min" if token == "m" else token)
            return f"did you mean {meant}?" if meant else f"use one of the units {', '.join(UNITS)}"
        case "LATER" | "END", _ if token == ";":
            return "leave out one ';'"
    return ""


def _habit_hint(rejection: Rejection) -> str:
    """Words of other languages, and words that belong elsewhere."""
    word, last = rejection.word, rejection.type_before()
    if word == "BY" and rejection.before:
        return HABITS.get(rejection.before[-1].upper(), "")
    if rejection.after_pattern or {"BANG", "NAME"} <= rejection.fitting:
        if word in BETWEEN_PATTERNS:
            return BETWEEN_PATTERNS[word]
        is_name = rejection.token.type in ("NAME", "QUOTED") and word not in (*HABITS, *UNLIKELY_NAMES)
        if is_name and rejection.after_pattern:
            meant = closest(word, rejection.fitting & CLAUSES, 0.75)
            signs = "put ';' (later), ',' (directly after), '&' (any order) or '|' (either) between two steps"
            return f"did you mean {meant}?" if meant else signs
    if word == "EVENTS" and last == "NUMBER":
        return "WITHIN takes a duration such as 5 min; only FORECAST WITHIN counts events"
    if word == "!" and rejection.wants_value:
        return "in a condition write NOT"
    if word in ("$", ":") and rejection.wants_value:
        return "write a variable as $name, a column of a table as :name, without a space"
    if word == "AS" and "MATCH" in rejection.fitting:
        return "a stream has no alias; name events by their step: step.attribute"
    if rejection.statement == "CORRELATE" and word == "," and "RBRACE" in rejection.fitting:
        return "join several parts: accumulate{...}, select{...}, sequential{...} or parallel{...}"
    if "ACCUMULATE" in rejection.fitting and rejection.token.isidentifier():
        meant = closest(rejection.token, CORRELATIONS)
        return f"did you mean {meant}?" if meant else f"use one of {', '.join(CORRELATIONS)} or in"
    return HABITS.get(word, "")


def _clause_hint(rejection: Rejection) -> str:
    """A clause that comes too early or too late, or lacks a part."""
    word, last = rejection.word, rejection.type_before()
    clause = word in (*CLAUSES, "FROM", "PER", "MATCH", "TIME")
    ends = rejection.token.type in ("END", "$END")
    if last in ("COMMA", "LATER") and (clause or ends or rejection.token.type in CLOSING):
        return f"leave out the '{rejection.before[-1]}' before {'the end' if ends else 'it'}"
    if last in ("END", "LATER") and rejection.fitting == frozenset(STATEMENTS):
        if clause:
            return "leave out the ';' before it: it ends the statement"
        meant = closest(word, STATEMENTS, 0.75)
        return f"did you mean {meant}?" if meant else "the ';' before it ends the statement; separate a list by ','"
    if word in STATEMENTS and "END" in rejection.fitting:
        return "end the statement before it with ';'"
    if word == "DEFINE" and rejection.statement == "CORRELATE":
        return "write DEFINE before FORECAST"
    if last == "LATER" and (meant := closest(word, STATEMENTS, 0.8)):
        return f"did you mean {meant}?"
    if "AS" in rejection.fitting and "DEFINE" not in rejection.fitting and not closest(word, ["AS"], 0.8):
        if rejection.statement == "STREAM":
            return "write LET name AS expression"
        in_return = "OR" in rejection.fitting
        return "name every column: RETURN expression AS name" if in_return else "write DEFINE step AS condition"
    return ""


def _comma_hint(rejection: Rejection) -> str:
    if "COMMA" not in rejection.fitting or rejection.after_pattern or rejection.token.type not in ("NAME", "QUOTED"):
        return ""
    goes_on = re.match(r"\s*(,|AS\b)", rejection.rest, re.IGNORECASE)
    if "AS" in rejection.fitting or ("OR" in rejection.fitting and not goes_on):
        return ""
    return "did you forget a ',' before it?"


def _keyword_hint(rejection: Rejection) -> str:
    """A misspelt keyword, or a keyword used as a name."""
    keywords = {
        f for f in rejection.fitting if f.isalpha() and f not in ("NAME", "NUMBER", "STRING", "END", "LATER", "UNIT")
    }
    if rejection.token.isidentifier() and (meant := closest(rejection.token, keywords, 0.7)):
        return f"did you mean {meant}?"
    if rejection.token.type == "QUOTED" and "STRING" in rejection.fitting:
        return "put a string in single quotes"
    if len(rejection.token) == 1 and not rejection.token.isprintable():
        return "delete this invisible character"
    if rejection.type_before() in ("TIMESTAMP", "FIRST", "LAST") and rejection.token.type not in ("BANG", "$END"):
        return f'put a name that is also a keyword in double quotes: "{rejection.before[-1]}"'
    return ""
