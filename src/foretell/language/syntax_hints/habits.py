"""Signs and words of other languages, and how the same is written here."""

from __future__ import annotations

_FOLLOWED = "'followed by' is written ';', 'directly followed by' ','"
_COMMENT = "a comment begins with -- and goes to the end of the line"
_SINGLE = "a string stands in straight single quotes: 'text'"
SIGNS = {
    "==": "equality is written with one '='",
    "=<": "'at most' is written '<='",
    "&&": "write AND in a condition, & between patterns",
    "||": "write OR in a condition, | between patterns",
    "->": _FOLLOWED,
    "=>": f"{_FOLLOWED}; 'at least' is '>='",
    ":=": "equality is written with one '='",
    "//": _COMMENT,
    "/*": _COMMENT,
    "#": _COMMENT,
    "`": 'a name with odd characters stands in double quotes: "name"',
    "‘": _SINGLE,
    "’": _SINGLE,
    "“": _SINGLE,
    "”": _SINGLE,
    "~": "a text is compared with LIKE, '%' standing for anything",
    "≤": "write '<='",
    "≥": "write '>='",
    "≠": "write '<>'",
    "−": "write '-'",
    "–": "write '-'",
    "×": "write '*'",
    "\\": "a quote inside a string is written twice: 'it''s'",
}

_BEGIN = "a statement begins SUBSCRIBE name FROM stream MATCH pattern"
_EVERY = "every match is one notification; leave this out"
#: Words of other languages, and what is said here instead.
HABITS = {
    "SELECT": f"{_BEGIN}; what to hand out comes last, in RETURN",
    "INSERT": f"{_BEGIN}; its result is the stream 'name'",
    "CREATE": "a stream is declared with STREAM name (attribute TYPE, ...) TIME attribute",
    "PATTERN": "the pattern is written MATCH a ; b, without PATTERN",
    "MATCH_RECOGNIZE": "the pattern is written MATCH a ; b, without MATCH_RECOGNIZE (...)",
    "PARTITION": "write PER attribute: it splits the stream, directly before MATCH",
    "GROUP": "write PER attribute: it splits the stream, directly before MATCH",
    "ORDER": "events come in the order of their time; a tie-breaker is said in the STREAM statement: ORDER BY seq",
    "MEASURES": "write RETURN expression AS name, after the pattern",
    "WHERE": "write DEFINE step AS condition, or HAVING condition for the whole match",
    "SUBSET": "name the steps together: DEFINE a, b AS condition",
    "ONE": _EVERY,
    "ALL": _EVERY,
    "JOIN": "FROM a, b merges streams; what belongs together is said with steps and variables",
    "UNION": "FROM a, b merges streams",
    "ROW": "leave out ROW",
    "ROWS": _EVERY,
    "INTERVAL": "write the length of time itself: 5 min",
    "EVERY": "every match is reported anyway; leave it out",
    "UNTIL": "what may not come is written !b: a ; !b ; c",
    "PERMUTE": "any order is written a & b",
    "FOLLOWED": _FOLLOWED,
    "FOLLOWEDBY": _FOLLOWED,
    "THEN": _FOLLOWED,
    "NEXT": "'directly followed by' is written ','",
    "UNLESS": "what may not come is written !b: a ; !b ; c",
    "CASE": "there is no CASE; write two conditions joined by OR, or coalesce(...)",
    "EXISTS": "that a step has an event is written count(step) > 0",
    "ILIKE": "write lower(attribute) LIKE 'text'",
    "FOR": "FOR EACH table stands directly before FROM",
    "LIMIT": "see AFTER MATCH for fewer matches",
}
#: Words that mean something else between patterns than in conditions.
BETWEEN_PATTERNS = {
    "AND": "both in any order is written a & b",
    "OR": "either is written a | b",
    "NOT": "what may not come is written !b: a ; !b ; c",
}
