"""The graph of dependencies, as text, plain values and a diagram."""

from __future__ import annotations

import foretell as ft
from foretell.check.dependencies import Dependencies, dependencies_of

TEXT = """\
STREAM logins (ip STRING, status STRING, tries INT, note STRING) TIME time ID event LET many AS tries * 2;
SUBSCRIBE failed FROM logins PER ip MATCH f+ DEFINE f AS status = 'denied' AND many > 4 RETURN first(f).ip AS ip;
SUBSCRIBE watched FOR EACH users FROM failed, "odd | name" MATCH a ; b DEFINE a AS ip = :address, b AS "x""y" > 1;
CORRELATE modes FROM watched DO push('x'){a} DEFINE a AS stream = 'watched';
"""


def graph(text: str = TEXT) -> Dependencies:
    program = ft.parse(text)
    return dependencies_of(program.program, program.checked())


def test_text() -> None:
    assert (
        graph().as_text()
        == """\
failed reads logins (ip, status, many)
watched reads failed (ip), odd | name (ip, x"y), table users (address)
modes reads watched
logins.many is computed from tries
nothing reads logins.note"""
    )


def test_plain_values() -> None:
    values = graph().as_dict()
    assert values["streams"][0] == {
        "name": "logins",
        "kind": "declared",
        "attributes": ["ip", "status", "tries", "note", "many"],
        "unread": ["note"],
        "computed": {"many": ["tries"]},
    }
    assert [(node["name"], node["kind"]) for node in values["streams"]] == [
        ("logins", "declared"),
        ("odd | name", "undeclared"),
        ("failed", "derived"),
        ("watched", "derived"),
        ("modes", "derived"),
    ]
    assert values["readings"][0] == {"statement": "failed", "stream": "logins", "attributes": ["ip", "status", "many"]}
    assert values["tables"] == [{"statement": "watched", "table": "users", "columns": ["address"]}]


def test_diagram() -> None:
    assert (
        graph().as_mermaid()
        == """\
flowchart LR
    n0(["logins"])
    n1(["odd #124; name"])
    n2["failed"]
    n3["watched"]
    n4["modes"]
    n5[("users")]
    n0 -->|"ip, status, many"| n2
    n2 -->|"ip"| n3
    n1 -->|"ip, x#34;y"| n3
    n3 --> n4
    n5 -->|"address"| n3"""
    )


def test_times_ids_and_losses_are_read() -> None:
    text = "STREAM s (t INT, n INT, o INT, r STRING, x INT) TIME t ID n ORDER BY o LOSS 0.1 WHEN r = 'a';"
    text += "SUBSCRIBE m FROM s MATCH a;"
    assert graph(text).streams[0].unread == ("x",)
