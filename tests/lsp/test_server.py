"""The language server through its protocol, as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.lsp.client import URI, Client, RequestError, marked, part

LOGINS = "STREAM logins (ip STRING, tries INT) TIME time;\n"
WATCH = """\
STREAM logins (ip STRING, tries INT, ok BOOL) TIME time;

SUBSCRIBE guessed FOR EACH limits FROM logins PER ip
MATCH  bad+ , good
DEFINE bad  AS NOT ok AND tries > :least,
       good AS ok AND ip = $ip AND t(good) - t(last(bad)) < 5 min
AFTER MATCH LONGEST
RETURN count(bad) AS failures;

SUBSCRIBE again FROM guessed MATCH x ; y DEFINE y AS failures > x.failures WITHIN 1 h;
"""


@pytest.fixture(scope="module")
def shared() -> Iterator[Client]:
    with Client() as client:
        yield client


@pytest.fixture
def client(shared: Client) -> Iterator[Client]:
    """The client that tests share, each with a new text."""
    yield shared
    shared.notify("textDocument/didClose", {"textDocument": {"uri": URI}})


def _labels(client: Client, text: str) -> list[str]:
    whole, position = marked(text)
    client.change(whole)
    return [item["label"] for item in client.at("completion", position)]


# ── diagnostics ──


def test_errors_of_every_statement_come_with_their_places_and_hints(client: Client) -> None:
    text = f"{LOGINS}SUBSCRIBE m FROM logins MATCH a DEFINE a AS tris > 5;\nSUBSCRIBE n FROM logins MATCH a b;\n"
    client.open(text)
    found = client.diagnostics()
    assert sorted((part(text, one["range"]), one["code"], one["severity"]) for one in found) == [
        ("b", "unexpected", 1),
        ("tris", "unknown-attribute", 1),
    ]
    assert "hint: did you mean 'tries'?" in next(one["message"] for one in found if one["code"] == "unknown-attribute")


def test_places_count_utf_16_and_lines_of_the_protocol(client: Client) -> None:
    text = f"-- 🦆 語\r\n{LOGINS.strip()}\r\nSUBSCRIBE m FROM logins MATCH a DEFINE a AS ip = '🦆🦆' AND tris > 5;\r\n"
    client.open(text)
    (found,) = client.diagnostics()
    assert part(text, found["range"]) == "tris"
    assert found["range"]["start"] == {"line": 2, "character": 60}
    client.change(text.replace("tris", "tries"))
    assert client.diagnostics() == []


@pytest.mark.parametrize(("encodings", "character"), [(["utf-8"], 64), (["utf-32"], 58), ([], 60), (None, 60)])
def test_the_client_chooses_what_positions_count(encodings: list[str] | None, character: int) -> None:
    with Client(encodings=encodings) as client:
        client.open(f"{LOGINS}SUBSCRIBE m FROM logins MATCH a DEFINE a AS ip = '🦆🦆' AND tris > 5;")
        (found,) = client.diagnostics()
        assert found["range"]["start"]["character"] == character


def test_other_line_ends_and_a_byte_order_mark() -> None:
    text = (
        f"\ufeff{LOGINS}-- a \u2028 b \x0c c\rSUBSCRIBE x FROM\nSUBSCRIBE m FROM logins MATCH a DEFINE a AS tris > 5;"
    )
    with Client() as client:
        client.open(text)
        (found,) = client.diagnostics()
        # A carriage return ends a line of the protocol; to Foretell the comment goes on.
        assert found["range"]["start"] == {"line": 3, "character": 44}


def test_findings_come_in_the_background_with_their_codes(client: Client) -> None:
    text = f"{LOGINS}SUBSCRIBE m FROM logins MATCH a DEFINE a AS tries > 5 AND tries < 3;\n"
    client.open(text)
    assert client.diagnostics() == []
    (found,) = client.diagnostics(until=2)
    assert (part(text, found["range"]), found["code"], found["severity"]) == ("tries < 3", "contradiction", 2)
    moved = f"-- a line more\n{text}SUBSCRIBE n FROM logins MATCH"
    client.change(moved)
    still = [one for one in client.diagnostics() if one["code"] == "contradiction"]
    assert [part(moved, one["range"]) for one in still] == ["tries < 3"]
    client.change(text.replace("< 3", "< 9"))
    assert client.diagnostics() == []


def test_a_newer_version_ends_an_older_check() -> None:
    steps = [f"s{n}" for n in range(9)]
    conditions = ", ".join(f"s{n} AS x * {n + 2} + y * y > s{n - 1}.x * s{n - 1}.y" for n in range(1, 9))
    slow = "STREAM s (x INT, y INT) TIME t;" + "".join(
        f"SUBSCRIBE m{n} FROM s MATCH {' ; '.join(steps)} DEFINE {conditions} WITHIN {n + 1} min;" for n in range(12)
    )
    with Client() as client:
        client.open(slow)
        assert client.diagnostics() == []
        client.change(f"{slow} -- once more")
        time.sleep(1.5)  # the check is under way
        begun = time.monotonic()
        client.change(f"{LOGINS}SUBSCRIBE m FROM logins MATCH a DEFINE a AS tries > 5 AND tries < 3;")
        assert client.at("hover", {"line": 1, "character": 2}) is not None
        assert time.monotonic() - begun < 50.0  # the older check would go on for minutes
        assert [one["code"] for one in client.diagnostics(until=2)] == ["contradiction"]
        assert not any(one["version"] == client.version - 1 and one["diagnostics"] for one in client.published)


def test_a_checking_process_that_dies_is_started_again(client: Client) -> None:
    text = f"{LOGINS}SUBSCRIBE m FROM logins MATCH a DEFINE a AS tries > 5 AND tries < 3;"
    client.open(text)
    assert client.diagnostics(until=2)
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    own = [line.split() for line in listed.splitlines() if "foretell.lsp.check_process" in line]
    (checking,) = [int(pid) for pid, parent, *_ in own if int(parent) == client.process_id]
    os.kill(checking, signal.SIGKILL)
    client.change(text.replace("m FROM", "n FROM"))
    client.diagnostics()
    client.change(text.replace("m FROM", "o FROM"))
    assert [one["code"] for one in client.diagnostics(until=2)] == ["contradiction"]


# ── completion ──


def test_completion(client: Client) -> None:
    client.open(WATCH)
    client.diagnostics()
    assert _labels(client, "¦")[:3] == ["SUBSCRIBE", "STREAM", "CORRELATE"]
    assert _labels(client, f"{WATCH}SUBSCRIBE m FROM ¦") == ["logins", "guessed", "again"]
    assert _labels(client, f"{WATCH}SUBSCRIBE m FOR EACH ¦") == ["limits"]
    assert _labels(client, f"{WATCH}SUBSCRIBE m FROM logins ¦") == ["MATCH", "PER"]
    assert _labels(client, f"{WATCH}SUBSCRIBE m FROM logins PER ¦") == ["ip", "tries", "ok", "time"]
    assert _labels(client, f"{WATCH}SUBSCRIBE m FROM logins MATCH a , ¦ DEFINE a AS ok, b AS ok") == [
        "b",
        "a",
        "FIRST",
        "LAST",
    ]
    assert _labels(client, f"{WATCH}SUBSCRIBE m FROM logins MATCH a , b DEFINE ¦") == ["a", "b"]
    assert _labels(client, f"{WATCH}SUBSCRIBE m FROM logins MATCH a , b DEFINE a AS ok AND tries > b.¦") == [
        "ip",
        "tries",
        "ok",
        "time",
        "stream",
    ]
    assert "failures" in _labels(client, f"{WATCH}SUBSCRIBE m FROM guessed MATCH a DEFINE a AS ¦")
    assert {"ip", "a", "$x", "sqrt", "prev", "count", "NOT", "CASE WHEN"} <= {
        *_labels(client, f"{WATCH}SUBSCRIBE m FROM logins MATCH a DEFINE a AS ip = $x AND ¦")
    }
    assert _labels(client, f"{WATCH}SUBSCRIBE m FOR EACH limits FROM logins MATCH a DEFINE a AS tries > :¦") == [
        ":least",
        ":id",
    ]
    assert _labels(client, f"{WATCH}SUBSCRIBE m FROM logins MATCH a , b DEFINE a AS ip = $one, b AS ip = $¦") == [
        "$one"
    ]
    assert {"min", "hours"} <= {*_labels(client, f"{WATCH}SUBSCRIBE m FROM logins MATCH a WITHIN 5 ¦")}
    assert _labels(client, f"{WATCH}SUBSCRIBE m FROM logins MATCH a , b AFTER MATCH SKIP TO FIRST ¦") == ["a", "b"]
    assert _labels(client, f"{WATCH}SUBSCRIBE m FROM logins MATCH a , b LOSING 0.1 OF ¦") == ["a", "b"]
    assert _labels(client, "STREAM s (x ¦") == ["BOOL", "INT", "FLOAT", "STRING", "TIMESTAMP"]
    assert {"accumulate", "repeat", "in"} <= {*_labels(client, f"{WATCH}CORRELATE c FROM logins DO ¦")}
    assert "contradiction" in _labels(client, "SUBSCRIBE m FROM s MATCH a -- check: allow ¦")
    assert _labels(client, "SUBSCRIBE m FROM s MATCH a DEFINE a AS x = 'some ¦") == []


def test_completion_after_mistakes_in_the_statement(client: Client) -> None:
    client.open(WATCH)
    client.diagnostics()
    assert "tries" in _labels(client, f"{WATCH}SUBSCRIBE m FROM logins MATCH a a a DEFINE a AS ¦")


def test_functions_have_their_signatures(client: Client) -> None:
    whole, position = marked("SUBSCRIBE m FROM s MATCH a DEFINE a AS ¦")
    client.open(whole)
    items = {item["label"]: item for item in client.at("completion", position)}
    assert items["substr"]["detail"] == "substr(text, start[, length])"
    assert items["substr"]["documentation"].startswith("A part of a text")


# ── hover, definition, references, rename ──


def _hover(client: Client, text: str) -> str:
    whole, position = marked(text)
    client.change(whole)
    found = client.at("hover", position)
    return "" if found is None else str(found["contents"]["value"])


def test_hover(client: Client) -> None:
    client.open(WATCH)
    assert "very next event" in _hover(client, WATCH.replace("bad+ ,", "bad+ ¦,"))
    assert "MATCH a+ , b AFTER MATCH LONGEST" in _hover(client, WATCH.replace("LONGEST", "LON¦GEST"))
    assert "tries INT" in _hover(client, WATCH.replace("tries >", "tr¦ies >"))
    assert "DEFINE good AS ok AND ip = $ip AND t(good) - t(last(bad)) < 5 min" in _hover(
        client, WATCH.replace("t(good)", "t(go¦od)")
    )
    assert "$ip STRING" in _hover(client, WATCH.replace("$ip", "$i¦p"))
    assert "STREAM logins (ip STRING" in _hover(client, WATCH.replace("FROM logins", "FROM lo¦gins"))
    assert "failures INT" in _hover(client, WATCH.replace("x.failures", "x.fai¦lures"))
    assert "time of the event" in _hover(client, WATCH.replace("t(good)", "¦t(good)"))
    assert _hover(client, WATCH.replace("5 min", "¦5 min")) == ""


def _locations(client: Client, method: str, text: str, **more: Any) -> list[dict[str, int]]:
    whole, position = marked(text)
    client.change(whole)
    return [found["range"]["start"] for found in client.at(method, position, **more)]


def test_definition_and_references(client: Client) -> None:
    client.open(WATCH)
    pattern, defined = {"line": 3, "character": 7}, {"line": 4, "character": 7}
    assert _locations(client, "definition", WATCH.replace("bad+", "ba¦d+")) == [defined]
    context = {"includeDeclaration": True}
    found = _locations(client, "references", WATCH.replace("count(bad)", "count(ba¦d)"), context=context)
    assert [found[0], found[1], len(found)] == [pattern, defined, 4]
    assert _locations(client, "definition", WATCH.replace("MATCH x", "MATCH ¦x")) == [{"line": 9, "character": 35}]
    assert _locations(client, "definition", WATCH.replace("FROM guessed", "FROM gue¦ssed")) == [
        {"line": 2, "character": 10}
    ]
    assert _locations(client, "definition", WATCH.replace("tries >", "tri¦es >")) == [{"line": 0, "character": 26}]
    assert _locations(client, "definition", WATCH.replace("x.failures", "x.fail¦ures")) == [
        {"line": 7, "character": 21}
    ]


def _applied(text: str, edits: list[dict[str, Any]]) -> str:
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda edit: (edit["range"]["start"]["line"], edit["range"]["start"]["character"]))[
        ::-1
    ]:
        start, end = edit["range"]["start"], edit["range"]["end"]
        before = lines[start["line"]].encode("utf-16-le")[: 2 * start["character"]].decode("utf-16-le")
        after = (
            lines[end["line"]].encode("utf-16-le")[2 * end["character"] :].decode("utf-16-le")
            if end["line"] < len(lines)
            else ""
        )
        lines[start["line"] : end["line"] + 1] = (before + edit["newText"] + after).split("\n")
    return "\n".join(lines)


def _renamed(client: Client, text: str, name: str) -> str:
    whole, position = marked(text)
    client.change(whole)
    return _applied(whole, client.at("rename", position, newName=name)["changes"][URI])


def test_rename(client: Client) -> None:
    client.open(WATCH)
    assert _renamed(client, WATCH.replace("bad+", "ba¦d+"), "fail") == WATCH.replace("bad", "fail")
    assert _renamed(client, WATCH.replace("bad+", "ba¦d+"), "within") == WATCH.replace("bad", '"within"')
    assert _renamed(client, WATCH.replace("FROM guessed", "FROM gue¦ssed"), "g") == WATCH.replace("guessed", "g")
    assert _renamed(client, WATCH.replace("$ip", "$i¦p"), "address") == WATCH.replace("$ip", "$address")
    for text, name, message in (
        (WATCH.replace("bad+", "ba¦d+"), "good", "another step 'good' already"),
        (WATCH.replace("tries >", "tri¦es >"), "n", "cannot rename the attribute 'tries'"),
        (WATCH.replace("bad+", "ba¦d+"), "prev", "with the name"),
        (WATCH.replace("$ip", "$i¦p"), "a b", "cannot name a variable"),
        (WATCH.replace("MATCH x ; y", "MATCH x ¦y"), "z", "correct the errors"),
    ):
        with pytest.raises(RequestError, match=message):
            _renamed(client, text, name)


def test_symbols(client: Client) -> None:
    client.open(WATCH)
    found = client.about("documentSymbol")
    assert [(one["name"], one["detail"], [child["name"] for child in one["children"]]) for one in found] == [
        ("logins", "STREAM", ["ip", "tries", "ok"]),
        ("guessed", "SUBSCRIBE", ["bad", "good", "failures"]),
        ("again", "SUBSCRIBE", ["y"]),
    ]
    client.change(f"{WATCH}SUBSCRIBE broken FROM")
    assert [one["name"] for one in client.about("documentSymbol")] == ["logins", "guessed", "again", "broken"]


# ── formatting and code actions ──


def test_formatting_keeps_comments_and_line_ends(client: Client) -> None:
    text = "subscribe m from s -- 🦆\r\nmatch a,b\r\n"
    client.open(text)
    (edit,) = client.about("formatting", options={"tabSize": 4, "insertSpaces": True})
    lines = text.split("\n")
    assert _applied("\n".join(lines), [edit]) == "SUBSCRIBE m FROM s  -- 🦆\r\nMATCH  a , b;\r\n"
    client.change("SUBSCRIBE m FROM")
    assert client.about("formatting", options={"tabSize": 4, "insertSpaces": True}) == []
    client.change("SUBSCRIBE m FROM s\nMATCH  a;\n")
    assert client.about("formatting", options={"tabSize": 4, "insertSpaces": True}) == []


def _actions(client: Client, text: str, *, until: int = 1) -> dict[str, str]:
    """The titles of the repairs of a text, and the texts after them."""
    client.change(text)
    found = client.diagnostics(until=until)
    assert found
    actions = client.about("codeAction", range=found[0]["range"], context={"diagnostics": found})
    return {action["title"]: _applied(text, action["edit"]["changes"][URI]) for action in actions}


def test_code_actions(client: Client) -> None:
    client.open("")
    wrong = f"{LOGINS}SUBSCRIBE m FROM logins MATCH a ; !bb ; c DEFINE bbb AS tries > 5;"
    assert _actions(client, wrong) == {"Change to bb": wrong.replace("bbb", "bb")}
    assert _actions(client, f"{LOGINS}SUBSCRIBE m FROM logins MATHC a") == {
        "Change to MATCH": f"{LOGINS}SUBSCRIBE m FROM logins MATCH a"
    }
    vain = f"{LOGINS}SUBSCRIBE m FROM logins\nMATCH  a\nDEFINE a AS tries > 5 AND tries < 3"
    allowed = {"Allow contradiction here": f"{vain}  -- check: allow contradiction\nWITHIN 5 min;"}
    assert _actions(client, f"{vain}\nWITHIN 5 min;", until=2) == allowed
    client.change(allowed["Allow contradiction here"])
    assert client.diagnostics(until=2) == []
    assert _actions(client, f"{vain} -- check: allow vacuous\nWITHIN 5 min;", until=2)[
        "Allow contradiction here"
    ].endswith("< 3 -- check: allow vacuous, contradiction\nWITHIN 5 min;")
    assert (
        "< 3 -- check: allow contradiction -- why\n"
        in _actions(client, f"{vain} -- why\n;", until=2)["Allow contradiction here"]
    )


def test_an_allowance_is_not_put_into_a_string(client: Client) -> None:
    client.open("")
    text = f"{LOGINS}SUBSCRIBE m FROM logins MATCH a DEFINE a AS tries > 5 AND tries < 3 AND ip = 'a\nb';"
    (after,) = [text for title, text in _actions(client, text, until=2).items() if "contradiction" in title]
    assert after.startswith(f"{LOGINS}-- check: allow contradiction\nSUBSCRIBE m")
    client.change(after)
    assert client.diagnostics(until=2) == []


# ── bounds ──


def test_texts_that_are_not_open_are_not_read(client: Client, tmp_path: Any) -> None:
    (tmp_path / "other.ftl").write_text(WATCH)
    uri = (tmp_path / "other.ftl").as_uri()
    assert client.at("hover", {"line": 2, "character": 2}, uri) is None
    assert client.at("completion", {"line": 2, "character": 2}, uri) == []
    assert client.about("documentSymbol", uri) == []


def test_a_huge_text_is_left_alone(client: Client) -> None:
    client.open(f"{LOGINS}SUBSCRIBE m FROM logins MATCH a DEFINE a AS tries IN ({'1, ' * 200_000}1);")
    (found,) = client.diagnostics()
    assert (found["code"], found["severity"]) == ("too-large", 3)
    assert client.at("hover", {"line": 1, "character": 2}) is None
    assert client.at("completion", {"line": 1, "character": 2}) == []
    assert client.about("formatting", options={"tabSize": 4, "insertSpaces": True}) == []


@pytest.mark.parametrize(
    "text",
    [
        "(" * 20_000,
        "SUBSCRIBE m FROM s MATCH " + "(" * 5_000,
        "'" * 50_001,
        "-" * 100_000,
        "SUBSCRIBE m FROM s MATCH a DEFINE a AS " + "x AND " * 20_000,
        "SUBSCRIBE m FROM s MATCH a a;\n" * 8_000,
        "STREAM s (x INT) TIME t; " + "SUBSCRIBE m FROM s MATCH a DEFINE a AS z > 1;\n" * 5_000,
        "\0\ud7ff\uffff\u202e" * 5_000,
        ";" * 50_000,
    ],
    ids=["brackets", "groups", "quotes", "dashes", "condition", "mistakes", "names", "odd signs", "ends"],
)
def test_broken_texts_are_answered_soon(client: Client, text: str) -> None:
    """Each answer comes within the client's patience."""
    client.open(text)
    found = client.diagnostics()
    assert len(found) <= 60
    position = {"line": text.count("\n"), "character": len(text.rpartition("\n")[2])}
    for method in ("completion", "hover", "definition"):
        client.at(method, position)
    client.about("documentSymbol")


def test_without_pygls_the_command_says_what_to_install() -> None:
    code = "import sys; sys.modules['pygls'] = None; sys.argv[1:] = ['lsp']; from foretell.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: foretell lsp needs the package pygls, which is not installed\n  hint: pip install 'foretell[lsp]'\n"
    )
