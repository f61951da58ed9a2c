"""Parsed statements as people see them, and their parts by name."""

from __future__ import annotations

import pytest

import foretell as ft

TEXT = """
STREAM ticks (name STRING, price FLOAT, time INT) TIME time;
SUBSCRIBE rise FROM ticks PER name MATCH a , b+ ; !c ; d DEFINE b AS price > prev.price WITHIN 5 RETURN a.name AS name;
SUBSCRIBE twice FROM rise PER name MATCH x ; y;
CORRELATE both FROM logins DO accumulate{p, q} DEFINE p AS k = 1, q AS k = 2;
"""


def test_parts_by_name() -> None:
    subs = ft.parse(TEXT)
    assert subs.streams == ("ticks", "logins")
    assert subs.statements == ("rise", "twice", "both")
    assert subs.steps("rise") == ("a", "b", "c", "d")
    assert subs.steps("both") == ("p", "q")
    assert subs._ipython_key_completions_() == ["rise", "twice", "both"]
    for look_up in (subs.steps, subs.__getitem__):
        with pytest.raises(ft.InputError) as refused:
            look_up("twise")
        assert str(refused.value) == "there is no statement 'twise'\n  hint: did you mean 'twice'?"


def test_one_statement_with_what_it_reads() -> None:
    subs = ft.parse(TEXT)
    twice = subs["twice"]
    assert twice.statements == ("rise", "twice")
    assert list(twice.declared) == ["ticks"]
    assert subs["rise"].statements == ("rise",)
    assert subs["both"].streams == ("logins",)
    assert ft.parse(str(twice)) == twice
    assert list(ft.run(subs["rise"], {"ticks": []})) == []


def test_views() -> None:
    subs = ft.parse(TEXT)
    assert repr(subs) == (
        "3 statements on ticks, logins\n"
        "  statement  from    per   match\n"
        "  rise       ticks   name  a , b+ ; !c ; d\n"
        "  twice      rise    name  x ; y\n"
        "  both       logins        accumulate{p, q}"
    )
    assert "<td" in subs._repr_html_()
    many = ft.parse(
        ";".join(f"SUBSCRIBE s{n} FROM t MATCH {' , '.join(f'step{k}' for k in range(30))}" for n in range(9))
    )
    lines = repr(many).splitlines()
    assert lines[-1] == "  … 4 more"
    assert max(map(len, lines)) == 80


def test_views_of_an_engine() -> None:
    engine = ft.Engine("STREAM s (k INT, time INT) TIME time LATE BY 2; SUBSCRIBE m FROM s PER k MATCH a , b;")
    engine.push("s", [{"time": 5, "k": 1}, {"time": 9, "k": 2}])
    engine.push("s", [{"time": 1, "k": 1}])
    assert repr(engine) == (
        "Engine: 1 statement on s, 1 partial match, 1 event held back\n"
        "  statement  from  per  match\n"
        "  m          s     k    a , b\n"
        "  late events: s 1"
    )
