"""Hints: what was probably meant, from the rejected token and its neighbours."""

from __future__ import annotations

import re

from lark import Token

from foretell.errors import closest
from foretell.language.syntax_hints.habits import BETWEEN_PATTERNS, HABITS
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


def hint_for(rejection: Rejection) -> str:
    for hint in (_bracket_hint, _neighbour_hint, _habit_hint, _clause_hint, _keyword_hint, _comma_hint):
        if found := hint(rejection):
            return found
    return ""


def _bracket_hint(rejection: Rejection) -> str:
    """Brackets that do not fit together."""
    unclosed = rejection.unclosed
    if rejection.token.type in CLOSING and not unclosed:
        return f"there is no '{CLOSING[rejection.token.type]}' before it that it could close"
    ending = rejection.token.type in ("END", "$END", *CLAUSES, *STATEMENTS, *CLOSING)
    if unclosed and ending and not rejection.wants_value:
        opened = unclosed[-1]
        if OPENING[opened.type] in rejection.fitting:
            return f"the '{opened}' at {opened.line}:{opened.column} is not closed"
    return ""


def _neighbour_hint(rejection: Rejection) -> str:
    """What the tokens directly before tell."""
    token, before, earlier = rejection.token, rejection.type_before(), rejection.type_before(2)
    last = rejection.before[-1] if rejection.before else Token("", "")
    match before, token.type:
        case "BANG", "LPAR":
            return "only single steps can be absent; for none of several write !a ; !b"
        case "AT", _:
            return "the condition stands in parentheses: a @(condition)"
        case "TO", _ if token.isidentifier():
            return f"write SKIP TO FIRST {token} or SKIP TO LAST {token}"
        case (("PLUS" | "STAR" | "QMARK" | "RBRACE"), ("QMARK" | "PLUS")):
            return "every length that fits is a match; there are no greedy and reluctant repetitions"
        case "LBRACE", "COMMA":
            return "write {0,n} for at most n"
        case "LPAR", _ if token == "*" and earlier == "NAME" and rejection.before[-2].lower() == "count":
            return "count(b) counts the events of the step b"
        case "NUMBER", _ if token == "%" and earlier in ("ABOVE", "LOSING", "LOSS", "COMMA"):
            return "a probability lies between 0 and 1: 0.8, not 80%"
        case "STRING", _ if token.start_pos == last.end_pos:
            return "the string ends before it; inside a string a quote is written twice: 'it''s'"
        case "WITHIN" | "BY", "STRING" if "NUMBER" in rejection.fitting:
            return "leave out the quotes"
        case "TIMESTAMP", "NUMBER":
            return "write it as in TIMESTAMP '2026-01-31 12:00:00'"
        case "RETURN", _ if token == "*":
            return "without RETURN a notification carries the variables and the events of all steps"
        case _, "STRING" if {"NAME", "QUOTED"} >= rejection.fitting:
            return "a name stands without quotes, or in double quotes"
        case _, _ if token == "<" and rejection.after_pattern:
            return "<...> says what a repetition repeats under: a+<;>"
        case "IN", ("STRING" | "NUMBER"):
            return f"the values stand in parentheses: IN ({token}, ...)"
        case "NAME", "LPAR" if earlier in ("NAME", "QUOTED"):
            return "a type has no length: STRING, not VARCHAR(20)"
        case "NUMBER", _ if is_unit(rejection):
            meant = closest_unit("min" if token == "m" else token)
            return f"did you mean {meant}?" if meant else f"units are {', '.join(UNITS)}"
        case "LATER" | "END", _ if token == ";":
            return "one ';' is enough"
    return ""


def _habit_hint(rejection: Rejection) -> str:
    """Words of other languages."""
    word, last = rejection.word, rejection.type_before()
    if word == "BY" and rejection.before:
        return HABITS.get(rejection.before[-1].upper(), "")
    if rejection.after_pattern or {"BANG", "NAME"} <= rejection.fitting:
        if word in BETWEEN_PATTERNS:
            return BETWEEN_PATTERNS[word]
        is_name = rejection.token.type in ("NAME", "QUOTED") and word not in (*HABITS, *UNLIKELY_NAMES)
        if is_name and rejection.after_pattern:
            meant = closest(word, rejection.fitting & CLAUSES, 0.75)
            signs = "between two steps stands ';' (later), ',' (directly after), '&' (any order) or '|' (either)"
            return f"did you mean {meant}?" if meant else signs
    if word == "EVENTS" and last == "NUMBER":
        return "only FORECAST WITHIN counts events; WITHIN is a length of time such as 5 min"
    if word == "!" and rejection.wants_value:
        return "in a condition write NOT"
    if word in ("$", ":") and rejection.wants_value:
        return "a variable is written $name, a column of a table :name, without a blank"
    if word == "AS" and "MATCH" in rejection.fitting:
        return "a stream has no second name here; steps name events: step.attribute"
    if "ACCUMULATE" in rejection.fitting and rejection.token.isidentifier():
        meant = closest(rejection.token, CORRELATIONS)
        return f"did you mean {meant}?" if meant else f"there are {', '.join(CORRELATIONS)} and in"
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
        return f"did you mean {meant}?" if meant else "the ';' before it ends the statement; lists are separated by ','"
    if word in STATEMENTS and "END" in rejection.fitting:
        return "end the statement before it with ';'"
    if last == "LATER" and (meant := closest(word, STATEMENTS, 0.8)):
        return f"did you mean {meant}?"
    if "AS" in rejection.fitting and "DEFINE" not in rejection.fitting and not closest(word, ["AS"], 0.8):
        in_return = "OR" in rejection.fitting
        return "every column has a name: RETURN expression AS name" if in_return else "write DEFINE step AS condition"
    return ""


def _comma_hint(rejection: Rejection) -> str:
    if "COMMA" not in rejection.fitting or rejection.after_pattern or rejection.token.type not in ("NAME", "QUOTED"):
        return ""
    goes_on = re.match(r"\s*(,|AS\b)", rejection.rest, re.IGNORECASE)
    if "AS" in rejection.fitting or ("OR" in rejection.fitting and not goes_on):
        return ""
    return "is a ',' missing before it?"


def _keyword_hint(rejection: Rejection) -> str:
    """A keyword misspelt, or meant as a name."""
    keywords = {
        f for f in rejection.fitting if f.isalpha() and f not in ("NAME", "NUMBER", "STRING", "END", "LATER", "UNIT")
    }
    if rejection.token.isidentifier() and (meant := closest(rejection.token, keywords, 0.7)):
        return f"did you mean {meant}?"
    if rejection.token.type == "QUOTED" and "STRING" in rejection.fitting:
        return "a string stands in single quotes"
    if len(rejection.token) == 1 and not rejection.token.isprintable():
        return "delete this invisible character"
    if rejection.type_before() in ("TIMESTAMP", "FIRST", "LAST") and rejection.token.type not in ("BANG", "$END"):
        return f'a name that is also a keyword stands in double quotes: "{rejection.before[-1]}"'
    return ""
