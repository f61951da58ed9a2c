"""Keywords, units and brackets of the language, by what they are for."""

from __future__ import annotations

STATEMENTS = ("SUBSCRIBE", "STREAM", "CORRELATE")
CLAUSES = {"DEFINE", "WITHIN", "HAVING", "AFTER", "RETURN", "FORECAST", "LOSING"}
CORRELATIONS = ("accumulate", "select", "sequential", "do", "fail", "push", "repeat", "persist", "loop", "parallel")
UNITS = ("us", "ms", "s", "min", "hours", "days", "weeks")
#: What people write for a unit besides the right ones; `m` may be minutes or months.
OTHER_UNITS = {"m", "hr", "hrs", "ns", "month", "months", "year", "years", "quarter", "quarters"}

#: Taken for a name where a name may stand, such words are still most likely not meant as one.
UNLIKELY_NAMES = {
    *STATEMENTS,
    *CLAUSES,
    *("FROM", "PER", "MATCH", "AS", "DO", "ABOVE", "NOT", "AND", "OR", "LIKE", "BETWEEN"),
    *("SELECT", "PATTERN", "PARTITION", "MEASURES", "EVERY", "PERMUTE", "CASE", "WHERE"),
}

OPENING = {"LPAR": "RPAR", "LBRACE": "RBRACE", "LSQB": "RSQB"}
CLOSING = {"RPAR": "(", "RBRACE": "{", "RSQB": "["}
