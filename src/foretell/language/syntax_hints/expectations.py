"""The expected tokens as a short phrase: "a step or a group"."""

from __future__ import annotations

from foretell.language.syntax_hints.rejection import Rejection
from foretell.language.syntax_hints.vocabulary import CLAUSES, CORRELATIONS

_TERMINALS = {
    "QUOTED": "",
    "STRING": "a string in single quotes",
    "END": "the end of the statement",
    "LATER": "';'",
    "$END": "the end of the text",
    "UNIT": "a unit such as min",
    "COMPARISON": "a comparison",
    "LPAR": "'('",
    "RPAR": "')'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "LSQB": "'['",
    "RSQB": "']'",
    "COMMA": "','",
    "DOT": "'.'",
    "AT": "'@'",
    "BANG": "'!'",
    "VBAR": "'|'",
    "AMPERSAND": "'&'",
    "STAR": "'*'",
    "LESSTHAN": "",
    "MORETHAN": "'>'",
    "ID": "ID",
    "FOR": "FOR EACH",
    "ORDER": "ORDER BY",
    "LATE": "LATE BY",
    "MINUS": "",
    "CASE": "",
    "CASE_END": "END",
}
#: What a name is the name of, by the word before it.
_NAME_AFTER = {
    "FROM": "a stream",
    "PER": "an attribute",
    "TIME": "the time attribute",
    "DOT": "an attribute",
    "EACH": "a table",
    "DEFINE": "a step",
    "BANG": "a step",
    "FIRST": "a step",
    "LAST": "a step",
    "OF": "a step",
}
_DURATION = "a duration such as 5 min"
#: What a number is, by the word before it.
_NUMBER_AFTER = {"WITHIN": _DURATION, "BY": _DURATION, "ABOVE": "a probability", "LOSS": "a probability"}
#: Groups of tokens that are one thing to a person: (what tells the group, all that belongs to it, its name).
_GROUPS = (
    (
        {"ACCUMULATE"},
        {"AGAIN", "NAME", "IN", *(c.upper() for c in CORRELATIONS)},
        "a step or an expression such as accumulate{...}",
    ),
    ({"BANG", "NAME"}, {"BANG", "NAME", "LPAR", "FIRST", "LAST", "LBRACE"}, "a step or a group"),
    ({"LPAR", "NAME"}, {"NAME", "LPAR"}, "a step"),
    (
        {"VBAR", "AMPERSAND"},
        {"VBAR", "AMPERSAND", "LATER", "COMMA", "AT", "QMARK", "STAR", "PLUS", "LBRACE", "LSQB", "LESSTHAN"},
        "an operator",
    ),
    (
        {"OR"},
        {"AND", "OR", "COMPARISON", "PLUS_MINUS", "TIMES", "IN", "BETWEEN", "LIKE", "IS", "NOT", "DOT", "LPAR", "UNIT"},
        "an operator",
    ),
    ({"PLUS_MINUS"}, {"PLUS_MINUS", "TIMES", "DOT", "LPAR", "UNIT", "COMPARISON", "IN", "BETWEEN", "LIKE", "IS"}, ""),
    ({"WITHIN", "HAVING"}, CLAUSES, "a clause"),
)
#: After these a condition stands, elsewhere any value.
_CONDITION_AFTER = {"AS", "HAVING", "WHEN", "NOT", "AND", "OR", "LBRACE"}


def expected(rejection: Rejection) -> str:
    """The phrase that lists what would have fitted."""
    fitting = set(rejection.fitting)
    if {"STRING", "NUMBER", "LPAR"} <= fitting:
        in_at = rejection.type_before() == "LPAR" and rejection.type_before(2) == "AT"
        in_let = rejection.type_before() == "AS" and rejection.statement == "STREAM"
        condition = in_at or (rejection.type_before() in _CONDITION_AFTER and not in_let)
        return "a condition" if condition else "a value"
    groups: list[str] = []
    for sign, members, phrase in _GROUPS:
        if sign <= fitting:
            fitting -= members
            groups += [phrase] if phrase else []
    if fitting & {"END", "SUBSCRIBE"}:
        fitting.discard("$END")
    ends = [_TERMINALS[e] for e in ("END", "$END") if e in fitting]
    ordered = sorted(fitting - {"END", "$END"}, key=_listing_order)
    phrases = filter(None, (_terminal_phrase(name, rejection) for name in ordered))
    return _enumerated([*dict.fromkeys(phrases), *groups, *ends])


def _enumerated(words: list[str]) -> str:
    if len(words) < 2:
        return words[0] if words else "nothing more"
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _terminal_phrase(terminal: str, rejection: Rejection) -> str:
    if terminal == "NAME":
        # Only in STREAM name (attribute TYPE) does a name follow a name.
        if rejection.type_before() in ("NAME", "QUOTED"):
            return "a type"
        return _NAME_AFTER.get(rejection.type_before(), "a name")
    if terminal == "NUMBER":
        return _NUMBER_AFTER.get(rejection.type_before(), "a number")
    return _TERMINALS.get(terminal, terminal)


def _listing_order(terminal: str) -> tuple[int, int, str]:
    """The sort key of a terminal: names and numbers, then keywords in the order of a statement, then signs."""
    order = ("SUBSCRIBE", "STREAM", "CORRELATE", "FROM", "FOR", "MATCH", "DO", "PER", "ID", "ORDER", "TIES", "LATE")
    sign = _TERMINALS.get(terminal, terminal).startswith("'")
    kind = 0 if terminal in ("NAME", "NUMBER") else 2 if sign else 1
    return kind, order.index(terminal) if terminal in order else len(order), terminal
