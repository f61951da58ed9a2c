"""Signs and words of other languages, and how the same is written here."""

from __future__ import annotations

_FOLLOWED = "write ';' for 'followed by', ',' for 'directly followed by'"
_COMMENT = "start a comment with --; it goes to the end of the line"
_SINGLE = "put a string in straight single quotes: 'text'"
SIGNS = {
    "==": "write one '=' for equality",
    "=<": "write '<=' for 'at most'",
    "&&": "write AND in a condition, & between patterns",
    "||": "write OR in a condition, | between patterns",
    "->": _FOLLOWED,
    "=>": f"{_FOLLOWED}, '>=' for 'at least'",
    ":=": "write one '=' for equality",
    "//": _COMMENT,
    "/*": _COMMENT,
    "#": _COMMENT,
    "`": 'put a name with odd characters in double quotes: "name"',
    "‘": _SINGLE,
    "’": _SINGLE,
    "“": _SINGLE,
    "”": _SINGLE,
    "~": "write regexp_like(text, 'pattern'), or LIKE, where '%' stands for anything",
    "≤": "write '<='",
    "≥": "write '>='",
    "≠": "write '<>'",
    "−": "write '-'",
    "–": "write '-'",
    "×": "write '*'",
    "\\": "write a quote inside a string twice: 'it''s'",
}

_BEGIN = "start a statement with SUBSCRIBE name FROM stream MATCH pattern"
_EVERY = "leave this out: every match is one notification"
_ABSENT = "write !b for an event that must not come: a ; !b ; c"
#: Words of other languages, and what to write here instead.
HABITS = {
    "SELECT": f"{_BEGIN}; list the output columns last, in RETURN",
    "INSERT": f"{_BEGIN}; its result is the stream 'name'",
    "CREATE": "declare a stream with STREAM name (attribute TYPE, ...) TIME attribute",
    "PATTERN": "write the pattern as MATCH a ; b, without PATTERN",
    "MATCH_RECOGNIZE": "write the pattern as MATCH a ; b, without MATCH_RECOGNIZE (...)",
    "PARTITION": "write PER attribute directly before MATCH to split the stream by key",
    "GROUP": "write PER attribute directly before MATCH to split the stream by key",
    "ORDER": "events are ordered by time; declare a tie-breaker in the STREAM statement: ORDER BY seq",
    "MEASURES": "write RETURN expression AS name, after the pattern",
    "WHERE": "write DEFINE step AS condition, or HAVING condition for the whole match",
    "SUBSET": "define several steps together: DEFINE a, b AS condition",
    "ONE": _EVERY,
    "ALL": _EVERY,
    "JOIN": "FROM a, b merges streams; relate their events with steps and variables",
    "UNION": "FROM a, b merges streams",
    "ROW": "leave out ROW",
    "ROWS": _EVERY,
    "INTERVAL": "write the duration itself: 5 min",
    "EVERY": "leave it out: every match is reported",
    "UNTIL": _ABSENT,
    "PERMUTE": "write a & b for any order",
    "FOLLOWED": _FOLLOWED,
    "FOLLOWEDBY": _FOLLOWED,
    "THEN": _FOLLOWED,
    "NEXT": "write ',' for 'directly followed by'",
    "UNLESS": _ABSENT,
    "CASE": "write CASE WHEN condition THEN value ELSE value END",
    "IF": "write CASE WHEN condition THEN value ELSE value END",
    "RLIKE": "write regexp_like(attribute, 'pattern')",
    "REGEXP": "write regexp_like(attribute, 'pattern')",
    "SIMILAR": "write regexp_like(attribute, 'pattern')",
    "EXTRACT": "write year(time), month(time), day(time), hour(time) or minute(time)",
    "EXISTS": "write count(step) > 0 to ask whether a step has an event",
    "ILIKE": "write lower(attribute) LIKE 'text'",
    "FOR": "put FOR EACH table directly before FROM",
    "LIMIT": "choose an AFTER MATCH policy for fewer matches",
}
#: Words of conditions where a pattern stands.
BETWEEN_PATTERNS = {
    "AND": "write a & b for both in any order",
    "OR": "write a | b for either",
    "NOT": _ABSENT,
}
