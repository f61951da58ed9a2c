"""The documents are true: what they show is run here."""

from __future__ import annotations

import dataclasses
import doctest
import json
import re
import shlex
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import foretell as ft
from foretell.language.functions import FUNCTIONS
from tests.command import foretell

ROOT = Path(__file__).parents[2]
LETTERS = [{"time": i, "letter": letter} for i, letter in enumerate("abcabb", start=1)]


def _pattern_table() -> list[tuple[str, str]]:
    """The rows `pattern | matches` of docs/language.md."""
    text = (ROOT / "docs/language.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(.+?)` \| ([a-c₁-₆, ]+) \|", text, re.MULTILINE)
    return [(pattern.replace("\\|", "|"), matches) for pattern, matches in rows]


@pytest.mark.parametrize(("pattern", "matches"), _pattern_table())
def test_table_of_patterns(pattern: str, matches: str) -> None:
    steps = sorted(set(re.findall(r"\b[abc]\b", re.sub(r"'.'", "", pattern))))
    define = ", ".join(f"{step} AS letter = '{step}'" for step in steps)
    found = ft.run(f"SUBSCRIBE m FROM s MATCH {pattern} DEFINE {define};", {"s": LETTERS}, time={"s": "time"})
    assert {_written(n) for n in found} == set(matches.strip().split(", "))
    assert len(found) == len(matches.split(","))


def _function_table() -> list[tuple[str, str]]:
    """The rows `example | value` of docs/language.md."""
    text = (ROOT / "docs/language.md").read_text(encoding="utf-8")
    return re.findall(r"^\| `([a-z_]+\(.+?\)|CASE .+?)` \| `(.+?)` \| ", text, re.MULTILINE)


def test_table_of_functions() -> None:
    rows = _function_table()
    called = {example.partition("(")[0] for example, _ in rows}
    assert {*FUNCTIONS} - {"month", "day", "minute"} <= called
    columns = ", ".join(f"{example} AS c{i}" for i, (example, _) in enumerate(rows))
    for engine in ("embedded", "reference"):
        (found,) = ft.run(
            f"SUBSCRIBE m FROM s MATCH a RETURN {columns};", {"s": LETTERS[:1]}, time={"s": "time"}, engine=engine
        )
        shown = ["TRUE" if v is True else "FALSE" if v is False else repr(v) for v in found.bindings.values()]
        assert shown == [value for _, value in rows]


def test_table_of_patterns_is_found() -> None:
    assert len(_pattern_table()) >= 9


def _written(notification: ft.Notification) -> str:
    events: list[Any] = [e if isinstance(e, list) else [e] for e in notification.events.values() if e is not None]
    numbers = sorted(n for group in events for n in group)
    return "".join(f"{LETTERS[n]['letter']}{'₁₂₃₄₅₆'[n]}" for n in numbers)


def _foretell(arguments: str, folder: Path, *, terminal: bool = False) -> subprocess.CompletedProcess[str]:
    return foretell(folder, *shlex.split(arguments), terminal=terminal)


def _on_terminal(arguments: str, folder: Path) -> str:
    """What a person sees: both outputs, without the time that was taken."""
    done = _foretell(arguments, folder, terminal=True)
    assert done.returncode == 0, done.stderr
    return _without_time(done.stdout + done.stderr)


def _without_time(text: str) -> str:
    return re.sub(r"^[\d.,]+ (ms|s|min) ", "TIME ", text, flags=re.MULTILINE)


def _commands(text: str) -> list[tuple[str, str]]:
    """What stands behind `$ foretell`, and the output shown below it."""
    return re.findall(r"^\$ foretell (.+)\n((?:(?!```|\$).*\n)*)", text, re.MULTILINE)


def test_readme_commands() -> None:
    commands = _commands((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(commands) == 2
    for arguments, shown in commands:
        assert _on_terminal(arguments, ROOT) == _without_time(shown)


def test_the_example_of_correlators() -> None:
    text = (ROOT / "docs/language.md").read_text(encoding="utf-8")
    flights = (ROOT / "examples/flights.ftl").read_text(encoding="utf-8")
    assert f"```\n{flights}```" in text
    ((arguments, shown),) = [command for command in _commands(text) if "flights" in command[0]]
    assert _on_terminal(arguments, ROOT) == _without_time(shown)
    signals = {"signals": str(ROOT / "examples/signals.csv")}
    by_engine = [ft.run(flights, signals, engine=engine) for engine in ("reference", "embedded")]
    assert [*by_engine[0]] == [*by_engine[1]]


def test_readme_statements_parse() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    statements = [s for s in re.findall(r"```\n(.*?)```", text, re.DOTALL) if "SUBSCRIBE" in s]
    assert len(statements) == 3
    for statement in statements:
        ft.parse(statement)


def test_the_model_of_lost_events_and_its_probabilities() -> None:
    text = (ROOT / "docs/language.md").read_text(encoding="utf-8")
    model = json.loads(next(b for b in re.findall(r"```json\n(.*?)```", text, re.DOTALL) if "shoplifting" in b))
    times = re.search(r"^\| T \| (.+) \|$", text, re.MULTILINE)
    assert times is not None
    seconds = [int(number) * (60 if unit == "min" else 1) for number, unit in map(str.split, times[1].split(" | "))]
    statement = (ROOT / "examples/shoplifting.ftl").read_text(encoding="utf-8").replace("ABOVE 0.30", "ABOVE 0")
    for row, score in (("both ends given", ""), ("`SCORE INDEPENDENT`", " SCORE INDEPENDENT")):
        shown = re.search(rf"^\| {row} \| (.+) \|$", text, re.MULTILINE)
        assert shown is not None
        found = []
        for second in seconds:
            reads = [
                {"time": "2024-05-04 10:00:00", "receptor": "A", "id": "x"},
                {"time": f"2024-05-04 10:{second // 60:02}:{second % 60:02}", "receptor": "C", "id": "x"},
            ]
            notified = ft.run(statement.replace("ABOVE 0", f"ABOVE 0{score}"), {"reads": reads}, model=model)
            found += [n.probability for n in notified if None not in n.events.values()]
        assert [f"{p:.3f}" for p in found] == shown[1].split(" | ")


def test_getting_started(tmp_path: Path) -> None:
    text = (ROOT / "docs/getting-started.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```\n(.*?)```", text, re.DOTALL)
    events = next(b for b in blocks if b.startswith("time,"))
    watch = next(b for b in blocks if b.startswith("SUBSCRIBE"))
    first = next(b for b in blocks if b.startswith("STREAM"))
    assert "Write `sttus` for the first `status`" in text
    (tmp_path / "logins.csv").write_text(events, encoding="utf-8")
    (tmp_path / "watch.ftl").write_text(watch, encoding="utf-8")
    (init, wrote), (right, shown), (piped, lines), (wrong, complaint) = _commands(text)
    assert _on_terminal(init, tmp_path) == wrote
    assert first in (tmp_path / "first.ftl").read_text(encoding="utf-8")
    assert _on_terminal(right, tmp_path) == _without_time(shown)
    done = _foretell(piped.removesuffix(" | cat"), tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, lines, "")
    (tmp_path / "watch.ftl").write_text(watch.replace("status", "sttus", 1), encoding="utf-8")
    done = _foretell(wrong, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", complaint)


def test_examples_of_the_language_parse() -> None:
    text = (ROOT / "docs/language.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    statements = [block for block in blocks if not block.startswith(("{", "$ foretell", "note: "))]
    assert len(statements) == 9
    for statement in statements:
        ft.parse(statement)
    (model,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    assert "shoplifting" in json.loads(model)["subscriptions"]


def _language_example(name: str) -> str:
    text = (ROOT / "docs/language.md").read_text(encoding="utf-8")
    (block,) = [b for b in re.findall(r"^```\n(.*?)^```", text, re.DOTALL | re.MULTILINE) if f"SUBSCRIBE {name} " in b]
    return block


def test_the_example_of_lost_events() -> None:
    """The statement, its model and the table of probabilities belong together."""
    text = (ROOT / "docs/language.md").read_text(encoding="utf-8")
    (model,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    statement = _language_example("shoplifting").replace("ABOVE 0.8", "ABOVE 0")
    times = {"30 s": 30, "1 min": 60, "2 min": 120, "5 min": 300, "20 min": 1200}
    reads = [
        {"receptor": receptor, "id": name, "time": datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=after)}
        for name, seconds in times.items()
        for receptor, after in (("A", 0), ("C", seconds))
    ]
    found = ft.run(statement, {"reads": reads}, model=json.loads(model), engine="embedded")
    likely = {n.key["id"]: f"{n.probability:.3f}" for n in found if n.key is not None and n.kind == "estimate"}
    assert f"| both ends given | {' | '.join(likely[name] for name in times)} |" in text


def test_the_whole_run_after_a_quick_beginning() -> None:
    """WITHIN cuts the run of eight; the pattern of the page takes it whole, and leaves out the slow one."""
    quick = [f"2026-03-01T10:{minute:02}:00" for minute in (0, 1, 2, 9, 18, 27, 36, 45)]
    slow = [f"2026-03-01T1{hour}:00:00" for hour in range(1, 5)]
    rows = [{"time": t, "ip": "q", "status": "denied"} for t in quick]
    rows += [{"time": t, "ip": "s", "status": "denied"} for t in slow]
    cut = """SUBSCRIBE cut FROM logins PER ip MATCH f{3,} DEFINE f AS status = 'denied' WITHIN 10 min
    AFTER MATCH LONGEST RETURN count(f) AS failures;"""
    found = ft.run(_language_example("attack") + cut, {"logins": rows})
    assert [n.bindings["failures"] for n in found["attack"]] == [8]
    assert [n.bindings["failures"] for n in found["cut"]] == [4]


def test_two_falls_of_a_derived_stream() -> None:
    prices = [100, 90, 80, 79, 70]
    rows = [{"time": f"2026-{month:02}-01", "price": price} for month, price in enumerate(prices, 1)]
    text = _language_example("two_falls")
    within = text.replace(" @(t(g) - t(f) <= 31 days)", "").replace("change < -0.05", "change < -0.05 WITHIN 31 days")
    assert ft.run(text, {"months": rows}).summary.matches["two_falls"] == 1
    assert ft.run(within, {"months": rows}).summary.matches["two_falls"] == 0


def test_checks_page(tmp_path: Path) -> None:
    text = (ROOT / "docs/check.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    new = next(b for b in blocks if "tries > 6" in b)
    (tmp_path / "guessed.ftl").write_text(next(b for b in blocks if "bad ; good" in b), encoding="utf-8")
    (tmp_path / "new.ftl").write_text(new, encoding="utf-8")
    (tmp_path / "old.ftl").write_text(new.replace("tries > 6", "tries > 5"), encoding="utf-8")
    commands = _commands(text)
    assert len(commands) == 4
    for arguments, shown in commands:
        done = _foretell(arguments, ROOT if "examples/" in arguments else tmp_path, terminal=True)
        changing = r"[\d.,]+ (ms|s|min|[kM]?B)\b"
        assert re.sub(changing, "", done.stdout + done.stderr) == re.sub(changing, "", shown)
    (allowed,) = [b for b in blocks if b.startswith("-- check: allow")]
    report = ft.check(allowed)
    assert (report.findings, report.silenced) == ((), 2)


def test_the_code_of_the_checks_page(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs/check.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(code, {})
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("contradiction m 3 no event can be 'a'")
    assert shown[1] == "False m reads s (x)"


def _statements_of(page: Path) -> list[str]:
    """The programs that a page shows, those in Python among them."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    quoted = [part for block in blocks for part in re.findall(r'"""(.*?)"""', block, re.DOTALL)]
    return [part for part in (*blocks, *quoted) if re.search(r"^\s*(SUBSCRIBE|CORRELATE) \w", part, re.MULTILINE)]


DOCUMENTS = sorted(path for folder in ("", "cookbook", "ideas") for path in (ROOT / "docs" / folder).glob("*.md"))
PAGES = [path for path in (ROOT / "README.md", *DOCUMENTS) if path.name != "check.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_no_example_has_a_finding(page: Path) -> None:
    for text in _statements_of(page):
        try:
            subs = ft.parse(text)
        except ft.LanguageError:
            assert not text.startswith(("SUBSCRIBE", "CORRELATE", "STREAM"))  # a block of another kind
            continue
        report = ft.check(subs)
        assert (report.findings, report.undecided, report.unasked) == ((), (), ()), text


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.ftl")), ids=lambda path: path.name)
def test_no_file_of_the_examples_has_a_finding(file: Path) -> None:
    report = ft.check(ft.load(file))
    assert (report.findings, report.undecided) == ((), ())


def test_forecasts_page(tmp_path: Path) -> None:
    """Followed literally: the events, the statements, each command with what it shows."""
    text = (ROOT / "docs/forecasts.md").read_text(encoding="utf-8")
    (shop,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (watch,) = re.findall(r"```\n(STREAM .*?)```", text, re.DOTALL)
    (tmp_path / "shop.py").write_text(shop, encoding="utf-8")
    (tmp_path / "watch.ftl").write_text(watch, encoding="utf-8")
    (trouble,) = re.findall(r"```\n(CORRELATE .*?)```", text, re.DOTALL)
    (tmp_path / "tills.ftl").write_text(watch.partition("SUBSCRIBE")[0] + trouble, encoding="utf-8")
    subprocess.run([sys.executable, "shop.py"], cwd=tmp_path, check=True, timeout=60)
    commands = _commands(text)
    assert [arguments.split()[0] for arguments, _ in commands] == [
        "train",
        "run",
        "backtest",
        "train",
        "backtest",
        "backtest",
        "train",
        "backtest",
    ]
    told = []
    for arguments, shown in commands:
        done = _foretell(arguments + " --engine embedded" * arguments.startswith("train"), tmp_path)
        assert done.returncode == 0, done.stderr
        if arguments.startswith("run"):
            assert len(shown.splitlines()) == 3
            for line, wanted_line in zip(done.stdout.splitlines(), shown.splitlines(), strict=False):
                found, wanted = json.loads(line), json.loads(wanted_line)
                assert found.pop("probability") == pytest.approx(wanted.pop("probability"))
                assert found == wanted
        else:
            assert (done.stdout + done.stderr).startswith(shown), arguments
        told += re.findall(r"^warning: .*\n", done.stderr, re.MULTILINE)
    warnings = "".join(re.findall(r"^warning: .*\n", text, re.MULTILINE))
    assert warnings
    assert "".join(told) == warnings
    (tmp_path / "watch.ftl").write_text(watch.replace("a , b , c", "a , b ; c"), encoding="utf-8")
    other = _foretell("run watch.ftl --input shop=later.jsonl --model model.json --engine embedded", tmp_path)
    assert other.stderr
    assert other.stderr in text


def test_data_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(ROOT / "docs/data.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert (failed, tried > 10) == (0, True)


def test_documents_name_the_settings_of_learning() -> None:
    text = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    for field in dataclasses.fields(ft.Learning):
        assert f"| `{field.name}` |" in text


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda path: path.name)
def test_examples_fit_into_their_boxes(page: Path) -> None:
    blocks = re.findall(r"^```\w*\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    # Notifications and warnings are one line each, however long.
    lines = [
        line for block in blocks for line in block.splitlines() if not line.startswith(('{"subscription"', "warning: "))
    ]
    assert [line for line in lines if len(line) > 88] == []


def test_readme_and_index_tell_the_same_three_things() -> None:
    pages = [(ROOT / page).read_text(encoding="utf-8").split("##")[0] for page in ("README.md", "docs/index.md")]
    bold = [[" ".join(words.split()) for words in re.findall(r"\*\*(.+?)\*\*", page, re.DOTALL)] for page in pages]
    assert bold[0] == bold[1] == ["has happened", "probably happened", "is about to happen"]


def test_results_are_named_as_bench_prints_them() -> None:
    text = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `language (\w+)` \|", text, re.MULTILINE)
    printed = _foretell("bench language --json", ROOT).stdout.splitlines()
    assert rows == [json.loads(line)["case"] for line in printed]


def test_python_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Its code runs, on the files of the first page."""
    started = (ROOT / "docs/getting-started.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```\n(.*?)```", started, re.DOTALL)
    (tmp_path / "logins.csv").write_text(next(b for b in blocks if b.startswith("time,")), encoding="utf-8")
    (tmp_path / "watch.ftl").write_text(next(b for b in blocks if b.startswith("SUBSCRIBE")), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(code) == 10
    names: dict[str, Any] = {}
    for block in code:
        exec(block, names)
    shown = capsys.readouterr().out
    notified = [("denied", None), ("too_often", "bob's"), ("again", None), ("denied", None), ("too_often", "bob's")]
    assert f"{notified}\n" in shown
    assert "('denied',) ('thrice',) ('too_often',)" in shown
    assert "withdrawn True\nconfirmed 1.0\n" in shown
    (view,) = re.findall(r"```\n(\d+ notification.*?)```", text, re.DOTALL)
    assert view in shown
    assert "Backtest of 1 statement\n" in shown
    (loss,) = re.findall(r"```\n(Loss by .*?)```", text, re.DOTALL)
    assert loss in shown
