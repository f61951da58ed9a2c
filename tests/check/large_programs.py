"""Programs of very many statements, no two of them alike."""

from __future__ import annotations

import random

_HEAD = """\
STREAM ticks (name STRING, price FLOAT, volume INT, side STRING) TIME time ID number;
STREAM logins (ip STRING, user STRING, status STRING, tries INT) TIME time ID event;
"""


def large_program(statements: int, seed: int = 1) -> str:
    """The text of a program with so many statements of several kinds, of which every hundredth can never notify."""
    source = random.Random(seed)
    return _HEAD + "\n".join(_statement(number, source) for number in range(statements))


def _statement(number: int, source: random.Random) -> str:
    low, more, window = source.randint(1, 1_000_000) / 100, source.randint(1, 10_000) / 100, source.randint(1, 600)
    name, user = f"n{source.randrange(500)}", f"u{source.randrange(100_000)}"
    if number % 100 == 99:
        return f"""SUBSCRIBE s{number} FROM ticks PER name MATCH a , b
DEFINE a AS price > {low + more}, b AS price < {low} AND price > a.price WITHIN {window} s;"""
    match number % 5:
        case 0:
            return f"""SUBSCRIBE s{number} FROM ticks MATCH a ;{{name = '{name}'}} b
DEFINE a AS name = '{name}' AND price > {low}, b AS price > {1 + more / 100} * a.price WITHIN {window} min;"""
        case 1:
            return f"""SUBSCRIBE s{number} FROM ticks PER name MATCH a , b+ , c
DEFINE a AS volume > {number}, b AS price > prev.price, c AS price < {low} WITHIN {window} min AFTER MATCH LONGEST;"""
        case 2:
            return f"""SUBSCRIBE s{number} FROM logins PER ip MATCH f{{3,}} , ok
DEFINE f AS status = 'denied' AND user = '{user}', ok AS status = 'success' AND tries >= {number % 7 + 1}
WITHIN {window} s AFTER MATCH LONGEST;"""
        case 3:
            return f"""SUBSCRIBE s{number} FROM ticks MATCH x ; !y ; z
DEFINE x AS name = $n AND price > {low}, y AS name = $n AND side = 'sell', z AS name = $n AND price > x.price + {more}
WITHIN {window} s;"""
    return f"""SUBSCRIBE s{number} FROM logins MATCH a & b
DEFINE a AS user = '{user}' AND tries > {number % 11}, b AS ip = a.ip AND status IN ('locked', 'gone')
WITHIN {window} s;"""
