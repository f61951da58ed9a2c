"""Whatever the text: a program, or one LanguageError that points into it. Nothing else, and soon."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import foretell as ft
from foretell.errors import lines_of
from foretell.events.types import Schema, Type

PROGRAMS = (
    """STREAM logins (ip STRING, status STRING, price FLOAT) TIME time ID event ORDER BY seq TIES SIMULTANEOUS
       LATE BY 10 s LOSS 0.05 WHEN status = 'B', 0.1;""",
    """SUBSCRIBE intrusion FOR EACH rules FROM logins, "other one" PER ip, user
    MATCH s1 ; !n ; s2+ , (s3 @(t(s3) - t(s1) < 5 min) | LAST s4) ;{ip = s1.ip AND prev.v > 1} s5{2,3}<;> & s6[3]
    DEFINE s1, s2 AS ip = $x AND status IN ('denied', 'it''s'), s5 AS abs(v) BETWEEN :low AND 5 OR NOT w IS NOT NULL
    WITHIN 1.5 hours HAVING count(s2) > 2 AND first(s2).v <> sum(s2.v) AFTER MATCH SKIP TO FIRST s1
    RETURN s1.ip AS ip, -duration AS took FORECAST WITHIN 5 EVENTS ABOVE 0.5;""",
    "SUBSCRIBE thefts FROM reads MATCH x ; !y ; z WITHIN 12 hours LOSING 0.05 OF x, z, 0.1 ABOVE 0.8 SCORE PUBLISHED",
    """CORRELATE c FROM logins PER ip DO repeat(3){do{accumulate{a, b}} unless{select*{push('x'){c}, in(d) do{e}}}}
    DEFINE a AS status LIKE 'x%' -- a comment
    ;""",
)
WORDS = sorted(
    {w for p in PROGRAMS for w in re.findall(r"'[^']*'|\w+|\S", p)} | {"'", '"', "--", "\r\n", "\t", "é", "語"}
)
SCHEMA = Schema(
    {
        "time": Type.TIMESTAMP,
        "ip": Type.STRING,
        "status": Type.STRING,
        "user": Type.STRING,
        "v": Type.INT,
        "w": Type.BOOL,
    },
    "time",
)
SETTINGS = settings(max_examples=300, deadline=None, derandomize=True)


def refused(text: str) -> str:
    """The code of the error that a text is refused with, or nothing. Any other exception goes through."""
    try:
        program = ft.parse(text)
        program.checked(dict.fromkeys(program.sources, SCHEMA), {"rules": {"id": Type.INT, "low": Type.INT}})
    except ft.LanguageError as error:
        check_place(error, text)
        return error.code
    return ""


def check_place(error: ft.LanguageError, text: str) -> None:
    lines, place = lines_of(text), error.place
    assert 1 <= place.line <= len(lines), error
    assert 1 <= place.column <= len(lines[place.line - 1]) + 1, error
    assert (place.end_line or place.line) <= len(lines), error
    assert place.end_line or place.column < place.end_column, error
    assert "\n" not in error.message
    assert str(error).startswith(f"{place.line}:{place.column}: {error.message}\n  {place.line} | ")


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_programs_to_be_spoiled_are_right(program: str) -> None:
    assert refused(program) == ""


@SETTINGS
@given(st.lists(st.sampled_from(WORDS), max_size=30), st.sampled_from(["", *(p[:60] for p in PROGRAMS)]))
def test_soup_of_words(words: list[str], lead: str) -> None:
    refused(f"{lead} {' '.join(words)}")


@SETTINGS
@given(st.data())
def test_spoiled_programs(data: st.DataObject) -> None:
    words = re.findall(r"\s+|'[^']*'|\w+|.", data.draw(st.sampled_from(["\n".join(PROGRAMS[:2]), *PROGRAMS])))
    for _ in range(data.draw(st.integers(1, 3))):
        at, other = data.draw(st.integers(0, len(words) - 1)), data.draw(st.integers(0, len(words) - 1))
        match data.draw(st.sampled_from(["drop", "insert", "swap", "cut"])):
            case "drop":
                words[at] = ""
            case "insert":
                words.insert(at, f" {data.draw(st.sampled_from(WORDS))} ")
            case "swap":
                words[at], words[other] = words[other], words[at]
            case "cut":
                words = words[: at + 1]
    refused("".join(words))


@SETTINGS
@given(
    st.text(max_size=60),
    st.sampled_from(["", "SUBSCRIBE s FROM x MATCH a ", "SUBSCRIBE s FROM x MATCH a DEFINE a AS v = "]),
)
def test_any_text(text: str, lead: str) -> None:
    refused(lead + text)


@SETTINGS
@given(st.binary(max_size=60))
def test_bytes_taken_for_text(raw: bytes) -> None:
    refused(raw.decode("utf-8", errors="surrogateescape"))
    refused(raw.decode("latin-1"))


MATCH = "SUBSCRIBE s FROM x MATCH "
WHERE = MATCH + "a DEFINE a AS "
DEEP = {
    "parentheses in a condition": WHERE + "(" * 5000 + "v" + ")" * 5000 + " = 1",
    "parentheses that never close": WHERE + "(" * 5000,
    "parentheses around a pattern": MATCH + "(" * 5000 + "a" + ")" * 5000,
    "NOT": WHERE + "NOT " * 5000 + "v = 1",
    "minus": WHERE + "- " * 5000 + "v = 1",
    "AND": WHERE + " AND ".join(["v = 1"] * 10_000),
    "OR": WHERE + " OR ".join(["v = 1"] * 10_000),
    "plus": WHERE + "+".join(["v"] * 10_000) + " = 1",
    "IN": WHERE + f"v IN ({', '.join(map(str, range(10_000)))})",
    "calls": WHERE + "abs(" * 5000 + "v" + ")" * 5000 + " = 1",
    "sequence": MATCH + " ; ".join(f"a{i}" for i in range(3000)),
    "alternatives": MATCH + " | ".join(f"a{i}" for i in range(3000)),
    "nested groups": MATCH + "(" * 3000 + "a" + "".join(f" ; b{i})+" for i in range(3000)),
    "repetition of repetition": MATCH + "(" * 3000 + "a" + ")+" * 3000,
    "conditions": MATCH + "a" + " @(v = 1)" * 3000,
    "negations": MATCH + "a" + "".join(f" ; !n{i}" for i in range(3000)) + " ; b",
    "correlators": "CORRELATE c FROM x DO " + "fail{" * 5000 + "a" + "}" * 5000,
    "statements": ";\n".join(f"SUBSCRIBE s{i} FROM x MATCH a" for i in range(1000)),
    "streams of streams": ";\n".join(f"SUBSCRIBE s{i} FROM s{i + 1} MATCH a" for i in range(1500)),
    "a ruler in a comment": MATCH + f"a ; {'-' * 5000}\n {'-- ' * 2000}\n b",
    "comments": MATCH + "a ; " + "-- x\n" * 5000 + "b",
    "digits": WHERE + "v = " + "9" * 10_000,
    "digits of a length": WHERE + "v = 1 WITHIN " + "9" * 400 + " hours",
    "a huge power": WHERE + "v = 1e400 WITHIN 1e300 weeks",
    "a long name": f"SUBSCRIBE {'s' * 100_000} FROM x MATCH a b",
    "a long string": WHERE + f"v = '{'x' * 100_000}' b",
    "semicolons": MATCH + "a" + ";" * 5000,
    "quotes": MATCH + "'" * 5001,
    "line ends": MATCH + "\n" * 20_000 + "a b",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_deep_and_long(text: str) -> None:
    start = time.perf_counter()
    assert refused(text) in ("", "too-deep", "too-large", "unexpected", "unexpected-end", "unclosed")
    assert time.perf_counter() - start < 5
